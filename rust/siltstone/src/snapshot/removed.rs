//! Snapshots as removal records name them.

use serde::{Deserialize, Serialize};

use super::{CommitKind, Snapshot};

/// What its user calls a commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CommitName {
    /// The user.
    pub user: String,
    /// The user's number for it.
    pub identifier: i64,
    /// Of one number there may be an APPEND and a COMPACT.
    pub kind: CommitKind,
}

/// A snapshot that goes. Ids are used again after a rollback; the manifest list of a commit's changes has a unique name.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RemovedSnapshot {
    /// Its id.
    pub id: i64,
    /// Its identity.
    pub delta_manifest_list: String,
    /// What its user calls it: whoever commits the same under the same name finds it here when it has expired.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<CommitName>,
}

impl PartialEq for RemovedSnapshot {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id && self.delta_manifest_list == other.delta_manifest_list
    }
}

impl Eq for RemovedSnapshot {}

impl RemovedSnapshot {
    /// Whether this is that snapshot, not another one of the same id.
    pub fn is(&self, snapshot: &Snapshot) -> bool {
        self.id == snapshot.id && self.delta_manifest_list == snapshot.delta_manifest_list
    }
}

impl From<&Snapshot> for RemovedSnapshot {
    fn from(snapshot: &Snapshot) -> Self {
        let Snapshot { commit_user, commit_identifier, commit_kind, .. } = snapshot;
        let commit = CommitName { user: commit_user.clone(), identifier: *commit_identifier, kind: *commit_kind };
        Self { id: snapshot.id, delta_manifest_list: snapshot.delta_manifest_list.clone(), commit: Some(commit) }
    }
}
