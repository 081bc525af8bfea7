//! An alter of what levels mean beside a rollback to a version that has several of them, or compactions that make several: one of the
//! two gives way, also where the alter is killed.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread::{self, JoinHandle},
};

use siltstone::{
    compact::{CompactRequest, TaskResources, plan_compaction, run_task},
    table::TagArgs,
};

use super::*;

const LAST: i32 = 3000;

/// The tag `two` has key 1 in two levels, the newest version all rows in one.
fn begun() -> FaultFileIo {
    let options = [
        BUCKET,
        ("write-only", "true"),
        ("deletion-vectors.modifiable", "true"),
        ("num-sorted-run.compaction-trigger", "2"),
        ("siltstone.upkeep-lock-timeout", "0 s"),
    ];
    let (io, fs) = new_table(&["k"], &options);
    put(&fs, &(1..=LAST).map(|k| (k, 100)).collect::<Vec<_>>()).unwrap();
    compacted(&fs, true);
    put(&fs, &[(1, 1)]).unwrap();
    put(&fs, &[(1, 2)]).unwrap();
    compacted(&fs, false);
    assert_eq!(levels(&fs), 2);
    table(&fs).create_tag("two", &TagArgs::default()).unwrap();
    compacted(&fs, true);
    assert_eq!(levels(&fs), 1);
    io
}

fn compacted(fs: &FileIoRef, full: bool) {
    let ctx = open(fs, ROOT);
    let plan = plan_compaction(&ctx, &CompactRequest { full, ..CompactRequest::default() }).unwrap();
    let resources = TaskResources { threads: Some(1), ..TaskResources::default() };
    let messages = plan.tasks.iter().map(|task| run_task(&ctx, task, &resources).unwrap()).collect();
    table(fs).commit_messages(None, Committable { messages, ..Committable::default() }, None).unwrap();
}

fn levels(fs: &FileIoRef) -> usize {
    let newest = SnapshotManager::new(Arc::clone(fs), ROOT).latest().unwrap().unwrap();
    let live = siltstone::scan::live_entries(&open(fs, ROOT), &newest, &siltstone::scan::EntryFilter::default());
    live.unwrap().iter().map(|entry| entry.file.level).collect::<std::collections::BTreeSet<_>>().len()
}

fn back(fs: &FileIoRef) -> Result<()> {
    let two = VersionArgs { tag: Some("two".to_owned()), ..VersionArgs::default() };
    table(fs).rollback(&two, false).map(drop)
}

fn switch_on(fs: &FileIoRef) -> Result<()> {
    Table::open_with(Arc::clone(fs), ROOT, "main", None, BTreeMap::new())?
        .alter(r#"[{"kind": "set_option", "key": "deletion-vectors.enabled", "value": "true"}]"#)
}

/// Both reported success, and each key of two levels was there twice.
fn check(call: u64, fs: &FileIoRef, end: Result<()>) {
    if let Err(error) = end {
        let gave_way = [ErrorKind::IllegalSchemaChange, ErrorKind::UpkeepRunning, ErrorKind::CommitConflict];
        assert!(gave_way.contains(&error.kind()), "call {call}: {error}");
    }
    let found = rows(fs);
    assert_eq!((found.len(), found.first()), (usize::try_from(LAST).unwrap(), Some(&(1, 2))), "call {call}");
}

#[test]
fn a_rollback_beside_an_alter_of_vectors_shows_no_key_twice() {
    assert!(before_each_call(&begun(), back, |fs| drop(switch_on(fs)), check) > 30);
}

#[test]
fn an_alter_of_vectors_beside_a_rollback_shows_no_key_twice() {
    assert!(before_each_call(&begun(), switch_on, |fs| drop(back(fs)), check) > 10);
}

/// An alter that is held up keeps nobody from writing: what is written until it goes on is shown, then not, and comes back with the next
/// compaction. The alter warns of that. Before its look it is refused.
#[test]
fn an_upsert_beside_an_alter_of_vectors_that_is_held_up_is_shown_at_once_or_after_a_compaction() {
    let waited = AtomicU64::new(0);
    let check = |call: u64, fs: &FileIoRef, end: Result<()>| {
        if let Err(error) = end {
            assert_eq!(error.kind(), ErrorKind::IllegalSchemaChange, "call {call}: {error}");
        }
        let shown = rows(fs).first().copied();
        if shown != Some((1, 7)) {
            assert_eq!(shown, Some((1, 2)), "call {call}");
            waited.fetch_add(1, Ordering::Relaxed);
        }
        compacted(fs, true);
        assert_eq!(rows(fs).first(), Some(&(1, 7)), "call {call}");
    };
    assert!(before_each_call(&begun(), switch_on, |fs| drop(put(fs, &[(1, 7)]).unwrap()), check) > 10);
    assert!(waited.into_inner() > 0, "no upsert came between the look and the end");
}

/// A writer's storage, which says when it waits for the lock.
#[derive(Debug)]
struct Waits(SyncSender<()>);

impl BeforeCall for Waits {
    fn before(&self, what: &str, _path: &str) -> Result<()> {
        if what == "try_lock" {
            let _ = self.0.try_send(());
        }
        Ok(())
    }
}

/// Before one call of an alter a writer begins; the alter goes on when that has ended, or waits.
struct Alters {
    calls: AtomicU64,
    at: u64,
    io: FaultFileIo,
    writer: Mutex<Option<JoinHandle<CommitReport>>>,
}

impl std::fmt::Debug for Alters {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a writer before call {}", self.at)
    }
}

