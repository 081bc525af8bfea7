//! Rows of a section that no other run touches: they come into the new file as they are encoded.
//!
//! ```text
//! keys          ────────────────────────────────────────────►
//! other runs                      ▄▄▄  ▄
//! largest run   ████████████████████████████████████████████    in blocks that begin with a page of every column
//!               └─ untouched ──┘└merged─┘└─── untouched ───┘
//! ```
//!
//! The merge leaves them out, and its rows are cut where they belong.

use std::{
    cmp::Ordering,
    collections::{HashMap, VecDeque},
    ops::Range,
};

use arrow_array::RecordBatch;

use crate::{
    Result,
    deletion_vectors::DeletionMap,
    error::{Error, ErrorKind},
    format::EncodedRows,
    io::{BatchStream, FileReadSpec, OpenDataFile, RollingWriter, TableContext},
    manifest::DataFileMeta,
    merge_tree::{SortedRun, merge::read_ahead},
    row::{BinaryRow, Datum, compare_datums, datum_from_array},
    types::DataType,
};

const MIB: u64 = 1 << 20;
/// Rows of fewer bytes are not worth a row group of their own.
const LEAST: u64 = 4 * MIB;
/// Bytes that become one row group: as many as Java gives one, but no more than a file is to have.
const MOST: u64 = 128 * MIB;
/// Dictionaries come with each row group: they may be this part of what is copied.
const DICTIONARIES: u64 = 4;
/// So many rows of the other runs are few enough to look at each key.
const EACH_KEY: i64 = 1 << 16;
/// So many keys are looked at for each stretch of a file, to see whether all of it is touched.
const KEYS_OF_STRETCH: usize = 16;
/// How many times fewer rows the other runs must have for their keys to be looked at.
const FEWER: i64 = 8;

/// A key, and the bytes that the manifest has of it.
#[derive(Clone, Debug)]
struct Key {
    values: Vec<Datum>,
    bytes: Vec<u8>,
}

impl Key {
    fn of(bytes: &[u8], types: &[DataType]) -> Result<Self> {
        Ok(Self { values: BinaryRow::from_serialized(bytes)?.datums(types)?, bytes: bytes.to_vec() })
    }

    fn compare(&self, other: &Self) -> Ordering {
        let columns = self.values.iter().zip(&other.values).map(|(a, b)| compare_datums(a, b));
        columns.fold(Ordering::Equal, Ordering::then)
    }
}

/// Batches of system columns that are decoded ahead: of a million rows.
const AHEAD: usize = 128;

/// The first and the last key of some rows.
type Ends = (Key, Key);

/// Rows of a file that are copied.
#[derive(Debug)]
struct Copy {
    file: OpenDataFile,
    rows: Range<i64>,
    ends: Ends,
}

/// Rows that are copied, in the order of their keys.
#[derive(Debug, Default)]
pub(super) struct Untouched {
    copies: VecDeque<Copy>,
    key_types: Vec<DataType>,
}

impl Untouched {
    /// Their numbers, by data file.
    pub(super) fn by_file(&self) -> HashMap<String, Vec<Range<i64>>> {
        let mut found: HashMap<String, Vec<Range<i64>>> = HashMap::new();
        for Copy { file, rows, .. } in &self.copies {
            found.entry(file.meta().file_name.clone()).or_default().push(rows.clone());
        }
        found
    }

    /// Writes what has been merged of the others, and these rows where they belong.
    /// With `ahead` the next of them are looked at on another thread.
    pub(super) fn write_among(mut self, merged: BatchStream, writer: &mut RollingWriter, ahead: bool) -> Result<()> {
        let mut system = self.system_of_next(writer, ahead)?;
        for batch in merged {
            let mut batch = batch?;
            while let Some(next) = self.copies.front() {
                let before = self.rows_before(&batch, writer, &next.ends.0)?;
                if before == batch.num_rows() {
                    break;
                }
                writer.write(&batch.slice(0, before))?;
                batch = batch.slice(before, batch.num_rows() - before);
                system = self.copy_next(writer, system, ahead)?;
            }
            writer.write(&batch)?;
        }
        while !self.copies.is_empty() {
            system = self.copy_next(writer, system, ahead)?;
        }
        Ok(())
    }

