//! Working ahead: streams that compute on other threads, a bounded number of batches before their reader.
//!
//! Threads belong to one merge and end with it; nothing outlives a fork, and dropping the stream stops them.

use std::thread;

use arrow_array::RecordBatch;
use crossbeam_channel::{Receiver, Sender, TryRecvError, bounded, unbounded};

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

impl Job {
    fn run(self) {
        let Self { mut stream, reply } = self;
        let item = stream.next();
        // the reader may be gone; that is nobody's concern here
        let _ = reply.send((stream, item));
    }
}

/// A few threads that decode one batch ahead for each of many streams. A reader that would have to wait decodes
/// too, so one thread here keeps two cores busy.
pub(crate) struct Decoders {
    jobs: Option<(Sender<Job>, Receiver<Job>)>,
}

impl Decoders {
    /// Threads for a merge; with 0 threads streams stay as they are.
    pub(crate) fn new(threads: usize) -> Self {
        if threads == 0 {
            return Self { jobs: None };
        }
        let (jobs, queue) = unbounded::<Job>();
        let started = (0..threads).filter(|_| start_decoder(queue.clone())).count();
        Self { jobs: (started > 0).then_some((jobs, queue)) }
    }

    /// The stream, decoded ahead from now on.
    pub(crate) fn attach(&self, stream: BatchStream) -> BatchStream {
        let Some((jobs, queue)) = &self.jobs else { return stream };
        let (reply, decoded) = bounded(1);
        match jobs.send(Job { stream, reply }) {
            Ok(()) => Box::new(DecodedAhead { jobs: jobs.clone(), queue: queue.clone(), decoded: Some(decoded) }),
            Err(unsent) => unsent.into_inner().stream,
        }
    }
}

/// The thread ends when all streams are gone, with their ends for sending.
fn start_decoder(queue: Receiver<Job>) -> bool {
    let run = move || queue.into_iter().for_each(Job::run);
    thread::Builder::new().name("siltstone-decode".to_owned()).spawn(run).is_ok()
}

/// The reader's end of [`Decoders::attach`]: waits for one batch and has the next one decoded meanwhile.
struct DecodedAhead {
    jobs: Sender<Job>,
    queue: Receiver<Job>,
    decoded: Option<Receiver<Decoded>>,
}

impl DecodedAhead {
    /// The decoded batch; as long as it is not there, whatever waits for a decoder is decoded here.
    fn wait(&self, decoded: &Receiver<Decoded>) -> Option<Decoded> {
        loop {
            match decoded.try_recv() {
                Ok(done) => return Some(done),
                Err(TryRecvError::Disconnected) => return None,
                Err(TryRecvError::Empty) => {}
            }
            match self.queue.try_recv() {
                Ok(job) => job.run(),
                Err(_) => return decoded.recv().ok(),
            }
        }
    }
}

impl Iterator for DecodedAhead {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let decoded = self.decoded.take()?;
        let Some((stream, item)) = self.wait(&decoded) else {
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int32Array};

    use super::*;

    fn numbers(start: i32, batches: i32) -> BatchStream {
        Box::new((start..start + batches).map(|i| {
            let column: ArrayRef = Arc::new(Int32Array::from(vec![i]));
            Ok(RecordBatch::try_from_iter([("i", column)])?)
        }))
    }

    #[test]
    fn every_stream_keeps_its_batches_and_their_order_whoever_decodes_them() {
        for threads in [0, 1, 3] {
            let decoders = Decoders::new(threads);
            let mut streams: Vec<BatchStream> = (0..5).map(|s| decoders.attach(numbers(100 * s, 40))).collect();
            drop(decoders);
            let mut starts: Vec<BatchStream> = (0..5).map(|s| numbers(100 * s, 40)).collect();
            for round in 0..41 {
                for (stream, expected) in streams.iter_mut().zip(&mut starts) {
                    let (found, expected) = (stream.next().transpose().unwrap(), expected.next().transpose().unwrap());
                    assert_eq!((found.is_none(), &found), (round == 40, &expected));
                }
            }
        }
    }

    #[test]
    fn an_error_ends_a_stream_and_not_its_neighbours() {
        let decoders = Decoders::new(1);
        let broken = Error::new(ErrorKind::CorruptFile, "broken");
        let mut failing = decoders.attach(Box::new(numbers(0, 1).chain(std::iter::once(Err(broken)))));
        let mut healthy = decoders.attach(numbers(0, 3));
        assert!(failing.next().unwrap().is_ok());
        assert!(failing.next().unwrap().is_err());
        assert!(failing.next().is_none());
        assert_eq!(healthy.by_ref().flatten().count(), 3);
    }
}
