//! Calls that end when Python wants them to: Ctrl-C, or whatever a signal handler raises.
//!
//! The core asks, on the thread of the call and between pieces of work, whether to stop; then Python's signal handlers
//! run. What they raise is what the call raises.

use std::{
    any::Any,
    cell::{Cell, RefCell},
    panic::{AssertUnwindSafe, catch_unwind},
    rc::Rc,
    sync::{Mutex, MutexGuard, TryLockError},
};

use pyo3::prelude::*;
use siltstone::{Error, ErrorKind, cancel};

use crate::{
    ending::{self, Call},
    error::{CoreError, Result, poisoned},
};

thread_local! {
    /// Calls that this thread is in: more than one when a signal handler calls.
    static CALLS: Cell<usize> = const { Cell::new(0) };
}

/// One call more, until it is dropped.
struct Inside;

impl Inside {
    fn new() -> Self {
        CALLS.set(CALLS.get() + 1);
        Self
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        CALLS.set(CALLS.get().saturating_sub(1));
    }
}

/// Gives the interpreter lock back for some work and takes part in Python's signals meanwhile.
pub(crate) fn interruptible<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    let _call = Call::begin()?;
    let result = py.detach(|| {
        let raised: Rc<RefCell<Option<PyErr>>> = Rc::default();
        let asked = Rc::clone(&raised);
        let wants_to_stop = move || {
            if ending::is_over() {
                return true;
            }
            // does nothing on any thread but the interpreter's first, which alone gets signals
            #[allow(clippy::redundant_closure_for_method_calls, reason = "the method alone is not general enough")]
            let pending = Python::attach(|py| PyErr::take(py).map_or_else(|| py.check_signals(), Err));
            pending.map_err(|e| *asked.borrow_mut() = Some(e)).is_err()
        };
        let _inside = Inside::new();
        // a panic is a defect of ours: `except Exception` gets it like any other error, with the table left as it was
        let worked = catch_unwind(AssertUnwindSafe(|| cancel::interruptible(wants_to_stop, work)));
        let result = worked.unwrap_or_else(|panic| Err(panicked(panic.as_ref()).into()));
        match raised.take() {
            Some(raised) => {
                note_what_is_left(&raised, &result);
                Err(CoreError::Raised(raised))
            }
            None => result,
        }
    });
    // a signal handler may also have run inside of a log record's handler, which leaves what it raised with the interpreter
    match (PyErr::take(py), result) {
        (Some(raised), Ok(_) | Err(CoreError::Core(_))) => Err(CoreError::Raised(raised)),
        (_, result) => result,
    }
}

/// What a call that was stopped has left, where its own error has more to say than that, as a note of what was raised.
fn note_what_is_left<T>(raised: &PyErr, result: &Result<T>) {
    if let Err(CoreError::Core(left)) = result
        && left.kind() == ErrorKind::Cancelled
        && let Some(hint) = left.hint_text()
    {
        let text = format!("{left}\nhint: {hint}");
        // without it the exception is what it was
        let _ = Python::attach(|py| raised.value(py).call_method1("add_note", (text,)).map(drop));
    }
}

/// A panic as an error; where it was is on stderr.
fn panicked(panic: &(dyn Any + Send)) -> Error {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    // zstd says it so that it gets no memory
    if text.is_some_and(|text| text.contains("null pointer when creating new context")) {
        return Error::new(ErrorKind::MemoryLimitExceeded, "there was no memory left to decompress a file")
            .hint("give the process more memory, or read fewer columns; the table may well be in order");
    }
    Error::new(ErrorKind::Internal, format!("siltstone failed in the middle: {}", text.unwrap_or("a panic")))
        .hint("please report this with what stderr says")
}

/// The state of an object, for one call at a time: another thread's call is waited for. A signal handler that runs in the
/// middle of a call on it gets an error: waiting would be for ever.
pub(crate) fn locked<T>(state: &Mutex<T>) -> Result<MutexGuard<'_, T>> {
    if CALLS.get() <= 1 {
        return cancel::lock(state)?.ok_or_else(|| poisoned().into());
    }
    state.try_lock().map_err(|e| match e {
        TryLockError::Poisoned(_) => poisoned().into(),
        TryLockError::WouldBlock => {
            let text = "a signal handler uses an object that is in the middle of a call";
            Error::new(ErrorKind::InvalidArgument, text)
                .hint("raise an exception in the handler: it ends the call")
                .into()
        }
    })
}

/// Drops what may have threads to wait for: they may want the interpreter lock, to log something.
pub(crate) fn drop_detached<T: Send>(value: T) {
    if ending::is_over() {
        std::mem::forget(value); // there may be no interpreter in a moment
        return;
    }
    // the closure is dropped, and the value with it, when there is no interpreter any more
    let _ = Python::try_attach(|py| py.detach(move || drop(value)));
}
