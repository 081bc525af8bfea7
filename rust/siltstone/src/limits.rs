//! What a number may be: memory that is asked for before it is needed, where the caller gets an error when it cannot be had
//! and the process lives; counts that files of others tell.

use crate::error::{Error, ErrorKind, Result};

/// Below this there is no use in asking.
const WORTH_ASKING: usize = 64 << 20;

/// The most rows of a file, or bytes, or files: no storage holds as many, and sums of them stay far from an overflow.
pub(crate) const MOST: i64 = 1 << 48;

/// Sums of counts, which come from files of others: they end at the largest number and do not start again.
pub(crate) fn sum(counts: impl IntoIterator<Item = i64>) -> i64 {
    counts.into_iter().fold(0, i64::saturating_add)
}

/// An error when this process cannot get so many bytes now; `what` needs them.
pub(crate) fn ask(bytes: usize, what: impl std::fmt::Display) -> Result<()> {
    if bytes < WORTH_ASKING {
        return Ok(());
    }
    let mut memory: Vec<u8> = Vec::new();
    memory.try_reserve_exact(bytes).map_err(|e| {
        Error::new(ErrorKind::MemoryLimitExceeded, format!("{what} needs about {} MB of memory", bytes >> 20))
            .caused_by(e)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_counts_end_at_the_largest_number() {
        assert_eq!(sum([i64::MAX, 1, 1]), i64::MAX);
        assert_eq!(sum([3, -1]), 2);
    }

    #[test]
    fn what_no_machine_has_is_an_error_and_what_is_small_is_not_asked_for() {
        let error = ask(usize::MAX / 4, "a test").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::MemoryLimitExceeded);
        assert!(error.message().starts_with("a test needs about"), "{error}");
        ask(1 << 20, "a test").unwrap();
    }
}
