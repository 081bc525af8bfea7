//! Rows, part one: each data and changelog file is read once, under the schema that it was written with, and compared
//! with what its manifest entry says.

use std::collections::{BTreeMap, HashSet};

use arrow_array::types::{Float32Type, Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef, RecordBatch, cast::AsArray, types::Int8Type};
use arrow_row::{OwnedRow, Rows};
use rayon::prelude::*;

use super::{Check, RESTORE};
use crate::{
    cancel,
    error::{Error, ErrorKind, Result},
    io::{FileReadSpec, KvLayout, TableContext, read_data_file},
    manifest::{DataFileMeta, EntryKind, ManifestEntry, ManifestStore},
    merge_tree::merge::key::RowColumns,
    operation::scan::{EntryFilter, live_entries},
    predicate::{CompareOp, Predicate, evaluate},
    row::{BinaryRow, Datum, RowKind, compare_rows, datum_from_array, datum_to_text},
    snapshot::{ChangelogManager, Snapshot},
    stats::{ColumnStats, StatsReader},
    threads::in_pool,
    types::{DataField, DataType},
};

const REWRITE: &str = "compact the bucket fully: rows are written anew with what is true of them";
const WIDER: &str = "nothing: readers skip a little less than they could";

/// A file that is read.
struct DataFile<'a> {
    ctx: &'a TableContext,
    place: String,
    entry: ManifestEntry,
    changelog: bool,
}

/// What is wrong with a file: code, words, repair; a warning when `mild`.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) code: &'static str,
    pub(super) message: String,
    pub(super) repair: &'static str,
    pub(super) mild: bool,
}

impl Check<'_> {
    /// Reads all files that these versions and the changelogs of the branches name.
    pub(super) fn data_files(
        &mut self,
        versions: &[(TableContext, Snapshot)],
        branches: &[TableContext],
    ) -> Result<()> {
        let mut known: HashSet<(String, Vec<u8>, i32)> = HashSet::new();
        let mut files: Vec<DataFile<'_>> = Vec::new();
        let mut add = |ctx, place: &str, entries: Vec<ManifestEntry>, changelog| {
            for entry in entries.into_iter().filter(|entry| entry.kind == EntryKind::Add) {
                if known.insert((entry.file.file_name.clone(), entry.partition.clone(), entry.bucket)) {
                    files.push(DataFile { ctx, place: place.to_owned(), entry, changelog });
                }
            }
        };
        // what cannot be listed is a finding already
        for (ctx, version) in versions {
            cancel::check()?;
            let place = format!("{}/snapshot-{}", ctx.branch, version.id);
            add(ctx, &place, live_entries(ctx, version, &EntryFilter::default()).unwrap_or_default(), false);
            add(ctx, &place, listed(ctx, &version.delta_manifest_list).unwrap_or_default(), false);
            if let Some(list) = &version.changelog_manifest_list {
                add(ctx, &place, listed(ctx, list).unwrap_or_default(), true);
            }
        }
        for ctx in branches {
            let changelogs = ChangelogManager::new(ctx.fs.clone(), &ctx.paths.branch_root(&ctx.branch));
            for id in changelogs.ids()? {
                let place = format!("{}/changelog-{id}", ctx.branch);
                let Ok(changelog) = changelogs.get(id) else { continue };
                match &changelog.changelog_manifest_list {
                    Some(list) => add(ctx, &place, listed(ctx, list).unwrap_or_default(), true),
                    None => add(ctx, &place, listed(ctx, &changelog.delta_manifest_list).unwrap_or_default(), false),
                }
            }
        }
        self.verdict.count("data files read", files.len());
        let faults = cancel::carried(|file: &DataFile<'_>| Ok((file.place.clone(), file.faults()?)));
        let all = || files.par_iter().map(faults).collect::<Result<_>>();
        let found: Vec<(String, Vec<Fault>)> = in_pool(all)?;
        for (place, faults) in found {
            for fault in faults {
                self.fault(&place, fault);
            }
        }
        Ok(())
    }

    /// Takes a fault into the verdict.
    pub(super) fn fault(&mut self, place: &str, fault: Fault) {
        if fault.mild {
            self.verdict.warning(fault.code, place, fault.message, fault.repair);
        } else {
            self.verdict.problem(fault.code, place, fault.message, fault.repair);
        }
    }
}

