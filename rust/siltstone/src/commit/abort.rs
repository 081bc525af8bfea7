//! Deleting files that no snapshot refers to.
//!
//! A caller may be wrong about what was committed: the same messages may have been committed by another process, or
//! by a call whose answer was lost. So every version that can know the files is asked before anything is deleted: the
//! snapshots, what tags and long-lived changelogs keep of those that have expired, and all other branches, to which the files
//! may have come by a fast-forward, or because the branch has another name now.

use std::collections::HashSet;

use super::{request::Since, standing::stands};
use crate::{
    cleanup::{ManifestCache, References, Roots},
    error::{ErrorKind, Result},
    io::{TableContext, delete_data_file},
    manifest::{BucketId, DataFileMeta, IndexManifestEntry, ManifestStore},
    scan::{EntryFilter, live_entries, overtaken::at_newest},
    snapshot::{NamedList, Snapshot, SnapshotManager, Standing},
    wire::CommitMessage,
};

/// What a snapshot file of the branch means that was never part of the line, or was rolled back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strays {
    /// Its files are in use: its writer may commit them again.
    Count,
    /// It has committed nothing.
    Ignored,
}

/// Which files of messages that came to nothing are deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Made {
    /// Whatever the writers made.
    All,
    /// What their compactions made: the rows are committed.
    ByCompactions,
}

/// The storage, and the files that must stay.
#[derive(Debug)]
pub(super) struct Unused<'a> {
    ctx: &'a TableContext,
    used: HashSet<String>,
}

impl<'a> Unused<'a> {
    /// Looks which of the messages' files are in use.
    pub(super) fn find(
        ctx: &'a TableContext,
        snapshots: &SnapshotManager,
        messages: &[CommitMessage],
        strays: Strays,
    ) -> Result<Self> {
        at_newest(ctx, |newest| {
            let mut search = Search::of_messages(ctx, messages, strays)?;
            if search.names.is_empty() {
                return Ok(Self { ctx, used: search.used });
            }
            if let Some(newest) = newest {
                search.live(newest)?;
                search.history(snapshots)?;
            }
            search.kept()?;
            search.elsewhere()?;
            // a rollback and an expiry may both have been there since
            let now = snapshots.latest()?;
            if let (true, Some(now)) = (now.as_ref() != newest, &now) {
                search.live(now)?;
            }
            Ok(Self { ctx, used: search.used })
        })
    }

    /// Whether a version knows a file of the messages.
    pub(super) fn knows(&self, name: &str) -> bool {
        self.used.contains(name)
    }

    /// Files that the messages' writers made.
    pub(super) fn delete(&self, made: Made, messages: &[CommitMessage]) -> Result<()> {
        match made {
            Made::All => self.delete_all(messages),
            Made::ByCompactions => self.delete_compactions(messages),
        }
    }

    fn delete_all(&self, messages: &[CommitMessage]) -> Result<()> {
        for message in messages {
            let data = &message.data;
            self.delete_files(&message.bucket, data.made())?;
            self.delete_index_files(data.made_indexes())?;
        }
        self.delete_compactions(messages)
    }

    /// Files that the messages' compactions made.
    fn delete_compactions(&self, messages: &[CommitMessage]) -> Result<()> {
        for message in messages {
            let written: HashSet<&str> = message.data.new_files.iter().map(|file| file.file_name.as_str()).collect();
            let made = message.compact.made().filter(|file| !written.contains(file.file_name.as_str()));
            self.delete_files(&message.bucket, made)?;
            self.delete_index_files(message.compact.made_indexes())?;
        }
        Ok(())
    }

    fn delete_files<'f>(&self, bucket: &BucketId, files: impl Iterator<Item = &'f DataFileMeta>) -> Result<()> {
        let mut unused = files.filter(|file| !self.used.contains(&file.file_name));
        unused.try_for_each(|file| delete_data_file(self.ctx, &bucket.partition, bucket.bucket, file))
    }

    fn delete_index_files<'f>(&self, made: impl Iterator<Item = &'f IndexManifestEntry>) -> Result<()> {
        let mut unused = made.filter(|entry| !self.used.contains(&entry.file_name));
        unused.try_for_each(|entry| self.ctx.fs.delete(&self.ctx.paths.index_file_of(entry)?))
    }
}

/// Looks at all branches but that of the context, main among them; again when there are others by then: a branch that got another
/// name may have been seen under neither.
pub(super) fn for_other_branches(ctx: &TableContext, mut look: impl FnMut(&str) -> Result<()>) -> Result<()> {
    let branches = ctx.branches();
    let mut seen = HashSet::from([ctx.branch.clone()]);
    loop {
        let mut names = branches.names()?;
        names.push("main".to_owned());
        names.retain(|name| !seen.contains(name));
        if names.is_empty() {
            return Ok(());
        }
        names.iter().try_for_each(|name| look(name))?;
        seen.extend(names);
    }
}

/// Names of all files that the messages' writers made.
fn names(messages: &[CommitMessage]) -> impl Iterator<Item = &String> {
    messages.iter().flat_map(|message| {
        let (data, compact) = (&message.data, &message.compact);
        let files = data.made().chain(compact.made()).map(|file| &file.file_name);
        files.chain(data.made_indexes().chain(compact.made_indexes()).map(|entry| &entry.file_name))
    })
}

