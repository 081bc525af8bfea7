//! Columns as the fields of records that are written: first how long each value is, then each at its place.

use std::ops::Range;

use arrow_array::{Array, ArrayRef};
use arrow_buffer::{NullBuffer, OffsetBuffer};

use super::{
    Encoder,
    value::{length_of_long, put_long},
    values_out::values,
};
use crate::{
    error::{Error, ErrorKind, Result},
    types::{DataField, DataType},
};

/// What stands before a value of a column that may be null, and in the place of one that is: the branch of the union.
const IS_NULL: u8 = 0;
const IS_VALUE: u8 = 2;

/// Values of a column that are not null.
pub(super) trait Values: Send + Sync {
    /// How many bytes the value takes.
    fn length(&self, row: usize) -> Result<usize>;

    /// Writes the value at the beginning of `out`; as many bytes as its length.
    fn put(&self, row: usize, out: &mut [u8]) -> usize;

    /// Adds the lengths of rows, each with `marker` bytes before it.
    fn add_lengths(
        &self,
        nulls: Option<&NullBuffer>,
        marker: usize,
        rows: Range<usize>,
        lengths: &mut [usize],
    ) -> Result<()> {
        for (row, length) in rows.zip(lengths) {
            let is_null = nulls.is_some_and(|nulls| nulls.is_null(row));
            *length += marker + if is_null { 0 } else { self.length(row)? };
        }
        Ok(())
    }

    /// Writes rows where their places are, which come to be behind them.
    fn put_rows(
        &self,
        nulls: Option<&NullBuffer>,
        marked: bool,
        rows: Range<usize>,
        (out, places): (&mut [u8], &mut [usize]),
    ) {
        for (row, place) in rows.zip(places) {
            let is_null = nulls.is_some_and(|nulls| nulls.is_null(row));
            if marked {
                *place += put_bytes(&[if is_null { IS_NULL } else { IS_VALUE }], out.get_mut(*place..));
            }
            if !is_null {
                *place += self.put(row, out.get_mut(*place..).unwrap_or_default());
            }
        }
    }
}

/// Values of an array.
struct Plain<A, L, P> {
    array: A,
    length: L,
    put: P,
}

impl<A, L, P> Values for Plain<A, L, P>
where
    A: Send + Sync,
    L: Fn(&A, usize) -> Result<usize> + Send + Sync,
    P: Fn(&A, usize, &mut [u8]) -> usize + Send + Sync,
{
    fn length(&self, row: usize) -> Result<usize> {
        (self.length)(&self.array, row)
    }

    fn put(&self, row: usize, out: &mut [u8]) -> usize {
        (self.put)(&self.array, row, out)
    }
}

pub(super) fn plain<A: Send + Sync + 'static>(
    array: A,
    length: impl Fn(&A, usize) -> Result<usize> + Send + Sync + 'static,
    put: impl Fn(&A, usize, &mut [u8]) -> usize + Send + Sync + 'static,
) -> Box<dyn Values> {
    Box::new(Plain { array, length, put })
}

/// A column.
pub(super) struct Field {
    nullable: bool,
    nulls: Option<NullBuffer>,
    values: Box<dyn Values>,
}

/// Columns as records.
pub(in crate::format) struct RecordFields(Vec<Field>);

impl RecordFields {
    pub(in crate::format) fn new(fields: &[DataField], columns: &[ArrayRef]) -> Result<Self> {
        fields_of(fields, columns).map(Self)
    }

    /// Writes the record of a row.
    pub(in crate::format) fn write(&self, row: usize, out: &mut Encoder) -> Result<()> {
        let start = out.out.len();
        out.out.resize(start + self.length(row)?, 0);
        self.put(row, out.out.get_mut(start..).unwrap_or_default());
        Ok(())
    }
}

/// The fields of records that these columns are.
pub(super) fn fields_of(fields: &[DataField], columns: &[ArrayRef]) -> Result<Vec<Field>> {
    if fields.len() != columns.len() {
        let message = format!("a batch of {} columns for a file of {}", columns.len(), fields.len());
        return Err(Error::new(ErrorKind::Internal, message));
    }
    let field = |(field, column): (&DataField, &ArrayRef)| {
        Field::new(&field.data_type, column).map_err(|e| e.with("column", &field.name))
    };
    fields.iter().zip(columns).map(field).collect()
}

