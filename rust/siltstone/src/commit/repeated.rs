//! Messages that were handed out may be committed twice, at the same time or one after the other: by a job that was started
//! again while the first one still runs, for example.
//!
//! ```text
//! commit A   reads the table … looks at its files …                                        … publishes
//! commit B        commits the same files, a compaction takes them out, an expiry deletes them
//! ```
//!
//! Whoever commits them second must not name them again, nor what the one has compacted and the other has not: an overwrite may
//! leave out new files that a compaction of the same messages has replaced ([`super::squash`]). Each try looks, after it has read the table, for a snapshot that has
//! added one of its files; whoever is first after that look takes the id that this try wants. A snapshot that an expiry deletes
//! goes after the data files that go with it: so the search takes what is there of expired ones, too, and only then looks
//! whether the files exist. Other branches are asked in the same way where they may have the files: a fast-forward gives main what a
//! branch committed, and a branch that is renamed takes it along. What is no version and was none, as it came too late or was rolled back, has committed nothing; nor
//! has what this very call has made, once it is known not to be in the line.

use std::collections::HashSet;

use rayon::prelude::*;

use super::{
    TableCommit,
    abort::{Search, Strays, Unused, for_other_branches},
    changes::{FileChanges, brought_by},
    plan::Source,
    publish::Tries,
    request::{Request, Since, still_there},
    standing::stands,
};
use crate::{
    cancel,
    error::{Error, ErrorKind, Result},
    io::TableContext,
    manifest::{EntryKind, ManifestEntry, ManifestStore},
    path::branch_root,
    snapshot::{CommitKind, Removals, RemovedSnapshot, Snapshot, SnapshotManager, Standing},
    threads::in_pool,
    wire::CommitMessage,
};

/// So many snapshots are searched at the same time.
const AT_ONCE: usize = 32;

/// An error when messages were committed before by snapshots that have expired since, as what tags, changelogs and branches keep
/// tells.
///
/// # Errors
/// `CommitConflict`.
fn check_not_kept(ctx: &TableContext, snapshots: &SnapshotManager, messages: &[CommitMessage]) -> Result<()> {
    // a compaction may name files that are there already: they only change their level
    let new: Vec<CommitMessage> =
        messages.iter().filter(|message| !message.data.new_files.is_empty()).cloned().collect();
    if new.is_empty() {
        return Ok(());
    }
    let unused = Unused::find(ctx, snapshots, &new, Strays::Ignored)?;
    let brought = brought_by(&new);
    let mut names = brought.iter().map(|entry| entry.file.file_name.as_str());
    names.find(|name| unused.knows(name)).map_or(Ok(()), |name| Err(repeated(ctx, name)))
}

/// Another call may be about to publish what the messages compact: their files stay.
fn repeated(ctx: &TableContext, name: &str) -> Error {
    Error::new(ErrorKind::CommitConflict, "a file that the commit adds was committed before")
        .with("table", &ctx.name)
        .with("file", name)
        .hint("the same messages were committed by another call: there is nothing left to do")
        .files_stay()
}

/// Nobody can tell whether the snapshot that names the files was a version.
fn perhaps_repeated(ctx: &TableContext, name: &str) -> Error {
    Error::new(
        ErrorKind::Storage,
        "it cannot be told any more whether a file that the commit adds was committed before",
    )
    .with("table", &ctx.name)
    .with("file", name)
    .hint("Do not delete the files. Look whether the rows are in the table before you write them again.")
}

/// The first of the ids that lead to the last one without a gap: only those are known to be all that came since.
fn first_without_gap(ids: &[i64]) -> Option<i64> {
    let mut first = *ids.last()?;
    for id in ids.iter().rev().skip(1).take_while(|id| **id < i64::MAX) {
        if id + 1 != first {
            break;
        }
        first = *id;
    }
    Some(first)
}

