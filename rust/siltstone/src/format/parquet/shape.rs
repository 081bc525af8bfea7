//! The columns of a read, of those that a file has.

use std::collections::HashMap;

use arrow_array::{ArrayRef, RecordBatch, new_null_array};

use super::project::Projection;
use crate::{
    error::Result,
    format::conform::conform,
    types::{DataField, arrow_type},
};

/// The wanted columns and which of them the file has.
pub(super) struct Shape {
    pub(super) columns: Vec<DataField>,
    pub(super) projection: Projection,
}

impl Shape {
    pub(super) fn columns(&self, batch: &RecordBatch) -> Result<Vec<ArrayRef>> {
        let wanted = self.columns.iter().zip(&self.projection.present);
        let names = batch.schema_ref().fields().iter().map(|f| f.name().as_str());
        // of columns of one name the first counts
        let read: HashMap<&str, &ArrayRef> = names.zip(batch.columns()).rev().collect();
        let arrays = wanted.map(|(field, present)| {
            let stored = if *present { read.get(field.name.as_str()).copied() } else { None };
            match stored {
                Some(array) => conform(array, &field.data_type).map_err(|e| e.with("column", &field.name)),
                None => Ok(new_null_array(&arrow_type(&field.data_type)?, batch.num_rows())),
            }
        });
        arrays.collect()
    }
}
