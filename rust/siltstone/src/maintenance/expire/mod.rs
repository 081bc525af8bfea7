//! Expiry: old snapshots, long-lived changelogs, partitions and consumers go, with the files only they needed.
//!
//! ```text
//! lock ─ range (which) ─ removal record ─ tags, branches ─ data + changelog files ─ metadata ─ snapshot files, oldest first
//! ```
//!
//! The record is written before tags are listed: whoever creates a tag looks at the records after the tag is published.
//! Either the tag is seen here and keeps its files, or the tag's maker sees the record and takes it back. An expiry that was
//! cut short is taken up by the next one: its record says which snapshots were going.
//!
//! Source: semantics g.1 to g.3, g.9; `ExpireSnapshotsImpl`, `ExpireChangelogImpl`, `NormalPartitionExpire`.

mod changelog;
mod consumers;
mod data;
mod deltas;
mod metadata;
mod partition_time;
mod partitions;
mod range;
mod snapshots;

pub use changelog::expire_changelogs;
pub use consumers::expire_consumers;
pub use partitions::{PartitionExpiry, expire_partitions};
pub use range::Retention;
pub(super) use range::{before, expiring_or_followed, stays};
pub use snapshots::expire_snapshots;
