//! Texts in lists. A row may have any number of them, and all of them may be one value of a dictionary; so they are
//! decoded as views, which need nothing for their bytes, and made arrays of their own for as many rows at once as have
//! few bytes together.

use std::{collections::VecDeque, sync::Arc};

use arrow_array::{Array, ArrayRef, ListArray, MapArray, RecordBatch, RecordBatchOptions, StructArray, cast::AsArray};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType as Arrow, Field, FieldRef, Fields, Schema};

use crate::{
    error::{Error, ErrorKind, Result},
    limits,
};

/// Bytes that the texts of a slice have at most, but for one of one row.
const MOST_BYTES: usize = 64 * 1024 * 1024;

/// The schema with views for the texts in lists; `None` where there are none.
pub(super) fn with_views(schema: &Schema) -> Option<Schema> {
    let fields = changed(schema.fields(), &|field| typed(field, false, &|t| view_of(t)))?;
    Some(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

fn view_of(t: &Arrow) -> Option<Arrow> {
    match t {
        Arrow::Utf8 => Some(Arrow::Utf8View),
        Arrow::Binary => Some(Arrow::BinaryView),
        _ => None,
    }
}

fn plain_of(t: &Arrow) -> Option<Arrow> {
    match t {
        Arrow::Utf8View => Some(Arrow::Utf8),
        Arrow::BinaryView => Some(Arrow::Binary),
        _ => None,
    }
}

/// A field whose texts in lists, or in whatever it is when it lies `inside` of one, have another type; `None`: it has none.
fn typed(field: &FieldRef, inside: bool, to: &dyn Fn(&Arrow) -> Option<Arrow>) -> Option<FieldRef> {
    let data_type = match field.data_type() {
        Arrow::List(element) => Arrow::List(typed(element, true, to)?),
        Arrow::Map(entries, sorted) => Arrow::Map(typed(entries, true, to)?, *sorted),
        Arrow::Struct(fields) => Arrow::Struct(changed(fields, &|field| typed(field, inside, to))?),
        other => to(other).filter(|_| inside)?,
    };
    Some(Arc::new(Field::clone(field).with_data_type(data_type)))
}

fn changed(fields: &Fields, change: &dyn Fn(&FieldRef) -> Option<FieldRef>) -> Option<Fields> {
    let new: Vec<Option<FieldRef>> = fields.iter().map(change).collect();
    let some = new.iter().any(Option::is_some);
    some.then(|| new.into_iter().zip(fields).map(|(new, old)| new.unwrap_or_else(|| Arc::clone(old))).collect())
}

/// A batch with views, and what is left of it.
#[derive(Default)]
pub(super) struct Slices(VecDeque<RecordBatch>);

impl Slices {
    /// All rows of a batch, in slices.
    pub(super) fn of(batch: RecordBatch) -> Self {
        let mut slices = Self::default();
        slices.add(batch);
        slices
    }

    fn add(&mut self, batch: RecordBatch) {
        let rows = batch.num_rows();
        if rows < 2 || texts(batch.columns()) <= MOST_BYTES {
            self.0.push_back(batch);
            return;
        }
        self.add(batch.slice(0, rows / 2));
        self.add(batch.slice(rows / 2, rows - rows / 2));
    }

    /// Whether all rows have come.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The next rows, without views; `None` after the last.
    pub(super) fn take_slice(&mut self) -> Result<Option<RecordBatch>> {
        let Some(batch) = self.0.pop_front() else { return Ok(None) };
        if !batch.columns().iter().any(|column| has_views(column.data_type())) {
            return Ok(Some(batch));
        }
        let bytes = texts(batch.columns());
        limits::ask(bytes, format_args!("the texts of {} rows", batch.num_rows()))?;
        // offsets have 31 bits
        if i32::try_from(bytes).is_err() {
            return Err(Error::new(ErrorKind::MemoryLimitExceeded, format!("the lists of a row have {bytes} bytes")));
        }
        let columns = batch.columns().iter().map(plain).collect::<Result<Vec<_>>>()?;
        let old = batch.schema_ref().fields();
        let fields = old
            .iter()
            .zip(&columns)
            .map(|(field, column)| Field::clone(field).with_data_type(column.data_type().clone()));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        Ok(Some(RecordBatch::try_new_with_options(schema, columns, &options)?))
    }
}

fn has_views(t: &Arrow) -> bool {
    match t {
        Arrow::List(element) | Arrow::Map(element, _) => has_views(element.data_type()),
        Arrow::Struct(fields) => fields.iter().any(|field| has_views(field.data_type())),
        other => plain_of(other).is_some(),
    }
}

/// Bytes of the views in these columns.
fn texts(columns: &[ArrayRef]) -> usize {
    columns.iter().map(bytes_of).fold(0, usize::saturating_add)
}

fn bytes_of(array: &ArrayRef) -> usize {
    // the low half of a view is its length
    let lengths = |views: &[u128]| {
        let length = |view: &u128| usize::try_from(*view & u128::from(u32::MAX)).unwrap_or(usize::MAX);
        views.iter().map(length).fold(0, usize::saturating_add)
    };
    match array.data_type() {
        t if !has_views(t) => 0,
        Arrow::Utf8View => lengths(array.as_string_view().views()),
        Arrow::BinaryView => lengths(array.as_binary_view().views()),
        Arrow::List(_) => bytes_of(&elements(array.as_list::<i32>().values(), array.as_list::<i32>().offsets()).1),
        Arrow::Map(..) => {
            let entries: ArrayRef = Arc::new(array.as_map().entries().clone());
            bytes_of(&elements(&entries, array.as_map().offsets()).1)
        }
        Arrow::Struct(_) => texts(array.as_struct().columns()),
        _ => 0,
    }
}

/// Those elements of lists that the lists have, and where each list begins.
fn elements(values: &ArrayRef, offsets: &OffsetBuffer<i32>) -> (OffsetBuffer<i32>, ArrayRef) {
    let (first, last) = (offsets.first().copied().unwrap_or(0), offsets.last().copied().unwrap_or(0));
    let at = |offset: i32| usize::try_from(offset).unwrap_or(0);
    let values = values.slice(at(first), at(last).saturating_sub(at(first)));
    let moved = offsets.iter().map(|offset| offset.saturating_sub(first));
    (OffsetBuffer::new(moved.collect()), values)
}

/// The array without views.
fn plain(array: &ArrayRef) -> Result<ArrayRef> {
    let with_type =
        |field: &FieldRef, values: &dyn Array| Arc::new(Field::clone(field).with_data_type(values.data_type().clone()));
    Ok(match array.data_type() {
        t if !has_views(t) => Arc::clone(array),
        Arrow::List(element) => {
            let list = array.as_list::<i32>();
            let (offsets, values) = elements(list.values(), list.offsets());
            let values = plain(&values)?;
            Arc::new(ListArray::try_new(with_type(element, &values), offsets, values, list.nulls().cloned())?)
        }
        Arrow::Map(entry, sorted) => {
            let map = array.as_map();
            let entries: ArrayRef = Arc::new(map.entries().clone());
            let (offsets, entries) = elements(&entries, map.offsets());
            let entries = plain(&entries)?;
            let field = with_type(entry, &entries);
            Arc::new(MapArray::try_new(field, offsets, entries.as_struct().clone(), map.nulls().cloned(), *sorted)?)
        }
        Arrow::Struct(fields) => {
            let of = array.as_struct();
            let columns = of.columns().iter().map(plain).collect::<Result<Vec<_>>>()?;
            let fields: Fields = fields.iter().zip(&columns).map(|(field, column)| with_type(field, column)).collect();
            Arc::new(StructArray::try_new_with_length(fields, columns, of.nulls().cloned(), of.len())?)
        }
        t => {
            let to = plain_of(t).unwrap_or_else(|| t.clone());
            arrow_cast::cast(array, &to)?
        }
    })
}

#[cfg(test)]
mod tests {
    use arrow_array::{
        builder::{ListBuilder, MapBuilder, StringBuilder},
        types::Int32Type,
    };

    use super::*;

    fn lists(rows: &[Option<Vec<Option<&str>>>]) -> ArrayRef {
        let mut builder = ListBuilder::new(StringBuilder::new());
        for row in rows {
            builder.append_option(row.clone());
        }
        Arc::new(builder.finish())
    }

    fn maps() -> ArrayRef {
        let mut builder = MapBuilder::new(None, StringBuilder::new(), StringBuilder::new());
        for row in 0..3 {
            for key in 0..row {
                builder.keys().append_value(format!("key {key}"));
                builder.values().append_option((key != 1).then(|| format!("value {row} {key}, which is long")));
            }
            builder.append(row != 1).unwrap();
        }
        Arc::new(builder.finish())
    }

    fn batch() -> RecordBatch {
        let texts = lists(&[Some(vec![Some("a"), None]), None, Some(vec![Some("a text of many bytes"), Some("")])]);
        let numbers: ArrayRef =
            Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>([None, Some(vec![Some(1)]), None]));
        let flat: ArrayRef = Arc::new(arrow_array::StringArray::from(vec!["x", "y", "z"]));
        let inside = StructArray::try_from(vec![("t", Arc::clone(&texts)), ("m", maps())]).unwrap();
        let columns: [(&str, ArrayRef); 5] =
            [("texts", texts), ("numbers", numbers), ("flat", flat), ("maps", maps()), ("inside", Arc::new(inside))];
        RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, column)| (name, column, true)))
            .unwrap()
    }

    fn viewed(batch: &RecordBatch) -> RecordBatch {
        let schema = with_views(batch.schema_ref()).unwrap();
        let columns = batch.columns().iter().zip(schema.fields());
        let columns = columns.map(|(column, field)| arrow_cast::cast(column, field.data_type()).unwrap()).collect();
        RecordBatch::try_new(Arc::new(schema), columns).unwrap()
    }

    #[test]
    fn texts_in_lists_are_views_and_come_back_as_they_were() {
        let batch = batch();
        let views = viewed(&batch);
        assert_eq!(views.column(2).data_type(), &Arrow::Utf8, "not in a list");
        for (start, length) in [(0, 3), (1, 2), (2, 1), (1, 0)] {
            let mut slices = Slices::of(views.slice(start, length));
            assert_eq!(slices.take_slice().unwrap().unwrap(), batch.slice(start, length));
            assert!(slices.take_slice().unwrap().is_none());
        }
        let numbers = batch.project(&[1, 2]).unwrap();
        assert!(with_views(numbers.schema_ref()).is_none());
    }

    /// A value of a megabyte, a thousand times in a list: a file of some kilobytes needed gigabytes.
    #[test]
    fn rows_come_in_slices_that_have_few_bytes() {
        let long = "x".repeat(1 << 20);
        let rows: Vec<Option<Vec<Option<&str>>>> =
            (0..7).map(|row| Some(vec![Some(long.as_str()); row * 10])).collect();
        let batch = RecordBatch::try_from_iter([("texts", lists(&rows))]).unwrap();
        let mut slices = Slices::of(viewed(&batch));
        let (mut read, mut counts) = (Vec::new(), Vec::new());
        while let Some(slice) = slices.take_slice().unwrap() {
            assert!(slice.num_rows() == 1 || slice.get_array_memory_size() < 2 * MOST_BYTES);
            counts.push(slice.num_rows());
            read.push(slice);
        }
        assert!(counts.len() > 2, "{counts:?}");
        assert_eq!(arrow_select::concat::concat_batches(batch.schema_ref(), &read).unwrap(), batch);
    }
}
