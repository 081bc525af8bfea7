//! The cases of the requirements (MERGE-*), each in one step and with one run for each row; and what fails.

use super::*;
use crate::types::DataType;

fn ints(values: &[Option<i32>]) -> Vec<Datum> {
    values.iter().map(|v| int(*v)).collect()
}

#[test]
fn pu_1_non_null_columns_of_later_rows_overwrite() {
    let table = Table::new("partial-update", &[("c1", "DOUBLE"), ("c2", "INT"), ("c3", "STRING")], &[]);
    let rows = [
        ("+I", vec![Datum::Double(23.0), int(10), Datum::Null]),
        ("+I", vec![Datum::Null, Datum::Null, text("This is a book")]),
        ("+I", vec![Datum::Double(25.2), Datum::Null, Datum::Null]),
    ];
    let expected = vec![Datum::Double(25.2), int(10), text("This is a book")];
    assert_eq!(table.rows(&rows).unwrap(), Some(expected));
}

#[test]
fn sg_1_a_group_follows_its_own_sequence() {
    let columns = ["a", "b", "g_1", "c", "d", "g_2"].map(|name| (name, "INT"));
    let options = [("fields.g_1.sequence-group", "a,b"), ("fields.g_2.sequence-group", "c,d")];
    let table = Table::new("partial-update", &columns, &options);
    let one = ("+I", ints(&[Some(1); 6]));
    let two = ("+I", ints(&[Some(2), Some(2), Some(2), Some(2), Some(2), None]));
    let three = ("+I", ints(&[Some(3), Some(3), Some(1), Some(3), Some(3), Some(3)]));
    let after_two = ints(&[Some(2), Some(2), Some(2), Some(1), Some(1), Some(1)]);
    assert_eq!(table.rows(&[one.clone(), two.clone()]).unwrap(), Some(after_two));
    let after_three = ints(&[Some(2), Some(2), Some(2), Some(3), Some(3), Some(3)]);
    assert_eq!(table.rows(&[one, two, three]).unwrap(), Some(after_three));
}

#[test]
fn sg_agg_1_columns_of_a_group_are_aggregated() {
    let options = [
        ("fields.a.sequence-group", "b"),
        ("fields.b.aggregate-function", "first_value"),
        ("fields.c.sequence-group", "d"),
        ("fields.d.aggregate-function", "sum"),
    ];
    let table = Table::new("partial-update", &["a", "b", "c", "d"].map(|name| (name, "INT")), &options);
    let rows = [
        ("+I", ints(&[Some(1), Some(1), None, None])),
        ("+I", ints(&[None, None, Some(1), Some(1)])),
        ("+I", ints(&[Some(2), Some(2), None, None])),
        ("+I", ints(&[None, None, Some(2), Some(2)])),
    ];
    assert_eq!(table.rows(&rows).unwrap(), Some(ints(&[Some(2), Some(1), Some(2), Some(3)])));
}

#[test]
fn agg_1_columns_have_their_functions() {
    let options = [("fields.price.aggregate-function", "max"), ("fields.sales.aggregate-function", "sum")];
    let table = Table::new("aggregation", &[("price", "DOUBLE"), ("sales", "BIGINT")], &options);
    let rows =
        [("+I", vec![Datum::Double(23.0), Datum::BigInt(15)]), ("+I", vec![Datum::Double(30.2), Datum::BigInt(20)])];
    assert_eq!(table.rows(&rows).unwrap(), Some(vec![Datum::Double(30.2), Datum::BigInt(35)]));
}

fn one_column(data_type: &str, function: &str) -> Table {
    Table::new("aggregation", &[("f", data_type)], &[("fields.f.aggregate-function", function)])
}

#[test]
fn retract_sum_takes_values_back() {
    let rows = [("+I", 10), ("+I", 5), ("-U", 5), ("+U", 7)].map(|(kind, v)| (kind, vec![int(v)]));
    assert_eq!(one_column("INT", "sum").rows(&rows).unwrap(), Some(vec![int(17)]));
}

#[test]
fn retract_max_fails_unless_retracts_are_ignored() {
    let rows = [("+I", 10), ("-D", 10)].map(|(kind, v)| (kind, vec![int(v)]));
    let error = one_column("INT", "max").rows(&rows).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DeleteNotAllowed);
    for (context, value) in [
        ("table", "db.t"),
        ("column", "f"),
        ("key", "k=1"),
        ("option", "fields.f.aggregate-function"),
        ("function", "max"),
    ] {
        assert_eq!(error.context_value(context), Some(value), "{error}");
    }
    assert!(error.hint_text().unwrap().contains("ignore-retract"));
    let options = [("fields.f.aggregate-function", "max"), ("fields.f.ignore-retract", "true")];
    let table = Table::new("aggregation", &[("f", "INT")], &options);
    assert_eq!(table.rows(&rows).unwrap(), Some(vec![int(10)]));
}

