//! Another program, which knows neither lock nor records, commits and expires before each storage call of ours.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicU64, AtomicUsize, Ordering},
};

use siltstone::{
    Error, ErrorKind, Result,
    commit::Committable,
    env::{ManualClock, SystemClock},
    fs::{BeforeCall, FaultFileIo, FileIo as _, FileIoRef, Meanwhile},
    io::TableContext,
    maintenance::{automatic::Committer, expire::expire_snapshots, rollback::rollback},
    manifest::ManifestStore,
    scan::{EntryFilter, ScanRequest, Start, StreamScan, StreamScanOptions, StreamStep, VersionSelector, live_entries},
    snapshot::{Snapshot, SnapshotManager},
};

use super::{
    ROOT, append, busy_table, check_whole,
    dies::{dies, versions},
    open, table, until, written,
};

fn snapshots(fs: &FileIoRef) -> SnapshotManager {
    SnapshotManager::new(Arc::clone(fs), ROOT)
}

/// An empty commit of the other program on the snapshot with the largest id, wherever that belongs.
fn others_commit(fs: &FileIoRef) -> Snapshot {
    let snapshots = snapshots(fs);
    let id = *snapshots.listed_ids().unwrap().last().unwrap();
    let next = built_on(fs, &snapshots.get(id).unwrap());
    publish(fs, &next);
    next
}

fn built_on(fs: &FileIoRef, base: &Snapshot) -> Snapshot {
    let ctx = open(fs, "main");
    let store = ManifestStore::new(&ctx.fs, &ctx.paths, &ctx.options).unwrap();
    let manifests = store.read_lists(base).unwrap();
    let (base_manifest_list, _) = store.write_list(&manifests).unwrap();
    let (delta_manifest_list, _) = store.write_list(&[]).unwrap();
    Snapshot {
        id: base.id + 1,
        base_manifest_list,
        base_manifest_list_size: None,
        delta_manifest_list,
        delta_manifest_list_size: None,
        commit_user: "another program".to_owned(),
        delta_record_count: Some(0),
        properties: None,
        ..base.clone()
    }
}

fn publish(fs: &FileIoRef, snapshot: &Snapshot) {
    fs.publish(&snapshots(fs).path(snapshot.id), snapshot.to_json().unwrap().as_bytes(), true).unwrap();
    hint(fs, snapshot.id);
}

/// As Java writes it: whatever else is there.
fn hint(fs: &FileIoRef, id: i64) {
    fs.overwrite(&snapshots(fs).hint_path("LATEST"), id.to_string().as_bytes()).unwrap();
}

/// The other program goes back to a snapshot: its hint, then the later ones, newest first.
fn others_roll_back(fs: &FileIoRef, to: i64) {
    let snapshots = snapshots(fs);
    hint(fs, to);
    for id in snapshots.listed_ids().unwrap().into_iter().rev().filter(|id| *id > to) {
        fs.delete(&snapshots.path(id)).unwrap();
    }
}

/// The other program keeps the newest snapshots, so many.
fn others_expire_but(fs: &FileIoRef, kept: usize) {
    let snapshots = snapshots(fs);
    let ids = snapshots.listed_ids().unwrap();
    let first = ids.len() - kept;
    for id in &ids[..first] {
        fs.delete(&snapshots.path(*id)).unwrap();
    }
    snapshots.write_earliest_hint(ids[first]).unwrap();
}

fn others_expire(fs: &FileIoRef) {
    others_expire_but(fs, 2);
}

/// Names of the files of the newest version.
fn files(fs: &FileIoRef) -> Vec<String> {
    let newest = snapshots(fs).latest().unwrap().unwrap();
    let live = live_entries(&open(fs, "main"), &newest, &EntryFilter::default()).unwrap();
    live.into_iter().map(|entry| entry.file.into_inner().file_name).collect()
}

fn behind(io: &FaultFileIo, fs: &FileIoRef, meanwhile: &Arc<Meanwhile>) -> TableContext {
    let gate: FileIoRef = Arc::new(io.behind(Arc::<Meanwhile>::clone(meanwhile)));
    TableContext { fs: gate, ..open(fs, "main") }
}

