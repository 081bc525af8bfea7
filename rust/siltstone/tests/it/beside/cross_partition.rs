//! Tables whose keys may come in any partition (key `k`, partition `v`): whatever comes before whichever call of a writer, no
//! key is in two partitions or buckets, and no reported row is lost (`fsck` reads all keys after each run).

use super::*;

/// Few keys in a bucket: writers disagree soon.
const SMALL: (&str, &str) = ("dynamic-bucket.target-row-num", "2");

fn begun(options: &[(&str, &str)]) -> (FaultFileIo, FileIoRef) {
    let options: Vec<_> = [SMALL].into_iter().chain(options.iter().copied()).collect();
    let (io, fs) = memory_of_moving_keys(&options);
    put(&fs, &[(1, 1), (2, 1), (3, 3)]).unwrap();
    (io, fs)
}

fn overwrite(fs: &FileIoRef, partition: Option<&str>, rows: &[(i32, i64)]) -> Result<CommitReport> {
    let spec = partition.map(|v| ("v".to_owned(), Some(v.to_owned())));
    table(fs).overwrite([Ok(batch(rows))].into_iter(), &OverwriteTarget::Static(spec.into_iter().collect()))
}

/// Each key once, in one of the partitions that it was last given.
fn check_rows(fs: &FileIoRef, expected: &[(i32, &[i64])], call: u64) {
    let found = rows(fs);
    let keys: Vec<i32> = found.iter().map(|row| row.0).collect();
    assert_eq!(keys, expected.iter().map(|row| row.0).collect::<Vec<_>>(), "call {call}: {found:?}");
    for ((k, v), (_, may_be)) in found.iter().zip(expected) {
        assert!(may_be.contains(v), "call {call}: key {k} is in {v}");
    }
}

#[test]
fn two_writers_that_move_the_same_keys_agree_on_their_partitions() {
    let (io, _) = begun(&[]);
    let others = |fs: &FileIoRef| drop(put(fs, &[(3, 1), (2, 5), (10, 5), (12, 3)]).unwrap());
    let ours = |fs: &FileIoRef| put(fs, &[(2, 3), (10, 1), (11, 1)]);
    let calls = before_each_call(&io, ours, others, |call, fs, end| {
        end.unwrap_or_else(|error| panic!("call {call}: {error}"));
        let expected: [(i32, &[i64]); 6] = [(1, &[1]), (2, &[3, 5]), (3, &[1]), (10, &[1, 5]), (11, &[1]), (12, &[3])];
        check_rows(fs, &expected, call);
    });
    assert!(calls > 30, "{calls}");
}

/// New keys of one partition share its buckets with those of others.
#[test]
fn two_writers_of_the_same_partition_agree_on_its_buckets() {
    let (io, _) = begun(&[]);
    let others = |fs: &FileIoRef| drop(put(fs, &[(12, 3), (13, 3), (10, 3)]).unwrap());
    let ours = |fs: &FileIoRef| put(fs, &[(10, 3), (11, 3), (3, 3)]);
    before_each_call(&io, ours, others, |call, fs, end| {
        end.unwrap_or_else(|error| panic!("call {call}: {error}"));
        assert_eq!(rows(fs), [(1, 1), (2, 1), (3, 3), (10, 3), (11, 3), (12, 3), (13, 3)], "call {call}");
    });
}

#[test]
fn where_keys_stay_the_first_of_two_writers_says_where() {
    for engine in ["partial-update", "aggregation"] {
        let (io, _) = begun(&[("merge-engine", engine)]);
        let others = |fs: &FileIoRef| drop(put(fs, &[(3, 1), (10, 5), (12, 5)]).unwrap());
        let ours = |fs: &FileIoRef| put(fs, &[(2, 3), (10, 1), (11, 1)]);
        before_each_call(&io, ours, others, |call, fs, end| {
            end.unwrap_or_else(|error| panic!("{engine}, call {call}: {error}"));
            let expected: [(i32, &[i64]); 6] = [(1, &[1]), (2, &[1]), (3, &[3]), (10, &[1, 5]), (11, &[1]), (12, &[5])];
            check_rows(fs, &expected, call);
        });
    }
}

