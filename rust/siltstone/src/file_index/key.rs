//! Values as indexes have them.

use std::cmp::Ordering;

use crate::{
    codec::ByteReader,
    error::Result,
    limits,
    row::Datum,
    types::{DataType, TypeKind},
};

/// How values are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Bool,
    I8,
    I16,
    I32,
    I64,
    F32,
    F64,
    /// Length and bytes.
    Text,
    /// Only hashed.
    Bytes,
}

/// A value, in the order of Java: bytes of texts without sign, NaN greatest, -0.0 below 0.0.
#[derive(Clone, Debug)]
pub(super) enum Key {
    Bool(bool),
    Integer(i64),
    Float(f32),
    Double(f64),
    Text(Vec<u8>),
}

impl Key {
    /// Bytes that it holds beside itself.
    pub(super) fn text_length(&self) -> usize {
        if let Self::Text(bytes) = self { bytes.len() } else { 0 }
    }
}

/// What answers about a column are worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trust {
    /// Keys are the values that readers see.
    Exact,
    /// Several values have one key: what has another key has another value.
    Coarse,
    /// Only which values are null is known.
    Nulls,
}

/// The keys of a column.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyType {
    pub(super) form: Form,
    pub(super) trust: Trust,
    /// Of a time: microseconds, not milliseconds.
    micros: bool,
}

impl KeyType {
    /// Of columns of a type; `None`: they have none.
    pub(super) fn of(data_type: &DataType) -> Option<Self> {
        let exact = |form| Some(Self { form, trust: Trust::Exact, micros: false });
        match &data_type.kind {
            TypeKind::Boolean => exact(Form::Bool),
            TypeKind::TinyInt => exact(Form::I8),
            TypeKind::SmallInt => exact(Form::I16),
            TypeKind::Int | TypeKind::Date | TypeKind::Time(_) => exact(Form::I32),
            TypeKind::BigInt | TypeKind::Decimal { .. } => exact(Form::I64),
            TypeKind::Float => exact(Form::F32),
            TypeKind::Double => exact(Form::F64),
            TypeKind::VarChar(_) => exact(Form::Text),
            // readers of ORC leave spaces at the end out, the writer of the index did not
            TypeKind::Char(_) => Some(Self { form: Form::Text, trust: Trust::Nulls, micros: false }),
            TypeKind::Binary(_) | TypeKind::VarBinary(_) => exact(Form::Bytes),
            TypeKind::Timestamp(digits) | TypeKind::LocalZonedTimestamp(digits) => {
                let trust = match digits {
                    // other programs keep fractions of a second, which readers leave out
                    0 => Trust::Nulls,
                    1..=6 => Trust::Exact,
                    _ => Trust::Coarse,
                };
                Some(Self { form: Form::I64, trust, micros: *digits > 3 })
            }
            _ => None,
        }
    }

    /// The key of a literal that means just what the key means; `None`: there is none.
    pub(super) fn of_literal(self, value: &Datum) -> Option<Key> {
        if self.trust == Trust::Nulls {
            return None;
        }
        match value {
            // 0.0 and -0.0 are one value with two keys, and there are many NaN
            Datum::Float(v) if *v == 0.0 || v.is_nan() => None,
            Datum::Double(v) if *v == 0.0 || v.is_nan() => None,
            Datum::Timestamp { nanos_of_milli, .. } if self.trust == Trust::Exact => {
                let whole = if self.micros { nanos_of_milli % 1000 == 0 } else { *nanos_of_milli == 0 };
                if whole { self.of_value(value) } else { None }
            }
            other => self.of_value(other),
        }
    }

