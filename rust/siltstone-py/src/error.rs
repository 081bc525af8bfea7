//! Core errors as the exceptions that `siltstone.errors` defines.

use pyo3::{
    prelude::*,
    types::{PyDict, PyType},
};
use siltstone::{Error, ErrorKind};

/// The error type of every function of the binding.
pub(crate) enum CoreError {
    /// From the core.
    Core(Error),
    /// By a signal handler while the core was at work.
    Raised(PyErr),
}

/// What every function of the binding returns.
pub(crate) type Result<T> = std::result::Result<T, CoreError>;

impl From<Error> for CoreError {
    fn from(e: Error) -> Self {
        Self::Core(e)
    }
}

impl From<CoreError> for PyErr {
    fn from(e: CoreError) -> Self {
        match e {
            CoreError::Core(e) => Python::attach(|py| exception(py, &e).unwrap_or_else(|failure| failure)),
            CoreError::Raised(raised) => raised,
        }
    }
}

fn exception(py: Python<'_>, e: &Error) -> PyResult<PyErr> {
    let class = py.import("siltstone.errors")?.getattr(class_name(e.kind()))?;
    let context = PyDict::new(py);
    for (key, value) in e.context() {
        context.set_item(key, value)?;
    }
    let kwargs = PyDict::new(py);
    kwargs.set_item("hint", e.hint_text())?;
    kwargs.set_item("context", context)?;
    let value = class.cast::<PyType>()?.call((e.message_and_cause(),), Some(&kwargs))?;
    Ok(PyErr::from_value(value))
}

/// Each kind, and the class of `siltstone.errors` that it is in Python.
const CLASSES: [(ErrorKind, &str); 35] = [
    (ErrorKind::DatabaseNotFound, "DatabaseNotFound"),
    (ErrorKind::DatabaseExists, "DatabaseExists"),
    (ErrorKind::TableNotFound, "TableNotFound"),
    (ErrorKind::TableExists, "TableExists"),
    (ErrorKind::SnapshotNotFound, "SnapshotNotFound"),
    (ErrorKind::SnapshotExpired, "SnapshotExpired"),
    (ErrorKind::TagNotFound, "TagNotFound"),
    (ErrorKind::TagExists, "TagExists"),
    (ErrorKind::BranchNotFound, "BranchNotFound"),
    (ErrorKind::BranchExists, "BranchExists"),
    (ErrorKind::VersionInUse, "VersionInUse"),
    (ErrorKind::SchemaMismatch, "SchemaMismatch"),
    (ErrorKind::UnsupportedType, "UnsupportedType"),
    (ErrorKind::NullInKey, "NullInKey"),
    (ErrorKind::LengthExceeded, "LengthExceeded"),
    (ErrorKind::IllegalSchema, "IllegalSchema"),
    (ErrorKind::IllegalSchemaChange, "IllegalSchemaChange"),
    (ErrorKind::CommitConflict, "CommitConflict"),
    (ErrorKind::CommitRetriesExhausted, "CommitRetriesExhausted"),
    (ErrorKind::UpkeepRunning, "UpkeepRunning"),
    (ErrorKind::WriteFailed, "WriteFailed"),
    (ErrorKind::DeleteNotAllowed, "DeleteNotAllowed"),
    (ErrorKind::InvalidRowKind, "InvalidRowKind"),
    (ErrorKind::CorruptFile, "CorruptFile"),
    (ErrorKind::ChecksumMismatch, "ChecksumMismatch"),
    (ErrorKind::UnsupportedVersion, "UnsupportedVersion"),
    (ErrorKind::FileNotFound, "FileMissing"),
    (ErrorKind::FileExists, "FileInTheWay"),
    (ErrorKind::Storage, "StorageError"),
    (ErrorKind::MemoryLimitExceeded, "MemoryLimitExceeded"),
    (ErrorKind::Cancelled, "Cancelled"),
    (ErrorKind::UnknownOption, "UnknownOption"),
    (ErrorKind::InvalidOption, "InvalidOption"),
    (ErrorKind::InvalidArgument, "InvalidArgument"),
    (ErrorKind::UnsupportedFeature, "UnsupportedFeature"),
];

fn class_name(kind: ErrorKind) -> &'static str {
    // `ErrorKind` is non-exhaustive: a new kind is a defect here until it has a class
    CLASSES.iter().find(|(of, _)| *of == kind).map_or("InternalError", |(_, class)| class)
}

/// The kind of errors that are of this class in Python.
pub(crate) fn kind_of(class: &str) -> Option<ErrorKind> {
    CLASSES.iter().find(|(_, name)| *name == class).map(|(kind, _)| *kind)
}

/// A lock that a panicking thread held.
pub(crate) fn poisoned() -> Error {
    Error::new(ErrorKind::Internal, "an earlier call on this object failed in the middle")
        .hint("look whether the failed call has taken effect, then make a new one")
}
