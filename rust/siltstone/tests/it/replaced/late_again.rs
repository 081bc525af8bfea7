//! First commits that come too late beside an alter of a fixed option, in a table where that was before, or where taking one back was
//! begun and not ended.

use siltstone::maintenance::automatic::Committer;

use super::{
    branches::{Before, Both},
    *,
};

const OPTION: &str = "data-file.path-directory";
const LINK: (&str, &str) = ("publish: link", "/snapshot/snapshot-1");
/// What others write.
const NEXT: (i32, i64) = (99, 990);

fn set(io: &FaultFileIo, value: Option<&str>) -> Result<()> {
    main_of(io).alter(&match value {
        Some(value) => format!(r#"[{{"kind": "set_option", "key": "{OPTION}", "value": "{value}"}}]"#),
        None => format!(r#"[{{"kind": "remove_option", "key": "{OPTION}"}}]"#),
    })
}

/// A first commit, whose option others change before its link; `then` is for each call after the link, from 0 on.
fn late(io: &FaultFileIo, value: Option<&str>, then: impl Fn(u64) -> Result<()> + Send + Sync + 'static) -> Result<()> {
    let alters = io.clone();
    let value = value.map(str::to_owned);
    let run = move || set(&alters, value.as_deref()).unwrap();
    let gate =
        Both(Before { call: LINK, run, fired: AtomicBool::new(false) }, After { calls: AtomicU64::new(0), then });
    put(&open(Arc::new(io.behind(Arc::new(gate))), HOME, "main"), OURS).map(drop)
}

struct After<F> {
    calls: AtomicU64,
    then: F,
}

impl<F> fmt::Debug for After<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "after {LINK:?}")
    }
}

impl<F: Fn(u64) -> Result<()> + Send + Sync> BeforeCall for After<F> {
    fn before(&self, what: &str, path: &str) -> Result<()> {
        if self.calls.load(Ordering::SeqCst) == 0 && (what, path.ends_with(LINK.1)) != (LINK.0, true) {
            return Ok(());
        }
        match self.calls.fetch_add(1, Ordering::SeqCst).checked_sub(1) {
            None => Ok(()),
            Some(call) => (self.then)(call),
        }
    }
}

fn killed() -> siltstone::Error {
    siltstone::Error::new(ErrorKind::Storage, "killed")
}

/// An empty table in which a first commit came too late and was taken back: by its writer, or, as that was killed, by a truncation.
fn taken_back_before(kind: Kind, by_writer: bool) -> FaultFileIo {
    let io = made(kind, 0);
    let end = late(&io, Some("data"), move |_| if by_writer { Ok(()) } else { Err(killed()) });
    assert_eq!(end.unwrap_err().kind(), if by_writer { ErrorKind::CommitConflict } else { ErrorKind::Storage });
    Committer::with_new_user(main_of(&io).context()).truncate(None).unwrap();
    io
}

/// The records of the first time made it a version that counts: keys were there twice.
#[test]
fn a_late_first_version_goes_although_one_was_taken_back_before() {
    for (kind, by_writer, killed_writer) in [APPEND, KEYED]
        .into_iter()
        .flat_map(|kind| [(kind, true, true), (kind, true, false), (kind, false, true), (kind, false, false)])
    {
        let mut gone = 0;
        for at in 0.. {
            let io = taken_back_before(kind, by_writer);
            let what = format!("{kind:?}, by the writer: {by_writer}, killed: {killed_writer}, call {at}");
            let (reached, has_come) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
            let (others, seen, came) = (io.clone(), Arc::clone(&reached), Arc::clone(&has_come));
            let then = move |call| {
                if call == at && !seen.swap(true, Ordering::SeqCst) && !killed_writer {
                    // while the writer has the lock, nobody else comes
                    let put = put(&main_of(&others), NEXT);
                    came.store(put.is_ok(), Ordering::SeqCst);
                }
                if killed_writer && call >= at { Err(killed()) } else { Ok(()) }
            };
            let end = late(&io, None, then);
            if !reached.load(Ordering::SeqCst) {
                assert!(at > 5 && gone > 1, "{what}: {gone}");
                break;
            }
            assert!(end.is_err(), "{what}");
            gone += usize::from(!SnapshotManager::new(Arc::new(io.clone()), HOME).ids().unwrap().is_empty());
            if !has_come.load(Ordering::SeqCst) {
                put(&main_of(&io), NEXT).unwrap_or_else(|e| panic!("{what}: {e}"));
            }
            assert_eq!(rows(&main_of(&io), VersionSelector::Latest), [NEXT], "{what}: {end:?}");
            check_whole(&io, &what);
        }
    }
}

