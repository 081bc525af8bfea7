//! The lock of a table on a store: a lease, which its holder renews.
//!
//! ```text
//! upkeep.lock.0000000007   the object with the highest number is the lock; empty: it is free
//!
//! take      list ─ free, or unchanged for as long as a lease lasts? ─ put the next number if it is absent ─ older ones go
//! hold      write the own object again and again; who could not do so for half of that time has lost the lock
//! free      write nothing into it
//! ```
//!
//! Only putting what is absent decides, which every store of ours can do. No clocks are compared: who wants a lock watches
//! whether its object changes, for as long as a lease lasts by its own clock. So a lock whose holder has died is free again after
//! [`LASTS`], and a holder that was stopped knows that the lock is not its own any more before somebody else can have it: from
//! then on this process removes and replaces nothing of the table ([`super::holds::Leases::check`]).

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError, atomic::Ordering},
    time::{Duration, Instant},
};

use bytes::Bytes;
use tokio::task::JoinHandle;

use super::{
    ANSWER,
    client::Store,
    holds::{HOLDS, Hold, now},
    publish, runtime,
};
use crate::{
    env::new_uuid,
    error::{ErrorKind, Result},
};

/// How long an object must not change before its lock is taken over.
const LASTS: Duration = Duration::from_secs(24);
/// Between two renewals.
const RENEWED: Duration = Duration::from_secs(3);
/// Between two looks at a lock that somebody has.
const LOOKED: Duration = Duration::from_millis(500);

/// A lock that is held.
#[derive(Debug)]
pub(super) struct Lease {
    store: Arc<Store>,
    key: String,
    hold: Arc<Hold>,
    renewal: JoinHandle<()>,
}

impl Lease {
    pub(super) fn is_valid(&self) -> bool {
        self.hold.is_valid()
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.store.leases.remove(&self.hold);
        let has_gone = self.hold.give_up();
        self.renewal.abort();
        if !self.hold.is_valid() || has_gone || !self.hold.may_be_freed() {
            // somebody else may have it, or its table has gone, or a request of ours may still come
            return;
        }
        let (operators, key) = (self.store.operators(), self.key.clone());
        let freed = operators.and_then(|operators| {
            let _shield = crate::cancel::shield();
            // Google takes one write of an object a second; one that comes twice does no harm, as the highest number is the lock
            runtime::answered(HOLDS / 3, async move { operators.retried.write(&key, Bytes::new()).await })
        });
        if !matches!(freed, Ok(Ok(_))) {
            tracing::warn!(key = self.key, "a lock was not freed: others wait until it has not changed for a while");
        }
    }
}

/// A lock as others have left it, and since when it is so.
struct Seen {
    version: (u64, String),
    since: Instant,
    looked: Instant,
}

/// What this process has seen of locks of others.
static SEEN: Mutex<BTreeMap<String, Seen>> = Mutex::new(BTreeMap::new());

/// Takes the lock at a path, of which `key` is the key; `None`: somebody has it.
pub(super) fn take(store: &Arc<Store>, path: &str, key: &str) -> Result<Option<Lease>> {
    let name = format!("{}/{key}", store.bucket.place());
    if was_looked_at(&name) {
        return Ok(None);
    }
    let found = numbered(store, path, key)?;
    let newest = found.last();
    if let Some(newest) = newest.filter(|newest| newest.size > 0)
        && !has_ended(&name, (newest.number, newest.version.clone()))
    {
        return Ok(None);
    }
    let number = newest.map_or(0, |newest| newest.number).saturating_add(1);
    let own = numbered_key(key, number);
    let begun = now();
    match publish::put_if_absent(store, path, &own, content().as_bytes(), &[]) {
        Ok(()) => {}
        // somebody was faster
        Err(e) if e.kind() == ErrorKind::FileExists => return Ok(None),
        Err(e) => return Err(e),
    }
    SEEN.lock().unwrap_or_else(PoisonError::into_inner).remove(&name);
    let hold = Arc::new(Hold::new(begun));
    let root = key.rsplit_once("/siltstone/").map_or(key, |(root, _)| root);
    store.leases.add(root, &hold);
    let renewal = runtime::runtime()?.spawn(renew(Arc::clone(store), own.clone(), Arc::clone(&hold)));
    let lease = Lease { store: Arc::clone(store), key: own, hold, renewal };
    let older: Vec<String> = found.into_iter().map(|lock| numbered_key(key, lock.number)).collect();
    if let Err(error) = super::tree::delete_keys(store, older) {
        tracing::debug!(%error, "what a lock was before is left");
    }
    Ok(Some(lease))
}

async fn renew(store: Arc<Store>, key: String, hold: Arc<Hold>) {
    loop {
        tokio::time::sleep(RENEWED).await;
        let begun = now();
        if !hold.is_valid() {
            return;
        }
        let Ok(operators) = store.operators() else { continue };
        hold.is_renewing.store(true, Ordering::SeqCst);
        if hold.given_up.load(Ordering::SeqCst) {
            hold.is_renewing.store(false, Ordering::SeqCst);
            return;
        }
        let written = tokio::time::timeout(RENEWED, operators.once.write(&key, content())).await;
        hold.is_renewing.store(false, Ordering::SeqCst);
        if matches!(written, Ok(Ok(_))) && hold.is_valid() {
            hold.renewed(begun);
        }
    }
}

/// Something else each time, so that others see that the holder lives.
fn content() -> String {
    new_uuid()
}

fn numbered_key(key: &str, number: u64) -> String {
    format!("{key}.{number:020}")
}

/// One object of a lock.
struct Numbered {
    number: u64,
    size: u64,
    version: String,
}

fn numbered(store: &Arc<Store>, path: &str, key: &str) -> Result<Vec<Numbered>> {
    let (operators, prefix) = (store.operators()?, format!("{key}."));
    let listed = runtime::answered(ANSWER, async move { operators.retried.list(&prefix).await })?;
    let listed = listed.map_err(|e| store.failed("look at the lock", path, &e))?;
    let mut found: Vec<Numbered> = listed
        .into_iter()
        .filter_map(|entry| {
            let number = entry.path().strip_prefix(key)?.strip_prefix('.')?.parse().ok()?;
            let metadata = entry.metadata();
            let changed = metadata.last_modified().map(|at| at.to_string()).unwrap_or_default();
            let version = format!("{} {changed}", metadata.etag().unwrap_or_default());
            Some(Numbered { number, size: metadata.content_length(), version })
        })
        .collect();
    found.sort_by_key(|lock| lock.number);
    Ok(found)
}

/// Whether this process has just seen that somebody has the lock.
fn was_looked_at(name: &str) -> bool {
    let seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
    seen.get(name).is_some_and(|seen| seen.looked.elapsed() < LOOKED)
}

/// Whether a lease was not renewed for so long that it has ended.
fn has_ended(name: &str, version: (u64, String)) -> bool {
    let (looked, _) = now();
    let mut all = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
    match all.get_mut(name) {
        Some(seen) if seen.version == version => {
            seen.looked = looked;
            seen.since.elapsed() >= LASTS
        }
        _ => {
            all.insert(name.to_owned(), Seen { version, since: looked, looked });
            false
        }
    }
}
