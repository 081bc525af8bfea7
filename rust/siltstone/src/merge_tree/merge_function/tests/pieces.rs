//! Records of one key that are put together in pieces: the same rows as at once, and few of them in memory.

use std::sync::{LazyLock, Mutex, Weak};

use arrow_array::{Array, ArrayRef, RecordBatch};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::{
    aggregate::testing::datum,
    io::BatchStream,
    merge_tree::{
        buffer::{WriteBuffer, WriteBufferOptions},
        merge::SpillOptions,
    },
};

/// Column, type, function, its options. Column `s` orders all of them in sequence groups.
pub(super) const COLUMNS: &[(&str, &str, &str, Options)] = &[
    ("a", "ARRAY<INT>", "collect", &[]),
    ("b", "ARRAY<INT>", "collect", &[("distinct", "true")]),
    ("c", "STRING", "listagg", &[]),
    ("d", "STRING", "listagg", &[("distinct", "true"), ("list-agg-delimiter", "t")]),
    ("e", "MAP<INT, INT>", "merge_map", &[]),
    ("f", "MAP<INT, ROW<v INT, ts STRING>>", "merge_map_with_keytime", &[]),
    ("g", ROWS, "nested_update", &[("count-limit", "5")]),
    ("h", ROWS, "nested_update", &[("nested-key", "k"), ("count-limit", "3")]),
    ("i", ROWS, "nested_update", &[("nested-key", "k"), ("nested-sequence-field", "v")]),
    ("j", ROWS, "nested_update", &[("nested-key", "k"), ("nested-key-null-strategy", "ignore"), ("count-limit", "2")]),
    ("l", ROWS, "nested_partial_update", &[("nested-key", "k")]),
    ("m", ROWS, "nested_partial_update", &[("nested-key", "k"), ("nested-key-null-strategy", "merge")]),
    ("n", BYTES, "rbm32", &[]),
    ("o", BYTES, "rbm64", &[]),
    ("p", BYTES, "hll_sketch", &[]),
    ("q", BYTES, "theta_sketch", &[]),
    ("r", "BIGINT", "count", &[]),
    ("t", "DECIMAL(20, 0)", "product", &[]),
    ("u", "STRING", "first_value", &[]),
    ("v", "STRING", "first_non_null_value", &[]),
    ("w", "STRING", "last_value", &[]),
    ("x", "STRING", "last_non_null_value", &[]),
];
pub(super) type Options = &'static [(&'static str, &'static str)];

const ROWS: &str = "ARRAY<ROW<k INT, v INT>>";
const BYTES: &str = "VARBINARY(4096)";

/// Functions that take records back.
const RETRACTING: &str = "abeghijrtwx";

/// A table of these columns; those of `ignoring` pass over retracts.
fn table(engine: &str, ignoring: &str) -> Table {
    let mut options = Vec::new();
    for (column, _, function, own) in COLUMNS {
        options.push((format!("fields.{column}.aggregate-function"), (*function).to_owned()));
        let of_column = |(suffix, value): &(&str, &str)| (format!("fields.{column}.{suffix}"), (*value).to_owned());
        options.extend(own.iter().map(of_column));
        if ignoring.contains(column) {
            options.push((format!("fields.{column}.ignore-retract"), "true".to_owned()));
        }
    }
    if engine == "partial-update" {
        let all: Vec<&str> = COLUMNS.iter().map(|(column, ..)| *column).collect();
        options.push(("fields.s.sequence-group".to_owned(), all.join(",")));
    }
    let options: Vec<(&str, &str)> = options.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    let columns: Vec<(&str, &str)> = COLUMNS.iter().map(|(column, data_type, ..)| (*column, *data_type)).collect();
    Table::new(engine, &[&[("s", "INT")], columns.as_slice()].concat(), &options)
}

/// Small sketches and bitmaps that Java made, by function.
static SETS: LazyLock<BTreeMap<String, Vec<Value>>> = LazyLock::new(|| {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/vectors/unions.jsonl");
    let mut sets: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for line in std::fs::read_to_string(path).unwrap().lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let inputs = line["inputs"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|input| input.as_str().is_some_and(|hex| hex.len() <= 600));
        sets.entry(line["function"].as_str().unwrap().to_owned()).or_default().extend(inputs.cloned());
    }
    sets
});

