//! What input is taken, what is refused, and how the refusal reads.

use std::{collections::BTreeMap, sync::Arc};

use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Decimal128Array, Decimal256Array, DictionaryArray, FixedSizeBinaryArray,
    Float32Array, Float64Array, Int8Array, Int16Array, Int32Array, Int64Array, LargeBinaryArray, LargeListArray,
    LargeStringArray, ListArray, NullArray, RecordBatch, StringArray, StringViewArray, StructArray,
    Time64MicrosecondArray, TimestampMicrosecondArray, TimestampMillisecondArray, TimestampNanosecondArray,
    UInt64Array,
    builder::{Int32Builder, MapBuilder, StringBuilder},
    cast::AsArray,
    types::{Int32Type, Int64Type},
};
use arrow_buffer::{NullBuffer, OffsetBuffer, i256};
use arrow_schema::{DataType as Arrow, Field, Fields};

use super::{
    RowKinds, convert::convert, count_column::CountColumns, input::Input, place::ColumnPath, route::Router,
    row_kinds::KindRules,
};
use crate::{
    error::{Error, ErrorKind, Result},
    index::{BucketFunction, bucket_of},
    manifest::BucketId,
    options::CoreOptions,
    row::{BinaryRow, Datum, RowKind},
    schema::{EngineSpec, TableSchema},
    types::{DataField, DataType, MAX_LENGTH, TypeKind, arrow_type},
};

fn to(kind: TypeKind, array: impl arrow_array::Array + 'static) -> Result<ArrayRef> {
    let target = DataType::new(kind);
    let converted = convert(&(Arc::new(array) as ArrayRef), &target, &ColumnPath::column("c", 0))?;
    assert_eq!(converted.data_type(), &arrow_type(&target)?);
    Ok(converted)
}

fn refused(kind: TypeKind, array: impl arrow_array::Array + 'static) -> Error {
    let error = to(kind, array).expect_err("refused");
    assert!(error.context_value("column").is_some_and(|c| c.starts_with('c')), "{error}");
    error
}

const STRING: TypeKind = TypeKind::VarChar(MAX_LENGTH);

fn decimal(precision: u8, scale: u8) -> TypeKind {
    TypeKind::Decimal { precision, scale }
}

/// Texts of a slice begin where those of the array before it end: behind 2 GiB they were an internal error.
#[test]
fn large_texts_of_a_slice_are_those_of_the_slice() {
    let texts = LargeStringArray::from(vec![Some("a"), None, Some("bcd"), Some(""), Some("ef")]).slice(1, 3);
    let expected = StringArray::from(vec![None, Some("bcd"), Some("")]);
    let converted = to(TypeKind::VarChar(9), texts.clone()).unwrap();
    assert_eq!(converted.as_string::<i32>(), &expected);
    let bytes = LargeBinaryArray::from(texts);
    let converted = to(TypeKind::VarBinary(9), bytes).unwrap();
    assert_eq!(converted.as_binary::<i32>(), &BinaryArray::from(expected));
}

#[test]
fn text_comes_in_any_encoding() {
    let values = [Some("a"), None, Some("ü")];
    let wanted = StringArray::from(values.to_vec());
    let dictionary: DictionaryArray<Int32Type> = values.into_iter().collect();
    for array in [
        Arc::new(LargeStringArray::from(values.to_vec())) as ArrayRef,
        Arc::new(StringViewArray::from(values.to_vec())),
        Arc::new(dictionary),
    ] {
        assert_eq!(to(STRING, array).unwrap().as_string::<i32>(), &wanted);
    }
    assert_eq!(refused(STRING, Int32Array::from(vec![1])).kind(), ErrorKind::SchemaMismatch);
}

