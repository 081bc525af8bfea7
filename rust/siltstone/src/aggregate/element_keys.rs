//! Elements by their bytes: which are equal, and which comes first.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use arrow_array::{
    Array, ArrayRef, ListArray, MapArray, StructArray,
    cast::AsArray,
    types::{Float32Type, Float64Type},
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_row::{RowConverter, Rows, SortField};
use arrow_schema::{DataType as Arrow, Field};

use super::elements::{NESTED, take_rows};
use crate::{Result, cancel::Work, limits};

/// Bytes that a key has beside those of its values: where it begins, and marks of the encoding.
const KEY: usize = 16;

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
        let bytes = |column: &ArrayRef| column.get_array_memory_size().saturating_add(column.len().saturating_mul(KEY));
        limits::ask_for_part(columns.iter().map(bytes).fold(0, usize::saturating_add), NESTED)?;
        Ok(Self { rows: RowConverter::new(fields)?.convert_columns(&columns)?, nulls })
    }

    /// The key of row `row`.
    pub(super) fn get(&self, row: usize) -> &[u8] {
        self.rows.row(row).data()
    }

    /// The first row of each key; an error when the work is to stop.
    pub(super) fn distinct(&self, mut rows: Vec<usize>) -> Result<Vec<usize>> {
        let mut seen = HashSet::with_capacity(rows.len());
        let mut work = Work::default();
        let mut stopped = Ok(());
        rows.retain(|row| {
            if stopped.is_ok() {
                stopped = work.done(1);
            }
            stopped.is_ok() && seen.insert(self.get(*row))
        });
        stopped.map(|()| rows)
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
    places: HashMap<&'a [u8], usize>,
    work: Work,
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

    /// Puts an element in the place of the one with the same key, or at the end; an error when the work is to stop.
    pub(super) fn put(&mut self, key: &'a [u8], element: usize) -> Result<()> {
        self.work.done(1)?;
        let end = self.elements.len();
        let place = *self.places.entry(key).or_insert(end);
        match self.elements.get_mut(place) {
            Some(slot) => *slot = Some(element),
            None => self.elements.push(Some(element)),
        }
        Ok(())
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
