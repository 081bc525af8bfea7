//! Rows that are too old to stay (`record-level.expire-time`): compactions leave them out. Reads show them until then.
//!
//! ```text
//! every file that a compaction reads    without its records whose time is older than the option says, before it merges them
//! what it looks up in higher levels     likewise; that a key exists (first-row), or where it is, does not depend on its age
//! a file that could stay as it is       is rewritten when its smallest time is too old
//! a full compaction of what is          takes the files whose smallest time is too old
//!   compacted already
//! ```
//!
//! Times are seconds (INT, BIGINT), milliseconds (BIGINT from 10^12 on) or TIMESTAMP. A record without a time stays.
//!
//! Source: semantics a.8; `RecordLevelExpire`.

use arrow_array::{BooleanArray, RecordBatch};

use crate::{
    env::now_millis,
    error::Result,
    io::TableContext,
    manifest::DataFileMeta,
    predicate::{CompareOp, Predicate, evaluate},
    row::Datum,
    schema::record_time_field,
    stats::StatsReader,
    types::{DataField, TypeKind},
};

/// BIGINT times from here on are milliseconds.
const FIRST_MILLIS: i64 = 1_000_000_000_000;

/// What is too old.
#[derive(Clone, Debug)]
pub(crate) struct RecordExpiry {
    field: DataField,
    /// Records of this second stay, older ones go.
    first: i64,
}

impl RecordExpiry {
    /// Of a table, now; `None`: its rows do not expire.
    pub(crate) fn of(ctx: &TableContext) -> Result<Option<Self>> {
        let Some((field, age)) = record_time_field(&ctx.schema, &ctx.options)? else { return Ok(None) };
        let age = i64::try_from(age.as_secs()).unwrap_or(i64::MAX);
        Ok(Some(Self { field: field.clone(), first: (now_millis() / 1000).saturating_sub(age) }))
    }

    /// The column of the times.
    pub(crate) fn column(&self) -> &str {
        &self.field.name
    }

    /// What holds for records that stay.
    pub(crate) fn kept(&self) -> Predicate {
        let compare = |op, value| Predicate::Compare { column: self.field.name.clone(), op, value };
        let at_least = |value| compare(CompareOp::GtEq, value);
        let millis = self.first.saturating_mul(1000);
        let mut ways = vec![Predicate::IsNull(self.field.name.clone())];
        match self.field.data_type.kind {
            TypeKind::Int => ways.push(match i32::try_from(self.first) {
                Ok(first) => at_least(Datum::Int(first)),
                Err(_) => Predicate::Constant(self.first < 0),
            }),
            TypeKind::BigInt => {
                let seconds =
                    [at_least(Datum::BigInt(self.first)), compare(CompareOp::Lt, Datum::BigInt(FIRST_MILLIS))];
                ways.extend([Predicate::And(seconds.into()), at_least(Datum::BigInt(millis.max(FIRST_MILLIS)))]);
            }
            _ => {
                // seconds are cut towards 1970
                let millis = if self.first > 0 { millis } else { millis.saturating_sub(999) };
                ways.push(at_least(Datum::Timestamp { millis, nanos_of_milli: 0 }));
            }
        }
        Predicate::Or(ways)
    }

    /// Which rows stay.
    pub(crate) fn mask(&self, rows: &RecordBatch) -> Result<BooleanArray> {
        evaluate(&self.kept(), rows)
    }

    /// Whether the statistics of a file say that one of its records is too old.
    ///
    /// # Errors
    /// Those of reading the schema and the statistics of the file.
    pub(crate) fn has_expired_rows(&self, ctx: &TableContext, file: &DataFileMeta) -> Result<bool> {
        let schema = ctx.schemas.get(file.schema_id)?;
        let Some(stored) = schema.fields.iter().find(|field| field.id == self.field.id) else { return Ok(false) };
        let at = file.stats_columns(&schema).iter().position(|column| *column == stored.name);
        let reader = StatsReader::new(&file.value_stats)?;
        let Some(at) = at.filter(|at| *at < reader.columns()) else { return Ok(false) };
        Ok(seconds(&reader.column(at, &stored.data_type)?.min).is_some_and(|oldest| oldest < self.first))
    }
}

/// The second that a time is; `None` of what is none.
fn seconds(time: &Datum) -> Option<i64> {
    match time {
        Datum::TinyInt(v) => Some(i64::from(*v)),
        Datum::SmallInt(v) => Some(i64::from(*v)),
        Datum::Int(v) => Some(i64::from(*v)),
        Datum::BigInt(v) => Some(if *v >= FIRST_MILLIS { *v / 1000 } else { *v }),
        Datum::Timestamp { millis, .. } => Some(*millis / 1000),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int32Array, Int64Array, TimestampMillisecondArray};

    use super::*;
    use crate::types::DataType;

    fn kept(kind: TypeKind, first: i64, times: ArrayRef) -> Vec<bool> {
        let expiry = RecordExpiry { field: DataField::new(0, "t", DataType::new(kind)), first };
        let batch = RecordBatch::try_from_iter_with_nullable([("t", times, true)]).unwrap();
        let mask = expiry.mask(&batch).unwrap();
        assert_eq!(arrow_array::Array::null_count(&mask), 0);
        mask.values().iter().collect()
    }

    #[test]
    fn a_record_stays_until_its_second_is_over() {
        let ints = Int32Array::from(vec![Some(99), Some(100), None, Some(i32::MAX)]);
        assert_eq!(kept(TypeKind::Int, 100, Arc::new(ints)), [false, true, true, true]);
        let ints: ArrayRef = Arc::new(Int32Array::from(vec![Some(0), None]));
        assert_eq!(kept(TypeKind::Int, i64::MIN, ints.clone()), [true, true]);
        assert_eq!(kept(TypeKind::Int, 1 << 40, ints), [false, true]);
    }

    #[test]
    fn long_numbers_are_milliseconds() {
        let first = 1_500_000_000;
        let times =
            [Some(first), Some(first - 1), Some(first * 1000), Some(first * 1000 - 1), None, Some(FIRST_MILLIS)];
        let times = Int64Array::from(times.to_vec());
        assert_eq!(kept(TypeKind::BigInt, first, Arc::new(times)), [true, false, true, false, true, false]);
        let recent = Int64Array::from(vec![FIRST_MILLIS - 1, FIRST_MILLIS]);
        assert_eq!(kept(TypeKind::BigInt, 10, Arc::new(recent)), [true, true]);
    }

    #[test]
    fn moments_are_cut_to_seconds_towards_1970() {
        for first in [5, 0, -3] {
            let millis: Vec<i64> = (first * 1000 - 2100..first * 1000 + 2100).step_by(50).collect();
            let expected: Vec<bool> = millis.iter().map(|v| v / 1000 >= first).collect();
            let times = TimestampMillisecondArray::from(millis);
            assert_eq!(kept(TypeKind::Timestamp(3), first, Arc::new(times)), expected, "{first}");
        }
    }
}
