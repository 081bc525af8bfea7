//! Several splits, or parts of large files of few splits ([`super::divide`]), at a time.
//!
//! Workers take these tasks in order and put batches into a queue per task; the consumer empties the queues in their order.
//! The task it waits for always has a worker, so full queues of later ones cannot block it. Queues are short, and what waits in
//! each is bounded by bytes ([`super::room`]), unless the consumer holds all rows in the end anyway: then no worker waits for it.
//!
//! A worker only decodes the task that the consumer waits for: the consumer does the rest, deletions and filters.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use arrow_array::RecordBatch;
use crossbeam_channel::{Receiver, Sender, bounded, unbounded};

use super::{
    divide::{Task, tasks},
    limited,
    piece::{Piece, PieceStream, complete},
    read_split,
    room::Room,
    split::pieces_of_task,
};
use crate::{
    cancel::{self, Cancellation},
    error::{Error, ErrorKind, Result},
    io::{BatchStream, TableContext, batch_bytes},
    limits,
    scan::ReadRequest,
    threads::{OwnThreads, not_started},
    wire::Split,
};

/// Batches that wait in the queue of one split.
const QUEUE: usize = 2;

/// The rows of all splits, in split order, read by `threads` threads ahead of the consumer; what is read ahead is
/// bounded unless the request is for the whole. Dropping the stream stops the threads and waits for them: no file stays
/// open.
pub fn read_splits(ctx: &TableContext, splits: &[Split], request: &ReadRequest, threads: usize) -> Result<BatchStream> {
    let tasks = tasks(ctx, splits, request, threads);
    let at_once = threads.min(tasks.len()).max(1);
    // threads that no task keeps busy decode beside those that read
    let request = &ReadRequest { decoders: (threads / at_once).saturating_sub(1), ..request.clone() };
    let rows: BatchStream =
        if at_once == 1 { in_turn(ctx, tasks, request) } else { Box::new(Parallel::new(ctx, tasks, request, at_once)) };
    Ok(limited(Box::new(rows.map(|batch| batch.and_then(room_for_more))), request.options.limit))
}

/// A batch that is given out may be kept, with all others: while there is no room for one more like it, there is an error.
fn room_for_more(batch: RecordBatch) -> Result<RecordBatch> {
    limits::ask_for_part(batch_bytes(&batch), "the rows that were read, and more of them,")?;
    Ok(batch)
}

fn in_turn(ctx: &TableContext, tasks: Vec<Task>, request: &ReadRequest) -> BatchStream {
    let (ctx, request) = (ctx.clone(), request.clone());
    Box::new(tasks.into_iter().flat_map(move |task| opened(&ctx, &task, &request)))
}

fn opened(ctx: &TableContext, task: &Task, request: &ReadRequest) -> BatchStream {
    let rows = match task.rows {
        None => read_split(ctx, &task.split, request),
        Some(_) => pieces_of_task(ctx, task, request).map(|pieces| -> BatchStream {
            let batches = pieces.map(|piece| piece?.finish());
            Box::new(batches.filter(|batch| !matches!(batch, Ok(b) if b.num_rows() == 0)))
        }),
    };
    rows.unwrap_or_else(|e| Box::new(std::iter::once(Err(e))))
}

/// What a worker says about its task.
enum Message {
    /// Rows, and how many bytes of room they take.
    Rows(Result<Piece>, usize),
    End,
}

struct Work {
    ctx: TableContext,
    tasks: Vec<Task>,
    request: ReadRequest,
    queues: Vec<Sender<Message>>,
    /// The task that the consumer waits for.
    awaited: AtomicUsize,
    /// The task that no worker has begun.
    next: AtomicUsize,
    /// `None`: the consumer holds all rows in the end.
    room: Option<Room>,
    token: Cancellation,
}

/// Starts its threads with the first batch asked for.
struct Parallel {
    waiting: Option<(Arc<Work>, usize)>,
    work: Arc<Work>,
    queues: std::vec::IntoIter<Receiver<Message>>,
    current: Option<Receiver<Message>>,
    threads: OwnThreads,
}

