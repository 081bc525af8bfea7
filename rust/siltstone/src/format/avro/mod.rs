//! The Avro object container file, as far as Paimon's metadata needs it.
//!
//! Source: Avro specification 1.11; format chapter 4.1.

mod codec;

pub use codec::Compression;
