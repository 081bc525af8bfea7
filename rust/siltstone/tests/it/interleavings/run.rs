//! One interleaving: the first actor stops, others run, the first goes on or dies; then the table is looked at.

use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    thread,
};

use rayon::{ThreadPool, ThreadPoolBuilder};
use siltstone::{
    Error, ErrorKind, Result,
    fs::{FaultFileIo, FileIoRef},
    maintenance::orphan_files::remove_orphan_files,
    table::RescaleArgs,
};

use super::{
    actors::{Actor, Done, retain},
    gate::{Event, Gate, Log},
    kept::keep,
    look::{findings, state, told, unreadable},
    model::{Ended, Operation, Rows, State, outcomes},
    world::{World, open, write},
};

/// Who runs beside whom, and where the first one stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Case {
    pub(super) first: Actor,
    pub(super) second: Actor,
    /// The storage call of the first actor before which it stops.
    pub(super) call: u64,
    /// A third actor, behind the second, lets all snapshots but one expire.
    pub(super) third: bool,
    /// The first actor never goes on.
    pub(super) dies: bool,
}

/// What came of an interleaving.
#[derive(Debug, Default)]
pub(super) struct Run {
    /// What must not be.
    pub(super) problems: Vec<String>,
    /// What operations said that gave up.
    pub(super) gave_up: Vec<String>,
    pub(super) log: Vec<Event>,
}

/// Threads for what actors do in parallel: one for each, so that a stopped one holds up nobody else.
pub(super) struct Pools(ThreadPool, ThreadPool);

impl Pools {
    pub(super) fn new() -> Self {
        let one = || ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        Self(one(), one())
    }
}

/// A panic is a problem like others.
fn caught(work: impl FnOnce() -> Result<Done>) -> Result<Done> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(siltstone::Error::new(ErrorKind::Internal, format!("a panic: {}", text.unwrap_or_default())))
    })
}

impl Case {
    /// What an operation does when nobody disturbs it.
    pub(super) fn course(actor: Actor, world: &World, pools: &Pools) -> Vec<Event> {
        let io = world.io.fork();
        let start = io.clock_millis() + 1;
        let log = Log::default();
        let fs = Gate::new('1', None, &log).storage(&io);
        let end = pools.0.install(|| actor.run(1, &fs, start));
        // where there is no version, some give up
        assert!(end.is_ok() || world.empty, "{actor:?}: {end:?}");
        log.events()
    }

    /// `None`: the first actor has no such call.
    pub(super) fn run(self, world: &World, pools: &Pools) -> Option<Run> {
        let io = world.io.fork();
        let start = io.clock_millis() + 1;
        let log = Log::default();
        let gate = Gate::new('1', Some(self.call), &log);
        let (first, others) = thread::scope(|scope| {
            let run = || {
                let fs = gate.storage(&io);
                let done = pools.0.install(|| caught(|| self.first.run(1, &fs, start)));
                gate.end();
                done
            };
            let actor = scope.spawn(run);
            let others = gate.is_stopped().then(|| self.others(&io, start, &log, pools));
            if self.dies {
                gate.die();
            } else {
                gate.go_on();
            }
            (actor.join().unwrap(), others)
        });
        let mut run = Run::default();
        let results = std::iter::once((self.first, first)).chain(others?);
        let mut operations = Vec::new();
        let mut done = Vec::new();
        for (number, (actor, result)) in (1..).zip(results) {
            let died = self.dies && number == 1;
            operations.push(Operation { actor, number, ended: run.judge(actor, number, &result, died) });
            done.extend(result.ok().filter(|_| !died));
        }
        run.look(self, world, &io, &operations, &done);
        run.log = log.events();
        Some(run)
    }

    /// The others, one after another.
    fn others(self, io: &FaultFileIo, start: i64, log: &Log, pools: &Pools) -> Vec<(Actor, Result<Done>)> {
        let second = Gate::new('2', None, log).storage(io);
        let mut results = vec![(self.second, pools.1.install(|| caught(|| self.second.run(2, &second, start))))];
        if self.third {
            let third = Gate::new('3', None, log).storage(io);
            let expire = || {
                let table = open(&third, "main", &[])?;
                table.expire_snapshots(&retain(1), false).map(|_| Done::default())
            };
            results.push((Actor::Expire, pools.1.install(|| caught(expire))));
        }
        results
    }
}

