//! The values that manifests hold. Bytes are in the neighbouring modules.

use std::sync::Arc;

use crate::{limits::MOST, schema::TableSchema, shared::Shared, stats::SimpleStats};

/// Whether an entry adds or deletes a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EntryKind {
    /// 0
    Add,
    /// 1
    Delete,
}

/// Where the rows of a file came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileSource {
    /// 0: new input
    Append,
    /// 1: a compaction
    Compact,
}

/// One data file (`DataFileMeta`). A plan has them by the million.
pub type DataFileMeta = Shared<DataFileFields>;

/// What its manifest says of a data file (field table in format chapter 4.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataFileFields {
    /// `_FILE_NAME`
    pub file_name: String,
    /// `_FILE_SIZE`, bytes
    pub file_size: i64,
    /// `_ROW_COUNT`, retract rows included
    pub row_count: i64,
    /// `_MIN_KEY`: serialized `BinaryRow` of the trimmed primary key; 12 zero bytes on append tables
    pub min_key: Vec<u8>,
    /// `_MAX_KEY`
    pub max_key: Vec<u8>,
    /// `_KEY_STATS`
    pub key_stats: SimpleStats,
    /// `_VALUE_STATS`
    pub value_stats: SimpleStats,
    /// `_MIN_SEQUENCE_NUMBER`
    pub min_sequence_number: i64,
    /// `_MAX_SEQUENCE_NUMBER`
    pub max_sequence_number: i64,
    /// `_SCHEMA_ID`: the schema the file was written with
    pub schema_id: i64,
    /// `_LEVEL`
    pub level: i32,
    /// `_EXTRA_FILES`: names in the data file's directory
    pub extra_files: Vec<String>,
    /// `_CREATION_TIME`: the writer's local wall clock, as if it were UTC, in milliseconds
    pub creation_time: Option<i64>,
    /// `_DELETE_ROW_COUNT`: rows of kind -U or -D; `None` in very old files
    pub delete_row_count: Option<i64>,
    /// `_EMBEDDED_FILE_INDEX`
    pub embedded_file_index: Option<Vec<u8>>,
    /// `_FILE_SOURCE`
    pub file_source: Option<FileSource>,
    /// `_VALUE_STATS_COLS`: the columns of `value_stats`; `None` = all value columns
    pub value_stats_cols: Option<Arc<[String]>>,
    /// `_EXTERNAL_PATH`: full path when the file is not below the table
    pub external_path: Option<String>,
    /// `_FIRST_ROW_ID` (row tracking)
    pub first_row_id: Option<i64>,
    /// `_WRITE_COLS`: columns present in the file; `None` = all
    pub write_cols: Option<Arc<[String]>>,
}

/// A data file added to or deleted from a bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestEntry {
    /// `_KIND`
    pub kind: EntryKind,
    /// `_PARTITION`: serialized `BinaryRow`; 12 zero bytes when unpartitioned
    pub partition: Vec<u8>,
    /// `_BUCKET`
    pub bucket: i32,
    /// `_TOTAL_BUCKETS`: option `bucket` when the file was written
    pub total_buckets: i32,
    /// `_FILE`
    pub file: DataFileMeta,
}

/// The identity of an entry (`FileEntry.Identifier`): a DELETE cancels the ADD of the same one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EntryId {
    /// partition bytes
    pub partition: Vec<u8>,
    /// bucket
    pub bucket: i32,
    /// level
    pub level: i32,
    /// file name
    pub file_name: String,
    /// extra files
    pub extra_files: Vec<String>,
    /// embedded index
    pub embedded_file_index: Option<Vec<u8>>,
    /// external path
    pub external_path: Option<String>,
}

impl DataFileFields {
    /// The columns of `_VALUE_STATS`, by the schema that the file was written with.
    pub fn stats_columns<'a>(&'a self, written: &'a TableSchema) -> Vec<&'a str> {
        match self.value_stats_cols.as_ref().or(self.write_cols.as_ref()) {
            Some(columns) => columns.iter().map(String::as_str).collect(),
            None => written.fields.iter().map(|field| field.name.as_str()).collect(),
        }
    }

    /// Whether the file holds a column of the schema that it was written with.
    pub fn has_column(&self, name: &str) -> bool {
        self.write_cols.as_ref().is_none_or(|written| written.iter().any(|column| column == name))
    }

    /// Whether columns of the schema that the file was written with are in other files.
    pub fn has_some_columns(&self, written: &TableSchema) -> bool {
        !written.fields.iter().all(|field| self.has_column(&field.name))
    }