#[test]
fn what_others_build_on_a_version_while_it_is_rolled_back_goes_too() {
    let (made, _) = busy_table();
    let swept = AtomicUsize::new(0);
    for call in 0.. {
        let io = made.fork();
        let fs: FileIoRef = Arc::new(io.clone());
        let others = Arc::clone(&fs);
        let meanwhile = Arc::new(Meanwhile::new().before_call(call, move || {
            others_commit(&others);
            Ok(())
        }));
        let ctx = behind(&io, &fs, &meanwhile);
        let result = rollback(&ctx, &VersionSelector::Snapshot(5), false);
        if meanwhile.left() > 0 {
            assert!(call > 20, "{call}");
            break;
        }
        let Ok(report) = result else { continue };
        swept.fetch_add(
            report.plan.notes.iter().filter(|note| note.contains("which others made meanwhile")).count(),
            Ordering::Relaxed,
        );
        let ids = snapshots(&fs).ids().unwrap();
        assert_eq!(snapshots(&fs).listed_ids().unwrap(), ids, "before call {call}");
        assert!(ids == [1, 2, 3, 4, 5] || ids == [1, 2, 3, 4, 5, 6], "before call {call}: {ids:?}");
        // Java believes it where the next snapshot does not exist
        assert_eq!(snapshots(&fs).hint("LATEST").unwrap().as_ref(), ids.last(), "before call {call}");
        let before = files(&fs).len();
        for row in 0..6 {
            append(&fs, "main", (1000 + row, 0));
        }
        assert_eq!(files(&fs).len(), before + 6, "before call {call}: a commit is lost");
        check_whole(&fs, 0);
    }
    assert!(swept.into_inner() > 2);
}

/// Real Java went back to snapshot 1 while an expiry was held up that was to keep the newest one: it removed snapshot 1, too, and
/// the table was left without any version. The expiry looks at what stays just before its record, and before the first file goes.
#[test]
fn an_expiry_gives_up_when_another_program_has_taken_back_the_version_that_was_to_stay() {
    let (made, fs) = busy_table();
    let keep = until(9, 9);
    let begins =
        |calls: &[String]| calls.iter().position(|call| call.contains("overwrite") && call.ends_with("/EARLIEST"));
    let undisturbed = made.fork();
    let ctx = TableContext { fs: Arc::new(undisturbed.clone()), ..open(&fs, "main") };
    let before = undisturbed.trace().len();
    expire_snapshots(&ctx, &keep, false).unwrap();
    let last = begins(&undisturbed.trace()[before..]).unwrap() as u64;
    let mut gave_up = 0;
    for call in 0..=last {
        let io = made.fork();
        let fs: FileIoRef = Arc::new(io.clone());
        let others = Arc::clone(&fs);
        let meanwhile = Arc::new(Meanwhile::new().before_call(call, move || {
            others_roll_back(&others, 1);
            Ok(())
        }));
        let ctx = behind(&io, &fs, &meanwhile);
        let result = expire_snapshots(&ctx, &keep, false);
        assert_eq!(meanwhile.left(), 0, "{call} of {last}");
        if call == last {
            // from here on files go: SECURITY says that one program should do the upkeep
            assert!(result.is_ok(), "{result:?}");
            break;
        }
        assert_eq!(snapshots(&fs).ids().unwrap(), [1], "before call {call}: {result:?}");
        if let Err(error) = result {
            assert_eq!(error.kind(), ErrorKind::VersionInUse, "before call {call}: {error:?}");
            gave_up += 1;
        }
        check_whole(&fs, 0);
        append(&fs, "main", (1000, 0));
        assert_eq!(snapshots(&fs).ids().unwrap(), [1, 2], "before call {call}");
        check_whole(&fs, 0);
    }
    assert!(gave_up > 20, "{gave_up}");
}

/// The calls of a process.
#[derive(Debug, Default)]
struct Listed(Mutex<Vec<String>>);

impl BeforeCall for Listed {
    fn before(&self, what: &str, path: &str) -> Result<()> {
        self.0.lock().unwrap().push(format!("{what} {path}"));
        Ok(())
    }
}

/// The calls of a rollback up to the second look at its target, and how many of them come before its record is there.
fn calls_of_rollback(made: &FaultFileIo, to: i64) -> (Vec<String>, usize) {
    let undisturbed = made.fork();
    let listed = Arc::new(Listed::default());
    let gate: FileIoRef = Arc::new(undisturbed.behind(Arc::<Listed>::clone(&listed)));
    let fs: FileIoRef = Arc::new(undisturbed.clone());
    rollback(&TableContext { fs: gate, ..open(&fs, "main") }, &VersionSelector::Snapshot(to), false).unwrap();
    let mut calls = listed.0.lock().unwrap().clone();
    let record = calls.iter().position(|call| call.starts_with("publish: link") && call.contains("/removal-")).unwrap();
    let target = format!("/snapshot-{to}");
    let look = calls[record..].iter().position(|call| call.starts_with("read") && call.ends_with(&target)).unwrap();
    calls.truncate(record + look + 1);
    (calls, record + 1)
}

