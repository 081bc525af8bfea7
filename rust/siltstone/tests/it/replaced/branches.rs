//! Branches that are replaced, and fast-forwards, while a commit is at work.

use super::*;

fn make_branch(io: &FaultFileIo, name: &str) {
    thread::sleep(Duration::from_millis(2));
    create_branch(main_of(io).context(), name, &BranchSource::Snapshot(None)).unwrap();
    // a branch has copies of the schemas of main: one of its own tells it from the branch before
    change(io, name, "my.option", name);
}

fn change(io: &FaultFileIo, branch: &str, key: &str, value: &str) {
    thread::sleep(Duration::from_millis(2));
    let root = branch_root(HOME, branch);
    let change = SchemaChange::SetOption { key: key.to_owned(), value: value.to_owned() };
    SchemaManager::new(Arc::new(io.clone()), &root).commit_changes(&[change]).unwrap();
}

const BRANCHES: [Deed; 4] = [
    Deed {
        name: "rename the branch",
        run: |io, _| rename_branch(main_of(io).context(), "b", "c").unwrap(),
        may_end: false,
    },
    Deed {
        name: "drop the branch",
        run: |io, _| drop(delete_branch(main_of(io).context(), "b", false).unwrap()),
        may_end: true,
    },
    Deed {
        name: "drop the branch, make it again and commit",
        run: |io, _| {
            delete_branch(main_of(io).context(), "b", false).unwrap();
            make_branch(io, "b");
            put(&opened(io, HOME, "b"), THEIRS).unwrap();
        },
        may_end: true,
    },
    Deed {
        name: "rename the branch, make another and commit",
        run: |io, _| {
            rename_branch(main_of(io).context(), "b", "c").unwrap();
            make_branch(io, "b");
            put(&opened(io, HOME, "b"), THEIRS).unwrap();
        },
        may_end: false,
    },
];

#[test]
fn a_commit_is_in_its_branch_or_nowhere_though_the_branch_is_replaced_at_any_call() {
    for kind in [APPEND, KEYED] {
        let base = made(kind, 2);
        make_branch(&base, "b");
        put(&opened(&base, HOME, "b"), (10, 0)).unwrap();
        for deed in BRANCHES {
            let ends = at_each_call(&base, kind, "b", deed);
            assert!(ends.acknowledged > 0 && ends.given_up > 15, "{}, {kind:?}: {ends:?}", deed.name);
        }
    }
}

/// A branch has copies of the schemas of main: the one that is made in its place has the same ones.
const ALIKE: [Deed; 2] = [
    Deed {
        name: "drop the branch, make one like it and commit",
        run: |io, _| {
            delete_branch(main_of(io).context(), "b", false).unwrap();
            make_like_main(io, "b");
            put(&opened(io, HOME, "b"), THEIRS).unwrap();
        },
        may_end: true,
    },
    Deed {
        name: "rename the branch, make one like it and commit",
        run: |io, _| {
            rename_branch(main_of(io).context(), "b", "c").unwrap();
            make_like_main(io, "b");
            put(&opened(io, HOME, "b"), THEIRS).unwrap();
        },
        may_end: false,
    },
];

fn make_like_main(io: &FaultFileIo, name: &str) {
    create_branch(main_of(io).context(), name, &BranchSource::Snapshot(None)).unwrap();
}

#[test]
fn a_commit_does_not_get_into_a_branch_like_its_own_that_was_made_in_its_place() {
    for kind in [APPEND, KEYED] {
        let base = made(kind, 2);
        make_like_main(&base, "b");
        put(&opened(&base, HOME, "b"), (10, 0)).unwrap();
        for deed in ALIKE {
            let ends = at_each_call(&base, kind, "b", deed);
            assert!(ends.acknowledged > 0 && ends.given_up > 15, "{}, {kind:?}: {ends:?}", deed.name);
        }
    }
}

const FORWARD: Deed = Deed {
    name: "fast-forward",
    run: |io, _| drop(fast_forward(main_of(io).context(), "b", false).unwrap()),
    may_end: true,
};

#[test]
fn a_commit_never_names_a_schema_that_a_fast_forward_takes_away_at_any_call() {
    for kind in [APPEND, KEYED] {
        for (goes_on, alters) in [(false, false), (false, true), (true, false), (true, true)] {
            let base = made(kind, 2);
            create_branch(main_of(&base).context(), "b", &BranchSource::Snapshot(None)).unwrap();
            if alters {
                change(&base, "b", "my.option", "of the branch");
            }
            if goes_on {
                put(&opened(&base, HOME, "b"), (10, 0)).unwrap();
            }
            change(&base, "main", "my.option", "of main");
            let ends = at_each_call(&base, kind, "main", FORWARD);
            assert!(ends.acknowledged > 0 && ends.given_up > 15, "{kind:?} {goes_on} {alters}: {ends:?}");
        }
    }
}

