//! Long lists of values: `IN` by hash over a batch, and in parts over bounds.

use std::{cmp::Ordering, collections::HashSet, hash::Hash};

use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, BooleanArray, cast::AsArray, types};
use arrow_buffer::BooleanBuffer;
use arrow_schema::{DataType as Arrow, TimeUnit};
use foldhash::fast::RandomState;

use super::{CompareOp, Predicate, bounds::compare_values, evaluate::as_integer};
use crate::row::Datum;

/// Shorter lists are compared one value after another.
const SHORT: usize = 8;
/// Values of a list that bounds are compared with together.
const PART: usize = 32;

type Values<T> = HashSet<T, RandomState>;

/// Which rows have one of the values; null for rows that are. `None`: a short list, or a type without hashes.
pub(super) fn is_among(array: &ArrayRef, values: &[Datum]) -> Option<BooleanArray> {
    if values.len() < SHORT {
        return None;
    }
    let present = values.iter().filter(|value| !value.is_null());
    match array.data_type() {
        Arrow::Utf8 => {
            let (set, column) = (set_of(present.map(text))?, array.as_string_opt::<i32>()?);
            Some(found(array, |row| set.contains(column.value(row))))
        }
        Arrow::Binary => {
            let (set, column) = (set_of(present.map(bytes))?, array.as_binary_opt::<i32>()?);
            Some(found(array, |row| set.contains(column.value(row))))
        }
        Arrow::Decimal128(..) => {
            let numbers = |value: &Datum| if let Datum::Decimal(number) = value { Some(*number) } else { None };
            let (set, column) = (set_of(present.map(numbers))?, array.as_primitive_opt::<types::Decimal128Type>()?);
            Some(found(array, |row| set.contains(&column.value(row))))
        }
        Arrow::Timestamp(unit, _) => {
            // one that the column's unit cannot say is in no row
            let is_moment = |value: &&Datum| matches!(value, Datum::Timestamp { .. });
            if !present.clone().all(|value| is_moment(&value)) {
                return None;
            }
            let set = present.filter_map(|value| as_integer(value, array.data_type())).collect();
            match unit {
                TimeUnit::Second => integers::<types::TimestampSecondType>(array, &set),
                TimeUnit::Millisecond => integers::<types::TimestampMillisecondType>(array, &set),
                TimeUnit::Microsecond => integers::<types::TimestampMicrosecondType>(array, &set),
                TimeUnit::Nanosecond => integers::<types::TimestampNanosecondType>(array, &set),
            }
        }
        kind => {
            let set = set_of(present.map(|value| as_integer(value, kind)))?;
            match kind {
                Arrow::Int8 => integers::<types::Int8Type>(array, &set),
                Arrow::Int16 => integers::<types::Int16Type>(array, &set),
                Arrow::Int32 => integers::<types::Int32Type>(array, &set),
                Arrow::Int64 => integers::<types::Int64Type>(array, &set),
                Arrow::Date32 => integers::<types::Date32Type>(array, &set),
                Arrow::Time32(TimeUnit::Second) => integers::<types::Time32SecondType>(array, &set),
                Arrow::Time32(TimeUnit::Millisecond) => integers::<types::Time32MillisecondType>(array, &set),
                _ => None,
            }
        }
    }
}

fn text(value: &Datum) -> Option<&str> {
    if let Datum::String(text) = value { Some(text) } else { None }
}

fn bytes(value: &Datum) -> Option<&[u8]> {
    if let Datum::Bytes(bytes) = value { Some(bytes) } else { None }
}

fn set_of<T: Eq + Hash>(values: impl Iterator<Item = Option<T>>) -> Option<Values<T>> {
    values.collect()
}

fn integers<T: ArrowPrimitiveType>(array: &ArrayRef, set: &Values<i64>) -> Option<BooleanArray>
where
    T::Native: Into<i64>,
{
    let column = array.as_primitive_opt::<T>()?;
    Some(found(array, |row| set.contains(&column.value(row).into())))
}

/// `is_found` is asked of null rows, too.
fn found(array: &ArrayRef, is_found: impl FnMut(usize) -> bool) -> BooleanArray {
    BooleanArray::new(BooleanBuffer::collect_bool(array.len(), is_found), array.logical_nulls())
}

impl Predicate {
    /// The same for bounds ([`super::may_match`]), whose long lists are in parts with ends: most parts are ruled out by these.
    #[must_use]
    pub fn in_parts(self) -> Self {
        match self {
            Self::And(parts) => Self::And(parts.into_iter().map(Self::in_parts).collect()),
            Self::Or(parts) => Self::Or(parts.into_iter().map(Self::in_parts).collect()),
            Self::In { column, values, negated: false } if values.len() > PART => divided(column, values),
            other => other,
        }
    }
}

