//! Table schemas: their JSON, the directory that lists them, validation and changes.
//!
//! Source: format chapters 2 and 11; `TableSchema`, `SchemaManager`, `SchemaValidation`.

mod change;
mod change_columns;
mod change_json;
mod features;
mod json;
mod manager;
mod merge_spec;
mod model;
mod new_table;
mod validate;
mod validate_java;
mod validate_merge;
mod validate_options;

pub use change::{ColumnPosition, SchemaChange, check_dynamic_options};
pub use features::{check_data_directory, check_readable, check_writable};
pub use manager::{READ_BRANCHES, SchemaManager};
pub use merge_spec::{ColumnRole, ColumnRule, EngineSpec, SequenceOrder, merge_columns};
pub use model::TableSchema;
pub use new_table::NewTable;
pub use validate::validate;
pub use validate_options::check_field_options;
