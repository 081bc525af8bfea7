//! Reads of a table or branch that is not there any more, or is another one's by now.
//!
//! ```text
//! nothing is found             an empty table, or none: asked before it is said
//! something is missing, wrong  the table has changed, or is damaged, or is another one: that is asked first
//! ```

use super::Table;
use crate::{
    Error, ErrorKind, Result,
    commit::replaced,
    io::{BatchStream, TableContext},
    scan::overtaken::is_of_missing_file,
};

impl Table {
    /// To be asked where nothing was found: a table or branch that is not there any more looks like an empty one.
    pub(super) fn check_not_replaced(&self) -> Result<()> {
        replaced(self.context())?.map_or(Ok(()), Err)
    }

    /// What was found, which is nothing only where the table is there.
    pub(super) fn found<T>(&self, found: Result<T>, is_nothing: impl FnOnce(&T) -> bool) -> Result<T> {
        let found = explained(self.context(), found)?;
        if is_nothing(&found) {
            self.check_not_replaced()?;
        }
        Ok(found)
    }
}

/// The result of a read. Its error is another one where the table or branch is not there any more.
pub(super) fn explained<T>(ctx: &TableContext, result: Result<T>) -> Result<T> {
    result.map_err(|error| because_replaced(ctx, error))
}

/// The same for rows.
pub(super) fn explained_rows(ctx: &TableContext, rows: BatchStream) -> BatchStream {
    let ctx = ctx.clone();
    Box::new(rows.map(move |batch| explained(&ctx, batch)))
}

fn because_replaced(ctx: &TableContext, error: Error) -> Error {
    let is_of_what_lies_there = matches!(
        error.kind(),
        ErrorKind::FileNotFound
            | ErrorKind::SnapshotNotFound
            | ErrorKind::SnapshotExpired
            | ErrorKind::TagNotFound
            | ErrorKind::CorruptFile
            | ErrorKind::Storage
    );
    match is_of_what_lies_there.then(|| replaced(ctx)) {
        Some(Ok(Some(gone))) => gone.caused_by(error),
        _ if is_of_missing_file(&error) && error.hint_text().is_none() => error.with("table", &ctx.name).hint(
            "t.maintenance.fsck() says which versions need it; restore the file, or roll back to a version without it",
        ),
        _ => error,
    }
}
