//! A commit is about to be taken back, because its options changed when it was published, and others commit or make a tag before
//! any one of its calls: whoever was told that a commit or tag is in the table finds it there.

use siltstone::{
    fs::Meanwhile,
    maintenance::tag::{CreateTag, create_tag},
    snapshot::TagManager,
};

use super::*;
use crate::crash;

const VECTORS: Kind = (&[], &[("deletion-vectors.enabled", "true"), ("deletion-vectors.modifiable", "true")]);
const WITHOUT_VECTORS: &str = r#"[{"kind": "remove_option", "key": "deletion-vectors.enabled"}]"#;
const OTHER_ENGINE: &str = r#"[{"kind": "set_option", "key": "merge-engine", "value": "partial-update"}]"#;

/// A commit that is taken back: as which version, and the change that comes just before it gets its name.
pub(super) struct Case {
    pub(super) base: FaultFileIo,
    pub(super) commits: fn(&Table) -> Result<()>,
    pub(super) id: &'static str,
    pub(super) change: &'static str,
}

/// It marks a row by a deletion vector, which nobody asks for any more.
pub(super) fn marks() -> Case {
    let io = made(VECTORS, 0);
    for k in [0, 2] {
        let options = WriteOptions { threads: Some(1), ..WriteOptions::default() };
        let mut writer = main_of(&io).writer(None, options).unwrap();
        writer.write(&batch(&[(k, 0), (k + 1, 0)]), None).and_then(|()| writer.commit(Committable::default())).unwrap();
        writer.close();
    }
    let commits = |table: &Table| crash::delete(table.context(), 7, "k = 0").map(drop);
    Case { base: io, commits, id: "/snapshot/snapshot-3", change: WITHOUT_VECTORS }
}

/// It is the first one, of another merge engine.
pub(super) fn first() -> Case {
    let commits = |table: &Table| put(table, (1, 10)).map(drop);
    Case { base: made(KEYED, 0), commits, id: "/snapshot/snapshot-1", change: OTHER_ENGINE }
}

/// What became of a commit and of what others did beside it.
#[derive(Debug, Default)]
struct Ends {
    both: usize,
    other: usize,
    none: usize,
}

/// Others do something before each call of a commit; `is_there` says how often it is found afterwards.
fn beside_others(case: &Case, others: fn(&Table) -> Result<()>, is_there: fn(&FaultFileIo) -> usize) -> Ends {
    let (mut ends, mut missed) = (Ends::default(), 0);
    for call in 0.. {
        let io = case.base.fork();
        let (alters, works, change) = (io.clone(), io.clone(), case.change);
        let done: Arc<Mutex<Option<Result<()>>>> = Arc::default();
        let kept = Arc::clone(&done);
        let stops = Meanwhile::new()
            .before("publish: link", case.id, move || main_of(&alters).alter(change))
            .before_call(call, move || {
                *kept.lock().unwrap() = Some(others(&main_of(&works)));
                Ok(())
            });
        let stops = Arc::new(stops);
        let table = open(Arc::new(io.behind(Arc::clone(&stops) as Arc<dyn BeforeCall>)), HOME, "main");
        let end = (case.commits)(&table);
        let Some(other) = done.lock().unwrap().take() else {
            // before the call that gives it its name there is the change
            missed += 1;
            if missed == 2 {
                assert!(call > 40, "a commit makes more calls than {call}");
                return ends;
            }
            continue;
        };
        let what = format!("call {call}: {end:?}, beside it {other:?}");
        check_whole(&io, &what);
        match &other {
            Ok(()) => assert_eq!(is_there(&io), 1, "{what}"),
            Err(e) => assert!(is_there(&io) == 0 || e.message().contains("not known"), "{what}"),
        }
        if let Err(e) = &end {
            assert!(!matches!(e.kind(), ErrorKind::TableNotFound | ErrorKind::FileNotFound), "{what}");
        }
        match (&end, &other) {
            (Ok(()), Ok(())) => ends.both += 1,
            (Err(_), Ok(())) => ends.other += 1,
            _ => ends.none += 1,
        }
        if end.as_ref().is_err_and(|e| e.message().contains("because tag 'v' was made of it")) {
            frees_the_way(&io, &what);
        }
        go_on(&io, &everything(&io), &what);
    }
    ends
}

/// Nothing is built on a version that was made under another fixed option and that a tag keeps, until the tag goes.
fn frees_the_way(io: &FaultFileIo, what: &str) {
    if let Err(refused) = put(&main_of(io), (98, 980)) {
        assert_eq!(refused.kind(), ErrorKind::Storage, "{what}: {refused}");
        main_of(io).delete_tag("v", false).unwrap_or_else(|e| panic!("{what}: {e}"));
        if put(&main_of(io), (98, 980)).is_err() {
            // there are records by then: it is the only version
            let back = r#"[{"kind": "remove_option", "key": "merge-engine"}]"#;
            main_of(io).alter(back).unwrap_or_else(|e| panic!("{what}: {e}"));
        }
    }
}

/// It was published between the look for what was built on the version and the record that took both back: it was lost.
#[test]
fn a_commit_on_a_version_that_is_taken_back_is_acknowledged_only_where_it_stays() {
    let others = |table: &Table| put(table, OURS).map(drop);
    let is_there =
        |io: &FaultFileIo| rows(&main_of(io), VersionSelector::Latest).iter().filter(|row| **row == OURS).count();
    let ends = beside_others(&marks(), others, is_there);
    assert!(ends.other > 30 && ends.none > 0, "{ends:?}");
    // that version was deleted without a record, and its writer said that the table had gone
    let ends = beside_others(&first(), others, is_there);
    assert!(ends.other > 20 && ends.none > 0, "{ends:?}");
}

/// The next upkeep deleted the tag.
#[test]
fn a_tag_of_a_version_that_is_taken_back_is_made_only_where_it_stays() {
    let others = |table: &Table| create_tag(table.context(), "v", &CreateTag::default()).map(drop);
    let is_there = |io: &FaultFileIo| {
        let fs: FileIoRef = Arc::new(io.clone());
        let snapshots = SnapshotManager::new(Arc::clone(&fs), HOME);
        if let Some(lock) = UpkeepLock::try_take(&fs, HOME).unwrap() {
            snapshots.settle(&lock).unwrap();
        }
        TagManager::new(fs, HOME).names().unwrap().len()
    };
    for (case, least) in [(marks(), 30), (first(), 10)] {
        let ends = beside_others(&case, others, is_there);
        assert!(ends.other > least && ends.none > 0, "{ends:?}");
    }
}