/// A rollback was held up before its record, and meanwhile another program let the target expire: then the later versions went,
/// too, and the table was left without any version. Now the newest one stays.
#[test]
fn a_rollback_gives_up_when_another_program_has_let_its_target_expire() {
    let (made, fs) = busy_table();
    let live = files(&fs);
    let (calls, _) = calls_of_rollback(&made, 5);
    let (mut before_record, mut after_record) = (0, 0);
    for (call, kept) in (0..calls.len()).flat_map(|call| [(call, 1), (call, 2)]) {
        let io = made.fork();
        let fs: FileIoRef = Arc::new(io.clone());
        let others = Arc::clone(&fs);
        let meanwhile = Arc::new(Meanwhile::new().before_call(call as u64, move || {
            others_expire_but(&others, kept);
            Ok(())
        }));
        let result = rollback(&behind(&io, &fs, &meanwhile), &VersionSelector::Snapshot(5), false);
        let at = format!("{kept} kept before call {call}, {}: {result:?}", calls[call]);
        assert_eq!(meanwhile.left(), 0, "{at}");
        let error = result.expect_err(&at);
        assert!(matches!(error.kind(), ErrorKind::SnapshotExpired | ErrorKind::SnapshotNotFound), "{at}");
        let ids = snapshots(&fs).ids().unwrap();
        // with a record the one before the newest is taken back already
        if ids.len() == kept {
            before_record += 1;
        } else {
            after_record += 1;
        }
        assert_eq!(ids.last(), Some(&9), "{at}");
        assert_eq!(snapshots(&fs).listed_ids().unwrap(), ids, "{at}");
        assert_eq!(files(&fs), live, "{at}");
        check_whole(&fs, 0);
        append(&fs, "main", (1000, 0));
        assert_eq!(files(&fs).len(), live.len() + 1, "{at}");
        check_whole(&fs, 0);
    }
    assert!(before_record > 40 && after_record > 0, "{before_record}, {after_record}");
}

/// Another program keeps the newest snapshot alone before one call of a process, which dies before the same call or a later one.
#[derive(Debug)]
struct OthersExpire {
    fs: FileIoRef,
    before: u64,
    dies: u64,
    calls: AtomicU64,
}

impl BeforeCall for OthersExpire {
    fn before(&self, _: &str, _: &str) -> Result<()> {
        let call = self.calls.fetch_add(1, Ordering::SeqCst);
        if call == self.before {
            others_expire_but(&self.fs, 1);
        }
        if call >= self.dies { Err(Error::new(ErrorKind::Internal, "the process was killed")) } else { Ok(()) }
    }
}

/// The rollback died where it would have seen it, or anywhere while it was called off: the next upkeep ends it.
#[test]
fn a_rollback_whose_target_another_program_let_expire_is_called_off_by_the_next_upkeep() {
    let (made, fs) = busy_table();
    let live = files(&fs);
    let first = calls_of_rollback(&made, 5).1 as u64;
    for dies in first.. {
        let io = made.fork();
        let fs: FileIoRef = Arc::new(io.clone());
        let gate = Arc::new(OthersExpire { fs: Arc::clone(&fs), before: first, dies, calls: AtomicU64::new(0) });
        let ctx = TableContext { fs: Arc::new(io.behind(Arc::<OthersExpire>::clone(&gate))), ..open(&fs, "main") };
        let result = rollback(&ctx, &VersionSelector::Snapshot(5), false);
        let ended = gate.calls.load(Ordering::SeqCst) <= dies;
        if let Err(error) = snapshots(&fs).latest() {
            assert!(error.hint_text().unwrap().contains("expire snapshots"), "died before call {dies}: {error:?}");
        }
        expire_snapshots(&open(&fs, "main"), &until(9, 9), false).unwrap();
        assert_eq!(snapshots(&fs).ids().unwrap(), [9], "died before call {dies}: {result:?}");
        assert_eq!(files(&fs), live, "died before call {dies}");
        check_whole(&fs, 0);
        append(&fs, "main", (1000, 0));
        assert_eq!(files(&fs).len(), live.len() + 1, "died before call {dies}");
        if ended {
            assert!(dies > first + 20, "{dies}");
            assert_eq!(result.unwrap_err().kind(), ErrorKind::SnapshotExpired);
            break;
        }
    }
}

