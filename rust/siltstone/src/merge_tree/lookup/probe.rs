//! Looking sorted keys up in the levels above a compaction's output.
#![allow(clippy::indexing_slicing, reason = "keys, files and rows are numbered here")]

use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::{
    cache::LookupCache,
    file::{KeyFile, Wanted},
    keys::KeyEncoder,
};
use crate::{
    Result,
    io::{FileReadSpec, KvLayout, TableContext, filtered_rows, joined_rows},
    manifest::DataFileMeta,
    merge_tree::{
        BucketVectors, LevelSortedRun,
        expiry::RecordExpiry,
        merge::wrapper::{Hits, Probe},
    },
};

/// A file of an older level and its key range.
struct Candidate {
    meta: DataFileMeta,
    min: Vec<u8>,
    max: Vec<u8>,
}

/// Runs of older levels, the lowest level first: a key counts where it is found first.
pub(crate) struct LevelProbe {
    ctx: TableContext,
    partition: Vec<u8>,
    bucket: i32,
    keys: KeyEncoder,
    runs: Vec<Vec<Candidate>>,
    cache: LookupCache,
    schema: SchemaRef,
    /// how whole records are read; `None` looks for existence only
    records: Option<FileReadSpec>,
    /// rows that are found get deleted; those that are deleted already are not found
    vectors: Option<BucketVectors>,
    /// records that are too old have no part in merging
    expiry: Option<RecordExpiry>,
}

impl LevelProbe {
    /// A probe of some runs; `None` when there is nothing to look at. `values`: whole records are wanted.
    pub(crate) fn new(
        ctx: &TableContext,
        partition: &[u8],
        bucket: i32,
        layout: &KvLayout,
        runs: &[LevelSortedRun],
        values: bool,
        cache: &LookupCache,
    ) -> Result<Option<Self>> {
        let keys = KeyEncoder::new(ctx)?;
        let candidate = |meta: &DataFileMeta| {
            let key = |bytes: &[u8]| keys.serialized(bytes).map_err(|e| e.with("file", &meta.file_name));
            Ok(Candidate { min: key(&meta.min_key)?, max: key(&meta.max_key)?, meta: meta.clone() })
        };
        let mut sorted: Vec<&LevelSortedRun> = runs.iter().filter(|run| !run.run.files.is_empty()).collect();
        sorted.sort_by_key(|run| run.level);
        let runs = sorted.into_iter().map(|run| run.run.files.iter().map(candidate).collect());
        let runs = runs.collect::<Result<Vec<Vec<Candidate>>>>()?;
        if runs.is_empty() {
            return Ok(None);
        }
        let records = values.then(|| FileReadSpec { system: true, ..FileReadSpec::new(layout.fields.clone()) });
        Ok(Some(Self {
            ctx: ctx.clone(),
            partition: partition.to_vec(),
            bucket,
            keys,
            runs,
            cache: cache.clone(),
            schema: layout.arrow_schema()?,
            records,
            vectors: None,
            expiry: None,
        }))
    }

    /// Deletes what is found. Without values nothing more is told of it: it has no part in merging.
    pub(crate) fn marking(self, vectors: Option<BucketVectors>) -> Self {
        Self { vectors, ..self }
    }

    /// Whole records that are too old are not found.
    pub(crate) fn without_expired(self, expiry: Option<RecordExpiry>) -> Self {
        Self { expiry, ..self }
    }

    fn open(&self, file: &DataFileMeta) -> Result<Arc<KeyFile>> {
        let open = || KeyFile::open(&self.ctx, &self.partition, self.bucket, file, &self.keys);
        self.cache.file(&file.file_name, open)
    }

