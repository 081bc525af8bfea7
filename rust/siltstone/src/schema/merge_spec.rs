//! What the options of a table say about merging: one rule in one place, for creating tables, for altering them, and
//! for the engines themselves.
//!
//! Source: semantics b.2, b.4, b.5 and b.7; the factories of `PartialUpdateMergeFunction` and
//! `AggregateMergeFunction`, `FieldAggregatorFactory`.

use std::sync::Arc;

use super::{TableSchema, validate_merge};
use crate::aggregate::{AggregateFunction, FieldOptions, aggregate_function};
use crate::error::Result;
use crate::options::{CoreOptions, MergeEngine, parse_bool, parse_list, sequence_groups};
use crate::types::DataField;

/// The function of columns that nobody named one for.
const LAST_NON_NULL: &str = "last_non_null_value";

/// The merge engine of a table with everything that its options say about it.
#[derive(Clone, Debug)]
pub struct EngineSpec {
    /// `merge-engine`
    pub engine: MergeEngine,
    /// `ignore-delete`
    pub ignore_delete: bool,
    /// `partial-update.remove-record-on-delete` or `aggregation.remove-record-on-delete`, of the engine at hand
    pub remove_on_delete: bool,
    /// Sequence groups of partial-update.
    pub groups: Vec<SequenceOrder>,
    /// One for each table column in schema order; empty for engines that choose whole rows.
    pub columns: Vec<ColumnRule>,
}

/// `fields.<s1>,<s2>.sequence-group = c1,c2`: `s1, s2` decide whether a record is new to `c1, c2`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SequenceOrder {
    /// Names of the fields that are compared, in this order.
    pub fields: Vec<String>,
    /// A -D that is new to the group removes the row (`partial-update.remove-record-on-sequence-group`).
    pub removes: bool,
}

/// How one column is merged.
#[derive(Clone, Debug)]
pub struct ColumnRule {
    /// The column.
    pub name: String,
    /// What it is to the engine.
    pub role: ColumnRole,
    /// What accumulates its values.
    pub function: Arc<dyn AggregateFunction>,
    /// The option that names the function or puts the column into a group, for messages.
    pub option: String,
}

/// What a column is to its engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnRole {
    /// Part of the primary key, or a column in no sequence group.
    Plain,
    /// Sequence field of a group, by its number.
    Sequence(usize),
    /// In a group, without a function: takes whatever is newest.
    Protected(usize),
    /// In a group, with a function.
    Aggregated(usize),
}

impl EngineSpec {
    /// Reads and checks the options of a table, as strictly as Java does when it opens one.
    ///
    /// `InvalidOption` for: an unknown function, a type that a function does not take, a column in two sequence
    /// groups, a key column in a group, a function (other than `last_non_null_value`) of a partial-update column that
    /// is in no group, and options that exclude each other; `IllegalSchema` for columns that do not exist. Each names
    /// option and column.
    pub fn of(schema: &TableSchema, options: &CoreOptions) -> Result<Self> {
        validate_merge::check(schema, options)?;
        let mut spec = Self {
            engine: options.merge_engine,
            ignore_delete: options.ignore_delete,
            remove_on_delete: false,
            groups: Vec::new(),
            columns: Vec::new(),
        };
        if schema.has_primary_key() {
            match options.merge_engine {
                MergeEngine::PartialUpdate => spec.partial_update(schema, options)?,
                MergeEngine::Aggregation => spec.aggregation(schema, options)?,
                MergeEngine::Deduplicate | MergeEngine::FirstRow => {}
            }
        }
        Ok(spec)
    }

    /// Names of the columns that count rows (`aggregate-function` = `count`).
    pub fn counted_columns(&self) -> Vec<&str> {
        let counted = self.columns.iter().filter(|column| column.function.name() == "count");
        counted.map(|column| column.name.as_str()).collect()
    }

