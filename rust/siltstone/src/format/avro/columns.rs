//! Records of a data file as columns.

use std::{collections::HashMap, sync::Arc};

use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Float32Array, Float64Array, Int32Array, Int64Array, ListArray, MapArray,
    PrimitiveArray, StringArray, StructArray, types::Decimal128Type,
};
use arrow_buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType as Arrow, Field, Fields};

use super::{Cursor, WriterRecord, WriterType, memory::Memory, value::block_count};
use crate::{
    cast::{ask_for_nulls, nulls, widths},
    error::{Error, ErrorKind, Result},
    format::conform::conform,
    format::digits::has_digits,
    limits,
    types::{DataField, DataType, TypeKind},
};

/// The columns of records.
pub(super) struct Records {
    file: String,
    schema: WriterType,
    /// Wanted fields, each with the place of its column: one that is read may be wanted as NULL and NOT NULL.
    fields: Vec<(DataField, usize)>,
    row: Row,
}

impl Records {
    /// Of a file with this schema; columns that it does not have are null.
    pub(super) fn new(file: &str, schema: &WriterType, fields: &[DataField]) -> Result<Self> {
        let record = schema
            .record()
            .ok_or_else(|| Error::corrupt(file, 0, "records", format!("values of type {}", schema.name())))?;
        let (mut read, mut places, mut wanted) = (Vec::new(), HashMap::new(), Vec::with_capacity(fields.len()));
        for field in fields {
            let place = *places.entry((field.name.as_str(), &field.data_type.kind)).or_insert_with(|| {
                read.push(field.clone());
                read.len() - 1
            });
            wanted.push((field.clone(), place));
        }
        let row = Row::new(record, &read).map_err(|e| e.with("file", file))?;
        Ok(Self { file: file.to_owned(), schema: schema.clone(), fields: wanted, row })
    }

    /// Appends a record.
    pub(super) fn read(&mut self, at: &mut Cursor<'_>) -> Result<()> {
        if !self.schema.enter(at)? {
            return Err(at.corrupt("a row", "null"));
        }
        self.row.read(at)
    }

    /// Fields that the file does not have.
    fn missing(&self) -> impl Iterator<Item = &DataType> {
        let is_missing = |place: usize| matches!(self.row.columns.get(place), Some(None));
        self.fields.iter().filter(move |(_, place)| is_missing(*place)).map(|(field, _)| &field.data_type)
    }

    /// Bytes that the nulls of a row take for which nothing stands in the file.
    pub(super) fn missing_bytes(&self) -> Result<usize> {
        widths(self.missing())
    }

    /// The columns of the records so far; it begins anew. What is made of them takes of `memory`.
    pub(super) fn finish(&mut self, memory: &Memory<'_>) -> Result<Vec<ArrayRef>> {
        let count = std::mem::take(&mut self.row.count);
        ask_for_nulls(self.missing(), count).map_err(|e| e.with("file", &self.file))?;
        let finish = |column: &mut Option<Column>| column.as_mut().map(|c| c.finish(memory)).transpose();
        let stored: Vec<Option<ArrayRef>> =
            self.row.columns.iter_mut().map(finish).collect::<Result<_>>().map_err(|e| e.with("file", &self.file))?;
        let conformed = self.fields.iter().map(|(field, place)| {
            let array = match stored.get(*place) {
                Some(Some(array)) => conform(array, &field.data_type),
                _ => nulls(&field.data_type, count),
            };
            array.map_err(|e| e.with("column", &field.name).with("file", &self.file))
        });
        conformed.collect()
    }
}

/// The fields of a record.
struct Row {
    /// The fields in the order of their bytes, with the place of the column that wants it.
    steps: Vec<(Option<usize>, WriterType)>,
    /// `None`: the record does not have it.
    columns: Vec<Option<Column>>,
    count: usize,
}

