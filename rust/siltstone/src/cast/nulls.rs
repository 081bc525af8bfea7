//! What a file does not have: nulls, as many as a batch has rows, or as a list in it has elements.
//!
//! A few bytes of a file say how many those are, and each takes as much as a value. So memory is asked for before it is taken.

use arrow_array::{ArrayRef, new_null_array};
use arrow_schema::DataType as Arrow;

use crate::{
    error::Result,
    limits,
    types::{DataType, arrow_type},
};

/// So many nulls of a type.
pub(crate) fn nulls(t: &DataType, len: usize) -> Result<ArrayRef> {
    let t = arrow_type(t)?;
    limits::ask_for_part(width(&t).saturating_mul(len), "values that a file does not have")?;
    Ok(new_null_array(&t, len))
}

/// Asks for so many nulls of each of some types: each of them may take little.
pub(crate) fn ask_for_nulls<'t>(types: impl IntoIterator<Item = &'t DataType>, len: usize) -> Result<()> {
    limits::ask(widths(types)?.saturating_mul(len), "columns that a file does not have")
}

/// Bytes that a value of each of some types takes together.
pub(crate) fn widths<'t>(types: impl IntoIterator<Item = &'t DataType>) -> Result<usize> {
    types.into_iter().try_fold(0_usize, |sum, t| Ok(sum.saturating_add(width(&arrow_type(t)?))))
}

/// Bytes that a value takes at least, whether it is there or null; the bit that says so is one of them.
pub(crate) fn width(t: &Arrow) -> usize {
    match t {
        Arrow::Struct(fields) => fields.iter().map(|field| width(field.data_type())).fold(1, usize::saturating_add),
        Arrow::FixedSizeBinary(bytes) => usize::try_from(*bytes).unwrap_or(0).saturating_add(1),
        Arrow::Boolean | Arrow::Null => 1,
        // where it ends
        t => t.primitive_width().unwrap_or(4).saturating_add(1),
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::Array;

    use super::*;
    use crate::{ErrorKind, types::parse_type};

    #[test]
    fn nulls_are_asked_for_by_their_width() {
        let t = parse_type("ROW<a BIGINT, b ROW<c DECIMAL(38, 0), d BOOLEAN>, e STRING, f ARRAY<INT>>").unwrap();
        assert_eq!(width(&arrow_type(&t).unwrap()), 1 + 9 + (1 + 17 + 1) + 5 + 5);
        assert_eq!(nulls(&t, 3).unwrap().null_count(), 3);
        for result in [nulls(&t, usize::MAX / 256).map(drop), ask_for_nulls([&t, &t], usize::MAX / 256)] {
            assert_eq!(result.unwrap_err().kind(), ErrorKind::MemoryLimitExceeded);
        }
        ask_for_nulls([&t], 1000).unwrap();
    }
}
