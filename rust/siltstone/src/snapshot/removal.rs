//! Removal records: what expiries and rollbacks of a branch took out of its line of versions.
//!
//! Publishing `snapshot-<n + 1>` without replacing keeps commits apart only while nobody deletes snapshots: an id whose
//! file is gone can be published again. So whoever is about to delete snapshots says so first, in a record:
//!
//! ```text
//! removal-1   EXPIRE    bound 5   snapshots before 5 go:   (1, identity), (2, identity), …
//! removal-2   ROLLBACK  bound 7   snapshots after 7 go:    (9, identity), (8, identity)
//! ```
//!
//! Each snapshot carries how many records its writer knew ([`KNOWN_REMOVALS`], a property that other programs ignore). It
//! belongs to the line when its id is not below the *fence*, and no rollback that its writer did not know ended below its id.
//! The fence is the bound of the last expiry, lowered by a rollback to a tag before it.
//!
//! A writer reads the records, prepares, publishes, and reads the records again. A new record that reaches its id tells by
//! its list which came first: a snapshot that is in it was in the line; one that is not came too late, into a hole.

use serde::{Deserialize, Serialize};

use super::{Pending, RemovedSnapshot, Snapshot};
use crate::error::{Error, Result};

/// The property of a snapshot that says how many removal records its writer knew: `<count> <manifest list> <branch>`.
///
/// Other programs copy snapshots with their properties to other branches, and let new snapshots inherit them: the property
/// counts only where branch and manifest list are those of the snapshot itself.
pub const KNOWN_REMOVALS: &str = "siltstone.removals";

/// The layout of records that this version writes, and the newest one that it reads.
const VERSION: u32 = 1;

/// Why snapshots go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum RemovalKind {
    /// Those before `bound` expire.
    Expire,
    /// Those after `bound` are taken back.
    Rollback,
    /// Nothing goes, and the fence is `bound`: an expiry that could not be planned is called off before it deleted anything, a
    /// void fence is taken back, or what a rollback cut off is gone.
    Keep,
}

/// The newest records that are always kept: a writer that was held up asks for those that came meanwhile.
const KEPT: u64 = 100;
/// How long each record is kept.
const KEPT_MILLIS: i64 = 10 * 60 * 1000;

/// Whether a record is so old that no writer asks for it any more; `newest` is the number of the newest one.
pub(super) fn is_old(record: u64, time_millis: i64, newest: u64, now: i64) -> bool {
    record.saturating_add(KEPT) <= newest && time_millis < now.saturating_sub(KEPT_MILLIS)
}

/// A rollback that snapshots of writers who did not know it have to answer to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rollback {
    /// The number of its record.
    pub record: u64,
    /// The snapshot that became the latest one; 0: there is none any more, the first one was taken back.
    pub target: i64,
    /// The last version that the line has in common with the line from before, where it is not the target: a fast-forward puts
    /// the first version of a branch there, and what main had after this one is taken back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub common: Option<i64>,
    /// The branch that main goes forward to; until main has all of it, its schemas and tags among it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forward: Option<String>,
    /// Whether main's one version and main's schemas are not of one line until that fast-forward has brought all of them: what the
    /// version means, nobody can tell from main alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mixed: bool,
    /// Those that it takes out and that do not say what their writers knew, because another program wrote them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub foreign: Vec<RemovedSnapshot>,
    /// When its record was written, epoch milliseconds.
    #[serde(default)]
    pub time_millis: i64,
    /// Whether all changelogs and tags that it cut off are gone, so that nobody needs to look for them.
    #[serde(default)]
    pub settled: bool,
}

impl Rollback {
    /// The last version from before that is one still: what came after it was taken back.
    pub fn kept(&self) -> i64 {
        self.common.map_or(self.target, |common| common.min(self.target))
    }

    /// Versions after this id were not there before.
    pub(crate) fn last_known(&self) -> i64 {
        if self.common.is_some() { self.target.saturating_sub(1) } else { self.target }
    }
}

