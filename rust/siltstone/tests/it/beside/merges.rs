//! MERGE inserts what is not there: what others bring or take away meanwhile decides whether it is.

use siltstone::table::MergeReport;

use super::*;

type Row = (i32, i64);
/// Key and options.
type Kind = (&'static [&'static str], &'static [(&'static str, &'static str)]);

/// Before everything.
const BEGUN: Row = (1, 1);
const SOURCE: [Row; 2] = [(1, 5), (7, 70)];

fn merge(fs: &FileIoRef, source: &[Row]) -> Result<MergeReport> {
    let args = r#"{"on": "t.k = s.k", "clauses": [{"of": "not_matched", "action": "insert", "set": null, "condition": null}],
        "memory_limit": null, "threads": 1}"#;
    let rows = batch(source);
    table(fs).merge(&Table::merge_args(args)?, &rows.schema(), [Ok(rows.clone())].into_iter())
}

/// What others do, and the rows where they come second and where they come first.
struct Others {
    name: &'static str,
    run: fn(&FileIoRef),
    second: &'static [Row],
    first: &'static [Row],
}

fn others(has_key: bool) -> Vec<Others> {
    vec![
        Others {
            name: "the same merge",
            run: |fs| drop(merge(fs, &[(7, 71)]).unwrap()),
            second: &[BEGUN, (7, 70)],
            first: &[BEGUN, (7, 71)],
        },
        Others {
            name: "an overwrite",
            run: |fs| {
                let all = OverwriteTarget::Static(BTreeMap::new());
                drop(table(fs).overwrite([Ok(batch(&[(100, 1)]))].into_iter(), &all).unwrap());
            },
            second: &[(100, 1)],
            first: &[(1, 5), (7, 70), (100, 1)],
        },
        Others {
            name: "other rows",
            run: |fs| drop(put(fs, &[(0, 0), (8, 8)]).unwrap()),
            second: &[(0, 0), BEGUN, (7, 70), (8, 8)],
            first: &[(0, 0), BEGUN, (7, 70), (8, 8)],
        },
        Others {
            name: "a row that is inserted",
            run: |fs| drop(put(fs, &[(7, 7)]).unwrap()),
            second: if has_key { &[BEGUN, (7, 7)] } else { &[BEGUN, (7, 7), (7, 70)] },
            first: &[BEGUN, (7, 7)],
        },
        Others {
            name: "a deletion",
            run: |fs| {
                let filter = Some(Condition::Sql("k >= 0".to_owned()));
                let change = ModifyArgs { filter, set: BTreeMap::new(), threads: Some(1) };
                drop(table(fs).modify(&change).unwrap());
            },
            second: &[],
            first: &[(1, 5), (7, 70)],
        },
    ]
}

/// Two merges at once inserted the same key twice into a table without keys, and what an overwrite had taken away counted as there.
#[test]
fn a_merge_and_what_others_commit_come_one_after_the_other() {
    const TRACKED: (&str, &str) = ("row-tracking.enabled", "true");
    let tables: [Kind; 6] = [
        (&[], &[("bucket", "-1")]),
        (&[], &[("bucket", "-1"), VECTORS]),
        (&[], &[("bucket", "-1"), TRACKED]),
        (&[], &[("bucket", "-1"), TRACKED, ("data-evolution.enabled", "true")]),
        (&["k"], &[BUCKET]),
        (&["k"], &[("bucket", "-1")]),
    ];
    for (key, options) in tables {
        let (io, fs) = new_table(key, options);
        put(&fs, &[BEGUN]).unwrap();
        // what is not there has one rule for all tables without keys
        let most = if options.len() == 1 { usize::MAX } else { 2 };
        for others in others(!key.is_empty()).into_iter().take(most) {
            let calls = before_each_call(
                &io,
                |fs| merge(fs, &SOURCE),
                others.run,
                |call, fs, end| {
                    let place = format!("{key:?} {options:?}, {} before call {call}", others.name);
                    end.unwrap_or_else(|error| panic!("{place}: {error}"));
                    let found = rows(fs);
                    assert!(found == others.second || found == others.first, "{place}: {found:?}");
                },
            );
            assert!(calls > 10, "{calls}");
        }
    }
}
