//! Streams of changes.

use std::sync::{Arc, Mutex};

use pyo3::prelude::*;
use siltstone::table::{ChangeStream as Stream, ChangesArgs, Progress, Table};

use crate::{
    arrow::Batches,
    error::Result,
    interrupt::{interruptible, locked},
};

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<Changes>()
}

/// A stream of changes; waiting is left to Python, where it can be interrupted.
#[pyclass(frozen, module = "siltstone._core")]
pub(crate) struct Changes(Mutex<Stream>);

impl Changes {
    pub(crate) fn new(table: Arc<Table>, args: ChangesArgs) -> Result<Self> {
        Ok(Self(Mutex::new(Stream::new(table, args)?)))
    }
}

#[pymethods]
impl Changes {
    /// `(snapshot id, rows, None)`; `(None, None, milliseconds to wait)`; `None` at the end.
    #[allow(clippy::type_complexity, reason = "a Python tuple")]
    fn progress(&self, py: Python<'_>) -> Result<Option<(Option<i64>, Option<Batches>, Option<u64>)>> {
        interruptible(py, || {
            let mut stream = locked(&self.0)?;
            Ok(match stream.progress()? {
                Progress::Rows(id, schema, rows) => Some((Some(id), Some(Batches::new(schema, rows)?), None)),
                Progress::Wait(millis) => Some((None, None, Some(millis))),
                Progress::End => None,
            })
        })
    }

    fn done(&self, py: Python<'_>) -> Result<()> {
        interruptible(py, || Ok(locked(&self.0)?.done()?))
    }
}
