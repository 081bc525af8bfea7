//! Columns of a file, under the file's own schema, as the wanted table fields (format chapter 11.1).

use std::{collections::HashMap, sync::Arc};

use arrow_array::{ArrayRef, new_null_array};

use crate::{
    cast::{evolve, evolved_source, same_values},
    error::{Error, Result},
    format::parquet::{Prune, PruneColumn},
    predicate::Predicate,
    types::{DataField, DataType, arrow_type},
};

/// How wanted fields come out of a file's columns.
#[derive(Clone, Debug)]
pub(crate) struct Mapping {
    /// Columns to read, as the file names and types them.
    pub(crate) columns: Vec<DataField>,
    targets: Vec<Target>,
}

#[derive(Clone, Debug)]
struct Target {
    field: DataField,
    source: Source,
}

#[derive(Clone, Debug)]
enum Source {
    /// The file's schema has no field of this id.
    Null,
    /// Position among the columns; read with the wanted type.
    Same(usize),
    /// Position among the columns; cast from this type.
    Cast(usize, DataType),
}

impl Mapping {
    /// `wanted` fields out of the fields that the file was written with.
    pub(crate) fn new(file_fields: &[DataField], wanted: &[DataField]) -> Self {
        let stored: HashMap<i32, &DataField> = file_fields.iter().rev().map(|f| (f.id, f)).collect();
        let mut columns: Vec<DataField> = Vec::new();
        let mut targets = Vec::with_capacity(wanted.len());
        for field in wanted {
            let source = match stored.get(&field.id) {
                None => Source::Null,
                Some(old) if same_values(&old.data_type, &field.data_type) => {
                    columns.push(DataField::new(old.id, &old.name, field.data_type.clone()));
                    Source::Same(columns.len() - 1)
                }
                Some(old) => {
                    let read = evolved_source(&old.data_type, &field.data_type).with_nullable(true);
                    columns.push(DataField::new(old.id, &old.name, read.clone()));
                    Source::Cast(columns.len() - 1, read)
                }
            };
            targets.push(Target { field: field.clone(), source });
        }
        Self { columns, targets }
    }

    /// The wanted fields from the columns that were read.
    pub(crate) fn apply(&self, columns: &[ArrayRef], rows: usize) -> Result<Vec<ArrayRef>> {
        let column = |i: &usize| columns.get(*i).ok_or_else(|| Error::unsupported("a batch with columns missing"));
        let values = self.targets.iter().map(|Target { field, source }| {
            let array = match source {
                Source::Null => Ok(new_null_array(&arrow_type(&field.data_type)?, rows)),
                Source::Same(i) => column(i).map(Arc::clone),
                Source::Cast(i, from) => evolve(column(i)?, from, &field.data_type),
            };
            array.map_err(|e| e.with("column", &field.name))
        });
        values.collect()
    }

    /// Whether no column of the file is needed.
    pub(crate) fn is_constant(&self) -> bool {
        self.columns.is_empty()
    }
}

/// What a condition on table columns says about the file's columns: columns that are read without a cast, or that the
/// file does not have. Of others nothing is known.
pub(crate) fn prune(predicate: &Predicate, fields: &[DataField], file_fields: &[DataField]) -> Prune {
    let mut columns = HashMap::new();
    for field in fields {
        let column = match file_fields.iter().find(|f| f.id == field.id) {
            None => PruneColumn::Missing,
            Some(old) if same_values(&old.data_type, &field.data_type) => PruneColumn::Stored(old.clone()),
            Some(_) => continue,
        };
        columns.insert(field.name.clone(), column);
    }
    Prune { predicate: predicate.clone(), columns }
}
