//! Tables with dynamic buckets: whatever comes before whichever call of a writer, no key is in two buckets, no reported row is
//! lost, and each index says where its keys are (`fsck` reads them all after each run).

use super::*;

/// Few keys in a bucket: writers disagree soon.
const SMALL: (&str, &str) = ("dynamic-bucket.target-row-num", "2");

fn begun(options: &[(&str, &str)]) -> (FaultFileIo, FileIoRef) {
    let options: Vec<_> = [SMALL].into_iter().chain(options.iter().copied()).collect();
    let (io, fs) = new_table(&["k"], &options);
    put(&fs, &[(1, 1), (2, 2), (3, 3)]).unwrap();
    (io, fs)
}

fn overwrite(fs: &FileIoRef, rows: &[(i32, i64)]) -> Result<CommitReport> {
    table(fs).overwrite([Ok(batch(rows))].into_iter(), &OverwriteTarget::Static(BTreeMap::new()))
}

/// Each key once, with one of the values that were written last.
fn check_rows(fs: &FileIoRef, expected: &[(i32, &[i64])], call: u64) {
    let found = rows(fs);
    let keys: Vec<i32> = found.iter().map(|row| row.0).collect();
    assert_eq!(keys, expected.iter().map(|row| row.0).collect::<Vec<_>>(), "call {call}: {found:?}");
    for ((k, v), (_, may_be)) in found.iter().zip(expected) {
        assert!(may_be.contains(v), "call {call}: key {k} is {v}");
    }
}

#[test]
fn two_writers_of_the_same_new_keys_agree_on_their_buckets() {
    let (io, _) = begun(&[]);
    let others = |fs: &FileIoRef| drop(put(fs, &[(3, 30), (12, 2), (13, 2), (10, 2)]).unwrap());
    let ours = |fs: &FileIoRef| put(fs, &[(2, 20), (10, 1), (11, 1)]);
    let calls = before_each_call(&io, ours, others, |call, fs, end| {
        end.unwrap_or_else(|error| panic!("call {call}: {error}"));
        let expected: [(i32, &[i64]); 7] =
            [(1, &[1]), (2, &[20]), (3, &[30]), (10, &[1, 2]), (11, &[1]), (12, &[2]), (13, &[2])];
        check_rows(fs, &expected, call);
    });
    assert!(calls > 30, "{calls}");
}

/// The update had found the row in one bucket, and wrote it into another one, where nobody had changed anything: the key was no more
/// in the index.
#[test]
fn an_update_does_not_bring_back_rows_that_an_overwrite_has_taken_away() {
    for options in [&[][..], &[("changelog-producer", "lookup")]] {
        let (io, _) = begun(options);
        let set = BTreeMap::from([("v".to_owned(), "0".to_owned())]);
        let change = ModifyArgs { filter: Some(Condition::Sql("k = 2".to_owned())), set, threads: Some(1) };
        let calls = before_each_call(
            &io,
            |fs| table(fs).modify(&change),
            |fs| drop(overwrite(fs, &[(7, 7)]).unwrap()),
            |call, fs, end| {
                end.unwrap_or_else(|error| panic!("call {call}: {error}"));
                assert_eq!(rows(fs), [(7, 7)], "call {call}");
            },
        );
        assert!(calls > 30, "{calls}");
    }
}

/// Its rows were assigned by the index that the overwrite has replaced.
#[test]
fn a_writer_beside_an_overwrite_puts_keys_where_they_are_now() {
    let (io, _) = begun(&[]);
    // in another order: the keys change their buckets
    let others = |fs: &FileIoRef| drop(overwrite(fs, &[(3, 30), (2, 30), (1, 30)]).unwrap());
    let calls = before_each_call(
        &io,
        |fs| put(fs, &[(1, 10), (4, 10)]),
        others,
        |call, fs, end| {
            end.unwrap_or_else(|error| panic!("call {call}: {error}"));
            let found = rows(fs);
            // the writer is the first of the two, or the second
            let first = [(1, 30), (2, 30), (3, 30)];
            let second = [(1, 10), (2, 30), (3, 30), (4, 10)];
            assert!(found == first || found == second, "call {call}: {found:?}");
        },
    );
    assert!(calls > 30, "{calls}");
}

#[test]
fn an_overwrite_beside_a_writer_replaces_its_index_too() {
    let (io, _) = begun(&[]);
    let others = |fs: &FileIoRef| drop(put(fs, &[(1, 10), (4, 10), (5, 10)]).unwrap());
    let calls = before_each_call(
        &io,
        |fs| overwrite(fs, &[(5, 50), (3, 50), (1, 50)]),
        others,
        |call, fs, end| {
            end.unwrap_or_else(|error| panic!("call {call}: {error}"));
            let found = rows(fs);
            let second = [(1, 50), (3, 50), (5, 50)];
            let first = [(1, 10), (3, 50), (4, 10), (5, 10)];
            assert!(found == first || found == second, "call {call}: {found:?}");
            put(fs, &[(1, 60), (4, 60)]).unwrap();
            let found = rows(fs);
            assert_eq!(found.iter().filter(|row| row.1 == 60).count(), 2, "call {call}: {found:?}");
        },
    );
    assert!(calls > 30, "{calls}");
}

