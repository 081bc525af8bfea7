//! What a scan is asked and what it answers.

use super::{
    deletions::DeletionFiles,
    entries::{EntryFilter, live_entries},
    prune::buckets_of_interest,
    sections::{Section, sections_of},
    split::Splitter,
    supported::{check_files, check_options, drop_postponed},
    version::travel,
};
use crate::{
    error::{Error, ErrorKind, Result},
    io::TableContext,
    merge_tree::merge_function,
    operation::{Split, read::ReadRequest},
    options::MergeEngine,
    predicate::{Predicate, resolve_column},
    snapshot::Snapshot,
    types::DataField,
};

/// Which version of the table is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum VersionSelector {
    /// The latest snapshot, under the table's current schema; the table's `scan.*` options may say otherwise.
    #[default]
    Latest,
    /// A snapshot id.
    Snapshot(i64),
    /// A tag name.
    Tag(String),
    /// The newest snapshot committed at or before these epoch milliseconds.
    Timestamp(i64),
    /// A tag of this name, else `watermark-N`, else a snapshot id (`scan.version`).
    Version(String),
}

/// What to read. The filter's columns are those of the version's schema (see [`travel`]).
#[derive(Clone, Debug, Default)]
pub struct ScanRequest {
    /// Column names in the order of the result; `None` = all.
    pub columns: Option<Vec<String>>,
    /// Condition that rows must satisfy.
    pub filter: Option<Predicate>,
    /// At most this many rows.
    pub limit: Option<usize>,
    /// Version.
    pub version: VersionSelector,
    /// First result column `rowkind` with `+I` and so on.
    pub row_kind: bool,
    /// Rows of a batch; `None` = the default.
    pub batch_rows: Option<usize>,
}

/// The splits of one query at one snapshot, and how to read each of them.
#[derive(Clone, Debug)]
pub struct ScanPlan {
    /// The table under the schema that the result has.
    pub ctx: TableContext,
    /// `None`: the table has no snapshot yet.
    pub snapshot: Option<Snapshot>,
    /// Splits in partition, bucket and key order.
    pub splits: Vec<Split>,
    /// How each split is read.
    pub read: ReadRequest,
    /// Files that the snapshot has in the wanted partitions and buckets.
    pub files_considered: usize,
}

impl ScanPlan {
    /// Files of all splits.
    pub fn files(&self) -> usize {
        self.splits.iter().map(|s| s.files.len()).sum()
    }
}

/// Chooses snapshot, files and splits.
pub fn plan(ctx: &TableContext, request: &ScanRequest) -> Result<ScanPlan> {
    let (ctx, snapshot) = travel(ctx, &request.version)?;
    check_options(&ctx)?;
    let filter = request.filter.clone().unwrap_or(Predicate::Constant(true)).without_not();
    for column in filter.columns() {
        resolve_column(&ctx.schema.fields, column, false)?;
    }
    let partition_keys = &ctx.schema.partition_keys;
    let (on_partition, residual) = filter.clone().split(&|c| partition_keys.iter().any(|k| k == c));
    let read = ReadRequest {
        fields: projection(&ctx.schema.fields, request.columns.as_deref())?,
        filter: (!residual.is_always_true()).then(|| residual.clone()),
        limit: request.limit,
        row_kind: request.row_kind,
        batch_rows: request.batch_rows,
        decoders: 0,
    };
    let nothing = on_partition == Predicate::Constant(false) || request.limit == Some(0);
    let Some(at) = snapshot.clone().filter(|_| !nothing) else {
        return Ok(ScanPlan { ctx, snapshot, splits: Vec::new(), read, files_considered: 0 });
    };
    let level_0 = level_0(&ctx, &at)?;
    let skip_level_0 = level_0 == Level0::Skip;
    let wanted = EntryFilter {
        partition_predicate: Some(filter.clone()),
        bucket: ctx.options.scan_bucket,
        min_level: skip_level_0.then_some(1),
        bucket_predicate: Some(filter),
        partitions: None,
    };
    let mut entries = live_entries(&ctx, &at, &wanted)?;
    drop_postponed(&ctx, &mut entries);
    let has_level_0 = entries.iter().any(|e| e.file.level == 0);
    if level_0 == Level0::SwitchedOn && has_level_0 {
        return Err(switched_later(&ctx, &at, true));
    }
    let files_considered = entries.len();
    check_files(&ctx, &entries)?;
    let mut splitter = Splitter::new(&ctx, at.id);
    splitter.deletions = DeletionFiles::of(&ctx, &at, &entries)?;
    if level_0 == Level0::SwitchedOff && (has_level_0 || !splitter.deletions.is_empty()) {
        return Err(switched_later(&ctx, &at, false));
    }
    splitter.disjoint_levels = skip_level_0;
    let mut splits = Vec::new();
    for bucket in buckets_of_interest(&ctx, entries, &residual, skip_level_0)? {
        splits.extend(splitter.splits(bucket)?);
    }
    check_mergeable(&ctx, &splits)?;
    if let (Some(limit), None) = (request.limit, &read.filter) {
        splits = limited(splits, limit);
    }
    Ok(ScanPlan { ctx, snapshot, splits, read, files_considered })
}

