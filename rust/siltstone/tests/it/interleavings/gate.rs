//! Where an actor is stopped: before one of its storage calls, until it may go on or dies.

use std::{
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use siltstone::{
    Error, ErrorKind, Result,
    fs::{BeforeCall, FaultFileIo, FileIoRef},
};

/// Nothing in these tests takes as long.
const TOO_LONG: Duration = Duration::from_secs(120);

/// The calls of all actors in the order in which they were made.
#[derive(Clone, Debug, Default)]
pub(super) struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub(super) fn add(&self, line: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }

    pub(super) fn lines(&self) -> Vec<String> {
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
        assert!(!waited.timed_out(), "{} hangs:\n{:#?}", self.name, self.log.lines());
        state.phase == Phase::Stopped
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
        self.log.add(format!("{} {call:>3} {what} {path}", self.name));
        Ok(())
    }
}
