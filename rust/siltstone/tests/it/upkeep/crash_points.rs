//! Upkeep that dies at every storage call: what is left can be read, and the same call finishes it.

use std::sync::Arc;

use siltstone::{
    ErrorKind, Result,
    fs::{FaultFileIo, FileIo as _, FileIoRef},
    io::TableContext,
    maintenance::{
        analyze::analyze,
        branch::{BranchSource, create_branch, delete_branch, fast_forward},
        expire::{Retention, expire_changelogs, expire_snapshots},
        fsck::{Severity, fsck},
        orphan_files::remove_orphan_files,
        rollback::rollback,
        tag::delete_tag,
    },
    scan::VersionSelector,
    snapshot::{SnapshotManager, TagManager},
};

use crate::crash::die_at_each_call;

use super::{ROOT, append, busy_table, check_whole, commit, compact, files, open, table, tag, until, written};
/// Deletes what nothing refers to, however young.
fn clean(fs: &FileIoRef) {
    remove_orphan_files(&open(fs, "main"), i64::MAX, i64::MAX, false).unwrap();
}

/// Files that say what there is, and how many files there are.
type Names = (Vec<String>, usize);

fn names(io: &FaultFileIo) -> Names {
    let structure = |p: &String| ["/snapshot/", "/tag/", "/schema/", "/changelog/"].iter().any(|part| p.contains(part));
    let all = files(io);
    (all.iter().filter(|p| structure(p)).cloned().collect(), all.len())
}

/// A table, of which each run gets a copy, with one operation of upkeep that is yet to come.
struct Upkeep<'a> {
    operation: &'a dyn Fn(&TableContext) -> Result<()>,
    /// Versions from here on can be read wherever it dies.
    whole_from: i64,
    /// Whether the same call finishes what one that died has begun.
    finishes: bool,
    /// What an undisturbed run leaves, and what a cleaning of orphans leaves of that.
    wanted: Names,
    wanted_clean: Names,
}

/// Lets an operation die at each of its storage calls, in each way; then checks, does it again, and compares with the
/// files that an undisturbed run leaves.
fn die_everywhere(
    table: &FaultFileIo,
    operation: &dyn Fn(&TableContext) -> Result<()>,
    whole_from: i64,
    finishes: bool,
) {
    let io = table.fork();
    let fs: FileIoRef = Arc::new(io.clone());
    operation(&open(&fs, "main")).unwrap();
    let wanted = names(&io);
    clean(&fs);
    let upkeep = Upkeep { operation, whole_from, finishes, wanted, wanted_clean: names(&io) };
    die_at_each_call(table, operation, |death| {
        for end in [0, 1, 2].into_iter().filter(|_| death.differs) {
            let io = death.io.fork();
            match end {
                0 => hint_is_true(&io, &death.to_string()),
                1 => io.crash(),
                _ => io.crash_keeping_names(),
            }
            upkeep.is_taken_up(&io, &format!("{end}, {death}"));
        }
    });
}

/// Java believes the hint: of a snapshot that has gone it can neither read nor write the table.
fn hint_is_true(io: &FaultFileIo, what: &str) {
    let snapshots = SnapshotManager::new(Arc::new(io.clone()), ROOT);
    let hint = snapshots.hint("LATEST").unwrap();
    assert!(hint.is_none_or(|id| snapshots.exists(id).unwrap()), "LATEST says {hint:?}: {what}");
}

impl Upkeep<'_> {
    /// What was left by a process that died can be read, finished and cleaned.
    fn is_taken_up(&self, io: &FaultFileIo, what: &str) {
        let fs: FileIoRef = Arc::new(io.clone());
        check_whole(&fs, self.whole_from);
        let again = (self.operation)(&open(&fs, "main"));
        check_whole(&fs, self.whole_from);
        if self.finishes {
            assert!(again.is_ok(), "{again:?} after {what}");
            let (versions, count) = names(io);
            assert_eq!(versions, self.wanted.0, "{what}");
            // files may be left, or come back after a power loss, when what names them is gone: orphans, no more
            assert!(count >= self.wanted.1, "{count} files, not {}: {what}", self.wanted.1);
        }
        clean(&fs);
        check_whole(&fs, self.whole_from);
        let (versions, count) = names(io);
        let (clean_versions, clean_count) = (&self.wanted_clean.0, self.wanted_clean.1);
        // what a long-lived changelog names stays with it, also what its expired snapshot alone needed
        let may_keep_more = versions.iter().any(|path| path.contains("/changelog/"));
        if versions == *clean_versions && (count < clean_count || !may_keep_more) {
            assert_eq!(count, clean_count, "left by the cleaning: {what}");
        }
    }
}

#[test]
fn an_expiry_that_dies_anywhere_loses_nothing_and_is_taken_up_again() {
    let operation = |ctx: &TableContext| expire_snapshots(ctx, &until(9, 8), false).map(drop);
    die_everywhere(&busy_table().0, &operation, 8, true);
}

