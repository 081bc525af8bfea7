//! `schema-<n>` as a value.

use std::collections::BTreeMap;

use crate::options::overlay;
use crate::types::DataField;

/// One version of a table's schema (format chapter 2.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableSchema {
    /// `id`, equals the file's number.
    pub id: i64,
    /// `fields`
    pub fields: Vec<DataField>,
    /// `highestFieldId`: the largest id ever given.
    pub highest_field_id: i32,
    /// `partitionKeys`
    pub partition_keys: Vec<String>,
    /// `primaryKeys`, partition keys included
    pub primary_keys: Vec<String>,
    /// `options`
    pub options: BTreeMap<String, String>,
    /// `comment`
    pub comment: Option<String>,
    /// `timeMillis`
    pub time_millis: i64,
    /// Of a schema that changes what is fixed once there are snapshots: whether it is still to be decided that it came in time
    /// ([`super::pending`]). `None`: of any other, and of other programs.
    pub pending: Option<bool>,
}

impl TableSchema {
    /// Whether it is not decided yet that it came before the first snapshot.
    pub fn is_pending(&self) -> bool {
        self.pending == Some(true)
    }

    /// The field of this name.
    pub fn field(&self, name: &str) -> Option<&DataField> {
        self.fields.iter().find(|f| f.name == name)
    }

    /// The primary key without the partition keys, in primary-key order: the key inside a bucket.
    pub fn trimmed_primary_keys(&self) -> Vec<&str> {
        let key = self.primary_keys.iter().filter(|k| !self.partition_keys.contains(k));
        key.map(String::as_str).collect()
    }

    /// Fields of the trimmed primary key.
    pub fn key_fields(&self) -> Vec<&DataField> {
        self.trimmed_primary_keys().into_iter().filter_map(|k| self.field(k)).collect()
    }

    /// Fields of the partition keys, in their order.
    pub fn partition_fields(&self) -> Vec<&DataField> {
        self.partition_keys.iter().filter_map(|k| self.field(k)).collect()
    }

    /// Names of the bucket key: option `bucket-key`, else the trimmed primary key.
    pub fn bucket_keys(&self) -> Vec<String> {
        match self.options.get("bucket-key") {
            Some(list) if !list.trim().is_empty() => list.split(',').map(|k| k.trim().to_owned()).collect(),
            _ => self.trimmed_primary_keys().into_iter().map(str::to_owned).collect(),
        }
    }

    /// Whether rows have a key.
    pub fn has_primary_key(&self) -> bool {
        !self.primary_keys.is_empty()
    }

    /// Whether a key is in one partition only: the primary key contains every partition column.
    pub fn key_holds_partition(&self) -> bool {
        self.has_primary_key() && self.partition_keys.iter().all(|key| self.primary_keys.contains(key))
    }

    /// A copy with options set over the stored ones.
    #[must_use]
    pub fn with_options(&self, dynamic: &BTreeMap<String, String>) -> Self {
        Self { options: overlay(&self.options, dynamic), ..self.clone() }
    }
}
