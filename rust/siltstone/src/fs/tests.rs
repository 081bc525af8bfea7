//! The same promises, asked of every storage.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use super::*;
use crate::error::ErrorKind;

struct Scratch(String);

impl Scratch {
    fn new() -> Self {
        let path = std::env::temp_dir().join(format!("siltstone-fs-{}", uuid::Uuid::new_v4()));
        Self(path.to_string_lossy().into_owned())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn each(check: impl Fn(&dyn FileIo, &str)) {
    let scratch = Scratch::new();
    check(&LocalFileIo::new(), &scratch.0);
    check(&FaultFileIo::new(), "/memory");
}

fn names(io: &dyn FileIo, directory: &str) -> Vec<String> {
    let listed = io.list(directory).expect("list");
    let mut names: Vec<String> =
        listed.into_iter().map(|f| f.path.rsplit('/').next().expect("a name").to_owned()).collect();
    names.sort();
    names
}

#[test]
fn publishing_never_replaces_and_leaves_no_temporary_file() {
    each(|io, root| {
        let path = format!("{root}/snapshot/snapshot-1");
        io.publish(&path, b"one", true).expect("publish");
        let again = io.publish(&path, b"two", true).expect_err("taken");
        assert_eq!(again.kind(), ErrorKind::FileExists);
        assert_eq!(&io.read(&path).expect("read")[..], b"one");
        assert_eq!(names(io, &format!("{root}/snapshot")), ["snapshot-1"]);
    });
}

#[test]
fn of_many_threads_that_publish_one_name_exactly_one_wins() {
    let scratch = Scratch::new();
    let io = Arc::new(LocalFileIo::new());
    let won = AtomicUsize::new(0);
    let path = format!("{}/snapshot/snapshot-7", scratch.0);
    std::thread::scope(|threads| {
        for k in 0..16 {
            let (io, won, path) = (&io, &won, &path);
            threads.spawn(move || match io.publish(path, format!("{k}").as_bytes(), false) {
                Ok(()) => {
                    won.fetch_add(1, Ordering::SeqCst);
                }
                Err(e) => assert_eq!(e.kind(), ErrorKind::FileExists),
            });
        }
    });
    assert_eq!(won.load(Ordering::SeqCst), 1);
}

#[test]
fn a_new_file_is_written_in_pieces_and_read_in_ranges() {
    each(|io, root| {
        let path = format!("{root}/bucket-0/data");
        let mut out = io.create(&path).expect("create");
        out.write_all(b"hello ").expect("write");
        out.write_all(b"world").expect("write");
        assert_eq!(out.position(), 11);
        assert_eq!(out.close(true).expect("close"), 11);
        assert_eq!(io.create(&path).map(|_| ()).expect_err("exists").kind(), ErrorKind::FileExists);
        let input = io.open(&path).expect("open");
        assert_eq!(input.size().expect("size"), 11);
        assert_eq!(&input.read_range(6, 5).expect("range")[..], b"world");
        assert_eq!(input.read_range(6, 6).expect_err("short").kind(), ErrorKind::CorruptFile);
        assert_eq!(input.read_range(u64::MAX, 2).expect_err("overflow").kind(), ErrorKind::CorruptFile);
    });
}

#[test]
fn absent_files_are_told_apart_from_failures() {
    each(|io, root| {
        let path = format!("{root}/nothing/here");
        assert_eq!(io.read(&path).expect_err("absent").kind(), ErrorKind::FileNotFound);
        assert!(!io.exists(&path).expect("exists"));
        assert!(io.status(&path).expect("status").is_none());
        assert!(io.list(&path).expect("list").is_empty());
        io.delete(&path).expect("delete");
        io.delete_dir(&path).expect("delete_dir");
    });
}

#[test]
fn hints_are_replaced_and_directories_renamed() {
    each(|io, root| {
        let hint = format!("{root}/a/LATEST");
        io.overwrite(&hint, b"1").expect("first");
        io.overwrite(&hint, b"2").expect("second");
        assert_eq!(&io.read(&hint).expect("read")[..], b"2");
        assert_eq!(names(io, &format!("{root}/a")), ["LATEST"]);
        io.rename_dir(&format!("{root}/a"), &format!("{root}/b")).expect("rename");
        assert_eq!(names(io, root), ["b"]);
        io.create_dir(&format!("{root}/c")).expect("create");
        let taken = io.rename_dir(&format!("{root}/b"), &format!("{root}/c")).expect_err("taken");
        assert_eq!(taken.kind(), ErrorKind::FileExists);
        io.delete_dir(&format!("{root}/b")).expect("delete");
        assert_eq!(names(io, root), ["c"]);
    });
}

#[test]
fn a_crash_forgets_names_and_contents_that_were_not_synced() {
    let io = FaultFileIo::new();
    io.write_new("/t/m/kept", b"x", true).expect("write");
    io.sync_dir("/t/m").expect("sync");
    io.write_new("/t/m/no-name", b"x", true).expect("write");
    io.write_new("/t/n/no-content", b"x", false).expect("write");
    io.sync_dir("/t/n").expect("sync");
    io.delete("/t/m/kept").expect("delete");
    io.crash();
    assert_eq!(io.paths(), ["/t/m/kept", "/t/n/no-content"]);
    assert_eq!(&io.read("/t/m/kept").expect("read")[..], b"x");
    assert!(io.read("/t/n/no-content").expect("read").is_empty());
}

#[test]
fn names_may_survive_a_crash_without_their_contents() {
    let io = FaultFileIo::new();
    io.write_new("/t/m/a", b"x", false).expect("write");
    io.crash_keeping_names();
    assert!(io.read("/t/m/a").expect("read").is_empty());
}

#[test]
fn a_published_file_survives_a_crash() {
    let io = FaultFileIo::new();
    io.publish("/t/snapshot/snapshot-1", b"x", true).expect("publish");
    io.crash();
    assert_eq!(io.paths(), ["/t/snapshot/snapshot-1"]);
}

#[test]
fn calls_fail_from_the_given_one_on_with_or_without_effect() {
    for (when, there) in [(FailWhen::Before, false), (FailWhen::After, true)] {
        let io = FaultFileIo::new();
        io.fail_after(1, when);
        io.write_new("/t/a", b"x", true).expect("the first call succeeds");
        assert_eq!(io.write_new("/t/b", b"x", true).expect_err("fails").kind(), ErrorKind::Storage);
        assert!(io.write_new("/t/c", b"x", true).is_err());
        assert_eq!(io.calls(), 3);
        io.heal();
        assert_eq!(io.exists("/t/b").expect("exists"), there);
        assert!(!io.exists("/t/c").expect("exists"));
    }
}

#[test]
fn file_schemes_are_removed_and_others_kept() {
    assert_eq!(strip_scheme("file:/a/b"), "/a/b");
    assert_eq!(strip_scheme("file:///a/b"), "/a/b");
    assert_eq!(strip_scheme("file://localhost/a"), "/a");
    assert_eq!(strip_scheme("FILE:///a/b"), "/a/b");
    assert_eq!(strip_scheme("File:/a/b"), "/a/b");
    assert_eq!(strip_scheme("/a/b"), "/a/b");
    assert_eq!(strip_scheme("é/b"), "é/b");
    assert_eq!(strip_scheme("s3://x/y"), "s3://x/y");
}

/// A storage of each kind, as whoever works on the table at the path sees it, and as all others do.
fn each_within(check: impl Fn(&dyn FileIo, &dyn FileIo, &str)) {
    each(|io, root| {
        let table = format!("{root}/t");
        io.create_dir(&format!("{table}/branch/branch-b")).expect("create");
        check(&*io.within(&table).expect("a handle of the table"), io, &table);
    });
}

#[test]
fn a_handle_of_a_table_makes_neither_its_directory_nor_that_of_a_branch() {
    each_within(|own, all, table| {
        let write = |directory: &str| {
            let path = |name: &str| format!("{directory}/deep/{name}");
            [
                own.create(&path("created")).map(drop),
                own.write_new(&path("written"), b"x", false),
                own.publish(&path("published"), b"x", true),
                own.create_dir(&path("directory")),
                own.try_lock(&path("lock")).map(drop),
            ]
        };
        let branch = format!("{table}/branch/branch-b");
        for directory in [table, &branch] {
            assert!(write(directory).iter().all(Result::is_ok), "{directory}");
        }
        for (gone, kind) in [(branch.as_str(), ErrorKind::BranchNotFound), (table, ErrorKind::TableNotFound)] {
            all.delete_dir(gone).expect("delete");
            for done in write(gone) {
                let error = done.expect_err(gone);
                assert!(error.kind() == kind && error.is_without_effect(), "{error}");
            }
            assert!(!all.exists(gone).expect("exists"), "{gone}");
        }
    });
}

/// A write beside an orphan cleaning ended with a failure of the storage, on a table that nothing is wrong with.
#[test]
fn a_file_is_made_though_its_empty_directories_are_removed_meanwhile() {
    let scratch = Scratch::new();
    let table = format!("{}/t", scratch.0);
    LocalFileIo::new().create_dir(&table).expect("create");
    let ended = AtomicUsize::new(0);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            while ended.load(Ordering::SeqCst) == 0 {
                for directory in ["dt=p/a/bucket-0", "dt=p/a", "dt=p"] {
                    let _ = std::fs::remove_dir(format!("{table}/{directory}"));
                }
                std::thread::sleep(std::time::Duration::from_micros(50));
            }
        });
        let made: Result<()> = (0..2000).try_for_each(|k| {
            let own = LocalFileIo::new().within(&table).expect("a handle of the table");
            let path = format!("{table}/dt=p/a/bucket-0/f{k}");
            own.write_new(&path, b"x", false)?;
            own.delete(&path)
        });
        ended.store(1, Ordering::SeqCst);
        made.expect("every file is made");
    });
}

