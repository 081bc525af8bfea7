//! What the merge engines have in common and where they differ, for rooms that need not know which one a table has.

use super::values::MergeEngine;

/// What becomes of a key that comes in another partition than the one its row is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyElsewhere {
    /// The key moves: the old row is deleted.
    Moves,
    /// The new row goes to where its key is.
    Stays,
    /// The new row is left out.
    IsLeftOut,
}

impl MergeEngine {
    /// Whether a key's row is one of those that were written, as a whole; else columns of several are put together.
    pub fn chooses_rows(self) -> bool {
        matches!(self, Self::Deduplicate | Self::FirstRow)
    }

    /// Whether the newest record of a key is its row, whatever was before.
    pub fn newest_wins(self) -> bool {
        self == Self::Deduplicate
    }

    /// Whether the oldest record of a key is its row. Then only a compaction, which looks for older ones, makes new keys visible:
    /// batch reads leave level 0 out.
    pub fn oldest_wins(self) -> bool {
        self == Self::FirstRow
    }

    /// Whether the records of a key are put together: none of them is its row.
    pub fn computes(self) -> bool {
        matches!(self, Self::PartialUpdate | Self::Aggregation)
    }

    /// What becomes of a key that comes in another partition, where the primary key lacks partition columns.
    pub fn key_elsewhere(self) -> KeyElsewhere {
        match self {
            Self::Deduplicate => KeyElsewhere::Moves,
            Self::PartialUpdate | Self::Aggregation => KeyElsewhere::Stays,
            Self::FirstRow => KeyElsewhere::IsLeftOut,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_that_chooses_rows_takes_the_newest_or_the_oldest() {
        for text in MergeEngine::TEXTS {
            let engine = MergeEngine::parse(text).unwrap();
            assert_eq!(engine.chooses_rows(), engine.newest_wins() != engine.oldest_wins(), "{text}");
            assert_eq!(engine.key_elsewhere() == KeyElsewhere::Stays, !engine.chooses_rows(), "{text}");
        }
    }
}
