//! The value semantics that Java showed (format chapter 11.4).

use super::*;
use crate::types::DataField;

fn cast(value: Datum, from: TypeKind, to: TypeKind) -> Result<Datum> {
    cast_datum(value, &DataType::new(from), &DataType::new(to))
}

fn decimal(precision: u8, scale: u8) -> TypeKind {
    TypeKind::Decimal { precision, scale }
}

fn text(s: &str) -> Datum {
    Datum::String(s.to_owned())
}

/// `{[1, null], {k: 2}}`, `{null, {}}` and null.
fn datums_from_json_rows(row: &DataType) -> ArrayRef {
    use arrow_array::builder::{Int32Builder, ListBuilder, MapBuilder, StringBuilder};
    let arrow_schema::DataType::Struct(fields) = crate::types::arrow_type(row).unwrap() else { panic!("a row") };
    let mut lists = ListBuilder::new(Int32Builder::new()).with_field(match fields[0].data_type() {
        arrow_schema::DataType::List(f) => f.clone(),
        _ => panic!("a list"),
    });
    lists.append_value([Some(1), None]);
    lists.append_null();
    lists.append_null();
    let names =
        arrow_array::builder::MapFieldNames { entry: "entries".into(), key: "key".into(), value: "value".into() };
    let mut maps = MapBuilder::new(Some(names), StringBuilder::new(), Int32Builder::new());
    maps.keys().append_value("k");
    maps.values().append_value(2);
    for _ in 0..3 {
        maps.append(true).unwrap();
    }
    let columns: Vec<ArrayRef> = vec![std::sync::Arc::new(lists.finish()), std::sync::Arc::new(maps.finish())];
    let nulls = arrow_buffer::NullBuffer::from(vec![true, true, false]);
    std::sync::Arc::new(arrow_array::StructArray::new(fields, columns, Some(nulls)))
}

const STRING: TypeKind = TypeKind::VarChar(MAX_LENGTH);

#[test]
fn integers_wrap_and_floats_saturate() {
    assert_eq!(cast(Datum::Int(300), TypeKind::Int, TypeKind::TinyInt).unwrap(), Datum::TinyInt(44));
    assert_eq!(cast(Datum::BigInt(4_294_967_297), TypeKind::BigInt, TypeKind::Int).unwrap(), Datum::Int(1));
    assert_eq!(cast(Datum::Double(1e20), TypeKind::Double, TypeKind::Int).unwrap(), Datum::Int(i32::MAX));
    assert_eq!(cast(Datum::Double(-1.9), TypeKind::Double, TypeKind::Int).unwrap(), Datum::Int(-1));
    assert_eq!(cast(Datum::Double(1e20), TypeKind::Double, TypeKind::TinyInt).unwrap(), Datum::TinyInt(-1));
    assert_eq!(cast(Datum::Double(f64::NAN), TypeKind::Double, TypeKind::BigInt).unwrap(), Datum::BigInt(0));
}

#[test]
fn decimals_are_cut_to_integers_rounded_to_decimals_and_null_on_overflow() {
    assert_eq!(cast(Datum::Decimal(199), decimal(5, 2), TypeKind::Int).unwrap(), Datum::Int(1));
    assert_eq!(cast(Datum::Decimal(12_345), decimal(5, 2), decimal(3, 1)).unwrap(), Datum::Null);
    assert_eq!(cast(Datum::Decimal(1245), decimal(5, 2), decimal(5, 1)).unwrap(), Datum::Decimal(125));
    assert_eq!(cast(Datum::Int(1000), TypeKind::Int, decimal(3, 0)).unwrap(), Datum::Null);
    assert_eq!(cast(Datum::Double(0.1), TypeKind::Double, decimal(10, 3)).unwrap(), Datum::Decimal(100));
    assert_eq!(cast(Datum::Decimal(150), decimal(5, 2), TypeKind::Double).unwrap(), Datum::Double(1.5));
    assert_eq!(cast(Datum::Boolean(true), TypeKind::Boolean, decimal(3, 1)).unwrap(), Datum::Decimal(10));
}

