//! Snapshot JSON, with the keys, order and spacing of Java (Jackson's pretty printer).

use super::Snapshot;
use crate::{
    codec::to_java_json,
    error::{Error, ErrorKind, Result},
    fs::check_file_name,
    limits::LAST_ID,
};

/// The newest version of snapshot files that is known.
const NEWEST_VERSION: i32 = 3;
/// Rows of a version: more would leave no room to add some.
const MOST_ROWS: i64 = i64::MAX / 2;
/// From the year 1 to the end of the year 9999: times that Python, SQL and ISO 8601 can show.
const TIMES: std::ops::RangeInclusive<i64> = -62_135_596_800_000..=253_402_300_799_999;

impl Snapshot {
    /// From the content of `snapshot-<n>` or `tag-<name>`; `file` is for messages.
    pub fn from_json(file: &str, bytes: &[u8]) -> Result<Self> {
        let snapshot: Self = serde_json::from_slice(bytes).map_err(|e| {
            let found = if bytes.is_empty() { "an empty file".to_owned() } else { e.to_string() };
            Error::corrupt(file, offset_of(bytes, &e), "a snapshot as JSON", found)
        })?;
        if !(1..=NEWEST_VERSION).contains(&snapshot.version) {
            return Err(Error::new(
                ErrorKind::UnsupportedVersion,
                format!("a snapshot of version {} is not known, only 1 to {NEWEST_VERSION} are", snapshot.version),
            )
            .with("file", file)
            .hint("a newer Paimon wrote this table; update siltstone"));
        }
        snapshot.check(file)?;
        Ok(snapshot)
    }

    /// Names that will be parts of paths, and numbers that others are counted from.
    fn check(&self, file: &str) -> Result<()> {
        let always = [("baseManifestList", &self.base_manifest_list), ("deltaManifestList", &self.delta_manifest_list)];
        let maybe = [
            ("changelogManifestList", &self.changelog_manifest_list),
            ("indexManifest", &self.index_manifest),
            ("statistics", &self.statistics),
        ];
        let maybe = maybe.into_iter().filter_map(|(field, name)| Some((field, name.as_ref()?)));
        for (field, name) in always.into_iter().chain(maybe) {
            check_file_name(field, name).map_err(|e| e.with("file", file))?;
        }
        for (field, number, least) in [("id", self.id, 1), ("schemaId", self.schema_id, 0)] {
            if !(least..=LAST_ID).contains(&number) {
                return Err(Error::corrupt(file, 0, format!("'{field}' of at least {least}"), number));
            }
        }
        // deletes make a delta negative; what an old version of Paimon did not count is absent
        let counts = [
            ("totalRecordCount", self.total_record_count, 0),
            ("deltaRecordCount", self.delta_record_count, -MOST_ROWS),
            ("changelogRecordCount", self.changelog_record_count, 0),
        ];
        for (field, number, least) in counts {
            if let Some(number) = number.filter(|n| !(least..=MOST_ROWS).contains(n)) {
                return Err(Error::corrupt(file, 0, format!("a '{field}' that can be true"), number));
            }
        }
        if !TIMES.contains(&self.time_millis) {
            return Err(Error::corrupt(file, 0, "a 'timeMillis' of the years 1 to 9999", self.time_millis));
        }
        Ok(())
    }

    /// The content of `snapshot-<n>`.
    pub fn to_json(&self) -> Result<String> {
        to_java_json(self)
    }
}

/// Byte offset of the line and column that serde reports.
fn offset_of(bytes: &[u8], e: &serde_json::Error) -> u64 {
    let lines_before = bytes.split_inclusive(|&b| b == b'\n').take(e.line().saturating_sub(1));
    let start: usize = lines_before.map(<[u8]>::len).sum();
    (start + e.column().saturating_sub(1)).min(bytes.len()) as u64
}