impl BeforeCall for Alters {
    fn before(&self, _what: &str, _path: &str) -> Result<()> {
        if self.calls.fetch_add(1, Ordering::SeqCst) == self.at {
            let (sender, waits) = sync_channel(1);
            let io = self.io.clone();
            let write = move || {
                let fs: FileIoRef = Arc::new(io.behind(Arc::new(Waits(sender))));
                let patient = BTreeMap::from([("siltstone.upkeep-lock-timeout".to_owned(), "60 s".to_owned())]);
                let table = Table::open_with(fs, ROOT, "main", None, patient).unwrap();
                let mut writer = table.writer(None, WriteOptions::default()).unwrap();
                writer.write(&batch(&[(1, 7)]), None).unwrap();
                writer.commit(Committable::default()).unwrap()
            };
            *self.writer.lock().unwrap() = Some(thread::spawn(write));
            let _ = waits.recv();
        }
        Ok(())
    }
}

/// It went into level 0 between the alter's look at the levels and its end: such files are what the alter promises not to be there, and
/// a compaction of Java moved them up as they were.
#[test]
fn an_upsert_that_an_alter_has_not_seen_comes_after_it() {
    let base = begun();
    let mut after = 0;
    for call in 0.. {
        let io = base.fork();
        let fs: FileIoRef = Arc::new(io.clone());
        let gate = Arc::new(Alters { calls: AtomicU64::new(0), at: call, io: io.clone(), writer: Mutex::new(None) });
        let altered = switch_on(&(Arc::new(io.behind(Arc::clone(&gate) as Arc<dyn BeforeCall>)) as FileIoRef));
        let Some(writer) = gate.writer.lock().unwrap().take() else { break };
        let report = writer.join().unwrap();
        let waits = i64::from(altered.is_ok());
        assert_eq!(report.invisible_rows, waits, "call {call}: {altered:?}");
        assert_eq!(rows(&fs).first(), Some(&(1, if altered.is_ok() { 2 } else { 7 })), "call {call}");
        if altered.is_ok() {
            let newest = SnapshotManager::new(Arc::clone(&fs), ROOT).latest().unwrap().unwrap();
            let schema = open(&fs, ROOT).schema.id;
            assert_eq!(newest.schema_id, schema, "call {call}");
            let live =
                siltstone::scan::live_entries(&open(&fs, ROOT), &newest, &siltstone::scan::EntryFilter::default());
            let mut above = live.unwrap().into_iter().filter(|entry| entry.file.level == 0);
            assert!(above.all(|entry| entry.file.schema_id == schema), "call {call}");
            after += 1;
        }
        compacted(&fs, true);
        assert_eq!(rows(&fs).first(), Some(&(1, 7)), "call {call}");
    }
    assert!(after > 10, "{after}");
}

/// Others come before one call; from another one on nothing is called any more.
struct Killed {
    calls: AtomicU64,
    others: u64,
    death: u64,
    run: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

impl std::fmt::Debug for Killed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "others before call {}, killed before call {}", self.others, self.death)
    }
}

impl BeforeCall for Killed {
    fn before(&self, what: &str, _path: &str) -> Result<()> {
        if what == "unlock" {
            return Ok(());
        }
        let call = self.calls.fetch_add(1, Ordering::SeqCst);
        if call == self.others
            && let Some(run) = self.run.lock().unwrap().take()
        {
            run();
        }
        if call >= self.death { Err(siltstone::Error::new(ErrorKind::Storage, "killed")) } else { Ok(()) }
    }
}

