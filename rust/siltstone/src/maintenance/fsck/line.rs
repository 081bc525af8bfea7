//! The line of versions: each is made from the one before, no id is given twice, and hints do not lead astray.
//!
//! What commits beside expiries and rollbacks can break without any file missing: a snapshot that was published into a
//! hole was made from a version that is not the one before it.

use std::collections::{BTreeMap, HashSet};

use super::Check;
use crate::{
    error::{ErrorKind, Result},
    fs::NUMBER_BYTES,
    io::TableContext,
    maintenance::branch::half_forwarded_to,
    manifest::{EntryKind, ManifestEntry, ManifestFileMeta},
    snapshot::{Removals, Snapshot, SnapshotManager, is_main, missing_ids},
};

const WRONG_HINT: &str =
    "delete the hint: readers list the directory without it, and programs in Java may follow a wrong one";
const CHOOSE: &str = "see which of the two has the rows that count, and roll back to a version before they parted";

/// A hint that names a later snapshot than there is.
#[derive(Debug)]
pub(super) struct Ahead {
    path: String,
    message: String,
    /// Where nothing says that there was such a snapshot.
    plain: String,
    repair: String,
}

fn files(metas: &[&ManifestFileMeta]) -> i64 {
    crate::limits::sum(metas.iter().map(|meta| meta.num_added_files.saturating_sub(meta.num_deleted_files)))
}

/// Files by partition, bucket and name.
type Balance<'e> = BTreeMap<(&'e [u8], i32, &'e str), i64>;

/// Each file with how often it is added, less how often it is deleted.
fn balance(entries: &[ManifestEntry]) -> Balance<'_> {
    let mut all = Balance::new();
    for entry in entries {
        let sum = all.entry((&entry.partition, entry.bucket, &entry.file.file_name)).or_default();
        *sum += if entry.kind == EntryKind::Add { 1 } else { -1 };
    }
    all.retain(|_, sum| *sum != 0);
    all
}

