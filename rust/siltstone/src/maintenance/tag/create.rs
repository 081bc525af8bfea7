//! Making, replacing and renaming tags.

use std::time::Duration;

use chrono::Local;

use super::delete::check_no_branch;
use crate::{
    cleanup::{Report, check_all_there, clean_released, release, settled_lock, upkeep_lock, with_effect},
    error::{Error, ErrorKind, Result},
    io::TableContext,
    scan::{VersionSelector, time_travel},
    snapshot::{Snapshot, SnapshotManager, Tag, TagManager, UpkeepLock, check_name, exists_already},
};

/// What to tag.
#[derive(Clone, Debug, Default)]
pub struct CreateTag {
    /// `Latest` is the latest snapshot, whatever the table's `scan.*` options say.
    pub version: VersionSelector,
    /// How long the tag is kept; `None`: as long as a tag that is replaced, else option `tag.default-time-retained`, else until it
    /// is deleted.
    pub retain: Option<Duration>,
    /// An existing tag of that name is fine, and stays as it is.
    pub if_not_exists: bool,
    /// A name of digits is fine. It hides the snapshot of that number from `VERSION AS OF '<digits>'`.
    pub allow_numeric: bool,
}

fn managers(ctx: &TableContext) -> (SnapshotManager, TagManager) {
    (ctx.snapshots(), ctx.tags())
}

/// Gives a snapshot a name; one small write, whatever the table's size.
///
/// # Errors
/// `InvalidArgument` for a name that cannot be one; `TagExists`; `SnapshotNotFound`, `SnapshotExpired` or `TagNotFound`
/// for the source; `UpkeepRunning` when its snapshot is being removed, and that does not end: the tag may be there.
pub fn create_tag(ctx: &TableContext, name: &str, request: &CreateTag) -> Result<Tag> {
    let (_, tags) = managers(ctx);
    check_new_name(name, request.allow_numeric)?;
    if tags.exists(name)? {
        return if request.if_not_exists {
            found(ctx, &tags, name, None)
        } else {
            Err(exists_already(name).with("table", &ctx.name))
        };
    }
    let retain = request.retain.or(ctx.options.tag_default_time_retained);
    let tag = Tag::new(source(ctx, &request.version)?, retain, Local::now().naive_local());
    publish(ctx, None, name, tag, request.if_not_exists)
}

/// Tags what a branch is made from, beside the making of the branch, which holds the table's lock. Such a tag has no retention:
/// other programs expire tags without looking at branches.
///
/// # Errors
/// Those of [`create_tag`].
pub(crate) fn create_fork_tag(
    ctx: &TableContext,
    lock: &UpkeepLock,
    name: &str,
    (branch, version): (&str, &VersionSelector),
) -> Result<Tag> {
    check_new_name(name, false)?;
    let (_, tags) = managers(ctx);
    if tags.exists(name)? {
        return Err(exists_already(name).with("table", &ctx.name));
    }
    let snapshot = source(ctx, version)?.keeping(branch);
    publish(ctx, Some(lock), name, Tag::new(snapshot, None, Local::now().naive_local()), false)
}

