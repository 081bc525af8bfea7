//! Splits that travel to other processes: an envelope (`wire::sealed`) around Paimon's `DataSplit` bytes.

use std::{collections::BTreeMap, sync::Arc};

use arrow_schema::SchemaRef;
use serde::{Deserialize, Serialize};

use super::{
    Table,
    fallback::{relabelled, with_nullable},
    place::Place,
    replaced::{explained, explained_rows},
    scan::{as_shown, result_schema, under_schema},
};
use crate::{
    Result,
    io::{BatchStream, TableContext},
    manifest::DataFileMeta,
    options::{CoreOptions, without_secrets},
    read::read_split,
    scan::{ScanRequest, read_request},
    variant::shown_schema,
    wire::{Seal, Split, TableIdentity},
};

const SPLIT: Seal = Seal { what: "split", magic: "STSP", version: 6 };

/// What a split needs besides its files: where the table is, and the scan that it is part of. No credentials.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct SplitHeader {
    table: TableIdentity,
    options: BTreeMap<String, String>,
    /// Those of the plan, with the dynamic ones: an older schema has others.
    effective: BTreeMap<String, String>,
    request: ScanRequest,
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
        request: &ScanRequest,
        ctx: &TableContext,
        nullable: &[String],
    ) -> Self {
        Self {
            table: TableIdentity::of(ctx),
            options: options.clone(),
            effective: without_secrets(&ctx.options.raw),
            // what travels: the version was chosen
            request: ScanRequest {
                columns: request.columns.clone(),
                filter: request.filter.clone(),
                system: request.system.clone(),
                options: request.options.clone(),
                ..ScanRequest::default()
            },
            nullable: nullable.to_vec(),
            snapshot_list: None,
        }
    }

    pub(super) fn encode(&self, split: &Split) -> Result<Vec<u8>> {
        let header = Self { snapshot_list: split.snapshot_list.clone(), ..self.clone() };
        SPLIT.close(&header, &split.to_bytes()?)
    }
}

/// A split and what to do with it. The table is opened when its rows are asked for, so that a driver can hold
/// thousands of splits.
#[derive(Clone, Debug)]
pub struct ReadableSplit {
    header: Arc<SplitHeader>,
    split: Split,
}

impl ReadableSplit {
    pub(super) fn new(header: &Arc<SplitHeader>, split: Split) -> Self {
        Self { header: Arc::clone(header), split }
    }

    /// The bytes in which it travels.
    pub fn to_token(&self) -> Result<Vec<u8>> {
        self.header.encode(&self.split)
    }

    /// Takes the bytes of [`Self::to_token`] apart.
    ///
    /// # Errors
    /// `CorruptFile`: damaged on its way; `UnsupportedVersion`: made by another version.
    pub fn from_token(token: &[u8]) -> Result<Self> {
        let (header, payload): (SplitHeader, _) = SPLIT.open(token)?;
        let split = Split { snapshot_list: header.snapshot_list.clone(), ..Split::from_bytes(payload)? };
        Ok(Self { header: Arc::new(header), split })
    }

    /// The files.
    pub fn files(&self) -> impl Iterator<Item = &DataFileMeta> {
        self.split.before_files.iter().chain(&self.split.files)
    }

    /// Rows in it, where no merging and no filter decides that.
    pub fn rows(&self) -> Option<i64> {
        let (request, split) = (&self.header.request, &self.split);
        let filtered = request.filter.is_some() || request.system.is_some();
        let dropped = split.is_streaming && !request.options.row_kind;
        let merged = !split.raw_convertible && !split.is_streaming;
        let known = !merged && !dropped && split.before_files.is_empty();
        (known && !filtered)
            .then(|| (0..split.files.len()).try_fold(0_i64, |sum, i| Some(sum.saturating_add(split.rows_left(i)?))))
            .flatten()
    }

    /// The rows and their schema, which is the one that was planned with, never "latest".
    pub fn read(&self) -> Result<(SchemaRef, BatchStream)> {
        let header = &self.header;
        let place = Place::of(&header.table.location, header.options.clone())?;
        let (branch, schema) = (&header.table.branch, Some(header.table.schema_id));
        let table = Table::open_with(place.fs, &place.path, branch, schema, place.options)?;
        header.table.check(table.context(), SPLIT.what)?;
        let options = Arc::new(CoreOptions::parse(&header.effective)?);
        let (schema, rows) = self.rows_of(&TableContext { options, ..table.context().clone() })?;
        let schema = with_nullable(&schema, &header.nullable);
        Ok((Arc::clone(&schema), relabelled(rows, &schema, &header.nullable)))
    }

    fn rows_of(&self, ctx: &TableContext) -> Result<(SchemaRef, BatchStream)> {
        let (below, finish) = under_schema(&self.header.request, ctx)?;
        let read = read_request(ctx, &below)?;
        let rows = explained(ctx, read_split(ctx, &self.split, &read))?;
        let schema = shown_schema(&result_schema(&finish, &read)?, ctx.options.variant);
        Ok((schema, as_shown(finish.apply(explained_rows(ctx, rows)), ctx)))
    }
}
