//! Columns of values as files and callers have them, in the form that they have in memory.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BinaryArray, StructArray, cast::AsArray};
use arrow_schema::{DataType as Arrow, Field, Fields};

use super::{
    binaries::{BINARIES, Binaries, fields, misshapen},
    collected::Collected,
    decode::corrupt,
    shredded::unshredded,
    text::print,
};
use crate::{
    cancel,
    error::{Error, Result},
};

/// The values of a column of a file: its two binaries, or those that its columns make up where values are shredded.
pub(crate) fn stored_binaries(array: &ArrayRef) -> Result<ArrayRef> {
    let row = array.as_struct_opt().ok_or_else(misshapen)?;
    if row.column_by_name("typed_value").is_some() {
        return unshredded(row);
    }
    let stored = Binaries::of(row)?;
    let (value, metadata) = (filled(stored.values, row)?, filled(stored.metadata, row)?);
    Ok(Arc::new(StructArray::try_new(fields()?, vec![value, metadata], row.nulls().cloned())?))
}

/// Null binaries only where the value is null, and then empty: the type of the column knows no others.
fn filled(binaries: &BinaryArray, row: &StructArray) -> Result<ArrayRef> {
    if binaries.null_count() == 0 {
        return Ok(Arc::new(binaries.clone()));
    }
    let mut filled = Collected::new(BINARIES, binaries.len())?;
    for at in 0..binaries.len() {
        match (binaries.is_null(at), row.is_null(at)) {
            (false, _) => filled.add(binaries.value(at))?,
            (true, true) => filled.add(&[])?,
            (true, false) => return Err(corrupt("a VARIANT lacks its value or its metadata")),
        }
    }
    Ok(Arc::new(filled.binaries()?))
}

/// Binaries that a caller gives, each of which is a value; an error tells the row.
pub(crate) fn checked_binaries(row: &StructArray) -> std::result::Result<ArrayRef, (usize, Error)> {
    let faulty = |at: usize| move |e: Error| (at, e);
    if row.columns().len() != 2 {
        return Err((0, misshapen()));
    }
    let taken = |name: &str| {
        let column = row.column_by_name(name).ok_or_else(|| (0, misshapen()))?;
        arrow_cast::cast(column, &Arrow::Binary).map_err(|e| (0, Error::from(e)))
    };
    let names = Fields::from_iter(["value", "metadata"].map(|n| Field::new(n, Arrow::Binary, true)));
    let columns = vec![taken("value")?, taken("metadata")?];
    let given = StructArray::try_new(names, columns, row.nulls().cloned()).map_err(|e| (0, Error::from(e)))?;
    let stored = Binaries::of(&given).map_err(faulty(0))?;
    let mut text = String::new();
    for at in 0..given.len() {
        cancel::check().map_err(faulty(at))?;
        if let Some((value, metadata)) = stored.get(at).map_err(faulty(at))? {
            text.clear();
            print(value, metadata, &mut text).map_err(faulty(at))?;
        }
    }
    let given: ArrayRef = Arc::new(given);
    stored_binaries(&given).map_err(faulty(0))
}
