//! The `snapshot/` directory of a table or branch: the line of versions, by hints, listing and removal records; exclusive
//! publishing.

use std::{thread, time::Duration};

use super::{RemovalLog, Removals, RemovedSnapshot, Snapshot, TagManager};
use crate::{
    cancel,
    error::{Error, ErrorKind, Result},
    fs::{FileIoRef, NUMBER_BYTES, Statistics, read_json},
    limits::LAST_ID,
    threads::try_map,
};

const PREFIX: &str = "snapshot-";
const LATEST: &str = "LATEST";
const EARLIEST: &str = "EARLIEST";

/// What to do about a snapshot's file that is there and cannot be read.
pub(crate) const DAMAGED_SNAPSHOT: &str = "restore this file from a copy; without one move it out of the table's directory: where it was the newest, roll back to the \
     snapshot before it then, and write the lost rows again; else expire the snapshots before it. t.maintenance.fsck() names what is \
     damaged, t.history() the other snapshots";

/// How often a reader looks again when the newest snapshot vanished between finding and opening it.
const ATTEMPTS: usize = 5;

/// How often the records are read again while a fast-forward is about to bring schemas, and how long to wait in between: a short
/// while, because it may have died.
const LOOKS: usize = 3;
const PAUSE: Duration = Duration::from_millis(10);

/// What has the name under which a snapshot was to be published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// This snapshot.
    Ours,
    /// Another one had it before, whether that is still there or not: this one is not published.
    Others,
    /// This one had it, and has it no more: it may have been a version, and the records tell what became of it.
    Replaced,
}

/// Snapshots of a table, or of a branch (`branch_root`).
///
/// What counts as a version is decided by the removal records ([`Removals::admits`]). All ids from the fence to the latest
/// version belong to the line; a file that does not can only lie before or after them, because a name that is in use is
/// never published again.
#[derive(Clone, Debug)]
pub struct SnapshotManager {
    pub(super) fs: FileIoRef,
    pub(super) directory: String,
    removals: RemovalLog,
}

impl SnapshotManager {
    /// Snapshots below `branch_root` (`path::branch_root`).
    pub fn new(fs: FileIoRef, branch_root: &str) -> Self {
        let directory = format!("{}/snapshot", branch_root.trim_end_matches('/'));
        Self { removals: RemovalLog::new(fs.clone(), branch_root), fs, directory }
    }

    /// Path of `snapshot-<id>`.
    pub fn path(&self, id: i64) -> String {
        format!("{}/{PREFIX}{id}", self.directory)
    }

    /// Path of a hint: `EARLIEST` or `LATEST`.
    pub fn hint_path(&self, name: &str) -> String {
        format!("{}/{name}", self.directory)
    }

    /// Where the snapshots are.
    pub fn directory(&self) -> &str {
        &self.directory
    }

    /// The removal records of the branch.
    pub fn removals(&self) -> &RemovalLog {
        &self.removals
    }

    /// What the `EARLIEST` hint says, whether that snapshot exists or not.
    pub fn earliest_hint(&self) -> Result<Option<i64>> {
        self.hint(EARLIEST)
    }

    /// The newest version's id; `None` for an empty table.
    pub fn latest_id(&self) -> Result<Option<i64>> {
        Ok(self.latest()?.map(|latest| latest.id))
    }

    /// The oldest version's id.
    pub fn earliest_id(&self) -> Result<Option<i64>> {
        Ok(self.earliest_by_hint()?.0)
    }

    /// [`Self::earliest_id`], and whether there is a hint, be it right or not.
    pub fn earliest_by_hint(&self) -> Result<(Option<i64>, bool)> {
        let removals = self.whole_removals()?;
        match self.hint(EARLIEST)? {
            Some(id) if id >= removals.fence && self.is_not_rolled_back(id, &removals)? => Ok((Some(id), true)),
            hint => Ok((self.line(&removals)?.first().copied(), hint.is_some())),
        }
    }

    /// Whether the snapshot exists and no rollback has cut it off; one call of the storage.
    fn is_not_rolled_back(&self, id: i64, removals: &Removals) -> Result<bool> {
        if removals.rollbacks.is_empty() && removals.pending.placing.is_none() {
            return self.exists(id);
        }
        let found = self.try_read(id)?;
        Ok(found.is_some_and(|found| !removals.is_rolled_back(&found) && !removals.is_placing(&found)))
    }

