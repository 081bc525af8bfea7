//! The values of a column, as the streams of a stripe.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, BooleanArray, PrimitiveArray,
    cast::AsArray,
    types::{
        Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
        Time32MillisecondType,
    },
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::DataType as Arrow;
use arrow_select::filter::filter;

use super::{
    bits::{BitsWriter, put_bytes},
    integers::IntegersWriter,
    message::MessageWriter,
    statistics::counts,
    stream::{Packing, StreamWriter},
    times::{stored, ticks},
};
use crate::{
    error::{Error, ErrorKind, Result},
    format::{
        digits::{has_digits, too_many_digits},
        orc::streams::{DATA, LENGTH, PRESENT, SECONDARY},
    },
    types::{DataField, DataType, TypeKind},
};

/// Encodings: of bytes as they are, and of whole numbers in runs of version 2.
const DIRECT: u64 = 0;
const DIRECT_V2: u64 = 2;

/// A stream of a stripe: its kind, its column and its bytes.
pub(super) type Streams = Vec<(u64, u64, Vec<u8>)>;

/// A column of a stripe.
pub(super) struct ColumnWriter {
    nullable: bool,
    kind: TypeKind,
    present: BitsWriter,
    /// Values and nulls of this stripe.
    there: u64,
    nulls: u64,
    values: Values,
}

/// Numbers and their stream.
struct Numbers {
    runs: IntegersWriter,
    stream: StreamWriter,
}

enum Values {
    Boolean(BitsWriter, StreamWriter),
    Bytes(StreamWriter),
    Integers(Numbers),
    Floats(StreamWriter),
    Texts(StreamWriter, Numbers),
    Decimals(StreamWriter, Numbers, i64),
    Times(Numbers, Numbers),
    Row(Vec<ColumnWriter>),
    List(Numbers, Box<ColumnWriter>),
    Map(Numbers, Box<ColumnWriter>, Box<ColumnWriter>),
}

impl Numbers {
    fn new(packing: Packing, signed: bool) -> Self {
        Self { runs: IntegersWriter::new(signed), stream: StreamWriter::new(packing) }
    }

    #[inline]
    fn put(&mut self, value: i64) -> Result<()> {
        self.runs.put(value, &mut self.stream)
    }

    fn finish(&mut self) -> Result<Vec<u8>> {
        self.runs.finish(&mut self.stream)?;
        self.stream.finish()
    }
}

/// The columns of a file or of a row.
pub(super) fn columns_of(fields: &[DataField], packing: Packing) -> Result<Vec<ColumnWriter>> {
    fields.iter().map(|field| ColumnWriter::new(&field.data_type, packing)).collect()
}

impl ColumnWriter {
    fn new(t: &DataType, packing: Packing) -> Result<Self> {
        let stream = || StreamWriter::new(packing);
        let numbers = |signed| Numbers::new(packing, signed);
        let nested = |t: &DataType| Self::new(t, packing).map(Box::new);
        let values = match &t.kind {
            TypeKind::Boolean => Values::Boolean(BitsWriter::default(), stream()),
            TypeKind::TinyInt => Values::Bytes(stream()),
            TypeKind::SmallInt | TypeKind::Int | TypeKind::BigInt | TypeKind::Date | TypeKind::Time(_) => {
                Values::Integers(numbers(true))
            }
            TypeKind::Float | TypeKind::Double => Values::Floats(stream()),
            TypeKind::Char(_) | TypeKind::VarChar(_) | TypeKind::Binary(_) | TypeKind::VarBinary(_) => {
                Values::Texts(stream(), numbers(false))
            }
            TypeKind::Decimal { scale, .. } => Values::Decimals(stream(), numbers(true), i64::from(*scale)),
            TypeKind::Timestamp(_) | TypeKind::LocalZonedTimestamp(_) => Values::Times(numbers(true), numbers(false)),
            TypeKind::Row(fields) => Values::Row(columns_of(fields, packing)?),
            TypeKind::Array(element) => Values::List(numbers(false), nested(element)?),
            TypeKind::Map(key, value) => Values::Map(numbers(false), nested(key)?, nested(value)?),
            TypeKind::Multiset(element) => {
                Values::Map(numbers(false), nested(element)?, nested(&DataType::not_null(TypeKind::Int))?)
            }
            TypeKind::Variant | TypeKind::Blob | TypeKind::Vector(..) => {
                return Err(Error::unsupported(format!("the type {} in ORC files", t.kind)));
            }
        };
        let (nullable, kind) = (t.nullable, t.kind.clone());
        Ok(Self { nullable, kind, present: BitsWriter::default(), there: 0, nulls: 0, values })
    }

