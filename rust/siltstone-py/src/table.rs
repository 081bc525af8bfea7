//! A table: what it is, its versions, and the start of reads and writes.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, RwLock},
};

use pyo3::prelude::*;
use pyo3_arrow::PySchema;
use siltstone::{
    commit::Committable,
    scan::PartitionSpec,
    snapshot::Snapshot,
    table::{
        ChangesArgs, CommitReport, CompactArgs, CompactionSums, Feature, FileEntry, MergeReport, ModifyArgs,
        PlannedTask, StreamPosition, Subject, Table, TablePath,
    },
    write::{SharedWrite, WriteOptions},
};

use crate::{
    arrow::{input, py_schema},
    changes::Changes,
    error::{CoreError, Result, poisoned},
    inspect::{About, Inspection},
    interrupt::interruptible,
    maintenance::Maintenance,
    report::{Typed, typed},
    request::{ConditionInput, InspectInput, ScanInput},
    scan::{Plan, Split, splits},
    write::{RowAssigner, Writer},
};

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<PyTable>()
}

type Options = BTreeMap<String, String>;

/// The only state that changes is the definition, when it is altered through this handle.
#[pyclass(frozen, name = "Table", module = "siltstone._core")]
pub(crate) struct PyTable(RwLock<Arc<Table>>);

impl From<Table> for PyTable {
    fn from(table: Table) -> Self {
        Self(RwLock::new(Arc::new(table)))
    }
}

impl PyTable {
    pub(crate) fn table(&self) -> Result<Arc<Table>> {
        Ok(Arc::clone(&*self.0.read().map_err(|_| poisoned())?))
    }
}

#[pymethods]
impl PyTable {
    #[staticmethod]
    fn open(py: Python<'_>, location: &str, options: Options, branch: &str) -> Result<Self> {
        interruptible(py, || Ok(Table::open(location, branch, options)?.into()))
    }

    /// The table of `dir`, `dir$branch_b` or `dir$files`, and the name of the system table that is meant.
    #[staticmethod]
    fn open_path(py: Python<'_>, path: &str, options: Options, branch: Option<&str>) -> Result<(Self, Option<String>)> {
        interruptible(py, || {
            let path = TablePath::on_branch(path, branch)?;
            Ok((Table::open(&path.location, &path.branch, options)?.into(), path.system))
        })
    }

    #[getter]
    fn name(&self) -> Result<String> {
        Ok(self.table()?.context().name.clone())
    }

    #[getter]
    fn location(&self) -> Result<String> {
        Ok(self.table()?.context().location.clone())
    }

    #[getter]
    fn branch(&self) -> Result<String> {
        Ok(self.table()?.context().branch.clone())
    }

    #[getter]
    fn schema_id(&self) -> Result<i64> {
        Ok(self.table()?.context().schema.id)
    }

    #[getter]
    fn primary_key(&self) -> Result<Vec<String>> {
        Ok(self.table()?.context().schema.primary_keys.clone())
    }

    #[getter]
    fn partition_by(&self) -> Result<Vec<String>> {
        Ok(self.table()?.context().schema.partition_keys.clone())
    }

    #[getter]
    fn options(&self) -> Result<Options> {
        Ok(self.table()?.options())
    }

    #[getter]
    fn dynamic_options(&self) -> Result<Options> {
        Ok(self.table()?.dynamic_options().clone())
    }

    #[getter]
    fn comment(&self) -> Result<Option<String>> {
        Ok(self.table()?.context().schema.comment.clone())
    }

    fn arrow_schema(&self) -> Result<PySchema> {
        py_schema(self.table()?.arrow_schema()?)
    }

    fn snapshot(&self, py: Python<'_>, id: Option<i64>) -> Result<Option<Typed<Snapshot>>> {
        let table = self.table()?;
        interruptible(py, || Ok(table.snapshot(id)?.map(Typed)))
    }

    fn history(&self, py: Python<'_>, limit: usize) -> Result<Vec<Typed<Snapshot>>> {
        let table = self.table()?;
        interruptible(py, || Ok(typed(table.history(limit)?)))
    }

    /// Tags, branches, rollback, expiry, cleaning.
    #[getter]
    fn maintenance(&self) -> Result<Maintenance> {
        Ok(Maintenance::new(self.table()?))
    }

    fn inspect(&self, py: Python<'_>, name: String, request: InspectInput) -> Result<Inspection> {
        let table = self.table()?;
        interruptible(py, || Inspection::new(About::Table(table), name, request.0))
    }