#[test]
fn lengths_count_characters_of_text_and_bytes_of_binaries() {
    assert!(to(TypeKind::VarChar(3), StringArray::from(vec!["äöü"])).is_ok());
    assert_eq!(refused(TypeKind::Char(3), StringArray::from(vec!["ok", "äöüß"])).kind(), ErrorKind::LengthExceeded);
    let four = FixedSizeBinaryArray::try_from_iter([vec![1_u8, 2, 3, 4]].into_iter()).unwrap();
    assert!(to(TypeKind::Binary(4), four.clone()).is_ok());
    assert_eq!(refused(TypeKind::VarBinary(3), four).kind(), ErrorKind::LengthExceeded);
}

#[test]
fn integers_change_width_when_every_value_fits() {
    let narrow = to(TypeKind::TinyInt, Int64Array::from(vec![Some(-128), None, Some(127)])).unwrap();
    assert_eq!(
        narrow.as_primitive::<arrow_array::types::Int8Type>(),
        &Int8Array::from(vec![Some(-128), None, Some(127)])
    );
    assert!(to(TypeKind::BigInt, Int8Array::from(vec![1])).is_ok());
    let error = refused(TypeKind::BigInt, UInt64Array::from(vec![1, u64::MAX]));
    assert_eq!(error.kind(), ErrorKind::SchemaMismatch);
    assert!(error.message().contains("18446744073709551615") && error.message().contains("row 1"), "{error}");
    refused(TypeKind::Int, BooleanArray::from(vec![true]));
}

#[test]
fn integers_may_be_floating_point_numbers_without_a_fraction() {
    let whole = to(TypeKind::BigInt, Float64Array::from(vec![Some(-9_007_199_254_740_992.0), None])).unwrap();
    assert_eq!(
        whole.as_primitive::<arrow_array::types::Int64Type>(),
        &Int64Array::from(vec![Some(-9_007_199_254_740_992), None])
    );
    assert!(to(TypeKind::TinyInt, Float32Array::from(vec![127.0])).is_ok());
    for bad in [1.5, f64::NAN, f64::INFINITY, 3e9] {
        let error = refused(TypeKind::Int, Float64Array::from(vec![0.0, bad]));
        assert!(error.message().contains("row 1"), "{error}");
    }
    refused(TypeKind::BigInt, Float64Array::from(vec![9_223_372_036_854_775_808.0]));
}

#[test]
fn floats_take_integers_that_they_can_hold() {
    assert!(to(TypeKind::Double, Int64Array::from(vec![1 << 53])).is_ok());
    refused(TypeKind::Double, Int64Array::from(vec![(1 << 53) + 1]));
    refused(TypeKind::Float, Int32Array::from(vec![(1 << 24) + 1]));
    assert!(to(TypeKind::Double, Float32Array::from(vec![1.5])).is_ok());
    assert!(to(TypeKind::Float, Float64Array::from(vec![0.1, f64::INFINITY, f64::NAN])).is_ok());
    refused(TypeKind::Float, Float64Array::from(vec![1e300]));
    refused(TypeKind::Float, Float64Array::from(vec![0.0, 1e-300]));
}

#[test]
fn decimals_are_rescaled_when_exact() {
    let of = |values: Vec<i128>, p, s| Decimal128Array::from(values).with_precision_and_scale(p, s).unwrap();
    let wider = to(decimal(10, 4), of(vec![12_345], 10, 2)).unwrap();
    assert_eq!(wider.as_primitive::<arrow_array::types::Decimal128Type>().value(0), 1_234_500);
    assert!(to(decimal(4, 1), of(vec![12_340], 10, 2)).is_ok());
    assert_eq!(refused(decimal(10, 1), of(vec![12_345], 10, 2)).kind(), ErrorKind::LengthExceeded);
    assert_eq!(refused(decimal(4, 2), of(vec![12_345], 10, 2)).kind(), ErrorKind::LengthExceeded);
    assert_eq!(refused(decimal(3, 0), Int32Array::from(vec![999, 1000])).kind(), ErrorKind::LengthExceeded);
    assert!(to(decimal(20, 0), UInt64Array::from(vec![u64::MAX])).is_ok());
    // a sum of DECIMAL(3, 1) that an aggregate column kept; the message once said 29.9
    let sum = refused(decimal(3, 1), of(vec![2_997], 3, 1));
    assert!(sum.to_string().contains("299.7"), "{sum}");
    let huge = Decimal256Array::from(vec![i256::from_i128(5).wrapping_mul(i256::from_i128(10).wrapping_pow(40))]);
    let huge = huge.with_precision_and_scale(76, 40).unwrap();
    assert_eq!(to(decimal(1, 0), huge).unwrap().as_primitive::<arrow_array::types::Decimal128Type>().value(0), 5);
    refused(decimal(3, 0), Float64Array::from(vec![1.0]));
}

