//! What one try changes, given the table as it is now, and whether that still fits.

use std::{borrow::Cow, collections::HashSet};

use super::{
    assigned::{Rewritten, settle},
    buckets::{self, BaseManifests},
    changes::{DELETION_VECTORS, FileChanges},
    columns::{check_columns_kept, merged_by},
    conflict::ConflictCheck,
    dropped::check_dropped_deletes,
    index_files::combine,
    lookup_conflict::check_unseen,
    moved_keys::check_places,
    overwrite::{self, Partitions},
    row_ranges,
    tied::check_ties,
};
use crate::{
    error::Result,
    io::{TableContext, check_merges_alike},
    manifest::{EntryId, EntryKind, IndexManifestEntry, ManifestEntry, ManifestStore},
    scan::{EntryFilter, check_index_kinds, has_hash_index, live_entries},
    snapshot::{CommitKind, Snapshot},
};

/// Where the changes come from.
#[derive(Clone, Copy, Debug)]
pub(super) enum Source<'a> {
    /// They are given.
    Files(&'a FileChanges),
    /// Whatever lives in these partitions goes, `new` comes.
    Overwrite { partitions: &'a Partitions, new: &'a FileChanges },
    /// None: only the manifests are packed anew.
    Manifests,
}

impl Source<'_> {
    /// Whether it brings new data files and nothing else.
    pub(super) fn only_adds(&self) -> bool {
        let Self::Files(changes) = self else { return false };
        let adds = |entry: &ManifestEntry| entry.kind == EntryKind::Add && entry.file.level == 0;
        changes.files.iter().all(adds)
            && changes.changelog.is_empty()
            && changes.index.is_empty()
            && changes.seen.is_empty()
    }
}

/// What a commit brings, by which it is recognised.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Brought {
    /// A file of this name, which is new: nothing else brings it, whatever level others have moved it to since.
    File(String),
    /// A file that was there before, as another entry: only this entry is the commit's.
    Moved(EntryId),
}

impl Source<'_> {
    /// What the commit brings, to recognise it when it comes again.
    pub(super) fn brought(&self) -> HashSet<Brought> {
        let (Self::Files(changes) | Self::Overwrite { new: changes, .. }) = self else {
            return HashSet::new();
        };
        let deleted = changes.files.iter().filter(|entry| entry.kind == EntryKind::Delete);
        let deleted: HashSet<&str> = deleted.map(|entry| entry.file.file_name.as_str()).collect();
        let files = changes.files.iter().chain(&changes.changelog).filter(|entry| entry.kind == EntryKind::Add);
        let files = files.map(|entry| {
            let name = &entry.file.file_name;
            if deleted.contains(name.as_str()) { Brought::Moved(entry.id()) } else { Brought::File(name.clone()) }
        });
        let index = changes.index.iter().filter(|entry| entry.kind == EntryKind::Add);
        files.chain(index.map(|entry| Brought::File(entry.file_name.clone()))).collect()
    }
}

/// Changes that passed the checks.
#[derive(Debug)]
pub(super) struct CommitPlan<'a> {
    pub(super) changes: Cow<'a, FileChanges>,
    /// All index files after the commit; `None` when they stay as they are.
    pub(super) index: Option<Vec<IndexManifestEntry>>,
    /// Index files that were written for this try.
    pub(super) rewritten: Option<Rewritten>,
}

/// Plans tries of one commit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Planner<'a> {
    pub(super) ctx: &'a TableContext,
    pub(super) store: &'a ManifestStore,
    pub(super) manifests: &'a BaseManifests,
    pub(super) user: &'a str,
    pub(super) kind: CommitKind,
    pub(super) source: Source<'a>,
}

