//! What runs where a task arrives.

use pyo3::{prelude::*, pybacked::PyBackedBytes, types::PyBytes};
use siltstone::table::{run_compaction_task, run_compaction_tasks};

use crate::{
    error::{CoreError, Result},
    interrupt::interruptible,
};

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(run_compaction, m)?)?;
    m.add_function(wrap_pyfunction!(run_compactions, m)?)
}

/// Carries out a serialized compaction task and returns a serialized commit message.
#[pyfunction]
#[pyo3(signature = (token, threads=None))]
fn run_compaction<'py>(py: Python<'py>, token: &[u8], threads: Option<usize>) -> Result<Bound<'py, PyBytes>> {
    let bytes = interruptible(py, || Ok(run_compaction_task(token, threads)?))?;
    Ok(PyBytes::new(py, &bytes))
}

/// Carries out serialized tasks, small ones side by side: what each came to, a serialized commit message or its `CommitConflict`.
#[pyfunction]
#[pyo3(signature = (tokens, threads=None))]
fn run_compactions(py: Python<'_>, tokens: Vec<PyBackedBytes>, threads: Option<usize>) -> Result<Vec<Py<PyAny>>> {
    let ended = interruptible(py, || {
        let tokens: Vec<&[u8]> = tokens.iter().map(AsRef::as_ref).collect();
        Ok(run_compaction_tasks(&tokens, threads)?)
    })?;
    let value = |end: siltstone::Result<Vec<u8>>| match end {
        Ok(bytes) => PyBytes::new(py, &bytes).into_any().unbind(),
        Err(error) => PyErr::from(CoreError::Core(error)).into_value(py).into_any(),
    };
    Ok(ended.into_iter().map(value).collect())
}
