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
}

impl Hold {
    pub(super) fn new(begun: (Instant, i64)) -> Self {
        Self {
            process: std::process::id(),
            lost: AtomicBool::new(false),
            given_up: AtomicBool::new(false),
            is_renewing: AtomicBool::new(false),
            renewed: Mutex::new(begun),
        }
    }

    /// Once lost it is never held again.
    pub(super) fn is_valid(&self) -> bool {
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

#[allow(clippy::disallowed_methods, reason = "how long a lease was not renewed, not what time it is")]
pub(super) fn now() -> (Instant, i64) {
    (Instant::now(), now_millis())
}
