use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int32Array, ListArray, StringArray, StructArray, TimestampSecondArray};

use super::*;
use crate::{
    codec::{from_hex, to_hex},
    types::{DataField, DataType, MAX_LENGTH, TypeKind, arrow_type},
};

fn t(kind: TypeKind) -> DataType {
    DataType::new(kind)
}

fn string() -> DataType {
    t(TypeKind::VarChar(MAX_LENGTH))
}

fn array_of(element: DataType) -> DataType {
    t(TypeKind::Array(Box::new(element)))
}

fn hex(text: &str) -> Vec<u8> {
    from_hex(&text.replace(' ', "")).unwrap()
}

/// Java's examples of nested rows: bytes from the format reference.
fn nested_examples() -> Vec<(DataType, &'static str, &'static str)> {
    vec![
        (
            array_of(t(TypeKind::Int)),
            "00000001 0000000000000000 1800000010000000 0300000002000000 0100000000000000 0300000000000000",
            "[1, null, 3]",
        ),
        (
            t(TypeKind::Map(Box::new(string()), Box::new(t(TypeKind::BigInt)))),
            "00000001 0000000000000000 2400000010000000 1000000001000000 000000006b310000 0000008201000000 \
             000000000a000000 0000000000000000",
            "{k1 -> 10}",
        ),
        (
            t(TypeKind::Row(vec![DataField::new(1, "a", t(TypeKind::Int)), DataField::new(2, "b", string())])),
            "00000001 0000000000000000 1800000010000000 0000000000000000 0500000000000000 7800000000000081",
            "{5, x}",
        ),
    ]
}

#[test]
fn nested_values_go_to_arrow_and_back_to_the_same_bytes() {
    for (data_type, bytes, text) in nested_examples() {
        let bytes = hex(bytes);
        let row = BinaryRow::from_serialized(&bytes).unwrap();
        let value = row.get(0, &data_type).unwrap();
        assert_eq!(datum_to_text(&value, &data_type), text);
        let array = array_from_datums(&[Datum::Null, value.clone()], &data_type).unwrap();
        assert_eq!(array.data_type(), &arrow_type(&data_type).unwrap());
        assert_eq!(datum_from_array(array.as_ref(), 1, &data_type).unwrap(), value);
        let types = [data_type];
        let rows = binary_rows(&types, &[array]).unwrap();
        assert_eq!(to_hex(&rows.serialized(1)), to_hex(&bytes));
        assert_eq!(BinaryRow::from_datums(&types, &[value]).unwrap(), row);
        assert_eq!(rows.row(0), hex("0001000000000000 0000000000000000"));
    }
}

#[test]
fn arrays_of_longs_and_wide_decimals_are_those_of_java() {
    for (element, array, text) in [
        (TypeKind::BigInt, "03000000 02000000 0000000000000000 0000000000000000 0200000000000000", "[0, null, 2]"),
        (
            TypeKind::Decimal { precision: 20, scale: 2 },
            "02000000 01000000 0000000000000000 0100000018000000 6400000000000000 0000000000000000",
            "[null, 1.00]",
        ),
    ] {
        let data_type = array_of(t(element));
        let value = Datum::Nested(hex(array));
        assert_eq!(datum_to_text(&value, &data_type), text);
        let arrow = array_from_datums(std::slice::from_ref(&value), &data_type).unwrap();
        assert_eq!(datum_from_array(arrow.as_ref(), 0, &data_type).unwrap(), value);
    }
}

