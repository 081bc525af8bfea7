//! Long-lived changelogs: what outlives its snapshot, and what its expiry leaves to others.

use std::{collections::BTreeMap, sync::Arc};

use siltstone::{
    fs::FileIoRef,
    maintenance::{
        expire::{Retention, expire_changelogs, expire_snapshots},
        fsck::{Severity, fsck},
        tag::delete_tag,
    },
    snapshot::{ChangelogManager, CommitKind, SnapshotManager},
    table::Table,
};

use super::{ROOT, append, check_whole, compact, open, table, tag, until};

/// Changelogs before `end` go, whatever their age.
fn changelogs_until(latest: i64, end: i64) -> Retention {
    Retention { max: latest - end + 1, ..until(latest, end) }
}

#[test]
fn changelogs_that_expire_leave_the_manifests_of_later_tags() {
    let outlive = [("changelog.num-retained.max", "1000"), ("changelog.num-retained.min", "1000")];
    let options = [("bucket", "1"), ("manifest.merge-min-count", "100"), ("changelog-producer", "lookup")];
    let (_, fs) = table(&["k"], &[&options[..], &outlive[..]].concat());
    (0..12).for_each(|k| append(&fs, "main", (k, 0)));
    let ctx = open(&fs, "main");
    // the lists of changelog 5 stay because of a tag, those of the changelogs after it do not
    tag(&ctx, "a5", 5);
    tag(&ctx, "v15", 15);
    expire_snapshots(&ctx, &until(24, 24), false).unwrap();
    delete_tag(&ctx, "a5", false).unwrap();
    check_whole(&fs, 24);
    let gone = expire_changelogs(&ctx, &changelogs_until(24, 11), false).unwrap().details["changelogs"].clone();
    assert_eq!(gone, serde_json::json!((1..11).collect::<Vec<i64>>()));
    check_whole(&fs, 24);
}

/// Changelogs outlive their snapshots.
const OUTLIVE: [(&str, &str); 6] = [
    // no commit expires anything by itself
    ("write-only", "true"),
    ("snapshot.num-retained.min", "1"),
    ("snapshot.num-retained.max", "2"),
    ("changelog.num-retained.min", "1"),
    ("changelog.num-retained.max", "8"),
    ("compaction.min.file-num", "2"),
];

fn check_sound(fs: &FileIoRef) {
    let verdict = fsck(&open(fs, "main"), true, 0).unwrap();
    let problems: Vec<_> = verdict.findings.iter().filter(|f| f.severity == Severity::Problem).collect();
    assert!(problems.is_empty(), "{problems:#?}");
}

#[test]
fn an_expiry_by_options_without_changelogs_leaves_the_files_of_those_that_are_there_and_gaps_that_their_expiry_takes() {
    let (_, fs) = table(&[], &OUTLIVE);
    let changelogs = || ChangelogManager::new(Arc::clone(&fs), ROOT).ids().unwrap();
    (0..4).for_each(|k| append(&fs, "main", (k, 0)));
    expire_snapshots(&open(&fs, "main"), &until(4, 3), false).unwrap();
    assert_eq!(changelogs(), [1, 2]);
    compact(&fs, "main");
    let fifth = SnapshotManager::new(Arc::clone(&fs), ROOT).get(5).unwrap();
    assert_eq!(fifth.commit_kind, CommitKind::Compact);
    (4..9).for_each(|k| append(&fs, "main", (k, 0)));
    let many = BTreeMap::from([("snapshot.num-retained.max".to_owned(), "100".to_owned())]);
    let other = Table::open_with(Arc::clone(&fs), ROOT, "main", None, many).unwrap();
    expire_snapshots(other.context(), &until(10, 9), false).unwrap();
    assert_eq!(changelogs(), [1, 2]);
    check_sound(&fs);

    (9..14).for_each(|k| append(&fs, "main", (k, 0)));
    expire_snapshots(&open(&fs, "main"), &until(15, 14), false).unwrap();
    assert_eq!(changelogs(), [1, 2, 9, 10, 11, 12, 13]);
    let keep = |older_than: i64| Retention { max: 100, min: 1, older_than: Some(older_than), limit: i64::MAX };
    let gone = |older_than: i64| {
        expire_changelogs(&open(&fs, "main"), &keep(older_than), false).unwrap().details["changelogs"].clone()
    };
    assert_eq!(gone(0), serde_json::json!([]));
    // nine, in the gap, is the first that stays
    let nine = Retention { min: 8, older_than: None, ..keep(0) };
    assert_eq!(
        expire_changelogs(&open(&fs, "main"), &nine, false).unwrap().details["changelogs"],
        serde_json::json!([1, 2])
    );
    assert_eq!(gone(i64::MAX), serde_json::json!([9, 10, 11, 12]));
    assert_eq!(changelogs(), [13]);
    check_sound(&fs);
}
