//! Streams of changes while others roll back, commit and expire.

use std::sync::atomic::{AtomicBool, Ordering};

use siltstone::{
    maintenance::{
        expire::{Retention, expire_snapshots},
        rollback::rollback,
        tag::{CreateTag, create_tag},
    },
    table::{ChangeStream, ChangesArgs, Progress},
};

use super::*;

fn stream(fs: &FileIoRef, options: &[(&str, &str)], args: ChangesArgs) -> Result<ChangeStream> {
    let options = options.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    let table = Table::open_with(Arc::clone(fs), ROOT, "main", None, options)?;
    ChangeStream::new(Arc::new(table), args)
}

/// The ids of the snapshots that a stream hands out, until there is nothing more.
fn ids(stream: &mut ChangeStream) -> Result<Vec<i64>> {
    let mut ids = Vec::new();
    while let Progress::Rows(id, _, mut rows) = stream.progress()? {
        rows.try_for_each(|batch| batch.map(drop))?;
        stream.done()?;
        ids.push(id);
    }
    Ok(ids)
}

fn with_versions(count: i32) -> (FaultFileIo, FileIoRef) {
    let (io, fs) = new_table(&[], &[("bucket", "-1"), ("siltstone.upkeep-lock-timeout", "0 s")]);
    (1..=count).for_each(|k| drop(put(&fs, &[(k, 0)]).unwrap()));
    (io, fs)
}

/// It counted on from the id with which it began, and passed over the commits that had come in the place of those before.
#[test]
fn a_stream_that_has_read_nothing_yet_notices_a_rollback_behind_its_beginning() {
    let latest = [("scan.mode", "latest")];
    for consumer in [None, Some("k".to_owned())] {
        let (_, fs) = with_versions(5);
        let args = || ChangesArgs { consumer: consumer.clone(), follow: true, ..ChangesArgs::default() };
        let mut begun = stream(&fs, &latest, args()).unwrap();
        // with the consumer it goes on where the first one began
        let mut again = stream(&fs, &latest, args()).unwrap();
        assert!(ids(&mut begun).unwrap().is_empty(), "{consumer:?}");
        back_to(&fs, 3);
        (6..=8).for_each(|k| drop(put(&fs, &[(k, 0)]).unwrap()));
        for stream in [&mut begun, &mut again] {
            let error = ids(stream).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::SnapshotNotFound, "{consumer:?}: {error}");
            assert!(error.to_string().contains("taken back by a rollback"), "{consumer:?}: {error}");
        }
    }
}

#[test]
fn a_stream_that_has_read_nothing_yet_goes_on_after_a_rollback_to_the_version_before_its_beginning() {
    let (_, fs) = with_versions(5);
    let mut begun =
        stream(&fs, &[("scan.mode", "latest")], ChangesArgs { follow: true, ..ChangesArgs::default() }).unwrap();
    put(&fs, &[(6, 0)]).unwrap();
    back_to(&fs, 5);
    put(&fs, &[(7, 0)]).unwrap();
    assert_eq!(ids(&mut begun).unwrap(), [6]);
}

/// Then only the records tell: what lies before its beginning has expired.
#[test]
fn a_stream_that_begins_with_the_earliest_version_notices_a_rollback_to_a_tag_before_it() {
    let (_, fs) = with_versions(5);
    let ctx = table(&fs).context().clone();
    let tag = VersionSelector::Snapshot(1);
    create_tag(&ctx, "first", &CreateTag { version: tag, ..CreateTag::default() }).unwrap();
    expire_snapshots(&ctx, &Retention { max: i64::from(i32::MAX), min: 3, older_than: None, limit: i64::MAX }, false)
        .unwrap();
    let mut begun = stream(&fs, &[], ChangesArgs { follow: true, ..ChangesArgs::default() }).unwrap();
    rollback(&ctx, &VersionSelector::Tag("first".to_owned()), false).unwrap();
    (6..=9).for_each(|k| drop(put(&fs, &[(k, 0)]).unwrap()));
    let error = ids(&mut begun).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::SnapshotNotFound, "{error}");
}

