//! Fast-forward: main becomes what a branch is.
//!
//! From the branch's earliest snapshot on, main's snapshots, tags and schemas give way to the branch's. What both have
//! in common stays untouched. The branch keeps everything, so a fast-forward that was cut short is finished by the same
//! call. For main it is a rollback to the last common version (a removal record, semantics of `rollback`), and then commits
//! of what the branch has; a writer that commits in between gives way, too. The LATEST hint goes back before the first snapshot file
//! goes, as in a rollback: another program believes it.
//!
//! Between that record and the branch's last snapshot main is at the common version: what fails there is an error that says so.
//! What fails later is a note. Where there is no common version, and main's one version would be there with schemas of another line in
//! between, the record says so ([`crate::snapshot::Rollback::mixed`]): nobody reads, writes or alters main until another record says
//! that the schemas have come.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Value, json};

use super::{
    forward_common::{inherited, last_common},
    forward_schemas::schema_changes,
    forward_tags::{Tags, is_copy, publish_tags},
};
use crate::{
    cleanup::{
        Change, CleanupPlan, CleanupStep, FileKind, PlannedFile, Report, after_record, check_branch_points, upkeep_lock,
    },
    error::{Error, ErrorKind, Result},
    io::TableContext,
    maintenance::rollback::{note_of_strays, remove_strays},
    snapshot::{
        ChangelogManager, Parted, RemovalKind, Snapshot, SnapshotManager, Tag, TagManager, UpkeepLock, is_main,
    },
};

/// Makes main what the branch is.
///
/// # Errors
/// `BranchNotFound`; `SnapshotNotFound` when the branch is empty; `VersionInUse` when another branch was made from a
/// version of main that would go, or a tag of main that stays needs a schema that would; `InvalidArgument` for main.
pub fn fast_forward(ctx: &TableContext, name: &str, dry_run: bool) -> Result<Report> {
    if is_main(name) {
        return Err(Error::new(ErrorKind::InvalidArgument, "main cannot be fast-forwarded to itself"));
    }
    let main = TableContext { branch: "main".to_owned(), ..ctx.clone() };
    let branches = ctx.branches();
    branches.check_exists(name).map_err(|e| e.with("table", &ctx.name))?;
    let of_branch = SnapshotManager::new(ctx.fs.clone(), &branches.root(name));
    let ours = SnapshotManager::new(ctx.fs.clone(), &ctx.location);
    let lock = if dry_run { None } else { Some(upkeep_lock(ctx)?) };
    let theirs = of_branch.existing(of_branch.ids()?)?;
    let Some(first) = theirs.first() else {
        return Err(Error::new(
            ErrorKind::SnapshotNotFound,
            format!("branch '{name}' has no snapshot to go forward to"),
        )
        .with("table", &ctx.name)
        .with("branch", name));
    };
    // main may have lost its snapshots, but not what says which of them count
    ours.removals().read()?;
    let before = match ours.latest_by_records() {
        Err(e) if e.kind() == ErrorKind::Storage => return Err(e),
        found => found.ok().flatten().map(|latest| latest.id),
    };
    if let Some(lock) = &lock {
        if before.is_some() { ours.settle(lock)? } else { ours.remove_placed(lock)? }
    }
    let way = Way { main, root: branches.root(name), ours, theirs: &theirs };
    let apart = !way.plan(false)?.has_common || was_parted(&way.main, &way.ours, first)?;
    let report = if let Some(lock) = &lock {
        let mut moved = false;
        let (mut report, rest) =
            way.go(lock, first, apart, &mut moved).map_err(|e| if moved { unfinished(ctx, name, e) } else { e })?;
        let done = format!("main is what branch '{name}' is");
        let (mut strays, mut others) = (Vec::new(), Vec::new());
        report.extend(after_record(ctx, rest.plan, &done, || {
            others = publish_tags(&ctx.fs, rest.tags)?;
            if let Some(last) = theirs.last() {
                strays = remove_strays(ctx, &way.ours, last.id)?;
            }
            way.ours.settle_forwarded(lock)
        })?);
        let later = note_of_later(&of_branch, name, &theirs);
        report.plan.notes.extend(note_of_strays(&strays).into_iter().chain(others).chain(later));
        report
    } else {
        let (plan, rest) = way.plan(apart)?.complete(&way.ours, &theirs)?;
        let mut report = Report::of(&ctx.fs, plan, true)?;
        report.extend(Report::of(&ctx.fs, rest.plan, true)?);
        report
    };
    Ok(report
        .with("previous_snapshot", before.map_or(Value::Null, Value::from))
        .with("current_snapshot", theirs.last().map_or(Value::Null, |last| json!(last.id))))
}

