//! What a scan is asked and what it answers.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use serde::{Deserialize, Serialize};

use super::{
    ReadOptions, ReadRequest,
    deletions::DeletionFiles,
    entries::{EntryFilter, live_entries},
    feature_check::{check_files, check_options, drop_postponed},
    incremental,
    incremental_range::{Between, Incremental},
    overtaken::{again_when_overtaken, expired_meanwhile},
    prune::buckets_of_interest,
    resolved::Resolved,
    sections::{Section, sections_of},
    split::SplitGenerator,
};
use crate::{
    cancel,
    error::{Error, ErrorKind, Result},
    io::TableContext,
    manifest::ManifestEntry,
    merge_tree::merge_function,
    options::MergeEngine,
    predicate::{Condition, Predicate, resolve_column, resolved_by_name},
    snapshot::Snapshot,
    types::DataField,
    wire::Split,
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

/// What to read: given once, planned as it is, and carried by splits as it is. The filter's columns are those of the version's
/// schema (see [`time_travel`](super::time_travel())).
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScanRequest {
    /// Column names in the order of the result; `None` = all.
    pub columns: Option<Vec<String>>,
    /// Condition that rows must satisfy.
    pub filter: Option<Condition>,
    /// A system table that shows rows (`audit_log`) instead of the table; the table's own scan knows none.
    pub system: Option<String>,
    /// The form of the rows, and what reading them may use.
    pub options: ReadOptions,
    /// Version; a split is of one.
    #[serde(skip)]
    pub version: VersionSelector,
    /// What lies between two versions instead of a state; the version does not count then.
    #[serde(skip)]
    pub incremental: Option<Incremental>,
    /// The rows come under the table's schema, not under that of the version.
    #[serde(skip)]
    pub todays_schema: bool,
    /// Primary-key tables: only files from this level on; rows below it are left out.
    #[serde(skip)]
    pub min_level: Option<i32>,
    /// Level 0 is read also where readers leave it out: the keys that are there, whether their rows are shown yet or not.
    #[serde(skip)]
    pub all_levels: bool,
    /// Only files made at these epoch milliseconds or later; the table's options may ask for that, too.
    #[serde(skip)]
    pub created_since: Option<i64>,
    /// None of these partitions (serialized rows), which another branch has.
    #[serde(skip)]
    pub not_partitions: Option<Arc<HashSet<Vec<u8>>>>,
}

impl ScanRequest {
    /// With the version that is asked for: at most one of these; without any the table's `scan.*` options decide.
    /// `mode` says how to read `between` two versions: `auto`, `delta`, `changelog`, `diff`.
    pub fn at(
        self,
        version: Option<VersionSelector>,
        tag: Option<String>,
        as_of: Option<i64>,
        between: Option<Between>,
        mode: Option<&str>,
    ) -> Result<Self> {
        let incremental = between.map(|between| Incremental::given(between, mode)).transpose()?;
        if mode.is_some() && incremental.is_none() {
            return Err(Error::new(ErrorKind::InvalidArgument, "mode says how to read between two versions")
                .hint("give between=(start, end), too"));
        }
        let (tag, time) = (tag.map(VersionSelector::Tag), as_of.map(VersionSelector::Timestamp));
        let mut given: Vec<VersionSelector> = [version, tag, time].into_iter().flatten().collect();
        if given.len() + usize::from(incremental.is_some()) > 1 {
            return Err(Error::new(ErrorKind::InvalidArgument, "give only one of version, tag, as_of and between"));
        }
        Ok(Self { version: given.pop().unwrap_or_default(), incremental, ..self })
    }
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

/// Chooses snapshot, files and splits; again when the version expires while it is planned.
pub fn plan(ctx: &TableContext, request: &ScanRequest) -> Result<ScanPlan> {
    again_when_overtaken(ctx, || {
        plan_at(ctx, request, &Resolved::find(ctx, &request.version, request.incremental.as_ref())?)
    })
}

/// Chooses files and splits of a version that was looked up; what the request says of versions does not count.
///
/// # Errors
/// `SnapshotExpired`, naming a file, when the version has expired since then.
pub fn plan_at(ctx: &TableContext, request: &ScanRequest, at: &Resolved) -> Result<ScanPlan> {
    if let Some((asked, changes)) = &at.between {
        check_options(ctx)?;
        return incremental::plan(ctx, Prepared::new(ctx, request)?, asked.mode, changes);
    }
    let since = at.files_since.or(request.created_since);
    let snapshot = at.snapshot.clone();
    let ctx = if request.todays_schema { ctx.clone() } else { at.ctx.clone() };
    check_options(&ctx)?;
    let prepared = Prepared::new(&ctx, request)?;
    let Some(at) = snapshot.clone().filter(|_| !prepared.nothing) else {
        return Ok(ScanPlan { ctx, snapshot, splits: Vec::new(), read: prepared.read, files_considered: 0 });
    };
    let planned = splits_of(&ctx, &at, request, &prepared, since).map_err(|e| expired_meanwhile(&ctx, &at, e));
    let (mut splits, files_considered) = planned?;
    let read = prepared.read;
    if let (Some(limit), None, false) = (read.options.limit, &read.filter, read.options.keep_deletes) {
        splits = limited(splits, limit);
    }
    Ok(ScanPlan { ctx, snapshot, splits, read, files_considered })
}

/// The splits of a version, and of how many files they were chosen.
fn splits_of(
    ctx: &TableContext,
    at: &Snapshot,
    request: &ScanRequest,
    prepared: &Prepared,
    since: Option<i64>,
) -> Result<(Vec<Split>, usize)> {
    let mut wanted = prepared.entry_filter(ctx);
    let level_0 = if request.all_levels { Level0::Read } else { level_0(ctx, at)? };
    let max_level_only =
        request.min_level.is_some_and(|level| level > 0 && level >= ctx.options.num_levels.saturating_sub(1));
    // what is skipped with a warning is listed first
    let min_level = if level_0 == Level0::SwitchedOn { request.min_level } else { level_0.min_level(request) };
    let chosen = EntryFilter { min_level, created_since: since, ..EntryFilter::default() };
    // vectors are compared with all files that may have one
    let has_vectors = at.index_manifest.is_some();
    if has_vectors {
        wanted.min_level = (level_0 == Level0::Skip).then_some(1);
    } else {
        (wanted.min_level, wanted.created_since) = (chosen.min_level, since);
    }
    let mut entries = live_entries(ctx, at, &wanted)?;
    drop_postponed(ctx, &mut entries);
    let has_level_0 = entries.iter().any(|e| e.file.level == 0);
    let mut splitter = SplitGenerator::new(ctx, at);
    splitter.deletions = DeletionFiles::of(ctx, at, &entries)?;
    if has_vectors {
        chosen.keep_files(&mut entries)?;
    }
    if level_0 == Level0::SwitchedOn && has_level_0 {
        let why = "'deletion-vectors.enabled' was switched on after the snapshot: rows of level 0 are not read";
        tracing::warn!(table = %ctx.name, snapshot = at.id, "{why}; give 'deletion-vectors.enabled' = 'false' to read them");
        entries.retain(|entry| entry.file.level > 0);
    }
    let files_considered = entries.len();
    check_files(ctx, &entries)?;
    if level_0 == Level0::SwitchedOff && (has_level_0 || !splitter.deletions.is_empty()) {
        return Err(switched_off_later(ctx, at));
    }
    // with fewer levels than when files were compacted, several levels are the highest, and share keys
    splitter.disjoint_levels =
        matches!(level_0, Level0::Skip | Level0::SwitchedOn) || max_level_only && have_one_level(&entries);
    let mut splits = Vec::new();
    for bucket in buckets_of_interest(ctx, entries, &prepared.residual, splitter.disjoint_levels)? {
        cancel::check()?;
        splits.extend(splitter.splits(bucket)?);
    }
    check_mergeable(ctx, &splits)?;
    Ok((splits, files_considered))
}

/// Whether the files of each bucket are of one level: above level 0 those share no keys.
fn have_one_level(entries: &[ManifestEntry]) -> bool {
    let mut levels: HashMap<(&[u8], i32), i32> = HashMap::new();
    entries.iter().all(|entry| {
        let level = entry.file.level;
        *levels.entry((entry.partition.as_slice(), entry.bucket)).or_insert(level) == level
    })
}

/// The partitions (serialized rows) that the version has, or of changes those that changed; only the parts of the
/// condition over partition columns count.
///
/// # Errors
/// As [`plan_at`].
pub fn partitions_at(ctx: &TableContext, request: &ScanRequest, at: &Resolved) -> Result<HashSet<Vec<u8>>> {
    let keys = &ctx.schema.partition_keys;
    let filter = Condition::of(request.filter.as_ref(), &at.ctx.schema.fields)?;
    let filter = filter.map(|f| f.relaxed(&|c| keys.iter().any(|k| k == c)).into());
    let options = ReadOptions { limit: None, ..request.options.clone() };
    let request = ScanRequest { filter, columns: None, options, ..request.clone() };
    if let Some((asked, changes)) = &at.between {
        return incremental::partitions(ctx, Prepared::new(ctx, &request)?, asked.mode, changes);
    }
    let (ctx, Some(snapshot)) = (&at.ctx, &at.snapshot) else { return Ok(HashSet::new()) };
    let mut wanted = Prepared::new(ctx, &request)?.entry_filter(ctx);
    wanted.min_level = level_0(ctx, snapshot)?.min_level(&request);
    wanted.created_since = at.files_since.or(request.created_since);
    let mut entries = live_entries(ctx, snapshot, &wanted).map_err(|e| expired_meanwhile(ctx, snapshot, e))?;
    entries.retain(|entry| entry.bucket >= 0);
    Ok(entries.into_iter().map(|entry| entry.partition).collect())
}

/// A request whose columns and condition are checked against a schema.
#[derive(Clone, Debug)]
pub(super) struct Prepared {
    filter: Predicate,
    /// What is left of the condition without the parts over partition columns.
    pub(super) residual: Predicate,
    pub(super) read: ReadRequest,
    /// No row can satisfy the request.
    pub(super) nothing: bool,
    not_partitions: Option<Arc<HashSet<Vec<u8>>>>,
    min_level: Option<i32>,
}

impl Prepared {
    pub(super) fn new(ctx: &TableContext, request: &ScanRequest) -> Result<Self> {
        if let Some(system) = &request.system {
            return Err(Error::unsupported(format!("the system table '${system}' here")).with("table", &ctx.name));
        }
        let filter = Condition::of(request.filter.as_ref(), &ctx.schema.fields)?.unwrap_or(Predicate::Constant(true));
        for column in filter.columns() {
            resolve_column(&ctx.schema.fields, column, false)?;
        }
        let partition_keys = &ctx.schema.partition_keys;
        let (on_partition, residual) = filter.clone().split(&|c| partition_keys.iter().any(|k| k == c));
        let read = ReadRequest {
            fields: projection(&ctx.schema.fields, request.columns.as_deref())?,
            filter: (!residual.is_always_true()).then(|| residual.clone()),
            options: request.options.clone(),
            decoders: 0,
            whole: false,
        };
        let nothing = on_partition == Predicate::Constant(false) || request.options.limit == Some(0);
        Ok(Self {
            filter,
            residual,
            read,
            nothing,
            not_partitions: request.not_partitions.clone(),
            min_level: request.min_level,
        })
    }

    /// The columns that are read: those of the result and of the condition.
    pub(super) fn columns(&self, ctx: &TableContext) -> Vec<DataField> {
        let asked = self.residual.columns();
        let asked = ctx.schema.fields.iter().filter(|field| asked.iter().any(|name| *name == field.name));
        self.read.fields.iter().chain(asked).cloned().collect()
    }

    /// As [`Self::entry_filter`], of changes: from the request's lowest level on, without what batch reads leave out.
    pub(super) fn changes_filter(&self, ctx: &TableContext) -> EntryFilter {
        let min_level = self.min_level.max(skips_level_0(ctx).then_some(1));
        EntryFilter { min_level, ..self.entry_filter(ctx) }
    }

    /// The entries that may hold rows of the result, of all levels.
    pub(super) fn entry_filter(&self, ctx: &TableContext) -> EntryFilter {
        EntryFilter {
            partition_predicate: Some(self.filter.clone()),
            bucket: ctx.options.scan_bucket,
            bucket_predicate: Some(self.filter.clone()),
            not_partitions: self.not_partitions.clone(),
            ..EntryFilter::default()
        }
    }
}

/// How the splits of a request are read.
pub fn read_request(ctx: &TableContext, request: &ScanRequest) -> Result<ReadRequest> {
    Ok(Prepared::new(ctx, request)?.read)
}

/// Whether batch reads of the table leave level 0 out: its rows count when they have been compacted.
pub(crate) fn skips_level_0(ctx: &TableContext) -> bool {
    let vectors = ctx.options.deletion_vectors_enabled && !ctx.options.deletion_vectors_merge_on_read;
    ctx.schema.has_primary_key() && (vectors || ctx.options.merge_engine == MergeEngine::FirstRow)
}

/// An error when siltstone does not have the table's merge engine.
pub(super) fn mergeable(ctx: &TableContext) -> Result<()> {
    merge_function::for_table(ctx, None).map(drop)
}

/// The columns of the result.
fn projection(fields: &[DataField], columns: Option<&[String]>) -> Result<Vec<DataField>> {
    let Some(columns) = columns else {
        return Ok(fields.to_vec());
    };
    let resolve = resolved_by_name(fields);
    let (mut found, mut ids) = (Vec::with_capacity(columns.len()), HashSet::new());
    for name in columns {
        let field = resolve(name)?;
        if !ids.insert(field.id) {
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
    /// Deletion vectors were switched on after the snapshot: its level 0 was meant to be read and is skipped now, as
    /// Java does, but not without a word.
    SwitchedOn,
    /// Deletion vectors were switched off after the snapshot: its level 0 was meant to be skipped, and its vectors to be
    /// applied, so there must be none.
    SwitchedOff,
}

impl Level0 {
    /// The lowest level that the request reads.
    fn min_level(self, request: &ScanRequest) -> Option<i32> {
        request.min_level.max(matches!(self, Self::Skip | Self::SwitchedOn).then_some(1))
    }
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

fn switched_off_later(ctx: &TableContext, snapshot: &Snapshot) -> Error {
    Error::unsupported("a snapshot from before 'deletion-vectors.enabled' was switched off")
        .with("table", &ctx.name)
        .with("snapshot", snapshot.id)
        .with("option", "deletion-vectors.enabled")
        .hint("set 'deletion-vectors.enabled' = 'true' for this read to see the snapshot as it was")
}

/// Splits that must be merged need an engine that siltstone has.
fn check_mergeable(ctx: &TableContext, splits: &[Split]) -> Result<()> {
    let Err(unsupported) = merge_function::for_table(ctx, None) else {
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
        rows = rows.saturating_add(crate::limits::sum((0..split.files.len()).filter_map(|i| split.rows_left(i))));
        enough.push(split.clone());
        if rows >= limit {
            return enough;
        }
    }
    splits
}