/// An error when another branch has a file that a commit adds: it goes with that branch's versions, whether they are being removed
/// or not, and nobody who removes them looks at this branch again.
///
/// # Errors
/// `CommitConflict`.
fn check_not_elsewhere(
    ctx: &TableContext,
    since: &Since,
    changes: &FileChanges,
    brought: &[ManifestEntry],
) -> Result<()> {
    // what only changes its level is in all branches that share it
    let taken = changes.files.iter().filter(|entry| entry.kind == EntryKind::Delete);
    let taken: HashSet<&str> = taken.map(|entry| entry.file.file_name.as_str()).collect();
    let adds = |entry: &&ManifestEntry| entry.kind == EntryKind::Add && !taken.contains(entry.file.file_name.as_str());
    let made = || changes.files.iter().filter(adds).chain(&changes.changelog).chain(brought).map(|entry| &entry.file);
    let index = changes.index.iter().filter(|entry| entry.kind == EntryKind::Add);
    for_other_branches(ctx, |branch| {
        if !since.may_know(&SnapshotManager::new(ctx.fs.clone(), &branch_root(&ctx.location, branch)))? {
            return Ok(());
        }
        let names = made().map(|file| &file.file_name).chain(index.clone().map(|entry| &entry.file_name));
        let search = Search::new(ctx, names.map(String::as_str).collect(), since.clone())?;
        if let Some(name) = search.found_in(branch)? {
            return Err(Error::new(ErrorKind::CommitConflict, "a file that the commit adds was committed to another branch")
                .with("table", &ctx.name)
                .with("file", name)
                .with("branch", branch)
                .hint("the same messages were committed before the branches parted or changed names: to have the rows here, too, write them again")
                .files_stay());
        }
        Ok(())
    })
}

/// What a search for files came to.
enum Searched {
    /// A version has them; the error that says so.
    Committed(Box<Snapshot>, Error),
    /// What has them may have been a version; the error that says so.
    Untold(Error),
    /// None has; the newest one that was looked at.
    UpTo(Option<RemovedSnapshot>),
}

impl TableCommit {
    /// An error when one of the files that a request adds has been committed before, or is gone; `false`: what had added it was taken back
    /// by its writer, and the look begins again.
    ///
    /// # Errors
    /// `CommitConflict`.
    pub(super) fn is_not_repeated(
        &self,
        request: &Request<'_>,
        store: &ManifestStore,
        tries: &mut Tries,
        removals: &Removals,
        latest: Option<&Snapshot>,
    ) -> Result<bool> {
        let (Some(since), Source::Files(changes) | Source::Overwrite { new: changes, .. }) =
            (request.since, request.source)
        else {
            return Ok(true);
        };
        let id = since.id(&self.snapshots)?;
        // what a compaction takes out must be there, so it cannot be committed twice
        let brought =
            if request.kind == CommitKind::Compact { Vec::new() } else { brought_by(&request.committable.messages) };
        check_not_elsewhere(&self.ctx, since, changes, &brought)?;
        self.check_not_kept_since(request, id, tries)?;
        let from = match &tries.searched {
            Some(searched) => still_there(&self.snapshots, searched)?.max(id),
            None => id,
        };
        let newest = match self.search(&brought, store, from, tries)? {
            Searched::Committed(found, error) => {
                // the files are its own
                let stays = self.theirs_stays(&found, removals, latest).map_err(Error::files_stay)?;
                return if stays { Err(error) } else { Ok(false) };
            }
            Searched::Untold(error) => return Err(error),
            Searched::UpTo(newest) => newest,
        };
        let added = changes.files.iter().filter(|entry| entry.kind == EntryKind::Add);
        let mut files = added.chain(&changes.changelog);
        // the files of a compaction go with the commit of the same messages that gives it up, which leaves no record
        if tries.searched_with != Some(removals.count) || request.kind == CommitKind::Compact {
            files.try_for_each(|entry| self.check_exists(entry))?;
        }
        tries.searched = newest.or(tries.searched.take());
        tries.searched_with = Some(removals.count);
        Ok(true)
    }

