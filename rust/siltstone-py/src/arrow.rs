//! Batches across the border, by the Arrow PyCapsule interface.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex},
};

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use pyo3::{prelude::*, types::PyCapsule};
use pyo3_arrow::{PyRecordBatch, PyRecordBatchReader, PySchema};
use siltstone::{Error, ErrorKind, io::BatchStream, read::kept, types::check_carried, write::check_arrays};

use crate::{
    ending::{self, Call},
    error::{CoreError, Result},
    interrupt::{drop_detached, interruptible, locked},
};

/// Batches with their schema: iterable from Python with our exceptions, or as an Arrow stream.
#[pyclass(frozen, module = "siltstone._core")]
pub(crate) struct Batches {
    schema: SchemaRef,
    stream: Mutex<Option<BatchStream>>,
}

impl Batches {
    pub(crate) fn new(schema: SchemaRef, stream: BatchStream) -> Result<Self> {
        check_carried(&schema)?;
        Ok(Self { schema, stream: Mutex::new(Some(kept(stream))) })
    }
}

impl Drop for Batches {
    fn drop(&mut self) {
        drop_detached(self.stream.get_mut().map(Option::take).ok());
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
        let batch: Result<Option<RecordBatch>> = interruptible(py, || {
            let mut stream = locked(&self.stream)?;
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
        if ending::is_over() {
            return Ok(()); // they end with the process
        }
        interruptible(py, || {
            *locked(&self.stream)? = None;
            Ok(())
        })
    }
}

/// A schema as an object with `__arrow_c_schema__`.
pub(crate) fn py_schema(schema: SchemaRef) -> Result<PySchema> {
    check_carried(&schema)?;
    Ok(PySchema::new(schema))
}

/// The capsule of a schema.
pub(crate) fn schema_capsule<'py>(py: Python<'py>, schema: &SchemaRef) -> PyResult<Bound<'py, PyAny>> {
    let object = Bound::new(py, py_schema(Arc::clone(schema))?)?;
    object.call_method0("__arrow_c_schema__")
}

/// The capsule of a stream that nobody has read from.
pub(crate) fn stream_capsule<'py>(
    py: Python<'py>,
    schema: SchemaRef,
    stream: BatchStream,
    requested_schema: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    check_carried(&schema).map_err(CoreError::from)?;
    let reader = PyRecordBatchReader::new(Box::new(Reader { schema, stream: kept(stream) }));
    let object = Bound::new(py, reader)?;
    object.call_method1("__arrow_c_stream__", (requested_schema,))
}

/// A stream as arrow-rs's reader; errors become text, because the C interface carries nothing else.
struct Reader {
    schema: SchemaRef,
    stream: BatchStream,
}

impl Drop for Reader {
    fn drop(&mut self) {
        drop_detached(std::mem::replace(&mut self.stream, Box::new(std::iter::empty())));
    }
}

impl Iterator for Reader {
    type Item = std::result::Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        // before the interpreter lock is asked for, which nobody gets once the interpreter has ended
        let _call = match Call::begin() {
            Ok(call) => call,
            Err(error) => return Some(Err(ArrowError::ExternalError(Box::new(error)))),
        };
        // whoever reads holds the interpreter lock or not: attaching is right in both cases
        let next = Python::attach(|py| interruptible(py, || Ok(self.stream.next().transpose()?)));
        match next {
            Ok(batch) => batch.map(Ok),
            Err(CoreError::Core(e)) => Some(Err(ArrowError::ExternalError(Box::new(e)))),
            Err(CoreError::Raised(raised)) => {
                interrupt_again();
                Some(Err(ArrowError::ExternalError(raised.to_string().into())))
            }
        }
    }
}

impl RecordBatchReader for Reader {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

/// The C interface carries no exceptions: the signal comes once more when Python goes on.
fn interrupt_again() {
    // without an interpreter there is nobody to interrupt
    let _ = Python::attach(|py| py.import("_thread")?.call_method0("interrupt_main").map(drop));
}

/// The batches of a Python object, to be consumed without the interpreter lock.
pub(crate) fn input(data: &Bound<'_, PyAny>) -> PyResult<Input> {
    // what the method itself raises is the caller's own
    let capsule = data.call_method0("__arrow_c_stream__")?;
    let no_stream = |cause: &dyn std::fmt::Display| {
        let text = format!("__arrow_c_stream__ gave no Arrow stream that can be read: {cause}");
        PyErr::from(CoreError::from(Error::new(ErrorKind::InvalidArgument, text)))
    };
    let capsule = capsule.cast::<PyCapsule>().map_err(|e| no_stream(&e))?;
    let opened = catch_unwind(AssertUnwindSafe(|| PyRecordBatchReader::from_arrow_pycapsule(capsule)?.into_reader()));
    let reader = opened.map_err(|_| no_stream(&"its schema is broken"))?.map_err(|e| no_stream(&e))?;
    Ok(Input { reader, rows: 0 })
}

/// Batches that come from Python.
pub(crate) struct Input {
    reader: Box<dyn RecordBatchReader + Send>,
    /// Rows of the batches so far: errors count over all of them.
    rows: usize,
}

impl Input {
    /// The columns.
    pub(crate) fn schema(&self) -> SchemaRef {
        self.reader.schema()
    }
}

impl Iterator for Input {
    type Item = siltstone::Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        // the import asserts what it relies on: a broken producer must not end the process
        let Ok(next) = catch_unwind(AssertUnwindSafe(|| self.reader.next())) else {
            let text = "the input stream breaks the rules of the Arrow C data interface";
            return Some(Err(Error::new(ErrorKind::InvalidArgument, text)
                .hint("the library that made the data has broken it; pyarrow's validate(full=True) checks it")));
        };
        let batch = next?;
        let batch = batch.map_err(|e| Error::new(ErrorKind::InvalidArgument, "the input stream failed").caused_by(e));
        let batch = batch.and_then(|batch| match batch.num_rows() {
            // an empty slice of an array has its place, and not the values before it
            0 => Ok(RecordBatch::new_empty(batch.schema())),
            _ => check_arrays(&batch, self.rows).map(|()| batch),
        });
        self.rows = self.rows.saturating_add(batch.as_ref().map_or(0, RecordBatch::num_rows));
        Some(batch)
    }
}