#[test]
fn texts_that_are_no_numbers_fail() {
    assert_eq!(cast(text("12.9"), STRING, TypeKind::Int).unwrap(), Datum::Int(12));
    assert_eq!(cast(text("+7"), STRING, TypeKind::TinyInt).unwrap(), Datum::TinyInt(7));
    for bad in [" 1", "1 ", "", "-", "x", "1e3", "99999999999"] {
        assert_eq!(cast(text(bad), STRING, TypeKind::Int).unwrap_err().kind(), ErrorKind::SchemaMismatch, "'{bad}'");
    }
    assert_eq!(cast(text(" 1.5 "), STRING, TypeKind::Double).unwrap(), Datum::Double(1.5));
    assert_eq!(cast(text("1e400"), STRING, TypeKind::Double).unwrap(), Datum::Double(f64::INFINITY));
    assert!(cast(text("inf"), STRING, TypeKind::Double).is_err());
    assert_eq!(cast(text("YES"), STRING, TypeKind::Boolean).unwrap(), Datum::Boolean(true));
    assert_eq!(cast(text("1.005"), STRING, decimal(5, 2)).unwrap(), Datum::Decimal(101));
}

#[test]
fn texts_are_cut_and_char_is_filled_up() {
    assert_eq!(cast(text("żółw"), STRING, TypeKind::VarChar(2)).unwrap(), text("żó"));
    assert_eq!(cast(text("ab"), STRING, TypeKind::Char(4)).unwrap(), text("ab  "));
    assert_eq!(cast(text("abcdef"), STRING, TypeKind::Char(4)).unwrap(), text("abcd"));
    assert_eq!(cast(Datum::Int(12_345), TypeKind::Int, TypeKind::VarChar(3)).unwrap(), text("123"));
    assert_eq!(cast(text("ab"), STRING, TypeKind::Binary(3)).unwrap(), Datum::Bytes(vec![97, 98, 0]));
}

#[test]
fn values_are_printed_as_java_prints_them() {
    assert_eq!(cast(Datum::Double(1e7), TypeKind::Double, STRING).unwrap(), text("1.0E7"));
    assert_eq!(cast(Datum::Date(0), TypeKind::Date, STRING).unwrap(), text("1970-01-01"));
    assert_eq!(cast(Datum::Decimal(-5), decimal(5, 2), STRING).unwrap(), text("-0.05"));
}

#[test]
fn numbers_and_timestamps_meet_in_seconds() {
    let at = |millis, nanos_of_milli| Datum::Timestamp { millis, nanos_of_milli };
    assert_eq!(cast(Datum::BigInt(5), TypeKind::BigInt, TypeKind::Timestamp(3)).unwrap(), at(5000, 0));
    assert_eq!(cast(at(5999, 0), TypeKind::Timestamp(3), TypeKind::BigInt).unwrap(), Datum::BigInt(5));
    assert_eq!(cast(at(-1, 0), TypeKind::LocalZonedTimestamp(3), TypeKind::Date).unwrap(), Datum::Date(-1));
    assert_eq!(cast(at(5999, 123_456), TypeKind::Timestamp(9), TypeKind::Timestamp(0)).unwrap(), at(5000, 0));
    assert_eq!(cast(at(5999, 123_456), TypeKind::Timestamp(9), TypeKind::Timestamp(6)).unwrap(), at(5999, 123_000));
    assert_eq!(cast(Datum::Date(1), TypeKind::Date, TypeKind::Timestamp(3)).unwrap(), at(86_400_000, 0));
}

#[test]
fn before_1970_java_cuts_timestamps_towards_1970() {
    let at = |millis| Datum::Timestamp { millis, nanos_of_milli: 0 };
    assert_eq!(cast(at(-1), TypeKind::Timestamp(3), TypeKind::Date).unwrap(), Datum::Date(0));
    assert_eq!(cast(at(-211), TypeKind::Timestamp(3), TypeKind::Timestamp(0)).unwrap(), at(0));
    assert_eq!(cast(at(-211), TypeKind::Timestamp(3), TypeKind::Timestamp(2)).unwrap(), at(-210));
}

