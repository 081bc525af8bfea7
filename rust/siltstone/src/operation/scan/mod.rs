//! From a version of the table to the splits that a query reads.
//!
//! Source: semantics f.1 to f.3 and f.5; `AbstractFileStoreScan`, `KeyValueFileStoreScan`, `SplitGenerator`.
//!
//! ```text
//! version -> snapshot -> manifests -> live entries -> files that may match -> splits
//!            (version)    (entries, pruned by partition, bucket, level)  (prune)    (split)
//! ```

mod entries;
mod request;

pub use entries::{EntryFilter, live_entries};
pub use request::{ScanPlan, ScanRequest, VersionSelector, plan, travel};
