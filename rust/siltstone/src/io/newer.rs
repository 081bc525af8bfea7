//! Columns that rows of a newer schema have and an older one has not: they go when the rows are written again under it.
//!
//! ```text
//! writer, schema 0   v INT
//! others, schema 1   v BIGINT, n STRING       rows with v = 2^31, n = 'keep'
//! its compaction     v INT                    v would be cut, n be null: given up
//! ```

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use super::TableContext;
use crate::{
    cast::same_values,
    error::{Error, ErrorKind, Result},
    manifest::DataFileMeta,
    options::CoreOptions,
    schema::{TableSchema, levels_option, levels_option_changed, merge_rule_changed, own_rule_changed},
    types::DataField,
};

/// The name of a column that is lost, or whose values may change, when rows of schema `from` become rows of schema `to`. Towards
/// a newer schema it is what an alter asked for.
///
/// # Errors
/// Those of reading the schemas.
pub fn lost_column(ctx: &TableContext, from: i64, to: i64) -> Result<Option<String>> {
    first(ctx, from, to, |field, kept| !kept.is_some_and(|kept| same_values(&field.data_type, &kept.data_type)))
}

/// An error when rows of one of these files cannot be written again by a handle that was opened before an alter.
///
/// # Errors
/// `CommitConflict`; those of reading the schemas.
pub fn check_rewritable<'a>(ctx: &TableContext, files: impl Iterator<Item = &'a DataFileMeta>) -> Result<()> {
    for file in files {
        if let Some(column) = lost_column(ctx, file.schema_id, ctx.schema.id)? {
            return Err(altered(ctx, &column, ErrorKind::CommitConflict).with("file", &file.file_name));
        }
    }
    Ok(())
}

/// The option that says what levels mean ([`levels_option_changed`]) and has changed between two schemas, also where it has come
/// back.
///
/// # Errors
/// Those of reading the schemas.
pub fn levels_changed(ctx: &TableContext, since: i64, until: i64) -> Result<Option<&'static str>> {
    if since >= until {
        return Ok(None);
    }
    let mut before = None;
    for id in ctx.schemas.ids()?.into_iter().filter(|id| (since..=until).contains(id)) {
        let schema = match ctx.schemas.get(id) {
            // a fast-forward has taken it away
            Err(e) if e.kind() == ErrorKind::FileNotFound => continue,
            found => found?,
        };
        if let Some(before) = before.replace(Arc::clone(&schema))
            && let Some(option) = levels_option_changed(&before, &schema)?
        {
            return Ok(Some(option));
        }
    }
    Ok(None)
}

/// An error when records of one key may become another row by the newest schema than by one of these: what was, or would be,
/// merged by it undoes what readers see. The options of the handle itself say nothing else about levels than the table's.
///
/// # Errors
/// `CommitConflict`, `InvalidOption`; those of reading the schemas.
pub fn check_merges_alike(ctx: &TableContext, merged_by: impl IntoIterator<Item = i64>) -> Result<()> {
    if !ctx.schema.has_primary_key() {
        return Ok(());
    }
    let Some(newest) = ctx.schemas.latest()? else { return Ok(()) };
    for id in merged_by.into_iter().filter(|id| *id < newest.id) {
        // the stored one: a handle may have other options on top
        if let Some(changed) = merge_rule_changed(&*ctx.schemas.get(id)?, &newest) {
            let text = format!(
                "the table was altered since it was opened: with '{changed}', records of one key are merged otherwise"
            );
            let error = Error::new(ErrorKind::CommitConflict, text).of_old_handle().with("table", &ctx.name);
            return Err(error.with("schema", id).hint(AGAIN));
        }
        // where it has come back, others may have compacted meanwhile
        if let Some(option) = levels_changed(ctx, id, newest.id)? {
            let text = format!(
                "the table was altered since it was opened: with another '{option}', records of several levels were merged otherwise"
            );
            let error = Error::new(ErrorKind::CommitConflict, text).of_old_handle().with("table", &ctx.name);
            return Err(error.with("schema", id).hint(AGAIN));
        }
    }
    check_own_rule(ctx)
}

