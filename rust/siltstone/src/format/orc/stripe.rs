//! A stripe that is read: its footer, and a decoder of each wanted column.

use std::{collections::HashMap, sync::Arc};

use arrow_array::ArrayRef;

use super::{
    bits::{Bits, ByteRuns},
    budget::Budget,
    column::{Column, Values},
    integers::Integers,
    proto::{Message, push},
    schema::{Kind, Node},
    stream::{Source, Stream},
    streams::{DATA, DICTIONARY_DATA, LENGTH, PRESENT, SECONDARY},
    tail::StripeInformation,
    texts::Dictionary,
    timestamp::Clock,
    zone::Zone,
};
use crate::{
    error::{Error, ErrorKind, Result, shorten},
    format::groups::GroupRows,
    limits,
    types::{DataField, DataType, TypeKind, arrow_type},
};

/// Bytes of values that a batch has at most, but for a batch of one row.
const BATCH_BYTES: usize = 32 << 20;
/// What decoding a column takes.
const DECODER_BYTES: usize = 256 * 1024;

/// Where the streams of a stripe lie, and how columns are encoded.
pub(super) struct Stripe<'a> {
    source: &'a Source,
    types: &'a [Node],
    /// By column and kind: start and length.
    streams: HashMap<(u64, u64), (u64, u64)>,
    /// Encoding and size of the dictionary.
    encodings: Vec<(u64, u64)>,
    zone: Zone,
    /// Instants are stored as wall clocks of the writer's zone.
    instants_as_wall: bool,
    rows: u64,
}

impl<'a> Stripe<'a> {
    pub(super) fn open(
        source: &'a Source,
        types: &'a [Node],
        stripe: &StripeInformation,
        instants_as_wall: bool,
    ) -> Result<Self> {
        let data_end = stripe.offset + stripe.index_length + stripe.data_length;
        let footer = source.plain(data_end, stripe.footer_length)?;
        let (mut streams, mut encodings, mut zone) = (HashMap::new(), Vec::new(), Zone::UTC);
        let mut at = stripe.offset;
        Message::new(source.input.path(), &footer).fields(|field, value| {
            match field {
                1 => {
                    let [mut kind, mut column, mut length] = [0_u64; 3];
                    value.message()?.fields(|field, value| {
                        match field {
                            1 => kind = value.number()?,
                            2 => column = value.number()?,
                            3 => length = value.number()?,
                            _ => {}
                        }
                        Ok(())
                    })?;
                    let end = at.checked_add(length).filter(|end| *end <= data_end);
                    let end = end.ok_or_else(|| source.corrupt(at, "a stream in its stripe", length))?;
                    // others nobody asks for
                    if kind <= SECONDARY && usize::try_from(column).is_ok_and(|column| column < types.len()) {
                        streams.insert((column, kind), (at, length));
                    }
                    at = end;
                }
                2 => {
                    let [mut kind, mut size] = [0_u64; 2];
                    value.message()?.fields(|field, value| {
                        match field {
                            1 => kind = value.number()?,
                            2 => size = value.number()?,
                            _ => {}
                        }
                        Ok(())
                    })?;
                    if encodings.len() == types.len() {
                        return Err(source.corrupt(data_end, format!("encodings of {} columns", types.len()), "more"));
                    }
                    push(&mut encodings, (kind, size))?;
                }
                3 => {
                    let name = value.text()?;
                    zone = Zone::parse(name).ok_or_else(|| unknown_zone(source, name))?;
                }
                _ => {}
            }
            Ok(())
        })?;
        Ok(Self { source, types, streams, encodings, zone, instants_as_wall, rows: stripe.rows })
    }

    fn stream(&self, column: usize, kind: u64) -> Stream {
        match self.streams.get(&(column as u64, kind)) {
            Some((start, length)) => Stream::new(self.source.clone(), *start, *length),
            // of a column without values
            None => Stream::empty(self.source.clone()),
        }
    }

    fn integers(&self, column: usize, kind: u64, signed: bool) -> Integers {
        let second = self.encodings.get(column).is_some_and(|(encoding, _)| matches!(encoding, 2 | 3));
        Integers::new(self.stream(column, kind), signed, second)
    }

