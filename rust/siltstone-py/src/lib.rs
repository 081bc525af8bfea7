//! `siltstone._core`: extract, detach, call, wrap. No logic lives here.
#![forbid(unsafe_code)]

mod argument;
mod arrow;
mod catalog;
mod changes;
mod compaction;
mod error;
mod fork;
mod inspect;
mod interrupt;
mod maintenance;
mod metastore;
mod request;
mod scan;
mod table;
mod write;

use pyo3::prelude::*;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[pymodule]
fn _core(m: &Bound<'_, PyModule>) -> PyResult<()> {
    // logging stays optional: a second initialisation (another copy of the module) is not an error
    let _ = pyo3_log::try_init();
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    m.add("__debug_build__", cfg!(debug_assertions))?;
    fork::register(m)?;
    argument::register(m)?;
    catalog::register(m)?;
    table::register(m)?;
    inspect::register(m)?;
    scan::register(m)?;
    changes::register(m)?;
    write::register(m)?;
    maintenance::register(m)?;
    compaction::register(m)
}
