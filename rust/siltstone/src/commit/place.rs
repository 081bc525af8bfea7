//! A commit belongs to the table, the branch and the schemas that its writer was opened with.
//!
//! ```text
//! writer A  opens table t, writes, prepares snapshot 5 …                           … publishes snapshot 5
//! others                             rename t, drop it, make another one of that name, go forward to a branch
//! ```
//!
//! The schema file of the writer says whose place it is: it has the time of its making in it. A branch that is made again has
//! copies of the same schemas: there the time when the file was written tells. It is looked at
//!
//! 1. when the snapshot's file is finished and only its name is missing. The name comes about only in the directory in which the
//!    file was finished ([`crate::fs::FileIo::publish_if`]), so a table or branch that was replaced gets nothing;
//! 2. after publishing. When the place has become another's, the snapshot has gone along with its own table, and what it names
//!    stays: a renamed table or branch has it as a version. Where it lies in a place that is not its own (a fast-forward took
//!    its schema away), it is taken back ([`super::taken_back`]).
//!
//! Both times the newest schema is looked at, too: options that are fixed in a table with snapshots must be there as the files
//! of the commit were made with. They may have changed before the first snapshot ([`crate::schema::fixed_option_changed`]); where
//! the version before was made under the writer's schema, or one that has them so, they have not. Commits that
//! mark rows as deleted ask whether deletion vectors are still switched on, too: without them the rows would be there again.
//!
//! An alter of what levels mean counts once it has seen no file in level 0. A commit to level 0 looks, after publishing, for such a schema
//! behind the one that its snapshot names: it gives way to one that counts, and comes again ([`keeps_level_0`]). Readers may have seen it
//! then: so a commit that finds such an alter at work before it publishes waits for its end ([`newest_beside_alters`]).

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use super::{
    buckets::check_number_is_newest,
    changes::FileChanges,
    standing::Attempt,
    taken_back::{stays, take_back},
};
use crate::{
    cleanup::upkeep_lock,
    error::{Error, ErrorKind, Result},
    fs::read_json,
    io::TableContext,
    manifest::{DataFileMeta, EntryKind, ManifestStore},
    scan::{EntryFilter, live_entries},
    schema::{
        SchemaManager, TableSchema, VECTORS, fixed_option_changed, level_0_counts, levels_option_changed,
        rows_option_changed, switches_vectors_off,
    },
    snapshot::{RemovedSnapshot, Snapshot, SnapshotManager, Standing, UpkeepLock, is_main},
};

/// What is found where a writer was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    /// The table or branch with the writer's schema.
    Ours,
    /// No schema at all.
    Nothing,
    /// Other schemas.
    Others,
}

/// An error when the table or branch that `ctx` was opened on, or its schema, is not there any more; nothing was committed.
///
/// # Errors
/// `TableNotFound`, `BranchNotFound`: it was dropped or renamed; `CommitConflict`: something else is in its place.
pub fn check_place(ctx: &TableContext) -> Result<()> {
    check_place_of(ctx, Fixed::Unknown)
}

/// [`check_place`]; the number of the newest schema, where it is the writer's own.
pub(super) fn newest_in_place(ctx: &TableContext) -> Result<Option<i64>> {
    check_place_of(ctx, Fixed::Known)?;
    let newest = schemas(ctx).ids()?.last().copied();
    if newest == Some(ctx.schema.id) {
        return Ok(newest);
    }
    check_place_of(ctx, Fixed::Unknown).map(|()| None)
}

/// The number of the newest schema for a commit to level 0, after the alter has ended that is about to make it count. One that does not end
/// keeps nobody from writing.
pub(super) fn newest_beside_alters(ctx: &TableContext) -> Result<Option<i64>> {
    let schemas = schemas(ctx);
    let Some(newest) = schemas.newest()? else { return Ok(None) };
    if !newest.is_pending() || ctx.fs.is_served() {
        return Ok(Some(newest.id));
    }
    if schemas.late_option(&newest)?.is_some() {
        match upkeep_lock(ctx) {
            Ok(lock) => drop(schemas.newest_in_time(&lock)?),
            Err(e) if e.kind() == ErrorKind::UpkeepRunning => {}
            Err(e) => return Err(e),
        }
    }
    Ok(schemas.latest()?.map(|newest| newest.id))
}

