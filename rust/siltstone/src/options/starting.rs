//! What the options of a table say of what a query reads: a version, or what lies between two of them.
//!
//! Source: semantics f.5 and f.6; `SchemaValidation.validateStartupMode`. At most one option names a version or changes, and an
//! explicit `scan.mode` goes with what it names. (Java takes `scan.watermark` and `scan.creation-time-millis` beside others,
//! and ignores one of them.)

use super::{CoreOptions, ScanMode};
use crate::error::{Error, ErrorKind, Result};

/// A version, or files of the latest one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NamedVersion {
    /// `scan.snapshot-id`
    Id(i64),
    /// `scan.tag-name`
    Tag(String),
    /// `scan.version`: a tag, or a snapshot id
    Version(String),
    /// `scan.watermark`
    Watermark(i64),
    /// `scan.timestamp-millis`, `scan.timestamp`: epoch milliseconds
    Time(i64),
    /// `scan.file-creation-time-millis`
    FilesSince(i64),
    /// `scan.creation-time-millis`
    CreatedSince(i64),
}

/// What lies between two versions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NamedChanges {
    /// `incremental-between`: tags or snapshot ids
    Names(String, String),
    /// `incremental-between-timestamp`: epoch milliseconds
    Times(i64, i64),
    /// `incremental-to-auto-tag`
    ToAutoTag(String),
    /// `scan.mode` = `latest-delta`
    Latest,
}

impl NamedVersion {
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

impl CoreOptions {
    /// The version that options name.
    ///
    /// # Errors
    /// `InvalidOption` for two of them, for one that does not go with `scan.mode`, for a mode whose option is missing.
    pub fn named_version(&self) -> Result<Option<NamedVersion>> {
        let time = self.scan_timestamp.as_deref().map(|text| local_millis("scan.timestamp", text)).transpose()?;
        let mut named: Vec<(&str, NamedVersion)> = [
            ("scan.snapshot-id", self.scan_snapshot_id.map(NamedVersion::Id)),
            ("scan.tag-name", self.scan_tag_name.clone().map(NamedVersion::Tag)),
            ("scan.version", self.scan_version.clone().map(NamedVersion::Version)),
            ("scan.watermark", self.scan_watermark.map(NamedVersion::Watermark)),
            ("scan.timestamp-millis", self.scan_timestamp_millis.map(NamedVersion::Time)),
            ("scan.timestamp", time.map(NamedVersion::Time)),
            ("scan.file-creation-time-millis", self.scan_file_creation_time_millis.map(NamedVersion::FilesSince)),
            ("scan.creation-time-millis", self.scan_creation_time_millis.map(NamedVersion::CreatedSince)),
        ]
        .into_iter()
        .filter_map(|(key, version)| Some((key, version?)))
        .collect();
        if named.len() > 1 {
            let keys: Vec<&str> = named.iter().map(|(key, _)| *key).collect();
            let message = format!("only one of {} can be set, they name different versions", keys.join(", "));
            return Err(Error::new(ErrorKind::InvalidOption, message));
        }
        let mode = self.scan_mode;
        match (named.pop(), mode) {
            (Some((key, version)), _) if !version.goes_with(mode) => Err(not_with(mode, key)),
            (Some((_, version)), _) => Ok(Some(version)),
            (
                None,
                ScanMode::FromSnapshot
                | ScanMode::FromSnapshotFull
                | ScanMode::FromTimestamp
                | ScanMode::FromFileCreationTime
                | ScanMode::FromCreationTimestamp,
            ) => Err(needs(mode, "an option that names the snapshot or the time")),
            (None, _) => Ok(None),
        }
    }

