//! What the values of a batch may take.

use crate::{
    error::{Error, ErrorKind, Result},
    limits::Taken,
};

/// What the values of a batch may take; it becomes smaller where they take more. A single row takes what it takes, and memory
/// is asked for.
pub(super) struct Budget {
    of: Of,
    /// There was not enough.
    pub(super) exceeded: bool,
}

enum Of {
    /// What is left.
    Rows(usize),
    OneRow(Taken),
}

impl Budget {
    pub(super) fn new(bytes: usize) -> Self {
        Self { of: Of::Rows(bytes), exceeded: false }
    }

    pub(super) fn of_one_row() -> Self {
        Self { of: Of::OneRow(Taken::default()), exceeded: false }
    }

    /// Nulls, and values that are made of less.
    pub(super) fn take(&mut self, bytes: usize) -> Result<()> {
        self.make(bytes)?;
        self.find(bytes)
    }

    /// Values that have to be found in the file first, which is what limits them in a row of its own. Their readers ask for
    /// memory as they find them.
    pub(super) fn find(&mut self, bytes: usize) -> Result<()> {
        let Of::Rows(left) = &mut self.of else { return Ok(()) };
        *left = left.checked_sub(bytes).ok_or_else(|| {
            self.exceeded = true;
            Error::new(ErrorKind::MemoryLimitExceeded, "a batch of an ORC file is too large")
        })?;
        Ok(())
    }

    /// What is made on the way of values that were found: rows of a batch have few of them.
    pub(super) fn make(&mut self, bytes: usize) -> Result<()> {
        match &self.of {
            Of::Rows(_) => Ok(()),
            Of::OneRow(taken) => taken.more(bytes, "a row of an ORC file"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO_MACHINE: usize = usize::MAX / 4;

    #[test]
    fn a_batch_is_counted_and_a_row_of_its_own_is_asked_for() {
        let mut batch = Budget::new(100);
        batch.take(60).unwrap();
        batch.make(NO_MACHINE).unwrap();
        assert!(!batch.exceeded);
        assert_eq!(batch.find(60).unwrap_err().kind(), ErrorKind::MemoryLimitExceeded);
        assert!(batch.exceeded);
        let mut row = Budget::of_one_row();
        row.find(NO_MACHINE).unwrap();
        for result in [row.take(NO_MACHINE), row.make(NO_MACHINE)] {
            assert_eq!(result.unwrap_err().kind(), ErrorKind::MemoryLimitExceeded);
        }
        assert!(!row.exceeded);
    }
}