#[test]
fn deeply_nested_values_keep_their_nulls() {
    let row = t(TypeKind::Row(vec![
        DataField::new(1, "a", array_of(t(TypeKind::Timestamp(6)))),
        DataField::new(2, "b", t(TypeKind::Decimal { precision: 30, scale: 3 })),
        DataField::new(3, "c", t(TypeKind::Multiset(Box::new(string())))),
    ]));
    let stamps = array_from_datums(
        &[Datum::Timestamp { millis: -1, nanos_of_milli: 1000 }, Datum::Null],
        &t(TypeKind::Timestamp(6)),
    )
    .unwrap();
    let arrow_schema::DataType::Struct(fields) = arrow_type(&row).unwrap() else { panic!() };
    let arrow_schema::DataType::List(item) = fields[0].data_type() else { panic!() };
    let offsets = arrow_buffer::OffsetBuffer::from_lengths([2, 0]);
    let list = ListArray::new(Arc::clone(item), offsets, stamps, None);
    let decimals =
        array_from_datums(&[Datum::Null, Datum::Decimal(-1)], &t(TypeKind::Decimal { precision: 30, scale: 3 }))
            .unwrap();
    let bags = arrow_array::new_null_array(fields[2].data_type(), 2);
    let array: ArrayRef = Arc::new(StructArray::new(fields, vec![Arc::new(list), decimals, bags], None));
    let values = datums_from_array(array.as_ref(), &row).unwrap();
    assert_eq!(datum_to_text(&values[0], &row), "{[1969-12-31 23:59:59.999001, null], null, null}");
    assert_eq!(datum_to_text(&values[1], &row), "{[], -0.001, null}");
    assert_eq!(&array_from_datums(&values, &row).unwrap(), &array);
}

#[test]
fn a_null_hidden_under_other_bytes_leaves_no_trace() {
    // Arrow may keep any value below a null
    let nulls = Some(arrow_buffer::NullBuffer::from(vec![false, true]));
    let ints: ArrayRef = Arc::new(Int32Array::new(vec![77, 1].into(), nulls.clone()));
    let seconds: ArrayRef = Arc::new(TimestampSecondArray::new(vec![i64::MAX, 1].into(), nulls));
    let types = [t(TypeKind::Int), t(TypeKind::Timestamp(0))];
    let rows = binary_rows(&types, &[ints, seconds]).unwrap();
    assert_eq!(rows.row(0), BinaryRow::from_datums(&types, &[Datum::Null, Datum::Null]).unwrap().as_bytes());
    let second = [Datum::Int(1), Datum::Timestamp { millis: 1000, nanos_of_milli: 0 }];
    assert_eq!(rows.row(1), BinaryRow::from_datums(&types, &second).unwrap().as_bytes());
}

#[test]
fn a_column_of_another_type_is_refused() {
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["a"]));
    let error = binary_rows(&[t(TypeKind::Int)], &[texts]).unwrap_err();
    assert_eq!(error.kind(), crate::ErrorKind::SchemaMismatch);
    assert!(BinaryRow::from_datums(&[t(TypeKind::Int)], &[Datum::BigInt(1)]).is_err());
}

#[test]
fn the_empty_row_is_twelve_zero_bytes() {
    assert_eq!(BinaryRow::empty().to_serialized(), vec![0; 12]);
    assert_eq!(BinaryRow::from_serialized(&[0; 12]).unwrap(), BinaryRow::empty());
    assert_eq!(BinaryRow::empty().hash(), -1_670_924_195);
}

/// Two texts of 32 bytes in a row of 56.
const SAME_BYTES: &str = "00000002 0000000000000000 20000000 18000000 20000000 18000000 \
    6161616161616161 6161616161616161 6161616161616161 6161616161616161";

#[test]
fn broken_rows_say_what_is_wrong() {
    let text = &[string()][..];
    for (bytes, types, expected) in [
        ("", text, "4 bytes"),
        ("ffffffff", text, "a number of columns"),
        ("7fffffff 0000000000000000", text, "a row of 2147483647 columns"),
        ("00000002 0000000000000000 0000000000000000", text, "a row of 2 columns"),
        ("00000001 0000000000000000 09000000 10000000 6161616161616161", text, "a value inside the 24 bytes"),
        ("00000001 0000000000000000 ffffffff 10000000 6161616161616161", text, "a value inside the 24 bytes"),
        ("00000001 0000000000000000 08000000 ffffff7f 6161616161616161", text, "a value inside the 24 bytes"),
        ("00000001 0000000000000000 0000000000000088", text, "a length of at most 7"),
        ("00000001 0000000000000000 ff00000000000081", text, "UTF-8 text"),
        // both name all of the variable part: 900 such columns became 900 times as large in memory as the file
        (SAME_BYTES, &[string(), string()], "some name the same bytes"),
    ] {
        let error = BinaryRow::from_serialized(&hex(bytes)).and_then(|row| row.datums(types)).unwrap_err();
        assert_eq!(error.kind(), crate::ErrorKind::CorruptFile);
        assert!(error.to_string().contains(expected), "{error}");
    }
    let array = Datum::Nested(hex("ffffff7f 00000000"));
    let error = array_from_datums(&[array], &array_of(t(TypeKind::Boolean))).unwrap_err();
    assert!(error.to_string().contains("the size of an array"), "{error}");
    let array = Datum::Nested(hex("02000000 00000000 20000000 18000000 20000000 18000000 \
        6161616161616161 6161616161616161 6161616161616161 6161616161616161"));
    assert!(datum_to_text(&array, &array_of(string())).starts_with("<unreadable value"));
    let error = array_from_datums(&[array], &array_of(string())).unwrap_err();
    assert!(error.to_string().contains("some name the same bytes"), "{error}");
}