#[test]
fn timestamps_change_their_unit_without_losing_digits() {
    let millis = to(TypeKind::Timestamp(3), TimestampNanosecondArray::from(vec![Some(-1_000_000), None])).unwrap();
    assert_eq!(millis.as_primitive::<arrow_array::types::TimestampMillisecondType>().value(0), -1);
    refused(TypeKind::Timestamp(3), TimestampNanosecondArray::from(vec![1]));
    refused(TypeKind::Timestamp(9), TimestampMillisecondArray::from(vec![i64::MAX / 1000]));
    let berlin = TimestampMicrosecondArray::from(vec![7]).with_timezone("Europe/Berlin");
    assert!(to(TypeKind::LocalZonedTimestamp(6), berlin.clone()).is_ok());
    assert!(refused(TypeKind::Timestamp(6), berlin).hint_text().is_some());
    let noon = Time64MicrosecondArray::from(vec![43_200_000_000]);
    assert!(to(TypeKind::Time(3), noon).is_ok());
    refused(TypeKind::Time(3), Time64MicrosecondArray::from(vec![1]));
}

#[test]
fn a_column_of_nothing_becomes_nulls_of_any_type() {
    for kind in [STRING, decimal(5, 2), TypeKind::Array(Box::new(DataType::new(TypeKind::Int)))] {
        assert_eq!(to(kind, NullArray::new(3)).unwrap().null_count(), 3);
    }
}

#[test]
fn lists_take_any_list_and_convert_their_elements() {
    let values = vec![Some(vec![Some(1), None]), None, Some(vec![])];
    let large = LargeListArray::from_iter_primitive::<Int64Type, _, _>(values.clone());
    let element = |t| TypeKind::Array(Box::new(t));
    let list = to(element(DataType::new(TypeKind::Int)), large.clone()).unwrap();
    let ints = list.as_list::<i32>().value(0);
    assert_eq!(ints.as_primitive::<Int32Type>(), &Int32Array::from(vec![Some(1), None]));
    let error = refused(element(DataType::not_null(TypeKind::Int)), large);
    assert_eq!((error.kind(), error.context_value("column")), (ErrorKind::NullInKey, Some("c.element")));
}

#[test]
fn elements_below_a_null_list_are_not_looked_at() {
    let child: ArrayRef = Arc::new(Int32Array::from(vec![Some(7), None]));
    let field = Arc::new(Field::new("item", Arrow::Int32, true));
    let offsets = OffsetBuffer::new(vec![0, 1, 2].into());
    let list = ListArray::new(field, offsets, child, Some(NullBuffer::from(vec![true, false])));
    let converted = to(TypeKind::Array(Box::new(DataType::not_null(TypeKind::BigInt))), list).unwrap();
    assert!(converted.is_null(1) && converted.as_list::<i32>().values().len() == 1);
}