impl Row {
    fn new(record: &WriterRecord, fields: &[DataField]) -> Result<Self> {
        let mut columns: Vec<Option<Column>> = Vec::with_capacity(fields.len());
        let mut steps: Vec<(Option<usize>, WriterType)> =
            record.fields.iter().map(|(_, data_type)| (None, data_type.clone())).collect();
        let stored: HashMap<&str, usize> =
            record.fields.iter().enumerate().map(|(at, (name, _))| (name.as_str(), at)).collect();
        for (place, field) in fields.iter().enumerate() {
            let step = stored.get(field.name.as_str()).and_then(|at| steps.get_mut(*at));
            columns.push(match step {
                // a column that is wanted in two forms
                Some((Some(_), _)) => return Err(Error::unsupported("one column of an Avro file as two types")),
                Some((wanted_by, data_type)) => {
                    *wanted_by = Some(place);
                    Some(Column::new(data_type, &field.data_type).map_err(|e| e.with("column", &field.name))?)
                }
                None => None,
            });
        }
        Ok(Self { steps, columns, count: 0 })
    }

    fn read(&mut self, at: &mut Cursor<'_>) -> Result<()> {
        for (place, data_type) in &self.steps {
            match place.and_then(|place| self.columns.get_mut(place)) {
                Some(Some(column)) => column.read(data_type, at)?,
                _ => data_type.skip(at)?,
            }
        }
        self.count += 1;
        Ok(())
    }

    fn add_null(&mut self, at: &Cursor<'_>) -> Result<()> {
        self.count += 1;
        self.columns.iter_mut().flatten().try_for_each(|column| column.add_null(at))
    }
}

/// A column that is being filled.
struct Column {
    there: Vec<bool>,
    nulls: usize,
    values: Values,
}

enum Values {
    Boolean(Vec<bool>),
    /// Whether the numbers have 32 bits.
    Numbers(Vec<i64>, bool),
    Floats(Vec<f32>),
    Doubles(Vec<f64>),
    Bytes {
        ends: Vec<i32>,
        data: Vec<u8>,
        text: bool,
    },
    Decimals(Vec<i128>, u8, i8),
    Row(Row, Vec<String>),
    List {
        ends: Vec<i32>,
        element: Box<Column>,
    },
    /// The names of key and value where they are records of an array.
    Map {
        ends: Vec<i32>,
        key: Box<Column>,
        value: Box<Column>,
    },
}

impl Column {
    fn new(stored: &WriterType, wanted: &DataType) -> Result<Self> {
        let inner = match stored {
            WriterType::Union(branches) => {
                let mut others = branches.iter().filter(|branch| **branch != WriterType::Null);
                match (others.next(), others.next()) {
                    (Some(only), None) => only,
                    _ => return Err(does_not_fit(stored, wanted)),
                }
            }
            other => other,
        };
        let nested = |stored: &WriterType, wanted: &DataType| Self::new(stored, wanted).map(Box::new);
        let values = match (&wanted.kind, inner) {
            (TypeKind::Boolean, WriterType::Boolean) => Values::Boolean(Vec::new()),
            (TypeKind::Date | TypeKind::Time(_), WriterType::Int) => Values::Numbers(Vec::new(), true),
            (
                TypeKind::TinyInt
                | TypeKind::SmallInt
                | TypeKind::Int
                | TypeKind::BigInt
                | TypeKind::Timestamp(_)
                | TypeKind::LocalZonedTimestamp(_),
                WriterType::Int | WriterType::Long,
            ) => Values::Numbers(Vec::new(), false),
            (TypeKind::Float, WriterType::Float) => Values::Floats(Vec::new()),
            (TypeKind::Double, WriterType::Double) => Values::Doubles(Vec::new()),
            (TypeKind::Char(_) | TypeKind::VarChar(_), WriterType::String | WriterType::Bytes) => {
                Values::Bytes { ends: vec![0], data: Vec::new(), text: true }
            }
            (TypeKind::Binary(_) | TypeKind::VarBinary(_), WriterType::Bytes | WriterType::Fixed(_)) => {
                Values::Bytes { ends: vec![0], data: Vec::new(), text: false }
            }
            (TypeKind::Decimal { precision, scale }, WriterType::Bytes | WriterType::Fixed(_)) => {
                Values::Decimals(Vec::new(), *precision, i8::try_from(*scale).unwrap_or_default())
            }
            (TypeKind::Row(fields), WriterType::Record(record)) => {
                Values::Row(Row::new(record, fields)?, fields.iter().map(|f| f.name.clone()).collect())
            }
            (TypeKind::Array(element), WriterType::Array(items)) => {
                Values::List { ends: vec![0], element: nested(items, element)? }
            }
            (TypeKind::Map(key, value), _) => map(inner, key, value).ok_or_else(|| does_not_fit(stored, wanted))??,
            (TypeKind::Multiset(element), _) => {
                let count = DataType::not_null(TypeKind::Int);
                map(inner, element, &count).ok_or_else(|| does_not_fit(stored, wanted))??
            }
            _ => return Err(does_not_fit(stored, wanted)),
        };
        Ok(Self { there: Vec::new(), nulls: 0, values })
    }