/// Why what is read under the name of `ctx` is another table's or branch's, or none's; `None`: it is the one that was opened.
pub fn replaced(ctx: &TableContext) -> Result<Option<Error>> {
    let (found, what) = (look(ctx)?, what(ctx));
    let text = match found {
        Found::Ours => return Ok(None),
        Found::Nothing => format!("the {what} was dropped or renamed while it was read"),
        Found::Others => format!(
            "the {what} was dropped and made again while it was read, or a fast-forward has replaced the schema that it was \
             opened with"
        ),
    };
    let error = Error::new(lost_kind(ctx), text).with("table", &ctx.name);
    Ok(Some(error.hint(format!("open the {what} again, and begin anew"))))
}

/// Whether another table or branch lies under the name of `ctx` by now.
pub fn is_of_another(ctx: &TableContext) -> Result<bool> {
    Ok(look(ctx)? == Found::Others)
}

/// Whether options that are fixed in a table with snapshots are those of a writer's schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fixed {
    /// The version before was made under this schema or an earlier one: they could not change since.
    Known,
    /// The newest schema tells.
    Unknown,
    /// The same of a commit that marks rows by deletion vectors, or has files of levels above 0: the newest schema must take
    /// these as the writer's does.
    Levels,
}

impl Fixed {
    pub(super) fn of(ctx: &TableContext, before: Option<&Snapshot>, changes: &FileChanges) -> Self {
        if changes.marks_rows() || (!ctx.schema.primary_keys.is_empty() && changes.raises_levels()) {
            return Self::Levels;
        }
        // the first one may be late itself ([`take_late_version`])
        let is_known = |before: &Snapshot| before.id > 1 && !is_redefined_since(ctx, before);
        if before.is_some_and(is_known) { Self::Known } else { Self::Unknown }
    }
}

/// Whether the writer's schema is older than that of a version, or has options otherwise that its files were made with.
fn is_redefined_since(ctx: &TableContext, before: &Snapshot) -> bool {
    let changed = |written: Arc<TableSchema>| fixed_option_changed(&written, &ctx.schema).is_some();
    if before.schema_id == ctx.schema.id {
        return false;
    }
    before.schema_id > ctx.schema.id || ctx.schemas.get(before.schema_id).map_or(true, changed)
}

/// [`check_place`] of a commit.
pub(super) fn check_place_of(ctx: &TableContext, fixed: Fixed) -> Result<()> {
    match look(ctx)? {
        Found::Ours if fixed == Fixed::Known => Ok(()),
        Found::Ours => changed_for_good(ctx, fixed)?.map_or(Ok(()), |option| Err(redefined(ctx, &option))),
        found => Err(displaced(ctx, found)),
    }
}

/// An error when files of a schema that is not the writer's own were made under other options than the table has.
///
/// # Errors
/// `CommitConflict`: an option that is fixed from the first snapshot on has changed since they were made.
pub(super) fn check_written_under<'a>(ctx: &TableContext, files: impl Iterator<Item = &'a DataFileMeta>) -> Result<()> {
    let ids: BTreeSet<i64> = files.map(|file| file.schema_id).filter(|id| *id != ctx.schema.id).collect();
    for id in ids {
        if let Some(option) = fixed_option_changed(&*ctx.schemas.get(id)?, &ctx.schema) {
            return Err(redefined(ctx, &option));
        }
    }
    Ok(())
}

/// Why reading or writing files of a table failed: when the table is not there any more, that is it.
pub fn explain_by_place(ctx: &TableContext, error: Error) -> Error {
    match explain(ctx, false) {
        Some(displaced) => displaced.caused_by(error),
        None => error,
    }
}

