//! What is to be published.

use super::{
    identifier::Identifier,
    model::{Committable, ReadVersion},
    plan::Source,
    user::Seen,
};
use crate::snapshot::{CommitKind, RemovedSnapshot};

/// Snapshots this much older than the oldest file cannot know it: creation times are local wall clocks of the writing machine, up
/// to 14 hours off, and clocks differ.
pub(super) const MARGIN_MILLIS: i64 = 2 * 24 * 3600 * 1000;

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

/// Before which snapshots nobody can have committed some files.
#[derive(Clone, Debug)]
pub(super) struct Since {
    /// Up to this one, as long as it is there; `None`: nobody knows.
    pub(super) after: Option<RemovedSnapshot>,
    /// Before this time; `None`: nobody knows.
    pub(super) millis: Option<i64>,
}

impl Since {
    /// What messages that were handed out say of themselves, and their files; `None`: nobody else has them.
    pub(super) fn of(committable: &Committable) -> Option<Self> {
        if !committable.check_append {
            return None;
        }
        let messages = &committable.messages;
        let after: Option<Vec<&RemovedSnapshot>> = messages.iter().map(|message| message.after.as_ref()).collect();
        let oldest = after.and_then(|after| after.into_iter().min_by_key(|after| after.id));
        let files = messages.iter().flat_map(|message| &message.data.new_files);
        let created: Option<Vec<i64>> = files.map(|file| file.creation_time).collect();
        let first = created.and_then(|times| times.into_iter().min());
        Some(Self { after: oldest.cloned(), millis: first.map(|first| first.saturating_sub(MARGIN_MILLIS)) })
    }
}
