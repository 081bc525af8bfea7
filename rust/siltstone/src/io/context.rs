//! What an operation knows about its table. Cheap to clone; travels into every writer and reader.

use std::{collections::BTreeMap, sync::Arc};

use super::Remembered;
use crate::{
    error::Result,
    fs::FileIoRef,
    options::{CoreOptions, overlay},
    path::{PathFactory, branch_root},
    schema::{SchemaManager, TableSchema},
    snapshot::{BranchManager, ChangelogManager, ConsumerManager, SnapshotManager, TagManager},
    types::{DataField, special},
};

/// One table, at one schema, with the options of one operation.
#[derive(Clone, Debug)]
pub struct TableContext {
    /// Storage.
    pub fs: FileIoRef,
    /// `db.table` for messages.
    pub name: String,
    /// Root of the main table, also for a branch: data lives below it.
    pub location: String,
    /// Branch, `main` when none.
    pub branch: String,
    /// The schema that this operation reads or writes with.
    pub schema: Arc<TableSchema>,
    /// Table options with the operation's dynamic options on top.
    pub options: Arc<CoreOptions>,
    /// The options that the handle was opened with, as they were given.
    pub dynamic: Arc<BTreeMap<String, String>>,
    /// Where files live.
    pub paths: Arc<PathFactory>,
    /// Older schemas, cached.
    pub schemas: Arc<SchemaManager>,
    /// When the file of the schema was written; `None`: of main, whose schemas tell by themselves whose they are.
    pub written: Option<SchemaWritten>,
    /// What its commits need not ask for again.
    pub remembered: Arc<Remembered>,
}

impl TableContext {
    /// The directory of the branch's metadata.
    pub fn branch_root(&self) -> String {
        branch_root(&self.location, &self.branch)
    }

    /// Snapshots of the branch.
    pub fn snapshots(&self) -> SnapshotManager {
        SnapshotManager::new(self.fs.clone(), &self.branch_root())
    }

    /// Tags of the branch.
    pub fn tags(&self) -> TagManager {
        TagManager::new(self.fs.clone(), &self.branch_root())
    }

    /// Long-lived changelogs of the branch.
    pub fn changelogs(&self) -> ChangelogManager {
        ChangelogManager::new(self.fs.clone(), &self.branch_root())
    }

    /// Readers of the branch that it remembers.
    pub fn consumers(&self) -> ConsumerManager {
        ConsumerManager::new(self.fs.clone(), &self.branch_root())
    }

    /// Branches of the table.
    pub fn branches(&self) -> BranchManager {
        BranchManager::new(self.fs.clone(), &self.location)
    }

    /// The same table under the options that its newest schema stores, with the handle's own on top: whoever deletes by an option
    /// asks for it then, as the handle may be older than an alter.
    ///
    /// # Errors
    /// Those of reading the schema and its options.
    pub fn with_newest_options(&self) -> Result<Self> {
        self.schemas.latest()?.map_or_else(|| Ok(self.clone()), |newest| self.with_options_of(&newest))
    }

    /// The same table under the options that a schema stores, with the handle's own on top.
    ///
    /// # Errors
    /// Those of the options.
    pub fn with_options_of(&self, schema: &TableSchema) -> Result<Self> {
        if schema.id == self.schema.id {
            return Ok(self.clone());
        }
        let options =
            CoreOptions::parse(&overlay(&schema.options, &self.dynamic)).map_err(|e| e.with("table", &self.name))?;
        Ok(Self { options: options.into(), ..self.clone() })
    }

    /// The same table, whose rows come and go with their ids and versions behind the columns: `_ROW_ID` and
    /// `_SEQUENCE_NUMBER`. Itself where rows have none.
    #[must_use]
    pub fn with_row_ids(&self) -> Self {
        if !self.options.row_tracking_enabled {
            return self.clone();
        }
        let mut schema = (*self.schema).clone();
        // an updated row has the version of the commit that brings it, which is not known before
        let mut version = special::sequence_number();
        version.data_type.nullable = true;
        schema.fields.extend([special::row_id(), version]);
        Self { schema: schema.into(), ..self.clone() }
    }

    /// The same table with some of its columns.
    #[must_use]
    pub(crate) fn with_columns(&self, fields: Vec<DataField>) -> Self {
        let mut options = (*self.options).clone();
        // an index belongs to the file with all columns
        options.raw.retain(|key, _| !key.starts_with("file-index."));
        let schema = TableSchema { fields, ..(*self.schema).clone() };
        Self { schema: schema.into(), options: options.into(), ..self.clone() }
    }

    /// The same table, whose files are never large enough for another one.
    #[must_use]
    pub(crate) fn with_one_file(&self) -> Self {
        let options =
            CoreOptions { target_file_size: Some(u64::MAX), target_file_row_num: u64::MAX, ..(*self.options).clone() };
        Self { options: options.into(), ..self.clone() }
    }
}

/// The schema file that a branch was opened with. A branch that is made again has copies of the same schemas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaWritten {
    /// The file.
    pub path: String,
    /// Epoch milliseconds, as the storage says.
    pub millis: i64,
}
