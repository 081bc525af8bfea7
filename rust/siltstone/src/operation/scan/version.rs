//! Which snapshot a query reads (semantics f.5, batch).

use std::sync::Arc;

use super::VersionSelector;
use crate::{
    error::{Error, ErrorKind, Result},
    io::TableContext,
    options::{ChangelogProducer, CoreOptions, ScanMode},
    snapshot::{BATCH_COMMIT_IDENTIFIER, ChangelogManager, CommitKind, Snapshot, SnapshotManager, TagManager},
};

/// The snapshot that the selector names (`None`: the table is empty and `Latest` was asked), and the table under the
/// schema that rows of that version have: the snapshot's own for every selector but `Latest`.
///
/// `Latest` follows the table's `scan.*` options when there are any. Options stay those of today, except those that
/// name columns.
pub fn travel(ctx: &TableContext, version: &VersionSelector) -> Result<(TableContext, Option<Snapshot>)> {
    travelled(ctx, version).map_err(|e| e.in_table(&ctx.name))
}

fn travelled(ctx: &TableContext, version: &VersionSelector) -> Result<(TableContext, Option<Snapshot>)> {
    let versions = Versions::new(ctx);
    let selected = versions.settled(Target::of(ctx, version)?)?;
    if matches!(selected, Target::Latest | Target::FilesSince(_)) {
        return Ok((ctx.clone(), versions.snapshots.latest()?));
    }
    let snapshot = versions.resolve(ctx, &selected)?;
    let Some(snapshot) = snapshot else {
        return Ok((ctx.clone(), None));
    };
    if matches!(selected, Target::LastCompacted) || snapshot.schema_id == ctx.schema.id {
        return Ok((ctx.clone(), Some(snapshot)));
    }
    Ok((under_schema(ctx, snapshot.schema_id)?, Some(snapshot)))
}

/// The epoch milliseconds from which on files are read where that is asked for instead of a version
/// (`scan.mode` = `from-file-creation-time`, and `from-creation-timestamp` at a time that no snapshot follows).
pub(super) fn files_since(ctx: &TableContext, version: &VersionSelector) -> Result<Option<i64>> {
    let settled = Target::of(ctx, version).and_then(|target| Versions::new(ctx).settled(target));
    match settled.map_err(|e| e.in_table(&ctx.name))? {
        Target::FilesSince(millis) => Ok(Some(millis)),
        _ => Ok(None),
    }
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
    match travel(other, &selector) {
        Err(e) if e.kind() == ErrorKind::SnapshotNotFound => Ok(None),
        found => found.map(|_| Some(selector)),
    }
}

/// The table with an older schema: its columns, and today's options except those that name columns.
fn under_schema(ctx: &TableContext, schema_id: i64) -> Result<TableContext> {
    let mut schema = (*ctx.schemas.get(schema_id)?).clone();
    let own = std::mem::replace(&mut schema.options, ctx.schema.options.clone());
    let mut raw = ctx.options.raw.clone();
    for options in [&mut schema.options, &mut raw] {
        options.retain(|key, _| !names_columns(key));
        options.extend(own.iter().filter(|(key, _)| names_columns(key)).map(|(k, v)| (k.clone(), v.clone())));
    }
    let options = Arc::new(CoreOptions::parse(&raw)?);
    Ok(TableContext { schema: Arc::new(schema), options, ..ctx.clone() })
}

/// A rename of a column changes these options with it, so each schema has them in its own words.
fn names_columns(key: &str) -> bool {
    key.starts_with("fields.")
        || matches!(
            key,
            "bucket-key"
                | "sequence.field"
                | "rowkind.field"
                | "partial-update.remove-record-on-sequence-group"
                | "changelog-producer.row-deduplicate-ignore-fields"
        )
}

/// A selector with the table's options taken in.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Target {
    Latest,
    LastCompacted,
    Id(i64),
    Tag(String),
    Time(i64),
    Watermark(i64),
    Version(String),
    /// The latest, and of its files those made at this time or later.
    FilesSince(i64),
    /// The first snapshot at or after a time; where that is none or the earliest, the files made since then.
    CreatedSince(i64),
}

