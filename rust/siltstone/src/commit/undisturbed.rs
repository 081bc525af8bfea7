//! Rows that a statement has read, and writes again with other values or deletes: nobody may have changed them meanwhile.
//!
//! ```text
//! snapshot 4   UPDATE a = 'y' WHERE b = 'old' reads the row (a 'x', b 'old')
//! snapshot 5   another writer sets b = 'new'
//! snapshot 6   the statement writes the whole row: (a 'y', b 'old')                    (wrong: what snapshot 5 reported is lost)
//! ```
//!
//! Of append tables, statements that change rows need no such look: they replace files, and two that replace the same file are a
//! conflict. Of primary-key tables, rows are in conflict when a file came to the bucket whose keys may be among those that the
//! statement writes. A statement that relies on rows which it does not write, because it inserts what is not there, says what it
//! has looked for: no such row may have come or gone ([`changed_file`]). Java does not look.

use super::{
    TableCommit,
    changes::FileChanges,
    lookup_conflict::{files_meet, is_of},
    model::ReadVersion,
    overwrite::Partitions,
    plan::Source,
    request::Request,
};
use crate::{
    error::{Error, ErrorKind, Result},
    io::{TableContext, row_ids},
    manifest::{BucketId, EntryKind, ManifestEntry, ManifestStore},
    predicate::Predicate,
    scan::changed_file,
    snapshot::{CommitKind, Removals, Snapshot},
    types::DataType,
};

impl TableCommit {
    /// An error when others have written to the rows that a statement has read.
    ///
    /// # Errors
    /// `CommitConflict`.
    pub(super) fn check_undisturbed(
        &self,
        read: &ReadVersion,
        request: &Request<'_>,
        store: &ManifestStore,
        latest: Option<&Snapshot>,
        removals: &Removals,
    ) -> Result<()> {
        let (source, looked_for) = (request.source, &request.committable.looked_for);
        let Some(latest) = latest else {
            return if read.is_none() { Ok(()) } else { Err(self.disturbed("the version that was read has gone")) };
        };
        if read.as_ref().is_some_and(|read| read.is(latest)) {
            return Ok(());
        }
        let mut before = None;
        let first = match read {
            None => 0,
            Some(read) => {
                before = self.snapshots.existing([read.id])?.pop();
                if !before.as_ref().is_some_and(|found| read.is(found) && !removals.is_rolled_back(found)) {
                    return Err(self.disturbed("the version that was read has expired, or was rolled back"));
                }
                read.id
            }
        };
        let types: Vec<DataType> = self.ctx.schema.key_fields().iter().map(|field| field.data_type.clone()).collect();
        for id in first.saturating_add(1)..=latest.id {
            let Some(snapshot) = self.snapshots.existing([id])?.pop() else {
                return Err(self.disturbed("versions expire while they are looked at").with("snapshot", id));
            };
            let disturbed = match source {
                Source::Files(changes) => disturbs(&self.ctx, &snapshot, changes, store, &types)?,
                Source::Overwrite { partitions, .. } => changes_rows(&self.ctx, &snapshot, partitions, store)?,
                Source::Manifests => None,
            };
            let disturbed = match looked_for {
                Some(rows) if disturbed.is_none() => self.changed(before.as_ref(), &snapshot, rows)?,
                _ => disturbed,
            };
            before = Some(snapshot);
            if let Some(file) = disturbed {
                let text = "another commit has written to rows that the statement has read";
                return Err(self.disturbed(text).with("snapshot", id).with("file", file));
            }
        }
        // what lies where one has expired meanwhile is no version
        if self.snapshots.removals().read()?.fence > first.saturating_add(1) {
            return Err(self.disturbed("versions expire while they are looked at"));
        }
        Ok(())
    }

    /// A file that the snapshot brings or takes away, with rows that were looked for; or the index of rows that it deletes.
    fn changed(&self, before: Option<&Snapshot>, snapshot: &Snapshot, rows: &Predicate) -> Result<Option<String>> {
        let index = |snapshot: &Snapshot| snapshot.index_manifest.clone();
        let deletes = snapshot.commit_kind != CommitKind::Compact && !self.ctx.schema.has_primary_key();
        if deletes && before.and_then(index) != index(snapshot) {
            return Ok(index(snapshot).or_else(|| before.and_then(index)));
        }
        changed_file(&self.ctx, snapshot, rows)
    }

