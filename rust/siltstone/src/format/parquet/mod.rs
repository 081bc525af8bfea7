//! Parquet data files, laid out as Java Paimon lays them out (format chapter 7.5).
//!
//! ```text
//! "PAR1"
//! row group 0: column chunk of leaf 0 (dictionary page?, data pages v1 or v2), leaf 1, ...
//! row group 1: ...
//! column indexes, offset indexes
//! footer: thrift FileMetaData; i32 LE its length; "PAR1"
//! ```
//!
//! INT96 is what the parquet crate can neither write from Arrow nor read without losing range, so such columns
//! are encoded and decoded as 12-byte fixed values, which are the same bytes; only the schema says INT96.

mod batch_size;
mod batches;
mod bounds;
mod chunks;
mod claims;
mod column_chunk;
mod compact;
mod copied;
mod copyable;
mod counted;
mod data_format;
mod decoder;
mod dictionary;
mod divided;
mod encodable;
mod encoder;
mod error;
mod footer;
mod forms;
mod guard;
mod joined;
mod lengths;
mod measure;
mod options;
mod page_head;
mod page_index;
mod pages;
mod part;
mod parts;
mod project;
mod prune;
mod reader;
mod runs;
mod schema;
mod shape;
mod sink;
mod views;
mod writer;

pub use batches::ParquetBatches;
pub(super) use data_format::Parquet;
pub use options::ParquetWriteOptions;
pub use reader::ParquetFile;
pub use schema::parquet_schema;
pub use writer::ParquetFileWriter;

#[cfg(test)]
mod tests;