/// Two rows of key 1, then a compaction: two levels.
fn two_levels(fs: &FileIoRef) {
    put(fs, &[(1, 1)]).unwrap();
    put(fs, &[(1, 2)]).unwrap();
    compacted(fs, false);
}

/// Its schema stayed and counted, although nobody had looked whether several levels had come: a key of theirs was there twice after the next
/// commit.
#[test]
fn an_alter_of_vectors_that_is_killed_beside_a_compaction_shows_no_key_twice() {
    let base = begun();
    let (mut ends, mut stayed) = (0, 0);
    for others in (0..).step_by(3) {
        let mut reached = false;
        for death in (others..others + 60).step_by(2) {
            let io = base.fork();
            let fs: FileIoRef = Arc::new(io.clone());
            let beside = Arc::clone(&fs);
            let run: Box<dyn FnOnce() + Send> = Box::new(move || two_levels(&beside));
            let gate = Killed { calls: AtomicU64::new(0), others, death, run: Mutex::new(Some(run)) };
            let gate = Arc::new(gate);
            let behind: FileIoRef = Arc::new(io.behind(Arc::clone(&gate) as Arc<dyn BeforeCall>));
            let end = switch_on(&behind);
            reached |= gate.run.lock().unwrap().is_none();
            let died = gate.calls.load(Ordering::SeqCst) > death;
            if let Err(error) = &end
                && !died
            {
                assert_eq!(error.kind(), ErrorKind::IllegalSchemaChange, "{gate:?}: {error}");
            }
            let is_right = |when: &str| {
                let found = rows(&fs);
                assert_eq!(
                    (found.len(), found.first()),
                    (usize::try_from(LAST).unwrap(), Some(&(1, 2))),
                    "{gate:?} {when}"
                );
            };
            is_right("at once");
            put(&fs, &[(2, 100)]).unwrap();
            is_right("after a commit");
            if died {
                ends += 1;
                // with the lock, which the dead one has no more
                stayed += usize::from(table(&fs).context().options.deletion_vectors_enabled);
                compacted(&fs, false);
                is_right("after a compaction");
                compacted(&fs, true);
                is_right("after a full compaction");
                // jobs of other programs may have been opened under it
                let schemas = |fs: &FileIoRef| open(fs, ROOT).schemas.ids().unwrap();
                let before = schemas(&fs);
                switch_on(&fs).unwrap();
                is_right("after the same alter");
                assert!(schemas(&fs).starts_with(&before), "{gate:?}");
                table(&fs).alter(r#"[{"kind": "add_column", "column": "w", "type": "INT"}]"#).unwrap();
                is_right("after another alter");
            } else {
                break;
            }
        }
        if !reached {
            break;
        }
    }
    assert!(ends > 50, "{ends}");
    assert!(stayed < ends, "{stayed} of {ends}");
}

/// An alter that is held up before it says that its schema counts, until somebody lets it go on.
#[derive(Debug)]
struct Held {
    there: SyncSender<()>,
    goes_on: Mutex<Option<Receiver<()>>>,
}

impl BeforeCall for Held {
    fn before(&self, what: &str, path: &str) -> Result<()> {
        if what == "overwrite" && path.contains("/schema/") {
            let goes_on = self.goes_on.lock().unwrap().take();
            let _ = self.there.try_send(());
            let _ = goes_on.map(|goes_on| goes_on.recv());
        }
        Ok(())
    }
}

type Ended = JoinHandle<Result<()>>;

/// A writer, whose storage starts an alter before one call, which is held up; when the writer waits for the lock that the alter has, the same job
/// is started again, and when that waits, too, or has ended, the alter goes on. So many calls later the writer is killed.
struct Restarted {
    calls: AtomicU64,
    at: u64,
    waited: AtomicU64,
    death: u64,
    io: FaultFileIo,
    again: Arc<dyn Fn(FileIoRef) -> Result<()> + Send + Sync>,
    alter: Mutex<Option<(Ended, SyncSender<()>)>>,
    second: Mutex<Option<Ended>>,
}

impl std::fmt::Debug for Restarted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "an alter before call {}, killed {} calls after it was waited for", self.at, self.death)
    }
}

impl Restarted {
    fn start_alter(&self) {
        let (there, parked) = sync_channel(1);
        let (go_on, goes_on) = sync_channel(1);
        let fs: FileIoRef = Arc::new(self.io.behind(Arc::new(Held { there, goes_on: Mutex::new(Some(goes_on)) })));
        *self.alter.lock().unwrap() = Some((thread::spawn(move || switch_on(&fs)), go_on));
        let _ = parked.recv();
    }