#[test]
fn maps_come_as_maps_or_as_lists_of_pairs() {
    let kind = || TypeKind::Map(Box::new(DataType::not_null(STRING)), Box::new(DataType::new(TypeKind::BigInt)));
    let mut builder = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
    builder.keys().append_value("a");
    builder.values().append_value(1);
    builder.append(true).unwrap();
    let map = to(kind(), builder.finish()).unwrap();
    assert_eq!(map.as_map().values().as_primitive::<Int64Type>().value(0), 1);

    let fields = Fields::from(vec![Field::new("k", Arrow::Utf8, true), Field::new("v", Arrow::Int16, true)]);
    let pairs = |key: Option<&str>| {
        let columns: Vec<ArrayRef> = vec![Arc::new(StringArray::from(vec![key])), Arc::new(Int16Array::from(vec![5]))];
        let entries = StructArray::new(fields.clone(), columns, None);
        let field = Arc::new(Field::new("item", Arrow::Struct(fields.clone()), true));
        ListArray::new(field, OffsetBuffer::new(vec![0, 1].into()), Arc::new(entries), None)
    };
    assert!(to(kind(), pairs(Some("k"))).is_ok());
    assert_eq!(refused(kind(), pairs(None)).context_value("column"), Some("c.key"));
}

#[test]
fn nested_rows_are_matched_by_name() {
    let fields = vec![
        DataField::new(1, "a", DataType::not_null(TypeKind::BigInt)),
        DataField::new(2, "b", DataType::new(STRING)),
    ];
    let source = |name: &str, a: Option<i32>, present: bool| {
        let arrow = Fields::from(vec![Field::new(name, Arrow::Int32, true)]);
        StructArray::new(
            arrow,
            vec![Arc::new(Int32Array::from(vec![a])) as ArrayRef],
            Some(NullBuffer::from(vec![present])),
        )
    };
    let row = to(TypeKind::Row(fields.clone()), source("a", Some(3), true)).unwrap();
    assert!(row.as_struct().column(1).is_null(0));
    assert!(to(TypeKind::Row(fields.clone()), source("a", None, false)).is_ok());
    let error = refused(TypeKind::Row(fields.clone()), source("a", None, true));
    assert_eq!(error.context_value("column"), Some("c.a"));
    assert_eq!(refused(TypeKind::Row(fields), source("x", Some(1), true)).context_value("column"), Some("c.x"));
}

fn schema() -> TableSchema {
    let mut with_default = DataField::new(2, "d", DataType::new(TypeKind::Int));
    with_default.default_value = Some("7".to_owned());
    TableSchema {
        id: 0,
        fields: vec![
            DataField::new(0, "id", DataType::not_null(TypeKind::BigInt)),
            DataField::new(1, "name", DataType::new(STRING)),
            with_default,
        ],
        highest_field_id: 2,
        partition_keys: Vec::new(),
        primary_keys: vec!["id".to_owned()],
        options: BTreeMap::new(),
        comment: None,
        time_millis: 0,
        pending: None,
    }
}

fn table() -> Input {
    Input::new(&schema(), &options(&[]), false).unwrap()
}

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter(columns).unwrap()
}

fn ints(values: Vec<Option<i32>>) -> ArrayRef {
    Arc::new(Int32Array::from(values))
}

#[test]
fn columns_come_in_any_order_and_missing_ones_are_filled() {
    let rows = batch(vec![("name", Arc::new(StringArray::from(vec!["a", "b"]))), ("id", ints(vec![Some(1), Some(2)]))]);
    let rows = table().normalize(&rows, 0).unwrap();
    assert_eq!(rows.schema().fields().iter().map(|f| f.name().as_str()).collect::<Vec<_>>(), ["id", "name", "d"]);
    assert_eq!(rows.column(2).as_primitive::<Int32Type>(), &Int32Array::from(vec![7, 7]));
}

#[test]
fn nulls_take_the_default() {
    let rows = batch(vec![("id", ints(vec![Some(1), Some(2)])), ("d", ints(vec![None, Some(3)]))]);
    let rows = table().normalize(&rows, 0).unwrap();
    assert_eq!(rows.column(2).as_primitive::<Int32Type>(), &Int32Array::from(vec![7, 3]));
    assert_eq!(rows.column(1).null_count(), 2);
}

