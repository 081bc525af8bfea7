//! What expires by its age is looked at again at the last moment: others renew it at every storage call of the expiry.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use arrow_array::{ArrayRef, Int32Array, Int64Array, RecordBatch};
use siltstone::{
    Error, ErrorKind, Result,
    cleanup::Report,
    env::now_millis,
    fs::{BeforeCall, FaultFileIo, FileIo as _, FileIoRef, Meanwhile},
    io::TableContext,
    maintenance::{
        expire::{PartitionExpiry, Retention, expire_consumers, expire_partitions, expire_snapshots},
        tag::{CreateTag, create_automatic, create_tag, delete_tag, expire_tags, replace_tag},
    },
    options::PartitionExpireStrategy,
    scan::{EntryFilter, live_entries},
    schema::{NewTable, SchemaManager},
    snapshot::{ConsumerManager, ConsumerProgress, SnapshotManager, TagManager},
    table::Table,
    types::{DataField, DataType, TypeKind},
};

use super::{ROOT, append, commit, open, table, written};

/// Runs an expiry once for each of its storage calls; before that call `others` do something. `check` sees the storage, what the
/// others came to, and the expiry.
fn beside<T: Send + 'static>(
    made: &FaultFileIo,
    expire: impl Fn(&TableContext) -> Result<Report>,
    others: impl Fn(&FileIoRef) -> T + Clone + Send + 'static,
    check: impl Fn(&str, &FileIoRef, T, Result<Report>),
) {
    for call in 0.. {
        let io = made.fork();
        let fs: FileIoRef = Arc::new(io.clone());
        let came: Arc<Mutex<Option<T>>> = Arc::default();
        let then = {
            let (fs, came, others) = (Arc::clone(&fs), Arc::clone(&came), others.clone());
            move || {
                *came.lock().unwrap() = Some(others(&fs));
                Ok(())
            }
        };
        let meanwhile: Arc<Meanwhile> = Arc::new(Meanwhile::new().before_call(call, then));
        let behind: FileIoRef = Arc::new(io.behind(meanwhile));
        let result = expire(&TableContext { fs: behind, ..open(&fs, "main") });
        let Some(came) = came.lock().unwrap().take() else {
            assert!(call > 3, "{call}");
            return;
        };
        check(&format!("others came before call {call}: {result:?}"), &fs, came, result);
    }
}

/// A table `p INT, k INT, v BIGINT` with a partition for each of 1 and 2, written a while ago; and a time between then and now.
fn partitioned() -> (FaultFileIo, i64) {
    let io = FaultFileIo::new();
    let fs: FileIoRef = Arc::new(io.clone());
    let int = |id, name: &str| DataField::new(id, name, DataType::new(TypeKind::Int));
    let schema = NewTable {
        fields: vec![int(0, "p"), int(1, "k"), DataField::new(2, "v", DataType::new(TypeKind::BigInt))],
        primary_key: Vec::new(),
        partition_by: vec!["p".to_owned()],
        options: BTreeMap::from([("commit.min-retry-wait".to_owned(), "1 ms".to_owned())]),
        comment: None,
    };
    SchemaManager::new(Arc::clone(&fs), ROOT).create(schema.into_schema().unwrap()).unwrap();
    write(&fs, &[(1, 10), (2, 20)]);
    std::thread::sleep(Duration::from_millis(30));
    let then = now_millis();
    std::thread::sleep(Duration::from_millis(30));
    (io, then)
}

/// Rows of a partition and a value.
fn write(fs: &FileIoRef, rows: &[(i32, i32)]) {
    let table = Table::open_with(Arc::clone(fs), ROOT, "main", None, BTreeMap::new()).unwrap();
    let columns: [(&str, ArrayRef); 3] = [
        ("p", Arc::new(rows.iter().map(|r| Some(r.0)).collect::<Int32Array>())),
        ("k", Arc::new(rows.iter().map(|r| Some(r.1)).collect::<Int32Array>())),
        ("v", Arc::new(rows.iter().map(|_| Some(0)).collect::<Int64Array>())),
    ];
    let options = siltstone::write::WriteOptions { threads: Some(1), ..Default::default() };
    let mut writer = siltstone::write::TableWrite::new(table.context(), options).unwrap();
    writer.write(&RecordBatch::try_from_iter(columns).unwrap(), None).unwrap();
    commit(table.context(), writer.prepare_commit().unwrap());
}