    /// Looks for open keys in one run; what is found is not open any more.
    fn search(
        &self,
        run: &[Candidate],
        wanted: &mut Vec<usize>,
        whole: &arrow_row::Rows,
        columns: &[arrow_row::Rows],
        found: &mut Found,
    ) -> Result<()> {
        let mut from = 0;
        let mut hit = vec![false; wanted.len()];
        for file in run {
            let row = |place: usize| whole.row(wanted[place]);
            let start = from + partition_point(wanted.len() - from, |i| row(from + i).as_ref() < file.min.as_slice());
            let end = start + partition_point(wanted.len() - start, |i| row(start + i).as_ref() <= file.max.as_slice());
            from = end;
            if start == end {
                continue;
            }
            let open = self.open(&file.meta)?;
            let part = Wanted { whole, columns, open: &wanted[start..end] };
            let mut hits = open.find(&self.ctx, &self.keys, &part, &self.cache, &file.meta.file_name)?;
            if let Some(vectors) = &self.vectors {
                vectors.claim(&file.meta.file_name, &mut hits)?;
            }
            for key in self.fetch(&open, &hits, found)? {
                if let Ok(at) = wanted[start..end].binary_search(&key) {
                    hit[start + at] = true;
                }
            }
        }
        let mut hit = hit.into_iter();
        wanted.retain(|_| !hit.next().unwrap_or(false));
        Ok(())
    }

    /// Notes hits of one file, with their records when they are wanted. Returns the keys that are not looked for any more.
    fn fetch(&self, file: &KeyFile, hits: &[(usize, i64)], found: &mut Found) -> Result<Vec<usize>> {
        let mut keys: Vec<usize> = hits.iter().map(|(key, _)| *key).collect();
        if hits.is_empty() || self.vectors.is_some() && self.records.is_none() {
            return Ok(keys);
        }
        if let Some(spec) = &self.records {
            let positions: Vec<i64> = hits.iter().map(|(_, position)| *position).collect();
            let mut kept = Vec::with_capacity(keys.len());
            for piece in file.records(&self.ctx, spec, &positions, &mut found.held)? {
                let Some(expiry) = &self.expiry else {
                    found.pieces.push(piece);
                    continue;
                };
                let mask = expiry.mask(&piece)?;
                kept.extend(mask.values());
                found.pieces.push(filtered_rows(&piece, &mask)?);
            }
            if self.expiry.is_some() {
                let mut kept = kept.into_iter();
                keys.retain(|_| kept.next().unwrap_or(false));
            }
        }
        for (row, key) in keys.iter().enumerate() {
            found.of_key[*key] = Some(found.rows + row);
        }
        found.rows += keys.len();
        Ok(keys)
    }
}

/// What was found so far.
struct Found {
    of_key: Vec<Option<usize>>,
    rows: usize,
    pieces: Vec<RecordBatch>,
    /// Bytes of the pieces.
    held: usize,
}

impl Probe for LevelProbe {
    fn probe(&mut self, keys: &RecordBatch) -> Result<Hits> {
        let whole = self.keys.whole(keys)?;
        let columns = self.keys.columns(keys)?;
        let mut wanted: Vec<usize> = (0..keys.num_rows()).collect();
        let mut found = Found { of_key: vec![None; keys.num_rows()], rows: 0, pieces: Vec::new(), held: 0 };
        for run in &self.runs {
            if wanted.is_empty() {
                break;
            }
            self.search(run, &mut wanted, &whole, &columns, &mut found)?;
        }
        Ok(Hits { of_key: found.of_key, rows: joined_rows(&self.schema, &found.pieces)? })
    }
}

/// One probe for all sections of a compaction.
#[derive(Clone)]
pub(crate) struct SharedProbe(Arc<Mutex<LevelProbe>>);

impl SharedProbe {
    /// Shares a probe.
    pub(crate) fn new(probe: LevelProbe) -> Self {
        Self(Arc::new(Mutex::new(probe)))
    }
}

impl Probe for SharedProbe {
    fn probe(&mut self, keys: &RecordBatch) -> Result<Hits> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).probe(keys)
    }
}

/// The first of `count` places that `below` does not hold for.
fn partition_point(count: usize, below: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = usize::midpoint(low, high);
        if below(middle) { low = middle + 1 } else { high = middle }
    }
    low
}
