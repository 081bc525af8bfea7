//! `$partitions`, and sums of live files for `$buckets`.

use std::collections::BTreeMap;

use super::{
    Table,
    columns::{fields, long, maybe, or_null, string, text, time, wall},
    rows::{Rows, put},
};
use crate::{
    Result,
    manifest::ManifestEntry,
    row::Datum,
    scan::{
        EntryFilter, LastWrites, Resolved, VersionSelector, live_entries_with_last_writes,
        overtaken::{again_when_overtaken, expired_meanwhile},
    },
    types::DataField,
};

pub(super) fn columns() -> Vec<DataField> {
    fields(&[
        ("partition", maybe(text())),
        ("record_count", long()),
        ("file_size_in_bytes", long()),
        ("file_count", long()),
        ("last_update_time", maybe(time())),
        ("created_at", maybe(text())),
        ("created_by", maybe(text())),
        ("updated_by", maybe(text())),
        ("options", maybe(text())),
    ])
}

pub(super) fn rows(table: &Table, rows: &mut Rows) -> Result<()> {
    for ((partition, _), sum) in of_both_branches(table)? {
        if rows.is_full() {
            break;
        }
        let [count, size, files] = sum.counts();
        let unknown = || Datum::Null;
        put!(rows;
            string(name(table, &partition)?),
            count,
            size,
            files,
            sum.last_write(),
            unknown(),
            unknown(),
            unknown(),
            unknown(),
        );
    }
    Ok(())
}

/// Sums by partition, with those partitions that reads take from another branch.
fn of_both_branches(table: &Table) -> Result<Sums> {
    table.check_one_version()?;
    match with_other_branch(table, &VersionSelector::Latest)? {
        Some(all) => Ok(all),
        None => sums(table, false),
    }
}

/// The same of a version; `None`: there is no other branch that reads take partitions from.
pub(in crate::table) fn with_other_branch(table: &Table, version: &VersionSelector) -> Result<Option<Sums>> {
    let Some(other) = table.other_branch()? else { return Ok(None) };
    let Some([first, second]) = other.sides(table, version, Resolved::state)? else { return Ok(None) };
    let mut all = sums_at(&second.at, false)?;
    all.extend(sums_at(&first.at, false)?);
    Ok(Some(all))
}

/// A partition that has files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// Texts that name its values, in the order of the partition columns; `None` is null.
    pub values: Vec<Option<String>>,
    /// Data files.
    pub files: i64,
    /// Rows in them.
    pub rows: i64,
    /// Their bytes.
    pub bytes: i64,
    /// When the newest was written, milliseconds of local time.
    pub last_write: Option<i64>,
}

impl Table {
    /// The partitions of the newest version. Their names in `$partitions` cannot be taken apart: values are not escaped there.
    pub fn partitions(&self) -> Result<Vec<Partition>> {
        let types = types(self);
        let partition = |((partition, _), sum): ((Vec<u8>, i32), Sum)| {
            let values = super::text::values(&partition, &types)?;
            let text =
                |(value, kind): (&Datum, _)| (!value.is_null()).then(|| crate::row::datum_to_full_text(value, kind));
            Ok(Partition {
                values: values.iter().zip(&types).map(text).collect(),
                files: sum.files,
                rows: sum.rows,
                bytes: sum.bytes,
                last_write: sum.newest,
            })
        };
        of_both_branches(self)?.into_iter().map(partition).collect()
    }
}

/// A partition as `dt=a/h=1`.
pub(in crate::table) fn name(table: &Table, partition: &[u8]) -> Result<String> {
    let ctx = table.context();
    let default = &ctx.options.partition_default_name;
    let types = types(table);
    let values = super::text::values(partition, &types)?;
    let pairs = ctx.schema.partition_keys.iter().zip(&values).zip(&types).map(|((name, value), kind)| {
        let text = if value.is_null() { String::new() } else { crate::row::datum_to_text(value, kind) };
        format!("{name}={}", if text.trim().is_empty() { default } else { &text })
    });
    Ok(pairs.collect::<Vec<_>>().join("/"))
}

/// Types of the partition columns.
pub(in crate::table) fn types(table: &Table) -> Vec<crate::types::DataType> {
    table.context().schema.partition_fields().iter().map(|f| f.data_type.clone()).collect()
}

/// By partition, and by bucket where that is asked for (else the bucket is 0).
pub(in crate::table) type Sums = BTreeMap<(Vec<u8>, i32), Sum>;

/// Live files of a partition or bucket together.
#[derive(Clone, Debug, Default)]
pub(in crate::table) struct Sum {
    pub(in crate::table) rows: i64,
    pub(in crate::table) bytes: i64,
    pub(in crate::table) files: i64,
    /// Local time of the last write.
    pub(in crate::table) newest: Option<i64>,
}

impl Sum {
    /// Row count, bytes, files.
    pub(super) fn counts(&self) -> [Datum; 3] {
        [Datum::BigInt(self.rows), Datum::BigInt(self.bytes), Datum::BigInt(self.files)]
    }

    /// Local time of the last write.
    pub(super) fn newest(&self) -> Option<i64> {
        self.newest
    }

    /// The same as a value.
    pub(super) fn last_write(&self) -> Datum {
        or_null(self.newest, wall)
    }

    fn add(&mut self, other: &Self) {
        self.rows = self.rows.saturating_add(other.rows);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.files = self.files.saturating_add(other.files);
        self.newest = self.newest.max(other.newest);
    }
}

/// All live files together.
pub(super) fn total(table: &Table) -> Result<Sum> {
    let mut all = Sum::default();
    sums(table, false)?.values().for_each(|sum| all.add(sum));
    Ok(all)
}

/// Sums by partition, and by bucket when `by_bucket` says so (else the bucket is 0).
pub(super) fn sums(table: &Table, by_bucket: bool) -> Result<Sums> {
    table.check_one_version()?;
    let ctx = table.context();
    again_when_overtaken(ctx, || sums_at(&Resolved::state(ctx, &VersionSelector::Latest)?, by_bucket))
}

fn sums_at(at: &Resolved, by_bucket: bool) -> Result<Sums> {
    let mut found = Sums::new();
    let (ctx, Some(snapshot)) = (&at.ctx, &at.snapshot) else { return Ok(found) };
    let live = live_entries_with_last_writes(ctx, snapshot, &EntryFilter::without_statistics());
    let (entries, writes) = live.map_err(|e| expired_meanwhile(ctx, snapshot, e))?;
    for entry in &entries {
        add(&mut found, entry, &writes, by_bucket);
    }
    Ok(found)
}

/// Sums of live files by partition.
pub(in crate::table) fn by_partition(live: &[ManifestEntry], writes: &LastWrites) -> Sums {
    let mut found = BTreeMap::new();
    for entry in live {
        add(&mut found, entry, writes, false);
    }
    found
}

fn add(found: &mut Sums, entry: &ManifestEntry, writes: &LastWrites, by_bucket: bool) {
    let bucket = if by_bucket { entry.bucket } else { 0 };
    let sum = found.entry((entry.partition.clone(), bucket)).or_insert_with(|| {
        let newest =
            if by_bucket { writes.of_bucket(&entry.partition, bucket) } else { writes.of_partition(&entry.partition) };
        Sum { newest, ..Sum::default() }
    });
    sum.add(&Sum { rows: entry.file.row_count, bytes: entry.file.file_size, files: 1, newest: None });
}
