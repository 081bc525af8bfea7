//! Who makes the next storage call: several actors, of which one goes on while the others wait before their next call.
//!
//! A schedule is a list of turns. A turn lets one actor go on for so many calls, and says what becomes of the call after them:
//! the actor waits there, dies, or the call fails. When all turns are over, whoever is left runs to its end, one after another.

use std::{
    fmt,
    str::FromStr,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use siltstone::{
    Error, ErrorKind, Result,
    fs::{BeforeCall, FaultFileIo, FileIoRef},
};

/// Nothing in these tests takes as long.
const TOO_LONG: Duration = Duration::from_secs(60);

/// Up to which call a turn goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// After so many calls.
    Calls(u64),
    /// Before the call that follows so many calls which others can notice.
    Effects(u64),
    /// The actor's end.
    End,
}

/// What becomes of the call at which a turn ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    Waits,
    Dies,
    /// The call fails without effect; the actor goes on in its next turn.
    Fails,
    /// The call has its effect and fails.
    FailsAfter,
}

/// One entry of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Turn {
    pub(super) actor: usize,
    pub(super) until: Until,
    pub(super) then: Then,
}

impl fmt::Display for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let then = match self.then {
            Then::Waits => "",
            Then::Dies => "!",
            Then::Fails => "-",
            Then::FailsAfter => "+",
        };
        match self.until {
            Until::Calls(n) => write!(f, "{}:{n}{then}", self.actor),
            Until::Effects(n) => write!(f, "{}:e{n}{then}", self.actor),
            Until::End => write!(f, "{}", self.actor),
        }
    }
}

impl FromStr for Turn {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let wrong =
            || format!("'{text}' is no turn: 0, 1:12, 2:e3, 0:7! (dies), 0:7- (fails), 0:7+ (fails after its effect)");
        let (text, then) = match text.chars().last() {
            Some('!') => (&text[..text.len() - 1], Then::Dies),
            Some('-') => (&text[..text.len() - 1], Then::Fails),
            Some('+') => (&text[..text.len() - 1], Then::FailsAfter),
            _ => (text, Then::Waits),
        };
        let (actor, until) = text.split_once(':').unwrap_or((text, ""));
        let actor = actor.parse().map_err(|_| wrong())?;
        let until = match (until, until.strip_prefix('e')) {
            ("", _) => Until::End,
            (_, Some(effects)) => Until::Effects(effects.parse().map_err(|_| wrong())?),
            (calls, None) => Until::Calls(calls.parse().map_err(|_| wrong())?),
        };
        Ok(Self { actor, until, then })
    }
}

/// A call that was made, or would have been by somebody who died there.
#[derive(Clone, Debug)]
pub(super) struct Event {
    pub(super) actor: usize,
    /// Which of the actor's operations.
    pub(super) operation: usize,
    pub(super) what: String,
    pub(super) path: String,
    pub(super) note: &'static str,
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{} {} {}{}", self.actor, self.operation, self.what, self.path, self.note)
    }
}

/// Calls that others can notice, but for the many writes to files that nobody knows yet.
fn is_effect(what: &str) -> bool {
    matches!(
        what,
        "publish: link"
            | "overwrite"
            | "delete"
            | "delete_empty_dir"
            | "delete_dir"
            | "rename_dir"
            | "try_lock"
            | "create_dir"
    )
}

#[derive(Clone, Copy, Debug, Default)]
#[allow(clippy::struct_excessive_bools, reason = "each is asked by itself")]
struct Actor {
    /// Which of its operations runs, and when its first call was made.
    operation: usize,
    began: Option<u64>,
    dead: bool,
    ended: bool,
    fails_after: bool,
    /// A call of the running operation has failed.
    injected: bool,
}

#[derive(Debug)]
struct State {
    turns: Vec<Turn>,
    at: usize,
    /// Calls and effects in this turn.
    calls: u64,
    effects: u64,
    /// Who may go on.
    current: usize,
    actors: Vec<Actor>,
    /// All calls so far.
    time: u64,
    /// Calls that were effects; all calls where somebody wants to see them.
    log: Vec<Event>,
}

impl State {
    /// Gives the turn to whoever comes next.
    fn next_turn(&mut self) {
        (self.calls, self.effects) = (0, 0);
        while self.at < self.turns.len() {
            let actor = self.turns[self.at].actor;
            if self.actors.get(actor).is_some_and(|actor| !actor.ended && !actor.dead) {
                self.current = actor;
                return;
            }
            self.at += 1;
        }
        if let Some(left) = self.actors.iter().position(|actor| !actor.ended) {
            self.current = left;
        }
    }

    fn turn(&self) -> Option<Turn> {
        self.turns.get(self.at).copied()
    }

    /// Whether the turn ends before this call.
    fn is_over(&self) -> bool {
        match self.turn().map(|turn| turn.until) {
            Some(Until::Calls(n)) => self.calls >= n,
            Some(Until::Effects(n)) => self.effects >= n,
            Some(Until::End) | None => false,
        }
    }

    /// The actor goes on up to its next call in the turn that follows.
    fn turn_after_failure(&mut self, actor: usize) {
        self.actors[actor].injected = true;
        self.turns[self.at] = Turn { actor, until: Until::Calls(1), then: Then::Waits };
        (self.calls, self.effects) = (0, 0);
    }

