//! A commit of a writer that failed: its rows are in no version, for all that is known.
//!
//! The same messages may be committed again, under the same identifier: where the first try has been published after all, that is
//! found out. Until then, or until the rows are given up, the writer takes and commits no others: a commit without them would say
//! that they are there.

use crate::{Error, ErrorKind, Result, commit::Committable};

#[derive(Debug)]
pub(super) struct Unpublished {
    identifier: Option<i64>,
    /// `None`: the files were deleted, because the commit can never fit the table.
    again: Option<Committable>,
    /// Why a compaction of theirs was given up before.
    given_up: Option<Error>,
}

impl Unpublished {
    /// What a commit that ended with this error leaves.
    pub(super) fn of(committable: Committable, given_up: Option<Error>, error: &Error) -> Self {
        let are_deleted = error.kind() == ErrorKind::CommitConflict && !error.lets_files_stay();
        Self { identifier: committable.identifier, again: (!are_deleted).then_some(committable), given_up }
    }

    /// Whether this asks for the same commit, which can be done.
    pub(super) fn is_same(&self, asked: &Committable) -> bool {
        self.again.is_some() && asked.identifier == self.identifier
    }

    /// The same commit, with the later of both watermarks, and why its compaction was given up before.
    pub(super) fn again(self, asked: &Committable, table: &str) -> Result<(Committable, Option<Error>)> {
        match self.again {
            Some(first) => {
                let watermark = first.watermark.max(asked.watermark);
                let allow_empty = first.allow_empty || asked.allow_empty;
                Ok((Committable { watermark, allow_empty, ..first }, self.given_up))
            }
            None => Err(self.undecided(table)),
        }
    }

    /// Refuses everything but the same commit.
    pub(super) fn undecided(&self, table: &str) -> Error {
        let error = match &self.again {
            Some(_) => Error::new(ErrorKind::WriteFailed, "an earlier commit of this writer failed").hint(
                "commit() with the same identifier publishes the same rows, or finds that they were published; \
                 discard() gives them up; then go on",
            ),
            None => Error::new(
                ErrorKind::WriteFailed,
                "an earlier commit of this writer met a conflict: nothing of it was committed, and its files were deleted",
            )
            .hint("call discard(), then write the rows again"),
        };
        let identifier = self.identifier.map_or_else(|| "none".to_owned(), |identifier| identifier.to_string());
        error.with("table", table).with("identifier", identifier)
    }
}
