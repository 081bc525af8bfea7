//! How many compactions run at once, over all bucket writers that share these permits.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// A number of permits; a compaction waits for one and gives it back when it ends.
#[derive(Clone, Debug)]
pub struct CompactionPermits(Arc<Permits>);

#[derive(Debug)]
struct Permits {
    free: Mutex<usize>,
    freed: Condvar,
}

impl CompactionPermits {
    /// Permits that let `places` compactions run at once, at least one.
    pub fn new(places: usize) -> Self {
        Self(Arc::new(Permits { free: Mutex::new(places.max(1)), freed: Condvar::new() }))
    }

    /// Waits for a permit.
    pub(crate) fn enter(&self) -> CompactionPermit {
        let free = self.0.free();
        let mut free = self.0.freed.wait_while(free, |free| *free == 0).unwrap_or_else(PoisonError::into_inner);
        *free -= 1;
        CompactionPermit(Arc::clone(&self.0))
    }
}

impl Permits {
    fn free(&self) -> MutexGuard<'_, usize> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A permit that is held until this is dropped.
#[derive(Debug)]
pub(crate) struct CompactionPermit(Arc<Permits>);

impl Drop for CompactionPermit {
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
        let permits = CompactionPermits::new(2);
        let (inside, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let _place = permits.enter();
                    most.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    thread::yield_now();
                    inside.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        assert!((1..=2).contains(&most.load(Ordering::SeqCst)));
    }
}
