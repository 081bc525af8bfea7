//! What a table's directories hold: directories where files must be, files where directories must be, consumers, and
//! branches that have lost all their snapshots.

use super::{Check, RESTORE};
use crate::{
    error::Result,
    io::TableContext,
    path::branch_root,
    snapshot::{ConsumerManager, ReleasedVersions, Removals, SnapshotManager},
};

const OF_TABLE: [&str; 4] = ["branch", "manifest", "index", "statistics"];
const OF_BRANCH: [&str; 5] = ["schema", "snapshot", "tag", "changelog", "consumer"];
const MOVE_AWAY: &str = "move it away, and restore what stood there from a backup";

impl Check<'_> {
    /// The directories that all branches share.
    pub(super) fn layout_of_table(&mut self) -> Result<()> {
        for part in OF_TABLE {
            let path = format!("{}/{part}", self.ctx.location);
            if !self.is_directory(&path)? || part != "branch" {
                continue;
            }
            for child in self.ctx.fs.list(&path)?.into_iter().filter(|child| !child.is_dir) {
                if child.path.rsplit('/').next().is_some_and(|name| name.starts_with("branch-")) {
                    self.no_directory(&child.path);
                }
            }
        }
        Ok(())
    }

    /// The directories of one branch.
    pub(super) fn layout_of_branch(&mut self, branch: &str) -> Result<()> {
        let root = branch_root(&self.ctx.location, branch);
        for part in OF_BRANCH {
            let path = format!("{root}/{part}");
            if !self.is_directory(&path)? {
                continue;
            }
            let prefix = format!("{part}-");
            for child in self.ctx.fs.list(&path)?.into_iter().filter(|child| child.is_dir) {
                if child.path.rsplit('/').next().is_some_and(|name| name.starts_with(&prefix)) {
                    let message = format!("a directory stands where the file of a {part} must be");
                    self.verdict.problem("not-a-file", &child.path, message, MOVE_AWAY);
                }
            }
        }
        self.released_versions(&root)?;
        let consumers = ConsumerManager::new(self.ctx.fs.clone(), &root);
        for id in consumers.ids()? {
            let read = consumers.next_snapshot(&id);
            let repair = "delete the consumer if nobody reads with it any more: until then no snapshot expires";
            self.told("bad-consumer", &consumers.path(&id), read, repair)?;
        }
        Ok(())
    }

    /// What deletions of tags have left.
    fn released_versions(&mut self, root: &str) -> Result<()> {
        let records = ReleasedVersions::new(self.ctx.fs.clone(), root);
        for path in records.paths()? {
            let repair = "restore it, or delete it if no deletion of a tag is at work: then `remove_orphan_files` finds the rest";
            let read = records.read(path.clone());
            if let Some(Some(released)) = self.told("bad-released-record", &path, read, repair)? {
                let message =
                    format!("tag '{}' is deleted or replaced, and files that only it kept may be left", released.tag);
                self.verdict.warning("released", &path, message, "the next expiry or change of a tag completes it");
            }
        }
        Ok(())
    }

    fn is_directory(&mut self, path: &str) -> Result<bool> {
        let found = self.ctx.fs.status(path)?;
        if found.as_ref().is_some_and(|found| !found.is_dir) {
            self.no_directory(path);
        }
        Ok(found.is_some_and(|found| found.is_dir))
    }

    fn no_directory(&mut self, path: &str) {
        self.verdict.problem("not-a-directory", path, "a file stands where a directory must be", MOVE_AWAY);
    }

    /// A branch without any snapshot that something says had one.
    pub(super) fn lost_snapshots(
        &mut self,
        ctx: &TableContext,
        snapshots: &SnapshotManager,
        removals: &Removals,
    ) -> Result<()> {
        let (sign, repair) = if let Some(tag) = snapshots.tag_of_kept(removals)? {
            let repair = format!("restore it: the file of tag '{tag}' is a copy of the snapshot that it names");
            (format!("tag '{tag}' is of one"), repair)
        } else if let Some(id) = snapshots.hint(LATEST)? {
            (format!("the hint {LATEST} says {id}"), RESTORE.to_owned())
        } else if let Some(id) = ctx.changelogs().latest_id()? {
            (format!("changelog {id} is of an older one"), RESTORE.to_owned())
        } else if !removals.say_nothing() {
            ("removal records are of some".to_owned(), RESTORE.to_owned())
        } else {
            return Ok(());
        };
        let message = format!("there is no snapshot, and {sign}");
        self.verdict.problem("missing-snapshot", &ctx.branch, message, &repair);
        Ok(())
    }
}

const LATEST: &str = "LATEST";
