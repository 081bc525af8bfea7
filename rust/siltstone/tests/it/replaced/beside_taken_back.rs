//! As [`super::built_on`], with others that are held up, too: they stop before any one of their calls, the commit that is taken
//! back goes on, and then they do.

use std::{
    ops::Range,
    sync::mpsc::{Receiver, Sender, channel},
};

use siltstone::fs::Meanwhile;

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

    /// Waits until somebody stands there; `false`: he has come to his end before, or waits for somebody else.
    fn is_reached(&self) -> bool {
        self.came.recv_timeout(Duration::from_millis(300)).is_ok()
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
            // they end first, or wait for the lock
            thread::sleep(Duration::from_millis(2));
            second_stop.open();
            let own = own.join().unwrap();
            return has_call.then_some((io.clone(), [own, theirs.join().unwrap()]));
        }
        let own = own.join().unwrap();
        others_stop.open();
        let theirs = theirs.join().unwrap();
        (has_call && goes_on).then_some((io.clone(), [own, theirs]))
    })
}

/// The calls of a commit that is taken back behind the one that gives it its name, when nobody disturbs it.
fn calls_after_its_name(case: &Case) -> Range<u64> {
    let io = case.base.fork();
    let counts = Arc::new(Calls {
        name: case.id,
        change: (io.clone(), case.change),
        all: AtomicU64::new(0),
        named: AtomicU64::new(0),
    });
    let counted = Arc::clone(&counts) as Arc<dyn BeforeCall>;
    (case.commits)(&open(Arc::new(io.behind(counted)), HOME, "main")).unwrap_err();
    counts.named.load(Ordering::SeqCst) + 1..counts.all.load(Ordering::SeqCst)
}

/// Counts calls, and changes the table before a file gets its name.
#[derive(Debug)]
struct Calls {
    name: &'static str,
    change: (FaultFileIo, &'static str),
    all: AtomicU64,
    /// Number of the call that gives the file its name.
    named: AtomicU64,
}

impl BeforeCall for Calls {
    fn before(&self, what: &str, path: &str) -> Result<()> {
        let call = self.all.fetch_add(1, Ordering::SeqCst);
        if what == "publish: link" && path.ends_with(self.name) && self.named.swap(call, Ordering::SeqCst) == 0 {
            main_of(&self.change.0).alter(self.change.1)?;
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

/// Of so many pairs of stops one is tried.
const ONE_OF: u64 = 17;

/// Pairs of stops of a commit that is taken back, from its name on, and of others.
fn at_many_pairs(case: &Case, others: Others, is_there: fn(&FaultFileIo) -> bool) -> (usize, usize) {
    let calls = calls_after_its_name(case);
    let (mut cases, mut told) = (0, 0);
    // a later call of theirs comes after the lock is free again
    for call in 0..40 {
        for at in calls.clone().filter(|at| (at + call).is_multiple_of(ONE_OF)) {
            let Some((io, ends)) = held(case, at, (others, call), None) else { continue };
            cases += 1;
            told += usize::from(matches!(ends[1], Ok(true)));
            check(&format!("stop {at}, others at {call}"), &io, &ends, is_there);
        }
    }
    (cases, told)
}

#[test]
fn others_that_are_held_up_beside_a_version_that_is_taken_back_are_told_only_what_stays() {
    for case in [marks(), first()] {
        let (cases, told) = at_many_pairs(&case, puts, has_ours);
        assert!(cases > 20 && told > 0, "{cases} {told}");
    }
}

/// A commit two versions behind it asked for the one that it was built on alone.
#[test]
fn what_lies_two_versions_behind_one_that_is_taken_back_waits_as_well() {
    let case = marks();
    let calls = calls_after_its_name(&case);
    let theirs: Others = |table| put(table, THEIRS).map(|_| true);
    let has_theirs = |io: &FaultFileIo| rows(&main_of(io), VersionSelector::Latest).contains(&THEIRS);
    let mut cases = 0;
    for call in 0..24 {
        for later in calls.clone().skip(1).filter(|later| (later + call).is_multiple_of(ONE_OF)) {
            let Some((io, ends)) = held(&case, calls.start, (theirs, call), Some((later, puts))) else { continue };
            cases += 1;
            check(&format!("stops {later}, others at {call}"), &io, &ends, has_theirs);
        }
    }
    assert!(cases > 20, "{cases}");
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
    let (cases, told) = at_many_pairs(&case, batch_5, has_ours);
    assert!(cases > 20 && told > 0, "{cases} {told}");
}
