//! One upkeep operation at a time: whoever removes or replaces a name of a table (a snapshot, tag or branch) holds its lock.
//!
//! Commits, and whatever else only adds names, never wait for it. It ends with the process that holds it. Other programs do
//! not know it.

use std::time::Duration;

use crate::{
    cancel,
    env::{ClockRef, system_clock},
    error::{Error, ErrorKind, Result},
    fs::{FileIoRef, HeldLock},
};

/// Between two tries to take the lock.
const PAUSE: Duration = Duration::from_millis(20);

/// The lock of a table and all its branches, held.
#[derive(Debug)]
pub struct UpkeepLock {
    clock: ClockRef,
    _held: Box<dyn HeldLock>,
}

impl UpkeepLock {
    /// The lock of the table at `location`, when it is free.
    pub fn try_take(fs: &FileIoRef, location: &str) -> Result<Option<Self>> {
        Self::try_with(fs, location, &system_clock())
    }

    /// The lock, waiting at most `patience` for whoever holds it.
    ///
    /// # Errors
    /// `UpkeepRunning`: it was held all the time; `TableNotFound`: the table's directory is gone.
    pub fn take(fs: &FileIoRef, location: &str, patience: Duration) -> Result<Self> {
        Self::take_with(fs, location, patience, &system_clock())
    }

    /// [`UpkeepLock::take`] by another clock.
    pub fn take_with(fs: &FileIoRef, location: &str, patience: Duration, clock: &ClockRef) -> Result<Self> {
        let begun = clock.elapsed();
        loop {
            if let Some(lock) = Self::try_with(fs, location, clock)? {
                return Ok(lock);
            }
            let waited = clock.elapsed().saturating_sub(begun);
            if waited >= patience {
                let message = "another expiry, rollback, deletion or renaming, or orphan cleaning is at work";
                return Err(Error::new(ErrorKind::UpkeepRunning, message)
                    .with("file", path(location))
                    .with("waited_millis", waited.as_millis())
                    .hint("try again when it has ended; `siltstone.upkeep-lock-timeout` says how long to wait"));
            }
            cancel::check()?;
            clock.sleep(PAUSE);
        }
    }

    fn try_with(fs: &FileIoRef, location: &str, clock: &ClockRef) -> Result<Option<Self>> {
        let Some(held) = fs.try_lock(&path(location))? else { return Ok(None) };
        // of a directory that was renamed or deleted meanwhile it is no lock of the table that is there now
        Ok(held.is_in_place()?.then(|| Self { clock: ClockRef::clone(clock), _held: held }))
    }

    pub(super) fn now_millis(&self) -> i64 {
        self.clock.now_millis()
    }
}

/// One for the table and its branches, because branches share files.
fn path(location: &str) -> String {
    format!("{}/siltstone/upkeep.lock", location.trim_end_matches('/'))
}