/// To be asked when the file of a snapshot that was published is found to be another's: ours may have gone with its table.
///
/// # Errors
/// `TableNotFound`, `BranchNotFound`: the place is another's, and it is not known where the snapshot is.
pub(super) fn check_lost(ctx: &TableContext) -> Result<()> {
    match look(ctx)? {
        Found::Ours => Ok(()),
        found if was_late(ctx)? => Err(displaced(ctx, found)),
        _ => Err(moved(ctx)),
    }
}

/// Whether the undecided schema that the writer was opened with came too late, and was taken away from the same table.
fn was_late(ctx: &TableContext) -> Result<bool> {
    if !ctx.schema.is_pending() {
        return Ok(false);
    }
    let schemas = schemas(ctx);
    let before = schemas.ids()?.into_iter().rfind(|id| *id < ctx.schema.id);
    // that of a table which was made since would be younger
    before.map_or(Ok(false), |id| Ok(schemas.get(id)?.time_millis <= ctx.schema.time_millis))
}

/// Why a commit failed, when that is because its place has become another's; `in_doubt`: it may have been published before.
pub(super) fn explain(ctx: &TableContext, in_doubt: bool) -> Option<Error> {
    match look(ctx) {
        Ok(Found::Ours) => {
            let option = changed_option(ctx, Fixed::Unknown, None).ok().flatten()?;
            Some(if in_doubt { redefined_in_doubt(ctx, &option) } else { redefined(ctx, &option) })
        }
        Err(_) => None,
        Ok(_) if in_doubt && !was_late(ctx).unwrap_or(false) => Some(moved(ctx)),
        Ok(found) => Some(displaced(ctx, found)),
    }
}

/// What became of a snapshot that was published.
#[derive(Debug)]
pub(super) enum Kept {
    /// It is where it belongs.
    Here,
    /// Its schema had been taken away, or options that were free until then have changed, or the number of buckets: it is no
    /// version any more. Others may have seen it.
    TakenBack,
    /// The same, and others rely on it: it stays, and why.
    Stays(Error),
    /// It was none of the versions, or nobody knows, whatever its place says.
    Stands(Standing),
}

/// Looks again after a snapshot was published.
///
/// # Errors
/// `TableNotFound`, `BranchNotFound`: the place is another's, and the snapshot is not in it. It is not known whether it is in a
/// table or branch with another name.
pub(super) fn look_again(ctx: &TableContext, snapshots: &SnapshotManager, attempt: &Attempt) -> Result<Kept> {
    let complete = is_complete(ctx, attempt, None)?;
    if complete && keeps_level_0(ctx, attempt, None)? {
        return Ok(Kept::Here);
    }
    // whoever renames, drops or goes forward has it, and whoever alters what levels mean
    let lock = match upkeep_lock(ctx) {
        // one that does not end keeps nobody from writing
        Err(e) if complete && e.kind() == ErrorKind::UpkeepRunning => return Ok(Kept::Here),
        Err(e) if is_lost(&e) => return Err(moved(ctx)),
        lock => lock?,
    };
    let complete = is_complete(ctx, attempt, Some(&lock))?;
    if complete && keeps_level_0(ctx, attempt, Some(&lock))? {
        return Ok(Kept::Here);
    }
    match take_back(ctx, snapshots, &lock, attempt)? {
        // what it was to give way to counts by now, and others have built on it
        Kept::Stays(_) if complete => Ok(Kept::Here),
        Kept::Stays(why) if attempt.number && !has_newest_number(ctx, &attempt.snapshot)? => {
            Ok(Kept::Stays(in_old_buckets(ctx, &attempt.snapshot).caused_by(why)))
        }
        kept => Ok(kept),
    }
}

