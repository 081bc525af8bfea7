//! What a scan must not touch: files whose rows would come out wrong.

use crate::{
    error::{Error, Result},
    format::{blob, is_data_format},
    io::TableContext,
    manifest::ManifestEntry,
    path::format_of,
    schema::check_readable,
};

/// Refuses tables by their options, except where the files decide: a merge engine matters only when something has to be
/// merged, postponed buckets only for the rows in them.
pub(super) fn check_options(ctx: &TableContext) -> Result<()> {
    let mut schema = (*ctx.schema).clone();
    schema.options.clone_from(&ctx.options.raw);
    for decided_by_files in ["merge-engine", "deletion-vectors.enabled", "bucket"] {
        schema.options.remove(decided_by_files);
    }
    check_readable(&schema).map_err(|e| e.with("table", &ctx.name))
}

/// A postponed bucket holds rows that no reader shows before a compaction moves them to real buckets.
pub(super) fn drop_postponed(ctx: &TableContext, entries: &mut Vec<ManifestEntry>) {
    let postponed = crate::limits::sum(entries.iter().filter(|e| e.bucket < 0).map(|e| e.file.row_count));
    if postponed > 0 {
        tracing::warn!(table = %ctx.name, rows = postponed, "rows in postponed buckets are not read before they are compacted");
        entries.retain(|e| e.bucket >= 0);
    }
}

/// Refuses data files that only a later version of siltstone can read.
pub(super) fn check_files(ctx: &TableContext, entries: &[ManifestEntry]) -> Result<()> {
    for entry in entries {
        let file = &entry.file;
        let refuse =
            |what: String| Err(Error::unsupported(what).with("table", &ctx.name).with("file", &file.file_name));
        match format_of(&file.file_name) {
            Some(blob::NAME) if !ctx.options.data_evolution_enabled => {
                return refuse("a file with BLOB values without 'data-evolution.enabled'".to_owned());
            }
            Some(format) if is_data_format(format) => {}
            Some(other) => return refuse(format!("the data file format '{other}'")),
            None => return refuse("a data file without a format in its name".to_owned()),
        }
        if ctx.options.data_evolution_enabled && file.file_name.contains(".vector.") {
            return refuse("a file with vectors of rows".to_owned());
        }
    }
    Ok(())
}
