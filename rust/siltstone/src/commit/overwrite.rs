//! Which partitions an overwrite replaces, and what that deletes (semantics e.6).

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashSet},
};

use super::{
    changes::{FileChanges, deletion_of},
    conflict::sort_by_keys,
    model::OverwriteTarget,
};
use crate::{
    error::{Error, ErrorKind, Result},
    io::TableContext,
    manifest::{EntryKind, IndexManifestEntry, ManifestEntry, ManifestStore},
    options::POSTPONE_BUCKET,
    predicate::Predicate,
    row::{BinaryRow, Datum, compare_datums},
    scan::{EntryFilter, LastWrites, PartitionSpec, live_entries_with_last_writes, partition_spec},
    snapshot::Snapshot,
    types::DataType,
    wire::CommitMessage,
};

/// Partitions to replace.
#[derive(Clone, Debug)]
pub(super) enum Partitions {
    /// The whole table.
    All,
    /// Exactly these (serialized rows).
    These(HashSet<Vec<u8>>),
    /// Those of these that nobody has written to since a time ([`LastWrites`]), as every try finds them.
    Idle { of: HashSet<Vec<u8>>, since: i64 },
    /// Those that match one of the patterns: a value for each partition column, `None` = any.
    Matching(Vec<Vec<Option<Datum>>>),
}

impl Partitions {
    /// `None`: nothing is to be replaced (dynamic without new files).
    pub(super) fn of(ctx: &TableContext, target: &OverwriteTarget, new: &[ManifestEntry]) -> Result<Option<Self>> {
        let partitioned = !ctx.schema.partition_keys.is_empty();
        Ok(match target {
            OverwriteTarget::Dynamic if partitioned && new.is_empty() => None,
            OverwriteTarget::Dynamic if partitioned => {
                Some(Self::These(new.iter().map(|entry| entry.partition.clone()).collect()))
            }
            OverwriteTarget::Dynamic => Some(Self::All),
            OverwriteTarget::Partitions(partitions) => Some(Self::These(partitions.clone())),
            OverwriteTarget::Static(spec) => {
                let partitions = Self::matching(ctx, std::slice::from_ref(spec))?;
                partitions.check_members(ctx, spec, new)?;
                Some(partitions)
            }
        })
    }

    /// Partitions that match one of the specifications; an empty specification matches all.
    pub(super) fn matching(ctx: &TableContext, specs: &[PartitionSpec]) -> Result<Self> {
        let patterns = specs.iter().map(|spec| partition_spec::pattern(ctx, spec)).collect::<Result<Vec<_>>>()?;
        let any = |pattern: &Vec<Option<Datum>>| pattern.iter().all(Option::is_none);
        Ok(if patterns.iter().any(any) { Self::All } else { Self::Matching(patterns) })
    }

    fn check_members(&self, ctx: &TableContext, spec: &PartitionSpec, new: &[ManifestEntry]) -> Result<()> {
        for entry in new {
            if !self.contains(ctx, &entry.partition)? {
                let found = ctx.paths.partition_shown(&entry.partition)?;
                let wanted: Vec<String> =
                    spec.iter().map(|(k, v)| format!("{k}={}", v.as_deref().unwrap_or("null"))).collect();
                let text = format!(
                    "Trying to overwrite partition {{{}}}, but the changes in {found} does not belong to this partition",
                    wanted.join(", ")
                );
                return Err(Error::new(ErrorKind::InvalidArgument, text)
                    .hint("Give only rows of that partition, or overwrite dynamically."));
            }
        }
        Ok(())
    }

    pub(super) fn contains(&self, ctx: &TableContext, partition: &[u8]) -> Result<bool> {
        Ok(match self {
            Self::All => true,
            Self::These(set) | Self::Idle { of: set, .. } => set.contains(partition),
            Self::Matching(patterns) => {
                let values = BinaryRow::from_serialized(partition)?.datums(ctx.paths.partition_types())?;
                let fits = |pattern: &Vec<Option<Datum>>| {
                    let mut pairs = pattern.iter().zip(&values);
                    pairs.all(|(wanted, value)| wanted.as_ref().is_none_or(|w| compare_datums(w, value).is_eq()))
                };
                patterns.iter().any(fits)
            }
        })
    }

    fn filter(&self, ctx: &TableContext) -> EntryFilter {
        match self {
            Self::All => EntryFilter::default(),
            Self::These(set) | Self::Idle { of: set, .. } => {
                EntryFilter { partitions: Some(set.clone()), ..EntryFilter::default() }
            }
            Self::Matching(patterns) => {
                let predicate = Predicate::any(patterns.iter().map(|pattern| partition_spec::condition(ctx, pattern)));
                EntryFilter { partition_predicate: Some(predicate), ..EntryFilter::default() }
            }
        }
    }

    /// Live files that an overwrite of these partitions replaces; those without a bucket yet (postpone) stay on
    /// tables that have buckets now.
    pub(super) fn replaced(&self, ctx: &TableContext, snapshot: &Snapshot) -> Result<Vec<ManifestEntry>> {
        let (mut live, _) = self.live(ctx, snapshot)?;
        live.retain(|entry| is_replaced(ctx, entry));
        Ok(live)
    }