impl Field {
    pub(super) fn new(data_type: &DataType, array: &ArrayRef) -> Result<Self> {
        let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0).cloned();
        Ok(Self { nullable: data_type.nullable, nulls, values: values(&data_type.kind, array)? })
    }

    /// Adds the lengths of the values of rows.
    pub(super) fn add_lengths(&self, rows: Range<usize>, lengths: &mut [usize]) -> Result<()> {
        if !self.nullable && self.nulls.as_ref().is_some_and(|nulls| rows.clone().any(|row| nulls.is_null(row))) {
            return Err(null_value());
        }
        self.values.add_lengths(self.nulls.as_ref(), usize::from(self.nullable), rows, lengths)
    }

    /// Writes the values of rows where their places are, which come to be behind them.
    pub(super) fn put_rows(&self, rows: Range<usize>, out: &mut [u8], places: &mut [usize]) {
        self.values.put_rows(self.nulls.as_ref(), self.nullable, rows, (out, places));
    }
}

/// One value after another, in records, lists and maps.
impl Values for Field {
    fn length(&self, row: usize) -> Result<usize> {
        let marker = usize::from(self.nullable);
        match self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
            true if self.nullable => Ok(marker),
            true => Err(null_value()),
            false => Ok(marker + self.values.length(row)?),
        }
    }

    fn put(&self, row: usize, out: &mut [u8]) -> usize {
        let mut end = [0];
        self.put_rows(row..row + 1, out, &mut end);
        let [end] = end;
        end
    }
}

impl Values for RecordFields {
    fn length(&self, row: usize) -> Result<usize> {
        self.0.iter().map(|field| field.length(row)).sum()
    }

    fn put(&self, row: usize, out: &mut [u8]) -> usize {
        put_each(self.0.iter(), out, |field, out| field.put(row, out))
    }
}

/// Values that have items: lists, whose items are in `item`, and maps, whose keys are in `key`.
pub(super) struct Items {
    pub(super) offsets: OffsetBuffer<i32>,
    pub(super) key: Option<Box<dyn Values>>,
    pub(super) item: Field,
}

impl Items {
    fn of(&self, row: usize) -> Range<usize> {
        let at = |row: usize| self.offsets.get(row).and_then(|offset| usize::try_from(*offset).ok());
        at(row).unwrap_or_default()..at(row + 1).unwrap_or_default()
    }
}

/// One block with all items, and one with none, which is the end.
impl Values for Items {
    fn length(&self, row: usize) -> Result<usize> {
        let items = self.of(row);
        let mut length = 1;
        if !items.is_empty() {
            length += length_of_count(items.len());
            for item in items {
                length += self.key.as_ref().map_or(Ok(0), |key| key.length(item))? + self.item.length(item)?;
            }
        }
        Ok(length)
    }

    fn put(&self, row: usize, out: &mut [u8]) -> usize {
        let items = self.of(row);
        let mut end = 0;
        if !items.is_empty() {
            end += put_count(items.len(), out);
            end += put_each(items, out.get_mut(end..).unwrap_or_default(), |item, out| {
                let key = self.key.as_ref().map_or(0, |key| key.put(item, out));
                key + self.item.put(item, out.get_mut(key..).unwrap_or_default())
            });
        }
        end + put_count(0, out.get_mut(end..).unwrap_or_default())
    }
}

/// Writes one behind the other.
fn put_each<T>(all: impl IntoIterator<Item = T>, out: &mut [u8], mut put: impl FnMut(T, &mut [u8]) -> usize) -> usize {
    all.into_iter().fold(0, |end, one| end + put(one, out.get_mut(end..).unwrap_or_default()))
}

pub(super) fn put_bytes(bytes: &[u8], out: Option<&mut [u8]>) -> usize {
    if let Some(place) = out.and_then(|out| out.get_mut(..bytes.len())) {
        place.copy_from_slice(bytes);
    }
    bytes.len()
}

fn count(items: usize) -> i64 {
    i64::try_from(items).unwrap_or(i64::MAX)
}

fn length_of_count(items: usize) -> usize {
    length_of_long(count(items))
}

fn put_count(items: usize, out: &mut [u8]) -> usize {
    put_long(count(items), out)
}

pub(super) fn length_of_text(bytes: &[u8]) -> usize {
    length_of_count(bytes.len()) + bytes.len()
}

pub(super) fn put_text(bytes: &[u8], out: &mut [u8]) -> usize {
    let start = put_count(bytes.len(), out);
    start + put_bytes(bytes, out.get_mut(start..))
}

#[cold]
fn null_value() -> Error {
    Error::new(ErrorKind::NullInKey, "a NOT NULL column has a null value")
}
