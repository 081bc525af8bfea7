//! Manifests, manifest lists and index manifests as bytes.

use super::{IndexManifestEntry, ManifestEntry, ManifestFileMeta};
use crate::{
    error::{Error, ErrorKind, Result},
    format::avro::Compression,
};

/// What is known of an entry before its file is decoded; enough to skip it.
#[derive(Clone, Copy, Debug)]
pub struct EntryHead<'a> {
    /// ADD or DELETE
    pub kind: super::EntryKind,
    /// serialized `BinaryRow` of the partition
    pub partition: &'a [u8],
    /// bucket
    pub bucket: i32,
    /// option `bucket` when the file was written
    pub total_buckets: i32,
}

/// Entries of a manifest, in file order.
pub fn decode_manifest(_file: &str, _bytes: &[u8]) -> Result<Vec<ManifestEntry>> {
    Err(Error::new(ErrorKind::Internal, "not yet"))
}

/// Entries whose head passes `keep`; the others are skipped undecoded.
pub fn decode_manifest_where(
    _file: &str,
    _bytes: &[u8],
    _keep: &(dyn Fn(EntryHead<'_>) -> bool + Sync),
) -> Result<Vec<ManifestEntry>> {
    Err(Error::new(ErrorKind::Internal, "not yet"))
}

/// Manifests of a manifest list, in file order.
pub fn decode_manifest_list(_file: &str, _bytes: &[u8]) -> Result<Vec<ManifestFileMeta>> {
    Err(Error::new(ErrorKind::Internal, "not yet"))
}

/// Entries of an index manifest, in file order.
pub fn decode_index_manifest(_file: &str, _bytes: &[u8]) -> Result<Vec<IndexManifestEntry>> {
    Err(Error::new(ErrorKind::Internal, "not yet"))
}

/// A manifest with these entries.
pub fn encode_manifest(_entries: &[ManifestEntry], _compression: Compression) -> Result<Vec<u8>> {
    Err(Error::new(ErrorKind::Internal, "not yet"))
}

/// A manifest list; an empty one is a valid file.
pub fn encode_manifest_list(_manifests: &[ManifestFileMeta], _compression: Compression) -> Result<Vec<u8>> {
    Err(Error::new(ErrorKind::Internal, "not yet"))
}

/// An index manifest.
pub fn encode_index_manifest(_entries: &[IndexManifestEntry], _compression: Compression) -> Result<Vec<u8>> {
    Err(Error::new(ErrorKind::Internal, "not yet"))
}
