//! What everything that deletes shares: plans of paths with reasons, their execution, and what living versions need.
//!
//! ```text
//! references (branches, snapshots, tags, changelogs) ─ needs (files of each) ─ plan (path, reason, size) ─ execute
//! ```
//!
//! Source: semantics g.2, g.4 and g.8; `FileDeletionBase`, `OrphanFilesClean`.

mod cache;
mod needs;
mod plan;
mod references;
mod unneeded;

pub use cache::ManifestCache;
pub use needs::{MetaFile, MetaParts, metadata_files, metadata_names};
pub use plan::{Change, FileKind, Plan, PlannedFile, Report, Step, plan_beside_others};
pub use references::{References, Roots, elsewhere, long_lived};
pub use unneeded::{Unneeded, bucket_dirs, data_files};
