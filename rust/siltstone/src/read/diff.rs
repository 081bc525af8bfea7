//! Two states of some files: what differs, and what a stream says when one replaces the other.
//!
//! Both states are merged by themselves; then one sorted pass over both pairs the rows of each key:
//!
//! ```text
//! key in       | row of the difference
//! after only   | the row
//! both         | the row after, when any column or add/retract differs
//! before only  | the row before as -D, when deletes are kept
//! ```
//!
//! Source: semantics f.6; `IncrementalDiffSplitRead`, `IncrementalChangelogReadProvider`, `ReverseReader`. Unlike Java
//! the rows of a key are told apart by the state they come from, not by their sequence numbers: an overwrite starts
//! those anew.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, Int8Array, RecordBatch, UInt32Array, cast::AsArray, types::Int8Type};
use arrow_select::take::take;

use super::rebatch::{Rebatched, rebatch};
use crate::{
    error::{Error, ErrorKind, Result},
    io::{BatchStream, KvLayout, TableContext},
    merge_tree::{
        MergeOptions, MergeReadOptions, merge,
        merge_function::{Choice, MergeFunction},
        read_merged,
    },
    row::RowKind,
    wire::Split,
};

/// Marks rows of the state before in `_VALUE_KIND`.
const BEFORE: i8 = 4;

/// Sorts two states into one stream without merging them.
#[derive(Debug)]
struct SideBySide;

impl MergeFunction for SideBySide {
    fn choice(&self) -> Choice {
        Choice::All
    }
}

/// The difference of `before_files` and `files`, as key-value batches of the layout, which has all columns.
pub(super) fn difference(
    ctx: &TableContext,
    split: &Split,
    layout: &KvLayout,
    before: MergeReadOptions,
    after: MergeReadOptions,
) -> Result<BatchStream> {
    let (partition, bucket) = (&split.bucket.partition, split.bucket.bucket);
    let merging = MergeOptions { batch_rows: after.batch_rows, threads: after.threads, ..MergeOptions::default() };
    let keep_deletes = !after.drop_deletes;
    let before = read_merged(ctx, partition, bucket, &split.before_files, layout, before)?;
    let after = read_merged(ctx, partition, bucket, &split.files, layout, after)?;
    let kind = layout.kind_index();
    let before: BatchStream = Box::new(before.map(move |batch| with_kinds(&batch?, kind, |k| k | BEFORE)));
    // the user's sequence fields do not decide which state is the later one
    let by_key = KvLayout { sequence: Vec::new(), ..layout.clone() };
    let rows = merge(vec![before, after], &by_key, Arc::new(SideBySide), merging)?;
    let difference = Difference { layout: by_key, keep_deletes };
    Ok(rebatch(rows, move |rows, more| difference.pair(&rows, more)))
}

/// What a stream says when `files` replace `before_files`: the old rows taken back, then the new ones.
pub(super) fn replaced(
    ctx: &TableContext,
    split: &Split,
    layout: &KvLayout,
    before: MergeReadOptions,
    after: MergeReadOptions,
) -> Result<BatchStream> {
    let (partition, bucket) = (&split.bucket.partition, split.bucket.bucket);
    let before = read_merged(ctx, partition, bucket, &split.before_files, layout, before)?;
    let kind = layout.kind_index();
    let back = before.map(move |batch| with_kinds(&batch?, kind, reversed));
    let after = read_merged(ctx, partition, bucket, &split.files, layout, after)?;
    Ok(Box::new(back.chain(after)))
}

/// +I and -D, -U and +U change places.
fn reversed(kind: i8) -> i8 {
    3 - kind
}

fn kinds_of(batch: &RecordBatch, kind: usize) -> Result<&Int8Array> {
    let column = batch.columns().get(kind).and_then(|c| c.as_primitive_opt::<Int8Type>());
    column.ok_or_else(|| Error::new(ErrorKind::Internal, "_VALUE_KIND is not an Int8 column"))
}

fn with_kinds(batch: &RecordBatch, kind: usize, change: impl Fn(i8) -> i8) -> Result<RecordBatch> {
    let kinds: Int8Array = kinds_of(batch, kind)?.unary(change);
    replace_column(batch, kind, Arc::new(kinds))
}

fn replace_column(batch: &RecordBatch, at: usize, column: ArrayRef) -> Result<RecordBatch> {
    let mut columns = batch.columns().to_vec();
    if let Some(old) = columns.get_mut(at) {
        *old = column;
    }
    Ok(RecordBatch::try_new(batch.schema(), columns)?)
}

/// Pairs the rows of each key.
struct Difference {
    layout: KvLayout,
    keep_deletes: bool,
}

