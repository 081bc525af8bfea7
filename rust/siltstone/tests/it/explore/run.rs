//! One run: actors in the order of a schedule, then what is there is looked at, then a round of upkeep, then another look.

use std::{
    collections::BTreeSet,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    str::FromStr,
    sync::Arc,
    thread,
};

use rayon::{ThreadPool, ThreadPoolBuilder};
use siltstone::{
    ErrorKind, Result,
    fs::{FaultFileIo, FileIoRef},
    maintenance::orphan_files::remove_orphan_files,
};

use super::{
    look::{findings, state, told},
    model::{Effect, State, Step, outcomes},
    operations::{Done, Operation, Verb, compact, consume, retain},
    scheduler::{Event, Scheduler, Span, Turn},
    world::{KINDS, World, open, write},
};
use crate::crash::ROOT;

/// Most actors of a case.
pub(super) const ACTORS: usize = 4;

/// Who does what in which order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Case {
    /// Which of the kinds of tables.
    pub(super) kind: usize,
    pub(super) actors: Vec<Vec<Operation>>,
    pub(super) turns: Vec<Turn>,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", KINDS[self.kind].name)?;
        for operations in &self.actors {
            let operations: Vec<String> = operations.iter().map(ToString::to_string).collect();
            write!(f, " {}", operations.join(","))?;
        }
        write!(f, " /")?;
        self.turns.iter().try_for_each(|turn| write!(f, " {turn}"))
    }
}

impl FromStr for Case {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let (what, turns) = text.split_once('/').ok_or("a case is: table actors / turns")?;
        let mut words = what.split_whitespace();
        let name = words.next().unwrap_or_default();
        let kind = KINDS.iter().position(|kind| kind.name == name).ok_or_else(|| format!("no table '{name}'"))?;
        let operations = |word: &str| word.split(',').map(Operation::from_str).collect();
        let actors = words.map(operations).collect::<std::result::Result<_, _>>()?;
        let turns = turns.split_whitespace().map(Turn::from_str).collect::<std::result::Result<_, _>>()?;
        Ok(Self { kind, actors, turns })
    }
}

/// Threads for what actors do in parallel: one for each, so that one that waits holds up nobody else.
pub(super) struct Pools(Vec<ThreadPool>);

impl Pools {
    pub(super) fn new() -> Self {
        let one = |_| ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        Self((0..=ACTORS).map(one).collect())
    }
}

/// An operation that has ended.
#[derive(Debug)]
struct Ended {
    actor: usize,
    at: usize,
    operation: Operation,
    effect: Effect,
    result: Result<Done>,
    span: Span,
}

/// What came of a run.
#[derive(Debug, Default)]
pub(super) struct Run {
    /// What must not be.
    pub(super) problems: Vec<String>,
    /// What operations said that gave up.
    pub(super) gave_up: Vec<String>,
    pub(super) log: Vec<Event>,
}

/// A panic is a problem like others.
fn caught<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(siltstone::Error::new(ErrorKind::Internal, format!("a panic: {}", text.unwrap_or_default())))
    })
}

impl Case {
    pub(super) fn run(&self, worlds: &[World], pools: &Pools, verbose: bool) -> Run {
        let world = &worlds[self.kind];
        let io = world.io.fork();
        let start = world.start;
        let scheduler = Scheduler::new(self.actors.len(), self.turns.clone(), verbose);
        let ended: Vec<Ended> = thread::scope(|scope| {
            let act = |actor: usize| {
                let fs = scheduler.storage(&io, actor);
                let scheduler = &scheduler;
                let all = &self.actors[actor];
                let work = move || {
                    let mut ended = Vec::new();
                    for (at, operation) in all.iter().copied().enumerate() {
                        scheduler.begin(actor, at);
                        let mut effect = Effect::default();
                        let result = caught(|| operation.run(world, &fs, start, &mut effect));
                        let span = scheduler.end_of_operation(actor);
                        ended.push(Ended { actor, at, operation, effect, result, span });
                        if span.died {
                            break;
                        }
                    }
                    scheduler.end(actor);
                    ended
                };
                scope.spawn(move || pools.0[actor].install(work))
            };
            let actors: Vec<_> = (0..self.actors.len()).map(act).collect();
            actors.into_iter().flat_map(|actor| actor.join().unwrap()).collect()
        });
        let mut run = Run { log: scheduler.events(), ..Run::default() };
        pools.0[ACTORS].install(|| run.judge(world, &io, &ended));
        run
    }
}

