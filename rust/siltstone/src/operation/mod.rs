//! What a user asks for, below the table object: scan, read, write, compact, commit.

pub mod commit;
pub mod compact;
mod model;
pub mod modify;
pub mod read;
pub mod scan;
mod serde;
pub mod write;

pub use compact::{CompactRequest, CompactionPlan, CompactionTask, TaskResources, TaskUnit, plan_compaction, run_task};
pub use model::{CommitMessage, Split};
pub use write::{RowKinds, TableWrite, WriteOptions};