/// The busy table after an expiry that is durable: tags alone keep what they name.
fn expired_table() -> (FaultFileIo, FileIoRef) {
    let (io, fs) = busy_table();
    let before = io.paths();
    expire_snapshots(&open(&fs, "main"), &until(9, 8), false).unwrap();
    for path in before {
        io.sync_dir(path.rsplit_once('/').unwrap().0).unwrap();
    }
    (io, fs)
}

#[test]
fn a_deletion_of_a_tag_that_dies_anywhere_loses_nothing() {
    let operation = |ctx: &TableContext| delete_tag(ctx, "t4", false).map(drop);
    die_everywhere(&expired_table().0, &operation, 0, false);
}

#[test]
fn a_rollback_that_dies_anywhere_is_finished_by_the_same_call() {
    let to_snapshot = |ctx: &TableContext| rollback(ctx, &VersionSelector::Snapshot(5), false).map(drop);
    die_everywhere(&busy_table().0, &to_snapshot, 0, true);
    let to_tag = |ctx: &TableContext| rollback(ctx, &VersionSelector::Tag("t4".to_owned()), false).map(drop);
    die_everywhere(&expired_table().0, &to_tag, 0, true);
}

#[test]
fn a_fast_forward_that_dies_anywhere_is_finished_by_the_same_call() {
    let table = {
        let (io, fs) = busy_table();
        create_branch(&open(&fs, "main"), "fix", &BranchSource::Tag("t6".to_owned())).unwrap();
        append(&fs, "fix", (1, 99));
        io
    };
    let operation = |ctx: &TableContext| fast_forward(ctx, "fix", false).map(drop);
    die_everywhere(&table, &operation, 0, true);
}

#[test]
fn a_fast_forward_to_a_branch_whose_first_version_is_after_all_of_mains_is_finished_by_the_same_call() {
    // a fast-forward that died when main had the branch's first version, and no record yet that the others expire, left them
    let table = {
        let (io, fs) = busy_table();
        create_branch(&open(&fs, "main"), "far", &BranchSource::Empty).unwrap();
        (0..12).for_each(|k| append(&fs, "far", (k, 99)));
        let before = io.paths();
        expire_snapshots(&open(&fs, "far"), &until(12, 11), false).unwrap();
        for path in before {
            io.sync_dir(path.rsplit_once('/').unwrap().0).unwrap();
        }
        io
    };
    let operation = |ctx: &TableContext| {
        fast_forward(ctx, "far", false)?;
        let line = SnapshotManager::new(ctx.fs.clone(), ROOT).ids()?;
        assert_eq!(line, [11, 12]);
        Ok(())
    };
    die_everywhere(&table, &operation, 0, true);
}

#[test]
fn a_branch_whose_deletion_dies_anywhere_is_there_whole_or_gone() {
    let table = {
        let (io, fs) = busy_table();
        create_branch(&open(&fs, "main"), "fix", &BranchSource::Snapshot(Some(6))).unwrap();
        append(&fs, "fix", (1, 99));
        let before = io.paths();
        expire_snapshots(&open(&fs, "main"), &until(9, 9), false).unwrap();
        for path in before {
            io.sync_dir(path.rsplit_once('/').unwrap().0).unwrap();
        }
        io
    };
    let operation = |ctx: &TableContext| match delete_branch(ctx, "fix", false) {
        // gone already: what is left of it is a tag, as the hint says
        Err(e) if e.kind() == ErrorKind::BranchNotFound && e.hint_text().is_some_and(|hint| hint.contains("fork-")) => {
            delete_tag(ctx, "fork-fix", false).map(drop)
        }
        Err(e) if e.kind() == ErrorKind::BranchNotFound => Ok(()),
        other => other.map(drop),
    };
    die_everywhere(&table, &operation, 9, false);
}

#[test]
fn the_making_of_a_branch_that_dies_anywhere_can_be_repeated() {
    for source in [BranchSource::Snapshot(Some(3)), BranchSource::Tag("t4".to_owned()), BranchSource::Empty] {
        let operation = |ctx: &TableContext| match create_branch(ctx, "fix", &source) {
            Err(e) if e.kind() == ErrorKind::BranchExists => Ok(()),
            other => other,
        };
        die_everywhere(&busy_table().0, &operation, 0, false);
        let (_, fs) = busy_table();
        let main = open(&fs, "main");
        if let BranchSource::Snapshot(Some(id)) = source {
            // what a making that died after its first step leaves
            create_branch(&main, "fix", &source).unwrap();
            fs.delete_dir(&format!("{ROOT}/branch/branch-fix")).unwrap();
            let other = create_branch(&main, "fix", &BranchSource::Snapshot(Some(id + 1)));
            assert_eq!(other.unwrap_err().kind(), ErrorKind::TagExists);
            create_branch(&main, "fix", &source).unwrap();
        }
    }
}

