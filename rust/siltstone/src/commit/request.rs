//! What is to be published.

use super::{
    identifier::Identifier,
    model::{Committable, ReadVersion},
    plan::Source,
    user::Seen,
};
use crate::{
    error::Result,
    snapshot::{CommitKind, RemovedSnapshot, SnapshotManager},
    wire::CommitMessage,
};

/// One snapshot to make.
#[derive(Debug)]
pub(super) struct Request<'a> {
    pub(super) kind: CommitKind,
    pub(super) identifier: Identifier,
    pub(super) source: Source<'a>,
    /// The statistics file that the snapshot names; `None`: that of the one before.
    pub(super) statistics: Option<String>,
    /// Make a snapshot although nothing changes.
    pub(super) allow_empty: bool,
    /// An explicit identifier was looked for up to this snapshot and not found: if it comes up later, another
    /// process has committed it.
    pub(super) looked_up_to: Option<Seen>,
    /// The messages were handed out: nobody has committed them before this; `None`: they were not.
    pub(super) since: Option<&'a Since>,
    /// What is committed.
    pub(super) committable: &'a Committable,
    /// The version that the rows come from; `None`: they are new.
    pub(super) read: Option<&'a ReadVersion>,
}

impl Request<'_> {
    pub(super) fn packs_manifests(&self) -> bool {
        matches!(self.source, Source::Manifests)
    }
}

/// Before which snapshots nobody can have committed some files. Times say nothing of that: each writer takes them from its own
/// clock, and one that is wrong by days would hide what came before it.
#[derive(Clone, Debug)]
pub(super) struct Since {
    /// Up to this one, as long as it is there; `None`: nobody knows.
    pub(super) after: Option<RemovedSnapshot>,
}

impl Since {
    /// What messages that were handed out say of themselves, and their files; `None`: nobody else has them.
    pub(super) fn of(committable: &Committable) -> Option<Self> {
        if !committable.check_append {
            return None;
        }
        Some(Self::of_messages(&committable.messages))
    }

    /// What messages say of themselves.
    pub(super) fn of_messages(messages: &[CommitMessage]) -> Self {
        let after: Option<Vec<&RemovedSnapshot>> = messages.iter().map(|message| message.after.as_ref()).collect();
        let oldest = after.and_then(|after| after.into_iter().min_by_key(|after| after.id));
        Self { after: oldest.cloned() }
    }

    /// Up to which id of a line nobody can have committed them, as the line is now: where the snapshot has gone, its id and those
    /// before it may be others'.
    pub(super) fn id(&self, line: &SnapshotManager) -> Result<i64> {
        self.after.as_ref().map_or(Ok(0), |after| still_there(line, after))
    }

    /// Whether a line may have the files: one that has, or had, the snapshot after which they were made, and went on from it.
    pub(super) fn may_know(&self, line: &SnapshotManager) -> Result<bool> {
        let Some(after) = &self.after else { return Ok(true) };
        match line.existing([after.id])?.pop() {
            Some(found) => Ok(after.is(&found)),
            None => Ok(line.listed_ids()?.last().is_some_and(|last| *last > after.id)),
        }
    }
}

/// The id of a snapshot when it is the line's; 0 when it has gone, and its id may be another's.
pub(super) fn still_there(line: &SnapshotManager, snapshot: &RemovedSnapshot) -> Result<i64> {
    Ok(match line.existing([snapshot.id])?.pop() {
        Some(found) if snapshot.is(&found) => snapshot.id,
        _ => 0,
    })
}
