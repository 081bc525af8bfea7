//! The end of the process: calls on threads of others, such as pyarrow's, end before the interpreter does.
//!
//! A thread of C++ that reads a stream of ours takes the interpreter lock now and then. When the interpreter has ended it never
//! gets it, and whoever waits for that thread at the end of the process, as pyarrow does, waits for ever. So these calls are
//! stopped while there is an interpreter, by a handler of `atexit`.

use std::{
    sync::{
        OnceLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread::{self, ThreadId},
    time::Duration,
};

use pyo3::prelude::*;
use siltstone::{Error, ErrorKind};

/// How long a look at the calls lasts, and how many there are at most.
const LOOK_EVERY: Duration = Duration::from_millis(5);
const LOOKS: usize = 1000;
/// How many looks in a row must find none: more when there were some, which come once more to be told that it is over.
const QUIET_LOOKS: usize = 4;
const QUIET_LOOKS_AFTER: usize = 40;

/// Calls that are on their way, on all threads.
static CALLS: AtomicUsize = AtomicUsize::new(0);
/// Whether a thread has called that is not the one that loaded this module.
static OTHERS: AtomicBool = AtomicBool::new(false);
static LOADED_BY: OnceLock<ThreadId> = OnceLock::new();
/// The thread on which the interpreter ends, once it does.
static ENDS_ON: OnceLock<ThreadId> = OnceLock::new();

/// A call on its way, until it is dropped.
pub(crate) struct Call(());

impl Call {
    /// `Cancelled` when the process is ending and this is another thread.
    pub(crate) fn begin() -> siltstone::Result<Self> {
        if LOADED_BY.get().is_some_and(|first| *first != thread::current().id()) {
            OTHERS.store(true, Ordering::Relaxed);
        }
        // counted first: the other way round the process could end in between
        CALLS.fetch_add(1, Ordering::SeqCst);
        let call = Self(());
        if is_over() { Err(Error::new(ErrorKind::Cancelled, "the process is ending")) } else { Ok(call) }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        // those of a forked process began at nothing
        let _ = CALLS.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |calls| calls.checked_sub(1));
    }
}

/// Whether the process is ending, and this is not the thread on which it does.
pub(crate) fn is_over() -> bool {
    ENDS_ON.get().is_some_and(|last| *last != thread::current().id())
}

/// Waits until the calls of other threads have stopped; not for ever, because some may wait for a server.
#[pyfunction]
fn end_calls(py: Python<'_>) {
    if !OTHERS.load(Ordering::Relaxed) || ENDS_ON.set(thread::current().id()).is_err() {
        return;
    }
    py.detach(|| {
        let (mut quiet, mut needed) = (0, QUIET_LOOKS);
        for _ in 0..LOOKS {
            if CALLS.load(Ordering::SeqCst) > 0 {
                (quiet, needed) = (0, QUIET_LOOKS_AFTER);
            } else {
                quiet += 1;
            }
            if quiet == needed {
                break;
            }
            // who has been told to stop takes the interpreter lock once more
            thread::sleep(LOOK_EVERY);
        }
    });
}

/// The other threads of the parent, and their calls, are not there.
pub(crate) fn after_fork_in_child() {
    CALLS.store(0, Ordering::SeqCst);
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    let _ = LOADED_BY.set(thread::current().id());
    m.py().import("atexit")?.call_method1("register", (wrap_pyfunction!(end_calls, m)?,)).map(drop)
}
