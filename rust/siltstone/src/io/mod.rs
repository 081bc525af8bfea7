//! Reading and writing data files of a table: what every engine above asks for.
//!
//! Source: format chapters 7 and 11.1; `org.apache.paimon.io`.

mod blob_files;
mod context;
mod copies;
mod decoded;
mod evolution;
mod file_columns;
mod in_order;
mod index_writer;
mod indexed;
mod late_cast;
mod mapping;
mod newer;
mod read;
mod remembered;
mod rolling;
mod spec;
mod tracked;
mod unused;

pub use context::{SchemaWritten, TableContext};
pub(crate) use copies::{filtered_rows, interleaved, joined_rows, taken_column, taken_rows};
pub use decoded::{Decoded, DecodedStream};
pub use evolution::{RowGroup, is_blob_file, read_row_group, row_groups, row_ids};
pub use in_order::InOrder;
pub use index_writer::reindexed;
pub(crate) use indexed::by_embedded_index;
pub use indexed::{IndexOfFile, has_index, index_of_file};
pub(crate) use late_cast::{Failures, carried_failures, failure_in, schema_with_failures, split_failures};
pub use newer::{
    altered, check_merges_alike, check_own_rule, check_readable, check_rewritable, check_told_alike, levels_changed,
    lost_column,
};
pub use read::{OpenDataFile, decode_data_file, read_data_file};
pub use remembered::{Remembered, Upkeep};
pub use rolling::RollingWriter;
pub(crate) use rolling::numbers_used_up;
pub use spec::{FileReadSpec, FileWriteSpec, KvLayout};
pub use unused::{delete_compacted, delete_data_file, delete_unused, delete_unused_index, delete_written};

/// Batches, one after another, possibly computed on other threads.
pub type BatchStream = Box<dyn Iterator<Item = crate::Result<arrow_array::RecordBatch>> + Send>;

pub(crate) use crate::row::batch_bytes;