    fn aggregation(&mut self, schema: &TableSchema, options: &CoreOptions) -> Result<()> {
        self.remove_on_delete = flag(options, "aggregation.remove-record-on-delete")?;
        for field in &schema.fields {
            let of = FieldOptions::of(&options.raw, &field.name)?;
            let function = if options.sequence_fields.contains(&field.name) {
                "last_value"
            } else if schema.primary_keys.contains(&field.name) {
                "primary-key"
            } else {
                of.function.as_deref().unwrap_or(LAST_NON_NULL)
            };
            self.add(field, function, &of, ColumnRole::Plain)?;
        }
        Ok(())
    }

    fn partial_update(&mut self, schema: &TableSchema, options: &CoreOptions) -> Result<()> {
        self.remove_on_delete = flag(options, "partial-update.remove-record-on-delete")?;
        let groups = sequence_groups(&options.raw);
        let removing = options.get("partial-update.remove-record-on-sequence-group").map(parse_list);
        let removing = removing.unwrap_or_default();
        for field in &schema.fields {
            let name = &field.name;
            let of = FieldOptions::of(&options.raw, name)?;
            let group = groups.iter().position(|group| group.has(name));
            let is_sequence = groups.iter().any(|group| group.sequence.contains(name));
            let (function, role) = match (group, of.function.as_deref()) {
                (Some(group), _) if is_sequence => ("last_value", ColumnRole::Sequence(group)),
                (Some(group), Some(function)) => (function, ColumnRole::Aggregated(group)),
                (Some(group), None) => ("last_value", ColumnRole::Protected(group)),
                (None, _) if schema.primary_keys.contains(name) => ("primary-key", ColumnRole::Plain),
                (None, _) => (LAST_NON_NULL, ColumnRole::Plain),
            };
            self.add(field, function, &of, role)?;
            if let (ColumnRole::Protected(group) | ColumnRole::Sequence(group), Some(rule)) =
                (role, self.columns.last_mut())
                && let Some(group) = groups.get(group)
            {
                rule.option.clone_from(&group.option);
            }
        }
        self.groups = groups
            .into_iter()
            .map(|group| SequenceOrder {
                removes: group.sequence.iter().any(|field| removing.contains(field)),
                fields: group.sequence,
            })
            .collect();
        Ok(())
    }

    fn add(&mut self, field: &DataField, function: &str, of: &FieldOptions, role: ColumnRole) -> Result<()> {
        self.columns.push(ColumnRule {
            name: field.name.clone(),
            role,
            function: aggregate_function(function, field, of)?,
            option: of.function_option.clone(),
        });
        Ok(())
    }
}

/// Columns that must be read beside the requested ones so that merging gives the rows of a full read: the fields of
/// `sequence.field`, those of the sequence groups of requested columns, and those of groups whose deletes remove the
/// row (semantics b.4.3). Key columns are not among them.
pub fn merge_columns(schema: &TableSchema, options: &CoreOptions, requested: &[String]) -> Result<Vec<String>> {
    let spec = EngineSpec::of(schema, options)?;
    // a sequence field is merged like the others, by its group when it is in one
    let wanted = |name: &String| requested.contains(name) || options.sequence_fields.contains(name);
    let groups = spec.groups.iter().enumerate().filter(|(at, group)| {
        let in_group = |column: &ColumnRule| match column.role {
            ColumnRole::Sequence(g) | ColumnRole::Protected(g) | ColumnRole::Aggregated(g) => g == *at,
            ColumnRole::Plain => false,
        };
        group.removes || spec.columns.iter().any(|column| wanted(&column.name) && in_group(column))
    });
    let sequence = options.sequence_fields.iter().chain(groups.flat_map(|(_, group)| &group.fields));
    let mut more: Vec<String> = Vec::new();
    for name in sequence {
        if !requested.contains(name) && !more.contains(name) {
            more.push(name.clone());
        }
    }
    Ok(more)
}

fn flag(options: &CoreOptions, key: &str) -> Result<bool> {
    options.get(key).map_or(Ok(false), |text| parse_bool(text).map_err(|e| e.with("option", key)))
}
