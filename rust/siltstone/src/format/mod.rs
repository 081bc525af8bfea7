//! File formats: bytes of Avro containers, data files in Parquet, ORC and Avro, and files of BLOB values, without knowledge of tables.

pub mod avro;
pub(crate) mod blob;
mod collected;
mod conform;
mod data_file;
mod data_format;
mod digits;
mod encoded;
mod footers;
mod formats;
mod groups;
mod int96;
mod nested_ids;
mod orc;
pub mod parquet;
mod prune;
mod records;

pub use data_file::{DataFileReader, FileRead, RowTest, Rows, RowsStream, TestRows};
pub use data_format::{DataFileWriter, DataFormat, Encoding, WriteOptions, WrittenFile};
pub use encoded::EncodedRows;
pub use footers::Footers;
pub(crate) use nested_ids::At as NestedAt;
pub use prune::{Block, Claim, Prune, PruneColumn};

pub use formats::{data_format, data_formats, file_format, is_data_format};
pub use records::{AvroRecords, avro_as_records, records_as_avro};
