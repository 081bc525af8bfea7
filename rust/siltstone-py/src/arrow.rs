//! Batches across the border, by the Arrow PyCapsule interface.

use std::sync::{Arc, Mutex};

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use pyo3::prelude::*;
use pyo3_arrow::{PyRecordBatch, PyRecordBatchReader, PySchema};
use siltstone::{Error, ErrorKind, io::BatchStream};

use crate::error::Result;

/// Batches with their schema: iterable from Python with our exceptions, or as an Arrow stream.
#[pyclass(frozen, module = "siltstone._core")]
pub(crate) struct Batches {
    schema: SchemaRef,
    stream: Mutex<Option<BatchStream>>,
}

impl Batches {
    pub(crate) fn new(schema: SchemaRef, stream: BatchStream) -> Self {
        Self { schema, stream: Mutex::new(Some(stream)) }
    }
}

#[pymethods]
impl Batches {
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        schema_capsule(py, &self.schema)
    }

    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<PyRecordBatch>> {
        let batch: Result<Option<RecordBatch>> = py.detach(|| {
            let mut stream = self.stream.lock().map_err(|_| poisoned())?;
            let next = stream.as_mut().and_then(Iterator::next).transpose();
            if !matches!(next, Ok(Some(_))) {
                *stream = None;
            }
            Ok(next?)
        });
        Ok(batch?.map(PyRecordBatch::new))
    }

    /// Stops reading: threads end, files close.
    fn close(&self, py: Python<'_>) -> Result<()> {
        py.detach(|| {
            *self.stream.lock().map_err(|_| poisoned())? = None;
            Ok(())
        })
    }
}

/// A schema as an object with `__arrow_c_schema__`.
pub(crate) fn py_schema(schema: SchemaRef) -> PySchema {
    PySchema::new(schema)
}

/// The capsule of a schema.
pub(crate) fn schema_capsule<'py>(py: Python<'py>, schema: &SchemaRef) -> PyResult<Bound<'py, PyAny>> {
    let object = Bound::new(py, PySchema::new(Arc::clone(schema)))?;
    object.call_method0("__arrow_c_schema__")
}

/// The capsule of a stream that nobody has read from.
pub(crate) fn stream_capsule<'py>(
    py: Python<'py>,
    schema: SchemaRef,
    stream: BatchStream,
    requested_schema: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let reader = PyRecordBatchReader::new(Box::new(Reader { schema, stream }));
    let object = Bound::new(py, reader)?;
    object.call_method1("__arrow_c_stream__", (requested_schema,))
}

/// A stream as arrow-rs's reader; errors become text, because the C interface carries nothing else.
struct Reader {
    schema: SchemaRef,
    stream: BatchStream,
}

impl Iterator for Reader {
    type Item = std::result::Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.stream.next()?.map_err(|e| ArrowError::ExternalError(Box::new(e))))
    }
}

impl RecordBatchReader for Reader {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

/// The batches of a Python object, to be consumed without the interpreter lock.
pub(crate) fn input(reader: PyRecordBatchReader) -> PyResult<Input> {
    Ok(Input(reader.into_reader()?))
}

/// Batches that come from Python.
pub(crate) struct Input(Box<dyn RecordBatchReader + Send>);

impl Iterator for Input {
    type Item = siltstone::Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.0.next()?;
        Some(batch.map_err(|e| Error::new(ErrorKind::InvalidArgument, "the input stream failed").caused_by(e)))
    }
}

/// A lock that a panicking thread held.
pub(crate) fn poisoned() -> Error {
    Error::new(ErrorKind::Internal, "an earlier call on this object failed in the middle")
        .hint("make a new one; nothing was committed by the failed call")
}
