//! Rows of writers that had opened the table before an alter, by what it asks of them now.

use std::collections::{HashMap, HashSet, hash_map::Entry};

use super::changes::FileChanges;
use crate::{
    error::{Error, ErrorKind, Result},
    io::TableContext,
    manifest::{DataFileMeta, EntryKind, ManifestEntry},
    options::{ChangelogProducer, CoreOptions},
    schema::TableSchema,
    snapshot::CommitKind,
};

/// A conflict when new files may have nulls where the newest schema allows none, because nobody could read them; and when they
/// come without the changelog that it asks writers for, because no stream would see them.
pub(super) fn check_new_rows(
    ctx: &TableContext,
    newest: &TableSchema,
    kind: CommitKind,
    changes: &FileChanges,
) -> Result<()> {
    let known = changes.files.iter().filter(|entry| entry.kind == EntryKind::Delete);
    let known: HashSet<&str> = known.map(|entry| entry.file.file_name.as_str()).collect();
    let is_new = |entry: &&ManifestEntry| {
        entry.kind == EntryKind::Add
            && entry.file.schema_id < newest.id
            && !known.contains(entry.file.file_name.as_str())
    };
    let new: Vec<&DataFileMeta> = changes.files.iter().filter(is_new).map(|entry| &entry.file).collect();
    if new.is_empty() || kind == CommitKind::Compact {
        return Ok(());
    }
    if kind == CommitKind::Append && changes.changelog.is_empty() {
        check_changelog(ctx, newest, &new)?;
    }
    check_nulls(ctx, newest, &new)
}

fn check_changelog(ctx: &TableContext, newest: &TableSchema, new: &[&DataFileMeta]) -> Result<()> {
    let writes_it = |schema: &TableSchema| {
        CoreOptions::parse(&schema.options).map(|options| options.changelog_producer == ChangelogProducer::Input)
    };
    if !newest.has_primary_key() || !writes_it(newest)? {
        return Ok(());
    }
    for file in new {
        if !writes_it(&*ctx.schemas.get(file.schema_id)?)? {
            let text =
                "'changelog-producer' became 'input' since the table was opened, and the rows come without a changelog";
            return Err(altered(ctx, text, file).with("option", "changelog-producer"));
        }
    }
    Ok(())
}

fn check_nulls(ctx: &TableContext, newest: &TableSchema, new: &[&DataFileMeta]) -> Result<()> {
    if newest.fields.iter().all(|field| field.data_type.nullable) {
        return Ok(());
    }
    let mut schemas = HashMap::new();
    for file in new.iter().filter(|file| file.delete_row_count != Some(file.row_count)) {
        let written = match schemas.entry(file.schema_id) {
            Entry::Occupied(read) => read.into_mut(),
            Entry::Vacant(place) => place.insert(ctx.schemas.get(file.schema_id)?),
        };
        if let Some(column) = nulls_in(file, written, newest) {
            let text = format!(
                "column '{column}' was made NOT NULL since the table was opened, and rows may have nulls there"
            );
            return Err(altered(ctx, &text, file).with("column", column));
        }
    }
    Ok(())
}

fn altered(ctx: &TableContext, text: &str, file: &DataFileMeta) -> Error {
    Error::new(ErrorKind::CommitConflict, text)
        .with("table", &ctx.name)
        .with("file", &file.file_name)
        .hint("open the table again and write the rows again; nothing was committed")
}

/// A column that is NOT NULL now, and of which the file has nulls, or may have some.
fn nulls_in<'s>(file: &DataFileMeta, written: &TableSchema, newest: &'s TableSchema) -> Option<&'s str> {
    let may_have = |id: i32| match written.fields.iter().position(|field| field.id == id) {
        // the columns that are not in the file are others' concern
        Some(at) if written.fields.get(at).is_some_and(|field| !file.has_column(&field.name)) => false,
        Some(at) => {
            written.fields.get(at).is_some_and(|field| field.data_type.nullable)
                && null_count(file, written, at) != Some(0)
        }
        None => true,
    };
    let not_null = newest.fields.iter().filter(|field| !field.data_type.nullable);
    not_null.map(|field| (field.id, field.name.as_str())).find(|(id, _)| may_have(*id)).map(|(_, name)| name)
}

/// `None`: unknown.
fn null_count(file: &DataFileMeta, written: &TableSchema, column: usize) -> Option<i64> {
    let name = &written.fields.get(column)?.name;
    let at = file.stats_columns(written).iter().position(|with| with == name)?;
    file.value_stats.null_counts.get(at).copied().flatten()
}
