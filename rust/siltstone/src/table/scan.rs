//! From the arguments of a read to its plan, and splits that travel to other processes.
//!
//! ```text
//! split token: "STSP" | u8 version 1 | u32 LE length of header | header (JSON) | Paimon's DataSplit bytes
//! ```

use std::{collections::BTreeMap, sync::Arc};

use arrow_schema::{DataType as Arrow, Field, Schema, SchemaRef};
use serde::{Deserialize, Serialize};

use super::Table;
use crate::{
    Error, ErrorKind, Result,
    env::local_to_instant,
    fs::LocalFileIo,
    io::BatchStream,
    operation::{
        Split,
        read::{ReadRequest, count, read_split, read_splits},
        scan::{ScanPlan, ScanRequest, VersionSelector, plan, travel},
    },
    options::{CoreOptions, ScanMode},
    predicate::{Predicate, parse_predicate},
    row::{Datum, datum_from_text},
    types::{DataField, DataType, TypeKind, arrow_schema},
};

const MAGIC: &[u8; 4] = b"STSP";
const VERSION: u8 = 1;
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
    /// Tag name or snapshot id.
    pub version: Option<String>,
    /// Tag name.
    pub tag: Option<String>,
    /// Epoch milliseconds.
    pub as_of: Option<i64>,
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
    /// Threads to read with: as many as asked for, and no more than the memory limit feeds.
    fn thread_count(&self) -> usize {
        let threads = self.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
        let fed =
            self.memory_limit.map_or(usize::MAX, |limit| usize::try_from(limit / THREAD_BYTES).unwrap_or(usize::MAX));
        threads.min(fed).max(1)
    }

    /// Rows of a batch: as many as asked for; fewer when the memory limit is below what one thread holds.
    fn batch_rows(&self) -> Option<usize> {
        let limit = self.memory_limit.filter(|limit| *limit < THREAD_BYTES)?;
        let share = usize::try_from(limit * 8192 / THREAD_BYTES).unwrap_or(1).max(64);
        Some(self.batch_rows.unwrap_or(share).min(share))
    }
}

impl Table {
    /// Plans a read: checks the arguments, finds the version, chooses files.
    pub fn plan(&self, args: &ScanArgs) -> Result<ScanPlan> {
        let version = self.version(args)?;
        let (ctx, _) = travel(self.context(), &version)?;
        let request = ScanRequest {
            columns: args.columns.clone(),
            filter: filter(args.filter_sql.as_deref(), args.filter_json.as_deref(), &ctx.schema.fields)?,
            limit: args.limit,
            version,
            row_kind: args.row_kind,
            batch_rows: args.batch_rows().or(args.batch_rows),
        };
        plan(self.context(), &request)
    }

    /// The version that the arguments name, else the one that the table's `scan.*` options name.
    fn version(&self, args: &ScanArgs) -> Result<VersionSelector> {
        let given = [args.version.is_some(), args.tag.is_some(), args.as_of.is_some()];
        if given.iter().filter(|g| **g).count() > 1 {
            return Err(Error::new(ErrorKind::InvalidArgument, "give only one of version, tag and as_of"));
        }
        if let Some(tag) = &args.tag {
            return Ok(VersionSelector::Tag(tag.clone()));
        }
        if let Some(millis) = args.as_of {
            return Ok(VersionSelector::Timestamp(millis));
        }
        match &args.version {
            Some(text) => Ok(VersionSelector::Version(text.clone())),
            None => version_of_options(&self.context().options),
        }
    }

    /// The rows of a plan, read by several threads.
    pub fn read(&self, args: &ScanArgs, plan: &ScanPlan) -> Result<BatchStream> {
        read_splits(&plan.ctx, &plan.splits, &plan.read, args.thread_count())
    }

    /// The number of rows of a plan.
    pub fn count(&self, args: &ScanArgs, plan: &ScanPlan) -> Result<u64> {
        count(plan, args.thread_count())
    }

    /// One token for each split of a plan.
    pub fn split_tokens(&self, args: &ScanArgs, plan: &ScanPlan) -> Result<Vec<Vec<u8>>> {
        let header = SplitHeader {
            location: plan.ctx.location.clone(),
            branch: plan.ctx.branch.clone(),
            schema_id: plan.ctx.schema.id,
            options: self.dynamic_options().clone(),
            columns: plan.read.fields.iter().map(|f| f.name.clone()).collect(),
            filter_sql: args.filter_sql.clone(),
            filter_json: args.filter_json.clone(),
            limit: args.limit,
            row_kind: args.row_kind,
            batch_rows: args.batch_rows,
        };
        plan.splits.iter().map(|split| header.encode(split)).collect()
    }
}

