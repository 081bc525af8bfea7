//! Which rows of the files of a scan are deleted by deletion vectors (semantics d.4).

use std::collections::{BTreeMap, HashMap};

use crate::{
    deletion_vectors::DELETION_VECTORS,
    error::{Error, ErrorKind, Result},
    index::HASH,
    io::TableContext,
    manifest::{BucketId, DeletionVectorRange, EntryKind, IndexManifestEntry, ManifestEntry, ManifestStore},
    snapshot::Snapshot,
};

/// Whether keys have their buckets in an index.
pub(crate) fn has_hash_index(ctx: &TableContext) -> bool {
    ctx.options.bucket == -1 && ctx.schema.key_holds_partition()
}

/// Whether a key may come in any partition, and is in one bucket of the table: cross-partition upsert.
pub(crate) fn has_key_places(ctx: &TableContext) -> bool {
    ctx.options.bucket == -1 && ctx.schema.has_primary_key() && !ctx.schema.key_holds_partition()
}

/// An error when an index file is of a kind that siltstone does not know: it might say which rows there are. Global
/// indexes only say where to look.
pub fn check_index_kinds(ctx: &TableContext, manifest: &str, entries: &[IndexManifestEntry]) -> Result<()> {
    let known = |entry: &&IndexManifestEntry| {
        matches!(entry.index_type.as_str(), DELETION_VECTORS | HASH) || entry.global_index.is_some()
    };
    if let Some(entry) = entries.iter().find(|entry| entry.kind != EntryKind::Add) {
        return Err(Error::new(ErrorKind::CorruptFile, "an index manifest holds an entry that deletes a file")
            .with("table", &ctx.name)
            .with("file", ctx.paths.manifest(manifest)?)
            .with("index_file", &entry.file_name));
    }
    match entries.iter().find(|entry| !known(entry)) {
        None => Ok(()),
        Some(entry) => Err(Error::unsupported(format!("an index file of the kind '{}'", entry.index_type))
            .with("table", &ctx.name)
            .with("file", ctx.paths.manifest(manifest)?)
            .with("index_file", &entry.file_name)),
    }
}

/// The index files of type `DELETION_VECTORS` that a snapshot has, by bucket. An error when it has others that are not
/// known.
pub fn bucket_vectors(ctx: &TableContext, snapshot: &Snapshot) -> Result<BTreeMap<BucketId, Vec<IndexManifestEntry>>> {
    let Some(name) = &snapshot.index_manifest else {
        return Ok(BTreeMap::new());
    };
    let store = ManifestStore::new(&ctx.fs, &ctx.paths, &ctx.options)?;
    vectors_among(ctx, name, store.read_index(name).map_err(|e| e.in_table(&ctx.name))?)
}

/// The same of the entries of an index manifest.
pub(crate) fn vectors_among(
    ctx: &TableContext,
    name: &str,
    all: Vec<IndexManifestEntry>,
) -> Result<BTreeMap<BucketId, Vec<IndexManifestEntry>>> {
    check_index_kinds(ctx, name, &all)?;
    let mut buckets: BTreeMap<BucketId, Vec<IndexManifestEntry>> = BTreeMap::new();
    for index in all.into_iter().filter(|index| index.index_type == DELETION_VECTORS) {
        check_number(ctx, name, &index)?;
        let bucket = BucketId { partition: index.partition.clone(), bucket: index.bucket };
        buckets.entry(bucket).or_default().push(index);
    }
    Ok(buckets)
}

/// The index files of type `HASH` that a snapshot has of some partitions, by partition, as its index manifest orders them.
pub fn bucket_hashes(
    ctx: &TableContext,
    snapshot: &Snapshot,
    wanted: impl Fn(&Vec<u8>) -> bool,
) -> Result<HashMap<Vec<u8>, Vec<IndexManifestEntry>>> {
    let name = snapshot.index_manifest.as_deref();
    name.map_or_else(|| Ok(HashMap::new()), |name| hashes_of_manifest(ctx, name, wanted))
}