/// What was committed to the branch after it was read: nobody is to delete the branch and believe that main has all of it.
fn note_of_later(branch: &SnapshotManager, name: &str, theirs: &[Snapshot]) -> Option<String> {
    let last = theirs.last()?.id;
    let latest = branch.latest().ok().flatten()?.id;
    let note = || {
        format!(
            "branch '{name}' has got versions up to {latest} meanwhile, and main has those up to {last}: fast-forward again"
        )
    };
    (latest > last).then(note)
}

/// Main, and where it goes.
struct Way<'a> {
    main: TableContext,
    /// Of the branch.
    root: String,
    ours: SnapshotManager,
    theirs: &'a [Snapshot],
}

impl Way<'_> {
    fn plan(&self, apart: bool) -> Result<Forward> {
        let snapshots = self.ours.existing(self.ours.placed_ids(&self.ours.removals().read()?)?)?;
        let ours = Ours { snapshots, manager: self.ours.clone() };
        plan(&self.main, &self.root, &ours, self.theirs, apart)
    }

    /// Until main has all versions of the branch; what is left to do then. `moved`: a record says that main has given way.
    fn go(&self, lock: &UpkeepLock, first: &Snapshot, apart: bool, moved: &mut bool) -> Result<(Report, Rest)> {
        let (fs, removals) = (&self.main.fs, self.ours.removals());
        if apart && !self.ours.exists(first.id)? {
            place_first(&self.main, &self.ours, lock, first)?;
        }
        let mut report = Report::default();
        let mut changes_schemas = false;
        let mut round = 1;
        loop {
            let plan = self.plan(apart)?;
            changes_schemas |= plan.changes_schemas;
            // what is not main's to delete is found before a record says that it goes
            plan.plan.check(fs)?;
            let comes = self.theirs.last().is_some_and(|last| last.id > plan.stands);
            if apart && (round == 1 || !plan.parted.is_empty()) {
                self.part(lock, first, &plan, moved)?;
            } else if apart || comes || !plan.gone.is_empty() || plan.loses_schemas {
                // also where only schemas go: a commit under one of them that is there gives way
                removals.append_forward(lock, &branch_of(&self.root), plan.stands, &plan.gone)?;
                *moved = true;
            }
            let (plan, rest) = plan.complete(&self.ours, self.theirs)?;
            match Report::of(fs, plan, false) {
                // a writer was faster with the next id
                Err(e) if e.kind() == ErrorKind::CommitConflict && round < ROUNDS => {}
                done => {
                    report.extend(done?);
                    // a commit that was published before its schema went gives way, too: its writer has looked already
                    let last = self.ours.listed_ids()?.last().copied();
                    let behind = changes_schemas && last > self.theirs.last().map(|last| last.id);
                    // and so does a schema that was made of one that has gone: its maker may have looked, too
                    let made = !schema_changes(&self.main, &self.root, self.theirs)?.gone.is_empty();
                    if !((behind || made) && round < ROUNDS) {
                        removals.append_unmixed(lock)?;
                        return Ok((report, rest));
                    }
                    changes_schemas = false;
                }
            }
            round += 1;
        }
    }

    /// The records of a fast-forward without a version in common. What main had after the last one that the branch had, too, is
    /// taken back: its commits are in no version, and streams have read what is none. What lies before has expired.
    fn part(&self, lock: &UpkeepLock, first: &Snapshot, plan: &Forward, moved: &mut bool) -> Result<()> {
        let common = last_common(&self.main, &self.root, &plan.parted, first)?;
        let inherited = inherited(&self.main, &self.root, common, first)?;
        let (expired, taken_back): (Vec<Snapshot>, Vec<Snapshot>) =
            plan.parted.iter().cloned().partition(|snapshot| snapshot.id <= common);
        let going: Vec<Snapshot> =
            taken_back.into_iter().chain(plan.replaced.clone()).chain(plan.gone.clone()).collect();
        let removals = self.ours.removals();
        let parted = Parted { target: plan.stands, common, mixed: plan.mixed, inherited };
        removals.append_parting(lock, &branch_of(&self.root), parted, &going)?;
        *moved = true;
        // what has expired, whose files the next expiry deletes when this fast-forward dies
        if !expired.is_empty() {
            removals.append(lock, RemovalKind::Expire, first.id, &expired)?;
        }
        self.ours.write_earliest_hint(first.id)
    }
}

