//! Tables whose versions are all whole, and not those that they should be.

use std::{collections::BTreeMap, sync::Arc};

use siltstone::{
    fs::{FaultFileIo, FileIo as _, FileIoRef},
    maintenance::{
        automatic::Committer,
        expire::{Retention, expire_snapshots},
        fsck::{Severity, fsck},
        rollback::rollback,
        tag::{CreateTag, create_tag},
    },
    scan::{EntryFilter, VersionSelector, live_entries},
    table::Table,
};

use super::NOW;
use crate::{
    crash::{ROOT, append, compact, memory, open},
    fixtures,
};

/// An append table of so many commits, with one row each.
fn table(commits: i32) -> FaultFileIo {
    let (io, _) = memory(&[], &[]);
    for n in 1..=commits {
        commit(&io, n);
    }
    io
}

/// A commit of one file with one row.
fn commit(io: &FaultFileIo, n: i32) {
    let fs: FileIoRef = Arc::new(io.clone());
    append(&open(&fs, ROOT), i64::from(n), &[(n, 0)]).unwrap();
}

fn found(io: &FaultFileIo, deep: bool) -> (Vec<&'static str>, Vec<&'static str>) {
    let fs: FileIoRef = Arc::new(io.clone());
    let verdict = fsck(&open(&fs, ROOT), deep, NOW).unwrap();
    let of = |severity| {
        let found = verdict.findings.iter().filter(|f| f.severity == severity && f.code != "unreferenced-file");
        found.map(|f| f.code).collect()
    };
    (of(Severity::Problem), of(Severity::Warning))
}

/// Copies what another storage has and this one has not, and replaces one file.
fn taken_from(io: &FaultFileIo, other: &FaultFileIo, replaced: &str) {
    for path in other.paths() {
        if path.ends_with(replaced) || !io.exists(&path).unwrap() {
            io.put(&path, &other.read(&path).unwrap());
        }
    }
}

fn snapshot(n: i64) -> String {
    format!("{ROOT}/snapshot/snapshot-{n}")
}

#[test]
fn a_latest_hint_that_went_back_over_a_hole_is_a_problem() {
    // what a writer leaves that was stopped while others committed and expired: its commit is taken for the newest
    let io = table(5);
    io.delete(&snapshot(3)).unwrap();
    io.put(&format!("{ROOT}/snapshot/LATEST"), b"2");
    assert_eq!(found(&io, false), (vec!["latest-went-back", "missing-snapshot"], vec![]));
}

#[test]
fn a_latest_hint_that_is_late_is_a_warning() {
    // two commits that end at the same time; readers look for the next snapshot
    let io = table(3);
    io.put(&format!("{ROOT}/snapshot/LATEST"), b"2");
    assert_eq!(found(&io, true), (vec![], vec!["wrong-hint"]));
}

#[test]
fn a_newest_snapshot_that_is_gone_and_still_named_is_a_problem() {
    // somebody deleted its file: the rows of that commit are gone for readers, and the check said that all is well
    let io = table(3);
    io.delete(&snapshot(3)).unwrap();
    assert_eq!(found(&io, false), (vec!["missing-snapshot"], vec![]));
    commit(&io, 3);
    assert_eq!(found(&io, false), (vec![], vec![]));
}

#[test]
fn a_latest_hint_behind_a_rollback_that_was_cut_short_is_a_warning() {
    let io = table(3);
    let fs: FileIoRef = Arc::new(io.clone());
    rollback(&open(&fs, ROOT), &VersionSelector::Snapshot(2), false).unwrap();
    assert_eq!(found(&io, false), (vec![], vec![]));
    io.put(&format!("{ROOT}/snapshot/LATEST"), b"3");
    assert_eq!(found(&io, false), (vec![], vec!["wrong-hint"]));
    // who commits afterwards knows the rollback
    commit(&io, 3);
    commit(&io, 4);
    io.delete(&snapshot(4)).unwrap();
    assert_eq!(found(&io, false), (vec!["missing-snapshot"], vec![]));
}

#[test]
fn a_missing_file_is_told_with_every_version_that_needs_it() {
    // only the version that had added it was named: nobody saw that the newest one is hit, too
    let io = table(4);
    let fs: FileIoRef = Arc::new(io.clone());
    create_tag(&open(&fs, ROOT), "kept", &CreateTag::default()).unwrap();
    let files = |id: u64| -> Vec<String> {
        let splits = open(&fs, ROOT);
        let version = splits.snapshots().get(i64::try_from(id).unwrap()).unwrap();
        let all = live_entries(&splits, &version, &EntryFilter::default()).unwrap();
        all.iter().map(|e| splits.paths.data_file(&e.partition, e.bucket, &e.file).unwrap()).collect()
    };
    let before = files(1);
    let file = files(2).into_iter().find(|file| !before.contains(file)).unwrap();
    io.delete(&file).unwrap();
    for deep in [false, true] {
        let verdict = fsck(&open(&fs, ROOT), deep, NOW).unwrap();
        let finding = verdict.findings.iter().find(|finding| finding.code == "missing-file").unwrap();
        assert_eq!(finding.place, "main/snapshot-4");
        let by = "is missing; needed by main/snapshot-2 to main/snapshot-4, the newest version among them";
        assert!(finding.message.ends_with(by), "{}", finding.message);
    }
}

