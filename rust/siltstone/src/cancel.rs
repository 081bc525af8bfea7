//! Stopping long work: a token that every long loop asks, on whatever thread it runs.
//!
//! A call runs under a token ([`interruptible`]); threads that it starts run under the same token or a child of it
//! ([`Cancellation::run`], [`carried`]). Loops over batches, files, manifests and rows call [`check`]; waiting for another
//! thread is [`wait`]. On the thread of the call, both also ask the caller whether to stop (a pending Ctrl-C), at most
//! every [`ASK_EVERY`]. What has to be finished once it is begun is done under a [`shield`].

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
    sync::{
        Arc, Mutex, MutexGuard, TryLockError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use crossbeam_channel::{Receiver, RecvTimeoutError};

use crate::error::{Error, ErrorKind, Result};

/// How often the caller is asked, and how long a thread waits before it looks at its token again.
const ASK_EVERY: Duration = Duration::from_millis(50);
/// How long a thread waits before it looks again whether a lock is free.
const LOOK_EVERY: Duration = Duration::from_millis(1);
/// Units of work between two questions.
const STRETCH: usize = 1 << 16;

/// Whether some work is to stop. Clones are the same token; a child stops with its parent.
#[derive(Clone, Debug, Default)]
pub struct Cancellation(Arc<Node>);

#[derive(Debug, Default)]
struct Node {
    stopped: AtomicBool,
    parent: Option<Cancellation>,
}

/// The token of this thread, and whom to ask.
#[derive(Clone, Default)]
struct Current {
    token: Cancellation,
    caller: Option<Rc<Caller>>,
}

/// Who started the call: can be asked on its own thread only.
struct Caller {
    wants_to_stop: Box<dyn Fn() -> bool>,
    asked: Cell<Option<Instant>>,
}

thread_local! {
    static CURRENT: RefCell<Option<Current>> = const { RefCell::new(None) };
    /// What was current before the shields of this thread.
    static SHIELDED: RefCell<Option<Current>> = const { RefCell::new(None) };
}

impl Cancellation {
    /// A token of its own that also stops when this one does.
    #[must_use]
    pub fn child(&self) -> Self {
        Self(Arc::new(Node { stopped: AtomicBool::new(false), parent: Some(self.clone()) }))
    }

    /// Asks everything that runs under this token, or a child of it, to stop.
    pub fn cancel(&self) {
        self.0.stopped.store(true, Ordering::Relaxed);
    }

    /// Whether to stop.
    pub fn is_cancelled(&self) -> bool {
        self.0.stopped.load(Ordering::Relaxed) || self.0.parent.as_ref().is_some_and(Self::is_cancelled)
    }

    /// Runs work of this thread under this token.
    pub fn run<T>(&self, work: impl FnOnce() -> T) -> T {
        let _before = Entered::new(Some(Current { token: self.clone(), caller: None }));
        work()
    }
}

/// What was there before is put back, also when the work panics.
struct Entered(Option<Current>);

impl Entered {
    fn new(now: Option<Current>) -> Self {
        Self(CURRENT.replace(now))
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

/// Runs a call that stops with [`ErrorKind::Cancelled`] soon after `wants_to_stop` says so.
pub fn interruptible<T>(wants_to_stop: impl Fn() -> bool + 'static, work: impl FnOnce() -> T) -> T {
    let caller = Caller { wants_to_stop: Box::new(wants_to_stop), asked: Cell::new(Some(now())) };
    let _before = Entered::new(Some(Current { token: Cancellation::default(), caller: Some(Rc::new(caller)) }));
    work()
}

/// The token of this thread; a new one where there is none.
pub(crate) fn current() -> Cancellation {
    CURRENT.with_borrow(|current| current.as_ref().map(|current| current.token.clone())).unwrap_or_default()
}

/// Whether this thread has to ask the caller now and then, and so must not wait for long.
pub(crate) fn has_caller() -> bool {
    CURRENT.with_borrow(|current| current.as_ref().is_some_and(|current| current.caller.is_some()))
}

/// An error when the work is to stop.
pub(crate) fn check() -> Result<()> {
    // the caller may run anything: nothing is borrowed meanwhile
    CURRENT.with_borrow(Clone::clone).map_or(Ok(()), |current| ask(&current))
}

/// As [`check`], however short ago the caller was asked: for the end of what is not to be done twice.
pub(crate) fn check_now() -> Result<()> {
    let current = CURRENT.with_borrow(Clone::clone);
    if let Some(caller) = current.as_ref().and_then(|current| current.caller.as_ref()) {
        caller.asked.set(None);
    }
    current.map_or(Ok(()), |current| ask(&current))
}

/// As [`check`], also under a shield: for what waits before anything is done that must not be left half done.
pub(crate) fn check_before() -> Result<()> {
    let current = CURRENT.with_borrow(Clone::clone).or_else(|| SHIELDED.with_borrow(Clone::clone));
    current.map_or(Ok(()), |current| ask(&current))
}

/// Work done since it was asked whether to stop: bytes that are moved or compared, elements that are looked up.
#[derive(Debug, Default)]
pub(crate) struct Work(usize);

impl Work {
    /// So many units more; an error when the work is to stop.
    pub(crate) fn done(&mut self, units: usize) -> Result<()> {
        self.0 = self.0.saturating_add(units);
        if self.0 < STRETCH {
            return Ok(());
        }
        self.0 = 0;
        check()
    }
}

fn ask(current: &Current) -> Result<()> {
    if let Some(caller) = &current.caller
        && caller.asked.get().is_none_or(|asked| asked.elapsed() >= ASK_EVERY)
    {
        let stop = (caller.wants_to_stop)();
        caller.asked.set(Some(now()));
        if stop {
            current.token.cancel();
        }
    }
    if current.token.is_cancelled() { Err(cancelled()) } else { Ok(()) }
}

#[allow(clippy::disallowed_methods, reason = "how long the caller was not asked, not what time it is")]
fn now() -> Instant {
    Instant::now()
}

fn cancelled() -> Error {
    Error::new(ErrorKind::Cancelled, "the operation was stopped")
}

/// Waits for another thread's message; stops waiting when the work is to stop. `None`: the other thread is gone.
pub(crate) fn wait<T>(receiver: &Receiver<T>) -> Result<Option<T>> {
    loop {
        match receiver.recv_timeout(ASK_EVERY) {
            Ok(message) => return Ok(Some(message)),
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
            Err(RecvTimeoutError::Timeout) => check()?,
        }
    }
}

/// Waits for what another thread may hold for long; stops waiting when the work is to stop. `None`: that thread has panicked.
///
/// # Errors
/// `Cancelled`.
pub fn lock<T>(state: &Mutex<T>) -> Result<Option<MutexGuard<'_, T>>> {
    loop {
        match state.try_lock() {
            Ok(held) => return Ok(Some(held)),
            Err(TryLockError::Poisoned(_)) => return Ok(None),
            Err(TryLockError::WouldBlock) => check()?,
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// The function, run under the token that this thread has now: for pieces of work that other threads take.
pub(crate) fn carried<A, R>(work: impl Fn(A) -> R + Sync) -> impl Fn(A) -> R + Sync {
    let token = current();
    move |item| token.run(|| work(item))
}

/// Until it is dropped nothing on this thread stops: for what must not be left half done, such as publishing, and for
/// cleaning up after work that was stopped.
#[must_use]
pub(crate) fn shield() -> Shield {
    let outer = CURRENT.with_borrow(Clone::clone);
    let before = SHIELDED.with_borrow(Clone::clone);
    SHIELDED.set(outer.or_else(|| before.clone()));
    Shield { before, _entered: Entered::new(None) }
}

/// See [`shield`].
pub(crate) struct Shield {
    before: Option<Current>,
    _entered: Entered,
}

impl Drop for Shield {
    fn drop(&mut self) {
        SHIELDED.set(self.before.take());
    }
}

/// Sorts with a comparison that now and then asks whether to stop; `sample` says of an element whether it is one of the few
/// at which to ask. What was not sorted stays in some order.
pub(crate) fn stoppable<T, R>(
    sort: impl FnOnce(&(dyn Fn(&T) + Sync)) -> R,
    sample: impl Fn(&T) -> bool + Sync,
) -> Result<R> {
    /// What the comparison throws: there is no other way out of a sort.
    struct Stopped;
    let token = current();
    let ask = |element: &T| {
        // on the caller's own thread nobody else asks it meanwhile
        if sample(element) && (token.is_cancelled() || check().is_err()) {
            std::panic::resume_unwind(Box::new(Stopped));
        }
    };
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| sort(&ask))) {
        Ok(sorted) => Ok(sorted),
        Err(thrown) if thrown.is::<Stopped>() => Err(cancelled()),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    fn stops(result: Result<()>) -> bool {
        result.is_err_and(|e| e.kind() == ErrorKind::Cancelled)
    }

    #[test]
    fn work_without_a_caller_never_stops() {
        check().unwrap();
        assert!(!current().is_cancelled());
    }

    #[test]
    fn a_call_stops_when_its_caller_says_so_and_the_next_one_does_not() {
        let stopped = interruptible(
            || true,
            || {
                check().unwrap();
                thread::sleep(ASK_EVERY);
                stops(check()) && stops(check())
            },
        );
        assert!(stopped);
        check().unwrap();
    }

    #[test]
    fn threads_of_a_call_and_children_of_its_token_stop_with_it() {
        let token = Cancellation::default();
        let child = token.child();
        let grandchild = child.child();
        token.run(|| {
            let inside = carried(|_: i32| stops(check()));
            thread::scope(|scope| assert!(!scope.spawn(|| inside(1)).join().unwrap()));
            child.cancel();
            assert!(!token.is_cancelled() && grandchild.is_cancelled());
            token.cancel();
            thread::scope(|scope| assert!(scope.spawn(|| inside(1)).join().unwrap()));
        });
    }

    #[test]
    fn waiting_ends_with_the_message_or_with_the_thread_or_with_the_wish_to_stop() {
        let (sender, receiver) = crossbeam_channel::bounded(1);
        sender.send(7).unwrap();
        assert_eq!(wait(&receiver).unwrap(), Some(7));
        let token = Cancellation::default();
        token.cancel();
        assert_eq!(token.run(|| wait(&receiver)).unwrap_err().kind(), ErrorKind::Cancelled);
        drop(sender);
        assert_eq!(wait(&receiver).unwrap(), None);
    }

    #[test]
    fn waiting_for_a_lock_ends_when_it_is_free_or_with_the_wish_to_stop() {
        let state = Mutex::new(7);
        assert_eq!(lock(&state).unwrap().as_deref(), Some(&7));
        let token = Cancellation::default();
        token.cancel();
        thread::scope(|scope| {
            let held = state.lock().unwrap();
            let waits = scope.spawn(|| token.run(|| lock(&state).map(drop)));
            assert!(stops(waits.join().unwrap()));
            drop(held);
            scope.spawn(|| assert_eq!(lock(&state).unwrap().as_deref(), Some(&7)));
        });
    }

    #[test]
    fn under_a_shield_nothing_stops() {
        let token = Cancellation::default();
        token.cancel();
        token.run(|| {
            assert!(stops(check()));
            {
                let _shield = shield();
                check().unwrap();
                let _again = shield();
                assert!(stops(check_before()), "what waits before it begins does");
            }
            assert!(stops(check()));
        });
        let _shield = shield();
        check_before().unwrap();
    }

    #[test]
    fn a_sort_stops_in_the_middle() {
        let token = Cancellation::default();
        let mut numbers: Vec<u32> = (0..10_000).rev().collect();
        let mut sort = || {
            stoppable(
                |ask| {
                    numbers.sort_unstable_by(|a, b| {
                        ask(a);
                        a.cmp(b)
                    });
                },
                |n| n % 16 == 0,
            )
        };
        token.run(&mut sort).unwrap();
        token.cancel();
        assert!(stops(token.run(&mut sort)));
        assert!(numbers.is_sorted());
    }

    /// Only the token was asked, which the caller's own thread sets where it asks the caller: nowhere in a sort.
    #[test]
    fn a_sort_on_the_callers_thread_asks_the_caller() {
        let mut numbers: Vec<u32> = (0..10_000).rev().collect();
        let sort = || {
            thread::sleep(ASK_EVERY);
            stoppable(
                |ask| {
                    numbers.sort_unstable_by(|a, b| {
                        ask(a);
                        a.cmp(b)
                    });
                },
                |n| n % 16 == 0,
            )
        };
        assert!(stops(interruptible(|| true, sort)));
    }
}