    /// All system tables: are they about `rows`, one `snapshot` or the `table`?
    #[staticmethod]
    fn system_tables() -> Vec<(&'static str, &'static str)> {
        let word = |subject| match subject {
            Subject::Rows => "rows",
            Subject::Snapshot => "snapshot",
            Subject::Table => "table",
        };
        Table::system_tables().into_iter().map(|(name, subject)| (name, word(subject))).collect()
    }

    fn files(&self, py: Python<'_>, version: Option<i64>) -> Result<Vec<Typed<FileEntry>>> {
        let table = self.table()?;
        interruptible(py, || Ok(typed(table.files(version)?)))
    }

    fn plan(&self, py: Python<'_>, request: ScanInput) -> Result<Plan> {
        let table = self.table()?;
        interruptible(py, || Plan::new(table, request.0))
    }

    fn splits(&self, py: Python<'_>, request: ScanInput) -> Result<Vec<Split>> {
        splits(py, &*self.table()?, &request.0)
    }

    fn count(&self, py: Python<'_>, request: ScanInput) -> Result<u64> {
        let table = self.table()?;
        interruptible(py, || Ok(table.count_rows(&request.0)?))
    }

    #[pyo3(signature = (request, *, start, end, consumer, follow))]
    fn changes(
        &self,
        py: Python<'_>,
        request: ScanInput,
        start: Option<PlaceInput>,
        end: Option<PlaceInput>,
        consumer: Option<String>,
        follow: bool,
    ) -> Result<Changes> {
        let table = self.table()?;
        let (scan, start, end) = (request.0, start.map(|p| p.0), end.map(|p| p.0));
        interruptible(py, || Changes::new(table, ChangesArgs { scan, start, end, consumer, follow }))
    }

    fn scan_schema(&self, py: Python<'_>, request: ScanInput) -> Result<PySchema> {
        let table = self.table()?;
        interruptible(py, || py_schema(table.scan_schema(&request.0)?))
    }

    fn consumers(&self, py: Python<'_>) -> Result<Vec<(String, i64, i64)>> {
        let table = self.table()?;
        let all = interruptible(py, || Ok(table.consumer_list()?))?;
        Ok(all.into_iter().map(|c| (c.id, c.progress.next_snapshot, c.modified_millis)).collect())
    }

    fn reset_consumer(&self, py: Python<'_>, id: &str, next_snapshot: Option<i64>) -> Result<()> {
        let table = self.table()?;
        interruptible(py, || Ok(table.reset_consumer(id, next_snapshot)?))
    }

    /// `(values, files, rows, bytes, milliseconds of local time)` of each.
    #[allow(clippy::type_complexity, reason = "a Python tuple")]
    fn partitions(&self, py: Python<'_>) -> Result<Vec<(Vec<Option<String>>, i64, i64, i64, Option<i64>)>> {
        let table = self.table()?;
        let all = interruptible(py, || Ok(table.partitions()?))?;
        Ok(all.into_iter().map(|p| (p.values, p.files, p.rows, p.bytes, p.last_write)).collect())
    }

    /// `(next snapshot, whether its whole state, what was read as a checkpoint)`.
    #[allow(clippy::type_complexity, reason = "a Python tuple")]
    fn consumer_place(&self, py: Python<'_>, id: &str) -> Result<Option<(i64, bool, Option<String>)>> {
        let table = self.table()?;
        interruptible(py, || Ok(table.consumer_place(id)?))
    }

    /// `checkpoint`: what lies before; None where a whole state is read.
    fn begin_consumer(&self, py: Python<'_>, id: &str, next_snapshot: i64, checkpoint: Option<&str>) -> Result<()> {
        let table = self.table()?;
        interruptible(py, || Ok(table.register_consumer(id, next_snapshot, checkpoint)?))
    }

    fn consumer_passed(&self, py: Python<'_>, id: &str, checkpoint: &str) -> Result<()> {
        let table = self.table()?;
        interruptible(py, || Ok(table.consumer_passed(id, checkpoint)?))
    }

    fn checkpoint(&self, py: Python<'_>, snapshot: i64) -> Result<String> {
        let table = self.table()?;
        interruptible(py, || Ok(table.checkpoint(snapshot)?))
    }

    fn check_checkpoint(&self, py: Python<'_>, checkpoint: &str) -> Result<()> {
        let table = self.table()?;
        interruptible(py, || Ok(table.check_checkpoint(checkpoint)?))
    }

    fn delete_consumer(&self, py: Python<'_>, id: &str) -> Result<bool> {
        let table = self.table()?;
        interruptible(py, || Ok(table.delete_consumer(id)?))
    }

