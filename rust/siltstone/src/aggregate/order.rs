//! The order of values of one column that live in several arrays: Java's order, nulls first.
#![allow(clippy::indexing_slicing, reason = "places come from the merge and lie within the arrays")]

use std::cmp::Ordering;

use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, BooleanArray, GenericByteArray,
    cast::AsArray,
    types::{
        BinaryType, ByteArrayType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type,
        Int32Type, Int64Type, Time32MillisecondType, TimestampMicrosecondType, TimestampMillisecondType,
        TimestampNanosecondType, TimestampSecondType, Utf8Type,
    },
};
use arrow_schema::{DataType as Arrow, TimeUnit};

use crate::{Error, ErrorKind, Result};

/// Compares two values, both not null, by their (source, row).
pub(crate) trait ColumnOrder {
    /// As Java compares values of this type.
    fn compare(&self, a: (usize, usize), b: (usize, usize)) -> Ordering;
}

/// The order of a column's values.
///
/// Numbers and times by value, floats as `Double.compare` (-0.0 before 0.0, every NaN last), texts and bytes unsigned,
/// false before true.
pub(crate) fn column_order<'a>(arrays: &'a [ArrayRef]) -> Result<Box<dyn ColumnOrder + 'a>> {
    let Some(first) = arrays.first() else {
        return Err(Error::new(ErrorKind::Internal, "a column of no batch has no order"));
    };
    Ok(match first.data_type() {
        Arrow::Int8 => values::<Int8Type>(arrays)?,
        Arrow::Int16 => values::<Int16Type>(arrays)?,
        Arrow::Int32 => values::<Int32Type>(arrays)?,
        Arrow::Int64 => values::<Int64Type>(arrays)?,
        Arrow::Float32 => values::<Float32Type>(arrays)?,
        Arrow::Float64 => values::<Float64Type>(arrays)?,
        Arrow::Decimal128(..) => values::<Decimal128Type>(arrays)?,
        Arrow::Date32 => values::<Date32Type>(arrays)?,
        Arrow::Time32(TimeUnit::Millisecond) => values::<Time32MillisecondType>(arrays)?,
        Arrow::Timestamp(TimeUnit::Second, _) => values::<TimestampSecondType>(arrays)?,
        Arrow::Timestamp(TimeUnit::Millisecond, _) => values::<TimestampMillisecondType>(arrays)?,
        Arrow::Timestamp(TimeUnit::Microsecond, _) => values::<TimestampMicrosecondType>(arrays)?,
        Arrow::Timestamp(TimeUnit::Nanosecond, _) => values::<TimestampNanosecondType>(arrays)?,
        Arrow::Utf8 => bytes::<Utf8Type>(arrays)?,
        Arrow::Binary => bytes::<BinaryType>(arrays)?,
        Arrow::Boolean => Box::new(Booleans(downcast(arrays, |a| a.as_boolean_opt())?)),
        other => {
            return Err(Error::new(
                ErrorKind::UnsupportedType,
                format!("values of the Arrow type {other} have no order"),
            ));
        }
    })
}

/// How two values of a fixed width compare.
pub(super) trait JavaOrder: Copy {
    fn java_cmp(self, other: Self) -> Ordering;

    /// Whether it comes before another value.
    fn is_below(self, other: Self) -> bool;
}

macro_rules! natural {
    ($($t:ty),+) => { $(impl JavaOrder for $t {
        #[inline]
        fn java_cmp(self, other: Self) -> Ordering {
            self.cmp(&other)
        }

        #[inline]
        fn is_below(self, other: Self) -> bool {
            self < other
        }
    })+ };
}
natural!(i8, i16, i32, i64, i128, bool);

