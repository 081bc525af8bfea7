//! Values of nested rows that are null: nothing is there, whatever bytes lie below.
//!
//! Arrow leaves undefined what a field has where its row is null, and columns of a file that are NOT NULL have no nulls of
//! their own. Whoever looks at the values of a field hides those first.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray};
use arrow_buffer::NullBuffer;
use arrow_select::nullif::nullif;

use crate::error::Result;

/// The values of a field, null wherever its row is. They are not encoded as runs, which have no nulls of their own.
pub fn hide(values: &ArrayRef, rows: Option<&NullBuffer>) -> Result<ArrayRef> {
    let Some(rows) = rows.filter(|rows| rows.null_count() > 0) else {
        return Ok(Arc::clone(values));
    };
    if values.nulls().is_some_and(|nulls| nulls.contains(rows)) {
        return Ok(Arc::clone(values));
    }
    Ok(nullif(values.as_ref(), &BooleanArray::new(!rows.inner(), None))?)
}

#[cfg(test)]
mod tests {
    use arrow_array::{Int32Array, cast::AsArray, types::Int32Type};

    use super::*;

    #[test]
    fn values_are_null_where_their_row_is_and_where_they_were() {
        let values: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), Some(2), None, Some(4)]));
        let rows = NullBuffer::from(vec![true, true, false, true, false]).slice(1, 4);
        let hidden = hide(&values, Some(&rows)).unwrap();
        assert_eq!(hidden.as_primitive::<Int32Type>(), &Int32Array::from(vec![Some(1), None, None, None]));
        assert_eq!(&hide(&values, None).unwrap(), &values);
        assert_eq!(&hide(&hidden, Some(&rows)).unwrap(), &hidden);
    }
}
