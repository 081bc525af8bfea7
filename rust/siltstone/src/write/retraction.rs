//! Whether a table takes -U and -D at all (semantics b.4 to b.6, b.8).
//!
//! Java takes such a row into level 0 and fails when it merges it, which leaves a table that can be neither read nor
//! compacted. What can be known before is refused before.

use arrow_array::{Array, Int8Array, RecordBatch};

use super::{key_names::KeyNames, place::InputRows};
use crate::{
    error::{Error, ErrorKind, Result},
    options::MergeEngine,
    row::RowKind,
    schema::{ColumnRole, ColumnRule, EngineSpec, TableSchema},
};

/// Kinds that the table's engine cannot take, and what to say about them.
pub(super) struct Refusal {
    refused: Refused,
    names: KeyNames,
}

/// Functions of which a value taken back leaves null.
const CLEARING: [&str; 2] = ["last_value", "last_non_null_value"];

enum Refused {
    /// -U, and -D where `delete` says so
    Kinds { delete: bool, reason: Reason },
    /// by what the row holds in the sequence fields
    Groups(Groups),
}

struct Reason {
    option: String,
    column: Option<String>,
    message: String,
    hint: String,
    /// -U is fine: the +U of its pair brings a value
    only_delete: bool,
}

impl Refusal {
    /// `None`: the engine takes every kind.
    pub(super) fn of(schema: &TableSchema, spec: &EngineSpec) -> Option<Self> {
        if !schema.has_primary_key() {
            return None;
        }
        let refused = match spec.engine {
            MergeEngine::Deduplicate => None,
            MergeEngine::PartialUpdate if spec.remove_on_delete => None,
            MergeEngine::PartialUpdate if !spec.groups.is_empty() => Some(Refused::Groups(Groups::of(schema, spec))),
            MergeEngine::PartialUpdate => Some(Refused::Kinds {
                delete: true,
                reason: Reason::of_engine(
                    spec,
                    "set 'ignore-delete' = 'true' to drop deletes, or sequence groups to take back the columns of one \
                     source; a new table may have 'partial-update.remove-record-on-delete' = 'true' to remove whole rows",
                ),
            }),
            MergeEngine::FirstRow => Some(Refused::Kinds {
                delete: true,
                reason: Reason::of_engine(spec, "set 'ignore-delete' = 'true' to drop deletes"),
            }),
            MergeEngine::Aggregation => {
                let removal = "'aggregation.remove-record-on-delete' = 'true'";
                let reasons = spec.columns.iter().filter_map(|rule| {
                    Reason::of_column(rule, removal)
                        .or_else(|| Reason::of_not_null(schema, rule, removal).filter(|_| !spec.remove_on_delete))
                });
                let reason = reasons.min_by_key(|reason| reason.only_delete);
                reason.map(|reason| Refused::Kinds { delete: !spec.remove_on_delete, reason })
            }
        };
        refused.map(|refused| Self { refused, names: KeyNames::of(schema) })
    }

    /// The first row that is refused is an error; `asked`: the caller wants all of these rows deleted.
    pub(super) fn check(&self, rows: &RecordBatch, kinds: &Int8Array, asked: bool, input: &InputRows) -> Result<()> {
        let (before, delete) = (RowKind::UpdateBefore.to_byte(), RowKind::Delete.to_byte());
        for (row, &kind) in kinds.values().iter().enumerate().filter(|(_, kind)| **kind == before || **kind == delete) {
            let reason = match &self.refused {
                Refused::Kinds { delete: false, .. } if kind == delete => None,
                Refused::Kinds { reason, .. } if reason.only_delete && kind != delete => None,
                Refused::Kinds { reason, .. } => Some(reason),
                Refused::Groups(groups) => groups.refuse(rows, row, kind == delete, asked),
            };
            if let Some(reason) = reason {
                let kind = RowKind::from_byte(kind)?.as_str();
                let text = format!("row {} is {kind}, and {}", input.of(row), reason.message);
                let error = Error::new(ErrorKind::DeleteNotAllowed, text)
                    .with("option", &reason.option)
                    .hint(reason.hint.clone());
                let error = match &reason.column {
                    Some(column) => error.with("column", column),
                    None => error,
                };
                return Err(self.names.named(error, rows, row));
            }
        }
        Ok(())
    }
}

impl Reason {
    fn of_engine(spec: &EngineSpec, hint: &str) -> Self {
        Self {
            option: "merge-engine".to_owned(),
            column: None,
            message: format!("'merge-engine' = '{}' takes no deletes", spec.engine.as_str()),
            hint: hint.to_owned(),
            only_delete: false,
        }
    }

    /// Sequence groups that see nothing of a delete, because all their sequence fields are null in it.
    fn of_nulls(spec: &EngineSpec) -> Self {
        let fields = spec.groups.iter().flat_map(|group| group.fields.iter().cloned()).collect::<Vec<_>>().join(", ");
        Self {
            option: "merge-engine".to_owned(),
            column: None,
            message: format!("a delete with null in all sequence fields ({fields}) deletes nothing"),
            hint: format!("give values for {fields}, those of the groups to take back"),
            only_delete: true,
        }
    }