/// Takes a version back that came about after a fixed option was changed, and whose writer was killed before it could; `false`:
/// it counts.
///
/// # Errors
/// `Storage`: it stays, because others rely on it, and nothing can be built on it.
pub(super) fn take_late_version(ctx: &TableContext, snapshots: &SnapshotManager, version: &Snapshot) -> Result<bool> {
    if version.id > 1 && !is_redefined_since(ctx, version) || ctx.fs.is_served() {
        return Ok(false);
    }
    if !schemas(ctx).is_late_version(version)? {
        return Ok(false);
    }
    let lock = upkeep_lock(ctx)?;
    take_late_version_with(&lock, ctx, snapshots, version)
}

/// The same, with the lock.
pub(super) fn take_late_version_with(
    lock: &UpkeepLock,
    ctx: &TableContext,
    snapshots: &SnapshotManager,
    version: &Snapshot,
) -> Result<bool> {
    if !schemas(ctx).is_late_version(version)? {
        return Ok(false);
    }
    let base = version.id.checked_sub(1).map_or_else(|| Ok(Vec::new()), |before| snapshots.existing([before]))?;
    let base = base.first().map(RemovedSnapshot::from);
    let removals = snapshots.removals().read()?;
    // records from before the version say nothing about it: first ones before it may have been taken back, too
    let known = match removals.known(version) {
        Some(known) => known,
        None if removals.count == 0 => 0,
        None => return Err(stays(ctx, version, "another program has written it")),
    };
    let attempt =
        Attempt { snapshot: version.clone(), base, fixed: Fixed::Unknown, known, number: false, level_0: false };
    match take_back(ctx, snapshots, lock, &attempt)? {
        Kept::Stays(why) => Err(why),
        _ if !snapshots.has_version(version)? => Ok(true),
        // a fast-forward that has not ended may have it yet
        _ if snapshots.removals().read()?.forward_to().is_some() => Ok(false),
        _ => Err(stays(ctx, version, "it is there, although a record says that it was taken back")),
    }
}

/// Whether an error says that a commit may be in a table or branch that has another name now.
pub(super) fn is_lost(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::TableNotFound | ErrorKind::BranchNotFound)
}

/// The place is the writer's, with the options that its files were made with, and has the schema that the snapshot names.
fn is_complete(ctx: &TableContext, attempt: &Attempt, held: Option<&UpkeepLock>) -> Result<bool> {
    let (own, fixed) = (&attempt.snapshot, attempt.fixed);
    if look(ctx)? != Found::Ours {
        return Ok(false);
    }
    if fixed != Fixed::Known {
        match changed_option(ctx, fixed, held) {
            Ok(None) => {}
            Err(e) if e.kind() != ErrorKind::CommitConflict && !is_lost(&e) => return Err(e),
            _ => return Ok(false),
        }
    }
    if attempt.number && !has_newest_number(ctx, own)? {
        return Ok(false);
    }
    Ok(own.schema_id == ctx.schema.id || ctx.fs.is_file(&schemas(ctx).path(own.schema_id))?)
}

/// Whether no alter of what levels mean came between a commit to level 0 and the schema that its snapshot names: an alter that has
/// looked at the levels before the commit counts without another look.
fn keeps_level_0(ctx: &TableContext, attempt: &Attempt, held: Option<&UpkeepLock>) -> Result<bool> {
    let (schemas, own) = (schemas(ctx), attempt.snapshot.schema_id);
    if !attempt.level_0 || schemas.ids()?.last().is_none_or(|newest| *newest <= own) {
        return Ok(true);
    }
    let newest = match held {
        Some(lock) => schemas.newest_in_time(lock)?,
        None => schemas.newest()?,
    };
    let Some(newest) = newest.filter(|newest| newest.id > own) else { return Ok(true) };
    // what does not count was not looked for
    let counts = |option| level_0_counts(option, &newest, own);
    Ok(!rows_option_changed(&*schemas.get(own)?, &newest)?.map_or(Ok(false), counts)?)
}