#[test]
fn texts_become_dates_and_times_in_the_forms_that_java_reads() {
    let date = |s: &str| cast(text(s), STRING, TypeKind::Date).ok();
    assert_eq!((date("9"), date("-1")), (Some(Datum::Date(9)), Some(Datum::Date(-1))));
    assert_eq!(date("2024-5"), date("2024-05-01 12:34"));
    assert_eq!((date("2024-05-02T12:34:56"), date("2024-02-30"), date("10000-01-01")), (None, None, None));
    let time = |s: &str| cast(text(s), STRING, TypeKind::Time(3)).ok();
    assert_eq!((time(" 8 : 1 "), time("12:61:00")), (Some(Datum::Time(28_860_000)), time("13:01")));
    assert_eq!((time("8 "), time("8")), (time("08:00:00"), Some(Datum::Time(8))));
    assert_eq!((time("86400000"), time("-3"), time("24:00:00"), time("12:34:")), (None, None, None, None));
    let stamp = |s: &str, p| match cast(text(s), STRING, TypeKind::Timestamp(p)) {
        Ok(Datum::Timestamp { millis, nanos_of_milli }) => Some((millis, nanos_of_milli)),
        _ => None,
    };
    assert_eq!((stamp("9", 0), stamp("9", 6), stamp("9", 2)), (Some((9000, 0)), Some((0, 9000)), None));
    assert_eq!(stamp("2023-02-29", 3), stamp("2023-02-27 24:00:00", 3));
    assert_eq!(stamp("2024-5-2 1:2:3.5", 3), stamp("2024-05-02 01:02:03.500", 3));
    assert_eq!((stamp("24-05-02", 3), stamp("2024-05-02 1:2", 3), stamp("2024-05-02-1", 3)), (None, None, None));
    assert_eq!((stamp("2024-05-02T00:00:00", 3), stamp(" 2024-05-02", 3), stamp("0000-01-01", 3)), (None, None, None));
    assert!(cast(text("9"), STRING, TypeKind::LocalZonedTimestamp(3)).is_err(), "an instant is no number");
}

/// Java 1.4.2 reads each of them as the other text; they were refused.
#[test]
fn texts_of_unusual_forms_are_the_times_that_java_reads() {
    let same = |kind: &TypeKind, text: &str, plain: &str| {
        let (found, expected) =
            (cast(self::text(text), STRING, kind.clone()), cast(self::text(plain), STRING, kind.clone()));
        assert_eq!(found.unwrap(), expected.unwrap(), "{text}");
    };
    let stamp = TypeKind::Timestamp(3);
    for (text, plain) in [
        ("2024-0505-02", "2024-05-02"),
        ("2024-5-", "2024-05-01"),
        ("2024--", "2024-01-01"),
        ("2024-05-02 ::", "2024-05-02"),
        ("2024-05-02 1:2:", "2024-05-02 01:02:00"),
        ("2024-05-02 :2:3.", "2024-05-02 00:02:03"),
        ("2024-05-02 12:00:0707.5", "2024-05-02 12:00:07.5"),
        ("2024-02-29 24::", "2024-03-01"),
        ("2024-5- 24:0:0", "2024-05-01"),
    ] {
        same(&stamp, text, plain);
    }
    let far = |text: &str| cast(self::text(text), STRING, TypeKind::Timestamp(3)).ok();
    assert_eq!(far("+10000-01-01"), Some(Datum::Timestamp { millis: 253_402_300_800_000, nanos_of_milli: 0 }));
    for bad in [
        "10000-01-01",
        "+2024-01-01",
        "-2024-01-01",
        "2024-1-1-",
        "2024-005-01",
        "2024--5-01",
        "2024-05--2",
        "2024-13-",
        "2024-05-02 24:00:01",
        "2024-05-02 24::00",
        "2024-05-02 1:2",
        "2024-05-02 12:00:00.1234567890",
        "2024-05-٠٢",
        "2024--15",
    ] {
        assert_eq!(far(bad), None, "{bad}");
    }
    for (text, plain) in [
        ("12:00:00+1", "13:00"),
        ("12:00:00+01:30", "13:30"),
        ("12:00:00.5-01:00", "11:00:00.5"),
        ("12+1", "13:00"),
        ("12:30-1", "11:30"),
        ("000000000012:00", "12:00"),
        ("12:00:00.1x3", "12:00:00.103"),
        ("12:00:00.123x", "12:00:00.124"),
        ("12:00:00. 5 ", "12:00:00.5"),
    ] {
        same(&TypeKind::Time(3), text, plain);
    }
    for bad in ["12+01:00", "12:00+01:00", "12:00-", "-12:00", "12:00:00:00", "12:00:00+1.5", "23:00+1", "٠:٠"] {
        assert!(cast(self::text(bad), STRING, TypeKind::Time(3)).is_err(), "{bad}");
    }
    same(&TypeKind::Date, "00000000002024-5-000001", "2024-05-01");
}