/// Deletes and a dropped partition change where the rows of a key go.
#[test]
fn where_keys_stay_others_may_take_their_partition_away() {
    let (io, _) = begun(&[("merge-engine", "partial-update")]);
    let partition = |v: &str| BTreeMap::from([("v".to_owned(), Some(v.to_owned()))]);
    let others = move |fs: &FileIoRef| drop(table(fs).truncate(Some(&[partition("1")]), false).unwrap());
    let ours = |fs: &FileIoRef| put(fs, &[(2, 3), (3, 1)]);
    before_each_call(&io, ours, others, |call, fs, end| {
        let report = end.unwrap_or_else(|error| panic!("call {call}: {error}"));
        // the row came before its key was taken away, or is one of a new key
        let first = report.snapshots.first().is_some_and(|own| own.id == 2);
        let expected: &[(i32, i64)] = if first { &[(3, 3)] } else { &[(2, 3), (3, 3)] };
        assert_eq!(rows(fs), expected, "call {call}");
    });
}

#[test]
fn the_first_row_of_a_key_is_the_only_one() {
    let (io, _) = begun(&[("merge-engine", "first-row")]);
    let others = |fs: &FileIoRef| drop(put(fs, &[(3, 1), (10, 5), (12, 5)]).unwrap());
    let ours = |fs: &FileIoRef| put(fs, &[(2, 3), (10, 1), (11, 1)]);
    before_each_call(&io, ours, others, |call, fs, end| {
        end.unwrap_or_else(|error| panic!("call {call}: {error}"));
        crate::crash::compact(&open(fs, ROOT), 9_000).unwrap();
        let expected: [(i32, &[i64]); 6] = [(1, &[1]), (2, &[1]), (3, &[3]), (10, &[1, 5]), (11, &[1]), (12, &[5])];
        check_rows(fs, &expected, call);
    });
}

#[test]
fn a_writer_and_an_overwrite_of_all_come_one_after_the_other() {
    let (io, _) = begun(&[]);
    let write = |fs: &FileIoRef| put(fs, &[(1, 3), (4, 1)]);
    let replace = |fs: &FileIoRef| overwrite(fs, None, &[(3, 1), (2, 3), (1, 1)]);
    let check = |call: u64, fs: &FileIoRef, end: Result<CommitReport>| {
        end.unwrap_or_else(|error| panic!("call {call}: {error}"));
        let found = rows(fs);
        let (first, second) = ([(1, 1), (2, 3), (3, 1)], [(1, 3), (2, 3), (3, 1), (4, 1)]);
        assert!(found == first || found == second, "call {call}: {found:?}");
        put(fs, &[(1, 7), (4, 7)]).unwrap();
        let found = rows(fs);
        assert_eq!(found.iter().filter(|row| row.1 == 7).count(), 2, "call {call}: {found:?}");
    };
    assert!(before_each_call(&io, write, move |fs| drop(replace(fs).unwrap()), check) > 30);
    assert!(before_each_call(&io, replace, move |fs| drop(write(fs).unwrap()), check) > 30);
}

/// What a partition is replaced by has no key that lives in another one.
#[test]
fn an_overwrite_of_a_partition_is_refused_where_others_have_put_its_keys_elsewhere() {
    let (io, _) = begun(&[]);
    let others = |fs: &FileIoRef| drop(put(fs, &[(10, 1)]).unwrap());
    let refused = std::cell::Cell::new(0);
    let replace = |fs: &FileIoRef| overwrite(fs, Some("3"), &[(3, 3), (10, 3)]);
    before_each_call(&io, replace, others, |call, fs, end| {
        if let Err(error) = end {
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "call {call}: {error}");
            refused.set(refused.get() + 1);
        }
        // it came first, and the key has moved since
        assert_eq!(rows(fs), [(1, 1), (2, 1), (3, 3), (10, 1)], "call {call}");
    });
    assert!(refused.get() > 5, "{}", refused.get());
}

/// Nobody has the rows of messages any more: they are committed when their keys have no other place, or are a conflict.
#[test]
fn messages_are_committed_or_are_a_conflict() {
    let (io, _) = begun(&[]);
    let refused = std::cell::Cell::new(0);
    let ours = |fs: &FileIoRef| {
        let messages = prepared(fs, &[(2, 3), (10, 1), (11, 1)]);
        table(fs).commit_messages(None, Committable { messages, ..Committable::default() }, None)
    };
    let others = |fs: &FileIoRef| drop(put(fs, &[(12, 3), (10, 5)]).unwrap());
    let calls = before_each_call(&io, ours, others, |call, fs, end| match end {
        Ok(_) => {
            let expected: [(i32, &[i64]); 6] = [(1, &[1]), (2, &[3]), (3, &[3]), (10, &[1, 5]), (11, &[1]), (12, &[3])];
            check_rows(fs, &expected, call);
        }
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::CommitConflict, "call {call}: {error}");
            assert!(error.may_pass_if_written_again(), "call {call}: {error}");
            refused.set(refused.get() + 1);
            assert_eq!(rows(fs), [(1, 1), (2, 1), (3, 3), (10, 5), (12, 3)], "call {call}");
        }
    });
    assert!(calls > 30 && refused.get() > 5, "{calls} calls, {} refused", refused.get());
}