    /// Ids of all versions, ascending: of the listed snapshots those that belong to the line.
    ///
    /// # Errors
    /// `UpkeepRunning`: a fast-forward has begun, and main's versions and schemas are not of one line yet.
    pub fn ids(&self) -> Result<Vec<i64>> {
        self.line(&self.whole_removals()?)
    }

    /// The same, also of a main whose fast-forward has not ended: nothing is read of what is found.
    pub(crate) fn ids_by_records(&self) -> Result<Vec<i64>> {
        self.line(&self.removals.read()?)
    }

    /// The records of a line whose versions and schemas belong together ([`super::Rollback::mixed`]).
    fn whole_removals(&self) -> Result<Removals> {
        let mut removals = self.removals.read()?;
        for _ in 0..LOOKS {
            if removals.mixed_with().is_none() {
                return Ok(removals);
            }
            cancel::check()?;
            thread::sleep(PAUSE);
            removals = self.removals.read()?;
        }
        match removals.mixed_with() {
            Some(branch) => Err(going_forward(branch)),
            None => Ok(removals),
        }
    }

    /// What `look` makes of the ids of all versions, ascending; again when one of them goes before it is read.
    pub fn among_all<T>(&self, look: impl Fn(&[i64]) -> Result<T>) -> Result<T> {
        let mut tries = 1;
        loop {
            match look(&self.ids()?) {
                // an expiry takes the oldest, a rollback the newest: what is left is listed again
                Err(e) if tries < ATTEMPTS && has_gone(&e) => tries += 1,
                found => return found,
            }
        }
    }

    /// Ids of all snapshot files, ascending, also of those that are going or came too late. Names that are not
    /// `snapshot-<number>` are ignored.
    pub fn listed_ids(&self) -> Result<Vec<i64>> {
        let listed = self.fs.list(&self.directory)?;
        let mut ids: Vec<i64> = listed
            .iter()
            .filter(|file| !file.is_dir)
            .filter_map(|file| parse_id(file.path.rsplit('/').next()?.strip_prefix(PREFIX)?))
            .collect();
        ids.sort_unstable();
        Ok(ids)
    }

    /// Ids of all snapshot files but one that is being put into its place ([`Removals::is_placing`]).
    pub(crate) fn placed_ids(&self, removals: &Removals) -> Result<Vec<i64>> {
        let mut ids = self.listed_ids()?;
        if let Some(placing) = removals.pending.placing.as_ref().filter(|placing| ids.contains(&placing.id))
            && self.try_read(placing.id)?.is_some_and(|found| removals.is_placing(&found))
        {
            ids.retain(|id| *id != placing.id);
        }
        Ok(ids)
    }

    pub(super) fn line(&self, removals: &Removals) -> Result<Vec<i64>> {
        let mut ids = self.since_fence(self.placed_ids(removals)?, removals)?;
        while let (false, Some(last)) = (removals.rollbacks.is_empty(), ids.last()) {
            match self.try_read(*last)? {
                Some(snapshot) if !removals.is_rolled_back(&snapshot) => break,
                _ => drop(ids.pop()),
            }
        }
        Ok(ids)
    }

    /// Whether `snapshot-<id>` exists.
    pub fn exists(&self, id: i64) -> Result<bool> {
        self.fs.is_file(&self.path(id))
    }

    /// One snapshot; `SnapshotExpired` or `SnapshotNotFound` with the available range. It may be going
    /// ([`SnapshotManager::is_version`] tells).
    pub fn get(&self, id: i64) -> Result<Snapshot> {
        match self.read(id) {
            Err(e) if e.kind() == ErrorKind::FileNotFound => Err(self.missing(id)?),
            other => other,
        }
    }

    /// One version; like [`SnapshotManager::get`] of one that has gone when it is going.
    pub fn version(&self, id: i64) -> Result<Snapshot> {
        let snapshot = self.get(id)?;
        if self.is_version_by(&self.whole_removals()?, &snapshot)? { Ok(snapshot) } else { Err(self.missing(id)?) }
    }

