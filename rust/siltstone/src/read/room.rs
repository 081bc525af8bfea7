//! How much may wait for the consumer of a parallel read.

use std::{
    sync::{Condvar, Mutex, PoisonError},
    time::Duration,
};

use crate::cancel::Cancellation;

/// Bytes of the batches of one task that wait, unless one batch alone has more.
const BYTES: usize = 32 << 20;
/// A thread that waits looks so often whether to stop.
const LOOK: Duration = Duration::from_millis(50);

/// Bytes that wait, task by task. A thread that decodes faster than the consumer takes waits here; the consumer of an empty queue
/// never does.
pub(super) struct Room {
    held: Mutex<Vec<usize>>,
    taken: Condvar,
    most: usize,
}

impl Room {
    /// For so many tasks, of which so many are read at once, within what the read may hold in all.
    pub(super) fn new(tasks: usize, at_once: usize, limit: Option<u64>) -> Self {
        let each = limit.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX) / at_once.max(1));
        Self {
            held: Mutex::new(vec![0; tasks]),
            taken: Condvar::new(),
            most: each.map_or(BYTES, |each| each.min(BYTES)),
        }
    }

    /// Waits until there is room for so many bytes more of a task, or nobody wants them.
    pub(super) fn wait(&self, task: usize, bytes: usize, token: &Cancellation) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let is_full = |held: &[usize]| {
            let waits = held.get(task).copied().unwrap_or(0);
            waits > 0 && waits.saturating_add(bytes) > self.most
        };
        while is_full(&held) && !token.is_cancelled() {
            held = self.taken.wait_timeout(held, LOOK).unwrap_or_else(PoisonError::into_inner).0;
        }
        if let Some(held) = held.get_mut(task) {
            *held = held.saturating_add(bytes);
        }
    }

    /// The consumer has taken so many bytes of a task.
    pub(super) fn take(&self, task: usize, bytes: usize) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(held) = held.get_mut(task) {
            *held = held.saturating_sub(bytes);
        }
        drop(held);
        self.taken.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc, thread};

    use super::*;
    use crate::cancel;

    #[test]
    fn a_batch_alone_has_room_and_others_wait_for_the_consumer() {
        let room = Room::new(2, 1, Some(100));
        let token = cancel::current().child();
        room.wait(0, 1000, &token);
        room.wait(1, 60, &token);
        room.wait(1, 40, &token);
        let (told, hears) = mpsc::channel();
        thread::scope(|scope| {
            scope.spawn(|| {
                room.wait(0, 10, &token);
                told.send(()).unwrap();
            });
            assert!(hears.recv_timeout(Duration::from_millis(200)).is_err());
            room.take(0, 1000);
            hears.recv().unwrap();
        });
        assert_eq!(*room.held.lock().unwrap(), [10, 100]);
    }

    #[test]
    fn nobody_waits_when_the_read_has_ended() {
        let room = Room::new(1, 1, Some(1));
        let token = cancel::current().child();
        room.wait(0, 5, &token);
        token.cancel();
        room.wait(0, 5, &token);
    }
}