/// Each commit was refused for good: the version was called the only one that is left of several.
#[test]
fn a_late_first_version_goes_though_whoever_takes_it_back_is_killed_at_any_call() {
    for kind in [APPEND, KEYED] {
        let mut cases = 0;
        for at in 0.. {
            let io = made(kind, 0);
            late(&io, Some("data"), |_| Err(killed())).unwrap_err();
            let calls = Arc::new(AtomicU64::new(0));
            let counted = Arc::clone(&calls);
            let dies =
                Counted(move || if counted.fetch_add(1, Ordering::SeqCst) < at { Ok(()) } else { Err(killed()) });
            let table = Table::open_with(Arc::new(io.behind(Arc::new(dies))), HOME, "main", None, BTreeMap::new());
            let ended = table.and_then(|table| put(&table, (98, 980)));
            let what = format!("{kind:?}, call {at}: {ended:?}");
            put(&main_of(&io), NEXT).unwrap_or_else(|e| panic!("{what}: {e}"));
            let found = rows(&main_of(&io), VersionSelector::Latest);
            assert!(found == [NEXT] && ended.is_err() || found == [(98, 980), NEXT], "{what}: {found:?}");
            check_whole(&io, &what);
            if calls.load(Ordering::SeqCst) <= at {
                break;
            }
            cases += 1;
        }
        assert!(cases > 40, "{cases}");
    }
}

struct Counted<F>(F);

impl<F> fmt::Debug for Counted<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("counted")
    }
}

impl<F: Fn() -> Result<()> + Send + Sync> BeforeCall for Counted<F> {
    fn before(&self, _what: &str, _path: &str) -> Result<()> {
        (self.0)()
    }
}

/// The record that it is about to go was taken for one of an expiry.
#[test]
fn a_late_first_version_goes_when_the_tag_that_kept_it_is_deleted() {
    for kind in [APPEND, KEYED] {
        let mut kept = 0;
        for at in 0.. {
            let io = made(kind, 0);
            let others = io.clone();
            let reached = Arc::new(AtomicBool::new(false));
            let seen = Arc::clone(&reached);
            let end = late(&io, Some("data"), move |call| {
                if call == at && !seen.swap(true, Ordering::SeqCst) {
                    // the lock is held by then, or there is no version any more
                    drop(main_of(&others).create_tag("kept", &TagArgs::default()));
                }
                Ok(())
            });
            if !reached.load(Ordering::SeqCst) {
                break;
            }
            let what = format!("{kind:?}, call {at}: {end:?}");
            let error = end.expect_err(&what);
            if error.kind() == ErrorKind::Storage {
                kept += 1;
                assert_eq!(put(&main_of(&io), NEXT).expect_err(&what).kind(), ErrorKind::Storage, "{what}");
                main_of(&io).delete_tag("kept", false).unwrap_or_else(|e| panic!("{what}: {e}"));
            }
            put(&main_of(&io), NEXT).unwrap_or_else(|e| panic!("{what}: {e}"));
            assert_eq!(rows(&main_of(&io), VersionSelector::Latest), [NEXT], "{what}");
            check_whole(&io, &what);
        }
        assert!(kept > 1, "{kept}");
    }
}