/// The columns of the result.
fn projection(fields: &[DataField], columns: Option<&[String]>) -> Result<Vec<DataField>> {
    let Some(columns) = columns else {
        return Ok(fields.to_vec());
    };
    let mut found: Vec<DataField> = Vec::with_capacity(columns.len());
    for name in columns {
        let field = resolve_column(fields, name, false)?;
        if found.iter().any(|f| f.id == field.id) {
            return Err(Error::new(ErrorKind::InvalidArgument, format!("the column '{name}' is asked for twice"))
                .with("column", name));
        }
        found.push(field.clone());
    }
    Ok(found)
}

/// What becomes of level 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level0 {
    /// Its files are read like the others.
    Read,
    /// Rows count from level 1 on, where no two files share a key: first-row, and deletion vectors.
    Skip,
    /// Deletion vectors were switched on after the snapshot: its level 0 was meant to be read and would now be
    /// skipped, so there must be none.
    SwitchedOn,
    /// Deletion vectors were switched off after the snapshot: its level 0 was meant to be skipped, and its vectors to be
    /// applied, so there must be none.
    SwitchedOff,
}

fn level_0(ctx: &TableContext, snapshot: &Snapshot) -> Result<Level0> {
    if ctx.schema.primary_keys.is_empty() {
        return Ok(Level0::Read);
    }
    if ctx.options.merge_engine == MergeEngine::FirstRow {
        return Ok(Level0::Skip);
    }
    let now = ctx.options.deletion_vectors_enabled;
    if now && ctx.options.deletion_vectors_merge_on_read {
        return Ok(Level0::Read);
    }
    let written = ctx.schemas.get(snapshot.schema_id)?;
    let then = written.options.get("deletion-vectors.enabled").is_some_and(|v| v.eq_ignore_ascii_case("true"));
    // a value given for this read is what the caller wants
    let given = ctx.options.get("deletion-vectors.enabled")
        != ctx.schema.options.get("deletion-vectors.enabled").map(String::as_str);
    Ok(match (now, then) {
        (true, true) => Level0::Skip,
        (true, false) if given => Level0::Skip,
        (true, false) => Level0::SwitchedOn,
        (false, true) if !given => Level0::SwitchedOff,
        (false, _) => Level0::Read,
    })
}

fn switched_later(ctx: &TableContext, snapshot: &Snapshot, on: bool) -> Error {
    let (direction, then) = if on { ("on", "false") } else { ("off", "true") };
    Error::unsupported(format!("a snapshot from before 'deletion-vectors.enabled' was switched {direction}"))
        .with("table", &ctx.name)
        .with("snapshot", snapshot.id)
        .with("option", "deletion-vectors.enabled")
        .hint(format!("set 'deletion-vectors.enabled' = '{then}' for this read to see the snapshot as it was"))
}

/// Splits that must be merged need an engine that siltstone has.
fn check_mergeable(ctx: &TableContext, splits: &[Split]) -> Result<()> {
    let Err(unsupported) = merge_function::for_table(ctx) else {
        return Ok(());
    };
    for split in splits.iter().filter(|s| !s.raw_convertible) {
        if !sections_of(ctx, &split.files)?.iter().all(Section::needs_no_merge) {
            return Err(unsupported);
        }
    }
    Ok(())
}

/// The first splits that surely have `limit` rows; all of them when that cannot be known.
fn limited(splits: Vec<Split>, limit: usize) -> Vec<Split> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut rows = 0_i64;
    let mut enough = Vec::new();
    for split in splits.iter().filter(|s| s.raw_convertible) {
        rows = rows.saturating_add((0..split.files.len()).filter_map(|i| split.rows_left(i)).sum());
        enough.push(split.clone());
        if rows >= limit {
            return enough;
        }
    }
    splits
}