    fn disturbed(&self, text: &str) -> Error {
        Error::new(ErrorKind::CommitConflict, text)
            .with("table", &self.ctx.name)
            .hint("run the statement again: it reads the rows as they are now")
    }
}

/// A file that a snapshot brings or takes away in partitions that are replaced by their own rows. Compactions change no rows,
/// but those that give waiting ones buckets; and rows that wait are not among those that are replaced.
fn changes_rows(
    ctx: &TableContext,
    snapshot: &Snapshot,
    partitions: &Partitions,
    store: &ManifestStore,
) -> Result<Option<String>> {
    let lists = store.read_list(snapshot.delta_list())?;
    let mut delta = Vec::new();
    for entry in store.read_all(&lists, &|_| true)? {
        if partitions.contains(ctx, &entry.partition)? {
            delta.push(entry);
        }
    }
    if snapshot.commit_kind == CommitKind::Compact {
        let moved = |entry: &&ManifestEntry| entry.kind == EntryKind::Delete && entry.bucket < 0;
        return Ok(delta.iter().find(moved).map(|entry| entry.file.file_name.clone()));
    }
    Ok(delta.into_iter().find(|entry| entry.bucket >= 0).map(|entry| entry.file.into_inner().file_name))
}

/// The name of a file that has columns, or had rows, which the changes give new values (data evolution).
fn meets_rows<'e>(theirs: &ManifestEntry, mut own: impl Iterator<Item = &'e ManifestEntry>) -> Option<String> {
    let ids = row_ids(&theirs.file)?;
    let meets = |own: &ManifestEntry| {
        let same = own.partition == theirs.partition;
        same && row_ids(&own.file).is_some_and(|own| own.start < ids.end && ids.start < own.end)
    };
    own.any(meets).then(|| theirs.file.file_name.clone())
}

/// Whether a file may have records that delete their keys.
fn takes_keys_away(theirs: &ManifestEntry) -> bool {
    theirs.file.delete_row_count.is_none_or(|count| count > 0)
}

/// A file that a snapshot brings or takes away in a bucket and among the keys of the changes. Compactions change no rows.
///
/// Where an index says which buckets keys are in, those that have gone meanwhile get other buckets than they were found in; and other
/// partitions, where the key does not hold the partition.
fn disturbs(
    ctx: &TableContext,
    snapshot: &Snapshot,
    changes: &FileChanges,
    store: &ManifestStore,
    types: &[DataType],
) -> Result<Option<String>> {
    if snapshot.commit_kind == CommitKind::Compact {
        return Ok(None);
    }
    let partitions = changes.partitions();
    let is_indexed = ctx.options.bucket == -1;
    let is_anywhere = is_indexed && !types.is_empty() && !ctx.schema.key_holds_partition();
    let lists = store.read_list(snapshot.delta_list())?;
    let delta = store.read_all(&lists, &|head| is_anywhere || partitions.contains(head.partition))?;
    let own = || changes.files.iter().filter(|entry| entry.kind == EntryKind::Add);
    for theirs in &delta {
        let bucket = BucketId { partition: theirs.partition.clone(), bucket: theirs.bucket };
        if types.is_empty() {
            match meets_rows(theirs, own()) {
                Some(file) => return Ok(Some(file)),
                None => continue,
            }
        }
        let is_gone = theirs.kind == EntryKind::Delete;
        let met = |own: &&ManifestEntry| {
            let is_here = own.partition == theirs.partition;
            is_of(own, &bucket)
                || (is_here && own.total_buckets != theirs.total_buckets)
                || (is_here && is_indexed && (is_gone || is_anywhere))
                || (is_anywhere && (is_gone || takes_keys_away(theirs)))
        };
        for own in own().filter(met) {
            // what waits for buckets comes as it was written: its bounds say nothing
            let sorted = theirs.bucket >= 0 && own.bucket >= 0;
            if own.total_buckets != theirs.total_buckets || !sorted || files_meet(theirs, own, types)? {
                return Ok(Some(theirs.file.file_name.clone()));
            }
        }
    }
    Ok(None)
}
