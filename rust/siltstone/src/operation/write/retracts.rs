//! Whether a table takes -U and -D at all (semantics b.4 to b.6, b.8).
//!
//! Java takes such a row into level 0 and fails when it merges it, which leaves a table that can be neither read nor
//! compacted. What can be known before is refused before.

use arrow_array::{Int8Array, RecordBatch};

use crate::{
    aggregate::{FieldOptions, aggregate_function},
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
    hint: String,
    /// positions and fields of the key
    key: Vec<(usize, DataField)>,
}

impl Refusal {
    /// `None`: the engine takes every kind.
    pub(super) fn of(schema: &TableSchema, options: &CoreOptions) -> Result<Option<Self>> {
        if !schema.has_primary_key() {
            return Ok(None);
        }
        let set = |key: &str| options.get(key).is_some_and(|text| parse_bool(text).unwrap_or(false));
        Ok(match options.merge_engine {
            MergeEngine::Deduplicate => None,
            MergeEngine::PartialUpdate if !sequence_groups(&options.raw).is_empty() => None,
            MergeEngine::PartialUpdate if set("partial-update.remove-record-on-delete") => None,
            MergeEngine::PartialUpdate => Some(Self::of_engine(
                schema,
                options,
                "set 'ignore-delete' = 'true' to drop deletes, 'partial-update.remove-record-on-delete' = 'true' to \
                 remove whole rows, or sequence groups to take back the columns of one source",
            )),
            MergeEngine::FirstRow => {
                Some(Self::of_engine(schema, options, "set 'ignore-delete' = 'true' to drop deletes"))
            }
            MergeEngine::Aggregation => {
                let whole_rows = set("aggregation.remove-record-on-delete");
                Self::of_functions(schema, options)?.map(|refusal| Self { delete: !whole_rows, ..refusal })
            }
        })
    }

    fn of_engine(schema: &TableSchema, options: &CoreOptions, hint: &str) -> Self {
        Self {
            update_before: true,
            delete: true,
            option: "merge-engine".to_owned(),
            column: None,
            message: format!("'merge-engine' = '{}' takes no deletes", options.merge_engine.as_str()),
            hint: hint.to_owned(),
            key: key_of(schema),
        }
    }

    /// By the first column whose function cannot take a value back.
    fn of_functions(schema: &TableSchema, options: &CoreOptions) -> Result<Option<Self>> {
        for field in &schema.fields {
            let column = &field.name;
            if schema.primary_keys.contains(column) || options.sequence_fields.contains(column) {
                continue;
            }
            let own = FieldOptions::of(&options.raw, column)?;
            let Some(name) = &own.function else { continue };
            if aggregate_function(name, field, &own)?.retracts() {
                continue;
            }
            return Ok(Some(Self {
                option: own.function_option.clone(),
                column: Some(column.clone()),
                message: format!("the aggregate function '{name}' of '{column}' cannot take a value back"),
                ..Self::of_engine(
                    schema,
                    options,
                    &format!(
                        "set 'fields.{column}.ignore-retract' = 'true' to keep the value, 'ignore-delete' = 'true' to \
                         drop deletes, or 'aggregation.remove-record-on-delete' = 'true' to remove whole rows"
                    ),
                )
            }));
        }
        Ok(None)
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
            .hint(self.hint.clone());
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
