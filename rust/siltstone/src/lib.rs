//! Apache Paimon tables in Rust: bytes, merge, compaction and commit, without a JVM.
//!
//! The order of the modules is the architecture: a module uses only modules above it in this list
//! (checked by `tests/it/layers.rs`). ARCHITECTURE.md draws the picture.
#![forbid(unsafe_code)]

// foundation
pub mod error;

pub mod cancel;
pub mod codec;
pub mod env;
mod limits;
mod threads;
// model
pub mod aggregate;
pub mod cast;
pub mod options;
pub mod predicate;
pub mod row;
pub mod types;
// storage
pub mod format;
pub mod fs;
// metadata
pub mod manifest;
pub mod path;
pub mod schema;
pub mod snapshot;
pub mod stats;
// data
pub mod deletion_vectors;
pub mod index;
pub mod io;
// engines
pub mod append;
pub mod merge_tree;
// what a user asks for
pub mod cleanup;
pub mod commit;
pub mod compact;
pub mod dml;
pub mod maintenance;
pub mod read;
pub mod scan;
pub mod wire;
pub mod write;
// the objects that a user holds
pub mod table;

pub use error::{Error, ErrorKind, Result};
