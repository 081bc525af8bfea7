//! What an operation has begun by a removal record, and has not ended yet.

use serde::{Deserialize, Serialize};

use super::RemovedSnapshot;

/// In the newest record of a branch: what its writer was about to do, or was when it died.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pending {
    /// A snapshot that a fast-forward, or a rollback to a tag, puts into its place before the record that makes it a version; until
    /// then it is none. A table that lost its records loses no version by it: then nothing says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placing: Option<RemovedSnapshot>,
    /// The number of the record that began this. What another program puts there is a copy of a version from before that record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placed_by: Option<u64>,
    /// A version that its writer is about to take back, unless something was built on it; said before it looks for that. Who has
    /// published a version behind it, or relies on one, waits for the end of that: one of the two sees the other. The next record
    /// ends it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taking_back: Option<RemovedSnapshot>,
    /// A version of which somebody was told that his commit is in it: its writer does not take it back any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keeping: Option<RemovedSnapshot>,
}

impl Pending {
    /// What the record of another operation repeats: a snapshot whose fast-forward or rollback died is no version by it.
    pub(super) fn repeated(&self) -> Self {
        let placed_by = self.placed_by.filter(|_| self.placing.is_some());
        Self { placing: self.placing.clone(), placed_by, ..Self::default() }
    }

    /// Whether the version of this id, or one before it, is about to be taken back.
    pub fn takes_back(&self, id: i64) -> bool {
        self.taking_back.as_ref().is_some_and(|going| going.id <= id)
    }
}
