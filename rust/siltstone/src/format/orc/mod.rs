//! ORC data files (format chapter 7.6), decoded by the `orc-rust` crate.
//!
//! ```text
//! "ORC"
//! stripe 0: indexes, streams of column 1, streams of column 2, …, stripe footer
//! stripe 1: …
//! metadata (statistics of stripes), footer (types, stripes), postscript, length of the postscript (1 byte)
//! ```
//!
//! Columns are found by name. Java's stripes say in which zone their writer was: TIMESTAMP is a wall clock there, and the crate
//! undoes it; of TIMESTAMP_LTZ see [`zones`].

mod data_format;
mod error;
mod file;
mod input;
mod project;
mod rows;
mod values;
mod zones;

pub(super) use data_format::Orc;
