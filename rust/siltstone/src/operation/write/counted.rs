//! Columns with the function `count`: a row counts as 1, or as 0 when its value is null.
//!
//! Java up to 0.8 counted while it merged, so that a merge of merged rows counted them once more. Here a row becomes
//! its count before it enters the write buffer, and from there on counts are added up (MERGE-23).

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int32Array, Int64Array, RecordBatch};

use crate::{
    aggregate::FieldOptions,
    error::Result,
    options::{CoreOptions, MergeEngine, sequence_groups},
    schema::TableSchema,
    types::TypeKind,
};

/// Positions of the columns that are counted.
pub(super) struct Counted {
    columns: Vec<usize>,
}

impl Counted {
    pub(super) fn new(schema: &TableSchema, options: &CoreOptions) -> Result<Self> {
        let mut columns = Vec::new();
        let engine = matches!(options.merge_engine, MergeEngine::PartialUpdate | MergeEngine::Aggregation);
        if engine && schema.has_primary_key() {
            for (at, field) in schema.fields.iter().enumerate() {
                let whole = matches!(field.data_type.kind, TypeKind::Int | TypeKind::BigInt);
                if whole && !has_its_own_rule(schema, options, &field.name) && is_count(options, &field.name)? {
                    columns.push(at);
                }
            }
        }
        Ok(Self { columns })
    }

    /// The rows with 1 or 0 in the columns that are counted.
    pub(super) fn apply(&self, rows: RecordBatch) -> Result<RecordBatch> {
        if self.columns.is_empty() {
            return Ok(rows);
        }
        let (schema, mut columns, _) = rows.into_parts();
        for at in &self.columns {
            if let Some(column) = columns.get_mut(*at) {
                *column = ones(column);
            }
        }
        Ok(RecordBatch::try_new(schema, columns)?)
    }
}

/// Keys and sequence fields are never aggregated.
fn has_its_own_rule(schema: &TableSchema, options: &CoreOptions, column: &str) -> bool {
    let orders = match options.merge_engine {
        MergeEngine::PartialUpdate => {
            sequence_groups(&options.raw).iter().any(|group| group.sequence.iter().any(|name| name == column))
        }
        _ => options.sequence_fields.iter().any(|name| name == column),
    };
    orders || schema.primary_keys.iter().any(|name| name == column)
}

fn is_count(options: &CoreOptions, column: &str) -> Result<bool> {
    Ok(FieldOptions::of(&options.raw, column)?.function.as_deref() == Some("count"))
}

/// 1 for a value, 0 for null; INT or BIGINT as the column is.
fn ones(column: &ArrayRef) -> ArrayRef {
    let rows = 0..column.len();
    match column.data_type() {
        arrow_schema::DataType::Int32 => {
            Arc::new(Int32Array::from_iter_values(rows.map(|row| i32::from(column.is_valid(row)))))
        }
        _ => Arc::new(Int64Array::from_iter_values(rows.map(|row| i64::from(column.is_valid(row))))),
    }
}
