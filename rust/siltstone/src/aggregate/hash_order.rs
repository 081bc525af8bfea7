//! The order in which Java's hash tables give their entries.
//!
//! `collect` with `distinct`, `nested_update` and `nested_partial_update` leave their results in the order of a
//! `HashSet` or `HashMap`. It follows from the entries alone, so ours is the same.

use arrow_array::{
    Array, ArrayRef, BooleanArray,
    cast::AsArray,
    types::{
        Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
        Time32MillisecondType, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
        TimestampSecondType,
    },
};
use arrow_schema::{DataType as Arrow, TimeUnit};

use crate::codec::hash_bytes;

/// Hash codes of all elements of a column, spread as `HashMap` does.
#[derive(Debug)]
pub(super) struct HashOrder(Vec<u32>);

impl HashOrder {
    /// From `hashCode()` of each element.
    pub(super) fn new(hashes: impl IntoIterator<Item = i32>) -> Self {
        Self(hashes.into_iter().map(|h| h.cast_unsigned() ^ (h.cast_unsigned() >> 16)).collect())
    }

    /// Of single values; `None` for types whose hash code Java does not define by value.
    pub(super) fn of_values(array: &ArrayRef) -> Option<Self> {
        hash_codes(array).map(Self::new)
    }

    /// Puts elements, given in the order in which they came in, into the order of a table that held up to `most`.
    pub(super) fn arrange(&self, elements: &mut [usize], most: usize) {
        let mut table: usize = 16;
        while most > table / 4 * 3 {
            table *= 2;
        }
        let mask = u32::try_from(table - 1).unwrap_or(u32::MAX);
        // stable: entries of one place keep their order
        elements.sort_by_key(|element| self.0.get(*element).map_or(0, |hash| hash & mask));
    }
}

/// `hashCode()` of boxed values and of Paimon's internal ones.
fn hash_codes(array: &ArrayRef) -> Option<Vec<i32>> {
    macro_rules! each {
        ($type:ty, $hash:expr) => {
            array.as_primitive::<$type>().iter().map(|v| v.map_or(0, $hash)).collect()
        };
    }
    Some(match array.data_type() {
        Arrow::Boolean => booleans(array.as_boolean()),
        Arrow::Int8 => each!(Int8Type, i32::from),
        Arrow::Int16 => each!(Int16Type, i32::from),
        Arrow::Int32 => each!(Int32Type, |v| v),
        Arrow::Date32 => each!(Date32Type, |v| v),
        Arrow::Time32(_) => each!(Time32MillisecondType, |v| v),
        Arrow::Int64 => each!(Int64Type, long),
        Arrow::Float32 => each!(Float32Type, |v: f32| float_bits(v).cast_signed()),
        Arrow::Float64 => each!(Float64Type, |v: f64| long(double_bits(v).cast_signed())),
        Arrow::Decimal128(_, scale) => each!(Decimal128Type, |v| decimal(v, i32::from(*scale))),
        Arrow::Timestamp(TimeUnit::Second, _) => each!(TimestampSecondType, |v: i64| timestamp(v, 1)),
        Arrow::Timestamp(TimeUnit::Millisecond, _) => each!(TimestampMillisecondType, |v: i64| timestamp(v, 1_000)),
        Arrow::Timestamp(TimeUnit::Microsecond, _) => each!(TimestampMicrosecondType, |v: i64| timestamp(v, 1_000_000)),
        Arrow::Timestamp(TimeUnit::Nanosecond, _) => {
            each!(TimestampNanosecondType, |v: i64| timestamp(v, 1_000_000_000))
        }
        Arrow::Utf8 => {
            array.as_string::<i32>().iter().map(|v| v.map_or(0, |text| hash_bytes(text.as_bytes()))).collect()
        }
        _ => return None,
    })
}

fn booleans(array: &BooleanArray) -> Vec<i32> {
    array.iter().map(|v| v.map_or(0, |v| if v { 1231 } else { 1237 })).collect()
}

/// `Long.hashCode`
fn long(value: i64) -> i32 {
    fold(value.cast_unsigned())
}

fn fold(bits: u64) -> i32 {
    u32::try_from((bits ^ (bits >> 32)) & 0xffff_ffff).unwrap_or(0).cast_signed()
}

/// All NaNs have one hash.
fn float_bits(value: f32) -> u32 {
    if value.is_nan() { 0x7fc0_0000 } else { value.to_bits() }
}

fn double_bits(value: f64) -> u64 {
    if value.is_nan() { 0x7ff8_0000_0000_0000 } else { value.to_bits() }
}

/// `Timestamp.hashCode`: milliseconds and nanoseconds within one.
fn timestamp(value: i64, per_second: i64) -> i32 {
    let (millis, nanos) = match per_second {
        1 => (value.wrapping_mul(1_000), 0),
        1_000 => (value, 0),
        1_000_000 => (value.div_euclid(1_000), value.rem_euclid(1_000) * 1_000),
        _ => (value.div_euclid(1_000_000), value.rem_euclid(1_000_000)),
    };
    let nanos = i32::try_from(nanos).unwrap_or(0);
    long(millis).wrapping_mul(31).wrapping_add(nanos)
}

/// `BigDecimal.hashCode`
fn decimal(unscaled: i128, scale: i32) -> i32 {
    let magnitude = unscaled.unsigned_abs();
    // words of 32 bits, the highest first, as BigInteger hashes them; a long is hashed the same way
    let hash = magnitude
        .to_be_bytes()
        .as_chunks::<4>()
        .0
        .iter()
        .map(|word| u32::from_be_bytes(*word))
        .fold(0_u32, |h, word| h.wrapping_mul(31).wrapping_add(word));
    let signed = if unscaled < 0 { hash.cast_signed().wrapping_neg() } else { hash.cast_signed() };
    signed.wrapping_mul(31).wrapping_add(scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash_codes_are_javas() {
        assert_eq!((long(1), long(-1), long(1 << 40)), (1, 0, 256));
        assert_eq!(long(double_bits(1.5).cast_signed()), 1_073_217_536);
        // new BigDecimal("1.50").hashCode(), new BigDecimal("-1.50").hashCode()
        assert_eq!((decimal(150, 2), decimal(-150, 2)), (4652, -4648));
        // new BigDecimal("12345678901234567890.5").hashCode()
        assert_eq!(decimal(123_456_789_012_345_678_905, 1), {
            let words = [6_u32, 0xb14e_9f81, 0x2f36_6c39_u32];
            let h = words.iter().fold(0_u32, |h, w| h.wrapping_mul(31).wrapping_add(*w));
            h.cast_signed().wrapping_mul(31).wrapping_add(1)
        });
    }

    #[test]
    fn small_integers_come_in_order_of_their_place() {
        let order = HashOrder::new([17, 1, 0, 33, 16]);
        let mut elements = [0, 1, 2, 3, 4];
        order.arrange(&mut elements, 5);
        assert_eq!(elements, [2, 4, 0, 1, 3], "16 places: 0 and 16 share one, so do 17, 1 and 33");
        order.arrange(&mut elements, 13);
        assert_eq!(elements, [2, 1, 3, 4, 0], "32 places");
    }
}