/// The schema of the rows that a request gives.
pub fn result_schema(request: &ReadRequest) -> Result<SchemaRef> {
    let rows = arrow_schema(&request.fields)?;
    if !request.row_kind {
        return Ok(rows);
    }
    let kind = Arc::new(Field::new("rowkind", Arrow::Utf8, false));
    Ok(Arc::new(Schema::new(std::iter::once(kind).chain(rows.fields().iter().cloned()).collect::<Vec<_>>())))
}

/// A plan in words: version, files kept, splits, and which of them need merging.
pub fn explain(plan: &ScanPlan) -> String {
    let files: usize = plan.splits.iter().map(|s| s.files.len()).sum();
    let bytes: i64 = plan.splits.iter().flat_map(|s| &s.files).map(|f| f.file_size).sum();
    let raw = plan.splits.iter().filter(|s| s.raw_convertible).count();
    let version = plan.snapshot.as_ref().map_or_else(
        || "no snapshot yet".to_owned(),
        |s| format!("snapshot {} ({:?}, schema {})", s.id, s.commit_kind, plan.ctx.schema.id),
    );
    let columns: Vec<&str> = plan.read.fields.iter().map(|f| f.name.as_str()).collect();
    let mut lines = vec![
        format!("table    {}", plan.ctx.name),
        format!("version  {version}"),
        format!("columns  {}", columns.join(", ")),
        format!("files    {files} of {} ({bytes} bytes)", plan.files_considered),
        format!("splits   {} ({raw} read as they are, {} merged)", plan.splits.len(), plan.splits.len() - raw),
    ];
    let deletions = plan.splits.iter().flat_map(|s| s.deletion_files.iter().flatten().flatten());
    let deletions: Vec<i64> = deletions.map(|(_, range)| range.cardinality.unwrap_or(0)).collect();
    if !deletions.is_empty() {
        let rows: i64 = deletions.iter().sum();
        lines.push(format!("deletes  {rows} rows of {} files by deletion vectors", deletions.len()));
    }
    if let Some(filter) = &plan.read.filter {
        lines.push(format!("filter   {filter:?}"));
    }
    lines.join("\n")
}

/// The version that `scan.*` options name (semantics f.5).
fn version_of_options(options: &CoreOptions) -> Result<VersionSelector> {
    match options.scan_mode {
        ScanMode::Default
        | ScanMode::LatestFull
        | ScanMode::Full
        | ScanMode::Latest
        | ScanMode::FromSnapshot
        | ScanMode::FromSnapshotFull
        | ScanMode::FromTimestamp => {}
        other => return Err(Error::unsupported(format!("scan.mode={other:?}")).with("option", "scan.mode")),
    }
    let timestamp = options.scan_timestamp.as_deref().map(local_time).transpose()?;
    let given = [
        options.scan_snapshot_id.map(VersionSelector::Snapshot),
        options.scan_tag_name.clone().map(VersionSelector::Tag),
        options.scan_version.clone().map(VersionSelector::Version),
        options.scan_watermark.map(|w| VersionSelector::Version(format!("watermark-{w}"))),
        options.scan_timestamp_millis.map(VersionSelector::Timestamp),
        timestamp.map(VersionSelector::Timestamp),
    ];
    let mut given = given.into_iter().flatten();
    let first = given.next();
    if given.next().is_some() {
        return Err(Error::new(ErrorKind::InvalidOption, "more than one scan.* option names a version")
            .hint("set one of scan.snapshot-id, scan.tag-name, scan.version, scan.watermark, scan.timestamp, scan.timestamp-millis"));
    }
    Ok(first.unwrap_or_default())
}

/// Epoch milliseconds of a local `yyyy-MM-dd[ HH:mm:ss[.fff]]`.
fn local_time(text: &str) -> Result<i64> {
    match datum_from_text(text, &DataType::new(TypeKind::Timestamp(3)))? {
        Datum::Timestamp { millis, .. } => match chrono::DateTime::from_timestamp_millis(millis) {
            Some(wall) => Ok(local_to_instant(wall.naive_utc())),
            None => Ok(millis),
        },
        _ => {
            Err(Error::new(ErrorKind::InvalidOption, format!("'{text}' is not a time"))
                .with("option", "scan.timestamp"))
        }
    }
}