/// The entries of a manifest list as they are.
fn listed(ctx: &TableContext, list: &str) -> Result<Vec<ManifestEntry>> {
    let store = ManifestStore::new(&ctx.fs, &ctx.paths, &ctx.options)?;
    store.read_all(&store.read_list(list)?, &|_| true)
}

/// A fault for something that could not be read: what siltstone does not have is only said, a file that is missing was
/// found missing before.
///
/// # Errors
/// Memory that could not be had: it says nothing about the table.
pub(super) fn unread(code: &'static str, error: Error) -> Result<Option<Fault>> {
    Ok(match error.kind() {
        ErrorKind::MemoryLimitExceeded => return Err(error),
        ErrorKind::FileNotFound => None,
        ErrorKind::UnsupportedFeature => Some(Fault {
            code: "not-checked",
            message: error.to_string(),
            repair: "check the table with Java Paimon",
            mild: true,
        }),
        _ => Some(Fault { code, message: error.to_string(), repair: RESTORE, mild: false }),
    })
}

impl DataFile<'_> {
    /// All that is wrong with the file.
    fn faults(&self) -> Result<Vec<Fault>> {
        match self.read() {
            Ok(faults) => Ok(faults),
            Err(e) => Ok(unread("bad-data-file", e)?.into_iter().collect()),
        }
    }

    fn read(&self) -> Result<Vec<Fault>> {
        let ctx = self.ctx;
        let file = &self.entry.file;
        let schema = ctx.schemas.get(file.schema_id)?;
        let keyed = !schema.primary_keys.is_empty();
        let spec = FileReadSpec { system: keyed, ..FileReadSpec::new(schema.fields.clone()) };
        let mut columns = Columns::new(&schema.fields, file)?;
        let mut keys = match keyed.then(|| Keys::new(&schema.fields, &schema.trimmed_primary_keys())) {
            Some(keys) => Some(keys?),
            None => None,
        };
        let mut rows: i64 = 0;
        for batch in read_data_file(ctx, &self.entry.partition, self.entry.bucket, file, &spec)? {
            let batch = batch?;
            if let Some(keys) = &mut keys {
                keys.add(&batch, rows)?;
            }
            columns.add(&batch)?;
            rows = rows.saturating_add(i64::try_from(batch.num_rows()).unwrap_or(i64::MAX));
        }
        let mut found = Found { file, faults: Vec::new() };
        if rows != file.row_count {
            found.add("wrong-row-count", format!("has {rows} rows, the manifest says {}", file.row_count));
        }
        if let Some(keys) = &keys {
            // the keys of postponed buckets come as they were written
            keys.check(&mut found, self.entry.bucket >= 0, self.changelog)?;
        }
        columns.check(&mut found);
        Ok(found.faults)
    }
}

/// Faults of one file.
struct Found<'a> {
    file: &'a DataFileMeta,
    faults: Vec<Fault>,
}

impl Found<'_> {
    fn add(&mut self, code: &'static str, message: String) {
        let message = format!("{} {message}", self.file.file_name);
        self.faults.push(Fault { code, message, repair: REWRITE, mild: false });
    }

    fn warn(&mut self, code: &'static str, message: &str) {
        let message = format!("{} {message}", self.file.file_name);
        self.faults.push(Fault { code, message, repair: WIDER, mild: true });
    }
}

/// Order, bounds and kinds of the rows of a key-value file.
struct Keys {
    positions: Vec<usize>,
    types: Vec<DataType>,
    encoder: RowColumns,
    width: usize,
    last: Option<OwnedRow>,
    ends: Option<(Vec<Datum>, Vec<Datum>)>,
    sequences: Option<(i64, i64)>,
    retracts: i64,
    unsorted: Option<i64>,
    twice: Option<i64>,
}

impl Keys {
    fn new(fields: &[DataField], names: &[&str]) -> Result<Self> {
        let place = |name: &&str| fields.iter().position(|f| f.name == **name);
        let positions: Vec<usize> = names.iter().filter_map(place).collect();
        let types = positions.iter().filter_map(|at| fields.get(*at)).map(|f| f.data_type.clone()).collect();
        let layout = KvLayout {
            fields: fields.to_vec(),
            key: positions.clone(),
            sequence: Vec::new(),
            sequence_descending: false,
        };
        let encoder = RowColumns::new(&layout, &positions, false)?;
        Ok(Self {
            positions,
            types,
            encoder,
            width: fields.len(),
            last: None,
            ends: None,
            sequences: None,
            retracts: 0,
            unsorted: None,
            twice: None,
        })
    }