    /// Takes the values of some rows in.
    pub(super) fn write(&mut self, array: &ArrayRef) -> Result<()> {
        let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0);
        let dense = match nulls {
            None => {
                self.present.put_same(true, array.len());
                Arc::clone(array)
            }
            Some(_) if !self.nullable => {
                return Err(Error::new(ErrorKind::NullInKey, "a NOT NULL column has a null value"));
            }
            Some(nulls) => {
                self.present.put(nulls.inner());
                filter(array, &BooleanArray::new(nulls.inner().clone(), None))?
            }
        };
        self.nulls += (array.len() - dense.len()) as u64;
        self.there += dense.len() as u64;
        self.values.write(&dense, &self.kind)
    }

    /// The streams and encodings of the stripe that ends; the column's number is the next one.
    pub(super) fn finish(&mut self, streams: &mut Streams, encodings: &mut Vec<u64>, packing: Packing) -> Result<()> {
        let column = encodings.len() as u64;
        let mut present = StreamWriter::new(packing);
        self.present.finish(&mut present)?;
        if self.nulls > 0 {
            streams.push((PRESENT, column, present.finish()?));
        }
        (self.there, self.nulls) = (0, 0);
        let mut put = |kind, bytes| streams.push((kind, column, bytes));
        encodings.push(match &self.values {
            Values::Boolean(..) | Values::Bytes(_) | Values::Floats(_) | Values::Row(_) => DIRECT,
            _ => DIRECT_V2,
        });
        match &mut self.values {
            Values::Boolean(bits, stream) => {
                bits.finish(stream)?;
                put(DATA, stream.finish()?);
            }
            Values::Bytes(stream) | Values::Floats(stream) => put(DATA, stream.finish()?),
            Values::Integers(numbers) => put(DATA, numbers.finish()?),
            Values::Texts(stream, lengths) => {
                put(DATA, stream.finish()?);
                put(LENGTH, lengths.finish()?);
            }
            Values::Decimals(stream, scales, _) => {
                put(DATA, stream.finish()?);
                put(SECONDARY, scales.finish()?);
            }
            Values::Times(seconds, nanos) => {
                put(DATA, seconds.finish()?);
                put(SECONDARY, nanos.finish()?);
            }
            Values::Row(fields) => fields.iter_mut().try_for_each(|f| f.finish(streams, encodings, packing))?,
            Values::List(lengths, element) => {
                put(LENGTH, lengths.finish()?);
                element.finish(streams, encodings, packing)?;
            }
            Values::Map(lengths, key, value) => {
                put(LENGTH, lengths.finish()?);
                key.finish(streams, encodings, packing)?;
                value.finish(streams, encodings, packing)?;
            }
        }
        Ok(())
    }

    /// How many values there are in this stripe, of it and of the columns inside it.
    pub(super) fn counts(&self, out: &mut Vec<MessageWriter>) {
        out.push(counts(self.there, self.nulls > 0));
        self.children().for_each(|child| child.counts(out));
    }

    fn children(&self) -> Box<dyn Iterator<Item = &Self> + '_> {
        match &self.values {
            Values::Row(fields) => Box::new(fields.iter()),
            Values::List(_, element) => Box::new(std::iter::once(&**element)),
            Values::Map(_, key, value) => Box::new([&**key, &**value].into_iter()),
            _ => Box::new(std::iter::empty()),
        }
    }

    /// Bytes that are held, and those that the stripe is going to have, about.
    pub(super) fn sizes(&self) -> (usize, usize) {
        let of = |stream: &StreamWriter| (stream.memory(), stream.size());
        let both = |a: (usize, usize), b: (usize, usize)| (a.0 + b.0, a.1 + b.1);
        let own = match &self.values {
            Values::Boolean(bits, stream) => both((bits.memory(), 0), of(stream)),
            Values::Bytes(stream) | Values::Floats(stream) => of(stream),
            Values::Integers(numbers) | Values::List(numbers, _) | Values::Map(numbers, ..) => of(&numbers.stream),
            Values::Texts(stream, numbers) | Values::Decimals(stream, numbers, _) => {
                both(of(stream), of(&numbers.stream))
            }
            Values::Times(seconds, nanos) => both(of(&seconds.stream), of(&nanos.stream)),
            Values::Row(_) => (0, 0),
        };
        self.children().fold(both((self.present.memory(), 0), own), |all, child| both(all, child.sizes()))
    }
}