    /// The key of a stored value; `None`: null, or it has none.
    pub(super) fn of_value(self, value: &Datum) -> Option<Key> {
        let integer = |v: i64| Some(Key::Integer(v));
        match (value, self.form) {
            (Datum::Boolean(v), Form::Bool) => Some(Key::Bool(*v)),
            (Datum::TinyInt(v), Form::I8) => integer(i64::from(*v)),
            (Datum::SmallInt(v), Form::I16) => integer(i64::from(*v)),
            (Datum::Int(v) | Datum::Date(v) | Datum::Time(v), Form::I32) => integer(i64::from(*v)),
            (Datum::BigInt(v), Form::I64) => integer(*v),
            (Datum::Decimal(v), Form::I64) => i64::try_from(*v).ok().and_then(integer),
            (Datum::Float(v), Form::F32) => Some(Key::Float(if v.is_nan() { f32::NAN } else { *v })),
            (Datum::Double(v), Form::F64) => Some(Key::Double(if v.is_nan() { f64::NAN } else { *v })),
            (Datum::String(v), Form::Text) => Some(Key::Text(v.as_bytes().to_vec())),
            (Datum::Bytes(v), Form::Bytes) => Some(Key::Text(v.clone())),
            (Datum::Timestamp { millis, .. }, Form::I64) if !self.micros => integer(*millis),
            (Datum::Timestamp { millis, nanos_of_milli }, Form::I64) => {
                let micros = millis.checked_mul(1000)?.checked_add(i64::from(nanos_of_milli / 1000));
                micros.and_then(integer)
            }
            _ => None,
        }
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Bool(a), Self::Bool(b)) => a.cmp(b),
            (Self::Integer(a), Self::Integer(b)) => a.cmp(b),
            (Self::Float(a), Self::Float(b)) => a.total_cmp(b),
            (Self::Double(a), Self::Double(b)) => a.total_cmp(b),
            (Self::Text(a), Self::Text(b)) => a.cmp(b),
            // of one column all keys are of one kind
            _ => Ordering::Equal,
        }
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Key {}

impl Key {
    /// Of a text: the first key behind all that begin with it; `None`: there is none.
    pub(super) fn behind_prefix(&self) -> Option<Self> {
        let Self::Text(prefix) = self else { return None };
        let mut bytes = prefix.clone();
        while let Some(last) = bytes.pop() {
            if let Some(next) = last.checked_add(1) {
                bytes.push(next);
                return Some(Self::Text(bytes));
            }
        }
        None
    }
}

impl Form {
    /// Bytes of the shortest value.
    pub(super) fn least(self) -> usize {
        match self {
            Self::Bool | Self::I8 => 1,
            Self::I16 => 2,
            Self::I32 | Self::F32 | Self::Text | Self::Bytes => 4,
            Self::I64 | Self::F64 => 8,
        }
    }

    /// Whether all values have as many bytes.
    pub(super) fn is_fixed(self) -> bool {
        !matches!(self, Self::Text | Self::Bytes)
    }

    pub(super) fn read(self, from: &mut ByteReader<'_>) -> Result<Key> {
        Ok(match self {
            Self::Bool => Key::Bool(from.u8()? != 0),
            Self::I8 => Key::Integer(i64::from(from.u8()?.cast_signed())),
            Self::I16 => Key::Integer(i64::from(from.i16_be()?)),
            Self::I32 => Key::Integer(i64::from(from.i32_be()?)),
            Self::I64 => Key::Integer(from.i64_be()?),
            Self::F32 => {
                let value = f32::from_be_bytes(from.array()?);
                Key::Float(if value.is_nan() { f32::NAN } else { value })
            }
            Self::F64 => {
                let value = f64::from_be_bytes(from.array()?);
                Key::Double(if value.is_nan() { f64::NAN } else { value })
            }
            Self::Text | Self::Bytes => {
                let length = from.count_be(1)?;
                let mut text = Vec::new();
                limits::reserve(&mut text, length, "a value of a file index")?;
                text.extend_from_slice(from.take(length)?);
                Key::Text(text)
            }
        })
    }

    /// Writes a key of this form; others leave nothing.
    pub(super) fn write(self, key: &Key, to: &mut Vec<u8>) {
        match (self, key) {
            (Self::Bool, Key::Bool(v)) => to.push(u8::from(*v)),
            (Self::I8 | Self::I16 | Self::I32 | Self::I64, Key::Integer(v)) => {
                let bytes = v.to_be_bytes();
                to.extend(bytes.iter().skip(bytes.len() - self.least()));
            }
            (_, Key::Float(v)) => to.extend_from_slice(&v.to_be_bytes()),
            (_, Key::Double(v)) => to.extend_from_slice(&v.to_be_bytes()),
            (_, Key::Text(v)) => {
                put_length(to, v.len());
                to.extend_from_slice(v);
            }
            _ => {}
        }
    }

    /// Bytes of a written key.
    pub(super) fn size(self, key: &Key) -> usize {
        match key {
            Key::Text(text) => 4 + text.len(),
            _ => self.least(),
        }
    }
}

/// A number of bytes, entries or rows as Java has it; none is as large as `i32::MAX`.
pub(super) fn put_length(to: &mut Vec<u8>, length: usize) {
    to.extend_from_slice(&i32::try_from(length).unwrap_or(i32::MAX).to_be_bytes());
}
