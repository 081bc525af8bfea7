//! Durations, sizes and names as texts of arguments.

use pyo3::prelude::*;
use siltstone::{
    env::now_millis,
    fs,
    options::argument,
    table::{TableName, TablePath},
};

use crate::error::Result;

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(duration_millis, m)?)?;
    m.add_function(wrap_pyfunction!(age_limit, m)?)?;
    m.add_function(wrap_pyfunction!(size_bytes, m)?)?;
    m.add_function(wrap_pyfunction!(is_path, m)?)?;
    m.add_function(wrap_pyfunction!(is_secret, m)?)?;
    m.add_function(wrap_pyfunction!(is_storage_option, m)?)?;
    m.add_function(wrap_pyfunction!(system_of, m)?)
}

/// Milliseconds of `7 d`, `7 days`.
#[pyfunction]
fn duration_millis(name: &str, text: &str) -> Result<i64> {
    Ok(argument::duration_millis(name, text)?)
}

/// Epoch milliseconds of now less a duration; `None` when the text is none.
#[pyfunction]
fn age_limit(name: &str, text: &str) -> Result<Option<i64>> {
    Ok(argument::age_limit(name, text, now_millis())?)
}

/// Bytes of `128 mb`.
#[pyfunction]
fn size_bytes(name: &str, text: &str) -> Result<u64> {
    Ok(argument::size_argument(name, text)?)
}

/// Whether a text is the directory of a table, and no name `db.table`.
#[pyfunction]
fn is_path(text: &str) -> bool {
    TablePath::is_path(text)
}

/// Whether the value of an option is a secret of a storage, which is shown to nobody and does not travel.
#[pyfunction]
fn is_secret(key: &str) -> bool {
    siltstone::options::is_secret(key)
}

/// Whether an option says how a storage is reached.
#[pyfunction]
fn is_storage_option(key: &str) -> bool {
    fs::is_storage_option(key)
}

/// The system table that a name or a path names.
#[pyfunction]
fn system_of(text: &str) -> Result<Option<String>> {
    Ok(TableName::system_of(text)?)
}
