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
mod brought;
mod buckets;
mod deletions;
mod entries;
mod feature_check;
mod incremental;
mod incremental_range;
mod last_writes;
mod level_0;
mod levels;
mod looked_for;
mod older_schema;
pub mod overtaken;
pub(crate) mod partition_spec;
mod plan;
mod prepared;
mod prune;
mod read_request;
mod request;
mod resolved;
pub(crate) mod sections;
mod since;
mod split;
mod stream_scan;
mod tally;
mod time_travel;
mod version;

pub(crate) use brought::brought_by;
pub use deletions::{bucket_hashes, bucket_vectors, check_cardinality, check_index_kinds};
pub(crate) use deletions::{has_hash_index, has_key_places, hashes_of_manifest, vectors_among};
pub use entries::{EntryFilter, live_entries};
pub(crate) use entries::{ask_for_memory, listed_entries};
pub use incremental_range::{Between, Incremental};
pub use last_writes::{LastWrites, live_entries_with_last_writes};
pub(crate) use levels::{has_deleted_rows, has_several_levels};
pub(crate) use looked_for::changed_file;
pub use partition_spec::PartitionSpec;
pub use plan::{partitions_at, plan, plan_at};
pub use prepared::read_request;
pub(crate) use prepared::skips_level_0;
pub use read_request::{ROW_KIND_COLUMN, ReadOptions, ReadRequest};
pub use request::{ScanPlan, ScanRequest};
pub use resolved::Resolved;
pub(crate) use since::changes_since;
pub use stream_scan::{
    Start, StreamScan, StreamScanOptions, StreamStep, behind, check_checkpoint, check_progress, checkpoint,
    checkpoint_before, end_of, first_readable, rolled_back_to,
};
pub use tally::counted_rows;
pub use time_travel::{counterpart, time_travel};
pub use version::VersionSelector;
