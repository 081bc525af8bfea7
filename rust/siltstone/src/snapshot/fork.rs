//! Tags that keep the files of a branch.
//!
//! The making of a branch from a snapshot tags it, and leaves the branch's name in the tag: whoever deletes or renames the branch
//! knows by it that the tag belongs to the branch. A user's tag has no such property, whatever its name and its version are.

use super::Snapshot;

/// The property of a tagged snapshot that names the branch whose files the tag keeps.
pub const KEEPS_BRANCH: &str = "siltstone.branch";

impl Snapshot {
    /// The branch that this tagged snapshot is kept for.
    pub fn kept_branch(&self) -> Option<&str> {
        self.properties.as_ref()?.get(KEEPS_BRANCH).map(String::as_str)
    }

    /// The same snapshot in a tag that keeps the files of a branch.
    #[must_use]
    pub fn keeping(mut self, branch: &str) -> Self {
        self.properties.get_or_insert_default().insert(KEEPS_BRANCH.to_owned(), branch.to_owned());
        self
    }

    /// The same snapshot as one that no branch asked for.
    #[must_use]
    pub fn keeping_no_branch(self) -> Self {
        self.without_property(KEEPS_BRANCH)
    }

    pub(super) fn without_property(mut self, key: &str) -> Self {
        if let Some(properties) = &mut self.properties
            && properties.remove(key).is_some()
            && properties.is_empty()
        {
            self.properties = None;
        }
        self
    }
}
