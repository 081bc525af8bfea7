//! Which formats of data files there are.

use super::{
    DataFormat,
    blob::{self, Blob},
};
use crate::error::{Error, Result};

/// All formats of data files.
const FORMATS: &[&dyn DataFormat] = &[&super::parquet::Parquet, &super::orc::Orc, &super::avro::Avro];

/// All formats of data files.
pub fn data_formats() -> impl Iterator<Item = &'static dyn DataFormat> {
    FORMATS.iter().copied()
}

/// Whether data files of this format are read.
pub fn is_data_format(name: &str) -> bool {
    name == blob::NAME || data_formats().any(|format| format.name() == name)
}

/// The format of files whose names end so: also that of values of BLOB columns, which no table has as its own.
///
/// # Errors
/// `UnsupportedFeature` when there is none.
pub fn file_format(name: &str) -> Result<&'static dyn DataFormat> {
    if name == blob::NAME { Ok(&Blob) } else { data_format(name) }
}

/// The format of this name.
///
/// # Errors
/// `UnsupportedFeature` when there is none.
pub fn data_format(name: &str) -> Result<&'static dyn DataFormat> {
    data_formats().find(|format| format.name() == name).ok_or_else(|| {
        let known: Vec<&str> = data_formats().map(super::data_format::DataFormat::name).collect();
        Error::unsupported(format!("data files in the format '{name}'"))
            .hint(format!("formats are {}", known.join(", ")))
    })
}
