//! Figures of a table's health, as plain values.

use std::collections::BTreeMap;

use pyo3::prelude::*;
use siltstone::table::{Health, HealthArgs, KeptVersion, LevelFigures, PlanFigures};

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

/// The fields of the classes of `siltstone.health.figures`, in their order.
#[pyclass(frozen, get_all, module = "siltstone._core")]
struct HealthFigures {
    totals: (usize, i64, i64, i64, i64, i64, usize, usize),
    levels: Vec<Level>,
    buckets: Vec<Bucket>,
    sizes: Vec<(i64, usize, usize)>,
    partition_classes: Vec<(usize, i64, usize, i64)>,
    /// The last is local time, milliseconds.
    partitions: Vec<(String, i64, i64, i64, Option<i64>)>,
    /// Bytes of each version.
    versions: Vec<Option<i64>>,
    /// Bytes of each keeper, and of what it alone has.
    keepers: Vec<Option<(i64, i64)>>,
    compaction: Plan,
    full_compaction: Plan,
}

impl From<Health> for HealthFigures {
    fn from(health: Health) -> Self {
        let t = health.totals;
        Self {
            totals: (t.files, t.rows, t.bytes, t.retractions, t.deleted_rows, t.waiting_rows, t.buckets, t.partitions),
            levels: levels(health.levels),
            buckets: health
                .buckets
                .into_iter()
                .map(|b| (b.partition, b.bucket, b.files, b.rows, b.bytes, b.runs, b.deleted_rows, b.levels))
                .collect(),
            sizes: health.sizes.into_iter().map(|s| (s.least_bytes, s.files, s.fresh)).collect(),
            partition_classes: health
                .partition_classes
                .into_iter()
                .map(|c| (c.age, c.least_bytes, c.partitions, c.bytes))
                .collect(),
            partitions: health
                .partitions
                .into_iter()
                .map(|p| (p.partition, p.files, p.rows, p.bytes, p.last_write))
                .collect(),
            versions: health.kept.versions,
            keepers: health.kept.keepers,
            compaction: plan(health.compaction),
            full_compaction: plan(health.full_compaction),
        }
    }
}

fn levels(figures: Vec<LevelFigures>) -> Vec<Level> {
    figures.into_iter().map(|l| (l.level, l.files, l.rows, l.bytes, l.runs)).collect()
}

fn plan(found: PlanFigures) -> Plan {
    match found {
        Ok(sums) => (sums.tasks, sums.files, sums.bytes, sums.rows, None),
        Err(text) => (0, 0, 0, 0, Some(text)),
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
    interruptible(py, || Ok(table.health(&args)?.into()))
}

/// Figures of each level.
#[pyfunction]
fn level_figures(py: Python<'_>, table: &PyTable) -> Result<Vec<Level>> {
    let table = table.table()?;
    interruptible(py, || Ok(levels(table.level_figures()?)))
}