/// A value that a column may hold; null in one of four cases.
pub(super) fn value(function: &str, data_type: &str, n: u8) -> Value {
    if n.is_multiple_of(4) {
        return Value::Null;
    }
    let n = n / 4;
    if data_type == BYTES {
        let sets = &SETS[function];
        return sets[usize::from(n) % sets.len()].clone();
    }
    let (k, v) = (i64::from(n % 3), i64::from(n / 3 % 5));
    let key = if n % 7 == 6 { Value::Null } else { json!(k) };
    let choices = match data_type {
        "ARRAY<INT>" => json!([[k], [v, k], [], [null, k, k]]),
        "STRING" => json!(["", "a", "b", "at", "bta", "tt"]),
        "MAP<INT, INT>" => json!([[[k, v], [k + 3, null]], [[k, v]], []]),
        ROWS => json!([[[key, v], null], [[k, null], [k, v]], [[key, v]], []]),
        "BIGINT" => json!([0, 1]),
        _ => json!([[[k, [v, "05"]], [k + 3, null]], [[k, [v, "06"]]], [[k, [v, null]]]]),
    };
    let choices = choices.as_array().unwrap();
    choices[usize::from(n) % choices.len()].clone()
}

type Row = (u8, [u8; 24], u8);

/// Records of one key, in merge order.
fn records(table: &Table, rows: &[Row], kinds: &[i8]) -> Vec<Record> {
    let record = |(sequence, (s, values, kind)): (i64, &Row)| {
        let order = if *s == 0 { Datum::Null } else { Datum::Int(i32::from(*s % 6)) };
        let mut fields = vec![Datum::Int(1), order];
        for ((_, data_type, function, _), n) in COLUMNS.iter().zip(values) {
            let t = parse_type(data_type).unwrap();
            fields.push(match *data_type {
                "DECIMAL(20, 0)" if n.is_multiple_of(4) => Datum::Null,
                "DECIMAL(20, 0)" => Datum::Decimal([-1, 1, 2, 10_000_000_000][usize::from(n / 4 % 4)]),
                _ => datum(&value(function, data_type, *n), &t),
            });
        }
        let kind = kinds[usize::from(*kind) % kinds.len()];
        Record { fields, sequence, kind }
    };
    assert_eq!(table.layout.fields.len(), COLUMNS.len() + 2);
    (1..).zip(rows).map(record).collect()
}

