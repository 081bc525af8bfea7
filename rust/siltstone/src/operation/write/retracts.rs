//! Whether a table takes -U and -D at all (semantics b.4 to b.6, b.8).
//!
//! Java takes such a row into level 0 and fails when it merges it, which leaves a table that can be neither read nor
//! compacted. What can be known before is refused before.

use arrow_array::{Int8Array, RecordBatch};

use crate::{
    error::{Error, ErrorKind, Result},
    options::{CoreOptions, MergeEngine, parse_bool, sequence_groups},
    row::{RowKind, datum_from_array, datum_to_text},
    schema::TableSchema,
    types::DataField,
};

/// Kinds that the table's engine cannot take, and what to say about them.
pub(super) struct Refusal {
    update_before: bool,
    delete: bool,
    option: String,
    column: Option<String>,
    message: String,
    hint: &'static str,
    /// positions and fields of the key
    key: Vec<(usize, DataField)>,
}

impl Refusal {
    /// `None`: the engine takes every kind.
    pub(super) fn of(schema: &TableSchema, options: &CoreOptions) -> Option<Self> {
        let set = |key: &str| options.get(key).is_some_and(|text| parse_bool(text).unwrap_or(false));
        let engine = options.merge_engine;
        let refusal = |hint: &'static str| Self {
            update_before: true,
            delete: true,
            option: "merge-engine".to_owned(),
            column: None,
            message: format!("'merge-engine' = '{}' takes no deletes", engine.as_str()),
            hint,
            key: key_of(schema),
        };
        match engine {
            _ if !schema.has_primary_key() => None,
            MergeEngine::Deduplicate | MergeEngine::Aggregation => None,
            MergeEngine::PartialUpdate if !sequence_groups(&options.raw).is_empty() => None,
            MergeEngine::PartialUpdate if set("partial-update.remove-record-on-delete") => None,
            MergeEngine::PartialUpdate => Some(refusal(
                "set 'ignore-delete' = 'true' to drop deletes, 'partial-update.remove-record-on-delete' = 'true' to \
                 remove whole rows, or sequence groups to take back the columns of one source",
            )),
            MergeEngine::FirstRow => Some(refusal("set 'ignore-delete' = 'true' to drop deletes")),
        }
    }

    /// The first row that is refused is an error.
    pub(super) fn check(&self, rows: &RecordBatch, kinds: &Int8Array) -> Result<()> {
        let refused = |kind: i8| {
            self.update_before && kind == RowKind::UpdateBefore.to_byte()
                || self.delete && kind == RowKind::Delete.to_byte()
        };
        let Some(row) = kinds.values().iter().position(|kind| refused(*kind)) else { return Ok(()) };
        let kind = kinds.values().get(row).map_or(Ok("-D"), |kind| RowKind::from_byte(*kind).map(RowKind::as_str))?;
        let error = Error::new(ErrorKind::DeleteNotAllowed, format!("row {row} is {kind}, and {}", self.message))
            .with("option", &self.option)
            .with("key", self.key_text(rows, row)?)
            .hint(self.hint);
        Err(match &self.column {
            Some(column) => error.with("column", column),
            None => error,
        })
    }

    /// `k=1, dt=2024-05-01`
    fn key_text(&self, rows: &RecordBatch, row: usize) -> Result<String> {
        let mut parts = Vec::with_capacity(self.key.len());
        for (at, field) in &self.key {
            let Some(column) = rows.columns().get(*at) else { continue };
            let value = datum_from_array(column, row, &field.data_type)?;
            parts.push(format!("{}={}", field.name, datum_to_text(&value, &field.data_type)));
        }
        Ok(parts.join(", "))
    }
}

fn key_of(schema: &TableSchema) -> Vec<(usize, DataField)> {
    let position = |name: &String| {
        let at = schema.fields.iter().position(|f| f.name == *name)?;
        schema.fields.get(at).map(|field| (at, field.clone()))
    };
    schema.primary_keys.iter().filter_map(position).collect()
}