    /// Copies rows with these system columns; those of the next.
    fn copy_next(
        &mut self,
        writer: &mut RollingWriter,
        system: Option<BatchStream>,
        ahead: bool,
    ) -> Result<Option<BatchStream>> {
        let (Some(Copy { file, rows, ends: (first, last) }), Some(system)) = (self.copies.pop_front(), system) else {
            return Ok(None);
        };
        let next = self.system_of_next(writer, ahead)?;
        writer.copy(&file, &rows, (&first.bytes, &last.bytes), system)?;
        Ok(next)
    }

    fn system_of_next(&self, writer: &RollingWriter, ahead: bool) -> Result<Option<BatchStream>> {
        let Some(Copy { file, rows, .. }) = self.copies.front() else { return Ok(None) };
        let system = writer.system_columns(file, rows)?;
        Ok(Some(if ahead { read_ahead(system, AHEAD) } else { system }))
    }

    /// How many rows of a batch, which is sorted, have smaller keys.
    fn rows_before(&self, batch: &RecordBatch, writer: &RollingWriter, key: &Key) -> Result<usize> {
        let is_before = |row: usize| -> Result<bool> {
            Ok(Key::of(&writer.key_of(batch, row)?, &self.key_types)?.compare(key).is_lt())
        };
        let (mut low, mut high) = (0, batch.num_rows());
        if high > 0 && is_before(high - 1)? {
            return Ok(high);
        }
        while low < high {
            let middle = low + (high - low) / 2;
            if is_before(middle)? {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }
}

/// Looks for such rows.
pub(super) struct Finder<'a> {
    pub(super) ctx: &'a TableContext,
    pub(super) partition: &'a [u8],
    pub(super) bucket: i32,
    pub(super) key_types: &'a [DataType],
    pub(super) deletions: &'a DeletionMap,
    pub(super) writer: &'a RollingWriter,
    pub(super) memory: Option<usize>,
}

impl Finder<'_> {
    /// Those of sections that come one after another in the order of their keys.
    pub(super) fn among(&self, sections: &[Vec<SortedRun>]) -> Result<Untouched> {
        let mut found = Untouched { copies: VecDeque::new(), key_types: self.key_types.to_vec() };
        for section in sections.iter().filter(|section| section.len() > 1) {
            let largest = section.iter().enumerate().max_by_key(|(_, run)| run.total_size()).map(|(at, _)| at);
            let others = section.iter().enumerate().filter(|(at, _)| Some(*at) != largest);
            let others: Vec<&DataFileMeta> = others.flat_map(|(_, run)| &run.files).collect();
            let files = largest.and_then(|at| section.get(at)).map(|run| run.files.as_slice()).unwrap_or_default();
            for file in files.iter().filter(|file| self.may_have_some(file)) {
                found.copies.extend(self.of_file(file, &others)?);
            }
        }
        Ok(found)
    }

    /// The least bytes that are copied at once, and the most.
    fn bytes(&self) -> (u64, u64) {
        let target = self.ctx.options.target_file_size(true);
        let least = LEAST.min(target / 8);
        let memory = self.memory.map_or(u64::MAX, |memory| u64::try_from(memory).unwrap_or(u64::MAX) / 4);
        (least, MOST.min(target).min(memory).max(least))
    }

    /// A file of which nothing has to be dropped.
    fn may_have_some(&self, file: &DataFileMeta) -> bool {
        let large = u64::try_from(file.file_size).is_ok_and(|size| size >= self.bytes().0.max(1));
        large && file.delete_row_count == Some(0) && !self.deletions.contains_key(&file.file_name)
    }