macro_rules! floating {
    ($($t:ty),+) => { $(impl JavaOrder for $t {
        #[inline]
        fn java_cmp(self, other: Self) -> Ordering {
            // NaNs differ in bits, and are all the same in Java
            match (self.is_nan(), other.is_nan()) {
                (false, false) => self.total_cmp(&other),
                (a, b) => a.cmp(&b),
            }
        }

        #[inline]
        fn is_below(self, other: Self) -> bool {
            // apart from the zeros, numbers that are not less come in order or are not numbers
            let zeros = self.is_sign_negative() & other.is_sign_positive() & (self >= other);
            (self < other) | zeros | (!self.is_nan() & other.is_nan())
        }
    })+ };
}
floating!(f32, f64);

struct Values<'a, N>(Vec<&'a [N]>);

impl<N: JavaOrder> ColumnOrder for Values<'_, N> {
    #[inline]
    fn compare(&self, a: (usize, usize), b: (usize, usize)) -> Ordering {
        self.0[a.0][a.1].java_cmp(self.0[b.0][b.1])
    }
}

struct Bytes<'a, T: ByteArrayType>(Vec<&'a GenericByteArray<T>>);

impl<T: ByteArrayType> ColumnOrder for Bytes<'_, T>
where
    T::Native: AsRef<[u8]>,
{
    #[inline]
    fn compare(&self, a: (usize, usize), b: (usize, usize)) -> Ordering {
        let (a, b): (&[u8], &[u8]) = (self.0[a.0].value(a.1).as_ref(), self.0[b.0].value(b.1).as_ref());
        a.cmp(b)
    }
}

struct Booleans<'a>(Vec<&'a BooleanArray>);

impl ColumnOrder for Booleans<'_> {
    fn compare(&self, a: (usize, usize), b: (usize, usize)) -> Ordering {
        self.0[a.0].value(a.1).cmp(&self.0[b.0].value(b.1))
    }
}

fn values<'a, P>(arrays: &'a [ArrayRef]) -> Result<Box<dyn ColumnOrder + 'a>>
where
    P: ArrowPrimitiveType<Native: JavaOrder>,
{
    Ok(Box::new(Values(slices::<P>(arrays)?)))
}

/// The values of a column of a fixed width.
pub(super) fn slices<P: ArrowPrimitiveType>(arrays: &[ArrayRef]) -> Result<Vec<&[P::Native]>> {
    downcast(arrays, |array| array.as_primitive_opt::<P>().map(|array| &**array.values()))
}

fn bytes<'a, T: ByteArrayType<Native: AsRef<[u8]>>>(arrays: &'a [ArrayRef]) -> Result<Box<dyn ColumnOrder + 'a>> {
    Ok(Box::new(Bytes(downcast(arrays, |array| array.as_bytes_opt::<T>())?)))
}

fn downcast<'a, T>(arrays: &'a [ArrayRef], cast: impl Fn(&'a dyn Array) -> Option<T>) -> Result<Vec<T>> {
    let one = |array: &'a ArrayRef| {
        cast(array.as_ref()).ok_or_else(|| {
            let message = format!("batches under merge disagree about a column's type ({})", array.data_type());
            Error::new(ErrorKind::Internal, message)
        })
    };
    arrays.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Float64Array, StringArray};

    use super::*;

    #[test]
    fn floats_and_texts_order_as_in_java() {
        let floats: [ArrayRef; 2] = [
            Arc::new(Float64Array::from(vec![f64::NEG_INFINITY, -0.0, 0.0, f64::INFINITY, f64::NAN])),
            Arc::new(Float64Array::from(vec![-f64::NAN])),
        ];
        let order = column_order(&floats).unwrap();
        for i in 0..4 {
            assert_eq!(order.compare((0, i), (0, i + 1)), Ordering::Less);
        }
        assert_eq!(order.compare((0, 4), (1, 0)), Ordering::Equal);
        let texts: [ArrayRef; 1] = [Arc::new(StringArray::from(vec!["\u{e000}", "\u{10000}"]))];
        assert_eq!(column_order(&texts).unwrap().compare((0, 0), (0, 1)), Ordering::Less);
    }
}
