//! Random records through the engines and through the model.

use proptest::prelude::*;

use super::{model, *};

/// A random row: a key, and for each column a small number that [`value`] makes a value of.
type Row = (u8, [u8; 8], u8);

fn rows() -> impl Strategy<Value = Vec<Row>> {
    // few keys make long groups; many make single records
    let row = (prop_oneof![3 => 0..4_u8, 1 => any::<u8>()], any::<[u8; 8]>(), any::<u8>());
    prop::collection::vec(row, 1..60)
}

/// A value of a column's type: null in one of four cases.
fn value(field: &DataField, n: u8) -> Datum {
    use crate::types::TypeKind;
    if n.is_multiple_of(4) {
        return Datum::Null;
    }
    let n = i32::from(n / 4 % 7) - 2;
    match &field.data_type.kind {
        TypeKind::Int => Datum::Int(n),
        TypeKind::BigInt => Datum::BigInt(i64::from(n) << 30),
        TypeKind::Boolean => Datum::Boolean(n % 2 == 0),
        TypeKind::Double => {
            Datum::Double([f64::NAN, -0.0, 0.0, f64::INFINITY, -1.5, 1.0, 2.5][usize::try_from(n + 2).unwrap()])
        }
        TypeKind::Decimal { .. } => Datum::Decimal(i128::from(n) * 9_000_000_000_000_000_000),
        TypeKind::VarChar(_) => Datum::String("abcdefg"[..usize::try_from(n + 2).unwrap()].to_owned()),
        other => panic!("no values of {other:?}"),
    }
}

/// Records with rising sequence numbers; `kinds` are the row kinds that occur.
fn records(table: &Table, rows: &[Row], kinds: &[i8]) -> Vec<Record> {
    let record = |(sequence, (key, values, kind)): (i64, &Row)| {
        let mut fields = vec![Datum::Int(i32::from(*key))];
        let columns = table.layout.fields.iter().skip(1).zip(values.iter().cycle());
        fields.extend(columns.map(|(field, n)| value(field, *n)));
        // inserts more often than the rest
        let kind = kinds.get(usize::from(*kind) / 2 % kinds.len()).copied().filter(|_| kind % 2 == 0);
        Record { fields, sequence, kind: kind.unwrap_or_default() }
    };
    (1..).zip(rows).map(record).collect()
}

fn sorted(table: &Table, mut records: Vec<Record>) -> Vec<Record> {
    records.sort_by(|a, b| testing::merge_order(&table.layout, a, b));
    records
}

fn groups(table: &Table, all: Vec<Record>) -> Vec<Vec<Record>> {
    let all = sorted(table, all);
    all.chunk_by(|a, b| testing::key_order(&table.layout, a, b).is_eq()).map(<[Record]>::to_vec).collect()
}

/// What merging must give: single records as they are, groups by the model.
fn expected(
    table: &Table,
    all: Vec<Record>,
    drop_deletes: bool,
) -> std::result::Result<Vec<Record>, model::Impossible> {
    let merged = groups(table, all).into_iter().map(|group| match group.as_slice() {
        [single] => Ok(single.clone()),
        group => model::merged(table, group),
    });
    let merged = merged.collect::<std::result::Result<Vec<_>, _>>()?;
    Ok(merged.into_iter().filter(|record| !(drop_deletes && record.kind & 1 == 1)).collect())
}

/// Spreads records over runs.
fn spread(table: &Table, all: &[Record], runs: usize) -> Vec<Vec<Record>> {
    let of = |run: usize| {
        let mine = all.iter().filter(|r| usize::try_from(r.sequence * 7 / 3).unwrap() % runs == run);
        sorted(table, mine.cloned().collect())
    };
    (0..runs).map(of).collect()
}

