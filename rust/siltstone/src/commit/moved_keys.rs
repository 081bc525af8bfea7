//! Tables whose keys may come in any partition: a key never lives in two of them, nor in two buckets.
//!
//! ```text
//! nothing came since the version that the writer has looked at      the rows are where their keys are
//! others have added rows since                                      the keys of their files are looked up among ours:
//!     a key has one and the same place in both                      both rows are in one bucket, which merges them
//!     it has another, or several                                    a conflict: the rows have to be written again
//! nobody knows what came since (expired, rolled back)               a conflict
//! an overwrite of some partitions                                   no key of its rows may live in those that stay, and the
//!                                                                   rows are not of a writer that moves keys
//! ```
//!
//! Messages of several writers in one commit are compared in the same way. Where the merge engine sends rows to the partition
//! that has their key, deletes and dropped partitions are conflicts, too: the row would go elsewhere now. Java does not ask.

use std::collections::{BTreeMap, HashSet};

use super::{assigned::Assignment, changes::FileChanges, lookup_conflict::files_meet, overwrite::Partitions};
use crate::{
    cancel,
    error::{Error, ErrorKind, Result},
    index::{KeyHash, KeyPlaces},
    io::{FileReadSpec, TableContext, read_data_file},
    manifest::{BucketId, EntryKind, ManifestEntry},
    options::KeyElsewhere,
    read::read_split,
    row::{RowKind, binary_rows},
    scan::{EntryFilter, Resolved, ScanRequest, changes_since, has_key_places, live_entries, plan_at},
    snapshot::Snapshot,
    types::{DataField, DataType},
    wire::{Assigned, AssignedBy, Seen},
};

/// The place of a key that has several, or none.
const SEVERAL: u64 = KeyPlaces::LAST;

/// An error when a key of new rows lives elsewhere; `replaced`: the partitions of which nothing stays.
///
/// # Errors
/// `CommitConflict`; `InvalidArgument` for an overwrite.
pub(super) fn check_places(
    ctx: &TableContext,
    latest: Option<&Snapshot>,
    changes: &FileChanges,
    replaced: Option<&Partitions>,
) -> Result<()> {
    if !has_key_places(ctx) || changes.assigned.is_empty() {
        return Ok(());
    }
    let check = Check::new(ctx);
    let writers = check.writers(&changes.assigned)?;
    check.agree(&writers)?;
    match (replaced, latest) {
        (None, _) => writers.values().try_for_each(|writer| check.since(latest, writer, changes)),
        (Some(replaced), Some(latest)) => {
            check.write_all_rows(&writers, replaced)?;
            check.apart(latest, replaced, changes)
        }
        (Some(_), None) => Ok(()),
    }
}

/// What one writer brings.
struct Writer<'a> {
    seen: &'a Seen,
    made: HashSet<&'a str>,
    files: Vec<ManifestEntry>,
}

struct Check<'a> {
    ctx: &'a TableContext,
    key: Vec<DataField>,
    key_types: Vec<DataType>,
    /// Types of the key inside a bucket.
    range_types: Vec<DataType>,
    /// Rows go to where their key is.
    stays: bool,
}

impl<'a> Check<'a> {
    fn new(ctx: &'a TableContext) -> Self {
        let key: Vec<DataField> =
            ctx.schema.primary_keys.iter().filter_map(|name| ctx.schema.field(name)).cloned().collect();
        Self {
            ctx,
            key_types: key.iter().map(|field| field.data_type.clone()).collect(),
            key,
            range_types: ctx.schema.key_fields().iter().map(|field| field.data_type.clone()).collect(),
            stays: ctx.options.merge_engine.key_elsewhere() == KeyElsewhere::Stays,
        }
    }

