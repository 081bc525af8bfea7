//! Which snapshot a query reads (semantics f.5, batch).

mod target;

use self::target::Target;
use super::{VersionSelector, older_schema::under_schema, resolved::Resolved};
use crate::{
    error::{Error, ErrorKind, Result},
    io::TableContext,
    options::ChangelogProducer,
    snapshot::{BATCH_COMMIT_IDENTIFIER, ChangelogManager, CommitKind, Snapshot, SnapshotManager, TagManager},
};

/// The snapshot that the selector names (`None`: the table is empty and `Latest` was asked), and the table under the
/// schema that rows of that version have: the snapshot's own for every selector but `Latest`.
///
/// `Latest` follows the table's `scan.*` options when there are any. Options stay those of today, except stored ones that
/// name columns.
pub fn time_travel(ctx: &TableContext, version: &VersionSelector) -> Result<(TableContext, Option<Snapshot>)> {
    travelled(ctx, version).map(|found| (found.ctx, found.snapshot)).map_err(|e| e.in_table(&ctx.name))
}

/// The state that the selector names. Files are read from a time on where that is asked for instead of a version
/// (`scan.mode` = `from-file-creation-time`, and `from-creation-timestamp` at a time that no snapshot follows).
pub(super) fn travelled(ctx: &TableContext, version: &VersionSelector) -> Result<Resolved> {
    let versions = Versions::new(ctx);
    let selected = versions.settled(Target::of(ctx, version)?)?;
    let files_since = match selected {
        Target::FilesSince(millis) => Some(millis),
        _ => None,
    };
    let snapshot = versions.resolve(ctx, &selected)?;
    let todays = matches!(selected, Target::Latest | Target::FilesSince(_) | Target::LastCompacted);
    let ctx = match &snapshot {
        Some(snapshot) if !todays && snapshot.schema_id != ctx.schema.id => under_schema(ctx, snapshot.schema_id)?,
        _ => ctx.clone(),
    };
    Ok(Resolved { ctx, snapshot, files_since, between: None })
}

/// The version of another branch that goes with a version of this one; `None`: the other branch has none.
///
/// A snapshot id means the snapshot that the other branch had at that time, or its earliest; a tag its own tag of that
/// name; a time or a watermark is looked up there. Source: `FallbackReadFileStoreTable.rewriteOtherOptions`.
pub fn counterpart(
    ctx: &TableContext,
    other: &TableContext,
    version: &VersionSelector,
) -> Result<Option<VersionSelector>> {
    let (here, there) = (Versions::new(ctx), Versions::new(other));
    let selected = match Target::of(ctx, version)? {
        Target::Version(text) => here.target_of(&text)?,
        selected => selected,
    };
    let selector = match selected {
        // times of files, like modes, are told to the other branch by its own options
        Target::Latest | Target::LastCompacted | Target::FilesSince(_) | Target::CreatedSince(_) => {
            VersionSelector::Latest
        }
        Target::Tag(name) if there.tags.exists(&name)? => VersionSelector::Tag(name),
        Target::Tag(_) => return Ok(None),
        Target::Id(id) => {
            let millis = here.by_id(id)?.time_millis;
            let then = there.snapshots.at_or_before(millis)?.map(|snapshot| snapshot.id);
            match then.map_or_else(|| there.snapshots.earliest_id(), |id| Ok(Some(id)))? {
                Some(id) => VersionSelector::Snapshot(id),
                None => return Ok(None),
            }
        }
        Target::Time(millis) => VersionSelector::Timestamp(millis),
        Target::Watermark(watermark) => VersionSelector::Version(format!("watermark-{watermark}")),
        Target::Version(text) => VersionSelector::Version(text),
    };
    match time_travel(other, &selector) {
        Err(e) if e.kind() == ErrorKind::SnapshotNotFound => Ok(None),
        found => found.map(|_| Some(selector)),
    }
}

/// Snapshots and tags of the table's branch.
pub(super) struct Versions {
    pub(super) snapshots: SnapshotManager,
    pub(super) tags: TagManager,
    pub(super) changelogs: ChangelogManager,
}

impl Versions {
    pub(super) fn new(ctx: &TableContext) -> Self {
        Self { snapshots: ctx.snapshots(), tags: ctx.tags(), changelogs: ctx.changelogs() }
    }

    /// A creation time as the snapshot or the files that it means (`createCreationTimestampStartingScanner`).
    fn settled(&self, target: Target) -> Result<Target> {
        let Target::CreatedSince(millis) = target else { return Ok(target) };
        let next = self.first_created_since(millis)?;
        Ok(next.map_or(Target::FilesSince(millis), Target::Id))
    }

    /// The first snapshot at or after a time that has an earlier one before it.
    pub(super) fn first_created_since(&self, millis: i64) -> Result<Option<i64>> {
        let before = self.snapshots.at_or_before(millis.saturating_sub(1))?;
        let Some(next) = before.map(|snapshot| snapshot.id.saturating_add(1)) else { return Ok(None) };
        Ok(self.snapshots.ids()?.binary_search(&next).is_ok().then_some(next))
    }

    fn resolve(&self, ctx: &TableContext, target: &Target) -> Result<Option<Snapshot>> {
        match target {
            Target::CreatedSince(_) => self.resolve(ctx, &self.settled(target.clone())?),
            Target::Latest | Target::FilesSince(_) => self.snapshots.latest(),
            Target::LastCompacted => self.last_compacted(ctx),
            Target::Id(id) => self.by_id(*id).map(Some),
            Target::Tag(name) => self.tags.get(name).map(Some),
            Target::Time(millis) => self.at_or_before(*millis).map(Some),
            Target::Watermark(watermark) => self.at_watermark(*watermark).map(Some),
            Target::Version(text) => self.resolve(ctx, &self.target_of(text)?),
        }
    }

