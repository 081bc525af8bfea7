//! What is there: rows of every version, tag and branch, and what `fsck` finds.

use std::{collections::BTreeMap, sync::Arc};

use siltstone::{
    Error, ErrorKind, Result,
    fs::FileIoRef,
    io::TableContext,
    maintenance::fsck::{Severity, fsck},
    path::branch_root,
    scan::VersionSelector,
    snapshot::{BranchManager, SnapshotManager, TagManager},
};

use super::{
    model::State,
    world::{ROOT, open},
};
use crate::steps::rows;

fn context(fs: &FileIoRef, branch: &str) -> Result<TableContext> {
    Ok(open(fs, branch, &[])?.context().clone())
}

/// What users see.
pub(super) fn state(fs: &FileIoRef) -> Result<State> {
    let main = context(fs, "main")?;
    let mut state = State {
        rows: rows(&main, VersionSelector::Latest)?,
        columns: main.schema.fields.len(),
        newest: SnapshotManager::new(Arc::clone(fs), ROOT).latest_id()?.unwrap_or(0),
        tags: BTreeMap::new(),
        branches: BTreeMap::new(),
    };
    for (name, tagged) in TagManager::new(Arc::clone(fs), ROOT).list()? {
        state.tags.insert(name.clone(), (rows(&main, VersionSelector::Tag(name))?, tagged.id));
    }
    for name in BranchManager::new(Arc::clone(fs), ROOT).names()? {
        let rows = rows(&context(fs, &name)?, VersionSelector::Latest)?;
        state.branches.insert(name, rows);
    }
    Ok(state)
}

/// Versions of all branches that cannot be read. Snapshots that are going may say that they have expired.
pub(super) fn unreadable(fs: &FileIoRef) -> Result<Vec<String>> {
    let mut found = Vec::new();
    let mut branches = BranchManager::new(Arc::clone(fs), ROOT).names()?;
    branches.push("main".to_owned());
    for branch in branches {
        let ctx = context(fs, &branch)?;
        let root = branch_root(ROOT, &branch);
        let ids = SnapshotManager::new(Arc::clone(fs), &root).ids()?;
        for id in &ids {
            match rows(&ctx, VersionSelector::Snapshot(*id)) {
                Err(e) if !is_gone(&e) => found.push(format!("{branch}/snapshot-{id}: {}", told(&e))),
                _ => {}
            }
        }
        for name in TagManager::new(Arc::clone(fs), &root).names()? {
            if let Err(e) = rows(&ctx, VersionSelector::Tag(name.clone())) {
                found.push(format!("{branch}/tag-{name}: {}", told(&e)));
            }
        }
    }
    Ok(found)
}

fn is_gone(e: &Error) -> bool {
    matches!(e.kind(), ErrorKind::SnapshotExpired | ErrorKind::SnapshotNotFound)
}

/// An error with its kind.
pub(super) fn told(e: &Error) -> String {
    format!("{:?}: {e}", e.kind())
}

/// What a check finds; with `all` what only costs space or time, too.
pub(super) fn findings(fs: &FileIoRef, deep: bool, all: bool) -> Result<Vec<String>> {
    let verdict = fsck(&context(fs, "main")?, deep, i64::MAX)?;
    // a tag that a rollback was to delete, which died: it can be read, and keeps its files
    let harmless = ["cut-off-version"];
    let found = verdict
        .findings
        .into_iter()
        .filter(|finding| finding.severity == Severity::Problem || (all && !harmless.contains(&finding.code)));
    Ok(found.map(|finding| format!("fsck: {} {}: {}", finding.code, finding.place, finding.message)).collect())
}
