//! Snapshot files and the directory that holds them.

use std::sync::Arc;

use super::*;
use crate::{
    error::ErrorKind,
    fs::{FailWhen, FaultFileIo, FileIo as _, FileIoRef, Meanwhile},
};

const REAL: &str = r#"{
  "version" : 3,
  "id" : 1,
  "schemaId" : 0,
  "baseManifestList" : "manifest-list-b42a1f95-30a3-44a8-88a2-5053e97f2a19-0",
  "baseManifestListSize" : 1006,
  "deltaManifestList" : "manifest-list-b42a1f95-30a3-44a8-88a2-5053e97f2a19-1",
  "deltaManifestListSize" : 1106,
  "commitUser" : "oracle",
  "commitIdentifier" : 1,
  "commitKind" : "APPEND",
  "timeMillis" : 1795227523748,
  "totalRecordCount" : 60,
  "deltaRecordCount" : 60,
  "nextRowId" : 0
}"#;

fn snapshot(id: i64) -> Snapshot {
    let mut snapshot = Snapshot::from_json("snapshot-1", REAL.as_bytes()).expect("valid");
    snapshot.id = id;
    snapshot.time_millis = 1000 * id;
    snapshot
}

fn table(ids: std::ops::RangeInclusive<i64>) -> (FaultFileIo, SnapshotManager) {
    let io = FaultFileIo::new();
    let manager = SnapshotManager::new(Arc::new(io.clone()) as FileIoRef, "/t");
    for id in ids {
        io.put(&manager.path(id), snapshot(id).to_json().expect("json").as_bytes());
    }
    (io, manager)
}

#[test]
fn json_is_written_as_java_writes_it() {
    let parsed = Snapshot::from_json("snapshot-1", REAL.as_bytes()).expect("valid");
    assert_eq!(parsed.to_json().expect("json"), REAL);
}

#[test]
fn maps_are_indented_as_java_does() {
    let mut s = snapshot(1);
    s.properties = Some([("a".to_owned(), "b".to_owned())].into());
    assert!(s.to_json().expect("json").contains("  \"properties\" : {\n    \"a\" : \"b\"\n  },\n"));
}

#[test]
fn nulls_unknown_keys_and_absent_versions_of_old_releases_are_read() {
    let old = r#"{"id":2,"schemaId":0,"baseManifestList":"a","deltaManifestList":"b","changelogManifestList":null,
        "commitUser":"u","commitIdentifier":9223372036854775807,"commitKind":"ANALYZE","timeMillis":5,"logOffsets":{},"future":[1]}"#;
    let s = Snapshot::from_json("snapshot-2", old.as_bytes()).expect("valid");
    assert_eq!((s.version, s.total_record_count, s.changelog_manifest_list), (1, None, None));
    assert_eq!(s.commit_identifier, BATCH_COMMIT_IDENTIFIER);
}

#[test]
fn a_newer_version_is_refused_and_broken_json_names_its_offset() {
    let newer = REAL.replace("\"version\" : 3", "\"version\" : 4");
    let e = Snapshot::from_json("snapshot-1", newer.as_bytes()).expect_err("newer");
    assert_eq!(e.kind(), ErrorKind::UnsupportedVersion);
    for cut in 0..REAL.len() {
        let e = Snapshot::from_json("snapshot-1", &REAL.as_bytes()[..cut]).expect_err("cut");
        assert_eq!(e.kind(), ErrorKind::CorruptFile);
        assert!(e.context_value("offset").is_some());
    }
}

#[test]
fn the_latest_hint_is_believed_only_when_it_is_right() {
    let (io, manager) = table(3..=5);
    assert_eq!(manager.latest_id().expect("no hint"), Some(5));
    for wrong in ["9", "2", "4", "", "x", "-1", "9223372036854775807", "99999999999999999999"] {
        io.put("/t/snapshot/LATEST", wrong.as_bytes());
        assert_eq!(manager.latest_id().expect("wrong hint"), Some(5), "hint {wrong:?}");
    }
    io.put("/t/snapshot/LATEST", b"5");
    let before = io.calls();
    assert_eq!(manager.latest_id().expect("right hint"), Some(5));
    assert_eq!(
        io.calls() - before,
        6,
        "removal records (hint, listing, next), hint, next, snapshot: no listing of snapshots"
    );
}

