//! Writers and their messages.

use std::sync::{
    Mutex,
    atomic::{AtomicBool, Ordering},
};

use arrow_array::Int8Array;
use pyo3::{prelude::*, types::PyBytes};
use siltstone::{
    Error, ErrorKind,
    commit::Committable,
    row::RowKind,
    table,
    table::{CommitReport, TableWriter},
    write::RowKinds,
};

use crate::{
    arrow::input,
    error::Result,
    interrupt::{drop_detached, interruptible, locked},
    report::Typed,
};

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<RowAssigner>()?;
    m.add_class::<Writer>()
}

/// One of several assigners of a job.
#[pyclass(frozen, module = "siltstone._core")]
pub(crate) struct RowAssigner(Mutex<table::RowAssigner>);

impl RowAssigner {
    pub(crate) fn new(assigner: table::RowAssigner) -> Self {
        Self(Mutex::new(assigner))
    }
}

#[pymethods]
impl RowAssigner {
    /// The bucket of each row, and a number that is equal for rows of one (partition, bucket).
    fn assign(&self, py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<(Vec<i32>, Vec<i32>)> {
        let batches = input(data)?;
        let assigned: Result<(Vec<i32>, Vec<i32>)> = interruptible(py, || Ok(locked(&self.0)?.assign(batches)?));
        Ok(assigned?)
    }
}

/// A writer.
#[pyclass(frozen, module = "siltstone._core")]
pub(crate) struct Writer {
    /// `None` once it is closed.
    state: Mutex<Option<TableWriter>>,
    /// A write failed while another thread's call had the state, which does not know it yet.
    failed: AtomicBool,
    /// The last `prepare_commit` has made messages.
    handed_out: AtomicBool,
}

impl Drop for Writer {
    fn drop(&mut self) {
        drop_detached(self.state.get_mut().map(Option::take).ok());
    }
}

impl Writer {
    pub(crate) fn new(writer: TableWriter) -> Self {
        Self { state: Mutex::new(Some(writer)), failed: AtomicBool::new(false), handed_out: AtomicBool::new(false) }
    }

    fn with<T: Send>(&self, py: Python<'_>, f: impl FnOnce(&mut TableWriter) -> Result<T> + Send) -> Result<T> {
        interruptible(py, || {
            let mut guard = locked(&self.state)?;
            let writer = guard.as_mut().ok_or_else(|| {
                Error::new(ErrorKind::InvalidArgument, "the writer is closed").hint("open a new one with t.writer()")
            })?;
            if self.failed.swap(false, Ordering::Relaxed) {
                writer.fail();
            }
            f(writer)
        })
    }
}

#[pymethods]
impl Writer {
    fn write(&self, py: Python<'_>, data: &Bound<'_, PyAny>, kinds: Option<Kinds>) -> PyResult<()> {
        let batches = input(data)?;
        Ok(self.with(py, |writer| {
            let kinds = kinds.map(Kinds::parse).transpose().map_err(|e| e.in_table(writer.table_name()))?;
            Ok(writer.write_all(batches, kinds.as_ref())?)
        })?)
    }

    /// Rows that say in their last column which bucket they are of.
    fn write_given(&self, py: Python<'_>, data: &Bound<'_, PyAny>, kind: Option<String>) -> PyResult<()> {
        let batches = input(data)?;
        Ok(self.with(py, |writer| {
            let kind =
                kind.map(Kinds::All).map(Kinds::parse).transpose().map_err(|e| e.in_table(writer.table_name()))?;
            Ok(writer.write_given(batches, kind.as_ref())?)
        })?)
    }

    /// A write failed before its rows came here. This waits for no other thread: Ctrl-C may be what made it fail.
    fn fail(&self) {
        match self.state.try_lock().as_deref_mut() {
            Ok(writer) => {
                if let Some(writer) = writer {
                    writer.fail();
                }
            }
            Err(_) => self.failed.store(true, Ordering::Relaxed),
        }
    }

    /// Messages that `prepare_commit` gave have reached nobody.
    fn lose_messages(&self) {
        if self.handed_out.swap(false, Ordering::Relaxed)
            && let Ok(Some(writer)) = self.state.try_lock().as_deref_mut().map(Option::as_mut)
        {
            writer.lose_messages();
        }
    }

    fn discard(&self, py: Python<'_>) -> Result<()> {
        self.with(py, |writer| Ok(writer.discard()?))
    }

    fn keep(&self, py: Python<'_>) -> Result<()> {
        self.with(py, |writer| Ok(writer.keep()?))
    }

    fn compact(&self, py: Python<'_>, full: bool) -> Result<()> {
        self.with(py, |writer| Ok(writer.compact(full)?))
    }

    fn prepare_commit<'py>(&self, py: Python<'py>) -> Result<Vec<Bound<'py, PyBytes>>> {
        self.handed_out.store(false, Ordering::Relaxed);
        let messages = self.with(py, |writer| {
            let messages = writer.prepare_commit()?;
            self.handed_out.store(true, Ordering::Relaxed);
            Ok(messages)
        })?;
        Ok(messages.iter().map(|m| PyBytes::new(py, m)).collect())
    }

    fn commit(
        &self,
        py: Python<'_>,
        identifier: Option<i64>,
        watermark: Option<i64>,
        allow_empty: bool,
    ) -> Result<Typed<CommitReport>> {
        self.with(py, |writer| {
            let committable = Committable { identifier, watermark, allow_empty, ..Committable::default() };
            Ok(Typed(writer.commit(committable)?))
        })
    }

    #[getter]
    fn commit_user(&self, py: Python<'_>) -> Result<String> {
        self.with(py, |writer| Ok(writer.commit_user().to_owned()))
    }

    fn close(&self, py: Python<'_>) -> Result<()> {
        interruptible(py, || {
            if let Some(writer) = locked(&self.state)?.take() {
                writer.close();
            }
            Ok(())
        })
    }
}

/// One row kind, or one per row.
#[derive(FromPyObject)]
enum Kinds {
    All(String),
    PerRow(Vec<String>),
}

impl Kinds {
    fn parse(self) -> siltstone::Result<RowKinds> {
        Ok(match self {
            Self::All(text) => RowKinds::All(RowKind::parse(&text)?),
            Self::PerRow(texts) => {
                let bytes: siltstone::Result<Vec<i8>> =
                    texts.iter().map(|t| RowKind::parse(t).map(RowKind::to_byte)).collect();
                RowKinds::PerRow(Int8Array::from(bytes?))
            }
        })
    }
}