    /// The first number that cannot be true, with its field: others count on from these. What is not known is absent, a
    /// negative count is nobody's.
    pub(crate) fn wrong_number(&self) -> Option<(&'static str, i64)> {
        let deleted = self.delete_row_count.unwrap_or(0);
        [
            ("_FILE_SIZE", self.file_size, MOST),
            ("_ROW_COUNT", self.row_count, MOST),
            ("_DELETE_ROW_COUNT", deleted, MOST),
            ("_LEVEL", self.level.into(), i32::MAX.into()),
            ("_SCHEMA_ID", self.schema_id, i64::MAX),
        ]
        .into_iter()
        .find(|(_, number, most)| !(0..=*most).contains(number))
        .map(|(field, number, _)| (field, number))
        // the next row needs a number, too
        .or((self.max_sequence_number == i64::MAX).then_some(("_MAX_SEQUENCE_NUMBER", i64::MAX)))
    }
}

impl ManifestEntry {
    /// Whether a compaction wrote the file: its rows are no changes, they were somewhere before.
    pub fn is_compacted(&self) -> bool {
        self.file.file_source == Some(FileSource::Compact)
    }

    /// Whether a long-lived changelog that is a delta needs the file: it is added, and its rows are changes. What compactions
    /// wrote goes with its snapshots.
    pub fn is_change(&self) -> bool {
        self.kind == EntryKind::Add && !self.is_compacted()
    }

    /// The entry's identity.
    pub fn id(&self) -> EntryId {
        EntryId {
            partition: self.partition.clone(),
            bucket: self.bucket,
            level: self.file.level,
            file_name: self.file.file_name.clone(),
            extra_files: self.file.extra_files.clone(),
            embedded_file_index: self.file.embedded_file_index.clone(),
            external_path: self.file.external_path.clone(),
        }
    }
}

/// One manifest, as a manifest list names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestFileMeta {
    /// `_FILE_NAME`
    pub file_name: String,
    /// `_FILE_SIZE`, bytes
    pub file_size: i64,
    /// `_NUM_ADDED_FILES`
    pub num_added_files: i64,
    /// `_NUM_DELETED_FILES`
    pub num_deleted_files: i64,
    /// `_PARTITION_STATS` over the partition columns
    pub partition_stats: SimpleStats,
    /// `_SCHEMA_ID`: the largest of the entries
    pub schema_id: i64,
    /// `_MIN_BUCKET`; `None` = unknown
    pub min_bucket: Option<i32>,
    /// `_MAX_BUCKET`
    pub max_bucket: Option<i32>,
    /// `_MIN_LEVEL`
    pub min_level: Option<i32>,
    /// `_MAX_LEVEL`
    pub max_level: Option<i32>,
    /// `_MIN_ROW_ID` (row tracking)
    pub min_row_id: Option<i64>,
    /// `_MAX_ROW_ID`
    pub max_row_id: Option<i64>,
}

/// One deletion vector's place in its index file (`DeletionVectorMeta`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeletionVectorRange {
    /// `f0`: data file name
    pub data_file_name: String,
    /// `f1`: offset in the index file
    pub offset: i32,
    /// `f2`: length, whose meaning depends on the kind of bitmap
    pub length: i32,
    /// `_CARDINALITY`
    pub cardinality: Option<i64>,
}

/// One index file of a bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexManifestEntry {
    /// `_KIND`
    pub kind: EntryKind,
    /// `_PARTITION`
    pub partition: Vec<u8>,
    /// `_BUCKET`
    pub bucket: i32,
    /// `_INDEX_TYPE`: `HASH`, `DELETION_VECTORS`, or one we do not know and carry over unchanged
    pub index_type: String,
    /// `_FILE_NAME`
    pub file_name: String,
    /// `_FILE_SIZE`, bytes
    pub file_size: i64,
    /// `_ROW_COUNT`
    pub row_count: i64,
    /// `_DELETIONS_VECTORS_RANGES`
    pub deletion_vectors: Option<Vec<DeletionVectorRange>>,
    /// `_EXTERNAL_PATH`
    pub external_path: Option<String>,
    /// `_GLOBAL_INDEX`, never interpreted, written back unchanged
    pub global_index: Option<GlobalIndexMeta>,
}

/// What a global index entry says beyond its file (`GlobalIndexMeta`); carried over, not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GlobalIndexMeta {
    /// `_ROW_RANGE_START`
    pub row_range_start: i64,
    /// `_ROW_RANGE_END`
    pub row_range_end: i64,
    /// `_INDEX_FIELD_ID`
    pub index_field_id: i32,
    /// `_EXTRA_FIELD_IDS`
    pub extra_field_ids: Option<Vec<i32>>,
    /// `_INDEX_META`
    pub index_meta: Option<Vec<u8>>,
    /// `_SOURCE_META` (2.x)
    pub source_meta: Option<Vec<u8>>,
}
