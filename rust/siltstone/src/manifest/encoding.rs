//! In which format manifest files are written (`manifest.format`, `manifest.compression`).

use std::sync::Arc;

use super::rows::Records;
use crate::{
    error::Result,
    format::{Encoding, WriteOptions, avro::Compression, data_format},
    options::CoreOptions,
};

/// Of a container that becomes a file of another format: packed, so that its size is about that of the file.
const BETWEEN: Compression = Compression::Zstd(1);

/// How manifests, manifest lists and index manifests are written.
#[derive(Debug)]
pub(super) enum ManifestEncoding {
    /// As the containers that entries are encoded into.
    Avro(Compression),
    /// The records of these containers in another format.
    Other(Arc<dyn Encoding>),
}

impl ManifestEncoding {
    /// What a table's options ask for.
    pub(super) fn new(options: &CoreOptions) -> Result<Self> {
        let compression = options.manifest_compression.as_str();
        Ok(match options.manifest_format.as_str() {
            "avro" => Self::Avro(Compression::parse(compression, options.zstd_level)?),
            other => {
                let options = WriteOptions { compression, table: options, memory: None, bounds: false, keyed: false };
                Self::Other(data_format(other)?.encoding(options).map_err(|e| e.with("option", "manifest.format"))?)
            }
        })
    }

    /// Of the containers.
    pub(super) fn compression(&self) -> Compression {
        match self {
            Self::Avro(compression) => *compression,
            Self::Other(_) => BETWEEN,
        }
    }

    /// The bytes of a file with the records of a container; `path` is for messages.
    pub(super) fn encode(&self, path: &str, records: Records, container: Vec<u8>) -> Result<Vec<u8>> {
        match self {
            Self::Avro(_) => Ok(container),
            Self::Other(encoding) => records.encoded(path, &container, encoding.as_ref()),
        }
    }
}
