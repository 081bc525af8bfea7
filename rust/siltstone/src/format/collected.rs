//! Bounds of columns, collected while their rows are written: for formats whose files do not tell them.

use std::cmp::Ordering;

use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray, StringArray,
    cast::AsArray,
    types::{
        Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
        Time32MillisecondType, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
        TimestampSecondType,
    },
};
use arrow_schema::{DataType as Arrow, TimeUnit};

use crate::{
    error::Result,
    predicate::ColumnBounds,
    row::{Datum, compare_datums, datum_from_array},
    types::{DataField, DataType},
};

/// What is known of the columns so far.
pub(super) struct Collected(Vec<(DataType, ColumnBounds)>);

impl Collected {
    pub(super) fn new(fields: &[DataField]) -> Self {
        let none = ColumnBounds { min: Datum::Null, max: Datum::Null, null_count: Some(0) };
        Self(fields.iter().map(|field| (field.data_type.clone(), none.clone())).collect())
    }

    /// Looks at more rows.
    pub(super) fn add(&mut self, columns: &[ArrayRef]) -> Result<()> {
        for ((data_type, bounds), column) in self.0.iter_mut().zip(columns) {
            let nulls = i64::try_from(column.null_count()).unwrap_or(i64::MAX);
            bounds.null_count = bounds.null_count.map(|count| count.saturating_add(nulls));
            let Some((least, greatest)) = extremes(column) else { continue };
            let least = datum_from_array(column.as_ref(), least, data_type)?;
            widen(bounds, least, datum_from_array(column.as_ref(), greatest, data_type)?);
        }
        Ok(())
    }

    /// Takes in what is known of other rows.
    pub(super) fn absorb(&mut self, other: Self) {
        for ((_, bounds), (_, more)) in self.0.iter_mut().zip(other.0) {
            let counts = bounds.null_count.zip(more.null_count);
            bounds.null_count = counts.map(|(a, b)| a.saturating_add(b));
            widen(bounds, more.min, more.max);
        }
    }

    /// The columns and what is known of them.
    pub(super) fn columns(&self) -> impl Iterator<Item = (&DataType, &ColumnBounds)> {
        self.0.iter().map(|(data_type, bounds)| (data_type, bounds))
    }

    /// Of each column.
    pub(super) fn finish(self) -> Vec<Option<ColumnBounds>> {
        self.0.into_iter().map(|(_, bounds)| Some(bounds)).collect()
    }
}

/// Bounds that hold these values, too; null stands for none.
fn widen(bounds: &mut ColumnBounds, least: Datum, greatest: Datum) {
    if !least.is_null() && (bounds.min.is_null() || compare_datums(&least, &bounds.min) == Ordering::Less) {
        bounds.min = least;
    }
    if !greatest.is_null() && (bounds.max.is_null() || compare_datums(&greatest, &bounds.max) == Ordering::Greater) {
        bounds.max = greatest;
    }
}

/// The rows of the least and the greatest value; `None` for nulls only, and for types whose values have no order or, as
/// bytes in Java, no bounds.
fn extremes(array: &ArrayRef) -> Option<(usize, usize)> {
    match array.data_type() {
        Arrow::Boolean => {
            let values = array.as_boolean();
            among(values.iter().enumerate().filter_map(|(row, value)| Some((row, value?))), bool::cmp)
        }
        Arrow::Int8 => of_numbers::<Int8Type>(array.as_primitive(), Ord::cmp),
        Arrow::Int16 => of_numbers::<Int16Type>(array.as_primitive(), Ord::cmp),
        Arrow::Int32 => of_numbers::<Int32Type>(array.as_primitive(), Ord::cmp),
        Arrow::Int64 => of_numbers::<Int64Type>(array.as_primitive(), Ord::cmp),
        Arrow::Float32 => {
            of_numbers::<Float32Type>(array.as_primitive(), |a, b| float_order(f64::from(*a), f64::from(*b)))
        }
        Arrow::Float64 => of_numbers::<Float64Type>(array.as_primitive(), |a, b| float_order(*a, *b)),
        Arrow::Decimal128(..) => of_numbers::<Decimal128Type>(array.as_primitive(), Ord::cmp),
        Arrow::Date32 => of_numbers::<Date32Type>(array.as_primitive(), Ord::cmp),
        Arrow::Time32(TimeUnit::Millisecond) => of_numbers::<Time32MillisecondType>(array.as_primitive(), Ord::cmp),
        Arrow::Timestamp(TimeUnit::Second, _) => of_numbers::<TimestampSecondType>(array.as_primitive(), Ord::cmp),
        Arrow::Timestamp(TimeUnit::Millisecond, _) => {
            of_numbers::<TimestampMillisecondType>(array.as_primitive(), Ord::cmp)
        }
        Arrow::Timestamp(TimeUnit::Microsecond, _) => {
            of_numbers::<TimestampMicrosecondType>(array.as_primitive(), Ord::cmp)
        }
        Arrow::Timestamp(TimeUnit::Nanosecond, _) => {
            of_numbers::<TimestampNanosecondType>(array.as_primitive(), Ord::cmp)
        }
        Arrow::Utf8 => of_texts(array.as_string()),
        _ => None,
    }
}

