//! Carrying out tasks of compaction where they arrived.

use std::sync::{Mutex, PoisonError};

use super::{Table, place::Place, replaced::explained};
use crate::{
    Error, ErrorKind, Result, cancel,
    commit::sync_contents,
    compact::{TaskResources, run_task, side_by_side},
    io::TableContext,
    maintenance::automatic::Committer,
    rebucket::move_waiting,
    wire::{CommitMessage, CompactionTask, TaskUnit, bundled},
};

/// Carries out one task of [`Table::plan_compaction`], wherever it arrived, and gives the commit message that travels
/// back, or all of rows that get buckets in one; `threads` of `None` uses all cores.
pub fn run_compaction_task(token: &[u8], threads: Option<usize>) -> Result<Vec<u8>> {
    let mut ended = run_compaction_tasks(&[token], threads)?;
    ended.pop().unwrap_or_else(|| Err(Error::new(ErrorKind::Internal, "a task came to nothing")))
}

/// As [`run_compaction_task`], of several, small ones side by side: what each came to, in their order.
///
/// # Errors
/// The first one but `CommitConflict`, which is a task's own: the others are of use without it. Nothing is left of any then.
pub fn run_compaction_tasks(tokens: &[&[u8]], threads: Option<usize>) -> Result<Vec<Result<Vec<u8>>>> {
    let tasks = tokens.iter().map(|token| CompactionTask::from_bytes(token)).collect::<Result<Vec<_>>>()?;
    let tables = Tables::open(&tasks)?;
    let failed: Mutex<Option<Error>> = Mutex::new(None);
    let first_error = || failed.lock().unwrap_or_else(PoisonError::into_inner);
    let run = |task: &CompactionTask, threads: Option<usize>| {
        if first_error().is_some() {
            return Ok(Vec::new());
        }
        match tables.of(task).and_then(|ctx| explained(ctx, run(ctx, task, threads))) {
            Err(error) if error.kind() != ErrorKind::CommitConflict => {
                first_error().get_or_insert(error);
                Ok(Vec::new())
            }
            ended => ended,
        }
    };
    let ended = side_by_side(&tasks, threads, run);
    let sealed = first_error().take().map_or_else(|| tables.sealed(&tasks, &ended), Err);
    // whoever was interrupted during the last of it gets no messages
    match sealed.and_then(|sealed| cancel::check_now().map(|()| sealed)) {
        Ok(sealed) => Ok(ended.into_iter().zip(sealed).map(|(end, bytes)| end.map(|_| bytes)).collect()),
        Err(error) => {
            tables.abort(&tasks, ended);
            Err(error)
        }
    }
}

fn run(ctx: &TableContext, task: &CompactionTask, threads: Option<usize>) -> Result<Vec<CommitMessage>> {
    let resources = TaskResources { threads, ..TaskResources::default() };
    match task.unit {
        TaskUnit::Postponed { .. } => move_waiting(ctx, task, &resources),
        _ => run_task(ctx, task, &resources).map(|message| vec![message]),
    }
}

/// What a task came to, before its messages are sealed.
type End = Result<Vec<CommitMessage>>;

/// The tables of some tasks, with the options that each task has.
struct Tables<'a>(Vec<(&'a CompactionTask, Table)>);

impl<'a> Tables<'a> {
    fn open(tasks: &'a [CompactionTask]) -> Result<Self> {
        let mut tables = Self(Vec::new());
        for task in tasks {
            if tables.find(task).is_none() {
                let place = Place::of(&task.table.location, task.options.clone())?;
                let (branch, schema) = (&task.table.branch, Some(task.table.schema_id));
                tables.0.push((task, Table::open_with(place.fs, &place.path, branch, schema, place.options)?));
            }
        }
        Ok(tables)
    }

    fn find(&self, task: &CompactionTask) -> Option<&Table> {
        let same = |first: &CompactionTask| first.table == task.table && first.options == task.options;
        self.0.iter().find(|(first, _)| same(first)).map(|(_, table)| table)
    }

    fn of(&self, task: &CompactionTask) -> Result<&TableContext> {
        let table =
            self.find(task).ok_or_else(|| Error::new(ErrorKind::Internal, "the table of a task is not open"))?;
        Ok(table.context())
    }

    /// The messages of each task as bytes, when all their files are durable.
    fn sealed(&self, tasks: &[CompactionTask], ended: &[End]) -> Result<Vec<Vec<u8>>> {
        for (_, table) in &self.0 {
            let of_table = |task: &CompactionTask| self.find(task).is_some_and(|found| std::ptr::eq(found, table));
            let ended =
                tasks.iter().zip(ended).filter(|(task, _)| of_table(task)).filter_map(|(_, end)| end.as_ref().ok());
            sync_contents(table.context(), ended.flatten())?;
        }
        let seal = |(task, end): (&CompactionTask, &End)| {
            let ctx = self.of(task)?;
            bundled(end.iter().flatten().map(|message| message.seal(ctx, false)).collect::<Result<_>>()?)
        };
        tasks.iter().zip(ended).map(seal).collect()
    }

    /// Deletes the files of messages that nobody gets.
    fn abort(&self, tasks: &[CompactionTask], ended: Vec<End>) {
        // also where they were cancelled
        let _shield = cancel::shield();
        for (task, end) in tasks.iter().zip(ended) {
            let Ok(messages) = end else { continue };
            let deleted = self.of(task).and_then(|ctx| Committer::with_new_user(ctx).abort(&messages));
            if let Err(error) = deleted.map(drop) {
                tracing::warn!(%error, table = task.table.location, "files of a compaction that failed were not deleted");
            }
        }
    }
}
