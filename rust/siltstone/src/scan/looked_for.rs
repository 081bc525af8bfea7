//! Whether a version has brought or taken away rows that a statement has looked for, and relies on not having found, or on having
//! found: a MERGE inserts what is not there.

use super::{ScanRequest, entries::listed_entries, prepared::Prepared, prune::buckets_of_interest, split::BucketFiles};
use crate::{
    cancel,
    error::Result,
    io::{FileReadSpec, TableContext, read_data_file},
    manifest::{EntryKind, ManifestEntry},
    predicate::Predicate,
    snapshot::{CommitKind, Snapshot},
};

/// The name of a file that may have such rows, of those that a snapshot brings or takes away.
///
/// Files that come to an append table are looked into: whoever adds other rows all the time is in nobody's way. Of other files
/// their statistics decide.
pub(crate) fn changed_file(ctx: &TableContext, snapshot: &Snapshot, rows: &Predicate) -> Result<Option<String>> {
    if matches!(snapshot.commit_kind, CommitKind::Compact | CommitKind::Analyze) {
        return Ok(None);
    }
    let request = ScanRequest { filter: Some(rows.clone().into()), ..ScanRequest::default() };
    let prepared = Prepared::new(ctx, &request)?;
    if prepared.nothing {
        return Ok(None);
    }
    let mut entries = listed_entries(ctx, snapshot.delta_list(), &prepared.entry_filter(ctx))?;
    // nobody sees rows that wait for buckets
    entries.retain(|entry| entry.bucket >= 0);
    if ctx.options.data_evolution_enabled {
        // such a file may have some columns of its rows, and others beside it the rest
        return Ok(entries.into_iter().next().map(|entry| entry.file.into_inner().file_name));
    }
    let (came, gone): (Vec<ManifestEntry>, Vec<_>) = entries.into_iter().partition(|e| e.kind == EntryKind::Add);
    let of_interest = |entries| buckets_of_interest(ctx, entries, &prepared.residual, false);
    if let Some(file) = of_interest(gone)?.into_iter().flat_map(|bucket| bucket.files).next() {
        return Ok(Some(file.into_inner().file_name));
    }
    for bucket in of_interest(came)? {
        if let Some(file) = file_with_row(ctx, &bucket, &prepared)? {
            return Ok(Some(file));
        }
    }
    Ok(None)
}

fn file_with_row(ctx: &TableContext, bucket: &BucketFiles, prepared: &Prepared) -> Result<Option<String>> {
    let asked = prepared.residual.columns();
    let fields = ctx.schema.fields.iter().filter(|field| asked.iter().any(|name| *name == field.name));
    let spec = FileReadSpec { filter: prepared.read.filter.clone(), ..FileReadSpec::new(fields.cloned().collect()) };
    for file in &bucket.files {
        cancel::check()?;
        if asked.is_empty() || ctx.schema.has_primary_key() {
            return Ok(Some(file.file_name.clone()));
        }
        for batch in read_data_file(ctx, &bucket.id.partition, bucket.id.bucket, file, &spec)? {
            if batch?.num_rows() > 0 {
                return Ok(Some(file.file_name.clone()));
            }
        }
    }
    Ok(None)
}