    /// When a snapshot was committed; `None` when it does not exist.
    pub fn time_of(&self, id: i64) -> Result<Option<i64>> {
        match self.read(id) {
            Ok(snapshot) => Ok(Some(snapshot.time_millis)),
            Err(e) if e.kind() == ErrorKind::FileNotFound => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Why the line ends with the version `latest` although there are others: ids behind it are missing. No operation of ours
    /// leaves such a gap; another program, or a person, has removed the snapshots that were there.
    pub fn gap_behind(&self, latest: i64) -> Result<Option<Error>> {
        let removals = self.removals.read()?;
        let Some(next) = self.placed_ids(&removals)?.into_iter().find(|id| *id > latest) else { return Ok(None) };
        let first = latest.saturating_add(1);
        if next == first || !self.try_read(next)?.is_some_and(|found| removals.admits(&found)) {
            return Ok(None);
        }
        let text = format!("{}, and snapshot {next} lies behind", missing_ids(first, next.saturating_sub(1)));
        Ok(Some(Error::new(ErrorKind::CorruptFile, text).with("file", &self.directory).hint(format!(
            "restore them, or roll back to snapshot {latest}: that takes back what lies behind the gap, and commits go on"
        ))))
    }

    /// The snapshots of these ids that exist, ascending.
    pub fn existing(&self, ids: impl IntoIterator<Item = i64>) -> Result<Vec<Snapshot>> {
        let ids: Vec<i64> = ids.into_iter().collect();
        let mut found: Vec<Snapshot> = try_map(&ids, |id| self.try_read(*id))?.into_iter().flatten().collect();
        found.sort_by_key(|snapshot| snapshot.id);
        Ok(found)
    }

    /// The newest version; `None` for an empty table.
    ///
    /// # Errors
    /// `CorruptFile` when there are no snapshots although there were some: the next one must not begin anew; `UpkeepRunning` as
    /// [`Self::ids`].
    pub fn latest(&self) -> Result<Option<Snapshot>> {
        Ok(self.latest_with_removals()?.1)
    }

    /// The newest version, and the removal records that were known when it was looked for.
    pub fn latest_with_removals(&self) -> Result<(Removals, Option<Snapshot>)> {
        self.latest_by_removals(&|| self.whole_removals())
    }

    /// The newest version, also of a main whose fast-forward has not ended: nothing is read of it.
    pub(crate) fn latest_by_records(&self) -> Result<Option<Snapshot>> {
        Ok(self.latest_by_removals(&|| self.removals.read())?.1)
    }

    fn latest_by_removals(&self, read: &dyn Fn() -> Result<Removals>) -> Result<(Removals, Option<Snapshot>)> {
        let nothing = || Err(Error::new(ErrorKind::Internal, "the latest snapshot was not looked for"));
        let mut passing = None;
        for _ in 0..ATTEMPTS {
            let removals = read()?;
            let out_of_date = || -> Result<bool> { Ok(self.removals.read()?.count != removals.count) };
            match self.latest_by(&removals) {
                // expired meanwhile, so there is a newer one
                Err(e) if e.kind() == ErrorKind::FileNotFound => passing = Some(Err(e)),
                // by records that are out of date: the first version was taken back meanwhile
                Err(e) if e.kind() == ErrorKind::CorruptFile && out_of_date()? => passing = Some(Err(e)),
                // and so was the table, to a version before those that they say have expired
                Ok(found) if Self::fence_is_void(&removals, found.as_ref()) && out_of_date()? => {
                    passing = Some(Ok((removals, found)));
                }
                found => return found.map(|found| (removals, found)),
            }
        }
        passing.unwrap_or_else(nothing)
    }

    /// The hint counts only when its snapshot exists, belongs to the line, and the next does not exist.
    pub(super) fn latest_by(&self, removals: &Removals) -> Result<Option<Snapshot>> {
        let hint = self.hint(LATEST)?;
        if let Some(id) = hint
            && !self.next_exists(id)?
            && let Some(hinted) = self.try_read(id)?
            && removals.admits(&hinted)
        {
            return Ok(Some(hinted));
        }
        let listed = self.placed_ids(removals)?;
        for id in self.since_fence(listed, removals)?.into_iter().rev() {
            let snapshot = self.read(id)?;
            if !removals.is_rolled_back(&snapshot) {
                return Ok(Some(snapshot));
            }
        }
        if hint.is_none() && removals.say_nothing() {
            self.never_had_any(removals)
        } else {
            Err(self.all_gone_by(hint, removals))
        }
    }

    /// `hint`: what the file of hints said, which may have been that of a table in whose place another one is now.
    fn all_gone_by(&self, hint: Option<i64>, removals: &Removals) -> Error {
        if hint.is_some() && self.hint(LATEST).is_ok_and(|now| now != hint) {
            let text = "the hint changed while the latest snapshot was looked for";
            return Error::new(ErrorKind::FileNotFound, text).with("file", &self.directory);
        }
        let error = self.all_gone();
        if removals.are_settled() || error.kind() != ErrorKind::CorruptFile {
            return error;
        }
        error.hint("a rollback took all snapshots back, and its target is gone: expire snapshots, which brings the latest of them back")
    }

    /// Tags keep snapshots that have expired; while there are any, the table had a first snapshot. Those of a first one that was taken
    /// back go with the next upkeep.
    fn never_had_any(&self, removals: &Removals) -> Result<Option<Snapshot>> {
        if self.tag_of_kept(removals)?.is_none() {
            return Ok(None);
        }
        // the first commit and its tag may have come since the listing: whoever asked looks again
        if self.listed_ids()?.is_empty() {
            return Err(self.all_gone());
        }
        Err(Error::new(ErrorKind::FileNotFound, "the first snapshot came while the latest was looked for")
            .with("file", &self.directory))
    }

    fn all_gone(&self) -> Error {
        let root = self.directory.trim_end_matches("/snapshot");
        let (kind, what) = match root.rsplit_once("/branch/branch-") {
            Some(_) => (ErrorKind::BranchNotFound, "branch"),
            None => (ErrorKind::TableNotFound, "table"),
        };
        // a directory that cannot be looked at says nothing
        if self.fs.list(&format!("{root}/schema")).is_ok_and(|files| files.is_empty()) {
            return Error::new(kind, format!("the {what} was dropped or renamed while it was open")).with("file", root);
        }
        Error::new(ErrorKind::CorruptFile, "the table has no snapshots any more, but it had some")
            .with("file", &self.directory)
            .hint("roll back to a tag, or restore the snapshot directory: a new commit would begin the table anew")
    }

    /// A tag of what was not taken back, if there is one.
    pub(crate) fn tag_of_kept(&self, removals: &Removals) -> Result<Option<String>> {
        let tags = self.tags();
        let gone = |name: &String| tags.get(name).is_ok_and(|tagged| removals.is_rolled_back(&tagged));
        Ok(tags.names()?.into_iter().find(|name| removals.rollbacks.is_empty() || !gone(name)))
    }

    pub(crate) fn tags(&self) -> TagManager {
        TagManager::new(self.fs.clone(), self.directory.trim_end_matches("/snapshot"))
    }

    /// Whether the snapshot, as it was read from its file, is part of the line now.
    pub fn is_version(&self, snapshot: &Snapshot) -> Result<bool> {
        self.is_version_by(&self.removals.read()?, snapshot)
    }

    fn is_version_by(&self, removals: &Removals, snapshot: &Snapshot) -> Result<bool> {
        Ok(removals.admits(snapshot)
            || (!removals.is_rolled_back(snapshot)
                && !removals.is_placing(snapshot)
                && self.line(removals)?.contains(&snapshot.id)))
    }

    /// Whether the line has this version now, a copy of which is given.
    pub fn has_version(&self, copy: &Snapshot) -> Result<bool> {
        match self.try_read(copy.id)? {
            Some(found) => Ok(RemovedSnapshot::from(copy).is(&found) && self.is_version(&found)?),
            None => Ok(false),
        }
    }

    /// The same, and nobody is about to take it back.
    pub fn keeps_version(&self, copy: &Snapshot) -> Result<bool> {
        let Some(found) = self.try_read(copy.id)?.filter(|found| RemovedSnapshot::from(copy).is(found)) else {
            return Ok(false);
        };
        let removals = self.removals.read()?;
        Ok(!removals.pending.takes_back(found.id) && self.is_version_by(&removals, &found)?)
    }

    /// Listed ids from the fence on; where there are none although there are snapshots, the fence is void.
    fn since_fence(&self, listed: Vec<i64>, removals: &Removals) -> Result<Vec<i64>> {
        let first = listed.partition_point(|id| *id < removals.fence);
        match listed.get(first..) {
            Some(rest) if !rest.is_empty() => Ok(rest.to_vec()),
            _ if listed.is_empty() => Ok(listed),
            _ => self.below_void_fence(&listed, removals, &self.removals.numbered()?),
        }
    }

    /// The newest snapshot that was committed at or before this time (epoch milliseconds).
    pub fn at_or_before(&self, millis: i64) -> Result<Option<Snapshot>> {
        let mut vanished = None;
        for _ in 0..ATTEMPTS {
            match self.search_time(&self.ids()?, millis) {
                // an expiry takes the oldest, a rollback the newest: what is left is listed again
                Err(e) if e.kind() == ErrorKind::FileNotFound => vanished = Some(e),
                found => return found,
            }
        }
        vanished.map_or(Ok(None), Err)
    }

    fn search_time(&self, ids: &[i64], millis: i64) -> Result<Option<Snapshot>> {
        let (mut low, mut high) = (0, ids.len());
        let mut found = None;
        while low < high {
            let middle = low + (high - low) / 2;
            let Some(&id) = ids.get(middle) else {
                break;
            };
            let snapshot = self.read(id)?;
            if snapshot.time_millis <= millis {
                found = Some(snapshot);
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(found)
    }

    /// Publishes a snapshot under its id without replacing anything.
    ///
    /// The same content already there counts as published: an earlier attempt did succeed. The file is read
    /// back, because a JVM on the same directory may have replaced it by a rename.
    pub fn publish(&self, snapshot: &Snapshot, sync: bool) -> Result<Named> {
        self.publish_if(snapshot, sync, &|| Ok(()), &|| Ok("[]".to_owned()))
    }

    /// As [`SnapshotManager::publish`], if `still` says so when only the name is missing; `statistics` says what changes of the
    /// partitions ([`crate::fs::FileIo::publish_snapshot`]).
    pub fn publish_if(
        &self,
        snapshot: &Snapshot,
        sync: bool,
        still: &dyn Fn() -> Result<()>,
        statistics: Statistics<'_>,
    ) -> Result<Named> {
        let path = self.path(snapshot.id);
        let json = snapshot.to_json().map_err(Error::without_effect)?;
        let or = |found: Option<Snapshot>, other| if found.as_ref() == Some(snapshot) { Named::Ours } else { other };
        match self.fs.publish_snapshot(&path, json.as_bytes(), sync, still, statistics) {
            Ok(()) => Ok(or(self.try_read(snapshot.id)?, Named::Replaced)),
            Err(e) if e.kind() == ErrorKind::FileExists => match self.try_read(snapshot.id) {
                // ours is whole: what is there is somebody else's
                Err(e) if e.kind() == ErrorKind::CorruptFile => Err(e.without_effect()),
                found => Ok(or(found?, Named::Others)),
            },
            Err(e) => Err(e.with("snapshot", snapshot.id)),
        }
    }

    /// Lets the `LATEST` hint name this version, or a newer one: it never goes back for longer than a moment. Best effort,
    /// a wrong hint is no error for our readers; Java's believe it when the next snapshot does not exist.
    pub fn write_latest_hint(&self, id: i64) -> Result<()> {
        self.write_latest_hint_of(id, false)
    }

    /// The same; `at_once`: it was just seen that there is no next snapshot, and is only looked for again afterwards.
    pub fn write_latest_hint_of(&self, id: i64, mut at_once: bool) -> Result<()> {
        let mut newest = id;
        for _ in 0..ATTEMPTS {
            if std::mem::take(&mut at_once) || !self.next_exists(newest)? {
                self.fs.overwrite(&self.hint_path(LATEST), newest.to_string().as_bytes())?;
                if !self.next_exists(newest)? && self.exists(newest)? {
                    return Ok(());
                }
            }
            match self.latest_by_listing()? {
                Some(latest) if latest != newest => newest = latest,
                // what follows came too late, and goes
                _ => return self.fs.overwrite(&self.hint_path(LATEST), newest.to_string().as_bytes()),
            }
        }
        Ok(())
    }

    fn latest_by_listing(&self) -> Result<Option<i64>> {
        Ok(self.ids_by_records()?.last().copied())
    }

    /// Overwrites the `EARLIEST` hint. Best effort.
    pub fn write_earliest_hint(&self, id: i64) -> Result<()> {
        self.fs.overwrite(&format!("{}/{EARLIEST}", self.directory), id.to_string().as_bytes())
    }

    pub(super) fn try_read(&self, id: i64) -> Result<Option<Snapshot>> {
        match self.read(id) {
            Ok(snapshot) => Ok(Some(snapshot)),
            Err(e) if e.kind() == ErrorKind::FileNotFound => Ok(None),
            Err(e) => Err(e),
        }
    }

    fn read(&self, id: i64) -> Result<Snapshot> {
        let path = self.path(id);
        let snapshot = Snapshot::from_json(&path, &read_json(&*self.fs, &path).map_err(damaged)?).map_err(damaged)?;
        if snapshot.id == id {
            return Ok(snapshot);
        }
        Err(damaged(Error::corrupt(path, 0, format!("the snapshot with id {id}"), format!("id {}", snapshot.id))))
    }

    fn next_exists(&self, id: i64) -> Result<bool> {
        id.checked_add(1).map_or(Ok(false), |next| self.exists(next))
    }

    /// What a hint says, `EARLIEST` or `LATEST`; `None` for one that is absent or says nothing.
    pub fn hint(&self, name: &str) -> Result<Option<i64>> {
        read_hint(&self.fs, &self.hint_path(name))
    }

    /// The error for a snapshot that is not there, with the nearest versions that are.
    fn missing(&self, id: i64) -> Result<Error> {
        let ids = self.ids_by_records()?;
        let near = self.nearest(id, &ids)?;
        let (Some(first), Some(last)) = (ids.first().copied(), ids.last().copied()) else {
            let message = format!("snapshot {id} does not exist, the table has no snapshots");
            let error = Error::new(ErrorKind::SnapshotNotFound, message).with("snapshot", id);
            return Ok(if near.is_empty() { error } else { error.hint(format!("there is {near}")) });
        };
        let range = format!("snapshots {first} to {last} are available");
        let error = if (1..first).contains(&id) {
            Error::new(ErrorKind::SnapshotExpired, format!("snapshot {id} has expired, {range}"))
                .hint(format!("the nearest is {near}; a tag keeps a snapshot longer than `snapshot.time-retained`"))
        } else {
            Error::new(ErrorKind::SnapshotNotFound, format!("snapshot {id} does not exist, {range}"))
                .hint(format!("the nearest is {near}"))
        };
        Ok(error.with("snapshot", id).with("earliest", first).with("latest", last))
    }

    /// In words: the snapshots just before and after `id`, and the tags of expired ones that are nearer.
    fn nearest(&self, id: i64, ids: &[i64]) -> Result<String> {
        let tags = self.tags();
        // a tag that is broken or goes meanwhile is no choice
        let tagged = tags.names()?.into_iter().filter_map(|name| Some((tags.get(&name).ok()?.id, Some(name))));
        let expired = tagged.filter(|(tagged, _)| !ids.contains(tagged));
        let mut all: Vec<(i64, Option<String>)> = ids.iter().map(|id| (*id, None)).chain(expired).collect();
        all.sort();
        let before = all.iter().rev().find(|(other, _)| *other <= id);
        let after = all.iter().find(|(other, _)| *other > id);
        let text = |(id, tag): &(i64, Option<String>)| match tag {
            Some(tag) => format!("tag '{tag}' of snapshot {id}"),
            None => format!("snapshot {id}"),
        };
        Ok(before.into_iter().chain(after).map(text).collect::<Vec<_>>().join(", or "))
    }
}

/// Main's version is not of the schemas that are there, or is not yet.
fn going_forward(branch: &str) -> Error {
    let text = format!("main goes forward to branch '{branch}', and its schemas do not fit its version yet");
    Error::new(ErrorKind::UpkeepRunning, text).with("branch", branch).hint(
        "try again when the fast-forward has ended; where its process has died, fast-forward to the branch again: it goes on where \
         that one has stopped",
    )
}

/// Says what to do about a snapshot's file that cannot be read.
fn damaged(error: Error) -> Error {
    if error.kind() != ErrorKind::CorruptFile || error.hint_text().is_some() {
        return error;
    }
    error.hint(DAMAGED_SNAPSHOT)
}

/// Says that these snapshots are missing.
pub(crate) fn missing_ids(first: i64, last: i64) -> String {
    if first == last {
        format!("snapshot {first} is missing")
    } else {
        format!("snapshots {first} to {last} are missing")
    }
}

fn has_gone(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::SnapshotExpired | ErrorKind::SnapshotNotFound)
}

/// A hint's id, when there is one: absent, empty and odd hints are the same.
pub(super) fn read_hint(fs: &FileIoRef, path: &str) -> Result<Option<i64>> {
    match fs.read_at_most(path, NUMBER_BYTES) {
        Ok(bytes) => Ok(std::str::from_utf8(&bytes).ok().and_then(|text| parse_id(text.trim()))),
        Err(e) if matches!(e.kind(), ErrorKind::FileNotFound | ErrorKind::CorruptFile) => Ok(None),
        Err(e) => Err(e),
    }
}

/// A positive number in decimal digits and nothing else, up to [`LAST_ID`]: one more is a number, too.
pub(super) fn parse_id(text: &str) -> Option<i64> {
    // with zeros before it, it is the number of another name
    let digits = !text.starts_with('0') && text.bytes().all(|b| b.is_ascii_digit());
    text.parse().ok().filter(|id| digits && (1..=LAST_ID).contains(id))
}
