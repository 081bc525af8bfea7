//! ORC data files (format chapter 7.6), laid out as ORC specification v1 says.
//!
//! ```text
//! "ORC"
//! stripe 0: row indexes of its columns, streams of its columns, footer (which streams and encodings)
//! stripe 1: ...
//! metadata: statistics of each stripe
//! footer: stripes, types, rows, statistics
//! postscript: lengths of both, compression; u8 its length
//! ```
//!
//! Our own code: no library writes all of Paimon's types, and none bounds what it takes for a stranger's file. All but the
//! postscript is compressed in chunks, which are read one at a time.

mod bits;
mod budget;
mod column;
mod compression;
mod data_format;
mod integers;
mod lzo;
mod proto;
mod reader;
mod schema;
mod statistics;
mod stream;
mod streams;
mod stripe;
mod tail;
mod texts;
mod timestamp;
mod values;
mod write;
mod zone;

pub(super) use data_format::Orc;