/// How many rows each partition has.
fn rows(fs: &FileIoRef) -> BTreeMap<String, i64> {
    let ctx = open(fs, "main");
    let latest = SnapshotManager::new(Arc::clone(fs), ROOT).latest().unwrap().unwrap();
    let mut rows = BTreeMap::new();
    for entry in live_entries(&ctx, &latest, &EntryFilter::default()).unwrap() {
        *rows.entry(ctx.paths.partition_path(&entry.partition).unwrap()).or_default() += entry.file.row_count;
    }
    rows
}

const HOUR: i64 = 3_600_000;

fn idle(strategy: PartitionExpireStrategy) -> PartitionExpiry {
    let kept = Duration::from_millis(HOUR.unsigned_abs());
    PartitionExpiry { kept, strategy, pattern: None, formatter: None, limit: 100, batch: 0 }
}

#[test]
fn a_partition_that_is_renewed_before_its_drop_is_published_stays_with_all_its_rows() {
    let (io, then) = partitioned();
    let expire =
        |ctx: &TableContext| expire_partitions(ctx, &idle(PartitionExpireStrategy::UpdateTime), then + HOUR, false);
    let (stayed, dropped) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let renew = |fs: &FileIoRef| {
        let before = rows(fs).len();
        write(fs, &[(1, 11)]);
        before
    };
    beside(&io, expire, renew, |what, fs, before, report| {
        let report = report.unwrap_or_else(|error| panic!("{what}: {error:?}"));
        let names = report.details["partitions"].clone();
        if before == 2 {
            // the drop was not published yet
            assert_eq!(rows(fs), BTreeMap::from([("p=1".to_owned(), 2)]), "{what}");
            assert_eq!(names, serde_json::json!(["p=2"]), "{what}");
            stayed.fetch_add(1, Ordering::Relaxed);
        } else {
            assert_eq!(rows(fs), BTreeMap::from([("p=1".to_owned(), 1)]), "{what}");
            assert_eq!(names, serde_json::json!(["p=1", "p=2"]), "{what}");
            dropped.fetch_add(1, Ordering::Relaxed);
        }
    });
    assert!(stayed.into_inner() > 10 && dropped.into_inner() > 0);
}

#[test]
fn where_all_partitions_are_renewed_meanwhile_there_is_no_snapshot() {
    let (io, then) = partitioned();
    let fs: FileIoRef = Arc::new(io.clone());
    let others = Arc::clone(&fs);
    let renew = move || {
        write(&others, &[(1, 11), (2, 21)]);
        Ok(())
    };
    let meanwhile = Meanwhile::new().before("publish: link", "/snapshot/snapshot-2", renew);
    let ctx = TableContext { fs: Arc::new(io.behind(Arc::new(meanwhile))), ..open(&fs, "main") };
    let report = expire_partitions(&ctx, &idle(PartitionExpireStrategy::UpdateTime), then + HOUR, false).unwrap();
    assert_eq!((&report.details["partitions"], &report.details["snapshots"]), (&[0; 0].into(), &[0; 0].into()));
    assert_eq!(SnapshotManager::new(fs, ROOT).ids().unwrap(), [1, 2]);
}

/// No manifest can be written once snapshot 2 is there.
#[derive(Debug, Default)]
struct FullAfterTwo(AtomicBool);

impl BeforeCall for FullAfterTwo {
    fn before(&self, what: &str, path: &str) -> Result<()> {
        if what == "publish: remove temporary file" && path.ends_with("/snapshot/snapshot-2") {
            self.0.store(true, Ordering::Relaxed);
        }
        let fails = self.0.load(Ordering::Relaxed) && path.contains("/manifest/") && !["read", "open"].contains(&what);
        if fails { Err(Error::new(ErrorKind::Storage, "the disk is full")) } else { Ok(()) }
    }
}

