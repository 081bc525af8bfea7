//! Snapshots, tags and live files of a table, for people to look at.

use serde_json::{Value, json};

use super::Table;
use crate::{
    Result,
    manifest::ManifestEntry,
    row::{BinaryRow, datum_to_text},
    scan::{
        EntryFilter, VersionSelector, live_entries,
        overtaken::{again_when_overtaken, expired_meanwhile},
        time_travel,
    },
    snapshot::{Snapshot, SnapshotManager, TagManager},
    types::DataType,
};

impl Table {
    pub(super) fn snapshots(&self) -> SnapshotManager {
        SnapshotManager::new(self.context().fs.clone(), &self.branch_root())
    }

    fn tags(&self) -> TagManager {
        TagManager::new(self.context().fs.clone(), &self.branch_root())
    }

    /// The latest snapshot, or the one with this id.
    pub fn snapshot(&self, id: Option<i64>) -> Result<Option<Snapshot>> {
        if let Some(id) = id {
            let version = self.snapshots().version(id).map(Some).map_err(|e| e.with("table", &self.context().name));
            return self.found(version, |_| false);
        }
        self.found(self.snapshots().latest(), Option::is_none)
    }

    /// The newest snapshots, newest first.
    pub fn history(&self, limit: usize) -> Result<Vec<Snapshot>> {
        let snapshots = self.snapshots();
        let newest = snapshots.among_all(|ids| ids.iter().rev().take(limit).map(|id| snapshots.get(*id)).collect());
        self.found(newest, Vec::is_empty)
    }

    /// Names of all tags, in order.
    pub fn tag_names(&self) -> Result<Vec<String>> {
        self.found(self.tags().names(), Vec::is_empty)
    }

    /// The snapshot that a tag keeps.
    pub fn tag(&self, name: &str) -> Result<Snapshot> {
        let tag = self.tags().get(name).map_err(|e| e.with("table", &self.context().name));
        self.found(tag, |_| false)
    }

    /// The live data files of a snapshot as JSON objects.
    pub fn files(&self, id: Option<i64>) -> Result<Vec<Value>> {
        let version = id.map_or(VersionSelector::Latest, VersionSelector::Snapshot);
        let entries = again_when_overtaken(self.context(), || {
            let (ctx, snapshot) = time_travel(self.context(), &version)?;
            let Some(snapshot) = snapshot else { return Ok(Vec::new()) };
            live_entries(&ctx, &snapshot, &EntryFilter::default()).map_err(|e| expired_meanwhile(&ctx, &snapshot, e))
        });
        let entries = self.found(entries, Vec::is_empty)?;
        entries.iter().map(|e| self.file_json(e)).collect()
    }

    fn file_json(&self, entry: &ManifestEntry) -> Result<Value> {
        let ctx = self.context();
        let keys: Vec<DataType> = ctx.schema.key_fields().iter().map(|f| f.data_type.clone()).collect();
        let file = &entry.file;
        Ok(json!({
            "partition": ctx.paths.partition_path(&entry.partition)?.trim_end_matches('/'),
            "bucket": entry.bucket,
            "level": file.level,
            "name": file.file_name,
            "rows": file.row_count,
            "deleted_rows": file.delete_row_count,
            "bytes": file.file_size,
            "schema_id": file.schema_id,
            "min_key": key_text(&file.min_key, &keys)?,
            "max_key": key_text(&file.max_key, &keys)?,
            "min_sequence_number": file.min_sequence_number,
            "max_sequence_number": file.max_sequence_number,
            "path": ctx.paths.data_file(&entry.partition, entry.bucket, file)?,
        }))
    }
}

/// A key as a list of texts; `None` where the table has no key.
fn key_text(bytes: &[u8], types: &[DataType]) -> Result<Option<Vec<Option<String>>>> {
    if types.is_empty() {
        return Ok(None);
    }
    let row = BinaryRow::from_serialized(bytes)?;
    let values = row.datums(types)?;
    Ok(Some(values.iter().zip(types).map(|(v, t)| (!v.is_null()).then(|| datum_to_text(v, t))).collect()))
}
