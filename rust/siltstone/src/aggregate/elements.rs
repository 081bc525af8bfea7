//! Functions over the elements of arrays and the entries of maps.
//!
//! The records of all groups are gathered into one array; from then on an accumulated value is a list of element
//! numbers, equality and order are those of row-encoded bytes ([`Keys`]), and what remains is copied once, at the end.
//! No element is decoded on its own.

use std::{fmt, sync::Arc};

use arrow_array::{
    Array, ArrayRef, ListArray, MapArray, StructArray, UInt64Array,
    cast::AsArray,
    types::{Float32Type, Float64Type},
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_row::{RowConverter, Rows, SortField};
use arrow_schema::{DataType as Arrow, Field};
use arrow_select::take::take;

use super::{AggStep, AggregateFunction, Aggregated, ColumnGroups, error::no_retract, gather::gather};
use crate::{Error, ErrorKind, Result};

/// An array or map as element numbers; `None` is null.
pub(super) type Elements = Option<Vec<usize>>;

/// A function of arrays or maps.
pub(super) trait ElementFunction: Send + Sync + fmt::Debug {
    /// What it knows of all elements of the column, and may add to.
    type Values;

    /// Its name in options.
    const NAME: &'static str;
    /// Whether [`ElementFunction::retract`] is written.
    const RETRACTS: bool = false;

    /// Looks at all elements: those of the lists, or the entries of the maps as structs.
    fn values(&self, elements: &ArrayRef) -> Result<Self::Values>;

    /// `agg(acc, input)`
    fn agg(&self, values: &mut Self::Values, acc: Elements, input: Elements) -> Result<Elements>;

    /// `aggReversed(acc, input)`
    fn agg_reversed(&self, values: &mut Self::Values, acc: Elements, input: Elements) -> Result<Elements> {
        self.agg(values, input, acc)
    }

    /// `retract(acc, input)`
    fn retract(&self, _values: &mut Self::Values, _acc: Elements, _input: Elements) -> Result<Elements> {
        Err(no_retract(Self::NAME))
    }

    /// The elements of these numbers.
    fn take(&self, _values: &Self::Values, elements: &ArrayRef, numbers: &[usize]) -> Result<ArrayRef> {
        take_rows(elements, numbers.iter().copied().map(Some))
    }
}

/// An [`ElementFunction`] as an aggregate function.
#[derive(Debug)]
pub(super) struct OverElements<F>(pub(super) F);

impl<F: ElementFunction> AggregateFunction for OverElements<F> {
    fn name(&self) -> &'static str {
        F::NAME
    }

    fn retracts(&self) -> bool {
        F::RETRACTS
    }

    fn aggregate(&self, groups: &ColumnGroups<'_>) -> Aggregated {
        let nested = Nested::new(gather(groups.arrays, groups.rows)?)?;
        let rows: Vec<(usize, usize)> = (0..groups.rows.len()).map(|row| (0, row)).collect();
        let mut values = self.0.values(&nested.elements)?;
        let mut results = Results::default();
        ColumnGroups { rows: &rows, ..*groups }.walk(
            || None,
            |acc: &mut Elements, step, (_, row)| {
                let input = nested.row(row);
                *acc = match step {
                    AggStep::Skip => return Ok(()),
                    AggStep::Set | AggStep::Resume => input,
                    AggStep::Clear => None,
                    AggStep::Add => self.0.agg(&mut values, acc.take(), input)?,
                    AggStep::AddReversed => self.0.agg_reversed(&mut values, acc.take(), input)?,
                    AggStep::Retract => self.0.retract(&mut values, acc.take(), input)?,
                };
                Ok(())
            },
            |acc| results.push(acc),
        )?;
        let elements = self.0.take(&values, &nested.elements, &results.elements)?;
        Ok(nested.with(results, elements)?)
    }
}

/// A column of lists or maps, taken apart.
struct Nested {
    column: ArrayRef,
    offsets: Vec<usize>,
    elements: ArrayRef,
}

