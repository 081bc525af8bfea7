//! Indexes of single data files: which of a file's rows may satisfy a condition (format chapter 9).
//!
//! A container has the indexes of some columns of one file. It lies in the manifest entry, or in a file beside the data file
//! where it is larger than `file-index.in-manifest-threshold`. An answer may name rows that do not match, never the other way
//! round: the rows that it names are tested as others are.
//!
//! Source: `org.apache.paimon.fileindex`.

mod bit_slices;
mod bitmap;
mod bloom;
mod bsi;
mod build;
mod candidates;
mod container;
mod dictionary;
mod evaluate;
mod key;
mod kind;
mod listed;
mod question;
mod range_bitmap;
mod roaring_bytes;
mod settings;
mod utf;
mod xxhash;

pub use build::IndexBuilder;
pub use candidates::Candidates;
pub use container::{FileIndex, IndexPlace, Indexes, encode_container, is_empty_container};
pub use evaluate::candidates;
pub use kind::IndexKind;
pub use settings::IndexSettings;

#[cfg(test)]
mod tests;