/// Where a fast-forward to a line without a version in common puts main.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parted {
    /// The first version of that line.
    pub target: i64,
    /// See [`Rollback::common`].
    pub common: i64,
    /// See [`Rollback::mixed`].
    pub mixed: bool,
    /// See [`Removal::inherited`].
    pub inherited: Vec<RemovedSnapshot>,
}

/// What is left of rollbacks that the records do not repeat any more ([`Removals::remembered`]): readers that come back after a
/// long time ask whether what they have read was taken back meanwhile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TakenBack {
    /// The number of the record of the rollback, or of the last of several.
    pub record: u64,
    /// Versions after this id were taken back.
    pub kept: i64,
    /// When that record was written, epoch milliseconds.
    pub time_millis: i64,
}

impl From<&Rollback> for TakenBack {
    fn from(rollback: &Rollback) -> Self {
        Self { record: rollback.record, kept: rollback.kept(), time_millis: rollback.time_millis }
    }
}

/// So many of them are kept one by one; older ones are one together, which says of more versions that they were taken back.
const KEPT_APART: usize = 64;

/// Those of before and those that are forgotten now, without those that a later rollback to the same or an earlier id covers.
fn joined(before: &[TakenBack], forgotten: impl Iterator<Item = TakenBack>) -> Vec<TakenBack> {
    let mut all: Vec<TakenBack> = Vec::new();
    for later in before.iter().cloned().chain(forgotten) {
        all.retain(|earlier| earlier.kept < later.kept);
        all.push(later);
    }
    if let Some(too_many) = all.len().checked_sub(KEPT_APART).filter(|too_many| *too_many > 0) {
        let rest = all.split_off(too_many.saturating_add(1));
        // the first one goes back farthest, the last one is the latest
        if let [first, .., last] = all.as_slice() {
            let together = TakenBack { kept: first.kept, ..last.clone() };
            all = std::iter::once(together).chain(rest).collect();
        }
    }
    all
}

/// One record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Removal {
    /// The layout.
    pub version: u32,
    /// Why.
    pub kind: RemovalKind,
    /// The first snapshot that stays (EXPIRE, KEEP) or the last one (ROLLBACK).
    pub bound: i64,
    /// What goes.
    pub removed: Vec<RemovedSnapshot>,
    /// What had expired of the line that a fast-forward goes to: its commits are in that line, and say who has made them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inherited: Vec<RemovedSnapshot>,
    /// Snapshots before this id are gone, as of this record.
    pub fence: i64,
    /// Rollbacks up to this record; without those that a later one to the same or an earlier snapshot covers, and without
    /// those that nobody meets any more ([`Removals::remembered`]).
    pub rollbacks: Vec<Rollback>,
    /// What is left of those that nobody meets any more; the oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forgotten: Vec<TakenBack>,
    /// What its writer was about to do.
    #[serde(flatten)]
    pub pending: Pending,
    /// When it was written, epoch milliseconds.
    pub time_millis: i64,
}

impl Removal {
    /// Whether it takes snapshots of this id out of the line.
    pub fn reaches(&self, id: i64) -> bool {
        match self.kind {
            RemovalKind::Expire => id < self.bound,
            RemovalKind::Rollback => id > self.kept(),
            RemovalKind::Keep => false,
        }
    }

    /// The last version from before a rollback that is one still; this record is the rollback's.
    pub(crate) fn kept(&self) -> i64 {
        let own = self.rollbacks.last().filter(|own| own.target == self.bound);
        own.map_or(self.bound, Rollback::kept)
    }

    /// Whether it is the record that took a void fence back, and no version of then had such an id; `number` is its own.
    pub(crate) fn cuts_off(&self, number: u64, id: i64) -> bool {
        self.kind == RemovalKind::Keep && self.rollbacks.iter().any(|r| r.record == number && id > r.target)
    }

    /// Whether a snapshot of this id, whose writer did not know the record, has to answer to it; `number` is the record's.
    pub(super) fn concerns(&self, number: u64, id: i64) -> bool {
        self.reaches(id) || self.cuts_off(number, id)
    }

