//! From a request to its plan, of one branch or two.

use std::{collections::BTreeMap, sync::Arc};

use arrow_schema::SchemaRef;

use super::{
    Table,
    fallback::{OtherBranch, Side, relabelled, with_nullable},
    replaced::{explained, explained_rows},
    route::explained_buckets,
    split::{ReadableSplit, SplitHeader},
};
use crate::{
    Error, ErrorKind, Result,
    io::{BatchStream, TableContext, has_index},
    predicate::predicate_text,
    read::{
        count,
        data_system_tables::{DataSystemTable, Finish},
        limited,
        nested_columns::nested_columns,
        read_splits,
    },
    scan::{
        ReadRequest, Resolved, ScanPlan, ScanRequest, VersionSelector, counted_rows, overtaken::again_when_overtaken,
        partitions_at, plan_at, read_request,
    },
    types::arrow_schema,
    variant::{shown, shown_schema},
};

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
        result_schema(&self.finish, &self.scan.read)
    }

    fn read(&self, threads: usize, whole: bool) -> Result<BatchStream> {
        let scan = &self.scan;
        let request = ReadRequest { whole, ..scan.read.clone() };
        let rows = explained(&scan.ctx, read_splits(&scan.ctx, &scan.splits, &request, threads))?;
        Ok(self.finish.apply(explained_rows(&scan.ctx, rows)))
    }

    /// The rows as users get them.
    fn read_shown(&self, threads: usize, whole: bool) -> Result<BatchStream> {
        Ok(as_shown(self.read(threads, whole)?, &self.scan.ctx))
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
        Ok(with_nullable(&shown_schema(&first.schema()?, first.scan.ctx.options.variant), &self.nullable))
    }

    /// The plans of each branch.
    pub fn scans(&self) -> impl Iterator<Item = &ScanPlan> {
        self.parts.iter().map(|part| &part.scan)
    }
}

impl Table {
    /// Plans a read: checks the arguments, finds the version, chooses files.
    pub fn plan(&self, request: &ScanRequest) -> Result<Planned> {
        let other = self.other_branch()?;
        // again with other versions, when the ones that were looked up expire meanwhile
        let planned = again_when_overtaken(self.context(), || self.plan_once(request, other.as_ref()));
        // always: the version of another table would be read by the rules of this one
        self.found(planned, |_| true)
    }

    fn plan_once(&self, request: &ScanRequest, other: Option<&OtherBranch>) -> Result<Planned> {
        let find = |ctx: &TableContext, version: &VersionSelector| {
            let mut found = Resolved::find(ctx, version, request.incremental.as_ref())?;
            if request.todays_schema {
                found.ctx = ctx.clone();
            }
            Ok(found)
        };
        if let Some(other) = other
            && let Some(sides) = other.sides(self, &request.version, find)?
        {
            let nullable = other.nullable_columns(&sides)?;
            let [first, second] = &sides;
            let of_first = partitions_at(first.table.context(), &under_schema(request, &first.at.ctx)?.0, &first.at)?;
            let rest = ScanRequest { not_partitions: Some(Arc::new(of_first)), ..request.clone() };
            return Ok(Planned { parts: vec![part(request, first)?, part(&rest, second)?], nullable });
        }
        let own = Side { table: self, at: find(self.context(), &request.version)? };
        Ok(Planned { parts: vec![part(request, &own)?], nullable: Vec::new() })
    }

    /// The rows of a plan, read by several threads; what is read ahead of the consumer is bounded.
    pub fn read(&self, request: &ScanRequest, planned: &Planned) -> Result<BatchStream> {
        rows(request, planned, false)
    }

    /// As [`Table::read`], for a consumer that holds all rows in the end: threads need not wait for it.
    pub fn read_whole(&self, request: &ScanRequest, planned: &Planned) -> Result<BatchStream> {
        rows(request, planned, request.options.limit.is_none() && request.options.memory_limit.is_none())
    }

    /// The number of rows of a plan.
    pub fn count(&self, request: &ScanRequest, planned: &Planned) -> Result<u64> {
        let length = |rows: usize| u64::try_from(rows).unwrap_or(u64::MAX);
        let mut rows: u64 = 0;
        for part in &planned.parts {
            rows = rows.saturating_add(if part.finish.keeps_count() {
                explained(&part.scan.ctx, count(&part.scan, request.options.thread_count()))?
            } else {
                part.read(request.options.thread_count(), false)?
                    .try_fold(0, |sum, batch| Ok::<_, Error>(sum + length(batch?.num_rows())))?
            });
        }
        Ok(request.options.limit.map_or(rows, |limit| rows.min(length(limit))))
    }

