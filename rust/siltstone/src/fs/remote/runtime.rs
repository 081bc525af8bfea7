//! The threads that send requests. They belong to one process id, as those of `crate::threads` do: a child of a fork starts its
//! own.

use std::{
    future::Future,
    mem,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::runtime::{Builder, Runtime};

use crate::{
    cancel,
    error::{Error, ErrorKind, Result},
};

/// They wait for the network and compute signatures.
const THREADS: usize = 2;

static RUNTIME: Mutex<Option<(u32, Arc<Runtime>)>> = Mutex::new(None);

/// The runtime of this process, started when it is first needed.
pub(super) fn runtime() -> Result<Arc<Runtime>> {
    let process = std::process::id();
    let current = || RUNTIME.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((owner, runtime)) = &*current()
        && *owner == process
    {
        return Ok(Arc::clone(runtime));
    }
    // started outside of the lock, so that a fork hardly ever happens while it is held
    let started = Builder::new_multi_thread()
        .worker_threads(THREADS)
        .thread_name("siltstone-store")
        .enable_all()
        .build()
        .map_err(|e| Error::new(ErrorKind::Storage, "cannot start the threads that send requests").caused_by(e))?;
    let started = Arc::new(started);
    let mut slot = current();
    if let Some((owner, runtime)) = &*slot
        && *owner == process
    {
        return Ok(Arc::clone(runtime));
    }
    // the parent's has no threads here: stopping it would wait for them
    mem::forget(slot.replace((process, Arc::clone(&started))));
    Ok(started)
}

/// Runs a request and waits for its answer; when the work is to stop meanwhile, the request is dropped.
pub(super) fn run<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> Result<T> {
    let (done, finished) = crossbeam_channel::bounded(1);
    let task = runtime()?.spawn(async move { drop(done.send(work.await)) });
    match cancel::wait(&finished) {
        Ok(Some(answer)) => Ok(answer),
        Ok(None) => Err(Error::new(ErrorKind::Internal, "a request ended without an answer or an error")),
        Err(stopped) => {
            task.abort();
            Err(stopped)
        }
    }
}

/// The same of a request that has so long to be answered.
pub(super) fn answered<T: Send + 'static>(
    within: Duration,
    work: impl Future<Output = T> + Send + 'static,
) -> Result<T> {
    let late = || Error::new(ErrorKind::Storage, format!("the store did not answer within {} s", within.as_secs()));
    run(async move { tokio::time::timeout(within, work).await })?.map_err(|_| late())
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    async fn hangs() {
        tokio::time::sleep(Duration::from_secs(60)).await;
    }

    /// A request that hung kept Ctrl-C waiting until its own time was over.
    #[test]
    #[allow(clippy::disallowed_methods, reason = "how long the call took, not what time it is")]
    fn who_waits_for_an_answer_can_be_stopped() {
        let begun = Instant::now();
        let stopped = cancel::interruptible(|| true, || run(hangs()));
        assert_eq!(stopped.unwrap_err().kind(), ErrorKind::Cancelled);
        assert!(begun.elapsed() < Duration::from_secs(10));
    }

    #[test]
    fn an_answer_that_does_not_come_is_an_error() {
        let late = answered(Duration::from_millis(1), hangs());
        assert_eq!(late.unwrap_err().kind(), ErrorKind::Storage);
    }

    #[test]
    fn another_process_starts_its_own_threads() {
        let ours = runtime().unwrap();
        // what a child finds after a fork
        *RUNTIME.lock().unwrap() = Some((0, Arc::clone(&ours)));
        assert!(!Arc::ptr_eq(&ours, &runtime().unwrap()));
        assert_eq!(run(async { 7 }).unwrap(), 7);
    }
}
