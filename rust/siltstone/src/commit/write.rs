//! The metadata files of one snapshot, from manifests up to the snapshot itself (semantics e.4).
//!
//! ```text
//! manifests of the changes   kept for the next try when another commit is faster
//! merged manifests, manifest lists, index manifest   belong to one try
//! ```

use std::sync::Arc;

use super::{
    assigned::Rewritten,
    buckets::{BaseManifests, check_number_is_newest},
    changes::FileChanges,
    invariants,
    merge::{Thresholds, merge_manifests},
    new_rows::check_new_rows,
    plan::CommitPlan,
    request::Request,
};
use crate::{
    error::{Error, ErrorKind, Result},
    io::TableContext,
    limits,
    manifest::{ManifestEntry, ManifestFileMeta, ManifestStore},
    scan::{EntryFilter, live_entries},
    schema::TableSchema,
    snapshot::{CommitKind, Removals, Snapshot},
};

/// The newest version of the snapshot's layout.
const SNAPSHOT_VERSION: i32 = 3;

/// Manifests of the changes themselves.
#[derive(Debug, Default)]
pub(super) struct DeltaManifests {
    of: FileChanges,
    files: Vec<ManifestFileMeta>,
    changelog: Vec<ManifestFileMeta>,
}

impl DeltaManifests {
    /// Writes them, or keeps those of an earlier try with the same changes.
    pub(super) fn prepare(
        &mut self,
        store: &ManifestStore,
        changes: &FileChanges,
        replace_written: bool,
    ) -> Result<()> {
        if self.of.files != changes.files || self.of.changelog != changes.changelog {
            if replace_written {
                self.delete(store);
            }
            *self = Self::default();
        }
        if self.files.is_empty() {
            self.files = store.write(&changes.files)?;
            self.of.files.clone_from(&changes.files);
        }
        if self.changelog.is_empty() {
            self.changelog = store.write(&changes.changelog)?;
            self.of.changelog.clone_from(&changes.changelog);
        }
        Ok(())
    }

    pub(super) fn delete(&self, store: &ManifestStore) {
        let names = self.files.iter().chain(&self.changelog).map(|manifest| manifest.file_name.as_str());
        delete_quietly(store, names);
    }
}

/// Names of the metadata files that one try wrote, and its index files.
#[derive(Debug, Default)]
pub(super) struct Written {
    names: Vec<String>,
    index: Option<Rewritten>,
    /// All manifests of the snapshot, oldest first.
    pub(super) manifests: Vec<ManifestFileMeta>,
}

impl From<Option<Rewritten>> for Written {
    fn from(index: Option<Rewritten>) -> Self {
        Self { names: Vec::new(), index, manifests: Vec::new() }
    }
}

impl Written {
    pub(super) fn delete(&self, store: &ManifestStore) {
        delete_quietly(store, self.names.iter().map(String::as_str));
        self.index.iter().for_each(Rewritten::delete);
    }

    fn list(&mut self, store: &ManifestStore, manifests: &[ManifestFileMeta]) -> Result<(String, Option<i64>)> {
        let (name, size) = store.write_list(manifests)?;
        self.names.push(name.clone());
        Ok((name, Some(size)))
    }
}

/// What remains costs space only.
fn delete_quietly<'a>(store: &ManifestStore, names: impl Iterator<Item = &'a str>) {
    for name in names {
        if let Err(error) = store.delete(name) {
            tracing::warn!(name, %error, "a manifest of a failed commit was not deleted");
        }
    }
}

/// Writes the files of one try.
#[derive(Debug)]
pub(super) struct SnapshotWriter<'a> {
    pub(super) ctx: &'a TableContext,
    pub(super) store: &'a ManifestStore,
    pub(super) manifests: &'a BaseManifests,
    pub(super) request: &'a Request<'a>,
    pub(super) user: &'a str,
    pub(super) now: i64,
    /// The removal records that are known.
    pub(super) removals: &'a Removals,
    /// The id of the row after those of the snapshot (row tracking).
    pub(super) next_row_id: i64,
    /// The number of the newest schema, where it was just looked for.
    pub(super) newest_schema: Option<i64>,
}