/// Nobody has the rows of messages any more: they are committed when their keys have no other bucket, or are a conflict.
#[test]
fn messages_are_committed_or_are_a_conflict() {
    let (io, _) = begun(&[]);
    let mut refused = 0;
    let counted = std::cell::RefCell::new(&mut refused);
    let ours = |fs: &FileIoRef| {
        let messages = prepared(fs, &[(2, 20), (10, 1), (11, 1)]);
        table(fs).commit_messages(None, Committable { messages, ..Committable::default() }, None)
    };
    let others = |fs: &FileIoRef| drop(put(fs, &[(12, 2), (13, 2), (10, 2)]).unwrap());
    let calls = before_each_call(&io, ours, others, |call, fs, end| match end {
        Ok(_) => {
            check_rows(
                fs,
                &[(1, &[1]), (2, &[20]), (3, &[3]), (10, &[1, 2]), (11, &[1]), (12, &[2]), (13, &[2])],
                call,
            );
        }
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::CommitConflict, "call {call}: {error}");
            assert!(error.may_pass_if_written_again(), "call {call}: {error}");
            **counted.borrow_mut() += 1;
            check_rows(fs, &[(1, &[1]), (2, &[2]), (3, &[3]), (10, &[2]), (12, &[2]), (13, &[2])], call);
        }
    });
    assert!(calls > 30 && refused > 5, "{calls} calls, {refused} refused");
}

/// New keys of two writers that fall into one bucket are in one index file.
#[test]
fn messages_whose_keys_have_no_other_bucket_are_committed_beside_others() {
    let (io, fs) = new_table(&["k"], &[]);
    put(&fs, &[(1, 1)]).unwrap();
    let ours = |fs: &FileIoRef| {
        let messages = prepared(fs, &[(1, 10), (2, 10)]);
        table(fs).commit_messages(None, Committable { messages, ..Committable::default() }, None)
    };
    let others = |fs: &FileIoRef| drop(put(fs, &[(2, 20), (3, 20)]).unwrap());
    before_each_call(&io, ours, others, |call, fs, end| {
        end.unwrap_or_else(|error| panic!("call {call}: {error}"));
        check_rows(fs, &[(1, &[10]), (2, &[10, 20]), (3, &[20])], call);
    });
}

#[test]
fn messages_of_two_writers_come_in_one_commit_when_no_key_is_in_two_buckets() {
    // both writers fill bucket 1, where key 3 is, and begin bucket 2
    for (second, agrees) in [([(6, 6), (7, 7)], true), ([(5, 5), (6, 6)], false)] {
        let (_, fs) = begun(&[]);
        let messages = [prepared(&fs, &[(4, 4), (5, 5)]), prepared(&fs, &second)].concat();
        let report = table(&fs).commit_messages(None, Committable { messages, ..Committable::default() }, None);
        assert_eq!(report.is_ok(), agrees, "{report:?}");
        let verdict = fsck(&open(&fs, ROOT), true, 0).unwrap();
        assert!(verdict.findings.iter().all(|f| f.severity != Severity::Problem), "{:#?}", verdict.findings);
        assert_eq!(rows(&fs).len(), if agrees { 7 } else { 3 });
    }
}

#[test]
fn rows_that_are_not_kept_are_a_conflict() {
    check_rows_that_are_not_kept(&begun(&[]).0);
}

#[test]
fn a_writer_beside_a_rollback_and_an_expiry_finds_its_index() {
    let (io, fs) = begun(&[("siltstone.upkeep-lock-timeout", "0 s")]);
    put(&fs, &[(4, 4), (5, 5)]).unwrap();
    put(&fs, &[(6, 6)]).unwrap();
    let ours = |fs: &FileIoRef| put(fs, &[(4, 40), (7, 40)]);
    let back = |fs: &FileIoRef| back_to(fs, 1);
    before_each_call(&io, ours, back, |call, fs, end| {
        end.unwrap_or_else(|error| panic!("call {call}: {error}"));
        let found = rows(fs);
        assert!(found.len() == 3 || found == [(1, 1), (2, 2), (3, 3), (4, 40), (7, 40)], "call {call}: {found:?}");
    });
    let expire = |fs: &FileIoRef| {
        put(fs, &[(8, 8), (4, 8)]).unwrap();
        let newest = ExpireArgs { retain_max: Some(1), retain_min: Some(1), ..ExpireArgs::default() };
        table(fs).expire_snapshots(&newest, false).unwrap();
    };
    before_each_call(&io, ours, expire, |call, fs, end| {
        end.unwrap_or_else(|error| panic!("call {call}: {error}"));
        let keys: Vec<i32> = rows(fs).iter().map(|row| row.0).collect();
        assert_eq!(keys, [1, 2, 3, 4, 5, 6, 7, 8], "call {call}");
    });
}

/// Files of index that a try had written, and those of messages that another took the place of, are not left.
#[test]
fn index_files_that_no_version_has_are_deleted() {
    let (io, _) = begun(&[]);
    let others = |fs: &FileIoRef| drop(put(fs, &[(12, 2), (13, 2), (10, 2)]).unwrap());
    before_each_call(
        &io,
        |fs| put(fs, &[(2, 20), (10, 1), (11, 1)]),
        others,
        |call, fs, end| {
            end.unwrap();
            let verdict = fsck(&open(fs, ROOT), false, 4_102_444_800_000).unwrap();
            let strays: Vec<_> = verdict.findings.iter().filter(|f| f.place.contains("/index/")).collect();
            assert!(strays.is_empty(), "call {call}: {strays:#?}");
        },
    );
}
