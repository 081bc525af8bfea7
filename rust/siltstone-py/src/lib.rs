//! `siltstone._core`: extract, detach, call, wrap. No logic lives here.
#![forbid(unsafe_code)]

mod argument;
mod arrow;
mod catalog;
mod changes;
mod compaction;
mod ending;
mod error;
mod fork;
mod health;
mod inspect;
mod interrupt;
mod maintenance;
mod metastore;
mod report;
mod request;
mod scan;
mod table;
mod write;

use std::sync::OnceLock;

use log::LevelFilter;
use pyo3::prelude::*;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What loggers show is remembered, because asking Python each time would cost too much.
static LEVELS: OnceLock<pyo3_log::ResetHandle> = OnceLock::new();

/// Asks loggers again for their levels: a program may have changed them since.
#[pyfunction]
fn forget_log_levels() {
    if let Some(levels) = LEVELS.get() {
        levels.reset();
    }
}

#[pymodule]
fn _core(m: &Bound<'_, PyModule>) -> PyResult<()> {
    // logging stays optional: a second initialisation (another copy of the module) is not an error
    if let Ok(logger) = pyo3_log::Logger::new(m.py(), pyo3_log::Caching::LoggersAndLevels) {
        // what libraries log of their requests is not ours to show
        let ours = logger.filter(LevelFilter::Off).filter_target("siltstone".to_owned(), LevelFilter::Debug);
        if let Ok(handle) = ours.install() {
            let _ = LEVELS.set(handle);
        }
    }
    m.add_function(wrap_pyfunction!(forget_log_levels, m)?)?;
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    m.add("__debug_build__", cfg!(debug_assertions))?;
    fork::register(m)?;
    ending::register(m)?;
    argument::register(m)?;
    catalog::register(m)?;
    table::register(m)?;
    inspect::register(m)?;
    health::register(m)?;
    scan::register(m)?;
    changes::register(m)?;
    write::register(m)?;
    maintenance::register(m)?;
    compaction::register(m)
}