/// What a split needs besides its files: where the table is, and what is read of it. No credentials.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct SplitHeader {
    location: String,
    branch: String,
    schema_id: i64,
    options: BTreeMap<String, String>,
    columns: Vec<String>,
    filter_sql: Option<String>,
    filter_json: Option<String>,
    limit: Option<usize>,
    row_kind: bool,
    batch_rows: Option<usize>,
}

impl SplitHeader {
    fn encode(&self, split: &Split) -> Result<Vec<u8>> {
        let header = serde_json::to_vec(self).map_err(|e| bad_token("a header").caused_by(e))?;
        let length = u32::try_from(header.len()).map_err(|e| bad_token("a short header").caused_by(e))?;
        let mut out = MAGIC.to_vec();
        out.push(VERSION);
        out.extend(length.to_le_bytes());
        out.extend(header);
        out.extend(split.to_bytes()?);
        Ok(out)
    }
}

/// A split and what to do with it. The table is opened when its rows are asked for, so that a driver can hold
/// thousands of splits.
#[derive(Clone, Debug)]
pub struct ReadableSplit {
    header: SplitHeader,
    split: Split,
}

impl ReadableSplit {
    /// Takes a token of [`Table::split_tokens`] apart.
    pub fn from_token(token: &[u8]) -> Result<Self> {
        let (header, split) = decode(token)?;
        Ok(Self { header, split })
    }

    /// The files.
    pub fn split(&self) -> &Split {
        &self.split
    }

    /// Rows in it, where no merging and no filter decides that.
    pub fn rows(&self) -> Option<i64> {
        let filtered = self.header.filter_sql.is_some() || self.header.filter_json.is_some();
        let known = self.split.raw_convertible && !filtered;
        known.then(|| (0..self.split.files.len()).map(|i| self.split.rows_left(i)).sum()).flatten()
    }

    /// The rows and their schema, which is the one that was planned with, never "latest".
    pub fn read(&self) -> Result<(SchemaRef, BatchStream)> {
        let header = &self.header;
        let table = Table::open_with(
            Arc::new(LocalFileIo::new()),
            &header.location,
            &header.branch,
            Some(header.schema_id),
            header.options.clone(),
        )?;
        let schema = Arc::clone(&table.context().schema);
        let fields: Result<Vec<DataField>> = header
            .columns
            .iter()
            .map(|name| schema.field(name).cloned().ok_or_else(|| bad_token("known columns").with("column", name)))
            .collect();
        let request = ReadRequest {
            fields: fields?,
            filter: filter(header.filter_sql.as_deref(), header.filter_json.as_deref(), &schema.fields)?,
            limit: header.limit,
            row_kind: header.row_kind,
            batch_rows: header.batch_rows,
            decoders: 0,
        };
        Ok((result_schema(&request)?, read_split(table.context(), &self.split, &request)?))
    }
}

fn decode(token: &[u8]) -> Result<(SplitHeader, Split)> {
    let rest = token.strip_prefix(MAGIC).ok_or_else(|| bad_token("the magic STSP"))?;
    let (version, rest) = rest.split_first().ok_or_else(|| bad_token("a version"))?;
    if *version != VERSION {
        return Err(Error::new(
            ErrorKind::UnsupportedVersion,
            format!("a split of version {version} was made by another version of siltstone"),
        )
        .hint("install the same version of siltstone on the driver and on the executors"));
    }
    let (length, rest) = rest.split_first_chunk::<4>().ok_or_else(|| bad_token("a length"))?;
    let length = usize::try_from(u32::from_le_bytes(*length)).map_err(|e| bad_token("a length").caused_by(e))?;
    let (header, split) = rest.split_at_checked(length).ok_or_else(|| bad_token("a whole header"))?;
    let header = serde_json::from_slice(header).map_err(|e| bad_token("a JSON header").caused_by(e))?;
    Ok((header, Split::from_bytes(split)?))
}

fn bad_token(expected: &str) -> Error {
    Error::new(ErrorKind::InvalidArgument, format!("these bytes are not a split of siltstone: expected {expected}"))
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