#[test]
fn stray_files_in_the_snapshot_directory_are_ignored() {
    let (io, manager) = table(1..=2);
    for stray in [
        "snapshot-2abc.tmp",
        "snapshot-",
        "snapshot--3",
        ".snapshot-9.x.tmp",
        "snapshot-+7",
        "README",
        "snapshot-0",
        "snapshot-007",
    ] {
        io.put(&format!("/t/snapshot/{stray}"), b"?");
    }
    io.create_dir("/t/snapshot/snapshot-12").expect("directory");
    assert_eq!(manager.ids().expect("ids"), [1, 2]);
    assert_eq!(manager.latest().expect("latest").map(|s| s.id), Some(2));
}

#[test]
fn an_expired_snapshot_is_told_apart_from_one_that_never_was() {
    let (io, manager) = table(3..=5);
    io.put("/t/snapshot/EARLIEST", b"1");
    assert_eq!(manager.earliest_id().expect("earliest"), Some(3));
    let expired = manager.get(2).expect_err("expired");
    assert_eq!(expired.kind(), ErrorKind::SnapshotExpired);
    assert!(expired.message().contains("3 to 5"), "{expired}");
    assert_eq!(manager.get(6).expect_err("future").kind(), ErrorKind::SnapshotNotFound);
    assert_eq!(manager.get(0).expect_err("never").kind(), ErrorKind::SnapshotNotFound);
    let empty = SnapshotManager::new(Arc::new(FaultFileIo::new()), "/t");
    assert_eq!(empty.get(1).expect_err("empty").kind(), ErrorKind::SnapshotNotFound);
    assert_eq!(empty.latest().expect("empty"), None);
}

#[test]
fn travel_by_time_takes_the_newest_snapshot_not_after_it() {
    let (_, manager) = table(2..=9);
    let at = |millis| manager.at_or_before(millis).expect("found").map(|s| s.id);
    assert_eq!(at(1999), None);
    assert_eq!(at(2000), Some(2));
    assert_eq!(at(5500), Some(5));
    assert_eq!(at(i64::MAX), Some(9));
}

#[test]
fn a_taken_id_is_reported_and_our_own_earlier_attempt_recognised() {
    let (io, manager) = table(1..=1);
    assert_eq!(manager.publish(&snapshot(2), true).expect("free"), Named::Ours);
    assert_eq!(manager.publish(&snapshot(2), true).expect("the same again"), Named::Ours);
    let mut other = snapshot(2);
    other.commit_user = "somebody else".to_owned();
    assert_eq!(manager.publish(&other, true).expect("taken"), Named::Others);
    io.crash();
    assert_eq!(manager.get(2).expect("durable"), snapshot(2));
}

/// Who has the name when it is read back.
fn published_beside(taken_before: bool, then: impl FnOnce(&FaultFileIo) + Send + 'static) -> Named {
    let (io, _) = table(1..=1);
    if taken_before {
        io.put("/t/snapshot/snapshot-2", b"another");
    }
    let others = io.clone();
    let meanwhile = Meanwhile::new().before("read", "/snapshot/snapshot-2", move || {
        then(&others);
        Ok(())
    });
    let fs: FileIoRef = Arc::new(io.behind(Arc::new(meanwhile)));
    SnapshotManager::new(fs, "/t").publish(&snapshot(2), true).expect("known")
}