impl Target {
    fn of(ctx: &TableContext, version: &VersionSelector) -> Result<Self> {
        Ok(match version {
            VersionSelector::Latest => Self::of_options(ctx)?,
            VersionSelector::Snapshot(id) => Self::Id(*id),
            VersionSelector::Tag(name) => Self::Tag(name.clone()),
            VersionSelector::Timestamp(millis) => Self::Time(*millis),
            VersionSelector::Version(text) => Self::Version(text.clone()),
        })
    }

    fn of_options(ctx: &TableContext) -> Result<Self> {
        let options = &ctx.options;
        let mut named: Vec<(&str, Self)> = Vec::new();
        if let Some(id) = options.scan_snapshot_id {
            named.push(("scan.snapshot-id", Self::Id(id)));
        }
        if let Some(tag) = &options.scan_tag_name {
            named.push(("scan.tag-name", Self::Tag(tag.clone())));
        }
        if let Some(version) = &options.scan_version {
            named.push(("scan.version", Self::Version(version.clone())));
        }
        if let Some(watermark) = options.scan_watermark {
            named.push(("scan.watermark", Self::Watermark(watermark)));
        }
        if let Some(millis) = options.scan_timestamp_millis {
            named.push(("scan.timestamp-millis", Self::Time(millis)));
        }
        if let Some(text) = &options.scan_timestamp {
            named.push(("scan.timestamp", Self::Time(local_millis(text)?)));
        }
        if let Some(millis) = options.scan_file_creation_time_millis {
            named.push(("scan.file-creation-time-millis", Self::FilesSince(millis)));
        }
        if let Some(millis) = options.scan_creation_time_millis {
            named.push(("scan.creation-time-millis", Self::CreatedSince(millis)));
        }
        if named.len() > 1 {
            let keys: Vec<&str> = named.iter().map(|(key, _)| *key).collect();
            return Err(Error::new(
                ErrorKind::InvalidOption,
                format!("only one of {} can be set, they name different versions", keys.join(", ")),
            ));
        }
        let (key, named) = named.pop().map_or(("", None), |(key, target)| (key, Some(target)));
        match options.scan_mode {
            mode if named.as_ref().is_some_and(|target| !target.goes_with(mode)) => Err(not_with(mode, key)),
            ScanMode::Default
            | ScanMode::FromSnapshot
            | ScanMode::FromSnapshotFull
            | ScanMode::FromTimestamp
            | ScanMode::FromFileCreationTime
            | ScanMode::FromCreationTimestamp => match (named, options.scan_mode) {
                (Some(target), _) => Ok(target),
                (None, ScanMode::Default) => Ok(Self::Latest),
                (None, mode) => Err(Error::new(
                    ErrorKind::InvalidOption,
                    format!("scan.mode = {} needs an option that names the snapshot or the time", mode.as_str()),
                )
                .with("option", "scan.mode")),
            },
            // of an incremental mode what lies between is planned apart; the state that goes with it is the latest
            ScanMode::LatestFull
            | ScanMode::Full
            | ScanMode::Latest
            | ScanMode::Incremental
            | ScanMode::LatestDelta => Ok(Self::Latest),
            ScanMode::CompactedFull => Ok(Self::LastCompacted),
        }
    }
}

impl Target {
    /// Whether a version named by an option goes with an explicit mode (`SchemaValidation.validateStartupMode`).
    fn goes_with(&self, mode: ScanMode) -> bool {
        match mode {
            ScanMode::Default => true,
            ScanMode::FromTimestamp => matches!(self, Self::Time(_)),
            ScanMode::FromFileCreationTime => matches!(self, Self::FilesSince(_)),
            ScanMode::FromCreationTimestamp => matches!(self, Self::CreatedSince(_)),
            ScanMode::FromSnapshot => {
                matches!(self, Self::Id(_) | Self::Tag(_) | Self::Version(_) | Self::Watermark(_))
            }
            ScanMode::FromSnapshotFull => matches!(self, Self::Id(_) | Self::Version(_)),
            _ => false,
        }
    }
}

