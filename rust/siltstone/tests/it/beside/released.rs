//! What a tag kept of an expired version, while the tag goes: it was committed, and whoever commits it once more is told so.

use siltstone::{
    fs::FailWhen,
    maintenance::branch::{BranchSource, create_branch},
    snapshot::{ReleasedVersions, UpkeepLock},
    table::TagArgs,
};

use super::*;

/// Rows 2 were committed by these messages, and taken out; only the tag `kept` has them.
fn only_the_tag_has_them() -> (FaultFileIo, FileIoRef, Vec<CommitMessage>) {
    let (io, fs) = new_table(&[], &[("bucket", "-1"), ("siltstone.upkeep-lock-timeout", "0 s")]);
    put(&fs, &[(1, 1)]).unwrap();
    let messages = prepared(&fs, &[(2, 2)]);
    again(&fs, &messages).unwrap();
    table(&fs).create_tag("kept", &TagArgs::default()).unwrap();
    table(&fs).truncate(None, false).unwrap();
    put(&fs, &[(4, 4)]).unwrap();
    expire_to_one(&fs);
    (io, fs, messages)
}

fn newest_only() -> ExpireArgs {
    ExpireArgs { retain_max: Some(1), retain_min: Some(1), ..ExpireArgs::default() }
}

fn expire_to_one(fs: &FileIoRef) {
    table(fs).expire_snapshots(&newest_only(), false).unwrap();
}

fn again(fs: &FileIoRef, messages: &[CommitMessage]) -> Result<CommitReport> {
    let committable = Committable { messages: messages.to_vec(), ..Committable::default() };
    table(fs).commit_messages(None, committable, None)
}

fn is_refused(fs: &FileIoRef, messages: &[CommitMessage]) {
    let error = again(fs, messages).expect_err("they were committed before");
    assert_eq!(error.kind(), ErrorKind::CommitConflict, "{error}");
}

type Upkeep = fn(&Table) -> Result<()>;

/// What lets the version of the tag go.
const LETS_GO: [Upkeep; 3] = [
    |t| t.delete_tag("kept", false).map(drop),
    |t| t.replace_tag("kept", &TagArgs::default()).map(drop),
    |t| t.expire_tags(Some(4_000_000_000_000), false).map(drop),
];

fn data_files(io: &FaultFileIo) -> usize {
    io.paths().iter().filter(|path| path.contains("/data-")).count()
}

fn records(fs: &FileIoRef) -> usize {
    ReleasedVersions::new(Arc::clone(fs), ROOT).list().unwrap().len()
}

/// Between the deletion of a tag and that of its files they looked like files that nobody had committed: acknowledged, and deleted
/// a moment later.
#[test]
fn messages_are_not_committed_again_while_the_tag_that_keeps_their_files_goes() {
    for lets_go in LETS_GO {
        let (io, _, messages) = only_the_tag_has_them();
        let others = messages.clone();
        let calls = before_each_call(
            &io,
            |fs| lets_go(&table(fs)),
            move |fs| is_refused(fs, &others),
            |call, fs, end| {
                end.unwrap_or_else(|error| panic!("call {call}: {error}"));
                assert_eq!(rows(fs), [(4, 4)], "call {call}");
                assert_eq!(records(fs), 0, "call {call}");
            },
        );
        assert!(calls > 10, "{calls}");
        let calls = before_each_call(
            &io,
            |fs| again(fs, &messages),
            move |fs| lets_go(&table(fs)).unwrap(),
            |call, fs, end| {
                let error = end.expect_err("they were committed before");
                assert_eq!(error.kind(), ErrorKind::CommitConflict, "call {call}: {error}");
                assert_eq!(rows(fs), [(4, 4)], "call {call}");
            },
        );
        assert!(calls > 5, "{calls}");
    }
}

