//! The threads of this process for work that is split into many small pieces.
//!
//! Threads do not survive a `fork`, but rayon's own global pool does not know that: a child of a process that has used
//! it waits forever for workers that are not there. This pool belongs to one process id; a child starts its own.

use std::{
    mem,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread::{self, JoinHandle},
};

use rayon::{ThreadPool, ThreadPoolBuilder, prelude::*};

use crate::{
    Result, cancel,
    error::{Error, ErrorKind},
};

/// The pool and the process that it belongs to.
static POOL: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

/// Runs work whose parallel iterators use the threads of this process; inside of another pool they use that one.
/// Without threads to be had the work runs on the caller's.
pub(crate) fn in_pool<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    if rayon::current_thread_index().is_some() {
        return work();
    }
    if let Some(pool) = pool() {
        return install(&pool, work);
    }
    // rayon would start its global pool, whose threads are not to be had either: this thread becomes a pool of its own, for
    // as long as it lives
    if let Ok(alone) = ThreadPoolBuilder::new().num_threads(1).use_current_thread().build() {
        mem::forget(alone);
    }
    work()
}

/// What `work` gives for each item, in their order, or its first error; in parallel where there are several. For one alone
/// waking another thread costs more than most work.
pub(crate) fn try_map<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> Result<R> + Sync + Send) -> Result<Vec<R>> {
    match items {
        [] | [_] => items.iter().map(work).collect(),
        _ => in_pool(|| items.par_iter().map(cancel::carried(work)).collect()),
    }
}

/// Pieces of work that wait for storage at once, however many cores there are.
const WAITING: usize = 16;

/// Does `work` for each item, until one fails, in no order: several at once, because it waits for storage.
pub(crate) fn try_waiting<T: Sync>(items: &[T], work: impl Fn(&T) -> Result<()> + Sync) -> Result<()> {
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(None));
    let work = cancel::carried(|item: &T| cancel::check().and_then(|()| work(item)));
    let all = || {
        while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Err(error) = work(item) {
                failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                next.store(items.len(), Ordering::Relaxed);
            }
        }
    };
    thread::scope(|scope| {
        for _ in 1..items.len().min(WAITING) {
            // where no more threads are to be had, there are fewer
            if thread::Builder::new().name("siltstone-sync".to_owned()).spawn_scoped(scope, all).is_err() {
                break;
            }
        }
        all();
    });
    failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}

/// Runs work on a pool, under the token of this thread. A thread with a caller does not sleep meanwhile: it asks whether
/// to stop, and the work learns of it by its token.
pub(crate) fn install<T: Send>(pool: &ThreadPool, work: impl FnOnce() -> T + Send) -> T {
    let token = cancel::current();
    let work = move || token.run(work);
    if !cancel::has_caller() {
        return pool.install(work);
    }
    let (done, finished) = crossbeam_channel::bounded(1);
    let mut result = None;
    pool.in_place_scope(|scope| {
        scope.spawn(|_| drop(done.send(catch_unwind(AssertUnwindSafe(work)))));
        // even work that was stopped has a result
        while result.is_none() {
            match cancel::wait(&finished) {
                Ok(message) => result = message,
                Err(_) => result = finished.recv().ok(),
            }
        }
    });
    match result {
        Some(Ok(value)) => value,
        Some(Err(panic)) => resume_unwind(panic),
        None => unreachable!("the work sends its result or its panic"),
    }
}

/// Threads that belong to one value and end with it: whoever drops the value waits for them, so that what they hold, open
/// files first of all, is gone then. A child of a `fork` has none of them and waits for nothing.
#[derive(Debug)]
pub(crate) struct OwnThreads {
    process: u32,
    handles: Vec<JoinHandle<()>>,
}

impl OwnThreads {
    /// None yet.
    pub(crate) fn new() -> Self {
        Self { process: std::process::id(), handles: Vec::new() }
    }

    /// One more.
    pub(crate) fn add(&mut self, handle: JoinHandle<()>) {
        self.handles.push(handle);
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.handles.len()
    }

    /// Waits for them. They must have a reason to end.
    pub(crate) fn join(&mut self) {
        for handle in mem::take(&mut self.handles) {
            if self.process == std::process::id() && handle.thread().id() != thread::current().id() {
                // a thread that panicked has told its reader by hanging up
                let _ = handle.join();
            }
        }
    }
}

/// More gain nothing, and take long to start.
const MOST_THREADS: usize = 256;

/// As many as the environment asks for (`RAYON_NUM_THREADS`), or as there are cores.
fn wanted() -> usize {
    let asked = std::env::var("RAYON_NUM_THREADS").ok().and_then(|text| text.trim().parse().ok()).filter(|n| *n > 0);
    let cores = || thread::available_parallelism().map_or(1, std::num::NonZero::get);
    asked.unwrap_or_else(cores).min(MOST_THREADS)
}

/// The machine, or a limit of the user, has no thread for this.
pub(crate) fn not_started(what: &str) -> Error {
    Error::new(ErrorKind::Storage, format!("no thread could be started to {what}"))
        .hint("give this user more processes (ulimit -u), or fewer threads to other work")
}

fn pool() -> Option<Arc<ThreadPool>> {
    let process = std::process::id();
    let current = || POOL.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((owner, pool)) = &*current()
        && *owner == process
    {
        return Some(Arc::clone(pool));
    }
    // started outside of the lock, so that a fork hardly ever happens while it is held
    let started =
        ThreadPoolBuilder::new().num_threads(wanted()).thread_name(|n| format!("siltstone-{n}")).build().ok()?;
    let mut slot = current();
    if let Some((owner, pool)) = &*slot
        && *owner == process
    {
        return Some(Arc::clone(pool));
    }
    let started = Arc::new(started);
    // the parent's pool has no threads here: stopping it would wait for them
    mem::forget(slot.replace((process, Arc::clone(&started))));
    Some(started)
}

#[cfg(test)]
mod tests {
    use rayon::prelude::*;

    use super::*;

    #[test]
    fn work_runs_on_the_threads_of_the_pool_and_nests() {
        let name = || std::thread::current().name().unwrap_or_default().to_owned();
        let sum: u64 = in_pool(|| {
            assert!(name().starts_with("siltstone-"));
            in_pool(|| (0..1000_u64).into_par_iter().sum())
        });
        assert_eq!(sum, 499_500);
    }

    #[test]
    fn work_that_waits_is_done_once_for_each_item_until_one_fails() {
        let items: Vec<usize> = (0..1000).collect();
        let done = Mutex::new(vec![0; items.len()]);
        try_waiting(&items, |item| {
            done.lock().unwrap()[*item] += 1;
            Ok(())
        })
        .unwrap();
        assert!(done.into_inner().unwrap().iter().all(|times| *times == 1));
        let error = |item: &usize| if *item == 500 { Err(not_started("wait")) } else { Ok(()) };
        try_waiting(&items, error).unwrap_err();
        try_waiting(&[] as &[usize], error).unwrap();
    }

    #[test]
    fn another_process_starts_its_own_pool() {
        let ours = pool().unwrap();
        // what a child finds after a fork
        *POOL.lock().unwrap() = Some((0, Arc::clone(&ours)));
        assert!(!Arc::ptr_eq(&ours, &pool().unwrap()));
        assert_eq!(in_pool(|| (0..10).into_par_iter().sum::<i32>()), 45);
    }
}