    /// A column that a delete would leave without a value although it is NOT NULL: nobody could read or compact it.
    fn of_not_null(schema: &TableSchema, rule: &ColumnRule, removal: &str) -> Option<Self> {
        let not_null = schema.field(&rule.name).is_some_and(|field| !field.data_type.nullable);
        let clears = match rule.role {
            ColumnRole::Protected(_) => true,
            ColumnRole::Sequence(_) => false,
            ColumnRole::Plain | ColumnRole::Aggregated(_) => {
                CLEARING.contains(&rule.function.name()) && !rule.function.ignores_retracts()
            }
        };
        (not_null && clears).then(|| Self {
            option: rule.option.clone(),
            column: Some(rule.name.clone()),
            message: format!("a delete would leave no value in the NOT NULL column '{}'", rule.name),
            hint: format!(
                "make '{}' nullable, or set 'ignore-delete' = 'true' to drop deletes; a new table may have {removal} to \
                 remove whole rows",
                rule.name
            ),
            only_delete: true,
        })
    }

    /// A column whose function takes nothing back.
    fn of_column(rule: &ColumnRule, removal: &str) -> Option<Self> {
        (!rule.function.retracts()).then(|| Self::of_function(rule, removal))
    }

    /// A column whose function cannot take a value back; `removal` is the option that removes whole rows instead.
    fn of_function(rule: &ColumnRule, removal: &str) -> Self {
        let (name, function) = (&rule.name, rule.function.name());
        Self {
            option: rule.option.clone(),
            column: Some(name.clone()),
            message: format!("the aggregate function '{function}' of '{name}' cannot take a value back"),
            hint: format!(
                "set 'fields.{name}.ignore-retract' = 'true' to keep the value, or 'ignore-delete' = 'true' to drop \
                 deletes; a new table may have {removal} to remove whole rows"
            ),
            only_delete: false,
        }
    }
}

/// What a retract meets in a partial-update table with sequence groups, column by column in the order of the schema: a
/// group whose sequence fields are all null in the row is left out, and a -D that removes the row ends the walk
/// (`PartialUpdateMergeFunction.retractWithSequenceGroup`).
struct Groups {
    visits: Vec<Visit>,
    /// what to say of a delete that no group would see: Java takes it, as we take it from a changelog, and deletes nothing
    nothing: Reason,
    /// positions of the sequence fields of each group
    fields: Vec<Vec<usize>>,
}

struct Visit {
    group: usize,
    /// `None`: the sequence field of a group whose -D removes the row
    reason: Option<Reason>,
}

impl Groups {
    fn of(schema: &TableSchema, spec: &EngineSpec) -> Self {
        let visit = |rule: &ColumnRule| match rule.role {
            ColumnRole::Sequence(group) if spec.groups.get(group)?.removes => Some(Visit { group, reason: None }),
            ColumnRole::Aggregated(group) | ColumnRole::Protected(group) => {
                let order = spec.groups.get(group)?;
                let sequence = order.fields.join(",");
                let removal = format!("'partial-update.remove-record-on-sequence-group' = '{sequence}'");
                let cleared = || Reason::of_not_null(schema, rule, &removal).filter(|_| !order.removes);
                Some(Visit { group, reason: Some(Reason::of_column(rule, &removal).or_else(cleared)?) })
            }
            _ => None,
        };
        let visits: Vec<Visit> = spec.columns.iter().filter_map(visit).collect();
        let position = |name: &String| schema.fields.iter().position(|f| f.name == *name);
        let fields = spec.groups.iter().map(|group| group.fields.iter().filter_map(position).collect()).collect();
        Self { visits, nothing: Reason::of_nulls(spec), fields }
    }

    /// The first function that would have to take a value back. Whether a -D is new enough to remove the row shows only
    /// at the merge: here it is.
    fn refuse(&self, rows: &RecordBatch, row: usize, delete: bool, asked: bool) -> Option<&Reason> {
        if delete && asked && !(0..self.fields.len()).any(|group| self.takes_part(group, rows, row)) {
            return Some(&self.nothing);
        }
        let mut met = self.visits.iter().filter(|visit| self.takes_part(visit.group, rows, row));
        let stops = |visit: &&Visit| visit.reason.as_ref().map_or(delete, |reason| delete || !reason.only_delete);
        met.find(stops).and_then(|visit| visit.reason.as_ref())
    }

    fn takes_part(&self, group: usize, rows: &RecordBatch, row: usize) -> bool {
        let has_value = |at: &usize| rows.columns().get(*at).is_some_and(|column| column.is_valid(row));
        self.fields.get(group).is_some_and(|fields| fields.iter().any(has_value))
    }
}
