//! How many compactions run at once, over all bucket writers that share a gate.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// A number of places; a compaction waits for one and gives it back when it ends.
#[derive(Clone, Debug)]
pub struct CompactionGate(Arc<Places>);

#[derive(Debug)]
struct Places {
    free: Mutex<usize>,
    freed: Condvar,
}

impl CompactionGate {
    /// A gate that lets `places` compactions run at once, at least one.
    pub fn new(places: usize) -> Self {
        Self(Arc::new(Places { free: Mutex::new(places.max(1)), freed: Condvar::new() }))
    }

    /// Waits for a place.
    pub(crate) fn enter(&self) -> GatePlace {
        let free = self.0.free();
        let mut free = self.0.freed.wait_while(free, |free| *free == 0).unwrap_or_else(PoisonError::into_inner);
        *free -= 1;
        GatePlace(Arc::clone(&self.0))
    }
}

impl Places {
    fn free(&self) -> MutexGuard<'_, usize> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place that is taken until this is dropped.
#[derive(Debug)]
pub(crate) struct GatePlace(Arc<Places>);

impl Drop for GatePlace {
    fn drop(&mut self) {
        *self.0.free() += 1;
        self.0.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicUsize, Ordering},
        thread,
    };

    use super::*;

    #[test]
    fn no_more_than_the_given_number_run_at_once() {
        let gate = CompactionGate::new(2);
        let (inside, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let _place = gate.enter();
                    most.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    thread::yield_now();
                    inside.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        assert!((1..=2).contains(&most.load(Ordering::SeqCst)));
    }
}