    /// What has expired after this record, given what had before it: a rollback takes back also what has expired. `number` is the
    /// record's.
    pub(super) fn add_to_expired(&self, number: u64, expired: &mut Vec<RemovedSnapshot>) {
        // another program went back to a tag of an expired snapshot
        expired.retain(|removed| !self.cuts_off(number, removed.id));
        match self.kind {
            RemovalKind::Rollback => {
                expired.retain(|removed| removed.id <= self.kept());
                expired.extend(self.inherited.iter().cloned());
            }
            RemovalKind::Expire => expired.extend(self.removed.iter().cloned()),
            RemovalKind::Keep => {}
        }
    }

    /// Whether this very snapshot is among those that go.
    pub fn lists(&self, snapshot: &Snapshot) -> bool {
        self.removed.iter().any(|removed| removed.is(snapshot))
    }

    /// From the content of `removal-<k>`; `file` is for messages.
    pub(super) fn from_json(file: &str, bytes: &[u8]) -> Result<Self> {
        let removal: Self = serde_json::from_slice(bytes)
            .map_err(|e| Error::corrupt(file, 0, "a removal record as JSON", e.to_string()))?;
        if removal.version > VERSION {
            let found = format!("version {}", removal.version);
            return Err(Error::corrupt(file, 0, format!("a removal record of version {VERSION}"), found));
        }
        Ok(removal)
    }

    pub(super) fn to_json(&self) -> Result<String> {
        serde_json::to_string_pretty(self)
            .map_err(|e| Error::new(crate::error::ErrorKind::Internal, "a removal record as JSON").caused_by(e))
    }
}

/// What all records of a branch together say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Removals {
    /// The branch.
    pub branch: String,
    /// How many records there are.
    pub count: u64,
    /// Snapshots before this id are not part of the line.
    pub fence: i64,
    /// See [`Removal::rollbacks`].
    pub rollbacks: Vec<Rollback>,
    /// See [`Removal::forgotten`].
    pub forgotten: Vec<TakenBack>,
    /// See [`Removal::pending`].
    pub pending: Pending,
}

impl Removals {
    /// As the newest record sums them up.
    pub(super) fn of(branch: &str, count: u64, newest: Removal) -> Self {
        let Removal { fence, rollbacks, forgotten, pending, .. } = newest;
        Self { branch: branch.to_owned(), count, fence, rollbacks, forgotten, pending }
    }

    /// How many records a snapshot's writer knew; `None`: it was another program's, or the records are others.
    pub(crate) fn known(&self, snapshot: &Snapshot) -> Option<u64> {
        snapshot.known_removals(&self.branch).filter(|count| *count <= self.count)
    }

    /// Whether a version was put into its place for a rollback to it, whose record was written.
    pub(crate) fn was_placed(&self, version: &Snapshot) -> bool {
        version
            .known_removals(&self.branch)
            .is_some_and(|record| self.rollbacks.iter().any(|r| r.record == record && r.target == version.id))
    }

    /// The next record. `cut_off`: tagged snapshots and changelogs that go with a rollback, and may have expired before.
    pub(super) fn next(
        &self,
        kind: RemovalKind,
        bound: i64,
        going: &[Snapshot],
        cut_off: &[Snapshot],
        now: i64,
    ) -> Removal {
        let mut rollbacks = self.remembered(now);
        let is_dropped = |r: &&Rollback| !rollbacks.iter().any(|kept| kept.record == r.record);
        let mut forgotten = joined(&self.forgotten, self.rollbacks.iter().filter(is_dropped).map(TakenBack::from));
        let fence = match kind {
            RemovalKind::Expire => self.fence.max(bound),
            RemovalKind::Keep => bound,
            RemovalKind::Rollback => {
                rollbacks.retain(|earlier| earlier.kept() < bound);
                forgotten.retain(|earlier| earlier.kept < bound);
                let foreign = going.iter().chain(cut_off).filter(|snapshot| self.known(snapshot).is_none());
                let mut foreign: Vec<RemovedSnapshot> = foreign.map(RemovedSnapshot::from).collect();
                foreign.sort_by(|a, b| (a.id, &a.delta_manifest_list).cmp(&(b.id, &b.delta_manifest_list)));
                foreign.dedup();
                rollbacks.push(self.rollback(bound, foreign, now));
                self.fence.min(bound)
            }
        };
        let removed = going.iter().map(RemovedSnapshot::from).collect();
        let pending = if kind == RemovalKind::Rollback { Pending::default() } else { self.pending.repeated() };
        let inherited = Vec::new();
        Removal {
            version: VERSION,
            kind,
            bound,
            removed,
            inherited,
            fence,
            rollbacks,
            forgotten,
            pending,
            time_millis: now,
        }
    }

