//! What we read of the golden tables is what Java read, or a refusal that names the feature.

use std::{collections::BTreeMap, sync::Arc};

use arrow_array::RecordBatch;
use siltstone::{
    Error, ErrorKind, Result,
    predicate::{Condition, Predicate, evaluate, parse_predicate},
    read::{count, read_splits},
    row::{datum_from_array, datum_to_text},
    scan::{ReadOptions, ScanPlan, ScanRequest, VersionSelector, plan, time_travel},
    table::Table,
    types::{DataField, TypeKind},
};

use crate::{
    fixtures::{self, Fixture, ROOT},
    rows,
};

/// Tables that later parts will read; each may be refused, never read wrongly. All others must be read.
const MAY_BE_REFUSED: &[&str] = &[
    "dv_switched_on_later",
    "evolve_pk_dv",
    "index_bloom_pk_dv",
    "_avro",
    "_orc",
    "format_avro_",
    "format_orc_",
    "format_per_level",
    "format_changed_by_alter",
    "manifest_format_",
    "types_variant",
    "rollback_to_tag",
    "branch_",
    "postpone_bucket",
];

fn may_be_refused(name: &str) -> bool {
    MAY_BE_REFUSED.iter().any(|part| name.contains(part))
}

fn open(fixture: &Fixture, branch: &str) -> Result<Table> {
    Table::open_with(Arc::new(fixture.io()), ROOT, branch, None, BTreeMap::new())
}

fn read(plan: &ScanPlan, threads: usize) -> Result<Vec<RecordBatch>> {
    read_splits(&plan.ctx, &plan.splits, &plan.read, threads)?.collect()
}

/// Every read of a table that Java made: expectation, branch, version.
fn reads(fixture: &Fixture) -> Vec<(String, String, VersionSelector)> {
    let mut all = vec![("latest".to_owned(), "main".to_owned(), VersionSelector::Latest)];
    for name in fixture.expectations("snapshot-") {
        let id = name["snapshot-".len()..].parse().expect("an id");
        all.push((name, "main".to_owned(), VersionSelector::Snapshot(id)));
    }
    for name in fixture.expectations("tag-") {
        let tag = name["tag-".len()..].to_owned();
        all.push((name.clone(), "main".to_owned(), VersionSelector::Tag(tag.clone())));
        all.push((name, "main".to_owned(), VersionSelector::Version(tag)));
    }
    for name in fixture.expectations("branch-").into_iter().filter(|n| n != "branch-snapshots") {
        let branch = name["branch-".len()..].to_owned();
        all.push((name, branch, VersionSelector::Latest));
    }
    all
}

fn check(fixture: &Fixture, expectation: &str, branch: &str, version: VersionSelector) -> Result<Option<String>> {
    let Some(expected) = fixture.expected(expectation) else {
        return Ok(None);
    };
    let table = open(fixture, branch)?;
    let plan = plan(table.context(), &ScanRequest { version, ..ScanRequest::default() })?;
    let fields = &plan.read.fields;
    let found = rows::of_batches(&read(&plan, 2)?, fields);
    let expected = rows::of_json(&expected, fields);
    if found != expected {
        let (ours, theirs) = (missing(&found, &expected), missing(&expected, &found));
        return Ok(Some(format!(
            "{} rows for {}\n  only ours  {ours:?}\n  only Java's {theirs:?}",
            found.len(),
            expected.len()
        )));
    }
    let counted = count(&plan, 2)?;
    Ok((counted != found.len() as u64).then(|| format!("count says {counted}, read {}", found.len())))
}

fn missing<'a>(of: &'a [String], from: &[String]) -> Vec<&'a String> {
    of.iter().filter(|r| !from.contains(r)).take(2).collect()
}

fn refused(e: &Error) -> bool {
    matches!(e.kind(), ErrorKind::UnsupportedFeature | ErrorKind::UnsupportedType)
}

