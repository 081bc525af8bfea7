//! Errors of the parquet crate as ours.

use std::{any::Any, fmt::Display};

use parquet::errors::ParquetError;

use crate::{
    error::{Error, ErrorKind},
    limits::is_out_of_memory,
};

/// An error while reading `file`: a storage error keeps its kind, everything else means broken bytes.
pub(crate) fn reading(file: &str, e: ParquetError) -> Error {
    match e {
        ParquetError::External(inner) => match inner.downcast::<Error>() {
            Ok(ours) => *ours,
            Err(other) if is_out_of_memory(&other.to_string()) => no_memory(file).caused_by(other),
            // what the storage says comes as an error of ours: this is of a decoder, about the bytes
            Err(other) => broken(file).caused_by(other),
        },
        ParquetError::NYI(what) => Error::unsupported(format!("the Parquet feature '{what}'")).with("file", file),
        other => broken(file).caused_by(other),
    }
}

/// An error about values that were decoded: what Arrow does not make arrays of is in the file, such as a key that is null.
pub(super) fn decoded(file: &str, e: Error) -> Error {
    match e.kind() {
        ErrorKind::Internal => broken(file).caused_by(e),
        _ => e.with("file", file),
    }
}

/// Pages that have other rows than the footer says.
pub(super) fn other_rows(path: &str, expected: impl Display, found: impl Display) -> Error {
    Error::corrupt(path, 0, format!("{expected} rows to be read, by the footer of the file"), found)
        .hint("pages of the Parquet file are missing, or its footer is damaged")
}

/// What a panic of the parquet crate, or of a decoder below it, says about the file.
pub(crate) fn panicked(file: &str, panic: &(dyn Any + Send)) -> Error {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    match text {
        Some(text) if is_out_of_memory(text) => no_memory(file),
        _ => broken(file),
    }
}

/// What a panic of an encoder says: it had no memory, or it is a defect.
pub(crate) fn encoder_panicked(file: &str, panic: &(dyn Any + Send)) -> Error {
    let error = panicked(file, panic);
    match error.kind() {
        ErrorKind::MemoryLimitExceeded => error,
        _ => Error::new(ErrorKind::Internal, "an encoder failed in the middle of a data file").with("file", file),
    }
}

fn no_memory(file: &str) -> Error {
    Error::new(ErrorKind::MemoryLimitExceeded, "there was no memory left for the columns of the data file")
        .with("file", file)
        .hint("give the process more memory, or read fewer columns; the file may well be in order")
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
            Err(other) if is_out_of_memory(&other.to_string()) => no_memory(file).caused_by(other),
            Err(other) => {
                Error::new(ErrorKind::Storage, "cannot write the data file").with("file", file).caused_by(other)
            }
        },
        other => Error::new(ErrorKind::Internal, "cannot encode a data file").with("file", file).caused_by(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_decoder_says_about_broken_bytes_is_a_damaged_file() {
        let zstd = std::io::Error::other("Data corruption detected");
        let error = reading("f.parquet", ParquetError::External(Box::new(zstd)));
        assert_eq!((error.kind(), error.context_value("file")), (ErrorKind::CorruptFile, Some("f.parquet")));
        assert!(error.to_string().contains("Data corruption detected"), "{error}");
    }

    #[test]
    fn memory_that_cannot_be_had_is_not_called_a_damaged_file() {
        let zstd = std::io::Error::other("Allocation error : not enough memory");
        let error = reading("f.parquet", ParquetError::External(Box::new(zstd)));
        assert_eq!((error.kind(), error.context_value("file")), (ErrorKind::MemoryLimitExceeded, Some("f.parquet")));
        let panic = std::panic::catch_unwind(|| panic!("zstd returned null pointer when creating new context"));
        assert_eq!(panicked("f", panic.unwrap_err().as_ref()).kind(), ErrorKind::MemoryLimitExceeded);
        let panic = std::panic::catch_unwind(|| panic!("index out of bounds: the len is {}", 3));
        assert_eq!(panicked("f", panic.unwrap_err().as_ref()).kind(), ErrorKind::CorruptFile);
    }

    #[test]
    fn errors_of_ours_keep_their_kind() {
        let ours = Error::new(ErrorKind::Storage, "the disk is gone");
        assert_eq!(reading("f", ParquetError::External(Box::new(ours))).kind(), ErrorKind::Storage);
    }
}
