//! Snapshots and live files of a table, for people to look at.

use super::Table;
use crate::{
    ErrorKind, Result,
    manifest::ManifestEntry,
    row::{BinaryRow, datum_to_text},
    scan::{
        EntryFilter, VersionSelector, live_entries,
        overtaken::{again_when_overtaken, expired_meanwhile},
        time_travel,
    },
    snapshot::{Snapshot, SnapshotManager},
    types::DataType,
};

/// A live data file of a version.
#[derive(Clone, Debug)]
pub struct FileEntry {
    /// What the manifest says of it.
    pub entry: ManifestEntry,
    /// `dt=2026-11-20`; empty where the table has no partitions.
    pub partition_path: String,
    /// Smallest and largest key, column by column; `None` where the table has no key.
    pub keys: Option<(KeyText, KeyText)>,
    /// Where it is.
    pub path: String,
}

/// Values of a key as texts.
type KeyText = Vec<Option<String>>;

impl Table {
    pub(super) fn snapshots(&self) -> SnapshotManager {
        self.context().snapshots()
    }

    /// The latest snapshot, or the one with this id.
    pub fn snapshot(&self, id: Option<i64>) -> Result<Option<Snapshot>> {
        if let Some(id) = id {
            let version = self.snapshots().version(id).map(Some).map_err(|e| e.with("table", &self.context().name));
            return self.found(version, |_| false);
        }
        self.found(self.snapshots().latest(), Option::is_none)
    }

    /// The newest snapshots, newest first. Of one whose file is damaged there is a warning.
    pub fn history(&self, limit: usize) -> Result<Vec<Snapshot>> {
        let snapshots = self.snapshots();
        let whole = |id: &i64| match snapshots.get(*id) {
            Err(error) if error.kind() == ErrorKind::CorruptFile => {
                tracing::warn!(
                    %error,
                    table = self.context().name,
                    "snapshot {id} is left out of the history, its file is damaged"
                );
                None
            }
            read => Some(read),
        };
        let newest = snapshots.among_all(|ids| ids.iter().rev().take(limit).filter_map(&whole).collect());
        self.found(newest, Vec::is_empty)
    }

    /// The live data files of a snapshot.
    pub fn files(&self, id: Option<i64>) -> Result<Vec<FileEntry>> {
        let version = id.map_or(VersionSelector::Latest, VersionSelector::Snapshot);
        let entries = again_when_overtaken(self.context(), || {
            let (ctx, snapshot) = time_travel(self.context(), &version)?;
            let Some(snapshot) = snapshot else { return Ok(Vec::new()) };
            live_entries(&ctx, &snapshot, &EntryFilter::without_statistics())
                .map_err(|e| expired_meanwhile(&ctx, &snapshot, e))
        });
        let entries = self.found(entries, Vec::is_empty)?;
        entries.into_iter().map(|e| self.file_entry(e)).collect()
    }

    fn file_entry(&self, entry: ManifestEntry) -> Result<FileEntry> {
        let ctx = self.context();
        let types: Vec<DataType> = ctx.schema.key_fields().iter().map(|f| f.data_type.clone()).collect();
        let (least, most) = (&entry.file.min_key, &entry.file.max_key);
        let keys = || -> Result<_> { Ok((key_text(least, &types)?, key_text(most, &types)?)) };
        Ok(FileEntry {
            partition_path: ctx.paths.partition_shown(&entry.partition)?.trim_end_matches('/').to_owned(),
            keys: (!types.is_empty()).then(keys).transpose()?,
            path: ctx.paths.data_file(&entry.partition, entry.bucket, &entry.file)?,
            entry,
        })
    }
}

fn key_text(bytes: &[u8], types: &[DataType]) -> Result<KeyText> {
    let row = BinaryRow::from_serialized(bytes)?;
    let values = row.datums(types)?;
    Ok(values.iter().zip(types).map(|(v, t)| (!v.is_null()).then(|| datum_to_text(v, t))).collect())
}