#[test]
fn an_earliest_hint_past_versions_that_are_there_is_a_warning() {
    let io = table(3);
    io.put(&format!("{ROOT}/snapshot/EARLIEST"), b"2");
    assert_eq!(found(&io, false), (vec![], vec!["wrong-hint"]));
}

#[test]
fn a_table_with_a_tag_and_no_snapshots_is_a_problem() {
    let io = table(2);
    let fs: FileIoRef = Arc::new(io.clone());
    create_tag(&open(&fs, ROOT), "kept", &CreateTag::default()).unwrap();
    for n in 1..=2 {
        io.delete(&snapshot(n)).unwrap();
    }
    assert_eq!(found(&io, false).0, ["missing-snapshot"]);
    io.delete(&format!("{ROOT}/tag/tag-kept")).unwrap();
    assert_eq!(found(&io, false).0, ["missing-snapshot"], "the hint LATEST tells it");
}

#[test]
fn a_version_that_was_not_made_from_the_one_before_is_a_problem() {
    let io = table(1);
    let other = io.fork();
    commit(&io, 2);
    commit(&io, 3);
    commit(&other, 4);
    assert_eq!(found(&io, true), (vec![], vec![]));
    taken_from(&io, &other, "snapshot-2");
    // as many files and rows, and other ones
    assert_eq!(found(&io, false), (vec![], vec![]));
    assert_eq!(found(&io, true), (vec!["not-in-line"], vec![]));
}

#[test]
fn a_version_that_begins_with_more_files_than_the_one_before_has_is_found_without_reading_manifests() {
    let io = table(1);
    let other = io.fork();
    commit(&io, 2);
    commit(&io, 3);
    let fs: FileIoRef = Arc::new(other.clone());
    Committer::with_new_user(&open(&fs, ROOT)).truncate(None).unwrap();
    taken_from(&io, &other, "snapshot-2");
    let (problems, _) = found(&io, false);
    assert!(problems.contains(&"not-in-line"), "{problems:?}");
}

#[test]
fn a_tag_of_an_id_that_another_snapshot_has_now_is_a_problem() {
    let io = table(1);
    let other = io.fork();
    commit(&io, 2);
    commit(&other, 4);
    let fs: FileIoRef = Arc::new(other.clone());
    let request = CreateTag { version: VersionSelector::Snapshot(2), ..CreateTag::default() };
    create_tag(&open(&fs, ROOT), "strayed", &request).unwrap();
    taken_from(&io, &other, "tag-strayed");
    assert_eq!(found(&io, true), (vec!["id-twice"], vec![]));
}

#[test]
fn a_snapshot_file_that_an_expiry_left_when_it_died_is_a_warning() {
    let io = table(4);
    let before = io.fork();
    let fs: FileIoRef = Arc::new(io.clone());
    let keep = Retention { max: 2, min: 2, older_than: None, limit: i64::MAX };
    expire_snapshots(&open(&fs, ROOT), &keep, false).unwrap();
    io.put(&snapshot(2), &before.read(&snapshot(2)).unwrap());
    let (problems, warnings) = found(&io, true);
    assert!(problems.is_empty() && warnings.contains(&"left-over-snapshot"), "{problems:?} {warnings:?}");
    append(&open(&fs, ROOT), 5, &[(5, 0)]).unwrap();
    expire_snapshots(&open(&fs, ROOT), &keep, false).unwrap();
    assert_eq!(found(&io, true), (vec![], vec![]));
}

#[test]
fn a_removal_record_that_is_garbage_is_a_problem() {
    let io = table(3);
    let fs: FileIoRef = Arc::new(io.clone());
    let ctx = open(&fs, ROOT);
    let keep = Retention { max: 2, min: 2, older_than: None, limit: i64::MAX };
    expire_snapshots(&ctx, &keep, false).unwrap();
    io.put(&format!("{ROOT}/siltstone/removal-1"), b"{ nonsense");
    let verdict = fsck(&ctx, true, NOW).unwrap();
    assert!(verdict.findings.iter().any(|f| f.code == "bad-removal"), "{:?}", verdict.findings);
}

#[test]
fn manifests_that_are_packed_do_not_break_the_line() {
    let (io, fs) = memory(&["k"], &[("bucket", "1"), ("write-only", "true"), ("manifest.merge-min-count", "2")]);
    for n in 1..=6 {
        append(&open(&fs, ROOT), n, &[(i32::try_from(n).unwrap(), n), (0, n)]).unwrap();
    }
    compact(&open(&fs, ROOT), 7).unwrap();
    Committer::with_new_user(&open(&fs, ROOT)).compact_manifests().unwrap().unwrap();
    assert_eq!(found(&io, true), (vec![], vec![]));
}

#[test]
fn the_lines_of_tables_that_java_wrote_are_whole() {
    let mut looked = 0;
    for fixture in fixtures::all() {
        let fs: FileIoRef = Arc::new(fixture.io());
        let Ok(table) = Table::open_with(fs, fixtures::ROOT, "main", None, BTreeMap::new()) else { continue };
        let Ok(verdict) = fsck(table.context(), false, NOW) else { continue };
        let of_line = ["not-in-line", "id-twice", "latest-went-back", "missing-snapshot"];
        let found: Vec<_> = verdict.findings.iter().filter(|f| of_line.contains(&f.code)).collect();
        assert!(found.is_empty(), "{}: {found:?}", fixture.name);
        looked += 1;
    }
    assert!(looked > 150, "{looked}");
}
