//! How errors about input name a row: by its primary key.

use arrow_array::RecordBatch;

use super::{convert::convert, place::ColumnPath};
use crate::{
    error::{Error, Result},
    row::{datum_from_array, datum_to_text},
    schema::TableSchema,
    types::DataField,
};

/// The key columns of a table, with their positions; none in an append table.
#[derive(Clone)]
pub(super) struct KeyNames {
    key: Vec<(usize, DataField)>,
}

impl KeyNames {
    pub(super) fn of(schema: &TableSchema) -> Self {
        let position = |name: &String| {
            let at = schema.fields.iter().position(|f| f.name == *name)?;
            schema.fields.get(at).map(|field| (at, field.clone()))
        };
        Self { key: schema.primary_keys.iter().filter_map(position).collect() }
    }

    /// The error with the key of a row of the table's own columns.
    pub(super) fn named(&self, error: Error, rows: &RecordBatch, row: usize) -> Error {
        let value = |(at, field): &(usize, DataField)| part(rows.columns().get(*at)?, row, field).ok();
        self.with_parts(error, value)
    }

    /// The error with the key of a row of the caller's columns, as far as it can be read.
    pub(super) fn named_in_input(&self, error: Error, input: &RecordBatch, row: usize) -> Error {
        let value = |(_, field): &(usize, DataField)| {
            let column = input.column_by_name(&field.name).filter(|column| row < column.len())?;
            let one = convert(&column.slice(row, 1), &field.data_type, &ColumnPath::column(&field.name, 0)).ok()?;
            part(&one, 0, field).ok()
        };
        self.with_parts(error, value)
    }

    /// `k=1, dt=2024-05-01`
    fn with_parts(&self, error: Error, value: impl Fn(&(usize, DataField)) -> Option<String>) -> Error {
        if self.key.is_empty() {
            return error;
        }
        error.with("key", self.key.iter().filter_map(value).collect::<Vec<_>>().join(", "))
    }
}

fn part(column: &dyn arrow_array::Array, row: usize, field: &DataField) -> Result<String> {
    let value = datum_from_array(column, row, &field.data_type)?;
    Ok(format!("{}={}", field.name, datum_to_text(&value, &field.data_type)))
}
