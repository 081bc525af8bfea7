//! What engines that compute have in common: functions column by column, and errors that name table, column and key.

use std::{collections::HashMap, sync::Arc};

use arrow_arith::boolean::is_not_null;
use arrow_array::{Array, ArrayRef, Int8Array, RecordBatch};
use arrow_schema::{Schema, SchemaRef};
use arrow_select::zip;

use super::{
    Carried,
    carried::{HELD, VALUES},
    record_names::RecordNames,
};
use crate::{
    Error, ErrorKind, Result,
    aggregate::{Added, AggStep, ColumnGroups, gather::gather, last_non_null::last_present, no_retract},
    io::KvLayout,
    merge_tree::records::{is_retract, row_kinds},
    schema::{ColumnRole, ColumnRule, EngineSpec},
};

/// The columns of a layout and the functions that merge them.
#[derive(Debug)]
pub(super) struct Columns {
    names: RecordNames,
    layout: KvLayout,
    schema: SchemaRef,
    rules: Vec<ColumnRule>,
}

/// What happens to the records of some groups.
pub(super) struct ColumnPlan<'a> {
    pub(super) sources: &'a [RecordBatch],
    /// records, inside a group in merge order; a record may come twice
    pub(super) rows: &'a [(usize, usize)],
    pub(super) ends: &'a [usize],
    /// groups of one record pass through
    pub(super) pass_single: bool,
    /// for each class of columns what each record does; `None`: all are added
    pub(super) steps: Vec<Option<Vec<AggStep>>>,
    /// of each column whether the first record of all stands for others and its function remembers that it has seen them;
    /// empty: of none
    pub(super) seen: &'a [bool],
    /// the record of each group whose sequence number is the result's; the last one where all are added
    pub(super) last: Vec<(usize, usize)>,
    /// row kinds of the results
    pub(super) kinds: Vec<i8>,
}

/// What an engine has to remember of a group beside its accumulated values.
pub(super) struct Remembered<'a> {
    /// for each sequence group the record that set its fields
    pub(super) held: &'a [Option<(usize, usize)>],
    /// whether the group has +I or +U
    pub(super) meets_insert: bool,
}

impl Columns {
    pub(super) fn new(names: RecordNames, spec: &EngineSpec, layout: &KvLayout) -> Result<Self> {
        let known: HashMap<&str, &ColumnRule> = spec.columns.iter().map(|rule| (rule.name.as_str(), rule)).collect();
        let rule = |name: &String| {
            known.get(name.as_str()).map(|rule| (*rule).clone()).ok_or_else(|| {
                Error::new(ErrorKind::Internal, format!("the column {name} under merge is not in the table's schema"))
            })
        };
        Ok(Self {
            names,
            layout: layout.clone(),
            schema: layout.arrow_schema()?,
            rules: layout.fields.iter().map(|field| rule(&field.name)).collect::<Result<_>>()?,
        })
    }

    /// The rules of the columns, in the layout's order.
    pub(super) fn rules(&self) -> &[ColumnRule] {
        &self.rules
    }

    /// The position of a column.
    pub(super) fn position(&self, name: &str) -> Option<usize> {
        self.rules.iter().position(|rule| rule.name == name)
    }

