//! Following a table: the changes of one snapshot after another.
//!
//! ```text
//! start ─▶ [full: the state at a snapshot] ─▶ next = id + 1 ─▶ changes of next ─▶ next + 1 ─▶ … ─▶ wait, or end
//! ```
//!
//! Source: semantics f.7, c.1; `DataTableStreamScan`, `DeltaFollowUpScanner`, `ChangelogFollowUpScanner`,
//! `NextSnapshotFetcher`, `BoundedChecker`.

mod checkpoint;
mod line;
mod start;

use self::line::Passed;
pub use self::{
    checkpoint::{behind, check_checkpoint, check_progress, checkpoint, checkpoint_before, rolled_back_to},
    start::{Start, end_of},
};
use super::{
    ScanPlan, ScanRequest, VersionSelector,
    feature_check::check_options,
    incremental::{of_overwrite, of_snapshot},
    incremental_range::Source,
    overtaken::expired_meanwhile,
    plan::plan,
    prepared::Prepared,
    time_travel::Versions,
};
use crate::{
    env::ClockRef,
    error::{Error, ErrorKind, Result},
    io::{TableContext, check_readable, check_told_alike},
    options::ChangelogProducer,
    snapshot::{Behind, CommitKind, Consumer, Snapshot},
};

/// How to follow.
#[derive(Clone, Debug, Default)]
pub struct StreamScanOptions {
    /// Where to begin.
    pub start: Start,
    /// The last snapshot, its changes included; `None` = no end.
    pub end: Option<i64>,
}

/// What a stream does next.
#[derive(Debug)]
pub enum StreamStep {
    /// Rows of a snapshot: its changes, or its state when it is the first one of a full start.
    Rows {
        /// The snapshot.
        snapshot_id: i64,
        /// Its rows.
        plan: Box<ScanPlan>,
    },
    /// The next snapshot is not there yet.
    Wait,
    /// Nothing more will come: the end, or the bounding watermark, was reached.
    End,
}

/// A stream's place in the table.
#[derive(Debug)]
pub struct StreamScan {
    ctx: TableContext,
    prepared: Prepared,
    request: ScanRequest,
    clock: ClockRef,
    end: Option<i64>,
    /// A state that has to be read first.
    full: Option<i64>,
    /// Of that state only the files made at this time or later.
    files_since: Option<i64>,
    /// `None`: the one after the state that has to be read first.
    next: Option<i64>,
    /// The snapshot before `next`; `None` before the state that the stream begins with.
    passed: Option<Passed>,
}

impl StreamScan {
    /// A stream that begins as told. `request` gives columns and condition; its version is not looked at.
    pub fn new(ctx: &TableContext, request: ScanRequest, options: &StreamScanOptions, clock: ClockRef) -> Result<Self> {
        check_options(ctx)?;
        let mut request = ScanRequest { version: VersionSelector::Latest, incremental: None, ..request };
        request.options.row_kind = true;
        let prepared = Prepared::new(ctx, &request)?;
        let mut follow = Self {
            ctx: ctx.clone(),
            prepared,
            request,
            clock,
            end: options.end,
            full: None,
            files_since: None,
            next: None,
            passed: None,
        };
        follow.begin(&options.start).and_then(|()| follow.check_end()).map_err(|e| e.with("table", &ctx.name))?;
        Ok(follow)
    }

    /// The snapshot that is looked at next; `None` before the state that the stream begins with.
    pub fn next_snapshot(&self) -> Option<i64> {
        self.next
    }

    /// The first snapshot that is still needed: the state to begin with, or the next one.
    pub fn first_snapshot(&self) -> Option<i64> {
        self.full.or(self.next)
    }

    /// Whether a state is read first.
    pub fn begins_with_state(&self) -> bool {
        self.full.is_some()
    }

    /// Goes on where a consumer has come to.
    ///
    /// # Errors
    /// `SnapshotExpired`; `SnapshotNotFound` when the table was rolled back since to a snapshot before.
    pub fn restore(&mut self, consumer: &Consumer) -> Result<()> {
        (self.full, self.files_since, self.passed) = (None, None, None);
        let next = consumer.progress.next_snapshot;
        self.next = Some(next);
        self.passed = Some(if let Some(behind) = &consumer.progress.behind {
            Passed::of(next, behind)
        } else {
            let versions = Versions::new(&self.ctx);
            let known = versions.snapshots.removals().read()?.count;
            Passed::before(&versions, next, known).map_err(|e| e.with("table", &self.ctx.name))?
        });
        // after that look: what was taken back before it is told by the consumer
        check_progress(&self.ctx, consumer)
    }

    /// What a consumer of the stream writes of what it has behind it.
    pub fn behind(&self) -> Option<Behind> {
        self.passed.as_ref().map(Passed::behind)
    }