    /// A null takes next to nothing in the file, and here as much as a value.
    fn add_null(&mut self, at: &Cursor<'_>) -> Result<()> {
        at.push(&mut self.there, false)?;
        self.nulls += 1;
        match &mut self.values {
            Values::Boolean(values) => at.push(values, false),
            Values::Numbers(values, _) => at.push(values, 0),
            Values::Floats(values) => at.push(values, 0.0),
            Values::Doubles(values) => at.push(values, 0.0),
            Values::Decimals(values, ..) => at.push(values, 0),
            Values::Row(row, _) => row.add_null(at),
            Values::Bytes { ends, .. } | Values::List { ends, .. } | Values::Map { ends, .. } => {
                at.push(ends, ends.last().copied().unwrap_or_default())
            }
        }
    }

    fn read(&mut self, data_type: &WriterType, at: &mut Cursor<'_>) -> Result<()> {
        let data_type = data_type.branch(at)?;
        if *data_type == WriterType::Null {
            return self.add_null(at);
        }
        at.push(&mut self.there, true)?;
        match (&mut self.values, data_type) {
            (Values::Boolean(values), _) => {
                let value = at.take(1)? != [0];
                at.push(values, value)
            }
            (Values::Numbers(values, _), _) => {
                let value = at.long()?;
                at.push(values, value)
            }
            (Values::Floats(values), _) => {
                let bytes = at.take(4)?.first_chunk().copied().unwrap_or_default();
                at.push(values, f32::from_le_bytes(bytes))
            }
            (Values::Doubles(values), _) => {
                let bytes = at.take(8)?.first_chunk().copied().unwrap_or_default();
                at.push(values, f64::from_le_bytes(bytes))
            }
            (Values::Bytes { ends, data, .. }, stored) => {
                let bytes = bytes_of(stored, at)?;
                at.extend(data, bytes)?;
                at.push(ends, end_of(data.len(), at)?)
            }
            (Values::Decimals(values, precision, _), stored) => {
                let bytes = bytes_of(stored, at)?;
                let value = big_endian(bytes);
                let value = value.ok_or_else(|| at.corrupt("an unscaled number of 128 bits", bytes.len()))?;
                // Java writes sums with a digit more, and shows nulls
                if !has_digits(value, *precision) {
                    self.there.pop();
                    return self.add_null(at);
                }
                at.push(values, value)
            }
            (Values::Row(row, _), _) => row.read(at),
            (Values::List { ends, element }, WriterType::Array(items)) => {
                while let Some(count) = block_count(at)? {
                    for _ in 0..count {
                        at.step()?;
                        element.read(items, at)?;
                    }
                }
                at.push(ends, end_of(element.there.len(), at)?)
            }
            (Values::Map { ends, key, value }, stored) => {
                read_map(stored, key, value, at)?;
                at.push(ends, end_of(key.there.len(), at)?)
            }
            (Values::List { .. }, other) => Err(at.corrupt("an array", other.name())),
        }
    }