/// Whether a snapshot with the first rows has the number of buckets that the newest schema says: a rescale that has seen no rows has nothing
/// to publish. Where one that has seen them is behind it, or another one that has taken them away, none has the old number any more.
fn has_newest_number(ctx: &TableContext, own: &Snapshot) -> Result<bool> {
    let Some(newest) = schemas(ctx).newest()?.filter(|newest| newest.id > own.schema_id) else { return Ok(true) };
    let store = ManifestStore::new(&ctx.fs, &ctx.paths, &ctx.options)?;
    let delta = store.read_all(&store.read_list(own.delta_list())?, &|_| true)?;
    match check_number_is_newest(ctx, &newest, None, &delta) {
        Err(e) if e.kind() == ErrorKind::CommitConflict => {}
        checked => return checked.map(|()| true),
    }
    let latest = SnapshotManager::new(ctx.fs.clone(), &ctx.branch_root()).latest_by_records()?;
    let Some(latest) = latest.filter(|latest| latest.id > own.id) else { return Ok(false) };
    let added = delta.iter().filter(|e| e.kind == EntryKind::Add);
    let numbers: HashMap<&[u8], i32> = added.map(|e| (e.partition.as_slice(), e.total_buckets)).collect();
    let partitions = numbers.keys().map(|partition| partition.to_vec()).collect();
    let filter = EntryFilter { partitions: Some(partitions), ..EntryFilter::without_statistics() };
    let live = live_entries(ctx, &latest, &filter)?;
    Ok(!live.iter().any(|e| numbers.get(e.partition.as_slice()) == Some(&e.total_buckets)))
}

fn look(ctx: &TableContext) -> Result<Found> {
    let schemas = schemas(ctx);
    let path = schemas.path(ctx.schema.id);
    match read_json(&*ctx.fs, &path) {
        Ok(bytes) => {
            let ours = is_same(&TableSchema::from_json(&path, &bytes)?, &ctx.schema) && was_written_then(ctx, &path)?;
            Ok(if ours { Found::Ours } else { Found::Others })
        }
        Err(e) if e.kind() == ErrorKind::FileNotFound => {
            Ok(if schemas.ids()?.is_empty() { Found::Nothing } else { Found::Others })
        }
        Err(e) => Err(e),
    }
}

/// Whether the schema file is the very one that the branch was opened with.
fn was_written_then(ctx: &TableContext, path: &str) -> Result<bool> {
    match ctx.written.as_ref().filter(|written| written.path == path) {
        None => Ok(true),
        Some(written) => Ok(ctx.fs.status(path)?.is_some_and(|file| file.modified_millis == written.millis)),
    }
}

/// [`changed_option`] after a schema that came too late was taken away. While another one has the lock, nobody knows, and it
/// counts.
fn changed_for_good(ctx: &TableContext, fixed: Fixed) -> Result<Option<String>> {
    let changed = changed_option(ctx, fixed, None)?;
    if changed.is_none() || !schemas(ctx).newest()?.is_some_and(|newest| newest.is_pending()) {
        return Ok(changed);
    }
    match upkeep_lock(ctx) {
        Ok(lock) => changed_option(ctx, fixed, Some(&lock)),
        Err(e) if e.kind() == ErrorKind::UpkeepRunning => Ok(changed),
        Err(e) => Err(e),
    }
}

/// The fixed option of the newest schema that the writer's own has otherwise. `held`: the caller has the lock, and one that came
/// too late is taken away first.
fn changed_option(ctx: &TableContext, fixed: Fixed, held: Option<&UpkeepLock>) -> Result<Option<String>> {
    let schemas = schemas(ctx);
    let newest = match held {
        Some(lock) => schemas.newest_in_time(lock)?,
        None => schemas.newest()?,
    };
    match newest {
        Some(newest) if newest.id == ctx.schema.id && newest.is_pending() => schemas.late_option(&newest),
        Some(newest) if newest.id != ctx.schema.id => match schemas.get(ctx.schema.id) {
            Ok(own) if fixed == Fixed::Levels && switches_vectors_off(&own, &newest)? => Ok(Some(VECTORS.to_owned())),
            Ok(own) => {
                let levels = if fixed == Fixed::Levels { levels_option_changed(&own, &newest)? } else { None };
                Ok(levels.map(str::to_owned).or_else(|| fixed_option_changed(&own, &newest)))
            }
            // it was there a moment ago
            Err(e) if e.kind() == ErrorKind::FileNotFound => Err(displaced(ctx, look(ctx)?).caused_by(e)),
            Err(e) => Err(e),
        },
        _ => Ok(None),
    }
}