impl Nested {
    fn new(column: ArrayRef) -> Result<Self> {
        let (offsets, elements): (&[i32], ArrayRef) = match column.data_type() {
            Arrow::List(_) => {
                let list = column.as_list::<i32>();
                (list.value_offsets(), Arc::clone(list.values()))
            }
            Arrow::Map(..) => {
                let map = column.as_map();
                (map.value_offsets(), Arc::new(map.entries().clone()))
            }
            other => return Err(Error::new(ErrorKind::Internal, format!("{other} has no elements"))),
        };
        let offsets = offsets.iter().map(|offset| usize::try_from(*offset).unwrap_or_default()).collect();
        Ok(Self { column, offsets, elements })
    }

    fn row(&self, row: usize) -> Elements {
        let (from, to) = (*self.offsets.get(row)?, *self.offsets.get(row + 1)?);
        self.column.is_valid(row).then(|| (from..to).collect())
    }

    /// A column of the same type with these results.
    fn with(&self, results: Results, elements: ArrayRef) -> Result<ArrayRef> {
        let offsets = OffsetBuffer::new(results.ends.into());
        let nulls = Some(NullBuffer::from(results.valid));
        Ok(match self.column.data_type() {
            Arrow::List(field) => Arc::new(ListArray::try_new(Arc::clone(field), offsets, elements, nulls)?),
            Arrow::Map(field, sorted) => {
                let entries = elements.as_struct().clone();
                Arc::new(MapArray::try_new(Arc::clone(field), offsets, entries, nulls, *sorted)?)
            }
            other => return Err(Error::new(ErrorKind::Internal, format!("{other} has no elements"))),
        })
    }
}

/// The accumulated values of all groups, one after another.
struct Results {
    elements: Vec<usize>,
    ends: Vec<i32>,
    valid: Vec<bool>,
}

impl Default for Results {
    fn default() -> Self {
        Self { elements: Vec::new(), ends: vec![0], valid: Vec::new() }
    }
}

impl Results {
    fn push(&mut self, result: Elements) -> Result<()> {
        self.valid.push(result.is_some());
        self.elements.extend(result.unwrap_or_default());
        let end = i32::try_from(self.elements.len()).map_err(|_| {
            Error::new(ErrorKind::MemoryLimitExceeded, "aggregated arrays of one batch hold more than 2^31 elements")
        })?;
        self.ends.push(end);
        Ok(())
    }
}

/// The rows of `array` at these places, `None` being null.
pub(super) fn take_rows(array: &ArrayRef, rows: impl Iterator<Item = Option<usize>>) -> Result<ArrayRef> {
    let rows: UInt64Array = rows.map(|row| row.and_then(|row| u64::try_from(row).ok())).collect();
    Ok(take(array.as_ref(), &rows, None)?)
}

/// The fields `names` of rows, in that order; their types must be known to be there.
pub(super) fn columns_of(rows: &ArrayRef, fields: &[usize]) -> Result<Vec<ArrayRef>> {
    let rows = rows.as_struct_opt().ok_or_else(|| Error::new(ErrorKind::Internal, "elements are not rows"))?;
    let column = |field: &usize| {
        let missing = || Error::new(ErrorKind::Internal, format!("a nested row has no field {field}"));
        rows.columns().get(*field).cloned().ok_or_else(missing)
    };
    fields.iter().map(column).collect()
}

/// Bytes of values that are equal, and ordered, as the values: nulls first, texts and bytes unsigned.
///
/// As in Java's `equals`, all NaNs are one value and -0.0 is not 0.0; maps are equal whatever the order of their
/// entries.
#[derive(Debug)]
pub(super) struct Keys {
    rows: Rows,
    nulls: Option<NullBuffer>,
}

impl Keys {
    /// One key for each row of these columns.
    pub(super) fn of(columns: &[ArrayRef]) -> Result<Self> {
        let columns = columns.iter().map(normal).collect::<Result<Vec<_>>>()?;
        let nulls = columns.iter().fold(None, |nulls, column| NullBuffer::union(nulls.as_ref(), column.nulls()));
        let fields = columns.iter().map(|column| SortField::new(column.data_type().clone())).collect();
        Ok(Self { rows: RowConverter::new(fields)?.convert_columns(&columns)?, nulls })
    }