#[test]
fn keys_in_serialized_form_compare_column_by_column() {
    let types = [t(TypeKind::Int), string()];
    let key =
        |a: Datum, b: &str| BinaryRow::from_datums(&types, &[a, Datum::String(b.into())]).unwrap().to_serialized();
    let ordered =
        [key(Datum::Null, "z"), key(Datum::Int(-5), ""), key(Datum::Int(3), "long text a"), key(Datum::Int(3), "z")];
    for (i, a) in ordered.iter().enumerate() {
        for (j, b) in ordered.iter().enumerate() {
            assert_eq!(compare_serialized(a, b, &types).unwrap(), i.cmp(&j));
        }
    }
    assert!(compare_serialized(&ordered[0], &[0; 12], &types).is_err());
}

#[test]
fn texts_are_those_of_java() {
    let ts = |millis, nanos_of_milli| Datum::Timestamp { millis, nanos_of_milli };
    let time = 1_715_690_096_789;
    for (value, kind, cast, legacy) in [
        (Datum::Date(19_857), TypeKind::Date, "2024-05-14", "19857"),
        (ts(time, 0), TypeKind::Timestamp(3), "2024-05-14 12:34:56.789", "2024-05-14T12:34:56.789"),
        (ts(time, 12_000), TypeKind::Timestamp(6), "2024-05-14 12:34:56.789012", "2024-05-14T12:34:56.789012"),
        (ts(time, 12_345), TypeKind::Timestamp(9), "2024-05-14 12:34:56.789012345", "2024-05-14T12:34:56.789012345"),
        (ts(1_715_690_096_000, 0), TypeKind::Timestamp(0), "2024-05-14 12:34:56", "2024-05-14T12:34:56"),
        (ts(1_715_690_040_000, 0), TypeKind::Timestamp(3), "2024-05-14 12:34:00.000", "2024-05-14T12:34"),
        (
            ts(-1, 999_999),
            TypeKind::LocalZonedTimestamp(9),
            "1969-12-31 23:59:59.999999999",
            "1969-12-31T23:59:59.999999999",
        ),
        (Datum::Decimal(12_345), TypeKind::Decimal { precision: 10, scale: 2 }, "123.45", "123.45"),
        (Datum::Decimal(-5), TypeKind::Decimal { precision: 10, scale: 2 }, "-0.05", "-0.05"),
        (Datum::Decimal(7), TypeKind::Decimal { precision: 10, scale: 0 }, "7", "7"),
        (Datum::Boolean(true), TypeKind::Boolean, "true", "true"),
        (Datum::Time(3_723_004), TypeKind::Time(3), "01:02:03.004", "3723004"),
        (Datum::Time(3_723_500), TypeKind::Time(3), "01:02:03.5", "3723500"),
        (Datum::Time(3_723_000), TypeKind::Time(0), "01:02:03", "3723000"),
        (Datum::Double(1.5), TypeKind::Double, "1.5", "1.5"),
        (Datum::Double(1e10), TypeKind::Double, "1.0E10", "1.0E10"),
        (Datum::Double(1e7), TypeKind::Double, "1.0E7", "1.0E7"),
        (Datum::Double(1_234_567.0), TypeKind::Double, "1234567.0", "1234567.0"),
        (Datum::Double(-0.001), TypeKind::Double, "-0.001", "-0.001"),
        (Datum::Double(1.25e-4), TypeKind::Double, "1.25E-4", "1.25E-4"),
        (Datum::Double(-0.0), TypeKind::Double, "-0.0", "-0.0"),
        (Datum::Float(0.1), TypeKind::Float, "0.1", "0.1"),
        (Datum::Float(f32::NEG_INFINITY), TypeKind::Float, "-Infinity", "-Infinity"),
        (Datum::String("x y".into()), TypeKind::VarChar(9), "x y", "x y"),
    ] {
        assert_eq!(datum_to_text(&value, &t(kind.clone())), cast);
        assert_eq!(datum_to_legacy_text(&value, &t(kind.clone())), legacy);
        if !cast.contains("Infinity") {
            assert_eq!(datum_from_text(cast, &t(kind)).unwrap(), value);
        }
    }
}

