//! The shapes of batches and requests that readers and writers exchange.

use std::{ops::Range, sync::Arc};

use arrow_schema::SchemaRef;

use super::TableContext;
use crate::{
    Result,
    deletion_vectors::DeletedRows,
    manifest::FileSource,
    predicate::Predicate,
    types::{DataField, arrow_schema, special},
};

/// Columns of a key-value batch: `fields`, then `_SEQUENCE_NUMBER`, then `_VALUE_KIND`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KvLayout {
    /// Table fields of the batch, the key's among them.
    pub fields: Vec<DataField>,
    /// Positions in `fields` of the trimmed primary key, in key order.
    pub key: Vec<usize>,
    /// Positions in `fields` of the user's `sequence.field` columns, in their order.
    pub sequence: Vec<usize>,
    /// `sequence.field.sort-order` is descending.
    pub sequence_descending: bool,
}

impl KvLayout {
    /// All columns of a table.
    pub(crate) fn of_table(ctx: &TableContext) -> Self {
        let schema = &ctx.schema;
        let at = |name: &str| schema.fields.iter().position(|f| f.name == name);
        Self {
            fields: schema.fields.clone(),
            key: schema.trimmed_primary_keys().into_iter().filter_map(at).collect(),
            sequence: ctx.options.sequence_fields.iter().filter_map(|name| at(name)).collect(),
            sequence_descending: ctx.options.sequence_descending(),
        }
    }

    /// Position of `_SEQUENCE_NUMBER` in a batch.
    pub fn sequence_index(&self) -> usize {
        self.fields.len()
    }

    /// Position of `_VALUE_KIND` in a batch.
    pub fn kind_index(&self) -> usize {
        self.fields.len() + 1
    }

    /// The fields with the two system columns behind them.
    pub fn all_fields(&self) -> Vec<DataField> {
        let mut fields = self.fields.clone();
        fields.extend([special::sequence_number(), special::value_kind()]);
        fields
    }

    /// The Arrow schema of a batch.
    pub fn arrow_schema(&self) -> Result<SchemaRef> {
        arrow_schema(&self.all_fields())
    }
}

/// What to read of a data file.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "four independent wishes")]
pub struct FileReadSpec {
    /// Wanted table fields, in the order of the result.
    pub fields: Vec<DataField>,
    /// Append `_SEQUENCE_NUMBER` and `_VALUE_KIND` behind the fields.
    pub system: bool,
    /// Rows of the kinds -U and -D do not come, and their values are not looked at. Only with `system`.
    pub drop_retracts: bool,
    /// Append `_POSITION BIGINT NOT NULL`, the physical row number in the file, last.
    pub position: bool,
    /// Only these rows, by their physical numbers: ascending, not overlapping. Not together with a filter.
    pub rows: Option<Vec<Range<i64>>>,
    /// Condition over table columns that skips row groups and pages; rows that do not satisfy it may still come.
    pub filter: Option<Predicate>,
    /// Also drop every row that does not satisfy `filter`.
    pub exact_filter: bool,
    /// Largest number of rows of a batch.
    pub batch_rows: usize,
    /// Rows that do not come: the file's deletion vector.
    pub deletions: Option<Arc<DeletedRows>>,
    /// Fields whose values may fail to be cast until it is known whether their rows are wanted: batches of such rows have one
    /// column more. Only for who merges them.
    pub late_casts: Vec<i32>,
}

impl FileReadSpec {
    /// Rows of a batch when nobody says otherwise.
    pub const DEFAULT_BATCH_ROWS: usize = 8192;

    /// All rows of the given fields.
    pub fn new(fields: Vec<DataField>) -> Self {
        Self {
            fields,
            system: false,
            drop_retracts: false,
            position: false,
            rows: None,
            filter: None,
            exact_filter: false,
            batch_rows: Self::DEFAULT_BATCH_ROWS,
            deletions: None,
            late_casts: Vec::new(),
        }
    }
}

/// What to write into the data files of one bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileWriteSpec {
    /// Key-value files: batches are all table fields, `_SEQUENCE_NUMBER`, `_VALUE_KIND`. Otherwise plain rows.
    pub key_value: bool,
    /// `_LEVEL`; also selects per-level format, compression and statistics.
    pub level: i32,
    /// `_FILE_SOURCE`
    pub source: FileSource,
    /// Append tables: the bucket's row counter at the first row. Ignored for key-value files.
    pub first_sequence: i64,
    /// A changelog file: its own prefix, format, compression and statistics options.
    pub changelog: bool,
    /// The batches have some of the table's columns only, and files name those that they have.
    pub some_columns: bool,
    /// Encoded bytes that are held at most before they are written as a row group; `None`: as many as the options say.
    pub memory: Option<usize>,
}

impl FileWriteSpec {
    /// Key-value files of one level.
    pub fn key_value(level: i32, source: FileSource) -> Self {
        Self { key_value: true, level, source, first_sequence: 0, changelog: false, some_columns: false, memory: None }
    }

    /// Changelog files; those of a compaction have the level of its output.
    pub fn changelog(level: i32) -> Self {
        // also when a compaction made it, as Java has it
        Self { changelog: true, ..Self::key_value(level, FileSource::Append) }
    }

    /// Plain row files of an append table.
    pub fn append(first_sequence: i64, source: FileSource) -> Self {
        Self { key_value: false, level: 0, source, first_sequence, changelog: false, some_columns: false, memory: None }
    }

    /// The level whose own options count; `None` in append tables, which have no levels.
    pub(crate) fn options_level(&self) -> Option<i32> {
        self.key_value.then_some(self.level)
    }

    /// With at most so many encoded bytes in memory.
    #[must_use]
    pub fn within(self, memory: Option<usize>) -> Self {
        Self { memory, ..self }
    }
}
