//! Tables without primary key: rows in the order of arrival, and small files made into larger ones.
//!
//! ```text
//!   rows ─▶ AppendWriter ─▶ RollingWriter ─▶ files ──(fixed buckets)──▶ BucketQueue ─ pick ─▶ rewrite
//!                                              └────(unaware)──▶ committed; later: pack_small_files ─▶ rewrite
//! ```
//!
//! Source: semantics a.10; `AppendOnlyWriter`, `BucketedAppendCompactManager`, `AppendCompactCoordinator`.

mod bucketed;
mod pack;
mod rewrite;
mod vectors;
mod writer;

pub use bucketed::BucketQueue;
pub use pack::{PackRules, VectorPlaces, pack_small_files, pack_with_vectors};
pub use rewrite::rewrite;
pub use vectors::AppendVectors;
pub use writer::{AppendSettings, AppendWriter};

/// Bytes of a batch's rows, without what else lies in the buffers they are a slice of.
pub(crate) fn batch_bytes(rows: &arrow_array::RecordBatch) -> usize {
    let bytes = |column: &arrow_array::ArrayRef| {
        column.to_data().get_slice_memory_size().unwrap_or_else(|_| column.get_array_memory_size())
    };
    rows.columns().iter().map(bytes).sum()
}