/// Making directories again and again would go on for seconds.
#[cfg(unix)]
#[test]
fn a_link_that_leads_nowhere_is_no_directory_that_others_have_removed() {
    let scratch = Scratch::new();
    let (all, bucket) = (LocalFileIo::new(), format!("{}/t/bucket-0", scratch.0));
    all.create_dir(&format!("{}/t", scratch.0)).expect("create");
    std::os::unix::fs::symlink("nowhere", &bucket).expect("link");
    for io in [all.within(&format!("{}/t", scratch.0)).expect("a handle of the table"), Arc::new(all)] {
        for done in
            [io.write_new(&format!("{bucket}/f"), b"x", false), io.try_lock(&format!("{bucket}/lock")).map(drop)]
        {
            let error = done.expect_err("no directory");
            assert!(error.to_string().contains("cannot create the directory"), "{error}");
        }
    }
}

#[test]
fn a_handle_of_a_table_makes_no_directory_for_a_hint() {
    each_within(|own, all, table| {
        assert!(own.overwrite(&format!("{table}/snapshot/LATEST"), b"1").is_err());
        assert!(!all.exists(&format!("{table}/snapshot")).expect("exists"));
        own.publish(&format!("{table}/snapshot/snapshot-1"), b"1", true).expect("publish");
        own.overwrite(&format!("{table}/snapshot/LATEST"), b"1").expect("overwrite");
    });
}