    /// The column of this name under a struct, as a value of a type.
    pub(super) fn field(&self, parent: usize, field: &DataField) -> Result<Column> {
        let child = self.types.get(parent).and_then(|node| node.child(&field.name));
        match child {
            Some(column) => self.column(column, &field.data_type).map_err(|e| e.with("column", &field.name)),
            None => Ok(Column { present: None, values: Values::Missing, to: arrow_type(&field.data_type)? }),
        }
    }

    /// A column that counts the rows where no wanted one is in the file.
    pub(super) fn counting_column(&self) -> Option<Column> {
        let children = &self.types.first()?.children;
        let fits = |column: &&usize| self.types.get(**column).is_some_and(|node| natural_type(node.kind).is_some());
        let column = *children.iter().find(fits)?;
        let kind = natural_type(self.types.get(column)?.kind)?;
        self.column(column, &DataType::new(kind)).ok()
    }

    fn column(&self, column: usize, t: &DataType) -> Result<Column> {
        let node = self.types.get(column).ok_or_else(|| Error::new(ErrorKind::Internal, "no such column"))?;
        let present = self.streams.contains_key(&(column as u64, PRESENT));
        let present = present.then(|| Bits::new(self.stream(column, PRESENT)));
        Ok(Column { present, values: self.values(column, node, t)?, to: arrow_type(t)? })
    }

    fn values(&self, column: usize, node: &Node, t: &DataType) -> Result<Values> {
        let data = || self.stream(column, DATA);
        let lengths = || self.integers(column, LENGTH, false);
        Ok(match (&t.kind, node.kind) {
            (TypeKind::Boolean, Kind::Boolean) => Values::Boolean(Bits::new(data())),
            (TypeKind::TinyInt, Kind::Byte) => Values::Bytes(ByteRuns::new(data())),
            (
                TypeKind::TinyInt | TypeKind::SmallInt | TypeKind::Int | TypeKind::BigInt,
                Kind::Short | Kind::Int | Kind::Long,
            )
            | (TypeKind::Time(_), Kind::Int | Kind::Long)
            | (TypeKind::Date, Kind::Date) => Values::Integers(self.integers(column, DATA, true)),
            (TypeKind::Float, Kind::Float) | (TypeKind::Double, Kind::Double) => Values::Floats(data()),
            (TypeKind::Char(_) | TypeKind::VarChar(_), Kind::String | Kind::Varchar | Kind::Char) => {
                self.texts(column, node.kind == Kind::Char)?
            }
            (TypeKind::Binary(_) | TypeKind::VarBinary(_), Kind::Binary) => {
                Values::Texts { lengths: lengths(), bytes: data(), trim: false }
            }
            (TypeKind::Decimal { precision, scale }, Kind::Decimal) => Values::Decimals {
                unscaled: data(),
                scales: self.integers(column, SECONDARY, true),
                precision: *precision,
                scale: *scale,
            },
            (TypeKind::Timestamp(_) | TypeKind::LocalZonedTimestamp(_), Kind::Timestamp | Kind::TimestampInstant) => {
                let clock = match node.kind {
                    Kind::Timestamp => Clock::wall(self.zone),
                    _ if self.instants_as_wall => Clock::wall_of_instants(self.zone),
                    _ => Clock::instants(),
                };
                let nanos = self.integers(column, SECONDARY, false);
                Values::Times { seconds: self.integers(column, DATA, true), nanos, clock }
            }
            (TypeKind::Row(fields), Kind::Struct) => {
                Values::Row(fields.iter().map(|field| self.field(column, field)).collect::<Result<_>>()?)
            }
            (TypeKind::Array(element), Kind::List) => {
                let element = Box::new(self.child(node, 0, element)?);
                Values::List { lengths: lengths(), element }
            }
            (TypeKind::Map(key, value), Kind::Map) => self.map(lengths(), node, key, value)?,
            (TypeKind::Multiset(element), Kind::Map) => {
                self.map(lengths(), node, element, &DataType::not_null(TypeKind::Int))?
            }
            (_, stored) => {
                let message = format!("the file stores {stored:?} where its schema says {:?}", t.kind);
                return Err(Error::new(ErrorKind::CorruptFile, message).with("file", self.source.input.path()));
            }
        })
    }

    fn child(&self, node: &Node, at: usize, t: &DataType) -> Result<Column> {
        let column = node.children.get(at).ok_or_else(|| Error::new(ErrorKind::Internal, "no such child"))?;
        self.column(*column, t)
    }

