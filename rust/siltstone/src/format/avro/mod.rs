//! The Avro object container file: Paimon's metadata, and data files.
//!
//! Source: Avro specification 1.11; format chapter 4.1. Records are decoded straight into the wanted
//! values, field by field as the writer's schema orders them; fields that nobody wants are skipped.

mod blocks;
mod codec;
mod columns;
mod columns_out;
mod container;
mod cursor;
mod data_file;
mod data_format;
mod data_schema;
mod memory;
mod parsed;
mod plan;
mod schema;
mod value;
mod values_out;
mod writer;

pub use codec::Compression;
pub use container::{Block, ContainerReader, ContainerWriter};
pub use cursor::Cursor;
pub use plan::{DecodePlan, FieldRule};
pub use schema::{WriterRecord, WriterType};
pub use value::Encoder;

pub(super) use columns_out::RecordFields;
pub(super) use data_format::Avro;
pub(super) use data_schema::record_schema;
