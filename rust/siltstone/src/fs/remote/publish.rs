//! Putting an object that must not be there.
//!
//! The request carries a mark of its own. When its answer does not come, or says that the key is taken by then, whose mark the
//! object has tells whether it was this request that put it there.
//!
//! ```text
//! put if absent ─┬─ done
//!                ├─ the key is taken ── was an answer missing before? look whose mark it has
//!                ├─ refused: nothing has happened
//!                └─ no answer ── look whose mark is there ─┬─ ours: done
//!                                                          ├─ another's: taken
//!                                                          └─ none: put again
//! ```

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use opendal::{ErrorKind as StoreError, Operator};

use super::{
    client::Store,
    errors::{flat, is_refused},
    holds::Hold,
    kind::Kind,
    runtime, sends, write_options,
};
use crate::{
    env::new_uuid,
    error::{Error, Result},
    fs::local::exists_already,
};

/// The mark of a request.
const MARK: &str = "siltstone-put";
/// How long one try may take, besides the time limits of the connection.
const TRY: Duration = Duration::from_secs(60);

/// What became of a put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Put {
    Done,
    Taken,
}

/// Puts an object that must not be there.
///
/// # Errors
/// `FileExists`: there is one, which this call has not put there. An error without effect: it was not put. After any other, nobody
/// knows.
pub(super) fn put_if_absent(
    store: &Arc<Store>,
    path: &str,
    key: &str,
    data: &[u8],
    metadata: &[(&'static str, String)],
) -> Result<()> {
    put_while(Vec::new(), store, path, key, data, metadata)
}

/// The same, while these locks are held.
pub(super) fn put_while(
    holds: Vec<Arc<Hold>>,
    store: &Arc<Store>,
    path: &str,
    key: &str,
    data: &[u8],
    metadata: &[(&'static str, String)],
) -> Result<()> {
    let mark = new_uuid();
    let mut metadata = metadata.to_vec();
    metadata.push((MARK, mark.clone()));
    let work = put(Arc::clone(store), path.to_owned(), key.to_owned(), Bytes::copy_from_slice(data), metadata, mark);
    match flat(runtime::run(sends::during(holds, work)))? {
        Put::Done => Ok(()),
        Put::Taken => Err(exists_already(path)),
    }
}

async fn put(
    store: Arc<Store>,
    path: String,
    key: String,
    data: Bytes,
    metadata: Vec<(&'static str, String)>,
    mark: String,
) -> Result<Put> {
    let once = store.operators()?.once;
    let mut in_doubt = false;
    let mut pause = Duration::from_millis(100);
    let mut left = store.settings.retries;
    loop {
        let sent = once.write_options(&key, data.clone(), write_options(store.bucket.kind, true, &metadata));
        let error = match tokio::time::timeout(TRY, sent).await {
            Ok(Ok(_)) => return Ok(Put::Done),
            Ok(Err(e)) if is_taken(&e) => {
                return match whose(&once, store.bucket.kind, &key, &mark).await {
                    _ if !in_doubt => Ok(Put::Taken),
                    Whose::Ours => Ok(Put::Done),
                    Whose::Another => Ok(Put::Taken),
                    Whose::Nobodys | Whose::Unknown => {
                        Err(store.failed("find out whether the object was put", &path, &e))
                    }
                };
            }
            Ok(Err(e)) => e,
            Err(_) => opendal::Error::new(StoreError::Unexpected, "no answer").set_temporary(),
        };
        if !is_refused(&error) {
            in_doubt = true;
            match whose(&once, store.bucket.kind, &key, &mark).await {
                Whose::Ours => return Ok(Put::Done),
                Whose::Another => return Ok(Put::Taken),
                Whose::Nobodys | Whose::Unknown => {}
            }
        }
        if left == 0 || !error.is_temporary() {
            let failed = store.failed("put the object", &path, &error);
            return Err(if in_doubt { failed } else { failed.without_effect() });
        }
        left -= 1;
        tokio::time::sleep(pause).await;
        pause = pause.saturating_mul(2);
    }
}

fn is_taken(error: &opendal::Error) -> bool {
    matches!(error.kind(), StoreError::ConditionNotMatch | StoreError::AlreadyExists)
}

/// Whose the object is.
enum Whose {
    Ours,
    Another,
    Nobodys,
    Unknown,
}

async fn whose(once: &Operator, kind: Kind, key: &str, mark: &str) -> Whose {
    match once.stat(key).await {
        Ok(found) if kind.metadata_of(&found, MARK) == Some(mark) => Whose::Ours,
        Ok(_) => Whose::Another,
        Err(e) if e.kind() == StoreError::NotFound => Whose::Nobodys,
        Err(_) => Whose::Unknown,
    }
}

/// Makes sure, once for a store that is not Amazon's, that it keeps the condition: one that ignores it would replace commits.
///
/// # Errors
/// `UnsupportedFeature`: it does not.
pub(super) fn check_conditions(store: &Arc<Store>, path: &str) -> Result<()> {
    if store.has_kept_conditions() {
        return Ok(());
    }
    let own = super::address::key_of(&store.bucket, path)?;
    let directory = own.rsplit_once('/').map(|(directory, _)| format!("{directory}/")).unwrap_or_default();
    let key = format!("{directory}.siltstone-probe.{}.tmp", new_uuid());
    let (once, kind) = (store.operators()?.once, store.bucket.kind);
    let probe = async move {
        let put = || once.write_options(&key, Bytes::new(), write_options(kind, true, &[]));
        let first = put().await;
        let second = put().await;
        drop(once.delete(&key).await);
        first.map(|_| second)
    };
    match runtime::answered(TRY, probe)? {
        Ok(Err(e)) if is_taken(&e) => {
            store.keeps_conditions.store(true, std::sync::atomic::Ordering::Relaxed);
            Ok(())
        }
        Ok(Ok(_)) => Err(Error::unsupported("writing to this store")
            .with("bucket", &store.bucket.name)
            .with("endpoint", store.place())
            .hint(format!(
                "it replaces objects although a request says that the key must be free ({}), so commits could be lost; tables \
                 can be read there",
                kind.condition()
            ))),
        Ok(Err(e)) | Err(e) => Err(store.failed("find out whether the store keeps the condition of a put", path, &e)),
    }
}
