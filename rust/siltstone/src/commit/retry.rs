//! How long a commit keeps trying.

use std::time::Duration;

use crate::{
    cancel,
    env::{ClockRef, new_uuid, system_clock},
    error::{Error, ErrorKind},
    options::CoreOptions,
};

/// A wait is looked at so often.
const STRETCH: Duration = Duration::from_millis(50);

/// The longest wait of a statement, which cannot tell a conflict that stays from one that passes.
const STATEMENT_WAIT: Duration = Duration::from_secs(1);

/// Tries, waits and the deadline of one snapshot, or of one statement.
#[derive(Debug)]
pub(crate) struct Retry {
    clock: ClockRef,
    started: Duration,
    retries: u32,
    max_retries: u32,
    timeout: Option<Duration>,
    min_wait: Duration,
    max_wait: Duration,
}

impl Retry {
    pub(super) fn new(options: &CoreOptions, clock: &ClockRef) -> Self {
        Self {
            started: clock.elapsed(),
            clock: ClockRef::clone(clock),
            retries: 0,
            max_retries: options.commit_max_retries,
            timeout: options.commit_timeout,
            min_wait: options.commit_min_retry_wait,
            max_wait: options.commit_max_retry_wait,
        }
    }

    /// Of a statement that runs again when others change the same rows.
    pub(crate) fn of_statement(options: &CoreOptions) -> Self {
        let retry = Self::new(options, &system_clock());
        Self { max_wait: retry.max_wait.min(STATEMENT_WAIT), ..retry }
    }

    /// Waits before a statement runs again after a conflict; the conflict where it has run often enough, or would meet it again.
    pub(crate) fn after(&mut self, conflict: Error) -> Result<(), Error> {
        if conflict.is_of_old_handle() {
            return Err(conflict);
        }
        self.next().map_err(|end| if end.kind() == ErrorKind::CommitRetriesExhausted { conflict } else { end })
    }

    pub(super) fn attempts(&self) -> u32 {
        self.retries + 1
    }

    /// Waits for the next try; an error when there is none left.
    pub(super) fn next(&mut self) -> Result<(), Error> {
        let elapsed = self.clock.elapsed().saturating_sub(self.started);
        let late = self.timeout.is_some_and(|timeout| elapsed > timeout);
        if late || self.retries >= self.max_retries {
            return Err(self.exhausted(elapsed));
        }
        // nothing is published between two tries: the wait may be stopped
        let mut left = self.wait();
        while !left.is_zero() {
            cancel::check()?;
            let part = left.min(STRETCH);
            self.clock.sleep(part);
            left -= part;
        }
        self.retries += 1;
        Ok(())
    }

    /// The minimum doubled with every try up to the maximum, and up to a fifth more, so that competitors part.
    fn wait(&self) -> Duration {
        let doubled = self.min_wait.saturating_mul(1_u32.checked_shl(self.retries.min(30)).unwrap_or(u32::MAX));
        let wait = doubled.min(self.max_wait);
        wait + (wait / 5).mul_f64(random_share())
    }

    fn exhausted(&self, elapsed: Duration) -> Error {
        let text = format!(
            "Commit failed after {} millis with {} retries, there maybe exist commit conflicts between \
             multiple jobs.",
            elapsed.as_millis(),
            self.retries
        );
        Error::new(ErrorKind::CommitRetriesExhausted, text)
            .hint("Commit less often or from fewer jobs, or raise commit.max-retries, commit.max-retry-wait or commit.timeout.")
    }
}

/// A number from 0 to 1, from the random bits of a UUID.
fn random_share() -> f64 {
    let uuid = new_uuid();
    let digits = uuid.get(..8).and_then(|digits| u32::from_str_radix(digits, 16).ok());
    f64::from(digits.unwrap_or(0)) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests may stop at the first surprise")]

    use std::{collections::BTreeMap, sync::Arc};

    use super::*;
    use crate::env::ManualClock;

    fn options(pairs: &[(&str, &str)]) -> CoreOptions {
        let pairs: BTreeMap<String, String> = pairs.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
        CoreOptions::parse(&pairs).unwrap()
    }

    #[test]
    fn waits_double_from_ten_milliseconds_to_ten_seconds_with_up_to_a_fifth_on_top() {
        let clock: ClockRef = Arc::new(ManualClock::at(0));
        let mut retry = Retry::new(&options(&[]), &clock);
        let mut before = 0;
        for k in 0..10_u32 {
            retry.next().unwrap();
            let waited = clock.now_millis() - before;
            before = clock.now_millis();
            let plain = i64::min(10 << k, 10_000);
            assert!(waited >= plain && waited <= plain + plain / 5 + 1, "try {k} waited {waited}");
        }
        let error = retry.next().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::CommitRetriesExhausted);
        assert!(error.message().contains("with 10 retries"), "{error}");
    }

    #[test]
    fn the_deadline_ends_the_tries_early() {
        let clock: ClockRef = Arc::new(ManualClock::at(0));
        let options = options(&[("commit.timeout", "25 ms"), ("commit.max-retries", "100")]);
        let mut retry = Retry::new(&options, &clock);
        assert!((0..100).any(|_| retry.next().is_err()));
        assert!(retry.attempts() < 5);
    }
}