fn divided(column: String, mut values: Vec<Datum>) -> Predicate {
    values.retain(|value| !value.is_null());
    // NaN and the two zeros have an order of their own; values of several kinds have none
    let has_order = |pair: &[Datum]| match pair {
        [a, b] => !matches!(a, Datum::Float(_) | Datum::Double(_)) && compare_values(a, b).is_some(),
        _ => true,
    };
    if values.is_empty() || !values.windows(2).all(has_order) {
        return Predicate::In { column, values, negated: false };
    }
    values.sort_by(|a, b| compare_values(a, b).unwrap_or(Ordering::Equal));
    let part = |values: &[Datum]| {
        let end = |op, value: Option<&Datum>| {
            value.map(|value| Predicate::Compare { column: column.clone(), op, value: value.clone() })
        };
        let ends = [end(CompareOp::GtEq, values.first()), end(CompareOp::LtEq, values.last())];
        let listed = Predicate::In { column: column.clone(), values: values.to_vec(), negated: false };
        Predicate::And(ends.into_iter().flatten().chain([listed]).collect())
    };
    Predicate::Or(values.chunks(PART).map(part).collect())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{
        BinaryArray, Date32Array, Decimal128Array, Int16Array, Int64Array, StringArray, TimestampMillisecondArray,
    };

    use super::super::{ColumnBounds, may_match};
    use super::*;

    fn rows(array: ArrayRef, values: Vec<Datum>) -> Vec<Option<bool>> {
        is_among(&array, &values).unwrap().iter().collect()
    }

    #[test]
    fn values_of_every_type_with_hashes_are_found() {
        let found = [Some(false), Some(true), None];
        let ids = |of: fn(i64) -> Datum| (10..20).map(of).collect::<Vec<_>>();
        assert_eq!(rows(Arc::new(Int64Array::from(vec![Some(1), Some(12), None])), ids(Datum::BigInt)), found);
        let small = |v: i64| Datum::SmallInt(i16::try_from(v).unwrap());
        assert_eq!(rows(Arc::new(Int16Array::from(vec![Some(20), Some(19), None])), ids(small)), found);
        let day = |v: i64| Datum::Date(i32::try_from(v).unwrap());
        assert_eq!(rows(Arc::new(Date32Array::from(vec![Some(9), Some(10), None])), ids(day)), found);
        let number = |v: i64| Datum::Decimal(v.into());
        let numbers = Decimal128Array::from(vec![Some(1), Some(15), None]).with_precision_and_scale(9, 2).unwrap();
        assert_eq!(rows(Arc::new(numbers), ids(number)), found);
        let moment = |v: i64| Datum::Timestamp { millis: v, nanos_of_milli: 0 };
        let moments = TimestampMillisecondArray::from(vec![Some(1), Some(15), None]);
        assert_eq!(rows(Arc::new(moments), ids(moment)), found);
        let text = |v: i64| Datum::String(v.to_string());
        assert_eq!(rows(Arc::new(StringArray::from(vec![Some("1"), Some("13"), None])), ids(text)), found);
        let bytes = |v: i64| Datum::Bytes(v.to_string().into_bytes());
        let blobs = BinaryArray::from(vec![Some(b"1".as_slice()), Some(b"13"), None]);
        assert_eq!(rows(Arc::new(blobs), ids(bytes)), found);
    }

    #[test]
    fn a_list_in_parts_rules_out_what_the_whole_list_rules_out() {
        let values: Vec<Datum> = (0..200).rev().map(|v| Datum::Int(7 * v)).collect();
        let whole = Predicate::In { column: "id".to_owned(), values, negated: false };
        let parts = whole.clone().in_parts();
        assert!(matches!(&parts, Predicate::Or(parts) if parts.len() == 7), "{parts:?}");
        for low in -3..1420 {
            for high in [low, low + 2, low + 40] {
                let bounds =
                    |_: &str| Some(ColumnBounds { min: Datum::Int(low), max: Datum::Int(high), null_count: Some(0) });
                let asked = [&whole, &parts].map(|predicate| may_match(predicate, &bounds, 3));
                assert_eq!(asked[0], asked[1], "{low} to {high}");
            }
        }
    }

    #[test]
    fn lists_of_floats_and_short_lists_stay_whole() {
        let list = |values: Vec<Datum>| Predicate::In { column: "f".to_owned(), values, negated: false };
        let floats = list((0..100).map(|v| Datum::Double(v.into())).collect());
        let short = list((0..30).map(Datum::Int).collect());
        for whole in [floats, short] {
            assert_eq!(whole.clone().in_parts(), whole);
        }
    }
}
