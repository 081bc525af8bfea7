//! What is known of a column, in the form of Java's `ColStats`.

use std::cmp::Ordering;

use serde_json::{Map, Value, json};

use super::distinct::Distinct;
use crate::{
    error::Result,
    row::{BinaryRow, Datum, compare_datums, datum_to_legacy_text, datum_to_text},
    types::{DataField, DataType, TypeKind},
};

/// Counts and range of a column's values.
pub(super) struct Column {
    data_type: DataType,
    distinct: Distinct,
    nulls: u64,
    values: u64,
    length: u64,
    longest: u64,
    min: Option<Datum>,
    max: Option<Datum>,
}

impl Column {
    /// `None`: columns of this type have no statistics.
    pub(super) fn of(field: &DataField) -> Option<Self> {
        let without = matches!(
            field.data_type.kind,
            TypeKind::Array(..)
                | TypeKind::Map(..)
                | TypeKind::Multiset(..)
                | TypeKind::Row(..)
                | TypeKind::Vector(..)
                | TypeKind::Variant
                | TypeKind::Blob
        );
        (!without).then(|| Self {
            data_type: field.data_type.clone(),
            distinct: Distinct::default(),
            nulls: 0,
            values: 0,
            length: 0,
            longest: 0,
            min: None,
            max: None,
        })
    }

    pub(super) fn data_type(&self) -> &DataType {
        &self.data_type
    }

    pub(super) fn add(&mut self, value: Datum) -> Result<()> {
        if value.is_null() {
            self.nulls += 1;
            return Ok(());
        }
        let length = match &value {
            Datum::String(text) => text.len() as u64,
            Datum::Bytes(bytes) => bytes.len() as u64,
            _ => width(&self.data_type.kind),
        };
        self.values += 1;
        self.length = self.length.saturating_add(length);
        self.longest = self.longest.max(length);
        let row = BinaryRow::from_datums(std::slice::from_ref(&self.data_type), std::slice::from_ref(&value))?;
        self.distinct.add(&row.to_serialized())?;
        if !has_range(&self.data_type.kind) {
            return Ok(());
        }
        if self.min.as_ref().is_none_or(|min| compare_datums(&value, min) == Ordering::Less) {
            self.min = Some(value.clone());
        }
        if self.max.as_ref().is_none_or(|max| compare_datums(&value, max) == Ordering::Greater) {
            self.max = Some(value);
        }
        Ok(())
    }

    pub(super) fn to_json(&self, id: i32) -> Value {
        let mut out = Map::new();
        out.insert("colId".to_owned(), json!(id));
        out.insert("distinctCount".to_owned(), json!(self.distinct.count(self.values)));
        for (key, value) in [("min", &self.min), ("max", &self.max)] {
            if let Some(text) = value.as_ref().and_then(|value| serialized(value, &self.data_type)) {
                out.insert(key.to_owned(), json!(text));
            }
        }
        out.insert("nullCount".to_owned(), json!(self.nulls));
        if let Some(average) = self.length.checked_div(self.values) {
            out.insert("avgLen".to_owned(), json!(average));
            out.insert("maxLen".to_owned(), json!(self.longest));
        }
        Value::Object(out)
    }
}

/// Whether Java reads bounds of such columns. One that it does not read makes the whole file unreadable to it.
fn has_range(kind: &TypeKind) -> bool {
    !matches!(kind, TypeKind::Binary(_) | TypeKind::VarBinary(_))
}

/// The text from which Java's serializer of the type makes the value again (`Serializer.deserializeFromString`): days, and
/// milliseconds of the day, are numbers. `None` for times of years that Java cannot read from it.
fn serialized(value: &Datum, data_type: &DataType) -> Option<String> {
    match value {
        Datum::Date(_) | Datum::Time(_) => Some(datum_to_legacy_text(value, data_type)),
        Datum::Timestamp { millis, .. } => READABLE.contains(millis).then(|| datum_to_text(value, data_type)),
        _ => Some(datum_to_text(value, data_type)),
    }
}

/// From 0001-01-01 until before 10000-01-01: years of four digits.
const READABLE: std::ops::Range<i64> = -62_135_596_800_000..253_402_300_800_000;

/// Bytes of a value of fixed width, as Spark counts them.
fn width(kind: &TypeKind) -> u64 {
    match kind {
        TypeKind::Boolean | TypeKind::TinyInt => 1,
        TypeKind::SmallInt => 2,
        TypeKind::Int | TypeKind::Float | TypeKind::Date | TypeKind::Time(_) => 4,
        TypeKind::Decimal { precision, .. } if *precision > 18 => 16,
        _ => 8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(kind: TypeKind, value: Datum) -> Option<String> {
        serialized(&value, &DataType::new(kind))
    }

    /// What `InternalSerializers.create(type).serializeToString(value)` gives in Java 1.4.2.
    #[test]
    fn bounds_are_texts_that_java_reads() {
        let at = |millis, nanos_of_milli| Datum::Timestamp { millis, nanos_of_milli };
        for (kind, value, expected) in [
            (TypeKind::Boolean, Datum::Boolean(true), "true"),
            (TypeKind::TinyInt, Datum::TinyInt(-1), "-1"),
            (TypeKind::BigInt, Datum::BigInt(i64::MIN), "-9223372036854775808"),
            (TypeKind::Float, Datum::Float(1.0e10), "1.0E10"),
            (TypeKind::Double, Datum::Double(f64::NEG_INFINITY), "-Infinity"),
            (TypeKind::Decimal { precision: 9, scale: 8 }, Datum::Decimal(1), "0.00000001"),
            (TypeKind::Date, Datum::Date(19_844), "19844"),
            (TypeKind::Time(3), Datum::Time(3_723_004), "3723004"),
            (TypeKind::Timestamp(0), at(0, 0), "1970-01-01 00:00:00"),
            (TypeKind::Timestamp(3), at(0, 0), "1970-01-01 00:00:00.000"),
            (TypeKind::LocalZonedTimestamp(9), at(1, 1), "1970-01-01 00:00:00.001000001"),
            (TypeKind::VarChar(9), Datum::String("a\"b".to_owned()), "a\"b"),
        ] {
            assert_eq!(text(kind, value).as_deref(), Some(expected));
        }
    }

    #[test]
    fn years_that_java_cannot_read_are_left_out() {
        for millis in [-62_135_596_800_001, 253_402_300_800_000] {
            assert_eq!(text(TypeKind::Timestamp(3), Datum::Timestamp { millis, nanos_of_milli: 0 }), None);
        }
        let last = Datum::Timestamp { millis: 253_402_300_799_999, nanos_of_milli: 0 };
        assert_eq!(text(TypeKind::Timestamp(3), last).as_deref(), Some("9999-12-31 23:59:59.999"));
    }
}