impl Difference {
    /// The difference of some rows; a last row without a partner waits until the next batch shows its first key.
    fn pair(&self, rows: &RecordBatch, more: bool) -> Result<Rebatched> {
        let same_as_next = self.same_as_next(rows)?;
        let (mut singles, mut pairs, mut waiting) = (Vec::new(), Vec::new(), None);
        let mut at = 0;
        while at < rows.num_rows() {
            if same_as_next.get(at).copied().unwrap_or(false) {
                pairs.push((at, at + 1));
                at += 2;
            } else if at + 1 == rows.num_rows() && more {
                waiting = Some(rows.slice(at, 1));
                at += 1;
            } else {
                singles.push(at);
                at += 1;
            }
        }
        Ok((self.choose(rows, &singles, &pairs)?, waiting))
    }

    /// For each row but the last whether the next one has its key.
    fn same_as_next(&self, rows: &RecordBatch) -> Result<Vec<bool>> {
        let Some(last) = rows.num_rows().checked_sub(1).filter(|n| *n > 0) else {
            return Ok(Vec::new());
        };
        let mut same = vec![true; last];
        for column in self.layout.key.iter().filter_map(|k| rows.columns().get(*k)) {
            let equal = arrow_ord::cmp::not_distinct(&column.slice(0, last), &column.slice(1, last))?;
            for (one, equal) in same.iter_mut().zip(equal.iter()) {
                *one &= equal == Some(true);
            }
        }
        Ok(same)
    }

    fn choose(&self, rows: &RecordBatch, singles: &[usize], pairs: &[(usize, usize)]) -> Result<RecordBatch> {
        let kinds = kinds_of(rows, self.layout.kind_index())?.values().clone();
        let kind_of = |row: usize| kinds.get(row).copied().unwrap_or(0);
        let is_add = |kind: i8| kind & 1 == 0;
        let mut chosen: Vec<(usize, i8)> = Vec::new();
        for &row in singles {
            let kind = kind_of(row);
            if kind & BEFORE == 0 {
                chosen.push((row, kind));
            } else if self.keep_deletes && is_add(kind) {
                chosen.push((row, RowKind::Delete.to_byte()));
            }
        }
        let ordered: Vec<(usize, usize)> =
            pairs.iter().map(|&(a, b)| if kind_of(a) & BEFORE == 0 { (b, a) } else { (a, b) }).collect();
        let equal = self.equal_values(rows, &ordered)?;
        for (&(before, after), equal) in ordered.iter().zip(equal) {
            let kind = kind_of(after);
            if !equal || is_add(kind_of(before)) != is_add(kind) {
                chosen.push((after, kind));
            }
        }
        chosen.retain(|(_, kind)| self.keep_deletes || is_add(*kind));
        chosen.sort_unstable_by_key(|(row, _)| *row);
        let places = indices(chosen.iter().map(|(row, _)| *row))?;
        let columns: Vec<ArrayRef> =
            rows.columns().iter().map(|c| take(c, &places, None)).collect::<std::result::Result<_, _>>()?;
        let taken = RecordBatch::try_new(rows.schema(), columns)?;
        let kinds = Int8Array::from_iter_values(chosen.iter().map(|(_, kind)| *kind));
        replace_column(&taken, self.layout.kind_index(), Arc::new(kinds))
    }

    /// Whether the two rows of each pair have the same values in all columns.
    fn equal_values(&self, rows: &RecordBatch, pairs: &[(usize, usize)]) -> Result<Vec<bool>> {
        let mut equal = vec![true; pairs.len()];
        if pairs.is_empty() {
            return Ok(equal);
        }
        let left = indices(pairs.iter().map(|(before, _)| *before))?;
        let right = indices(pairs.iter().map(|(_, after)| *after))?;
        for (at, column) in rows.columns().iter().take(self.layout.fields.len()).enumerate() {
            if self.layout.key.contains(&at) {
                continue;
            }
            let (left, right) = (take(column, &left, None)?, take(column, &right, None)?);
            let same = if column.data_type().is_nested() {
                (0..pairs.len()).map(|i| Some(left.slice(i, 1) == right.slice(i, 1))).collect::<BooleanArray>()
            } else {
                arrow_ord::cmp::not_distinct(&left, &right)?
            };
            for (one, same) in equal.iter_mut().zip(same.iter()) {
                *one &= same == Some(true);
            }
        }
        Ok(equal)
    }
}

fn indices(rows: impl Iterator<Item = usize>) -> Result<UInt32Array> {
    let places: std::result::Result<Vec<u32>, _> = rows.map(u32::try_from).collect();
    places.map(UInt32Array::from).map_err(|e| Error::new(ErrorKind::Internal, "a batch is too long").caused_by(e))
}
