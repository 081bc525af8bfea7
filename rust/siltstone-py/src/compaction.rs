//! What runs where a task arrives.

use pyo3::{prelude::*, types::PyBytes};
use siltstone::table::run_compaction_task;

use crate::{error::Result, interrupt::interruptible};

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(run_compaction, m)?)
}

/// Carries out a serialized compaction task and returns a serialized commit message.
#[pyfunction]
#[pyo3(signature = (token, threads=None))]
fn run_compaction<'py>(py: Python<'py>, token: &[u8], threads: Option<usize>) -> Result<Bound<'py, PyBytes>> {
    let bytes = interruptible(py, || Ok(run_compaction_task(token, threads)?))?;
    Ok(PyBytes::new(py, &bytes))
}
