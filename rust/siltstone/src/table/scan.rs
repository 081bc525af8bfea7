//! From the arguments of a read to its plan.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use arrow_schema::SchemaRef;

use super::{
    Table,
    fallback::{OtherBranch, Side, relabelled, with_nullable},
    replaced::{explained, explained_rows},
    route::explained_buckets,
    split::SplitHeader,
};
use crate::{
    Error, ErrorKind, Result,
    io::{BatchStream, TableContext},
    options::IncrementalMode,
    predicate::{Predicate, parse_predicate},
    read::{
        count,
        data_system_tables::{DataSystemTable, DataSystemTableRequest, Finish},
        limited, read_splits,
    },
    scan::{
        Between, Incremental, ReadRequest, Resolved, ScanPlan, ScanRequest, VersionSelector,
        overtaken::again_when_overtaken, partitions_at, plan_at, read_request,
    },
    types::DataField,
};

/// What one reading thread holds with batches of 8,192 rows: decoded pages of a few runs and the batches ahead.
const THREAD_BYTES: u64 = 32 << 20;

/// What a caller asks of a read; strings are not checked yet.
#[derive(Clone, Debug, Default)]
pub struct ScanArgs {
    /// Column names; `None` = all.
    pub columns: Option<Vec<String>>,
    /// Predicate as SQL text.
    pub filter_sql: Option<String>,
    /// Predicate as JSON (of `Predicate::from_json`).
    pub filter_json: Option<String>,
    /// A snapshot id, or a text that is a tag's name before anything else.
    pub version: Option<VersionSelector>,
    /// Tag name.
    pub tag: Option<String>,
    /// Epoch milliseconds.
    pub as_of: Option<i64>,
    /// What lies between two versions instead of a version.
    pub between: Option<Between>,
    /// How that is read: `auto`, `delta`, `changelog`, `diff`.
    pub mode: Option<String>,
    /// A system table instead of the table.
    pub system: Option<String>,
    /// At most this many rows.
    pub limit: Option<usize>,
    /// First column `rowkind`.
    pub row_kind: bool,
    /// Rows of a batch.
    pub batch_rows: Option<usize>,
    /// Bytes that decoding and merging may hold; `None` = no limit of its own.
    pub memory_limit: Option<u64>,
    /// Threads; `None` = all cores.
    pub threads: Option<usize>,
}

impl ScanArgs {
    /// The version that the arguments name; otherwise the table's `scan.*` options decide.
    fn version_selector(&self) -> Result<VersionSelector> {
        let given = [self.version.is_some(), self.tag.is_some(), self.as_of.is_some(), self.between.is_some()];
        if given.iter().filter(|g| **g).count() > 1 {
            return Err(Error::new(ErrorKind::InvalidArgument, "give only one of version, tag, as_of and between"));
        }
        let tag = self.tag.clone().map(VersionSelector::Tag);
        let time = self.as_of.map(VersionSelector::Timestamp);
        Ok(tag.or(time).or_else(|| self.version.clone()).unwrap_or_default())
    }

    /// What lies between two versions, when that is asked for by arguments.
    fn incremental(&self) -> Result<Option<Incremental>> {
        let mode = self.mode.as_deref().map(IncrementalMode::parse).transpose();
        let mode = mode.map_err(|e| {
            let hint = e.hint_text().unwrap_or_default().to_owned();
            let mode = self.mode.as_deref().unwrap_or_default();
            Error::new(ErrorKind::InvalidArgument, format!("mode='{mode}' is not a way to read changes")).hint(hint)
        })?;
        let Some(between) = self.between.clone() else {
            return match mode {
                None => Ok(None),
                Some(_) => Err(Error::new(ErrorKind::InvalidArgument, "mode says how to read between two versions")
                    .hint("give between=(start, end), too")),
            };
        };
        Ok(Some(Incremental {
            between,
            mode: mode.unwrap_or(IncrementalMode::Auto),
            tags_as_snapshots: matches!(mode, Some(IncrementalMode::Delta | IncrementalMode::Changelog)),
        }))
    }

