//! The first commit of a table, which has no version before it.

use std::sync::Arc;

use siltstone::{
    commit::Committable,
    fs::{FileIoRef, Meanwhile},
    io::TableContext,
    maintenance::{automatic::Committer, expire::expire_snapshots},
};

use super::{append, open, table, until, written};

#[test]
fn a_first_commit_that_expires_before_its_writer_looks_is_committed_because_a_record_lists_it() {
    let (io, fs) = table(&[], &[]);
    let others = Arc::clone(&fs);
    let expires = move || {
        (1..3).for_each(|k| append(&others, "main", (k, 0)));
        expire_snapshots(&open(&others, "main"), &until(3, 3), false).map(drop)
    };
    let meanwhile = Meanwhile::new().before("publish: remove temporary file", "/snapshot/snapshot-1", expires);
    let meanwhile = Arc::new(meanwhile);
    let behind: FileIoRef = Arc::new(io.behind(Arc::<Meanwhile>::clone(&meanwhile)));
    let ctx = TableContext { fs: behind, ..open(&fs, "main") };
    let committable = Committable { messages: written(&ctx, &[(0, 0)]), ..Committable::default() };
    let outcome = Committer::with_new_user(&ctx).commit(committable).unwrap();
    assert_eq!(outcome.snapshots.iter().map(|snapshot| snapshot.id).collect::<Vec<_>>(), [1]);
    assert_eq!(meanwhile.left(), 0);
}
