//! Tags, branches, rollback, expiry, cleaning.

use std::sync::Arc;

use pyo3::prelude::*;
use siltstone::{
    cleanup::Report,
    maintenance::fsck::Verdict,
    snapshot::Tag,
    table::{CommitReport, ExpireArgs, PartitionExpireArgs, Table, TagArgs, VersionArgs},
};

use crate::{
    error::Result,
    interrupt::interruptible,
    report::{Typed, typed},
    request::VersionInput,
};

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(check, m)?)?;
    m.add_class::<Maintenance>()
}

/// Checks the table in a directory, even one that cannot be opened.
#[pyfunction]
fn check(py: Python<'_>, location: &str, deep: bool) -> Result<Typed<Verdict>> {
    interruptible(py, || Ok(Typed(siltstone::table::check(location, deep)?)))
}

/// Maintenance of one table.
#[pyclass(frozen, module = "siltstone._core")]
pub(crate) struct Maintenance(Arc<Table>);

impl Maintenance {
    pub(crate) fn new(table: Arc<Table>) -> Self {
        Self(table)
    }
}

#[pymethods]
impl Maintenance {
    fn tags(&self, py: Python<'_>) -> Result<Vec<Typed<(String, Tag)>>> {
        let table = &self.0;
        interruptible(py, || Ok(typed(table.tags()?)))
    }

    fn tag(&self, py: Python<'_>, name: &str) -> Result<Typed<(String, Tag)>> {
        let table = &self.0;
        interruptible(py, || Ok(Typed((name.to_owned(), table.tag(name)?))))
    }

    fn tag_exists(&self, py: Python<'_>, name: &str) -> Result<bool> {
        let table = &self.0;
        interruptible(py, || Ok(table.tag_exists(name)?))
    }

    fn tag_neighbour(&self, py: Python<'_>, name: &str, next: bool) -> Result<Option<String>> {
        let table = &self.0;
        interruptible(py, || Ok(table.tag_neighbour(name, next)?))
    }

    #[pyo3(signature = (name, *, replace, version, tag, as_of, retain, if_not_exists, allow_numeric))]
    #[allow(clippy::too_many_arguments, reason = "the arguments of the Python method")]
    fn create_tag(
        &self,
        py: Python<'_>,
        name: &str,
        replace: bool,
        version: Option<VersionInput>,
        tag: Option<String>,
        as_of: Option<i64>,
        retain: Option<String>,
        if_not_exists: bool,
        allow_numeric: bool,
    ) -> Result<Typed<(String, Tag)>> {
        let table = &self.0;
        let version = version.map(Into::into);
        let args = TagArgs { source: VersionArgs { version, tag, as_of }, retain, if_not_exists, allow_numeric };
        interruptible(py, || {
            let made = if replace { table.replace_tag(name, &args)? } else { table.create_tag(name, &args)? };
            Ok(Typed((name.to_owned(), made)))
        })
    }

    fn rename_tag(&self, py: Python<'_>, from: &str, to: &str, allow_numeric: bool) -> Result<()> {
        let table = &self.0;
        interruptible(py, || Ok(table.rename_tag(from, to, allow_numeric)?))
    }

    fn delete_tag(&self, py: Python<'_>, name: &str, dry_run: bool) -> Result<Typed<Report>> {
        let table = &self.0;
        interruptible(py, || Ok(Typed(table.delete_tag(name, dry_run)?)))
    }

    fn expire_tags(&self, py: Python<'_>, older_than: Option<i64>, dry_run: bool) -> Result<Typed<Report>> {
        let table = &self.0;
        interruptible(py, || Ok(Typed(table.expire_tags(older_than, dry_run)?)))
    }

    fn create_automatic_tags(&self, py: Python<'_>) -> Result<Typed<Report>> {
        let table = &self.0;
        interruptible(py, || Ok(Typed(table.create_automatic_tags()?)))
    }

