//! Several tasks in one process.
//!
//! ```text
//! large tasks   one after another, each on all threads
//! small ones    one on each thread: threads within a task would only wait for each other
//! ```

use rayon::prelude::*;

use crate::{
    cancel,
    threads::in_pool,
    wire::{CompactionTask, TaskUnit},
};

/// Bytes of the files of a task that does not gain from several threads. As many such tasks as there are threads are in memory at
/// once.
const SMALL: i64 = 16 << 20;

/// Does `work` for each task, with so many threads (`None`: all cores); what it gave, in their order.
pub fn side_by_side<T: Send>(
    tasks: &[CompactionTask],
    threads: Option<usize>,
    work: impl Fn(&CompactionTask, Option<usize>) -> T + Sync,
) -> Vec<T> {
    let several = |task: &CompactionTask| threads.is_none() && is_small(task);
    if tasks.iter().filter(|task| several(task)).count() < 2 {
        return tasks.iter().map(|task| work(task, threads)).collect();
    }
    let mut ended: Vec<Option<T>> =
        tasks.iter().map(|task| if several(task) { None } else { Some(work(task, threads)) }).collect();
    let left: Vec<(&CompactionTask, &mut Option<T>)> =
        tasks.iter().zip(&mut ended).filter(|(_, end)| end.is_none()).collect();
    let small = cancel::carried(|task| work(task, Some(1)));
    in_pool(|| left.into_par_iter().with_max_len(1).for_each(|(task, end)| *end = Some(small(task))));
    ended.into_iter().flatten().collect()
}

fn is_small(task: &CompactionTask) -> bool {
    matches!(task.unit, TaskUnit::Tree { .. } | TaskUnit::Append) && task.input_bytes() <= SMALL
}
