//! What the versions of a table keep: whose data files they are, and which of them nothing else has.

use std::sync::Arc;

use super::{super::Table, compared::Compared};
use crate::{
    Error, ErrorKind, Result, cancel,
    io::TableContext,
    limits::sum,
    manifest::ManifestEntry,
    scan::{Resolved, VersionSelector},
    snapshot::Snapshot,
};

/// A version whose files are looked at.
#[derive(Clone, Debug)]
pub struct KeptVersion {
    /// What keeps it, as a number from 0 on; 0 is the newest version.
    pub keeper: usize,
    /// Its branch.
    pub branch: String,
    /// Its id.
    pub snapshot: i64,
    /// The tag that is to be looked at instead.
    pub tag: Option<String>,
}

/// What versions keep.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// Bytes of each version's files; `None`: it was not looked at, because there are too many files or it cannot be read.
    pub versions: Vec<Option<i64>>,
    /// Bytes of the files of each keeper, and of those of them that no other has; `None`: none of its versions was looked at.
    pub keepers: Vec<Option<(i64, i64)>>,
}

/// Who has a file.
#[derive(Clone, Copy, Debug)]
struct Mark {
    /// The last keeper.
    keeper: usize,
    /// The size that it counts with.
    bytes: i64,
    /// Whether others have it, too.
    shared: bool,
}

/// The comparison of versions.
pub(super) struct Comparison<'a> {
    table: &'a Table,
    files: Compared,
    /// By file.
    marks: Vec<Option<Mark>>,
    keepers: Vec<Option<(i64, i64)>>,
    /// Names of files that may still be compared.
    left: usize,
}

impl<'a> Comparison<'a> {
    pub(super) fn new(table: &'a Table, compared: usize) -> Self {
        Self { table, files: Compared::default(), marks: Vec::new(), keepers: Vec::new(), left: compared }
    }

    /// The entries of the newest version, which is remembered.
    pub(super) fn entries(
        &mut self,
        ctx: &TableContext,
        snapshot: &Snapshot,
        statistics: bool,
    ) -> Result<Vec<ManifestEntry>> {
        self.files.entries(ctx, snapshot, statistics)
    }

    /// Looks at one version after another.
    ///
    /// # Errors
    /// `Cancelled`. A version that cannot be read is left out.
    pub(super) fn kept(mut self, versions: &[KeptVersion]) -> Result<Kept> {
        let mut found = Vec::with_capacity(versions.len());
        let mut last = 0;
        for version in versions {
            cancel::check()?;
            let files = match version.keeper {
                0 => Some(self.files.newest()?),
                _ if last > self.left => None,
                _ => match self.live(version) {
                    Err(e) if e.kind() == ErrorKind::Cancelled => return Err(e),
                    files => files.ok(),
                },
            };
            let Some(files) = files else {
                found.push(None);
                continue;
            };
            last = files.len();
            self.left = self.left.saturating_sub(last);
            found.push(Some(sum(files.iter().map(|(_, bytes)| *bytes))));
            self.mark(version.keeper, &files);
        }
        Ok(Kept { versions: found, keepers: self.alone() })
    }

    /// The files of a version: their numbers and sizes.
    fn live(&mut self, version: &KeptVersion) -> Result<Vec<(usize, i64)>> {
        let selector = match &version.tag {
            Some(tag) => VersionSelector::Tag(tag.clone()),
            None => VersionSelector::Snapshot(version.snapshot),
        };
        let at = if version.branch == self.table.context().branch {
            Resolved::state(self.table.context(), &selector)?
        } else {
            Resolved::state(of_branch(self.table, &version.branch)?.context(), &selector)?
        };
        let missing = || Error::new(ErrorKind::SnapshotNotFound, "there is no such version");
        self.files.live(&at.ctx, &at.snapshot.ok_or_else(missing)?)
    }

    /// Counts the files of a version for its keeper; one that several of its versions have counts once.
    fn mark(&mut self, keeper: usize, files: &[(usize, i64)]) {
        if self.keepers.len() <= keeper {
            self.keepers.resize(keeper + 1, None);
        }
        self.marks.resize(self.marks.len().max(self.files.count()), None);
        let mut more = 0_i64;
        for (file, bytes) in files {
            let Some(mark) = self.marks.get_mut(*file) else { continue };
            let counted = match mark {
                Some(mark) if mark.keeper == keeper => {
                    let counted = mark.bytes;
                    mark.bytes = counted.max(*bytes);
                    counted.min(*bytes)
                }
                Some(mark) => {
                    *mark = Mark { keeper, bytes: *bytes, shared: true };
                    0
                }
                None => {
                    *mark = Some(Mark { keeper, bytes: *bytes, shared: false });
                    0
                }
            };
            more = more.saturating_add(bytes - counted);
        }
        if let Some(known) = self.keepers.get_mut(keeper) {
            let (whole, alone) = known.unwrap_or_default();
            *known = Some((whole.saturating_add(more), alone));
        }
    }

    /// The keepers, each with the size of the files that it alone has.
    fn alone(mut self) -> Vec<Option<(i64, i64)>> {
        for mark in self.marks.iter().flatten().filter(|mark| !mark.shared) {
            if let Some(Some((_, alone))) = self.keepers.get_mut(mark.keeper) {
                *alone = alone.saturating_add(mark.bytes);
            }
        }
        self.keepers
    }
}

/// The same table of another branch, with the same options.
fn of_branch(table: &Table, branch: &str) -> Result<Table> {
    let ctx = table.context();
    let mut options = table.dynamic_options().clone();
    options.remove("branch");
    Table::open_with(Arc::clone(&ctx.fs), &ctx.location, branch, None, options)
}
