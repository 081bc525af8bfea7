//! Two rescales of a whole table, and writers that were opened before one.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use siltstone::{
    fs::FailWhen,
    maintenance::automatic::Committer,
    scan::{EntryFilter, live_entries},
    table::RescaleArgs,
};

use super::*;

fn to(fs: &FileIoRef, buckets: i32) -> Result<CommitReport> {
    table(fs).rescale(&RescaleArgs { buckets: Some(buckets), ..RescaleArgs::default() })
}

/// Both reported success, the option said one number and the files another, and nobody could write a row.
#[test]
fn of_two_rescales_the_option_and_the_files_say_the_same_number() {
    let (io, fs) = new_table(&["k"], &[BUCKET, ("write-only", "true")]);
    put(&fs, &[(1, 1), (2, 2)]).unwrap();
    let calls = before_each_call(
        &io,
        |fs| to(fs, 3),
        |fs| drop(to(fs, 4).unwrap()),
        |call, fs, end| {
            let ctx = open(fs, ROOT);
            let newest = SnapshotManager::new(Arc::clone(fs), ROOT).latest().unwrap().unwrap();
            for entry in live_entries(&ctx, &newest, &EntryFilter::default()).unwrap() {
                assert_eq!(entry.total_buckets, ctx.options.bucket, "before call {call}");
            }
            match end {
                Ok(_) => assert_eq!(ctx.options.bucket, 3, "before call {call}"),
                Err(error) => {
                    assert_eq!(
                        (error.kind(), ctx.options.bucket),
                        (ErrorKind::CommitConflict, 4),
                        "before call {call}: {error}"
                    );
                }
            }
            put(fs, &[(3, 3)]).unwrap();
            assert_eq!(rows(fs), [(1, 1), (2, 2), (3, 3)], "before call {call}");
        },
    );
    assert!(calls > 20, "{calls}");
}

/// The table had no rows to be rescaled; the first ones came with the old number, and every other writer was refused.
#[test]
fn a_first_commit_has_the_number_of_a_rescale_beside_it_or_is_none() {
    first_rows_beside_a_rescale(|_| {});
}

/// The same where it had versions, but no rows any more.
#[test]
fn so_have_the_first_rows_after_all_were_deleted() {
    first_rows_beside_a_rescale(|fs| {
        put(fs, &[(1, 1), (2, 2)]).unwrap();
        table(fs).truncate(None, false).unwrap();
    });
}

fn first_rows_beside_a_rescale(before: impl Fn(&FileIoRef)) {
    let (io, fs) = new_table(&["k"], &[BUCKET, ("write-only", "true")]);
    before(&fs);
    let refused = std::cell::Cell::new(0);
    let calls = before_each_call(
        &io,
        |fs| put(fs, &[(1, 1)]),
        |fs| drop(to(fs, 3).unwrap()),
        |call, fs, end| {
            if let Err(error) = &end {
                assert_eq!(error.kind(), ErrorKind::CommitConflict, "before call {call}: {error}");
                refused.set(refused.get() + 1);
            }
            put(fs, &[(3, 3)]).unwrap_or_else(|error| panic!("before call {call}, {end:?}: {error}"));
            let wanted = if end.is_ok() { vec![(1, 1), (3, 3)] } else { vec![(3, 3)] };
            assert_eq!(rows(fs), wanted, "before call {call}");
        },
    );
    assert!(calls > 20 && refused.get() > 5, "{calls}, {}", refused.get());
}