/// A search for files in the versions that can know them.
pub(super) struct Search<'a> {
    ctx: &'a TableContext,
    store: ManifestStore,
    names: HashSet<&'a str>,
    partitions: HashSet<Vec<u8>>,
    /// Before which snapshots nobody knows the files.
    since: Since,
    strays: Strays,
    used: HashSet<String>,
}

impl<'a> Search<'a> {
    fn of_messages(ctx: &'a TableContext, messages: &'a [CommitMessage], strays: Strays) -> Result<Self> {
        let search = Self::new(ctx, names(messages).map(String::as_str).collect(), Since::of_messages(messages))?;
        let partitions = messages.iter().map(|message| message.bucket.partition.clone()).collect();
        Ok(Self { partitions, strays, ..search })
    }

    /// A search in other branches.
    pub(super) fn new(ctx: &'a TableContext, names: HashSet<&'a str>, since: Since) -> Result<Self> {
        Ok(Self {
            ctx,
            store: ManifestStore::new(&ctx.fs, &ctx.paths, &ctx.options)?,
            names,
            partitions: HashSet::new(),
            since,
            strays: Strays::Count,
            used: HashSet::new(),
        })
    }

    fn live(&mut self, latest: &Snapshot) -> Result<()> {
        let filter = EntryFilter { partitions: Some(self.partitions.clone()), ..EntryFilter::without_statistics() };
        for entry in live_entries(self.ctx, latest, &filter)? {
            self.found(entry.file.into_inner().file_name);
        }
        Ok(())
    }

    /// Whatever a snapshot added or deleted since: a file that is not alive any more may still be read.
    fn history(&mut self, snapshots: &SnapshotManager) -> Result<()> {
        let mut index = None;
        let before = self.since.id(snapshots)?;
        let listed = snapshots.listed_ids()?;
        let removals = snapshots.removals().read()?;
        for id in listed.into_iter().rev().take_while(|id| *id > before) {
            // expired, as all before it, or a rollback has removed it, and those before it are there
            let Some(snapshot) = snapshots.existing([id])?.pop() else { continue };
            if self.strays == Strays::Ignored
                && matches!(stands(snapshots, &removals, &snapshot)?, Standing::TooLate | Standing::RolledBack)
            {
                continue;
            }
            match self.changes(&snapshot, &mut index) {
                // it is going
                Err(e) if e.kind() == ErrorKind::FileNotFound && !snapshots.is_version(&snapshot)? => {}
                read => read?,
            }
        }
        Ok(())
    }

    /// What tags and long-lived changelogs of the branch keep of snapshots that have expired.
    fn kept(&mut self) -> Result<()> {
        let roots = Roots::of(self.ctx, &self.ctx.branch)?;
        // those that are going were looked at before
        let aside = if self.strays == Strays::Ignored { Vec::new() } else { roots.aside };
        self.referred(&self.ctx.branch, Roots { snapshots: Vec::new(), aside, ..roots })
    }

    fn elsewhere(&mut self) -> Result<()> {
        let ctx = self.ctx;
        for_other_branches(ctx, |branch| self.referred(branch, Roots::of(ctx, branch)?))
    }

    /// A file that a version of this other branch knows.
    pub(super) fn found_in(mut self, branch: &str) -> Result<Option<String>> {
        self.referred(branch, Roots::of(self.ctx, branch)?)?;
        Ok(self.used.into_iter().min())
    }

    /// What these versions of a branch refer to. Of what is not in its line (tags, and what is going) the ids say nothing.
    fn referred(&mut self, branch: &str, mut roots: Roots) -> Result<()> {
        let of = TableContext { branch: branch.to_owned(), ..self.ctx.clone() };
        let before = self.since.id(&of.snapshots())?;
        roots.snapshots.retain(|snapshot| snapshot.id > before);
        roots.changelogs.retain(|changelog| changelog.id > before);
        let mut found = References::default();
        found.add_branch(&of, &ManifestCache::new(self.ctx)?, &roots)?;
        found.data.into_iter().chain(found.meta).for_each(|name| self.found(name));
        Ok(())
    }

    /// What a snapshot added or deleted. `index`: the index manifest that was read last.
    fn changes(&mut self, snapshot: &Snapshot, index: &mut Option<String>) -> Result<()> {
        self.list(snapshot.delta_list())?;
        if let Some(changelog) = snapshot.changelog_list() {
            self.list(changelog)?;
        }
        if snapshot.index_manifest != *index {
            self.index(snapshot.index_manifest.as_deref())?;
            index.clone_from(&snapshot.index_manifest);
        }
        Ok(())
    }

    fn list(&mut self, list: NamedList<'_>) -> Result<()> {
        let manifests = self.store.read_list(list)?;
        let entries = self.store.read_all(&manifests, &|head| self.partitions.contains(head.partition))?;
        for entry in entries {
            self.found(entry.file.into_inner().file_name);
        }
        Ok(())
    }

    fn index(&mut self, name: Option<&str>) -> Result<()> {
        if let Some(name) = name {
            for entry in self.store.read_index(name)? {
                self.found(entry.file_name);
            }
        }
        Ok(())
    }

    fn found(&mut self, name: String) {
        if self.names.contains(name.as_str()) {
            self.used.insert(name);
        }
    }
}