/// The error of a fast-forward that main has gone the first steps of.
fn unfinished(ctx: &TableContext, name: &str, cause: Error) -> Error {
    let message = format!("main has given way to branch '{name}', and does not have all of its versions yet");
    Error::new(cause.kind(), message)
        .with("table", &ctx.name)
        .with("branch", name)
        .hint("fast-forward to the branch again: it goes on where this one has stopped")
        .caused_by(cause)
}

/// Whether an earlier fast-forward found no common version, gave main the branch's first one and died before all that main has
/// before that one had gone.
fn was_parted(main: &TableContext, ours: &SnapshotManager, first: &Snapshot) -> Result<bool> {
    let removals = ours.removals().read()?;
    let Some(found) = ours.existing([first.id])?.pop() else { return Ok(false) };
    if !removals.was_placed(&found) {
        return Ok(false);
    }
    Ok(ours.listed_ids()?.iter().any(|id| *id < first.id) || !parted_changelogs(main, first.id)?.is_empty())
}

/// Long-lived changelogs of main up to the branch's first version: as with the snapshots before that one, nobody knows whether
/// it comes from them.
fn parted_changelogs(main: &TableContext, first: i64) -> Result<Vec<String>> {
    let changelogs = ChangelogManager::new(main.fs.clone(), &main.location);
    let ids = changelogs.ids()?.into_iter().rev().filter(|id| *id <= first);
    Ok(ids.map(|id| changelogs.path(id)).collect())
}

/// Where main and the branch have no version in common (main's have expired, or the branch began empty), main gets the branch's
/// first one before anything goes: from the record on it is the one version that is left, and there is one at every moment. A
/// record before it says that it is no version until then: one whose fast-forward died would cut main off.
fn place_first(ctx: &TableContext, ours: &SnapshotManager, lock: &UpkeepLock, first: &Snapshot) -> Result<()> {
    let removals = ours.removals().append_placing(lock, first)?;
    let content = first.clone().knowing(removals.count + 1, &removals.branch).to_json()?;
    match ctx.fs.publish(&ours.path(first.id), content.as_bytes(), true) {
        // a commit of main came first: it gives way, as those that were there before
        Err(e) if e.kind() == ErrorKind::FileExists => Ok(()),
        placed => placed,
    }
}

/// How often writers that commit meanwhile are made to give way.
const ROUNDS: usize = 10;

