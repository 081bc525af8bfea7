//! What travels between planning, executing and committing: splits, compaction tasks and commit messages, their bytes, and
//! the table they were made for.

mod bundle;
mod identity;
mod java_bytes;
mod model;
mod sealed;
mod task;

pub use bundle::{bundled, unbundled};
pub use identity::TableIdentity;
pub use model::{Assigned, AssignedBy, CommitMessage, Seen, Split};
pub(crate) use sealed::Seal;
pub use task::{CompactionTask, SortOrder, SortStrategy, TaskUnit};