/// Whoever changes other keys is no conflict.
#[test]
fn messages_are_committed_beside_others_whose_keys_are_not_theirs() {
    let (io, _) = begun(&[]);
    let ours = |fs: &FileIoRef| {
        let messages = prepared(fs, &[(2, 3), (10, 1)]);
        table(fs).commit_messages(None, Committable { messages, ..Committable::default() }, None)
    };
    let others = |fs: &FileIoRef| drop(put(fs, &[(1, 5), (3, 1), (12, 3)]).unwrap());
    before_each_call(&io, ours, others, |call, fs, end| {
        end.unwrap_or_else(|error| panic!("call {call}: {error}"));
        assert_eq!(rows(fs), [(1, 5), (2, 3), (3, 1), (10, 1), (12, 3)], "call {call}");
    });
}

#[test]
fn messages_of_two_writers_come_in_one_commit_when_no_key_has_two_places() {
    for (second, agrees) in [([(6, 6), (7, 7)], true), ([(4, 6), (7, 7)], false), ([(5, 5), (6, 5)], false)] {
        let (_, fs) = begun(&[]);
        // both writers begin a bucket of partition 5: key 5 is in it for both, or comes behind 4
        let messages = [prepared(&fs, &[(4, 5), (8, 5), (5, 5)]), prepared(&fs, &second)].concat();
        let report = table(&fs).commit_messages(None, Committable { messages, ..Committable::default() }, None);
        assert_eq!(report.is_ok(), agrees, "{second:?}: {report:?}");
        let verdict = fsck(&open(&fs, ROOT), true, 0).unwrap();
        assert!(verdict.findings.iter().all(|f| f.severity != Severity::Problem), "{:#?}", verdict.findings);
        assert_eq!(rows(&fs).len(), if agrees { 8 } else { 3 });
    }
}

#[test]
fn rows_that_are_not_kept_are_a_conflict() {
    check_rows_that_are_not_kept(&begun(&[]).0);
}

#[test]
fn a_writer_and_a_compaction_do_not_disturb_each_other() {
    for options in [&[][..], &[VECTORS]] {
        let (io, fs) = begun(options);
        put(&fs, &[(1, 3), (4, 1)]).unwrap();
        let compacts = |fs: &FileIoRef| crate::crash::compact(&open(fs, ROOT), 9_000).map(drop);
        let writes = |fs: &FileIoRef| put(fs, &[(2, 3), (1, 1), (5, 3)]).map(drop);
        let check = |call: u64, fs: &FileIoRef, end: Result<()>| {
            end.unwrap_or_else(|error| panic!("call {call}: {error}"));
            crate::crash::compact(&open(fs, ROOT), 9_001).unwrap();
            assert_eq!(rows(fs), [(1, 1), (2, 3), (3, 3), (4, 1), (5, 3)], "{options:?}, call {call}");
        };
        before_each_call(&io, writes, move |fs| compacts(fs).unwrap(), check);
        before_each_call(&io, compacts, move |fs| writes(fs).unwrap(), check);
    }
}

#[test]
fn a_writer_beside_a_rollback_and_an_expiry_finds_its_keys() {
    let (io, fs) = begun(&[("siltstone.upkeep-lock-timeout", "0 s")]);
    put(&fs, &[(4, 4), (1, 3)]).unwrap();
    put(&fs, &[(6, 6)]).unwrap();
    let ours = |fs: &FileIoRef| put(fs, &[(4, 3), (7, 4), (1, 5)]);
    let back = |fs: &FileIoRef| back_to(fs, 1);
    before_each_call(&io, ours, back, |call, fs, end| {
        end.unwrap_or_else(|error| panic!("call {call}: {error}"));
        let found = rows(fs);
        let second = [(1, 5), (2, 1), (3, 3), (4, 3), (7, 4)];
        assert!(found == [(1, 1), (2, 1), (3, 3)] || found == second, "call {call}: {found:?}");
    });
    let expire = |fs: &FileIoRef| {
        put(fs, &[(8, 8), (4, 1)]).unwrap();
        let newest = ExpireArgs { retain_max: Some(1), retain_min: Some(1), ..ExpireArgs::default() };
        table(fs).expire_snapshots(&newest, false).unwrap();
    };
    before_each_call(&io, ours, expire, |call, fs, end| {
        end.unwrap_or_else(|error| panic!("call {call}: {error}"));
        let keys: Vec<i32> = rows(fs).iter().map(|row| row.0).collect();
        assert_eq!(keys, [1, 2, 3, 4, 6, 7, 8], "call {call}");
    });
}

