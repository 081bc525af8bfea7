//! Columns of sketches and bitmaps: their bytes are looked at before they are written.
//!
//! Java takes any bytes and fails when it merges them, which leaves a table that can be neither read nor compacted.

use arrow_array::{Array, Int8Array, RecordBatch, cast::AsArray};

use super::{key_names::KeyNames, place::InputRows};
use crate::{
    aggregate::BytesCheck,
    error::{Error, ErrorKind, Result},
    row::RowKind,
    schema::{EngineSpec, TableSchema},
};

/// Looks at the values of functions that merge serialized sets.
pub(super) struct SketchRules {
    columns: Vec<Column>,
    names: KeyNames,
}

struct Column {
    at: usize,
    name: String,
    function: &'static str,
    option: String,
    check: BytesCheck,
    /// A -D can leave the value of a NOT NULL column behind.
    not_null: bool,
}

impl SketchRules {
    pub(super) fn new(schema: &TableSchema, spec: &EngineSpec) -> Self {
        let column = |(at, rule): (usize, &crate::schema::ColumnRule)| {
            Some(Column {
                at,
                name: rule.name.clone(),
                function: rule.function.name(),
                option: rule.option.clone(),
                check: rule.function.check()?,
                not_null: schema.field(&rule.name).is_some_and(|field| !field.data_type.nullable),
            })
        };
        Self { columns: spec.columns.iter().enumerate().filter_map(column).collect(), names: KeyNames::of(schema) }
    }

    /// The first value that cannot be merged is an error. Values of -U and -D never are.
    pub(super) fn check(&self, rows: &RecordBatch, kinds: &Int8Array, input: &InputRows) -> Result<()> {
        let retract = [RowKind::UpdateBefore.to_byte(), RowKind::Delete.to_byte()];
        for column in &self.columns {
            let Some(values) = rows.columns().get(column.at).and_then(|values| values.as_binary_opt::<i32>()) else {
                let message = format!("the values of '{}' are not bytes", column.name);
                return Err(Error::new(ErrorKind::Internal, message).with("column", &column.name));
            };
            for (row, kind) in kinds.values().iter().enumerate().filter(|(row, _)| values.is_valid(*row)) {
                if retract.contains(kind) && !column.not_null {
                    continue;
                }
                (column.check.check)(values.value(row))
                    .map_err(|cause| self.names.named(column.refused(input.of(row), cause), rows, row))?;
            }
        }
        Ok(())
    }
}

impl Column {
    fn refused(&self, row: usize, cause: Error) -> Error {
        let (name, function) = (&self.name, self.function);
        let message = format!("row {row}: the bytes in '{name}' are no value of the aggregate function '{function}'");
        Error::new(ErrorKind::InvalidArgument, message)
            .with("column", name)
            .with("option", &self.option)
            .with("function", function)
            .hint(format!("'{function}' takes {}: {}", self.check.wants, cause.message()))
            .caused_by(cause)
    }
}
