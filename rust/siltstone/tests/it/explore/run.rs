//! One run: actors in the order of a schedule.

use std::{
    collections::BTreeSet,
    fmt, iter,
    panic::{AssertUnwindSafe, catch_unwind},
    str::FromStr,
    thread,
};

use rayon::{ThreadPool, ThreadPoolBuilder};
use siltstone::{ErrorKind, Result};

use super::{
    model::{Effect, Step},
    operations::{Done, Operation, Verb},
    scheduler::{Event, Scheduler, Span, Turn},
    world::{BASE, KINDS, Worlds},
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
pub(super) struct Ended {
    actor: usize,
    at: usize,
    pub(super) operation: Operation,
    pub(super) effect: Effect,
    pub(super) result: Result<Done>,
    pub(super) span: Span,
}

/// How closely a run is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// Rows of files that no version has any more are not read in the end.
    Short,
    Deep,
    /// With all calls.
    Whole,
}

/// What came of a run.
#[derive(Debug, Default)]
pub(super) struct Run {
    /// What must not be.
    pub(super) problems: Vec<String>,
    /// What operations said that gave up.
    pub(super) gave_up: Vec<String>,
    /// How many operations have taken effect and left tags to the next upkeep.
    pub(super) left: usize,
    pub(super) log: Vec<Event>,
}

/// A panic is a problem like others.
pub(super) fn caught<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(siltstone::Error::new(ErrorKind::Internal, format!("a panic: {}", text.unwrap_or_default())))
    })
}

impl Case {
    pub(super) fn run(&self, worlds: &Worlds, pools: &Pools, look: Look) -> Run {
        let world = worlds.of(self.kind);
        let io = world.io.fork();
        let start = world.start;
        let scheduler = Scheduler::new(self.actors.len(), self.turns.clone(), look == Look::Whole);
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
        pools.0[ACTORS].install(|| run.judge(world, &io, &ended, look != Look::Short));
        run
    }
}

impl Ended {
    /// Nobody knows whether it happened.
    pub(super) fn is_unknown(&self) -> bool {
        let says = |e: &siltstone::Error| {
            let text = e.to_string();
            let said = [
                "it is not known",
                "was published, and snapshots were made under it",
                "may be where they were",
                "while the table was rescaled",
            ];
            said.iter().any(|said| text.contains(said))
        };
        self.span.died || self.result.as_ref().is_err_and(|e| self.span.injected || says(e))
    }