impl Ended {
    /// Nobody knows whether it happened.
    fn is_unknown(&self) -> bool {
        self.span.died || (self.span.injected && self.result.is_err())
    }

    /// The snapshots whose names it tried to give, in this order.
    fn tried(&self, log: &[Event]) -> Vec<i64> {
        let branch = self.operation.branch();
        let directory = if branch == "main" { ROOT.to_owned() } else { format!("{ROOT}/branch/branch-{branch}") };
        let prefix = format!("{directory}/snapshot/snapshot-");
        let own = log.iter().filter(|event| event.actor == self.actor && event.operation == self.at);
        let links = own.filter(|event| event.what == "publish: link");
        links.filter_map(|event| event.path.strip_prefix(&prefix)?.parse().ok()).collect()
    }

    /// What it does; beside operations that take versions back its snapshots may have been there before they were made again.
    fn steps(&self, operation: usize, log: &[Event], taken_back: bool) -> Vec<Step> {
        let optional = self.is_unknown();
        let to = if optional { u64::MAX } else { self.span.ended };
        let step = |id: Option<i64>| Step {
            operation,
            branch: self.operation.branch().to_owned(),
            id,
            effect: self.effect.clone(),
            optional,
            passing: false,
            from: self.span.began,
            to,
        };
        let commits = self.operation.verb.commits();
        if let (Effect::Forward(name), true) = (&self.effect, optional || self.result.is_ok()) {
            let part = Step { effect: Effect::ForwardPart(name.clone()), optional: true, ..step(None) };
            return vec![part, step(None)];
        }
        match &self.result {
            _ if optional && commits => {
                let ids: BTreeSet<i64> = self.tried(log).into_iter().collect();
                ids.into_iter().map(|id| step(Some(id))).collect()
            }
            _ if optional => vec![step(None)],
            Ok(done) if commits => {
                let mut passing = if taken_back { self.tried(log) } else { Vec::new() };
                for snapshot in done.snapshots.iter().rev() {
                    if let Some(at) = passing.iter().rposition(|id| *id == snapshot.id) {
                        passing.remove(at);
                    }
                }
                let passing = passing.into_iter().map(|id| Step { optional: true, passing: true, ..step(Some(id)) });
                passing.chain(done.snapshots.iter().map(|snapshot| step(Some(snapshot.id)))).collect()
            }
            Ok(_) if self.effect != Effect::Nothing => vec![step(None)],
            _ => Vec::new(),
        }
    }

    /// Whether its error says that it gave up, and why.
    fn may_give_up(&self, kind: ErrorKind) -> bool {
        use ErrorKind::{
            BranchExists, BranchNotFound, CommitConflict, CommitRetriesExhausted, SnapshotExpired, SnapshotNotFound,
            TagExists, TagNotFound, UpkeepRunning, VersionInUse,
        };
        let verb = self.operation.verb;
        match kind {
            CommitConflict | CommitRetriesExhausted => true,
            BranchNotFound => verb == Verb::WriteBranch || !verb.commits(),
            UpkeepRunning | VersionInUse | SnapshotNotFound | SnapshotExpired | TagNotFound | TagExists
            | BranchExists => !verb.commits() && verb != Verb::Scan,
            _ => false,
        }
    }
}

impl Run {
    fn judge(&mut self, world: &World, io: &FaultFileIo, ended: &[Ended]) {
        let hides = world.kind.hides;
        for operation in ended {
            self.judge_end(operation);
        }
        let mut steps: Vec<Step> = Vec::new();
        let taken_back = ended.iter().any(|ended| ended.operation.verb.takes_back());
        for (at, operation) in ended.iter().enumerate() {
            let mut own = operation.steps(at, &self.log, taken_back);
            if hides && matches!(operation.effect, Effect::See(_)) {
                own.clear();
            }
            steps.extend(own);
        }
        let expected = outcomes(&world.state, &steps);
        let partly = ended.iter().any(Ended::is_unknown);
        let fs: FileIoRef = Arc::new(io.clone());
        let before = match caught(|| state(&fs)) {
            Ok(found) => {
                if !found.is_one_of(&expected, hides, partly) {
                    self.wrong("there is", &found, &expected);
                }
                Some(found)
            }
            Err(error) => {
                self.problems.push(format!("not readable: {}", told(&error)));
                None
            }
        };
        if !partly {
            self.told(findings(&fs, false, false));
        }
        if let Err(error) = caught(|| round(&fs, io)) {
            self.problems.push(format!("afterwards: {}", told(&error)));
        }
        self.look_again(&fs, before.as_ref(), &expected, hides, partly);
        self.consumers(world, &fs, ended);
        let deep = caught(|| findings(&fs, true, true));
        self.told(deep);
    }

