//! Manifest lists, manifests, data file metas, index manifests, and how entries merge.
//!
//! Source: format chapters 4 and 8.1; `org.apache.paimon.manifest`, `DataFileMeta` of `io`.

mod increment;
mod model;

pub use increment::{BucketId, CompactIncrement, DataIncrement};

pub use model::{
    DataFileMeta, DeletionVectorRange, EntryId, EntryKind, FileSource, IndexManifestEntry, ManifestEntry,
    ManifestFileMeta,
};
