//! The columns of a read, of those that a file has.

use std::collections::HashMap;

use arrow_array::{ArrayRef, RecordBatch};

use super::project::Projection;
use crate::{
    cast::{ask_for_nulls, nulls, widths},
    error::Result,
    format::conform::conform,
    types::{DataField, DataType},
};

/// The wanted columns and which of them the file has.
pub(super) struct Shape {
    pub(super) columns: Vec<DataField>,
    pub(super) projection: Projection,
}

impl Shape {
    pub(super) fn columns(&self, batch: &RecordBatch) -> Result<Vec<ArrayRef>> {
        ask_for_nulls(missing(&self.columns, &self.projection), batch.num_rows())?;
        let wanted = self.columns.iter().zip(&self.projection.present);
        let names = batch.schema_ref().fields().iter().map(|f| f.name().as_str());
        // of columns of one name the first counts
        let read: HashMap<&str, &ArrayRef> = names.zip(batch.columns()).rev().collect();
        let arrays = wanted.map(|(field, present)| {
            let stored = if *present { read.get(field.name.as_str()).copied() } else { None };
            match stored {
                Some(array) => conform(array, &field.data_type).map_err(|e| e.with("column", &field.name)),
                None => nulls(&field.data_type, batch.num_rows()).map_err(|e| e.with("column", &field.name)),
            }
        });
        arrays.collect()
    }
}

/// Columns that the file does not have.
fn missing<'c>(columns: &'c [DataField], projection: &'c Projection) -> impl Iterator<Item = &'c DataType> {
    let wanted = columns.iter().zip(&projection.present);
    wanted.filter(|(_, present)| !**present).map(|(field, _)| &field.data_type)
}

/// Bytes that a row takes in columns that the file does not have.
pub(super) fn missing_bytes(columns: &[DataField], projection: &Projection) -> Result<u64> {
    Ok(u64::try_from(widths(missing(columns, projection))?).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::RecordBatchOptions;
    use arrow_schema::Schema;

    use super::*;
    use crate::{ErrorKind, types::parse_type};

    /// They are as many as the rows that a file claims.
    #[test]
    fn columns_that_the_file_does_not_have_are_asked_for() {
        let columns = vec![DataField::new(0, "a", parse_type("ROW<x BIGINT, y STRING>").unwrap())];
        let shape = Shape { columns, projection: Projection { leaves: Vec::new(), present: vec![false] } };
        assert_eq!(missing_bytes(&shape.columns, &shape.projection).unwrap(), 15);
        let rows = |rows| {
            let options = RecordBatchOptions::new().with_row_count(Some(rows));
            RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &options).unwrap()
        };
        assert_eq!(shape.columns(&rows(3)).unwrap()[0].len(), 3);
        let error = shape.columns(&rows(usize::MAX / 256)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::MemoryLimitExceeded);
    }
}