    /// The arguments as a view takes them, without the version.
    pub(super) fn view_request(&self, view: DataSystemTable, ctx: &TableContext) -> Result<DataSystemTableRequest> {
        let fields = view.filter_fields(ctx);
        Ok(DataSystemTableRequest {
            columns: self.columns.clone(),
            filter: filter(self.filter_sql.as_deref(), self.filter_json.as_deref(), &fields)?,
            limit: self.limit,
            batch_rows: self.batch_rows().or(self.batch_rows),
            memory: self.merge_memory(),
        })
    }

    /// Threads to read with: as many as asked for, and no more than the memory limit feeds.
    pub(super) fn thread_count(&self) -> usize {
        let threads = self.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
        let fed =
            self.memory_limit.map_or(usize::MAX, |limit| usize::try_from(limit / THREAD_BYTES).unwrap_or(usize::MAX));
        threads.min(fed).max(1)
    }

    /// What the runs of a merge may hold on each thread: half of what is left for it.
    pub(super) fn merge_memory(&self) -> Option<usize> {
        let threads = u64::try_from(self.thread_count()).unwrap_or(u64::MAX);
        self.memory_limit.map(|limit| usize::try_from(limit / 2 / threads).unwrap_or(usize::MAX))
    }

    /// Rows of a batch: as many as asked for; fewer when the memory limit is below what one thread holds.
    pub(super) fn batch_rows(&self) -> Option<usize> {
        let limit = self.memory_limit.filter(|limit| *limit < THREAD_BYTES)?;
        let share = usize::try_from(limit * 8192 / THREAD_BYTES).unwrap_or(1).max(64);
        Some(self.batch_rows.unwrap_or(share).min(share))
    }
}

/// A planned read: one part, or two when partitions come from another branch, too.
#[derive(Clone, Debug)]
pub struct Planned {
    parts: Vec<Part>,
    /// Columns that may be null in one of the parts.
    nullable: Vec<String>,
}

/// What is read of one branch: splits, and what becomes of their rows where a view was asked for.
#[derive(Clone, Debug)]
struct Part {
    scan: ScanPlan,
    finish: Finish,
    /// Dynamic options, which splits carry.
    options: BTreeMap<String, String>,
}

impl Part {
    fn schema(&self) -> Result<SchemaRef> {
        self.finish.schema().map_or_else(|| self.scan.read.arrow_schema(), |schema| Ok(SchemaRef::clone(schema)))
    }

    fn read(&self, threads: usize, whole: bool) -> Result<BatchStream> {
        let scan = &self.scan;
        let request = ReadRequest { whole, ..scan.read.clone() };
        let rows = explained(&scan.ctx, read_splits(&scan.ctx, &scan.splits, &request, threads))?;
        Ok(self.finish.apply(explained_rows(&scan.ctx, rows)))
    }
}

impl Planned {
    /// A plan of rows of one branch.
    pub fn new(scan: ScanPlan) -> Self {
        let part = Part { scan, finish: Finish::default(), options: BTreeMap::new() };
        Self { parts: vec![part], nullable: Vec::new() }
    }

    /// The schema of the rows.
    pub fn schema(&self) -> Result<SchemaRef> {
        let first = self.parts.first().ok_or_else(|| Error::new(ErrorKind::Internal, "a plan without parts"))?;
        Ok(with_nullable(&first.schema()?, &self.nullable))
    }

    /// The plans of each branch.
    pub fn scans(&self) -> impl Iterator<Item = &ScanPlan> {
        self.parts.iter().map(|part| &part.scan)
    }
}

impl Table {
    /// Plans a read: checks the arguments, finds the version, chooses files.
    pub fn plan(&self, args: &ScanArgs) -> Result<Planned> {
        let (version, changes) = (args.version_selector()?, args.incremental()?);
        let other = self.other_branch()?;
        // again with other versions, when the ones that were looked up expire meanwhile
        let planned = again_when_overtaken(self.context(), || {
            self.plan_once(Asked { args, not_partitions: None }, &version, changes.as_ref(), other.as_ref())
        });
        // always: the version of another table would be read by the rules of this one
        self.found(planned, |_| true)
    }

