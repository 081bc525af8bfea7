//! Reading and writing the files of the manifest directory.

use std::{
    collections::HashMap,
    sync::{Arc, OnceLock},
};

use super::{
    Compiled, EntryHead, EntryKind, IndexManifestEntry, KeepEntry, KeepFile, ManifestEntry, ManifestFileMeta,
    decode_index_manifest, decode_manifest_list, each_once, encode, encode_index_manifest, encode_manifest_list,
    encoding::ManifestEncoding, partition::KnownPartitions, rows::Records, schemas::MANIFEST,
};
use crate::{
    cancel,
    error::{Error, ErrorKind, Result},
    format::avro::ContainerWriter,
    fs::{FileIoRef, METADATA_BYTES},
    limits,
    options::CoreOptions,
    path::{MetaNames, PathFactory},
    row::BinaryRow,
    snapshot::{NamedList, Snapshot},
    stats::{ColumnStats, encode_stats},
    threads::try_map,
    types::DataType,
};
use bytes::Bytes;

/// Bytes of manifests that one thread reads on a local disk.
const LITTLE: i64 = 64 * 1024;

/// Manifests, manifest lists and index manifests of one table. Cheap to make; a commit makes its own.
#[derive(Debug)]
pub struct ManifestStore {
    fs: FileIoRef,
    paths: Arc<PathFactory>,
    names: MetaNames,
    encoding: ManifestEncoding,
    target_size: u64,
    sync: bool,
    partitions: KnownPartitions,
    decoder: Compiled,
}

impl ManifestStore {
    /// The store of a table, with the format, compression and target size of its options.
    pub fn new(fs: &FileIoRef, paths: &Arc<PathFactory>, options: &CoreOptions) -> Result<Self> {
        Ok(Self {
            fs: Arc::clone(fs),
            paths: Arc::clone(paths),
            names: MetaNames::new(),
            encoding: ManifestEncoding::new(options)?,
            target_size: options.manifest_target_file_size,
            sync: options.sync,
            partitions: KnownPartitions::default(),
            decoder: Compiled::WHOLE,
        })
    }

    /// Whether contents are made durable when written (otherwise option `siltstone.sync` decides).
    #[must_use]
    pub fn with_sync(mut self, sync: bool) -> Self {
        self.sync = sync;
        self
    }

    /// Reads entries without the statistics of their columns; they are not to be written again.
    #[must_use]
    pub fn without_statistics(mut self) -> Self {
        self.decoder.statistics = false;
        self
    }

    /// Entries of one manifest.
    pub fn read(&self, manifest: &ManifestFileMeta) -> Result<Vec<ManifestEntry>> {
        self.read_where(manifest, &|_| true)
    }

    /// Entries of one manifest whose head passes `keep`.
    pub fn read_where(&self, manifest: &ManifestFileMeta, keep: KeepEntry<'_>) -> Result<Vec<ManifestEntry>> {
        self.read_if(manifest, keep, &|_| Ok(true))
    }

    /// Entries of one manifest whose head passes `keep` and that `wanted` keeps.
    pub fn read_if(
        &self,
        manifest: &ManifestFileMeta,
        keep: KeepEntry<'_>,
        wanted: KeepFile<'_>,
    ) -> Result<Vec<ManifestEntry>> {
        cancel::check()?;
        let path = self.paths.manifest(&manifest.file_name)?;
        let bytes = self.read_told(&path, manifest.file_size)?;
        self.decode(&path, &bytes, keep, wanted)
    }

    /// A file that has as many bytes as what names it says.
    fn read_told(&self, path: &str, told: i64) -> Result<Bytes> {
        let bytes = self.fs.read_at_most(path, u64::try_from(told).unwrap_or(0))?;
        check_size(path, &bytes, told)?;
        Ok(bytes)
    }