/// A fast-forward that is stopped before each of its calls while a writer commits under a schema that goes.
#[test]
fn a_fast_forward_leaves_no_commit_whose_schema_it_takes_away() {
    for goes_on in [false, true] {
        let base = made(APPEND, 2);
        create_branch(main_of(&base).context(), "b", &BranchSource::Snapshot(None)).unwrap();
        if goes_on {
            put(&opened(&base, HOME, "b"), (10, 0)).unwrap();
        }
        change(&base, "main", "my.option", "of main");
        for at in 0.. {
            let io = base.fork();
            let writer = opened(&io, HOME, "main");
            let end = Arc::new(Mutex::new(None));
            let told = Arc::clone(&end);
            let gate = Arc::new(Meanwhile {
                armed: AtomicBool::new(true),
                calls: AtomicU64::new(0),
                at,
                fired: AtomicBool::new(false),
                run: Mutex::new(Box::new(move || *told.lock().unwrap() = Some(put(&writer, OURS)))),
            });
            let main = opened(&io, HOME, "main");
            let behind: FileIoRef = Arc::new(io.behind(Arc::clone(&gate) as Arc<dyn BeforeCall>));
            let ctx = siltstone::io::TableContext { fs: behind, ..main.context().clone() };
            let forwarded = fast_forward(&ctx, "b", false);
            let Some(end) = end.lock().unwrap().take() else { break };
            let what = format!("goes on: {goes_on}, call {at}: {end:?}, {:?}", forwarded.as_ref().err());
            forwarded.unwrap_or_else(|e| panic!("{what}: {e}"));
            check_whole(&io, &what);
            let found = everything(&io);
            if let Err(error) = &end {
                let kinds = [ErrorKind::CommitConflict, ErrorKind::CommitRetriesExhausted, ErrorKind::UpkeepRunning];
                assert!(kinds.contains(&error.kind()) || error.message().contains("it is not known"), "{what}");
            }
            go_on(&io, &found, &what);
        }
    }
}

/// Runs something once, before the first call of this kind on such a file.
pub(super) struct Before<F> {
    pub(super) call: (&'static str, &'static str),
    pub(super) run: F,
    pub(super) fired: AtomicBool,
}

impl<F> fmt::Debug for Before<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "before {:?}", self.call)
    }
}

impl<F: Fn() + Send + Sync> BeforeCall for Before<F> {
    fn before(&self, what: &str, path: &str) -> Result<()> {
        if (what, path.ends_with(self.call.1)) == (self.call.0, true) && !self.fired.swap(true, Ordering::SeqCst) {
            (self.run)();
        }
        Ok(())
    }
}

/// The writer has looked at its schema, and its snapshot gets its name after the fast-forward: the record of that says that it is no
/// version, so nobody has seen it.
#[test]
fn a_snapshot_whose_schema_went_before_it_got_its_name_came_too_late_and_goes_with_its_files() {
    let io = made(APPEND, 2);
    create_branch(main_of(&io).context(), "b", &BranchSource::Snapshot(None)).unwrap();
    change(&io, "main", "my.option", "of main");
    let others = io.clone();
    let gate = Before {
        call: ("publish: link", "/snapshot-3"),
        run: move || (FORWARD.run)(&others, APPEND),
        fired: AtomicBool::new(false),
    };
    let files = || io.paths().into_iter().filter(|path| path.ends_with(".parquet")).count();
    let before = files();
    let error = put(&open(Arc::new(io.behind(Arc::new(gate))), HOME, "main"), OURS).unwrap_err();
    assert_eq!((error.kind(), error.lets_files_stay()), (ErrorKind::CommitConflict, false), "{error}");
    assert_eq!(files(), before);
    let snapshots = SnapshotManager::new(Arc::new(io.clone()), HOME);
    assert_eq!(snapshots.listed_ids().unwrap(), [1, 2]);
    check_whole(&io, "withdrawn");
}

/// The same where another writer commits before it is withdrawn: that one builds on the version before, and takes the id.
#[test]
fn nobody_builds_on_a_snapshot_whose_schema_went_before_it_got_its_name() {
    let io = made(APPEND, 2);
    create_branch(main_of(&io).context(), "b", &BranchSource::Snapshot(None)).unwrap();
    change(&io, "main", "my.option", "of main");
    let (forwards, builds) = (io.clone(), io.clone());
    let builder = Before {
        call: ("publish: remove temporary file", "/snapshot-3"),
        run: move || drop(put(&main_of(&builds), THEIRS).unwrap()),
        fired: AtomicBool::new(false),
    };
    let forward = Before {
        call: ("publish: link", "/snapshot-3"),
        run: move || (FORWARD.run)(&forwards, APPEND),
        fired: AtomicBool::new(false),
    };
    let both = Both(forward, builder);
    let error = put(&open(Arc::new(io.behind(Arc::new(both))), HOME, "main"), OURS).unwrap_err();
    // its name is another's, and so is the schema
    assert!(error.message().contains("it is not known"), "{error}");
    assert_eq!(SnapshotManager::new(Arc::new(io.clone()), HOME).listed_ids().unwrap(), [1, 2, 3]);
    assert_eq!(rows(&main_of(&io), VersionSelector::Latest), [(0, 0), (1, 0), THEIRS]);
    check_whole(&io, "withdrawn");
}

#[derive(Debug)]
pub(super) struct Both<A, B>(pub(super) A, pub(super) B);

impl<A: BeforeCall, B: BeforeCall> BeforeCall for Both<A, B> {
    fn before(&self, what: &str, path: &str) -> Result<()> {
        self.0.before(what, path).and_then(|()| self.1.before(what, path))
    }
}
