//! Working ahead: streams that compute on other threads, a bounded number of batches before their reader.
//!
//! Threads belong to one merge and end with it; nothing outlives a fork, and dropping the stream stops them.

use std::thread;

use arrow_array::RecordBatch;
use crossbeam_channel::{Receiver, Sender, bounded, unbounded};

use crate::{Error, ErrorKind, Result, io::BatchStream};

/// Runs a stream on a thread of its own, at most `depth` batches ahead of the reader. Without a thread to be had
/// the stream runs on the reader's.
pub fn read_ahead(stream: BatchStream, depth: usize) -> BatchStream {
    let (sender, receiver) = bounded(depth.max(1));
    // the stream travels through a channel, so that it is still ours when no thread can be started
    let (hand, taken) = bounded::<BatchStream>(1);
    let spare = taken.clone();
    let worker = thread::Builder::new().name("siltstone-ahead".to_owned()).spawn(move || {
        let Ok(stream) = taken.recv() else { return };
        for item in stream {
            let stop = item.is_err();
            if sender.send(Some(item)).is_err() || stop {
                return;
            }
        }
        let _ = sender.send(None);
    });
    if hand.send(stream).is_err() {
        return Box::new(std::iter::once(Err(stopped())));
    }
    match worker {
        Ok(_) => Box::new(Ahead { receiver, done: false }),
        Err(_) => spare.try_recv().unwrap_or_else(|_| Box::new(std::iter::once(Err(stopped())))),
    }
}

/// The reader's end of [`read_ahead`]. A thread that dies without saying so is an error, not an end.
struct Ahead {
    receiver: Receiver<Option<Result<RecordBatch>>>,
    done: bool,
}

impl Iterator for Ahead {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let item = self.receiver.recv().unwrap_or_else(|_| Some(Err(stopped())));
        self.done = !matches!(item, Some(Ok(_)));
        item
    }
}

fn stopped() -> Error {
    Error::new(ErrorKind::Internal, "a thread that reads ahead stopped unexpectedly")
}

type Decoded = (BatchStream, Option<Result<RecordBatch>>);

struct Job {
    stream: BatchStream,
    reply: Sender<Decoded>,
}

/// A few threads that decode one batch ahead for each of many streams.
pub(crate) struct Decoders {
    jobs: Option<Sender<Job>>,
}

impl Decoders {
    /// Threads for a merge; with 0 threads streams stay as they are.
    pub(crate) fn new(threads: usize) -> Self {
        if threads == 0 {
            return Self { jobs: None };
        }
        let (jobs, queue) = unbounded::<Job>();
        let started = (0..threads).filter(|_| start_decoder(queue.clone())).count();
        Self { jobs: (started > 0).then_some(jobs) }
    }

    /// The stream, decoded ahead from now on.
    pub(crate) fn attach(&self, stream: BatchStream) -> BatchStream {
        let Some(jobs) = &self.jobs else { return stream };
        let (reply, decoded) = bounded(1);
        match jobs.send(Job { stream, reply }) {
            Ok(()) => Box::new(DecodedAhead { jobs: jobs.clone(), decoded: Some(decoded) }),
            Err(unsent) => unsent.into_inner().stream,
        }
    }
}

fn start_decoder(queue: Receiver<Job>) -> bool {
    let run = move || {
        for Job { mut stream, reply } in queue {
            let item = stream.next();
            // the reader may be gone; that is not this thread's concern
            let _ = reply.send((stream, item));
        }
    };
    thread::Builder::new().name("siltstone-decode".to_owned()).spawn(run).is_ok()
}

/// The reader's end of [`Decoders::attach`]: waits for one batch and has the next one decoded meanwhile.
struct DecodedAhead {
    jobs: Sender<Job>,
    decoded: Option<Receiver<Decoded>>,
}

impl Iterator for DecodedAhead {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let Ok((stream, item)) = self.decoded.take()?.recv() else {
            return Some(Err(stopped()));
        };
        if matches!(item, Some(Ok(_))) {
            // a job that cannot be sent drops its reply, which the next call reports
            let (reply, decoded) = bounded(1);
            self.decoded = Some(decoded);
            let _ = self.jobs.send(Job { stream, reply });
        }
        item
    }
}