#[test]
fn first_1_the_first_row_of_a_key_stays() {
    let table = Table::new("first-row", &[("v", "INT")], &[]);
    let record = |key, value, sequence| Record { fields: vec![Datum::Int(key), int(value)], sequence, kind: 0 };
    let merged = table.merged(&[vec![record(1, 10, 1), record(1, 20, 2), record(2, 5, 3)]], true).unwrap();
    assert_eq!(merged, [record(1, 10, 1), record(2, 5, 3)]);
}

#[test]
fn first_row_takes_no_deletes_unless_they_are_ignored() {
    let rows = [("-D", 1), ("+I", 2), ("+I", 3)].map(|(kind, v)| (kind, vec![int(v)]));
    let error = Table::new("first-row", &[("v", "INT")], &[]).rows(&rows).unwrap_err();
    assert_eq!((error.kind(), error.context_value("key")), (ErrorKind::DeleteNotAllowed, Some("k=1")));
    let ignoring = Table::new("first-row", &[("v", "INT")], &[("first-row.ignore-delete", "true")]);
    assert_eq!(ignoring.rows(&rows).unwrap(), Some(vec![int(2)]));
}

#[test]
fn partial_update_names_three_ways_to_take_deletes() {
    let rows = [("+I", 1), ("-D", 1)].map(|(kind, v)| (kind, vec![int(v)]));
    let error = Table::new("partial-update", &[("v", "INT")], &[]).rows(&rows).unwrap_err();
    assert_eq!((error.kind(), error.context_value("key")), (ErrorKind::DeleteNotAllowed, Some("k=1")));
    let hint = error.hint_text().unwrap();
    for remedy in ["ignore-delete", "remove-record-on-delete", "sequence groups"] {
        assert!(hint.contains(remedy), "{hint}");
    }
}

#[test]
fn what_does_not_fit_is_an_error_with_table_column_and_key() {
    for (data_type, function, a, b, what) in [
        ("TINYINT", "sum", Datum::TinyInt(127), Datum::TinyInt(1), "127 + 1 does not fit a TINYINT"),
        ("SMALLINT", "product", Datum::SmallInt(200), Datum::SmallInt(200), "200 * 200 does not fit a SMALLINT"),
        ("INT", "sum", int(i32::MAX), int(1), "2147483647 + 1 does not fit a INT"),
        ("BIGINT", "count", Datum::BigInt(i64::MAX), Datum::BigInt(1), "9223372036854775807 + 1 does not fit a BIGINT"),
    ] {
        let error = one_column(data_type, function).rows(&[("+I", vec![a]), ("+I", vec![b])]).unwrap_err();
        assert_eq!(error.message(), what);
        assert_eq!((error.context_value("column"), error.context_value("key")), (Some("f"), Some("k=1")));
        assert_eq!(error.context_value("function"), Some(function));
    }
    let table = one_column("INT", "product");
    let error = table.rows(&[("+I", vec![int(4)]), ("-U", vec![int(0)])]).unwrap_err();
    assert!(error.message().contains("zero"), "{error}");
    // MIN / -1
    let error = table.rows(&[("+I", vec![int(i32::MIN)]), ("-U", vec![int(-1)])]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LengthExceeded);
}

#[test]
fn whole_numbers_are_divided_as_in_java() {
    let rows = [("+I", -7), ("-U", 2)].map(|(kind, v)| (kind, vec![int(v)]));
    assert_eq!(one_column("INT", "product").rows(&rows).unwrap(), Some(vec![int(-3)]));
}

#[test]
fn decimals_are_exact_and_null_when_they_have_too_many_digits() {
    let rows = |a: i128, b: i128| [("+I", vec![Datum::Decimal(a)]), ("+I", vec![Datum::Decimal(b)])];
    let wide = one_column("DECIMAL(38, 2)", "sum");
    let most = 10_i128.pow(38) - 1;
    assert_eq!(wide.rows(&rows(most - 5, 5)).unwrap(), Some(vec![Datum::Decimal(most)]));
    assert_eq!(wide.rows(&rows(most, 1)).unwrap(), Some(vec![Datum::Null]));
    let product = one_column("DECIMAL(10, 2)", "product");
    assert_eq!(product.rows(&rows(150, 250)).unwrap(), Some(vec![Datum::Decimal(375)]));
}

#[test]
fn a_not_null_column_without_a_value_is_an_error() {
    let options = [("fields.g.sequence-group", "v")];
    let table = Table::new("partial-update", &[("v", "INT NOT NULL"), ("g", "INT")], &options);
    let error = table.rows(&[("+I", vec![int(1), int(1)]), ("-U", vec![int(1), int(2)])]).unwrap_err();
    assert_eq!((error.kind(), error.context_value("column")), (ErrorKind::NullInKey, Some("v")));
    assert_eq!((error.context_value("table"), error.context_value("key")), (Some("db.t"), Some("k=1")));
}

