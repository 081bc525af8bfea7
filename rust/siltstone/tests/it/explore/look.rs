//! What is there after a run, and whether that is right.

use std::{collections::BTreeMap, sync::Arc};

use siltstone::{
    Error, ErrorKind, Result,
    fs::FileIoRef,
    maintenance::fsck::{Severity, fsck},
    path::branch_root,
    scan::VersionSelector,
    snapshot::{BranchManager, SnapshotManager, TagManager},
};

use super::{
    model::{Line, Rows, State},
    operations::compact,
    versions::Reader,
    world::{open, users},
};
use crate::{crash::ROOT, steps::rows};

/// All versions that can be read, tags and branches.
pub(super) fn state(fs: &FileIoRef, reader: &Reader<'_>) -> Result<State> {
    reader.look();
    let mut state = State::default();
    let mut branches = BranchManager::new(Arc::clone(fs), ROOT).names()?;
    branches.push("main".to_owned());
    for branch in branches {
        let table = open(fs, &branch, &[]).map_err(|e| e.with("branch", &branch))?;
        let ctx = table.context();
        let mut line = Line { columns: ctx.schema.fields.len(), ..Line::default() };
        let snapshots = SnapshotManager::new(Arc::clone(fs), &branch_root(ROOT, &branch));
        for id in snapshots.ids()? {
            let rows = or_switched(reader.rows(ctx, &snapshots.get(id)?, VersionSelector::Snapshot(id)))?;
            line.versions.insert(id, rows);
        }
        if branch == "main" {
            for (name, tagged) in TagManager::new(Arc::clone(fs), ROOT).list()? {
                let rows = or_switched(reader.rows(ctx, &tagged, VersionSelector::Tag(name.clone())))?;
                state.tags.insert(name, (tagged.id, rows));
            }
        }
        state.lines.insert(branch, line);
    }
    Ok(state)
}

/// Versions from before deletion vectors were switched on or off are not read any more.
fn or_switched(rows: Result<Arc<Rows>>) -> Result<Arc<Rows>> {
    match rows {
        Err(e) if e.kind() == ErrorKind::UnsupportedFeature && e.to_string().contains("was switched") => {
            Ok(Arc::default())
        }
        rows => rows,
    }
}

/// The rows of each branch but main and of each tag when nothing of them waits for a compaction any more.
pub(super) fn ripe(fs: &FileIoRef, state: &State) -> Result<Ripe> {
    let mut ripe = Ripe::default();
    for name in state.lines.keys().filter(|name| *name != "main") {
        ripe.lines.insert(name.clone(), compacted(fs, name)?);
    }
    for name in users(&state.tags).into_keys() {
        let branch = format!("ripe-{name}");
        open(fs, "main", &[])?.create_branch(&branch, Some(name.clone()), None)?;
        ripe.tags.insert(name, compacted(fs, &branch)?);
    }
    Ok(ripe)
}

fn compacted(fs: &FileIoRef, branch: &str) -> Result<Rows> {
    compact(fs, branch).map_err(|e| e.with("branch", branch))?;
    rows(open(fs, branch, &[])?.context(), VersionSelector::Latest)
}

/// Rows by names.
#[derive(Debug, Default)]
pub(super) struct Ripe {
    lines: BTreeMap<String, Rows>,
    tags: BTreeMap<String, Rows>,
}

impl Ripe {
    /// Those that no expected state has.
    pub(super) fn wrong(&self, expected: &[State]) -> Vec<String> {
        let lines = self.lines.iter().filter(|(name, rows)| {
            !expected.iter().any(|state| state.lines.get(*name).is_some_and(|line| line.rows() == rows.as_slice()))
        });
        let tags = self.tags.iter().filter(|(name, rows)| {
            !expected.iter().any(|state| state.tags.get(*name).is_some_and(|(_, other)| **other == **rows))
        });
        let lines = lines.map(|(name, rows)| format!("branch {name} is compacted to {{{}}}", short(rows)));
        lines.chain(tags.map(|(name, rows)| format!("tag {name} is compacted to {{{}}}", short(rows)))).collect()
    }
}

/// An error with its kind.
pub(super) fn told(e: &Error) -> String {
    format!("{:?}: {e}", e.kind())
}