/// Publishes a tag, and takes it back when its source was removed meanwhile.
///
/// While no expiry is at work, none begins before the tag is there. Beside one the tag of a version is made all the same, and its
/// maker looks at the removal records afterwards: a record that is written after the tag belongs to an expiry that sees it; where
/// one was written before, and of what is no version any more, the files tell, with the lock ([`is_kept`]). `held`: the lock,
/// when the caller has it.
pub(super) fn publish(
    ctx: &TableContext,
    held: Option<&UpkeepLock>,
    name: &str,
    tag: Tag,
    if_not_exists: bool,
) -> Result<Tag> {
    let (snapshots, tags) = managers(ctx);
    ctx.remembered.change_upkeep(&ctx.branch, |known| known.no_timed_tags = None);
    let own = if held.is_none() { UpkeepLock::try_take(&ctx.fs, &ctx.location)? } else { None };
    let waits = held.is_none() && own.is_none() && !snapshots.keeps_version(&tag.snapshot)?;
    let waited = if waits { Some(upkeep_lock(ctx)?) } else { None };
    let lock = held.or(own.as_ref()).or(waited.as_ref());
    if lock.is_some() && !is_kept(ctx, &snapshots, &tag.snapshot, lock)? {
        return Err(expired(ctx, name, &tag.snapshot, "created"));
    }
    let made = || Ok(is_there(&tags, name, &tag)?.then(|| format!("tag '{name}' was created")));
    match tags.create(name, &tag, ctx.options.sync) {
        Err(e) if e.kind() == ErrorKind::TagExists && if_not_exists => return found(ctx, &tags, name, lock),
        Err(e) if e.kind() == ErrorKind::TagExists => return Err(e.with("table", &ctx.name)),
        created => with_effect(created, made)?,
    }
    if lock.is_some() || with_effect(snapshots.keeps_version(&tag.snapshot), made)? {
        return Ok(tag);
    }
    kept_or_taken_back(ctx, &tags, name, tag)
}

/// A tag that is there already, whose maker may not have looked yet, or have died before.
fn found(ctx: &TableContext, tags: &TagManager, name: &str, lock: Option<&UpkeepLock>) -> Result<Tag> {
    let tag = tags.tag(name)?;
    let (snapshots, _) = managers(ctx);
    if snapshots.keeps_version(&tag.snapshot)? {
        return Ok(tag);
    }
    let waited = if lock.is_none() { Some(upkeep_lock(ctx)?) } else { None };
    let there = tags.tag(name)?;
    if there == tag && is_kept(ctx, &snapshots, &tag.snapshot, lock.or(waited.as_ref()))? {
        return Ok(tag);
    }
    Err(expired(ctx, name, &tag.snapshot, "created").hint("delete the tag, and tag a newer snapshot"))
}

/// An error when a tag that something is made of keeps nothing: its maker died before it looked, or is about to take it back.
///
/// # Errors
/// `SnapshotExpired`.
pub(crate) fn check_kept(ctx: &TableContext, lock: &UpkeepLock, name: &str) -> Result<()> {
    let (snapshots, tags) = managers(ctx);
    let tagged = tags.get(name).map_err(|e| e.with("table", &ctx.name))?;
    if is_kept(ctx, &snapshots, &tagged, Some(lock))? { Ok(()) } else { Err(expired(ctx, name, &tagged, "created")) }
}

/// Whether a tag is there, with this content.
fn is_there(tags: &TagManager, name: &str, tag: &Tag) -> Result<bool> {
    Ok(tags.exists(name)? && tags.tag(name)? == *tag)
}

/// Whether the files of a snapshot stay when there is a tag of it: it is a version, or nobody deletes now and they are all there.
/// Another tag of it does not tell: its maker may not have looked yet, or somebody may be deleting it.
fn is_kept(
    ctx: &TableContext,
    snapshots: &SnapshotManager,
    snapshot: &Snapshot,
    lock: Option<&UpkeepLock>,
) -> Result<bool> {
    if snapshots.has_version(snapshot)? {
        return Ok(true);
    }
    // a tag that a rollback cut off goes
    if lock.is_none() || snapshots.removals().read()?.is_rolled_back(snapshot) {
        return Ok(false);
    }
    match check_all_there(ctx, snapshot) {
        Err(e) if e.kind() == ErrorKind::FileNotFound => Ok(false),
        there => there.map(|()| true).map_err(|e| e.in_table(&ctx.name)),
    }
}

/// A tag of a snapshot that has gone is worth waiting for whoever holds the lock, also after a commit, which waits for nobody
/// else.
const PATIENCE: Duration = Duration::from_secs(30);

