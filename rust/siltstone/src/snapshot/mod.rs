//! Snapshots, tags as snapshots, hints: their JSON and the directory that lists them.
//!
//! Source: format chapters 1.5, 1.6 and 3; `Snapshot`, `SnapshotManager`.

mod model;

pub use model::{BATCH_COMMIT_IDENTIFIER, CommitKind, Snapshot};
