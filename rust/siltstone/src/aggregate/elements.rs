//! Functions over the elements of arrays and the entries of maps.
//!
//! The records of all groups are gathered into one array; from then on an accumulated value is a list of element
//! numbers, equality and order are those of row-encoded bytes ([`super::element_keys`]), and what remains is copied once, at the end.
//! No element is decoded on its own.

use std::{cell::RefCell, fmt, sync::Arc};

use arrow_array::{Array, ArrayRef, ListArray, MapArray, UInt64Array, cast::AsArray};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::DataType as Arrow;
use arrow_select::take::take;

use super::{AggStep, AggregateFunction, Aggregated, ColumnGroups, error::no_retract, gather::gather};
use crate::{Error, ErrorKind, Result, cancel, limits, row::memory_of};

/// What needs memory, for messages.
pub(super) const NESTED: &str = "merging arrays and maps of one batch";
/// Memory of an element while two values become one: its number, and its place in a table by key, each once more while a list
/// or a table grows.
const MERGING: usize = 160;

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

    /// Whether `agg` of several inputs, one after another, is `agg` of one with the elements of all.
    fn takes_many(&self) -> bool {
        false
    }

    /// [`AggregateFunction::adds_ahead`]
    fn adds_ahead(&self) -> bool {
        true
    }

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

    fn adds_ahead(&self) -> bool {
        self.0.adds_ahead()
    }

    fn aggregate(&self, groups: &ColumnGroups<'_>) -> Aggregated {
        let nested = Nested::new(gather(groups.arrays, groups.rows)?)?;
        let mut rows = Vec::new();
        limits::reserve(&mut rows, groups.rows.len(), NESTED)?;
        rows.extend((0..groups.rows.len()).map(|row| (0, row)));
        let mut values = self.0.values(&nested.elements)?;
        let mut results = Results::default();
        let steps = RefCell::new(Steps { function: &self.0, values: &mut values });
        ColumnGroups { rows: &rows, ..*groups }.walk(
            Accumulated::default,
            |acc, step, (_, row)| steps.borrow_mut().step(acc, step, nested.row(row)?),
            |mut acc| {
                steps.borrow_mut().flush(&mut acc)?;
                results.push(acc.value)
            },
        )?;
        let elements = self.0.take(&values, &nested.elements, &results.elements)?;
        Ok(nested.with(results, elements)?)
    }
}

/// The accumulated value of a group, and elements that are still to be added to it.
#[derive(Default)]
struct Accumulated {
    value: Elements,
    to_add: Option<Vec<usize>>,
}

/// Records of a group, one after another.
struct Steps<'a, F: ElementFunction> {
    function: &'a F,
    values: &'a mut F::Values,
}

impl<F: ElementFunction> Steps<'_, F> {
    fn step(&mut self, acc: &mut Accumulated, step: AggStep, input: Elements) -> Result<()> {
        if let (AggStep::Add, Some(input), Some(_)) = (step, &input, &acc.value)
            && self.function.takes_many()
        {
            let to_add = acc.to_add.get_or_insert_default();
            limits::grow(to_add, input.len(), NESTED)?;
            to_add.extend(input);
            return Ok(());
        }
        self.flush(acc)?;
        let before = acc.value.take();
        acc.value = match step {
            AggStep::Skip => before,
            AggStep::Set | AggStep::Resume => input,
            AggStep::Clear => None,
            AggStep::Add => self.two(before, input, F::agg)?,
            AggStep::AddReversed => self.two(before, input, F::agg_reversed)?,
            AggStep::Retract => self.two(before, input, F::retract)?,
        };
        Ok(())
    }

    /// Adds what is still to be added.
    fn flush(&mut self, acc: &mut Accumulated) -> Result<()> {
        if let Some(input) = acc.to_add.take() {
            let before = acc.value.take();
            acc.value = self.two(before, Some(input), F::agg)?;
        }
        Ok(())
    }

    fn two(
        &mut self,
        acc: Elements,
        input: Elements,
        make: impl Fn(&F, &mut F::Values, Elements, Elements) -> Result<Elements>,
    ) -> Result<Elements> {
        cancel::check()?;
        let elements = acc.as_ref().map_or(0, Vec::len) + input.as_ref().map_or(0, Vec::len);
        limits::ask_for_part(elements.saturating_mul(MERGING), NESTED)?;
        make(self.function, self.values, acc, input)
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

    fn row(&self, row: usize) -> Result<Elements> {
        let (Some(from), Some(to)) = (self.offsets.get(row), self.offsets.get(row + 1)) else { return Ok(None) };
        if self.column.is_null(row) {
            return Ok(None);
        }
        let mut elements = Vec::new();
        limits::reserve(&mut elements, to.saturating_sub(*from), NESTED)?;
        elements.extend(*from..*to);
        Ok(Some(elements))
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
        let result = result.unwrap_or_default();
        limits::grow(&mut self.elements, result.len(), NESTED)?;
        self.elements.extend(result);
        let end = i32::try_from(self.elements.len()).map_err(|_| {
            Error::new(ErrorKind::MemoryLimitExceeded, "aggregated arrays of one batch hold more than 2^31 elements")
        })?;
        self.ends.push(end);
        Ok(())
    }
}

/// The rows of `array` at these places, `None` being null.
pub(super) fn take_rows(array: &ArrayRef, rows: impl ExactSizeIterator<Item = Option<usize>>) -> Result<ArrayRef> {
    limits::ask_for_part(rows.len().saturating_mul(16), NESTED)?;
    let rows: UInt64Array = rows.map(|row| row.and_then(|row| u64::try_from(row).ok())).collect();
    let places = rows.iter().flatten().filter_map(|row| usize::try_from(row).ok()).map(|row| (0, row));
    limits::ask_for_part(memory_of(std::slice::from_ref(array), places), NESTED)?;
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
