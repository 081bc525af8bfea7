//! An option that is fixed once the table has snapshots changes while its first snapshot comes about.

use super::*;

const OPTION: &str = "data-file.path-directory";

fn moves_files(io: &FaultFileIo) -> Result<()> {
    main_of(io).alter(r#"[{"kind": "set_option", "key": "data-file.path-directory", "value": "data"}]"#)
}

const REDEFINE: Deed = Deed { name: "change a fixed option", run: |io, _| drop(moves_files(io)), may_end: false };

#[test]
fn a_first_commit_is_readable_though_a_fixed_option_changes_at_any_of_its_calls() {
    for kind in [APPEND, KEYED] {
        let ends = at_each_call(&made(kind, 0), kind, "main", REDEFINE);
        assert!(ends.acknowledged > 0 && ends.given_up > 5, "{kind:?}: {ends:?}");
    }
}

#[test]
fn a_fixed_option_changes_or_the_first_commit_comes_about_at_any_call_of_the_alter() {
    for kind in [APPEND, KEYED] {
        let (mut accepted, mut refused) = (0, 0);
        for at in 0.. {
            let io = made(kind, 0);
            let mut writer =
                main_of(&io).writer(None, WriteOptions { threads: Some(1), ..WriteOptions::default() }).unwrap();
            writer.write(&batch(&[OURS]), None).unwrap();
            let mut writer = Some(writer);
            let committed = Arc::new(Mutex::new(None));
            let end = Arc::clone(&committed);
            let gate = Arc::new(Meanwhile {
                armed: AtomicBool::new(false),
                calls: AtomicU64::new(0),
                at,
                fired: AtomicBool::new(false),
                run: Mutex::new(Box::new(move || {
                    let mut writer = writer.take().unwrap();
                    *end.lock().unwrap() = Some(writer.commit(Committable::default()).map(drop));
                    writer.close();
                })),
            });
            let mut table = open(Arc::new(io.behind(Arc::clone(&gate) as Arc<dyn BeforeCall>)), HOME, "main");
            gate.armed.store(true, Ordering::SeqCst);
            let altered = table.alter(&format!(r#"[{{"kind": "set_option", "key": "{OPTION}", "value": "data"}}]"#));
            if !gate.fired.load(Ordering::SeqCst) {
                assert!(at > 5, "an alter makes more calls than {at}");
                break;
            }
            let committed = committed.lock().unwrap().take().unwrap();
            let what = format!("{kind:?}, call {at}: {altered:?}, {committed:?}");
            match (&altered, &committed) {
                (Ok(()), Err(e)) => {
                    accepted += 1;
                    assert_eq!(
                        (e.kind(), e.context_value("option")),
                        (ErrorKind::CommitConflict, Some(OPTION)),
                        "{what}"
                    );
                }
                (Err(e), Ok(())) => {
                    refused += 1;
                    let found = (e.kind(), e.context_value("option"));
                    assert_eq!(found, (ErrorKind::IllegalSchemaChange, Some(OPTION)), "{what}");
                }
                _ => panic!("{what}"),
            }
            check_whole(&io, &what);
            let found = everything(&io);
            assert_eq!(found.values().any(|rows| rows.contains(&OURS)), committed.is_ok(), "{what}");
            go_on(&io, &found, &what);
        }
        assert!(accepted > 0 && refused > 2, "{kind:?}: {accepted} {refused}");
    }
}

fn set(table: &mut Table, key: &str, value: &str) -> Result<()> {
    table.alter(&format!(r#"[{{"kind": "set_option", "key": "{key}", "value": "{value}"}}]"#))
}

/// The first alter took its schema away, and said so; the other one, which had been made of it, had the option as well. An alter
/// decides about the schema first: none is made of one that comes too late.
#[test]
fn no_schema_is_made_of_one_that_comes_too_late() {
    const OTHER: &str = "snapshot.num-retained.max";
    let (mut others_made, mut calls, mut last) = (0, 0, 0);
    for (first, second) in (1..).flat_map(|second| (0..second).map(move |first| (first, second))) {
        let io = made(APPEND, 0);
        let options = WriteOptions { threads: Some(1), ..WriteOptions::default() };
        let mut writer = main_of(&io).writer(None, options).unwrap();
        writer.write(&batch(&[OURS]), None).unwrap();
        let ends = Arc::new(Mutex::new((None, None)));
        let (of_commit, of_alter, others) = (Arc::clone(&ends), Arc::clone(&ends), io.clone());
        let commit = move || {
            of_commit.lock().unwrap().0 = Some(writer.commit(Committable::default()).map(drop));
            writer.close();
            Ok(())
        };
        let alter = move || {
            let fs: FileIoRef = Arc::new(others.clone());
            // the first one would not go on while this one waits for the lock
            if UpkeepLock::take(&fs, HOME, Duration::ZERO).is_ok() {
                of_alter.lock().unwrap().1 = Some(set(&mut main_of(&others), OTHER, "77"));
            }
            Ok(())
        };
        let meanwhile = Arc::new(siltstone::fs::Meanwhile::new().before_call(first, commit).before_call(second, alter));
        let mut table = open(Arc::new(io.behind(Arc::clone(&meanwhile) as Arc<dyn BeforeCall>)), HOME, "main");
        let altered = set(&mut table, OPTION, "data");
        // no alter has made so many calls
        if first == 0 && last < second - 1 {
            break;
        }
        if meanwhile.left() > 0 {
            continue;
        }
        (calls, last) = (calls + 1, second);
        let (committed, others) = std::mem::take(&mut *ends.lock().unwrap());
        let (committed, what) = (committed.unwrap(), format!("{first}, {second}: {altered:?}, {others:?}"));
        assert_ne!(altered.is_ok(), committed.is_ok(), "{what}, {committed:?}");
        let newest = main_of(&io).context().schema.clone();
        assert_eq!(newest.options.contains_key(OPTION), altered.is_ok(), "{what}");
        if let Some(others) = &others {
            assert!(others.is_ok() && newest.options.contains_key(OTHER), "{what}");
            others_made += 1;
        }
        check_whole(&io, &what);
        let found = everything(&io);
        assert_eq!(found.values().any(|rows| rows.contains(&OURS)), committed.is_ok(), "{what}");
        go_on(&io, &found, &what);
    }
    assert!(calls > 100 && others_made > 100, "{calls}: {others_made}");
}

/// A handle whose process is killed before a call; before another call something else comes about.
struct Killed {
    calls: AtomicU64,
    other_at: u64,
    dead_from: u64,
    other: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

impl fmt::Debug for Killed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "another one before call {}, killed before {}", self.other_at, self.dead_from)
    }
}

impl BeforeCall for Killed {
    fn before(&self, _what: &str, _path: &str) -> Result<()> {
        let call = self.calls.fetch_add(1, Ordering::SeqCst);
        if call == self.other_at
            && let Some(other) = self.other.lock().unwrap().take()
        {
            other();
        }
        if call < self.dead_from { Ok(()) } else { Err(siltstone::Error::new(ErrorKind::Storage, "killed")) }
    }
}

/// An alter of a fixed option, killed before one of its calls; the first commit comes about before that call or an earlier one.
/// `None`: it makes fewer calls.
fn killed_alter(kind: Kind, commit_at: u64, killed_at: u64) -> Option<(FaultFileIo, bool, bool)> {
    let io = made(kind, 0);
    let options = WriteOptions { threads: Some(1), ..WriteOptions::default() };
    let mut writer = main_of(&io).writer(None, options).unwrap();
    writer.write(&batch(&[OURS]), None).unwrap();
    let committed = Arc::new(Mutex::new(None));
    let end = Arc::clone(&committed);
    let commit = move || {
        *end.lock().unwrap() = Some(writer.commit(Committable::default()).is_ok());
        writer.close();
    };
    let other = Mutex::new(Some(Box::new(commit) as Box<dyn FnOnce() + Send>));
    let gate = Arc::new(Killed { calls: AtomicU64::new(0), other_at: commit_at, dead_from: killed_at, other });
    let table = Table::open_with(
        Arc::new(io.behind(Arc::clone(&gate) as Arc<dyn BeforeCall>)),
        HOME,
        "main",
        None,
        BTreeMap::new(),
    );
    let altered = table.and_then(|mut table| set(&mut table, OPTION, "data")).is_ok();
    if gate.calls.load(Ordering::SeqCst) <= killed_at {
        return None;
    }
    let committed = committed.lock().unwrap().take()?;
    Some((io, altered, committed))
}

/// The schema was left where its alter was killed between publishing it and looking again. The option counted for good, rows were
/// looked for where they were not, and it could not be changed back.
#[test]
fn an_alter_that_is_killed_beside_the_first_commit_changes_no_fixed_option_of_it() {
    let (mut with_commit, mut without, mut late) = (0, 0, 0);
    for kind in [APPEND, KEYED] {
        for killed_at in 0.. {
            let mut ended = true;
            for commit_at in 0..=killed_at {
                let Some((io, altered, committed)) = killed_alter(kind, commit_at, killed_at) else { continue };
                ended = false;
                let what = format!("{kind:?}: commit {commit_at} {committed}, killed {killed_at} {altered}");
                check_whole(&io, &what);
                let found = everything(&io);
                assert_eq!(found.values().any(|rows| rows.contains(&OURS)), committed, "{what}");
                let is_set = |io: &FaultFileIo| main_of(io).context().schema.options.contains_key(OPTION);
                let changed = is_set(&io);
                assert!(!(committed && changed), "{what}");
                let schemas = || SchemaManager::new(Arc::new(io.clone()), HOME);
                let (ids, newest) = (schemas().ids().unwrap(), schemas().newest().unwrap().unwrap());
                if newest.options.contains_key(OPTION) && !changed {
                    late += 1;
                    let verdict = fsck(main_of(&io).context(), true, i64::MAX).unwrap();
                    assert!(verdict.findings.iter().any(|f| f.code == "late-schema"), "{what}: {verdict:#?}");
                    // an alter takes it away as well as a commit does
                    let other = io.fork();
                    set(&mut main_of(&other), "snapshot.num-retained.max", "77").unwrap();
                    let after = SchemaManager::new(Arc::new(other.clone()), HOME);
                    assert_eq!((after.ids().unwrap(), is_set(&other)), (ids, false), "{what}");
                    go_on(&other, &everything(&other), &what);
                }
                go_on(&io, &found, &what);
                let newest = schemas().newest().unwrap().unwrap();
                assert_eq!(newest.options.contains_key(OPTION), changed, "{what}");
                if committed { with_commit += 1 } else { without += 1 }
            }
            if ended {
                assert!(killed_at > 10, "an alter makes more calls than {killed_at}");
                break;
            }
        }
    }
    assert!(with_commit > 100 && without > 10 && late > 2, "{with_commit}, {without}, {late}");
}

/// What another program's alter, which does not look again, makes of a table beside its first commit could not be cured.
#[test]
fn a_fixed_option_can_be_set_back_to_what_the_files_were_made_with() {
    let io = made(APPEND, 1);
    let schemas = SchemaManager::new(Arc::new(io.clone()), HOME);
    let mut foreign = (*schemas.latest().unwrap().unwrap()).clone();
    foreign.id = 1;
    foreign.options.insert(OPTION.to_owned(), "data".to_owned());
    let path = schemas.path(1);
    io.publish_if(&path, foreign.to_json().unwrap().as_bytes(), true, &|| Ok(())).unwrap();
    let stale = main_of(&io);
    assert_eq!(stale.context().schema.id, 1, "another program's schema counts as it does there");
    let verdict = fsck(stale.context(), true, i64::MAX).unwrap();
    assert!(verdict.findings.iter().any(|f| f.code == "late-schema"), "{verdict:#?}");
    let refused = set(&mut main_of(&io), OPTION, "other").unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::IllegalSchemaChange, "{refused}");
    let mut writer = stale.writer(None, WriteOptions { threads: Some(1), ..WriteOptions::default() }).unwrap();
    writer.write(&batch(&[OURS]), None).unwrap();
    main_of(&io).alter(&format!(r#"[{{"kind": "remove_option", "key": "{OPTION}"}}]"#)).unwrap();
    let error = writer.commit(Committable::default()).unwrap_err();
    writer.close();
    assert_eq!((error.kind(), error.context_value("option")), (ErrorKind::CommitConflict, Some(OPTION)), "{error}");
    let newest = main_of(&io).context().schema.clone();
    assert_eq!((newest.id, newest.options.contains_key(OPTION), newest.pending), (2, false, Some(false)));
    go_on(&io, &everything(&io), "set back");
}

/// The first commit was held up before its version got its name, an alter of a fixed option was decided meanwhile, and the commit
/// was killed before it looked again: others built on the version, which has the option otherwise.
#[test]
fn a_first_commit_that_is_killed_beside_an_alter_of_a_fixed_option_counts_under_the_old_one_or_not_at_all() {
    let (mut taken_back, mut kept, mut cases) = (0, 0, 0);
    for kind in [APPEND, KEYED] {
        for killed_at in 0.. {
            let mut ended = true;
            for alter_at in (0..=killed_at).rev().take(6) {
                let Some((io, altered, committed)) = killed_first_commit(kind, alter_at, killed_at) else { continue };
                ended = false;
                cases += 1;
                let what = format!("{kind:?}: alter {alter_at} {altered}, killed {killed_at} {committed}");
                // where it is not taken back yet, readers under the new option look for its files elsewhere
                let had = !SnapshotManager::new(Arc::new(io.clone()), HOME).ids().unwrap().is_empty();
                put(&main_of(&io), (99, 990)).unwrap_or_else(|e| panic!("{what}: {e}"));
                let found = everything(&io);
                let has = found.values().any(|rows| rows.contains(&OURS));
                assert!(has || !committed, "{what}: lost");
                assert!(!(has && altered), "{what}: under another option");
                assert_eq!(main_of(&io).context().schema.options.contains_key(OPTION), altered, "{what}");
                if has {
                    kept += 1;
                } else {
                    taken_back += usize::from(had);
                }
                check_whole(&io, &what);
            }
            if ended {
                assert!(killed_at > 20, "a commit makes more calls than {killed_at}");
                break;
            }
        }
    }
    assert!(cases > 100 && taken_back > 0 && kept > 0, "{cases}: {taken_back}, {kept}");
}

/// A first commit that is killed before a call, a fixed option having been altered before an earlier one: whether that was accepted,
/// and whether the commit was acknowledged all the same. `None`: one of the two calls did not come.
fn killed_first_commit(kind: Kind, alter_at: u64, killed_at: u64) -> Option<(FaultFileIo, bool, bool)> {
    let io = made(kind, 0);
    let altered = Arc::new(Mutex::new(None));
    let gate = Arc::new(Later::new(alter_at, killed_at, Arc::clone(&altered), io.clone()));
    let table = open(Arc::new(io.behind(Arc::clone(&gate) as Arc<dyn BeforeCall>)), HOME, "main");
    let mut writer = table.writer(None, WriteOptions { threads: Some(1), ..WriteOptions::default() }).unwrap();
    writer.write(&batch(&[OURS]), None).unwrap();
    gate.armed.store(true, Ordering::SeqCst);
    let committed = writer.commit(Committable::default()).is_ok();
    writer.close();
    let altered = (*altered.lock().unwrap())?;
    (gate.calls.load(Ordering::SeqCst) > killed_at).then_some((io, altered, committed))
}

/// Somebody had made a tag of it: the next writer built on it, and keys were there twice.
#[test]
fn nothing_is_built_on_a_late_version_that_a_tag_keeps() {
    let mut kept = 0;
    for kind in [APPEND, KEYED] {
        for killed_at in 0..60 {
            for alter_at in (0..=killed_at).rev().take(6) {
                let Some((io, altered, committed)) = killed_first_commit(kind, alter_at, killed_at) else { continue };
                let had = !SnapshotManager::new(Arc::new(io.clone()), HOME).ids().unwrap().is_empty();
                if !had || !altered || committed {
                    continue;
                }
                let what = format!("{kind:?}: alter {alter_at}, killed {killed_at}");
                main_of(&io).create_tag("kept", &TagArgs::default()).unwrap_or_else(|e| panic!("{what}: {e}"));
                let error = put(&main_of(&io), (99, 990)).expect_err(&what);
                assert_eq!(error.kind(), ErrorKind::Storage, "{what}: {error}");
                main_of(&io).delete_tag("kept", false).unwrap_or_else(|e| panic!("{what}: {e}"));
                put(&main_of(&io), (99, 990)).unwrap_or_else(|e| panic!("{what}: {e}"));
                assert!(!everything(&io).values().any(|rows| rows.contains(&OURS)), "{what}");
                check_whole(&io, &what);
                kept += 1;
            }
        }
    }
    assert!(kept > 3, "{kept}");
}

/// A handle that is counted from some moment on: before one call a fixed option is altered, before another it is killed.
#[derive(Debug)]
struct Later {
    armed: AtomicBool,
    calls: AtomicU64,
    alter_at: u64,
    dead_from: u64,
    altered: Arc<Mutex<Option<bool>>>,
    io: FaultFileIo,
}

impl Later {
    fn new(alter_at: u64, dead_from: u64, altered: Arc<Mutex<Option<bool>>>, io: FaultFileIo) -> Self {
        Self { armed: AtomicBool::new(false), calls: AtomicU64::new(0), alter_at, dead_from, altered, io }
    }
}

impl BeforeCall for Later {
    fn before(&self, _what: &str, _path: &str) -> Result<()> {
        if !self.armed.load(Ordering::SeqCst) {
            return Ok(());
        }
        let call = self.calls.fetch_add(1, Ordering::SeqCst);
        if call == self.alter_at {
            *self.altered.lock().unwrap() = Some(set(&mut main_of(&self.io), OPTION, "data").is_ok());
        }
        if call < self.dead_from { Ok(()) } else { Err(siltstone::Error::new(ErrorKind::Storage, "killed")) }
    }
}

/// Readers of main went by the branch's option while its first version was not there yet, and for good where the fast-forward was
/// killed then; every commit to main was tried again until it gave up.
#[test]
fn main_goes_by_a_fixed_option_of_a_branch_when_it_has_its_versions() {
    let mut undecided = 0;
    for killed_at in 0.. {
        let io = made(KEYED, 1);
        create_branch(main_of(&io).context(), "b", &BranchSource::Empty).unwrap();
        set(&mut opened(&io, HOME, "b"), OPTION, "data").unwrap();
        put(&opened(&io, HOME, "b"), OURS).unwrap();
        let of_main = rows(&main_of(&io), VersionSelector::Latest);
        let gate =
            Killed { calls: AtomicU64::new(0), other_at: u64::MAX, dead_from: killed_at, other: Mutex::default() };
        let gate = Arc::new(gate);
        let fs = Arc::new(io.behind(Arc::clone(&gate) as Arc<dyn BeforeCall>));
        let ended = Table::open_with(fs, HOME, "main", None, BTreeMap::new())
            .and_then(|main| fast_forward(main.context(), "b", false).map(drop));
        let what = format!("killed {killed_at}: {ended:?}");
        let (main, newest) = (main_of(&io), SchemaManager::new(Arc::new(io.clone()), HOME).newest().unwrap().unwrap());
        let found = rows(&main, VersionSelector::Latest);
        let is_branch = main.context().schema.options.contains_key(OPTION);
        assert_eq!(is_branch, found.contains(&OURS), "{what}: {found:?}");
        assert!(is_branch || found.is_empty() || found == of_main, "{what}: {found:?}");
        undecided += usize::from(newest.is_pending());
        if gate.calls.load(Ordering::SeqCst) <= killed_at {
            ended.unwrap();
            assert!(is_branch && !newest.is_pending(), "{what}");
            assert!(killed_at > 50 && undecided > 0, "{what}: {undecided}");
            return;
        }
        put(&main, (99, 990)).unwrap_or_else(|e| panic!("{what}: {e}"));
        fast_forward(main_of(&io).context(), "b", false).unwrap_or_else(|e| panic!("{what}: {e}"));
        assert!(rows(&main_of(&io), VersionSelector::Latest).contains(&OURS), "{what}");
        assert!(main_of(&io).context().schema.options.contains_key(OPTION), "{what}");
        check_whole(&io, &what);
    }
}

/// A schema after the newest one, with the option, as an alter leaves it that is killed behind its link, or another program's.
fn left_schema(io: &FaultFileIo, root: &str, pending: Option<bool>) {
    let schemas = SchemaManager::new(Arc::new(io.clone()), root);
    let mut left = (*schemas.newest().unwrap().unwrap()).clone();
    (left.id, left.pending) = (left.id + 1, pending);
    left.options.insert(OPTION.to_owned(), "data".to_owned());
    io.publish_if(&schemas.path(left.id), left.to_json().unwrap().as_bytes(), true, &|| Ok(())).unwrap();
}

#[test]
fn an_empty_branch_has_no_schema_that_came_too_late() {
    let io = made(APPEND, 1);
    left_schema(&io, HOME, Some(true));
    create_branch(main_of(&io).context(), "b", &BranchSource::Empty).unwrap();
    let branch = opened(&io, HOME, "b");
    assert!(!branch.context().schema.options.contains_key(OPTION));
    assert_eq!(branch.context().schemas.ids().unwrap(), [0]);
}

/// The file of the schema was replaced when it was decided about, and the branch was taken for another one.
#[test]
fn a_handle_of_a_branch_goes_on_when_its_schema_was_decided() {
    let io = made(APPEND, 0);
    create_branch(main_of(&io).context(), "b", &BranchSource::Empty).unwrap();
    left_schema(&io, &branch_root(HOME, "b"), Some(true));
    let handle = opened(&io, HOME, "b");
    assert!(handle.context().schema.is_pending());
    thread::sleep(Duration::from_millis(5));
    set(&mut opened(&io, HOME, "b"), "snapshot.num-retained.max", "77").unwrap();
    put(&handle, OURS).unwrap();
    let schema = handle.context().schemas.get(1).unwrap();
    assert_eq!((schema.pending, rows(&handle, VersionSelector::Latest)), (Some(false), vec![OURS]));
}

/// The schema was taken away from beneath that of another program, and every alter ended with a missing file.
#[test]
fn a_late_schema_beneath_one_of_another_program_stays_and_alters_go_on() {
    for missing in [false, true] {
        let io = made(APPEND, 1);
        left_schema(&io, HOME, Some(true));
        left_schema(&io, HOME, None);
        if missing {
            io.delete(&SchemaManager::new(Arc::new(io.clone()), HOME).path(1)).unwrap();
        }
        set(&mut main_of(&io), "snapshot.num-retained.max", "77").unwrap();
        main_of(&io).alter(&format!(r#"[{{"kind": "remove_option", "key": "{OPTION}"}}]"#)).unwrap();
        assert!(!main_of(&io).context().schema.options.contains_key(OPTION));
        go_on(&io, &everything(&io), &format!("missing: {missing}"));
    }
}
