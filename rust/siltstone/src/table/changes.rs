//! Following a table, with or without a consumer that remembers how far it came.

use std::sync::Arc;

use arrow_schema::SchemaRef;

use super::{Planned, Table, replaced::explained};
use crate::{
    Error, ErrorKind, Result,
    commit::replaced,
    env::system_clock,
    io::BatchStream,
    scan::{ScanRequest, Start, StreamScan, StreamScanOptions, StreamStep, end_of, overtaken::TRIES},
    snapshot::ConsumerProgress,
};

/// A place in the table's history, as a caller names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StreamPosition {
    /// Snapshot id.
    Snapshot(i64),
    /// A tag.
    Tag(String),
    /// Epoch milliseconds.
    Time(i64),
    /// A text: `full` as a start, else a tag's name, else the time that it says, else a snapshot id.
    Text {
        /// As it was given.
        text: String,
        /// Epoch milliseconds, when the text is a time.
        millis: Option<i64>,
    },
    /// The latest state first, then changes; only as a start.
    Full,
}

/// How to follow.
#[derive(Clone, Debug, Default)]
pub struct ChangesArgs {
    /// Columns, condition, limits of reading.
    pub scan: ScanRequest,
    /// Where to begin, when the consumer does not know; `None`: the `scan.*` options, else the earliest snapshot.
    pub start: Option<StreamPosition>,
    /// Where to end, inclusive. `None`: the latest snapshot, or never when following.
    pub end: Option<StreamPosition>,
    /// Id of the consumer; `None`: option `consumer-id`.
    pub consumer: Option<String>,
    /// Wait for snapshots to come.
    pub follow: bool,
}

/// What a stream has for its caller.
pub enum Progress {
    /// Rows of a snapshot. When they have been handed out, [`ChangeStream::done`] remembers that.
    Rows(i64, SchemaRef, BatchStream),
    /// Nothing yet: ask again after this many milliseconds.
    Wait(u64),
    /// The end.
    End,
}

/// A stream of changes.
#[derive(Debug)]
pub struct ChangeStream {
    table: Arc<Table>,
    request: ScanRequest,
    follow: StreamScan,
    waits: bool,
    consumer: Option<String>,
    /// How to begin again, until something was handed out: where what is there is asked for, and no version is named.
    anew: Option<Box<ChangesArgs>>,
}

impl Table {
    /// What a text means as a place in the history.
    fn position(&self, text: &str, millis: Option<i64>) -> Result<Start> {
        if self.context().tags().exists(text)? {
            return Ok(Start::Tag(text.to_owned()));
        }
        let id = || text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten();
        Ok(match millis {
            Some(millis) => Start::Timestamp(millis),
            None => id().map_or_else(|| Start::Tag(text.to_owned()), Start::Snapshot),
        })
    }

    fn start_of(&self, place: &StreamPosition) -> Result<Start> {
        Ok(match place {
            StreamPosition::Full => Start::Full,
            StreamPosition::Snapshot(id) => Start::Snapshot(*id),
            StreamPosition::Tag(name) => Start::Tag(name.clone()),
            StreamPosition::Time(millis) => Start::Timestamp(*millis),
            StreamPosition::Text { text, millis } => self.position(text, *millis)?,
        })
    }
}

impl ChangeStream {
    /// Begins, and registers the consumer so that what it has not read is kept.
    pub fn new(table: Arc<Table>, args: ChangesArgs) -> Result<Self> {
        let begun = Self::begin(Arc::clone(&table), args);
        explained(table.context(), begun)
    }

    fn begin(table: Arc<Table>, mut args: ChangesArgs) -> Result<Self> {
        if matches!(&args.start, Some(StreamPosition::Text { text, .. }) if text == "full") {
            args.start = Some(StreamPosition::Full);
        }
        let ctx = table.context();
        let consumer = args.consumer.clone().or_else(|| ctx.options.consumer_id.clone());
        let end = match &args.end {
            Some(place) => end_of(ctx, &table.start_of(place)?)?,
            None => None,
        };
        let known = match &consumer {
            Some(id) if !ctx.options.consumer_ignore_progress => table.consumers().get(id)?,
            _ => None,
        };
        // a consumer's progress counts, wherever the caller would begin
        let start = match &args.start {
            Some(place) if known.is_none() => table.start_of(place)?,
            _ => Start::Options,
        };
        let begin = |start| StreamScan::new(ctx, args.scan.clone(), &StreamScanOptions { start, end }, system_clock());
        let mut follow = begin(start)?;
        // nobody knows how much of the state was handed out: it is read again, as it is now
        let known = match known {
            Some(known) if known.progress.reads_state => {
                if !follow.begins_with_state() {
                    follow = begin(Start::Full)?;
                }
                None
            }
            known => known,
        };
        if args.end.is_none() && !args.follow {
            let ended = follow.end_with_newest();
            // a table that was renamed away has no newest version
            ended.or_else(|error| table.check_not_replaced().and(Err(error)))?;
        }
        match (&consumer, known) {
            (_, Some(known)) => follow.restore(&known)?,
            (Some(id), None) => {
                if let Some(next_snapshot) = follow.first_snapshot() {
                    let reads_state = follow.begins_with_state();
                    let first = ConsumerProgress { next_snapshot, reads_state, behind: follow.behind() };
                    table.begin_consumer(id, &first, || follow.check_follows())?;
                }
            }
            (None, None) => {}
        }
        let is_any = matches!(args.start, None | Some(StreamPosition::Full)) && args.end.is_none() && !args.follow;
        let anew = (is_any && consumer.is_none()).then(|| Box::new(args.clone()));
        Ok(Self { request: args.scan, follow, waits: args.follow, consumer, anew, table })
    }

    /// What comes next.
    pub fn progress(&mut self) -> Result<Progress> {
        let mut tries = 1;
        loop {
            let step = self.go_on();
            match (&step, self.anew.take()) {
                (Err(error), Some(args)) if tries < TRIES && has_gone(error) => {
                    tracing::info!(%error, "what the changes began with has gone: begins again");
                    *self = Self::new(Arc::clone(&self.table), *args)?;
                    tries += 1;
                }
                _ => return step,
            }
        }
    }

    fn go_on(&mut self) -> Result<Progress> {
        let interval = self.table.context().options.continuous_discovery_interval;
        let step = self.follow.step();
        // the ids of a table that was made in its place begin anew, and mean other snapshots
        if let Some(error) = replaced(self.table.context())? {
            return Err(match step {
                Err(cause) => error.caused_by(cause),
                Ok(_) => error,
            });
        }
        Ok(match step? {
            StreamStep::Rows { snapshot_id, plan } => {
                let planned = Planned::new(*plan);
                let schema = planned.schema()?;
                Progress::Rows(snapshot_id, schema, self.table.read(&self.request, &planned)?)
            }
            StreamStep::Wait if self.waits => Progress::Wait(u64::try_from(interval.as_millis()).unwrap_or(u64::MAX)),
            StreamStep::Wait | StreamStep::End => Progress::End,
        })
    }

    /// The rows of all snapshots so far have been handed out: the consumer goes on after them.
    pub fn done(&self) -> Result<()> {
        match (&self.consumer, self.follow.next_snapshot()) {
            (Some(id), Some(next)) => {
                let progress = ConsumerProgress::changes_of(next, self.follow.behind());
                self.table.remember(id, &progress, || self.follow.check_follows())
            }
            _ => Ok(()),
        }
    }
}

fn has_gone(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::SnapshotExpired | ErrorKind::SnapshotNotFound)
}
