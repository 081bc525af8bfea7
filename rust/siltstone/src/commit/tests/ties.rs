//! Rows of one key with equal numbers: whose were committed first stays to be known, and compactions do not turn it around.

use super::*;
use crate::manifest::DataFileFields;

fn level_5(name: &str) -> DataFileMeta {
    file(name, 5, (0, 9))
}

fn names(table: &Table) -> Vec<String> {
    table.live().into_iter().map(|entry| entry.file.into_inner().file_name).collect()
}

/// What becomes of a compaction that takes this file of level 0 up, after `first` and `second` were added in this order.
fn lifted(table: &Table, taken: &str, first: DataFileMeta, second: DataFileMeta) -> CompactionOutcome {
    table.put(&[&first.file_name, &second.file_name, "up"]);
    let taken = [&first, &second].into_iter().find(|file| file.file_name == taken).cloned().unwrap();
    for file in [first, second] {
        let new = DataIncrement { new_files: vec![file], ..DataIncrement::default() };
        table.commit_as("writer").commit(of(vec![message(new, CompactIncrement::default())])).unwrap();
    }
    let up = DataFileFields { file_name: "up".to_owned(), level: 5, ..DataFileFields::clone(&taken) }.into();
    table.commit_as("compactor").commit(of(vec![compacts(&[taken], &[up])])).unwrap().compaction
}

fn numbered(name: &str, numbers: (i64, i64)) -> DataFileMeta {
    DataFileFields { min_sequence_number: numbers.0, max_sequence_number: numbers.1, ..DataFileFields::clone(&f(name)) }
        .into()
}

#[test]
fn a_compaction_lifts_no_rows_over_equal_ones_that_were_committed_before_them() {
    let outcome = lifted(&key_table(), "second", f("first"), f("second"));
    let CompactionOutcome::Dropped(error) = outcome else { panic!("{outcome:?}") };
    assert_eq!((error.kind(), error.context_value("file")), (ErrorKind::CommitConflict, Some("first")));
    assert!(error.message().contains("equal ones that were committed before"), "{error}");
}

#[test]
fn a_compaction_may_lift_rows_over_those_that_came_later_or_are_not_equal() {
    let later = lifted(&key_table(), "first", f("first"), f("second"));
    assert!(matches!(later, CompactionOutcome::Committed), "{later:?}");
    let newer = lifted(&key_table(), "second", f("first"), numbered("second", (10, 19)));
    assert!(matches!(newer, CompactionOutcome::Committed), "{newer:?}");
    let elsewhere = lifted(&key_table(), "second", f("first"), file("second", 0, (10, 19)));
    assert!(matches!(elsewhere, CompactionOutcome::Committed), "{elsewhere:?}");
}

/// With another index: it came behind the file of another job, whose equal rows readers saw then.
#[test]
fn a_file_that_is_replaced_by_itself_stays_before_those_that_came_after_it() {
    let replaced = |again: &[&str]| {
        let table = key_table();
        table.put(&["first", "second"]);
        for name in ["first", "second"] {
            let new = DataIncrement { new_files: vec![f(name)], ..DataIncrement::default() };
            table.commit_as("writer").commit(of(vec![message(new, CompactIncrement::default())])).unwrap();
        }
        let files: Vec<_> = again.iter().map(|name| f(name)).collect();
        let with_index = |file: &DataFileMeta| {
            DataFileFields { embedded_file_index: Some(vec![1]), ..DataFileFields::clone(file) }.into()
        };
        let indexed: Vec<_> = files.iter().map(with_index).collect();
        let outcome = table.commit_as("indexer").commit(of(vec![compacts(&files, &indexed)])).unwrap().compaction;
        (outcome, names(&table))
    };
    let (outcome, live) = replaced(&["first"]);
    let CompactionOutcome::Dropped(error) = outcome else { panic!("{outcome:?}") };
    assert_eq!((error.context_value("file"), live), (Some("second"), vec!["first".to_owned(), "second".to_owned()]));
    for again in [&["second"][..], &["first", "second"]] {
        let (outcome, live) = replaced(again);
        assert!(matches!(outcome, CompactionOutcome::Committed), "{outcome:?}");
        assert_eq!(live, ["first", "second"]);
    }
}

