//! Files that were rewritten under an older schema than their own.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::{changes::FileChanges, lookup_conflict::is_of};
use crate::{
    error::{ErrorKind, Result},
    io::{TableContext, altered, lost_column},
    manifest::{EntryKind, ManifestEntry},
    merge_tree::compact::looks_values_up,
};

/// A conflict when rows of replaced files (or of live ones in which keys were looked up) have become rows of an older schema,
/// without some of their columns or with other values: whoever rewrote them had opened the table before an alter. Files that only
/// change their level stay what they are; their changes in a changelog do not.
pub(super) fn check_columns_kept(ctx: &TableContext, base: &[ManifestEntry], changes: &FileChanges) -> Result<()> {
    let added = changes.files.iter().filter(|entry| entry.kind == EntryKind::Add);
    let stay: HashSet<&str> = added.clone().map(|entry| entry.file.file_name.as_str()).collect();
    let (mut rewritten, mut all) = (Schemas::default(), Schemas::default());
    for entry in changes.files.iter().filter(|entry| entry.kind == EntryKind::Delete) {
        all.add(entry);
        if !stay.contains(entry.file.file_name.as_str()) {
            rewritten.add(entry);
        }
    }
    if ctx.schema.has_primary_key() && looks_values_up(&ctx.options) {
        for entry in base.iter().filter(|entry| changes.seen.keys().any(|bucket| is_of(entry, bucket))) {
            all.add(entry);
            rewritten.add(entry);
        }
    }
    let made = added.filter(|entry| !all.moves(entry)).map(|entry| (entry, &rewritten));
    for (entry, sources) in made.chain(changes.changelog.iter().map(|entry| (entry, &all))) {
        for from in sources.of(entry) {
            if let Some(column) = lost_column(ctx, from, entry.file.schema_id)? {
                return Err(altered(ctx, &column, ErrorKind::CommitConflict).with("bucket", entry.bucket));
            }
        }
    }
    Ok(())
}

/// The schemas by which records of a compaction were merged.
pub(super) fn merged_by(ctx: &TableContext, changes: &FileChanges) -> BTreeSet<i64> {
    let mut all = Schemas::default();
    changes.files.iter().filter(|entry| entry.kind == EntryKind::Delete).for_each(|entry| all.add(entry));
    let made = changes.files.iter().filter(|entry| entry.kind == EntryKind::Add && !all.moves(entry));
    made.chain(&changes.changelog).map(|entry| entry.file.schema_id).chain([ctx.schema.id]).collect()
}

/// The schemas of files by bucket.
#[derive(Debug, Default)]
struct Schemas<'a> {
    buckets: HashMap<(&'a [u8], i32), BTreeSet<i64>>,
    files: HashSet<&'a str>,
}

impl<'a> Schemas<'a> {
    fn add(&mut self, entry: &'a ManifestEntry) {
        self.buckets.entry((&entry.partition, entry.bucket)).or_default().insert(entry.file.schema_id);
        self.files.insert(&entry.file.file_name);
    }

    /// Whether the entry adds one of the files: in another level.
    fn moves(&self, entry: &ManifestEntry) -> bool {
        self.files.contains(entry.file.file_name.as_str())
    }

    fn of(&self, entry: &ManifestEntry) -> Vec<i64> {
        let schemas = self.buckets.get(&(entry.partition.as_slice(), entry.bucket));
        schemas.map(|schemas| schemas.iter().copied().collect()).unwrap_or_default()
    }
}
