//! Iceberg metadata (`metadata.iceberg.storage` = `table-location`): after each commit `metadata/v<n>.metadata.json` says of
//! snapshot n what Iceberg's readers need to read the data files as they are.
//!
//! ```text
//! version-hint.text ─▶ v<n>.metadata.json ─▶ snap-<n>-….avro ─▶ ….avro ─▶ data files
//!                                             (manifests)        (files, partitions, bounds)
//! ```
//!
//! A commit that only adds files puts a manifest behind those of the snapshot before; any other one lists all files anew. Of
//! a table with a primary key the files of the highest level count, which hold each key once. What is missing or of another
//! history (a process died, a rollback, a fast-forward), or does not say of which, is written anew with the next commit.
//! Source: `IcebergCommitCallback`.

mod list;
mod manifest;
mod metadata;
mod value;

use std::collections::HashSet;

use list::ManifestFile;
use manifest::{Listed, Status};
use metadata::Metadata;

use crate::{
    cancel,
    env::new_uuid,
    error::{Error, ErrorKind, Result},
    format::avro::Compression,
    fs::{METADATA_BYTES, NUMBER_BYTES},
    io::TableContext,
    manifest::{BucketId, EntryKind, ManifestEntry},
    scan::{EntryFilter, listed_entries, live_entries},
    schema::TableSchema,
    snapshot::Snapshot,
    types::DataField,
};

/// Manifests of a list that are made fewer by the next commit.
const MOST_MANIFESTS: usize = 50;
/// Files of a manifest.
const FILES_OF_MANIFEST: usize = 20_000;

/// Writes the metadata of snapshots that were just committed, where the options ask for it; a note when it cannot be done.
pub(super) fn after_commit(ctx: &TableContext, snapshots: &[Snapshot]) -> Option<String> {
    let error = publish(ctx, snapshots).err()?;
    tracing::warn!(%error, table = ctx.name, "Iceberg metadata after a commit failed");
    Some(format!("the commit is done, its Iceberg metadata failed: {error}"))
}

/// In their order.
fn publish(ctx: &TableContext, snapshots: &[Snapshot]) -> Result<()> {
    let Some(newest) = snapshots.last() else { return Ok(()) };
    let ctx = &if newest.schema_id == ctx.schema.id {
        ctx.clone()
    } else {
        // the handle may be older than an alter
        ctx.with_options_of(&*ctx.schemas.get(newest.schema_id)?)?
    };
    if !ctx.options.writes_iceberg() || ctx.branch != "main" {
        return Ok(());
    }
    snapshots.iter().try_for_each(|snapshot| publish_version(ctx, snapshot.id))
}

/// How often what was written is of another snapshot afterwards.
const ROUNDS: usize = 10;

/// Of the version that has this id, whichever it is: a writer that was held up finds that its own was rolled back, and its id
/// given to another one. So it looks again when all is written; what an older writer has overwritten is put right by that one.
fn publish_version(ctx: &TableContext, id: i64) -> Result<()> {
    let mut described: Option<Snapshot> = None;
    for _ in 0..ROUNDS {
        let version = ctx.snapshots().existing([id])?.pop();
        // without one there is nothing to describe: it has expired, or was rolled back
        let Some(version) = version.filter(|now| described.as_ref().is_none_or(|before| !now.is_same_version(before)))
        else {
            return Ok(());
        };
        let gone = Publication::new(ctx, &version)?.run()?;
        // somebody may have published one of them meanwhile
        gone.into_iter().try_for_each(|id| publish_version(ctx, id))?;
        described = Some(version);
    }
    Err(Error::new(ErrorKind::CommitConflict, format!("snapshot {id} was rolled back again and again meanwhile"))
        .with("table", &ctx.name))
}

/// One version being written.
struct Publication<'a> {
    ctx: &'a TableContext,
    snapshot: &'a Snapshot,
    schema: std::sync::Arc<TableSchema>,
    directory: String,
    uuid: String,
    compression: Compression,
}

