//! The connections to a bucket.

use std::{
    collections::BTreeMap,
    fmt, mem,
    sync::{
        Arc, Mutex, Once, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use opendal::{HttpTransporter, OperationContext, Operator, layers::RetryLayer};
use opendal_http_transport_reqwest::ReqwestTransport;

use super::{address::Bucket, errors, holds::Leases, services, settings::Settings, transport::CheckedTransport};
use crate::error::{Error, ErrorKind, Result};

/// A bucket, and how it is reached.
#[derive(Debug)]
pub(super) struct Store {
    pub(super) bucket: Bucket,
    pub(super) settings: Settings,
    /// The locks that this process holds in it.
    pub(super) leases: Leases,
    /// Whether the store was seen to refuse a put whose key is taken.
    pub(super) keeps_conditions: AtomicBool,
    /// Who knows the keys that hold for the moment, where they are lent for some time.
    tokens: Option<Arc<dyn StorageTokens>>,
    /// Connections belong to the threads of one process, and to the keys that they were made with.
    operators: Mutex<Option<Connected>>,
}

struct Connected {
    process: u32,
    lent: Option<BTreeMap<String, String>>,
    operators: Operators,
}

impl fmt::Debug for Connected {
    /// Without keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connected").field("process", &self.process).finish_non_exhaustive()
    }
}

/// Options of a storage that are lent for some time, its keys among them.
pub trait StorageTokens: Send + Sync + std::fmt::Debug {
    /// The options that hold now. It is asked before every request, and asks somebody else only when they are about to expire.
    fn options(&self) -> Result<BTreeMap<String, String>>;
}

/// Senders of requests.
#[derive(Clone, Debug)]
pub(super) struct Operators {
    /// One try: for who must know whether the first one failed.
    pub(super) once: Operator,
    /// Again after failures that may pass.
    pub(super) retried: Operator,
}

impl Store {
    pub(super) fn new(bucket: &Bucket, settings: Settings, tokens: Option<Arc<dyn StorageTokens>>) -> Self {
        Self {
            bucket: bucket.clone(),
            // others say that they do, or ignore what they do not know
            keeps_conditions: AtomicBool::new(services::is_known_to_keep_conditions(bucket, &settings)),
            settings,
            leases: Leases::default(),
            tokens,
            operators: Mutex::new(None),
        }
    }

    pub(super) fn operators(&self) -> Result<Operators> {
        let process = std::process::id();
        // not under the lock: it may take a request
        let lent = self.tokens.as_ref().map(|tokens| tokens.options()).transpose()?;
        let mut slot = self.operators.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(connected) = &*slot
            && connected.process == process
            && connected.lent == lent
        {
            return Ok(connected.operators.clone());
        }
        let fresh = lent.as_ref().map(|lent| Settings::parse(&self.bucket, lent)).transpose()?;
        let operators = self.connect(fresh.as_ref().unwrap_or(&self.settings))?;
        let before = slot.replace(Connected { process, lent, operators: operators.clone() });
        if before.as_ref().is_some_and(|before| before.process != process) {
            // the parent's connections are its own
            mem::forget(before);
        }
        Ok(operators)
    }

    fn connect(&self, settings: &Settings) -> Result<Operators> {
        let transport = CheckedTransport { bucket: self.bucket.clone(), inner: reqwest_client(settings)? };
        let context = OperationContext::new().with_http_transport(HttpTransporter::new(transport));
        let made = services::operator(&self.bucket, settings)?;
        let once = made.map_err(|e| self.failed("prepare the connection to", "", &e))?;
        let once = once.with_context(context);
        let retry = RetryLayer::default()
            .with_max_times(settings.retries)
            .with_min_delay(self.bucket.kind.first_pause())
            .with_factor(2.0)
            .with_jitter()
            .with_notify(|event: opendal::layers::RetryEvent<'_>| {
                tracing::debug!(error = %event.err.kind(), "a request to the store is sent again");
            });
        Ok(Operators { retried: once.clone().layer(retry), once })
    }

    /// Where requests go, for messages.
    pub(super) fn place(&self) -> String {
        services::endpoint(&self.bucket, &self.settings).unwrap_or_default()
    }

    /// The error for a request that failed.
    pub(super) fn failed(&self, what: &str, path: &str, error: &opendal::Error) -> Error {
        errors::failed(self, what, path, error)
    }

    pub(super) fn has_kept_conditions(&self) -> bool {
        self.keeps_conditions.load(Ordering::Relaxed)
    }
}

fn reqwest_client(settings: &Settings) -> Result<ReqwestTransport> {
    static PROVIDER: Once = Once::new();
    // where another part of the process has chosen one, that is as good
    PROVIDER.call_once(|| drop(rustls::crypto::ring::default_provider().install_default()));
    let client = reqwest::Client::builder()
        .user_agent(concat!("siltstone/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(settings.connect_timeout)
        .read_timeout(settings.answer_timeout)
        // an answer of a store that sends elsewhere is an error, never followed with credentials
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .map_err(|e| {
            Error::new(ErrorKind::Storage, "cannot prepare connections to object stores").caused_by(e.without_url())
        })?;
    Ok(ReqwestTransport::new(client))
}