    fn add(&mut self, batch: &RecordBatch, before: i64) -> Result<()> {
        let Some(end) = batch.num_rows().checked_sub(1) else { return Ok(()) };
        let keys = self.encoder.encode(batch)?;
        self.order(&keys, before);
        self.last = Some(keys.row(end).owned());
        let last = self.key(batch, end)?;
        self.ends = Some(match self.ends.take() {
            Some((first, _)) => (first, last),
            None => (self.key(batch, 0)?, last),
        });
        let system =
            |at: usize| batch.columns().get(at).ok_or_else(|| Error::new(ErrorKind::Internal, "no such column"));
        let (numbers, kinds) = (system(self.width)?, system(self.width + 1)?);
        if let Some(numbers) = numbers.as_primitive_opt::<Int64Type>() {
            for number in numbers.values() {
                let (least, most) = self.sequences.unwrap_or((*number, *number));
                self.sequences = Some((least.min(*number), most.max(*number)));
            }
        }
        if let Some(kinds) = kinds.as_primitive_opt::<Int8Type>() {
            let retract = |kind: &&i8| RowKind::from_byte(**kind).is_ok_and(RowKind::is_retract);
            let retracts = kinds.values().iter().filter(retract).count();
            self.retracts = self.retracts.saturating_add(i64::try_from(retracts).unwrap_or(i64::MAX));
        }
        Ok(())
    }

    /// Compares each key with the one before it.
    fn order(&mut self, keys: &Rows, before: i64) {
        for (row, number) in keys.iter().zip(before..) {
            let order = match number.checked_sub(before).and_then(|at| usize::try_from(at).ok()) {
                Some(0) | None => self.last.as_ref().map(|last| last.row().cmp(&row)),
                Some(at) => Some(keys.row(at - 1).cmp(&row)),
            };
            match order {
                Some(std::cmp::Ordering::Greater) => self.unsorted = self.unsorted.or(Some(number)),
                Some(std::cmp::Ordering::Equal) => self.twice = self.twice.or(Some(number)),
                _ => {}
            }
        }
    }

    fn key(&self, batch: &RecordBatch, row: usize) -> Result<Vec<Datum>> {
        let columns = self.positions.iter().filter_map(|at| batch.columns().get(*at)).zip(&self.types);
        columns.map(|(column, data_type)| datum_from_array(column, row, data_type)).collect()
    }

    fn check(&self, found: &mut Found<'_>, sorted: bool, changelog: bool) -> Result<()> {
        let file = found.file;
        if let Some(says) = file.delete_row_count.filter(|says| *says != self.retracts) {
            found.add("wrong-delete-count", format!("has {} delete rows, the manifest says {says}", self.retracts));
        }
        if !sorted {
            return Ok(());
        }
        if let Some(row) = self.unsorted {
            found.add("unsorted-file", format!("is not sorted by key at row {row}"));
        }
        if let Some(row) = self.twice.filter(|_| !changelog) {
            found.add("key-twice", format!("has a key twice, at row {row}"));
        }
        if let Some((first, last)) = &self.ends {
            let least = BinaryRow::from_serialized(&file.min_key)?.datums(&self.types)?;
            let most = BinaryRow::from_serialized(&file.max_key)?.datums(&self.types)?;
            let (low, high) = (compare_rows(first, &least), compare_rows(last, &most));
            if low.is_lt() || high.is_gt() {
                let text = |key: &[Datum]| self.text(key);
                found.add(
                    "wrong-key-range",
                    format!(
                        "has keys from {} to {}, the manifest says {} to {}",
                        text(first),
                        text(last),
                        text(&least),
                        text(&most)
                    ),
                );
            } else if low.is_ne() || high.is_ne() {
                found.warn("wide-key-range", "has fewer keys than its smallest and largest key in the manifest span");
            }
        }
        let (least, most) = (file.min_sequence_number, file.max_sequence_number);
        match self.sequences.filter(|_| !changelog) {
            Some((low, high)) if low < least || high > most => {
                let message = format!("has sequence numbers {low} to {high}, the manifest says {least} to {most}");
                found.add("wrong-sequence-range", message);
            }
            _ => {}
        }
        Ok(())
    }

    fn text(&self, key: &[Datum]) -> String {
        let texts: Vec<String> = key.iter().zip(&self.types).map(|(value, t)| datum_to_text(value, t)).collect();
        format!("[{}]", texts.join(", "))
    }
}

