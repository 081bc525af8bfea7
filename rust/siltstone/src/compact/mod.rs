//! Dedicated compaction: a plan of independent tasks, which may run anywhere, and whose messages are
//! committed once.
//!
//! ```text
//!   plan_compaction ─▶ CompactionTask ─ bytes ─▶ any process: run_task ─▶ CommitMessage ─▶ one commit
//! ```
//!
//! Source: semantics a.7 to a.10; `CompactProcedure`, `AppendCompactCoordinator`.

mod curve;
mod plan;
mod run;
mod side_by_side;
mod sorted;
mod sums;
#[cfg(test)]
mod tests;
mod turn;
mod waiting;

pub use plan::{CompactRequest, CompactionPlan, plan_compaction, plan_sort_compaction};
pub use run::{TaskResources, check_task, run_task};
pub use side_by_side::side_by_side;
pub use sums::CompactionPlanSums;
pub(crate) use sums::{looks_at_statistics, plan_sums};
pub(crate) use turn::CompactionTurn;
