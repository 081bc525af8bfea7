//! Overwrites replace what they are meant for, as it is when they are published.

use super::*;

#[test]
fn a_partition_keeps_its_number_of_buckets_until_it_is_overwritten() {
    let t = table(&["k"], &[], &[("bucket", "1"), ("write-only", "true")]);
    t.add(&["a"]);
    let mut rescaled = adds(&["b"]);
    rescaled.total_buckets = 2;
    let error = t.commit_as("u").commit(of(vec![rescaled.clone()])).unwrap_err();
    assert!(error.message().contains("new bucket num 2, but the previous bucket num is 1"), "{error}");
    let target = OverwriteTarget::Static(PartitionSpec::new());
    t.commit_as("u").overwrite(&target, of(vec![rescaled])).unwrap();
    assert_eq!(t.names(), ["b"]);
}

#[test]
fn an_overwrite_replaces_the_partitions_it_is_meant_for() {
    let t = table(&[], &["p"], &[]);
    let commit = t.commit_as("u");
    commit.commit(of(vec![in_partition(1, &["a"]), in_partition(2, &["b"]), in_partition(3, &["c"])])).unwrap();
    commit.overwrite(&OverwriteTarget::Dynamic, of(vec![in_partition(1, &["d"])])).unwrap();
    assert_eq!(t.names(), ["b", "c", "d"]);
    assert!(commit.overwrite(&OverwriteTarget::Dynamic, of(vec![])).unwrap().snapshots.is_empty());
    let wrong = commit.overwrite(&OverwriteTarget::Static(spec("2")), of(vec![in_partition(1, &["x"])]));
    assert_eq!(wrong.unwrap_err().kind(), ErrorKind::InvalidArgument);
    commit.overwrite(&OverwriteTarget::Static(spec("2")), of(vec![in_partition(2, &["e"])])).unwrap();
    assert_eq!(t.names(), ["c", "d", "e"]);
    assert_eq!(t.latest().unwrap().total_record_count, Some(30));
    let planned = commit.plan_truncate(Some(&[spec("3"), spec("9")])).unwrap();
    assert_eq!(planned.len(), 1);
    commit.truncate(Some(&[spec("3"), spec("9")])).unwrap();
    assert_eq!(t.names(), ["d", "e"]);
    assert!(commit.truncate(Some(&[])).unwrap().snapshots.is_empty());
    let error = commit.truncate(Some(&[BTreeMap::from([("q".to_owned(), None)])])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    commit.truncate(None).unwrap();
    assert!(t.names().is_empty());
    assert!(commit.truncate(None).unwrap().snapshots.is_empty());
}

#[test]
fn an_overwrite_replaces_what_is_there_when_it_is_published() {
    let t = append_table();
    t.add(&["a"]);
    let late = TableCommit::new(&t.ctx, "u");
    t.add(&["b"]);
    late.overwrite(&OverwriteTarget::Static(PartitionSpec::new()), of(vec![adds(&["c"])])).unwrap();
    assert_eq!(t.names(), ["c"]);
    assert_eq!(t.latest().unwrap().commit_kind, CommitKind::Overwrite);
}

#[test]
fn new_files_of_an_overwrite_go_to_the_last_level_when_they_do_not_overlap() {
    let t = key_table();
    let mut message = adds(&[]);
    message.data.new_files = vec![file("b", 0, (10, 19)), file("a", 0, (0, 9))];
    let target = OverwriteTarget::Static(PartitionSpec::new());
    t.commit_as("u").overwrite(&target, of(vec![message])).unwrap();
    let last = t.ctx.options.num_levels - 1;
    assert!(t.live().iter().all(|entry| entry.file.level == last));
    t.commit_as("u").overwrite(&target, of(vec![adds(&["c", "d"])])).unwrap();
    assert!(t.live().iter().all(|entry| entry.file.level == 0));
}