    /// It may have taken effect without removing all that it was to remove: the next upkeep does.
    pub(super) fn leaves(&self) -> bool {
        if self.span.died && self.operation.verb.takes_back() {
            return true;
        }
        let says = |note: &String| note.contains("but not all of its files were removed");
        let done = self.result.as_ref().ok().filter(|_| self.span.injected && self.operation.verb.takes_back());
        done.is_some_and(|done| done.notes.iter().any(says))
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
    /// `others`: how many of the others commit to main.
    pub(super) fn steps(
        &self,
        operation: usize,
        log: &[Event],
        taken_back: bool,
        branches: bool,
        others: usize,
    ) -> Vec<Step> {
        let optional = self.is_unknown();
        let to = if optional { u64::MAX } else { self.span.ended };
        let step = |id: Option<i64>| Step {
            operation,
            branch: self.operation.branch().to_owned(),
            id,
            effect: self.effect.clone(),
            optional,
            passing: false,
            leaves: self.leaves(),
            from: self.span.began,
            to,
        };
        let commits = self.operation.verb.commits();
        if let (Effect::UntagAll(tags), true) = (&self.effect, optional || self.result.is_ok()) {
            let one = |(name, id): &(String, i64)| Step {
                effect: Effect::UntagFirst(name.clone(), *id),
                // what a branch was made from stays
                optional: optional || taken_back || branches || name == BASE,
                ..step(None)
            };
            return tags.iter().map(one).collect();
        }
        if let (Effect::Forward(name), true) = (&self.effect, optional || self.result.is_ok()) {
            let part = Step { effect: Effect::ForwardPart(name.clone()), ..step(None) };
            // what came to the branch after it was read
            let later =
                self.result.as_ref().is_ok_and(|done| done.notes.iter().any(|n| n.contains("fast-forward again")));
            let end = if later { part.clone() } else { step(None) };
            let part = Step { optional: true, ..part };
            // each commit that comes in between is made to give way by another part; the last part of one that died is not its end
            let parts = others.max(1) + usize::from(optional);
            return iter::repeat_n(part, parts).chain([end]).collect();
        }
        match &self.result {
            _ if optional && commits => {
                let mut ids = self.tried(log);
                ids.dedup();
                ids.into_iter().map(|id| step(Some(id))).collect()
            }
            // what it has published and gave up, because others have taken it back
            Err(_) if commits && taken_back => {
                let passing = |id| Step { optional: true, passing: true, ..step(Some(id)) };
                self.tried(log).into_iter().map(passing).collect()
            }
            _ if optional => vec![step(None)],
            Ok(done) if commits => {
                // a compaction that came with it, of which it says that it may be there
                let unknown = done.notes.iter().any(|note| note.contains("it is not known"));
                let mut own: BTreeSet<i64> = done.snapshots.iter().map(|snapshot| snapshot.id).collect();
                let last = own.last().copied();
                let tried = if taken_back || unknown { self.tried(log) } else { own.iter().copied().collect() };
                let mut steps = Vec::new();
                // the last time that it gave a name is the one that counts
                for id in tried.into_iter().rev() {
                    if own.remove(&id) {
                        steps.push(step(Some(id)));
                    } else if taken_back {
                        steps.push(Step { optional: true, passing: true, ..step(Some(id)) });
                    } else if Some(id) > last {
                        steps.push(Step { optional: true, to: u64::MAX, ..step(Some(id)) });
                    }
                }
                // what it has found to be there already
                steps.extend(own.into_iter().rev().map(|id| step(Some(id))));
                steps.reverse();
                steps
            }
            Ok(_) if self.effect != Effect::Nothing => vec![step(None)],
            _ => Vec::new(),
        }
    }

    /// Whether its error says that it gave up, and why.
    pub(super) fn may_give_up(&self, error: &siltstone::Error) -> bool {
        use ErrorKind::{
            BranchExists, BranchNotFound, CommitConflict, CommitRetriesExhausted, IllegalSchemaChange, InvalidArgument,
            InvalidOption, SnapshotExpired, SnapshotNotFound, TagExists, TagNotFound, UnsupportedFeature,
            UpkeepRunning, VersionInUse,
        };
        let verb = self.operation.verb;
        match error.kind() {
            CommitConflict | CommitRetriesExhausted => true,
            // a fast-forward has replaced the schemas of main
            ErrorKind::TableNotFound => {
                let text = error.to_string();
                text.contains("or a fast-forward has replaced the schema") || text.contains("it is not known whether")
            }
            // the changes that it reads are told elsewhere from an alter on
            ErrorKind::SchemaMismatch => verb == Verb::Changes,
            // an alter is at work beside the version that has committed the same
            UpkeepRunning if error.to_string().contains("may yet take it back") => true,
            // main's schemas are partly the branch's, for the moment
            UpkeepRunning if error.to_string().contains("main goes forward to branch") => true,
            // a commit under options that have changed meanwhile, which others rely on
            ErrorKind::Storage => error.to_string().contains("it is not known what it means"),
            // files that an option which says what levels mean would make other rows of
            IllegalSchemaChange => verb.sets_option() || verb == Verb::AddColumn || verb.takes_back(),
            BranchNotFound => verb == Verb::WriteBranch || !verb.commits(),
            InvalidOption | UnsupportedFeature => verb.sets_option(),
            // rows wait for a compaction
            InvalidArgument => verb == Verb::Rescale,
            UpkeepRunning | VersionInUse | SnapshotNotFound | SnapshotExpired | TagNotFound | TagExists
            | BranchExists => !verb.commits() && verb != Verb::Scan,
            _ => false,
        }
    }
}