/// It went on behind commits that had come in the place of what was taken back: its file was newer than the rollback.
#[test]
fn a_consumer_is_not_set_behind_what_a_rollback_takes_back() {
    let (io, _) = with_versions(6);
    let others = |fs: &FileIoRef| {
        back_to(fs, 3);
        (40..=43).for_each(|k| drop(put(fs, &[(k, 0)]).unwrap()));
    };
    let with_consumer = || ChangesArgs { consumer: Some("c".to_owned()), ..ChangesArgs::default() };
    let latest = [("scan.mode", "latest")];
    let set = |fs: &FileIoRef| table(fs).reset_consumer("c", None);
    let begin = |fs: &FileIoRef| stream(fs, &latest, with_consumer()).map(drop);
    for begins in [false, true] {
        let first = |fs: &FileIoRef| if begins { begin(fs) } else { set(fs) };
        let calls = before_each_call(&io, first, others, |call, fs, end| {
            let next = table(fs).consumers().next_snapshot("c").unwrap();
            if let Err(error) = end {
                assert_eq!((error.kind(), next), (ErrorKind::SnapshotNotFound, None), "before call {call}: {error}");
                return;
            }
            match stream(fs, &latest, with_consumer()).and_then(|mut stream| ids(&mut stream)) {
                Ok(ids) => assert_eq!((ids, next), (Vec::new(), Some(8)), "before call {call}"),
                Err(error) => assert_eq!(error.kind(), ErrorKind::SnapshotNotFound, "before call {call}: {error}"),
            }
        });
        assert!(calls > 8, "{calls}");
    }
}

/// A rollback takes the time for its record, and is held up before the record has its name: the file of a reader that comes to the end
/// meanwhile was newer than that time, and its next reader passed over the commits that had come in the place of those it had read.
#[test]
fn a_consumer_that_reads_on_beside_a_rollback_passes_over_nothing() {
    let (io, fs) = with_versions(6);
    let read = |fs: &FileIoRef| {
        stream(fs, &[], ChangesArgs { consumer: Some("c".to_owned()), ..ChangesArgs::default() })
            .and_then(|mut stream| ids(&mut stream))
    };
    assert_eq!(read(&fs).unwrap(), [1, 2, 3, 4, 5, 6]);
    (7..=8).for_each(|k| drop(put(&fs, &[(k, 0)]).unwrap()));
    let others = move |fs: &FileIoRef| drop(read(fs));
    let refused = std::cell::Cell::new(0);
    let calls = before_each_call(
        &io,
        |fs| back_to(fs, 5),
        others,
        |call, fs, ()| {
            (50..=56).for_each(|k| drop(put(fs, &[(k, 0)]).unwrap()));
            match read(fs) {
                // it was told while it read
                Ok(ids) => assert_eq!(ids, [6, 7, 8, 9, 10, 11, 12], "before call {call}"),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::SnapshotNotFound, "before call {call}: {error}");
                    refused.set(refused.get() + 1);
                }
            }
        },
    );
    assert!(calls > 8 && refused.get() > 4, "{calls}, {}", refused.get());
}

/// It was set behind what the last rollback had kept: the commits that had come after the one before were passed over.
#[test]
fn a_consumer_that_is_recorded_beside_two_rollbacks_goes_on_behind_what_both_have_kept() {
    let (io, fs) = with_versions(6);
    let read = |fs: &FileIoRef| {
        stream(fs, &[], ChangesArgs { consumer: Some("c".to_owned()), ..ChangesArgs::default() })
            .and_then(|mut stream| ids(&mut stream))
    };
    drop(stream(&fs, &[], ChangesArgs { consumer: Some("c".to_owned()), ..ChangesArgs::default() }).unwrap());
    let others = |fs: &FileIoRef| {
        back_to(fs, 2);
        (13..=16).for_each(|k| drop(put(fs, &[(k, 0)]).unwrap()));
        back_to(fs, 5);
        (26..=27).for_each(|k| drop(put(fs, &[(k, 0)]).unwrap()));
    };
    let told = std::cell::Cell::new(0);
    let calls = before_each_call(&io, read, others, |call, fs, end| {
        let next = table(fs).consumers().next_snapshot("c").unwrap();
        match read(fs) {
            Ok(ids) => {
                let from = match &end {
                    // it had read the new versions, too
                    Ok(ids) => ids.last().map_or(1, |last| last + 1),
                    Err(_) => 3,
                };
                assert!(
                    ids.first().is_none_or(|first| *first <= from),
                    "before call {call}: {ids:?}, {next:?}, {end:?}"
                );
                told.set(told.get() + 1);
            }
            Err(error) => assert_eq!(error.kind(), ErrorKind::SnapshotNotFound, "before call {call}: {error}"),
        }
    });
    assert!(calls > 20 && told.get() > 4, "{calls}, {}", told.get());
}