impl Check<'_> {
    /// Whether a version begins with the files that the version before ended with. Manifests that both have in common say
    /// nothing; of the others the numbers of files must agree, in a deep check the files.
    pub(super) fn in_line(
        &mut self,
        place: &str,
        before: &[ManifestFileMeta],
        base: &[ManifestFileMeta],
    ) -> Result<()> {
        let names = |metas: &[ManifestFileMeta]| metas.iter().map(|m| m.file_name.clone()).collect::<HashSet<_>>();
        let (old, new) = (names(before), names(base));
        let replaced: Vec<&ManifestFileMeta> = before.iter().filter(|meta| !new.contains(&meta.file_name)).collect();
        let by: Vec<&ManifestFileMeta> = base.iter().filter(|meta| !old.contains(&meta.file_name)).collect();
        let mut message = None;
        if files(&replaced) != files(&by) {
            let (before, base): (Vec<_>, Vec<_>) = (before.iter().collect(), base.iter().collect());
            message = Some(format!("it begins with {} files, the version before has {}", files(&base), files(&before)));
        } else if self.deep && !(replaced.is_empty() && by.is_empty()) {
            let owned = |metas: Vec<&ManifestFileMeta>| metas.into_iter().cloned().collect::<Vec<_>>();
            let entries = (self.entries(place, &owned(replaced), true)?, self.entries(place, &owned(by), true)?);
            if let (Some(replaced), Some(by)) = entries {
                let (replaced, by) = (balance(&replaced), balance(&by));
                let of_one =
                    |a: &Balance<'_>, b: &Balance<'_>| a.iter().filter(|(key, n)| b.get(*key) != Some(*n)).count();
                let (lost, strange) = (of_one(&replaced, &by), of_one(&by, &replaced));
                message = (lost + strange > 0)
                    .then(|| format!("{lost} files of the version before are not in it, and {strange} others are"));
            }
        }
        if let Some(message) = message {
            let message = format!("it was not made from the version before: {message}");
            self.verdict.problem("not-in-line", place, message, CHOOSE);
        }
        Ok(())
    }

    /// Snapshot files that are not part of the line any more, or never were: nobody reads them.
    pub(super) fn left_over(&mut self, snapshots: &SnapshotManager, line: &[i64]) -> Result<()> {
        for id in snapshots.listed_ids()?.into_iter().filter(|id| !line.contains(id)) {
            let message = "an expiry or rollback that was cut short has left it, or a commit that came too late";
            let repair = "expire snapshots: whoever removes versions next removes it, too";
            self.verdict.warning("left-over-snapshot", &snapshots.path(id), message, repair);
        }
        Ok(())
    }

    /// Main's version is not of the schemas that are there: nothing of it can be checked.
    pub(super) fn mixed(&mut self, ctx: &TableContext, name: &str) {
        let message = format!(
            "a fast-forward to branch '{name}' was cut short or is at work: the schemas are not those of the version that is there, \
             and nobody can read or write it"
        );
        let repair = format!("fast-forward to branch '{name}' again: it goes on where the one before has stopped");
        self.verdict.problem("half-forwarded", &ctx.branch, message, &repair);
    }

    /// Main is neither what it was nor what the branch is.
    pub(super) fn half_forwarded(&mut self, ctx: &TableContext, removals: &Removals) {
        // what cannot be read is told elsewhere
        let half_way = if is_main(&ctx.branch) { half_forwarded_to(ctx).ok().flatten() } else { None };
        let undone = removals.half_partings().find_map(|parting| parting.forward.clone());
        if let Some(name) = half_way.or(undone) {
            let message =
                format!("a fast-forward to branch '{name}' was cut short, and may have left things of it out");
            let repair = format!("fast-forward to branch '{name}' again: it goes on where the one before has stopped");
            self.verdict.warning("half-forwarded", &ctx.branch, message, &repair);
        }
    }

    /// A tag or changelog of an id that another snapshot has now.
    pub(super) fn same_id(&mut self, place: &str, version: &Snapshot, snapshots: &[Snapshot], removals: &Removals) {
        let other = snapshots.iter().find(|other| other.id == version.id);
        if other.is_none_or(|other| other.delta_manifest_list == version.delta_manifest_list) {
            return;
        }
        if removals.is_rolled_back(version) {
            let message = format!("a rollback that was cut short has taken back snapshot {} and left this", version.id);
            self.verdict.warning("cut-off-version", place, message, "delete it, unless its rows are still wanted");
        } else {
            let message = format!("the snapshot {} that is there is another one: the id was given twice", version.id);
            self.verdict.problem("id-twice", place, message, CHOOSE);
        }
    }

    pub(super) fn hints(
        &mut self,
        ctx: &TableContext,
        snapshots: &SnapshotManager,
        ids: &[i64],
        removals: &Removals,
    ) -> Result<()> {
        for (hint, right) in [("EARLIEST", ids.first()), ("LATEST", ids.last())] {
            let path = snapshots.hint_path(hint);
            let found = match ctx.fs.read_at_most(&path, NUMBER_BYTES) {
                Ok(bytes) => String::from_utf8_lossy(&bytes).trim().parse::<i64>().ok(),
                Err(e) if e.kind() == ErrorKind::FileNotFound => continue,
                Err(e) if e.kind() == ErrorKind::CorruptFile => None,
                Err(e) => return Err(e),
            };
            if found.as_ref() == right {
                continue;
            }
            if let (Some(found), Some(newest), "LATEST") = (found, right, hint)
                && (self.astray(snapshots, found, *newest)? || self.lost_newest(snapshots, found, *newest, removals)?)
            {
                continue;
            }
            let text = |id: Option<&i64>| id.map_or_else(|| "nothing".to_owned(), ToString::to_string);
            let message = format!("the hint says {}, the directory {}", text(found.as_ref()), text(right));
            self.verdict.warning("wrong-hint", &path, message, WRONG_HINT);
        }
        Ok(())
    }

    /// Whether `LATEST` names a snapshot that is not there, and nobody took it back: commits write the hint behind the snapshot,
    /// rollbacks before they delete it, or behind a record.
    fn lost_newest(
        &mut self,
        snapshots: &SnapshotManager,
        hint: i64,
        newest: i64,
        removals: &Removals,
    ) -> Result<bool> {
        if hint <= newest || snapshots.exists(hint)? {
            // committed since the versions were listed, or nothing of the line
            return Ok(hint > newest && snapshots.ids().is_ok_and(|ids| ids.contains(&hint)));
        }
        if snapshots.ids().is_ok_and(|ids| ids.last().is_some_and(|last| *last >= hint)) {
            return Ok(true);
        }
        // taken back since, or before that by a rollback that was cut short
        let moved = snapshots.hint("LATEST")? != Some(hint);
        let Ok(standing) = snapshots.get(newest) else { return Ok(false) };
        if moved || removals.may_have_taken(hint, &standing) {
            return Ok(moved);
        }
        let lost = missing_ids(newest.saturating_add(1), hint);
        let message = format!(
            "{lost}: the hint names {hint}, and the newest that is there is {newest}; rows of later commits are gone for \
             readers, and Java's follow the hint and fail"
        );
        let path = snapshots.hint_path("LATEST");
        let repair = format!(
            "restore {} before anything is committed; if there is no copy, or another program rolled the table back, delete \
             the hint and write the lost rows again",
            snapshots.path(hint)
        );
        let plain = format!("the hint says {hint}, the directory {newest}");
        self.ahead.push(Ahead { path, message, plain, repair });
        Ok(true)
    }

    /// Hints that name a later snapshot than there is: lists of manifests that no version names are what a lost one has left.
    pub(super) fn hints_ahead(&mut self, unreferenced: &[String]) {
        let is_lost = unreferenced.iter().any(|path| path.contains("/manifest/manifest-list-"));
        for Ahead { path, message, plain, repair } in std::mem::take(&mut self.ahead) {
            if is_lost {
                self.verdict.problem("missing-snapshot", &path, message, &repair);
            } else {
                self.verdict.warning("wrong-hint", &path, plain, WRONG_HINT);
            }
        }
    }

    /// Whether readers that follow `LATEST` get an older version than the newest.
    fn astray(&mut self, snapshots: &SnapshotManager, hint: i64, newest: i64) -> Result<bool> {
        if hint < newest && snapshots.exists(hint)? && !snapshots.exists(hint + 1)? {
            let message = format!("readers that follow it take snapshot {hint} for the newest, which is {newest}");
            let path = snapshots.hint_path("LATEST");
            let repair = format!(
                "restore the snapshots between them, or roll back to snapshot {hint}: that takes back what lies behind the gap"
            );
            self.verdict.problem("latest-went-back", &path, message, &repair);
            return Ok(true);
        }
        Ok(false)
    }
}
