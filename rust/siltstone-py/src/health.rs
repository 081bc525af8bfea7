//! Figures of a table's health, as plain values.

use std::collections::BTreeMap;

use pyo3::prelude::*;
use siltstone::table::{BucketFigures, Health, HealthArgs, KeptVersion, LevelFigures, PlanFigures};

use crate::{error::Result, interrupt::interruptible, table::PyTable};

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<HealthFigures>()?;
    m.add_function(wrap_pyfunction!(health, m)?)?;
    m.add_function(wrap_pyfunction!(level_figures, m)?)
}

/// Tasks, files, bytes, rows; or why there is no plan.
type Plan = (usize, usize, i64, i64, Option<String>);

/// Level, files, rows, bytes, runs.
type Level = (i32, usize, i64, i64, usize);

/// Partition, bucket, files, rows, bytes, runs, deleted rows, bytes of each level.
type Bucket = (String, i32, usize, i64, i64, usize, i64, BTreeMap<i32, i64>);

/// Partition, files, rows, bytes, last write as local time in milliseconds.
type Partition = (String, i64, i64, i64, Option<i64>);

/// What the core found: the fields of the classes of `siltstone.health.figures`, in their order.
#[pyclass(frozen, module = "siltstone._core")]
struct HealthFigures(Health);

#[pymethods]
impl HealthFigures {
    #[getter]
    fn totals(&self) -> (usize, i64, i64, i64, i64, i64, usize, usize) {
        let t = &self.0.totals;
        (t.files, t.rows, t.bytes, t.retractions, t.deleted_rows, t.waiting_rows, t.buckets, t.partitions)
    }

    #[getter]
    fn levels(&self) -> Vec<Level> {
        levels(&self.0.levels)
    }

    #[getter]
    fn buckets(&self) -> Vec<Bucket> {
        let bucket = |b: &BucketFigures| {
            let levels = b.levels.clone();
            (b.partition.clone(), b.bucket, b.files, b.rows, b.bytes, b.runs, b.deleted_rows, levels)
        };
        self.0.buckets.iter().map(bucket).collect()
    }

    #[getter]
    fn sizes(&self) -> Vec<(i64, usize, usize)> {
        self.0.sizes.iter().map(|s| (s.least_bytes, s.files, s.fresh)).collect()
    }

    #[getter]
    fn partition_classes(&self) -> Vec<(usize, i64, usize, i64)> {
        self.0.partition_classes.iter().map(|c| (c.age, c.least_bytes, c.partitions, c.bytes)).collect()
    }

    #[getter]
    fn partitions(&self) -> Vec<Partition> {
        self.0.partitions.iter().map(|p| (p.partition.clone(), p.files, p.rows, p.bytes, p.last_write)).collect()
    }

    /// Bytes of each version.
    #[getter]
    fn versions(&self) -> Vec<Option<i64>> {
        self.0.kept.versions.clone()
    }

    /// Bytes of each keeper, and of what it alone has.
    #[getter]
    fn keepers(&self) -> Vec<Option<(i64, i64)>> {
        self.0.kept.keepers.clone()
    }

    #[getter]
    fn compaction(&self) -> Plan {
        plan(&self.0.compaction)
    }

    #[getter]
    fn full_compaction(&self) -> Plan {
        plan(&self.0.full_compaction)
    }
}

fn levels(figures: &[LevelFigures]) -> Vec<Level> {
    figures.iter().map(|l| (l.level, l.files, l.rows, l.bytes, l.runs)).collect()
}

fn plan(found: &PlanFigures) -> Plan {
    match found {
        Ok(sums) => (sums.tasks, sums.files, sums.bytes, sums.rows, None),
        Err(text) => (0, 0, 0, 0, Some(text.clone())),
    }
}

/// Looks at the table as a whole. A version is: what keeps it, its branch, its snapshot, and a tag that is asked for instead.
#[pyfunction]
#[pyo3(signature = (table, *, snapshot, versions, compared, shown, now_millis, age_hours))]
#[allow(clippy::too_many_arguments, reason = "the arguments of the Python function")]
fn health(
    py: Python<'_>,
    table: &PyTable,
    snapshot: Option<i64>,
    versions: Vec<(usize, String, i64, Option<String>)>,
    compared: usize,
    shown: usize,
    now_millis: i64,
    age_hours: Vec<i64>,
) -> Result<HealthFigures> {
    let table = table.table()?;
    let version = |(keeper, branch, snapshot, tag)| KeptVersion { keeper, branch, snapshot, tag };
    let versions = versions.into_iter().map(version).collect();
    let args = HealthArgs { snapshot, versions, compared, shown, now: now_millis, ages: age_hours };
    interruptible(py, || Ok(HealthFigures(table.health(&args)?)))
}

/// Figures of each level.
#[pyfunction]
fn level_figures(py: Python<'_>, table: &PyTable) -> Result<Vec<Level>> {
    let table = table.table()?;
    interruptible(py, || Ok(levels(&table.level_figures()?)))
}
