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

/// The first alter took its schema away, and said so; the other one, which had been made of it, had the option as well.
#[test]
fn what_is_made_of_a_schema_that_comes_too_late_comes_too_late_as_well() {
    const OTHER: &str = "snapshot.num-retained.max";
    let (mut late, mut in_time, mut calls, mut last) = (0, 0, 0, 0);
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
            assert_eq!(newest.options.contains_key(OTHER), others.is_ok(), "{what}");
            let counted = if others.is_ok() { &mut in_time } else { &mut late };
            *counted += 1;
        }
        check_whole(&io, &what);
        let found = everything(&io);
        assert_eq!(found.values().any(|rows| rows.contains(&OURS)), committed.is_ok(), "{what}");
        go_on(&io, &found, &what);
    }
    assert!(calls > 20 && late > 0 && in_time > 0, "{calls}: {late}, {in_time}");
}