impl SnapshotWriter<'_> {
    /// The snapshot after `latest`, not published yet; `None` when only manifests were to be packed and they are.
    pub(super) fn write(
        &self,
        latest: Option<&Snapshot>,
        plan: &CommitPlan<'_>,
        delta: &DeltaManifests,
        identifier: i64,
        written: &mut Written,
    ) -> Result<Option<Snapshot>> {
        let Some(base) = self.base_manifests(latest, written)? else {
            return Ok(None);
        };
        let (base_manifest_list, base_manifest_list_size) = written.list(self.store, &base)?;
        let (delta_manifest_list, delta_manifest_list_size) = written.list(self.store, &delta.files)?;
        let changelog =
            if delta.changelog.is_empty() { None } else { Some(written.list(self.store, &delta.changelog)?) };
        let (changelog_manifest_list, changelog_manifest_list_size) = changelog.unzip();
        written.manifests = base.into_iter().chain(delta.files.iter().cloned()).collect();
        let newest = self.newest_schema()?;
        check_new_rows(self.ctx, &newest, self.request.kind, &plan.changes)?;
        if self.request.kind != CommitKind::Compact {
            check_number_is_newest(self.ctx, &newest, latest, &plan.changes.files)?;
        }
        let schema_id = newest.id;
        let delta_rows = plan.changes.delta_records();
        let properties = &self.request.committable.properties;
        let snapshot = Snapshot {
            version: SNAPSHOT_VERSION,
            uuid: None,
            id: next_id(latest)?,
            schema_id,
            base_manifest_list,
            base_manifest_list_size,
            delta_manifest_list,
            delta_manifest_list_size,
            changelog_manifest_list,
            changelog_manifest_list_size: changelog_manifest_list_size.flatten(),
            index_manifest: self.index_manifest(latest, plan, written)?,
            commit_user: self.user.to_owned(),
            writer_version: None,
            commit_identifier: identifier,
            commit_kind: self.request.kind,
            time_millis: self.now,
            total_record_count: Some(self.total_after(latest, delta_rows)?),
            delta_record_count: Some(delta_rows),
            changelog_record_count: (!delta.changelog.is_empty()).then(|| rows(&plan.changes.changelog)),
            watermark: known(latest.and_then(|latest| latest.watermark)).max(known(self.request.committable.watermark)),
            statistics: self
                .request
                .statistics
                .clone()
                .or_else(|| latest.filter(|latest| latest.schema_id == schema_id).and_then(|l| l.statistics.clone())),
            properties: (!properties.is_empty()).then(|| properties.clone()),
            next_row_id: Some(self.next_row_id),
            operation: None,
        }
        .knowing(self.removals.count, &self.removals.branch);
        if cfg!(debug_assertions) {
            invariants::snapshot_follows(latest, &snapshot)?;
            invariants::delta_names_files_once(&plan.changes.files)?;
            invariants::index_files_are_unique(plan.index.as_deref().unwrap_or_default())?;
        }
        Ok(Some(snapshot))
    }

    /// All manifests of `latest`, merged; `None` when merging was all there is to do and it changed nothing.
    fn base_manifests(
        &self,
        latest: Option<&Snapshot>,
        written: &mut Written,
    ) -> Result<Option<Vec<ManifestFileMeta>>> {
        let Some(latest) = latest else {
            return Ok((!self.request.packs_manifests()).then(Vec::new));
        };
        let before = self.manifests.of(self.store, latest)?;
        let mut thresholds = Thresholds::from(&self.ctx.options, self.ctx.schema.has_primary_key());
        if self.request.packs_manifests() {
            thresholds.min_count = 1;
            thresholds.full_size = 1;
        }
        let merged = merge_manifests(self.store, before, thresholds, self.ctx.paths.partition_types())?;
        written.names.extend(merged.written.iter().cloned());
        invariants::merging_keeps_files(before, &merged.manifests)?;
        let unchanged = merged.written.is_empty() && merged.manifests.len() == before.len();
        Ok((!self.request.packs_manifests() || !unchanged).then_some(merged.manifests))
    }

    fn index_manifest(
        &self,
        latest: Option<&Snapshot>,
        plan: &CommitPlan<'_>,
        written: &mut Written,
    ) -> Result<Option<String>> {
        match &plan.index {
            None => Ok(latest.and_then(|latest| latest.index_manifest.clone())),
            Some(entries) if entries.is_empty() => Ok(None),
            Some(entries) => {
                let name = self.store.write_index(entries)?;
                written.names.push(name.clone());
                Ok(Some(name))
            }
        }
    }

    /// Rows after this commit. Fewer than none can only be when the snapshot before told a wrong number.
    fn total_after(&self, latest: Option<&Snapshot>, delta: i64) -> Result<i64> {
        let before = self.total_before(latest)?;
        let total = before.checked_add(delta).filter(|total| (0..=i64::MAX / 2).contains(total));
        total.ok_or_else(|| {
            let message = format!("a table of {before} rows cannot change by {delta} rows");
            let file = latest.map(|latest| format!("snapshot-{}", latest.id)).unwrap_or_default();
            Error::new(ErrorKind::CorruptFile, message)
                .with("file", file)
                .with("field", "totalRecordCount")
                .hint("the snapshot says another number of rows than its files hold: roll back to one before it")
        })
    }

    /// Rows before this commit; counted anew when an old version of Paimon did not record them.
    fn total_before(&self, latest: Option<&Snapshot>) -> Result<i64> {
        match latest {
            None => Ok(0),
            Some(Snapshot { total_record_count: Some(total), .. }) => Ok(*total),
            Some(latest) => Ok(rows(&live_entries(self.ctx, latest, &EntryFilter::without_statistics())?)),
        }
    }

    /// The table's newest schema, which may be newer than the writer's.
    fn newest_schema(&self) -> Result<Arc<TableSchema>> {
        if let Some(id) = self.newest_schema {
            return self.ctx.schemas.get(id);
        }
        self.ctx.schemas.latest()?.ok_or_else(|| {
            Error::new(ErrorKind::TableNotFound, format!("table {} is gone", self.ctx.name))
                .with("file", self.ctx.schemas.directory())
                .hint("It was dropped or moved while rows were written.")
        })
    }
}

fn next_id(latest: Option<&Snapshot>) -> Result<i64> {
    let last = latest.map_or(0, |latest| latest.id);
    limits::next_id(last).ok_or_else(|| {
        Error::new(ErrorKind::CorruptFile, format!("no snapshot can come after snapshot {last}"))
            .with("snapshot", last)
            .hint("snapshot ids end there: roll back to a snapshot with a smaller id")
    })
}

fn rows(entries: &[ManifestEntry]) -> i64 {
    entries.iter().map(|entry| entry.file.row_count).fold(0, i64::saturating_add)
}

/// `Long.MIN_VALUE` is how some writers say that there is no watermark.
fn known(watermark: Option<i64>) -> Option<i64> {
    watermark.filter(|mark| *mark != i64::MIN)
}