    /// Row kinds of each source, and whether any is a retract.
    pub(super) fn kinds<'a>(&self, sources: &'a [RecordBatch]) -> Result<Kinds<'a>> {
        let column = self.layout.kind_index();
        let kinds = sources.iter().map(|s| Ok(&**row_kinds(s, column)?.values())).collect::<Result<Vec<&[i8]>>>()?;
        let retracts = kinds.iter().any(|kinds| kinds.iter().fold(0, |all, kind| all | kind) & 1 == 1);
        Ok(Kinds { kinds, retracts })
    }

    /// One row for each group; `class` says which steps a column follows.
    pub(super) fn compute(&self, plan: &ColumnPlan<'_>, class: impl Fn(usize) -> usize) -> Result<RecordBatch> {
        let checked = |at, rule: &_, column| self.checked(at, rule, plan, column);
        let columns = self.values(plan, class, checked)?;
        Ok(RecordBatch::try_new(Arc::clone(&self.schema), columns)?)
    }

    /// What the records of one group have come to when more of them follow. A null in a NOT NULL column is no error yet.
    pub(super) fn fold(
        &self,
        plan: &ColumnPlan<'_>,
        class: impl Fn(usize) -> usize,
        remembered: &Remembered<'_>,
    ) -> Result<Carried> {
        let values = self.values(plan, &class, |_, _, column| Ok(column))?;
        let seen = self.rules.iter().enumerate().map(|(at, rule)| self.seen(at, rule, plan, plan.steps_of(class(at))));
        let seen = seen.collect::<Result<Vec<_>>>()?;
        let mut places = vec![(plan.sources.len(), VALUES)];
        places.extend_from_slice(&plan.last);
        places.extend(remembered.held.iter().flatten());
        let mut rows = HELD..;
        let held = remembered.held.iter().map(|held| held.and_then(|_| rows.next())).collect();
        let columns = (0..).zip(values).map(|(at, values)| {
            let mut arrays = arrays_of(plan.sources, at);
            arrays.push(values);
            gather(&arrays, &places)
        });
        let fields = self.schema.fields().iter().map(|field| field.as_ref().clone().with_nullable(true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let rows = RecordBatch::try_new(schema, columns.collect::<Result<_>>()?)?;
        Ok(Carried { rows, seen, held, meets_insert: remembered.meets_insert })
    }

    /// The columns of results, each of them as `finish` leaves it, with sequence numbers and kinds.
    fn values(
        &self,
        plan: &ColumnPlan<'_>,
        class: impl Fn(usize) -> usize,
        finish: impl Fn(usize, &ColumnRule, ArrayRef) -> Result<ArrayRef>,
    ) -> Result<Vec<ArrayRef>> {
        let steps = |at| plan.steps_of(class(at));
        let mut present = self.present(plan, |at| steps(at).is_none())?;
        let mut columns = Vec::with_capacity(self.rules.len() + 2);
        for (at, rule) in self.rules.iter().enumerate() {
            let column = match present.get_mut(at).and_then(Option::take) {
                Some(column) => column,
                None => self.column(at, rule, plan, steps(at))?,
            };
            columns.push(finish(at, rule, column)?);
        }
        let sequence = arrays_of(plan.sources, self.layout.sequence_index());
        columns.push(gather(&sequence, &plan.last)?);
        columns.push(Arc::new(Int8Array::from(plan.kinds.clone())));
        Ok(columns)
    }

    /// The columns whose records are all added and of which the last value counts that is not null: all at once.
    fn present(&self, plan: &ColumnPlan<'_>, all_added: impl Fn(usize) -> bool) -> Result<Vec<Option<ArrayRef>>> {
        let mut results = vec![None; self.rules.len()];
        let counts = |at: &usize| {
            self.rules.get(*at).is_some_and(|rule| rule.function.added() == Added::LastPresent) && all_added(*at)
        };
        let columns: Vec<usize> = (0..self.rules.len()).filter(counts).collect();
        let arrays: Vec<Vec<ArrayRef>> = columns.iter().map(|at| arrays_of(plan.sources, *at)).collect();
        if let Some(found) = last_present(&arrays, plan.rows, plan.ends) {
            for (at, column) in columns.into_iter().zip(found?) {
                if let Some(result) = results.get_mut(at) {
                    *result = Some(column);
                }
            }
        }
        Ok(results)
    }

    fn column(
        &self,
        at: usize,
        rule: &ColumnRule,
        plan: &ColumnPlan<'_>,
        steps: Option<&[AggStep]>,
    ) -> Result<ArrayRef> {
        let arrays = arrays_of(plan.sources, at);
        let (rows, ends) = (plan.rows, plan.ends);
        if steps.is_none() && rule.function.added() == Added::Last {
            return gather(&arrays, &plan.last);
        }
        let named = |error: Error, group: Option<usize>| self.of_column(rule, plan, error, group);
        if !rule.function.retracts()
            && let Some(row) = steps.and_then(|steps| steps.iter().position(|step| *step == AggStep::Retract))
        {
            return Err(named(no_retract(rule.function.name()), Some(ends.partition_point(|end| *end <= row))));
        }
        let resumed = plan.resumed(at, steps);
        let steps = resumed.as_deref().or(steps);
        let groups = ColumnGroups { arrays: &arrays, rows, ends, steps, pass_single: plan.pass_single };
        rule.function.aggregate(&groups).map_err(|e| named(e.error, e.group))
    }

    /// Whether the function of a column remembers that it has seen a record.
    fn seen(&self, at: usize, rule: &ColumnRule, plan: &ColumnPlan<'_>, steps: Option<&[AggStep]>) -> Result<bool> {
        let (arrays, resumed) = (arrays_of(plan.sources, at), plan.resumed(at, steps));
        let groups = ColumnGroups {
            arrays: &arrays,
            rows: plan.rows,
            ends: plan.ends,
            steps: resumed.as_deref().or(steps),
            pass_single: plan.pass_single,
        };
        rule.function.has_seen(&groups).map_err(|e| self.of_column(rule, plan, e.error, e.group))
    }

    /// A column of results, without null where the table wants none.
    fn checked(&self, at: usize, rule: &ColumnRule, plan: &ColumnPlan<'_>, result: ArrayRef) -> Result<ArrayRef> {
        let nullable = self.layout.fields.get(at).is_none_or(|field| field.data_type.nullable);
        if !nullable && result.null_count() > 0 {
            let retracts = |group: usize| plan.kinds.get(group).is_some_and(|kind| is_retract(*kind));
            let group = (0..result.len()).find(|group| result.is_null(*group) && !retracts(*group));
            if group.is_none() {
                // rows that are taken back keep what they were taken back with
                let last = gather(&arrays_of(plan.sources, at), &plan.last)?;
                return Ok(zip::zip(&is_not_null(&result)?, &result, &last)?);
            }
            let message = format!("merging leaves no value in the NOT NULL column '{}'", rule.name);
            let error = Error::new(ErrorKind::NullInKey, message)
                .hint("make the column nullable, or write a value into it with every row");
            return Err(self.of_column(rule, plan, error, group));
        }
        Ok(result)
    }

    /// An error with the column, and the record's key when it is one group's.
    fn of_column(&self, rule: &ColumnRule, plan: &ColumnPlan<'_>, error: Error, group: Option<usize>) -> Error {
        let error = match group.and_then(|group| plan.place(group)) {
            Some(place) => self.named(error, plan.sources, place),
            None => error.with("table", self.table()),
        };
        // only the keys of nested rows are looked at by functions
        let option = match error.kind() {
            ErrorKind::NullInKey if error.hint_text().is_none() => {
                format!("fields.{}.nested-key-null-strategy", rule.name)
            }
            _ => rule.option.clone(),
        };
        let error = advised(error.with("column", &rule.name).with("option", option), rule);
        match rule.role {
            ColumnRole::Sequence(_) | ColumnRole::Protected(_) => error,
            ColumnRole::Plain | ColumnRole::Aggregated(_) => error.with("function", rule.function.name()),
        }
    }

    /// The error of a record, with its table and key.
    pub(super) fn named(&self, error: Error, sources: &[RecordBatch], (source, row): (usize, usize)) -> Error {
        self.names.named(error, &self.layout, sources.get(source), row)
    }

    /// The table's name.
    pub(super) fn table(&self) -> &str {
        self.names.table()
    }
}

/// What to do about a value that a function cannot compute: functions do not know their column.
fn advised(error: Error, rule: &ColumnRule) -> Error {
    let name = &rule.name;
    let hint = match error.kind() {
        ErrorKind::DeleteNotAllowed => format!(
            "set 'fields.{name}.ignore-retract' = 'true' to keep the value, or 'ignore-delete' = 'true' to drop such \
             records"
        ),
        ErrorKind::LengthExceeded => format!(
            "give '{name}' a wider type (alter().set_type), or, where the rows are committed already, roll the table \
             back to a snapshot before them"
        ),
        ErrorKind::NullInKey if error.hint_text().is_none() => format!(
            "'fields.{name}.nested-key-null-strategy' = 'ignore' leaves such rows out, 'merge' takes null as a value"
        ),
        _ => return error,
    };
    error.hint(hint)
}

impl ColumnPlan<'_> {
    /// What every record does to the columns of a class; `None`: it is added.
    fn steps_of(&self, class: usize) -> Option<&[AggStep]> {
        self.steps.get(class).and_then(|steps| steps.as_deref())
    }

    /// The steps of a column whose function remembers the records that the first one stands for.
    fn resumed(&self, column: usize, steps: Option<&[AggStep]>) -> Option<Vec<AggStep>> {
        let mut steps = steps.filter(|_| self.seen.get(column) == Some(&true))?.to_vec();
        *steps.first_mut()? = AggStep::Resume;
        Some(steps)
    }

    /// The first record of a group.
    fn place(&self, group: usize) -> Option<(usize, usize)> {
        let start = group.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied())?;
        self.rows.get(start).copied()
    }
}