impl Values {
    /// Values none of which is null.
    fn write(&mut self, array: &ArrayRef, kind: &TypeKind) -> Result<()> {
        let wrong =
            || Error::new(ErrorKind::Internal, format!("values of {} for a column of {kind}", array.data_type()));
        match self {
            Self::Boolean(bits, _) => bits.put(array.as_boolean_opt().ok_or_else(wrong)?.values()),
            Self::Bytes(stream) => {
                let values = array.as_primitive_opt::<Int8Type>().ok_or_else(wrong)?;
                let bytes: Vec<u8> = values.values().iter().map(|value| value.cast_unsigned()).collect();
                put_bytes(&bytes, stream)?;
            }
            Self::Integers(numbers) => integers(array, numbers).unwrap_or_else(|| Err(wrong()))?,
            Self::Floats(stream) => match array.data_type() {
                Arrow::Float32 => {
                    let values = array.as_primitive::<Float32Type>().values().iter();
                    stream.put(&values.flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>())?;
                }
                Arrow::Float64 => {
                    let values = array.as_primitive::<Float64Type>().values().iter();
                    stream.put(&values.flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>())?;
                }
                _ => return Err(wrong()),
            },
            Self::Texts(stream, lengths) => match array.data_type() {
                Arrow::Utf8 => {
                    let values = array.as_string::<i32>();
                    put_texts(values.value_offsets(), values.value_data(), stream, lengths)?;
                }
                Arrow::Binary => {
                    let values = array.as_binary::<i32>();
                    put_texts(values.value_offsets(), values.value_data(), stream, lengths)?;
                }
                _ => return Err(wrong()),
            },
            Self::Decimals(stream, scales, scale) => {
                let values = array.as_primitive_opt::<Decimal128Type>().ok_or_else(wrong)?;
                let mut bytes = Vec::new();
                let TypeKind::Decimal { precision, .. } = kind else { return Err(wrong()) };
                for value in values.values() {
                    if !has_digits(*value, *precision) {
                        return Err(too_many_digits(*value, kind, "ORC"));
                    }
                    wide(&mut bytes, *value);
                    scales.put(*scale)?;
                }
                stream.put(&bytes)?;
            }
            Self::Times(seconds, nanos) => {
                let (values, per_second) = ticks(array).ok_or_else(wrong)?;
                for value in values.values() {
                    let (second, nano) = stored(*value, per_second)?;
                    seconds.put(second)?;
                    nanos.put(nano)?;
                }
            }
            Self::Row(fields) => {
                let row = array.as_struct_opt().ok_or_else(wrong)?;
                for (field, column) in fields.iter_mut().zip(row.columns()) {
                    field.write(column)?;
                }
            }
            Self::List(lengths, element) => {
                let list = array.as_list_opt::<i32>().ok_or_else(wrong)?;
                let (start, count) = put_lengths(list.offsets(), lengths)?;
                element.write(&list.values().slice(start, count))?;
            }
            Self::Map(lengths, key, value) => {
                let map = array.as_map_opt().ok_or_else(wrong)?;
                let (start, count) = put_lengths(map.offsets(), lengths)?;
                key.write(&map.keys().slice(start, count))?;
                value.write(&map.values().slice(start, count))?;
            }
        }
        Ok(())
    }
}

fn integers(array: &ArrayRef, to: &mut Numbers) -> Option<Result<()>> {
    fn all<T: ArrowPrimitiveType>(array: &ArrayRef, to: &mut Numbers) -> Option<Result<()>>
    where
        i64: From<T::Native>,
    {
        let values: &PrimitiveArray<T> = array.as_primitive_opt()?;
        Some(values.values().iter().try_for_each(|value| to.put(i64::from(*value))))
    }
    match array.data_type() {
        Arrow::Int16 => all::<Int16Type>(array, to),
        Arrow::Int32 => all::<Int32Type>(array, to),
        Arrow::Int64 => all::<Int64Type>(array, to),
        Arrow::Date32 => all::<Date32Type>(array, to),
        Arrow::Time32(_) => all::<Time32MillisecondType>(array, to),
        _ => None,
    }
}

fn put_texts(offsets: &[i32], data: &[u8], stream: &mut StreamWriter, lengths: &mut Numbers) -> Result<()> {
    for pair in offsets.windows(2) {
        if let [start, end] = pair {
            lengths.put(i64::from(*end) - i64::from(*start))?;
        }
    }
    let at = |offset: Option<&i32>| offset.and_then(|offset| usize::try_from(*offset).ok()).unwrap_or_default();
    stream.put(data.get(at(offsets.first())..at(offsets.last())).unwrap_or_default())
}

/// Where the elements of all lists start, and how many there are.
fn put_lengths(offsets: &OffsetBuffer<i32>, lengths: &mut Numbers) -> Result<(usize, usize)> {
    for length in offsets.lengths() {
        lengths.put(i64::try_from(length).unwrap_or(i64::MAX))?;
    }
    let at = |offset: Option<&i32>| offset.and_then(|offset| usize::try_from(*offset).ok()).unwrap_or_default();
    let (start, end) = (at(offsets.first()), at(offsets.last()));
    Ok((start, end.saturating_sub(start)))
}

/// A number of up to 128 bits, with a sign.
fn wide(out: &mut Vec<u8>, value: i128) {
    let mut rest = ((value << 1) ^ (value >> 127)).cast_unsigned();
    loop {
        let [low, ..] = rest.to_le_bytes();
        rest >>= 7;
        if rest == 0 {
            return out.push(low & 0x7f);
        }
        out.push(low | 0x80);
    }
}
