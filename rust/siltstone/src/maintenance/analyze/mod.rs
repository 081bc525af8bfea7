//! `analyze`: counts and value ranges of all columns, in a statistics file that query planners read.
//!
//! ```text
//! statistics/stat-<uuid>-<n>   { "snapshotId", "schemaId", "mergedRecordCount", "mergedRecordSize", "colStats": { column: {...} } }
//! ```
//!
//! Source: format chapter 3.5, semantics g.10; `Statistics`, `ColStats`.

mod column;
mod distinct;

use serde_json::{Map, Value, json};

use crate::{
    commit::TableCommit,
    error::{Error, ErrorKind, Result},
    io::TableContext,
    maintenance::iceberg,
    path::MetaNames,
    read::read_splits,
    row::datums_from_array,
    scan::{ScanRequest, overtaken::again_when_overtaken, plan},
    snapshot::Snapshot,
    types::DataField,
};
use column::Column;

/// Reads the latest snapshot and commits what its columns hold; `None` for an empty table.
///
/// # Errors
/// Those of reading the table and of committing. Columns of nested types, variants and blobs have no statistics.
pub fn analyze(ctx: &TableContext, threads: usize) -> Result<Option<Snapshot>> {
    let Some(content) = again_when_overtaken(ctx, || statistics(ctx, threads))? else { return Ok(None) };
    let text = serde_json::to_string_pretty(&content)
        .map_err(|e| Error::new(ErrorKind::Internal, "statistics as JSON").caused_by(e))?;
    let name = MetaNames::new().statistics();
    let path = ctx.paths.statistics(&name)?;
    ctx.fs.write_new(&path, text.as_bytes(), ctx.options.sync)?;
    if let (true, Some((directory, _))) = (ctx.options.sync, path.rsplit_once('/')) {
        ctx.fs.sync_dir(directory)?;
    }
    let snapshot = TableCommit::with_new_user(ctx).commit_statistics(&name)?;
    // what fails is logged: rows and files are the same, and the next commit describes them
    iceberg::after_commit(ctx, snapshot.as_slice());
    Ok(snapshot)
}

/// The content of the statistics file.
fn statistics(ctx: &TableContext, threads: usize) -> Result<Option<Value>> {
    let plan = plan(ctx, &ScanRequest::default())?;
    let Some(snapshot) = &plan.snapshot else { return Ok(None) };
    let fields: Vec<&DataField> = plan.ctx.schema.fields.iter().collect();
    let mut columns: Vec<Option<Column>> = fields.iter().map(|field| Column::of(field)).collect();
    let mut rows: u64 = 0;
    for batch in read_splits(&plan.ctx, &plan.splits, &plan.read, threads)? {
        let batch = batch?;
        rows = rows.saturating_add(batch.num_rows() as u64);
        for (array, column) in batch.columns().iter().zip(&mut columns) {
            // slow beside the reading, which asks on threads of its own
            crate::cancel::check()?;
            if let Some(column) = column {
                let values = datums_from_array(array, column.data_type())?;
                values.into_iter().try_for_each(|value| column.add(value))?;
            }
        }
    }
    let files = plan.splits.iter().flat_map(|split| &split.files);
    let (bytes, stored) = files
        .fold((0_i64, 0_i64), |sum, file| (sum.0.saturating_add(file.file_size), sum.1.saturating_add(file.row_count)));
    let stats: Map<String, Value> = fields
        .iter()
        .zip(columns)
        .filter_map(|(field, column)| Some((field.name.clone(), column?.to_json(field.id))))
        .collect();
    let size = share(bytes, rows, stored);
    Ok(Some(json!({
        "snapshotId": snapshot.id,
        "schemaId": snapshot.schema_id,
        "mergedRecordCount": rows,
        "mergedRecordSize": size,
        "colStats": stats,
    })))
}

/// The bytes of the rows that are left after merging.
fn share(bytes: i64, rows: u64, stored: i64) -> i64 {
    match (i128::from(bytes) * i128::from(rows)).checked_div(i128::from(stored)) {
        Some(size) => i64::try_from(size).unwrap_or(i64::MAX),
        None => 0,
    }
}
