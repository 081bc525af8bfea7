//! `nested_partial_update`: rows of arrays with the same nested key become one row, of which each field keeps its newest
//! value that is not null (semantics b.7; `FieldNestedPartialUpdateAgg`).

use std::{collections::HashMap, sync::Arc};

use arrow_array::{Array, ArrayRef, StructArray, cast::AsArray};

use super::{
    AggregateFunction, FieldOptions,
    elements::{ElementFunction, Elements, NESTED, OverElements, take_rows},
    nested_key::{KeyedRows, NestedKey, is_nested_table},
};
use crate::{
    Error, ErrorKind, Result,
    cancel::Work,
    limits,
    types::{DataField, DataType},
};

/// ARRAY<ROW>.
pub(super) fn accepts(data_type: &DataType) -> bool {
    is_nested_table(data_type)
}

/// No nested key, or one of fields that nested rows do not have, is an `InvalidOption`.
pub(super) fn new(field: &DataField, options: &FieldOptions) -> Result<Arc<dyn AggregateFunction>> {
    let key = NestedKey::new(field, options)?;
    if key.is_empty() {
        let option = format!("fields.{}.nested-key", field.name);
        return Err(Error::new(ErrorKind::InvalidOption, format!("nested_partial_update needs '{option}'"))
            .with("option", option)
            .hint("name the fields that identify a nested row, separated by commas"));
    }
    Ok(Arc::new(OverElements(NestedPartialUpdate { key })))
}

#[derive(Debug)]
struct NestedPartialUpdate {
    key: NestedKey,
}

/// The nested rows of the column, and behind them, in numbers, rows put together of their fields.
#[derive(Debug)]
struct Composing {
    keys: KeyedRows,
    rows: StructArray,
    composed: Vec<Composed>,
}

/// A row made of the fields of others.
#[derive(Debug)]
struct Composed {
    /// A row with its key.
    like: usize,
    /// For each field the row it is taken from; none: null.
    fields: Vec<Option<usize>>,
}

impl Composing {
    /// The row of the column that has the key of row `row`.
    fn like(&self, row: usize) -> usize {
        row.checked_sub(self.rows.len()).and_then(|i| self.composed.get(i)).map_or(row, |composed| composed.like)
    }

    /// Where the fields of row `row` come from; none: null.
    fn fields(&self, row: usize) -> Vec<Option<usize>> {
        match row.checked_sub(self.rows.len()).and_then(|i| self.composed.get(i)) {
            Some(composed) => composed.fields.clone(),
            None => self.rows.columns().iter().map(|column| column.is_valid(row).then_some(row)).collect(),
        }
    }

    /// Writes the fields of `row` that are not null over those of the composed row `onto`.
    fn update(&mut self, onto: usize, row: usize) {
        let fields = self.fields(row);
        let composed = onto.checked_sub(self.rows.len()).and_then(|i| self.composed.get_mut(i));
        for (field, newer) in composed.into_iter().flat_map(|c| &mut c.fields).zip(fields) {
            *field = newer.or(*field);
        }
    }

    fn compose(&mut self, row: usize) -> usize {
        if row >= self.rows.len() {
            return row;
        }
        self.composed.push(Composed { like: row, fields: self.fields(row) });
        self.rows.len() + self.composed.len() - 1
    }
}

impl ElementFunction for NestedPartialUpdate {
    type Values = Composing;

    const NAME: &'static str = "nested_partial_update";

    fn values(&self, rows: &ArrayRef) -> Result<Composing> {
        Ok(Composing { keys: self.key.of(rows)?, rows: rows.as_struct().clone(), composed: Vec::new() })
    }

    fn agg(&self, values: &mut Composing, acc: Elements, input: Elements) -> Result<Elements> {
        let Some(input) = input else { return Ok(acc) };
        if acc.is_none() && !self.key.is_strategic() {
            return Ok(Some(input)); // the first array is taken as it is
        }
        let mut places: HashMap<Vec<u8>, usize> = HashMap::new();
        let (mut table, mut most, mut work) = (Vec::new(), 0, Work::default());
        for row in acc.unwrap_or_default().into_iter().chain(input) {
            let Some(key) = values.keys.key(values.like(row))?.map(<[u8]>::to_vec) else { continue };
            work.done(values.rows.num_columns().max(1))?;
            // `computeIfAbsent` looks at the size before it adds
            most = table.len();
            if let Some(onto) = places.get(&key) {
                values.update(*onto, row);
            } else {
                let composed = values.compose(row);
                places.insert(key, composed);
                table.push(composed);
            }
        }
        // new entries go to the front of their place
        let mut like: Vec<usize> = table.iter().rev().map(|row| values.like(*row)).collect();
        let composed: HashMap<usize, usize> = like.iter().copied().zip(table.into_iter().rev()).collect();
        values.keys.order.arrange(&mut like, most);
        Ok(Some(like.iter().filter_map(|row| composed.get(row)).copied().collect()))
    }

    fn take(&self, values: &Composing, rows: &ArrayRef, numbers: &[usize]) -> Result<ArrayRef> {
        if numbers.iter().all(|row| *row < values.rows.len()) {
            return take_rows(rows, numbers.iter().copied().map(Some));
        }
        limits::ask_for_part(numbers.len().saturating_mul(24 + 16 * values.rows.num_columns()), NESTED)?;
        let from: Vec<Vec<Option<usize>>> = numbers.iter().map(|row| values.fields(*row)).collect();
        let column = |(field, column): (usize, &ArrayRef)| {
            take_rows(column, from.iter().map(|fields| fields.get(field).copied().flatten()))
        };
        let columns = values.rows.columns().iter().enumerate().map(column).collect::<Result<Vec<_>>>()?;
        // a row of the column that was not touched may be null
        let valid = numbers.iter().map(|row| *row >= values.rows.len() || values.rows.is_valid(*row));
        let valid = Some(valid.collect::<arrow_buffer::NullBuffer>()).filter(|valid| valid.null_count() > 0);
        Ok(Arc::new(StructArray::try_new(values.rows.fields().clone(), columns, valid)?))
    }
}
