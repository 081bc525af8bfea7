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
//! then on this process removes and replaces nothing of the table ([`Leases::check`]).

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use bytes::Bytes;
use tokio::task::JoinHandle;

use super::{ANSWER, client::Store, publish, runtime};
use crate::{
    env::{new_uuid, now_millis},
    error::{Error, ErrorKind, Result},
};

/// How long an object must not change before its lock is taken over.
const LASTS: Duration = Duration::from_secs(24);
/// How long a holder that cannot renew its lease may go on.
const HOLDS: Duration = Duration::from_secs(12);
/// Between two renewals.
const RENEWED: Duration = Duration::from_secs(3);
/// Between two looks whether a renewal has ended.
const STEP: Duration = Duration::from_millis(5);
/// Between two looks at a lock that somebody has.
const LOOKED: Duration = Duration::from_millis(500);

/// The leases of this process in a bucket.
#[derive(Debug, Default)]
pub(super) struct Leases(Mutex<Vec<(String, Arc<Hold>)>>);

impl Leases {
    /// An error when this process has lost the lock of the table that a key belongs to, and has not noticed yet.
    pub(super) fn check(&self, key: &str) -> Result<()> {
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let lost = held.iter().find(|(root, hold)| {
            key.strip_prefix(root.as_str()).is_some_and(|rest| rest.starts_with('/')) && !hold.is_valid()
        });
        match lost {
            None => Ok(()),
            Some(_) => Err(Error::new(
                ErrorKind::Storage,
                "the lock of the table was lost: this process was stopped, or the store not reached",
            )
            .with("file", key)
            .hint("nothing more was removed; run the operation again, it goes on where it ended")),
        }
    }

    /// Of a table that goes the lock goes with it: from now on this process writes nothing into it any more.
    pub(super) fn give_up(&self, root: &str) {
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let below = |other: &str| other.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        let gone: Vec<Arc<Hold>> =
            held.iter().filter(|(other, _)| below(other)).map(|(_, hold)| Arc::clone(hold)).collect();
        drop(held);
        for hold in gone {
            hold.give_up();
        }
    }

    fn add(&self, root: &str, hold: &Arc<Hold>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((root.to_owned(), Arc::clone(hold)));
    }

    fn remove(&self, hold: &Arc<Hold>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).retain(|(_, other)| !Arc::ptr_eq(other, hold));
    }
}

/// How long a lease is known to hold.
#[derive(Debug)]
struct Hold {
    process: u32,
    lost: AtomicBool,
    given_up: AtomicBool,
    is_renewing: AtomicBool,
    /// When the last renewal that succeeded was begun: two clocks, of which one may stand still while the machine sleeps.
    renewed: Mutex<(Instant, i64)>,
}

impl Hold {
    fn new(begun: (Instant, i64)) -> Self {
        Self {
            process: std::process::id(),
            lost: AtomicBool::new(false),
            given_up: AtomicBool::new(false),
            is_renewing: AtomicBool::new(false),
            renewed: Mutex::new(begun),
        }
    }

    /// Once lost it is never held again.
    fn is_valid(&self) -> bool {
        let (instant, millis) = *self.renewed.lock().unwrap_or_else(PoisonError::into_inner);
        let passed = now_millis().saturating_sub(millis);
        let late = instant.elapsed() >= HOLDS
            || u64::try_from(passed).is_ok_and(|passed| Duration::from_millis(passed) >= HOLDS);
        if late || self.process != std::process::id() {
            self.lost.store(true, Ordering::Relaxed);
        }
        !self.lost.load(Ordering::Relaxed)
    }

    /// Ends the renewals; whether they had been ended before. One that is on its way would come after what is done next.
    fn give_up(&self) -> bool {
        let before = self.given_up.swap(true, Ordering::SeqCst);
        while self.is_renewing.load(Ordering::SeqCst) && self.process == std::process::id() {
            std::thread::sleep(STEP);
        }
        before
    }

    fn renewed(&self, begun: (Instant, i64)) {
        *self.renewed.lock().unwrap_or_else(PoisonError::into_inner) = begun;
    }
}

#[allow(clippy::disallowed_methods, reason = "how long a lease was not renewed, not what time it is")]
fn now() -> (Instant, i64) {
    (Instant::now(), now_millis())
}

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
        if !self.hold.is_valid() || has_gone {
            // somebody else may have it, or its table has gone
            return;
        }
        let (operators, key) = (self.store.operators(), self.key.clone());
        let freed = operators.and_then(|operators| {
            let _shield = crate::cancel::shield();
            runtime::answered(HOLDS / 3, async move { operators.once.write(&key, Bytes::new()).await })
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
    let name = format!("{}/{key}", store.bucket);
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
