//! Working ahead: streams that compute on other threads, a bounded number of batches before their reader.
//!
//! Threads belong to one merge and end with it: dropping the stream stops them and waits for them, so that the files they
//! read are closed. Nothing outlives a fork.

use std::{
    sync::{Arc, Mutex, PoisonError},
    thread,
};

use arrow_array::RecordBatch;
use crossbeam_channel::{Receiver, Sender, TryRecvError, bounded, never, unbounded};

use crate::{
    Error, ErrorKind, Result,
    cancel::{self, Cancellation},
    io::BatchStream,
    threads::OwnThreads,
};

/// Runs a stream on a thread of its own, at most `depth` batches ahead of the reader. Without a thread to be had
/// the stream runs on the reader's.
pub fn read_ahead(stream: BatchStream, depth: usize) -> BatchStream {
    let (sender, receiver) = bounded(depth.max(1));
    // the stream travels through a channel, so that it is still ours when no thread can be started
    let (hand, taken) = bounded::<BatchStream>(1);
    let spare = taken.clone();
    let token = cancel::current().child();
    let inside = token.clone();
    let worker = thread::Builder::new().name("siltstone-ahead".to_owned()).spawn(move || {
        let Ok(stream) = taken.recv() else { return };
        inside.run(|| {
            for item in stream {
                let stop = item.is_err();
                if sender.send(Some(item)).is_err() || stop {
                    return;
                }
            }
            let _ = sender.send(None);
        });
    });
    if hand.send(stream).is_err() {
        return Box::new(std::iter::once(Err(stopped())));
    }
    match worker {
        Ok(worker) => {
            let mut threads = OwnThreads::new();
            threads.add(worker);
            Box::new(Ahead { receiver, done: false, token, threads })
        }
        Err(_) => spare.try_recv().unwrap_or_else(|_| Box::new(std::iter::once(Err(stopped())))),
    }
}

/// The reader's end of [`read_ahead`]. A thread that dies without saying so is an error, not an end.
struct Ahead {
    receiver: Receiver<Option<Result<RecordBatch>>>,
    done: bool,
    token: Cancellation,
    threads: OwnThreads,
}

impl Drop for Ahead {
    fn drop(&mut self) {
        // once the stream has ended nothing of it is to be stopped, and files that it has begun elsewhere, those of a changelog,
        // are finished by others
        if !self.done {
            self.token.cancel();
        }
        // a thread that waits for room in the queue learns that nobody reads
        self.receiver = never();
        self.threads.join();
    }
}

impl Iterator for Ahead {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let item = match cancel::wait(&self.receiver) {
            Ok(item) => item.unwrap_or_else(|| Some(Err(stopped()))),
            Err(error) => Some(Err(error)),
        };
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
    threads: Arc<DecoderThreads>,
}

/// Stopped and waited for when the last stream that they decode is dropped.
struct DecoderThreads {
    token: Cancellation,
    threads: Mutex<OwnThreads>,
}

impl Drop for DecoderThreads {
    fn drop(&mut self) {
        self.token.cancel();
        self.threads.get_mut().unwrap_or_else(PoisonError::into_inner).join();
    }
}

impl Decoders {
    /// Threads for a merge; with 0 threads streams stay as they are.
    pub(crate) fn new(threads: usize) -> Self {
        let token = cancel::current().child();
        let mut own = OwnThreads::new();
        let (jobs, queue) = unbounded::<Job>();
        (0..threads).for_each(|_| start_decoder(queue.clone(), token.clone(), &mut own));
        let jobs = (own.count() > 0).then_some((jobs, queue));
        Self { jobs, threads: Arc::new(DecoderThreads { token, threads: Mutex::new(own) }) }
    }

    /// The stream, decoded ahead from now on.
    pub(crate) fn attach(&self, stream: BatchStream) -> BatchStream {
        let Some((jobs, queue)) = &self.jobs else { return stream };
        let (reply, decoded) = bounded(1);
        match jobs.send(Job { stream, reply }) {
            Ok(()) => Box::new(DecodedAhead {
                jobs: jobs.clone(),
                queue: queue.clone(),
                decoded: Some(decoded),
                _threads: Arc::clone(&self.threads),
            }),
            Err(unsent) => unsent.into_inner().stream,
        }
    }
}

/// The thread ends when all streams are gone, with their ends for sending.
fn start_decoder(queue: Receiver<Job>, token: Cancellation, own: &mut OwnThreads) {
    let run = move || token.run(|| queue.into_iter().for_each(Job::run));
    if let Ok(handle) = thread::Builder::new().name("siltstone-decode".to_owned()).spawn(run) {
        own.add(handle);
    }
}

/// The reader's end of [`Decoders::attach`]: waits for one batch and has the next one decoded meanwhile.
struct DecodedAhead {
    jobs: Sender<Job>,
    queue: Receiver<Job>,
    decoded: Option<Receiver<Decoded>>,
    /// dropped behind the others: threads end when nothing can be sent to them
    _threads: Arc<DecoderThreads>,
}

impl DecodedAhead {
    /// The decoded batch; as long as it is not there, whatever waits for a decoder is decoded here.
    fn wait(&self, decoded: &Receiver<Decoded>) -> Result<Option<Decoded>> {
        loop {
            match decoded.try_recv() {
                Ok(done) => return Ok(Some(done)),
                Err(TryRecvError::Disconnected) => return Ok(None),
                Err(TryRecvError::Empty) => {}
            }
            match self.queue.try_recv() {
                Ok(job) => job.run(),
                Err(_) => return cancel::wait(decoded),
            }
        }
    }
}

impl Iterator for DecodedAhead {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let decoded = self.decoded.take()?;
        let (stream, item) = match self.wait(&decoded) {
            Ok(Some(done)) => done,
            Ok(None) => return Some(Err(stopped())),
            Err(error) => return Some(Err(error)),
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

    /// What a stream has begun on its thread: the file of a changelog, whose encoder has a thread under the same token.
    #[test]
    fn what_a_stream_has_begun_goes_on_after_its_end_and_stops_when_nobody_reads_on() {
        for whole in [true, false] {
            let begun = Arc::new(std::sync::Mutex::new(None));
            let inside = Arc::clone(&begun);
            let stream = numbers(0, 40).inspect(move |_| *inside.lock().unwrap() = Some(cancel::current().child()));
            let mut ahead = read_ahead(Box::new(stream), 2);
            let read = ahead.by_ref().take(if whole { 100 } else { 3 }).count();
            drop(ahead);
            let token = begun.lock().unwrap().take().unwrap();
            assert_eq!((read, token.is_cancelled()), if whole { (40, false) } else { (3, true) });
        }
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