    fn of_file(&self, file: &DataFileMeta, others: &[&DataFileMeta]) -> Result<Vec<Copy>> {
        let whole = self.ends_in_manifest(file)?;
        let mut near = Vec::new();
        for other in others {
            let ends = self.ends_in_manifest(other)?;
            if ends.0.compare(&whole.1).is_le() && ends.1.compare(&whole.0).is_ge() {
                near.push((*other, ends));
            }
        }
        let rows_of_others = near.iter().map(|(other, _)| other.row_count).fold(0, i64::saturating_add);
        let few = rows_of_others.saturating_mul(FEWER) <= file.row_count;
        let covers = |ends: &Ends| ends.0.compare(&whole.0).is_le() && ends.1.compare(&whole.1).is_ge();
        if !few && near.iter().any(|(_, ends)| covers(ends)) {
            return Ok(Vec::new());
        }
        let Some((opened, blocks)) = self.opened(file)? else { return Ok(Vec::new()) };
        if few && self.is_touched_all_over(&opened, &blocks, &near)? {
            return Ok(Vec::new());
        }
        let mut taken = Vec::new();
        for (other, ends) in near {
            match if few { self.keys_of(other, rows_of_others)? } else { None } {
                Some(keys) => taken.extend(keys),
                None => taken.push(ends),
            }
        }
        let taken = joined(taken);
        let ends = self.ends_of(&opened, &blocks)?;
        let is_free = |ends: &Ends| {
            let next = taken.partition_point(|(_, last)| last.compare(&ends.0).is_lt());
            taken.get(next).is_none_or(|(first, _)| first.compare(&ends.1).is_gt())
        };
        let free = blocks.into_iter().zip(ends).filter(|(_, ends)| is_free(ends));
        let (least, most) = self.bytes();
        let parts = parts(free.collect(), least, most);
        Ok(parts.into_iter().map(|(rows, ends)| Copy { file: opened.clone(), rows, ends }).collect())
    }

    fn ends_in_manifest(&self, file: &DataFileMeta) -> Result<Ends> {
        Ok((Key::of(&file.min_key, self.key_types)?, Key::of(&file.max_key, self.key_types)?))
    }

    /// The file and its blocks, where its rows can be copied.
    fn opened(&self, file: &DataFileMeta) -> Result<Option<(OpenDataFile, Vec<EncodedRows>)>> {
        let opened = OpenDataFile::open(self.ctx, self.partition, self.bucket, file)?;
        let blocks = self.writer.copyable(&opened)?;
        Ok(blocks.map(|blocks| (opened, blocks)))
    }

    /// Whether some keys of the largest of the others already say that no part worth copying is free: each such part has a whole
    /// stretch in it.
    fn is_touched_all_over(
        &self,
        file: &OpenDataFile,
        blocks: &[EncodedRows],
        others: &[(&DataFileMeta, Ends)],
    ) -> Result<bool> {
        let Some((other, _)) = others.iter().max_by_key(|(other, _)| other.row_count) else { return Ok(false) };
        let stretches = stretches(blocks, self.bytes().0 / 2);
        let looked_at = stretches.len().saturating_mul(KEYS_OF_STRETCH);
        let step = usize::try_from(other.row_count).unwrap_or(0) / looked_at.max(1);
        if step == 0 {
            return Ok(false);
        }
        let opened = OpenDataFile::open(self.ctx, self.partition, self.bucket, other)?;
        let keys = self.keys(&opened, None, step)?;
        let is_touched = |(first, last): &Ends| {
            let next = keys.partition_point(|key| key.compare(first).is_lt());
            keys.get(next).is_some_and(|key| key.compare(last).is_le())
        };
        Ok(self.ends_of(file, &stretches)?.iter().all(is_touched))
    }

    /// Where a file has keys: each of them where there are few, else the ends of its blocks.
    fn keys_of(&self, file: &DataFileMeta, of_all: i64) -> Result<Option<Vec<Ends>>> {
        if of_all > EACH_KEY {
            return self.opened(file)?.map(|(file, blocks)| self.ends_of(&file, &blocks)).transpose();
        }
        let file = OpenDataFile::open(self.ctx, self.partition, self.bucket, file)?;
        Ok(Some(self.keys(&file, None, 1)?.into_iter().map(|key| (key.clone(), key)).collect()))
    }