    fn add(&mut self, actor: usize, what: &str, path: &str, note: &'static str) {
        let operation = self.actors[actor].operation;
        self.log.push(Event { actor, operation, what: what.to_owned(), path: path.to_owned(), note });
    }
}

/// When an operation ran.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    /// Its first call.
    pub(super) began: u64,
    pub(super) ended: u64,
    pub(super) died: bool,
    /// One of its calls was made to fail.
    pub(super) injected: bool,
}

/// Shared by all actors of a run.
#[derive(Debug)]
pub(super) struct Scheduler {
    state: Mutex<State>,
    waiting: Vec<Condvar>,
    verbose: bool,
}

impl Scheduler {
    pub(super) fn new(actors: usize, turns: Vec<Turn>, verbose: bool) -> Arc<Self> {
        let mut state = State {
            turns,
            at: 0,
            calls: 0,
            effects: 0,
            current: 0,
            actors: vec![Actor::default(); actors],
            time: 1,
            log: Vec::new(),
        };
        state.next_turn();
        let waiting = (0..actors).map(|_| Condvar::new()).collect();
        Arc::new(Self { state: Mutex::new(state), waiting, verbose })
    }

    /// The storage as an actor sees it.
    pub(super) fn storage(self: &Arc<Self>, io: &FaultFileIo, actor: usize) -> FileIoRef {
        Arc::new(io.behind(Arc::new(Gate { scheduler: Arc::clone(self), actor })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pass_on(&self, state: &State) {
        if let Some(waiting) = self.waiting.get(state.current) {
            waiting.notify_all();
        }
    }

    /// An operation of an actor begins with its next call.
    pub(super) fn begin(&self, actor: usize, operation: usize) {
        let mut state = self.state();
        state.actors[actor].operation = operation;
        state.actors[actor].began = None;
        state.actors[actor].injected = false;
    }

    /// The operation has ended.
    pub(super) fn end_of_operation(&self, actor: usize) -> Span {
        let state = self.state();
        let own = state.actors[actor];
        Span { began: own.began.unwrap_or(state.time), ended: state.time, died: own.dead, injected: own.injected }
    }

    /// An actor has nothing more to do.
    pub(super) fn end(&self, actor: usize) {
        let mut state = self.state();
        state.actors[actor].ended = true;
        if state.current == actor {
            state.next_turn();
            self.pass_on(&state);
        }
    }

    /// What was done, in the order in which it was done.
    pub(super) fn events(&self) -> Vec<Event> {
        std::mem::take(&mut self.state().log)
    }

    fn before(&self, actor: usize, what: &str, path: &str) -> Result<()> {
        let mut state = self.state();
        loop {
            if state.actors[actor].dead {
                return Err(dead(path));
            }
            if state.current != actor {
                let waiting = |state: &mut State| state.current != actor && !state.actors[actor].dead;
                let (next, waited) = self.waiting[actor]
                    .wait_timeout_while(state, TOO_LONG, waiting)
                    .unwrap_or_else(PoisonError::into_inner);
                assert!(!waited.timed_out(), "actor {actor} hangs before {what} {path}: {next:#?}");
                state = next;
                continue;
            }
            if !state.is_over() {
                break;
            }
            let then = state.turn().map_or(Then::Waits, |turn| turn.then);
            match then {
                Then::Waits => {
                    state.at += 1;
                    state.next_turn();
                    self.pass_on(&state);
                }
                Then::Dies => {
                    // keeps the turn until its threads have ended: they free its locks
                    state.actors[actor].dead = true;
                    state.add(actor, what, path, " (dies before)");
                    self.waiting[actor].notify_all();
                    state.at += 1;
                    return Err(dead(path));
                }
                Then::Fails => {
                    state.add(actor, what, path, " (fails)");
                    state.turn_after_failure(actor);
                    return Err(injected(what, path));
                }
                Then::FailsAfter => {
                    state.actors[actor].fails_after = true;
                    state.turn_after_failure(actor);
                }
            }
        }
        state.calls += 1;
        state.effects += u64::from(is_effect(what));
        let time = state.time;
        state.time += 1;
        state.actors[actor].began.get_or_insert(time);
        let note = if state.actors[actor].fails_after { " (done, fails)" } else { "" };
        if self.verbose || is_effect(what) {
            state.add(actor, what, path, note);
        }
        Ok(())
    }
}

fn dead(path: &str) -> Error {
    Error::new(ErrorKind::Storage, "the process is dead").with("file", path)
}

fn injected(what: &str, path: &str) -> Error {
    Error::new(ErrorKind::Storage, format!("injected failure of {what}")).with("file", path)
}

#[derive(Debug)]
struct Gate {
    scheduler: Arc<Scheduler>,
    actor: usize,
}

impl BeforeCall for Gate {
    fn before(&self, what: &str, path: &str) -> Result<()> {
        self.scheduler.before(self.actor, what, path)
    }

    fn after(&self, what: &str, path: &str) -> Result<()> {
        let mut state = self.scheduler.state();
        if std::mem::take(&mut state.actors[self.actor].fails_after) {
            return Err(injected(what, path));
        }
        Ok(())
    }

    fn unlocked(&self, path: &str) {
        let mut state = self.scheduler.state();
        state.add(self.actor, "unlock", path, "");
    }
}
