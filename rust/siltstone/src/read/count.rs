//! Counting rows, from metadata where that is exact.

use std::collections::{HashMap, HashSet};

use super::read_splits;
use crate::{
    error::{Error, ErrorKind, Result},
    io::{RowGroup, row_groups},
    scan::{
        ReadOptions, ReadRequest, ScanPlan,
        sections::{Section, sections_of},
    },
    wire::Split,
};

/// Number of rows of the plan's result. Without a condition, files that share no keys are counted by their metadata
/// (a retract row is a row less) and only the others are read, by their key columns.
pub fn count(plan: &ScanPlan, threads: usize) -> Result<u64> {
    let mut known = 0_u64;
    let mut to_read: Vec<Split> = Vec::new();
    for split in &plan.splits {
        let counted = if plan.read.filter.is_none() { count_changes(plan, split) } else { None };
        if let Some(rows) = counted {
            known = known.saturating_add(rows);
            continue;
        }
        if plan.read.filter.is_some() || split.is_streaming || plan.read.options.keep_deletes || is_compared(split) {
            to_read.push(split.clone());
            continue;
        }
        let (counted, rest) = count_split(plan, split)?;
        known = known.saturating_add(counted);
        to_read.extend(rest);
    }
    let limit = plan.read.options.limit.map_or(u64::MAX, |l| u64::try_from(l).unwrap_or(u64::MAX));
    if known >= limit || to_read.is_empty() {
        return Ok(known.min(limit));
    }
    let options = ReadOptions { sequence_number: false, limit: None, ..plan.read.options.clone() };
    let request = ReadRequest { fields: Vec::new(), options, ..plan.read.clone() };
    for batch in read_splits(&plan.ctx, &to_read, &request, threads)? {
        known = known.saturating_add(u64::try_from(batch?.num_rows()).unwrap_or(u64::MAX));
        if known >= limit {
            break;
        }
    }
    Ok(known.min(limit))
}

fn is_compared(split: &Split) -> bool {
    !split.before_files.is_empty()
}

/// Changes that metadata counts: all of them with their kinds, without kinds those that are no retracts.
fn count_changes(plan: &ScanPlan, split: &Split) -> Option<u64> {
    if !split.is_streaming || is_compared(split) {
        return None;
    }
    let all = plan.read.options.row_kind || plan.read.options.keep_deletes || plan.ctx.schema.primary_keys.is_empty();
    let mut rows = split
        .files
        .iter()
        .map(|f| if all { Some(f.row_count) } else { Some(f.row_count.saturating_sub(f.delete_row_count?)) });
    u64::try_from(rows.try_fold(0_i64, |sum, rows| Some(sum.saturating_add(rows?)))?).ok()
}

/// Rows that metadata counts, and what is left to read.
fn count_split(plan: &ScanPlan, split: &Split) -> Result<(u64, Option<Split>)> {
    let has_key = !plan.ctx.schema.primary_keys.is_empty();
    if plan.ctx.options.data_evolution_enabled {
        let groups = row_groups(&plan.ctx, split.files.clone())?;
        let rows = crate::limits::sum(groups.iter().map(RowGroup::rows));
        return Ok((positive(split, rows)?, None));
    }
    // a row that a vector deletes may be a retract
    let exact: HashMap<&str, i64> = split
        .files
        .iter()
        .enumerate()
        .filter_map(|(i, file)| {
            let left = split.rows_left(i)?;
            match file.delete_row_count {
                _ if !has_key => Some((file.file_name.as_str(), left)),
                Some(retracts) if retracts == 0 || split.deletion_file(i).is_none() => {
                    Some((file.file_name.as_str(), left.saturating_sub(retracts)))
                }
                _ => None,
            }
        })
        .collect();
    let counted: HashSet<&str> = if !has_key || split.raw_convertible {
        exact.keys().copied().collect()
    } else {
        let sections = sections_of(&plan.ctx, &split.files)?;
        let plain = sections.iter().filter(|section| section.needs_no_merge());
        let names: HashSet<String> = plain.flat_map(Section::files).map(|file| file.file_name.clone()).collect();
        exact.keys().copied().filter(|name| names.contains(*name)).collect()
    };
    let rows = counted.iter().filter_map(|name| exact.get(name)).fold(0_i64, |sum, rows| sum.saturating_add(*rows));
    let rest = split.with_files(|file| !counted.contains(file.file_name.as_str()));
    Ok((positive(split, rows)?, (!rest.files.is_empty()).then_some(rest)))
}

fn positive(split: &Split, rows: i64) -> Result<u64> {
    u64::try_from(rows).map_err(|_| {
        let file = split.files.first().map_or("", |f| f.file_name.as_str());
        Error::new(ErrorKind::CorruptFile, "the metadata of data files counts a negative number of rows")
            .with("file", file)
    })
}