impl Actor {
    /// Whether an error says that the operation gave up, and why.
    fn may_give_up(self, kind: ErrorKind) -> bool {
        // by name: not every version of the crate has all of them
        let kind = format!("{kind:?}");
        let conflicts = ["CommitConflict", "CommitRetriesExhausted"];
        let versions = [
            "UpkeepRunning",
            "VersionInUse",
            "SnapshotNotFound",
            "SnapshotExpired",
            "TagNotFound",
            "TagExists",
            "BranchNotFound",
            "BranchExists",
        ];
        conflicts.contains(&kind.as_str()) || (!self.commits() && versions.contains(&kind.as_str()))
    }

    /// Whether an error says that an operation cannot know whether its commit is in the table: its snapshot has gone, and
    /// the schema that it had made before, which said whose table this is. A fast-forward takes both away.
    fn may_not_know(self, error: &Error) -> bool {
        let text = "it is not known whether the commit is in it";
        self == Self::Rescale && error.kind() == ErrorKind::TableNotFound && error.message_and_cause().contains(text)
    }

    /// Whether an error says that rows wait, which the rescale would take out of the changelog: others have committed meanwhile.
    fn may_wait(self, error: &Error) -> bool {
        self == Self::Rescale && error.message().contains("wait for a compaction that tells the changelog of them")
    }

    /// Whether an error says that nobody can tell a table without versions from one that has lost them: commits were made in a
    /// branch, which is gone.
    fn may_not_clean(self, error: &Error) -> bool {
        self == Self::RemoveOrphans && error.message().contains("the table has no snapshots, but lists of manifests")
    }

    /// Whether it takes versions back: their ids are used again.
    fn takes_back(self) -> bool {
        use Actor::{BranchForward, RollbackToExpiredTag, RollbackToTag, RollbackToVersion};
        matches!(self, RollbackToVersion | RollbackToTag | RollbackToExpiredTag | BranchForward)
    }
}

impl Run {
    fn judge(&mut self, actor: Actor, number: i32, result: &Result<Done>, died: bool) -> Ended {
        match result {
            _ if died => Ended::Died,
            Ok(done) => {
                let failed = |note: &&String| note.contains("failed") && !note.contains("Commit failed after");
                for note in done.notes.iter().filter(failed) {
                    if note.contains("upkeep") {
                        self.gave_up.push(format!("{number} {actor:?}: {note}"));
                    } else {
                        self.problems.push(format!("{number} {actor:?} notes: {note}"));
                    }
                }
                Ended::Acknowledged
            }
            Err(error) => {
                self.gave_up.push(format!("{number} {actor:?}: {}", told(error)));
                let may = actor.may_give_up(error.kind())
                    || actor.may_not_know(error)
                    || actor.may_not_clean(error)
                    || actor.may_wait(error);
                if !may {
                    self.problems.push(format!("{number} {actor:?} failed: {}", told(error)));
                }
                Ended::GaveUp
            }
        }
    }

    fn look(&mut self, case: Case, world: &World, io: &FaultFileIo, operations: &[Operation], done: &[Done]) {
        let fs: FileIoRef = Arc::new(io.clone());
        let expected = outcomes(world, operations[0], &operations[1..]);
        if !operations.iter().any(|operation| operation.actor.takes_back()) {
            let mut ids = BTreeMap::new();
            for snapshot in done.iter().flat_map(|done| &done.snapshots) {
                if ids.insert(snapshot.id, &snapshot.delta_manifest_list).is_some() {
                    self.problems.push(format!("snapshot {} was acknowledged twice", snapshot.id));
                }
            }
        }
        let before = self.state(&fs, &expected, case.dies, "");
        keep(io, world, case);
        // a deep check reads every version; what somebody left who died is no damage before the next upkeep
        self.told(if case.dies { unreadable(&fs) } else { findings(&fs, true, false) });
        if let Err(error) = round(&fs, io, world.rescales) {
            self.problems.push(format!("afterwards: {}", told(&error)));
        }
        let added: Vec<State> =
            expected.into_iter().map(|state| State { rows: with_new(&state.rows), ..state }).collect();
        let after = self.state(&fs, &added, case.dies, "afterwards: ");
        if let (Some(before), Some(after), false) = (before, after, case.dies)
            && (with_new(&before.rows), &before.tags, &before.branches) != (after.rows, &after.tags, &after.branches)
        {
            self.problems.push("afterwards another state is there than before".to_owned());
        }
        self.told(findings(&fs, case.dies, true));
    }