/// The partition got the old number, and every other writer was refused there.
#[test]
fn a_writer_that_was_opened_before_gives_no_new_partition_the_old_number() {
    let io = FaultFileIo::new();
    let fs: FileIoRef = Arc::new(io.clone());
    create_partitioned(&fs, ROOT, (&["k", "v"], &["v"]), &[BUCKET, ("write-only", "true")]);
    put(&fs, &[(1, 1)]).unwrap();
    let refused = std::cell::Cell::new(0);
    let ours = |fs: &FileIoRef| {
        let mut writer = table(fs).writer(None, WriteOptions { threads: Some(1), ..WriteOptions::default() })?;
        let written = writer.write(&batch(&[(2, 2)]), None).and_then(|()| writer.commit(Committable::default()));
        writer.close();
        written
    };
    let others = |fs: &FileIoRef| drop(to(fs, 3).unwrap());
    let check = |call: u64, fs: &FileIoRef, end: Result<CommitReport>| {
        let ctx = open(fs, ROOT);
        let newest = SnapshotManager::new(Arc::clone(fs), ROOT).latest().unwrap().unwrap();
        let live = live_entries(&ctx, &newest, &EntryFilter::default()).unwrap();
        assert!(live.iter().all(|entry| entry.total_buckets == ctx.options.bucket), "before call {call}");
        match end {
            Ok(_) => {}
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::CommitConflict, "before call {call}: {error}");
                assert!(error.message().contains("the option 'bucket' was changed"), "before call {call}: {error}");
                refused.set(refused.get() + 1);
            }
        }
        put(fs, &[(2, 2), (3, 3)]).unwrap();
        assert_eq!(rows(fs), [(1, 1), (2, 2), (3, 3)], "before call {call}");
    };
    before_each_call(&io, ours, others, check);
    assert!(refused.get() > 10, "{}", refused.get());
    // and a writer that begins before any call of a rescale
    let ours = |fs: &FileIoRef| to(fs, 3);
    let others = |fs: &FileIoRef| drop(put(fs, &[(2, 2)]).unwrap());
    before_each_call(&io, ours, others, |call, fs, end| {
        end.unwrap_or_else(|error| panic!("before call {call}: {error}"));
        check(call, fs, Ok(CommitReport::default()));
    });
}

/// The old number is what such a partition had before it was dropped, and rows are what the newest additions say.
#[test]
fn nor_one_that_was_dropped_and_none_while_the_table_is_empty() {
    let partition = |v: &str| BTreeMap::from([("v".to_owned(), Some(v.to_owned()))]);
    for before in [&[][..], &[(1, 1)], &[(1, 1), (2, 2)]] {
        let fs: FileIoRef = Arc::new(FaultFileIo::new());
        create_partitioned(&fs, ROOT, (&["k", "v"], &["v"]), &[BUCKET, ("write-only", "true")]);
        if !before.is_empty() {
            put(&fs, before).unwrap();
        }
        let opened = table(&fs);
        table(&fs).truncate(Some(&[partition("2")]), false).unwrap();
        to(&fs, 3).unwrap();
        let mut writer = opened.writer(None, WriteOptions::default()).unwrap();
        writer.write(&batch(&[(2, 2)]), None).unwrap();
        let error = writer.commit(Committable::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::CommitConflict, "{before:?}: {error}");
        let replaced = opened.overwrite([Ok(batch(&[(2, 2)]))].into_iter(), &OverwriteTarget::Dynamic);
        assert_eq!(replaced.unwrap_err().kind(), ErrorKind::CommitConflict, "{before:?}");
        // who asks for a number gets it
        let asked = BTreeMap::from([("bucket".to_owned(), "2".to_owned())]);
        let asked = Table::open_with(Arc::clone(&fs), ROOT, "main", None, asked).unwrap();
        asked.overwrite([Ok(batch(&[(2, 2)]))].into_iter(), &OverwriteTarget::Dynamic).unwrap();
    }
}

/// No row could be written then, and the error spoke of a file.
#[test]
fn a_rescale_that_fails_says_that_the_option_has_changed() {
    let (base, fs) = new_table(&["k"], &[BUCKET, ("write-only", "true"), ("commit.max-retries", "1")]);
    put(&fs, &[(1, 1), (2, 2)]).unwrap();
    let mut changed = 0;
    for n in 0..10_000 {
        let io = base.fork();
        let fs: FileIoRef = Arc::new(io.clone());
        let mut opened = table(&fs);
        io.fail_after(n, FailWhen::Before);
        let end = opened.rescale(&RescaleArgs { buckets: Some(3), ..RescaleArgs::default() });
        io.heal();
        let buckets = open(&fs, ROOT).options.bucket;
        let Err(error) = end else {
            assert!(changed > 10, "{changed}");
            return;
        };
        if error.message().contains("schema 1") {
            // that it is there, or that nobody knows
            continue;
        }
        assert_eq!(error.message().contains("has its new value 3"), buckets == 3, "after {n} calls: {error:?}");
        if buckets == 3 {
            changed += 1;
            assert!(error.hint_text().unwrap().contains("run t.rescale(3) again"), "after {n} calls: {error:?}");
        }
    }
}

