//! Upkeep that a commit does not wait for: one thread of this process at a time for each table.
//!
//! A commit that finds the thread still at work starts no other one: whatever expires meanwhile is seen by the next.
//! The thread may end with the process at any moment, as a crash would end it; the next expiry takes up what is left.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    thread,
};

/// What a table's background work is at.
#[derive(Debug, Default)]
struct Job {
    running: bool,
    /// What failed, until a commit tells it.
    failed: Vec<String>,
}

/// Jobs by table, and the process that they run in: threads do not survive a fork.
type Jobs = Option<(u32, HashMap<String, Job>)>;

static JOBS: Mutex<Jobs> = Mutex::new(None);

fn with_job<T>(table: &str, then: impl FnOnce(&mut Job) -> T) -> T {
    let mut jobs = JOBS.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if jobs.as_ref().is_none_or(|(owner, _)| *owner != process) {
        *jobs = Some((process, HashMap::new()));
    }
    let (_, known) = jobs.get_or_insert_with(|| (process, HashMap::new()));
    then(known.entry(table.to_owned()).or_default())
}

/// Starts work for a table unless some is running; returns what earlier work could not do.
pub(super) fn in_background(table: &str, work: impl FnOnce() -> Vec<String> + Send + 'static) -> Vec<String> {
    let (failed, busy) =
        with_job(table, |job| (std::mem::take(&mut job.failed), std::mem::replace(&mut job.running, true)));
    if busy {
        return failed;
    }
    let end = End(table.to_owned());
    let started = thread::Builder::new().name("siltstone-upkeep".to_owned()).spawn(move || {
        let failed = work();
        with_job(&end.0, |job| job.failed.extend(failed));
        drop(end);
    });
    if let Err(error) = started {
        // dropping the closure has ended the job: the next commit tries again
        tracing::warn!(%error, table, "no thread for upkeep in the background");
    }
    failed
}

/// The job is over when this goes, also when the work panics.
struct End(String);

impl Drop for End {
    fn drop(&mut self) {
        with_job(&self.0, |job| job.running = false);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    fn wait_for(table: &str) {
        while with_job(table, |job| job.running) {
            thread::yield_now();
        }
    }

    #[test]
    fn one_job_at_a_time_and_its_failures_are_told_by_the_next_commit() {
        let (go, wait) = channel::<()>();
        let first = in_background("/t#one", move || {
            wait.recv().unwrap();
            vec!["the expiry failed".to_owned()]
        });
        assert!(first.is_empty());
        assert!(in_background("/t#one", || panic!("the first one is still at work")).is_empty());
        assert!(in_background("/t#other", Vec::new).is_empty());
        go.send(()).unwrap();
        wait_for("/t#one");
        assert_eq!(in_background("/t#one", Vec::new), ["the expiry failed"]);
        wait_for("/t#one");
        assert!(in_background("/t#one", Vec::new).is_empty());
    }

    #[test]
    fn work_that_panics_is_over() {
        in_background("/t#panics", || panic!("on purpose"));
        wait_for("/t#panics");
        let (done, finished) = channel();
        in_background("/t#panics", move || {
            done.send(()).unwrap();
            Vec::new()
        });
        finished.recv().unwrap();
    }
}
