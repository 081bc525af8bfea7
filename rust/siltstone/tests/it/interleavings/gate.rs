//! Where an actor is stopped: before one of its storage calls, until it may go on or dies.

use std::{
    fmt,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use siltstone::{
    Error, ErrorKind, Result,
    fs::{BeforeCall, FaultFileIo, FileIoRef},
};

/// Nothing in these tests takes as long.
const TOO_LONG: Duration = Duration::from_secs(120);

/// A call of an actor, or a lock that it gave back (`call` is `None`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) actor: char,
    pub(super) call: Option<u64>,
    pub(super) what: String,
    pub(super) path: String,
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let call = self.call.map(|call| call.to_string()).unwrap_or_default();
        write!(f, "{} {call:>3} {} {}", self.actor, self.what, self.path)
    }
}

/// What all actors did, in the order in which they did it.
#[derive(Clone, Debug, Default)]
pub(super) struct Log(Arc<Mutex<Vec<Event>>>);

impl Log {
    fn add(&self, event: Event) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(event);
    }

    pub(super) fn events(&self) -> Vec<Event> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Calls pass up to the one where the actor is stopped.
    Runs,
    Stopped,
    /// All calls pass.
    GoesOn,
    /// All calls fail.
    Dead,
    Ended,
}

#[derive(Debug)]
struct State {
    phase: Phase,
    calls: u64,
}

/// The gate of one actor. Its threads share it: when one is stopped, the others stop before their next call.
#[derive(Debug)]
pub(super) struct Gate {
    name: char,
    stop_before: Option<u64>,
    log: Log,
    state: Mutex<State>,
    changed: Condvar,
}

impl Gate {
    pub(super) fn new(name: char, stop_before: Option<u64>, log: &Log) -> Arc<Self> {
        let state = Mutex::new(State { phase: Phase::Runs, calls: 0 });
        Arc::new(Self { name, stop_before, log: log.clone(), state, changed: Condvar::new() })
    }

    /// The storage as the actor sees it.
    pub(super) fn storage(self: &Arc<Self>, io: &FaultFileIo) -> FileIoRef {
        let gate: Arc<dyn BeforeCall> = Arc::<Self>::clone(self);
        Arc::new(io.behind(gate))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self, phase: Phase) {
        self.state().phase = phase;
        self.changed.notify_all();
    }

    /// Waits until the actor is stopped; `false`: it ended before.
    pub(super) fn is_stopped(&self) -> bool {
        let running = |state: &mut State| state.phase == Phase::Runs;
        let (state, waited) =
            self.changed.wait_timeout_while(self.state(), TOO_LONG, running).unwrap_or_else(PoisonError::into_inner);
        assert!(!waited.timed_out(), "{} hangs:\n{:#?}", self.name, self.log.events());
        state.phase == Phase::Stopped
    }

    fn event(&self, call: Option<u64>, what: &str, path: &str) -> Event {
        Event { actor: self.name, call, what: what.to_owned(), path: path.to_owned() }
    }

    pub(super) fn go_on(&self) {
        self.enter(Phase::GoesOn);
    }

    pub(super) fn die(&self) {
        self.enter(Phase::Dead);
    }

    pub(super) fn end(&self) {
        self.enter(Phase::Ended);
    }
}

impl BeforeCall for Gate {
    fn before(&self, what: &str, path: &str) -> Result<()> {
        let mut state = self.state();
        let call = state.calls;
        if self.stop_before.is_some_and(|stop| call >= stop) && matches!(state.phase, Phase::Runs | Phase::Stopped) {
            state.phase = Phase::Stopped;
            self.changed.notify_all();
            let stopped = |state: &mut State| state.phase == Phase::Stopped;
            state = self.changed.wait_while(state, stopped).unwrap_or_else(PoisonError::into_inner);
        }
        if state.phase == Phase::Dead {
            return Err(Error::new(ErrorKind::Storage, "the process is dead").with("file", path));
        }
        state.calls += 1;
        self.log.add(self.event(Some(call), what, path));
        Ok(())
    }

    fn unlocked(&self, path: &str) {
        self.log.add(self.event(None, "unlock", path));
    }
}