    #[allow(clippy::too_many_arguments, reason = "keyword arguments")]
    #[pyo3(signature = (*, commit_user, memory_limit, spill_dir, overwrite, shared=None, held=false))]
    fn writer(
        &self,
        py: Python<'_>,
        commit_user: Option<&str>,
        memory_limit: Option<u64>,
        spill_dir: Option<PathBuf>,
        overwrite: bool,
        shared: Option<&str>,
        held: bool,
    ) -> Result<Writer> {
        let table = self.table()?;
        let shared = shared.map(SharedWrite::from_json).transpose()?;
        let options = WriteOptions {
            memory_limit,
            spill_dir,
            ignore_previous_files: overwrite,
            shared,
            held,
            ..WriteOptions::default()
        };
        interruptible(py, || Ok(Writer::new(table.writer(commit_user, options)?)))
    }

    #[getter]
    fn bucket_mode(&self) -> Result<&'static str> {
        Ok(self.table()?.bucket_mode())
    }

    fn explain(&self, py: Python<'_>) -> Result<String> {
        let table = self.table()?;
        interruptible(py, || Ok(table.explain()?))
    }

    fn features(&self, py: Python<'_>) -> Result<Vec<Typed<Feature>>> {
        let table = self.table()?;
        interruptible(py, || Ok(typed(table.features()?)))
    }

    #[getter]
    fn routing_columns(&self) -> Result<Vec<String>> {
        Ok(self.table()?.routing_columns())
    }

    fn routes(&self, py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<Vec<i32>> {
        let table = self.table()?;
        let batches = input(data)?;
        let routes: Result<Vec<i32>> = interruptible(py, || Ok(table.routes(batches)?));
        Ok(routes?)
    }

    #[getter]
    fn key_column_names(&self) -> Result<Vec<String>> {
        Ok(self.table()?.key_column_names())
    }

    fn plan_shared_write(&self, py: Python<'_>, channels: u32, overwrite: bool) -> Result<String> {
        let table = self.table()?;
        interruptible(py, || Ok(table.plan_shared_write(channels, overwrite)?.to_json()?))
    }

    fn assigners(&self, py: Python<'_>, shared: &str, data: &Bound<'_, PyAny>) -> PyResult<Vec<i32>> {
        let (table, shared) = (self.table()?, SharedWrite::from_json(shared).map_err(CoreError::from)?);
        let batches = input(data)?;
        let assigners: Result<Vec<i32>> = interruptible(py, || Ok(table.assigners(&shared, batches)?));
        Ok(assigners?)
    }

    fn row_assigner(&self, shared: &str) -> Result<RowAssigner> {
        Ok(RowAssigner::new(self.table()?.row_assigner(SharedWrite::from_json(shared)?)))
    }

    fn overwrite(
        &self,
        py: Python<'_>,
        data: &Bound<'_, PyAny>,
        partition: PartitionSpec,
        dynamic: Option<bool>,
    ) -> PyResult<Typed<CommitReport>> {
        let table = self.table()?;
        let batches = input(data)?;
        let report: Result<Typed<CommitReport>> = interruptible(py, || {
            let target = table.overwrite_target(partition, dynamic)?;
            Ok(Typed(table.overwrite(batches, &target)?))
        });
        Ok(report?)
    }

    fn truncate(
        &self,
        py: Python<'_>,
        partitions: Option<Vec<PartitionSpec>>,
        dry_run: bool,
    ) -> Result<Typed<CommitReport>> {
        let table = self.table()?;
        interruptible(py, || Ok(Typed(table.truncate(partitions.as_deref(), dry_run)?)))
    }

    fn modify(
        &self,
        py: Python<'_>,
        filter: Option<ConditionInput>,
        set: BTreeMap<String, String>,
    ) -> Result<Typed<CommitReport>> {
        let table = self.table()?;
        let args = ModifyArgs { filter: filter.map(Into::into), set, threads: None };
        interruptible(py, || Ok(Typed(table.modify(&args)?)))
    }

    fn merge(&self, py: Python<'_>, source: &Bound<'_, PyAny>, merge: &str) -> PyResult<Typed<MergeReport>> {
        let (table, args) = (self.table()?, Table::merge_args(merge).map_err(CoreError::from)?);
        let batches = input(source)?;
        let schema = batches.schema();
        let report: Result<Typed<MergeReport>> = interruptible(py, || Ok(Typed(table.merge(&args, &schema, batches)?)));
        Ok(report?)
    }

    fn delete_keys(&self, py: Python<'_>, keys: &Bound<'_, PyAny>) -> PyResult<Typed<CommitReport>> {
        let table = self.table()?;
        let batches = input(keys)?;
        let report: Result<Typed<CommitReport>> = interruptible(py, || Ok(Typed(table.delete_keys(batches)?)));
        Ok(report?)
    }

    #[allow(clippy::too_many_arguments, reason = "the arguments of the Python method")]
    fn commit(
        &self,
        py: Python<'_>,
        messages: Vec<Vec<u8>>,
        commit_user: Option<&str>,
        identifier: Option<i64>,
        watermark: Option<i64>,
        allow_empty: bool,
        overwrite: Option<(PartitionSpec, Option<bool>)>,
    ) -> Result<Typed<CommitReport>> {
        let table = self.table()?;
        interruptible(py, || {
            let target = overwrite.map(|(spec, dynamic)| table.overwrite_target(spec, dynamic)).transpose()?;
            let messages =
                if target.is_some() { table.messages(&messages)? } else { table.messages_to_add(&messages)? };
            let committable = Committable { identifier, watermark, messages, allow_empty, ..Committable::default() };
            Ok(Typed(table.commit_messages(commit_user, committable, target.as_ref())?))
        })
    }

    fn abort(&self, py: Python<'_>, messages: Vec<Vec<u8>>) -> Result<()> {
        let table = self.table()?;
        interruptible(py, || Ok(table.committer(None).abort(&table.messages(&messages)?)?))
    }

    fn describe_messages(&self, messages: Vec<Vec<u8>>) -> Result<Typed<CompactionSums>> {
        Ok(Typed(Table::describe_messages(&self.table()?.messages(&messages)?)))
    }

    fn check_tasks(&self, tokens: Vec<Vec<u8>>) -> Result<()> {
        Ok(self.table()?.check_tasks(&tokens)?)
    }

    fn plan_compaction(
        &self,
        py: Python<'_>,
        full: bool,
        filter: Option<ConditionInput>,
        partitions: Option<Vec<PartitionSpec>>,
        idle_millis: Option<i64>,
        order: Option<(Vec<String>, String)>,
    ) -> Result<Vec<Typed<PlannedTask>>> {
        let table = self.table()?;
        let args = CompactArgs { full, filter: filter.map(Into::into), partitions, idle_millis, order };
        interruptible(py, || Ok(typed(table.plan_compaction(&args)?)))
    }

    fn rescale(
        &self,
        py: Python<'_>,
        buckets: Option<i32>,
        filter: Option<ConditionInput>,
        partitions: Option<Vec<PartitionSpec>>,
        dry_run: bool,
    ) -> Result<Typed<CommitReport>> {
        let mut table = (*self.table()?).clone();
        let args = siltstone::table::RescaleArgs { buckets, filter: filter.map(Into::into), partitions, dry_run };
        let (report, table) = interruptible(py, || {
            let report = table.rescale(&args);
            Ok((report, table))
        })?;
        // also after an error: the option may have its new value
        *self.0.write().map_err(|_| poisoned())? = Arc::new(table);
        Ok(Typed(report?))
    }

    fn rewrite_file_index(
        &self,
        py: Python<'_>,
        partitions: Option<Vec<PartitionSpec>>,
    ) -> Result<Typed<CommitReport>> {
        let table = self.table()?;
        interruptible(py, || Ok(Typed(table.rewrite_file_index(partitions.as_deref())?)))
    }

    fn compact_manifests(&self, py: Python<'_>) -> Result<Typed<CommitReport>> {
        let table = self.table()?;
        interruptible(py, || Ok(Typed(table.compact_manifests()?)))
    }

    fn losses(&self, py: Python<'_>, changes: &str) -> Result<Vec<String>> {
        let table = self.table()?;
        interruptible(py, || Ok(table.losses(changes)?))
    }

    fn alter(&self, py: Python<'_>, changes: &str) -> Result<()> {
        let mut table = (*self.table()?).clone();
        interruptible(py, || {
            table.alter(changes)?;
            *self.0.write().map_err(|_| poisoned())? = Arc::new(table);
            Ok(())
        })
    }
}

/// `("snapshot", 3)`, `("time", 0)` or `("text", "v1", None)`: a text, with the time that it says.
struct PlaceInput(StreamPosition);

impl<'py> FromPyObject<'_, 'py> for PlaceInput {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok((_, text, millis)) = object.extract::<(&str, String, Option<i64>)>() {
            return Ok(Self(StreamPosition::Text { text, millis }));
        }
        let (what, number): (String, i64) = object.extract()?;
        Ok(Self(if what == "time" { StreamPosition::Time(number) } else { StreamPosition::Snapshot(number) }))
    }
}
