//! Processes that are killed at one of their storage calls, while others work.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use siltstone::{
    Error, ErrorKind, Result,
    fs::{BeforeCall, FaultFileIo, FileIoRef, Meanwhile},
    io::TableContext,
    maintenance::fsck::{Severity, fsck},
    snapshot::SnapshotManager,
};

use super::{ROOT, append, open, table};

/// The kind of a call, and how its path ends.
pub(super) type Call = (&'static str, &'static str);

#[derive(Debug)]
struct Dies {
    at: Call,
    dead: AtomicBool,
    meanwhile: Meanwhile,
}

impl BeforeCall for Dies {
    fn before(&self, what: &str, path: &str) -> Result<()> {
        if !self.dead.load(Ordering::SeqCst) {
            BeforeCall::before(&self.meanwhile, what, path)?;
        }
        if (what, path.ends_with(self.at.1)) == (self.at.0, true) {
            self.dead.store(true, Ordering::SeqCst);
        }
        if self.dead.load(Ordering::SeqCst) {
            return Err(Error::new(ErrorKind::Internal, "the process was killed"));
        }
        Ok(())
    }
}

/// Main by a process that is killed before its first call of this kind: nothing that it does afterwards has an effect.
pub(super) fn dies(io: &FaultFileIo, at: Call, meanwhile: Meanwhile) -> TableContext {
    let fs: FileIoRef = Arc::new(io.clone());
    let gate = Dies { at, dead: AtomicBool::new(false), meanwhile };
    TableContext { fs: Arc::new(io.behind(Arc::new(gate))), ..open(&fs, "main") }
}

/// Main, while whose calls others work.
pub(super) fn held_up(io: &FaultFileIo, meanwhile: Meanwhile) -> TableContext {
    let fs: FileIoRef = Arc::new(io.clone());
    TableContext { fs: Arc::new(io.behind(Arc::new(meanwhile))), ..open(&fs, "main") }
}

/// An append table with so many versions, where nobody waits for a lock.
pub(super) fn versions(count: i32) -> (FaultFileIo, FileIoRef) {
    let quick = [("commit.min-retry-wait", "1 ms"), ("commit.max-retry-wait", "1 ms"), ("commit.max-retries", "3")];
    let options = [("bucket", "-1"), ("write-only", "true"), ("siltstone.upkeep-lock-timeout", "0 s")];
    let (io, fs) = table(&[], &[&options[..], &quick[..]].concat());
    (1..=count).for_each(|k| append(&fs, "main", (k, 0)));
    (io, fs)
}

pub(super) fn ids(fs: &FileIoRef) -> Vec<i64> {
    SnapshotManager::new(Arc::clone(fs), ROOT).ids().unwrap()
}

pub(super) fn problems(fs: &FileIoRef) -> Vec<String> {
    let verdict = fsck(&open(fs, "main"), true, i64::MAX).unwrap();
    let bad = verdict.findings.iter().filter(|f| f.severity == Severity::Problem);
    bad.map(|finding| format!("{} {}: {}", finding.code, finding.place, finding.message)).collect()
}