/// What becomes of main.
#[allow(clippy::struct_excessive_bools, reason = "four independent facts")]
struct Forward {
    /// The last version that main and the branch have in common; when there is none, the branch's first.
    stands: i64,
    /// Whether there is such a version.
    has_common: bool,
    /// Versions of main that go, because they are before the branch's first and not known to be its ancestors.
    parted: Vec<Snapshot>,
    /// Main's snapshot with the id of the branch's first, when it is another one.
    replaced: Option<Snapshot>,
    /// What main has after it.
    gone: Vec<Snapshot>,
    /// Tags of the branch, by their paths in main.
    tags_come: Tags,
    /// Schemas come, go, or get another content.
    changes_schemas: bool,
    /// Schemas of main go, or get another content.
    loses_schemas: bool,
    /// Main's one version, its own or the branch's first, and main's schemas do not belong together until all is done.
    mixed: bool,
    /// Schemas that came as undecided, as they are when main has the branch's versions.
    decided: Vec<CleanupStep>,
    /// Where names change.
    directories: Vec<String>,
    plan: CleanupPlan,
}

impl Forward {
    /// With the branch's later versions, as those of a writer who knows the removal records; and what is left to do when main
    /// has them, the tags that it has not yet among it.
    fn complete(mut self, manager: &SnapshotManager, theirs: &[Snapshot]) -> Result<(CleanupPlan, Rest)> {
        let removals = manager.removals().read()?;
        let own = |snapshot: Snapshot| snapshot.knowing(removals.count, &removals.branch);
        let json = |(path, Tag { snapshot, create_time, time_retained })| {
            let tag = Tag { snapshot: own(snapshot), create_time, time_retained };
            Ok((path, tag.to_json()?))
        };
        for (path, content) in self.tags_come.copies.into_iter().map(json).collect::<Result<Vec<_>>>()? {
            self.plan.overwrite(path, content);
        }
        let tags = self.tags_come.new.into_iter().map(json).collect::<Result<Vec<_>>>()?;
        if let (Some(_), Some(first)) = (&self.replaced, theirs.first()) {
            self.plan.overwrite(manager.path(first.id), own(first.clone()).to_json()?);
        }
        // what is removed must not come back after a power loss, when the orphan cleaning has taken its files; and snapshots
        // come after the schemas that they name
        let sync = |directory| CleanupStep::Change(Change::Sync { directory });
        self.plan.steps.extend(self.directories.into_iter().map(sync));
        for snapshot in theirs.iter().filter(|s| s.id > self.stands) {
            let content = own(snapshot.clone()).to_json()?;
            self.plan.steps.push(CleanupStep::Change(Change::Publish { path: manager.path(snapshot.id), content }));
        }
        self.plan.steps.extend(self.decided);
        let mut plan = CleanupPlan::default();
        if let Some(last) = theirs.last() {
            let root = manager.directory().trim_end_matches("/snapshot").to_owned();
            plan.steps.push(CleanupStep::Change(Change::Latest { root, id: last.id }));
        }
        plan.steps.push(sync(manager.directory().to_owned()));
        Ok((self.plan, Rest { plan, tags }))
    }
}

/// What is left to do when main has all versions of the branch.
struct Rest {
    plan: CleanupPlan,
    /// Paths and contents of tags that main did not have.
    tags: Vec<(String, String)>,
}

/// Main's snapshot files, those that are no versions among them.
struct Ours {
    snapshots: Vec<Snapshot>,
    manager: SnapshotManager,
}

