//! Errors of the parquet crate as ours.

use parquet::errors::ParquetError;

use crate::error::{Error, ErrorKind};

/// An error while reading `file`: a storage error keeps its kind, everything else means broken bytes.
pub(crate) fn reading(file: &str, e: ParquetError) -> Error {
    match e {
        ParquetError::External(inner) => match inner.downcast::<Error>() {
            Ok(ours) => *ours,
            Err(other) => {
                Error::new(ErrorKind::Storage, "cannot read the data file").with("file", file).caused_by(other)
            }
        },
        ParquetError::NYI(what) => Error::unsupported(format!("the Parquet feature '{what}'")).with("file", file),
        other => broken(file).caused_by(other),
    }
}

/// The file's bytes are not Parquet as written by any known writer.
pub(crate) fn broken(file: &str) -> Error {
    Error::new(ErrorKind::CorruptFile, "the Parquet file is damaged or incomplete").with("file", file)
}

/// An error while writing `file`.
pub(crate) fn writing(file: &str, e: ParquetError) -> Error {
    match e {
        ParquetError::External(inner) => match inner.downcast::<Error>() {
            Ok(ours) => *ours,
            Err(other) => {
                Error::new(ErrorKind::Storage, "cannot write the data file").with("file", file).caused_by(other)
            }
        },
        other => Error::new(ErrorKind::Internal, "cannot encode a data file").with("file", file).caused_by(other),
    }
}