/// What a check finds; with `all` what only costs space or time, too.
pub(super) fn findings(fs: &FileIoRef, deep: bool, all: bool) -> Result<Vec<String>> {
    let verdict = fsck(open(fs, "main", &[])?.context(), deep, i64::MAX)?;
    // a tag that a rollback was to delete, which died: it can be read, and keeps its files; a hint that a writer of a branch,
    // which died, was to write: the upkeep of main leaves it to the next commit
    // versions from before deletion vectors were switched on or off
    let is_harmless = |code: &str, place: &str, message: &str| {
        code == "cut-off-version"
            || (code == "wrong-hint" && place.contains("/branch/branch-"))
            || (code == "not-checked" && message.contains("was switched"))
    };
    let found = verdict.findings.into_iter().filter(|finding| {
        finding.severity == Severity::Problem || (all && !is_harmless(finding.code, &finding.place, &finding.message))
    });
    Ok(found.map(|finding| format!("fsck {}: {}: {}", finding.code, finding.place, finding.message)).collect())
}

/// The rows of branches and of tags.
type Kept<'a> = (BTreeMap<&'a String, &'a [(i32, i64)]>, BTreeMap<String, Rows>);

impl State {
    fn line_fits(found: &Line, expected: &Line, hides: bool) -> bool {
        let has =
            |(id, rows): (&i64, &Arc<Rows>)| expected.versions.get(id).is_some_and(|other| hides || other == rows);
        found.newest() == expected.newest() && found.versions.iter().all(has)
    }

    fn tag_fits(found: Option<&(i64, Arc<Rows>)>, expected: Option<&(i64, Arc<Rows>)>, hides: bool) -> bool {
        match (found, expected) {
            (Some(found), Some(expected)) => found.0 == expected.0 && (hides || found.1 == expected.1),
            (found, expected) => found.is_none() && expected.is_none(),
        }
    }

    /// Whether it is one of the expected states. With `partly` each branch and tag may be of another one: somebody died, or
    /// met an error, who was to change several of them.
    pub(super) fn is_one_of(&self, expected: &[Self], hides: bool, partly: bool) -> bool {
        let line = |other: &Self, name: &str| match (self.lines.get(name), other.lines.get(name)) {
            // a branch has the schema of its first version, which the model does not know
            (Some(found), Some(expected)) if name == "main" && found.columns != expected.columns => false,
            (Some(found), Some(expected)) => Self::line_fits(found, expected, hides),
            (found, expected) => found.is_none() && expected.is_none(),
        };
        let tag = |other: &Self, name: &str| {
            name.starts_with("fork-") || Self::tag_fits(self.tags.get(name), other.tags.get(name), hides)
        };
        let all = || expected.iter().chain([self]);
        let lines: Vec<&String> = all().flat_map(|state| state.lines.keys()).collect();
        let tags: Vec<&String> = all().flat_map(|state| state.tags.keys()).collect();
        if partly {
            return expected.iter().any(|other| line(other, "main"))
                && lines.iter().all(|name| expected.iter().any(|other| line(other, name)))
                && tags.iter().all(|name| expected.iter().any(|other| tag(other, name)));
        }
        let fits =
            |other: &Self| lines.iter().all(|name| line(other, name)) && tags.iter().all(|name| tag(other, name));
        expected.iter().any(fits)
    }

    /// What tells this state from another one.
    pub(super) fn shown(&self, other: &Self) -> String {
        let mut parts = Vec::new();
        for (name, line) in &self.lines {
            if other.lines.get(name) != Some(line) || name == "main" {
                parts.push(format!("{name} {{{}}} with {} columns", versions(line), line.columns));
            }
        }
        if users(&self.tags) != users(&other.tags) {
            let tags = self.tags.iter().filter(|(name, _)| !name.starts_with("fork-"));
            parts.extend(tags.map(|(name, (id, rows))| format!("tag {name} = {id} {{{}}}", short(rows))));
        }
        parts.join(", ")
    }

    /// Rows of branches and tags, which upkeep does not change.
    pub(super) fn kept(&self) -> Kept<'_> {
        let branches = self.lines.iter().filter(|(name, _)| *name != "main");
        (branches.map(|(name, line)| (name, line.rows())).collect(), users(&self.tags))
    }
}

pub(super) fn short(rows: &[(i32, i64)]) -> String {
    // rows of the beginning have ten times their key
    rows.iter()
        .map(|(k, v)| if *v == i64::from(*k) * 10 { k.to_string() } else { format!("{k}={v}") })
        .collect::<Vec<_>>()
        .join(" ")
}

fn versions(line: &Line) -> String {
    let newest = line.versions.iter().rev().take(6);
    newest.map(|(id, rows)| format!("{id}: {}", short(rows))).collect::<Vec<_>>().join("; ")
}
