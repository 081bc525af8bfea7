//! Rows, part four, of tables with dynamic buckets: the index says of each key which bucket it is in, and it is there.
//!
//! A data file is read again only where the index file of its bucket is another one.

use std::collections::{BTreeMap, HashMap, HashSet};

use rayon::prelude::*;

use super::{
    Check,
    fault::{Fault, unread},
};
use crate::{
    cancel,
    commit::key_hashes,
    error::{ErrorKind, Result},
    index::{HashIndexFiles, PartitionIndex},
    io::TableContext,
    manifest::{BucketId, DataFileMeta, IndexManifestEntry},
    scan::{EntryFilter, bucket_hashes, has_hash_index, live_entries},
    snapshot::Snapshot,
    threads::in_pool,
};

const REASSIGN: &str = "overwrite the partition with its own rows, each key once: its index is made anew";

/// Data files that were compared with an index file of their bucket.
type Known = HashSet<(String, String)>;

impl Check<'_> {
    /// Compares the keys of all versions of tables with dynamic buckets with the index.
    pub(super) fn hashes(&mut self, versions: &[(TableContext, Snapshot)]) -> Result<()> {
        let mut known = Known::new();
        for (ctx, version) in versions.iter().filter(|(ctx, _)| has_hash_index(ctx)) {
            let place = format!("{}/snapshot-{}", ctx.branch, version.id);
            // what cannot be listed is a finding already
            let Ok(mut index) = bucket_hashes(ctx, version, |_| true) else { continue };
            let Ok(live) = live_entries(ctx, version, &EntryFilter::default()) else { continue };
            let mut partitions: BTreeMap<Vec<u8>, Vec<(BucketId, DataFileMeta)>> = BTreeMap::new();
            for entry in live {
                let bucket = BucketId { partition: entry.partition.clone(), bucket: entry.bucket };
                partitions.entry(entry.partition).or_default().push((bucket, entry.file));
            }
            for (partition, files) in partitions {
                cancel::check()?;
                let entries = index.remove(&partition).unwrap_or_default();
                self.hashes_of_partition(ctx, &place, entries, files, &mut known)?;
            }
        }
        self.verdict.count("data files compared with a hash index", known.len());
        Ok(())
    }

    fn hashes_of_partition(
        &mut self,
        ctx: &TableContext,
        place: &str,
        entries: Vec<IndexManifestEntry>,
        mut files: Vec<(BucketId, DataFileMeta)>,
        known: &mut Known,
    ) -> Result<()> {
        let names: HashMap<i32, String> = entries.iter().map(|e| (e.bucket, e.file_name.clone())).collect();
        let name_of = |bucket: i32| names.get(&bucket).cloned().unwrap_or_default();
        files.retain(|(bucket, file)| known.insert((file.file_name.clone(), name_of(bucket.bucket))));
        if files.is_empty() {
            return Ok(());
        }
        let reader = HashIndexFiles::new(&ctx.fs, &ctx.paths, &ctx.options);
        let index = match PartitionIndex::load(&reader, entries) {
            Ok(index) => index,
            Err(e) => {
                if let Some(fault) = unread("bad-hash-index", e)? {
                    self.fault(place, Fault { repair: REASSIGN, ..fault });
                }
                return Ok(());
            }
        };
        let compare = cancel::carried(|(bucket, file): &(BucketId, DataFileMeta)| compared(ctx, &index, bucket, file));
        let found: Vec<Option<Fault>> = in_pool(|| files.par_iter().map(compare).collect::<Result<_>>())?;
        for fault in found.into_iter().flatten() {
            self.fault(place, fault);
        }
        Ok(())
    }
}

/// A fault when a key of a file is not where the index says.
fn compared(
    ctx: &TableContext,
    index: &PartitionIndex,
    bucket: &BucketId,
    file: &DataFileMeta,
) -> Result<Option<Fault>> {
    cancel::check()?;
    let hashes = match key_hashes(ctx, bucket, file) {
        Ok(hashes) => hashes,
        Err(e) if e.kind() == ErrorKind::MemoryLimitExceeded => return Err(e),
        // a finding of its own
        Err(_) => return Ok(None),
    };
    let (mut missing, mut elsewhere) = (0_usize, 0_usize);
    for hash in hashes {
        match index.bucket_of(hash) {
            None => missing += 1,
            Some(other) if other != bucket.bucket => elsewhere += 1,
            Some(_) => {}
        }
    }
    let (name, number) = (&file.file_name, bucket.bucket);
    let (code, message) = if elsewhere > 0 {
        let message = format!("{name} of bucket {number} has {elsewhere} keys that the index has in another bucket");
        ("key-in-wrong-bucket", message)
    } else if missing > 0 {
        let message = format!("{name} of bucket {number} has {missing} keys that the index does not have");
        ("key-not-in-index", message)
    } else {
        return Ok(None);
    };
    Ok(Some(Fault { code, message, repair: REASSIGN, mild: false }))
}
