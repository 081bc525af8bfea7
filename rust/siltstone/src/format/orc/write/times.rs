//! Times as Java's reader understands them: seconds since 2015 and nanoseconds without their zeros.

use arrow_array::{
    Array, ArrayRef, Int64Array,
    cast::AsArray,
    types::{TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType},
};
use arrow_schema::{DataType as Arrow, TimeUnit};

use super::super::timestamp::shorten;
use crate::error::{Error, ErrorKind, Result};

/// 2015-01-01, from which seconds are counted.
const EPOCH: i64 = 1_420_070_400;

/// Ticks of an array of times, and how many of them are a second.
pub(super) fn ticks(array: &ArrayRef) -> Option<(Int64Array, i64)> {
    let Arrow::Timestamp(unit, _) = array.data_type() else { return None };
    Some(match unit {
        TimeUnit::Second => (array.as_primitive::<TimestampSecondType>().reinterpret_cast(), 1),
        TimeUnit::Millisecond => (array.as_primitive::<TimestampMillisecondType>().reinterpret_cast(), 1_000),
        TimeUnit::Microsecond => (array.as_primitive::<TimestampMicrosecondType>().reinterpret_cast(), 1_000_000),
        TimeUnit::Nanosecond => (array.as_primitive::<TimestampNanosecondType>().reinterpret_cast(), 1_000_000_000),
    })
}

/// What is stored of a time.
pub(super) fn stored(ticks: i64, per_second: i64) -> Result<(i64, i64)> {
    let mut seconds = ticks.div_euclid(per_second);
    let nanos = ticks.rem_euclid(per_second) * (1_000_000_000 / per_second);
    if seconds < 0 && nanos > 999_999 {
        // readers take a second off where both together are before 1970
        if seconds == -1 {
            let message = "times between 1969-12-31 23:59:59 and 1970 with milliseconds cannot be stored in ORC files";
            return Err(Error::new(ErrorKind::UnsupportedType, message)
                .hint("readers, Java's too, show them one second later: use another 'file.format'"));
        }
        seconds += 1;
    }
    let seconds = seconds.checked_sub(EPOCH).ok_or_else(too_far)?;
    let nanos = shorten(u32::try_from(nanos).unwrap_or_default());
    Ok((seconds, i64::try_from(nanos).unwrap_or_default()))
}

#[cold]
fn too_far() -> Error {
    Error::new(ErrorKind::UnsupportedType, "a time is out of the range that ORC files can have")
}
