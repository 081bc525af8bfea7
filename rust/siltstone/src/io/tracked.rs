//! Ids and versions of rows (row tracking): stored in the file once it was written again, else told by its entry.
//!
//! ```text
//! _ROW_ID            stored, else _FIRST_ROW_ID + position in the file
//! _SEQUENCE_NUMBER   stored, else _MAX_SEQUENCE_NUMBER of the file: the snapshot that brought the row as it is
//! ```
//!
//! Source: `DataFileRecordReader`, `ColumnarRowIterator.assignRowTracking`.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int64Array, cast::AsArray, types::Int64Type};

use crate::{
    error::{Error, ErrorKind, Result},
    manifest::DataFileMeta,
    types::{DataField, special},
};

/// Where the columns are, and what an entry says of the rows of its file.
#[derive(Clone, Debug)]
pub(super) struct Tracked {
    row_ids: Option<usize>,
    versions: Option<usize>,
    first_row_id: Option<i64>,
    version: i64,
}

impl Tracked {
    /// `None`: neither is wanted.
    pub(super) fn of(file: &DataFileMeta, wanted: &[DataField]) -> Option<Self> {
        let at = |id: i32| wanted.iter().position(|field| field.id == id);
        let (row_ids, versions) = (at(special::ROW_ID_ID), at(special::SEQUENCE_NUMBER_ID));
        (row_ids.is_some() || versions.is_some()).then_some(Self {
            row_ids,
            versions,
            first_row_id: file.first_row_id,
            version: file.max_sequence_number,
        })
    }

    /// Whether the rows' places in the file must be known.
    pub(super) fn needs_positions(&self) -> bool {
        self.row_ids.is_some() && self.first_row_id.is_some()
    }

    /// Fills in what is not stored.
    pub(super) fn fill(&self, columns: &mut [ArrayRef], positions: Option<&Int64Array>) -> Result<()> {
        if let Some(column) = self.row_ids.and_then(|at| columns.get_mut(at)) {
            let stored = column.as_primitive_opt::<Int64Type>().ok_or_else(no_number)?;
            if stored.null_count() > 0 {
                let first = self.first_row_id.ok_or_else(without_id)?;
                let positions = positions.ok_or_else(|| Error::new(ErrorKind::Internal, "no row positions"))?;
                let places = positions.values().iter().map(|at| first.saturating_add(*at));
                let ids = stored.iter().zip(places).map(|(stored, told)| stored.unwrap_or(told));
                *column = Arc::new(Int64Array::from_iter_values(ids));
            }
        }
        if let Some(column) = self.versions.and_then(|at| columns.get_mut(at)) {
            let stored = column.as_primitive_opt::<Int64Type>().ok_or_else(no_number)?;
            if stored.null_count() > 0 {
                let versions = stored.iter().map(|stored| stored.unwrap_or(self.version));
                *column = Arc::new(Int64Array::from_iter_values(versions));
            }
        }
        Ok(())
    }
}

fn no_number() -> Error {
    Error::new(ErrorKind::Internal, "ids of rows are no numbers")
}

fn without_id() -> Error {
    Error::new(ErrorKind::CorruptFile, "a data file has rows without ids: neither it nor its manifest entry says them")
        .with("field", "_FIRST_ROW_ID")
        .hint("read the table without _ROW_ID, and write its rows into a new one")
}