/// A tag that was made just now, of what is no version any more: when the removal has ended, its files tell. Where it is taken
/// back, somebody may have replaced it: with the lock nobody can.
fn kept_or_taken_back(ctx: &TableContext, tags: &TagManager, name: &str, tag: Tag) -> Result<Tag> {
    let patience = ctx.options.upkeep_lock_timeout.max(PATIENCE);
    let lock =
        UpkeepLock::take(&ctx.fs, &ctx.location, patience).map_err(|e| undecided(ctx, name, &tag.snapshot, e))?;
    if !is_there(tags, name, &tag)? {
        return Err(expired(ctx, name, &tag.snapshot, "created"));
    }
    if is_kept(ctx, &managers(ctx).0, &tag.snapshot, Some(&lock))? {
        return Ok(tag);
    }
    tags.delete_file(name)?;
    Err(expired(ctx, name, &tag.snapshot, "created"))
}

/// A tag that is there: whoever removes its snapshot may have seen it, and keep its files.
fn undecided(ctx: &TableContext, name: &str, snapshot: &Snapshot, cause: Error) -> Error {
    let id = snapshot.id;
    let message =
        format!("tag '{name}' was created while snapshot {id} was removed: it is not known whether its files stay");
    Error::new(cause.kind(), message)
        .caused_by(cause)
        .with("table", &ctx.name)
        .with("tag", name)
        .hint("read the tag when the other job has ended, and delete it if it cannot be read")
}

fn expired(ctx: &TableContext, name: &str, snapshot: &Snapshot, done: &str) -> Error {
    let message = format!("snapshot {} was removed while tag '{name}' was {done}", snapshot.id);
    Error::new(ErrorKind::SnapshotExpired, message)
        .with("table", &ctx.name)
        .with("tag", name)
        .hint("tag another snapshot; where this one has expired, raise `snapshot.time-retained`")
}

/// The snapshot that a selector names, without the table's `scan.*` options. A tag of a tag is not for the branch of that one.
pub(super) fn source(ctx: &TableContext, version: &VersionSelector) -> Result<Snapshot> {
    let found = match version {
        VersionSelector::Latest => managers(ctx).0.latest()?,
        other => time_travel(ctx, other)?.1,
    };
    found.map(Snapshot::keeping_no_branch).ok_or_else(|| {
        Error::new(ErrorKind::SnapshotNotFound, "the table has no snapshot yet, there is nothing to tag")
            .with("table", &ctx.name)
            .hint("write rows first")
    })
}

fn check_new_name(name: &str, allow_numeric: bool) -> Result<()> {
    check_name("tag", name)?;
    if !allow_numeric && name.bytes().all(|b| b.is_ascii_digit()) {
        let message = format!("'{name}' cannot be the name of a tag: a version of digits is a snapshot id");
        return Err(Error::new(ErrorKind::InvalidArgument, message)
            .with("tag", name)
            .hint(format!("name it v{name}, or allow numeric names explicitly (allow_numeric=True)")));
    }
    Ok(())
}

/// Lets an existing tag name another snapshot, and deletes the files that only the old one kept. Without a retention in the request
/// the tag keeps the one that it has, counted from now; Java drops it.
///
/// # Errors
/// `TagNotFound` with the nearest name; `VersionInUse` while a branch was made from the tag, whose files nobody else keeps;
/// those of [`create_tag`] for the source.
pub fn replace_tag(ctx: &TableContext, name: &str, request: &CreateTag) -> Result<Tag> {
    let lock = settled_lock(ctx)?;
    let old = managers(ctx).1.tag(name).map_err(|e| e.with("table", &ctx.name))?;
    let snapshot = source(ctx, &request.version)?;
    let retain = request.retain.or(old.time_retained).or(ctx.options.tag_default_time_retained);
    let tag = Tag::new(snapshot, retain, Local::now().naive_local());
    replace_locked(ctx, &lock, name, &old.snapshot, &tag)?;
    Ok(tag)
}

