//! A table that changes while it is checked: its versions expire, its tags and branches go.
//!
//! ```text
//! versions before ─ look ─ nothing wrong ───────────────────────────────── verdict
//!                        └ a problem ─ versions after: all are still there ┘
//!                                    └ some are gone or going ─ look again
//! ```
//!
//! An expiry deletes data files first and the snapshot's own file last, so for a moment a snapshot is there whose files
//! are not. That is no damage: nobody is to read a version that is going.

use std::{collections::BTreeSet, thread, time::Duration};

use super::{Finding, Severity, Verdict};
use crate::{
    cancel,
    error::Result,
    io::TableContext,
    path::branch_root,
    snapshot::{ChangelogManager, SnapshotManager, TagManager},
};

/// How often a table that goes on changing is looked at.
const LOOKS: usize = 5;
/// How long a version that is going is waited for; one that an expiry left behind when it was cut short stays.
const PATIENCE: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(20);

/// What `look` finds of a table that held still meanwhile; of one that never does, what is about no version that went.
///
/// # Errors
/// Those of `look`, and the storage's.
pub(super) fn steady(ctx: &TableContext, look: impl Fn() -> Result<Verdict>) -> Result<Verdict> {
    let mut looks = 1;
    loop {
        let before = Versions::of(ctx)?;
        let found = look();
        cancel::check()?;
        if found.as_ref().is_ok_and(|verdict| !verdict.findings.iter().any(is_problem)) {
            return found;
        }
        let now = Versions::when_settled(ctx)?;
        let gone = |place: &String| !now.places.contains(place);
        let of_gone = |finding: &Finding| is_version(&finding.place) && gone(&finding.place);
        let made_for = |verdict: &Verdict| verdict.findings.iter().any(|f| is_problem(f) && of_gone(f));
        if !before.places.iter().any(gone) && !found.as_ref().is_ok_and(made_for) {
            return found;
        }
        if looks == LOOKS {
            let mut verdict = found?;
            verdict.findings.retain(|finding| !of_gone(finding));
            return Ok(verdict);
        }
        looks += 1;
    }
}

fn is_problem(finding: &Finding) -> bool {
    finding.severity == Severity::Problem
}

/// Whether a place is a version's, such as `main/snapshot-3`, and no file's.
fn is_version(place: &str) -> bool {
    place.split_once('/').is_some_and(|(branch, version)| {
        !branch.is_empty()
            && !branch.ends_with(':')
            && ["snapshot-", "tag-", "changelog-"].iter().any(|kind| version.starts_with(kind))
    })
}

/// The versions of all branches.
struct Versions {
    /// As findings name them.
    places: BTreeSet<String>,
    /// The `EARLIEST` hint of a branch is past its oldest snapshot.
    going: bool,
}

impl Versions {
    fn of(ctx: &TableContext) -> Result<Self> {
        let mut found = Self { places: BTreeSet::new(), going: false };
        let mut branches = vec!["main".to_owned()];
        branches.extend(ctx.branches().names()?);
        for branch in &branches {
            let root = branch_root(&ctx.location, branch);
            let snapshots = SnapshotManager::new(ctx.fs.clone(), &root);
            // what is wrong with snapshots or records is for the look to tell
            let ids = snapshots.ids().or_else(|_| snapshots.listed_ids())?;
            let oldest = ids.first().copied();
            let hint = snapshots.earliest_hint().ok().flatten();
            found.going |= oldest.zip(hint).is_some_and(|(oldest, hint)| hint > oldest);
            found.places.extend(ids.iter().map(|id| format!("{branch}/snapshot-{id}")));
            let changelogs = ChangelogManager::new(ctx.fs.clone(), &root).ids()?;
            found.places.extend(changelogs.iter().map(|id| format!("{branch}/changelog-{id}")));
            let tags = TagManager::new(ctx.fs.clone(), &root).names()?;
            found.places.extend(tags.iter().map(|name| format!("{branch}/tag-{name}")));
            found.places.insert(branch.clone());
        }
        Ok(found)
    }