#[test]
fn an_overwrite_of_a_partition_beside_a_rollback_looks_at_the_keys_that_are_there() {
    let (io, fs) = begun(&[("siltstone.upkeep-lock-timeout", "0 s")]);
    put(&fs, &[(4, 3), (2, 3)]).unwrap();
    let refused = std::cell::Cell::new(0);
    let replace = |fs: &FileIoRef| overwrite(fs, Some("1"), &[(2, 1), (5, 1)]);
    before_each_call(
        &io,
        replace,
        |fs| back_to(fs, 1),
        |call, fs, end| match end {
            Ok(report) if report.snapshots.first().is_some_and(|own| own.id == 2) => {
                assert_eq!(rows(fs), [(2, 1), (3, 3), (5, 1)], "call {call}");
            }
            Ok(_) => panic!("call {call}: key 2 was in partition 3"),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::InvalidArgument, "call {call}: {error}");
                refused.set(refused.get() + 1);
                assert_eq!(rows(fs), [(1, 1), (2, 1), (3, 3)], "call {call}");
            }
        },
    );
    assert!(refused.get() > 5, "{}", refused.get());
}

#[test]
fn a_statement_that_moves_rows_does_not_write_over_what_others_commit_meanwhile() {
    let (io, _) = begun(&[]);
    let set = BTreeMap::from([("v".to_owned(), "v + 1".to_owned())]);
    let change = ModifyArgs { filter: Some(Condition::Sql("k = 1".to_owned())), set, threads: Some(1) };
    let update = |fs: &FileIoRef| table(fs).modify(&change);
    let others = |fs: &FileIoRef| drop(put(fs, &[(1, 50)]).unwrap());
    before_each_call(&io, update, others, |call, fs, end| {
        let report = end.unwrap_or_else(|error| panic!("call {call}: {error}"));
        let first = report.snapshots.first().is_some_and(|own| own.id == 2);
        let expected = if first { 50 } else { 51 };
        assert_eq!(rows(fs), [(1, expected), (2, 1), (3, 3)], "call {call}");
    });
}

/// The rows came back, in whichever partition the writer chose: it had looked for their keys when they were gone, and nobody had changed
/// anything in that partition.
#[test]
fn an_update_does_not_bring_back_rows_of_a_partition_that_others_have_taken_away() {
    let column = r#"[{"kind": "add_column", "column": "w", "type": "INT"}]"#;
    for engine in ["partial-update", "deduplicate"] {
        for (column_set, whole) in [("w", true), ("w", false), ("v", true), ("v", false)] {
            if column_set == "v" && engine != "deduplicate" {
                continue;
            }
            let (io, fs) = begun(&[("merge-engine", engine)]);
            table(&fs).alter(column).unwrap();
            let set = BTreeMap::from([(column_set.to_owned(), "3".to_owned())]);
            let change = ModifyArgs { filter: Some(Condition::Sql("k = 2".to_owned())), set, threads: Some(1) };
            let gone = move |fs: &FileIoRef| {
                let partition = [BTreeMap::from([("v".to_owned(), Some("1".to_owned()))])];
                drop(table(fs).truncate((!whole).then_some(&partition[..]), false).unwrap());
            };
            let calls = before_each_call(
                &io,
                |fs| table(fs).modify(&change),
                gone,
                |call, fs, end| {
                    let left: &[(i32, i64)] = if whole { &[] } else { &[(3, 3)] };
                    let found = rows(fs);
                    let name = format!("{engine} {column_set}, whole {whole}, call {call}: {found:?}");
                    match end {
                        // moved before its partition went
                        Ok(_) if column_set == "v" && !whole && found.len() == 2 => {
                            assert_eq!(found, [(2, 3), (3, 3)], "{name}");
                        }
                        Ok(_) => assert_eq!(found, left, "{name}"),
                        Err(error) => {
                            assert_eq!((error.kind(), &found[..]), (ErrorKind::CommitConflict, left), "{name}");
                        }
                    }
                },
            );
            assert!(calls > 20, "{calls}");
        }
    }
}
