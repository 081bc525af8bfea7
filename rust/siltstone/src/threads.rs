//! The threads of this process for work that is split into many small pieces.
//!
//! Threads do not survive a `fork`, but rayon's own global pool does not know that: a child of a process that has used
//! it waits forever for workers that are not there. This pool belongs to one process id; a child starts its own.

use std::{
    mem,
    sync::{Arc, Mutex, PoisonError},
};

use rayon::{ThreadPool, ThreadPoolBuilder};

/// The pool and the process that it belongs to.
static POOL: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

/// Runs work whose parallel iterators use the threads of this process; inside of another pool they use that one.
/// Without threads to be had the work runs on the caller's.
pub(crate) fn in_pool<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    if rayon::current_thread_index().is_some() {
        return work();
    }
    match pool() {
        Some(pool) => pool.install(work),
        None => work(),
    }
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
    let started = ThreadPoolBuilder::new().thread_name(|n| format!("siltstone-{n}")).build().ok()?;
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
    fn another_process_starts_its_own_pool() {
        let ours = pool().unwrap();
        // what a child finds after a fork
        *POOL.lock().unwrap() = Some((0, Arc::clone(&ours)));
        assert!(!Arc::ptr_eq(&ours, &pool().unwrap()));
        assert_eq!(in_pool(|| (0..10).into_par_iter().sum::<i32>()), 45);
    }
}