    /// A snapshot, or when it has expired a tag that keeps it.
    pub(super) fn by_id(&self, id: i64) -> Result<Snapshot> {
        match self.snapshots.version(id) {
            Err(e) if matches!(e.kind(), ErrorKind::SnapshotExpired | ErrorKind::SnapshotNotFound) => {
                let kept = self.tags.list()?.into_iter().find(|(_, snapshot)| snapshot.id == id);
                kept.map(|(_, snapshot)| snapshot).ok_or(e)
            }
            other => other,
        }
    }

    /// The newest snapshot at or before a time; when those have expired, the newest such tag.
    fn at_or_before(&self, millis: i64) -> Result<Snapshot> {
        if let Some(snapshot) = self.snapshots.at_or_before(millis)? {
            return Ok(snapshot);
        }
        let tags = self.tags.list()?.into_iter().map(|(_, snapshot)| snapshot);
        if let Some(tagged) = tags.filter(|s| s.time_millis <= millis).max_by_key(|s| (s.time_millis, s.id)) {
            return Ok(tagged);
        }
        let error =
            Error::new(ErrorKind::SnapshotNotFound, format!("there is no snapshot at or before {}", utc(millis)));
        Err(match self.snapshots.earliest_id()? {
            Some(id) => match self.snapshots.time_of(id)? {
                Some(time) => error.hint(format!("the earliest snapshot is {id}, committed at {}", utc(time))),
                None => error.hint("the earliest snapshot has expired just now"),
            },
            None => error.hint("the table has no snapshot yet"),
        })
    }

    /// The first snapshot whose watermark is at or after `watermark`.
    fn at_watermark(&self, watermark: i64) -> Result<Snapshot> {
        let found = self.snapshots.among_all(|ids| {
            let mut highest = None;
            for id in ids {
                let snapshot = self.snapshots.get(*id)?;
                match snapshot.watermark.filter(|w| *w != i64::MIN) {
                    Some(found) if found >= watermark => return Ok(Ok(snapshot)),
                    found => highest = highest.max(found),
                }
            }
            Ok(Err(highest))
        })?;
        let highest = match found {
            Ok(snapshot) => return Ok(snapshot),
            Err(highest) => highest,
        };
        Err(Error::new(ErrorKind::SnapshotNotFound, format!("no snapshot has a watermark of {watermark} or later"))
            .hint(
                highest.map_or("no snapshot has a watermark".to_owned(), |h| format!("the highest watermark is {h}")),
            ))
    }

    /// A tag, else `watermark-N`, else a snapshot id.
    fn target_of(&self, text: &str) -> Result<Target> {
        if self.tags.exists(text)? {
            return Ok(Target::Tag(text.to_owned()));
        }
        if let Some(watermark) = text.strip_prefix("watermark-").and_then(|w| w.parse().ok()) {
            return Ok(Target::Watermark(watermark));
        }
        if let (true, Ok(id)) = (text.bytes().all(|b| b.is_ascii_digit()), text.parse()) {
            return Ok(Target::Id(id));
        }
        let error = Error::new(ErrorKind::TagNotFound, format!("'{text}' is neither a tag nor a snapshot id"));
        Err(match self.tags.nearest(text)? {
            None => error.hint("the table has no tags; a version is a tag, a snapshot id, or watermark-N"),
            Some(near) => error.hint(format!("did you mean the tag '{near}'?")),
        })
    }

    /// A snapshot; when it has expired its long-lived changelog.
    pub(super) fn with_changelog(&self, id: i64) -> Result<Snapshot> {
        match self.snapshots.get(id) {
            Err(e) if matches!(e.kind(), ErrorKind::SnapshotExpired | ErrorKind::SnapshotNotFound) => {
                match self.changelogs.get(id) {
                    Err(absent) if absent.kind() == ErrorKind::FileNotFound => Err(e),
                    other => other,
                }
            }
            other => other,
        }
    }

    /// The newest snapshot at or before a time, long-lived changelogs not counted.
    pub(super) fn last_at(&self, millis: i64) -> Result<Snapshot> {
        self.snapshots.at_or_before(millis)?.ok_or_else(|| {
            Error::new(ErrorKind::SnapshotNotFound, format!("there is no snapshot at or before {}", utc(millis)))
        })
    }

    /// The newest snapshot that a (full) compaction made; the latest when there is none.
    pub(super) fn last_compacted(&self, ctx: &TableContext) -> Result<Option<Snapshot>> {
        let every = ctx.options.full_compaction_delta_commits;
        let full_only = every.is_some() || ctx.options.changelog_producer == ChangelogProducer::FullCompaction;
        let every = i64::from(every.unwrap_or(1).max(1));
        let compacted = self.snapshots.among_all(|ids| {
            for id in ids.iter().rev() {
                let snapshot = self.snapshots.get(*id)?;
                let identifier = snapshot.commit_identifier;
                let full = identifier == BATCH_COMMIT_IDENTIFIER || identifier % every == 0;
                if snapshot.commit_kind == CommitKind::Compact && (full || !full_only) {
                    return Ok(Some(snapshot));
                }
            }
            Ok(None)
        })?;
        compacted.map_or_else(|| self.snapshots.latest(), |snapshot| Ok(Some(snapshot)))
    }
}

pub(super) fn utc(millis: i64) -> String {
    chrono::DateTime::from_timestamp_millis(millis)
        .map_or_else(|| format!("{millis} ms"), |t| t.format("%Y-%m-%d %H:%M:%S%.3f UTC").to_string())
}