/// The engine does what the model does, for groups in one input and in several, and for groups shown one by one.
fn check(table: &Table, rows: &[Row], kinds: &[i8]) {
    let all = records(table, rows, kinds);
    for drop_deletes in [false, true] {
        let expected = expected(table, all.clone(), drop_deletes);
        for (runs, batch_rows) in [(1, 7), (3, 7), (3, 1)] {
            let merged = table.merged_by(batch_rows, &spread(table, &all, runs), drop_deletes);
            match (&expected, merged) {
                (Ok(expected), Ok(merged)) => assert_eq!(&merged, expected, "{runs} runs, {batch_rows} rows"),
                (Err(_), Err(_)) => {}
                (expected, merged) => panic!("expected {expected:?}, merged {merged:?}"),
            }
        }
    }
    for group in groups(table, all) {
        match (model::merged(table, &group), table.asked(&group)) {
            (Ok(expected), Ok(merged)) => assert_eq!(merged, expected, "{group:?}"),
            (Err(_), Err(_)) => {}
            (expected, merged) => panic!("expected {expected:?}, merged {merged:?}"),
        }
        // records that are put together in pieces of sizes that depend on the rows
        let sizes: Vec<usize> = rows.iter().map(|(_, _, kind)| usize::from(kind / 4 % 4) + 1).collect();
        match (model::merged(table, &group), table.in_pieces(&group, &sizes)) {
            (Ok(expected), Ok(merged)) => assert_eq!(merged, expected, "{group:?} in pieces of {sizes:?}"),
            (Err(_), Err(_)) => {}
            (expected, merged) => panic!("expected {expected:?}, in pieces {merged:?}"),
        }
    }
}

/// Merging some of the rows first and their results later gives the same.
fn check_steps(table: &Table, rows: &[Row], kinds: &[i8], cut: usize) {
    let all = records(table, rows, kinds);
    let Ok(at_once) = table.merged(&[sorted(table, all.clone())], false) else { return };
    let (first, second) = all.split_at(cut % all.len());
    let halves = [first, second].map(|half| sorted(table, half.to_vec()));
    let halves: Vec<Vec<Record>> =
        halves.iter().map(|half| table.merged(std::slice::from_ref(half), false).unwrap()).collect();
    assert_eq!(table.merged(&halves, false).unwrap(), at_once);
}

const COLUMNS: &[(&str, &str)] = &[
    ("a", "BIGINT"),
    ("b", "INT"),
    ("c", "DOUBLE"),
    ("d", "STRING"),
    ("e", "INT"),
    ("f", "DECIMAL(20, 0)"),
    ("g", "BOOLEAN"),
    ("h", "STRING"),
];

const RETRACTING: &[(&str, &str)] = &[
    ("fields.a.aggregate-function", "sum"),
    ("fields.b.aggregate-function", "product"),
    ("fields.c.aggregate-function", "sum"),
    ("fields.d.aggregate-function", "last_value"),
    ("fields.f.aggregate-function", "sum"),
];

const OTHERS: &[(&str, &str)] = &[
    ("fields.a.aggregate-function", "max"),
    ("fields.b.aggregate-function", "first_value"),
    ("fields.c.aggregate-function", "min"),
    ("fields.d.aggregate-function", "max"),
    ("fields.e.aggregate-function", "first_non_null_value"),
    ("fields.g.aggregate-function", "bool_and"),
    ("fields.h.aggregate-function", "min"),
];

fn ignoring(columns: &str) -> Vec<(String, String)> {
    columns.chars().map(|column| (format!("fields.{column}.ignore-retract"), "true".to_owned())).collect()
}

fn table(engine: &str, options: &[&[(&str, &str)]], ignore_retract: &str) -> Table {
    let ignoring = ignoring(ignore_retract);
    let mut all = options.concat();
    all.extend(ignoring.iter().map(|(k, v)| (k.as_str(), v.as_str())));
    Table::new(engine, COLUMNS, &all)
}

