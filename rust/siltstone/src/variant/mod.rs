//! VARIANT values: the two binaries `value` and `metadata` in memory and in files, JSON text for users.
//!
//! ```text
//! STRUCT<value BINARY NOT NULL, metadata BINARY NOT NULL>    types::variant_type()
//!   metadata   0x01 | width - 1 << 6, count, count + 1 offsets, names     the dictionary of the names of fields
//!   value      one byte: kind (primitive, short text, object, array) and what it says of the rest
//! ```
//!
//! Values are rewritten as they are: a date stays a date where JSON text would make a text of it.
//!
//! Source: the Variant encoding and shredding of the Parquet format; `GenericVariant`, `GenericVariantBuilder`, `ShreddingUtils`.

mod arrays;
mod binaries;
mod builder;
mod collected;
mod decode;
mod json;
mod shown;
mod shredded;
mod text;

pub(crate) use arrays::{checked_binaries, stored_binaries};
pub(crate) use json::from_json_texts;
pub use shown::{shown, shown_schema};

/// Objects and arrays in each other; Java's JSON has the same limit.
const DEEPEST: usize = 1_000;
/// The most bytes of one value, of its dictionary, and of its text.
const LONGEST: usize = 128 << 20;
