//! File formats: bytes of Avro containers and Parquet files, without knowledge of tables.

pub mod avro;
pub mod parquet;
