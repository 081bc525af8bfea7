//! Apache Paimon tables in Rust: bytes, merge, compaction and commit, without a JVM.
//!
//! The order of the layers is the architecture: a module uses only modules above it in this list, and those between two
//! blank lines do not see each other (`tests/it/layers.rs` reads the order from here, and compares it with ARCHITECTURE.md).
#![forbid(unsafe_code)]

// foundation
pub mod error;

pub mod cancel;
pub mod codec;
pub mod env;
mod limits;
pub mod shared;

mod threads;

// model
pub mod types;

pub mod options;
pub mod row;

pub mod variant;

pub mod aggregate;
pub mod cast;

pub mod predicate;

// storage
pub mod fs;

pub mod format;

// metadata
pub mod file_index;
pub mod snapshot;
pub mod stats;

pub mod schema;

pub mod path;

pub mod manifest;

// data
pub mod deletion_vectors;
pub mod index;

pub mod io;

// engines
pub mod append;
pub mod merge_tree;

// what travels
pub mod wire;

// reading
pub mod scan;

pub mod read;

// writing
pub mod cleanup;

pub mod compact;
pub mod write;

pub mod commit;

pub mod dml;
pub mod rebucket;

// keeping
pub mod maintenance;

// use
pub mod table;

pub use error::{Error, ErrorKind, Result};