/// Java's order: NaN above everything, -0.0 below 0.0.
fn float_order(a: f64, b: f64) -> Ordering {
    match (a.is_nan(), b.is_nan()) {
        (false, false) => a.total_cmp(&b),
        (a, b) => a.cmp(&b),
    }
}

fn of_numbers<T: ArrowPrimitiveType>(
    array: &PrimitiveArray<T>,
    order: impl Fn(&T::Native, &T::Native) -> Ordering,
) -> Option<(usize, usize)> {
    among(array.iter().enumerate().filter_map(|(row, value)| Some((row, value?))), order)
}

fn of_texts(array: &StringArray) -> Option<(usize, usize)> {
    among(array.iter().enumerate().filter_map(|(row, text)| Some((row, text?))), Ord::cmp)
}

fn among<T: Copy>(
    mut values: impl Iterator<Item = (usize, T)>,
    order: impl Fn(&T, &T) -> Ordering,
) -> Option<(usize, usize)> {
    let first = values.next()?;
    let (least, greatest) = values.fold((first, first), |(least, greatest), value| {
        let least = if order(&value.1, &least.1) == Ordering::Less { value } else { least };
        (least, if order(&value.1, &greatest.1) == Ordering::Greater { value } else { greatest })
    });
    Some((least.0, greatest.0))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{BinaryArray, Float64Array};

    use super::*;
    use crate::types::TypeKind;

    fn bounds(kind: TypeKind, batches: &[ArrayRef]) -> ColumnBounds {
        let mut collected = Collected::new(&[DataField::new(0, "c", DataType::new(kind))]);
        for batch in batches {
            collected.add(std::slice::from_ref(batch)).unwrap();
        }
        collected.finish().remove(0).unwrap()
    }

    #[test]
    fn bounds_are_over_all_batches_in_java_s_order() {
        let numbers = |values: &[Option<f64>]| Arc::new(Float64Array::from(values.to_vec())) as ArrayRef;
        let found = bounds(TypeKind::Double, &[numbers(&[None, Some(0.0)]), numbers(&[Some(-0.0), None])]);
        assert!(matches!(found.min, Datum::Double(least) if least.is_sign_negative()));
        assert!(matches!(found.max, Datum::Double(greatest) if greatest.is_sign_positive()));
        assert_eq!(found.null_count, Some(2));
        let found = bounds(TypeKind::Double, &[numbers(&[Some(-f64::NAN), Some(1.0), Some(f64::INFINITY)])]);
        assert_eq!(found.min, Datum::Double(1.0));
        assert!(matches!(found.max, Datum::Double(greatest) if greatest.is_nan()));
    }

    #[test]
    fn bytes_and_nulls_have_counts_only() {
        let bytes: ArrayRef = Arc::new(BinaryArray::from(vec![Some(&b"a"[..]), None]));
        let found = bounds(TypeKind::VarBinary(9), &[bytes]);
        assert_eq!((found.min, found.max, found.null_count), (Datum::Null, Datum::Null, Some(1)));
        let texts: ArrayRef = Arc::new(StringArray::from(vec![None::<&str>, None]));
        assert_eq!(bounds(TypeKind::Char(3), &[texts]).null_count, Some(2));
    }
}