/// Text defaults lie in their quotes, as SQL engines store them.
#[test]
fn a_default_in_quotes_is_the_value_between_them() {
    let mut schema = schema();
    schema.fields[1].default_value = Some("'x'".to_owned());
    schema.fields[2].default_value = Some("'7'".to_owned());
    let rows = batch(vec![("id", ints(vec![Some(1)])), ("name", Arc::new(StringArray::from(vec![None::<&str>])))]);
    let rows = Input::new(&schema, &options(&[]), false).unwrap().normalize(&rows, 0).unwrap();
    assert_eq!(rows.column(1).as_string::<i32>().value(0), "x");
    assert_eq!(rows.column(2).as_primitive::<Int32Type>().value(0), 7);
}

#[test]
fn a_default_that_is_no_value_fails_only_rows_that_need_it() {
    let mut schema = schema();
    schema.fields[2].default_value = Some(" 7 ".to_owned());
    let table = Input::new(&schema, &options(&[]), false).unwrap();
    let rows = |d| batch(vec![("id", ints(vec![Some(1)])), ("d", ints(vec![d]))]);
    table.normalize(&rows(Some(3)), 0).unwrap();
    let error = table.normalize(&rows(None), 0).unwrap_err();
    assert_eq!((error.kind(), error.context_value("column")), (ErrorKind::InvalidArgument, Some("d")));
    let error = table.normalize(&batch(vec![("id", ints(vec![Some(1)]))]), 0).unwrap_err();
    assert_eq!((error.kind(), error.context_value("default")), (ErrorKind::InvalidArgument, Some(" 7 ")));
}

/// The length of a CHAR is a number from a file.
#[test]
fn a_default_does_not_fill_up_the_memory() {
    let mut schema = schema();
    schema.fields[2] = DataField::new(2, "d", DataType::new(TypeKind::Char(1 << 20)));
    schema.fields[2].default_value = Some("x".to_owned());
    let rows = batch(vec![("id", ints((0..1025).map(Some).collect()))]);
    let error = Input::new(&schema, &options(&[]), false).unwrap().normalize(&rows, 0).unwrap_err();
    assert_eq!((error.kind(), error.context_value("column")), (ErrorKind::MemoryLimitExceeded, Some("d")));
}

#[test]
fn a_wrong_column_is_named_with_advice() {
    let error =
        table().normalize(&batch(vec![("id", ints(vec![Some(1)])), ("nmae", ints(vec![None]))]), 0).unwrap_err();
    assert_eq!((error.kind(), error.context_value("column")), (ErrorKind::SchemaMismatch, Some("nmae")));
    assert_eq!(error.hint_text(), Some("did you mean 'name'?"));
    let error = table().normalize(&batch(vec![("name", Arc::new(NullArray::new(1)))]), 0).unwrap_err();
    assert_eq!((error.kind(), error.context_value("column")), (ErrorKind::SchemaMismatch, Some("id")));
    let error = table().normalize(&batch(vec![("id", ints(vec![Some(1), None]))]), 0).unwrap_err();
    assert_eq!((error.kind(), error.context_value("column")), (ErrorKind::NullInKey, Some("id")));
    let error = table().normalize(&batch(vec![("id", Arc::new(StringArray::from(vec!["1"])))]), 0).unwrap_err();
    assert_eq!(error.context_value("expected"), Some("BIGINT NOT NULL"));
    assert_eq!(error.context_value("got"), Some("Utf8"));
}

fn options(pairs: &[(&str, &str)]) -> CoreOptions {
    CoreOptions::parse(&pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()).unwrap()
}

/// The rules of a table with these options.
fn rules(schema: &TableSchema, set: &[(&str, &str)]) -> KindRules {
    let options = options(set);
    KindRules::new(schema, &options, &EngineSpec::of(schema, &options).unwrap(), false).unwrap()
}

fn names(values: Vec<Option<&str>>) -> RecordBatch {
    let ids = ints((0..).take(values.len()).map(Some).collect());
    table().normalize(&batch(vec![("id", ids), ("name", Arc::new(StringArray::from(values)))]), 0).unwrap()
}

