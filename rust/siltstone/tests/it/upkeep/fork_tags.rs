//! The tag `fork-<branch>` that keeps the files of a branch, and tags of users with such names.

use std::{sync::Arc, time::Duration};

use siltstone::{
    fs::FileIoRef,
    operation::branch::{BranchSource, create_branch},
    snapshot::TagManager,
};

use super::{ROOT, append, open, table, tag};

fn tags(fs: &FileIoRef) -> TagManager {
    TagManager::new(Arc::clone(fs), ROOT)
}

#[test]
fn the_tag_that_keeps_a_branch_has_no_retention_whatever_the_tables_default_is() {
    let (_, fs) = table(&[], &[("tag.default-time-retained", "1 s")]);
    append(&fs, "main", (0, 0));
    let main = open(&fs, "main");
    create_branch(&main, "b", &BranchSource::Snapshot(None)).unwrap();
    tag(&main, "own", 1);
    assert_eq!(tags(&fs).tag("fork-b").unwrap().time_retained, None);
    assert_eq!(tags(&fs).tag("own").unwrap().time_retained, Some(Duration::from_secs(1)));
}