    /// Where the snapshots since the messages were handed out are not all there: what is kept of them; again when more have
    /// expired since the last try.
    fn check_not_kept_since(&self, request: &Request<'_>, since: i64, tries: &mut Tries) -> Result<()> {
        // the files of a compaction go with those of its append, which is committed by then
        if request.kind == CommitKind::Compact {
            return Ok(());
        }
        let first = first_without_gap(&self.snapshots.ids()?);
        if first.is_some_and(|first| first > since.saturating_add(1)) && tries.kept_before != first {
            check_not_kept(&self.ctx, &self.snapshots, &request.committable.messages)?;
            tries.kept_before = first;
        }
        Ok(())
    }

    /// Looks for a snapshot that has added one of these files.
    fn search(&self, added: &[ManifestEntry], store: &ManifestStore, after: i64, tries: &Tries) -> Result<Searched> {
        if added.is_empty() {
            return Ok(Searched::UpTo(None));
        }
        let names: HashSet<&str> = added.iter().map(|entry| entry.file.file_name.as_str()).collect();
        let partitions: HashSet<&[u8]> = added.iter().map(|entry| entry.partition.as_slice()).collect();
        let since_then: Vec<i64> =
            self.snapshots.listed_ids()?.into_iter().rev().take_while(|id| *id > after).collect();
        // what lies in a hole was listed after the record of that hole was written
        let removals = &self.snapshots.removals().read()?;
        let known = |snapshot: &Snapshot| {
            let Some(name) = known_to(&self.snapshots, snapshot, store, &names, &partitions)? else { return Ok(None) };
            Ok(match stands(&self.snapshots, removals, snapshot)? {
                Standing::Committed => {
                    let error = repeated(&self.ctx, &name).with("snapshot", snapshot.id);
                    Some(Searched::Committed(Box::new(snapshot.clone()), error))
                }
                Standing::Unknown => {
                    Some(Searched::Untold(perhaps_repeated(&self.ctx, &name).with("snapshot", snapshot.id)))
                }
                Standing::TooLate | Standing::RolledBack => None,
            })
        };
        let mut newest = None;
        for ids in since_then.chunks(AT_ONCE) {
            let mut snapshots = self.snapshots.existing(ids.iter().copied())?;
            snapshots.retain(|snapshot| !removals.is_rolled_back(snapshot) && !tries.made(snapshot));
            let versions = || snapshots.iter().rev().find(|snapshot| removals.admits(snapshot));
            newest = newest.or_else(|| versions().map(RemovedSnapshot::from));
            let known = cancel::carried(&known);
            let found: Vec<Option<Searched>> = in_pool(|| snapshots.par_iter().map(known).collect::<Result<_>>())?;
            if let Some(first) = found.into_iter().flatten().next() {
                return Ok(first);
            }
        }
        Ok(Searched::UpTo(newest))
    }

    fn check_exists(&self, entry: &ManifestEntry) -> Result<()> {
        let path = self.ctx.paths.data_file(&entry.partition, entry.bucket, &entry.file)?;
        if self.ctx.fs.is_file(&path)? {
            return Ok(());
        }
        Err(Error::new(ErrorKind::CommitConflict, "a file that the commit adds does not exist")
            .with("table", &self.ctx.name)
            .with("file", path)
            .hint(
                "it was deleted after it was written (an abort, a clean-up of orphan files, or an expiry after the same \
                 messages had been committed), or the messages belong to another table: write the rows again",
            ))
    }
}

/// One of these files, when a snapshot has added or removed it. Of one that is being removed, whose manifests are gone, nothing is known.
fn known_to(
    snapshots: &SnapshotManager,
    snapshot: &Snapshot,
    store: &ManifestStore,
    names: &HashSet<&str>,
    partitions: &HashSet<&[u8]>,
) -> Result<Option<String>> {
    let entries = store
        .read_list(snapshot.delta_list())
        .and_then(|manifests| store.read_all(&manifests, &|head| partitions.contains(head.partition)));
    let entries = match entries {
        Err(e) if e.kind() == ErrorKind::FileNotFound && !snapshots.is_version(snapshot)? => return Ok(None),
        entries => entries?,
    };
    // what a compaction took out has been committed before, too
    let ours = |entry: &ManifestEntry| names.contains(entry.file.file_name.as_str());
    Ok(entries.into_iter().find(ours).map(|entry| entry.file.into_inner().file_name))
}
