//! The versions that tags keep.

use std::collections::HashMap;

use crate::{
    error::{Error, ErrorKind, Result},
    io::TableContext,
    snapshot::{RemovalKind, RemovedSnapshot, Snapshot, SnapshotManager, TagManager},
};

/// All tags but those whose maker died, or was held up, while their snapshot expired: a removal record lists it, and the
/// manifest lists that it names are gone. They keep nothing, and `fsck` names them.
pub(super) fn living_tags(
    ctx: &TableContext,
    tags: &TagManager,
    snapshots: &SnapshotManager,
) -> Result<Vec<(String, Snapshot)>> {
    let mut all = tags.list()?;
    let is_there = |list: &String| ctx.fs.is_file(&ctx.paths.manifest(list)?);
    let mut lost = Vec::new();
    for (at, (_, tagged)) in all.iter().enumerate() {
        if !is_there(&tagged.base_manifest_list)? && !is_there(&tagged.delta_manifest_list)? {
            lost.push(at);
        }
    }
    if lost.is_empty() {
        return Ok(all);
    }
    let records = snapshots.removals().all()?;
    for at in lost.into_iter().rev() {
        let expired =
            |tagged: &Snapshot| records.iter().any(|record| record.kind == RemovalKind::Expire && record.lists(tagged));
        if all.get(at).is_some_and(|(_, tagged)| expired(tagged)) {
            all.remove(at);
        }
    }
    Ok(all)
}

/// The error of work that reads what tags keep, which says whose manifest list is gone when it is a tag's.
pub fn name_lost_tag(ctx: &TableContext, error: Error) -> Error {
    let file = error.context_value("file").filter(|_| error.kind() == ErrorKind::FileNotFound);
    let file = file.filter(|_| error.context_value("tag").is_none());
    let Some(list) = file.and_then(|file| file.rsplit('/').next()) else { return error };
    let tags = ctx.tags();
    let names = |tagged: &Snapshot| tagged.base_manifest_list == list || tagged.delta_manifest_list == list;
    let named = tags.list().ok().and_then(|all| all.into_iter().find(|(_, tagged)| names(tagged)));
    match named {
        Some((tag, tagged)) => error.with("tag", &tag).with("snapshot", tagged.id).hint(format!(
            "the tag '{tag}' cannot be read any more: delete it, unless the files that it lacks can be brought back"
        )),
        None => error,
    }
}

/// Tagged snapshots of a branch.
#[derive(Debug, Default)]
pub struct Tagged {
    /// Those of the line, or of a part of it that has expired; ascending by id.
    line: Vec<Snapshot>,
    /// Those that a rollback has cut off: it died before it deleted their tags, or another program made them meanwhile. They
    /// say nothing about the files of versions with ids near theirs.
    aside: Vec<Snapshot>,
    /// The branch has been rolled back or fast-forwarded: neighbours by id may be of different lines, so that no tag speaks for
    /// others.
    mixed: bool,
}

impl Tagged {
    /// All tags of the branch.
    pub fn read(ctx: &TableContext, snapshots: &SnapshotManager) -> Result<Self> {
        Self::without(ctx, snapshots, None)
    }

    /// All tags of the branch but one.
    pub fn without(ctx: &TableContext, snapshots: &SnapshotManager, name: Option<&str>) -> Result<Self> {
        let mut tags = living_tags(ctx, &ctx.tags(), snapshots)?;
        tags.retain(|(other, _)| Some(other.as_str()) != name);
        let removals = snapshots.removals().read()?;
        let existing = snapshots.existing(tags.iter().map(|(_, tagged)| tagged.id))?;
        let of_line: HashMap<i64, RemovedSnapshot> =
            existing.iter().map(|s| (s.id, RemovedSnapshot::from(s))).collect();
        let is_of_line = |tagged: &Snapshot| {
            !removals.is_rolled_back(tagged) && of_line.get(&tagged.id).is_none_or(|snapshot| snapshot.is(tagged))
        };
        let (line, aside) = tags.into_iter().map(|(_, tagged)| tagged).partition(is_of_line);
        Ok(Self { line, aside, mixed: !removals.rollbacks.is_empty() })
    }

    /// Those that may need a file that snapshot `id` deletes: the newest one before it, and all that are not of the line.
    pub fn near(&self, id: i64) -> impl Iterator<Item = &Snapshot> {
        let nearest = self.line.iter().rev().filter(move |tag| tag.id < id);
        nearest.take(if self.mixed { usize::MAX } else { 1 }).chain(&self.aside)
    }

    /// Those that may share files with snapshot `id`: the newest before it, the oldest after it or of the same id, and all that
    /// are not of the line.
    pub fn around(&self, id: i64) -> impl Iterator<Item = &Snapshot> {
        let next = self.line.iter().filter(move |tag| tag.id >= id);
        self.near(id).chain(next.take(if self.mixed { usize::MAX } else { 1 }))
    }

    /// Whether a tag of the line names snapshot `id`.
    pub fn names(&self, id: i64) -> bool {
        self.line.iter().any(|tag| tag.id == id)
    }

    /// From the last one at or before `first` to the last one before `end`, ascending; and all that are not of the line.
    pub fn between(&self, first: i64, end: i64) -> Vec<&Snapshot> {
        let before: Vec<&Snapshot> = self.line.iter().filter(|tag| tag.id < end).collect();
        let from = before.iter().rposition(|tag| tag.id <= first).filter(|_| !self.mixed).unwrap_or(0);
        before.into_iter().skip(from).chain(&self.aside).collect()
    }
}
