//! One file whose keys are looked at.
#![allow(clippy::indexing_slicing, reason = "blocks and candidates are numbered here")]

use std::{ops::Range, sync::Arc};

use arrow_array::{RecordBatch, UInt32Array, cast::AsArray, types::Int64Type};
use arrow_row::Rows;

use super::{
    cache::LookupCache,
    keys::{ByteBounds, KeyEncoder},
};
use crate::{
    Error, ErrorKind, Result,
    io::{FileReadSpec, OpenDataFile, TableContext, batch_bytes, joined_rows, taken_rows},
    limits,
    manifest::DataFileMeta,
};

/// An open file, its blocks and the bounds of their key columns.
pub(super) struct KeyFile {
    open: OpenDataFile,
    rows: Vec<Range<i64>>,
    bounds: Vec<Vec<ByteBounds>>,
}

/// Keys that are looked for, ascending.
pub(super) struct Wanted<'a> {
    /// whole keys
    pub(super) whole: &'a Rows,
    /// the columns of composite keys
    pub(super) columns: &'a [Rows],
    /// numbers of the keys that are still open, ascending
    pub(super) open: &'a [usize],
}

impl KeyFile {
    pub(super) fn open(
        ctx: &TableContext,
        partition: &[u8],
        bucket: i32,
        file: &DataFileMeta,
        keys: &KeyEncoder,
    ) -> Result<Self> {
        let open = OpenDataFile::open(ctx, partition, bucket, file)?;
        let blocks = open.blocks(ctx, &keys.fields)?;
        let (rows, bounds): (Vec<_>, Vec<_>) = blocks.into_iter().map(|b| (b.rows, b.bounds)).unzip();
        let bounds = keys.bounds(&bounds).map_err(|e| e.with("file", &file.file_name))?;
        Ok(Self { open, rows, bounds })
    }

    /// About how many bytes this takes.
    pub(super) fn bytes(&self) -> usize {
        let of = |b: &ByteBounds| b.0.as_ref().map_or(0, Vec::len) + b.1.as_ref().map_or(0, Vec::len) + 48;
        4096 + self.bounds.iter().flatten().map(of).sum::<usize>()
    }

    /// Which of the keys are in the file, and where: (number of the key, position), ascending.
    pub(super) fn find(
        &self,
        ctx: &TableContext,
        keys: &KeyEncoder,
        wanted: &Wanted<'_>,
        cache: &LookupCache,
        name: &str,
    ) -> Result<Vec<(usize, i64)>> {
        let mut hits = Vec::new();
        let mut missing: Vec<(usize, Range<usize>)> = Vec::new();
        for block in 0..self.rows.len() {
            let candidates = self.candidates(block, wanted);
            if candidates.is_empty() {
                continue;
            }
            match cache.block(name, block) {
                Some(rows) => join(wanted, candidates, &rows, |row| self.rows[block].start + offset(row), &mut hits),
                None => missing.push((block, candidates)),
            }
        }
        if !missing.is_empty() {
            self.find_on_disk(ctx, keys, wanted, &missing, cache, name, &mut hits)?;
        }
        hits.sort_unstable();
        Ok(hits)
    }

    /// The open keys (places in `wanted.open`) that may be in a block.
    fn candidates(&self, block: usize, wanted: &Wanted<'_>) -> Range<usize> {
        let Some(bounds) = self.bounds.get(block) else { return 0..wanted.open.len() };
        let first = wanted.columns.first().unwrap_or(wanted.whole);
        let Some((min, max)) = bounds.first() else { return 0..wanted.open.len() };
        let below = |key: &usize| min.as_ref().is_some_and(|min| first.row(*key).as_ref() < min.as_slice());
        let within = |key: &usize| max.as_ref().is_none_or(|max| first.row(*key).as_ref() <= max.as_slice());
        let start = wanted.open.partition_point(below);
        let end = start + wanted.open[start..].partition_point(within);
        let fits = |key: usize| {
            let mut columns = wanted.columns.iter().zip(bounds).skip(1);
            columns.all(|(rows, (min, max))| {
                let row = rows.row(key);
                min.as_ref().is_none_or(|min| row.as_ref() >= min.as_slice())
                    && max.as_ref().is_none_or(|max| row.as_ref() <= max.as_slice())
            })
        };
        if wanted.columns.len() > 1 && !wanted.open[start..end].iter().any(|&key| fits(key)) {
            return start..start;
        }
        start..end
    }

