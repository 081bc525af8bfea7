//! Main and a branch without a version in common have schemas of the same ids, and main goes forward to the branch: nobody takes main's
//! rows under the branch's schemas, or the branch's rows under main's.

use siltstone::maintenance::expire::{Retention, expire_snapshots};

use super::*;

/// What tells whose schema it is.
const SIGN: &str = "my.option";
const FIXED: &str = "data-file.path-directory";
const NEXT: (i32, i64) = (99, 990);

fn set(io: &FaultFileIo, branch: &str, key: &str, value: &str) -> Result<()> {
    opened(io, HOME, branch).alter(&format!(r#"[{{"kind": "set_option", "key": "{key}", "value": "{value}"}}]"#))
}

#[derive(Clone, Copy, Debug)]
struct Scene {
    /// Both change where their files lie, before their first versions.
    moves_files: bool,
    /// Main's first version has expired: its name is free for the branch's.
    expired: bool,
    /// The branch has altered once more.
    longer: bool,
}

const SCENES: [Scene; 3] = [
    Scene { moves_files: false, expired: false, longer: false },
    Scene { moves_files: true, expired: false, longer: true },
    Scene { moves_files: true, expired: true, longer: true },
];

fn apart(kind: Kind, scene: Scene) -> FaultFileIo {
    let io = made(kind, 0);
    create_branch(main_of(&io).context(), "b", &BranchSource::Empty).unwrap();
    for branch in ["main", "b"] {
        if scene.moves_files {
            set(&io, branch, FIXED, &format!("of-{branch}")).unwrap();
        }
        set(&io, branch, SIGN, branch).unwrap();
    }
    if scene.longer {
        set(&io, "b", "another.option", "b").unwrap();
    }
    (0..3).for_each(|k| drop(put(&main_of(&io), (k, 0)).unwrap()));
    put(&opened(&io, HOME, "b"), OURS).unwrap();
    if scene.expired {
        let last = Retention { max: 1, min: 1, older_than: None, limit: i64::MAX };
        expire_snapshots(main_of(&io).context(), &last, false).unwrap();
    }
    io
}

/// Whose schema main is read under, and its rows.
fn look(io: &FaultFileIo) -> Result<(String, Vec<(i32, i64)>)> {
    let main = main_of(io);
    plan(main.context(), &ScanRequest::default())?;
    Ok((main.context().schema.options[SIGN].clone(), rows(&main, VersionSelector::Latest)))
}

/// What others find and do between two calls of a fast-forward; whether they were refused.
fn others(io: &FaultFileIo, before: &[(i32, i64)], is_held: bool, what: &str) -> bool {
    let found = match look(io) {
        Ok((schema, found)) => {
            let is_branch = found.contains(&OURS);
            assert_eq!(schema == "b", is_branch, "{what}: {found:?} under the schema of {schema}");
            // main at the version where the two parted
            assert!(is_branch || found.iter().all(|row| before.contains(row)), "{what}: {found:?}");
            Some(found)
        }
        Err(e) => {
            assert_eq!((e.kind(), e.context_value("branch")), (ErrorKind::UpkeepRunning, Some("b")), "{what}: {e}");
            assert!(e.hint_text().unwrap().contains("fast-forward to the branch again"), "{what}: {e}");
            None
        }
    };
    let told = |name: &str, end: Result<()>| match end {
        Ok(()) => assert!(found.is_some(), "{what}: {name} where nobody can read"),
        // where a schema is undecided, and nobody can decide about it now
        Err(e) if is_held && found.is_some() && e.kind() == ErrorKind::CommitConflict => {}
        Err(e) => assert!(e.kind() == ErrorKind::UpkeepRunning, "{what}, {name}: {e}"),
    };
    let written = put(&main_of(io), NEXT).map(drop);
    if written.is_ok() {
        assert!(look(io).unwrap().1.contains(&NEXT), "{what}: acknowledged and not there");
    }
    told("put", written);
    told("tag", main_of(io).create_tag("made", &TagArgs::default()).map(drop));
    if is_held {
        return found.is_none();
    }
    told("alter", set(io, "main", "others.option", "1"));
    if found.is_none() {
        let verdict = fsck(main_of(io).context(), true, i64::MAX).unwrap();
        assert!(verdict.findings.iter().any(|f| f.code == "half-forwarded"), "{what}: {verdict:#?}");
    }
    found.is_none()
}

/// When the branch got a schema that none of its versions has. Main may have the branch's first version and not yet the schema of it,
/// with which that one is compared.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Altered {
    Never,
    Before,
    Since,
}

/// Main's rows were read without their columns, pruned and merged by the rules of the branch, and written so.
#[test]
fn nobody_takes_rows_under_schemas_of_another_line_whichever_call_a_fast_forward_is_killed_at() {
    let alters = [Altered::Never, Altered::Before, Altered::Since];
    for (scene, altered) in SCENES.iter().flat_map(|scene| alters.map(|altered| (*scene, altered))) {
        let kind = if scene.longer { KEYED } else { APPEND };
        let base = apart(kind, scene);
        let alter = |io: &FaultFileIo| set(io, "b", "after.all", "1").unwrap();
        if altered == Altered::Before {
            alter(&base);
        }
        let before = rows(&main_of(&base), VersionSelector::Latest);
        let mut refused = 0;
        for at in 0.. {
            let io = base.fork();
            let what = format!("{scene:?}, killed at call {at}, the branch altered: {altered:?}");
            let calls = Arc::new(AtomicU64::new(0));
            let gate = Counted { calls: Arc::clone(&calls), dead_from: at };
            let fs = Arc::new(io.behind(Arc::new(gate)));
            let ended = Table::open_with(fs, HOME, "main", None, BTreeMap::new())
                .and_then(|main| fast_forward(main.context(), "b", false).map(drop));
            refused += usize::from(others(&io, &before, false, &what));
            if altered == Altered::Since {
                alter(&io);
            }
            fast_forward(main_of(&io).context(), "b", false).unwrap_or_else(|e| panic!("{what}: {e}"));
            let (schema, found) = look(&io).unwrap();
            assert_eq!(schema, "b", "{what}");
            assert!(found.contains(&OURS) && found.iter().all(|row| [OURS, NEXT].contains(row)), "{what}: {found:?}");
            check_whole(&io, &what);
            if calls.load(Ordering::SeqCst) <= at {
                ended.unwrap();
                break;
            }
        }
        assert!(refused > 3, "{scene:?}: {refused}");
    }
}

#[derive(Debug)]
struct Counted {
    calls: Arc<AtomicU64>,
    dead_from: u64,
}

impl BeforeCall for Counted {
    fn before(&self, _what: &str, _path: &str) -> Result<()> {
        if self.calls.fetch_add(1, Ordering::SeqCst) < self.dead_from {
            return Ok(());
        }
        Err(siltstone::Error::new(ErrorKind::Storage, "killed"))
    }
}

#[test]
fn nor_while_it_is_held_up_at_one() {
    for scene in SCENES {
        let base = apart(APPEND, scene);
        let before = rows(&main_of(&base), VersionSelector::Latest);
        let refused = Arc::new(AtomicU64::new(0));
        for at in 0.. {
            let io = base.fork();
            let what = format!("{scene:?}, held at call {at}");
            let (other, rows_before, count, held) = (io.clone(), before.clone(), Arc::clone(&refused), what.clone());
            let then = move || {
                count.fetch_add(u64::from(others(&other, &rows_before, true, &held)), Ordering::SeqCst);
                Ok(())
            };
            let meanwhile = Arc::new(siltstone::fs::Meanwhile::new().before_call(at, then));
            let main = open(Arc::new(io.behind(Arc::clone(&meanwhile) as Arc<dyn BeforeCall>)), HOME, "main");
            let ended = fast_forward(main.context(), "b", false);
            if meanwhile.left() > 0 {
                ended.unwrap();
                break;
            }
            // a tag that others were told of needs a schema that would go
            if ended.is_err() {
                drop(main_of(&io).delete_tag("made", false));
                fast_forward(main_of(&io).context(), "b", false).unwrap_or_else(|e| panic!("{what}: {e}"));
            }
            let (schema, found) = look(&io).unwrap_or_else(|e| panic!("{what}: {e}"));
            assert_eq!((schema.as_str(), found.contains(&OURS)), ("b", true), "{what}: {found:?}");
            check_whole(&io, &what);
        }
        assert!(refused.load(Ordering::SeqCst) > 3, "{scene:?}: {refused:?}");
    }
}

/// Main had neither the row of the branch nor its own later one, the fast-forward reported success, and the branch was deleted.
#[test]
fn what_the_branch_gets_meanwhile_is_there_or_told() {
    let base = apart(APPEND, SCENES[0]);
    let (mut told, mut after) = (0, 0);
    for at in 0.. {
        let io = base.fork();
        let other = io.clone();
        let then = move || put(&opened(&other, HOME, "b"), NEXT).map(drop);
        let meanwhile = Arc::new(siltstone::fs::Meanwhile::new().before_call(at, then));
        let main = open(Arc::new(io.behind(Arc::clone(&meanwhile) as Arc<dyn BeforeCall>)), HOME, "main");
        let report = fast_forward(main.context(), "b", false).unwrap();
        if meanwhile.left() > 0 {
            break;
        }
        let has_note = report.plan.notes.iter().any(|note| note.contains("fast-forward again"));
        let is_there = look(&io).unwrap().1.contains(&NEXT);
        assert!(!(is_there && has_note), "{at}: {:?}", report.plan.notes);
        told += usize::from(has_note);
        // what comes when all is done comes after the fast-forward
        after += usize::from(!is_there && !has_note);
        assert!(after == 0 || !(is_there || has_note), "{at}: {:?}", report.plan.notes);
    }
    assert!(told > 3 && after <= 4, "{told}, {after}");
}