    /// The record that a snapshot is about to be put into its place, and is no version before the record of its fast-forward or
    /// rollback.
    pub(super) fn placing(&self, snapshot: &Snapshot, now: i64) -> Removal {
        let mut record = self.next(RemovalKind::Keep, self.fence, &[], &[], now);
        (record.pending.placing, record.pending.placed_by) = (Some(snapshot.into()), Some(self.count + 1));
        record
    }

    /// The record that a version is about to be taken back ([`Pending::taking_back`]).
    pub(super) fn announcing(&self, snapshot: &Snapshot, now: i64) -> Removal {
        let mut record = self.next(RemovalKind::Keep, self.fence, &[], &[], now);
        record.pending.taking_back = Some(snapshot.into());
        record
    }

    /// The record that a version is not taken back any more ([`Pending::keeping`]).
    pub(super) fn keeping(&self, snapshot: &Snapshot, now: i64) -> Removal {
        let mut record = self.next(RemovalKind::Keep, self.fence, &[], &[], now);
        record.pending.keeping = Some(snapshot.into());
        record
    }

    /// The record of a fast-forward to a branch, which has the version `target`, too.
    pub(super) fn forward(&self, to: &str, target: i64, going: &[Snapshot], now: i64) -> Removal {
        let mut record = self.next(RemovalKind::Rollback, target, going, &[], now);
        if let Some(own) = record.rollbacks.last_mut() {
            own.forward = Some(to.to_owned());
        }
        record
    }

    /// The record of a fast-forward to a line whose first version, the target, main never had; both have versions up to `common`.
    pub(super) fn parting(&self, to: &str, parted: Parted, going: &[Snapshot], now: i64) -> Removal {
        let Parted { target, common, mixed, inherited } = parted;
        let mut record = self.forward(to, target, going, now);
        record.inherited = inherited;
        // one record says both: commits do not go on with what lies before the target when the fast-forward dies here
        record.fence = target;
        if let Some(own) = record.rollbacks.last_mut() {
            own.common = Some(common);
            own.mixed = mixed;
            // tags of what was before the target stay
            own.foreign.retain(|foreign| foreign.id > target);
        }
        record
    }

    /// The next record, once everything that rollbacks cut off is gone. `newest`: it takes a void fence back, and this is
    /// the newest version; what writers who do not know it publish after that was made from a version that is gone.
    pub(super) fn settled(&self, fence: i64, newest: Option<i64>, now: i64) -> Removal {
        let mut record = self.next(RemovalKind::Keep, fence, &[], &[], now);
        if let Some(newest) = newest {
            record.rollbacks.retain(|earlier| earlier.kept() < newest);
            record.rollbacks.push(self.rollback(newest, Vec::new(), now));
        }
        record.rollbacks.iter_mut().for_each(|rollback| rollback.settled = true);
        record
    }

    /// The same record, at the end of a fast-forward: main has all of the branch.
    pub(super) fn forwarded(&self, fence: i64, newest: Option<i64>, now: i64) -> Removal {
        let mut record = self.settled(fence, newest, now);
        record.rollbacks.iter_mut().for_each(|rollback| (rollback.forward, rollback.mixed) = (None, false));
        record
    }