    /// The array of what was read.
    fn finish(&mut self, memory: &Memory<'_>) -> Result<ArrayRef> {
        let there = std::mem::take(&mut self.there);
        let count = there.len();
        // two bits of each, and numbers of 32 bits
        memory.take(count.saturating_mul(5))?;
        let nulls = (std::mem::take(&mut self.nulls) > 0).then(|| NullBuffer::from(there));
        let offsets = |ends: &mut Vec<i32>| OffsetBuffer::new(ScalarBuffer::from(std::mem::replace(ends, vec![0])));
        Ok(match &mut self.values {
            Values::Boolean(values) => Arc::new(BooleanArray::new(std::mem::take(values).into(), nulls)),
            Values::Numbers(values, true) => {
                let mut narrow = Vec::new();
                limits::reserve(&mut narrow, values.len(), "numbers of an Avro file")?;
                for value in std::mem::take(values) {
                    narrow.push(i32::try_from(value).map_err(|e| {
                        Error::new(ErrorKind::CorruptFile, "a number has more than 32 bits").caused_by(e)
                    })?);
                }
                Arc::new(Int32Array::new(narrow.into(), nulls))
            }
            Values::Numbers(values, false) => Arc::new(Int64Array::new(std::mem::take(values).into(), nulls)),
            Values::Floats(values) => Arc::new(Float32Array::new(std::mem::take(values).into(), nulls)),
            Values::Doubles(values) => Arc::new(Float64Array::new(std::mem::take(values).into(), nulls)),
            Values::Decimals(values, precision, scale) => {
                let array = PrimitiveArray::<Decimal128Type>::new(std::mem::take(values).into(), nulls);
                Arc::new(array.with_precision_and_scale(*precision, *scale)?)
            }
            Values::Bytes { ends, data, text } => {
                let (offsets, data) = (offsets(ends), std::mem::take(data).into());
                if *text {
                    Arc::new(
                        StringArray::try_new(offsets, data, nulls)
                            .map_err(|e| Error::new(ErrorKind::CorruptFile, "a text is not UTF-8").caused_by(e))?,
                    )
                } else {
                    Arc::new(BinaryArray::try_new(offsets, data, nulls)?)
                }
            }
            Values::Row(row, names) => {
                row.count = 0;
                let (mut fields, mut columns) = (Vec::new(), Vec::new());
                for (column, name) in row.columns.iter_mut().zip(&*names) {
                    if let Some(column) = column {
                        let array = column.finish(memory)?;
                        fields.push(Field::new(name, array.data_type().clone(), true));
                        columns.push(array);
                    }
                }
                Arc::new(StructArray::try_new_with_length(fields.into(), columns, nulls, count)?)
            }
            Values::List { ends, element } => {
                let values = element.finish(memory)?;
                let field = Arc::new(Field::new("element", values.data_type().clone(), true));
                Arc::new(ListArray::try_new(field, offsets(ends), values, nulls)?)
            }
            Values::Map { ends, key, value } => {
                let (keys, values) = (key.finish(memory)?, value.finish(memory)?);
                if keys.null_count() > 0 {
                    return Err(Error::new(ErrorKind::CorruptFile, "a key of a map is null"));
                }
                let fields = Fields::from(vec![
                    Field::new("key", keys.data_type().clone(), false),
                    Field::new("value", values.data_type().clone(), true),
                ]);
                let count = keys.len();
                let entries = StructArray::try_new_with_length(fields.clone(), vec![keys, values], None, count)?;
                let field = Arc::new(Field::new("entries", Arrow::Struct(fields), false));
                Arc::new(MapArray::try_new(field, offsets(ends), entries, nulls, false)?)
            }
        })
    }
}

/// The columns of a map: Avro's own with text keys, or an array of records of key and value.
fn map(stored: &WriterType, key: &DataType, value: &DataType) -> Option<Result<Values>> {
    let (stored_key, stored_value) = match stored {
        WriterType::Map(values) => (&WriterType::String, &**values),
        WriterType::Array(items) => {
            let record = items.record()?;
            let field = |wanted| record.fields.iter().find(|(name, _)| name == wanted).map(|(_, t)| t);
            (field("key")?, field("value")?)
        }
        _ => return None,
    };
    let made = Column::new(stored_key, key).and_then(|key| {
        let value = Box::new(Column::new(stored_value, value)?);
        Ok(Values::Map { ends: vec![0], key: Box::new(key), value })
    });
    Some(made)
}

fn read_map(stored: &WriterType, key: &mut Column, value: &mut Column, at: &mut Cursor<'_>) -> Result<()> {
    while let Some(count) = block_count(at)? {
        for _ in 0..count {
            at.step()?;
            match stored {
                WriterType::Map(values) => {
                    key.read(&WriterType::String, at)?;
                    value.read(values, at)?;
                }
                WriterType::Array(items) => {
                    let WriterType::Record(record) = items.branch(at)? else {
                        return Err(at.corrupt("an entry of a map", "null"));
                    };
                    for (name, data_type) in &record.fields {
                        match name.as_str() {
                            "key" => key.read(data_type, at)?,
                            "value" => value.read(data_type, at)?,
                            _ => data_type.skip(at)?,
                        }
                    }
                }
                other => return Err(at.corrupt("a map", other.name())),
            }
        }
    }
    Ok(())
}

