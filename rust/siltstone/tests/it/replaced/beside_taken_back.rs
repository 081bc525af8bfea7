//! As [`super::built_on`], with others that are held up, too: they stop before any one of their calls, the commit that is taken
//! back goes on, and then they do.

use std::sync::mpsc::{Receiver, Sender, channel};

use siltstone::{
    fs::Meanwhile,
    maintenance::tag::{CreateTag, create_tag},
    snapshot::TagManager,
};

use super::{
    built_on::{Case, first, marks},
    *,
};

/// Stops whoever comes to it until it is opened.
struct Stop {
    came: Receiver<()>,
    open: Sender<()>,
}

impl Stop {
    /// The stop, and what stands at it.
    fn new() -> (Self, impl FnOnce() -> Result<()> + Send + 'static) {
        let ((came, is_here), (open, opened)) = (channel(), channel::<()>());
        let stands = move || {
            let _ = came.send(());
            // without anybody who could open it, it is open
            let _ = opened.recv();
            Ok(())
        };
        (Self { came: is_here, open }, stands)
    }

    /// Waits until somebody stands there; `false`: he has come to his end before.
    fn is_reached(&self) -> bool {
        self.came.recv().is_ok()
    }

    fn open(self) {
        let _ = self.open.send(());
    }
}

/// What others do, and what they were told.
type Others = fn(&Table) -> Result<bool>;

/// A commit that is taken back, stopped before its call `at` and before the call `later`, if any; `others` begin meanwhile and stop
/// before their call `call`; the commit goes on to `later`, where `between` is done, and they end before it does, or without
/// `later` after it. `None`: somebody has no such call.
fn held(
    case: &Case,
    at: u64,
    others: (Others, u64),
    later: Option<(u64, Others)>,
) -> Option<(FaultFileIo, [Result<bool>; 2])> {
    let io = case.base.fork();
    let (alters, change) = (io.clone(), case.change);
    let ((first_stop, stands), (second_stop, stands_again), (others_stop, others_stand)) =
        (Stop::new(), Stop::new(), Stop::new());
    let mut stops = Meanwhile::new().before("publish: link", case.id, move || main_of(&alters).alter(change));
    stops = stops.before_call(at, stands);
    if let Some((later, _)) = later {
        stops = stops.before_call(later, stands_again);
    } else {
        drop(stands_again);
    }
    let behind = |stops| open(Arc::new(io.behind(Arc::new(stops) as Arc<dyn BeforeCall>)), HOME, "main");
    thread::scope(|scope| {
        let own = scope.spawn(|| (case.commits)(&behind(stops)).map(|()| true));
        if !first_stop.is_reached() {
            drop(own.join());
            return None;
        }
        let theirs = scope.spawn(|| others.0(&behind(Meanwhile::new().before_call(others.1, others_stand))));
        let has_call = others_stop.is_reached();
        first_stop.open();
        let goes_on = later.is_none_or(|_| second_stop.is_reached());
        if let (true, Some((_, between))) = (goes_on, later) {
            drop(between(&main_of(&io)));
            others_stop.open();
            let theirs = theirs.join().unwrap();
            second_stop.open();
            let own = own.join().unwrap();
            return has_call.then_some((io.clone(), [own, theirs]));
        }
        let own = own.join().unwrap();
        others_stop.open();
        let theirs = theirs.join().unwrap();
        (has_call && goes_on).then_some((io.clone(), [own, theirs]))
    })
}

/// Number of the call that gives the commit its name.
fn link_of(case: &Case) -> u64 {
    let io = case.base.fork();
    let until = Arc::new(Until { path_end: case.id, calls: AtomicU64::new(0), is_over: AtomicBool::new(false) });
    let counted = Arc::clone(&until) as Arc<dyn BeforeCall>;
    drop((case.commits)(&open(Arc::new(io.behind(counted)), HOME, "main")));
    until.calls.load(Ordering::SeqCst)
}

/// Counts calls until a file gets its name.
#[derive(Debug)]
struct Until {
    path_end: &'static str,
    calls: AtomicU64,
    is_over: AtomicBool,
}

impl BeforeCall for Until {
    fn before(&self, what: &str, path: &str) -> Result<()> {
        if what == "publish: link" && path.ends_with(self.path_end) {
            self.is_over.store(true, Ordering::SeqCst);
        }
        if !self.is_over.load(Ordering::SeqCst) {
            self.calls.fetch_add(1, Ordering::SeqCst);
        }
        Ok(())
    }
}

