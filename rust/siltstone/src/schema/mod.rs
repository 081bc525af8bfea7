//! Table schemas: their JSON, the directory that lists them, validation and changes.
//!
//! Source: format chapters 2 and 11; `TableSchema`, `SchemaManager`, `SchemaValidation`.

mod change;
mod change_columns;
mod change_java;
mod change_json;
mod column_options;
mod features;
mod file_indexes;
mod fixed;
mod iceberg;
mod json;
mod manager;
mod merge_rule;
mod merge_spec;
mod model;
mod new_table;
mod notes;
mod pending;
mod record_time;
mod refusal;
mod schema_change;
mod settle;
mod validate;
mod validate_java;
mod validate_merge;
mod validate_options;
mod validate_values;

pub use features::{check_data_directory, check_readable, check_writable, reading_faults, writing_faults};
pub use file_indexes::{FileIndexSpec, file_indexes};
pub use fixed::{
    VECTORS, check_dynamic_options, check_handle_options, fixed_option_changed, level_0_counts, levels_option,
    levels_option_changed, rows_option_changed, switches_vectors_off,
};
pub use iceberg::{check_iceberg, iceberg_fields, partition_type};
pub use manager::{CheckChange, READ_BRANCHES, SchemaManager};
pub use merge_rule::{merge_rule_changed, own_rule_changed};
pub use merge_spec::{ColumnRole, ColumnRule, EngineSpec, SequenceOrder, merge_columns};
pub use model::TableSchema;
pub use new_table::NewTable;
pub use notes::{DATE_SAYS_NONE, day_of_age, losses, notes, unreadable};
pub use record_time::record_time_field;
pub use schema_change::{ColumnPosition, SchemaChange};
pub use validate::validate;