    /// The first and the last key of each block.
    fn ends_of(&self, file: &OpenDataFile, blocks: &[EncodedRows]) -> Result<Vec<Ends>> {
        let first = |rows: &Range<i64>| rows.start..rows.start.saturating_add(1);
        let last = |rows: &Range<i64>| rows.end.saturating_sub(1).max(rows.start.saturating_add(1))..rows.end;
        let wanted = blocks.iter().flat_map(|block| [first(&block.rows), last(&block.rows)]);
        let wanted: Vec<Range<i64>> = wanted.filter(|rows| !rows.is_empty()).collect();
        let mut keys = self.keys(file, Some(wanted), 1)?.into_iter();
        let of_block = |block: &EncodedRows| {
            let first = keys.next()?;
            let last = if block.rows.end - block.rows.start > 1 { keys.next()? } else { first.clone() };
            Some((first, last))
        };
        let ends: Option<Vec<Ends>> = blocks.iter().map(of_block).collect();
        ends.ok_or_else(|| {
            Error::new(ErrorKind::Internal, "a file has fewer rows than were asked for")
                .with("file", &file.meta().file_name)
        })
    }

    /// The keys of some rows of a file, in their order; of all: `None`. Of `step` rows it is the first.
    fn keys(&self, file: &OpenDataFile, rows: Option<Vec<Range<i64>>>, step: usize) -> Result<Vec<Key>> {
        let fields = self.ctx.schema.key_fields().into_iter().cloned().collect();
        let mut keys = Vec::new();
        let mut next = 0;
        for batch in file.read(self.ctx, &FileReadSpec { rows, ..FileReadSpec::new(fields) })? {
            let batch = batch?;
            for row in (next..batch.num_rows()).step_by(step) {
                keys.push(self.key(&batch, row)?);
                next = row + step;
            }
            next -= batch.num_rows();
        }
        Ok(keys)
    }

    fn key(&self, batch: &RecordBatch, row: usize) -> Result<Key> {
        let columns = batch.columns().iter().zip(self.key_types);
        let values =
            columns.map(|(column, t)| datum_from_array(column.as_ref(), row, t)).collect::<Result<Vec<_>>>()?;
        let bytes = BinaryRow::from_datums(self.key_types, &values)?.to_serialized();
        Ok(Key { values, bytes })
    }
}

/// Ascending, and none reaches into another.
fn joined(mut ends: Vec<Ends>) -> Vec<Ends> {
    ends.sort_by(|a, b| a.0.compare(&b.0));
    let mut found: Vec<Ends> = Vec::new();
    for (first, last) in ends {
        match found.last_mut().filter(|before| before.1.compare(&first).is_ge()) {
            Some(before) if before.1.compare(&last).is_lt() => before.1 = last,
            Some(_) => {}
            None => found.push((first, last)),
        }
    }
    found
}

/// Neighbours of one row group together, as long as they have no more than so many bytes.
fn stretches(blocks: &[EncodedRows], most: u64) -> Vec<EncodedRows> {
    let mut found: Vec<EncodedRows> = Vec::new();
    for block in blocks {
        match found.last_mut().filter(|last| last.group == block.group && last.bytes + block.bytes <= most) {
            Some(last) => {
                last.rows.end = block.rows.end;
                last.bytes += block.bytes;
            }
            None => found.push(block.clone()),
        }
    }
    found
}