    fn plan_once(
        &self,
        asked: Asked<'_>,
        version: &VersionSelector,
        changes: Option<&Incremental>,
        other: Option<&OtherBranch>,
    ) -> Result<Planned> {
        let find = |ctx: &TableContext, version: &VersionSelector| Resolved::find(ctx, version, changes);
        if let Some(other) = other
            && let Some(sides) = other.sides(self, version, find)?
        {
            let nullable = other.nullable_columns(&sides)?;
            let [first, second] = &sides;
            let rest = Asked { not_partitions: Some(Arc::new(asked.partitions(first)?)), ..asked };
            return Ok(Planned { parts: vec![asked.part(first)?, rest.part(second)?], nullable });
        }
        let own = Side { table: self, at: find(self.context(), version)? };
        Ok(Planned { parts: vec![asked.part(&own)?], nullable: Vec::new() })
    }

    /// The rows of a plan, read by several threads; what is read ahead of the consumer is bounded.
    pub fn read(&self, args: &ScanArgs, planned: &Planned) -> Result<BatchStream> {
        rows(args, planned, false)
    }

    /// As [`Table::read`], for a consumer that holds all rows in the end: threads need not wait for it.
    pub fn read_whole(&self, args: &ScanArgs, planned: &Planned) -> Result<BatchStream> {
        rows(args, planned, args.limit.is_none() && args.memory_limit.is_none())
    }

    /// The number of rows of a plan.
    pub fn count(&self, args: &ScanArgs, planned: &Planned) -> Result<u64> {
        let length = |rows: usize| u64::try_from(rows).unwrap_or(u64::MAX);
        let mut rows: u64 = 0;
        for part in &planned.parts {
            rows = rows.saturating_add(if part.finish.keeps_count() {
                explained(&part.scan.ctx, count(&part.scan, args.thread_count()))?
            } else {
                part.read(args.thread_count(), false)?
                    .try_fold(0, |sum, batch| Ok::<_, Error>(sum + length(batch?.num_rows())))?
            });
        }
        Ok(args.limit.map_or(rows, |limit| rows.min(length(limit))))
    }

    /// One token for each split of a plan.
    pub fn split_tokens(&self, args: &ScanArgs, planned: &Planned) -> Result<Vec<Vec<u8>>> {
        let mut tokens = Vec::new();
        for part in &planned.parts {
            let header = SplitHeader::new(&part.options, args, &part.scan.ctx, &planned.nullable);
            for split in &part.scan.splits {
                tokens.push(header.encode(split)?);
            }
        }
        Ok(tokens)
    }

    /// The columns of what a read of a view gives, and the check of its columns and condition.
    pub fn view_schema(&self, name: &str, args: &ScanArgs) -> Result<SchemaRef> {
        let view = view(name)?;
        let (request, finish) = view.prepare(self.context(), args.view_request(view, self.context())?)?;
        match finish.schema() {
            Some(schema) => Ok(SchemaRef::clone(schema)),
            None => read_request(self.context(), &request)?.arrow_schema(),
        }
    }
}

/// A request, the same for every branch that is read.
#[derive(Clone, Debug)]
struct Asked<'a> {
    args: &'a ScanArgs,
    not_partitions: Option<Arc<HashSet<Vec<u8>>>>,
}

impl Asked<'_> {
    /// The scan under the schema of a version, and what becomes of its rows.
    fn request(&self, ctx: &TableContext) -> Result<(ScanRequest, Finish)> {
        let args = self.args;
        let not_partitions = self.not_partitions.clone();
        if let Some(name) = &args.system {
            let view = view(name)?;
            let (request, finish) = view.prepare(ctx, args.view_request(view, ctx)?)?;
            return Ok((ScanRequest { not_partitions, ..request }, finish));
        }
        let request = ScanRequest {
            columns: args.columns.clone(),
            filter: filter(args.filter_sql.as_deref(), args.filter_json.as_deref(), &ctx.schema.fields)?,
            limit: args.limit,
            row_kind: args.row_kind,
            batch_rows: args.batch_rows().or(args.batch_rows),
            memory: args.merge_memory(),
            not_partitions,
            ..ScanRequest::default()
        };
        Ok((request, Finish::default()))
    }

    fn part(&self, Side { table, at }: &Side<'_>) -> Result<Part> {
        let (request, finish) = self.request(&at.ctx)?;
        Ok(Part { scan: plan_at(table.context(), &request, at)?, finish, options: table.dynamic_options().clone() })
    }

    /// The partitions that are read of a branch.
    fn partitions(&self, Side { table, at }: &Side<'_>) -> Result<HashSet<Vec<u8>>> {
        partitions_at(table.context(), &self.request(&at.ctx)?.0, at)
    }
}

