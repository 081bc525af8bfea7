//! Tables without primary key: rows in the order of arrival, and small files made into larger ones.
//!
//! ```text
//!   rows ─▶ AppendWriter ─▶ RollingWriter ─▶ files ──(fixed buckets)──▶ BucketQueue ─ pick ─▶ rewrite
//!                                              └────(unaware)──▶ committed; later: pack_small_files ─▶ rewrite
//! ```
//!
//! Source: semantics a.10; `AppendOnlyWriter`, `BucketedAppendCompactManager`, `AppendCompactCoordinator`.

mod bucketed;
mod deletion_maintainer;
mod evolution;
mod pack;
mod rewrite;
mod writer;

pub use bucketed::BucketQueue;
pub use deletion_maintainer::AppendVectors;
pub use evolution::{pack_row_groups, rewrite_row_groups};
pub use pack::{PackRules, VectorPlaces, pack_small_files, pack_with_vectors};
pub use rewrite::{read_rows, rewrite};
pub use writer::{AppendSettings, AppendWriter};
