//! Rows: every live data file of every version is read once, and each version once as a whole.

use std::collections::HashSet;

use rayon::prelude::*;

use super::{Check, RESTORE};
use crate::{
    error::Result,
    io::{FileReadSpec, TableContext, read_data_file},
    manifest::ManifestEntry,
    operation::scan::{EntryFilter, live_entries},
    snapshot::Snapshot,
    threads::in_pool,
};

impl Check<'_> {
    /// Reads what these versions hold; the checksums and row counts of files are checked on the way.
    pub(super) fn rows(&mut self, versions: &[(TableContext, Snapshot)]) {
        let mut known: HashSet<String> = HashSet::new();
        let mut files: Vec<(TableContext, String, ManifestEntry)> = Vec::new();
        for (ctx, version) in versions {
            let place = format!("{}/snapshot-{}", ctx.branch, version.id);
            // versions that cannot be read are findings already
            let Ok(live) = live_entries(ctx, version, &EntryFilter::default()) else { continue };
            for entry in live {
                if known.insert(entry.file.file_name.clone()) {
                    files.push((ctx.clone(), place.clone(), entry));
                }
            }
        }
        self.verdict.count("data files read", files.len());
        let wrong: Vec<(String, String)> = in_pool(|| {
            files
                .par_iter()
                .filter_map(|(ctx, place, entry)| Some((place.clone(), read(ctx, entry).err()?.to_string())))
                .collect()
        });
        for (place, message) in wrong {
            self.verdict.problem("bad-data-file", &place, message, RESTORE);
        }
    }
}

/// Reads a file to its end: row groups, pages and their checksums, the row count, and the order of sequence numbers.
fn read(ctx: &TableContext, entry: &ManifestEntry) -> Result<()> {
    let keyed = !ctx.schema.primary_keys.is_empty();
    let schema = ctx.schemas.get(entry.file.schema_id)?;
    let spec = FileReadSpec { system: keyed, ..FileReadSpec::new(schema.fields.clone()) };
    let mut rows: i64 = 0;
    for batch in read_data_file(ctx, &entry.partition, entry.bucket, &entry.file, &spec)? {
        rows = rows.saturating_add(i64::try_from(batch?.num_rows()).unwrap_or(i64::MAX));
    }
    if rows == entry.file.row_count {
        return Ok(());
    }
    let path = ctx.paths.data_file(&entry.partition, entry.bucket, &entry.file)?;
    Err(crate::Error::corrupt(path, 0, format!("{} rows", entry.file.row_count), rows))
}