    /// Entries whose head passes `keep`; the partitions of the others are looked at, too: who leaves out a DELETE keeps its
    /// file.
    fn decode(
        &self,
        path: &str,
        bytes: &[u8],
        keep: KeepEntry<'_>,
        wanted: KeepFile<'_>,
    ) -> Result<Vec<ManifestEntry>> {
        let fault: OnceLock<Error> = OnceLock::new();
        let checked = |head: EntryHead<'_>| match self.check_partition(path, head.partition) {
            Ok(()) => keep(head),
            Err(e) => {
                // one of them is enough
                fault.get_or_init(|| e);
                false
            }
        };
        let entries = self.decoder.manifest_if(path, bytes, &checked, wanted)?;
        fault.into_inner().map_or(Ok(entries), Err)
    }

    fn check_partition(&self, path: &str, partition: &[u8]) -> Result<()> {
        self.partitions.check(path, self.paths.partition_types(), partition)
    }

    /// Entries of several manifests, one manifest after another, read in parallel.
    pub fn read_all(&self, manifests: &[ManifestFileMeta], keep: KeepEntry<'_>) -> Result<Vec<ManifestEntry>> {
        self.read_all_if(manifests, keep, &|_| Ok(true))
    }

    /// Those of them that `wanted` keeps; it is asked by several threads, in no order.
    pub fn read_all_if(
        &self,
        manifests: &[ManifestFileMeta],
        keep: KeepEntry<'_>,
        wanted: KeepFile<'_>,
    ) -> Result<Vec<ManifestEntry>> {
        let read = |manifest: &ManifestFileMeta| self.read_if(manifest, keep, wanted);
        let parts: Vec<Vec<ManifestEntry>> = if self.is_little(manifests) {
            manifests.iter().map(read).collect::<Result<_>>()?
        } else {
            try_map(manifests, read)?
        };
        limits::joined(parts, "the entries of all manifests")
    }

    /// Whether a read of these takes less than to wake other threads: few bytes, and no request of a store for each.
    fn is_little(&self, manifests: &[ManifestFileMeta]) -> bool {
        let bytes = manifests.iter().map(|manifest| manifest.file_size).fold(0, i64::saturating_add);
        bytes <= LITTLE && self.fs.has_directories()
    }

    /// Writes entries into as many manifests as the target size asks for; no entries, no manifest.
    pub fn write(&self, entries: &[ManifestEntry]) -> Result<Vec<ManifestFileMeta>> {
        let mut written = Vec::new();
        let mut container = ContainerWriter::new(MANIFEST, self.encoding.compression());
        let (mut start, mut end) = (0, 0);
        for entry in entries {
            container.append(|to| encode::entry(to, entry))?;
            end += 1;
            if container.size() as u64 >= self.target_size {
                let next = ContainerWriter::new(MANIFEST, self.encoding.compression());
                let full = std::mem::replace(&mut container, next);
                written.push(self.close(full, entries.get(start..end).unwrap_or_default())?);
                start = end;
            }
        }
        if start < end {
            written.push(self.close(container, entries.get(start..end).unwrap_or_default())?);
        }
        Ok(written)
    }

    /// Manifests of a manifest list, which has as many bytes as its version says.
    pub fn read_list(&self, list: NamedList<'_>) -> Result<Vec<ManifestFileMeta>> {
        cancel::check()?;
        let path = self.paths.manifest(list.name)?;
        let bytes = match list.size {
            Some(size) => self.read_told(&path, size)?,
            None => self.fs.read_at_most(&path, METADATA_BYTES)?,
        };
        decode_manifest_list(&path, &bytes)
    }

    /// Manifests of the lists of a version, the base list first.
    pub fn read_lists(&self, snapshot: &Snapshot) -> Result<Vec<ManifestFileMeta>> {
        let mut all = self.read_list(snapshot.base_list())?;
        all.extend(self.read_list(snapshot.delta_list())?);
        each_once(&all).map_err(|e| e.with("snapshot", snapshot.id))?;
        Ok(all)
    }

    /// Writes a manifest list (also an empty one); name and size.
    pub fn write_list(&self, manifests: &[ManifestFileMeta]) -> Result<(String, i64)> {
        let name = self.names.manifest_list();
        let list = encode_manifest_list(manifests, self.encoding.compression())?;
        let size = self.write_file(&name, Records::ManifestList, list)?;
        Ok((name, size))
    }

    /// Entries of an index manifest.
    pub fn read_index(&self, name: &str) -> Result<Vec<IndexManifestEntry>> {
        let path = self.paths.manifest(name)?;
        let entries = decode_index_manifest(&path, &self.fs.read_at_most(&path, METADATA_BYTES)?)?;
        entries.iter().try_for_each(|entry| self.check_partition(&path, &entry.partition))?;
        Ok(entries)
    }

    /// Writes an index manifest; its name. It holds the complete live set, so deletions have no place in it.
    pub fn write_index(&self, entries: &[IndexManifestEntry]) -> Result<String> {
        if let Some(deleted) = entries.iter().find(|entry| entry.kind == EntryKind::Delete) {
            return Err(Error::new(ErrorKind::Internal, "an index manifest lists a deleted index file")
                .with("file", &deleted.file_name));
        }
        let name = self.names.index_manifest();
        let of_2_1 = |e: &&IndexManifestEntry| e.global_index.as_ref().is_some_and(|g| g.source_meta.is_some());
        if let (ManifestEncoding::Other(_), Some(newer)) = (&self.encoding, entries.iter().find(of_2_1)) {
            return Err(Error::unsupported("'_SOURCE_META' of an index in another 'manifest.format' than Avro")
                .with("file", &newer.file_name));
        }
        let list = encode_index_manifest(entries, self.encoding.compression())?;
        self.write_file(&name, Records::IndexManifest, list)?;
        Ok(name)
    }

    /// Makes the names in the manifest directory durable; to be called before a snapshot refers to them.
    pub fn sync(&self) -> Result<()> {
        self.fs.sync_dir(&self.paths.manifest_dir())
    }

    /// Deletes a manifest, manifest list or index manifest of a failed commit; fine when absent.
    pub fn delete(&self, name: &str) -> Result<()> {
        self.fs.delete(&self.paths.manifest(name)?)
    }

    /// Names for further metadata files of the same commit.
    pub fn names(&self) -> &MetaNames {
        &self.names
    }

    fn close(&self, container: ContainerWriter, entries: &[ManifestEntry]) -> Result<ManifestFileMeta> {
        let name = self.names.manifest();
        let size = self.write_file(&name, Records::Manifest, container.finish()?)?;
        describe(name, size, entries, self.paths.partition_types())
    }

    fn write_file(&self, name: &str, records: Records, avro: Vec<u8>) -> Result<i64> {
        let path = self.paths.manifest(name)?;
        let bytes = self.encoding.encode(&path, records, avro)?;
        self.fs.write_new(&path, &bytes, self.sync)?;
        i64::try_from(bytes.len())
            .map_err(|_| Error::new(ErrorKind::Internal, "a manifest is too long").with("file", name))
    }
}

