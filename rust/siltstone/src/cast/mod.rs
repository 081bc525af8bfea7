//! Values of one type as values of another, as schema evolution needs them.
//!
//! Source: format chapter 11.4; `DataTypeCasts`, `CastExecutors`. Casts that Java allows in a schema change but cannot
//! carry out on values, or that we do not carry out exactly, are `UnsupportedFeature`: never a guessed value.

mod clock_text;
mod default_value;
mod evolve;
mod hex_float;
mod hide;
mod loss;
mod nested_text;
mod nulls;
mod number;
mod rule;
mod text;
mod time;
mod timestamp_text;
mod value;

pub use default_value::default_value;
pub use evolve::{check_not_null, evolve, evolved_source, same_values};
pub use hide::hide;
pub use loss::cast_loss;
pub(crate) use nulls::{ask_for_nulls, nulls, width, widths};
pub use rule::{CastRule, cast_rule, is_read_as};
pub use text::no_value;

use arrow_array::ArrayRef;

use crate::{
    error::{Error, ErrorKind, Result},
    limits,
    row::{Datum, array_from_datums, datums_from_array},
    types::{DataType, MAX_LENGTH, TypeKind, arrow_type},
};

/// Casts each value of an array of atomic type `from` to `to`.
pub fn cast_array(array: &ArrayRef, from: &DataType, to: &DataType) -> Result<ArrayRef> {
    if from.kind == to.kind {
        return Ok(ArrayRef::clone(array));
    }
    // the values are there in another form beside those of the array, and of the new one
    let each = 2 * size_of::<Datum>() + width(&arrow_type(to)?);
    limits::ask_for_part(array.len().saturating_mul(each), "the values of a column that has another type now")?;
    if let Some(cast) = number::cast_numbers(array, &from.kind, &to.kind) {
        return Ok(cast);
    }
    let cast = value::value_cast(&from.kind, &to.kind).ok_or_else(|| unsupported(&from.kind, &to.kind))?;
    check_filling(array.len(), to)?;
    let values = datums_from_array(array.as_ref(), from)?;
    let values = values.into_iter().map(|v| if v.is_null() { Ok(v) } else { cast(v, &from.kind, &to.kind) });
    array_from_datums(&values.collect::<Result<Vec<_>>>()?, to)
}

/// Bytes that the values of an array are filled up to at most; an array of text holds no more than twice this.
pub(crate) const MAX_FILLED: usize = 1 << 30;

/// CHAR and BINARY values are filled up to the length of their type, which a schema file says.
fn check_filling(values: usize, to: &DataType) -> Result<()> {
    let length = match to.kind {
        TypeKind::Char(length) => length,
        TypeKind::Binary(length) if length != MAX_LENGTH => length,
        _ => 0,
    };
    if values.saturating_mul(usize::try_from(length).unwrap_or(usize::MAX)) <= MAX_FILLED {
        return Ok(());
    }
    Err(Error::new(ErrorKind::MemoryLimitExceeded, format!("{values} values filled up to {to} need too much memory"))
        .hint("read fewer rows at once (batch_size), read with the older schema (time travel), or change the column"))
}

/// Casts one value: partition values, bounds of statistics. Null stays null.
pub fn cast_datum(value: Datum, from: &DataType, to: &DataType) -> Result<Datum> {
    if value.is_null() || from.kind == to.kind {
        return Ok(value);
    }
    let array = array_from_datums(&[value], from)?;
    let array = cast_array(&array, from, to)?;
    crate::row::datum_from_array(array.as_ref(), 0, to)
}

fn unsupported(from: &TypeKind, to: &TypeKind) -> Error {
    let text = |kind: &TypeKind| DataType::new(kind.clone()).to_string();
    Error::unsupported(format!("reading a column of {} that became {}", text(from), text(to)))
        .hint(
            "set the type back to one that both are cast to, read with the older schema (time travel), or leave the column out",
        )
}

#[cfg(test)]
mod tests;