/// Neighbours of one row group together, in parts that are worth copying.
fn parts(blocks: Vec<(EncodedRows, Ends)>, least: u64, most: u64) -> Vec<(Range<i64>, Ends)> {
    let mut found: Vec<(EncodedRows, Ends)> = Vec::new();
    for (block, ends) in blocks {
        let next = |last: &&mut (EncodedRows, Ends)| {
            last.0.group == block.group && last.0.rows.end == block.rows.start && last.0.bytes + block.bytes <= most
        };
        match found.last_mut().filter(next) {
            Some((last, (_, end))) => {
                last.rows.end = block.rows.end;
                last.bytes += block.bytes;
                *end = ends.1;
            }
            None => found.push((block, ends)),
        }
    }
    let worth =
        |rows: &EncodedRows| rows.bytes >= least && rows.dictionaries.saturating_mul(DICTIONARIES) <= rows.bytes;
    found.into_iter().filter(|(rows, _)| worth(rows)).map(|(rows, ends)| (rows.rows, ends)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::TypeKind;

    fn key(number: i32) -> Key {
        let types = [DataType::not_null(TypeKind::Int)];
        let bytes = BinaryRow::from_datums(&types, &[Datum::Int(number)]).unwrap().to_serialized();
        Key::of(&bytes, &types).unwrap()
    }

    fn numbers(ends: &[Ends]) -> Vec<(i32, i32)> {
        let number = |key: &Key| match key.values.as_slice() {
            [Datum::Int(number)] => *number,
            other => panic!("{other:?}"),
        };
        ends.iter().map(|(first, last)| (number(first), number(last))).collect()
    }

    #[test]
    fn ranges_of_keys_that_meet_are_one() {
        let ends = |pairs: &[(i32, i32)]| pairs.iter().map(|(a, b)| (key(*a), key(*b))).collect::<Vec<Ends>>();
        assert_eq!(
            numbers(&joined(ends(&[(9, 12), (-3, 0), (1, 4), (2, 3), (4, 6), (7, 7)]))),
            [(-3, 0), (1, 6), (7, 7), (9, 12)]
        );
        assert!(joined(Vec::new()).is_empty());
    }

    /// Blocks of ten rows; which row group they are of, and their bytes.
    fn blocks(of: &[(usize, u64)]) -> Vec<(EncodedRows, Ends)> {
        let block = |(at, (group, bytes)): (i32, &(usize, u64))| {
            let rows = i64::from(at) * 10..i64::from(at) * 10 + 10;
            let ends = (key(at * 10), key(at * 10 + 9));
            (EncodedRows { rows, group: *group, bytes: *bytes, dictionaries: 5 }, ends)
        };
        (0..).zip(of).map(block).collect()
    }

    #[test]
    fn stretches_are_of_one_row_group_and_of_so_many_bytes() {
        let all: Vec<EncodedRows> =
            blocks(&[(0, 20), (0, 20), (0, 1), (1, 90), (1, 5), (2, 10)]).into_iter().map(|(block, _)| block).collect();
        let found: Vec<Range<i64>> = stretches(&all, 40).into_iter().map(|stretch| stretch.rows).collect();
        assert_eq!(found, vec![0..20, 20..30, 30..40, 40..50, 50..60]);
    }

    #[test]
    fn neighbours_of_a_row_group_are_copied_together_where_they_are_large_enough() {
        let of = |blocks, least, most| -> Vec<(i64, i64, (i32, i32))> {
            let found = parts(blocks, least, most).into_iter();
            found.map(|(rows, ends)| (rows.start, rows.end, numbers(&[ends])[0])).collect()
        };
        let all = blocks(&[(0, 20), (0, 20), (1, 20), (1, 5), (2, 10)]);
        assert_eq!(of(all.clone(), 20, 100), [(0, 20, (0, 19)), (20, 40, (20, 39))]);
        // no more than so many bytes, if a block has not more
        assert_eq!(of(all.clone(), 20, 30), [(0, 10, (0, 9)), (10, 20, (10, 19)), (20, 40, (20, 39))]);
        // the one in the middle is not free
        let some: Vec<_> = all.iter().take(3).filter(|(block, _)| block.rows.start != 10).cloned().collect();
        assert_eq!(of(some, 20, 100), [(0, 10, (0, 9)), (20, 30, (20, 29))]);
        // dictionaries would come again with each
        assert_eq!(of(blocks(&[(0, 19)]), 0, 100), []);
        assert_eq!(of(blocks(&[(0, 20)]), 0, 100), [(0, 10, (0, 9))]);
    }
}
