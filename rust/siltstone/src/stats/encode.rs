//! `SimpleStats` to and from column statistics.

use super::{ColumnStats, SimpleStats};
use crate::{
    error::{Error, ErrorKind, Result},
    types::DataType,
};

/// One statistics column per type, unknown ones as null.
pub fn encode_stats(_types: &[DataType], _stats: &[ColumnStats]) -> Result<SimpleStats> {
    Err(Error::new(ErrorKind::Internal, "not yet"))
}

/// One statistics column per type. Statistics of no column at all (`SimpleStats::empty`) decode as unknown.
pub fn decode_stats(_stats: &SimpleStats, _types: &[DataType]) -> Result<Vec<ColumnStats>> {
    Err(Error::new(ErrorKind::Internal, "not yet"))
}

/// The statistics of some of `names`, when `stats` holds the columns `stats_cols` (`None` = all of `names`).
/// The result has one entry per name; columns left out are unknown.
pub fn decode_stats_for(
    _stats: &SimpleStats,
    _stats_cols: Option<&[String]>,
    _names: &[&str],
    _types: &[DataType],
) -> Result<Vec<ColumnStats>> {
    Err(Error::new(ErrorKind::Internal, "not yet"))
}

/// The dense form (`metadata.stats-dense-store`): unknown columns left out, and the names of those kept
/// (`_VALUE_STATS_COLS`; `None` when all are).
pub fn dense(
    _names: &[&str],
    _types: &[DataType],
    _stats: &[ColumnStats],
) -> Result<(SimpleStats, Option<Vec<String>>)> {
    Err(Error::new(ErrorKind::Internal, "not yet"))
}