/// An error unless a file has the size that is told of it: cut off between two blocks it would decode to fewer records, and
/// nobody would notice.
fn check_size(path: &str, bytes: &[u8], told: i64) -> Result<()> {
    if usize::try_from(told) == Ok(bytes.len()) {
        return Ok(());
    }
    Err(Error::corrupt(path, bytes.len() as u64, format!("{told} bytes"), format!("{} bytes", bytes.len())))
}

/// What a manifest list says about a manifest with these entries.
fn describe(
    file_name: String,
    file_size: i64,
    entries: &[ManifestEntry],
    partition_types: &[DataType],
) -> Result<ManifestFileMeta> {
    let deleted = entries.iter().filter(|e| e.kind == EntryKind::Delete).count();
    let count = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
    let row_ids: Option<Vec<(i64, i64)>> = entries.iter().map(row_id_range).collect();
    let row_ids = row_ids.as_deref().unwrap_or_default();
    Ok(ManifestFileMeta {
        file_name,
        file_size,
        num_added_files: count(entries.len() - deleted),
        num_deleted_files: count(deleted),
        partition_stats: encode_stats(partition_types, &partition_stats(entries, partition_types)?)?,
        schema_id: entries.iter().map(|e| e.file.schema_id).max().unwrap_or(0),
        min_bucket: entries.iter().map(|e| e.bucket).min(),
        max_bucket: entries.iter().map(|e| e.bucket).max(),
        min_level: entries.iter().map(|e| e.file.level).min(),
        max_level: entries.iter().map(|e| e.file.level).max(),
        min_row_id: row_ids.iter().map(|(first, _)| *first).min(),
        max_row_id: row_ids.iter().map(|(_, last)| *last).max(),
    })
}

fn row_id_range(entry: &ManifestEntry) -> Option<(i64, i64)> {
    let first = entry.file.first_row_id?;
    Some((first, first.saturating_add(entry.file.row_count.saturating_sub(1))))
}

/// Bounds and null counts of the partition columns over all entries; each distinct partition is decoded once.
fn partition_stats(entries: &[ManifestEntry], types: &[DataType]) -> Result<Vec<ColumnStats>> {
    if types.is_empty() {
        return Ok(Vec::new());
    }
    let mut partitions: HashMap<&[u8], i64> = HashMap::new();
    for entry in entries {
        *partitions.entry(&entry.partition).or_default() += 1;
    }
    let mut stats: Vec<ColumnStats> = vec![ColumnStats::none_yet(); types.len()];
    for (partition, files) in partitions {
        let values = BinaryRow::from_serialized(partition)?.datums(types)?;
        for (column, value) in stats.iter_mut().zip(&values) {
            if value.is_null() {
                column.null_count = column.null_count.map(|n| n + files);
            } else {
                column.add(value);
            }
        }
    }
    Ok(stats)
}
