//! An overwrite and the compaction of what it brings, as one snapshot.
//!
//! ```text
//! as Java   OVERWRITE  - old files  + f1 f2 (level 0)    readers that leave level 0 out find an empty table
//!           COMPACT    - f1 f2  + f3 (level 5)           until this snapshot is there, or for good when it never comes
//! here      OVERWRITE  - old files  + f3 (level 5)
//! ```
//!
//! Java makes snapshots of this form, too, where nothing has to be merged (`overwrite-upgrade`). Only tables whose readers
//! leave level 0 out are written so; what the compaction replaced was never part of the table and is deleted, unless the
//! messages were handed out: then orphan cleaning deletes it.
//!
//! Source: requirement DV-01, semantics e.6; `FileStoreCommitImpl.tryUpgrade`.

use std::collections::{HashMap, HashSet};

use super::changes::FileChanges;
use crate::{
    io::TableContext,
    manifest::{EntryId, EntryKind, IndexManifestEntry, ManifestEntry},
};

/// One change instead of two.
#[derive(Debug)]
pub(super) struct Squashed {
    pub(super) changes: FileChanges,
    /// New files that the compaction replaced.
    files: Vec<ManifestEntry>,
    /// New index files that later ones replaced.
    index: Vec<IndexManifestEntry>,
}

/// What is left of new files after their compaction; `None` where readers read level 0, and when the compaction takes away
/// anything else.
pub(super) fn squashed(ctx: &TableContext, new: &FileChanges, compact: &FileChanges) -> Option<Squashed> {
    let skips_level0 = ctx.options.deletion_vectors_enabled || ctx.options.merge_engine.oldest_wins();
    if !skips_level0 || ctx.schema.primary_keys.is_empty() || compact.files.is_empty() {
        return None;
    }
    let (left, mut files) = net(&new.files, &compact.files, |entry| (entry.kind, entry.id()))?;
    let stay: HashSet<EntryId> = left.iter().map(|entry| EntryId { level: 0, ..entry.id() }).collect();
    files.retain(|entry| !stay.contains(&EntryId { level: 0, ..entry.id() }));
    let key = |entry: &IndexManifestEntry| {
        (entry.kind, (entry.partition.clone(), entry.bucket, entry.index_type.clone(), entry.file_name.clone()))
    };
    let (left_index, index) = net(&new.index, &compact.index, key)?;
    let changes =
        FileChanges { files: left, changelog: new.changelog.clone(), index: left_index, ..FileChanges::default() };
    let changes = FileChanges { assigned: new.assigned.clone(), ..changes };
    Some(Squashed { changes, files, index })
}

/// What is added in the end, and what was added and taken away again; `None` when anything else is taken away.
fn net<E: Clone, K: Eq + std::hash::Hash>(
    first: &[E],
    second: &[E],
    key: impl Fn(&E) -> (EntryKind, K),
) -> Option<(Vec<E>, Vec<E>)> {
    let mut left: Vec<Option<E>> = Vec::new();
    let mut places: HashMap<K, usize> = HashMap::new();
    let mut gone = Vec::new();
    for entry in first.iter().chain(second) {
        match key(entry) {
            (EntryKind::Add, key) => {
                places.insert(key, left.len());
                left.push(Some(entry.clone()));
            }
            (EntryKind::Delete, key) => gone.extend(left.get_mut(places.remove(&key)?)?.take()),
        }
    }
    Some((left.into_iter().flatten().collect(), gone))
}

impl Squashed {
    /// Deletes what is of no use once the snapshot is there. A failure is logged: orphan cleaning finds the rest.
    pub(super) fn delete_replaced(&self, ctx: &TableContext) {
        let data = self.files.iter().flat_map(|entry| {
            let (partition, bucket, file) = (&entry.partition, entry.bucket, &entry.file);
            let extra = ctx.paths.extra_files(partition, bucket, file).unwrap_or_default();
            std::iter::once(ctx.paths.data_file(partition, bucket, file)).chain(extra.into_iter().map(Ok))
        });
        for path in data.chain(self.index.iter().map(|entry| ctx.paths.index_file_of(entry))) {
            if let Err(error) = path.and_then(|path| ctx.fs.delete(&path)) {
                tracing::warn!(table = ctx.name, %error, "a file that a compaction replaced was not deleted");
            }
        }
    }
}