    fn start_again(&self) {
        let (sender, waits) = sync_channel(1);
        let fs: FileIoRef = Arc::new(self.io.behind(Arc::new(Waits(sender))));
        let again = Arc::clone(&self.again);
        *self.second.lock().unwrap() = Some(thread::spawn(move || again(fs)));
        let _ = waits.recv();
        self.let_go_on();
    }

    fn let_go_on(&self) {
        if let Some((_, go_on)) = &*self.alter.lock().unwrap() {
            let _ = go_on.try_send(());
        }
    }
}

impl BeforeCall for Restarted {
    fn before(&self, what: &str, _path: &str) -> Result<()> {
        if self.calls.fetch_add(1, Ordering::SeqCst) == self.at {
            self.start_alter();
        }
        if what == "try_lock" && self.alter.lock().unwrap().is_some() && self.second.lock().unwrap().is_none() {
            self.start_again();
        }
        let is_later = self.second.lock().unwrap().is_some();
        if is_later && what != "unlock" && self.waited.fetch_add(1, Ordering::SeqCst) > self.death {
            return Err(siltstone::Error::new(ErrorKind::Storage, "killed"));
        }
        Ok(())
    }
}

/// An identifier was told to be committed before, by a version that its writer has taken back since, and the writer was killed before it came
/// again: the rows were nowhere. So were those of messages.
#[test]
fn what_a_job_is_told_of_stays_whatever_becomes_of_an_upsert_that_an_alter_has_not_seen() {
    let waits = [
        ("siltstone.upkeep-lock-timeout", "60 s"),
        ("commit.min-retry-wait", "1 ms"),
        ("commit.max-retry-wait", "1 ms"),
    ];
    let opened = move |fs: FileIoRef| {
        let options = waits.map(|(option, value)| (option.to_owned(), value.to_owned()));
        Table::open_with(fs, ROOT, "main", None, BTreeMap::from(options))
    };
    for by_messages in [false, true] {
        let base = begun();
        let fs: FileIoRef = Arc::new(base.clone());
        let messages = by_messages.then(|| prepared(&fs, &[(1, 7)]));
        let commit = move |fs: FileIoRef| {
            if let Some(messages) = messages.clone() {
                let committable = Committable { messages, ..Committable::default() };
                return opened(fs)?.commit_messages(None, committable, None).map(drop);
            }
            let mut writer = opened(fs)?.writer(Some("job"), WriteOptions::default())?;
            writer.write(&batch(&[(1, 7)]), None)?;
            writer.commit(Committable { identifier: Some(7), ..Committable::default() }).map(drop)
        };
        let (mut told, mut deaths) = (0, 0);
        for at in (0..).step_by(2) {
            let mut reached = false;
            for death in (0..80).step_by(8) {
                let io = base.fork();
                let fs: FileIoRef = Arc::new(io.clone());
                let gate = Arc::new(Restarted {
                    calls: AtomicU64::new(0),
                    at,
                    waited: AtomicU64::new(0),
                    death,
                    io: io.clone(),
                    again: Arc::new(commit.clone()),
                    alter: Mutex::new(None),
                    second: Mutex::new(None),
                });
                let first = commit(Arc::new(io.behind(Arc::clone(&gate) as Arc<dyn BeforeCall>)));
                gate.let_go_on();
                if let Some((alter, _)) = gate.alter.lock().unwrap().take() {
                    reached = true;
                    drop(alter.join().unwrap());
                }
                let Some(second) = gate.second.lock().unwrap().take() else { break };
                let second = second.join().unwrap();
                deaths += usize::from(first.is_err());
                told += usize::from(second.is_ok());
                compacted(&fs, true);
                let is_there = rows(&fs).first() == Some(&(1, 7));
                assert!(is_there || (first.is_err() && second.is_err()), "{gate:?}: {first:?}, {second:?}");
                if first.is_err() && second.is_err() {
                    continue;
                }
                let end = commit(Arc::clone(&fs));
                assert!(end.is_ok() || by_messages, "{gate:?}: {end:?}");
                let newest = SnapshotManager::new(Arc::clone(&fs), ROOT);
                let named = newest.existing(newest.ids().unwrap()).unwrap();
                let named = named.iter().filter(|version| by_messages || version.commit_identifier == 7);
                let adds = named.filter(|version| version.commit_kind == siltstone::snapshot::CommitKind::Append);
                assert!(by_messages || adds.count() == 1, "{gate:?}: committed twice");
            }
            if !reached {
                break;
            }
        }
        assert!(told > 20 && deaths > 20, "{told} told, {deaths} killed");
    }
}
