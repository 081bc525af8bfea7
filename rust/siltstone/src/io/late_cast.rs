//! Values that have no place in the type that their column has become: 'abc' in a text column that is INT now.
//!
//! Such a value fails the read of its row, and of no other row: one that a newer row replaces, or that a deletion vector
//! deletes, is not looked at (Java casts the rows that win a merge). So where rows are merged, a batch goes on with another
//! value in its place and says which of its rows have one, in a last column of texts, null for all others.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, StringArray, UInt64Array, cast::AsArray, make_array, new_null_array};
use arrow_schema::{DataType as Arrow, Field, Schema, SchemaRef};
use arrow_select::{concat::concat, take::take};

use crate::{
    cast::{evolve, no_value},
    error::{Error, ErrorKind, Result},
    types::{DataType, arrow_type},
};

/// The name of the column; no column of a table is read under it.
const FAILURES: &str = "_CAST_FAILURE";

/// For each row why a value of it could not be cast; null where all could.
pub(crate) type Failures = StringArray;

/// A column as another type, with any value where there is none, and the rows where that is.
pub(super) fn cast_rows(array: &ArrayRef, from: &DataType, to: &DataType) -> Result<(ArrayRef, Vec<Option<String>>)> {
    let any = any_value(to)?;
    let mut values = Vec::with_capacity(array.len());
    let mut failures = Vec::with_capacity(array.len());
    for row in 0..array.len() {
        // a slice of lists has the elements of all of them
        let one = take(array, &UInt64Array::from_iter_values(u64::try_from(row)), None)?;
        let (value, failure) = match evolve(&one, from, to) {
            Ok(value) => (value, None),
            Err(e) if is_no_value(&e) => (Arc::clone(&any), Some(e.message().to_owned())),
            Err(e) => return Err(e),
        };
        values.push(value);
        failures.push(failure);
    }
    let parts: Vec<&dyn Array> = values.iter().map(AsRef::as_ref).collect();
    Ok((concat(&parts)?, failures))
}

/// Whether an error is about a value, not about the types.
pub(super) fn is_no_value(error: &Error) -> bool {
    error.kind() == ErrorKind::SchemaMismatch
}

/// One value of a type: null where it may be.
fn any_value(to: &DataType) -> Result<ArrayRef> {
    let null = new_null_array(&arrow_type(to)?, 1);
    if to.nullable || null.data_type().is_nested() {
        return Ok(null);
    }
    // the bytes of a null are zeros
    Ok(make_array(null.to_data().into_builder().nulls(None).build()?))
}

/// The schema of batches that say what could not be cast.
pub(crate) fn schema_with_failures(schema: &Schema) -> SchemaRef {
    let mut fields = schema.fields().to_vec();
    fields.push(Arc::new(Field::new(FAILURES, Arrow::Utf8, true)));
    Arc::new(Schema::new(fields))
}

/// Adds what could not be cast to a batch.
pub(super) fn with_failures(batch: &RecordBatch, failures: Failures) -> Result<RecordBatch> {
    let mut columns = batch.columns().to_vec();
    columns.push(Arc::new(failures));
    Ok(RecordBatch::try_new(schema_with_failures(batch.schema_ref()), columns)?)
}

/// A batch that says what could not be cast, whether anything was so or not; `schema` is the one it has then.
pub(crate) fn carried_failures(batch: RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    if says_failures(batch.schema_ref()) {
        return Ok(batch);
    }
    let mut columns = batch.columns().to_vec();
    columns.push(Arc::new(Failures::new_null(batch.num_rows())));
    Ok(RecordBatch::try_new(Arc::clone(schema), columns)?)
}

fn says_failures(schema: &Schema) -> bool {
    schema.fields().last().is_some_and(|field| field.name() == FAILURES)
}

/// A batch without what could not be cast, and that, when it has some; `schema` is the one it has then.
pub(crate) fn split_failures(batch: RecordBatch, schema: &SchemaRef) -> Result<(RecordBatch, Option<Failures>)> {
    let width = schema.fields().len();
    if batch.num_columns() != width + 1 || !says_failures(batch.schema_ref()) {
        return Ok((batch, None));
    }
    let failures = batch.columns().last().and_then(|last| last.as_string_opt::<i32>()).cloned();
    let columns = batch.columns().iter().take(width).map(Arc::clone).collect();
    Ok((RecordBatch::try_new(Arc::clone(schema), columns)?, failures))
}

/// The error of the first of these rows that has a value which could not be cast.
pub(crate) fn failure_in(failures: &Failures, rows: std::ops::Range<usize>) -> Option<Error> {
    let row = rows.into_iter().find(|row| failures.is_valid(*row))?;
    Some(no_value(failures.value(row)))
}
