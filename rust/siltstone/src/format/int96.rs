//! INT96 timestamps.
//!
//! ```text
//! 0..8   i64 LE  nanoseconds of the day; negative in files of Java for instants before 1970
//! 8..12  i32 LE  Julian day; 2440588 is 1970-01-01
//! ```
//! Java divides toward zero, so day and nanoseconds are read as a sum. We write the floor form.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, FixedSizeBinaryArray, PrimitiveArray, TimestampNanosecondArray, types::TimestampNanosecondType,
};
use arrow_buffer::{Buffer, ScalarBuffer};

use crate::error::{Error, ErrorKind, Result};

const EPOCH_JULIAN_DAY: i64 = 2_440_588;
const NANOS_OF_DAY: i64 = 86_400_000_000_000;
/// Bytes of a value.
pub(crate) const WIDTH: i32 = 12;

/// Timestamps as INT96 bytes.
pub(crate) fn encode(timestamps: &PrimitiveArray<TimestampNanosecondType>) -> Result<ArrayRef> {
    let mut bytes = Vec::with_capacity(timestamps.len() * 12);
    for nanos in timestamps.values() {
        let day = nanos.div_euclid(NANOS_OF_DAY) + EPOCH_JULIAN_DAY;
        bytes.extend_from_slice(&nanos.rem_euclid(NANOS_OF_DAY).to_le_bytes());
        // i64 nanoseconds span 213,503 days: the Julian day always fits
        bytes.extend_from_slice(&i32::try_from(day).unwrap_or(i32::MAX).to_le_bytes());
    }
    let array = FixedSizeBinaryArray::try_new(WIDTH, Buffer::from_vec(bytes), timestamps.nulls().cloned())?;
    Ok(Arc::new(array))
}

/// INT96 bytes as nanoseconds; an instant that i64 nanoseconds cannot hold (before 1677 or after 2262) is an error.
pub(crate) fn decode(values: &FixedSizeBinaryArray, zone: Option<Arc<str>>) -> Result<ArrayRef> {
    let mut nanos = Vec::with_capacity(values.len());
    for (row, bytes) in values.value_data().chunks_exact(12).skip(values.offset()).take(values.len()).enumerate() {
        let (of_day, day) = split(bytes);
        let instant = i128::from(day - EPOCH_JULIAN_DAY) * i128::from(NANOS_OF_DAY) + i128::from(of_day);
        nanos.push(match i64::try_from(instant) {
            Ok(instant) => instant,
            Err(_) if values.is_null(row) => 0,
            Err(_) => return Err(out_of_range(day)),
        });
    }
    let array = TimestampNanosecondArray::try_new(ScalarBuffer::from(nanos), values.nulls().cloned())?;
    Ok(Arc::new(array.with_timezone_opt(zone)))
}

fn split(bytes: &[u8]) -> (i64, i64) {
    let (mut of_day, mut day) = ([0; 8], [0; 4]);
    of_day.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    day.iter_mut().zip(bytes.iter().skip(8)).for_each(|(to, from)| *to = *from);
    (i64::from_le_bytes(of_day), i64::from(i32::from_le_bytes(day)))
}

fn out_of_range(julian_day: i64) -> Error {
    Error::new(
        ErrorKind::UnsupportedType,
        format!(
            "a timestamp with nanoseconds lies {} days from 1970-01-01, outside the years 1677 to 2262 that 64-bit \
             nanoseconds can hold",
            julian_day - EPOCH_JULIAN_DAY
        ),
    )
    .hint("change the column to TIMESTAMP(6), or leave it out of the columns to read")
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;

    use super::*;

    fn raw(of_day: i64, day: i32) -> FixedSizeBinaryArray {
        let mut bytes = of_day.to_le_bytes().to_vec();
        bytes.extend(day.to_le_bytes());
        FixedSizeBinaryArray::try_new(WIDTH, Buffer::from_vec(bytes), None).unwrap()
    }

    fn nanos(array: &ArrayRef) -> Vec<Option<i64>> {
        array.as_primitive::<TimestampNanosecondType>().iter().collect()
    }

    #[test]
    fn instants_come_back_as_they_went_in() {
        let values = [0, 1, -1, i64::MAX, i64::MIN, -86_400_000_000_001, 1_700_000_000_123_456_789];
        let array: TimestampNanosecondArray = values.into_iter().map(Some).chain([None]).collect();
        let bytes = encode(&array).unwrap();
        let back = decode(bytes.as_fixed_size_binary(), None).unwrap();
        assert_eq!(nanos(&back), array.iter().collect::<Vec<_>>());
        let part = bytes.slice(2, 3);
        assert_eq!(nanos(&decode(part.as_fixed_size_binary(), None).unwrap()), nanos(&back)[2..5]);
    }

    #[test]
    fn the_truncated_form_of_java_and_the_floor_form_mean_the_same() {
        let floor = decode(&raw(NANOS_OF_DAY - 1, 2_440_587), None).unwrap();
        let truncated = decode(&raw(-1, 2_440_588), None).unwrap();
        assert_eq!(nanos(&floor), [Some(-1)]);
        assert_eq!(nanos(&truncated), [Some(-1)]);
    }

    #[test]
    fn an_instant_beyond_64_bit_nanoseconds_is_refused() {
        let e = decode(&raw(0, 5_373_484), None).unwrap_err();
        assert!(e.message().contains("1677 to 2262"), "{e}");
    }
}