/// What a commit did to the files that Iceberg's readers see.
struct Changes {
    added: Vec<ManifestEntry>,
    replaces: bool,
}

impl<'a> Publication<'a> {
    fn new(ctx: &'a TableContext, snapshot: &'a Snapshot) -> Result<Self> {
        let options = &ctx.options;
        let compression = Compression::parse(&options.iceberg_manifest_compression, options.zstd_level)?;
        Ok(Self {
            ctx,
            snapshot,
            schema: ctx.schemas.get(snapshot.schema_id)?,
            directory: format!("{}/metadata", ctx.location),
            uuid: new_uuid(),
            compression,
        })
    }

    /// Ids of later versions whose metadata was of another history, and is gone.
    fn run(&self) -> Result<Vec<i64>> {
        let base = self.base()?;
        let changes = self.changes()?;
        let known = base.as_ref().filter(|base| base.names_its_snapshot());
        let before = known.map(|base| self.manifests(base)).transpose()?.flatten();
        let before = before.filter(|before| !changes.replaces && before.len() < MOST_MANIFESTS);
        let manifests = match before {
            Some(mut manifests) => {
                manifests.extend(self.written(&changes.added, |_| Status::Added)?);
                manifests
            }
            None => self.all_files(&changes)?,
        };
        let path = format!("{}/snap-{}-{}.avro", self.directory, self.snapshot.id, self.uuid);
        self.ctx.fs.write_new(&path, &list::encode(&manifests, self.compression)?, false)?;
        let there: HashSet<i64> = self.ctx.snapshots().ids()?.into_iter().collect();
        let version = (self.snapshot, self.schema.as_ref());
        let kept = |id: i64| there.contains(&id);
        let uuid = if base.is_some() { None } else { self.uuid_before()? };
        let next = Metadata::next(self.ctx, base.as_ref(), uuid, version, (path, changes.replaces), &kept)?;
        self.ctx.fs.overwrite(&self.metadata_path(self.snapshot.id), &next.to_bytes()?)?;
        self.ctx.fs.sync_dir(&self.directory)?;
        let gone = self.hint()?;
        self.clean(base.as_ref(), &next)?;
        Ok(gone)
    }

    fn metadata_path(&self, snapshot: i64) -> String {
        format!("{}/v{snapshot}.metadata.json", self.directory)
    }

    fn hint_path(&self) -> String {
        format!("{}/version-hint.text", self.directory)
    }

    /// What the snapshot before is described by.
    fn base(&self) -> Result<Option<Metadata>> {
        let before = self.snapshot.id.saturating_sub(1);
        let Some(base) = Metadata::read(self.ctx, &self.metadata_path(before))? else { return Ok(None) };
        let snapshot = self.ctx.snapshots().existing([before])?.pop();
        Ok(snapshot.filter(|snapshot| base.is_of(snapshot, &self.schema)).map(|_| base))
    }

    /// The table's name in metadata that does not continue any more: readers know the table by it.
    fn uuid_before(&self) -> Result<Option<String>> {
        let Some(hint) = self.hinted()? else { return Ok(None) };
        Ok(Metadata::read(self.ctx, &self.metadata_path(hint))?.map(Metadata::into_uuid))
    }

