//! Catalogs.

use std::{collections::BTreeMap, sync::Arc};

use pyo3::{exceptions::PyTypeError, prelude::*};
use pyo3_arrow::PySchema;
use siltstone::{schema::NewTable, table, types::data_type_from_arrow};

use crate::{
    error::Result,
    inspect::{About, Inspection},
    interrupt::interruptible,
    metastore::PyMetastore,
    request::InspectInput,
    table::PyTable,
};

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(column_types, m)?)?;
    m.add_class::<Catalog>()
}

/// The types of a table's columns for those of an Arrow schema, in SQL.
#[pyfunction]
fn column_types(schema: PySchema) -> Result<Vec<String>> {
    let fields = schema.into_inner();
    fields.fields().iter().map(|field| Ok(data_type_from_arrow(field)?.to_string())).collect()
}

type Options = BTreeMap<String, String>;

#[pyclass(frozen, module = "siltstone._core")]
struct Catalog(Arc<table::Catalog>);

#[pymethods]
impl Catalog {
    /// Of directories; with a metastore, an object with its methods, of the names that it keeps.
    #[new]
    fn new(py: Python<'_>, warehouse: &str, options: Options, metastore: Option<Py<PyAny>>) -> Result<Self> {
        interruptible(py, || {
            let catalog = match metastore {
                None => table::Catalog::open(warehouse, options)?,
                Some(object) => table::Catalog::open_with(warehouse, options, Arc::new(PyMetastore::new(object)))?,
            };
            Ok(Self(Arc::new(catalog)))
        })
    }

    /// Without secrets.
    fn options(&self) -> Options {
        self.0.options().clone()
    }

    fn databases(&self, py: Python<'_>) -> Result<Vec<String>> {
        interruptible(py, || Ok(self.0.databases()?))
    }

    fn database(&self, py: Python<'_>, name: &str) -> Result<Options> {
        interruptible(py, || Ok(self.0.database(name)?))
    }

    fn create_database(&self, py: Python<'_>, name: &str, properties: Options, if_not_exists: bool) -> Result<()> {
        interruptible(py, || Ok(self.0.create_database_with(name, &properties, if_not_exists)?))
    }

    fn drop_database(&self, py: Python<'_>, name: &str, cascade: bool, if_exists: bool) -> Result<()> {
        interruptible(py, || Ok(self.0.drop_database(name, cascade, if_exists)?))
    }

    fn tables(&self, py: Python<'_>, database: &str) -> Result<Vec<String>> {
        interruptible(py, || Ok(self.0.tables(database)?))
    }

    #[allow(clippy::too_many_arguments, reason = "the arguments of the Python method")]
    fn create_table(
        &self,
        py: Python<'_>,
        name: &str,
        schema: SchemaInput,
        primary_key: Vec<String>,
        partition_by: Vec<String>,
        options: Options,
        comment: Option<String>,
        if_not_exists: bool,
    ) -> Result<PyTable> {
        interruptible(py, || {
            let mut args = match schema {
                SchemaInput::Fields(json) => NewTable::from_json(&json)?,
                SchemaInput::Arrow(schema) => NewTable::from_arrow(&schema)?,
            };
            args.primary_key = primary_key;
            args.partition_by = partition_by;
            args.options = options;
            args.comment = comment;
            Ok(self.0.create_and_open(name, args, if_not_exists)?.into())
        })
    }

    /// The table, and the name of the system table that is meant; no table where that is about the whole catalog.
    fn table(
        &self,
        py: Python<'_>,
        name: &str,
        options: Options,
        branch: Option<&str>,
    ) -> Result<(Option<PyTable>, Option<String>)> {
        if let Some(system) = table::Catalog::system_table(name, branch, &options)? {
            return Ok((None, Some(system.to_owned())));
        }
        interruptible(py, || {
            let (table, system) = self.0.open_table(name, branch, options)?;
            Ok((Some(table.into()), system))
        })
    }

    fn inspect(&self, py: Python<'_>, name: String, request: InspectInput) -> Result<Inspection> {
        interruptible(py, || Inspection::new(About::Catalog(Arc::clone(&self.0)), name, request.0))
    }

    fn location(&self, py: Python<'_>, name: &str) -> Result<String> {
        interruptible(py, || Ok(self.0.location(name)?))
    }

    fn rename_table(&self, py: Python<'_>, source: &str, target: &str) -> Result<()> {
        interruptible(py, || Ok(self.0.rename_table(source, target)?))
    }

    fn drop_table(&self, py: Python<'_>, name: &str, if_exists: bool) -> Result<()> {
        interruptible(py, || Ok(self.0.drop_table(name, if_exists)?))
    }
}

/// A schema as JSON fields or as anything with `__arrow_c_schema__`.
enum SchemaInput {
    Fields(String),
    Arrow(arrow_schema::SchemaRef),
}

impl<'py> FromPyObject<'_, 'py> for SchemaInput {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(text) = object.extract::<String>() {
            return Ok(Self::Fields(text));
        }
        let schema: PySchema = object.extract().map_err(|_| PyTypeError::new_err("expected an Arrow schema"))?;
        Ok(Self::Arrow(schema.into_inner()))
    }
}