/// Null counts and bounds of the columns that have statistics.
struct Columns(Vec<Column>);

struct Column {
    at: usize,
    name: String,
    stats: ColumnStats,
    outside: [Option<Predicate>; 2],
    nulls: i64,
    wrong: BTreeMap<&'static str, u64>,
}

impl Columns {
    fn new(fields: &[DataField], file: &DataFileMeta) -> Result<Self> {
        let stored: Vec<&DataField> = match &file.value_stats_cols {
            None => fields.iter().collect(),
            Some(names) => names.iter().filter_map(|name| fields.iter().find(|f| f.name == *name)).collect(),
        };
        let reader = StatsReader::new(&file.value_stats)?;
        let mut columns = Vec::new();
        if reader.columns() != stored.len() {
            return Ok(Self(columns));
        }
        for (i, field) in stored.into_iter().enumerate() {
            let Some(at) = fields.iter().position(|f| f.id == field.id) else { continue };
            let stats = reader.column(i, &field.data_type)?;
            let beyond = |op, bound: &Datum| {
                let compare = Predicate::Compare { column: field.name.clone(), op, value: bound.clone() };
                (!bound.is_null() && !field.data_type.is_nested()).then_some(compare)
            };
            let outside = [beyond(CompareOp::Lt, &stats.min), beyond(CompareOp::Gt, &stats.max)];
            let name = field.name.clone();
            columns.push(Column { at, name, stats, outside, nulls: 0, wrong: BTreeMap::new() });
        }
        Ok(Self(columns))
    }

    fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        for column in &mut self.0 {
            let Some(values) = batch.columns().get(column.at) else { continue };
            column.nulls = column.nulls.saturating_add(i64::try_from(values.null_count()).unwrap_or(i64::MAX));
            for (side, outside) in ["below", "above"].into_iter().zip(column.outside.iter().flatten()) {
                let rows = match float_rows_outside(values, outside) {
                    Some(rows) => rows,
                    None => u64::try_from(evaluate(outside, batch)?.true_count()).unwrap_or(u64::MAX),
                };
                if rows > 0 {
                    *column.wrong.entry(side).or_default() += rows;
                }
            }
        }
        Ok(())
    }

    fn check(&self, found: &mut Found<'_>) {
        for column in &self.0 {
            if let Some(says) = column.stats.null_count.filter(|says| *says != column.nulls) {
                let message = format!("has {} nulls in column {}, the manifest says {says}", column.nulls, column.name);
                found.add("wrong-null-count", message);
            }
            for (side, rows) in &column.wrong {
                let bound = if *side == "below" { "least" } else { "largest" };
                let message = format!("has {rows} values of column {} {side} its {bound} in the manifest", column.name);
                found.add("wrong-bounds", message);
            }
        }
    }
}

/// Floats beyond a bound, as numbers: 0.0 is -0.0, and what is no number has no place in bounds. `None`: no floats.
fn float_rows_outside(values: &ArrayRef, outside: &Predicate) -> Option<u64> {
    let Predicate::Compare { op, value, .. } = outside else { return None };
    let bound = match value {
        Datum::Float(bound) => f64::from(*bound),
        Datum::Double(bound) => *bound,
        _ => return None,
    };
    let beyond = |value: f64| if *op == CompareOp::Lt { value < bound } else { value > bound };
    let rows = if let Some(floats) = values.as_primitive_opt::<Float32Type>() {
        floats.iter().flatten().filter(|value| beyond(f64::from(*value))).count()
    } else {
        values.as_primitive_opt::<Float64Type>()?.iter().flatten().filter(|value| beyond(*value)).count()
    };
    u64::try_from(rows).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_cannot_be_had_is_no_fault_of_a_file() {
        let error = |kind| Error::new(kind, "a test");
        let fault = |kind| unread("bad-data-file", error(kind)).unwrap().map(|fault| (fault.code, fault.mild));
        assert_eq!(
            unread("x", error(ErrorKind::MemoryLimitExceeded)).unwrap_err().kind(),
            ErrorKind::MemoryLimitExceeded
        );
        assert_eq!(fault(ErrorKind::CorruptFile), Some(("bad-data-file", false)));
        assert_eq!(fault(ErrorKind::UnsupportedFeature), Some(("not-checked", true)));
        assert_eq!(fault(ErrorKind::FileNotFound), None);
    }
}
