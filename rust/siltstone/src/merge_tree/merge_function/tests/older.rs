//! Records that are merged while older ones of their key are left out: the merge stops, or nothing is forgotten.

use proptest::prelude::*;

use super::{
    pieces::{COLUMNS, Options, value},
    *,
};
use crate::{aggregate::testing::datum, io::BatchStream, merge_tree::merge::older::OlderRecordsNeeded, row::RowKind};

const INSERT: i8 = 0;
const BEFORE: i8 = 1;
const DELETE: i8 = 3;

/// Merges runs, between rows of other keys; what becomes of key 1.
fn merged(table: &Table, runs: &[Vec<Record>], leaves_out_older: bool) -> Result<Vec<Record>> {
    let width = table.layout.fields.len();
    let other = |key: i32| Record {
        fields: (0..width).map(|at| if at == 0 { Datum::Int(key) } else { Datum::Null }).collect(),
        sequence: 100,
        kind: if key % 2 == 0 { DELETE } else { INSERT },
    };
    let others: Vec<Record> = (2..100).map(other).collect();
    let inputs: Vec<BatchStream> =
        runs.iter().chain([&others]).map(|run| testing::stream(&table.layout, run, 16)).collect();
    let options = MergeOptions { leaves_out_older, batch_rows: 16, ..MergeOptions::default() };
    let mut found = Vec::new();
    for batch in merge(inputs, &table.layout, table.engine(), options)? {
        found.extend(testing::records(&table.layout, &batch?));
    }
    assert!(found.len() == 98 || found.len() == 99);
    found.truncate(found.len() - 98);
    Ok(found)
}

/// Runs of one record each, in merge order.
fn runs(records: &[Record]) -> Vec<Vec<Record>> {
    records.iter().map(|record| vec![record.clone()]).collect()
}

/// Whether a merge of records of these kinds stops.
fn stops(table: &Table, kinds: &[i8]) -> bool {
    let fields = |n: i32| (0..table.layout.fields.len()).map(|at| Datum::Int(if at == 0 { 1 } else { n })).collect();
    let record = |(n, kind): (i32, &i8)| Record { fields: fields(n), sequence: i64::from(n), kind: *kind };
    let records: Vec<Record> = (1..).zip(kinds).map(record).collect();
    merged(table, &runs(&records), false).unwrap();
    match merged(table, &runs(&records), true) {
        Ok(_) => false,
        Err(error) => {
            assert!(OlderRecordsNeeded::is_cause_of(&error), "{error}");
            true
        }
    }
}

#[test]
fn a_merge_stops_where_it_would_forget_what_a_record_takes_back() {
    let one = |engine, options| Table::new(engine, &[("v", "INT")], options);
    let product = one("aggregation", &[("fields.v.aggregate-function", "product")]);
    let ignoring = [("fields.v.aggregate-function", "product"), ("fields.v.ignore-retract", "true")];
    let ignoring = one("aggregation", &ignoring);
    let removing = [("fields.v.aggregate-function", "product"), ("aggregation.remove-record-on-delete", "true")];
    let removing = one("aggregation", &removing);
    let sum = one("aggregation", &[("fields.v.aggregate-function", "sum")]);
    let partial = one("partial-update", &[("partial-update.remove-record-on-delete", "true")]);
    let groups = [("fields.s.sequence-group", "v"), ("partial-update.remove-record-on-sequence-group", "s")];
    let groups = Table::new("partial-update", &[("v", "INT"), ("s", "INT")], &groups);
    for (table, kinds, expected) in [
        (&product, &[INSERT, INSERT][..], false),
        // a record that is alone passes as it is
        (&product, &[DELETE], false),
        (&product, &[BEFORE], false),
        (&product, &[DELETE, INSERT], true),
        (&product, &[INSERT, DELETE], true),
        (&product, &[DELETE, DELETE], true),
        (&product, &[INSERT, BEFORE, INSERT], true),
        (&ignoring, &[DELETE, INSERT], false),
        (&sum, &[DELETE, INSERT], false),
        (&removing, &[DELETE], false),
        (&removing, &[DELETE, INSERT], true),
        // what comes of them removes the row, too
        (&removing, &[INSERT, DELETE], false),
        (&removing, &[DELETE, INSERT, DELETE], false),
        (&removing, &[BEFORE, INSERT], true),
        (&partial, &[DELETE, INSERT], true),
        (&partial, &[INSERT, DELETE], false),
        (&groups, &[INSERT, INSERT], false),
        (&groups, &[DELETE, INSERT], true),
        (&groups, &[INSERT, DELETE], true),
    ] {
        assert_eq!(stops(table, kinds), expected, "{:?} {kinds:?}", table.engine());
    }
    let choosing = one("deduplicate", &[]);
    assert!(!stops(&choosing, &[DELETE, INSERT]));
}

