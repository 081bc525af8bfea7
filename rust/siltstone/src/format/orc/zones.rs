//! Moments of columns with a local time zone.
//!
//! With `orc.timestamp-ltz.legacy.type` (true unless the table says otherwise) Java stores the moment's wall clock in UTC as if it
//! were one in the writer's zone, so what the file has is off by the offset of that zone. Writers in UTC store the moment itself.

use std::{collections::BTreeMap, sync::Arc};

use arrow_array::{
    ArrayRef, PrimitiveArray,
    cast::AsArray,
    types::{
        ArrowTimestampType, Int64Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    },
};
use arrow_schema::{DataType as Arrow, TimeUnit};
use chrono::{DateTime, Offset, TimeZone};

use crate::{
    error::{Error, ErrorKind, Result},
    options::parse_bool,
};

const LEGACY: &str = "orc.timestamp-ltz.legacy.type";

/// Whether moments are stored as wall clocks of the writer's zone.
pub(super) fn is_legacy(options: &BTreeMap<String, String>) -> Result<bool> {
    options.get(LEGACY).map_or(Ok(true), |value| parse_bool(value).map_err(|e| e.with("option", LEGACY)))
}

/// The offset of a zone at a moment, in seconds; `None` beyond the years that a calendar has.
pub(super) type OffsetAt = Arc<dyn Fn(i64) -> Option<i64> + Send + Sync>;

pub(super) fn offset_at<Z: TimeZone + Send + Sync + 'static>(zone: Z) -> OffsetAt {
    Arc::new(move |seconds| {
        let utc = DateTime::from_timestamp(seconds, 0)?.naive_utc();
        Some(i64::from(zone.offset_from_utc_datetime(&utc).fix().local_minus_utc()))
    })
}

/// The moments whose wall clocks a file stores.
pub(super) fn moments(array: &ArrayRef, offset: &OffsetAt) -> Result<ArrayRef> {
    match array.data_type() {
        Arrow::Timestamp(TimeUnit::Millisecond, _) => shifted::<TimestampMillisecondType>(array, offset, 1_000),
        Arrow::Timestamp(TimeUnit::Microsecond, _) => shifted::<TimestampMicrosecondType>(array, offset, 1_000_000),
        Arrow::Timestamp(TimeUnit::Nanosecond, _) => shifted::<TimestampNanosecondType>(array, offset, 1_000_000_000),
        _ => Ok(Arc::clone(array)),
    }
}

fn shifted<T: ArrowTimestampType>(array: &ArrayRef, offset: &OffsetAt, per_second: i64) -> Result<ArrayRef> {
    let stored: PrimitiveArray<Int64Type> = array.as_primitive::<T>().reinterpret_cast();
    let moment = |value: i64| {
        let shift = offset(value.div_euclid(per_second))?.checked_mul(per_second)?;
        value.checked_add(shift)
    };
    let out_of_range = || Error::new(ErrorKind::CorruptFile, "a moment is out of the range of its type");
    let moments: PrimitiveArray<Int64Type> = stored.try_unary(|value| moment(value).ok_or_else(out_of_range))?;
    Ok(Arc::new(moments.reinterpret_cast::<T>().with_timezone("UTC")))
}
