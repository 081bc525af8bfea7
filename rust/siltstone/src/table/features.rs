//! What of Paimon a table uses, and what siltstone does with it.

use std::collections::{BTreeMap, BTreeSet};

use super::{Table, route::explained_buckets};
use crate::{
    Result,
    error::Error,
    io::{TableContext, index_of_file},
    manifest::ManifestEntry,
    options::ChangelogProducer,
    path::format_of,
    scan::{EntryFilter, live_entries},
    schema::{reading_faults, writing_faults},
};

/// What siltstone does with a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Support {
    /// Tables with it are read and written.
    ReadAndWritten,
    /// Tables with it are read.
    Read,
    /// Tables with it are refused.
    Refused,
}

impl Support {
    /// For reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ReadAndWritten => "read_and_written",
            Self::Read => "read",
            Self::Refused => "refused",
        }
    }
}

/// A feature that a table uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feature {
    /// What it is: `file format`, or the option or column that asks for it.
    pub name: String,
    /// What of it is used.
    pub value: String,
    /// What siltstone does with it.
    pub support: Support,
    /// Why it is not supported, and what to do instead.
    pub reason: Option<String>,
}

impl Table {
    /// What of Paimon the newest version of this table uses, and what siltstone does with it; what is refused comes first.
    pub fn features(&self) -> Result<Vec<Feature>> {
        let (ctx, snapshot) = self.travelled()?;
        let schema = ctx.schema.with_options(&ctx.options.raw);
        let refused = reading_faults(&schema);
        let unread: BTreeSet<String> = refused.iter().map(Error::to_string).collect();
        let mut all: Vec<Feature> = refused.iter().map(|e| refusal(e, Support::Refused)).collect();
        let unwritten = writing_faults(&schema);
        all.extend(unwritten.iter().filter(|e| !unread.contains(&e.to_string())).map(|e| refusal(e, Support::Read)));
        let entries = match &snapshot {
            Some(snapshot) => live_entries(&ctx, snapshot, &EntryFilter::without_statistics())?,
            None => Vec::new(),
        };
        all.extend(of_options(&ctx));
        all.extend(of_files(&ctx, &entries)?);
        Ok(all)
    }
}

fn refusal(error: &Error, support: Support) -> Feature {
    let place = ["option", "column"].into_iter().find_map(|key| error.context_value(key));
    let name = place.map_or_else(|| "table".to_owned(), str::to_owned);
    Feature { name, value: error.message().to_owned(), support, reason: error.hint_text().map(str::to_owned) }
}

fn used(name: &str, value: impl Into<String>) -> Feature {
    Feature { name: name.to_owned(), value: value.into(), support: Support::ReadAndWritten, reason: None }
}

fn of_options(ctx: &TableContext) -> Vec<Feature> {
    let options = &ctx.options;
    let mut all = vec![used("buckets", explained_buckets(ctx))];
    if ctx.schema.has_primary_key() {
        all.push(used("merge engine", options.merge_engine.as_str()));
        if options.changelog_producer != ChangelogProducer::None {
            all.push(used("changelog producer", options.changelog_producer.as_str()));
        }
    }
    if options.deletion_vectors_enabled {
        all.push(used("deletion vectors", if options.deletion_vectors_bitmap64 { "64 bits" } else { "32 bits" }));
    }
    if options.row_tracking_enabled {
        let what = if options.data_evolution_enabled {
            "ids of rows, columns of rows in several files"
        } else {
            "ids of rows"
        };
        all.push(used("row tracking", what));
    }
    all.push(used("manifest format", options.manifest_format.as_str()));
    all
}

/// What the live files have.
fn of_files(ctx: &TableContext, entries: &[ManifestEntry]) -> Result<Vec<Feature>> {
    let (mut formats, mut schemas): (BTreeMap<&str, usize>, BTreeSet<i64>) = Default::default();
    let (mut indexes, mut indexed): (BTreeSet<String>, usize) = Default::default();
    let mut tracked = 0;
    for entry in entries {
        let file = &entry.file;
        *formats.entry(format_of(&file.file_name).unwrap_or("unknown")).or_default() += 1;
        schemas.insert(file.schema_id);
        tracked += usize::from(file.first_row_id.is_some());
        if let Some(found) = index_of_file(ctx, &entry.partition, entry.bucket, file)? {
            indexed += 1;
            for (column, kinds) in found.index.columns() {
                indexes.extend(kinds.keys().map(|kind| format!("{kind} of {column}")));
            }
        }
    }
    let mut all: Vec<Feature> =
        formats.iter().map(|(format, count)| used("file format", format!("{format} ({count} files)"))).collect();
    if schemas.len() > 1 {
        all.push(used("schema evolution", format!("files of {} schemas", schemas.len())));
    }
    if indexed > 0 {
        let kinds: Vec<String> = indexes.into_iter().collect();
        all.push(used("file indexes", format!("{} ({indexed} files)", kinds.join(", "))));
    }
    if tracked > 0 {
        all.push(used("row ids", format!("{tracked} files")));
    }
    Ok(all)
}