/// Everything that others were told is there after it.
fn check(what: &str, io: &FaultFileIo, ends: &[Result<bool>; 2], is_there: fn(&FaultFileIo) -> bool) {
    let what = format!("{what}: {ends:?}");
    if let Ok(true) = ends[1] {
        assert!(is_there(io), "{what}: it was told, and is not there");
    }
    check_whole(io, &what);
    put(&main_of(io), (99, 990)).unwrap_or_else(|e| panic!("{what}: the table takes no commit: {e}"));
    check_whole(io, &what);
}

fn has_ours(io: &FaultFileIo) -> bool {
    rows(&main_of(io), VersionSelector::Latest).contains(&OURS)
}

fn puts(table: &Table) -> Result<bool> {
    put(table, OURS).map(|_| true)
}

fn tags(table: &Table) -> Result<bool> {
    create_tag(table.context(), "v", &CreateTag::default()).map(|_| true)
}

fn has_tag(io: &FaultFileIo) -> bool {
    let fs: FileIoRef = Arc::new(io.clone());
    if let Some(lock) = UpkeepLock::try_take(&fs, HOME).unwrap() {
        SnapshotManager::new(Arc::clone(&fs), HOME).settle(&lock).unwrap();
    }
    TagManager::new(fs, HOME).names().unwrap() == ["v"]
}

/// All pairs of stops of a commit that is taken back, from its name on, and of others.
fn at_all_pairs(case: &Case, others: Others, is_there: fn(&FaultFileIo) -> bool) -> (usize, usize) {
    let link = link_of(case);
    let (mut cases, mut told) = (0, 0);
    for call in 0.. {
        let before = cases;
        for at in link + 1.. {
            let Some((io, ends)) = held(case, at, (others, call), None) else { break };
            cases += 1;
            told += usize::from(matches!(ends[1], Ok(true)));
            check(&format!("stop {at}, others at {call}"), &io, &ends, is_there);
        }
        if cases == before {
            break;
        }
    }
    (cases, told)
}

#[test]
fn others_that_are_held_up_beside_a_version_that_is_taken_back_are_told_only_what_stays() {
    for case in [marks(), first()] {
        for (others, is_there) in [(puts as Others, has_ours as fn(&FaultFileIo) -> bool), (tags, has_tag)] {
            let (cases, told) = at_all_pairs(&case, others, is_there);
            assert!(cases > 300 && told > 50 && told < cases, "{cases} {told}");
        }
    }
}

/// A commit two versions behind it asked for the one that it was built on alone, and a tag for its own.
#[test]
fn what_lies_two_versions_behind_one_that_is_taken_back_waits_as_well() {
    let case = marks();
    let link = link_of(&case);
    let theirs: Others = |table| put(table, THEIRS).map(|_| true);
    let has_theirs = |io: &FaultFileIo| rows(&main_of(io), VersionSelector::Latest).contains(&THEIRS);
    for (others, is_there) in [(theirs, has_theirs as fn(&FaultFileIo) -> bool), (tags, has_tag)] {
        let mut cases = 0;
        for call in 0..24 {
            for later in link + 2.. {
                let Some((io, ends)) = held(&case, link + 1, (others, call), Some((later, puts))) else { break };
                cases += 1;
                check(&format!("stops {later}, others at {call}"), &io, &ends, is_there);
            }
        }
        assert!(cases > 200, "{cases}");
    }
}

fn batch_5(table: &Table) -> Result<bool> {
    let mut writer = table.writer(Some("u"), WriteOptions { threads: Some(1), ..WriteOptions::default() })?;
    let committable = Committable { identifier: Some(5), ..Committable::default() };
    let written = writer.write(&batch(&[OURS]), None).and_then(|()| writer.commit(committable));
    writer.close();
    written.map(|_| true)
}

/// A driver that was started again found its batch in a version that was taken back afterwards, and went on without it.
#[test]
fn a_commit_is_called_committed_already_only_where_it_stays() {
    let case = Case { commits: |table| batch_5(table).map(drop), ..first() };
    let (cases, told) = at_all_pairs(&case, batch_5, has_ours);
    assert!(cases > 300 && told > 50, "{cases} {told}");
}
