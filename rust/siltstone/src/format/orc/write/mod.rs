//! Writing ORC files, as Java's reader reads them.
//!
//! Without row indexes and dictionaries: whole numbers are packed in runs of version 2, texts stand as they are, and the codec does
//! the rest. Writers' clocks are those of UTC.

mod bits;
mod column;
mod file;
mod integers;
mod message;
mod shown;
mod statistics;
mod stream;
mod stripe;
mod times;
mod types;

pub(super) use file::OrcEncoding;
pub(super) use shown::check_values;
pub(super) use stream::Packing;
pub(super) use types::check_columns;