#[test]
fn an_expiry_of_partitions_that_fails_in_a_later_batch_says_what_went_before() {
    let (io, then) = partitioned();
    let fs: FileIoRef = Arc::new(io.clone());
    let ctx = TableContext { fs: Arc::new(io.behind(Arc::new(FullAfterTwo::default()))), ..open(&fs, "main") };
    let one_each = PartitionExpiry { batch: 1, ..idle(PartitionExpireStrategy::UpdateTime) };
    let error = expire_partitions(&ctx, &one_each, then + HOUR, false).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Storage, "{error}");
    assert!(error.message().starts_with("snapshots [2] have dropped partitions p=1"), "{error}");
    assert_eq!(rows(&fs), BTreeMap::from([("p=2".to_owned(), 1)]));
}

/// Nobody waits for the lock: who holds it is stopped.
const AT_ONCE: (&str, &str) = ("siltstone.upkeep-lock-timeout", "0 ms");

fn is_busy(error: &Error) -> bool {
    error.kind() == ErrorKind::UpkeepRunning
}

#[test]
fn a_tag_that_is_replaced_by_a_younger_one_before_it_expires_stays() {
    let (io, fs) = table(&[], &[AT_ONCE]);
    append(&fs, "main", (1, 1));
    append(&fs, "main", (2, 2));
    let minute = CreateTag { retain: Some(Duration::from_secs(60)), ..CreateTag::default() };
    create_tag(&open(&fs, "main"), "short", &minute).unwrap();
    let day = CreateTag { retain: Some(Duration::from_secs(86_400)), ..CreateTag::default() };
    let now = now_millis() + 120_000;
    let expire = |ctx: &TableContext| expire_tags(ctx, None, now, false);
    let renew = move |fs: &FileIoRef| replace_tag(&open(fs, "main"), "short", &day).map(drop);
    let stayed = AtomicUsize::new(0);
    beside(&io, expire, renew, |what, fs, renewed, report| {
        let gone = report.unwrap_or_else(|error| panic!("{what}: {error:?}")).details["tags"].clone();
        let there = TagManager::new(Arc::clone(fs), ROOT).exists("short").unwrap();
        match renewed {
            Ok(()) => {
                assert_eq!((there, gone), (true, serde_json::json!([])), "{what}");
                stayed.fetch_add(1, Ordering::Relaxed);
            }
            // the expiry was about to delete it, or had done so
            Err(error) => {
                assert!(is_busy(&error) || error.kind() == ErrorKind::TagNotFound, "{what}: {error:?}");
                assert_eq!((there, gone), (false, serde_json::json!(["short"])), "{what}");
            }
        }
    });
    assert!(stayed.into_inner() > 1);
}

/// Automatic tags of ten days, of which two are kept; the last one is due. `others` come before the lock is taken to delete what
/// is too much.
fn automatic_tags(others: impl Fn(&TableContext) -> Result<()> + Send + 'static) -> Vec<String> {
    let (io, fs) = table(&[], &[AT_ONCE, ("tag.automatic-creation", "watermark"), ("write-only", "true")]);
    let day = |n: i64| n * 24 * HOUR;
    for n in 0..3 {
        let ctx = open(&fs, "main");
        let watermark = Some(day(20_000 + n));
        let messages = written(&ctx, &[(1, n)]);
        let committable = siltstone::commit::Committable { watermark, messages, ..Default::default() };
        siltstone::maintenance::automatic::Committer::with_new_user(&ctx).commit(committable).unwrap();
        if n < 2 {
            create_automatic(&ctx).unwrap();
        }
    }
    let dynamic = BTreeMap::from([("tag.num-retained-max".to_owned(), "2".to_owned())]);
    let ctx = Table::open_with(Arc::clone(&fs), ROOT, "main", None, dynamic).unwrap().context().clone();
    let then = {
        let ctx = ctx.clone();
        move || others(&ctx)
    };
    // the first lock is that of making the tag
    let meanwhile =
        Meanwhile::new().before("try_lock", "/upkeep.lock", || Ok(())).before("try_lock", "/upkeep.lock", then);
    let behind: FileIoRef = Arc::new(io.behind(Arc::new(meanwhile)));
    create_automatic(&TableContext { fs: behind, ..ctx }).unwrap();
    TagManager::new(fs, ROOT).names().unwrap()
}

