//! Where a stream begins and ends.
//!
//! Source: semantics f.5; `StartupMode`, `DataTableStreamScan`.

use super::{Follow, earliest, expired};
use crate::{
    error::{Error, ErrorKind, Result},
    io::TableContext,
    operation::scan::{target::local_millis, version::Versions},
    options::ScanMode,
};

/// Where a stream begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// As the table's `scan.*` options say; without any, with the changes of the earliest snapshot.
    #[default]
    Options,
    /// With the latest state, then what changes.
    Full,
    /// With the changes of this snapshot; an error when it has expired.
    Snapshot(i64),
    /// With the changes of the snapshot that a tag names.
    Tag(String),
    /// With the changes of the first snapshot committed at or after these epoch milliseconds.
    Timestamp(i64),
}

impl Follow {
    pub(super) fn begin(&mut self, start: &Start) -> Result<()> {
        let versions = Versions::new(&self.ctx);
        let latest = versions.snapshots.latest_id()?;
        match start {
            Start::Options => self.begin_by_options(&versions),
            Start::Full => {
                self.full = latest;
                Ok(())
            }
            Start::Snapshot(id) => self.begin_at(&versions, *id),
            Start::Tag(name) => self.begin_at(&versions, versions.tags.get(name)?.id),
            Start::Timestamp(millis) => {
                self.next = first_at_or_after(&versions, *millis)?;
                Ok(())
            }
        }
    }

    fn begin_at(&mut self, versions: &Versions, id: i64) -> Result<()> {
        self.next = Some(id);
        let latest = versions.snapshots.latest_id()?.unwrap_or(0);
        match earliest(versions)? {
            Some(first) if id < first => Err(expired(id, first)),
            _ if id > latest.saturating_add(1) || id < 1 => Err(Error::new(
                ErrorKind::SnapshotNotFound,
                format!("snapshot {id} does not exist, the latest is {latest}"),
            )
            .with("snapshot", id)
            .hint(format!("start with {} to get what comes next", latest.saturating_add(1)))),
            _ => Ok(()),
        }
    }

    /// `scan.mode` and what goes with it (semantics f.5, streaming).
    fn begin_by_options(&mut self, versions: &Versions) -> Result<()> {
        let o = &self.ctx.options;
        let latest = versions.snapshots.latest_id()?;
        let millis = match (&o.scan_timestamp_millis, &o.scan_timestamp) {
            (Some(millis), _) => Some(*millis),
            (None, Some(text)) => Some(local_millis(text)?),
            (None, None) => None,
        };
        if let Some(key) = ["scan.tag-name", "scan.watermark", "scan.version"].iter().find(|k| o.get(k).is_some()) {
            return Err(Error::new(ErrorKind::InvalidOption, format!("a stream cannot begin with '{key}'"))
                .with("option", key)
                .hint("give start=<tag or snapshot id>, or set scan.snapshot-id"));
        }
        let needs = |what: &str| {
            Error::new(ErrorKind::InvalidOption, format!("scan.mode = {} needs {what}", o.scan_mode.as_str()))
                .with("option", "scan.mode")
        };
        let clamp = |id: i64| -> Result<i64> { Ok(earliest(versions)?.map_or(id, |first| id.max(first))) };
        match o.scan_mode {
            ScanMode::Default | ScanMode::FromSnapshot if o.scan_snapshot_id.is_some() => {
                self.next = o.scan_snapshot_id.map(clamp).transpose()?;
            }
            ScanMode::Default | ScanMode::FromTimestamp if millis.is_some() => {
                self.next = millis.map(|m| first_at_or_after(versions, m)).transpose()?.flatten();
            }
            ScanMode::Default | ScanMode::FromFileCreationTime if o.scan_file_creation_time_millis.is_some() => {
                (self.full, self.files_since) = (latest, o.scan_file_creation_time_millis);
            }
            ScanMode::Default | ScanMode::FromCreationTimestamp if o.scan_creation_time_millis.is_some() => {
                let since = o.scan_creation_time_millis;
                self.next = since.map(|millis| versions.first_created_since(millis)).transpose()?.flatten();
                if self.next.is_none() {
                    (self.full, self.files_since) = (latest, since);
                }
            }
            // changes from before the snapshots that are left come only when they are asked for
            ScanMode::Default => self.next = versions.snapshots.earliest_id()?,
            ScanMode::LatestFull | ScanMode::Full => self.full = latest,
            ScanMode::Latest => self.next = latest.map(|id| id + 1),
            ScanMode::CompactedFull => self.full = versions.last_compacted(&self.ctx)?.map(|s| s.id),
            ScanMode::FromSnapshotFull => {
                let id = o.scan_snapshot_id.ok_or_else(|| needs("scan.snapshot-id"))?;
                self.full = latest.map(|_| clamp(id)).transpose()?;
            }
            ScanMode::FromFileCreationTime => return Err(needs("scan.file-creation-time-millis")),
            ScanMode::FromCreationTimestamp => return Err(needs("scan.creation-time-millis")),
            ScanMode::FromSnapshot => return Err(needs("scan.snapshot-id")),
            ScanMode::FromTimestamp => return Err(needs("scan.timestamp-millis or scan.timestamp")),
            other => {
                let message = format!("a stream cannot begin with scan.mode = {}", other.as_str());
                return Err(Error::new(ErrorKind::InvalidOption, message).with("option", "scan.mode"));
            }
        }
        Ok(())
    }
}

/// The id after the newest snapshot before a time.
fn first_at_or_after(versions: &Versions, millis: i64) -> Result<Option<i64>> {
    let mut ids = versions.changelogs.ids()?;
    ids.extend(versions.snapshots.ids()?);
    ids.sort_unstable();
    ids.dedup();
    let (mut low, mut high) = (0, ids.len());
    while low < high {
        let middle = low + (high - low) / 2;
        let Some(&id) = ids.get(middle) else { break };
        match versions.with_changelog(id) {
            Ok(snapshot) if snapshot.time_millis >= millis => high = middle,
            Ok(_) => low = middle + 1,
            Err(e) if e.kind() == ErrorKind::SnapshotExpired => low = middle + 1,
            Err(e) => return Err(e),
        }
    }
    Ok(ids.get(low).copied().or_else(|| ids.last().map(|last| last + 1)))
}

/// The last snapshot of a stream that ends with a snapshot id, tag or time.
pub fn end_of(ctx: &TableContext, end: &Start) -> Result<Option<i64>> {
    let versions = Versions::new(ctx);
    Ok(match end {
        Start::Options | Start::Full => versions.snapshots.latest_id()?,
        Start::Snapshot(id) => Some(*id),
        Start::Tag(name) => Some(versions.tags.get(name)?.id),
        Start::Timestamp(millis) => Some(versions.last_at(*millis)?.id),
    })
}
