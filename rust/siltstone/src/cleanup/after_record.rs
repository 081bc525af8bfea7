//! What is left to do when an operation has taken effect.

use super::{CleanupPlan, Report, plan::run};
use crate::{
    error::{Error, ErrorKind, Result},
    io::TableContext,
};

/// Carries out a plan, and then `settle`, of an operation whose removal record says already what the table is: readers and
/// writers obey it, whatever becomes of the files. What cannot be done is a note, and left to the next upkeep. The plan was
/// checked ([`CleanupPlan::check`]) before the record.
///
/// # Errors
/// `Cancelled`, which says that the operation has taken effect (`done`).
pub fn after_record(
    ctx: &TableContext,
    mut plan: CleanupPlan,
    done: &str,
    settle: impl FnOnce() -> Result<()>,
) -> Result<Report> {
    let left = "the next expiry or rollback removes what is left";
    let mut steps = 0;
    let all = plan.steps.iter().try_for_each(|step| run(&ctx.fs, step).inspect(|()| steps += 1));
    // what the report says is done
    plan.steps.truncate(steps);
    match all.and_then(|()| settle()) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::Cancelled => {
            return Err(Error::new(ErrorKind::Cancelled, format!("{done}; then the operation was stopped"))
                .with("table", &ctx.name)
                .hint(left));
        }
        Err(error) => {
            tracing::warn!(%error, table = ctx.name, "{done}; not all of its files were removed");
            plan.notes.push(format!("{done}, but not all of its files were removed, {left}: {error}"));
        }
    }
    Ok(Report { plan, ..Report::default() })
}
