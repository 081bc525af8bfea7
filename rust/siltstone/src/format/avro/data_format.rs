//! Avro as a format of data files.

use std::{collections::BTreeMap, sync::Arc};

use super::{Compression, data_file, data_schema::check_columns, writer::AvroEncoding};
use crate::{
    error::{Error, ErrorKind, Result},
    format::{DataFileReader, DataFormat, Encoding, WriteOptions},
    fs::InputFile,
    options::CoreOptions,
    types::DataField,
};

/// Stands in a table for `file.compression`.
const CODEC: &str = "avro.codec";
/// Other names for the records of a file; Java's own use of it is Iceberg's metadata.
const NAMES: &str = "avro.row-name-mapping";

/// The format.
#[derive(Debug)]
pub(in crate::format) struct Avro;

impl DataFormat for Avro {
    fn name(&self) -> &'static str {
        "avro"
    }

    fn magic(&self) -> &'static [u8] {
        &super::container::MAGIC
    }

    fn open(
        &self,
        input: Arc<dyn InputFile>,
        size: u64,
        _: &BTreeMap<String, String>,
    ) -> Result<Arc<dyn DataFileReader>> {
        data_file::open(input, size)
    }

    fn encoding(&self, options: WriteOptions<'_>) -> Result<Arc<dyn Encoding>> {
        let WriteOptions { compression, table, bounds, .. } = options;
        let codec = table.get(CODEC).unwrap_or(compression);
        if !self.has_compression(codec) {
            return Err(no_codec(codec));
        }
        // by its own name a codec has the level that Avro gives it
        let level = if codec.eq_ignore_ascii_case("zstd") { table.zstd_level } else { ZSTANDARD_LEVEL };
        Ok(Arc::new(AvroEncoding { compression: Compression::parse(codec, level)?, bounds }))
    }

    fn compressions(&self) -> &'static [&'static str] {
        &["zstd", "zstandard", "snappy", "deflate", "null"]
    }

    /// Avro's names are exact; that of Paimon is not.
    fn has_compression(&self, name: &str) -> bool {
        name.eq_ignore_ascii_case("zstd") || self.compressions().contains(&name)
    }

    fn check_columns(&self, fields: &[DataField]) -> Result<()> {
        check_columns(fields)
    }

    fn check_options(&self, options: &CoreOptions) -> Vec<Result<()>> {
        let codec = match options.get(CODEC) {
            Some(codec) if !self.has_compression(codec) => Err(no_codec(codec)),
            _ => Ok(()),
        };
        let names = match options.get(NAMES) {
            Some(names) if !names.trim().is_empty() => {
                Err(Error::unsupported(format!("the table option '{NAMES}' = '{names}'")).with("option", NAMES))
            }
            _ => Ok(()),
        };
        vec![codec, names]
    }

    fn always_describes_system_columns(&self) -> bool {
        false
    }
}

/// Of `zstandard`, as Avro has it.
const ZSTANDARD_LEVEL: i32 = 3;

fn no_codec(name: &str) -> Error {
    Error::new(ErrorKind::InvalidOption, format!("'{name}' is not a compression"))
        .with("option", CODEC)
        .hint(format!("use one of: {}", Avro.compressions().join(", ")))
}
