//! Whether a table takes -U and -D at all (semantics b.4 to b.6, b.8).
//!
//! Java takes such a row into level 0 and fails when it merges it, which leaves a table that can be neither read nor
//! compacted. What can be known before is refused before.

use arrow_array::{Int8Array, RecordBatch};

use crate::{
    error::{Error, ErrorKind, Result},
    options::MergeEngine,
    row::{RowKind, datum_from_array, datum_to_text},
    schema::{EngineSpec, TableSchema},
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
    pub(super) fn of(schema: &TableSchema, spec: &EngineSpec) -> Option<Self> {
        if !schema.has_primary_key() {
            return None;
        }
        match spec.engine {
            MergeEngine::Deduplicate => None,
            MergeEngine::PartialUpdate if spec.remove_on_delete || !spec.groups.is_empty() => None,
            MergeEngine::PartialUpdate => Some(Self::of_engine(
                schema,
                spec,
                "set 'ignore-delete' = 'true' to drop deletes, 'partial-update.remove-record-on-delete' = 'true' to \
                 remove whole rows, or sequence groups to take back the columns of one source",
            )),
            MergeEngine::FirstRow => {
                Some(Self::of_engine(schema, spec, "set 'ignore-delete' = 'true' to drop deletes"))
            }
            MergeEngine::Aggregation => {
                let refusal = Self::of_functions(schema, spec);
                refusal.map(|refusal| Self { delete: !spec.remove_on_delete, ..refusal })
            }
        }
    }

    fn of_engine(schema: &TableSchema, spec: &EngineSpec, hint: &str) -> Self {
        Self {
            update_before: true,
            delete: true,
            option: "merge-engine".to_owned(),
            column: None,
            message: format!("'merge-engine' = '{}' takes no deletes", spec.engine.as_str()),
            hint: hint.to_owned(),
            key: key_of(schema),
        }
    }

    /// By the first column whose function cannot take a value back.
    fn of_functions(schema: &TableSchema, spec: &EngineSpec) -> Option<Self> {
        let rule = spec.columns.iter().find(|rule| !rule.function.retracts())?;
        let (name, function) = (&rule.name, rule.function.name());
        let hint = format!(
            "set 'fields.{name}.ignore-retract' = 'true' to keep the value, 'ignore-delete' = 'true' to drop deletes, \
             or 'aggregation.remove-record-on-delete' = 'true' to remove whole rows"
        );
        Some(Self {
            option: rule.option.clone(),
            column: Some(name.clone()),
            message: format!("the aggregate function '{function}' of '{name}' cannot take a value back"),
            ..Self::of_engine(schema, spec, &hint)
        })
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