    /// The number of rows of a scan: told by manifests as they are read where that is exact, otherwise by a plan.
    pub fn count_rows(&self, request: &ScanRequest) -> Result<u64> {
        let told = again_when_overtaken(self.context(), || self.told_rows(request));
        match self.found(told, |_| true)? {
            Some(rows) => Ok(request.options.limit.map_or(rows, |l| rows.min(u64::try_from(l).unwrap_or(u64::MAX)))),
            None => self.count(request, &self.plan(request)?),
        }
    }

    fn told_rows(&self, request: &ScanRequest) -> Result<Option<u64>> {
        if request.system.is_some() || request.filter.is_some() || self.other_branch()?.is_some() {
            return Ok(None);
        }
        let at = Resolved::find(self.context(), &request.version, request.incremental.as_ref())?;
        let (below, finish) = under_schema(request, if request.todays_schema { self.context() } else { &at.ctx })?;
        if finish.keeps_count() { counted_rows(self.context(), &below, &at) } else { Ok(None) }
    }

    /// The splits of a plan.
    pub fn splits(&self, request: &ScanRequest, planned: Planned) -> Vec<ReadableSplit> {
        let mut splits = Vec::new();
        for part in planned.parts {
            let header = SplitHeader::new(&part.options, request, &part.scan.ctx, &planned.nullable);
            let header = Arc::new(header);
            splits.extend(part.scan.splits.into_iter().map(|split| ReadableSplit::new(&header, split)));
        }
        splits
    }

    /// The table's columns as users get them.
    pub fn arrow_schema(&self) -> Result<SchemaRef> {
        let ctx = self.context();
        Ok(shown_schema(&arrow_schema(&ctx.schema.fields)?, ctx.options.variant))
    }

    /// The columns of what a scan gives, and the check of its columns and condition.
    pub fn scan_schema(&self, request: &ScanRequest) -> Result<SchemaRef> {
        let (below, finish) = under_schema(request, self.context())?;
        let schema = result_schema(&finish, &read_request(self.context(), &below)?)?;
        Ok(shown_schema(&schema, self.context().options.variant))
    }
}

/// The schema of what becomes of the rows that are read.
pub(super) fn result_schema(finish: &Finish, read: &ReadRequest) -> Result<SchemaRef> {
    finish.schema().map_or_else(|| read.arrow_schema(), |schema| Ok(SchemaRef::clone(schema)))
}

/// Rows with values of the type VARIANT in the form that the table's options ask for.
pub(super) fn as_shown(rows: BatchStream, ctx: &TableContext) -> BatchStream {
    let form = ctx.options.variant;
    Box::new(rows.map(move |batch| shown(batch?, form)))
}

/// The scan of the table's own rows below a request, under the schema of a version, and what becomes of these rows.
pub(super) fn under_schema(request: &ScanRequest, ctx: &TableContext) -> Result<(ScanRequest, Finish)> {
    match &request.system {
        Some(name) => view(name)?.prepare(ctx, request),
        None => match nested_columns(ctx, request)? {
            Some((below, nested)) => Ok((below, nested.into())),
            None => Ok((request.clone(), Finish::default())),
        },
    }
}

fn part(request: &ScanRequest, Side { table, at }: &Side<'_>) -> Result<Part> {
    let (request, finish) = under_schema(request, &at.ctx)?;
    Ok(Part { scan: plan_at(table.context(), &request, at)?, finish, options: table.dynamic_options().clone() })
}

/// The view of a name.
fn view(name: &str) -> Result<DataSystemTable> {
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
    let indexed = plan.splits.iter().flat_map(|s| &s.files).filter(|file| has_index(file)).count();
    if indexed > 0 {
        let unread = if plan.ctx.options.file_index_read_enabled { "" } else { ", not read" };
        lines.push(format!("indexes  of {indexed} files{unread}"));
    }
    if let Some(filter) = &plan.read.filter {
        lines.push(format!("filter   {}", predicate_text(filter, &plan.ctx.schema.fields)));
    }
    lines.join("\n")
}

fn rows(request: &ScanRequest, planned: &Planned, whole: bool) -> Result<BatchStream> {
    let threads = request.options.thread_count();
    if let [only] = planned.parts.as_slice() {
        return only.read_shown(threads, whole);
    }
    let streams = planned.parts.iter().map(|part| part.read_shown(threads, whole)).collect::<Result<Vec<_>>>()?;
    let rows = relabelled(Box::new(streams.into_iter().flatten()), &planned.schema()?, &planned.nullable);
    Ok(limited(rows, request.options.limit))
}