impl Parallel {
    fn new(ctx: &TableContext, tasks: Vec<Task>, request: &ReadRequest, threads: usize) -> Self {
        let room = |task: &Task| task.queue(request.options.batch_rows()).unwrap_or(QUEUE).max(1);
        let queue = |task: &Task| if request.whole { unbounded() } else { bounded(room(task)) };
        let (senders, receivers): (Vec<_>, Vec<_>) = tasks.iter().map(queue).unzip();
        let room = (!request.whole).then(|| Room::new(tasks.len(), threads, request.options.memory_limit));
        let work = Arc::new(Work {
            ctx: ctx.clone(),
            tasks,
            request: request.clone(),
            queues: senders,
            awaited: AtomicUsize::new(0),
            next: AtomicUsize::new(0),
            room,
            token: cancel::current().child(),
        });
        let waiting = Some((Arc::clone(&work), threads));
        Self { waiting, work, queues: receivers.into_iter(), current: None, threads: OwnThreads::new() }
    }

    fn start(&mut self) -> Result<()> {
        let Some((work, threads)) = self.waiting.take() else {
            return Ok(());
        };
        for number in 0..threads {
            let work = Arc::clone(&work);
            let run = move || work.token.run(|| work.run());
            match thread::Builder::new().name(format!("siltstone-read-{number}")).spawn(run) {
                Ok(handle) => self.threads.add(handle),
                Err(e) if number == 0 => {
                    return Err(not_started("read").caused_by(e));
                }
                Err(_) => {}
            }
        }
        Ok(())
    }
}

impl Work {
    fn run(&self) {
        while !self.token.is_cancelled() {
            let at = self.next.fetch_add(1, Ordering::Relaxed);
            let (Some(task), Some(queue)) = (self.tasks.get(at), self.queues.get(at)) else {
                return;
            };
            let read = catch_unwind(AssertUnwindSafe(|| self.read(at, task, queue)));
            if read.is_err() {
                let panicked =
                    Error::new(ErrorKind::Internal, "a reading thread failed").with("bucket", task.split.bucket.bucket);
                let _ = queue.send(Message::Rows(Err(panicked), 0));
            }
            if queue.send(Message::End).is_err() {
                return;
            }
        }
    }

    fn read(&self, at: usize, task: &Task, queue: &Sender<Message>) {
        for piece in self.pieces(task) {
            let others_wait = self.awaited.load(Ordering::Relaxed) != at;
            let piece =
                piece.and_then(|piece| if others_wait { piece.finish().map(Piece::Complete) } else { Ok(piece) });
            let failed = piece.is_err();
            let bytes = self.wait_for_room(at, &piece);
            if self.token.is_cancelled() || queue.send(Message::Rows(piece, bytes)).is_err() || failed {
                return;
            }
        }
    }

    fn wait_for_room(&self, at: usize, piece: &Result<Piece>) -> usize {
        let (Some(room), Ok(piece)) = (&self.room, piece) else { return 0 };
        let bytes = piece.bytes();
        room.wait(at, bytes, &self.token);
        bytes
    }

    /// Rows can be counted in finished batches only: a limited split comes in these.
    fn pieces(&self, task: &Task) -> PieceStream {
        let pieces = match self.request.options.limit {
            Some(_) => read_split(&self.ctx, &task.split, &self.request).map(complete),
            None => pieces_of_task(&self.ctx, task, &self.request),
        };
        pieces.unwrap_or_else(|e| Box::new(std::iter::once(Err(e))))
    }
}

impl Iterator for Parallel {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Err(e) = self.start() {
            return Some(Err(e));
        }
        loop {
            let queue = match self.current.take() {
                Some(queue) => queue,
                None => self.queues.next()?,
            };
            match cancel::wait(&queue) {
                Ok(Some(Message::End)) => {
                    self.work.awaited.fetch_add(1, Ordering::Relaxed);
                }
                Ok(Some(Message::Rows(piece, bytes))) => {
                    self.current = Some(queue);
                    if let Some(room) = &self.work.room {
                        room.take(self.work.awaited.load(Ordering::Relaxed), bytes);
                    }
                    match piece.and_then(Piece::finish) {
                        Ok(batch) if batch.num_rows() == 0 => {}
                        result => return Some(result),
                    }
                }
                Ok(None) => return Some(Err(Error::new(ErrorKind::Internal, "a reading thread ended early"))),
                Err(e) => return Some(Err(e)),
            }
        }
    }
}

impl Drop for Parallel {
    fn drop(&mut self) {
        self.work.token.cancel();
        // threads that wait for room in a queue learn that nobody reads
        self.current = None;
        self.queues = Vec::new().into_iter();
        self.threads.join();
    }
}
