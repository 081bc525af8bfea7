//! Deletion vectors: which rows of a data file are deleted, by their physical position.
//!
//! ```text
//! index file   u8 version 1 | vectors, one after another, in any order
//! vector       i32 BE size of data | data | i32 BE CRC-32 of data
//! data, 32-bit 5e43f2d0 (1581511376 BE) | RoaringBitmap, portable format
//! data, 64-bit d1d33964 (1681511377 LE) | i64 LE count | count times: i32 LE key, RoaringBitmap, portable format
//! range        offset of the size field; length = size (32-bit), size + 8 (64-bit)
//! ```
//!
//! [`DeletionVector`] is the form that changes, on the `roaring` crate. [`DeletedRows`] is the form that is read: a
//! vector in its serialized bytes, never rebuilt, which becomes a selection mask in one pass over its containers.
//! Both forms may occur in one table and one index file; the magic tells them apart.
//!
//! Source: format chapter 8.4, semantics d.1; `BitmapDeletionVector`, `Bitmap64DeletionVector`,
//! `DeletionVectorsIndexFile`, `BucketedDvMaintainer`, `AppendDeleteFileMaintainer`. Stricter than Java: the CRC is
//! verified on reading.

mod append;
mod bulk;
mod index_file;
mod maintainer;
mod stored;
#[cfg(test)]
mod tests;
mod vector;

pub use append::AppendDeleteMaintainer;
pub use index_file::{DeletionVectorsIndexFile, Held};
pub use maintainer::DeletionVectorsMaintainer;
pub use stored::DeletedRows;
pub use vector::DeletionVector;

/// `_INDEX_TYPE` of index files that hold deletion vectors.
pub const DELETION_VECTORS: &str = "DELETION_VECTORS";

const VERSION: u8 = 1;
const MAGIC_32: [u8; 4] = 1_581_511_376_i32.to_be_bytes();
const MAGIC_64: [u8; 4] = 1_681_511_377_i32.to_le_bytes();

/// The deleted rows of some data files, by file name.
pub type DeletionMap = std::sync::Arc<std::collections::BTreeMap<String, std::sync::Arc<DeletedRows>>>;

/// A row number, as wide as whoever has many of them keeps it.
pub trait Position: Copy + Ord {
    /// As the vectors count; what is no row number becomes one that no vector holds.
    fn row(self) -> u64;
}

impl Position for u32 {
    #[inline]
    fn row(self) -> u64 {
        u64::from(self)
    }
}

impl Position for u64 {
    #[inline]
    fn row(self) -> u64 {
        self
    }
}

impl Position for i64 {
    #[inline]
    fn row(self) -> u64 {
        u64::try_from(self).unwrap_or(u64::MAX)
    }
}

/// The two encodings of a vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BitmapKind {
    /// Positions up to 2^31 - 1; every release of Paimon.
    Bits32,
    /// `deletion-vectors.bitmap64`: positions as in Iceberg; Paimon 1.2 and later.
    Bits64,
}

impl BitmapKind {
    /// The encoding for new vectors of a table.
    pub fn of(options: &crate::options::CoreOptions) -> Self {
        if options.deletion_vectors_bitmap64 { Self::Bits64 } else { Self::Bits32 }
    }

    /// The largest position that a vector can hold.
    pub fn max_position(self) -> u64 {
        match self {
            Self::Bits32 => 0x7FFF_FFFF,
            Self::Bits64 => (0x7FFF_FFFE << 32) + 0x8000_0000,
        }
    }

    /// What the range map calls the length of a vector whose size field is `size`.
    fn length(self, size: i64) -> i64 {
        match self {
            Self::Bits32 => size,
            Self::Bits64 => size.saturating_add(8),
        }
    }
}