/// A reader that began with the consumer had been held up, saw that its beginning was taken back, and deleted the consumer of the
/// one that had begun in its place: what that one had not read expired.
#[test]
fn a_reader_that_cannot_begin_leaves_the_consumer_of_another_one() {
    let (io, _) = with_versions(3);
    let consumer = || ChangesArgs { consumer: Some("c".to_owned()), ..ChangesArgs::default() };
    let read = move |fs: &FileIoRef| stream(fs, &[], consumer()).and_then(|mut stream| ids(&mut stream));
    let begin_at_three = |fs: &FileIoRef| {
        let start = Some(siltstone::table::StreamPosition::Snapshot(3));
        stream(fs, &[], ChangesArgs { start, ..consumer() }).map(drop)
    };
    let has_read = Arc::new(AtomicBool::new(false));
    let others = {
        let has_read = Arc::clone(&has_read);
        move |fs: &FileIoRef| {
            back_to(fs, 1);
            (12..=14).for_each(|k| drop(put(fs, &[(k, 0)]).unwrap()));
            has_read.store(read(fs).is_ok_and(|ids| ids.last() == Some(&4)), Ordering::SeqCst);
        }
    };
    let refused = std::cell::Cell::new(0);
    let calls = before_each_call(&io, begin_at_three, others, |call, fs, end| {
        let consumers = table(fs).consumers();
        if end.is_err() && has_read.load(Ordering::SeqCst) {
            assert_eq!(consumers.next_snapshot("c").unwrap(), Some(5), "before call {call}: {end:?}");
            refused.set(refused.get() + 1);
        }
    });
    assert!(calls > 10 && refused.get() > 3, "{calls}, {}", refused.get());
}

/// A rollback came between the look at the records and that at a snapshot, which had come after it: when that had expired, the
/// reader was told that it had been taken back.
#[test]
fn a_consumer_that_has_read_what_came_after_a_rollback_goes_on_when_that_has_expired() {
    let (io, fs) = with_versions(5);
    let consumer = || ChangesArgs { consumer: Some("c".to_owned()), ..ChangesArgs::default() };
    drop(stream(&fs, &[], consumer()).unwrap());
    let others = |fs: &FileIoRef| {
        back_to(fs, 4);
        put(fs, &[(50, 0)]).unwrap();
    };
    let read = |fs: &FileIoRef| stream(fs, &[], consumer()).and_then(|mut stream| ids(&mut stream));
    before_each_call(&io, read, others, |call, fs, end| {
        if end.is_err() {
            return;
        }
        let five = SnapshotManager::new(Arc::clone(fs), ROOT).get(5).unwrap();
        let progress = table(fs).consumers().progress("c").unwrap().unwrap();
        let next = progress.next_snapshot;
        let is_in_line = next == 5 || progress.behind.unwrap().delta_manifest_list == Some(five.delta_manifest_list);
        (60..=61).for_each(|k| drop(put(fs, &[(k, 0)]).unwrap()));
        let last = Retention { max: 2, min: 1, older_than: None, limit: i64::MAX };
        expire_snapshots(&table(fs).context().clone(), &last, false).unwrap();
        match read(fs) {
            Ok(ids) => assert!(is_in_line && ids.into_iter().eq(next..=7), "before call {call}: {next}, {end:?}"),
            Err(error) => assert!(!is_in_line, "before call {call}: {error}, {end:?}"),
        }
    });
}

/// Rollbacks of other programs leave no record; the manifest list tells what was read from what has come in its place.
#[test]
fn a_consumer_notices_that_another_program_has_rolled_back() {
    let (_, fs) = with_versions(4);
    let with_consumer = || ChangesArgs { consumer: Some("c".to_owned()), ..ChangesArgs::default() };
    assert_eq!(ids(&mut stream(&fs, &[], with_consumer()).unwrap()).unwrap(), [1, 2, 3, 4]);
    for id in [3, 4] {
        fs.delete(&format!("{ROOT}/snapshot/snapshot-{id}")).unwrap();
    }
    fs.overwrite(&format!("{ROOT}/snapshot/LATEST"), b"2").unwrap();
    (30..=33).for_each(|k| drop(put(&fs, &[(k, 0)]).unwrap()));
    let error = stream(&fs, &[], with_consumer()).and_then(|mut stream| ids(&mut stream)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::SnapshotNotFound, "{error}");
}

/// Between the looks at the newest version and at the first that can be read others had committed and let it expire: a panic.
#[test]
fn a_consumer_that_is_set_beside_commits_and_an_expiry_is_set_or_refused() {
    let (io, fs) = new_table(&[], &[("bucket", "-1")]);
    put(&fs, &[(1, 0)]).unwrap();
    let others = |fs: &FileIoRef| {
        put(fs, &[(2, 0)]).unwrap();
        put(fs, &[(3, 0)]).unwrap();
        let newest = ExpireArgs { retain_max: Some(1), retain_min: Some(1), ..ExpireArgs::default() };
        drop(table(fs).expire_snapshots(&newest, false));
    };
    for wanted in [None, Some(1), Some(2)] {
        before_each_call(
            &io,
            |fs| table(fs).reset_consumer("c", wanted),
            others,
            |call, _, end| {
                let refused = end.map_or_else(|error| Some(error.kind()), |()| None);
                let known = [None, Some(ErrorKind::SnapshotExpired), Some(ErrorKind::SnapshotNotFound)];
                assert!(known.contains(&refused), "call {call}: {refused:?}");
            },
        );
    }
}
