//! `snapshot-<n>`: one JSON object (field table in format chapter 3.1).

use serde::{Deserialize, Serialize};

/// The identifier of batch commits; never unique.
pub const BATCH_COMMIT_IDENTIFIER: i64 = i64::MAX;

/// Why a snapshot was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum CommitKind {
    /// New files.
    Append,
    /// Files rewritten.
    Compact,
    /// Files replaced.
    Overwrite,
    /// Statistics.
    Analyze,
}

/// A version of the table. Absent values are left out of the JSON; unknown keys are ignored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "each field is the JSON key of the same name, described in format chapter 3.1")]
pub struct Snapshot {
    #[serde(default = "version_one")]
    pub version: i32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
    pub id: i64,
    pub schema_id: i64,
    pub base_manifest_list: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_manifest_list_size: Option<i64>,
    pub delta_manifest_list: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delta_manifest_list_size: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changelog_manifest_list: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changelog_manifest_list_size: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index_manifest: Option<String>,
    pub commit_user: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writer_version: Option<String>,
    pub commit_identifier: i64,
    pub commit_kind: CommitKind,
    pub time_millis: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_record_count: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delta_record_count: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changelog_record_count: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watermark: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statistics: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub properties: Option<std::collections::BTreeMap<String, String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_row_id: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
}

/// A manifest list as a version names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamedList<'a> {
    /// Its name in the manifest directory.
    pub name: &'a str,
    /// Its bytes; `None` where the writer did not say.
    pub size: Option<i64>,
}

impl Snapshot {
    /// The list of what was there before this version.
    pub fn base_list(&self) -> NamedList<'_> {
        NamedList { name: &self.base_manifest_list, size: self.base_manifest_list_size }
    }

    /// The list of what this version adds and deletes.
    pub fn delta_list(&self) -> NamedList<'_> {
        NamedList { name: &self.delta_manifest_list, size: self.delta_manifest_list_size }
    }

    /// The list of this version's changelog files, where it has some.
    pub fn changelog_list(&self) -> Option<NamedList<'_>> {
        let name = self.changelog_manifest_list.as_deref()?;
        Some(NamedList { name, size: self.changelog_manifest_list_size })
    }
}

fn version_one() -> i32 {
    1
}
