//! Deletion vectors are switched off while rows are marked as deleted: one of the two gives way.

use super::*;
use crate::crash;

const VECTORS: Kind = (&[], &[("deletion-vectors.enabled", "true"), ("deletion-vectors.modifiable", "true")]);
const OPTION: &str = "deletion-vectors.enabled";
const ROWS: [(i32, i64); 2] = [(0, 0), (1, 1)];

fn with_rows() -> FaultFileIo {
    let io = made(VECTORS, 0);
    let mut writer = main_of(&io).writer(None, WriteOptions { threads: Some(1), ..WriteOptions::default() }).unwrap();
    writer.write(&batch(&ROWS), None).and_then(|()| writer.commit(Committable::default())).unwrap();
    writer.close();
    io
}

fn switch_off(table: &mut Table) -> Result<()> {
    table.alter(&format!(r#"[{{"kind": "remove_option", "key": "{OPTION}"}}]"#))
}

fn mark(table: &Table) -> Result<()> {
    crash::delete(table.context(), 7, "k = 0").map(drop)
}

type Beside = Box<dyn FnMut() -> Result<()> + Send>;

/// Runs one before call `at` of the other, which has a handle of its own; `None`: it makes no such call.
fn beside(
    io: &FaultFileIo,
    at: u64,
    mut other: Beside,
    run: impl FnOnce(&mut Table) -> Result<()>,
) -> Option<(Result<()>, Result<()>)> {
    let ended = Arc::new(Mutex::new(None));
    let end = Arc::clone(&ended);
    let gate = Arc::new(Meanwhile {
        armed: AtomicBool::new(false),
        calls: AtomicU64::new(0),
        at,
        fired: AtomicBool::new(false),
        run: Mutex::new(Box::new(move || *end.lock().unwrap() = Some(other()))),
    });
    let mut table = open(Arc::new(io.behind(Arc::clone(&gate) as Arc<dyn BeforeCall>)), HOME, "main");
    gate.armed.store(true, Ordering::SeqCst);
    let result = run(&mut table);
    let other = ended.lock().unwrap().take();
    other.map(|other| (result, other))
}

/// Looks at what became of both; whether the change of the option stays.
fn check(io: &FaultFileIo, switched: &Result<()>, marked: &Result<()>, what: &str) -> bool {
    if let Err(e) = switched {
        assert_eq!((e.kind(), e.context_value("option")), (ErrorKind::IllegalSchemaChange, Some(OPTION)), "{what}");
    }
    if let Err(e) = marked {
        assert_eq!((e.kind(), e.context_value("option")), (ErrorKind::CommitConflict, Some(OPTION)), "{what}");
    }
    assert!(switched.is_err() || marked.is_err(), "{what}");
    let table = main_of(io);
    assert_eq!(table.context().options.deletion_vectors_enabled, switched.is_err(), "{what}");
    let wanted = if marked.is_ok() { &ROWS[1..] } else { &ROWS[..] };
    assert_eq!(rows(&table, VersionSelector::Latest), wanted, "{what}");
    check_whole(io, what);
    switched.is_ok()
}

#[test]
fn vectors_are_switched_off_or_a_row_is_marked_at_any_call_of_the_alter() {
    let base = with_rows();
    let (mut accepted, mut refused) = (0, 0);
    for at in 0.. {
        let io = base.fork();
        let own = main_of(&io);
        let Some((switched, marked)) = beside(&io, at, Box::new(move || mark(&own)), switch_off) else {
            break;
        };
        let what = format!("call {at}: {switched:?}, {marked:?}");
        *(if check(&io, &switched, &marked, &what) { &mut accepted } else { &mut refused }) += 1;
    }
    assert!(accepted > 0 && refused > 5, "{accepted} {refused}");
}

#[test]
fn vectors_are_switched_off_or_a_row_is_marked_at_any_call_of_the_delete() {
    let base = with_rows();
    let (mut accepted, mut refused) = (0, 0);
    for at in 0.. {
        let io = base.fork();
        let mut own = main_of(&io);
        let other: Beside = Box::new(move || switch_off(&mut own));
        let Some((marked, switched)) = beside(&io, at, other, |table| mark(table)) else {
            break;
        };
        let what = format!("call {at}: {switched:?}, {marked:?}");
        *(if check(&io, &switched, &marked, &what) { &mut accepted } else { &mut refused }) += 1;
    }
    assert!(accepted > 5 && refused > 0, "{accepted} {refused}");
}
