//! The locks of stores that this process holds, and whether it still does.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use crate::{
    env::now_millis,
    error::{Error, ErrorKind, Result},
};

/// How long a holder that cannot renew its lease may go on.
pub(super) const HOLDS: Duration = Duration::from_secs(12);
/// Between two looks whether a renewal has ended.
const STEP: Duration = Duration::from_millis(5);

/// The leases of this process in a bucket.
#[derive(Debug, Default)]
pub(super) struct Leases(Mutex<Vec<(String, Arc<Hold>)>>);

impl Leases {
    /// An error when this process has lost the lock of the table that a key belongs to, and has not noticed yet.
    pub(super) fn check(&self, key: &str) -> Result<()> {
        self.of(key).map(drop)
    }

    /// The locks of the table that a key belongs to; an error when one of them was lost.
    pub(super) fn of(&self, key: &str) -> Result<Vec<Arc<Hold>>> {
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_of = |root: &str| key.strip_prefix(root).is_some_and(|rest| rest.starts_with('/'));
        let holds: Vec<_> = held.iter().filter(|(root, _)| is_of(root)).map(|(_, hold)| Arc::clone(hold)).collect();
        if holds.iter().all(|hold| hold.is_valid()) {
            return Ok(holds);
        }
        Err(Error::new(
            ErrorKind::Storage,
            "the lock of the table was lost: this process was stopped, or the store not reached",
        )
        .with("file", key)
        .hint("nothing more was removed; run the operation again, it goes on where it ended"))
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

    pub(super) fn add(&self, root: &str, hold: &Arc<Hold>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((root.to_owned(), Arc::clone(hold)));
    }

    pub(super) fn remove(&self, hold: &Arc<Hold>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).retain(|(_, other)| !Arc::ptr_eq(other, hold));
    }
}

/// How long a lease is known to hold.
#[derive(Debug)]
pub(super) struct Hold {
    process: u32,
    lost: AtomicBool,
    pub(super) given_up: AtomicBool,
    pub(super) is_renewing: AtomicBool,
    /// When the last renewal that succeeded was begun: two clocks, of which one may stand still while the machine sleeps.
    renewed: Mutex<(Instant, i64)>,
    /// When the last request that has no answer was given up.
    unanswered: Mutex<Option<(Instant, i64)>>,
}

impl Hold {
    pub(super) fn new(begun: (Instant, i64)) -> Self {
        Self {
            process: std::process::id(),
            lost: AtomicBool::new(false),
            given_up: AtomicBool::new(false),
            is_renewing: AtomicBool::new(false),
            renewed: Mutex::new(begun),
            unanswered: Mutex::new(None),
        }
    }

    pub(super) fn is_valid(&self) -> bool {
        !self.left().is_zero()
    }

    /// For how long it is held if no renewal succeeds; once lost it is never held again.
    pub(super) fn left(&self) -> Duration {
        let renewed = *self.renewed.lock().unwrap_or_else(PoisonError::into_inner);
        let left = HOLDS.saturating_sub(since(renewed));
        if left.is_zero() || self.process != std::process::id() {
            self.lost.store(true, Ordering::Relaxed);
        }
        if self.lost.load(Ordering::Relaxed) { Duration::ZERO } else { left }
    }

    /// A request has no answer: it may still come to the store.
    pub(super) fn is_unanswered(&self) {
        *self.unanswered.lock().unwrap_or_else(PoisonError::into_inner) = Some(now());
    }

    /// Whether others may have it at once: no request of this process comes to the store any more.
    pub(super) fn may_be_freed(&self) -> bool {
        let unanswered = *self.unanswered.lock().unwrap_or_else(PoisonError::into_inner);
        unanswered.is_none_or(|given_up| since(given_up) >= HOLDS)
    }

    /// Ends the renewals; whether they had been ended before. One that is on its way would come after what is done next.
    pub(super) fn give_up(&self) -> bool {
        let before = self.given_up.swap(true, Ordering::SeqCst);
        while self.is_renewing.load(Ordering::SeqCst) && self.process == std::process::id() {
            std::thread::sleep(STEP);
        }
        before
    }

    pub(super) fn renewed(&self, begun: (Instant, i64)) {
        *self.renewed.lock().unwrap_or_else(PoisonError::into_inner) = begun;
    }
}

/// The longer of what two clocks say.
fn since((instant, millis): (Instant, i64)) -> Duration {
    let passed = now_millis().saturating_sub(millis);
    instant.elapsed().max(Duration::from_millis(u64::try_from(passed).unwrap_or(0)))
}

#[allow(clippy::disallowed_methods, reason = "how long a lease was not renewed, not what time it is")]
pub(super) fn now() -> (Instant, i64) {
    (Instant::now(), now_millis())
}
