//! Buckets whose compactions a writer gave up because others had compacted their files: it looks at them again and goes on.
//!
//! ```text
//! prepare_commit ── gives the compaction up, hands out the rows ── commit ── next write: the bucket as it is now
//! ```
//!
//! A file that was handed out and is not committed yet is in no snapshot. A bucket without it would be compacted without
//! rows that are older than those above them, so the writer waits until everything it handed out is decided.

use std::collections::HashSet;

use super::{
    TableWrite,
    restore::{self, Restored},
};
use crate::{
    cancel,
    error::{ErrorKind, Result},
    io::TableContext,
    manifest::{BucketId, ManifestStore, data_file_in},
    scan::overtaken::again_when_overtaken,
};

impl TableWrite {
    /// Opens the writers again that were overtaken, where nothing of theirs waits for its commit. Once after each
    /// `prepare_commit`; what fails here is tried again after the next.
    pub(super) fn reopen_overtaken(&mut self) -> Result<()> {
        if !std::mem::take(&mut self.overtaken) {
            return Ok(());
        }
        let overtaken = self.writers.iter().filter(|(_, writer)| writer.is_overtaken());
        let buckets: Vec<BucketId> = overtaken.map(|(bucket, _)| bucket.clone()).collect();
        if buckets.is_empty() {
            return Ok(());
        }
        let ctx = self.ctx.clone();
        if let Err(error) = again_when_overtaken(&ctx, || self.reopen(&buckets)) {
            cancel::check()?;
            tracing::info!(table = ctx.name, %error, "the buckets of a writer that was overtaken were not looked at again");
        }
        Ok(())
    }

    fn reopen(&mut self, buckets: &[BucketId]) -> Result<()> {
        let mut found = restore::live_files(&self.ctx, &buckets.iter().collect::<Vec<_>>(), |_, _| Ok(()))?;
        for bucket in buckets {
            let restored = found.buckets.remove(bucket).unwrap_or_default();
            let Some(old) = self.writers.get(bucket) else { continue };
            let seen = self.base_snapshots.get(bucket).map_or(0, |seen| seen.snapshot.id);
            if is_undecided(&self.ctx, bucket, &restored, old.file_names(), seen)? {
                continue;
            }
            let writer = self.new_writer(bucket, restored)?.continuing(old);
            self.base_snapshots.insert(bucket.clone(), found.snapshot.clone().into());
            if let Some(old) = self.writers.insert(bucket.clone(), writer) {
                old.abort();
            }
        }
        Ok(())
    }
}

/// Whether one of the files that a writer knows is there, and no snapshot after the one that it began with tells what became
/// of it: it waits for its commit.
fn is_undecided(ctx: &TableContext, bucket: &BucketId, live: &Restored, known: Vec<String>, seen: i64) -> Result<bool> {
    let mut open: HashSet<String> = known.into_iter().collect();
    for file in &live.files {
        open.remove(&file.file_name);
    }
    let snapshots = ctx.snapshots();
    let store = ManifestStore::new(&ctx.fs, &ctx.paths, &ctx.options)?;
    for id in snapshots.listed_ids()?.into_iter().filter(|id| *id > seen) {
        if open.is_empty() {
            return Ok(false);
        }
        let entries = snapshots.get(id).and_then(|snapshot| {
            let manifests = store.read_list(snapshot.delta_list())?;
            store.read_all(&manifests, &|head| head.partition == bucket.partition.as_slice())
        });
        match entries {
            Ok(entries) => open.retain(|name| entries.iter().all(|entry| entry.file.file_name != *name)),
            // it is expiring
            Err(e) if is_gone(e.kind()) => {}
            Err(e) => return Err(e),
        }
    }
    let directory = ctx.paths.bucket_dir(&bucket.partition, bucket.bucket)?;
    for name in open {
        if ctx.fs.is_file(&data_file_in(&directory, &name, None))? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn is_gone(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::FileNotFound | ErrorKind::SnapshotExpired | ErrorKind::SnapshotNotFound)
}
