//! Manifest lists, manifests, data file metas, index manifests, and how entries merge.
//!
//! Source: format chapters 4 and 8.1; `org.apache.paimon.manifest`, `DataFileMeta` of `io`.

mod codec;
mod decode;
mod encode;
mod encoding;
mod increment;
mod location;
mod merge;
mod model;
mod once;
mod partition;
mod schemas;
mod store;

pub use codec::{
    Compiled, EntryHead, KeepEntry, KeepFile, ManifestDecoder, decode_index_manifest, decode_manifest,
    decode_manifest_list, decode_manifest_where, encode_index_manifest, encode_manifest, encode_manifest_list,
};
pub use increment::{BucketId, CompactIncrement, DataIncrement, DroppedDeletes};
pub use location::{data_file_in, extra_files_beside};
pub use merge::{live_entries, live_refs, merge_entries};
pub use model::{
    DataFileFields, DataFileMeta, DeletionVectorRange, EntryId, EntryKind, FileSource, GlobalIndexMeta,
    IndexManifestEntry, ManifestEntry, ManifestFileMeta,
};
pub use once::each_once;
pub use store::ManifestStore;

#[cfg(test)]
mod reference;
mod rows;
#[cfg(test)]
mod tests;
