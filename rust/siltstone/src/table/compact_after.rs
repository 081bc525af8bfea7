//! The compaction that follows the commit of a writer's rows.
//!
//! Writers that open a bucket at the same time number their rows alike. A compaction that one of them makes of its own rows
//! before they are committed would put them over equal ones that others commit meanwhile, which is a conflict
//! (`commit::tied`): among several writers nearly each would be made for nothing, and level 0 would grow for good. So
//!
//! ```text
//! numbers of the bucket's files meet     several write at once: the writer leaves its compaction out     ─┐
//! a compaction met a conflict            it was given up, the rows are committed                         ─┤
//!                                                                                                         ▼
//! rows committed ── the turn (CompactionTurn) ── what is due in the table as it is now ── COMPACT
//!                   └ another writer has it: it is left to that one; but where readers wait for a compaction, or a bucket has
//!                     more runs than `num-sorted-run.stop-trigger`, the writer waits for its turn, as Java's waits for its own
//! ```
//!
//! What is committed has its place in the order of commits: whatever others add later stands behind it.

use std::{
    collections::BTreeSet,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use super::write::give_up_on_conflict;
use crate::{
    cancel,
    commit::{CommitOutcome, Committable, CompactionOutcome},
    compact::{CompactRequest, CompactionPlan, CompactionTurn, TaskResources, plan_compaction, run_task, side_by_side},
    env::system_clock,
    error::{Error, ErrorKind, Result},
    io::TableContext,
    maintenance::automatic::Committer,
    wire::{CommitMessage, CompactionTask},
};

/// How often it is tried when other commits get in its way.
const TRIES: usize = 3;

/// Between two tries to get the turn.
const PAUSE: Duration = Duration::from_millis(20);

/// Of the partitions that a commit has written to.
pub(super) struct CompactionAfter<'a> {
    ctx: &'a TableContext,
    partitions: BTreeSet<Vec<u8>>,
    resources: TaskResources,
}

/// Who may compact now.
enum Turn {
    /// The caller; without a lock after it has waited long enough.
    Ours(Option<CompactionTurn>),
    Others,
}

impl<'a> CompactionAfter<'a> {
    pub(super) fn of(ctx: &'a TableContext, messages: &[CommitMessage], resources: TaskResources) -> Self {
        let partitions = messages.iter().map(|message| message.bucket.partition.clone()).collect();
        Self { ctx, partitions, resources }
    }

    /// What becomes of a commit whose compaction was given up, or `put_off`. What fails here leaves the rows as they are: safe.
    pub(super) fn done(&self, outcome: CommitOutcome, put_off: bool) -> CommitOutcome {
        let conflict = match &outcome.compaction {
            CompactionOutcome::Dropped(conflict) => Some(conflict.to_string()),
            CompactionOutcome::Failed(_) => return outcome,
            CompactionOutcome::None | CompactionOutcome::Committed if !put_off => return outcome,
            CompactionOutcome::None | CompactionOutcome::Committed => None,
        };
        match (self.compacted(), conflict) {
            (Ok(Some(again)), conflict) => {
                let note = conflict.map(|conflict| {
                    format!("another commit got in the way of the compaction, which was done again: {conflict}")
                });
                let snapshots = outcome.snapshots.into_iter().chain(again.snapshots).collect();
                let notes = outcome.notes.into_iter().chain(note).collect();
                CommitOutcome { snapshots, notes, compaction: CompactionOutcome::Committed, ..outcome }
            }
            (Ok(None), None) | (Err(_), Some(_)) => outcome,
            (Ok(None), Some(_)) => CommitOutcome { compaction: CompactionOutcome::None, ..outcome },
            (Err(error), None) if error.kind() == ErrorKind::CommitConflict => {
                CommitOutcome { compaction: CompactionOutcome::Dropped(error), ..outcome }
            }
            (Err(error), None) => CommitOutcome { compaction: CompactionOutcome::Failed(error), ..outcome },
        }
    }

    /// `None`: it is left to another writer.
    fn compacted(&self) -> Result<Option<CommitOutcome>> {
        let mut overtaken = None;
        for _ in 0..TRIES {
            let Turn::Ours(_turn) = self.turn()? else { return Ok(None) };
            match self.compact_now() {
                Ok(CommitOutcome { compaction: CompactionOutcome::Dropped(error), .. }) => overtaken = Some(error),
                Ok(CommitOutcome { compaction: CompactionOutcome::Failed(error), .. }) => return Err(error),
                Ok(outcome) => return Ok(Some(outcome)),
                Err(error) if error.kind() == ErrorKind::CommitConflict => overtaken = Some(error),
                Err(error) => return Err(error),
            }
        }
        Err(overtaken.unwrap_or_else(|| Error::new(ErrorKind::Internal, "a compaction was not tried")))
    }

    fn turn(&self) -> Result<Turn> {
        let clock = system_clock();
        let mut waited = Duration::ZERO;
        loop {
            if let Some(turn) = CompactionTurn::try_take(self.ctx)? {
                return Ok(Turn::Ours(Some(turn)));
            }
            if waited.is_zero() && !self.is_urgent()? {
                return Ok(Turn::Others);
            }
            if waited >= self.ctx.options.upkeep_lock_timeout {
                return Ok(Turn::Ours(None));
            }
            cancel::check()?;
            clock.sleep(PAUSE);
            waited += PAUSE;
        }
    }

    /// Whether readers wait for it, or there are more runs than a writer may leave.
    fn is_urgent(&self) -> Result<bool> {
        let o = &self.ctx.options;
        Ok(o.needs_lookup() || self.plan()?.most_runs() > o.num_sorted_run_stop_trigger)
    }

    /// What is due.
    fn plan(&self) -> Result<CompactionPlan> {
        let partitions = Some(self.partitions.iter().cloned().collect());
        plan_compaction(self.ctx, &CompactRequest { partitions, ..CompactRequest::default() })
    }

    fn compact_now(&self) -> Result<CommitOutcome> {
        let plan = self.plan()?;
        // another user: the next identifier of the writer's belongs to its caller
        let commit = Committer::with_new_user(self.ctx);
        let failed = AtomicBool::new(false);
        let run = |task: &CompactionTask, threads: Option<usize>| {
            let resources = TaskResources { threads, ..self.resources.clone() };
            let ended = (!failed.load(Ordering::Relaxed)).then(|| run_task(self.ctx, task, &resources)).transpose();
            failed.fetch_or(ended.is_err(), Ordering::Relaxed);
            ended
        };
        let (mut messages, mut error) = (Vec::with_capacity(plan.tasks.len()), None);
        for ended in side_by_side(&plan.tasks, self.resources.threads, run) {
            match ended {
                Ok(message) => messages.extend(message),
                Err(first) => error = error.or(Some(first)),
            }
        }
        if let Some(error) = error {
            commit.abort(&messages)?;
            return Err(error);
        }
        let outcome = commit.commit(Committable { messages: messages.clone(), ..Committable::default() });
        give_up_on_conflict(&commit, &messages, outcome)
    }
}
