//! Versions: what each snapshot, tag and long-lived changelog says, against its manifests.

use std::collections::HashMap;

use super::{Check, RESTORE, index::LiveFiles};
use crate::{
    error::Result,
    io::TableContext,
    limits::sum,
    manifest::{EntryKind, ManifestEntry, ManifestFileMeta, live_entries, merge_entries},
    operation::commit::invariants::levels_are_sorted_runs,
    options::ChangelogProducer,
    path::branch_root,
    snapshot::{ChangelogManager, NamedList, Removals, Snapshot, SnapshotManager, TagManager},
    types::DataType,
};

const REWRITE: &str = "rewrite the manifests (compact_manifests)";

/// What kind of version is looked at: their changelogs live differently long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum VersionKind {
    Snapshot,
    Tag,
}

fn range_text(range: (Option<i32>, Option<i32>)) -> String {
    match range {
        (Some(least), Some(most)) => format!("{least} to {most}"),
        _ => "unknown".to_owned(),
    }
}

impl Check<'_> {
    /// Checks a branch; returns the versions that could be read, tags of expired snapshots among them.
    pub(super) fn branch(&mut self, ctx: &TableContext) -> Result<Vec<Snapshot>> {
        let root = branch_root(&ctx.location, &ctx.branch);
        let snapshots = SnapshotManager::new(ctx.fs.clone(), &root);
        let removals = self.told("bad-removal", &ctx.branch, snapshots.removals().read(), RESTORE)?;
        let Some(removals) = removals else { return Ok(Vec::new()) };
        // a snapshot that cannot be read is told below
        let ids = snapshots.ids().or_else(|_| snapshots.listed_ids())?;
        self.hints(ctx, &snapshots, &ids)?;
        self.left_over(&snapshots, &ids)?;
        if ids.is_empty() {
            self.lost_snapshots(ctx, &snapshots)?;
        }
        let mut versions: Vec<Snapshot> = Vec::new();
        let mut previous: Option<Snapshot> = None;
        let mut live = LiveFiles::default();
        for id in &ids {
            let place = format!("{}/snapshot-{id}", ctx.branch);
            if let Some(before) = previous.take_if(|before| before.id + 1 != *id) {
                let message = format!("snapshots {} to {} are missing", before.id + 1, id - 1);
                self.verdict.problem("missing-snapshot", &place, message, RESTORE);
            }
            let Some(snapshot) = self.told("bad-snapshot", &place, snapshots.get(*id), RESTORE)? else {
                previous = None;
                continue;
            };
            let seen = self.version(ctx, &place, VersionKind::Snapshot, &snapshot, previous.as_ref(), &mut live);
            self.told("bad-version", &place, seen, RESTORE)?;
            versions.push(snapshot.clone());
            previous = Some(snapshot);
        }
        let line = versions.clone();
        self.tags(ctx, &root, &mut versions, &removals)?;
        let changelogs = ChangelogManager::new(ctx.fs.clone(), &root);
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
            let tagged = self.told("bad-tag", &place, tags.get(&name), "delete the tag's file")?;
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
        // what is known of the version before goes on only with a version that is read to its end
        let mut live = if before.is_some() { std::mem::take(carried) } else { LiveFiles::default() };
        if !self.schemas.contains(&version.schema_id) {
            let message = format!("its schema {} is missing", version.schema_id);
            self.verdict.problem("missing-schema", place, message, RESTORE);
        }
        let base = self.list(place, version.base_list())?;
        let delta = self.list(place, version.delta_list())?;
        // a tag does not keep its changelog
        let changelog_list = version.changelog_list().filter(|_| kind == VersionKind::Snapshot);
        let changelog = match changelog_list {
            Some(list) => self.list(place, list)?,
            None => Some(Vec::new()),
        };
        let (Some(base), Some(delta), Some(changelog)) = (base, delta, changelog) else { return Ok(()) };
        if let Some(manifests) = live.manifests.take() {
            self.in_line(place, &manifests, &base)?;
        }
        let known = |metas: &[ManifestFileMeta]| -> i64 {
            sum(metas.iter().map(|m| m.num_added_files.saturating_sub(m.num_deleted_files)))
        };
        let (Some(all), Some(delta_entries), Some(changelog)) = (
            self.entries(place, &base, before.is_none() || known(&base) < 0)?,
            self.entries(place, &delta, true)?,
            self.entries(place, &changelog, true)?,
        ) else {
            return Ok(());
        };
        let changelog_of = (kind == VersionKind::Snapshot).then_some(changelog.as_slice());
        self.counts(place, version, before, &delta_entries, changelog_of);
        self.expect_files(ctx, place, delta_entries.iter().filter(|e| e.kind == EntryKind::Add))?;
        self.expect_files(ctx, place, changelog.iter().filter(|e| e.kind == EntryKind::Add))?;
        self.index(ctx, place, version, &delta_entries, &mut live)?;
        self.statistics(ctx, place, version)?;
        if before.is_none() {
            self.live(ctx, place, version, all.into_iter().chain(delta_entries).collect())?;
        }
        live.manifests = Some(base.into_iter().chain(delta).collect());
        *carried = live;
        Ok(())
    }

    /// The live files of the first snapshot and of tags; later snapshots are checked by what they add.
    fn live(&mut self, ctx: &TableContext, place: &str, version: &Snapshot, all: Vec<ManifestEntry>) -> Result<()> {
        match merge_entries(all.clone()) {
            Ok(merged) => {
                for entry in merged.iter().filter(|e| e.kind == EntryKind::Delete) {
                    let message = format!("deletes {}, which no manifest adds", entry.file.file_name);
                    self.verdict.problem("unmatched-delete", place, message, RESTORE);
                }
            }
            Err(e) => self.verdict.problem("file-added-twice", place, e.to_string(), RESTORE),
        }
        let Ok(live) = live_entries(all) else { return Ok(()) };
        let rows = sum(live.iter().map(|entry| entry.file.row_count));
        if let Some(total) = version.total_record_count.filter(|total| *total != rows) {
            let message = format!("says {total} rows, its live files hold {rows}");
            self.verdict.problem("wrong-row-count", place, message, "compact the table; counts are carried on");
        }
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

    /// A manifest list; `None` when it cannot be read. A wrong size is a finding of its own: what the list names is looked at
    /// all the same.
    fn list(&mut self, place: &str, list: NamedList<'_>) -> Result<Option<Vec<ManifestFileMeta>>> {
        let path = self.ctx.paths.manifest(list.name)?;
        if self.seen.insert(list.name.to_owned()) {
            self.verdict.count("manifest lists", 1);
            let found = self.ctx.fs.status(&path)?.map(|status| status.size);
            if let (Some(size), Some(found)) = (list.size, found)
                && u64::try_from(size) != Ok(found)
            {
                let message = format!("{path} has {found} bytes, the snapshot says {size}");
                self.verdict.problem("wrong-size", place, message, RESTORE);
            }
        }
        let read = self.cache.store().read_list(NamedList { size: None, ..list });
        self.told("bad-manifest-list", place, read, RESTORE)
    }

    /// Entries of manifests, each checked against what its list says, and again where another list says something else: readers
    /// go by the list of their version. Others are not read again unless `read`.
    pub(super) fn entries(
        &mut self,
        place: &str,
        metas: &[ManifestFileMeta],
        read: bool,
    ) -> Result<Option<Vec<ManifestEntry>>> {
        let mut all = Vec::new();
        for meta in metas {
            let known = self.compared.get(&meta.file_name) == Some(meta);
            if known && !read {
                continue;
            }
            let read = self.cache.store().read(meta);
            let Some(entries) = self.told("bad-manifest", place, read, RESTORE)? else { return Ok(None) };
            if !known {
                self.manifest(place, meta, &entries)?;
                if self.compared.insert(meta.file_name.clone(), meta.clone()).is_none() {
                    self.verdict.count("manifests", 1);
                }
            }
            all.extend(entries);
        }
        Ok(Some(all))
    }

    fn manifest(&mut self, place: &str, meta: &ManifestFileMeta, entries: &[ManifestEntry]) -> Result<()> {
        let path = self.ctx.paths.manifest(&meta.file_name)?;
        // its size was compared when it was read
        let mut wrong: Vec<String> = Vec::new();
        let mut kinds: HashMap<EntryKind, i64> = HashMap::new();
        for entry in entries {
            *kinds.entry(entry.kind).or_default() += 1;
        }
        let count = |kind| kinds.get(&kind).copied().unwrap_or(0);
        let found = (count(EntryKind::Add), count(EntryKind::Delete));
        if found != (meta.num_added_files, meta.num_deleted_files) {
            wrong.push(format!(
                "{} added and {} deleted files, the list says {} and {}",
                found.0, found.1, meta.num_added_files, meta.num_deleted_files
            ));
        }
        let buckets = (entries.iter().map(|e| e.bucket).min(), entries.iter().map(|e| e.bucket).max());
        let levels = (entries.iter().map(|e| e.file.level).min(), entries.iter().map(|e| e.file.level).max());
        for (what, says, is) in [
            ("bucket", (meta.min_bucket, meta.max_bucket), buckets),
            ("level", (meta.min_level, meta.max_level), levels),
        ] {
            if says.0.is_some() && says != is {
                wrong.push(format!("{what}s {}, the list says {}", range_text(is), range_text(says)));
            }
        }
        let outside = self.outside_partitions(meta, entries);
        wrong.extend(self.told("wrong-manifest", place, outside, REWRITE)?.flatten());
        for message in wrong {
            self.verdict.problem("wrong-manifest", place, format!("{path}: {message}"), REWRITE);
        }
        Ok(())
    }
}