fn check(table: &Table, records: &[Record], sizes: &[usize]) {
    let runs = [records.to_vec()];
    match (table.asked(records), table.in_pieces(records, sizes), table.merged_by(1, &runs, false)) {
        (Ok(expected), Ok(found), Ok(merged)) => {
            assert_eq!(found, expected, "{records:?} in pieces of {sizes:?}");
            assert_eq!(merged, [expected]);
        }
        (Err(_), Err(_), Err(_)) => {}
        (expected, found, merged) => panic!("at once {expected:?}, in pieces {found:?}, merged {merged:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_function_goes_on_from_what_records_have_come_to(
        rows in prop::collection::vec((0..7_u8, any::<[u8; 24]>(), any::<u8>()), 2..14),
        sizes in prop::collection::vec(1..6_usize, 1..5),
    ) {
        let names: String = COLUMNS.iter().map(|(column, ..)| *column).collect();
        let not_retracting: String = names.chars().filter(|column| !RETRACTING.contains(*column)).collect();
        for engine in ["aggregation", "partial-update"] {
            let plain = table(engine, "");
            check(&plain, &records(&plain, &rows, &[0, 2]), &sizes);
            for ignoring in [&not_retracting, &names] {
                let table = table(engine, ignoring);
                check(&table, &records(&table, &rows, &[0, 2, 0, 1, 3]), &sizes);
            }
        }
    }

    #[test]
    fn a_buffer_that_spills_gives_the_rows_of_one_that_does_not(
        rows in prop::collection::vec((0..7_u8, any::<[u8; 24]>(), any::<u8>()), 2..20), batch_rows in 1..4_usize,
    ) {
        let table = table("aggregation", "");
        let all = records(&table, &rows, &[0, 2]);
        let Ok(expected) = table.asked(&all) else { return Ok(()) };
        let dir = std::env::temp_dir().join(format!("siltstone-pieces-{}", uuid::Uuid::new_v4()));
        let spill = Some(SpillOptions { dir: dir.clone(), compress: false, max_fan_in: 3 });
        let options =
            WriteBufferOptions { budget: 1, spill, max_disk_size: u64::MAX, strict: false, batch_rows, ahead: false };
        let mut buffer = WriteBuffer::new(Arc::new(table.layout.clone()), table.engine(), options).unwrap();
        for part in all.chunks(3) {
            buffer.write(testing::batch(&table.layout, part)).unwrap();
        }
        prop_assert_eq!(testing::all_records(&table.layout, buffer.drain().unwrap()), vec![expected]);
        let _ = std::fs::remove_dir_all(dir);
    }
}

/// A NOT NULL column may be null between two pieces; what counts is the whole group.
#[test]
fn a_null_between_pieces_is_no_null_of_the_result() {
    let columns = [("v", "DECIMAL(20, 0) NOT NULL")];
    let table = Table::new("aggregation", &columns, &[("fields.v.aggregate-function", "sum")]);
    let large = Datum::Decimal(90_000_000_000_000_000_000);
    let rows = [large.clone(), large, Datum::Decimal(7)];
    let records: Vec<Record> = (1..).zip(rows).map(|(at, v)| record("+I", &[v], at)).collect();
    assert_eq!(table.in_pieces(&records, &[2]).unwrap(), record("+I", &[Datum::Decimal(7)], 3));
    assert!(table.in_pieces(&records[..2], &[2]).is_err(), "too many digits and nothing behind");
}

/// A row of which all records are taken back keeps what the last one was taken back with.
#[test]
fn a_row_that_is_only_taken_back_keeps_the_values_of_its_last_record() {
    let columns = [("s", "INT"), ("v", "INT NOT NULL")];
    let table = Table::new("partial-update", &columns, &[("fields.s.sequence-group", "v")]);
    let record = |(at, s): (i64, i32)| record("-D", &[int(s), int(10 * s)], at);
    let records: Vec<Record> = (1..).zip([1, 5, 3, 4]).map(record).collect();
    for end in 2..=records.len() {
        let at_once = table.asked(&records[..end]).unwrap();
        for sizes in [&[1][..], &[2], &[3], &[2, 1]] {
            assert_eq!(table.in_pieces(&records[..end], sizes).unwrap(), at_once, "{end} in pieces of {sizes:?}");
        }
    }
}

/// Batches as they are asked for, and how many of those before are still held.
fn watched(batches: impl Iterator<Item = RecordBatch> + Send + 'static, most: &Arc<Mutex<usize>>) -> BatchStream {
    let (most, mut given) = (Arc::clone(most), Vec::<Weak<dyn Array>>::new());
    Box::new(batches.map(move |batch| {
        given.retain(|column| column.strong_count() > 0);
        let mut most = most.lock().unwrap();
        *most = given.len().max(*most);
        let column: &ArrayRef = batch.column(1);
        given.push(Arc::downgrade(column));
        Ok(batch)
    }))
}

fn one_key(
    table: &Table,
    batches: i64,
    rows: i64,
    value: impl Fn(i64) -> Datum + Send + 'static,
) -> (Vec<Record>, usize) {
    let layout = table.layout.clone();
    let of_batch = move |batch: i64| {
        let row = |row: i64| record("+I", &[value(batch * rows + row)], batch * rows + row);
        testing::batch(&layout, &(0..rows).map(row).collect::<Vec<_>>())
    };
    let most = Arc::new(Mutex::new(0));
    let input = watched((0..batches).map(of_batch), &most);
    let options = MergeOptions { batch_rows: 64, unique_inputs: false, ..MergeOptions::default() };
    let merged =
        testing::all_records(&table.layout, merge(vec![input], &table.layout, table.engine(), options).unwrap());
    let most = *most.lock().unwrap();
    (merged, most)
}

#[test]
fn many_records_of_one_key_are_held_a_few_batches_at_a_time() {
    let table = Table::new("aggregation", &[("v", "BIGINT")], &[("fields.v.aggregate-function", "sum")]);
    let (merged, most) = one_key(&table, 300, 50, Datum::BigInt);
    assert_eq!(merged, [record("+I", &[Datum::BigInt((0..15_000).sum())], 14_999)]);
    assert!(most < 30, "{most} of 300 batches were held");
}

#[test]
fn large_records_of_one_key_are_held_a_few_at_a_time() {
    let table = Table::new("partial-update", &[("v", "STRING")], &[]);
    let (merged, most) = one_key(&table, 50, 1, |n| text(&n.to_string().repeat(1 << 20)));
    assert_eq!(merged, [record("+I", &[text(&"49".repeat(1 << 20))], 49)]);
    assert!(most < 30, "{most} of 50 batches were held");
}
