//! The keys of the whole table, as a writer finds them: of the newest version, of all levels, key columns alone.
//!
//! Source: `IndexBootstrap`.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rayon::prelude::*;

use super::{KeyColumns, Known, partitions::Partitions};
use crate::{
    cancel,
    env::{local_to_instant, now_millis},
    error::Result,
    index::{KeyHash, KeyPlaces},
    io::TableContext,
    manifest::DataFileMeta,
    options::CoreOptions,
    read::read_split,
    scan::{
        Resolved, ScanRequest,
        overtaken::{again_when_overtaken, at_newest},
        plan_at,
    },
    snapshot::{RemovedSnapshot, Snapshot},
    threads::install,
    wire::Split,
};

/// How an index is made.
pub(super) struct Bootstrap<'a> {
    pub(super) ctx: &'a TableContext,
    pub(super) key: &'a KeyColumns,
    pub(super) threads: usize,
    /// An empty index.
    pub(super) places: &'a dyn Fn() -> KeyPlaces,
}

impl Bootstrap<'_> {
    /// Of the newest version.
    ///
    /// # Errors
    /// `CorruptFile` when a key lives in two places.
    pub(super) fn load(&self) -> Result<Known> {
        // what a reader of this handle would be shown is not all
        let options = CoreOptions { scan_bucket: None, ..(*self.ctx.options).clone() };
        let ctx = TableContext { options: Arc::new(options), ..self.ctx.clone() };
        again_when_overtaken(&ctx, || {
            at_newest(&ctx, |newest| match newest {
                Some(newest) => self.load_at(&ctx, newest),
                None => Ok(Known::empty((self.places)())),
            })
        })
        .map_err(|e| e.in_table(&self.ctx.name))
    }

    fn load_at(&self, ctx: &TableContext, newest: &Snapshot) -> Result<Known> {
        let columns = ctx.schema.primary_keys.clone();
        let request = ScanRequest { columns: Some(columns), all_levels: true, ..ScanRequest::default() };
        let planned = plan_at(ctx, &request, &Resolved::snapshot(ctx, newest))?;
        let mut partitions = Partitions::default();
        let mut places = Vec::new();
        let mut splits = planned.splits;
        if let Some(ttl) = ctx.options.cross_partition_index_ttl {
            let now = now_millis();
            splits.retain(|split| is_young(split, now, ttl));
        }
        for split in &splits {
            places.push(partitions.place(&split.bucket.partition, split.bucket.bucket)?);
        }
        let index = (self.places)();
        let hasher = index.hasher();
        let shared = Mutex::new((index, HashMap::new()));
        let read = |(split, place): (&Split, &u64)| -> Result<()> {
            for batch in read_split(&planned.ctx, split, &planned.read)? {
                cancel::check()?;
                let hashes: Vec<KeyHash> = self.key.hashes(batch?.columns(), &hasher)?;
                let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
                let (index, keys) = &mut *shared;
                *keys.entry(*place).or_insert(0_u64) += u64::try_from(hashes.len()).unwrap_or_default();
                hashes.into_iter().try_for_each(|hash| index.put(hash, *place))?;
            }
            Ok(())
        };
        let parallelism = usize::try_from(ctx.options.cross_partition_bootstrap_parallelism).unwrap_or(usize::MAX);
        let threads = self.threads.min(parallelism).min(splits.len());
        // without threads to be had the work is done on the caller's
        let pool = (threads > 1).then(|| rayon::ThreadPoolBuilder::new().num_threads(threads).build().ok()).flatten();
        match pool {
            None => splits.iter().zip(&places).try_for_each(read)?,
            Some(pool) => {
                let read = cancel::carried(read);
                install(&pool, || splits.par_iter().zip(&places).try_for_each(read))?;
            }
        }
        let (mut index, keys) = shared.into_inner().unwrap_or_else(PoisonError::into_inner);
        index.settle()?;
        for (place, keys) in keys {
            partitions.add(place, keys);
        }
        let base = RemovedSnapshot { commit: None, ..RemovedSnapshot::from(newest) };
        Ok(Known { places: index, partitions, base, made_at: now_millis() })
    }
}

/// Whether a file of the split is not older than the index remembers.
fn is_young(split: &Split, now: i64, ttl: Duration) -> bool {
    let ttl = i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX);
    split.files.iter().any(|file| now <= created(file).saturating_add(ttl))
}

/// Epoch milliseconds; a file that does not say is as young as can be.
fn created(file: &DataFileMeta) -> i64 {
    let local = file.creation_time.map(chrono::DateTime::from_timestamp_millis);
    local.flatten().map_or(i64::MAX, |local| local_to_instant(local.naive_utc()))
}