    /// The record that main's versions and schemas are those of the branch that it goes forward to ([`Rollback::mixed`]).
    pub(super) fn unmixed(&self, now: i64) -> Removal {
        let mut record = self.next(RemovalKind::Keep, self.fence, &[], &[], now);
        record.rollbacks.iter_mut().for_each(|rollback| rollback.mixed = false);
        record
    }

    /// The branch whose schemas main's versions are waiting for, or the other way round ([`Rollback::mixed`]).
    pub fn mixed_with(&self) -> Option<&str> {
        self.rollbacks.iter().rev().find(|rollback| rollback.mixed)?.forward.as_deref()
    }

    /// The branch that main has begun to go forward to, and of which it may lack something.
    pub fn forward_to(&self) -> Option<&str> {
        self.rollbacks.iter().rev().find_map(|rollback| rollback.forward.as_deref())
    }

    fn rollback(&self, target: i64, foreign: Vec<RemovedSnapshot>, now: i64) -> Rollback {
        Rollback {
            record: self.count + 1,
            target,
            common: None,
            forward: None,
            mixed: false,
            foreign,
            time_millis: now,
            settled: false,
        }
    }

    /// The rollbacks that the next record repeats. Of those that are settled and as old as records that nobody asks for any
    /// more only the newest stays, and of that one not what it lists, so that the list does not grow with the age of the table. Of
    /// the others it is enough to know until when they took back versions after which id ([`Removal::forgotten`]).
    ///
    /// Why that is safe: a rollback says no to snapshots after its target whose writers did not know it. Those that were there
    /// are gone. One that is published later needs a free name. Of the ids up to the target of a later rollback in the list
    /// none is free and part of the line: they are in use, or before the fence, and when a rollback frees them it is in the
    /// list with a target before them. To later ids the later rollback says no, too, because who did not know the earlier
    /// one did not know it either.
    fn remembered(&self, now: i64) -> Vec<Rollback> {
        let over = |r: &Rollback| r.settled && is_old(r.record, r.time_millis, self.count, now);
        let newest = self.rollbacks.last().map(|rollback| rollback.record);
        let needed = |r: &Rollback| Some(r.record) == newest || !over(r) || self.is_half_parted(r) || r.mixed;
        let kept = self.rollbacks.iter().filter(|rollback| needed(rollback));
        let mut kept: Vec<Rollback> = kept.cloned().collect();
        kept.iter_mut().filter(|rollback| over(rollback)).for_each(|rollback| rollback.foreign.clear());
        kept
    }

    /// Those of fast-forwards to a line without a version in common that have died between their records, where the first one did not
    /// raise the fence: what lies before their targets is there still, and these were not made from it.
    pub fn half_partings(&self) -> impl Iterator<Item = &Rollback> {
        self.rollbacks.iter().filter(|rollback| self.is_half_parted(rollback))
    }

    fn is_half_parted(&self, rollback: &Rollback) -> bool {
        rollback.common.is_some() && self.fence < rollback.target
    }

    /// Whether there are changelogs or tags to be looked for that a rollback cut off.
    pub(super) fn are_settled(&self) -> bool {
        self.rollbacks.iter().all(|rollback| rollback.settled)
    }

    /// Whether these records, all that are kept with their numbers, say that a snapshot was published into a hole.
    pub(super) fn came_too_late(&self, snapshot: &Snapshot, records: &[(u64, Removal)]) -> bool {
        let Some(known) = self.known(snapshot) else { return false };
        let later = records.iter().skip_while(|(number, _)| *number <= known);
        // one that is not kept any more may have listed the snapshot: what comes after it does not tell
        let mut whole = later.zip(known + 1..).take_while(|((number, _), next)| number == next);
        let met = whole.find(|((number, record), _)| record.concerns(*number, snapshot.id));
        met.is_some_and(|((_, record), _)| !record.lists(snapshot))
    }