    /// What was read last, or lies before what is read first, is the table's still, or has expired.
    ///
    /// # Errors
    /// `SnapshotNotFound`: a rollback has taken it back.
    pub fn check_follows(&self) -> Result<()> {
        let Some(passed) = &self.passed else { return Ok(()) };
        line::check_follows(&Versions::new(&self.ctx), passed).map_err(|e| e.with("table", &self.ctx.name))
    }

    /// A stream may begin right behind its end, with nothing to read, but not later.
    fn check_end(&self) -> Result<()> {
        let last_start = |end: i64| if self.full.is_some() { end } else { end.saturating_add(1) };
        match (self.first_snapshot(), self.end) {
            (Some(first), Some(end)) if first > last_start(end) => {
                let message = format!("the end, snapshot {end}, is before the start, snapshot {first}");
                Err(Error::new(ErrorKind::InvalidArgument, message).with("snapshot", end))
            }
            _ => Ok(()),
        }
    }

    /// Ends with what is the newest version now, after the choice of where to begin.
    ///
    /// # Errors
    /// `InvalidArgument` for a beginning that the table has not come to; `SnapshotNotFound` when it was rolled back meanwhile.
    pub fn end_with_newest(&mut self) -> Result<()> {
        let newest = Versions::new(&self.ctx).snapshots.latest_id().map_err(|e| e.with("table", &self.ctx.name))?;
        self.end = Some(newest.unwrap_or(0));
        self.check_follows()?;
        if let Some(passed) = &self.passed {
            line::check_not_ahead(passed, newest).map_err(|e| e.with("table", &self.ctx.name))?;
        }
        // a state was there when it was chosen
        if self.full.is_some() { Ok(()) } else { self.check_end().map_err(|e| e.with("table", &self.ctx.name)) }
    }

    /// The next rows. Snapshots without changes are passed over.
    pub fn step(&mut self) -> Result<StreamStep> {
        self.advance().map_err(|e| e.with("table", &self.ctx.name))
    }

    fn advance(&mut self) -> Result<StreamStep> {
        let versions = Versions::new(&self.ctx);
        if let Some(id) = self.full.take() {
            return self.full_state(&versions, id);
        }
        loop {
            let Some(id) = self.next else { return Ok(StreamStep::Wait) };
            if self.end.is_some_and(|end| id > end) {
                return Ok(StreamStep::End);
            }
            let found = Self::snapshot(&versions, id)?;
            if let Some(passed) = &self.passed {
                line::check_follows(&versions, passed)?;
            }
            let Some((snapshot, known)) = found else {
                Self::check_comes(&versions, id)?;
                return Ok(StreamStep::Wait);
            };
            if self.is_beyond_watermark(&snapshot) {
                return Ok(StreamStep::End);
            }
            if self.is_too_young(&snapshot) {
                return Ok(StreamStep::Wait);
            }
            let plan = self.changes(&snapshot).map_err(|e| expired_meanwhile(&self.ctx, &snapshot, e))?;
            self.pass(&snapshot, known);
            if let Some(plan) = plan.filter(|plan| !plan.splits.is_empty()) {
                return Ok(StreamStep::Rows { snapshot_id: id, plan: Box::new(plan) });
            }
        }
    }

    /// A snapshot that is none yet may still come, unless there are later ones: a rollback or fast-forward died that took it back, and another
    /// program, which knows nothing of that, has committed behind it.
    fn check_comes(versions: &Versions, id: i64) -> Result<()> {
        let latest = versions.snapshots.latest_id()?;
        let Some(later) = latest.filter(|latest| *latest > id) else { return Ok(()) };
        if Self::snapshot(versions, id)?.is_some() {
            return Ok(());
        }
        let text = format!(
            "snapshot {id} was taken back by a rollback or fast-forward, and snapshot {later} of another program is based on it"
        );
        Err(Error::new(ErrorKind::CorruptFile, text).with("snapshot", id).hint(format!(
            "begin again with the rows of snapshot {later}: start=\"full\"; reset the consumer, if there is one"
        )))
    }

    fn pass(&mut self, snapshot: &Snapshot, removals: u64) {
        self.next = Some(snapshot.id + 1);
        self.passed = Some(Passed { id: snapshot.id, snapshot: Some(snapshot.into()), removals, is_read: true });
    }