/// An error when options that were given to the handle say otherwise than the stored ones how records are merged.
///
/// # Errors
/// `InvalidOption`.
pub fn check_own_rule(ctx: &TableContext) -> Result<()> {
    if !ctx.schema.has_primary_key() || ctx.options.raw == ctx.schema.options {
        return Ok(());
    }
    let stored = CoreOptions::parse(&ctx.schema.options)?;
    let levels = levels_option(&stored, &ctx.options).or_else(|| levels_option(&ctx.options, &stored));
    // what such a compaction moves is told by nobody else
    let told = (stored.changelog_producer != ctx.options.changelog_producer).then_some("changelog-producer");
    let own = TableSchema { options: ctx.options.raw.clone(), ..(*ctx.schema).clone() };
    // what levels mean may hang on it
    let own = own_rule_changed(&ctx.schema, &own);
    let Some(option) = own.or_else(|| levels.or(told).map(str::to_owned)) else { return Ok(()) };
    let text = format!(
        "'{option}' was given to the handle with another value than the table has: rows would be merged otherwise"
    );
    Err(Error::new(ErrorKind::InvalidOption, text)
        .with("table", &ctx.name)
        .with("option", option)
        .hint("open the table without this option, or change it for good: t.alter().set_option(...).commit()"))
}

/// An error when what is told of merged rows has changed since a reader of it was opened, up to a snapshot of this schema.
///
/// # Errors
/// `SchemaMismatch`; those of reading the schemas.
pub fn check_told_alike(ctx: &TableContext, schema_id: i64) -> Result<()> {
    if schema_id <= ctx.schema.id || !ctx.schema.has_primary_key() {
        return Ok(());
    }
    let producer = |id: i64| Ok::<_, Error>(CoreOptions::parse(&ctx.schemas.get(id)?.options)?.changelog_producer);
    if producer(ctx.schema.id)? == producer(schema_id)? {
        return Ok(());
    }
    let text =
        "the table was altered since it was opened: 'changelog-producer' is another one, and its changes are elsewhere";
    Err(Error::new(ErrorKind::SchemaMismatch, text).with("table", &ctx.name).with("schema", schema_id).hint(AGAIN))
}

const AGAIN: &str = "open the table again";

/// An error when a column that is read has another type in one of these files, which a reader that was opened before an alter
/// would cast back.
///
/// # Errors
/// `SchemaMismatch`; those of reading the schemas.
pub fn check_readable<'a>(
    ctx: &TableContext,
    wanted: &[DataField],
    files: impl Iterator<Item = &'a DataFileMeta>,
) -> Result<()> {
    let wanted: HashSet<i32> = wanted.iter().map(|field| field.id).collect();
    for file in files {
        let changed = first(ctx, file.schema_id, ctx.schema.id, |field, known| {
            wanted.contains(&field.id) && known.is_some_and(|known| !same_values(&field.data_type, &known.data_type))
        })?;
        if let Some(column) = changed {
            return Err(altered(ctx, &column, ErrorKind::SchemaMismatch).with("file", &file.file_name));
        }
    }
    Ok(())
}

/// The conflict of rows that were written again under an older schema.
pub fn altered(ctx: &TableContext, column: &str, kind: ErrorKind) -> Error {
    let text =
        format!("the table was altered since it was opened: values of column '{column}' would be lost or changed");
    Error::new(kind, text).with("table", &ctx.name).with("column", column).hint(AGAIN)
}

/// The first column of the newer schema `from` that is `lost`, given what `to` has of it.
fn first(
    ctx: &TableContext,
    from: i64,
    to: i64,
    lost: impl Fn(&DataField, Option<&DataField>) -> bool,
) -> Result<Option<String>> {
    if from <= to {
        return Ok(None);
    }
    let (from, to) = (ctx.schemas.get(from)?, ctx.schemas.get(to)?);
    let kept: HashMap<i32, &DataField> = to.fields.iter().map(|field| (field.id, field)).collect();
    Ok(from.fields.iter().find(|field| lost(field, kept.get(&field.id).copied())).map(|field| field.name.clone()))
}
