//! A rollback whose storage fails in one call: the error is never that the version has expired.

use std::sync::Arc;

use siltstone::{
    Error, ErrorKind,
    fs::{FileIoRef, Meanwhile},
    io::TableContext,
    maintenance::rollback::rollback,
    scan::VersionSelector,
};

use super::{ROOT, busy_table, open};
use crate::crash;

/// A manifest that could not be opened for the moment (`EACCES`, `EMFILE`) was reported as `SnapshotExpired` with the advice to
/// choose another version, and a data file that could not be asked for counted as there.
#[test]
fn a_rollback_whose_storage_fails_does_not_say_that_the_version_has_expired() {
    let (io, _) = busy_table();
    for dry_run in [true, false] {
        for call in 0.. {
            let io = io.fork();
            let fs: FileIoRef = Arc::new(io.clone());
            let fails = || Err(Error::new(ErrorKind::Storage, "too many open files"));
            let meanwhile = Arc::new(Meanwhile::new().before_call(call, fails));
            let behind = Arc::new(io.behind(Arc::<Meanwhile>::clone(&meanwhile)));
            let ctx = TableContext { fs: behind, ..open(&fs, "main") };
            let result = rollback(&ctx, &VersionSelector::Snapshot(5), dry_run);
            if meanwhile.left() > 0 {
                result.unwrap();
                break;
            }
            if let Err(error) = result {
                assert_ne!(error.kind(), ErrorKind::SnapshotExpired, "call {call}, dry_run={dry_run}: {error}");
            }
        }
    }
}

/// What the search for missing files asks of the storage fails: nobody knows whether the version is whole.
#[test]
fn a_rollback_that_cannot_ask_for_a_data_file_fails_as_the_storage_does() {
    for (what, path_end) in [("exists", ".parquet"), ("read", "-0")] {
        let (io, fs) = busy_table();
        let before = io.paths();
        let fails = || Err(Error::new(ErrorKind::Storage, "permission denied"));
        let meanwhile = Arc::new(Meanwhile::new().before(what, path_end, fails));
        let behind = Arc::new(io.behind(Arc::<Meanwhile>::clone(&meanwhile)));
        let ctx = TableContext { fs: behind, ..open(&fs, "main") };
        let error = rollback(&ctx, &VersionSelector::Snapshot(5), true).unwrap_err();
        assert_eq!((meanwhile.left(), error.kind()), (0, ErrorKind::Storage), "{what}: {error}");
        assert_eq!(io.paths(), before);
    }
}

/// Only what is really gone has expired.
#[test]
fn a_rollback_to_a_version_that_lacks_a_file_says_that_it_has_expired() {
    let (io, fs) = busy_table();
    let lost = io.paths().into_iter().filter(|path| path.starts_with(&format!("{ROOT}/bucket-0/")));
    for path in lost {
        fs.delete(&path).unwrap();
    }
    let error = rollback(&open(&fs, "main"), &VersionSelector::Snapshot(5), true).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::SnapshotExpired, "{error}");
}

/// A version without its deletion vectors, extra files or statistics cannot be read, either.
#[test]
fn a_rollback_to_a_version_that_lacks_an_index_file_says_that_it_has_expired() {
    let (io, fs) = crash::memory(&[], &[crash::VECTORS]);
    let ctx = crash::open(&fs, crash::ROOT);
    crash::append(&ctx, 0, &[(0, 0), (1, 0), (2, 0)]).unwrap();
    crash::delete(&ctx, 1, "k = 1").unwrap();
    crash::append(&ctx, 2, &[(3, 0)]).unwrap();
    let lost = io.paths().into_iter().find(|path| path.contains("/index/index-")).unwrap();
    fs.delete(&lost).unwrap();
    let before = io.paths();
    for dry_run in [true, false] {
        let error = rollback(&ctx, &VersionSelector::Snapshot(2), dry_run).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::SnapshotExpired, "{error}");
    }
    let left = |paths: Vec<String>| paths.into_iter().filter(|path| !path.contains("/siltstone/")).collect::<Vec<_>>();
    assert_eq!(left(io.paths()), left(before));
    rollback(&ctx, &VersionSelector::Snapshot(1), false).unwrap();
}
