//! Metastores that are written in Python: an object with the methods of [`Metastore`], of plain texts and dicts.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use pyo3::{call::PyCallArgs, conversion::FromPyObjectOwned, exceptions::PyException, prelude::*, types::PyString};
use siltstone::{
    Error, ErrorKind, Result,
    table::{GoBack, Metastore, Patience, Properties, ServedTable, TableName, TableServer},
};

use crate::error::kind_of;

/// The object.
#[derive(Debug)]
pub(crate) struct PyMetastore(Py<PyAny>);

impl PyMetastore {
    pub(crate) fn new(object: Py<PyAny>) -> Self {
        Self(object)
    }

    /// Calls a method that gives nothing back.
    fn tell<A: for<'py> PyCallArgs<'py>>(&self, method: &str, arguments: A) -> Result<()> {
        self.call::<Option<bool>, A>(method, arguments).map(drop)
    }

    fn call<T, A>(&self, method: &str, arguments: A) -> Result<T>
    where
        T: for<'py> FromPyObjectOwned<'py>,
        A: for<'py> PyCallArgs<'py>,
    {
        Python::attach(|py| {
            let called = self.0.bind(py).call_method1(PyString::new(py, method), arguments);
            called.and_then(|answer| answer.extract::<T>().map_err(Into::into)).map_err(|e| failed(py, method, e))
        })
    }
}

/// What Python raised as an error of the core. What ends programs stays with the interpreter, for the end of the call.
fn failed(py: Python<'_>, method: &str, raised: PyErr) -> Error {
    if !raised.is_instance_of::<PyException>(py) {
        raised.restore(py);
        return Error::new(ErrorKind::Cancelled, "the operation was stopped");
    }
    let value = raised.value(py);
    let kind = kind_of(value.get_type().name().map(|name| name.to_string()).unwrap_or_default().as_str());
    let text = |name: &str| value.getattr(name).ok().and_then(|text| text.extract::<Option<String>>().ok()).flatten();
    let own = kind.and_then(|_| text("message"));
    let message = own.unwrap_or_else(|| format!("the catalog failed in {method}: {raised}"));
    let mut error = Error::new(kind.unwrap_or(ErrorKind::Storage), message);
    let is_set = |name: &str| value.getattr(name).ok().and_then(|flag| flag.extract::<bool>().ok()).unwrap_or(false);
    if is_set("without_effect") {
        error = error.without_effect();
    }
    match text("hint").filter(|_| kind.is_some()) {
        Some(hint) => error.hint(hint),
        None => error,
    }
}

impl Metastore for PyMetastore {
    fn databases(&self) -> Result<Vec<String>> {
        self.call("databases", ())
    }

    fn database(&self, name: &str) -> Result<Option<Properties>> {
        self.call("database", (name.to_owned(),))
    }

    fn create_database(&self, name: &str, properties: &Properties) -> Result<bool> {
        self.call("create_database", (name.to_owned(), properties.clone()))
    }

    fn drop_database(&self, name: &str) -> Result<bool> {
        self.call("drop_database", (name.to_owned(),))
    }

    fn tables(&self, database: &str) -> Result<Vec<String>> {
        self.call("tables", (database.to_owned(),))
    }

    fn has_table(&self, name: &TableName) -> Result<bool> {
        self.call("has_table", (name.database.clone(), name.table.clone()))
    }

    fn other_object(&self, name: &TableName) -> Result<Option<String>> {
        self.call("other_object", (name.database.clone(), name.table.clone()))
    }

    fn create_table(&self, name: &TableName, properties: &Properties) -> Result<bool> {
        self.call("create_table", (name.database.clone(), name.table.clone(), properties.clone()))
    }

    fn drop_table(&self, name: &TableName) -> Result<bool> {
        self.call("drop_table", (name.database.clone(), name.table.clone()))
    }

    fn rename_table(&self, from: &TableName, to: &TableName) -> Result<bool> {
        let both = (from.database.clone(), from.table.clone(), to.database.clone(), to.table.clone());
        self.call("rename_table", both)
    }