/// [`replace_tag`] of whoever holds the lock: there is a tag of that name at every moment.
pub(super) fn replace_locked(
    ctx: &TableContext,
    lock: &UpkeepLock,
    name: &str,
    old: &Snapshot,
    tag: &Tag,
) -> Result<Report> {
    let (snapshots, tags) = managers(ctx);
    ctx.remembered.change_upkeep(&ctx.branch, |known| known.no_timed_tags = None);
    let is_another = !tag.snapshot.is_same_version(old);
    if is_another {
        check_no_branch(ctx, name, old, None)?;
        if !is_kept(ctx, &snapshots, &tag.snapshot, Some(lock))? {
            return Err(expired(ctx, name, &tag.snapshot, "replaced"));
        }
    }
    let released = if is_another { release(ctx, lock, name, old)? } else { None };
    let replaced = || Ok(is_there(&tags, name, tag)?.then(|| format!("tag '{name}' was replaced")));
    with_effect(tags.replace(name, tag), replaced)?;
    if is_another {
        with_effect(clean_released(ctx, name, old, released.as_ref()), replaced)
    } else {
        Ok(Report::default())
    }
}

/// Gives a tag another name. The new name is there before the old one goes, so its files are kept all the time. Where that
/// stopped half-way, the same call completes it, if the tag knows when it was made: two tags of one snapshot that do not
/// may both be wanted.
///
/// # Errors
/// `TagNotFound`, `TagExists`, `InvalidArgument` for a name that cannot be one; `SnapshotExpired`: files of the tag are gone.
pub fn rename_tag(ctx: &TableContext, from: &str, to: &str, allow_numeric: bool) -> Result<()> {
    check_new_name(to, allow_numeric)?;
    let (snapshots, tags) = managers(ctx);
    let lock = settled_lock(ctx)?;
    let tag = tags.tag(from).map_err(|e| e.with("table", &ctx.name))?;
    if !is_kept(ctx, &snapshots, &tag.snapshot, Some(&lock))? {
        return Err(expired(ctx, from, &tag.snapshot, "renamed"));
    }
    if tags.exists(to)? {
        // a rename that was cut short: both names, one content
        let interrupted = from != to && tags.tag(to)? == tag && tag.create_time.is_some();
        if !interrupted {
            return Err(exists_already(to).with("table", &ctx.name));
        }
    } else {
        with_effect(tags.create(to, &tag, ctx.options.sync), || renamed(&tags, from, to))?;
    }
    with_effect(tags.delete_file(from), || renamed(&tags, from, to))
}

/// How far a renaming came.
fn renamed(tags: &TagManager, from: &str, to: &str) -> Result<Option<String>> {
    Ok(match (tags.exists(from)?, tags.exists(to)?) {
        (false, true) => Some(format!("tag '{from}' was renamed to '{to}'")),
        (true, true) if from != to && tags.tag(from)? == tags.tag(to)? => {
            Some(format!("tag '{from}' has the name '{to}' as well: delete '{from}' to complete that"))
        }
        _ => None,
    })
}

/// The name of the tag before or after this one, by commit time; `None` at the ends.
///
/// # Errors
/// `TagNotFound`.
pub fn neighbour(ctx: &TableContext, name: &str, next: bool) -> Result<Option<String>> {
    let (_, tags) = managers(ctx);
    let own = tags.get(name).map_err(|e| e.with("table", &ctx.name))?;
    let place = |s: &Snapshot| (s.time_millis, s.id);
    let all = tags.list()?;
    let others = all.iter().filter(|(other, _)| other != name);
    let found = if next {
        others.filter(|(_, s)| place(s) > place(&own)).min_by_key(|(_, s)| place(s))
    } else {
        others.filter(|(_, s)| place(s) < place(&own)).max_by_key(|(_, s)| place(s))
    };
    Ok(found.map(|(name, _)| name.clone()))
}