    fn hinted(&self) -> Result<Option<i64>> {
        match self.ctx.fs.read_at_most(&self.hint_path(), NUMBER_BYTES) {
            Ok(bytes) => Ok(std::str::from_utf8(&bytes).ok().and_then(|text| text.trim().parse().ok())),
            Err(e) if matches!(e.kind(), ErrorKind::FileNotFound | ErrorKind::CorruptFile) => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// The hint names the newest version that there is. Iceberg's readers of a directory take it for a beginning, and go on as long as
    /// there is metadata of the next version: what was rolled back goes first.
    fn hint(&self) -> Result<Vec<i64>> {
        let newer = match self.hinted()? {
            Some(hint) if hint > self.snapshot.id => self.ctx.snapshots().exists(hint)?,
            _ => false,
        };
        if newer {
            return Ok(Vec::new());
        }
        let mut gone = Vec::new();
        for (id, path) in self.versions()? {
            if id > self.snapshot.id && !self.describes_a_version(id, &path)? {
                self.ctx.fs.delete(&path)?;
                gone.push(id);
            }
        }
        self.write_hint()?;
        Ok(gone)
    }

    /// Another writer may have put a newer version there since it was looked for, and taken this one away: whoever writes looks
    /// again afterwards, so that the last one to write sees the newest.
    fn write_hint(&self) -> Result<()> {
        let mut newest = self.snapshot.id;
        loop {
            self.ctx.fs.overwrite(&self.hint_path(), newest.to_string().as_bytes())?;
            let mut versions = self.versions()?;
            versions.retain(|(id, _)| *id > newest);
            versions.sort_unstable_by_key(|(id, _)| std::cmp::Reverse(*id));
            let mut later = None;
            for (id, path) in versions {
                if self.describes_a_version(id, &path)? {
                    later = Some(id);
                    break;
                }
            }
            let Some(later) = later else { return Ok(()) };
            newest = later;
        }
    }

    /// Ids and paths of the metadata that there is.
    fn versions(&self) -> Result<Vec<(i64, String)>> {
        let id = |path: &str| -> Option<i64> {
            let name = path.rsplit('/').next()?;
            let id: i64 = name.strip_prefix('v')?.strip_suffix(".metadata.json")?.parse().ok()?;
            // `v+7` and `v007` are no versions
            (name == format!("v{id}.metadata.json")).then_some(id)
        };
        let files = self.ctx.fs.list(&self.directory)?;
        Ok(files.into_iter().filter_map(|file| Some((id(&file.path)?, file.path))).collect())
    }

    fn describes_a_version(&self, id: i64, path: &str) -> Result<bool> {
        let Some(version) = self.ctx.snapshots().existing([id])?.pop() else { return Ok(false) };
        let schema = self.ctx.schemas.get(version.schema_id)?;
        Ok(Metadata::read(self.ctx, path)?.is_some_and(|metadata| metadata.is_of(&version, &schema)))
    }

    /// Manifests of the newest snapshot of metadata; `None`: they cannot be read.
    fn manifests(&self, of: &Metadata) -> Result<Option<Vec<ManifestFile>>> {
        let Some(version) = of.snapshots.last() else { return Ok(None) };
        self.listed(&version.manifest_list)
    }

    /// What others have put into metadata is no path of ours, to read or to delete, unless it is a plain name of that kind.
    fn is_list(&self, path: &str) -> bool {
        self.name_of(path).is_some_and(|name| name.starts_with("snap-"))
    }

    fn is_manifest(&self, path: &str) -> bool {
        let number = self.name_of(path).and_then(|name| name.rsplit_once("-m")).map(|(_, number)| number);
        number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
    }

    /// The name of a file `<name>.avro` that lies beside the metadata.
    fn name_of<'p>(&self, path: &'p str) -> Option<&'p str> {
        let name = path.strip_prefix(self.directory.as_str())?.strip_prefix('/')?.strip_suffix(".avro")?;
        (!name.contains(['/', '\\', '\0'])).then_some(name)
    }