#[test]
fn another_error_is_not_taken_for_that_of_a_merge_that_stops() {
    let error = Error::new(ErrorKind::Internal, OlderRecordsNeeded.to_string());
    assert!(!OlderRecordsNeeded::is_cause_of(&error));
    assert!(!OlderRecordsNeeded::is_cause_of(&error.caused_by("something else")));
}

/// A table of one column with a function, by number; the last ones are those of engines and functions that are not in [`COLUMNS`].
fn table(number: usize, ignores: bool, removes: bool) -> (Table, &'static str, &'static str) {
    const MORE: [(&str, &str, &str, Options); 2] = [("y", "BIGINT", "sum", &[]), ("z", "BIGINT", "", &[])];
    let all: Vec<_> = COLUMNS.iter().chain(&MORE).collect();
    let (_, data_type, function, own) = *all[number % all.len()];
    let (engine, key) = match function {
        "" => ("partial-update", "partial-update.remove-record-on-delete"),
        _ => ("aggregation", "aggregation.remove-record-on-delete"),
    };
    let mut options: Vec<(String, &str)> = Vec::new();
    if !function.is_empty() {
        options.push(("fields.v.aggregate-function".to_owned(), function));
        options.extend(own.iter().map(|(suffix, value)| (format!("fields.v.{suffix}"), *value)));
        // one excludes the other
        let ignores = ignores && !removes;
        options.push(("fields.v.ignore-retract".to_owned(), if ignores { "true" } else { "false" }));
    }
    options.push((key.to_owned(), if removes || function.is_empty() { "true" } else { "false" }));
    let options: Vec<(&str, &str)> = options.iter().map(|(key, value)| (key.as_str(), *value)).collect();
    (Table::new(engine, &[("v", data_type)], &options), data_type, function)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// Either the merge of the newer records stops, or what comes of them changes nothing that is shown.
    #[test]
    fn what_a_record_takes_back_is_not_forgotten(
        number in 0usize..24, ignores in any::<bool>(), removes in any::<bool>(),
        rows in prop::collection::vec((any::<u8>(), 0i8..4), 2..7), older in 0usize..4,
    ) {
        let (table, data_type, function) = table(number, ignores, removes);
        // in another order the same sketch, or bitmap of 64 bits, has other bytes
        if function.ends_with("sketch") || function == "rbm64" {
            return Ok(());
        }
        let value = |n: u8| match data_type {
            "DECIMAL(20, 0)" if n.is_multiple_of(4) => Datum::Null,
            "DECIMAL(20, 0)" => Datum::Decimal([1, 2, 3][usize::from(n / 4 % 3)]),
            _ => datum(&value(function, data_type, n), &parse_type(data_type).unwrap()),
        };
        let record = |(sequence, (n, kind)): (i64, &(u8, i8))| {
            RowKind::from_byte(*kind).unwrap();
            Record { fields: vec![Datum::Int(1), value(*n)], sequence, kind: *kind }
        };
        let all: Vec<Record> = (1..).zip(&rows).map(record).collect();
        let (below, above) = all.split_at(older.min(all.len() - 1));
        let Ok(expected) = merged(&table, &runs(&all), false) else { return Ok(()) };
        let retracts = above.iter().any(|record| record.kind & 1 == 1);
        match merged(&table, &runs(above), true) {
            Ok(first) => {
                let found = merged(&table, &[runs(below), vec![first]].concat(), false).unwrap();
                let shown = |records: &[Record]| -> Vec<Record> {
                    records.iter().filter(|record| record.kind & 1 == 0).cloned().collect()
                };
                prop_assert_eq!(shown(&found), shown(&expected), "{:?} {:?} {:?}", table.engine(), below, above);
            }
            Err(error) => prop_assert!(!retracts || OlderRecordsNeeded::is_cause_of(&error), "{}", error),
        }
    }
}