    #[allow(clippy::too_many_arguments, reason = "one call, of one method")]
    fn find_on_disk(
        &self,
        ctx: &TableContext,
        keys: &KeyEncoder,
        wanted: &Wanted<'_>,
        missing: &[(usize, Range<usize>)],
        cache: &LookupCache,
        name: &str,
        hits: &mut Vec<(usize, i64)>,
    ) -> Result<()> {
        let rows: usize = missing.iter().map(|(block, _)| length(&self.rows[*block])).sum();
        let asked: usize = missing.iter().map(|(_, candidates)| candidates.len()).sum();
        // a large batch goes through the file once: nothing of it is worth keeping
        let keep = asked < rows / 64;
        if keep {
            for (block, candidates) in missing {
                let range = &self.rows[*block];
                let read = self.keys_of(ctx, keys, std::slice::from_ref(range), length(range))?;
                let batches = read.map(|batch| Ok(split(&batch?)?.1)).collect::<Result<Vec<_>>>()?;
                let Some(first) = batches.first() else { continue };
                let rows = Arc::new(keys.whole(&joined_rows(&first.schema(), &batches)?)?);
                join(wanted, candidates.clone(), &rows, |row| range.start + offset(row), hits);
                cache.keep(name, *block, rows);
            }
            return Ok(());
        }
        let start = missing.iter().map(|(_, c)| c.start).min().unwrap_or(0);
        let end = missing.iter().map(|(_, c)| c.end).max().unwrap_or(0);
        let ranges: Vec<Range<i64>> = missing.iter().map(|(block, _)| self.rows[*block].clone()).collect();
        let mut from = start;
        for batch in self.keys_of(ctx, keys, &joined(ranges), FileReadSpec::DEFAULT_BATCH_ROWS)? {
            let (positions, batch) = split(&batch?)?;
            let rows = keys.whole(&batch)?;
            // keys rise, in the file as among the wanted
            let first = rows.row(0);
            from += wanted.open[from..end].partition_point(|&key| wanted.whole.row(key) < first);
            let last = rows.row(rows.num_rows() - 1);
            let to = from + wanted.open[from..end].partition_point(|&key| wanted.whole.row(key) <= last);
            join(wanted, from..to, &rows, |row| positions[row], hits);
            from = to;
        }
        Ok(())
    }

    /// The key columns of some rows, with positions behind.
    fn keys_of(
        &self,
        ctx: &TableContext,
        keys: &KeyEncoder,
        rows: &[Range<i64>],
        batch_rows: usize,
    ) -> Result<crate::io::BatchStream> {
        let spec = FileReadSpec {
            position: true,
            rows: Some(rows.to_vec()),
            batch_rows,
            ..FileReadSpec::new(keys.fields.clone())
        };
        self.open.read(ctx, &spec)
    }

    /// Whole records at these positions (ascending), as key-value batches in pieces. `held`: bytes of all that were found.
    pub(super) fn records(
        &self,
        ctx: &TableContext,
        spec: &FileReadSpec,
        positions: &[i64],
        held: &mut usize,
    ) -> Result<Vec<RecordBatch>> {
        /// Rows that are rather read and dropped than skipped.
        const GAP: i64 = 32;
        // a value that cannot be cast fails the read of its row, and of no other row
        let gap = if self.open.casts(ctx, spec)? { 1 } else { GAP };
        let mut ranges: Vec<Range<i64>> = Vec::new();
        for &position in positions {
            match ranges.last_mut() {
                Some(last) if position - last.end < gap => last.end = position + 1,
                _ => ranges.push(position..position + 1),
            }
        }
        let spec = FileReadSpec { position: true, rows: Some(ranges), ..spec.clone() };
        let (mut at, mut pieces) = (0, Vec::new());
        for batch in self.open.read(ctx, &spec)? {
            let (found, batch) = split(&batch?)?;
            let mut picked: Vec<u32> = Vec::new();
            for (row, position) in (0..).zip(found) {
                if positions.get(at) == Some(&position) {
                    picked.push(row);
                    at += 1;
                }
            }
            let piece = match picked.len() {
                0 => continue,
                all if all == batch.num_rows() => batch,
                _ => taken_rows(&batch, &UInt32Array::from(picked))?,
            };
            let bytes = batch_bytes(&piece);
            *held = held.saturating_add(bytes);
            // the next batch is to have room, too
            limits::ask_on_the_way(*held, bytes, "records that are looked up")?;
            pieces.push(piece);
        }
        if at < positions.len() {
            return Err(Error::new(ErrorKind::Internal, "a row that was found could not be read again"));
        }
        Ok(pieces)
    }
}

/// Looks for candidates among sorted keys; what is found goes to `hits`.
fn join(
    wanted: &Wanted<'_>,
    candidates: Range<usize>,
    rows: &Rows,
    position: impl Fn(usize) -> i64,
    hits: &mut Vec<(usize, i64)>,
) {
    let count = rows.num_rows();
    let mut at = 0;
    for &key in &wanted.open[candidates] {
        let bytes = wanted.whole.row(key);
        // doubling steps, then halving
        let mut width = 1;
        while at + width <= count && rows.row(at + width - 1) < bytes {
            at += width;
            width *= 2;
        }
        let mut high = (at + width).min(count);
        while at < high {
            let middle = usize::midpoint(at, high);
            if rows.row(middle) < bytes { at = middle + 1 } else { high = middle }
        }
        if at == count {
            return;
        }
        if rows.row(at) == bytes {
            hits.push((key, position(at)));
        }
    }
}

/// Positions, and the batch without them.
fn split(batch: &RecordBatch) -> Result<(Vec<i64>, RecordBatch)> {
    let width = batch.num_columns().saturating_sub(1);
    let positions = batch.columns().last().and_then(|c| c.as_primitive_opt::<Int64Type>());
    let positions = positions.ok_or_else(|| Error::new(ErrorKind::Internal, "no row positions"))?;
    let rest = batch.project(&(0..width).collect::<Vec<_>>())?;
    Ok((positions.values().to_vec(), rest))
}

/// Ranges that touch become one.
fn joined(ranges: Vec<Range<i64>>) -> Vec<Range<i64>> {
    let mut all: Vec<Range<i64>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match all.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => all.push(range),
        }
    }
    all
}

fn length(range: &Range<i64>) -> usize {
    usize::try_from(range.end - range.start).unwrap_or(0)
}

fn offset(row: usize) -> i64 {
    i64::try_from(row).unwrap_or(i64::MAX)
}
