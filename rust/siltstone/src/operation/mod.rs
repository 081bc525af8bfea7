//! What a user asks for, below the table object: scan, read, write, compact, commit.

pub mod analyze;
pub mod branch;
mod carry;
pub mod cleanup;
pub mod commit;
pub mod compact;
pub mod expire;
pub mod fsck;
mod identity;
mod model;
pub mod modify;
pub mod orphan;
pub mod overtaken;
pub(crate) mod partition_spec;
pub mod read;
pub mod rollback;
pub mod scan;
mod serde;
pub mod tag;
pub mod view;
pub mod write;

pub use compact::{CompactRequest, CompactionPlan, CompactionTask, TaskResources, TaskUnit, plan_compaction, run_task};
pub use identity::TableIdentity;
pub use model::{Assigned, CommitMessage, Seen, Split};
pub(crate) use serde::Seal;
pub use write::{RowKinds, TableWrite, WriteOptions};