    /// The key of row `row`.
    pub(super) fn get(&self, row: usize) -> &[u8] {
        self.rows.row(row).data()
    }

    /// Whether one of the columns is null there.
    pub(super) fn any_null(&self, row: usize) -> bool {
        self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row))
    }
}

/// The same values in a form whose equality is that of its bytes.
fn normal(array: &ArrayRef) -> Result<ArrayRef> {
    Ok(match array.data_type() {
        Arrow::Float32 => Arc::new(
            array.as_primitive::<Float32Type>().unary::<_, Float32Type>(|v| if v.is_nan() { f32::NAN } else { v }),
        ),
        Arrow::Float64 => Arc::new(
            array.as_primitive::<Float64Type>().unary::<_, Float64Type>(|v| if v.is_nan() { f64::NAN } else { v }),
        ),
        Arrow::List(field) => {
            let list = array.as_list::<i32>();
            let values = normal(list.values())?;
            let field = Field::new(field.name(), values.data_type().clone(), true);
            Arc::new(ListArray::try_new(Arc::new(field), list.offsets().clone(), values, list.nulls().cloned())?)
        }
        Arrow::Struct(fields) if !fields.is_empty() => {
            let row = array.as_struct();
            let columns = row.columns().iter().map(normal).collect::<Result<Vec<_>>>()?;
            let field = |(f, c): (&Arc<Field>, &ArrayRef)| Field::new(f.name(), c.data_type().clone(), true);
            let fields = fields.iter().zip(&columns).map(field).collect();
            Arc::new(StructArray::try_new(fields, columns, row.nulls().cloned())?)
        }
        Arrow::Map(..) => sorted_entries(array.as_map())?,
        _ => Arc::clone(array),
    })
}

/// Maps as lists of entries in the order of their keys.
fn sorted_entries(map: &MapArray) -> Result<ArrayRef> {
    let keys = Keys::of(&[Arc::clone(map.keys())])?;
    let mut order = Vec::with_capacity(map.entries().len());
    let mut ends = vec![0_i32];
    for row in 0..map.len() {
        let start = order.len();
        if let [from, to] = map.value_offsets().get(row..row + 2).unwrap_or_default() {
            order.extend((*from..*to).filter_map(|entry| usize::try_from(entry).ok()));
        }
        if let Some(entries) = order.get_mut(start..) {
            entries.sort_by(|a, b| keys.get(*a).cmp(keys.get(*b)));
        }
        ends.push(i32::try_from(order.len()).unwrap_or(i32::MAX));
    }
    let entries: ArrayRef = Arc::new(map.entries().clone());
    let entries = normal(&take_rows(&entries, order.into_iter().map(Some))?)?;
    let field = Field::new("entries", entries.data_type().clone(), true);
    Ok(Arc::new(ListArray::try_new(Arc::new(field), OffsetBuffer::new(ends.into()), entries, map.nulls().cloned())?))
}

/// Elements with one key each, in the order in which keys came first.
#[derive(Debug, Default)]
pub(super) struct ByKey<'a> {
    elements: Vec<Option<usize>>,
    places: std::collections::HashMap<&'a [u8], usize>,
}

impl<'a> ByKey<'a> {
    /// The element of this key.
    pub(super) fn get(&self, key: &[u8]) -> Option<usize> {
        self.elements.get(*self.places.get(key)?).copied().flatten()
    }

    /// Number of keys.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// Puts an element in the place of the one with the same key, or at the end.
    pub(super) fn put(&mut self, key: &'a [u8], element: usize) {
        let end = self.elements.len();
        let place = *self.places.entry(key).or_insert(end);
        match self.elements.get_mut(place) {
            Some(slot) => *slot = Some(element),
            None => self.elements.push(Some(element)),
        }
    }

    /// Takes a key out.
    pub(super) fn remove(&mut self, key: &[u8]) {
        if let Some(slot) = self.places.remove(key).and_then(|place| self.elements.get_mut(place)) {
            *slot = None;
        }
    }

    /// The elements that are left.
    pub(super) fn into_elements(self) -> Vec<usize> {
        self.elements.into_iter().flatten().collect()
    }
}