/// It was called dropped, renamed or replaced, and nobody was told whether the commit is in it.
#[test]
fn a_commit_under_an_undecided_schema_that_goes_at_any_call_is_a_conflict() {
    for kind in [APPEND, KEYED] {
        let mut refused = 0;
        for at in 0.. {
            let io = made(kind, 0);
            // the first commit had looked before, and gets its name only now
            let first = io.fork();
            put(&main_of(&first), NEXT).unwrap();
            left_schema(&io, HOME);
            let others = io.clone();
            let gate = Arc::new(super::Meanwhile {
                armed: AtomicBool::new(false),
                calls: AtomicU64::new(0),
                at,
                fired: AtomicBool::new(false),
                run: Mutex::new(Box::new(move || comes(&others, &first))),
            });
            let table = open(Arc::new(io.behind(Arc::clone(&gate) as Arc<dyn BeforeCall>)), HOME, "main");
            gate.armed.store(true, Ordering::SeqCst);
            let end = put(&table, OURS);
            if !gate.fired.load(Ordering::SeqCst) {
                assert!(refused > 20, "{refused}");
                break;
            }
            let what = format!("{kind:?}, call {at}: {end:?}");
            let found = rows(&main_of(&io), VersionSelector::Latest);
            match &end {
                Ok(_) => assert_eq!(found, [OURS], "{what}"),
                Err(e) => {
                    refused += 1;
                    assert_eq!((e.kind(), found), (ErrorKind::CommitConflict, vec![NEXT]), "{what}");
                }
            }
            check_whole(&io, &what);
        }
    }
}

/// The first commit of another storage gets its name, and takes away what came too late beside it.
fn comes(io: &FaultFileIo, first: &FaultFileIo) {
    if io.exists(&format!("{HOME}/snapshot/snapshot-1")).unwrap() {
        return;
    }
    for path in first.paths() {
        if !io.exists(&path).unwrap() {
            io.put(&path, &first.read(&path).unwrap());
        }
    }
    let fs: FileIoRef = Arc::new(io.clone());
    if let Ok(lock) = UpkeepLock::take(&fs, HOME, Duration::ZERO) {
        SchemaManager::new(fs, HOME).newest_in_time(&lock).unwrap();
    }
}

/// A schema after the newest one, as an alter leaves it that is killed behind its link.
fn left_schema(io: &FaultFileIo, root: &str) {
    let schemas = SchemaManager::new(Arc::new(io.clone()), root);
    let mut left = (*schemas.newest().unwrap().unwrap()).clone();
    (left.id, left.pending) = (left.id + 1, Some(true));
    left.options.insert(OPTION.to_owned(), "data".to_owned());
    io.publish_if(&schemas.path(left.id), left.to_json().unwrap().as_bytes(), true, &|| Ok(())).unwrap();
}

/// The branch kept an option that main's alter was refused.
#[test]
fn an_empty_branch_has_a_schema_that_nobody_has_decided_about_only_when_main_keeps_it() {
    let io = made(APPEND, 0);
    let options = WriteOptions { threads: Some(1), ..WriteOptions::default() };
    let mut first = main_of(&io).writer(None, options).unwrap();
    first.write(&batch(&[OURS]), None).unwrap();
    left_schema(&io, HOME);
    create_branch(main_of(&io).context(), "b", &BranchSource::Empty).unwrap();
    let late = first.commit(Committable::default());
    first.close();
    assert_eq!(late.unwrap_err().kind(), ErrorKind::CommitConflict);
    for branch in ["main", "b"] {
        let schema = opened(&io, HOME, branch).context().schema.clone();
        assert_eq!(
            (schema.id, schema.pending, schema.options.contains_key(OPTION)),
            (1, Some(false), true),
            "{branch}"
        );
        put(&opened(&io, HOME, branch), NEXT).unwrap();
        assert_eq!(rows(&opened(&io, HOME, branch), VersionSelector::Latest), [NEXT], "{branch}");
    }
}
