//! Columns of a file, under the file's own schema, as the wanted table fields (format chapter 11.1).

use std::{collections::HashMap, sync::Arc};

use arrow_array::ArrayRef;

use super::late_cast::{Failures, cast_rows, is_no_value};
use crate::{
    cast::{evolve, evolved_source, nulls, same_values},
    error::{Error, Result},
    format::{Prune, PruneColumn},
    predicate::Predicate,
    types::{DataField, DataType},
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

impl Target {
    fn value(&self, columns: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
        let Self { field, source } = self;
        let array = match source {
            Source::Null => nulls(&field.data_type, rows),
            Source::Same(i) => column(columns, *i).map(Arc::clone),
            Source::Cast(i, from) => evolve(column(columns, *i)?, from, &field.data_type),
        };
        array.map_err(|e| e.with("column", &field.name))
    }
}

fn column(columns: &[ArrayRef], i: usize) -> Result<&ArrayRef> {
    columns.get(i).ok_or_else(|| Error::unsupported("a batch with columns missing"))
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
        let values = self.targets.iter().map(|target| target.value(columns, rows));
        values.collect()
    }

    /// The same, where values of some fields that cannot be cast fail later.
    pub(super) fn apply_late(
        &self,
        columns: &[ArrayRef],
        rows: usize,
        late: &dyn Fn(&DataField) -> bool,
    ) -> Result<(Vec<ArrayRef>, Option<Failures>)> {
        let mut all: Option<Vec<Option<String>>> = None;
        let mut values = Vec::with_capacity(self.targets.len());
        for target in &self.targets {
            let value = target.value(columns, rows);
            let (Err(error), Source::Cast(i, from)) = (&value, &target.source) else {
                values.push(value?);
                continue;
            };
            if !is_no_value(error) || !late(&target.field) {
                return value.map(|_| (Vec::new(), None));
            }
            let (value, failures) = cast_rows(column(columns, *i)?, from, &target.field.data_type)?;
            values.push(value);
            let name = &target.field.name;
            let named = failures.into_iter().map(|failure| failure.map(|why| format!("{why} (column: {name})")));
            all = Some(match all {
                None => named.collect(),
                Some(known) => known.into_iter().zip(named).map(|(known, new)| known.or(new)).collect(),
            });
        }
        Ok((values, all.map(Failures::from)))
    }

    /// Whether any value is cast.
    pub(crate) fn casts(&self) -> bool {
        self.targets.iter().any(|target| matches!(target.source, Source::Cast(..)))
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