/// `apart`: main and the branch had no version in common when the fast-forward began.
fn plan(main: &TableContext, root: &str, ours: &Ours, theirs: &[Snapshot], apart: bool) -> Result<Forward> {
    let mut plan = CleanupPlan::default();
    let by_id: BTreeMap<i64, &Snapshot> = theirs.iter().map(|s| (s.id, s)).collect();
    let common = |s: &&Snapshot| by_id.get(&s.id).is_some_and(|other| other.is_same_version(s));
    let first_id = theirs.first().map_or(0, |s| s.id);
    let (before, later): (Vec<&Snapshot>, Vec<&Snapshot>) = ours.snapshots.iter().partition(|s| s.id < first_id);
    let shared = later.iter().copied().take_while(common).count();
    let replaced = later.first().copied().filter(|s| shared == 0 && s.id == first_id).cloned();
    let last_common = later.get(..shared).and_then(|shared| shared.last());
    let stands = last_common.map_or(first_id, |s| s.id);
    let gone: Vec<&Snapshot> = later.iter().copied().filter(|s| s.id > stands).collect();
    // without a common version nobody knows whether what main has before is an ancestor of what the branch has: main may
    // have gone on with these ids after the two parted
    let parted = if apart { before } else { Vec::new() };
    let manager = &ours.manager;
    let reason: Arc<str> = Arc::from("main gives way to the branch");
    let file = |path: String, kind| PlannedFile { path, kind, bytes: 0, reason: Arc::clone(&reason) };

    let (tags, copies) = (TagManager::new(main.fs.clone(), &main.location), TagManager::new(main.fs.clone(), root));
    let first = theirs.first().map_or(i64::MAX, |s| s.id);
    let (tags_later, tags_kept): (Vec<_>, Vec<_>) =
        tags.tags()?.into_iter().partition(|(_, tag)| tag.snapshot.id >= first);
    let mut tags_gone = Vec::new();
    for (name, tag) in tags_later {
        if !(copies.exists(&name)? && is_copy(&copies.tag(&name)?, &tag)) {
            tags_gone.push((name, tag.snapshot));
        }
    }
    if let Some(target) = theirs.first() {
        let target = Snapshot { id: stands, ..target.clone() };
        let others = TableContext { branch: branch_of(root), ..main.clone() };
        check_branch_points(&others, manager, &target, &tags_gone)?;
    }
    let schemas = schema_changes(main, root, theirs)?;
    schemas.check_tags(main, &tags_kept)?;
    let changes_schemas = !schemas.gone.is_empty() || !schemas.written.is_empty() || !schemas.decided.is_empty();
    let loses_schemas = schemas.loses_any();
    let mixed = match &replaced {
        // its own schema goes before it does
        Some(own) => schemas.loses(own.schema_id),
        // the branch's first version is there before its schemas
        None => !schemas.gone.is_empty() || !schemas.written.is_empty(),
    };
    let all_gone = gone.iter().rev().chain(parted.iter().rev());
    let changelogs = if apart { parted_changelogs(main, first_id)? } else { Vec::new() };
    let mut directories = ["snapshot", "tag", "schema"].map(|part| format!("{}/{part}", main.location)).to_vec();
    if !changelogs.is_empty() {
        directories.push(format!("{}/changelog", main.location));
    }
    if !gone.is_empty() || !parted.is_empty() {
        // from the record on main is at this version
        plan.steps.push(CleanupStep::Change(Change::Latest { root: main.location.clone(), id: stands }));
    }
    plan.delete_in_order(changelogs.into_iter().map(|path| file(path, FileKind::LongLivedChangelog)).collect());
    plan.delete_in_order(all_gone.map(|s| file(manager.path(s.id), FileKind::Snapshot)).collect());
    plan.delete_in_order(tags_gone.iter().map(|(name, _)| file(tags.path(name), FileKind::Tag)).collect());
    plan.delete_in_order(schemas.gone.into_iter().map(|path| file(path, FileKind::Schema)).collect());
    plan.steps.extend(schemas.written);
    let tags_come = Tags::of(&tags, &copies, &tags_gone)?;
    if !gone.is_empty() || !parted.is_empty() {
        plan.notes.push("data files of removed snapshots stay until orphan files are removed".to_owned());
    }
    Ok(Forward {
        parted: parted.into_iter().cloned().collect(),
        replaced,
        stands,
        has_common: shared > 0,
        changes_schemas,
        loses_schemas,
        mixed,
        decided: schemas.decided,
        tags_come,
        directories,
        gone: gone.into_iter().cloned().collect(),
        plan,
    })
}

fn branch_of(root: &str) -> String {
    root.rsplit('/').next().and_then(|name| name.strip_prefix("branch-")).unwrap_or("main").to_owned()
}
