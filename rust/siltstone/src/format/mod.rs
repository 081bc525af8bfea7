//! File formats: bytes of Avro containers, and data files in Parquet, ORC and Avro, without knowledge of tables.

pub mod avro;
mod conform;
mod data_file;
mod formats;
mod groups;
mod int96;
mod orc;
pub mod parquet;
mod variant;

pub use data_file::{DataFileReader, FileRead, RowTest, Rows, RowsStream, TestRows};
pub use formats::{is_data_format, open_data_file};
