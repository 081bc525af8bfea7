//! Table schemas: their JSON, the directory that lists them, validation and changes.
//!
//! Source: format chapters 2 and 11; `TableSchema`, `SchemaManager`.

mod model;

pub use model::TableSchema;

/// The schemas of one branch. (Declared early so that others compile.)
#[derive(Debug)]
pub struct SchemaManager {}
