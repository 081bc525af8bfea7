//! Snapshots, tags as snapshots, hints: their JSON and the directory that lists them.
//!
//! Source: format chapters 1.5, 1.6, 3 and 10; `Snapshot`, `SnapshotManager`, `TagManager`, `ChangelogManager`.

mod branch;
mod changelog;
mod consumer;
mod fork;
mod json;
mod manager;
mod model;
mod pending;
mod period;
mod released;
mod removal;
mod removal_fate;
mod removal_log;
mod removed;
mod settle;
mod tag;
mod upkeep_lock;

pub(crate) use branch::BRANCH_WITHOUT_SCHEMA;
pub use branch::{BranchManager, is_main};
pub use changelog::ChangelogManager;
pub use consumer::{Behind, Consumer, ConsumerManager, ConsumerProgress};
pub use fork::KEEPS_BRANCH;
pub(crate) use manager::{DAMAGED_SNAPSHOT, missing_ids};
pub use manager::{Named, SnapshotManager};
pub use model::{BATCH_COMMIT_IDENTIFIER, CommitKind, NamedList, Snapshot};
pub use pending::Pending;
pub(crate) use period::Period;
pub use released::{Released, ReleasedVersions};
pub use removal::{KNOWN_REMOVALS, Parted, Removal, RemovalKind, Removals, Rollback, TakenBack};
pub use removal_fate::{Fate, Standing};
pub use removal_log::RemovalLog;
pub use removed::{CommitName, RemovedSnapshot};
pub(crate) use tag::DAMAGED_TAG;
pub use tag::{Tag, TagManager, check_name, exists_already};
pub use upkeep_lock::UpkeepLock;

#[cfg(test)]
mod removal_tests;
#[cfg(test)]
mod tests;