/// It waited for 3 without end, though 5 was there, and a consumer would have kept the table from expiring.
#[test]
fn a_stream_says_that_others_have_committed_on_what_a_dead_rollback_took_back() {
    let (io, fs) = versions(4);
    let recorded = ("overwrite", "/t/snapshot/LATEST");
    drop(rollback(&dies(&io, recorded, Meanwhile::new()), &VersionSelector::Snapshot(2), false));
    assert_eq!(snapshots(&fs).ids().unwrap(), [1, 2]);
    let options = StreamScanOptions { start: Start::Snapshot(2), end: None };
    let mut stream =
        StreamScan::new(&open(&fs, "main"), ScanRequest::default(), &options, Arc::new(SystemClock)).unwrap();
    assert!(matches!(stream.step().unwrap(), StreamStep::Rows { snapshot_id: 2, .. }));
    assert!(matches!(stream.step().unwrap(), StreamStep::Wait));
    assert_eq!(others_commit(&fs).id, 5);
    let error = stream.step().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::CorruptFile);
    assert!(
        error.message().starts_with("snapshot 3 was taken back by a rollback or fast-forward, and snapshot 5"),
        "{error}"
    );
}

#[test]
fn a_commit_is_not_acknowledged_that_a_snapshot_of_others_behind_it_hides() {
    let (io, fs) = busy_table();
    let newest = snapshots(&fs).latest().unwrap().unwrap();
    let stray = built_on(&fs, &newest);
    let ctx = open(&fs, "main");
    rollback(&ctx, &VersionSelector::Snapshot(newest.id - 2), false).unwrap();
    // it was held up for so long
    io.publish(&snapshots(&fs).path(stray.id), stray.to_json().unwrap().as_bytes(), true).unwrap();
    append(&fs, "main", (1000, 0));
    let before = files(&fs);
    let messages = written(&ctx, &[(1001, 0)]);
    let hidden = Committer::with_new_user(&ctx).with_clock(Arc::new(ManualClock::at(0)));
    let error = hidden.commit(Committable { messages, ..Committable::default() }).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::CorruptFile, "{error}");
    assert!(error.to_string().contains("is missing, and snapshot"), "{error}");
    assert_eq!(files(&fs), before);
    assert_eq!(snapshots(&fs).latest_id().unwrap(), Some(newest.id - 1));
    rollback(&ctx, &VersionSelector::Snapshot(newest.id - 1), false).unwrap();
    append(&fs, "main", (1001, 0));
    append(&fs, "main", (1002, 0));
    assert_eq!(files(&fs).len(), before.len() + 2);
}

#[test]
fn a_commit_beside_commits_and_expiries_of_others_is_in_the_newest_version_once() {
    let (made, fs) = table(&[], &[("bucket", "-1"), ("write-only", "true")]);
    append(&fs, "main", (1, 1));
    append(&fs, "main", (2, 2));
    for call in 0.. {
        let io = made.fork();
        let fs: FileIoRef = Arc::new(io.clone());
        let others = Arc::clone(&fs);
        let meanwhile = Arc::new(Meanwhile::new().before_call(call, move || {
            (0..3).for_each(|_| drop(others_commit(&others)));
            others_expire(&others);
            Ok(())
        }));
        let ctx = behind(&io, &fs, &meanwhile);
        let messages = written(&open(&fs, "main"), &[(3, 3)]);
        let own = messages[0].data.new_files[0].file_name.clone();
        let result = Committer::with_new_user(&ctx).commit(Committable { messages, ..Committable::default() });
        if meanwhile.left() > 0 {
            assert!(call > 20, "{call}");
            break;
        }
        let times = files(&fs).into_iter().filter(|name| *name == own).count();
        match &result {
            Ok(_) => assert_eq!(times, 1, "before call {call}: {result:?}"),
            Err(error) => assert!(
                error.to_string().contains("it cannot be told any more") || times == 0,
                "before call {call}: {error}"
            ),
        }
        let ids = snapshots(&fs).ids().unwrap();
        assert!(ids.windows(2).all(|pair| pair[0] + 1 == pair[1]), "before call {call}: {ids:?}");
    }
}