    fn listed(&self, path: &str) -> Result<Option<Vec<ManifestFile>>> {
        if !self.is_list(path) {
            return Ok(None);
        }
        let read = self.ctx.fs.read_at_most(path, METADATA_BYTES).and_then(|bytes| list::decode(path, &bytes));
        match read {
            Ok(manifests) => Ok(Some(manifests)),
            Err(e) if matches!(e.kind(), ErrorKind::FileNotFound | ErrorKind::CorruptFile) => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Of a table with a primary key only files of the highest level hold each key once, and no deleted ones.
    fn filter(&self) -> EntryFilter {
        let highest = self.ctx.options.num_levels.saturating_sub(1);
        EntryFilter { min_level: self.schema.has_primary_key().then_some(highest), ..EntryFilter::default() }
    }

    fn changes(&self) -> Result<Changes> {
        let entries = listed_entries(self.ctx, self.snapshot.delta_list(), &self.filter())?;
        let key = |entry: &ManifestEntry| {
            let bucket = BucketId { partition: entry.partition.clone(), bucket: entry.bucket };
            (bucket, entry.file.file_name.clone())
        };
        let (added, deleted): (Vec<_>, Vec<_>) = entries.into_iter().partition(|entry| entry.kind == EntryKind::Add);
        let deleted: HashSet<_> = deleted.iter().map(key).collect();
        let stays = added.iter().map(key).filter(|file| deleted.contains(file)).count();
        // a file that only gets another index is the same one
        let added = added.into_iter().filter(|entry| !deleted.contains(&key(entry))).collect();
        Ok(Changes { added, replaces: stays < deleted.len() })
    }

    /// All files of the snapshot in new manifests.
    fn all_files(&self, changes: &Changes) -> Result<Vec<ManifestFile>> {
        let live = live_entries(self.ctx, self.snapshot, &self.filter())?;
        let added: HashSet<&str> = changes.added.iter().map(|entry| entry.file.file_name.as_str()).collect();
        self.written(&live, |entry| {
            if added.contains(entry.file.file_name.as_str()) { Status::Added } else { Status::Existing }
        })
    }

    fn written(
        &self,
        entries: &[ManifestEntry],
        status: impl Fn(&ManifestEntry) -> Status,
    ) -> Result<Vec<ManifestFile>> {
        let partition: Vec<&DataField> = self.schema.partition_fields();
        let parts = entries.chunks(FILES_OF_MANIFEST).enumerate();
        parts
            .map(|(at, part)| {
                cancel::check()?;
                let listed = |entry| Listed::of(self.ctx, &self.schema, entry, status(entry));
                let files = part.iter().map(listed).collect::<Result<Vec<_>>>()?;
                let bytes = manifest::encode(&files, self.snapshot.id, &partition, self.compression)?;
                let path = format!("{}/{}-m{at}.avro", self.directory, self.uuid);
                self.ctx.fs.write_new(&path, &bytes, false)?;
                Ok(ManifestFile::of(path, bytes.len(), self.snapshot.id, &files, &partition))
            })
            .collect()
    }

    /// Deletes the metadata of versions before this one, as many as the options say, and manifests that nothing names any more.
    fn clean(&self, base: Option<&Metadata>, next: &Metadata) -> Result<()> {
        if !self.ctx.options.iceberg_delete_after_commit {
            return Ok(());
        }
        let kept = self.snapshot.id.saturating_sub(i64::from(self.ctx.options.iceberg_previous_versions));
        for (_, path) in self.versions()?.into_iter().filter(|(id, _)| *id < kept) {
            self.ctx.fs.delete(&path)?;
        }
        let Some(base) = base else { return Ok(()) };
        let gone = base.snapshots.iter().filter(|old| !next.snapshots.iter().any(|v| v.snapshot_id == old.snapshot_id));
        let gone: Vec<&str> = gone.map(|old| old.manifest_list.as_str()).collect();
        if gone.is_empty() {
            return Ok(());
        }
        let mut named = HashSet::new();
        for version in &next.snapshots {
            named.extend(self.listed(&version.manifest_list)?.unwrap_or_default().into_iter().map(|m| m.path));
        }
        for list in gone.into_iter().filter(|list| self.is_list(list)) {
            let unnamed = self.listed(list)?.unwrap_or_default().into_iter().filter(|m| !named.contains(&m.path));
            unnamed
                .map(|manifest| manifest.path)
                .filter(|path| self.is_manifest(path))
                .chain([list.to_owned()])
                .try_for_each(|path| self.ctx.fs.delete(&path))?;
        }
        Ok(())
    }
}