    /// The state to begin with, without what later changelogs bring (c.1).
    fn full_state(&mut self, versions: &Versions, id: i64) -> Result<StreamStep> {
        let before = versions.snapshots.removals().read()?.count;
        let snapshot = versions.by_id(id)?;
        let known = line::when_a_version(versions, &snapshot)?;
        self.pass(&snapshot, known.unwrap_or(before));
        let options = &self.ctx.options;
        let has_key = self.ctx.schema.has_primary_key();
        let request = ScanRequest {
            version: VersionSelector::Snapshot(id),
            // as the changes that follow
            todays_schema: true,
            created_since: self.files_since.take(),
            min_level: match options.changelog_producer {
                ChangelogProducer::Lookup if has_key => Some(1),
                ChangelogProducer::FullCompaction if has_key => Some(options.num_levels.saturating_sub(1)),
                _ => None,
            },
            ..self.request.clone()
        };
        let mut planned = plan(&self.ctx, &request)?;
        let files = planned.splits.iter().flat_map(|split| &split.files);
        check_readable(&self.ctx, &self.prepared.columns(&self.ctx), files)?;
        planned.snapshot = Some(snapshot.clone());
        if self.is_beyond_watermark(&snapshot) {
            self.end = Some(id);
        }
        Ok(StreamStep::Rows { snapshot_id: id, plan: Box::new(planned) })
    }

    /// A snapshot, and how many removal records there were when it was a version.
    fn snapshot(versions: &Versions, id: i64) -> Result<Option<(Snapshot, u64)>> {
        match versions.with_changelog(id) {
            // what is left of a rollback or fast-forward that died is none: the next commit or upkeep clears it away
            Ok(snapshot) => Ok(line::when_a_version(versions, &snapshot)?.map(|removals| (snapshot, removals))),
            Err(e) if e.kind() == ErrorKind::SnapshotNotFound => {
                let latest = versions.snapshots.latest_id()?.unwrap_or(0);
                if id <= latest.saturating_add(1) {
                    let gap = if id < latest { versions.snapshots.gap_behind(id.saturating_sub(1))? } else { None };
                    return gap.map_or(Ok(None), Err);
                }
                let message = format!("the next snapshot would be {id}, but the latest is {latest}");
                Err(Error::new(ErrorKind::SnapshotNotFound, message)
                    .with("snapshot", id)
                    .hint("the table was rolled back or made anew: start again from a snapshot that exists"))
            }
            Err(e) if e.kind() == ErrorKind::SnapshotExpired => {
                let first = earliest(versions)?.unwrap_or(id);
                Err(expired(id, first))
            }
            Err(e) => Err(e),
        }
    }

    fn is_beyond_watermark(&self, snapshot: &Snapshot) -> bool {
        let bound = self.ctx.options.scan_bounded_watermark;
        bound.is_some_and(|bound| snapshot.watermark.is_some_and(|watermark| watermark > bound))
    }

    fn is_too_young(&self, snapshot: &Snapshot) -> bool {
        let delay = self.ctx.options.streaming_read_snapshot_delay;
        let delay = delay.map(|d| i64::try_from(d.as_millis()).unwrap_or(i64::MAX));
        delay.is_some_and(|delay| snapshot.time_millis > self.clock.now_millis().saturating_sub(delay))
    }

    /// `None`: the snapshot brings nothing.
    fn changes(&self, snapshot: &Snapshot) -> Result<Option<ScanPlan>> {
        check_told_alike(&self.ctx, snapshot.schema_id)?;
        let options = &self.ctx.options;
        let has_key = self.ctx.schema.has_primary_key();
        let overwrites =
            if has_key { options.streaming_read_overwrite } else { options.streaming_read_append_overwrite };
        let producer = if has_key { options.changelog_producer } else { ChangelogProducer::None };
        let splits = if snapshot.commit_kind == CommitKind::Overwrite && overwrites {
            of_overwrite(&self.ctx, &self.prepared, snapshot)?
        } else {
            let list = match producer {
                ChangelogProducer::None => Source::Delta.list_of(snapshot),
                _ => snapshot.changelog_list(),
            };
            let Some(list) = list else { return Ok(None) };
            of_snapshot(&self.ctx, &self.prepared, snapshot, list)?
        };
        let files_considered = splits.iter().map(|s| s.files.len() + s.before_files.len()).sum();
        Ok(Some(ScanPlan {
            ctx: self.ctx.clone(),
            snapshot: Some(snapshot.clone()),
            splits,
            read: self.prepared.read.clone(),
            files_considered,
        }))
    }
}

/// The first snapshot whose changes can be read, long-lived changelogs included; `None`: the table is empty.
pub fn first_readable(ctx: &TableContext) -> Result<Option<i64>> {
    earliest(&Versions::new(ctx))
}

fn earliest(versions: &Versions) -> Result<Option<i64>> {
    let snapshot = versions.snapshots.earliest_id()?;
    Ok(match versions.changelogs.earliest_id()? {
        Some(changelog) => Some(snapshot.map_or(changelog, |id| id.min(changelog))),
        None => snapshot,
    })
}

fn expired(id: i64, first: i64) -> Error {
    Error::new(ErrorKind::SnapshotExpired, format!("snapshot {id} has expired, its changes are gone"))
        .with("snapshot", id)
        .with("earliest", first)
        .hint(format!(
            "the nearest that is left is {first}; read with a consumer to keep snapshots until they are read"
        ))
}