/// The same of an index manifest.
pub(crate) fn hashes_of_manifest(
    ctx: &TableContext,
    name: &str,
    wanted: impl Fn(&Vec<u8>) -> bool,
) -> Result<HashMap<Vec<u8>, Vec<IndexManifestEntry>>> {
    let mut partitions: HashMap<Vec<u8>, Vec<IndexManifestEntry>> = HashMap::new();
    let store = ManifestStore::new(&ctx.fs, &ctx.paths, &ctx.options)?;
    let all = store.read_index(name).map_err(|e| e.in_table(&ctx.name))?;
    check_index_kinds(ctx, name, &all)?;
    for index in all.into_iter().filter(|index| index.index_type == HASH && wanted(&index.partition)) {
        partitions.entry(index.partition.clone()).or_default().push(index);
    }
    Ok(partitions)
}

/// An error when an entry does not name as many vectors as it says it has: the rows of the others would come back.
fn check_number(ctx: &TableContext, manifest: &str, index: &IndexManifestEntry) -> Result<()> {
    let named = index.deletion_vectors.as_ref().map_or(0, Vec::len);
    if i64::try_from(named).is_ok_and(|named| named == index.row_count) {
        return Ok(());
    }
    let text = format!("an index manifest names {named} of the {} vectors of an index file", index.row_count);
    Err(Error::new(ErrorKind::CorruptFile, text)
        .with("table", &ctx.name)
        .with("file", ctx.paths.manifest(manifest)?)
        .with("index_file", &index.file_name)
        .with("expected", index.row_count)
        .with("found", named))
}

/// An error when a vector is said to delete fewer rows than none, or more than its data file has: rows are counted by it.
pub fn check_cardinality(range: &DeletionVectorRange, rows: i64) -> Result<()> {
    match range.cardinality {
        Some(said) if !(0..=rows).contains(&said) => {
            let text = format!("the index manifest says that {said} rows of a data file of {rows} rows are deleted");
            Err(Error::new(ErrorKind::CorruptFile, text)
                .with("data_file", &range.data_file_name)
                .with("expected", format!("0 to {rows}"))
                .with("found", said))
        }
        _ => Ok(()),
    }
}

/// Where the deletion vectors of some data files are.
#[derive(Debug, Default)]
pub(super) struct DeletionFiles(HashMap<BucketId, HashMap<String, (String, DeletionVectorRange)>>);

impl DeletionFiles {
    /// Those of the snapshot, of the files in `entries`; two vectors for one file are an error. A vector for another file says
    /// nothing: full compactions of Java 1.4 leave those of the files that they replace.
    pub(super) fn of(ctx: &TableContext, snapshot: &Snapshot, entries: &[ManifestEntry]) -> Result<Self> {
        if snapshot.index_manifest.is_none() {
            return Ok(Self::default());
        }
        let mut live: HashMap<BucketId, HashMap<&str, i64>> = HashMap::new();
        for entry in entries {
            let bucket = BucketId { partition: entry.partition.clone(), bucket: entry.bucket };
            live.entry(bucket).or_default().insert(&entry.file.file_name, entry.file.row_count);
        }
        let mut found: HashMap<BucketId, HashMap<String, (String, DeletionVectorRange)>> = HashMap::new();
        for (bucket, index) in bucket_vectors(ctx, snapshot)?
            .into_iter()
            .flat_map(|(bucket, all)| all.into_iter().map(move |index| (bucket.clone(), index)))
        {
            let Some(files) = live.get(&bucket) else { continue };
            let path = ctx.paths.index_file_of(&index)?;
            let vectors = found.entry(bucket).or_default();
            for range in index.deletion_vectors.iter().flatten() {
                let wrong = |text: &str| {
                    Error::new(ErrorKind::CorruptFile, text)
                        .with("table", &ctx.name)
                        .with("snapshot", snapshot.id)
                        .with("file", &path)
                        .with("offset", range.offset)
                        .with("data_file", &range.data_file_name)
                };
                let Some(rows) = files.get(range.data_file_name.as_str()) else { continue };
                check_cardinality(range, *rows).map_err(|e| e.with("table", &ctx.name).with("file", &path))?;
                if vectors.insert(range.data_file_name.clone(), (path.clone(), range.clone())).is_some() {
                    return Err(wrong("a data file has two deletion vectors"));
                }
            }
        }
        Ok(Self(found))
    }

    /// Whether any row is deleted.
    pub(super) fn is_empty(&self) -> bool {
        self.0.values().all(HashMap::is_empty)
    }

    /// The vector of a file.
    pub(super) fn get(&self, bucket: &BucketId, file: &str) -> Option<(String, DeletionVectorRange)> {
        self.0.get(bucket)?.get(file).cloned()
    }
}