    fn rollback(
        &self,
        py: Python<'_>,
        version: Option<VersionInput>,
        tag: Option<String>,
        as_of: Option<i64>,
        dry_run: bool,
    ) -> Result<Typed<Report>> {
        let table = &self.0;
        let target = VersionArgs { version: version.map(Into::into), tag, as_of };
        interruptible(py, || Ok(Typed(table.rollback(&target, dry_run)?)))
    }

    fn branches(&self, py: Python<'_>) -> Result<Vec<(String, i64)>> {
        let table = &self.0;
        interruptible(py, || Ok(table.branches()?))
    }

    fn create_branch(&self, py: Python<'_>, name: &str, tag: Option<String>, version: Option<&str>) -> Result<()> {
        let table = &self.0;
        interruptible(py, || Ok(table.create_branch(name, tag, version)?))
    }

    fn delete_branch(&self, py: Python<'_>, name: &str, dry_run: bool) -> Result<Typed<Report>> {
        let table = &self.0;
        interruptible(py, || Ok(Typed(table.delete_branch(name, dry_run)?)))
    }

    fn rename_branch(&self, py: Python<'_>, from: &str, to: &str) -> Result<()> {
        let table = &self.0;
        interruptible(py, || Ok(table.rename_branch(from, to)?))
    }

    fn fast_forward(&self, py: Python<'_>, name: &str, dry_run: bool) -> Result<Typed<Report>> {
        let table = &self.0;
        interruptible(py, || Ok(Typed(table.fast_forward(name, dry_run)?)))
    }

    fn expire_snapshots(
        &self,
        py: Python<'_>,
        retain_max: Option<i64>,
        retain_min: Option<i64>,
        older_than: Option<i64>,
        max_deletes: Option<i64>,
        dry_run: bool,
    ) -> Result<Typed<Report>> {
        let table = &self.0;
        let args = ExpireArgs { retain_max, retain_min, older_than, max_deletes };
        interruptible(py, || Ok(Typed(table.expire_snapshots(&args, dry_run)?)))
    }

    fn expire_snapshots_by_options(
        &self,
        py: Python<'_>,
        older_than: Option<i64>,
        dry_run: bool,
    ) -> Result<Typed<Report>> {
        let table = &self.0;
        interruptible(py, || Ok(Typed(table.expire_snapshots_by_options(older_than, dry_run)?)))
    }

    #[allow(clippy::too_many_arguments, reason = "the arguments of the Python method")]
    fn expire_partitions(
        &self,
        py: Python<'_>,
        expiration_time: Option<String>,
        timestamp_formatter: Option<String>,
        timestamp_pattern: Option<String>,
        strategy: Option<String>,
        max_expires: Option<usize>,
        dry_run: bool,
    ) -> Result<Typed<Report>> {
        let table = &self.0;
        let args =
            PartitionExpireArgs { expiration_time, timestamp_formatter, timestamp_pattern, strategy, max_expires };
        interruptible(py, || Ok(Typed(table.expire_partitions(&args, dry_run)?)))
    }

    fn expire_consumers(&self, py: Python<'_>, older_than: i64, dry_run: bool) -> Result<Typed<Report>> {
        let table = &self.0;
        interruptible(py, || Ok(Typed(table.expire_consumers(older_than, dry_run)?)))
    }

    fn remove_orphan_files(&self, py: Python<'_>, older_than: Option<i64>, dry_run: bool) -> Result<Typed<Report>> {
        let table = &self.0;
        interruptible(py, || Ok(Typed(table.remove_orphan_files(older_than, dry_run)?)))
    }

    fn fsck(&self, py: Python<'_>, deep: bool) -> Result<Typed<Verdict>> {
        let table = &self.0;
        interruptible(py, || Ok(Typed(table.fsck(deep)?)))
    }

    fn analyze(&self, py: Python<'_>) -> Result<Typed<CommitReport>> {
        let table = &self.0;
        interruptible(py, || Ok(Typed(table.analyze()?)))
    }
}
