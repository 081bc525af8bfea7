//! A batch of the caller as a batch of the table: columns found by name, converted, checked, defaults filled in.
//!
//! Everything that can be wrong with input is found here or in `kinds`, before a row reaches a writer.

use std::collections::{HashMap, HashSet};

use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions, Scalar};
use arrow_schema::SchemaRef;

use super::{convert::convert, key_names::KeyNames, nested, place::ColumnPath};
use crate::{
    cast::{MAX_FILLED, default_value, nulls},
    error::{Error, ErrorKind, Result},
    format::{DataFormat, data_format},
    options::{CoreOptions, MergeEngine, sequence_groups},
    row::{Datum, constant_array},
    schema::TableSchema,
    types::{DataField, arrow_schema, arrow_type},
};

/// Knows the table's columns; has no state between batches.
pub(super) struct Input {
    columns: Vec<Column>,
    schema: SchemaRef,
    names: KeyNames,
    /// those of the files that rows of the caller come into, sooner or later
    formats: Formats,
}

/// The formats that files of a table may have.
#[derive(Clone, Debug, Default)]
pub(crate) struct Formats(Vec<&'static dyn DataFormat>);

impl Formats {
    pub(crate) fn of(options: &CoreOptions) -> Self {
        // one that is none is an error where files are made
        let mut formats: Vec<_> =
            options.file_formats().into_iter().filter_map(|(_, name)| data_format(name).ok()).collect();
        formats.dedup_by_key(|format| format.name());
        Self(formats)
    }

    /// An error for values of a caller that readers of such files would show otherwise than they were given.
    pub(crate) fn check(&self, field: &DataField, values: &ArrayRef) -> Result<()> {
        let mut checked = self.0.iter().map(|format| format.check_values(&field.data_type, values));
        checked.try_for_each(|checked| checked.map_err(|e| e.with("column", &field.name)))
    }
}

struct Column {
    field: DataField,
    /// whether the values are the table's own, which stay what they are: a null is a null, and a text that is longer than its
    /// column, as other programs write them, is no longer for being written again
    stored: bool,
    /// the option that orders rows by this column
    option: Option<String>,
}

/// A column of the caller in the type of a field of the table, as a write takes it. In errors rows are counted from
/// `before` on.
///
/// # Errors
/// `SchemaMismatch`, `LengthExceeded`, `NullInKey` for values that the field does not hold exactly.
pub(crate) fn convert_column(column: &ArrayRef, field: &DataField, before: usize) -> Result<ArrayRef> {
    let place = ColumnPath::column(&field.name, before);
    let column = convert(column, &field.data_type, &place)?;
    match nested::forbidden_null(&column, &field.data_type, None) {
        Some(row) => Err(nested::null_error(&place, &field.data_type, row)),
        None => Ok(column),
    }
}

impl Input {
    /// Of rows that are `stored` in the table already only nulls are looked at.
    pub(super) fn new(schema: &TableSchema, options: &CoreOptions, stored: bool) -> Result<Self> {
        let column =
            |field: &DataField| Column { field: field.clone(), stored, option: ordering_option(options, &field.name) };
        Ok(Self {
            formats: if stored { Formats::default() } else { Formats::of(options) },
            columns: schema.fields.iter().map(column).collect(),
            schema: arrow_schema(&schema.fields)?,
            names: KeyNames::of(schema),
        })
    }

    /// All columns of the table, in its order, with its types.
    /// In errors rows are counted from `before` on.
    pub(super) fn normalize(&self, batch: &RecordBatch, before: usize) -> Result<RecordBatch> {
        self.check_names(batch)?;
        let names = batch.schema_ref().fields().iter().map(|f| f.name().as_str());
        let given: HashMap<&str, &ArrayRef> = names.zip(batch.columns()).collect();
        let place = |c: &Column| ColumnPath::column(&c.field.name, before);
        let taken = self
            .columns
            .iter()
            .map(|c| c.take_from(given.get(c.field.name.as_str()).copied(), batch, &place(c), &self.names));
        let columns = taken.collect::<Result<Vec<_>>>()?;
        for (Column { field, .. }, values) in self.columns.iter().zip(&columns) {
            self.formats.check(field, values)?;
        }
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        Ok(RecordBatch::try_new_with_options(self.schema.clone(), columns, &options)?)
    }

    fn check_names(&self, batch: &RecordBatch) -> Result<()> {
        let known: HashSet<&str> = self.columns.iter().map(|c| c.field.name.as_str()).collect();
        let mut seen = HashSet::new();
        for field in batch.schema_ref().fields() {
            let name = field.name();
            if !seen.insert(name) {
                return Err(Error::new(ErrorKind::SchemaMismatch, format!("column '{name}' is in the input twice"))
                    .with("column", name));
            }
            if !known.contains(name.as_str()) {
                return Err(self.unknown_column(name, field.data_type()));
            }
        }
        Ok(())
    }

    fn unknown_column(&self, name: &str, got: &arrow_schema::DataType) -> Error {
        let names = || self.columns.iter().map(|c| c.field.name.as_str());
        let similar = |n: &&str| strsim::jaro_winkler(&n.to_lowercase(), &name.to_lowercase()) > 0.85;
        let hint = match names().find(similar) {
            Some(close) => format!("did you mean '{close}'?"),
            None => format!("the table has the columns {}", names().collect::<Vec<_>>().join(", ")),
        };
        Error::new(ErrorKind::SchemaMismatch, format!("the table has no column '{name}'"))
            .with("column", name)
            .with("expected", "no such column")
            .with("got", got)
            .hint(hint)
    }
}

impl Column {
    /// The value for `rows` rows without one. A default that is none fails here: rows that bring their values need it not.
    fn default(&self, rows: usize) -> Result<Option<Datum>> {
        let Some(text) = self.field.default_value.as_ref().filter(|_| !self.stored) else {
            return Ok(None);
        };
        let named = |e: Error| e.with("column", &self.field.name).with("default", text);
        let value = default_value(text, &self.field.data_type).map_err(named)?;
        if rows.saturating_mul(value_size(&value)) > MAX_FILLED {
            let message = format!("{rows} rows with the default value of the column need too much memory");
            let error = Error::new(ErrorKind::MemoryLimitExceeded, message);
            return Err(named(error).hint("write fewer rows at once, or give the column a value"));
        }
        Ok(Some(value).filter(|value| !value.is_null()))
    }

    fn take_from(
        &self,
        given: Option<&ArrayRef>,
        batch: &RecordBatch,
        place: &ColumnPath<'_>,
        names: &KeyNames,
    ) -> Result<ArrayRef> {
        let Some(column) = given else {
            return self.absent(batch.num_rows());
        };
        let t = &self.field.data_type;
        let column = if self.stored && *column.data_type() == arrow_type(t)? {
            ArrayRef::clone(column)
        } else {
            convert(column, t, place)?
        };
        if let Some(row) = nested::forbidden_null(&column, &self.field.data_type, None) {
            let error = nested::null_error(place, &self.field.data_type, row);
            return Err(names.named_in_input(self.with_option(error), batch, row));
        }
        if column.null_count() == 0 {
            return Ok(column);
        }
        match self.default(column.null_count())? {
            Some(default) => self.fill(&column, &default),
            None => Ok(column),
        }
    }

    /// A column that the input does not have.
    fn absent(&self, rows: usize) -> Result<ArrayRef> {
        let t = &self.field.data_type;
        match self.default(rows)? {
            Some(default) => constant_array(&default, t, rows),
            None if t.nullable => nulls(t, rows),
            None => Err(self.with_option(
                Error::new(
                    ErrorKind::SchemaMismatch,
                    format!("the input lacks column '{}', which is {t}", self.field.name),
                )
                .with("column", &self.field.name)
                .with("expected", t)
                .with("got", "no such column"),
            )),
        }
    }

    /// The error with the option that needs a value here.
    fn with_option(&self, error: Error) -> Error {
        match &self.option {
            Some(option) => error.with("option", option),
            None => error,
        }
    }

    fn fill(&self, column: &ArrayRef, default: &Datum) -> Result<ArrayRef> {
        let missing: BooleanArray = arrow_arith::boolean::is_null(column)?;
        let value = Scalar::new(constant_array(default, &self.field.data_type, 1)?);
        Ok(arrow_select::zip::zip(&missing, &value, column)?)
    }
}

/// Bytes of a value of no fixed length.
fn value_size(value: &Datum) -> usize {
    match value {
        Datum::String(text) => text.len(),
        Datum::Bytes(bytes) => bytes.len(),
        _ => 0,
    }
}

/// The option that makes a column a sequence field: `sequence.field`, or that of a sequence group.
fn ordering_option(options: &CoreOptions, name: &String) -> Option<String> {
    if options.sequence_fields.contains(name) {
        return Some("sequence.field".to_owned());
    }
    if options.merge_engine != MergeEngine::PartialUpdate {
        return None;
    }
    sequence_groups(&options.raw).into_iter().find(|group| group.sequence.contains(name)).map(|group| group.option)
}
