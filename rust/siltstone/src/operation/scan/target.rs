//! What a selector and the table's `scan.*` options ask for (semantics f.5, batch).

use super::VersionSelector;
use crate::{
    error::{Error, ErrorKind, Result},
    io::TableContext,
    options::ScanMode,
};

/// A selector with the table's options taken in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Target {
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
    /// The selector's, or the options' where it leaves the choice to them.
    pub(super) fn of(ctx: &TableContext, version: &VersionSelector) -> Result<Self> {
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