    /// The new files of each writer, and what it has looked at: of several messages the oldest version.
    fn writers<'c>(&self, assigned: &'c [Assignment]) -> Result<BTreeMap<&'c str, Writer<'c>>> {
        let mut writers: BTreeMap<&str, Writer<'c>> = BTreeMap::new();
        for assignment in assigned {
            let Some(Assigned { writer, by: AssignedBy::Keys(seen) }) = &assignment.by else {
                let text = "it is not known which keys the writer of a message has looked at";
                return Err(self.conflict(text));
            };
            let of_writer =
                writers.entry(writer).or_insert_with(|| Writer { seen, made: HashSet::new(), files: Vec::new() });
            if seen.snapshot.id < of_writer.seen.snapshot.id {
                of_writer.seen = seen;
            }
            of_writer.made.extend(seen.made.iter().map(String::as_str));
            of_writer.files.extend(assignment.files.iter().map(|file| entry(&assignment.bucket, file.clone())));
        }
        Ok(writers)
    }

    /// An error when two writers give a key two places.
    fn agree(&self, writers: &BTreeMap<&str, Writer<'_>>) -> Result<()> {
        if writers.len() < 2 {
            return Ok(());
        }
        let mut ours = Ours::new();
        for writer in writers.values() {
            self.compare(&ours, &writer.files)?;
            for file in &writer.files {
                self.add(&mut ours, file)?;
            }
        }
        Ok(())
    }

    /// An error when others have given a key of the writer another place since the version that it has looked at.
    fn since(&self, latest: Option<&Snapshot>, writer: &Writer<'_>, changes: &FileChanges) -> Result<()> {
        let own: HashSet<&str> = changes.files.iter().map(|entry| entry.file.file_name.as_str()).collect();
        let mut missing: HashSet<&str> = writer.made.iter().copied().filter(|name| !own.contains(name)).collect();
        let mut theirs: Vec<ManifestEntry> = Vec::new();
        let known = changes_since(self.ctx, &writer.seen.snapshot, latest, false, |entries| {
            for entry in entries {
                let name = entry.file.file_name.as_str();
                match entry.kind {
                    EntryKind::Add if missing.remove(name) || writer.made.contains(name) => {}
                    EntryKind::Add => theirs.push(entry),
                    EntryKind::Delete
                        if self.stays && writer.files.iter().any(|own| own.partition == entry.partition) =>
                    {
                        return Err(self.conflict("another commit has replaced a partition that these rows go to"));
                    }
                    EntryKind::Delete => {}
                }
            }
            Ok(())
        })?;
        if !known {
            return Err(
                self.conflict("the version whose keys these rows were compared with has expired, or was rolled back")
            );
        }
        if let Some(file) = missing.iter().min() {
            let text = "the writer has given keys a place by rows that are not in the table";
            return Err(self.conflict(text).with("file", file));
        }
        theirs = self.meeting(theirs, &writer.files)?;
        if theirs.is_empty() {
            return Ok(());
        }
        let mut ours = Ours::new();
        for file in &writer.files {
            if self.meets(file, &theirs)? {
                self.add(&mut ours, file)?;
            }
        }
        self.compare(&ours, &theirs)
    }

    /// An error when a partition would be replaced by no more than the deletion of a row that has moved out of it.
    fn write_all_rows(&self, writers: &BTreeMap<&str, Writer<'_>>, replaced: &Partitions) -> Result<()> {
        if matches!(replaced, Partitions::All) || writers.values().all(|writer| writer.seen.snapshot.id == 0) {
            return Ok(());
        }
        let text =
            "an overwrite of partitions with the messages of a writer that adds rows: they also delete rows that moved";
        Err(Error::new(ErrorKind::InvalidArgument, text)
            .with("table", &self.ctx.name)
            .hint("overwrite with rows, or replace the whole table"))
    }

    /// An error when a key of the new rows lives in a partition that an overwrite leaves as it is.
    fn apart(&self, latest: &Snapshot, replaced: &Partitions, changes: &FileChanges) -> Result<()> {
        if matches!(replaced, Partitions::All) {
            return Ok(());
        }
        let new: Vec<ManifestEntry> = changes
            .assigned
            .iter()
            .flat_map(|one| one.files.iter().map(|file| entry(&one.bucket, file.clone())))
            .collect();
        let (mut gone, mut staying) = (HashSet::new(), Vec::new());
        for live in live_entries(self.ctx, latest, &EntryFilter::without_statistics())? {
            if gone.contains(&live.partition) {
                continue;
            }
            if replaced.contains(self.ctx, &live.partition)? {
                gone.insert(live.partition);
            } else {
                staying.push(live);
            }
        }
        if self.meeting(staying, &new)?.is_empty() {
            return Ok(());
        }
        let mut ours = Ours::new();
        new.iter().try_for_each(|file| self.add(&mut ours, file))?;
        let request = ScanRequest {
            columns: Some(self.ctx.schema.primary_keys.clone()),
            all_levels: true,
            not_partitions: Some(gone.into()),
            ..ScanRequest::default()
        };
        let planned = plan_at(self.ctx, &request, &Resolved::snapshot(self.ctx, latest))?;
        for split in &planned.splits {
            for batch in read_split(&planned.ctx, split, &planned.read)? {
                cancel::check()?;
                let hashes = self.hashes(batch?.columns(), &ours.hasher)?;
                if ours.places.find(&hashes)?.iter().any(Option::is_some) {
                    let text = "a key of these rows lives in a partition that the overwrite leaves as it is";
                    let partition = self.ctx.paths.partition_shown(&split.bucket.partition)?;
                    return Err(Error::new(ErrorKind::InvalidArgument, text)
                        .with("table", &self.ctx.name)
                        .with("partition", partition)
                        .hint("upsert the rows, which moves their keys, or overwrite the whole table"));
                }
            }
        }
        Ok(())
    }

    /// Those of the files that may share a key with one of others, in another bucket.
    fn meeting(&self, files: Vec<ManifestEntry>, others: &[ManifestEntry]) -> Result<Vec<ManifestEntry>> {
        let mut met = Vec::new();
        for file in files {
            if self.meets(&file, others)? {
                met.push(file);
            }
        }
        Ok(met)
    }

    fn meets(&self, file: &ManifestEntry, others: &[ManifestEntry]) -> Result<bool> {
        let same = |other: &ManifestEntry| other.bucket == file.bucket && other.partition == file.partition;
        for other in others.iter().filter(|other| self.stays || !same(other)) {
            if files_meet(file, other, &self.range_types)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// An error when a key of the files has another place among ours.
    fn compare(&self, ours: &Ours, files: &[ManifestEntry]) -> Result<()> {
        for file in files {
            let own = ours.numbers.get(&(file.partition.clone(), file.bucket)).copied();
            self.keys(file, &ours.hasher, |hashes, back| {
                let found = ours.places.find(&hashes)?;
                let agrees = |(found, back): (&Option<u64>, &bool)| match found {
                    None => true,
                    Some(place) => own == Some(*place) && !(self.stays && *back),
                };
                if found.iter().zip(back).all(agrees) {
                    return Ok(());
                }
                let partition = self.ctx.paths.partition_shown(&file.partition).unwrap_or_default();
                let text = "another commit has put a key of these rows into another partition or bucket";
                Err(self.conflict(text).with("partition", partition).with("bucket", file.bucket))
            })?;
        }
        Ok(())
    }

    /// Adds the keys of a file.
    fn add(&self, ours: &mut Ours, file: &ManifestEntry) -> Result<()> {
        let next = u64::try_from(ours.numbers.len()).unwrap_or(SEVERAL);
        let number = *ours.numbers.entry((file.partition.clone(), file.bucket)).or_insert(next);
        let (places, hasher) = (&mut ours.places, &ours.hasher);
        self.keys(file, hasher, |hashes, back| {
            let before = places.find(&hashes)?;
            for ((hash, before), back) in hashes.into_iter().zip(before).zip(back) {
                let several = before.is_some_and(|before| before != number) || self.stays && *back;
                places.put(hash, if several { SEVERAL } else { number })?;
            }
            Ok(())
        })
    }

    /// The hashes of the keys of a file, batch by batch, and which rows take back.
    fn keys(
        &self,
        file: &ManifestEntry,
        hasher: &impl Fn(&[u8]) -> KeyHash,
        mut visit: impl FnMut(Vec<KeyHash>, &[bool]) -> Result<()>,
    ) -> Result<()> {
        let spec = FileReadSpec { system: true, ..FileReadSpec::new(self.key.clone()) };
        for batch in read_data_file(self.ctx, &file.partition, file.bucket, &file.file, &spec)? {
            cancel::check()?;
            let batch = batch?;
            let key = batch.columns().get(..self.key.len()).unwrap_or_default();
            let hashes = self.hashes(key, hasher)?;
            let kinds = batch.columns().get(self.key.len().saturating_add(1));
            let kinds = kinds
                .and_then(|kinds| arrow_array::cast::AsArray::as_primitive_opt::<arrow_array::types::Int8Type>(kinds));
            let kinds = kinds.ok_or_else(|| Error::new(ErrorKind::Internal, "rows without their kinds"))?;
            let takes_back = |kind: &i8| *kind == RowKind::Delete.to_byte() || *kind == RowKind::UpdateBefore.to_byte();
            let back: Vec<bool> = kinds.values().iter().map(takes_back).collect();
            visit(hashes, &back)?;
        }
        Ok(())
    }

    fn hashes(&self, columns: &[arrow_array::ArrayRef], hasher: &impl Fn(&[u8]) -> KeyHash) -> Result<Vec<KeyHash>> {
        let rows = binary_rows(&self.key_types, columns)?;
        Ok((0..rows.len()).map(|at| hasher(rows.row(at))).collect())
    }

    fn conflict(&self, text: &str) -> Error {
        Error::new(ErrorKind::CommitConflict, text)
            .with("table", &self.ctx.name)
            .hint("write the rows again: they then go where their keys are")
            .for_rows_as_written()
    }
}

type Hasher = Box<dyn Fn(&[u8]) -> KeyHash>;

/// The keys of our new rows: each with the number of its bucket.
struct Ours {
    places: KeyPlaces,
    hasher: Hasher,
    numbers: BTreeMap<(Vec<u8>, i32), u64>,
}

impl Ours {
    fn new() -> Self {
        let places = KeyPlaces::new(MEMORY, std::env::temp_dir());
        Self { hasher: Box::new(places.hasher()), places, numbers: BTreeMap::new() }
    }
}

/// Bytes of keys in memory.
const MEMORY: usize = 256 << 20;

fn entry(bucket: &BucketId, file: crate::manifest::DataFileMeta) -> ManifestEntry {
    let BucketId { partition, bucket } = bucket.clone();
    ManifestEntry { kind: EntryKind::Add, partition, bucket, total_buckets: -1, file }
}
