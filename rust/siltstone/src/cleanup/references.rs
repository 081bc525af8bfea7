//! Everything that the versions of a table refer to: which names are in use.
//!
//! ```text
//! branch ─ snapshots  data of the first, what each later one added, its changelog, its metadata
//!        ─ tags       data and metadata
//!        ─ changelogs changelog files and their metadata; with decoupled changelogs also what each one added
//! ```

use std::collections::HashSet;

use super::{ManifestCache, MetaParts, metadata_names, tagged::living_tags};
use crate::{
    error::{Error, ErrorKind, Result},
    io::TableContext,
    manifest::{EntryKind, ManifestEntry},
    path::branch_root,
    snapshot::{ChangelogManager, ReleasedVersions, Snapshot, SnapshotManager, TagManager},
};

/// The versions of one branch.
#[derive(Clone, Debug, Default)]
pub struct Roots {
    /// Ascending by id.
    pub snapshots: Vec<Snapshot>,
    /// Snapshot files that are no versions: they are going, or came too late. Their writers may use the files again.
    pub aside: Vec<Snapshot>,
    /// By id, then name.
    pub tags: Vec<(String, Snapshot)>,
    /// What tags kept whose deletion is at work, or died.
    pub released: Vec<Snapshot>,
    /// Long-lived changelogs, ascending.
    pub changelogs: Vec<Snapshot>,
}

impl Roots {
    /// Reads all versions of a branch; snapshots that expire meanwhile are left out.
    ///
    /// # Errors
    /// A file that is not a snapshot's or tag's JSON, or a branch that has no version any more and had some: what it needs is not
    /// known, so nothing may be deleted.
    pub fn of(ctx: &TableContext, branch: &str) -> Result<Self> {
        let root = branch_root(&ctx.location, branch);
        let manager = SnapshotManager::new(ctx.fs.clone(), &root);
        let line = manager.ids().map_err(unreadable)?;
        let listed = manager.existing(manager.listed_ids()?).map_err(unreadable)?;
        let (snapshots, aside): (Vec<Snapshot>, _) =
            listed.into_iter().partition(|snapshot| line.contains(&snapshot.id));
        if snapshots.is_empty() {
            manager.latest().map_err(unreadable)?;
        }
        let tags = living_tags(ctx, &TagManager::new(ctx.fs.clone(), &root), &manager).map_err(unreadable)?;
        let changelogs = ChangelogManager::new(ctx.fs.clone(), &root).list().map_err(unreadable)?;
        // after the tags: a tag that was not there any more was recorded before it went
        let released = ReleasedVersions::new(ctx.fs.clone(), &root).list().map_err(unreadable)?;
        let released = released.into_iter().map(|released| released.snapshot).collect();
        Ok(Self { snapshots, aside, tags, released, changelogs })
    }

    /// Whether nothing is there that names files.
    pub fn is_empty(&self) -> bool {
        self.snapshots.is_empty() && self.aside.is_empty() && self.tags.is_empty() && self.changelogs.is_empty()
    }
}

fn unreadable(e: Error) -> Error {
    e.hint("repair or remove this file first: what it refers to cannot be known, so nothing is deleted")
}

/// Names of files in use. Names are unique in a table, so directories do not matter.
#[derive(Clone, Debug, Default)]
pub struct References {
    /// Data, changelog and extra files.
    pub data: HashSet<String>,
    /// Manifests, lists, index files, statistics.
    pub meta: HashSet<String>,
}

impl References {
    /// Adds everything that a branch's versions refer to. A snapshot that expires while it is read is left out.
    pub fn add_branch(&mut self, ctx: &TableContext, cache: &ManifestCache, roots: &Roots) -> Result<()> {
        let mut previous: Option<i64> = None;
        for snapshot in &roots.snapshots {
            let follows = previous.is_some_and(|id| id + 1 == snapshot.id);
            let added = if follows { self.add_delta(cache, snapshot) } else { self.add_live(cache, snapshot) };
            previous = Some(snapshot.id);
            let rest = added.and_then(|()| {
                self.add_changelog(cache, snapshot)?;
                self.add_meta(ctx, cache, snapshot, MetaParts::ALL)
            });
            if let Err(e) = rest {
                let manager = ctx.snapshots();
                if e.kind() != ErrorKind::FileNotFound || manager.exists(snapshot.id)? {
                    return Err(e);
                }
                previous = None;
            }
        }
        // whole, whatever the versions before it say
        if let Some(latest) = roots.snapshots.last().filter(|_| previous.is_some()) {
            self.add_live(cache, latest)?;
        }
        for snapshot in roots.aside.iter().chain(&roots.released) {
            let added = self.add_live(cache, snapshot).and_then(|()| self.add_changelog(cache, snapshot));
            match added.and_then(|()| self.add_meta(ctx, cache, snapshot, MetaParts::ALL)) {
                // an expiry, or the deletion of a tag, has taken part of it
                Err(e) if e.kind() == ErrorKind::FileNotFound => {}
                other => other?,
            }
        }
        let alive: HashSet<&str> = roots.snapshots.iter().map(|s| s.base_manifest_list.as_str()).collect();
        for (_, tagged) in roots.tags.iter().filter(|(_, t)| !alive.contains(t.base_manifest_list.as_str())) {
            self.add_live(cache, tagged)?;
            self.add_meta(ctx, cache, tagged, MetaParts { changelog: false, ..MetaParts::ALL })?;
        }
        roots.changelogs.iter().try_for_each(|changelog| self.add_long_lived(ctx, cache, changelog))
    }

