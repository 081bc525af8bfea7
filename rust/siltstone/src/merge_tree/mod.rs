//! The LSM tree of one bucket: sorted runs, levels, merging, compaction, and the writer that ties them together.
//!
//! ```text
//!   rows ─▶ MergeTreeWriter ─▶ WriteBuffer ──flush──▶ level 0 files ─┐
//!                 │                                                 ▼
//!                 └── CompactManager ── pick ─▶ CompactUnit ─▶ Levels ◀── upgraded / rewritten files
//!                                                │                            ▲
//!   read_merged ─▶ sections ─▶ merge (k-way) ◀───┴────────── rewrite ─────────┘
//! ```
//!
//! Three words are kept apart: a *run* is a list of files with disjoint key ranges, a *section* is a
//! group of runs whose key ranges overlap, a *unit* is what one compaction takes and to which level.
//! Source: semantics part a and b.1 to b.3; `org.apache.paimon.mergetree`.

mod buffer;
pub mod compact;
mod expiry;
mod interval;
mod levels;
mod lookup;
pub(crate) mod merge;
mod merge_deletions;
pub mod merge_function;
mod nested_order;
mod read;
mod records;
mod sorted_run;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod ties;
mod writer;

pub use buffer::{WriteBuffer, WriteBufferOptions};
pub(crate) use expiry::RecordExpiry;
pub use interval::interval_partition;
pub use levels::Levels;
pub use lookup::LookupCache;
pub(crate) use merge::KeepAll;
pub use merge::{LateCasts, MergeOptions, SpillOptions, merge, read_ahead};
pub use merge_deletions::BucketVectors;
pub use read::{MergeReadOptions, read_merged};
pub use sorted_run::{LevelSortedRun, SortedRun};
pub(crate) use ties::numbers_meet;
pub use writer::{MergeTreeWriter, WriterSettings};
