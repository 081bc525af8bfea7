//! ORC as a format of data files.

use std::{collections::BTreeMap, sync::Arc};

use super::file;
use crate::{
    error::{Error, Result},
    format::{DataFileReader, DataFormat, Encoding, WriteOptions},
    fs::InputFile,
    options::CoreOptions,
    types::DataField,
};

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
        file::open(input, size, options)
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

fn not_written() -> Error {
    Error::unsupported("writing data files in the format 'orc'")
}
