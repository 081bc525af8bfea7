//! Where a stream begins and ends.
//!
//! Source: semantics f.5; `StartupMode`, `DataTableStreamScan`.

use super::{StreamScan, earliest, expired, line::Passed};
use crate::{
    error::{Error, ErrorKind, Result},
    io::TableContext,
    options::{NamedVersion, ScanMode},
    scan::time_travel::Versions,
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

impl StreamScan {
    /// Again while rollbacks come between the choice of the first snapshot and the look at the one before it.
    pub(super) fn begin(&mut self, start: &Start) -> Result<()> {
        for _ in 0..ATTEMPTS {
            let versions = Versions::new(&self.ctx);
            let known = versions.snapshots.removals().read()?.count;
            (self.full, self.files_since, self.next, self.passed) = (None, None, None, None);
            self.choose(&versions, start)?;
            let Some(next) = self.next.filter(|_| self.full.is_none()) else { return Ok(()) };
            let passed = Passed::before(&versions, next, known)?;
            let is_overtaken = versions.snapshots.removals().read()?.rolled_back_since(known, passed.id);
            self.passed = Some(passed);
            if !is_overtaken {
                return Ok(());
            }
        }
        self.check_follows()
    }

    fn choose(&mut self, versions: &Versions, start: &Start) -> Result<()> {
        let latest = versions.snapshots.latest_id()?;
        match start {
            Start::Options => self.begin_by_options(versions)?,
            Start::Full => self.full = latest,
            Start::Snapshot(id) => self.begin_at(versions, *id)?,
            Start::Tag(name) => self.begin_at(versions, versions.tags.get(name)?.id)?,
            Start::Timestamp(millis) => self.next = first_at_or_after(versions, *millis)?,
        }
        // an empty table: the stream begins with the id that comes first, and says so when that expires before it is read
        if self.first_snapshot().is_none() {
            self.next = Some(latest.unwrap_or(0).saturating_add(1));
        }
        Ok(())
    }

    fn begin_at(&mut self, versions: &Versions, id: i64) -> Result<()> {
        self.next = Some(id);
        let latest = versions.snapshots.latest_id()?.unwrap_or(0);
        let first = earliest(versions)?;
        let missing = |text: String, hint: String| {
            Err(Error::new(ErrorKind::SnapshotNotFound, text).with("snapshot", id).hint(hint))
        };
        match first {
            _ if id < 1 => missing(
                format!("snapshot {id} does not exist: ids begin with 1"),
                format!("start with {} to get all that is left", first.unwrap_or(1)),
            ),
            Some(first) if id < first => Err(expired(id, first)),
            _ if id > latest.saturating_add(1) => missing(
                format!("snapshot {id} does not exist, the latest is {latest}"),
                format!("start with {} to get what comes next", latest.saturating_add(1)),
            ),
            _ => Ok(()),
        }
    }

    /// `scan.mode` and what goes with it (semantics f.5, streaming).
    fn begin_by_options(&mut self, versions: &Versions) -> Result<()> {
        let o = &self.ctx.options;
        let latest = versions.snapshots.latest_id()?;
        let clamp = |id: i64| -> Result<i64> { Ok(earliest(versions)?.map_or(id, |first| id.max(first))) };
        if o.named_changes()?.is_some() {
            let message = "a stream cannot begin with options that name what lies between two versions";
            return Err(Error::new(ErrorKind::InvalidOption, message).with("option", "scan.mode"));
        }
        let cannot = |key: &'static str| {
            Error::new(ErrorKind::InvalidOption, format!("a stream cannot begin with '{key}'"))
                .with("option", key)
                .hint("give start=<tag or snapshot id>, or set scan.snapshot-id")
        };
        match (o.named_version()?, o.scan_mode) {
            (Some(NamedVersion::Id(id)), ScanMode::FromSnapshotFull) => {
                self.full = latest.map(|_| clamp(id)).transpose()?;
            }
            (Some(NamedVersion::Id(id)), _) => self.next = Some(clamp(id)?),
            (Some(NamedVersion::Time(millis)), _) => self.next = first_at_or_after(versions, millis)?,
            (Some(NamedVersion::FilesSince(millis)), _) => (self.full, self.files_since) = (latest, Some(millis)),
            (Some(NamedVersion::CreatedSince(millis)), _) => {
                self.next = versions.first_created_since(millis)?;
                if self.next.is_none() {
                    (self.full, self.files_since) = (latest, Some(millis));
                }
            }
            (Some(NamedVersion::Tag(_)), _) => return Err(cannot("scan.tag-name")),
            (Some(NamedVersion::Version(_)), _) => return Err(cannot("scan.version")),
            (Some(NamedVersion::Watermark(_)), _) => return Err(cannot("scan.watermark")),
            // changes from before the snapshots that are left come only when they are asked for
            (None, ScanMode::Default) => self.next = versions.snapshots.earliest_id()?,
            (None, ScanMode::LatestFull | ScanMode::Full) => self.full = latest,
            (None, ScanMode::Latest) => self.next = latest.map(|id| id + 1),
            (None, ScanMode::CompactedFull) => self.full = versions.last_compacted(&self.ctx)?.map(|s| s.id),
            (None, other) => {
                let message = format!("a stream cannot begin with scan.mode = {}", other.as_str());
                return Err(Error::new(ErrorKind::InvalidOption, message).with("option", "scan.mode"));
            }
        }
        Ok(())
    }
}

/// How often snapshots are listed again because one of them went while it was looked for.
const ATTEMPTS: usize = 5;

/// The id after the newest snapshot before a time.
fn first_at_or_after(versions: &Versions, millis: i64) -> Result<Option<i64>> {
    let mut gone = None;
    for _ in 0..ATTEMPTS {
        let mut ids = versions.changelogs.ids()?;
        ids.extend(versions.snapshots.ids()?);
        ids.sort_unstable();
        ids.dedup();
        match search(versions, &ids, millis) {
            // an expiry takes the oldest, a rollback the newest
            Err(e) if matches!(e.kind(), ErrorKind::SnapshotExpired | ErrorKind::SnapshotNotFound) => gone = Some(e),
            found => return found,
        }
    }
    gone.map_or(Ok(None), Err)
}

fn search(versions: &Versions, ids: &[i64], millis: i64) -> Result<Option<i64>> {
    let (mut low, mut high) = (0, ids.len());
    while low < high {
        let middle = low + (high - low) / 2;
        let Some(&id) = ids.get(middle) else { break };
        if versions.with_changelog(id)?.time_millis >= millis {
            high = middle;
        } else {
            low = middle + 1;
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