/// As Java's `BigDecimal` and `parseDouble`; they were refused.
#[test]
fn texts_of_other_digits_are_the_numbers_that_java_reads() {
    for (value, unscaled) in [("١٢٫٥".replace('٫', "."), 1250), ("-１２e-１".to_owned(), -120), ("߁.๕".to_owned(), 150)]
    {
        assert_eq!(cast(text(&value), STRING, decimal(10, 2)).unwrap(), Datum::Decimal(unscaled), "{value}");
    }
    for bad in ["𝟏", "½", "１２．５", "−1"] {
        assert!(cast(text(bad), STRING, decimal(10, 2)).is_err(), "{bad}");
    }
    for (value, expected) in [("0x1.8p3", 12.0), (" -0X1P-1f ", -0.5), ("0x.8p0d", 0.5)] {
        assert_eq!(cast(text(value), STRING, TypeKind::Double).unwrap(), Datum::Double(expected), "{value}");
    }
    assert_eq!(cast(text("0x1.000001p0"), STRING, TypeKind::Float).unwrap(), Datum::Float(1.0));
    for bad in ["0x1", "0x1.8", "١", "0x1p1ff", "x1p1"] {
        assert!(cast(text(bad), STRING, TypeKind::Double).is_err(), "{bad}");
        assert!(cast(text(bad), STRING, TypeKind::Float).is_err(), "{bad}");
    }
    assert!(cast(text("١"), STRING, TypeKind::Int).is_err(), "whole numbers are read byte by byte");
}

#[test]
fn nested_values_become_text_as_java_writes_them() {
    let int = || DataType::new(TypeKind::Int);
    let row = DataType::new(TypeKind::Row(vec![
        DataField::new(1, "a", DataType::new(TypeKind::Array(Box::new(int())))),
        DataField::new(2, "m", DataType::new(TypeKind::Map(Box::new(DataType::new(STRING)), Box::new(int())))),
    ]));
    let rows = datums_from_json_rows(&row);
    let texts = evolve(&rows, &row, &DataType::new(TypeKind::VarChar(2))).unwrap();
    let texts: Vec<_> = arrow_array::cast::AsArray::as_string::<i32>(&texts).iter().collect();
    assert_eq!(texts, [Some("{[1, null], {k -> 2}}"), Some("{null, {}}"), None]);
}

#[test]
fn what_java_cannot_cast_is_unsupported() {
    let e = cast(Datum::Date(1), TypeKind::Date, TypeKind::Int).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::UnsupportedFeature);
    let stamp = Datum::Timestamp { millis: 0, nanos_of_milli: 0 };
    let e = cast(stamp, TypeKind::Timestamp(3), TypeKind::Double).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::UnsupportedFeature);
}

#[test]
fn nested_fields_are_matched_by_id() {
    let field = |id, name: &str, kind| DataField::new(id, name, DataType::new(kind));
    let old = DataType::new(TypeKind::Row(vec![
        field(1, "x", TypeKind::Int),
        field(2, "gone", STRING),
        field(3, "y", TypeKind::Array(Box::new(DataType::new(TypeKind::Int)))),
    ]));
    let new = DataType::new(TypeKind::Row(vec![
        field(4, "new", STRING),
        field(3, "renamed", TypeKind::Array(Box::new(DataType::new(TypeKind::BigInt)))),
        field(1, "x", STRING),
    ]));
    let source = evolved_source(&old, &new);
    let TypeKind::Row(fields) = &source.kind else { panic!("a row") };
    assert_eq!(fields.iter().map(|f| f.id).collect::<Vec<_>>(), [1, 3]);
    let array = arrow_array::new_null_array(&crate::types::arrow_type(&source).unwrap(), 2);
    let evolved = evolve(&array, &source, &new).unwrap();
    assert_eq!(evolved.data_type(), &crate::types::arrow_type(&new).unwrap());
}

