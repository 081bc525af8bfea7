//! What becomes of main's schemas when main goes forward to a branch.
//!
//! One that changes a fixed option of main's newest version comes as undecided ([`crate::schema`]): until the branch's first version is
//! in its place, and for good where the fast-forward dies before, others go by the schema before it.

use crate::{
    cleanup::{Change, CleanupStep},
    error::{Error, ErrorKind, Result},
    fs::read_json,
    io::TableContext,
    schema::{SchemaManager, TableSchema},
    snapshot::{Snapshot, Tag},
};

/// Schema files of main that go, and those that are written.
#[derive(Default)]
pub(super) struct SchemaChanges {
    pub(super) gone: Vec<String>,
    pub(super) written: Vec<CleanupStep>,
    /// Those of them that came as undecided, to be written when main has the branch's versions.
    pub(super) decided: Vec<CleanupStep>,
    /// The first one of main that goes or gets another content.
    first_lost: Option<i64>,
}

impl SchemaChanges {
    /// Whether one of main goes, or gets another content.
    pub(super) fn loses_any(&self) -> bool {
        self.first_lost.is_some()
    }

    /// Whether that one goes, or may be read with another one that does.
    pub(super) fn loses(&self, id: i64) -> bool {
        self.first_lost.is_some_and(|first| id >= first)
    }

    fn lose(&mut self, id: i64) {
        self.first_lost = Some(self.first_lost.map_or(id, |first| first.min(id)));
    }

    /// Main's tags that stay are read with main's schemas: their own, and those of older data files.
    ///
    /// # Errors
    /// `VersionInUse`: one of them needs a schema that would go.
    pub(super) fn check_tags(&self, main: &TableContext, kept: &[(String, Tag)]) -> Result<()> {
        let Some(lost) = self.first_lost else { return Ok(()) };
        match kept.iter().find(|(_, tag)| tag.snapshot.schema_id >= lost) {
            Some((name, _)) => {
                let message = format!("schema {lost} of main would go, and tag '{name}', which stays, needs it");
                Err(Error::new(ErrorKind::VersionInUse, message)
                    .with("table", &main.name)
                    .with("tag", name)
                    .hint("delete the tag first, or the branch that was made from it"))
            }
            None => Ok(()),
        }
    }
}

pub(super) fn schema_changes(main: &TableContext, root: &str, theirs: &[Snapshot]) -> Result<SchemaChanges> {
    let (ours, branch) =
        (SchemaManager::new(main.fs.clone(), &main.location), SchemaManager::new(main.fs.clone(), root));
    let from = theirs.first().map_or(i64::MAX, |s| s.schema_id);
    let mut changes = SchemaChanges::default();
    let ids = branch.ids()?;
    for id in ours.ids()?.into_iter().filter(|id| *id >= from && !ids.contains(id)) {
        changes.gone.push(ours.path(id));
        changes.lose(id);
    }
    changes.gone.reverse();
    for id in ids {
        let content = read_json(&*main.fs, &branch.path(id))?;
        let known = match read_json(&*main.fs, &ours.path(id)) {
            Ok(known) => Some(known),
            Err(e) if e.kind() == ErrorKind::FileNotFound => None,
            Err(e) => return Err(e),
        };
        if known.as_ref() == Some(&content) {
            continue;
        }
        let (path, final_content) = (ours.path(id), String::from_utf8_lossy(&content).into_owned());
        let schema = TableSchema::from_json(&branch.path(id), &content)?;
        let is_there = known
            .as_ref()
            .is_some_and(|known| TableSchema::from_json(&path, known).is_ok_and(|known| known.is_same(&schema)));
        let undecided = ours.late_option_beside(&schema, &branch)?.is_some();
        if is_there || undecided {
            let decided = Change::Overwrite { path: path.clone(), content: final_content.clone() };
            changes.decided.push(CleanupStep::Change(decided));
        }
        if is_there {
            continue;
        }
        let content = if undecided { TableSchema { pending: Some(true), ..schema }.to_json()? } else { final_content };
        let change = if known.is_some() {
            changes.lose(id);
            Change::Overwrite { path, content }
        } else {
            // an alter may be faster with this id: the next round sees it
            Change::Publish { path, content }
        };
        changes.written.push(CleanupStep::Change(change));
    }
    Ok(changes)
}