#[test]
fn where_readers_leave_level_0_out_they_have_seen_neither() {
    let options = [("bucket", "1"), ("merge-engine", "first-row")];
    let outcome = lifted(&table(&["k"], &[], &options), "second", f("first"), f("second"));
    assert!(matches!(outcome, CompactionOutcome::Committed), "{outcome:?}");
}

#[test]
fn rows_of_a_lower_level_are_not_lifted_over_a_level_that_the_compaction_does_not_know() {
    let table = key_table();
    table.add(&["a", "b"]);
    table.put(&["middle", "top"]);
    let middle = file("middle", 3, (0, 9));
    table.commit_as("other").commit(of(vec![compacts(&[f("a")], &[middle])])).unwrap();
    let outcome = table.commit_as("one").commit(of(vec![compacts(&[f("b")], &[level_5("top")])])).unwrap();
    let CompactionOutcome::Dropped(error) = outcome.compaction else { panic!("{outcome:?}") };
    assert_eq!(error.context_value("file"), Some("middle"));
}

/// Manifests that stay as they are came first, what was left of the others behind them.
#[test]
fn a_full_merge_of_manifests_keeps_the_order_of_the_commits_to_level_0() {
    let options =
        [("bucket", "1"), ("manifest.target-file-size", "1 b"), ("manifest.full-compaction-threshold-size", "1 b")];
    let table = table(&["k"], &[], &options);
    let first = [f("first"), file("gone", 0, (20, 29))];
    table.put(&["first", "gone", "up"]);
    let new = DataIncrement { new_files: first.to_vec(), ..DataIncrement::default() };
    table.commit_as("one").commit(of(vec![message(new, CompactIncrement::default())])).unwrap();
    table.add(&["second"]);
    let up = DataFileFields { file_name: "up".to_owned(), level: 5, ..DataFileFields::clone(&first[1]) }.into();
    let compacted = table.commit_as("two").commit(of(vec![compacts(&first[1..], &[up])])).unwrap();
    assert!(matches!(compacted.compaction, CompactionOutcome::Committed), "{compacted:?}");
    assert_eq!(names(&table), ["first", "second", "up"]);
    // merges what the compaction has left, and adds a file
    table.add(&["third"]);
    let store = ManifestStore::new(&table.ctx.fs, &table.ctx.paths, &table.ctx.options).unwrap();
    let manifests = store.read_lists(&table.latest().unwrap()).unwrap();
    assert!(manifests.iter().all(|manifest| manifest.num_deleted_files == 0), "merged");
    assert_eq!(names(&table), ["first", "second", "up", "third"]);
}

/// Java gives a file an index, takes it away and gives it again: entries that are the same come and go. A merge that took a deletion
/// for one of all of them dropped the file.
#[test]
fn an_entry_that_comes_again_survives_merges_of_manifests() {
    let full = [("manifest.target-file-size", "1 b"), ("manifest.full-compaction-threshold-size", "1 b")];
    let minor = [("manifest.merge-min-count", "2"), ("manifest.full-compaction-threshold-size", "1 gb")];
    for merging in [full, minor] {
        let table = table(&["k"], &[], &[&[("bucket", "1")][..], &merging].concat());
        let plain = level_5("a");
        let indexed = DataFileFields { embedded_file_index: Some(vec![1]), ..DataFileFields::clone(&plain) }.into();
        let new = CompactIncrement { compact_after: vec![plain.clone()], ..CompactIncrement::default() };
        table.put(&["a"]);
        table.commit_as("one").commit(of(vec![message(DataIncrement::default(), new)])).unwrap();
        let both = [&plain, &indexed];
        for turn in 0..6 {
            let (before, after) = (both[turn % 2].clone(), both[(turn + 1) % 2].clone());
            let done = table.commit_as("two").commit(of(vec![compacts(&[before], &[after])])).unwrap();
            assert!(matches!(done.compaction, CompactionOutcome::Committed), "{done:?}");
            assert_eq!(names(&table), ["a"], "after turn {turn}");
        }
        table.commit_as("three").compact_manifests().unwrap();
        assert_eq!(names(&table), ["a"]);
        assert_eq!(table.live()[0].file.embedded_file_index, None);
    }
}