#[test]
fn an_automatic_tag_is_not_too_much_any_more_when_another_job_has_deleted_one() {
    let undisturbed = automatic_tags(|_| Ok(()));
    assert_eq!(undisturbed.len(), 2, "{undisturbed:?}");
    let middle = undisturbed[0].clone();
    let kept = automatic_tags(move |ctx| delete_tag(ctx, &middle, false).map(drop));
    assert_eq!((kept.len(), &kept[1]), (2, &undisturbed[1]), "{kept:?}");
}

fn reader(fs: &FileIoRef, next: i64) -> Result<()> {
    Table::open_with(Arc::clone(fs), ROOT, "main", None, BTreeMap::new())?.reset_consumer("reader", Some(next))
}

fn progress(fs: &FileIoRef) -> Option<i64> {
    ConsumerManager::new(Arc::clone(fs), ROOT).next_snapshot("reader").unwrap()
}

/// A table with three versions and a consumer that has read the first, and the time after that.
fn consumed() -> (FaultFileIo, i64) {
    let (io, fs) = table(&[], &[AT_ONCE, ("write-only", "true")]);
    (0..3).for_each(|k| append(&fs, "main", (k, 0)));
    reader(&fs, 2).unwrap();
    let then = io.clock_millis() + 1;
    append(&fs, "main", (3, 0));
    (io, then)
}

#[test]
fn a_consumer_whose_reader_goes_on_before_it_is_deleted_stays_or_the_reader_is_told() {
    let (io, then) = consumed();
    let (stayed, told) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let expire = |ctx: &TableContext| expire_consumers(ctx, then, then, false);
    beside(
        &io,
        expire,
        |fs| reader(fs, 3),
        |what, fs, went_on, report| {
            let gone = report.unwrap_or_else(|error| panic!("{what}: {error:?}")).details["consumers"].clone();
            // also while its reader still waits for the lock: snapshots may expire before the reader gets it
            assert_eq!(progress(fs), Some(3), "{what}");
            match went_on {
                Ok(()) => {
                    stayed.fetch_add(usize::from(gone == serde_json::json!([])), Ordering::Relaxed);
                }
                Err(error) => {
                    assert!(is_busy(&error), "{what}: {error:?}");
                    told.fetch_add(1, Ordering::Relaxed);
                }
            }
        },
    );
    assert!(stayed.into_inner() > 1 && told.into_inner() > 1);
}

#[test]
fn a_consumer_that_is_renewed_stays_also_when_the_expiry_cannot_look_again_or_put_it_back() {
    for (what, path) in [("status", ".tmp"), ("read", ".tmp"), ("publish: link", "/consumer/consumer-reader")] {
        let (io, then) = consumed();
        let fs: FileIoRef = Arc::new(io.clone());
        let others = Arc::clone(&fs);
        let renew = move || ConsumerManager::new(others, ROOT).write("reader", &ConsumerProgress::changes_of(3, None));
        let fails = || Err(Error::new(ErrorKind::Storage, "this call fails"));
        let meanwhile = Meanwhile::new().before("rename_dir", "/consumer/consumer-reader", renew);
        // the first file of that kind tells the storage's clock
        let clock = if what == "status" { meanwhile.before(what, path, || Ok(())) } else { meanwhile };
        let meanwhile = Arc::new(clock.before(what, path, fails));
        let behind: FileIoRef = Arc::new(io.behind(Arc::<Meanwhile>::clone(&meanwhile)));
        let error = expire_consumers(&TableContext { fs: behind, ..open(&fs, "main") }, then, then, false).unwrap_err();
        assert_eq!((error.kind(), meanwhile.left()), (ErrorKind::Storage, 0), "{what}");
        assert_eq!(progress(&fs), Some(3), "{what}");
    }
}

