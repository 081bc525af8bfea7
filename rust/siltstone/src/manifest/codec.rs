//! Manifests, manifest lists and index manifests as bytes, behind one trait.
//!
//! [`Compiled`] is the decoder in use. `apache-avro`'s value trees are the reference that tests compare it with.

use super::{
    EntryKind, IndexManifestEntry, ManifestEntry, ManifestFileMeta, decode, encode,
    rows::Records,
    schemas::{INDEX_MANIFEST, INDEX_MANIFEST_2_1, MANIFEST, MANIFEST_LIST},
};
use crate::{
    error::Result,
    format::avro::{Compression, ContainerWriter},
};

/// What is known of an entry before its file is decoded; enough to skip it.
#[derive(Clone, Copy, Debug)]
pub struct EntryHead<'a> {
    /// ADD or DELETE
    pub kind: EntryKind,
    /// serialized `BinaryRow` of the partition
    pub partition: &'a [u8],
    /// bucket
    pub bucket: i32,
    /// option `bucket` when the file was written
    pub total_buckets: i32,
}

/// Decides by an entry's head whether to decode it.
pub type KeepEntry<'a> = &'a (dyn Fn(EntryHead<'_>) -> bool + Sync);

/// Decides by a whole entry whether it is kept; what is not takes no memory.
pub type KeepFile<'a> = &'a (dyn Fn(&ManifestEntry) -> Result<bool> + Sync);

/// Reads manifest files. `file` is for messages.
pub trait ManifestDecoder: Sync {
    /// Entries of a manifest whose head passes `keep`, in file order.
    fn manifest(&self, file: &str, bytes: &[u8], keep: KeepEntry<'_>) -> Result<Vec<ManifestEntry>>;
    /// Manifests of a manifest list, in file order.
    fn manifest_list(&self, file: &str, bytes: &[u8]) -> Result<Vec<ManifestFileMeta>>;
    /// Entries of an index manifest, in file order.
    fn index_manifest(&self, file: &str, bytes: &[u8]) -> Result<Vec<IndexManifestEntry>>;
}

/// Decodes straight from the blocks, by a plan made from the writer's schema.
#[derive(Clone, Copy, Debug)]
pub struct Compiled {
    /// Whether entries get the statistics of their columns: most of a manifest, which only conditions are compared with.
    pub statistics: bool,
}

impl Compiled {
    /// With all that a manifest says.
    pub const WHOLE: Self = Self { statistics: true };

    /// Entries of a manifest whose head passes `keep` and that `wanted` keeps, in file order.
    pub(super) fn manifest_if(
        self,
        file: &str,
        bytes: &[u8],
        keep: KeepEntry<'_>,
        wanted: KeepFile<'_>,
    ) -> Result<Vec<ManifestEntry>> {
        decode::manifest(file, &Records::Manifest.as_avro(file, bytes)?, keep, wanted, self.statistics)
    }
}

impl ManifestDecoder for Compiled {
    fn manifest(&self, file: &str, bytes: &[u8], keep: KeepEntry<'_>) -> Result<Vec<ManifestEntry>> {
        self.manifest_if(file, bytes, keep, &|_| Ok(true))
    }

    fn manifest_list(&self, file: &str, bytes: &[u8]) -> Result<Vec<ManifestFileMeta>> {
        decode::manifest_list(file, &Records::ManifestList.as_avro(file, bytes)?)
    }

    fn index_manifest(&self, file: &str, bytes: &[u8]) -> Result<Vec<IndexManifestEntry>> {
        decode::index_manifest(file, &Records::IndexManifest.as_avro(file, bytes)?)
    }
}

/// Entries of a manifest, in file order.
pub fn decode_manifest(file: &str, bytes: &[u8]) -> Result<Vec<ManifestEntry>> {
    Compiled::WHOLE.manifest(file, bytes, &|_| true)
}

/// Entries whose head passes `keep`; the others are skipped undecoded.
pub fn decode_manifest_where(file: &str, bytes: &[u8], keep: KeepEntry<'_>) -> Result<Vec<ManifestEntry>> {
    Compiled::WHOLE.manifest(file, bytes, keep)
}

/// Manifests of a manifest list, in file order.
pub fn decode_manifest_list(file: &str, bytes: &[u8]) -> Result<Vec<ManifestFileMeta>> {
    Compiled::WHOLE.manifest_list(file, bytes)
}

/// Entries of an index manifest, in file order.
pub fn decode_index_manifest(file: &str, bytes: &[u8]) -> Result<Vec<IndexManifestEntry>> {
    Compiled::WHOLE.index_manifest(file, bytes)
}

/// A manifest with these entries.
pub fn encode_manifest(entries: &[ManifestEntry], compression: Compression) -> Result<Vec<u8>> {
    encode_all(MANIFEST, compression, entries, encode::entry)
}

/// A manifest list; an empty one is a valid file.
pub fn encode_manifest_list(manifests: &[ManifestFileMeta], compression: Compression) -> Result<Vec<u8>> {
    encode_all(MANIFEST_LIST, compression, manifests, encode::manifest_meta)
}

/// An index manifest. The layout is that of 1.4.2 unless an entry carries `_SOURCE_META` of the 2.x line.
pub fn encode_index_manifest(entries: &[IndexManifestEntry], compression: Compression) -> Result<Vec<u8>> {
    let newer = entries.iter().any(|e| e.global_index.as_ref().is_some_and(|g| g.source_meta.is_some()));
    let schema = if newer { INDEX_MANIFEST_2_1 } else { INDEX_MANIFEST };
    encode_all(schema, compression, entries, |to, entry| encode::index_entry(to, entry, newer))
}

fn encode_all<T>(
    schema: &str,
    compression: Compression,
    records: &[T],
    write: impl Fn(&mut crate::format::avro::Encoder, &T),
) -> Result<Vec<u8>> {
    let mut container = ContainerWriter::new(schema, compression);
    records.iter().try_for_each(|record| container.append(|to| write(to, record)))?;
    container.finish()
}