    /// The changes that options name.
    ///
    /// # Errors
    /// `InvalidOption` for two of them, for texts that name no start and end, for one beside an option that names a version
    /// or another `scan.mode`, for the mode alone.
    pub fn named_changes(&self) -> Result<Option<NamedChanges>> {
        let named = [
            ("incremental-between", &self.incremental_between),
            ("incremental-between-timestamp", &self.incremental_between_timestamp),
            ("incremental-to-auto-tag", &self.incremental_to_auto_tag),
        ];
        let named: Vec<(&'static str, &str)> =
            named.into_iter().filter_map(|(key, text)| Some((key, text.as_deref()?))).collect();
        let (key, changes) = match (named.as_slice(), self.scan_mode) {
            ([], ScanMode::LatestDelta) => ("scan.mode", NamedChanges::Latest),
            ([], mode @ ScanMode::Incremental) => {
                return Err(needs(mode, "an option that names two versions")
                    .hint("set incremental-between, incremental-between-timestamp or incremental-to-auto-tag"));
            }
            ([], _) => return Ok(None),
            ([(key, text)], ScanMode::Default | ScanMode::Incremental) => (*key, changes(key, text)?),
            ([(key, _)], mode) => return Err(not_with(mode, key)),
            _ => {
                let keys: Vec<&str> = named.iter().map(|(key, _)| *key).collect();
                let message = format!("only one of {} can be set, they name different changes", keys.join(", "));
                return Err(Error::new(ErrorKind::InvalidOption, message));
            }
        };
        let version = [
            "scan.snapshot-id",
            "scan.tag-name",
            "scan.version",
            "scan.watermark",
            "scan.timestamp-millis",
            "scan.timestamp",
            "scan.file-creation-time-millis",
            "scan.creation-time-millis",
        ];
        if let Some(state) = version.into_iter().find(|state| self.get(state).is_some()) {
            let message = format!("'{state}' names a state of the table, '{key}' what lies between two of them");
            return Err(Error::new(ErrorKind::InvalidOption, message).with("option", state).hint("set one of them"));
        }
        Ok(Some(changes))
    }
}

fn changes(key: &'static str, text: &str) -> Result<NamedChanges> {
    Ok(match key {
        "incremental-between" => {
            let (start, end) = pair(text, key)?;
            NamedChanges::Names(start.to_owned(), end.to_owned())
        }
        "incremental-between-timestamp" => {
            let (start, end) = pair(text, key)?;
            let moment = |text: &str| text.parse().or_else(|_| local_millis(key, text));
            NamedChanges::Times(moment(start)?, moment(end)?)
        }
        _ => NamedChanges::ToAutoTag(text.to_owned()),
    })
}

fn needs(mode: ScanMode, what: &str) -> Error {
    Error::new(ErrorKind::InvalidOption, format!("scan.mode = {} needs {what}", mode.as_str()))
        .with("option", "scan.mode")
}

fn not_with(mode: ScanMode, key: &str) -> Error {
    Error::new(ErrorKind::InvalidOption, format!("'{key}' does not go with 'scan.mode' = '{}'", mode.as_str()))
        .with("option", key)
        .hint("leave scan.mode out: the option that names a version is enough")
}

/// `a,b`
fn pair<'t>(text: &'t str, key: &'static str) -> Result<(&'t str, &'t str)> {
    let mut parts = text.split(',').map(str::trim);
    match (parts.next(), parts.next(), parts.next()) {
        (Some(start), Some(end), None) if !start.is_empty() && !end.is_empty() => Ok((start, end)),
        _ => Err(Error::new(ErrorKind::InvalidOption, format!("'{text}' does not name a start and an end"))
            .with("option", key)
            .hint(format!("write '{key}' = 'START,END'"))),
    }
}

/// `2024-05-01 12:30:00` in the zone of this machine, as Java reads it.
fn local_millis(key: &'static str, text: &str) -> Result<i64> {
    let text = text.trim();
    let with_time = |format: &str| chrono::NaiveDateTime::parse_from_str(text, format).ok();
    let parsed = with_time("%Y-%m-%d %H:%M:%S%.f")
        .or_else(|| with_time("%Y-%m-%dT%H:%M:%S%.f"))
        .or_else(|| with_time("%Y-%m-%d %H:%M"))
        .or_else(|| chrono::NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?.and_hms_opt(0, 0, 0));
    let local = parsed.and_then(|naive| naive.and_local_timezone(chrono::Local).earliest());
    local.map(|t| t.timestamp_millis()).ok_or_else(|| {
        Error::new(ErrorKind::InvalidOption, format!("'{text}' is not a time"))
            .with("option", key)
            .hint("write it as 2024-05-01 12:30:00, in the local time zone")
    })
}