#[test]
fn a_name_that_another_had_is_a_lost_race_and_one_that_another_has_now_is_not() {
    let delete = |io: &FaultFileIo| io.delete("/t/snapshot/snapshot-2").expect("deleted");
    let replace = |io: &FaultFileIo| {
        let other = Snapshot { commit_user: "somebody else".to_owned(), ..snapshot(2) };
        io.put("/t/snapshot/snapshot-2", other.to_json().expect("json").as_bytes());
    };
    assert_eq!(published_beside(true, delete), Named::Others);
    assert_eq!(published_beside(true, replace), Named::Others);
    assert_eq!(published_beside(false, delete), Named::Replaced);
    assert_eq!(published_beside(false, replace), Named::Replaced);
    assert_eq!(published_beside(false, |_| ()), Named::Ours);
}

/// The hint was that of a table that was dropped meanwhile, and the new one was told to restore its snapshots.
#[test]
fn the_hint_of_a_table_that_was_dropped_says_nothing_of_the_one_in_its_place() {
    let (io, _) = table(1..=1);
    io.put("/t/snapshot/LATEST", b"1");
    let others = io.clone();
    let meanwhile = Meanwhile::new().before("read", "/snapshot/snapshot-1", move || {
        others.delete("/t/snapshot/snapshot-1")?;
        others.delete("/t/snapshot/LATEST")
    });
    let fs: FileIoRef = Arc::new(io.behind(Arc::new(meanwhile)));
    assert_eq!(SnapshotManager::new(fs, "/t").latest().expect("an empty table"), None);
}

#[test]
fn a_publication_whose_answer_was_lost_is_found_on_the_next_attempt() {
    let (io, manager) = table(1..=1);
    io.fail_after(1, FailWhen::After);
    assert_eq!(manager.publish(&snapshot(2), true).expect_err("uncertain").kind(), ErrorKind::Storage);
    io.heal();
    assert_eq!(manager.publish(&snapshot(2), true).expect("found"), Named::Ours);
}

#[test]
fn tags_are_read_by_name_and_listed_by_snapshot() {
    let (io, _) = table(1..=1);
    let tags = TagManager::new(Arc::new(io.clone()) as FileIoRef, "/t");
    let retained =
        REAL.replace("\"nextRowId\" : 0", "\"tagCreateTime\" : [ 2024, 5, 14, 12, 0 ], \"tagTimeRetained\" : 1.5");
    io.put("/t/tag/tag-my tag", retained.as_bytes());
    io.put("/t/tag/tag-a", snapshot(4).to_json().expect("json").as_bytes());
    io.put("/t/tag/tag-success-file/a_SUCCESS", b"{}");
    assert_eq!(tags.names().expect("names"), ["a", "my tag"]);
    assert_eq!(tags.get("my tag").expect("tag").id, 1);
    let listed = tags.list().expect("list");
    assert_eq!(listed.iter().map(|(n, s)| (n.as_str(), s.id)).collect::<Vec<_>>(), [("my tag", 1), ("a", 4)]);
    let missing = tags.get("b").expect_err("missing");
    assert_eq!((missing.kind(), missing.hint_text()), (ErrorKind::TagNotFound, Some("did you mean 'a'?")));
    assert_eq!(tags.get("../snapshot/snapshot-1").expect_err("no path").kind(), ErrorKind::TagNotFound);
}

#[test]
fn a_tag_without_retention_is_the_snapshots_json_and_with_one_has_javas_two_keys() {
    let snapshot = snapshot(5);
    let at = chrono::NaiveDate::from_ymd_opt(2026, 11, 21).unwrap();
    let now = at.and_hms_nano_opt(1, 40, 25, 885_450_933).unwrap();
    let plain = super::Tag::new(snapshot.clone(), None, now);
    assert_eq!((plain.to_json().unwrap(), plain.create_time), (snapshot.to_json().unwrap(), None));
    let kept = super::Tag::new(snapshot, Some(std::time::Duration::from_secs(93_600)), now);
    let text = kept.to_json().unwrap();
    assert!(text.ends_with(
        ",\n  \"tagCreateTime\" : [ 2026, 11, 21, 1, 40, 25, 885450933 ],\n  \"tagTimeRetained\" : 93600.000000000\n}"
    ));
    assert_eq!(super::Tag::from_json("t", text.as_bytes()).unwrap(), kept);
    let iso = text
        .replace("93600.000000000", "\"PT26H\"")
        .replace("[ 2026, 11, 21, 1, 40, 25, 885450933 ]", "\"2026-11-21T01:40\"");
    let read = super::Tag::from_json("t", iso.as_bytes()).unwrap();
    assert_eq!((read.create_time, read.time_retained), (at.and_hms_opt(1, 40, 0), kept.time_retained));
    let garbage = text.replace("93600.000000000", "-1");
    assert_eq!(super::Tag::from_json("t", garbage.as_bytes()).unwrap_err().kind(), ErrorKind::CorruptFile);
}

