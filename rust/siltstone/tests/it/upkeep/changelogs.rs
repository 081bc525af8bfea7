//! Long-lived changelogs: what outlives its snapshot, and what its expiry leaves to others.

use siltstone::operation::expire::{Retention, expire_changelogs, expire_snapshots};
use siltstone::operation::tag::delete_tag;

use super::{append, check_whole, open, table, tag, until};

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