    fn told(&mut self, found: Result<Vec<String>>) {
        match found {
            Ok(found) => self.problems.extend(found),
            Err(error) => self.problems.push(format!("the look failed: {}", told(&error))),
        }
    }

    fn state(&mut self, fs: &FileIoRef, expected: &[State], partly: bool, when: &str) -> Option<State> {
        match state(fs) {
            Ok(state) => {
                if !state.is_one_of(expected, partly) {
                    let likes: Vec<String> = expected.iter().map(|other| other.shown(&state)).collect();
                    let wrong = format!(
                        "{when}there is {}\n  expected {}",
                        state.shown(expected.first().unwrap_or(&State::default())),
                        if likes.is_empty() {
                            "another acknowledgement: no order allows both".to_owned()
                        } else {
                            likes.join("\n        or ")
                        }
                    );
                    self.problems.push(wrong);
                }
                Some(state)
            }
            Err(error) => {
                self.problems.push(format!("{when}not readable: {}", told(&error)));
                None
            }
        }
    }
}

/// A healthy round of what a table sees every day: a commit, an expiry, an orphan cleaning that takes all it may.
fn round(fs: &FileIoRef, io: &FaultFileIo, rescales: bool) -> Result<()> {
    if rescales {
        // the option may have another number than the rows, as after a rollback
        open(fs, "main", &[])?.rescale(&RescaleArgs::default())?;
    }
    let main = open(fs, "main", &[("write-only", "true")])?;
    write(&main, &[NEW])?;
    main.expire_snapshots(&retain(1), false)?;
    remove_orphan_files(main.context(), io.clock_millis() + 1, i64::MAX, false).map(drop)
}

const NEW: (i32, i64) = (999, 9);

fn with_new(rows: &Rows) -> Rows {
    rows.iter().copied().chain([NEW]).collect()
}

/// What is compared: a tag `fork-<branch>` only keeps what its branch needs.
type Seen<'a> = (&'a Rows, usize, BTreeMap<&'a str, &'a Rows>, &'a BTreeMap<String, Rows>);

impl State {
    fn seen(&self) -> Seen<'_> {
        let tags = self.tags.iter().filter(|(name, _)| !name.starts_with("fork-"));
        (&self.rows, self.columns, tags.map(|(name, (rows, _))| (name.as_str(), rows)).collect(), &self.branches)
    }

    /// With `partly` tags and branches may be of another of the expected states than the rows: somebody died who was to
    /// change several of them.
    fn is_one_of(&self, expected: &[Self], partly: bool) -> bool {
        let seen = self.seen();
        if !partly {
            return expected.iter().any(|state| state.seen() == seen);
        }
        let names = |state: &Self| {
            state
                .seen()
                .2
                .into_keys()
                .chain(state.branches.keys().map(String::as_str))
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        let all = expected.iter().chain([self]).flat_map(names);
        let of = |state: &Self, name: &str| {
            let tag = state.seen().2.get(name).map(|rows| (*rows).clone());
            (tag, state.branches.get(name).cloned())
        };
        let mut all = all.collect::<Vec<_>>().into_iter();
        expected.iter().any(|state| (&state.rows, state.columns) == (&self.rows, self.columns))
            && all.all(|name| expected.iter().any(|state| of(state, &name) == of(self, &name)))
    }

    /// What tells this state from another one.
    fn shown(&self, other: &Self) -> String {
        let (rows, columns, tags, branches) = self.seen();
        let short = |rows: &Rows| rows.iter().map(|(k, v)| format!("{k}:{v}")).collect::<Vec<_>>().join(" ");
        let mut parts = vec![format!("rows {{{}}}", short(rows))];
        if columns != other.columns {
            parts.push(format!("{columns} columns"));
        }
        if tags != other.seen().2 {
            parts.extend(tags.iter().map(|(name, rows)| format!("tag {name} {{{}}}", short(rows))));
        }
        if *branches != other.branches {
            parts.extend(branches.iter().map(|(name, rows)| format!("branch {name} {{{}}}", short(rows))));
        }
        parts.join(", ")
    }
}
