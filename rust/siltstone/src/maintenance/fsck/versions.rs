//! Versions: what each snapshot, tag and long-lived changelog says, against its manifests.

use super::{Check, RESTORE, index::LiveFiles, is_of_table, manifests::ask_for_entries, needed::Version};
use crate::{
    commit::invariants::levels_are_sorted_runs,
    error::Result,
    io::TableContext,
    limits::sum,
    manifest::{EntryKind, ManifestEntry, ManifestFileMeta, each_once, merge_entries},
    options::ChangelogProducer,
    snapshot::{DAMAGED_SNAPSHOT, DAMAGED_TAG, Removals, Snapshot, TagManager, missing_ids},
    types::DataType,
};

/// What kind of version is looked at: their changelogs live differently long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum VersionKind {
    Snapshot,
    /// The snapshot that readers take.
    Newest,
    Tag,
}

impl Check<'_> {
    /// Checks a branch; returns the versions that could be read, tags of expired snapshots among them.
    pub(super) fn branch(&mut self, ctx: &TableContext) -> Result<Vec<Snapshot>> {
        let root = ctx.branch_root();
        let snapshots = ctx.snapshots();
        let removals = self.told("bad-removal", &ctx.branch, snapshots.removals().read(), RESTORE)?;
        let Some(removals) = removals else { return Ok(Vec::new()) };
        if let Some(name) = removals.mixed_with() {
            self.mixed(ctx, name);
            return Ok(Vec::new());
        }
        // a snapshot that cannot be read is told below
        let ids = snapshots.ids().or_else(|_| snapshots.listed_ids())?;
        self.hints(ctx, &snapshots, &ids, &removals)?;
        self.left_over(&snapshots, &ids)?;
        self.half_forwarded(ctx, &removals);
        if ids.is_empty() {
            self.lost_snapshots(ctx, &snapshots, &removals)?;
        }
        let mut versions: Vec<Snapshot> = Vec::new();
        let mut previous: Option<Snapshot> = None;
        let mut live = LiveFiles::default();
        for id in &ids {
            let place = format!("{}/snapshot-{id}", ctx.branch);
            if let Some(before) = previous.take_if(|before| before.id + 1 != *id) {
                let message = format!(
                    "{}: no rows of later versions are lost, but streams that read on from before end there",
                    missing_ids(before.id.saturating_add(1), id.saturating_sub(1))
                );
                let repair = format!(
                    "restore the files in the directory snapshot; without copies expire the snapshots before {id} \
                     (t.expire_snapshots), or leave them to expire"
                );
                self.verdict.problem("missing-snapshot", &place, message, &repair);
            }
            let Some(snapshot) = self.told("bad-snapshot", &place, snapshots.get(*id), DAMAGED_SNAPSHOT)? else {
                previous = None;
                continue;
            };
            let kind = if ids.last() == Some(id) { VersionKind::Newest } else { VersionKind::Snapshot };
            let seen = self.version(ctx, &place, kind, &snapshot, previous.as_ref(), &mut live);
            self.told("bad-version", &place, seen, RESTORE)?;
            versions.push(snapshot.clone());
            previous = Some(snapshot);
        }
        let line = versions.clone();
        self.tags(ctx, &root, &mut versions, &removals)?;
        let changelogs = ctx.changelogs();
        for id in changelogs.ids()? {
            let place = format!("{}/changelog-{id}", ctx.branch);
            if let Some(changelog) = self.told("bad-changelog", &place, changelogs.get(id), RESTORE)? {
                self.same_id(&place, &changelog, &line, &removals);
                let seen = self.changelog(ctx, &place, &changelog);
                self.told("bad-version", &place, seen, RESTORE)?;
            }
        }
        Ok(versions)
    }

    /// The tags of a branch whose snapshots are not among `versions`; they are added.
    fn tags(
        &mut self,
        ctx: &TableContext,
        root: &str,
        versions: &mut Vec<Snapshot>,
        removals: &Removals,
    ) -> Result<()> {
        let tags = TagManager::new(ctx.fs.clone(), root);
        for name in tags.names()? {
            let place = format!("{}/tag-{name}", ctx.branch);
            let tagged = self.told("bad-tag", &place, tags.get(&name), DAMAGED_TAG)?;
            let Some(tagged) = tagged.filter(|tagged| !versions.contains(tagged)) else { continue };
            self.same_id(&place, &tagged, versions, removals);
            let seen = self.version(ctx, &place, VersionKind::Tag, &tagged, None, &mut LiveFiles::default());
            self.told("bad-version", &place, seen, RESTORE)?;
            versions.push(tagged);
        }
        Ok(())
    }

    /// A snapshot or tag.
    fn version(
        &mut self,
        ctx: &TableContext,
        place: &str,
        kind: VersionKind,
        version: &Snapshot,
        before: Option<&Snapshot>,
        carried: &mut LiveFiles,
    ) -> Result<()> {
        self.verdict.count("versions", 1);
        self.versions.push(Version::new(ctx, place, version, kind == VersionKind::Newest));
        // what is known of the version before goes on only with a version that is read to its end
        let mut live = if before.is_some() { std::mem::take(carried) } else { LiveFiles::default() };
        if !self.schemas.contains(&version.schema_id) {
            let message = format!("its schema {} is missing", version.schema_id);
            self.verdict.problem("missing-schema", place, message, RESTORE);
        }
        let base = self.list(place, version.base_list())?;
        let delta = self.list(place, version.delta_list())?;
        // a tag does not keep its changelog
        let changelog_list = version.changelog_list().filter(|_| kind != VersionKind::Tag);
        let changelog = match changelog_list {
            Some(list) => self.list(place, list)?,
            None => Some(Vec::new()),
        };
        let (Some(base), Some(delta), Some(changelog)) = (base, delta, changelog) else { return Ok(()) };
        let manifests: Vec<ManifestFileMeta> = base.iter().chain(&delta).cloned().collect();
        if self.told("bad-manifest-list", place, each_once(&manifests), RESTORE)?.is_none() {
            return Ok(());
        }
        // others are checked by what they add to the version before them
        let whole = before.is_none() || kind == VersionKind::Newest || self.deep;
        if let Some(manifests) = live.manifests.take() {
            self.in_line(place, &manifests, &base)?;
        }
        let known = |metas: &[ManifestFileMeta]| -> i64 {
            sum(metas.iter().map(|m| m.num_added_files.saturating_sub(m.num_deleted_files)))
        };
        let (Some(all), Some(delta_entries), Some(changelog)) = (
            self.entries(place, &base, whole || known(&base) < 0)?,
            self.entries(place, &delta, true)?,
            self.entries(place, &changelog, true)?,
        ) else {
            return Ok(());
        };
        let changelog_of = (kind != VersionKind::Tag).then_some(changelog.as_slice());
        self.counts(place, version, before, &delta_entries, changelog_of);
        self.expect_files(ctx, place, delta_entries.iter().filter(|e| e.kind == EntryKind::Add))?;
        self.expect_files(ctx, place, changelog.iter().filter(|e| e.kind == EntryKind::Add))?;
        self.index(ctx, place, version, &delta_entries, &mut live)?;
        self.statistics(ctx, place, version)?;
        if whole {
            let mut all = all;
            ask_for_entries(all.len().saturating_add(delta_entries.len()))?;
            all.extend(delta_entries);
            self.live(ctx, place, version, all)?;
        }
        live.manifests = Some(manifests);
        *carried = live;
        Ok(())
    }

    /// The live files of a version: of the first and the newest snapshot and of tags, in a deep check of all.
    fn live(&mut self, ctx: &TableContext, place: &str, version: &Snapshot, all: Vec<ManifestEntry>) -> Result<()> {
        let mut live = match merge_entries(all) {
            Ok(merged) => merged,
            Err(e) if is_of_table(&e) => {
                self.verdict.problem("file-added-twice", place, e.to_string(), RESTORE);
                return Ok(());
            }
            Err(e) => return Err(e),
        };
        for entry in live.iter().filter(|e| e.kind == EntryKind::Delete) {
            let message = format!("deletes {}, which no manifest adds", entry.file.file_name);
            self.verdict.problem("unmatched-delete", place, message, RESTORE);
        }
        live.retain(|entry| entry.kind == EntryKind::Add);
        let rows = sum(live.iter().map(|entry| entry.file.row_count));
        if let Some(total) = version.total_record_count.filter(|total| *total != rows) {
            let message = format!("says {total} rows, its live files hold {rows}");
            self.verdict.problem("wrong-row-count", place, message, "compact the table; counts are carried on");
        }
        self.row_ids(ctx, place, version, &live);
        let keys: Vec<DataType> = ctx.schema.key_fields().iter().map(|f| f.data_type.clone()).collect();
        if !keys.is_empty()
            && let Err(e) = levels_are_sorted_runs(&live, &keys)
        {
            self.verdict.problem("overlapping-files", place, e.message(), "compact the table fully");
        }
        self.expect_files(ctx, place, live.iter())
    }

    fn counts(
        &mut self,
        place: &str,
        version: &Snapshot,
        before: Option<&Snapshot>,
        delta: &[ManifestEntry],
        changelog: Option<&[ManifestEntry]>,
    ) {
        let signed = |e: &ManifestEntry| if e.kind == EntryKind::Add { e.file.row_count } else { -e.file.row_count };
        let rows = sum(delta.iter().map(signed));
        let mut wrong = |what: &str, says: Option<i64>, is: i64| {
            if let Some(says) = says.filter(|says| *says != is) {
                let message = format!("says {says} {what}, the manifests {is}");
                self.verdict.problem("wrong-row-count", place, message, "compact the table; counts are carried on");
            }
        };
        wrong("rows changed", version.delta_record_count, rows);
        if let Some(changelog) = changelog {
            let rows = sum(changelog.iter().map(|e| e.file.row_count));
            wrong("rows of changelog", version.changelog_record_count, rows);
        }
        if let Some(total) = before.and_then(|before| before.total_record_count) {
            wrong("rows", version.total_record_count, total.saturating_add(rows));
        }
    }

    fn changelog(&mut self, ctx: &TableContext, place: &str, changelog: &Snapshot) -> Result<()> {
        self.verdict.count("versions", 1);
        let own = changelog.changelog_manifest_list.is_some();
        let list = match changelog.changelog_list() {
            Some(list) => list,
            // it changed nothing, and its lists went with its snapshot
            None if ctx.options.changelog_producer != ChangelogProducer::None => return Ok(()),
            None => changelog.delta_list(),
        };
        let Some(metas) = self.list(place, list)? else { return Ok(()) };
        let Some(entries) = self.entries(place, &metas, true)? else { return Ok(()) };
        let needed = |entry: &&ManifestEntry| if own { entry.kind == EntryKind::Add } else { entry.is_change() };
        self.expect_files(ctx, place, entries.iter().filter(needed))
    }
}
