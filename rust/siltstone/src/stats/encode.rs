//! `SimpleStats` to and from column statistics.
//!
//! ```text
//! _MIN_VALUES   serialized BinaryRow, one field per column; null = unknown
//! _MAX_VALUES   the same
//! _NULL_COUNTS  one long per column; null = unknown
//! no columns    twelve zero bytes twice and an empty array
//! ```

use std::collections::HashMap;

use super::{ColumnStats, SimpleStats, StatsFields};
use crate::{
    error::{Error, ErrorKind, Result},
    row::{BinaryRow, Datum, Room},
    types::DataType,
};

/// One statistics column per type, unknown ones as null.
pub fn encode_stats(types: &[DataType], stats: &[ColumnStats]) -> Result<SimpleStats> {
    if types.len() != stats.len() {
        let message = format!("statistics of {} columns for {} types", stats.len(), types.len());
        return Err(Error::new(ErrorKind::Internal, message));
    }
    let row = |bound: fn(&ColumnStats) -> &Datum| -> Result<Vec<u8>> {
        let values: Vec<Datum> = stats.iter().map(|s| bound(s).clone()).collect();
        Ok(BinaryRow::from_datums(types, &values)?.to_serialized())
    };
    Ok(StatsFields {
        min_values: row(|s| &s.min)?,
        max_values: row(|s| &s.max)?,
        null_counts: stats.iter().map(|s| s.null_count).collect(),
    }
    .into())
}

/// One statistics column per type. Statistics of no column at all (`SimpleStats::empty`) decode as unknown.
pub fn decode_stats(stats: &SimpleStats, types: &[DataType]) -> Result<Vec<ColumnStats>> {
    let reader = StatsReader::new(stats)?;
    if reader.columns() != types.len() && reader.columns() != 0 {
        return Err(wrong_count(types.len(), reader.columns()));
    }
    let mut reader = reader.once();
    types.iter().enumerate().map(|(i, t)| reader.column(i, t)).collect()
}

/// The statistics of all of `names`, when `stats` holds the columns `stats_cols` (`None` = all of `names`).
/// The result has one entry per name; columns left out are unknown.
pub fn decode_stats_for(
    stats: &SimpleStats,
    stats_cols: Option<&[String]>,
    names: &[&str],
    types: &[DataType],
) -> Result<Vec<ColumnStats>> {
    let Some(stored) = stats_cols else {
        return decode_stats(stats, types);
    };
    let reader = StatsReader::new(stats)?;
    if reader.columns() != stored.len() {
        return Err(wrong_count(stored.len(), reader.columns()));
    }
    let places: HashMap<&str, usize> = stored.iter().map(String::as_str).zip(0..).collect();
    let mut reader = reader.once();
    let column = |(name, t): (&&str, &DataType)| match places.get(name) {
        Some(i) => reader.column(*i, t),
        None => Ok(ColumnStats::unknown()),
    };
    names.iter().zip(types).map(column).collect()
}

/// The dense form (`metadata.stats-dense-store`): unknown columns left out, and the names of those kept
/// (`_VALUE_STATS_COLS`; `None` when all are).
pub fn dense(names: &[&str], types: &[DataType], stats: &[ColumnStats]) -> Result<(SimpleStats, Option<Vec<String>>)> {
    if stats.iter().all(|s| !s.is_unknown()) {
        return Ok((encode_stats(types, stats)?, None));
    }
    let (mut kept_names, mut kept_types, mut kept_stats) = (Vec::new(), Vec::new(), Vec::new());
    for ((name, t), s) in names.iter().zip(types).zip(stats).filter(|(_, s)| !s.is_unknown()) {
        kept_names.push((*name).to_owned());
        kept_types.push(t.clone());
        kept_stats.push(s.clone());
    }
    Ok((encode_stats(&kept_types, &kept_stats)?, Some(kept_names)))
}

/// Statistics of single columns, decoded when asked for: pruning looks at a few columns of many files.
#[derive(Clone, Debug)]
pub struct StatsReader<'a> {
    min: BinaryRow,
    max: BinaryRow,
    null_counts: &'a [Option<i64>],
}

impl<'a> StatsReader<'a> {
    /// Fails when the two rows differ in their number of columns.
    pub fn new(stats: &'a SimpleStats) -> Result<Self> {
        let min = BinaryRow::from_serialized(&stats.min_values)?;
        let max = BinaryRow::from_serialized(&stats.max_values)?;
        if min.arity() != max.arity() {
            return Err(wrong_count(min.arity(), max.arity()));
        }
        Ok(Self { min, max, null_counts: &stats.null_counts })
    }

    /// To read many columns, each of them once.
    pub fn once(self) -> ColumnsOnce<'a> {
        let (min, max) = (Room::of(self.min.as_bytes().len()), Room::of(self.max.as_bytes().len()));
        ColumnsOnce { reader: self, min, max }
    }

    /// Number of columns with statistics.
    pub fn columns(&self) -> usize {
        self.min.arity()
    }

    /// Column `i`; beyond the last one everything is unknown, and so are null counts that are missing.
    pub fn column(&self, i: usize, data_type: &DataType) -> Result<ColumnStats> {
        if i >= self.columns() {
            return Ok(ColumnStats::unknown());
        }
        Ok(ColumnStats {
            min: self.min.get(i, data_type)?,
            max: self.max.get(i, data_type)?,
            null_count: self.null_counts.get(i).copied().flatten(),
        })
    }
}

/// Statistics of many columns, which are no larger together than the rows that they are in.
#[derive(Debug)]
pub struct ColumnsOnce<'a> {
    reader: StatsReader<'a>,
    min: Room,
    max: Room,
}

impl ColumnsOnce<'_> {
    /// Number of columns with statistics.
    pub fn columns(&self) -> usize {
        self.reader.columns()
    }

    /// As [`StatsReader::column`], of a column that was not asked for before.
    pub fn column(&mut self, i: usize, data_type: &DataType) -> Result<ColumnStats> {
        let stats = self.reader.column(i, data_type)?;
        Ok(ColumnStats { min: self.min.hold(stats.min)?, max: self.max.hold(stats.max)?, ..stats })
    }
}

fn wrong_count(expected: usize, found: usize) -> Error {
    Error::corrupt("column statistics", 0, format!("{expected} columns"), format!("{found} columns"))
}