#[test]
fn names_of_tags_and_branches_are_one_path_segment() {
    for name in [
        "",
        "  ",
        "a/b",
        "a\\b",
        "a\nb",
        "a\0",
        ".",
        "..",
        "a ",
        " a",
        "a*",
        "2026-11-28T10:00",
        "a\u{202e}b",
        "a\u{200b}",
        &"x".repeat(300),
    ] {
        assert_eq!(super::check_name("tag", name).unwrap_err().kind(), ErrorKind::InvalidArgument, "{name:?}");
    }
    for name in ["v1", "2024-05-01", "my tag", "日本", "20240501 12", "é", "v$1", "😀"] {
        super::check_name("tag", name).unwrap();
    }
}

#[test]
fn names_and_numbers_of_a_snapshot_are_checked_when_it_is_read() {
    let read = |from: &str, to: &str| {
        let changed = REAL.replace(from, to);
        assert_ne!(changed, REAL);
        Snapshot::from_json("snapshot-1", changed.as_bytes()).expect_err(to)
    };
    let added = |field: &str| format!("\"commitUser\" : \"oracle\", \"{field}\" : \"../../x\"");
    for (from, to) in [
        ("manifest-list-b42a1f95-30a3-44a8-88a2-5053e97f2a19-0", "../x"),
        ("manifest-list-b42a1f95-30a3-44a8-88a2-5053e97f2a19-1", ""),
        ("\"commitUser\" : \"oracle\"", &added("changelogManifestList")),
        ("\"commitUser\" : \"oracle\"", &added("indexManifest")),
        ("\"commitUser\" : \"oracle\"", &added("statistics")),
        ("\"id\" : 1", "\"id\" : 0"),
        ("\"id\" : 1", "\"id\" : 9223372036854775807"),
        ("\"schemaId\" : 0", "\"schemaId\" : -1"),
    ] {
        let error = read(from, to);
        assert_eq!((error.kind(), error.context_value("file")), (ErrorKind::CorruptFile, Some("snapshot-1")), "{to}");
    }
}

#[test]
fn nothing_can_exist_under_a_name_with_a_slash() {
    let io = FaultFileIo::new();
    io.put("/other/tag-x", REAL.as_bytes());
    let fs = || Arc::new(io.clone()) as FileIoRef;
    let (tags, branches, consumers) =
        (TagManager::new(fs(), "/t"), BranchManager::new(fs(), "/t"), ConsumerManager::new(fs(), "/t"));
    for name in ["a/../../../other/tag-x", "", "a\0"] {
        assert!(!tags.exists(name).expect("no tag"));
        assert_eq!(tags.get(name).expect_err("no tag").kind(), ErrorKind::TagNotFound);
        assert_eq!(tags.delete_file(name).expect_err("no tag").kind(), ErrorKind::InvalidArgument);
        assert!(name.is_empty() || !branches.exists(name).expect("no branch"));
        for done in [
            consumers.next_snapshot(name).map(drop),
            consumers.delete(name),
            consumers.write(name, &ConsumerProgress::changes_of(1, None)),
        ] {
            assert_eq!(done.expect_err("no consumer").kind(), ErrorKind::InvalidArgument, "{name:?}");
        }
    }
    assert_eq!(io.paths(), ["/other/tag-x"]);
}
