//! System tables.

use std::sync::Arc;

use pyo3::prelude::*;
use siltstone::{
    io::BatchStream,
    table::{InspectArgs, Table},
};

use crate::{
    arrow::{Batches, schema_capsule, stream_capsule},
    error::Result,
};

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<Inspection>()
}

/// A read of a system table; the rows are made when they are asked for.
#[pyclass(frozen, module = "siltstone._core")]
pub(crate) struct Inspection {
    table: Arc<Table>,
    name: String,
    args: InspectArgs,
}

impl Inspection {
    pub(crate) fn new(table: Arc<Table>, name: String, args: InspectArgs) -> Result<Self> {
        table.inspect_schema(&name, &args)?;
        Ok(Self { table, name, args })
    }

    fn rows(&self) -> Result<BatchStream> {
        let batch = self.table.inspect(&self.name, &self.args)?;
        Ok(Box::new(std::iter::once(Ok(batch))))
    }
}

#[pymethods]
impl Inspection {
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let schema = self.table.inspect_schema(&self.name, &self.args).map_err(crate::error::CoreError::from)?;
        schema_capsule(py, &schema)
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let schema = self.table.inspect_schema(&self.name, &self.args).map_err(crate::error::CoreError::from)?;
        let stream = py.detach(|| self.rows())?;
        stream_capsule(py, schema, stream, requested_schema)
    }

    fn read(&self, py: Python<'_>) -> Result<Batches> {
        py.detach(|| Ok(Batches::new(self.table.inspect_schema(&self.name, &self.args)?, self.rows()?)))
    }

    fn count(&self, py: Python<'_>) -> Result<usize> {
        py.detach(|| Ok(self.table.inspect(&self.name, &self.args)?.num_rows()))
    }
}