fn not_with(mode: ScanMode, key: &str) -> Error {
    Error::new(ErrorKind::InvalidOption, format!("'{key}' does not go with 'scan.mode' = '{}'", mode.as_str()))
        .with("option", key)
        .hint("leave scan.mode out: the option that names a version is enough")
}

/// `2024-05-01 12:30:00` in the zone of this machine, as Java reads it.
pub(super) fn local_millis(text: &str) -> Result<i64> {
    let text = text.trim();
    let with_time = |format: &str| chrono::NaiveDateTime::parse_from_str(text, format).ok();
    let parsed = with_time("%Y-%m-%d %H:%M:%S%.f")
        .or_else(|| with_time("%Y-%m-%dT%H:%M:%S%.f"))
        .or_else(|| with_time("%Y-%m-%d %H:%M"))
        .or_else(|| chrono::NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?.and_hms_opt(0, 0, 0));
    let local = parsed.and_then(|naive| naive.and_local_timezone(chrono::Local).earliest());
    local.map(|t| t.timestamp_millis()).ok_or_else(|| {
        Error::new(ErrorKind::InvalidOption, format!("'{text}' is not a time"))
            .with("option", "scan.timestamp")
            .hint("write it as 2024-05-01 12:30:00, in the local time zone")
    })
}

/// Snapshots and tags of the table's branch.
pub(super) struct Versions {
    pub(super) snapshots: SnapshotManager,
    pub(super) tags: TagManager,
    pub(super) changelogs: ChangelogManager,
}

impl Versions {
    pub(super) fn new(ctx: &TableContext) -> Self {
        let root = ctx.paths.branch_root(&ctx.branch);
        Self {
            snapshots: SnapshotManager::new(ctx.fs.clone(), &root),
            tags: TagManager::new(ctx.fs.clone(), &root),
            changelogs: ChangelogManager::new(ctx.fs.clone(), &root),
        }
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
        match self.snapshots.get(id) {
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
            Some(id) => {
                let earliest = self.snapshots.get(id)?;
                error.hint(format!("the earliest snapshot is {id}, committed at {}", utc(earliest.time_millis)))
            }
            None => error.hint("the table has no snapshot yet"),
        })
    }

    /// The first snapshot whose watermark is at or after `watermark`.
    fn at_watermark(&self, watermark: i64) -> Result<Snapshot> {
        let mut highest = None;
        for id in self.snapshots.ids()? {
            let snapshot = self.snapshots.get(id)?;
            match snapshot.watermark.filter(|w| *w != i64::MIN) {
                Some(found) if found >= watermark => return Ok(snapshot),
                found => highest = highest.max(found),
            }
        }
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

    /// The newest snapshot that a (full) compaction made; the latest when there is none.
    pub(super) fn last_compacted(&self, ctx: &TableContext) -> Result<Option<Snapshot>> {
        let every = ctx.options.full_compaction_delta_commits;
        let full_only = every.is_some() || ctx.options.changelog_producer == ChangelogProducer::FullCompaction;
        let every = i64::from(every.unwrap_or(1).max(1));
        for id in self.snapshots.ids()?.into_iter().rev() {
            let snapshot = self.snapshots.get(id)?;
            let identifier = snapshot.commit_identifier;
            let full = identifier == BATCH_COMMIT_IDENTIFIER || identifier % every == 0;
            if snapshot.commit_kind == CommitKind::Compact && (full || !full_only) {
                return Ok(Some(snapshot));
            }
        }
        self.snapshots.latest()
    }
}

pub(super) fn utc(millis: i64) -> String {
    chrono::DateTime::from_timestamp_millis(millis)
        .map_or_else(|| format!("{millis} ms"), |t| t.format("%Y-%m-%d %H:%M:%S%.3f UTC").to_string())
}
