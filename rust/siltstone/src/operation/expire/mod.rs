//! Expiry: old snapshots, long-lived changelogs, partitions and consumers go, with the files only they needed.
//!
//! ```text
//! range (which) ─ EARLIEST hint ─ tags, branches ─ data + changelog files ─ metadata ─ snapshot files, oldest first
//! ```
//!
//! The `EARLIEST` hint is written before tags are listed: whoever creates a tag looks at the hint after the tag is
//! published. Either the tag is seen here and keeps its files, or the tag's maker sees the hint and takes it back. An
//! expiry that was cut short is taken up by the next one: it starts at the oldest snapshot file, whatever the hint says.
//!
//! Source: semantics g.1 to g.3, g.9; `ExpireSnapshotsImpl`, `ExpireChangelogImpl`, `NormalPartitionExpire`.

mod auto;
mod background;
mod changelog;
mod data;
mod metadata;
mod partition_time;
mod partitions;
mod range;
mod snapshots;

pub use auto::{Committed, after_commit, expire_consumers};
pub use changelog::expire_changelogs;
pub use partitions::{PartitionExpiry, expire_partitions};
pub use range::Retention;
pub use snapshots::expire_snapshots;