    /// Whether a snapshot was published where a rollback that its writer did not know has cut the line off.
    ///
    /// Snapshots of other programs do not say what their writers knew: they count as published afterwards, unless the
    /// rollback lists them.
    pub fn is_rolled_back(&self, snapshot: &Snapshot) -> bool {
        let known = self.known(snapshot);
        self.rollbacks.iter().any(|rollback| match known {
            Some(known) => rollback.record > known && rollback.target < snapshot.id,
            None => rollback.foreign.iter().any(|foreign| foreign.is(snapshot)),
        })
    }

    /// Whether a snapshot that was a version when there were `known` records has been taken back since: its id may be
    /// another's now, or before the fence.
    pub fn rolled_back_since(&self, known: u64, id: i64) -> bool {
        self.taken_back().any(|rollback| rollback.record > known && rollback.kept < id)
    }

    /// Whether a rollback that the writer of the newest version did not know may have taken back a version of this id: what names
    /// it is older.
    pub fn may_have_taken(&self, id: i64, newest: &Snapshot) -> bool {
        self.rolled_back_since(self.known(newest).unwrap_or_default(), id)
    }

    /// All rollbacks, as far as anybody who has read versions needs to know, the oldest first.
    pub fn taken_back(&self) -> impl Iterator<Item = TakenBack> + '_ {
        self.forgotten.iter().cloned().chain(self.rollbacks.iter().map(TakenBack::from))
    }

    /// Whether a snapshot was put into its place by a fast-forward or rollback whose own record is not there.
    pub fn is_placing(&self, snapshot: &Snapshot) -> bool {
        let is_that = self.pending.placing.as_ref().is_some_and(|placing| placing.is(snapshot));
        let is_new = |record: u64| snapshot.known_removals(&self.branch).is_some_and(|known| known > record);
        is_that && self.pending.placed_by.is_none_or(is_new)
    }

    /// Whether a table without snapshots has lost none, as far as records tell: at most a first version was about to come, or its
    /// writer has taken it back.
    pub fn say_nothing(&self) -> bool {
        let was_none = self.pending.placing.is_some() || !self.rollbacks.is_empty();
        self.count == 0 || (was_none && self.keep_all())
    }

    /// Whether nothing has ever expired or been gone back to: before a first version that is there was none.
    pub(crate) fn keep_all(&self) -> bool {
        self.fence == 0 && self.rollbacks.iter().all(|rollback| rollback.target == 0)
    }

    /// Whether a snapshot is part of the line.
    pub fn admits(&self, snapshot: &Snapshot) -> bool {
        snapshot.id >= self.fence && !self.is_rolled_back(snapshot) && !self.is_placing(snapshot)
    }
}

impl Snapshot {
    /// How many removal records of the branch its writer knew; `None`: the property is missing, or of another snapshot.
    fn known_removals(&self, branch: &str) -> Option<u64> {
        let mut parts = self.properties.as_ref()?.get(KNOWN_REMOVALS)?.splitn(3, ' ');
        let count: u64 = parts.next()?.parse().ok()?;
        let list = parts.next()?;
        (list == self.delta_manifest_list && parts.next() == Some(branch)).then_some(count)
    }

    /// The same snapshot as one of a writer who knows this many removal records of the branch.
    #[must_use]
    pub fn knowing(mut self, removals: u64, branch: &str) -> Self {
        // the branch is last: its name may have blanks
        let value = format!("{removals} {} {branch}", self.delta_manifest_list);
        self.properties.get_or_insert_default().insert(KNOWN_REMOVALS.to_owned(), value);
        self
    }

    /// Whether both are the same version of the table: what a copy in another branch, or one that was restored from a tag,
    /// knows of removals does not matter, nor does the branch that a tag is for.
    pub fn is_same_version(&self, other: &Self) -> bool {
        let bare = |snapshot: &Self| {
            let mut bare = snapshot.clone().without_property(KNOWN_REMOVALS).keeping_no_branch();
            bare.properties = bare.properties.filter(|properties| !properties.is_empty());
            bare
        };
        self.id == other.id && self.delta_manifest_list == other.delta_manifest_list && bare(self) == bare(other)
    }
}