#[test]
fn texts_of_many_forms_are_understood() {
    let ts = |millis| Datum::Timestamp { millis, nanos_of_milli: 0 };
    for (text, kind, expected) in [
        ("YES", TypeKind::Boolean, Datum::Boolean(true)),
        ("19857", TypeKind::Date, Datum::Date(19_857)),
        ("-1", TypeKind::Date, Datum::Date(-1)),
        ("2024-5-14 10:00:00", TypeKind::Date, Datum::Date(19_857)),
        ("12:30", TypeKind::Time(0), Datum::Time(45_000_000)),
        ("2024-05-14T12:34", TypeKind::Timestamp(3), ts(1_715_690_040_000)),
        ("1970-01-02", TypeKind::Timestamp(3), ts(86_400_000)),
        ("1970-01-01 00:00:00.129", TypeKind::Timestamp(1), ts(100)),
        ("1970-01-01T01:00:00+01:00", TypeKind::LocalZonedTimestamp(3), ts(0)),
        ("1969-12-31 19:00-05", TypeKind::LocalZonedTimestamp(3), ts(0)),
        ("1.5e2", TypeKind::Decimal { precision: 5, scale: 1 }, Datum::Decimal(1500)),
        ("-1.25", TypeKind::Decimal { precision: 5, scale: 1 }, Datum::Decimal(-13)),
        ("+7", TypeKind::TinyInt, Datum::TinyInt(7)),
    ] {
        assert_eq!(datum_from_text(text, &t(kind)).unwrap(), expected, "{text}");
    }
    for (text, kind) in [
        ("maybe", TypeKind::Boolean),
        ("2023-02-29", TypeKind::Date),
        ("24-01-01", TypeKind::Date),
        ("25:00", TypeKind::Time(0)),
        ("1970-01-01T01:00:00Z", TypeKind::Timestamp(3)),
        ("128", TypeKind::TinyInt),
        ("1000", TypeKind::Decimal { precision: 3, scale: 0 }),
        ("1e999999999", TypeKind::Decimal { precision: 3, scale: 0 }),
        ("abcd", TypeKind::VarChar(3)),
        ("", TypeKind::Int),
        ("1e", TypeKind::Decimal { precision: 3, scale: 0 }),
    ] {
        assert!(datum_from_text(text, &t(kind)).is_err(), "{text}");
    }
}

#[test]
fn timestamps_outside_the_range_of_nanoseconds_say_so() {
    let value = Datum::Timestamp { millis: 253_402_300_799_999, nanos_of_milli: 0 };
    let error = array_from_datums(&[value], &t(TypeKind::Timestamp(9))).unwrap_err();
    assert!(error.to_string().contains("9999-12-31"), "{error}");
    let lowest = Datum::Timestamp { millis: i64::MIN.div_euclid(1_000_000), nanos_of_milli: 224_192 };
    let array = array_from_datums(std::slice::from_ref(&lowest), &t(TypeKind::Timestamp(9))).unwrap();
    assert_eq!(datum_from_array(array.as_ref(), 0, &t(TypeKind::Timestamp(9))).unwrap(), lowest);
}

#[test]
fn a_constant_array_repeats_its_value() {
    for value in [Datum::Null, Datum::String("abc".into())] {
        let array = constant_array(&value, &string(), 3).unwrap();
        assert_eq!(datums_from_array(array.as_ref(), &string()).unwrap(), vec![value.clone(), value.clone(), value]);
    }
}
