//! Which formats of data files there are.

use std::{collections::BTreeMap, sync::Arc};

use super::{DataFileReader, avro, orc, parquet};
use crate::{
    error::{Error, Result},
    fs::InputFile,
};

/// Opens a file of a format, which may look at the table's options.
type Open = fn(Arc<dyn InputFile>, u64, &BTreeMap<String, String>) -> Result<Arc<dyn DataFileReader>>;

/// All formats of data files, by the ends of their names.
const FORMATS: [(&str, Open); 3] = [("parquet", parquet::open), ("orc", orc::open), ("avro", avro::open)];

/// Whether data files of this format are read.
pub fn is_data_format(name: &str) -> bool {
    FORMATS.iter().any(|(format, _)| *format == name)
}

/// Opens a data file of so many bytes.
pub fn open_data_file(
    format: &str,
    input: Arc<dyn InputFile>,
    size: u64,
    options: &BTreeMap<String, String>,
) -> Result<Arc<dyn DataFileReader>> {
    match FORMATS.iter().find(|(name, _)| *name == format) {
        Some((_, open)) => open(input, size, options),
        None => Err(Error::unsupported(format!("reading data files in the format '{format}'"))),
    }
}
