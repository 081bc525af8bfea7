//! Processes that are forked: they must not keep the locks of their parent (`siltstone::fs::before_fork`).

use pyo3::{intern, prelude::*, types::PyDict};
use siltstone::fs;

use crate::ending;

/// Waits without the interpreter lock: another thread that forks may need it to go on.
#[pyfunction]
fn before_fork(py: Python<'_>) {
    py.detach(fs::before_fork);
}

#[pyfunction]
fn after_fork_in_parent() {
    fs::after_fork_in_parent();
}

#[pyfunction]
fn after_fork_in_child() {
    fs::after_fork_in_child();
    ending::after_fork_in_child();
}

/// Python calls these around each `os.fork`, and so around what `multiprocessing` and Spark's daemon fork.
pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = m.py();
    // Windows knows no fork
    let Some(at_fork) = py.import("os")?.getattr_opt(intern!(py, "register_at_fork"))? else { return Ok(()) };
    let calls = PyDict::new(py);
    calls.set_item("before", wrap_pyfunction!(before_fork, m)?)?;
    calls.set_item("after_in_parent", wrap_pyfunction!(after_fork_in_parent, m)?)?;
    calls.set_item("after_in_child", wrap_pyfunction!(after_fork_in_child, m)?)?;
    at_fork.call((), Some(&calls)).map(drop)
}
