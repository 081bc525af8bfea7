//! Plans and splits.

use std::sync::Arc;

use pyo3::{prelude::*, types::PyBytes};
use siltstone::{
    io::BatchStream,
    scan::ScanRequest,
    table::{Planned, ReadableSplit, Table, explain},
};

use crate::{
    arrow::{Batches, schema_capsule, stream_capsule},
    error::Result,
    interrupt::interruptible,
};

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<Plan>()?;
    m.add_class::<Split>()?;
    m.add_class::<Batches>()
}

/// A planned read.
#[pyclass(frozen, module = "siltstone._core")]
pub(crate) struct Plan {
    table: Arc<Table>,
    request: ScanRequest,
    planned: Planned,
}

impl Plan {
    pub(crate) fn new(table: Arc<Table>, request: ScanRequest) -> Result<Self> {
        let planned = table.plan(&request)?;
        Ok(Self { table, request, planned })
    }

    fn stream(&self) -> Result<BatchStream> {
        Ok(self.table.read(&self.request, &self.planned)?)
    }
}

#[pymethods]
impl Plan {
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let schema = self.planned.schema().map_err(crate::error::CoreError::from)?;
        schema_capsule(py, &schema)
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let schema = self.planned.schema().map_err(crate::error::CoreError::from)?;
        let stream = interruptible(py, || self.stream())?;
        stream_capsule(py, schema, stream, requested_schema)
    }

    /// The rows, with errors as exceptions of siltstone; `whole`: the caller keeps all of them.
    #[pyo3(signature = (whole=false))]
    fn read(&self, py: Python<'_>, whole: bool) -> Result<Batches> {
        interruptible(py, || {
            let rows = if whole { self.table.read_whole(&self.request, &self.planned)? } else { self.stream()? };
            Batches::new(self.planned.schema()?, rows)
        })
    }

    fn count(&self, py: Python<'_>) -> Result<u64> {
        interruptible(py, || Ok(self.table.count(&self.request, &self.planned)?))
    }

    fn explain(&self) -> String {
        explain(&self.planned)
    }
}

/// A split: of a plan, or one that arrived as a token.
#[pyclass(frozen, module = "siltstone._core")]
pub(crate) struct Split {
    split: ReadableSplit,
}

/// The splits of a scan.
pub(crate) fn splits(py: Python<'_>, table: &Table, request: &ScanRequest) -> Result<Vec<Split>> {
    let splits = interruptible(py, || Ok(table.splits(request, table.plan(request)?)))?;
    Ok(splits.into_iter().map(|split| Split { split }).collect())
}

#[pymethods]
impl Split {
    #[new]
    fn new(py: Python<'_>, token: Vec<u8>) -> Result<Self> {
        Ok(Self { split: interruptible(py, || Ok(ReadableSplit::from_token(&token)?))? })
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.split.to_token()?))
    }

    #[getter]
    fn rows(&self) -> Option<i64> {
        self.split.rows()
    }

    #[getter]
    fn bytes(&self) -> i64 {
        self.split.files().map(|f| f.file_size).fold(0, i64::saturating_add)
    }

    #[getter]
    fn files(&self) -> Vec<String> {
        self.split.files().map(|f| f.file_name.clone()).collect()
    }

    fn read(&self, py: Python<'_>) -> Result<Batches> {
        interruptible(py, || {
            let (schema, rows) = self.split.read()?;
            Batches::new(schema, rows)
        })
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (schema, stream) = interruptible(py, || Ok(self.split.read()?))?;
        stream_capsule(py, schema, stream, requested_schema)
    }
}