    /// These partitions as they are now, given when they were written to: without those that are not idle any more.
    fn now(&self, writes: &LastWrites) -> Cow<'_, Self> {
        let Self::Idle { of, since } = self else { return Cow::Borrowed(self) };
        let is_idle = |partition: &&Vec<u8>| writes.of_partition(partition).is_some_and(|newest| newest < *since);
        Cow::Owned(Self::These(of.iter().filter(is_idle).cloned().collect()))
    }

    /// Live files of these partitions, and when they were written to.
    fn live(&self, ctx: &TableContext, snapshot: &Snapshot) -> Result<(Vec<ManifestEntry>, LastWrites)> {
        let mut wanted = Vec::new();
        let (live, writes) = live_entries_with_last_writes(ctx, snapshot, &self.filter(ctx))?;
        for entry in live {
            if self.contains(ctx, &entry.partition)? {
                wanted.push(entry);
            }
        }
        Ok((wanted, writes))
    }
}

fn is_replaced(ctx: &TableContext, entry: &ManifestEntry) -> bool {
    entry.bucket >= 0 || ctx.options.bucket == POSTPONE_BUCKET
}

/// What an overwrite changes, given the table as it is; recomputed for every try.
pub(super) fn changes(
    ctx: &TableContext,
    store: &ManifestStore,
    latest: Option<&Snapshot>,
    partitions: &Partitions,
    new: &FileChanges,
) -> Result<(FileChanges, Vec<ManifestEntry>)> {
    let Some(latest) = latest else {
        return Ok((new.clone(), Vec::new()));
    };
    let (mut live, writes) = partitions.live(ctx, latest)?;
    let partitions = partitions.now(&writes);
    if let Partitions::These(set) = &*partitions {
        live.retain(|entry| set.contains(&entry.partition));
    }
    let replaced = live.iter().filter(|entry| is_replaced(ctx, entry));
    let drop_stats = ctx.options.manifest_delete_file_drop_stats;
    let mut files: Vec<ManifestEntry> = replaced.map(|entry| deletion_of(entry, drop_stats)).collect();
    files.extend(new.files.iter().cloned());
    let mut index = Vec::new();
    if let Some(name) = &latest.index_manifest {
        for entry in store.read_index(name)? {
            if partitions.contains(ctx, &entry.partition)? {
                index.push(IndexManifestEntry { kind: EntryKind::Delete, ..entry });
            }
        }
    }
    index.extend(new.index.iter().cloned());
    Ok((FileChanges { files, index, assigned: new.assigned.clone(), ..FileChanges::default() }, live))
}

/// Option `overwrite-upgrade`: new level-0 files of a bucket that do not overlap are committed at the highest level,
/// so that readers which skip level 0 see them at once. Files with deleted rows stay where they are.
pub(super) fn upgraded(ctx: &TableContext, new: Vec<ManifestEntry>) -> Result<Vec<ManifestEntry>> {
    let fresh = |entry: &ManifestEntry| entry.kind == EntryKind::Add && entry.file.level == 0 && entry.bucket >= 0;
    if !ctx.options.overwrite_upgrade || ctx.schema.primary_keys.is_empty() || !new.iter().all(fresh) {
        return Ok(new);
    }
    let types: Vec<DataType> = ctx.schema.key_fields().iter().map(|field| field.data_type.clone()).collect();
    let mut buckets: BTreeMap<(Vec<u8>, i32), Vec<ManifestEntry>> = BTreeMap::new();
    for entry in new {
        buckets.entry((entry.partition.clone(), entry.bucket)).or_default().push(entry);
    }
    let max_level = ctx.options.num_levels.saturating_sub(1);
    let mut result = Vec::new();
    for mut files in buckets.into_values() {
        if in_one_run(&mut files, &types)? {
            for entry in &mut files {
                entry.file.level = max_level;
            }
        }
        result.append(&mut files);
    }
    Ok(result)
}

/// Sorts the files by key; whether they follow each other without overlap and hold no deleted rows.
fn in_one_run(files: &mut [ManifestEntry], types: &[DataType]) -> Result<bool> {
    Ok(sort_by_keys(files, types)?.is_none() && files.iter().all(|entry| entry.file.delete_row_count == Some(0)))
}

/// An error when a file that messages add is not there: they belong to another table, or were aborted.
///
/// # Errors
/// `CommitConflict`.
pub(super) fn check_files_exist(ctx: &TableContext, messages: &[CommitMessage]) -> Result<()> {
    for message in messages {
        let (data, compact) = (&message.data, &message.compact);
        let changelog = data.changelog_files.iter().chain(&compact.changelog_files);
        for file in data.new_files.iter().chain(&compact.compact_after).chain(changelog) {
            let path = ctx.paths.data_file(&message.bucket.partition, message.bucket.bucket, file)?;
            if !ctx.fs.is_file(&path)? {
                return Err(Error::new(ErrorKind::CommitConflict, "a file that the commit adds does not exist")
                    .with("table", &ctx.name)
                    .with("file", path)
                    .hint("the messages belong to another table, or their files were deleted: write the rows again"));
            }
        }
    }
    Ok(())
}