/// The view of a name.
pub(super) fn view(name: &str) -> Result<DataSystemTable> {
    DataSystemTable::find(name).ok_or_else(|| {
        Error::new(ErrorKind::TableNotFound, format!("there is no view '${name}' of the rows of a table"))
            .hint(format!("views: {}", DataSystemTable::NAMES.join(", ")))
    })
}

/// A plan in words: version, files kept, splits, and which of them need merging.
pub fn explain(planned: &Planned) -> String {
    planned.scans().map(explain_scan).collect::<Vec<_>>().join("\n")
}

fn explain_scan(plan: &ScanPlan) -> String {
    let files: usize = plan.splits.iter().map(|s| s.files.len() + s.before_files.len()).sum();
    let files_of = plan.splits.iter().flat_map(|s| s.files.iter().chain(&s.before_files));
    let bytes = crate::limits::sum(files_of.map(|f| f.file_size));
    let raw = plan.splits.iter().filter(|s| s.raw_convertible || s.is_streaming).count();
    let version = plan.snapshot.as_ref().map_or_else(
        || "no snapshot".to_owned(),
        |s| format!("snapshot {} ({:?}, schema {})", s.id, s.commit_kind, plan.ctx.schema.id),
    );
    let columns: Vec<&str> = plan.read.fields.iter().map(|f| f.name.as_str()).collect();
    let mut lines = vec![
        format!("table    {}", plan.ctx.name),
        format!("version  {version}"),
        format!("buckets  {}", explained_buckets(&plan.ctx)),
        format!("columns  {}", columns.join(", ")),
        format!("files    {files} of {} ({bytes} bytes)", plan.files_considered),
        format!("splits   {} ({raw} read as they are, {} merged)", plan.splits.len(), plan.splits.len() - raw),
    ];
    let deletions = plan.splits.iter().flat_map(|s| s.deletion_files.iter().flatten().flatten());
    let deletions: Vec<Option<i64>> = deletions.map(|(_, range)| range.cardinality).collect();
    if !deletions.is_empty() {
        let rows = deletions.iter().try_fold(0_i64, |sum, rows| Some(sum.saturating_add((*rows)?)));
        let rows = rows.map_or_else(|| "an unknown number of".to_owned(), |rows| rows.to_string());
        lines.push(format!("deletes  {rows} rows of {} files by deletion vectors", deletions.len()));
    }
    if let Some(filter) = &plan.read.filter {
        lines.push(format!("filter   {filter:?}"));
    }
    lines.join("\n")
}

/// A predicate given as SQL or as JSON.
pub(super) fn filter(sql: Option<&str>, json: Option<&str>, fields: &[DataField]) -> Result<Option<Predicate>> {
    if let Some(text) = sql {
        return parse_predicate(text, fields).map(Some);
    }
    let Some(text) = json else { return Ok(None) };
    let value = serde_json::from_str(text)
        .map_err(|e| Error::new(ErrorKind::InvalidArgument, "a predicate is not JSON").caused_by(e))?;
    Predicate::from_json(&value, fields).map(Some)
}

fn rows(args: &ScanArgs, planned: &Planned, whole: bool) -> Result<BatchStream> {
    let threads = args.thread_count();
    if let [only] = planned.parts.as_slice() {
        return only.read(threads, whole);
    }
    let streams = planned.parts.iter().map(|part| part.read(threads, whole)).collect::<Result<Vec<_>>>()?;
    let rows = relabelled(Box::new(streams.into_iter().flatten()), &planned.schema()?, &planned.nullable);
    Ok(limited(rows, args.limit))
}
