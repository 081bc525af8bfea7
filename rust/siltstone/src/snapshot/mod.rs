//! Snapshots, tags as snapshots, hints: their JSON and the directory that lists them.
//!
//! Source: format chapters 1.5, 1.6 and 3; `Snapshot`, `SnapshotManager`.

mod json;
mod manager;
mod model;
mod tag;

pub use manager::SnapshotManager;
pub use model::{BATCH_COMMIT_IDENTIFIER, CommitKind, Snapshot};
pub use tag::TagManager;

#[cfg(test)]
mod tests;
