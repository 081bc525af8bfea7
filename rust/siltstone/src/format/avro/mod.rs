//! The Avro object container file, as far as Paimon's metadata needs it.
//!
//! Source: Avro specification 1.11; format chapter 4.1. Records are decoded straight into the wanted
//! values, field by field as the writer's schema orders them; fields that nobody wants are skipped.

mod codec;
mod container;
mod cursor;
mod memory;
mod plan;
mod schema;
mod value;

pub use codec::Compression;
pub use container::{Block, ContainerReader, ContainerWriter};
pub use cursor::Cursor;
pub use plan::{DecodePlan, FieldRule};
pub use schema::{WriterRecord, WriterType};
pub use value::Encoder;