#[test]
fn the_row_kind_field_wins_and_must_hold_a_kind() {
    let rules = rules(&schema(), &[("rowkind.field", "name")]);
    let (_, kinds, _) =
        rules.apply(names(vec![Some("+I"), Some("-D")]), Some(&RowKinds::All(RowKind::UpdateAfter)), 0).unwrap();
    assert_eq!(kinds, Int8Array::from(vec![0, 3]));
    for bad in [None, Some("+X"), Some("")] {
        let error = rules.apply(names(vec![Some("+I"), bad]), None, 0).unwrap_err();
        assert_eq!((error.kind(), error.context_value("column")), (ErrorKind::InvalidRowKind, Some("name")));
        let named = (error.context_value("option"), error.context_value("key"));
        assert_eq!(named, (Some("rowkind.field"), Some("id=1")));
    }
}

#[test]
fn ignored_kinds_are_dropped_with_their_rows() {
    let kinds = RowKinds::PerRow(Int8Array::from(vec![0, 1, 2, 3]));
    let kept = |set: &[(&str, &str)]| {
        let rules = rules(&schema(), set);
        let (rows, kinds, _) = rules.apply(names(vec![None; 4]), Some(&kinds), 0).unwrap();
        assert_eq!(rows.num_rows(), kinds.len());
        kinds.values().to_vec()
    };
    assert_eq!(kept(&[]), [0, 1, 2, 3]);
    assert_eq!(kept(&[("ignore-delete", "true")]), [0, 2]);
    assert_eq!(kept(&[("ignore-update-before", "true")]), [0, 2, 3]);
}

#[test]
fn append_tables_take_no_retractions_unless_they_are_ignored() {
    let mut schema = schema();
    schema.primary_keys.clear();
    let deletes = RowKinds::All(RowKind::Delete);
    let strict = rules(&schema, &[]);
    let error = strict.apply(names(vec![None]), Some(&deletes), 0).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DeleteNotAllowed);
    assert!(strict.apply(names(vec![None]), Some(&RowKinds::All(RowKind::Insert)), 0).is_ok());
    let lenient = rules(&schema, &[("ignore-delete", "true")]);
    assert_eq!(lenient.apply(names(vec![None]), Some(&deletes), 0).unwrap().0.num_rows(), 0);
}

#[test]
fn an_engine_that_cannot_delete_refuses_deletes_before_they_are_written() {
    let refused = |engine: &str, more: &[(&str, &str)], kind: RowKind| {
        let mut set = vec![("merge-engine", engine)];
        set.extend(more);
        let rules = rules(&schema(), &set);
        rules.apply(names(vec![Some("a"); 2]), Some(&RowKinds::All(kind)), 0).map(|(rows, ..)| rows.num_rows())
    };
    for engine in ["partial-update", "first-row"] {
        for kind in [RowKind::UpdateBefore, RowKind::Delete] {
            let error = refused(engine, &[], kind).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::DeleteNotAllowed);
            assert_eq!(
                (error.context_value("option"), error.context_value("key")),
                (Some("merge-engine"), Some("id=0"))
            );
            assert!(error.hint_text().is_some_and(|hint| hint.contains("ignore-delete")));
            assert_eq!(refused(engine, &[("ignore-delete", "true")], kind).unwrap(), 0);
        }
        assert_eq!(refused(engine, &[], RowKind::UpdateAfter).unwrap(), 2);
    }
    for option in [("partial-update.remove-record-on-delete", "true"), ("fields.name.sequence-group", "name")] {
        assert_eq!(refused("partial-update", &[option], RowKind::Delete).unwrap(), 2);
    }
    assert_eq!(refused("deduplicate", &[], RowKind::Delete).unwrap(), 2);
}