    fn alter_table(&self, name: &TableName, properties: &Properties) -> Result<()> {
        self.tell("alter_table", (name.database.clone(), name.table.clone(), properties.clone()))
    }

    fn patience(&self) -> Option<Patience> {
        let millis: Option<(u64, u64)> = self.call("patience", ()).ok().flatten();
        let patience = |(timeout, sleep)| Patience {
            timeout: Duration::from_millis(timeout),
            longest_sleep: Duration::from_millis(sleep),
        };
        millis.map(patience)
    }

    fn try_lock(&self, name: &TableName) -> Result<Option<String>> {
        self.call("try_lock", (name.database.clone(), name.table.clone()))
    }

    fn unlock(&self, name: &TableName, taken: &str) -> Result<()> {
        self.tell("unlock", (name.database.clone(), name.table.clone(), taken.to_owned()))
    }

    fn server(self: Arc<Self>) -> Option<Arc<dyn TableServer>> {
        let keeps_tables = Python::attach(|py| {
            let flag = self.0.bind(py).getattr("keeps_tables").ok();
            flag.and_then(|flag| flag.extract::<bool>().ok()).unwrap_or(false)
        });
        keeps_tables.then_some(self as Arc<dyn TableServer>)
    }
}

/// A branch is named as Java names it in such a catalog.
fn object(name: &TableName) -> String {
    if name.branch == "main" { name.table.clone() } else { format!("{}$branch_{}", name.table, name.branch) }
}

/// Location, id, whether it is external, its kind, and options of its storage.
type Described = (String, String, bool, Option<String>, Option<BTreeMap<String, String>>);

impl TableServer for PyMetastore {
    fn table(&self, name: &TableName) -> Result<Option<ServedTable>> {
        let found: Option<Described> = self.call("table", (name.database.clone(), object(name)))?;
        Ok(found.map(|(location, id, is_external, kind, storage)| ServedTable {
            location,
            id,
            is_external,
            kind,
            storage,
        }))
    }

    fn storage(&self, name: &TableName) -> Result<BTreeMap<String, String>> {
        self.call("storage", (name.database.clone(), object(name)))
    }

    fn create_table(&self, name: &TableName, schema: &str) -> Result<bool> {
        self.call("make_table", (name.database.clone(), name.table.clone(), schema.to_owned()))
    }

    fn change_schema(&self, name: &TableName, changes: &str) -> Result<()> {
        self.tell("change_schema", (name.database.clone(), object(name), changes.to_owned()))
    }

    fn commit(&self, name: &TableName, id: &str, snapshot: &str, statistics: &str) -> Result<bool> {
        let what = (id.to_owned(), snapshot.to_owned(), statistics.to_owned());
        self.call("commit", (name.database.clone(), object(name), what.0, what.1, what.2))
    }

    fn rollback(&self, name: &TableName, to: &GoBack) -> Result<()> {
        let (snapshot, tag) = match to {
            GoBack::Snapshot(id) => (Some(*id), None),
            GoBack::Tag(tag) => (None, Some(tag.clone())),
        };
        self.tell("rollback", (name.database.clone(), object(name), snapshot, tag))
    }

    fn create_branch(&self, name: &TableName, branch: &str, tag: Option<&str>) -> Result<()> {
        let tag = tag.map(str::to_owned);
        self.tell("create_branch", (name.database.clone(), name.table.clone(), branch.to_owned(), tag))
    }

    fn drop_branch(&self, name: &TableName, branch: &str) -> Result<()> {
        self.tell("drop_branch", (name.database.clone(), name.table.clone(), branch.to_owned()))
    }

    fn rename_branch(&self, name: &TableName, branch: &str, to: &str) -> Result<()> {
        let names = (name.database.clone(), name.table.clone(), branch.to_owned(), to.to_owned());
        self.tell("rename_branch", names)
    }

    fn forward_branch(&self, name: &TableName, branch: &str) -> Result<()> {
        self.tell("forward_branch", (name.database.clone(), name.table.clone(), branch.to_owned()))
    }
}
