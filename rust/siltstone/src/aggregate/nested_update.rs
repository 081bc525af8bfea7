//! `nested_update`: the rows of arrays as a nested table (semantics b.7; `FieldNestedUpdateAgg`).
//!
//! With `fields.<f>.nested-key` a row takes the place of the one with the same key, unless `nested-sequence-field` says
//! that it is older; without, rows are appended. New rows come in only below `count-limit`.
//! Rows with a key come in the order of Java's `HashMap`.

use std::{collections::HashSet, sync::Arc};

use arrow_array::{Array, ArrayRef};

use super::{
    AggregateFunction, FieldOptions,
    element_keys::{ByKey, Keys},
    elements::{ElementFunction, Elements, OverElements, columns_of},
    nested_key::{KeyedRows, NestedKey, field_numbers, is_nested_table, needs_key},
    options::NO_COUNT_LIMIT,
};
use crate::{
    Result,
    types::{DataField, DataType},
};

/// ARRAY<ROW>.
pub(super) fn accepts(data_type: &DataType) -> bool {
    is_nested_table(data_type)
}

/// Fields that nested rows do not have, and options that need a nested key, are `InvalidOption` errors.
pub(super) fn new(field: &DataField, options: &FieldOptions) -> Result<Arc<dyn AggregateFunction>> {
    needs_key(field, options)?;
    let key = NestedKey::new(field, options)?;
    let sequence = field_numbers(field, "nested-sequence-field", &options.nested_sequence_field)?;
    if key.is_empty() {
        return Ok(Arc::new(OverElements(Append { limit: options.count_limit })));
    }
    Ok(Arc::new(OverElements(Update { key, sequence, limit: options.count_limit })))
}

/// Below a limit it matters which rows are there first.
fn is_without_limit(limit: usize) -> bool {
    limit >= NO_COUNT_LIMIT
}

/// Without a key.
#[derive(Debug)]
struct Append {
    limit: usize,
}

/// All nested rows, and which of them are null.
#[derive(Debug)]
struct WholeRows {
    keys: Keys,
    rows: ArrayRef,
}

impl ElementFunction for Append {
    type Values = WholeRows;

    const NAME: &'static str = "nested_update";
    const RETRACTS: bool = true;

    fn adds_ahead(&self) -> bool {
        is_without_limit(self.limit)
    }

    fn values(&self, rows: &ArrayRef) -> Result<WholeRows> {
        Ok(WholeRows { keys: Keys::of(std::slice::from_ref(rows))?, rows: Arc::clone(rows) })
    }

    fn agg(&self, values: &mut WholeRows, acc: Elements, input: Elements) -> Result<Elements> {
        let Some(input) = input else { return Ok(acc) };
        // the first array is taken as it is
        let Some(mut all) = acc else { return Ok(Some(input)) };
        // rows that are null count here, as in Java, but do not stay
        let Some(room) = self.limit.checked_sub(all.len()).filter(|room| *room > 0) else { return Ok(Some(all)) };
        all.retain(|row| values.rows.is_valid(*row));
        all.extend(input.into_iter().filter(|row| values.rows.is_valid(*row)).take(room));
        Ok(Some(all))
    }

    fn retract(&self, values: &mut WholeRows, acc: Elements, input: Elements) -> Result<Elements> {
        let Some(input) = input else { return Ok(acc) };
        let Some(mut acc) = acc else { return Ok(None) };
        let taken: HashSet<&[u8]> = input.iter().map(|row| values.keys.get(*row)).collect();
        acc.retain(|row| values.rows.is_valid(*row) && !taken.contains(values.keys.get(*row)));
        Ok(Some(acc))
    }
}

/// With a key.
#[derive(Debug)]
struct Update {
    key: NestedKey,
    sequence: Vec<usize>,
    limit: usize,
}

/// All nested rows.
#[derive(Debug)]
struct SequencedRows {
    keys: KeyedRows,
    sequence: Option<Keys>,
}

impl SequencedRows {
    fn is_newer(&self, row: usize, before: usize) -> bool {
        self.sequence.as_ref().is_none_or(|sequence| sequence.get(row) >= sequence.get(before))
    }
}

impl Update {
    /// Up to Paimon 1.4: the first array is taken as it is, a full one stays as it is, and what comes in is cut to the
    /// room that is left before rows of known keys are replaced.
    fn agg_before_2_0(&self, values: &SequencedRows, acc: Elements, input: Vec<usize>) -> Result<Elements> {
        let Some(acc) = acc else { return Ok(Some(input)) };
        let Some(room) = self.limit.checked_sub(acc.len()).filter(|room| *room > 0) else { return Ok(Some(acc)) };
        let mut table = ByKey::default();
        for row in acc {
            if let Some(key) = values.keys.key(row)? {
                table.put(key, row)?;
            }
        }
        let mut taken = 0;
        for row in input {
            let Some(key) = values.keys.key(row)?.filter(|_| taken < room) else { continue };
            taken += 1;
            table.put(key, row)?;
        }
        let mut rows = table.into_elements();
        let most = rows.len();
        values.keys.order.arrange(&mut rows, most);
        Ok(Some(rows))
    }
}

impl ElementFunction for Update {
    type Values = SequencedRows;

    const NAME: &'static str = "nested_update";
    const RETRACTS: bool = true;

    fn adds_ahead(&self) -> bool {
        is_without_limit(self.limit)
    }

    fn takes_many(&self) -> bool {
        self.key.is_strategic() || !self.sequence.is_empty()
    }

    fn values(&self, rows: &ArrayRef) -> Result<SequencedRows> {
        let sequence =
            if self.sequence.is_empty() { None } else { Some(Keys::of(&columns_of(rows, &self.sequence)?)?) };
        Ok(SequencedRows { keys: self.key.of(rows)?, sequence })
    }

    fn agg(&self, values: &mut SequencedRows, acc: Elements, input: Elements) -> Result<Elements> {
        let Some(input) = input else { return Ok(acc) };
        if !self.key.is_strategic() && self.sequence.is_empty() {
            return self.agg_before_2_0(values, acc, input);
        }
        let acc = acc.unwrap_or_default();
        let mut table = ByKey::default();
        let limits = std::iter::repeat_n(usize::MAX, acc.len()).chain(std::iter::repeat(self.limit));
        for (row, limit) in acc.into_iter().chain(input).zip(limits) {
            let Some(key) = values.keys.key(row)? else { continue };
            let room = table.len() < limit;
            match table.get(key) {
                Some(before) if values.is_newer(row, before) => table.put(key, row)?,
                None if room => table.put(key, row)?,
                _ => {}
            }
        }
        let mut rows = table.into_elements();
        let most = rows.len();
        values.keys.order.arrange(&mut rows, most);
        Ok(Some(rows))
    }

    fn retract(&self, values: &mut SequencedRows, acc: Elements, input: Elements) -> Result<Elements> {
        let (Some(acc), Some(input)) = (&acc, input) else { return Ok(acc) };
        let mut table = ByKey::default();
        for row in acc {
            if let Some(key) = values.keys.key(*row)? {
                table.put(key, *row)?;
            }
        }
        let most = table.len();
        for row in input {
            if let Some(key) = values.keys.key(row)? {
                table.remove(key);
            }
        }
        let mut rows = table.into_elements();
        values.keys.order.arrange(&mut rows, most);
        Ok(Some(rows))
    }
}
