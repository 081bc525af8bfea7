//! Messages that a writer has handed out, until it is known what became of them.
//!
//! Somebody else commits them, or not. On tables where an index says where keys are, the writer goes on from the keys that it
//! has handed out; where these can never come into the table (a conflict, an abort), it begins anew before its next rows.

use crate::{
    Error, Result, cancel, commit::TableCommit, error::ErrorKind, io::TableContext, wire::CommitMessage,
    write::WriteOptions,
};

/// What was handed out and is not known to be committed.
#[derive(Debug)]
pub(super) struct HandedOut {
    /// Those of each `prepare_commit`.
    messages: Vec<Vec<CommitMessage>>,
    /// Nobody has looked since the last of them.
    unknown: bool,
    /// The writer goes on from keys.
    needed: bool,
}

impl HandedOut {
    pub(super) fn of(ctx: &TableContext, options: &WriteOptions) -> Self {
        let indexed = ctx.options.bucket == -1 && ctx.schema.has_primary_key();
        let needed = indexed && !options.ignore_previous_files && options.shared.is_none();
        Self { messages: Vec::new(), unknown: false, needed }
    }

    /// The messages of one `prepare_commit`.
    pub(super) fn add(&mut self, messages: Vec<CommitMessage>) {
        if self.needed && !messages.is_empty() {
            self.messages.push(messages);
            self.unknown = true;
        }
    }

    /// Whether some of them can never be committed; then all are forgotten. Looks once after each `prepare_commit`, when the writer
    /// holds no rows.
    pub(super) fn are_lost(&mut self, commit: &TableCommit) -> Result<bool> {
        if !std::mem::take(&mut self.unknown) {
            return Ok(false);
        }
        match commit.may_be_committed(&mut self.messages) {
            Ok(true) => Ok(false),
            Ok(false) => {
                tracing::info!(
                    table = commit.context().name,
                    "a writer begins anew: what it has handed out came to nothing"
                );
                self.clear();
                Ok(true)
            }
            Err(error) if error.kind() == ErrorKind::Cancelled => Err(error),
            Err(error) => {
                cancel::check()?;
                tracing::warn!(table = commit.context().name, %error, "it was not found out what became of messages");
                Ok(false)
            }
        }
    }

    /// An error where rows that are in no message were left out because of keys in those that were handed out, and these can never
    /// be committed.
    ///
    /// # Errors
    /// `CommitConflict`: the rows would be nowhere.
    pub(super) fn check_left_out(&mut self, commit: &TableCommit) -> Result<()> {
        if self.messages.is_empty() || commit.may_be_committed(&mut self.messages)? {
            return Ok(());
        }
        let text =
            "rows were left out because others of their keys had been handed out, which can never be committed now";
        Err(Error::new(ErrorKind::CommitConflict, text)
            .with("table", &commit.context().name)
            .hint("nothing was committed: discard(), and write the rows again"))
    }

    pub(super) fn clear(&mut self) {
        (self.messages, self.unknown) = (Vec::new(), false);
    }
}