#[test]
fn a_length_that_would_fill_memory_with_blanks_is_an_error_and_a_common_one_is_not() {
    for to in [TypeKind::Char(MAX_LENGTH), TypeKind::Binary(MAX_LENGTH - 1)] {
        let error = cast(text("a"), STRING, to).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::MemoryLimitExceeded, "{error}");
    }
    assert_eq!(cast(text("a"), STRING, TypeKind::Char(3)).unwrap(), text("a  "));
    assert_eq!(cast(text("a"), STRING, TypeKind::Binary(MAX_LENGTH)).unwrap(), Datum::Bytes(b"a".to_vec()));
}

/// As any language prints a quotient; Java rounds it, and makes null of what has too many digits.
#[test]
fn texts_of_any_number_of_digits_are_decimals() {
    let cast = |value: &str, to| cast(text(value), STRING, to).unwrap();
    for (value, unscaled) in [
        (format!("0.{}", "3".repeat(44)), 33),
        (format!("-0.{}", "6".repeat(60)), -67),
        (format!("0.00{}", "5".repeat(60)), 1),
        (format!("1.{}", "0".repeat(60)), 100),
        (format!("{}7", "0".repeat(60)), 700),
        (format!("{}e-58", "1".repeat(60)), 1111),
        ("1e2".to_owned(), 10_000),
        ("5e-3".to_owned(), 1),
        ("4.999e-3".to_owned(), 0),
        ("1E-50".to_owned(), 0),
        ("0e400".to_owned(), 0),
    ] {
        assert_eq!(cast(&value, decimal(10, 2)), Datum::Decimal(unscaled), "{value}");
    }
    for value in ["1".repeat(45), format!("{}.5", "9".repeat(38)), "1e400".to_owned(), "99999999.995".to_owned()] {
        assert_eq!(cast(&value, decimal(10, 2)), Datum::Null, "{value}");
    }
    for value in ["", "-", "+", ".", "1e", "abc", "1e99999999999", &format!("{}x", "1".repeat(45))] {
        assert!(
            super::cast_datum(text(value), &DataType::new(STRING), &DataType::new(decimal(10, 2))).is_err(),
            "{value}"
        );
    }
}

/// A column that was NOT NULL in its file has an empty text where its row is null.
#[test]
fn values_below_a_null_row_are_not_cast() {
    let type_of = |text: &str| crate::types::parse_type(text).unwrap();
    let texts: ArrayRef = std::sync::Arc::new(arrow_array::StringArray::from(vec!["", "7"]));
    let fields = vec![arrow_schema::Field::new("v", texts.data_type().clone(), false)].into();
    let nulls = arrow_buffer::NullBuffer::from(vec![false, true]);
    let rows: ArrayRef = std::sync::Arc::new(arrow_array::StructArray::new(fields, vec![texts], Some(nulls)));
    let numbers = evolve(&rows, &type_of("ROW<v STRING NOT NULL>"), &type_of("ROW<v INT NOT NULL>")).unwrap();
    let numbers = crate::row::datums_from_array(&numbers, &type_of("ROW<v INT NOT NULL>")).unwrap();
    assert!(numbers[0].is_null() && !numbers[1].is_null());
}

/// What a table got after the file was written: a list in it may have any number of elements.
#[test]
fn fields_that_came_later_are_asked_for() {
    let field = |id, name| DataField::new(id, name, DataType::new(TypeKind::BigInt));
    let from = DataType::new(TypeKind::Row(vec![field(1, "a")]));
    let to = DataType::new(TypeKind::Row(vec![field(2, "b"), field(3, "c")]));
    let rows = |len| -> ArrayRef { std::sync::Arc::new(arrow_array::StructArray::new_empty_fields(len, None)) };
    let evolved = evolve(&rows(2), &from, &to).unwrap();
    assert_eq!(arrow_array::cast::AsArray::as_struct(&evolved).column(1).null_count(), 2);
    let error = evolve(&rows(usize::MAX / 256), &from, &to).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::MemoryLimitExceeded);
}
