//! Splits that travel to other processes: an envelope (`wire::sealed`) around Paimon's `DataSplit` bytes.

use std::{collections::BTreeMap, sync::Arc};

use arrow_schema::SchemaRef;
use serde::{Deserialize, Serialize};

use super::{
    Table,
    fallback::{relabelled, with_nullable},
    replaced::{explained, explained_rows},
    scan::{ScanArgs, filter, view},
};
use crate::{
    Result,
    compact::without_secrets,
    fs::LocalFileIo,
    io::{BatchStream, TableContext},
    manifest::DataFileMeta,
    options::CoreOptions,
    read::read_split,
    scan::{ReadRequest, ScanRequest, read_request},
    wire::{Seal, Split, TableIdentity},
};

const SPLIT: Seal = Seal { what: "split", magic: "STSP", version: 5 };

/// What a split needs besides its files: where the table is, and what is read of it. No credentials.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct SplitHeader {
    table: TableIdentity,
    options: BTreeMap<String, String>,
    /// Those of the plan, with the dynamic ones: an older schema has others.
    effective: BTreeMap<String, String>,
    columns: Vec<String>,
    filter_sql: Option<String>,
    filter_json: Option<String>,
    limit: Option<usize>,
    row_kind: bool,
    batch_rows: Option<usize>,
    /// Bytes that decoding and merging may hold.
    #[serde(default)]
    memory_limit: Option<u64>,
    /// A view of the rows.
    view: Option<String>,
    /// Only for views: the columns asked for, which `columns` are not.
    view_columns: Option<Vec<String>>,
    /// Columns that may be null because they may be in another branch that is read, too.
    nullable: Vec<String>,
    /// [`Split::snapshot_list`]
    #[serde(default)]
    snapshot_list: Option<String>,
}

impl SplitHeader {
    /// What the splits of a plan have in common.
    pub(super) fn new(
        options: &BTreeMap<String, String>,
        args: &ScanArgs,
        ctx: &TableContext,
        nullable: &[String],
    ) -> Self {
        let columns = match (&args.columns, &args.system) {
            (Some(columns), None) => columns.clone(),
            _ => ctx.schema.fields.iter().map(|f| f.name.clone()).collect(),
        };
        Self {
            table: TableIdentity::of(ctx),
            options: options.clone(),
            effective: without_secrets(&ctx.options.raw),
            columns,
            filter_sql: args.filter_sql.clone(),
            filter_json: args.filter_json.clone(),
            limit: args.limit,
            row_kind: args.row_kind,
            batch_rows: args.batch_rows,
            memory_limit: args.memory_limit,
            view: args.system.clone(),
            view_columns: args.columns.clone(),
            nullable: nullable.to_vec(),
            snapshot_list: None,
        }
    }

    /// The arguments of the scan that the split belongs to.
    fn args(&self) -> ScanArgs {
        ScanArgs {
            columns: self.view_columns.clone(),
            filter_sql: self.filter_sql.clone(),
            filter_json: self.filter_json.clone(),
            limit: self.limit,
            batch_rows: self.batch_rows,
            memory_limit: self.memory_limit,
            ..ScanArgs::default()
        }
    }

    pub(super) fn encode(&self, split: &Split) -> Result<Vec<u8>> {
        let header = Self { snapshot_list: split.snapshot_list.clone(), ..self.clone() };
        SPLIT.close(&header, &split.to_bytes()?)
    }

    /// How the split's rows are read, under the schema that was planned with.
    fn request(&self, ctx: &TableContext) -> Result<ReadRequest> {
        let filter = filter(self.filter_sql.as_deref(), self.filter_json.as_deref(), &ctx.schema.fields)?;
        let columns = Some(self.columns.clone());
        let asked = ScanRequest {
            columns,
            filter,
            limit: self.limit,
            row_kind: self.row_kind,
            batch_rows: self.args().batch_rows().or(self.batch_rows),
            memory: self.args().merge_memory(),
            ..ScanRequest::default()
        };
        read_request(ctx, &asked)
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
    ///
    /// # Errors
    /// `CorruptFile`: damaged on its way; `UnsupportedVersion`: made by another version.
    pub fn from_token(token: &[u8]) -> Result<Self> {
        let (header, payload): (SplitHeader, _) = SPLIT.open(token)?;
        let split = Split { snapshot_list: header.snapshot_list.clone(), ..Split::from_bytes(payload)? };
        Ok(Self { header, split })
    }

    /// The files.
    pub fn files(&self) -> impl Iterator<Item = &DataFileMeta> {
        self.split.before_files.iter().chain(&self.split.files)
    }

    /// Rows in it, where no merging and no filter decides that.
    pub fn rows(&self) -> Option<i64> {
        let (header, split) = (&self.header, &self.split);
        let filtered = header.filter_sql.is_some() || header.filter_json.is_some() || header.view.is_some();
        let dropped = split.is_streaming && !header.row_kind;
        let merged = !split.raw_convertible && !split.is_streaming;
        let known = !merged && !dropped && split.before_files.is_empty();
        (known && !filtered)
            .then(|| (0..split.files.len()).try_fold(0_i64, |sum, i| Some(sum.saturating_add(split.rows_left(i)?))))
            .flatten()
    }

    /// The rows and their schema, which is the one that was planned with, never "latest".
    pub fn read(&self) -> Result<(SchemaRef, BatchStream)> {
        let header = &self.header;
        let table = Table::open_with(
            Arc::new(LocalFileIo::new()),
            &header.table.location,
            &header.table.branch,
            Some(header.table.schema_id),
            header.options.clone(),
        )?;
        header.table.check(table.context(), SPLIT.what)?;
        let options = Arc::new(CoreOptions::parse(&header.effective)?);
        let (schema, rows) = self.rows_of(&TableContext { options, ..table.context().clone() })?;
        let schema = with_nullable(&schema, &header.nullable);
        Ok((Arc::clone(&schema), relabelled(rows, &schema, &header.nullable)))
    }

    fn rows_of(&self, ctx: &TableContext) -> Result<(SchemaRef, BatchStream)> {
        let (header, split) = (&self.header, &self.split);
        let Some(name) = &header.view else {
            let request = header.request(ctx)?;
            let rows = explained(ctx, read_split(ctx, split, &request))?;
            return Ok((request.arrow_schema()?, explained_rows(ctx, rows)));
        };
        let view = view(name)?;
        let (request, finish) = view.prepare(ctx, header.args().view_request(view, ctx)?)?;
        let request = read_request(ctx, &request)?;
        let schema = finish.schema().map_or_else(|| request.arrow_schema(), |s| Ok(SchemaRef::clone(s)))?;
        let rows = explained(ctx, read_split(ctx, split, &request))?;
        Ok((schema, finish.apply(explained_rows(ctx, rows))))
    }
}