#[test]
fn golden_tables_are_read_as_java_reads_them() {
    let (mut wrong, mut good, mut unsupported) = (Vec::new(), 0, Vec::new());
    for fixture in fixtures::all() {
        for (expectation, branch, version) in reads(&fixture) {
            let what = format!("{} {expectation} ({version:?})", fixture.name);
            match check(&fixture, &expectation, &branch, version) {
                Ok(None) => good += 1,
                Ok(Some(difference)) => wrong.push(format!("{what}: {difference}")),
                Err(e) if refused(&e) && may_be_refused(&fixture.name) => unsupported.push(format!("{what}: {e}")),
                Err(e) => wrong.push(format!("{what}: {e}")),
            }
        }
    }
    if std::env::var_os("SHOW_REFUSED").is_some() {
        wrong.extend(unsupported.iter().map(|u| format!("REFUSED {u}")));
    }
    assert!(
        wrong.is_empty(),
        "{} reads wrong, {good} right, {} refused:\n{}",
        wrong.len(),
        unsupported.len(),
        wrong.join("\n")
    );
    assert!(good > 300, "only {good} reads compared");
}

/// Conditions over a column made of values that the table has.
fn conditions(field: &DataField, batches: &[RecordBatch], column: usize) -> Vec<String> {
    let name = format!("`{}`", field.name);
    let mut all = vec![format!("{name} IS NULL"), format!("{name} IS NOT NULL")];
    let literal = |batch: &RecordBatch, row: usize| {
        let value =
            datum_from_array(batch.column(column).as_ref(), row, &field.data_type).ok().filter(|v| !v.is_null())?;
        let text = datum_to_text(&value, &field.data_type);
        Some(match field.data_type.kind {
            TypeKind::Binary(_) | TypeKind::VarBinary(_) => return None,
            _ => format!("'{}'", text.replace('\'', "''")),
        })
    };
    let values: Vec<String> = batches
        .iter()
        .flat_map(|b| [0, b.num_rows() / 2, b.num_rows() - 1].into_iter().filter_map(move |r| literal(b, r)))
        .take(2)
        .collect();
    for value in &values {
        all.extend(["=", "<>", "<", ">="].map(|op| format!("{name} {op} {value}")));
    }
    if let [a, b, ..] = &values[..] {
        all.push(format!("{name} IN ({a}, {b})"));
        all.push(format!("{name} NOT BETWEEN {a} AND {b}"));
    }
    all
}

fn filtered(predicate: &Predicate, batches: &[RecordBatch]) -> Vec<RecordBatch> {
    let keep = |b: &RecordBatch| {
        arrow_select::filter::filter_record_batch(b, &evaluate(predicate, b).expect("evaluates")).expect("filters")
    };
    batches.iter().map(keep).collect()
}

#[test]
fn a_filter_gives_the_same_rows_whatever_is_pruned() {
    let mut tried = 0;
    for fixture in fixtures::all() {
        let table = open(&fixture, "main").expect("opens");
        let Ok(all) = plan(table.context(), &ScanRequest::default()) else { continue };
        let Ok(batches) = read(&all, 1) else { continue };
        let (ctx, _) = time_travel(table.context(), &VersionSelector::Latest).expect("travels");
        let batches: Vec<RecordBatch> = batches.into_iter().take(50).collect();
        let whole = all.splits.iter().flat_map(|s| &s.files).map(|f| f.row_count).sum::<i64>() < 5000;
        if !whole || batches.is_empty() {
            continue;
        }
        for (at, field) in ctx.schema.fields.iter().enumerate() {
            for condition in conditions(field, &batches, at) {
                let Ok(predicate) = parse_predicate(&condition, &ctx.schema.fields) else { continue };
                let request = ScanRequest {
                    filter: Some(predicate.clone().into()),
                    columns: Some(vec![ctx.schema.fields[0].name.clone()]),
                    ..ScanRequest::default()
                };
                let what = format!("{} where {condition}", fixture.name);
                let planned = plan(table.context(), &request).unwrap_or_else(|e| panic!("{what}: {e}"));
                let found = read(&planned, 1).unwrap_or_else(|e| panic!("{what}: {e}"));
                let fields = &ctx.schema.fields[..1];
                let first: Vec<RecordBatch> =
                    filtered(&predicate, &batches).iter().map(|b| b.project(&[0]).expect("projects")).collect();
                assert_eq!(rows::of_batches(&found, fields), rows::of_batches(&first, fields), "{what}");
                assert_eq!(
                    count(&planned, 1).expect("counts"),
                    found.iter().map(|b| b.num_rows() as u64).sum::<u64>(),
                    "{what}"
                );
                tried += 1;
            }
        }
    }
    assert!(tried > 1000, "only {tried} conditions tried");
}