#[test]
fn what_was_finished_in_a_directory_gets_no_name_in_another_one_that_took_its_place() {
    each_within(|own, all, table| {
        let path = format!("{table}/snapshot/snapshot-1");
        let replaced = || {
            all.rename_dir(table, &format!("{table}-renamed"))?;
            all.create_dir(&format!("{table}/snapshot"))
        };
        let error = own.publish_if(&path, b"x", true, &replaced).expect_err("replaced");
        assert!(error.is_without_effect(), "{error}");
        assert!(names(all, &format!("{table}/snapshot")).is_empty());
        let refused = || Err(Error::new(ErrorKind::CommitConflict, "no"));
        let error = own.publish_if(&path, b"x", true, &refused).expect_err("refused");
        assert!(error.kind() == ErrorKind::CommitConflict && error.is_without_effect(), "{error}");
        assert!(names(all, &format!("{table}/snapshot")).is_empty());
        own.publish_if(&path, b"x", true, &|| Ok(())).expect("published");
    });
}

#[test]
fn a_lock_is_in_place_until_its_directory_is_renamed_or_deleted() {
    each_within(|own, all, table| {
        let path = format!("{table}/siltstone/upkeep.lock");
        let held = own.try_lock(&path).expect("lock").expect("free");
        assert!(held.is_in_place().expect("look"));
        all.rename_dir(table, &format!("{table}-renamed")).expect("rename");
        assert!(!held.is_in_place().expect("look"), "nothing is at its path");
        all.create_dir(table).expect("create");
        let new = own.try_lock(&path).expect("lock").expect("another file");
        assert!(new.is_in_place().expect("look") && !held.is_in_place().expect("look"));
        all.delete_dir(table).expect("delete");
        assert!(!new.is_in_place().expect("look"));
    });
}
