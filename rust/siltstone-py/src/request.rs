//! Requests from Python: dictionaries that become the core's own structs.

use pyo3::{exceptions::PyTypeError, prelude::*, types::PyDict};
use siltstone::{
    predicate::Condition,
    scan::{Between, ReadOptions, ScanRequest, VersionSelector},
    table::InspectArgs,
};

use crate::error::CoreError;

/// The members of a dictionary, each of which is asked for.
struct Members<'a, 'py> {
    dict: &'a Bound<'py, PyDict>,
    asked: usize,
}

impl<'a, 'py> Members<'a, 'py> {
    fn of(object: Borrowed<'a, 'py, PyAny>, read: impl FnOnce(&mut Members<'_, 'py>) -> PyResult<()>) -> PyResult<()> {
        let dict = object.cast::<PyDict>()?;
        let mut members = Members { dict: &dict, asked: 0 };
        read(&mut members)?;
        if members.asked < dict.len() {
            return Err(PyTypeError::new_err(format!("a request has a member that is not known: {}", dict.keys())));
        }
        Ok(())
    }

    /// A member; one that is not there is as `None`.
    fn take<T: for<'x> FromPyObject<'x, 'py, Error: Into<PyErr>>>(&mut self, name: &str) -> PyResult<Option<T>> {
        let Some(value) = self.dict.get_item(name)? else { return Ok(None) };
        self.asked += 1;
        value.extract::<Option<T>>().map_err(Into::into)
    }

    fn filter(&mut self) -> PyResult<Option<Condition>> {
        Ok(self.take::<ConditionInput>("filter")?.map(Into::into))
    }
}

/// What `scan_request` of `scan.py` makes.
pub(crate) struct ScanInput(pub(crate) ScanRequest);

impl<'py> FromPyObject<'_, 'py> for ScanInput {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let mut request = ScanRequest::default();
        Members::of(object, |members| {
            request.columns = members.take("columns")?;
            request.filter = members.filter()?;
            request.system = members.take("system")?;
            request.todays_schema = members.take("todays_schema")?.unwrap_or_default();
            request.options = ReadOptions {
                limit: members.take("limit")?,
                row_kind: members.take("row_kind")?.unwrap_or_default(),
                batch_rows: members.take("batch_size")?,
                memory_limit: members.take("memory_limit")?,
                threads: members.take("threads")?,
                ..ReadOptions::default()
            };
            let version = members.take::<VersionInput>("version")?.map(Into::into);
            let between = members.take::<BetweenInput>("between")?.map(|b| b.0);
            let mode: Option<String> = members.take("mode")?;
            let at =
                request.clone().at(version, members.take("tag")?, members.take("as_of")?, between, mode.as_deref());
            request = at.map_err(CoreError::from)?;
            Ok(())
        })?;
        Ok(Self(request))
    }
}

/// What is asked of a system table that has no versions.
pub(crate) struct InspectInput(pub(crate) InspectArgs);

impl<'py> FromPyObject<'_, 'py> for InspectInput {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let mut args = InspectArgs::default();
        Members::of(object, |members| {
            args = InspectArgs {
                columns: members.take("columns")?,
                filter: members.filter()?,
                limit: members.take("limit")?,
            };
            Ok(())
        })?;
        Ok(Self(args))
    }
}

/// `("sql", text)` or `("json", text)`.
#[derive(FromPyObject)]
pub(crate) struct ConditionInput(String, String);

impl From<ConditionInput> for Condition {
    fn from(ConditionInput(form, text): ConditionInput) -> Self {
        if form == "sql" { Self::Sql(text) } else { Self::Json(text) }
    }
}

/// A number is a snapshot's id, a text a tag's name before anything else.
#[derive(FromPyObject)]
pub(crate) enum VersionInput {
    Id(i64),
    Text(String),
}

impl From<VersionInput> for VersionSelector {
    fn from(version: VersionInput) -> Self {
        match version {
            VersionInput::Id(id) => Self::Snapshot(id),
            VersionInput::Text(text) => Self::Version(text),
        }
    }
}

/// `("snapshots", 3, 7)`, `("names", "a", "b")`, `("times", 0, 1)` or `("to-auto-tag", "2026-11-21")`.
struct BetweenInput(Between);

impl<'py> FromPyObject<'_, 'py> for BetweenInput {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok((_, tag)) = object.extract::<(String, String)>() {
            return Ok(Self(Between::ToAutoTag(tag)));
        }
        if let Ok((_, start, end)) = object.extract::<(String, String, String)>() {
            return Ok(Self(Between::Names(start, end)));
        }
        let (what, start, end): (String, i64, i64) = object.extract()?;
        Ok(Self(if what == "times" { Between::Times(start, end) } else { Between::Snapshots(start, end) }))
    }
}
