//! From a version of the table to the splits that a query reads.
//!
//! Source: semantics f.1 to f.3 and f.5; `AbstractFileStoreScan`, `KeyValueFileStoreScan`, `SplitGenerator`.
//!
//! ```text
//! version -> snapshot -> manifests -> live entries -> files that may match -> splits
//! (version)             (entries, buckets: by         (prune, bounds, sections) (split)
//!                        partition, bucket, level)
//! ```

mod bounds;
mod buckets;
mod deletions;
mod entries;
mod prune;
mod request;
pub(crate) mod sections;
mod split;
mod supported;
mod version;

pub use deletions::bucket_vectors;
pub use entries::{EntryFilter, live_entries};
pub use request::{ScanPlan, ScanRequest, VersionSelector, plan};
pub use version::travel;