    /// The versions that are there once no expiry is at work any more, or when it takes too long.
    fn when_settled(ctx: &TableContext) -> Result<Self> {
        let mut waited = Duration::ZERO;
        loop {
            let now = Self::of(ctx)?;
            if !now.going || waited >= PATIENCE {
                return Ok(now);
            }
            thread::sleep(PAUSE);
            waited += PAUSE;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{cell::Cell, collections::BTreeMap, sync::Arc};

    use super::*;
    use crate::{
        commit::{Committable, TableCommit},
        fs::{FaultFileIo, FileIo as _, FileIoRef},
        schema::{NewTable, SchemaManager},
        table::Table,
        types::{DataField, DataType, TypeKind},
    };

    const ROOT: &str = "/t";

    /// A table with three empty snapshots.
    fn table() -> (FaultFileIo, TableContext) {
        let io = FaultFileIo::new();
        let fs: FileIoRef = Arc::new(io.clone());
        let schema = NewTable {
            fields: vec![DataField::new(0, "v", DataType::new(TypeKind::Int))],
            primary_key: Vec::new(),
            partition_by: Vec::new(),
            options: BTreeMap::new(),
            comment: None,
        };
        SchemaManager::new(Arc::clone(&fs), ROOT).create(schema.into_schema().unwrap()).unwrap();
        let ctx = Table::open_with(fs, ROOT, "main", None, BTreeMap::new()).unwrap().context().clone();
        for identifier in 1..=3 {
            let empty = Committable { identifier: Some(identifier), allow_empty: true, ..Committable::default() };
            TableCommit::new(&ctx, "w").commit(empty).unwrap();
        }
        (io, ctx)
    }

    fn verdict(places: &[&str]) -> Verdict {
        let mut verdict = Verdict::default();
        for place in places {
            verdict.problem("missing-file", place, "it is missing", "restore it");
        }
        verdict
    }

    /// What is told when one look after another finds problems at these places, each after something was done.
    fn told(ctx: &TableContext, looks: &[&[&str]], meanwhile: impl Fn(usize)) -> (Vec<String>, usize) {
        let look = Cell::new(0);
        let verdict = steady(ctx, || {
            meanwhile(look.get());
            let found = verdict(looks[look.get()]);
            look.set(look.get() + 1);
            Ok(found)
        });
        (verdict.unwrap().findings.into_iter().map(|f| f.place).collect(), look.get())
    }

    #[test]
    fn a_snapshot_that_expires_while_it_is_looked_at_is_no_finding() {
        let (io, ctx) = table();
        let expire = |_| io.delete("/t/snapshot/snapshot-1").unwrap();
        assert_eq!(told(&ctx, &[&["main/snapshot-1"], &[]], expire), (vec![], 2));
    }

    #[test]
    fn what_is_wrong_with_versions_that_stay_is_told_at_once() {
        let (_, ctx) = table();
        assert_eq!(told(&ctx, &[&["main/snapshot-2"]], |_| ()), (vec!["main/snapshot-2".to_owned()], 1));
        assert_eq!(told(&ctx, &[&["/t/schema/schema-0"]], |_| ()), (vec!["/t/schema/schema-0".to_owned()], 1));
    }

    #[test]
    fn a_version_that_came_and_went_between_two_looks_is_no_finding() {
        let (_, ctx) = table();
        assert_eq!(told(&ctx, &[&["main/tag-short"], &[]], |_| ()), (vec![], 2));
    }

    #[test]
    fn a_table_that_never_holds_still_keeps_what_is_wrong_with_the_versions_that_stay() {
        let (_, ctx) = table();
        let always: &[&str] = &["main/snapshot-0", "main/snapshot-3"];
        assert_eq!(told(&ctx, &[always; LOOKS], |_| ()), (vec!["main/snapshot-3".to_owned()], LOOKS));
    }

    #[test]
    fn an_expiry_that_was_cut_short_is_told_after_a_while() {
        let (io, ctx) = table();
        io.overwrite("/t/snapshot/EARLIEST", b"3").unwrap();
        assert_eq!(told(&ctx, &[&["main/snapshot-1"]], |_| ()), (vec!["main/snapshot-1".to_owned()], 1));
    }
}
