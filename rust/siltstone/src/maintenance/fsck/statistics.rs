//! Statistics files: JSON with the ids of a snapshot and a schema, counts, and an object for each column.

use serde_json::Value;

use super::Check;
use crate::{
    error::{Error, ErrorKind, Result},
    fs::{json_value, read_json},
    io::TableContext,
    snapshot::Snapshot,
};

const REPAIR: &str = "analyze the table";

impl Check<'_> {
    /// The statistics that a version names. Only planners read them, so what is wrong is a warning.
    pub(super) fn statistics(&mut self, ctx: &TableContext, place: &str, version: &Snapshot) -> Result<()> {
        let Some(name) = version.statistics.as_ref().filter(|name| self.seen.insert((*name).clone())) else {
            return Ok(());
        };
        let path = ctx.paths.statistics(name)?;
        let read = read_json(&*ctx.fs, &path)
            .and_then(|bytes| json_value(&path, &bytes, |e| Error::corrupt(&path, 0, "JSON", e)));
        match read {
            Ok(json) => {
                if let Some(wrong) = fault(&json) {
                    self.verdict.warning("bad-statistics", place, format!("{path}: {wrong}"), REPAIR);
                }
            }
            Err(e) if e.kind() == ErrorKind::FileNotFound => {
                self.verdict.warning("missing-statistics", place, format!("{path} is missing"), REPAIR);
            }
            Err(e) if e.kind() == ErrorKind::CorruptFile => {
                self.verdict.warning("bad-statistics", place, e.to_string(), REPAIR);
            }
            Err(e) => return Err(e),
        }
        Ok(())
    }
}

/// What is wrong with the content, in words.
fn fault(json: &Value) -> Option<String> {
    let number = |key: &str| json.get(key).is_some_and(Value::is_i64);
    let absent = |key: &str| json.get(key).is_none_or(Value::is_null);
    if let Some(key) = ["snapshotId", "schemaId"].into_iter().find(|key| !number(key)) {
        return Some(format!("'{key}' is not a number"));
    }
    if let Some(key) = ["mergedRecordCount", "mergedRecordSize"].into_iter().find(|key| !number(key) && !absent(key)) {
        return Some(format!("'{key}' is not a number"));
    }
    let columns = json.get("colStats").and_then(Value::as_object);
    if columns.is_none() && !absent("colStats") {
        return Some("'colStats' is not an object".to_owned());
    }
    let wrong = columns.into_iter().flatten().find(|(_, stats)| !stats.is_object());
    wrong.map(|(column, _)| format!("the statistics of column '{column}' are not an object"))
}
