//! Rows, part one: each data and changelog file is read once, under the schema that it was written with, and compared
//! with what its manifest entry says.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use rayon::prelude::*;

use super::{
    Check, RESTORE,
    buckets::{BucketRule, Buckets},
    columns::Columns,
    fault::{Fault, Found, unread},
    file_indexes::index_faults,
    keys::Keys,
};
use crate::{
    cancel,
    error::{ErrorKind, Result},
    io::{FileReadSpec, OpenDataFile, TableContext},
    manifest::{EntryKind, ManifestEntry, ManifestStore},
    scan::{EntryFilter, live_entries},
    snapshot::{NamedList, Snapshot},
    threads::in_pool,
    types::DataField,
};

/// A file that is read.
struct DataFile<'a> {
    ctx: &'a TableContext,
    place: String,
    entry: ManifestEntry,
    changelog: bool,
    rule: Option<Arc<BucketRule>>,
}

impl Check<'_> {
    /// Reads all files that these versions and the changelogs of the branches name.
    pub(super) fn data_files<'v>(
        &mut self,
        versions: &'v [(TableContext, Snapshot)],
        branches: &'v [TableContext],
    ) -> Result<()> {
        let mut known: HashSet<(String, Vec<u8>, i32)> = HashSet::new();
        let mut files: Vec<DataFile<'_>> = Vec::new();
        let mut rules: HashMap<&str, Option<Arc<BucketRule>>> = HashMap::new();
        let mut add = |ctx: &'v TableContext, place: &str, entries: Vec<ManifestEntry>, changelog| {
            let rule = rules.entry(&ctx.branch).or_insert_with(|| BucketRule::of(ctx).map(Arc::new));
            for entry in entries.into_iter().filter(|entry| entry.kind == EntryKind::Add) {
                if known.insert((entry.file.file_name.clone(), entry.partition.clone(), entry.bucket)) {
                    let rule = rule.clone();
                    files.push(DataFile { ctx, place: place.to_owned(), entry, changelog, rule });
                }
            }
        };
        for (ctx, version) in versions {
            cancel::check()?;
            let place = format!("{}/snapshot-{}", ctx.branch, version.id);
            add(ctx, &place, known_otherwise(live_entries(ctx, version, &EntryFilter::default()))?, false);
            add(ctx, &place, known_otherwise(listed(ctx, version.delta_list()))?, false);
            if let Some(list) = version.changelog_list() {
                add(ctx, &place, known_otherwise(listed(ctx, list))?, true);
            }
        }
        for ctx in branches {
            let changelogs = ctx.changelogs();
            for id in changelogs.ids()? {
                let place = format!("{}/changelog-{id}", ctx.branch);
                let Ok(changelog) = changelogs.get(id) else { continue };
                if let Some(list) = changelog.changelog_list() {
                    add(ctx, &place, known_otherwise(listed(ctx, list))?, true);
                } else {
                    let mut delta = known_otherwise(listed(ctx, changelog.delta_list()))?;
                    delta.retain(ManifestEntry::is_change);
                    add(ctx, &place, delta, false);
                }
            }
        }
        self.verdict.count("data files read", files.len());
        let faults = cancel::carried(|file: &DataFile<'_>| Ok((file.place.clone(), file.faults()?)));
        let all = || files.par_iter().map(faults).collect::<Result<_>>();
        let found: Vec<(String, Vec<Fault>)> = in_pool(all)?;
        for (place, faults) in found {
            for fault in faults {
                self.fault(&place, fault);
            }
        }
        Ok(())
    }
}

/// The entries of a manifest list as they are.
fn listed(ctx: &TableContext, list: NamedList<'_>) -> Result<Vec<ManifestEntry>> {
    let store = ManifestStore::new(&ctx.fs, &ctx.paths, &ctx.options)?;
    store.read_all(&store.read_list(list)?, &|_| true)
}

/// No entries where they cannot be read, which is a finding already.
///
/// # Errors
/// Memory that could not be had, a check that was stopped: they say nothing about the table.
fn known_otherwise(entries: Result<Vec<ManifestEntry>>) -> Result<Vec<ManifestEntry>> {
    match entries {
        Err(e) if matches!(e.kind(), ErrorKind::MemoryLimitExceeded | ErrorKind::Cancelled) => Err(e),
        entries => Ok(entries.unwrap_or_default()),
    }
}

impl DataFile<'_> {
    /// All that is wrong with the file.
    fn faults(&self) -> Result<Vec<Fault>> {
        if let Some(missing) = self.missing_schema() {
            return Ok(vec![missing]);
        }
        let mut faults = match self.read() {
            Ok(faults) => faults,
            Err(e) => unread("bad-data-file", e)?.into_iter().collect(),
        };
        if let Ok(schema) = self.ctx.schemas.get(self.entry.file.schema_id) {
            faults.extend(index_faults(self.ctx, &self.entry, &schema.fields)?);
        }
        Ok(faults)
    }

    /// Nobody can read a file whose schema is gone.
    fn missing_schema(&self) -> Option<Fault> {
        match self.ctx.schemas.get(self.entry.file.schema_id) {
            Err(e) if e.kind() == ErrorKind::FileNotFound => {
                let message = format!("{} cannot be read: {}", self.entry.file.file_name, e.message());
                Some(Fault { code: "missing-schema", message, repair: RESTORE, mild: false })
            }
            // what is wrong with it is found where it is read
            _ => None,
        }
    }

    fn read(&self) -> Result<Vec<Fault>> {
        let ctx = self.ctx;
        let file = &self.entry.file;
        let schema = ctx.schemas.get(file.schema_id)?;
        let keyed = !schema.primary_keys.is_empty();
        // other columns of these rows are in other files
        let fields: Vec<DataField> =
            schema.fields.iter().filter(|field| file.has_column(&field.name)).cloned().collect();
        let spec = FileReadSpec { system: keyed, ..FileReadSpec::new(fields.clone()) };
        // readers that skip rows go by the page index: it is read, too
        let open = OpenDataFile::open(ctx, &self.entry.partition, self.entry.bucket, file)?;
        let mut columns = Columns::new(&fields, file, open.claims(&fields)?)?;
        let mut keys = match keyed.then(|| Keys::new(&fields, &schema.trimmed_primary_keys())) {
            Some(keys) => Some(keys?),
            None => None,
        };
        let mut buckets = Buckets::new(self.rule.as_deref(), &self.entry, &fields);
        let mut rows: i64 = 0;
        for batch in open.read(ctx, &spec)? {
            let batch = batch?;
            if let Some(keys) = &mut keys {
                keys.add(&batch, rows)?;
            }
            columns.add(&batch, rows)?;
            buckets.iter_mut().try_for_each(|buckets| buckets.add(&batch))?;
            rows = rows.saturating_add(i64::try_from(batch.num_rows()).unwrap_or(i64::MAX));
        }
        let mut found = Found { file, faults: Vec::new() };
        if rows != file.row_count {
            found.add("wrong-row-count", format!("has {rows} rows, the manifest says {}", file.row_count));
        }
        if let Some(keys) = &keys {
            // the keys of postponed buckets come as they were written
            keys.check(&mut found, self.entry.bucket >= 0, self.changelog)?;
        }
        columns.check(&mut found);
        if let Some(buckets) = &buckets {
            buckets.check(&mut found);
        }
        Ok(found.faults)
    }
}
