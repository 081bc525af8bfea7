//! Memory that is asked for before it is needed: where it cannot be had, the caller gets an error and the process lives.

use crate::error::{Error, ErrorKind, Result};

/// Below this there is no use in asking.
const WORTH_ASKING: usize = 64 << 20;

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
    fn what_no_machine_has_is_an_error_and_what_is_small_is_not_asked_for() {
        let error = ask(usize::MAX / 4, "a test").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::MemoryLimitExceeded);
        assert!(error.message().starts_with("a test needs about"), "{error}");
        ask(1 << 20, "a test").unwrap();
    }
}
