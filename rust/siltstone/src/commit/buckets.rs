//! All files of a partition have the same number of buckets, and only an overwrite changes it.
//!
//! A writer that was opened before such an overwrite has put its rows into buckets of the old number. To compare with all live
//! files would cost a commit more with every file of the table. The newest file that was added to a partition says enough:
//!
//! ```text
//! manifests, newest first   … until one adds a file to each partition of the commit
//! all of these additions have the commit's number    it is the live one: an overwrite with another number is newer, or none was
//! otherwise                                          the live files are asked (an overwrite's own deletions, merged manifests)
//! ```
//!
//! A partition that has no files yet gets the number of the newest schema: rows of a writer that was opened before it changed
//! would bring the old one, and everybody else would be refused there. Who asks for another number (a dynamic option, a rescale of
//! one partition) gets it, as in Java, which does not look.

use std::{
    cell::OnceCell,
    collections::{HashMap, HashSet},
    sync::Arc,
};

use super::merge::PartitionBounds;
use crate::{
    error::{Error, ErrorKind, Result},
    io::TableContext,
    manifest::{EntryKind, ManifestEntry, ManifestFileMeta, ManifestStore},
    options::CoreOptions,
    scan::{EntryFilter, live_entries},
    schema::TableSchema,
    snapshot::Snapshot,
    types::DataType,
};

/// The manifests of the version that a try builds on, oldest first; its lists are read when they are first asked for.
#[derive(Debug, Default)]
pub(super) struct BaseManifests(OnceCell<Arc<Vec<ManifestFileMeta>>>);

impl BaseManifests {
    /// Those of a version that this handle has committed itself.
    pub(super) fn remembered(ctx: &TableContext, latest: Option<&Snapshot>) -> Self {
        let own = latest.and_then(|latest| ctx.remembered.manifests_of(latest));
        Self(own.map(OnceCell::from).unwrap_or_default())
    }

    pub(super) fn of(&self, store: &ManifestStore, latest: &Snapshot) -> Result<&[ManifestFileMeta]> {
        if let Some(read) = self.0.get() {
            return Ok(read);
        }
        let read = Arc::new(store.read_lists(latest)?);
        Ok(self.0.get_or_init(|| read))
    }
}

/// Whether the files that `delta` adds have, by the newest additions, the number of buckets of their partitions; `false`: the
/// live files must say it.
pub(super) fn are_as_newest(
    store: &ManifestStore,
    manifests: &[ManifestFileMeta],
    partition_types: &[DataType],
    delta: &[ManifestEntry],
) -> Result<bool> {
    let mut open = counts(delta);
    let mut left = manifests;
    let mut wanted = 1;
    while !open.is_empty() && !left.is_empty() {
        let bounds = PartitionBounds::of(open.keys().copied(), partition_types)?;
        let mut newest = Vec::with_capacity(wanted);
        while let (true, Some((last, older))) = (newest.len() < wanted, left.split_last()) {
            left = older;
            if last.num_added_files > 0 && bounds.may_be_in(last)? {
                newest.push(last.clone());
            }
        }
        let added = store.read_all(&newest, &|head| {
            head.kind == EntryKind::Add && head.total_buckets > 0 && open.contains_key(head.partition)
        })?;
        let differs = |entry: &ManifestEntry| open.get(entry.partition.as_slice()) != Some(&entry.total_buckets);
        if added.iter().any(differs) {
            return Ok(false);
        }
        let found: HashSet<&[u8]> = added.iter().map(|entry| entry.partition.as_slice()).collect();
        open.retain(|partition, _| !found.contains(partition));
        // a partition that is new is looked for in all manifests that may hold it: then many at once
        wanted *= 2;
    }
    Ok(true)
}

/// The number of buckets of each partition with fixed buckets that gets a file.
fn counts(delta: &[ManifestEntry]) -> HashMap<&[u8], i32> {
    let added = delta.iter().filter(|entry| entry.kind == EntryKind::Add && entry.total_buckets > 0);
    added.map(|entry| (entry.partition.as_slice(), entry.total_buckets)).collect()
}

/// A conflict when new files bring a partition the number of buckets of a schema that is not the newest any more, and no live file
/// there has that number.
///
/// # Errors
/// `CommitConflict`.
pub(super) fn check_number_is_newest(
    ctx: &TableContext,
    newest: &TableSchema,
    latest: Option<&Snapshot>,
    delta: &[ManifestEntry],
) -> Result<()> {
    let older = |entry: &&ManifestEntry| entry.file.schema_id < newest.id && entry.total_buckets > 0;
    let mut older = delta.iter().filter(|entry| entry.kind == EntryKind::Add).filter(older).peekable();
    let number = if older.peek().is_some() { number_of(newest)? } else { 0 };
    if number <= 0 {
        return Ok(());
    }
    let (mut numbers, mut stale) = (HashMap::new(), HashMap::new());
    for entry in older.filter(|entry| entry.total_buckets != number) {
        let id = entry.file.schema_id;
        let written = if let Some(written) = numbers.get(&id) {
            *written
        } else {
            let written = number_of(&*ctx.schemas.get(id)?)?;
            numbers.insert(id, written);
            written
        };
        if written == entry.total_buckets {
            stale.insert(entry.partition.as_slice(), entry);
        }
    }
    if stale.is_empty() {
        return Ok(());
    }
    if let Some(latest) = latest {
        let partitions = stale.keys().map(|partition| partition.to_vec()).collect::<HashSet<_>>();
        let filter = EntryFilter { partitions: Some(partitions), ..EntryFilter::without_statistics() };
        for live in live_entries(ctx, latest, &filter)? {
            if stale.get(live.partition.as_slice()).is_some_and(|entry| entry.total_buckets == live.total_buckets) {
                stale.remove(live.partition.as_slice());
            }
        }
    }
    let Some(entry) = stale.into_values().min_by(|a, b| a.partition.cmp(&b.partition)) else { return Ok(()) };
    let text = format!(
        "the table has {number} buckets since the option 'bucket' was changed, and the rows of a new partition were written into {}",
        entry.total_buckets
    );
    Err(Error::new(ErrorKind::CommitConflict, text)
        .of_old_handle()
        .with("table", &ctx.name)
        .with("partition", ctx.paths.partition_shown(&entry.partition).unwrap_or_default().trim_end_matches('/'))
        .with("file", &entry.file.file_name)
        .hint("open the table again and write the rows again; nothing was committed"))
}

fn number_of(schema: &TableSchema) -> Result<i32> {
    CoreOptions::parse(&schema.options).map(|options| options.bucket)
}