    /// Adds what others refer to.
    pub fn extend(&mut self, other: Self) {
        self.data.extend(other.data);
        self.meta.extend(other.meta);
    }

    fn add_live(&mut self, cache: &ManifestCache, snapshot: &Snapshot) -> Result<()> {
        cache.visit_live(snapshot, &mut |entry| self.add_file(entry))
    }

    /// What a snapshot adds to the one before it.
    fn add_delta(&mut self, cache: &ManifestCache, snapshot: &Snapshot) -> Result<()> {
        let manifests = cache.store().read_list(snapshot.delta_list())?;
        self.add_all(cache, &manifests)
    }

    fn add_all(&mut self, cache: &ManifestCache, manifests: &[crate::manifest::ManifestFileMeta]) -> Result<()> {
        for part in cache.entries(manifests)? {
            part.iter().filter(|entry| entry.kind == EntryKind::Add).for_each(|entry| self.add_file(entry));
        }
        Ok(())
    }

    /// A changelog whose list is gone needs nothing: it expired before its snapshot was restored from a tag.
    fn add_changelog(&mut self, cache: &ManifestCache, snapshot: &Snapshot) -> Result<()> {
        let Some(list) = snapshot.changelog_list() else { return Ok(()) };
        match cache.store().read_list(list) {
            Err(e) if e.kind() == ErrorKind::FileNotFound => Ok(()),
            manifests => self.add_all(cache, &manifests?),
        }
    }

    /// A changelog without changelog files is the delta: its files stay, too, but for those that compactions wrote. Its lists
    /// may have gone with the snapshot.
    fn add_long_lived(&mut self, ctx: &TableContext, cache: &ManifestCache, changelog: &Snapshot) -> Result<()> {
        let own = changelog.changelog_manifest_list.is_some();
        if own {
            self.add_changelog(cache, changelog)?;
        } else {
            let entries = cache.entries_of_list(changelog.delta_list())?;
            entries.iter().filter(|entry| entry.is_change()).for_each(|entry| self.add_file(entry));
        }
        let parts = MetaParts { data: !own, changelog: own, index: false, tolerant: !own };
        self.add_meta(ctx, cache, changelog, parts)
    }

    fn add_meta(
        &mut self,
        ctx: &TableContext,
        cache: &ManifestCache,
        snapshot: &Snapshot,
        parts: MetaParts,
    ) -> Result<()> {
        self.meta.extend(metadata_names(ctx, cache.store(), snapshot, parts)?);
        Ok(())
    }

    fn add_file(&mut self, entry: &ManifestEntry) {
        self.data.insert(entry.file.file_name.clone());
        self.data.extend(entry.file.extra_files.iter().cloned());
    }
}

/// What the long-lived changelogs of the table's branch refer to.
pub fn long_lived(ctx: &TableContext, cache: &ManifestCache) -> Result<References> {
    let mut found = References::default();
    for changelog in ctx.changelogs().list().map_err(unreadable)? {
        found.add_long_lived(ctx, cache, &changelog)?;
    }
    Ok(found)
}

/// What the *other* branches refer to; `None` when there are none. Files are shared between branches, and an expiry of
/// one must not take what another one needs.
pub fn referenced_by_other_branches(ctx: &TableContext, cache: &ManifestCache) -> Result<Option<References>> {
    referenced_by_other_branches_but(ctx, cache, None)
}

/// [`referenced_by_other_branches`] as it is when the branch `gone` is not there.
pub fn referenced_by_other_branches_but(
    ctx: &TableContext,
    cache: &ManifestCache,
    gone: Option<&str>,
) -> Result<Option<References>> {
    let mut branches = ctx.branches().names()?;
    branches.push("main".to_owned());
    branches.retain(|name| *name != ctx.branch && Some(name.as_str()) != gone);
    if branches.is_empty() {
        return Ok(None);
    }
    let mut found = References::default();
    for branch in branches {
        let other = TableContext { branch: branch.clone(), ..ctx.clone() };
        found.add_branch(&other, cache, &Roots::of(&other, &branch)?)?;
    }
    Ok(Some(found))
}
