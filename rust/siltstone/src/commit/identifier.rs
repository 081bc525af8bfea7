//! The identifier of a commit.

use crate::snapshot::BATCH_COMMIT_IDENTIFIER;

/// How a commit gets its identifier, and by what it is recognised when its outcome was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Identifier {
    /// Chosen by the caller: user and identifier name the commit, also across processes.
    Explicit(i64),
    /// Shared with other commits: only the manifest list of this very commit names it.
    Shared(i64),
    /// The next free one of the user, recognised like `Shared`.
    Next,
}

impl Identifier {
    pub(super) fn of(given: Option<i64>) -> Self {
        match given {
            None => Self::Next,
            Some(BATCH_COMMIT_IDENTIFIER) => Self::Shared(BATCH_COMMIT_IDENTIFIER),
            Some(id) => Self::Explicit(id),
        }
    }
}