/// One column of all sources.
pub(super) fn arrays_of(sources: &[RecordBatch], column: usize) -> Vec<ArrayRef> {
    sources.iter().filter_map(|source| source.columns().get(column)).map(Arc::clone).collect()
}

/// Row kinds of the records.
pub(super) struct Kinds<'a> {
    kinds: Vec<&'a [i8]>,
    /// whether any record of the sources is -U or -D
    pub(super) retracts: bool,
}

impl Kinds<'_> {
    #[inline]
    pub(super) fn of(&self, (source, row): (usize, usize)) -> i8 {
        self.kinds.get(source).and_then(|kinds| kinds.get(row)).copied().unwrap_or_default()
    }
}

/// +I as it is stored.
pub(super) const INSERT: i8 = 0;
/// -D as it is stored.
pub(super) const DELETE: i8 = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{merge_tree::records::is_retract, row::RowKind};

    #[test]
    fn kinds_are_those_of_the_format() {
        assert_eq!((INSERT, DELETE), (RowKind::Insert.to_byte(), RowKind::Delete.to_byte()));
        assert!([RowKind::UpdateBefore, RowKind::Delete].iter().all(|kind| is_retract(kind.to_byte())));
        assert!(![RowKind::Insert, RowKind::UpdateAfter].iter().any(|kind| is_retract(kind.to_byte())));
    }
}