/// Two sequence groups: b orders a (summed), c (newest) and d; e and h order f and g.
const GROUPS: &[(&str, &str)] = &[("fields.b.sequence-group", "a,c"), ("fields.e,h.sequence-group", "f,g")];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn aggregation_of_inserts(rows in rows(), cut in any::<usize>()) {
        for functions in [RETRACTING, OTHERS, &[("fields.g.aggregate-function", "bool_or")]] {
            let table = table("aggregation", &[functions], "");
            check(&table, &rows, &[0, 2]);
        }
        check_steps(&table("aggregation", &[&OTHERS[..1], &OTHERS[2..4], &OTHERS[5..]], ""), &rows, &[0], cut);
    }

    #[test]
    fn aggregation_of_inserts_and_retracts(rows in rows()) {
        check(&table("aggregation", &[RETRACTING], ""), &rows, &[0, 1, 2, 3]);
        check(&table("aggregation", &[OTHERS], "abcdegh"), &rows, &[0, 1, 2, 3]);
        // some functions cannot take them
        check(&table("aggregation", &[OTHERS], "abcde"), &rows, &[3]);
    }

    #[test]
    fn aggregation_that_removes_rows(rows in rows()) {
        let removing = &[("aggregation.remove-record-on-delete", "true")][..];
        check(&table("aggregation", &[OTHERS, removing], ""), &rows, &[0, 3]);
        check(&table("aggregation", &[RETRACTING, removing], ""), &rows, &[0, 1, 2, 3]);
    }

    #[test]
    fn aggregation_in_the_order_of_a_sequence_field(rows in rows()) {
        let sequence = &[("sequence.field", "e,h")][..];
        check(&table("aggregation", &[RETRACTING, sequence], ""), &rows, &[0, 1, 2, 3]);
        check(&table("aggregation", &[&OTHERS[..4], sequence], ""), &rows, &[0, 2]);
    }

    #[test]
    fn partial_update_of_inserts(rows in rows(), cut in any::<usize>()) {
        let table = table("partial-update", &[], "");
        check(&table, &rows, &[0, 2]);
        check_steps(&table, &rows, &[0, 2], cut);
    }

    #[test]
    fn partial_update_with_deletes(rows in rows()) {
        for option in ["ignore-delete", "partial-update.remove-record-on-delete"] {
            check(&table("partial-update", &[&[(option, "true")]], ""), &rows, &[0, 1, 2, 3]);
        }
        // refused unless they are alone
        check(&table("partial-update", &[], ""), &rows[..rows.len().min(5)], &[0, 3]);
    }

    #[test]
    fn partial_update_with_sequence_groups(rows in rows(), cut in any::<usize>()) {
        let plain = table("partial-update", &[GROUPS], "");
        check(&plain, &rows, &[0, 2]);
        check(&plain, &rows, &[0, 1, 2, 3]);
        check_steps(&plain, &rows, &[0, 2], cut);
        let removing = &[("partial-update.remove-record-on-sequence-group", "h")][..];
        check(&table("partial-update", &[GROUPS, removing], ""), &rows, &[0, 1, 2, 3]);
        check(&table("partial-update", &[GROUPS, &[("ignore-delete", "true")]], ""), &rows, &[0, 1, 2, 3]);
    }

    #[test]
    fn partial_update_with_aggregates_in_sequence_groups(rows in rows()) {
        let sums = &[
            ("fields.a.aggregate-function", "sum"),
            ("fields.c.aggregate-function", "last_non_null_value"),
            ("fields.f.aggregate-function", "sum"),
        ][..];
        let removing = &[("partial-update.remove-record-on-sequence-group", "b")][..];
        check(&table("partial-update", &[GROUPS, sums], ""), &rows, &[0, 1, 2, 3]);
        check(&table("partial-update", &[GROUPS, sums, removing], ""), &rows, &[0, 1, 2, 3]);
        let firsts = &[
            ("fields.a.aggregate-function", "first_value"),
            ("fields.c.aggregate-function", "first_non_null_value"),
            ("fields.f.aggregate-function", "max"),
            ("fields.g.aggregate-function", "bool_or"),
        ][..];
        check(&table("partial-update", &[GROUPS, firsts], ""), &rows, &[0, 2]);
        check(&table("partial-update", &[GROUPS, firsts], "acfg"), &rows, &[0, 1, 2, 3]);
    }

    #[test]
    fn a_projected_merge_gives_the_columns_of_a_whole_one(rows in rows()) {
        let removing = &[("partial-update.remove-record-on-sequence-group", "h")][..];
        let sums = &[("fields.a.aggregate-function", "sum")][..];
        let table = table("partial-update", &[GROUPS, removing, sums], "");
        let all = records(&table, &rows, &[0, 1, 2, 3]);
        let whole = table.merged(&[sorted(&table, all.clone())], true).unwrap();
        let requested = ["k".to_owned(), "a".to_owned()];
        let more = crate::schema::merge_columns(&table.schema, &table.options, &requested).unwrap();
        let columns: Vec<&str> = requested.iter().chain(&more).map(String::as_str).collect();
        let narrow = table.projected(&columns);
        let pick = |record: &Record| {
            let at = |name: &&str| table.layout.fields.iter().position(|f| f.name == *name).unwrap();
            let fields = columns.iter().map(|name| record.fields[at(name)].clone()).collect();
            Record { fields, ..record.clone() }
        };
        let all: Vec<Record> = sorted(&table, all).iter().map(pick).collect();
        let merged = narrow.merged(&[all], true).unwrap();
        assert_eq!(merged, whole.iter().map(pick).collect::<Vec<_>>());
    }
}