#[test]
fn a_function_that_cannot_take_values_back_refuses_retracts_before_they_are_written() {
    let refused = |more: &[(&str, &str)], kind: RowKind| {
        let mut set = vec![("merge-engine", "aggregation"), ("fields.name.aggregate-function", "first_value")];
        set.extend(more);
        let rules = rules(&schema(), &set);
        rules.apply(names(vec![Some("a"); 2]), Some(&RowKinds::All(kind)), 0).map(|(rows, ..)| rows.num_rows())
    };
    let error = refused(&[], RowKind::Delete).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DeleteNotAllowed);
    assert_eq!(error.context_value("option"), Some("fields.name.aggregate-function"));
    assert_eq!((error.context_value("column"), error.context_value("key")), (Some("name"), Some("id=0")));
    assert_eq!(refused(&[("fields.name.ignore-retract", "true")], RowKind::Delete).unwrap(), 2);
    let on_delete = [("aggregation.remove-record-on-delete", "true")];
    assert_eq!(refused(&on_delete, RowKind::Delete).unwrap(), 2);
    assert!(refused(&on_delete, RowKind::UpdateBefore).is_err(), "the option is about -D");
    assert_eq!(refused(&[("fields.name.aggregate-function", "last_value")], RowKind::Delete).unwrap(), 2);
}

#[test]
fn a_counted_column_holds_one_for_a_value_and_zero_for_null() {
    let mut schema = schema();
    schema.fields.truncate(1);
    schema.fields.push(DataField::new(9, "n", DataType::new(TypeKind::BigInt)));
    let rows = batch(vec![("id", ints(vec![Some(1), Some(2)])), ("n", ints(vec![Some(700), None]))]);
    let rows = Input::new(&schema, &options(&[]), false).unwrap().normalize(&rows, 0).unwrap();
    let count = |set: &[(&str, &str)]| {
        let rows =
            CountColumns::new(&EngineSpec::of(&schema, &options(set)).unwrap(), false).apply(rows.clone()).unwrap();
        assert_eq!(rows.column(0).as_primitive::<Int64Type>().values().to_vec(), [1, 2], "keys are no counts");
        let at = rows.num_columns() - 1;
        rows.column(at).as_primitive::<Int64Type>().iter().collect::<Vec<_>>()
    };
    let aggregation = ("merge-engine", "aggregation");
    assert_eq!(count(&[aggregation, ("fields.n.aggregate-function", "count")]), [Some(1), Some(0)]);
    assert_eq!(count(&[aggregation, ("fields.default-aggregate-function", "count")]), [Some(1), Some(0)]);
    assert_eq!(count(&[aggregation]), [Some(700), None]);
    assert_eq!(count(&[("fields.n.aggregate-function", "count")]), [Some(700), None], "deduplicate has no functions");
}

#[test]
fn wrong_row_kinds_of_the_caller_are_refused() {
    let rules = rules(&schema(), &[]);
    let given =
        |kinds: Int8Array| rules.apply(names(vec![None; 2]), Some(&RowKinds::PerRow(kinds)), 0).unwrap_err().kind();
    assert_eq!(given(Int8Array::from(vec![0])), ErrorKind::InvalidArgument);
    assert_eq!(given(Int8Array::from(vec![0, 4])), ErrorKind::InvalidRowKind);
    assert_eq!(given(Int8Array::from(vec![Some(0), None])), ErrorKind::InvalidRowKind);
}

fn routed(router: &mut Router, rows: RecordBatch) -> Vec<(BucketId, Vec<i64>)> {
    let kinds = Int8Array::from_iter_values((0..rows.num_rows()).map(|row| i8::try_from(row % 4).unwrap()));
    let portions = router.split(rows, kinds).unwrap();
    let ids = |p: &super::Portion| p.rows.column(0).as_primitive::<Int64Type>().values().to_vec();
    for p in &portions {
        let kinds: Vec<i64> = p.kinds.values().iter().map(|k| i64::from(*k)).collect();
        assert_eq!(kinds, ids(p).iter().map(|id| id % 4).collect::<Vec<_>>(), "kinds travel with their rows");
    }
    portions.iter().map(|p| (p.bucket.clone(), ids(p))).collect()
}

