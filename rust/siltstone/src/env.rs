//! Time and identity: the two things a program takes from its surroundings.
//!
//! Everything below asks a [`Clock`] or [`new_uuid`] instead of the operating system, so that tests can set the time.

use std::fmt;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, UNIX_EPOCH};

use chrono::{Local, NaiveDateTime, TimeZone, Utc};

/// A source of time.
pub trait Clock: Send + Sync + fmt::Debug {
    /// Epoch milliseconds.
    fn now_millis(&self) -> i64;

    /// How much time has gone by since some moment of this process: setting the wall clock does not change it. What waits counts
    /// by it.
    fn elapsed(&self) -> Duration;

    /// Waits; a manual clock only moves its hand.
    fn sleep(&self, time: Duration);

    /// The wall clock of the local time zone as Paimon stores it in `_CREATION_TIME`: the local date and time read
    /// as if it were UTC, in epoch milliseconds.
    fn local_millis(&self) -> i64 {
        local_wall_clock(self.now_millis())
    }
}

/// A shared clock.
pub type ClockRef = Arc<dyn Clock>;

/// The clock of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[allow(clippy::disallowed_methods, reason = "the one place that asks the operating system for the time")]
    fn now_millis(&self) -> i64 {
        let since = std::time::SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    }

    #[allow(clippy::disallowed_methods, reason = "the one place that asks the operating system for the time")]
    fn elapsed(&self) -> Duration {
        static BEGUN: OnceLock<Instant> = OnceLock::new();
        BEGUN.get_or_init(Instant::now).elapsed()
    }

    fn sleep(&self, time: Duration) {
        std::thread::sleep(time);
    }
}

/// A clock that stands still until it is moved; for tests.
#[derive(Debug, Default)]
pub struct ManualClock {
    millis: AtomicI64,
    /// Milliseconds that calls have waited.
    waited: AtomicU64,
}

impl ManualClock {
    /// A clock that shows `millis`.
    pub fn at(millis: i64) -> Self {
        Self { millis: AtomicI64::new(millis), waited: AtomicU64::new(0) }
    }

    /// Sets the clock forward, or back.
    pub fn advance(&self, millis: i64) {
        self.millis.fetch_add(millis, Ordering::Relaxed);
    }
}

impl Clock for ManualClock {
    fn now_millis(&self) -> i64 {
        self.millis.load(Ordering::Relaxed)
    }

    fn elapsed(&self) -> Duration {
        Duration::from_millis(self.waited.load(Ordering::Relaxed))
    }

    fn sleep(&self, time: Duration) {
        let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        self.waited.fetch_add(millis, Ordering::Relaxed);
        self.advance(i64::try_from(millis).unwrap_or(i64::MAX));
    }
}

/// The clock of this machine, shared.
pub fn system_clock() -> ClockRef {
    Arc::new(SystemClock)
}

/// Epoch milliseconds of this machine's clock.
pub fn now_millis() -> i64 {
    SystemClock.now_millis()
}

/// [`Clock::local_millis`] of this machine's clock.
pub fn local_millis() -> i64 {
    SystemClock.local_millis()
}

/// The local date and time of an instant, read as if it were UTC.
pub fn local_wall_clock(epoch_millis: i64) -> i64 {
    match Utc.timestamp_millis_opt(epoch_millis).single() {
        Some(instant) => instant.with_timezone(&Local).naive_local().and_utc().timestamp_millis(),
        None => epoch_millis,
    }
}

/// The instant of a local date and time; the earlier one where the clock was turned back.
pub fn local_to_instant(wall_clock: NaiveDateTime) -> i64 {
    match Local.from_local_datetime(&wall_clock).earliest() {
        Some(instant) => instant.timestamp_millis(),
        None => wall_clock.and_utc().timestamp_millis(),
    }
}

/// A random UUID in lower case, as Paimon puts it into file names and commit users.
pub fn new_uuid() -> String {
    uuid::Uuid::new_v4().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manual_clock_moves_only_when_told() {
        let clock = ManualClock::at(1_000);
        assert_eq!(clock.now_millis(), 1_000);
        clock.sleep(Duration::from_millis(5));
        assert_eq!(clock.now_millis(), 1_005);
    }

    #[test]
    fn wall_clock_and_instant_are_inverse_away_from_clock_changes() {
        let instant = 1_795_223_493_767;
        let wall = chrono::DateTime::from_timestamp_millis(local_wall_clock(instant)).unwrap().naive_utc();
        assert_eq!(local_to_instant(wall), instant);
    }

    #[test]
    fn uuids_are_lower_case_and_differ() {
        let (a, b) = (new_uuid(), new_uuid());
        assert_ne!(a, b);
        assert_eq!(a.len(), 36);
        assert_eq!(a, a.to_lowercase());
    }
}