#[test]
fn a_limit_is_kept_and_row_kinds_come_first() {
    let fixture = fixtures::fixture("dedup_compact_then_more");
    let table = open(&fixture, "main").expect("opens");
    for limit in [0, 1, 3, 1_000_000] {
        let request = ScanRequest {
            options: ReadOptions { limit: Some(limit), row_kind: true, ..ReadOptions::default() },
            ..ScanRequest::default()
        };
        let planned = plan(table.context(), &request).expect("plans");
        let found = read(&planned, 2).expect("reads");
        let expected = fixture.expected("latest").expect("rows").len().min(limit);
        assert_eq!(found.iter().map(RecordBatch::num_rows).sum::<usize>(), expected);
        assert_eq!(count(&planned, 1).expect("counts"), expected as u64);
        for batch in &found {
            assert_eq!(batch.schema().field(0).name(), "rowkind");
        }
    }
}

/// Partitions (as text), buckets and files of the plan for a condition.
fn planned(fixture: &str, condition: &str) -> (Vec<(String, i32)>, usize) {
    let table = open(&fixtures::fixture(fixture), "main").expect("opens");
    let ctx = table.context();
    let filter = Some(Condition::Sql(condition.to_owned()));
    let planned = plan(ctx, &ScanRequest { filter, ..ScanRequest::default() }).expect(condition);
    let mut buckets: Vec<(String, i32)> = planned
        .splits
        .iter()
        .map(|s| (ctx.paths.partition_path(&s.bucket.partition).expect("a partition"), s.bucket.bucket))
        .collect();
    buckets.sort();
    buckets.dedup();
    (buckets, planned.files())
}

#[test]
fn only_partitions_and_buckets_of_interest_are_read() {
    let all = planned("bucket_fixed_many", "TRUE").0.len();
    assert_eq!(all, 5);
    assert_eq!(planned("bucket_fixed_many", "a = -50 AND b = 'heath' AND c = -779893948360").0.len(), 1);
    assert_eq!(planned("bucket_fixed_many", "a = -50").0.len(), 1, "key statistics leave one bucket");
    assert_eq!(planned("bucket_fixed_many", "a = 2000000000").1, 0);

    let (buckets, _) = planned("partition_two_keys", "dt = '2024-01-01' AND hr = 0");
    assert!(!buckets.is_empty() && buckets.iter().all(|(p, _)| p == "dt=2024-01-01/hr=0"), "{buckets:?}");
    let (buckets, _) = planned("partition_two_keys", "(dt = '2024-01-01' AND k = 1) OR (hr = 77 AND v IS NULL)");
    assert!(!buckets.is_empty() && buckets.iter().all(|(p, _)| p.starts_with("dt=2024-01-01/")), "{buckets:?}");
}

