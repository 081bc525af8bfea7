//! Columns with the function `count`: a row counts as 1, or as 0 when its value is null.
//!
//! Java up to 0.8 counted while it merged, so that a merge of merged rows counted them once more. Here a row becomes
//! its count before it enters the write buffer, and from there on counts are added up (MERGE-23).

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int32Array, Int64Array, RecordBatch};

use crate::{error::Result, schema::EngineSpec};

/// Positions of the columns that are counted.
pub(super) struct CountColumns {
    columns: Vec<usize>,
}

impl CountColumns {
    /// Those of an engine; none where rows have been counted before.
    pub(super) fn new(spec: &EngineSpec, counted_before: bool) -> Self {
        let counted =
            |(at, column): (usize, &crate::schema::ColumnRule)| (column.function.name() == "count").then_some(at);
        let columns = spec.columns.iter().enumerate().filter(|_| !counted_before).filter_map(counted).collect();
        Self { columns }
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