    fn map(&self, lengths: Integers, node: &Node, key: &DataType, value: &DataType) -> Result<Values> {
        let key = Box::new(self.child(node, 0, &key.clone().with_nullable(false))?);
        Ok(Values::Map { lengths, key, value: Box::new(self.child(node, 1, value)?) })
    }

    fn texts(&self, column: usize, trim: bool) -> Result<Values> {
        let (encoding, size) = self.encodings.get(column).copied().unwrap_or_default();
        let lengths = self.integers(column, LENGTH, false);
        if !matches!(encoding, 1 | 3) {
            return Ok(Values::Texts { lengths, bytes: self.stream(column, DATA), trim });
        }
        let of_rows = self.types.first().is_some_and(|root| root.children.contains(&column));
        if of_rows && size > self.rows {
            return Err(lengths.stream().corrupt(format!("a dictionary for {} rows", self.rows), size));
        }
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        let entries = Dictionary::read(size, lengths, self.stream(column, DICTIONARY_DATA), trim)?;
        Ok(Values::Dictionary { keys: self.integers(column, DATA, false), entries: Arc::new(entries) })
    }

    /// Rows of these columns.
    pub(super) fn rows(self, wanted: &[DataField]) -> Result<StripeRows> {
        limits::ask(
            wanted.len().saturating_mul(DECODER_BYTES),
            format_args!("reading {} columns at once", wanted.len()),
        )
        .map_err(|e| e.with("file", self.source.input.path()).hint("read fewer columns"))?;
        let mut columns = wanted.iter().map(|field| self.field(0, field)).collect::<Result<Vec<_>>>()?;
        if columns.iter().all(|column| matches!(column.values, Values::Missing)) {
            columns.extend(self.counting_column());
        }
        let left = usize::try_from(self.rows).unwrap_or(usize::MAX);
        let path = self.source.input.path().to_owned();
        Ok(StripeRows { path, columns, wanted: wanted.len(), left, most: usize::MAX })
    }
}

/// The writer's zone says what its wall clocks are.
fn unknown_zone(source: &Source, name: &str) -> Error {
    Error::unsupported(format!("the time zone '{}' of an ORC file's writer", shorten(name)))
        .with("file", source.input.path())
}

/// The type by which values of a kind can be read without knowing more.
fn natural_type(kind: Kind) -> Option<TypeKind> {
    Some(match kind {
        Kind::Boolean => TypeKind::Boolean,
        Kind::Byte => TypeKind::TinyInt,
        Kind::Short | Kind::Int | Kind::Long => TypeKind::BigInt,
        Kind::Float => TypeKind::Float,
        Kind::Double => TypeKind::Double,
        Kind::Date => TypeKind::Date,
        Kind::Binary => TypeKind::VarBinary(u32::MAX),
        Kind::String | Kind::Varchar | Kind::Char => TypeKind::VarChar(u32::MAX),
        _ => return None,
    })
}

/// The rows of a stripe, some at a time.
pub(super) struct StripeRows {
    path: String,
    columns: Vec<Column>,
    /// How many of them are asked for.
    wanted: usize,
    left: usize,
    /// Rows that a batch had room for.
    most: usize,
}

impl GroupRows for StripeRows {
    fn next(&mut self, most: usize) -> Result<(usize, Vec<ArrayRef>)> {
        let mut count = most.min(self.left).min(self.most);
        if count == 0 {
            return Err(Error::corrupt(&self.path, 0, "more rows in a stripe", "its end"));
        }
        loop {
            let mut columns = self.columns.clone();
            let mut budget = if count == 1 { Budget::of_one_row() } else { Budget::new(BATCH_BYTES) };
            let arrays: Result<Vec<ArrayRef>> = columns.iter_mut().map(|c| c.read(count, &mut budget)).collect();
            match arrays {
                Ok(mut arrays) => {
                    arrays.truncate(self.wanted);
                    self.columns = columns;
                    self.left -= count;
                    self.most = self.most.saturating_mul(2);
                    return Ok((count, arrays));
                }
                Err(_) if budget.exceeded => {
                    count = (count / 8).max(1);
                    self.most = count;
                }
                Err(e) if e.context_value("file").is_some() => return Err(e),
                Err(e) => return Err(e.with("file", &self.path)),
            }
        }
    }
}