#[test]
fn the_first_retract_fills_a_row_even_when_it_is_ignored() {
    let table = Table::new("partial-update", &[("a", "INT"), ("b", "INT")], &[("ignore-delete", "true")]);
    let rows = [("-D", ints(&[Some(1), Some(2)])), ("+I", ints(&[Some(3), None]))];
    assert_eq!(table.rows(&rows).unwrap(), Some(ints(&[Some(3), Some(2)])));
}

#[test]
fn an_out_of_order_null_replaces_the_first_non_null_value_as_in_java() {
    let options = [("fields.g.sequence-group", "v"), ("fields.v.aggregate-function", "first_non_null_value")];
    let table = Table::new("partial-update", &[("v", "INT"), ("g", "INT")], &options);
    let rows = [("+I", ints(&[Some(7), Some(5)])), ("+I", ints(&[None, Some(1)]))];
    assert_eq!(table.rows(&rows).unwrap(), Some(ints(&[None, Some(5)])));
}

#[test]
fn an_engine_without_the_sequence_fields_of_its_columns_is_refused() {
    let options = [("fields.g.sequence-group", "v")];
    let table = Table::new("partial-update", &[("v", "INT"), ("g", "INT")], &options).projected(&["k", "v"]);
    let spec = EngineSpec::of(&table.schema, &table.options).unwrap();
    assert!(of_spec(RecordNames::of_layout("db.t", &table.layout), &spec, &table.layout).is_err());
    let more = crate::schema::merge_columns(&table.schema, &table.options, &["k".to_owned(), "v".to_owned()]).unwrap();
    assert_eq!(more, ["g"]);
}

fn nested_row(types: &[DataType], values: &[Datum]) -> Datum {
    crate::row::row_datum(types, values).unwrap()
}

/// One value of type `data_type` after another, as batches of one column hold them.
fn texts(table: &Table, rows: &[(&str, Datum)]) -> Vec<Datum> {
    let rows: Vec<(&str, Vec<Datum>)> = rows.iter().map(|(kind, value)| (*kind, vec![value.clone()])).collect();
    table.rows(&rows).unwrap().unwrap()
}

#[test]
fn retract_collect_an_early_retract_does_nothing() {
    let element = parse_type("STRING").unwrap();
    let list = |values: &[&str]| {
        let values: Vec<Datum> = values.iter().map(|value| text(value)).collect();
        crate::row::array_datum(&element, &values).unwrap()
    };
    let table = one_column("ARRAY<STRING>", "collect");
    assert_eq!(texts(&table, &[("-U", list(&["A"])), ("+I", list(&["A", "B"]))]), [list(&["A", "B"])]);
}

#[test]
fn retract_map_takes_the_key_away() {
    let (key, value) = (parse_type("INT").unwrap(), parse_type("STRING").unwrap());
    let map = |entries: &[(i32, &str)]| {
        let keys: Vec<Datum> = entries.iter().map(|(k, _)| int(*k)).collect();
        let values: Vec<Datum> = entries.iter().map(|(_, v)| text(v)).collect();
        crate::row::map_datum(&key, &keys, &value, &values).unwrap()
    };
    let table = one_column("MAP<INT, STRING>", "merge_map");
    let rows = [("+I", map(&[(1, "A")])), ("+I", map(&[(1, "B")])), ("-D", map(&[(1, "B")]))];
    assert_eq!(texts(&table, &rows), [map(&[])]);
}

#[test]
fn nested_1_nested_rows_are_updated_by_their_key() {
    let columns = [
        ("user_name", "STRING"),
        ("address", "STRING"),
        ("sub_orders", "ARRAY<ROW<sub_order_id BIGINT, product_name STRING, price BIGINT>>"),
    ];
    let options =
        [("fields.sub_orders.aggregate-function", "nested_update"), ("fields.sub_orders.nested-key", "sub_order_id")];
    let table = Table::new("aggregation", &columns, &options);
    let types = ["BIGINT", "STRING", "BIGINT"].map(|t| parse_type(t).unwrap());
    let row = parse_type("ROW<sub_order_id BIGINT, product_name STRING, price BIGINT>").unwrap();
    let orders = |orders: &[(i64, &str, i64)]| {
        let rows: Vec<Datum> = orders
            .iter()
            .map(|(id, name, price)| nested_row(&types, &[Datum::BigInt(*id), text(name), Datum::BigInt(*price)]))
            .collect();
        crate::row::array_datum(&row, &rows).unwrap()
    };
    let order = |one: (i64, &str, i64)| ("+I", vec![Datum::Null, Datum::Null, orders(&[one])]);
    let rows = [
        ("+I", vec![text("Wang"), text("HangZhou"), Datum::Null]),
        order((10, "apple", 6)),
        order((11, "pear", 5)),
        order((10, "apple", 7)),
    ];
    let merged = table.rows(&rows).unwrap().unwrap();
    assert_eq!(merged[..2], [text("Wang"), text("HangZhou")]);
    let either = [orders(&[(10, "apple", 7), (11, "pear", 5)]), orders(&[(11, "pear", 5), (10, "apple", 7)])];
    assert!(either.contains(&merged[2]));
}