/// A rescale before the link of a first version, and another commit before a call after it.
#[derive(Debug)]
struct BehindLink {
    io: FaultFileIo,
    id: i64,
    at: u64,
    linked: AtomicBool,
    calls: AtomicU64,
}

impl BeforeCall for BehindLink {
    fn before(&self, what: &str, path: &str) -> Result<()> {
        let fs: FileIoRef = Arc::new(self.io.clone());
        if self.linked.load(Ordering::SeqCst) {
            if self.calls.fetch_add(1, Ordering::SeqCst) == self.at {
                let empty = Committable { allow_empty: true, ..Committable::default() };
                // where the first one has the lock, it does not come about
                drop(Committer::with_new_user(&open(&fs, ROOT)).commit(empty));
            }
        } else if what == "publish: link" && path.ends_with(&format!("/snapshot/snapshot-{}", self.id)) {
            self.linked.store(true, Ordering::SeqCst);
            to(&fs, 3)?;
        }
        Ok(())
    }
}

/// The rescale and both commits were acknowledged, and nobody could write another row: the version behind was taken for one that has seen
/// the rows and rescaled them.
#[test]
fn first_rows_that_another_version_lies_behind_have_the_number_of_a_rescale_or_their_writer_is_told() {
    let quick =
        [("siltstone.upkeep-lock-timeout", "0 ms"), ("commit.max-retry-wait", "1 ms"), ("commit.max-retries", "3")];
    let (base, fs) = new_table(&["k"], &[&[BUCKET, ("write-only", "true")][..], &quick].concat());
    put(&fs, &[(1, 1), (2, 2)]).unwrap();
    table(&fs).truncate(None, false).unwrap();
    let (mut told, mut refused) = (0, 0);
    for at in 0.. {
        let io = base.fork();
        let fs: FileIoRef = Arc::new(io.clone());
        let (linked, calls) = (AtomicBool::new(false), AtomicU64::new(0));
        let gate = Arc::new(BehindLink { io: io.clone(), id: newest(&fs) + 1, at, linked, calls });
        let behind: FileIoRef = Arc::new(io.behind(Arc::clone(&gate) as Arc<dyn BeforeCall>));
        let end = put(&behind, &[(1, 1)]);
        if gate.calls.load(Ordering::SeqCst) <= at {
            break;
        }
        let has = rows(&fs).contains(&(1, 1));
        match &end {
            Ok(_) => assert!(has, "call {at}"),
            Err(error) if error.kind() == ErrorKind::CommitConflict => {
                assert!(!has, "call {at}: {error}");
                refused += 1;
            }
            Err(error) => {
                assert!(has && error.hint_text().unwrap().contains("t.rescale()"), "call {at}: {error:?}");
                told += 1;
                to(&fs, 3).unwrap_or_else(|e| panic!("call {at}: {e}"));
            }
        }
        put(&fs, &[(3, 3)]).unwrap_or_else(|error| panic!("call {at}, {end:?}: {error}"));
        assert_eq!(rows(&fs), if has { vec![(1, 1), (3, 3)] } else { vec![(3, 3)] }, "call {at}");
        let verdict = fsck(&open(&fs, ROOT), true, 0).unwrap();
        assert!(!verdict.findings.iter().any(|f| f.severity == Severity::Problem), "call {at}: {verdict:#?}");
    }
    assert!(told > 1 && refused > 1, "{told}, {refused}");
}