#[test]
fn a_cleaning_of_orphans_that_dies_anywhere_takes_nothing_that_is_needed() {
    let table = {
        let (io, fs) = busy_table();
        create_branch(&open(&fs, "main"), "fix", &BranchSource::Tag("t2".to_owned())).unwrap();
        append(&fs, "fix", (1, 99));
        rollback(&open(&fs, "main"), &VersionSelector::Snapshot(7), false).unwrap();
        for name in ["bucket-0/data-lost-0.parquet", "manifest/manifest-lost-0", "snapshot/.snapshot-9.x.tmp"] {
            io.put(&format!("{ROOT}/{name}"), b"left behind");
        }
        io
    };
    let operation = |ctx: &TableContext| remove_orphan_files(ctx, i64::MAX, i64::MAX, false).map(drop);
    die_everywhere(&table, &operation, 0, true);
}

/// Ten versions with changelogs that outlive their snapshots, vectors of deleted rows, statistics, and three tags.
fn rich_table() -> (FaultFileIo, FileIoRef) {
    let options = [
        ("bucket", "1"),
        ("write-only", "true"),
        ("deletion-vectors.enabled", "true"),
        ("changelog-producer", "lookup"),
        ("changelog.num-retained.max", "100"),
        ("snapshot.num-retained.max", "50"),
    ];
    let (io, fs) = table(&["k"], &options);
    for i in 0..4_i64 {
        let ctx = open(&fs, "main");
        commit(&ctx, written(&ctx, &[(1, i), (2, i), (i32::try_from(i).unwrap() + 3, i)]));
        compact(&fs, "main");
    }
    let ctx = open(&fs, "main");
    analyze(&ctx, 1).unwrap();
    commit(&ctx, written(&ctx, &[(1, 77)]));
    for id in [2, 4, 6] {
        tag(&ctx, &format!("t{id}"), id);
    }
    (io, fs)
}

fn problems(fs: &FileIoRef) -> Vec<String> {
    let verdict = fsck(&open(fs, "main"), true, i64::MAX).unwrap();
    let bad = verdict.findings.iter().filter(|f| f.severity == Severity::Problem);
    bad.map(|finding| format!("{} {}: {}", finding.code, finding.place, finding.message)).collect()
}

#[test]
fn a_table_with_changelogs_vectors_and_statistics_loses_nothing_when_its_care_dies_anywhere() {
    let (table, fs) = rich_table();
    let latest = SnapshotManager::new(fs, ROOT).latest_id().unwrap().unwrap();
    let expire = |ctx: &TableContext| expire_snapshots(ctx, &until(latest, latest - 1), false).map(drop);
    die_everywhere(&table, &expire, latest - 1, true);
    let expired = {
        let io = table.fork();
        let fs: FileIoRef = Arc::new(io.clone());
        let before = io.paths();
        expire_snapshots(&open(&fs, "main"), &until(latest, latest - 1), false).unwrap();
        for path in before {
            io.sync_dir(path.rsplit_once('/').unwrap().0).unwrap();
        }
        assert_eq!(problems(&fs), Vec::<String>::new());
        io
    };
    let keep = Retention { max: 4, min: 1, older_than: None, limit: i64::MAX };
    let changelogs = |ctx: &TableContext| expire_changelogs(ctx, &keep, false).map(drop);
    die_everywhere(&expired, &changelogs, 0, true);
    die_everywhere(&expired, &|ctx| delete_tag(ctx, "t4", false).map(drop), 0, false);
    let back = |ctx: &TableContext| rollback(ctx, &VersionSelector::Tag("t4".to_owned()), false).map(drop);
    die_everywhere(&expired, &back, 0, true);
}

#[test]
fn a_tag_whose_changelog_has_expired_by_right_is_no_problem() {
    // it was one: "says Some(1) rows of changelog, the manifests 0"
    let (io, fs) = table(&["k"], &[("bucket", "1"), ("write-only", "true"), ("changelog-producer", "input")]);
    for i in 0..3 {
        append(&fs, "main", (i, 0));
    }
    let ctx = open(&fs, "main");
    tag(&ctx, "kept", 2);
    expire_snapshots(&ctx, &until(3, 3), false).unwrap();
    assert_eq!(problems(&fs), Vec::<String>::new());
    let path = TagManager::new(Arc::clone(&fs), ROOT).path("kept");
    let text = String::from_utf8(fs.read(&path).unwrap().to_vec()).unwrap();
    io.put(&path, text.replace("\"totalRecordCount\" : 2", "\"totalRecordCount\" : 7").as_bytes());
    let found = problems(&fs).join("; ");
    assert_eq!(found, "wrong-row-count main/tag-kept: says 7 rows, its live files hold 2");
}