/// A deletion that died left files that nothing said anything of.
#[test]
fn what_a_killed_deletion_of_a_tag_has_left_counts_as_committed_and_goes_with_the_next_upkeep() {
    let next: [Upkeep; 3] = [
        |t| t.expire_snapshots(&newest_only(), false).map(drop),
        |t| t.remove_orphan_files(Some(0), false).map(drop),
        |t| {
            t.create_tag("new", &TagArgs::default())?;
            t.delete_tag("new", false).map(drop)
        },
    ];
    for (lets_go, next) in LETS_GO.into_iter().flat_map(|first| next.map(|next| (first, next))) {
        let (base, _, messages) = only_the_tag_has_them();
        for n in 0.. {
            let io = base.fork();
            let fs: FileIoRef = Arc::new(io.clone());
            let opened = table(&fs);
            io.fail_after(n, FailWhen::Before);
            let killed = lets_go(&opened);
            io.heal();
            if killed.is_ok() {
                assert!(n > 10, "{n}");
                break;
            }
            is_refused(&fs, &messages);
            let is_gone = table(&fs).tag("kept").is_err();
            next(&opened).unwrap_or_else(|error| panic!("{n}: {error}"));
            assert_eq!(records(&fs), 0, "{n}");
            is_refused(&fs, &messages);
            // replaced or deleted: nothing but the rows of the newest version is left
            if is_gone {
                assert_eq!(data_files(&io), 1, "{n}: {:?}", io.paths());
            }
            assert_eq!(rows(&fs), [(4, 4)], "{n}");
        }
    }
}

/// Its search saw neither the branch, which went, nor what main had got of it meanwhile.
#[test]
fn an_abort_beside_a_fast_forward_and_the_deletion_of_its_branch_leaves_the_files_of_versions() {
    let (io, fs) = new_table(&[], &[("bucket", "-1"), ("siltstone.upkeep-lock-timeout", "0 s")]);
    put(&fs, &[(1, 1)]).unwrap();
    let messages = prepared(&fs, &[(2, 2)]);
    again(&fs, &messages).unwrap();
    create_branch(&open(&fs, ROOT), "b", &BranchSource::Snapshot(None)).unwrap();
    Table::open_with(Arc::clone(&fs), ROOT, "b", None, BTreeMap::new()).unwrap().truncate(None, false).unwrap();
    table(&fs).truncate(None, false).unwrap();
    expire_to_one(&fs);
    // from here on the second version of main has the rows again
    let forward = |fs: &FileIoRef| match table(fs).fast_forward("b", false) {
        Ok(_) => drop(table(fs).delete_branch("b", false).unwrap()),
        Err(error) => assert_eq!(error.kind(), ErrorKind::UpkeepRunning, "{error}"),
    };
    let abort = |fs: &FileIoRef| table(fs).committer(None).abort(&messages);
    let files = data_files(&io);
    let mut forwarded = 0;
    let seen = std::cell::RefCell::new(&mut forwarded);
    let calls = before_each_call(&io, abort, forward, |call, fs, end| {
        end.unwrap_or_else(|error| panic!("call {call}: {error}"));
        if let Err(gone) = table(fs).fast_forward("b", true) {
            assert_eq!(gone.kind(), ErrorKind::BranchNotFound, "{gone}");
            **seen.borrow_mut() += 1;
        }
    });
    assert!(calls > 5 && forwarded > 0, "{calls}, {forwarded}");
    assert_eq!(data_files(&io), files);
}

/// Nobody can tell which files stay while versions go: they stay.
#[test]
fn an_abort_beside_upkeep_deletes_nothing_and_says_so() {
    let (io, fs) = new_table(&[], &[("bucket", "-1"), ("siltstone.upkeep-lock-timeout", "0 s")]);
    put(&fs, &[(1, 1)]).unwrap();
    let messages = prepared(&fs, &[(2, 2)]);
    let held = UpkeepLock::try_take(&fs, ROOT).unwrap().expect("nobody has it");
    let commit = table(&fs).committer(None);
    assert_eq!(commit.abort(&messages).unwrap_err().kind(), ErrorKind::UpkeepRunning);
    assert_eq!(data_files(&io), 2);
    drop(held);
    commit.abort(&messages).unwrap();
    assert_eq!(data_files(&io), 1);
}
