//! ORC as a format of data files.

use std::{collections::BTreeMap, sync::Arc};

use super::reader::OrcFile;
use crate::{
    error::{Error, Result},
    format::{DataFileReader, DataFormat, Encoding, WriteOptions},
    fs::InputFile,
    options::{CoreOptions, parse_bool},
    types::DataField,
};

/// Whether moments with a local time zone are stored as wall clocks in the writer's zone.
const LEGACY: &str = "orc.timestamp-ltz.legacy.type";

/// The format.
#[derive(Debug)]
pub(in crate::format) struct Orc;

impl DataFormat for Orc {
    fn name(&self) -> &'static str {
        "orc"
    }

    fn open(
        &self,
        input: Arc<dyn InputFile>,
        size: u64,
        options: &BTreeMap<String, String>,
    ) -> Result<Arc<dyn DataFileReader>> {
        Ok(Arc::new(OrcFile::open(input, size, is_legacy(options)?)?))
    }

    fn encoding(&self, _: WriteOptions<'_>) -> Result<Arc<dyn Encoding>> {
        Err(not_written())
    }

    fn compressions(&self) -> &'static [&'static str] {
        &["none", "zlib", "snappy", "lzo", "lz4", "zstd"]
    }

    fn check_columns(&self, _: &[DataField]) -> Result<()> {
        Err(not_written())
    }

    fn check_options(&self, _: &CoreOptions) -> Vec<Result<()>> {
        Vec::new()
    }
}

/// Java's default is that they are.
fn is_legacy(options: &BTreeMap<String, String>) -> Result<bool> {
    options.get(LEGACY).map_or(Ok(true), |value| parse_bool(value).map_err(|e| e.with("option", LEGACY)))
}

fn not_written() -> Error {
    Error::unsupported("writing data files in the format 'orc'")
}