/// Options do not tell schemas apart: a handle may have others on top.
fn is_same(stored: &TableSchema, own: &TableSchema) -> bool {
    (stored.id, stored.time_millis) == (own.id, own.time_millis)
        && stored.fields == own.fields
        && stored.partition_keys == own.partition_keys
        && stored.primary_keys == own.primary_keys
}

fn schemas(ctx: &TableContext) -> SchemaManager {
    SchemaManager::new(ctx.fs.clone(), &ctx.branch_root())
}

fn displaced(ctx: &TableContext, found: Found) -> Error {
    let what = what(ctx);
    let (kind, text) = match found {
        Found::Others if was_late(ctx).unwrap_or(false) => (
            ErrorKind::CommitConflict,
            format!("the schema that the {what} was opened with came too late, and was taken away"),
        ),
        Found::Others => (
            ErrorKind::CommitConflict,
            format!(
                "the {what} was dropped and made again while it was open, or a fast-forward has replaced the schema that it \
                 was opened with"
            ),
        ),
        Found::Ours | Found::Nothing => {
            (lost_kind(ctx), format!("the {what} was dropped or renamed while it was open"))
        }
    };
    Error::new(kind, text)
        .of_old_handle()
        .with("table", &ctx.name)
        .hint(format!("open the {what} again and write the rows again; nothing was committed"))
}

/// The table is the same one, and its data files are made otherwise now.
fn redefined(ctx: &TableContext, option: &str) -> Error {
    let what = what(ctx);
    let text = format!("'{option}' of the {what} was changed since the rows of the commit were written");
    Error::new(ErrorKind::CommitConflict, text)
        .of_old_handle()
        .with("table", &ctx.name)
        .with("option", option)
        .hint(format!("open the {what} again and write the rows again; nothing was committed"))
}

/// The first rows of the table are in buckets of a number that has changed meanwhile, and others have built on them.
fn in_old_buckets(ctx: &TableContext, own: &Snapshot) -> Error {
    let text = "the option 'bucket' was changed while the first rows were published, and others rely on them: the rows are in the \
                table, in buckets of the old number, and no more can be written beside them";
    Error::new(ErrorKind::Storage, text)
        .with("table", &ctx.name)
        .with("option", "bucket")
        .with("snapshot", own.id)
        .hint("Do not delete the files, and do not write the rows again: t.rescale(), with the number of the option, puts them into new buckets.")
}

/// A fixed option has changed, and a snapshot may be there that could not be taken back.
fn redefined_in_doubt(ctx: &TableContext, option: &str) -> Error {
    let text =
        format!("'{option}' was changed while a commit was published: it is not known whether it is in the table");
    Error::new(ErrorKind::Storage, text)
        .with("table", &ctx.name)
        .with("option", option)
        .hint("Do not delete the files. Look whether the rows are in the table before you write them again.")
}

/// The place is another's after something may have been published.
pub(super) fn moved(ctx: &TableContext) -> Error {
    let what = what(ctx);
    let text = format!(
        "the {what} was renamed, dropped or replaced while a commit was published: it is not known whether the commit is in it"
    );
    Error::new(lost_kind(ctx), text).with("table", &ctx.name).hint(format!(
        "Do not delete the files. Where the {what} has another name now, look for the rows there before you write them again."
    ))
}

fn lost_kind(ctx: &TableContext) -> ErrorKind {
    if is_main(&ctx.branch) { ErrorKind::TableNotFound } else { ErrorKind::BranchNotFound }
}

fn what(ctx: &TableContext) -> &'static str {
    if is_main(&ctx.branch) { "table" } else { "branch" }
}