fn bytes_of<'a>(stored: &WriterType, at: &mut Cursor<'a>) -> Result<&'a [u8]> {
    match stored {
        WriterType::Fixed(length) => at.take(*length),
        _ => at.bytes(),
    }
}

/// Two's complement, most significant byte first.
fn big_endian(bytes: &[u8]) -> Option<i128> {
    let fill = if bytes.first()? & 0x80 == 0 { 0 } else { 0xFF };
    let (above, low) = bytes.split_at_checked(bytes.len().saturating_sub(16))?;
    if above.iter().any(|byte| *byte != fill) {
        return None;
    }
    let mut wide = [fill; 16];
    wide.iter_mut().rev().zip(low.iter().rev()).for_each(|(to, from)| *to = *from);
    Some(i128::from_be_bytes(wide))
}

#[cold]
fn does_not_fit(stored: &WriterType, wanted: &DataType) -> Error {
    let message = format!("the file stores {} where its schema says {}", stored.name(), wanted.kind);
    Error::new(ErrorKind::CorruptFile, message)
}

/// Where a list or a text ends.
fn end_of(length: usize, at: &Cursor<'_>) -> Result<i32> {
    i32::try_from(length).map_err(|_| too_large(at))
}

#[cold]
fn too_large(at: &Cursor<'_>) -> Error {
    Error::new(ErrorKind::MemoryLimitExceeded, "the values of a batch are too large").with("file", at.file())
}

#[cfg(test)]
mod tests {
    use arrow_array::Array;

    use super::*;
    use crate::types::parse_type;

    const SCHEMA: &str = r#"{"type":"record","name":"r","fields":[{"name":"a","type":{"type":"array","items":
        ["null",{"type":"record","name":"s","fields":[{"name":"x","type":"long"},{"name":"y","type":"double"}]}]}}]}"#;

    fn records(wanted: &str) -> Records {
        let schema = WriterType::parse("m", SCHEMA.as_bytes()).unwrap();
        let fields = [DataField::new(0, "a", parse_type(wanted).unwrap())];
        Records::new("m", &schema, &fields).unwrap()
    }

    /// A row with a list of so many nulls.
    fn nulls_in_a_list(count: usize) -> Vec<u8> {
        let mut row = super::super::Encoder::default();
        row.length(count);
        row.out.extend(vec![0; count + 1]);
        row.out
    }

    /// A null is a byte in the file, and a row of two columns here: a file of 5 KB ended the process.
    #[test]
    fn nulls_are_counted_with_all_of_their_fields() {
        let count = 100_000;
        let bytes = nulls_in_a_list(count);
        let memory = Memory::of_rows("m");
        let mut records = records("ARRAY<ROW<x BIGINT, y DOUBLE>>");
        records.read(&mut Cursor::new("m", 0, &bytes).counted(&memory)).unwrap();
        // the three of them, row, number and number, say what is there
        assert!(memory.taken() >= count * (3 + 8 + 8), "{}", memory.taken());
        let columns = records.finish(&memory).unwrap();
        assert_eq!(columns[0].len(), 1);
        assert!(memory.taken() >= count * (3 + 8 + 8 + 3 * 5), "{}", memory.taken());
    }

    #[test]
    fn values_that_become_too_many_are_an_error_where_they_are_added() {
        let bytes = nulls_in_a_list(3_000_000);
        // of a metadata file of no bytes, which may become 64 MiB
        let memory = Memory::new("m", 0);
        let mut records = records("ARRAY<ROW<x BIGINT, y DOUBLE>>");
        let error = records.read(&mut Cursor::new("m", 0, &bytes).counted(&memory)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::CorruptFile);
    }

    #[test]
    fn columns_that_the_file_does_not_have_take_their_width() {
        let schema = WriterType::parse("m", SCHEMA.as_bytes()).unwrap();
        let fields = ["a", "b", "c"].map(|name| DataField::new(0, name, parse_type("BIGINT").unwrap()));
        let records = Records::new("m", &schema, &fields[1..]).unwrap();
        assert_eq!(records.missing_bytes().unwrap(), 18);
    }
}