#[test]
fn every_row_goes_to_its_partition_and_bucket_and_keeps_its_place() {
    let mut schema = schema();
    schema.partition_keys = vec!["name".to_owned()];
    let mut router = Router::new(&schema, &options(&[("bucket", "3")]), None).unwrap();
    let texts: Vec<Option<&str>> = (0..60).map(|i| [Some("a"), None, Some("a"), Some("")][i % 4]).collect();
    let rows = names(texts.clone());
    let portions = routed(&mut router, rows.clone());
    assert_eq!(portions.iter().map(|(_, ids)| ids.len()).sum::<usize>(), 60);
    assert_eq!(portions.iter().map(|(b, _)| b).collect::<std::collections::HashSet<_>>().len(), portions.len());
    for (bucket, ids) in &portions {
        assert!(ids.is_sorted());
        let partition = BinaryRow::from_serialized(&bucket.partition).unwrap();
        let partition = partition.get(0, &DataType::new(STRING)).unwrap();
        for id in ids {
            let expected = texts[usize::try_from(*id).unwrap()].map_or(Datum::Null, |t| Datum::String(t.to_owned()));
            assert_eq!(partition, expected);
            let number =
                bucket_of(BucketFunction::Default, &[schema.fields[0].data_type.clone()], &[Datum::BigInt(*id)], 3);
            assert_eq!(bucket.bucket, number.unwrap());
        }
    }
}

#[test]
fn rows_of_one_bucket_are_a_copy_too() {
    let mut router = Router::new(&schema(), &options(&[("bucket", "1")]), None).unwrap();
    let rows = names(vec![None; 5]);
    let portions = router.split(rows.clone(), Int8Array::from(vec![0; 5])).unwrap();
    assert_eq!(portions.len(), 1);
    assert_eq!(portions[0].bucket, BucketId { partition: vec![0; 12], bucket: 0 });
    assert_eq!(portions[0].rows, rows);
    assert!(!Arc::ptr_eq(portions[0].rows.column(0), rows.column(0)));
}

#[test]
fn tables_that_cannot_be_routed_are_refused() {
    let refused = |keyed: bool, bucket: &str| {
        let mut schema = schema();
        if !keyed {
            schema.primary_keys.clear();
        }
        Router::new(&schema, &options(&[("bucket", bucket)]), None).map(drop).unwrap_err().kind()
    };
    assert_eq!(refused(true, "0"), ErrorKind::InvalidOption);
    assert_eq!(refused(false, "4"), ErrorKind::IllegalSchema);
}

/// A stream of batches is one input: a row has one number, whatever is wrong with it and wherever the batches end.
#[test]
fn errors_count_rows_over_the_batches_of_an_input() {
    let before = 100;
    let keyed = rules(&schema(), &[]);
    let nulls = RowKinds::PerRow(Int8Array::from(vec![Some(0), None]));
    let error = keyed.apply(names(vec![None; 2]), Some(&nulls), before).unwrap_err();
    assert_eq!(error.context_value("row"), Some("101"));
    let by_column = rules(&schema(), &[("rowkind.field", "name")]);
    let error = by_column.apply(names(vec![Some("+I"), Some("?")]), None, before).unwrap_err();
    assert_eq!(error.context_value("row"), Some("101"));
    let mut schema = schema();
    schema.primary_keys.clear();
    let kinds = RowKinds::PerRow(Int8Array::from(vec![0, 3]));
    let error = rules(&schema, &[]).apply(names(vec![None; 2]), Some(&kinds), before).unwrap_err();
    assert!(error.message().starts_with("row 101 is -D"), "{error}");
}

/// Rows that are left out before others are refused keep their numbers.
#[test]
fn errors_count_rows_that_were_ignored() {
    let rules = rules(&schema(), &[("merge-engine", "first-row"), ("ignore-update-before", "true")]);
    let kinds = RowKinds::PerRow(Int8Array::from(vec![1, 1, 0, 3]));
    let error = rules.apply(names(vec![None; 4]), Some(&kinds), 10).unwrap_err();
    assert!(error.message().starts_with("row 13 is -D"), "{error}");
}
