//! Messages that another process commits name nothing that a power loss takes away: their writer has made the files durable when it
//! gives them away, all of them together.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use siltstone::{
    Result, cancel,
    commit::Committable,
    fs::{BeforeCall, FailWhen, FaultFileIo, FileIoRef},
    table::{Table, TableWriter},
    write::WriteOptions,
};

use super::{ROOT, append, batch, memory, memory_of_moving_keys, open, state};

fn table(io: &FaultFileIo) -> Table {
    let fs: FileIoRef = Arc::new(io.clone());
    Table::open_with(fs, ROOT, "main", None, BTreeMap::new()).unwrap()
}

fn synced_files(io: &FaultFileIo) -> usize {
    io.trace().iter().filter(|call| call.contains(" sync_files ")).count()
}

/// Data files, file indexes beside them, hash indexes of buckets.
#[test]
fn rows_that_were_handed_out_survive_a_power_loss() {
    let indexed = [("file-index.bloom-filter.columns", "v"), ("file-index.in-manifest-threshold", "0 b")];
    let dynamic = [("bucket", "-1"), ("dynamic-bucket.target-row-num", "2")];
    for (key, options) in [(&["k"][..], [&dynamic[..], &indexed].concat()), (&[][..], indexed.to_vec())] {
        let (io, fs) = memory(key, &options);
        let options = WriteOptions { threads: Some(1), ..WriteOptions::default() };
        let mut writer = table(&io).writer(Some("job"), options).unwrap();
        writer.write(&batch(&[(1, 10), (2, 20), (3, 30), (4, 40), (5, 50)]), None).unwrap();
        let before = synced_files(&io);
        let handed_out = writer.prepare_commit().unwrap();
        assert_eq!(synced_files(&io), before + 1, "one call for all files");
        io.crash_keeping_names();
        let committed = table(&io);
        let messages = committed.messages(&handed_out).unwrap();
        assert!(messages.len() == if key.is_empty() { 1 } else { 3 });
        committed.commit_messages(Some("job"), Committable { messages, ..Committable::default() }, None).unwrap();
        io.crash();
        assert_eq!(state(&fs, ROOT).0, [(1, 10), (2, 20), (3, 30), (4, 40), (5, 50)]);
    }
}

#[test]
fn a_commit_makes_durable_what_its_writer_has_left_to_it() {
    let io = memory_of_moving_keys(&[("bucket", "-1"), ("dynamic-bucket.target-row-num", "2")]).0;
    let fs: FileIoRef = Arc::new(io.clone());
    let before = synced_files(&io);
    append(&open(&fs, ROOT), 0, &[(1, 1), (2, 2), (3, 3)]).unwrap();
    assert_eq!(synced_files(&io), before + 1, "one call for all files");
    io.crash();
    assert_eq!(state(&fs, ROOT).0, [(1, 1), (2, 2), (3, 3)]);
}

/// What a writer does whose last `prepare_commit` gave nothing: the next one gives all rows, or refuses.
fn gives_its_rows_again_or_refuses(writer: &mut TableWriter, io: &FaultFileIo, fs: &FileIoRef) -> bool {
    match writer.prepare_commit() {
        Ok(handed_out) => {
            let committed = table(io);
            let messages = committed.messages(&handed_out).unwrap();
            let asked = Committable { messages, ..Committable::default() };
            committed.commit_messages(Some("job"), asked, None).unwrap();
            assert_eq!(state(fs, ROOT).0, [(1, 10), (2, 20)]);
            true
        }
        Err(error) => {
            assert!(error.to_string().contains("failed before"), "{error}");
            false
        }
    }
}

/// `prepare_commit` failed when it made the files durable, and gave nothing when it was called again: the rows were in no message and
/// in no version, and nobody was told.
#[test]
fn rows_whose_messages_nobody_got_are_handed_out_again_or_the_writer_fails() {
    let (mut again, mut refused) = (0, 0);
    for key in [&["k"][..], &[]] {
        for when in [FailWhen::Before, FailWhen::After] {
            for calls in 0.. {
                let (io, fs) = memory(key, &[("bucket", if key.is_empty() { "-1" } else { "1" })]);
                let options = WriteOptions { threads: Some(1), ..WriteOptions::default() };
                let mut writer = table(&io).writer(Some("job"), options).unwrap();
                writer.write(&batch(&[(1, 10), (2, 20)]), None).unwrap();
                io.fail_after(calls, when);
                let failed = writer.prepare_commit().is_err();
                io.heal();
                if !failed {
                    break;
                }
                if gives_its_rows_again_or_refuses(&mut writer, &io, &fs) {
                    again += 1;
                } else {
                    refused += 1;
                }
            }
        }
    }
    assert!(again > 3 && refused > 3, "{again} {refused}");
}

/// Ctrl-C in the middle of one of the calls of a handle.
#[derive(Debug, Default)]
struct Interrupt {
    calls: AtomicU64,
    at: AtomicU64,
    came: Arc<AtomicBool>,
}

impl BeforeCall for Interrupt {
    fn before(&self, _: &str, _: &str) -> Result<()> {
        if self.calls.fetch_add(1, Ordering::Relaxed) == self.at.load(Ordering::Relaxed) {
            self.came.store(true, Ordering::Relaxed);
        }
        Ok(())
    }
}

/// Ctrl-C came while the last files became durable, nobody asked again whether to stop, and the messages were dropped by whoever
/// raised the interrupt: the next call gave none, as if there had been no rows.
#[test]
fn whoever_is_interrupted_during_any_call_gets_the_messages_later_or_the_writer_fails() {
    let (mut again, mut refused) = (0, 0);
    for key in [&["k"][..], &[]] {
        for at in 0.. {
            let (io, fs) = memory(key, &[("bucket", if key.is_empty() { "-1" } else { "1" })]);
            let gate = Arc::new(Interrupt { at: AtomicU64::new(u64::MAX), ..Interrupt::default() });
            let handle: FileIoRef = Arc::new(io.behind(Arc::clone(&gate) as Arc<dyn BeforeCall>));
            let opened = Table::open_with(handle, ROOT, "main", None, BTreeMap::new()).unwrap();
            let options = WriteOptions { threads: Some(1), ..WriteOptions::default() };
            let mut writer = opened.writer(Some("job"), options).unwrap();
            writer.write(&batch(&[(1, 10), (2, 20)]), None).unwrap();
            gate.at.store(gate.calls.load(Ordering::Relaxed) + at, Ordering::Relaxed);
            let came = Arc::clone(&gate.came);
            let first = cancel::interruptible(move || came.swap(false, Ordering::Relaxed), || writer.prepare_commit());
            if gate.calls.load(Ordering::Relaxed) <= gate.at.load(Ordering::Relaxed) {
                assert!(first.is_ok() && at > 3, "nothing was interrupted");
                break;
            }
            assert!(first.is_err(), "{key:?}: interrupted in call {at}, and nobody is told");
            if gives_its_rows_again_or_refuses(&mut writer, &io, &fs) {
                again += 1;
            } else {
                refused += 1;
            }
        }
    }
    // the caller is not asked before each call, but at the end
    assert!(again + refused > 10 && refused > 1, "{again} {refused}");
}