#[test]
fn a_reader_that_goes_on_beside_an_expiry_of_its_consumer_is_not_forgotten() {
    // the other way round: the reader is stopped, the expiry runs to its end
    let (io, then) = consumed();
    let expires = move |fs: &FileIoRef| expire_consumers(&open(fs, "main"), then, then, false).map(drop);
    let at = ConsumerProgress::changes_of(3, None);
    let go_on = |ctx: &TableContext| {
        ConsumerManager::new(ctx.fs.clone(), ROOT)
            .record(ROOT, "reader", (Some(&at), &at), Duration::ZERO)
            .map(|()| Report::default())
    };
    for call in 0.. {
        let io = io.fork();
        let fs: FileIoRef = Arc::new(io.clone());
        let others = Arc::clone(&fs);
        let meanwhile = Arc::new(Meanwhile::new().before_call(call, move || expires(&others)));
        let behind: FileIoRef = Arc::new(io.behind(Arc::<Meanwhile>::clone(&meanwhile)));
        go_on(&TableContext { fs: behind, ..open(&fs, "main") }).unwrap();
        if meanwhile.left() > 0 {
            assert_eq!(call, 3, "a record is three calls of the storage");
            return;
        }
        assert_eq!(progress(&fs), Some(3), "call {call}");
    }
}

#[test]
fn an_expiry_of_consumers_that_died_holds_no_reader_up() {
    let (io, then) = consumed();
    let mut died = 0;
    for call in 0.. {
        let io = io.fork();
        let fs: FileIoRef = Arc::new(io.clone());
        let ctx = open(&fs, "main");
        io.fail_after(call, siltstone::fs::FailWhen::Before);
        let result = expire_consumers(&ctx, then, then, false);
        io.heal();
        let mark = format!("{ROOT}/siltstone/consumers-expire");
        died += usize::from(io.exists(&mark).unwrap());
        reader(&fs, 4).unwrap();
        assert_eq!((progress(&fs), io.exists(&mark).unwrap()), (Some(4), false), "call {call}: {result:?}");
        if result.is_ok() && !io.exists(&mark).unwrap() && call > 20 {
            break;
        }
    }
    assert!(died > 2, "{died}");
}

#[test]
fn a_consumer_that_a_dead_expiry_had_taken_out_of_its_place_comes_back_before_snapshots_expire() {
    let (io, then) = consumed();
    let mut aside = 0;
    for call in 0..60 {
        let io = io.fork();
        let fs: FileIoRef = Arc::new(io.clone());
        let is_aside = || io.paths().iter().any(|path| path.contains("/consumer/."));
        let ctx = open(&fs, "main");
        io.fail_after(call, siltstone::fs::FailWhen::Before);
        let _died = expire_consumers(&ctx, then, then, false);
        io.heal();
        if !is_aside() {
            continue;
        }
        aside += 1;
        assert_eq!(progress(&fs), None, "call {call}");
        let keep = Retention { max: 1, min: 1, older_than: None, limit: i64::MAX };
        // this one had chosen before the file came back
        let error = expire_snapshots(&ctx, &keep, false).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::VersionInUse, "call {call}: {error:?}");
        expire_snapshots(&ctx, &keep, false).unwrap();
        let kept = SnapshotManager::new(Arc::clone(&fs), ROOT).ids().unwrap();
        assert_eq!((progress(&fs), kept.first(), is_aside()), (Some(2), Some(&2), false), "call {call}");
    }
    assert!(aside > 1, "{aside}");
}

/// Another process, whose clock was two days ahead, took the consumer of a reader that was at work for one that had not read for a
/// day: what the reader had not read yet expired.
#[test]
fn a_consumer_stays_beside_a_clock_that_is_ahead() {
    let (io, then) = consumed();
    let day = 86_400_000;
    let report =
        expire_consumers(&open(&(Arc::new(io) as FileIoRef), "main"), then + day, then + 2 * day, false).unwrap();
    assert_eq!(report.details["consumers"].as_array().map(Vec::len), Some(0));
}