    fn look_again(&mut self, fs: &FileIoRef, before: Option<&State>, expected: &[State], hides: bool, partly: bool) {
        let after = match caught(|| state(fs)) {
            Ok(after) => after,
            Err(error) => {
                self.problems.push(format!("not readable afterwards: {}", told(&error)));
                return;
            }
        };
        let newest = after.main().rows().to_vec();
        let fits = |state: &State| {
            let mut rows = state.main().rows().to_vec();
            rows.push(NEW);
            rows == newest
        };
        if !expected.is_empty() && !expected.iter().any(fits) {
            self.wrong("there is afterwards", &after, expected);
        }
        if let Some(before) = before
            && !(partly || hides)
            && before.kept() != after.kept()
        {
            self.problems.push(format!("upkeep changed {} to {}", before.shown(&after), after.shown(before)));
        }
    }

    fn wrong(&mut self, what: &str, found: &State, expected: &[State]) {
        let likes: Vec<String> = expected.iter().take(8).map(|other| other.shown(found)).collect();
        let likes = if likes.is_empty() {
            "none: no order allows all acknowledgements".to_owned()
        } else {
            likes.join("\n    or ")
        };
        let shown = found.shown(expected.first().unwrap_or(&State::default()));
        self.problems.push(format!("{what} {shown}\n  expected {likes}"));
    }

    fn judge_end(&mut self, ended: &Ended) {
        let name = ended.operation;
        match &ended.result {
            _ if ended.span.died => {}
            Ok(done) => {
                let failed = |note: &&String| note.contains("failed") && !note.contains("Commit failed after");
                for note in done.notes.iter().filter(failed) {
                    if note.contains("upkeep") || ended.span.injected {
                        self.gave_up.push(format!("{name}: {note}"));
                    } else {
                        self.problems.push(format!("{name} notes: {note}"));
                    }
                }
            }
            Err(error) => {
                self.gave_up.push(format!("{name}: {}", told(error)));
                let panics = error.kind() == ErrorKind::Internal;
                if panics || !(ended.may_give_up(error.kind()) || ended.span.injected) {
                    self.problems.push(format!("{name} failed: {}", told(error)));
                }
            }
        }
    }

    /// What a consumer was promised can be read.
    fn consumers(&mut self, world: &World, fs: &FileIoRef, ended: &[Ended]) {
        let any = |is: fn(Verb) -> bool| ended.iter().any(|ended| is(ended.operation.verb));
        if any(Verb::takes_back) || any(|verb| matches!(verb, Verb::ExpireConsumers | Verb::DeleteConsumer)) {
            return;
        }
        let known = ended
            .iter()
            .filter(|ended| !ended.span.died)
            .filter_map(|ended| ended.result.as_ref().ok().and_then(|done| done.consumer.clone()));
        let first = world.state.main().newest();
        for (name, next) in [("reader".to_owned(), first)].into_iter().chain(known) {
            let read = caught(|| {
                let table = open(fs, "main", &[])?;
                let found = table.consumers().next_snapshot(&name)?;
                if found.is_none_or(|found| found < next) {
                    return Ok(Some(format!("consumer {name} was to go on with {next}, there is {found:?}")));
                }
                consume(table, &name).map(|_| None)
            });
            match read {
                Ok(problem) => self.problems.extend(problem),
                Err(error) => self.problems.push(format!("consumer {name} at {next}: {}", told(&error))),
            }
        }
    }

    fn told(&mut self, found: Result<Vec<String>>) {
        match found {
            Ok(found) => self.problems.extend(found),
            Err(error) => self.problems.push(format!("the look failed: {}", told(&error))),
        }
    }
}

/// A healthy round of what a table sees every day: a commit, a compaction, an expiry, an orphan cleaning that takes all it may.
fn round(fs: &FileIoRef, io: &FaultFileIo) -> Result<()> {
    let main = open(fs, "main", &[("write-only", "true")])?;
    write(&main, &[NEW])?;
    compact(fs)?;
    main.expire_snapshots(&retain(1), false)?;
    remove_orphan_files(main.context(), io.clock_millis() + 1, i64::MAX, false).map(drop)
}

const NEW: (i32, i64) = (999, 9);