impl<'a> Planner<'a> {
    /// `check`: look at the live files also when nothing is taken away.
    pub(super) fn plan(&self, latest: Option<&Snapshot>, check: bool) -> Result<CommitPlan<'a>> {
        let changes = match self.source {
            Source::Manifests => Cow::Owned(FileChanges::default()),
            Source::Files(changes) => self.checked_files(changes, latest, check)?,
            Source::Overwrite { partitions, new } => {
                let (changes, base) = overwrite::changes(self.ctx, self.store, latest, partitions, new)?;
                self.check(latest, &base, &changes)?;
                Cow::Owned(changes)
            }
        };
        let replaced = match self.source {
            Source::Overwrite { partitions, .. } => Some(partitions),
            Source::Files(_) | Source::Manifests => None,
        };
        check_places(self.ctx, latest, &changes, replaced)?;
        let is_assigned = has_hash_index(self.ctx) && !changes.assigned.is_empty();
        if changes.index.is_empty() && !is_assigned {
            return Ok(CommitPlan { changes, index: None, rewritten: None });
        }
        let live = self.live_index(latest)?;
        let replaces = matches!(self.source, Source::Overwrite { .. });
        let (index, rewritten) = match settle(self.ctx, &live, &changes, replaces)? {
            Some(settled) => (Cow::Owned(settled.index), Some(settled.files)),
            None => (Cow::Borrowed(&changes.index), None),
        };
        if index.is_empty() {
            return Ok(CommitPlan { changes, index: None, rewritten });
        }
        match combine(live, &index, self.without_buckets()) {
            Ok(combined) => Ok(CommitPlan { index: Some(combined), rewritten, changes }),
            Err(error) => {
                rewritten.iter().for_each(Rewritten::delete);
                Err(error)
            }
        }
    }

    fn checked_files(
        &self,
        given: &'a FileChanges,
        latest: Option<&Snapshot>,
        check: bool,
    ) -> Result<Cow<'a, FileChanges>> {
        let discard = self.kind == CommitKind::Append && self.ctx.options.commit_discard_duplicate_files;
        if self.kind == CommitKind::Append && !check && !discard && !row_ranges::concerns(self.ctx, given) {
            let rules = self.rules(latest);
            rules.check(&[], &given.files, None)?;
            if !self.has_newest_bucket_counts(latest, given)? {
                rules.check_new_bucket_counts(self.base(latest, given)?.iter(), &given.files)?;
            }
            return Ok(Cow::Borrowed(given));
        }
        let base = self.base(latest, given)?;
        let mut changes = Cow::Borrowed(given);
        if discard {
            let live: HashSet<_> = base.iter().map(ManifestEntry::id).collect();
            changes.to_mut().files.retain(|entry| !live.contains(&entry.id()));
        }
        if self.kind == CommitKind::Overwrite {
            // it takes single files away and does not rescale
            let gone: HashSet<_> =
                changes.files.iter().filter(|e| e.kind == EntryKind::Delete).map(ManifestEntry::id).collect();
            let stay = base.iter().filter(|entry| !gone.contains(&entry.id()));
            self.rules(latest).check_new_bucket_counts(stay, &changes.files)?;
        }
        self.check(latest, &base, &changes)?;
        check_columns_kept(self.ctx, &base, &changes)?;
        if let (CommitKind::Compact, Some(latest)) = (self.kind, latest) {
            check_merges_alike(self.ctx, merged_by(self.ctx, &changes))?;
            check_unseen(self.ctx, self.store, latest, &base, &changes)?;
            check_dropped_deletes(self.ctx, &base, &changes)?;
            check_ties(self.ctx, &base, &changes)?;
        }
        Ok(changes)
    }

    fn has_newest_bucket_counts(&self, latest: Option<&Snapshot>, changes: &FileChanges) -> Result<bool> {
        let Some(latest) = latest.filter(|_| changes.files.iter().any(|entry| entry.total_buckets > 0)) else {
            return Ok(true);
        };
        let manifests = self.manifests.of(self.store, latest)?;
        buckets::are_as_newest(self.store, manifests, self.ctx.paths.partition_types(), &changes.files)
    }

    /// Live files of the partitions that change.
    fn base(&self, latest: Option<&Snapshot>, changes: &FileChanges) -> Result<Vec<ManifestEntry>> {
        let Some(latest) = latest else {
            return Ok(Vec::new());
        };
        let filter = EntryFilter { partitions: Some(changes.partitions()), ..EntryFilter::without_statistics() };
        live_entries(self.ctx, latest, &filter)
    }

    fn rules<'l>(&self, latest: Option<&'l Snapshot>) -> ConflictCheck<'l>
    where
        'a: 'l,
    {
        ConflictCheck { ctx: self.ctx, user: self.user, latest, kind: self.kind }
    }

    fn check(&self, latest: Option<&Snapshot>, base: &[ManifestEntry], changes: &FileChanges) -> Result<()> {
        row_ranges::check_row_ranges(self.ctx, self.kind, base, changes)?;
        let rules = self.rules(latest);
        if !(self.ctx.options.deletion_vectors_enabled && self.without_buckets()) {
            rules.check(base, &changes.files, None)?;
            return rules.check_vectors(base, changes, &self.live_index(latest)?);
        }
        let vectors = |entry: &IndexManifestEntry| entry.index_type == DELETION_VECTORS;
        let live: Vec<_> = self.live_index(latest)?.into_iter().filter(vectors).collect();
        let changed: Vec<_> = changes.index.iter().filter(|entry| vectors(entry)).cloned().collect();
        rules.check(base, &changes.files, Some((&live, &changed)))
    }

    fn live_index(&self, latest: Option<&Snapshot>) -> Result<Vec<IndexManifestEntry>> {
        match latest.and_then(|latest| latest.index_manifest.as_deref()) {
            Some(name) => {
                let entries = self.store.read_index(name)?;
                check_index_kinds(self.ctx, name, &entries)?;
                Ok(entries)
            }
            None => Ok(Vec::new()),
        }
    }

    /// Append tables with `bucket = -1`.
    fn without_buckets(&self) -> bool {
        self.ctx.options.bucket == -1 && self.ctx.schema.primary_keys.is_empty()
    }
}
