//! System tables.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use pyo3::prelude::*;
use siltstone::{
    io::BatchStream,
    table::{self, InspectArgs, Table},
};

use crate::{
    arrow::{Batches, schema_capsule, stream_capsule},
    error::Result,
    interrupt::interruptible,
};

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<Inspection>()
}

/// A read of a system table; the rows are made when they are asked for.
#[pyclass(frozen, module = "siltstone._core")]
pub(crate) struct Inspection {
    about: About,
    name: String,
    args: InspectArgs,
}

/// What the system table is about.
pub(crate) enum About {
    Table(Arc<Table>),
    Catalog(Arc<table::Catalog>),
}

impl Inspection {
    /// Checks the arguments.
    pub(crate) fn new(about: About, name: String, args: InspectArgs) -> Result<Self> {
        let made = Self { about, name, args };
        made.schema()?;
        Ok(made)
    }

    fn schema(&self) -> Result<SchemaRef> {
        Ok(match &self.about {
            About::Table(table) => table.inspect_schema(&self.name, &self.args)?,
            About::Catalog(catalog) => catalog.inspect_schema(&self.name, &self.args)?,
        })
    }

    fn batches(&self, args: &InspectArgs) -> Result<Vec<RecordBatch>> {
        Ok(match &self.about {
            About::Table(table) => table.inspect(&self.name, args)?,
            About::Catalog(catalog) => catalog.inspect(&self.name, args)?,
        })
    }

    fn rows(&self) -> Result<BatchStream> {
        let batches = self.batches(&self.args)?;
        Ok(Box::new(batches.into_iter().map(Ok)))
    }
}

#[pymethods]
impl Inspection {
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let schema = self.schema()?;
        schema_capsule(py, &schema)
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let schema = self.schema()?;
        let stream = interruptible(py, || self.rows())?;
        stream_capsule(py, schema, stream, requested_schema)
    }

    /// `whole` as of a plan; metadata is small and held in any case.
    #[pyo3(signature = (whole=false))]
    #[allow(unused_variables, reason = "nothing is read ahead here")]
    fn read(&self, py: Python<'_>, whole: bool) -> Result<Batches> {
        interruptible(py, || Batches::new(self.schema()?, self.rows()?))
    }

    fn count(&self, py: Python<'_>) -> Result<usize> {
        // no column is made for that
        let args = InspectArgs { columns: Some(Vec::new()), ..self.args.clone() };
        interruptible(py, || Ok(self.batches(&args)?.iter().map(RecordBatch::num_rows).sum()))
    }
}