#[test]
fn each_partition_is_pruned_by_its_own_number_of_buckets() {
    let mut totals = Vec::new();
    for k in 0..20 {
        let (buckets, _) = planned("bucket_rescaled", &format!("k = {k}"));
        for partition in ["p=x", "p=y"] {
            let of_partition = buckets.iter().filter(|(p, _)| p == partition).count();
            assert!(of_partition <= 1, "k = {k} is in one bucket of {partition}: {buckets:?}");
        }
        totals.extend(buckets);
    }
    totals.sort();
    totals.dedup();
    assert!(totals.iter().any(|(_, bucket)| *bucket == 2), "the rescaled partition has three buckets: {totals:?}");
}

#[test]
fn a_version_that_is_not_there_says_which_are() {
    let table = open(&fixtures::fixture("time_travel"), "main").expect("opens");
    let refused = |version: VersionSelector| {
        let e = time_travel(table.context(), &version).expect_err("not there");
        (e.kind(), format!("{e} {}", e.hint_text().unwrap_or_default()))
    };
    let (kind, text) = refused(VersionSelector::Snapshot(99));
    assert_eq!(kind, ErrorKind::SnapshotNotFound);
    assert!(text.contains('1') && text.contains('4'), "{text}");
    let (kind, text) = refused(VersionSelector::Timestamp(0));
    assert_eq!(kind, ErrorKind::SnapshotNotFound);
    assert!(text.contains("earliest snapshot is 1"), "{text}");
    let (kind, text) = refused(VersionSelector::Version("nope".to_owned()));
    assert_eq!(kind, ErrorKind::TagNotFound);
    assert!(text.contains("t2"), "{text}");
    assert_eq!(refused(VersionSelector::Tag("nope".to_owned())).0, ErrorKind::TagNotFound);
    let at = |version| time_travel(table.context(), &version).expect("there").1.expect("a snapshot");
    assert_eq!(at(VersionSelector::Version("t2".to_owned())).id, 2);
    assert_eq!(at(VersionSelector::Version("3".to_owned())).id, 3);
    let third = at(VersionSelector::Snapshot(3));
    assert_eq!(at(VersionSelector::Timestamp(third.time_millis)).id, 3);
    assert_eq!(at(VersionSelector::Timestamp(third.time_millis - 1)).id, 2);
    assert_eq!(at(VersionSelector::Timestamp(i64::MAX)).id, 4);
}

#[test]
fn options_choose_the_version_when_nothing_else_does() {
    let fixture = fixtures::fixture("time_travel");
    let open = |options: &[(&str, &str)]| {
        let options = options.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        Table::open_with(Arc::new(fixture.io()), ROOT, "main", None, options).expect("opens")
    };
    let id = |options: &[(&str, &str)]| {
        time_travel(open(options).context(), &VersionSelector::Latest)
            .map(|(_, snapshot)| snapshot.expect("a snapshot").id)
    };
    assert_eq!(id(&[("scan.snapshot-id", "2")]).expect("there"), 2);
    assert_eq!(id(&[("scan.tag-name", "t2")]).expect("there"), 2);
    assert_eq!(id(&[("scan.version", "3")]).expect("there"), 3);
    assert_eq!(id(&[("scan.mode", "latest-full")]).expect("there"), 4);
    assert_eq!(
        id(&[("scan.snapshot-id", "2"), ("scan.version", "3")]).expect_err("two").kind(),
        ErrorKind::InvalidOption
    );
    assert_eq!(id(&[("scan.mode", "from-snapshot")]).expect_err("none").kind(), ErrorKind::InvalidOption);
}

#[test]
fn a_column_that_is_not_there_is_named() {
    let table = open(&fixtures::fixture("time_travel"), "main").expect("opens");
    let columns = Some(vec!["k".to_owned(), "tss".to_owned()]);
    let e = plan(table.context(), &ScanRequest { columns, ..ScanRequest::default() }).expect_err("unknown");
    assert_eq!(e.kind(), ErrorKind::InvalidArgument);
    assert_eq!(e.hint_text(), Some("did you mean 'ts'?"));
}
