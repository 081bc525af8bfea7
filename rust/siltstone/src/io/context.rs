//! What an operation knows about its table. Cheap to clone; travels into every writer and reader.

use std::sync::Arc;

use crate::{
    fs::FileIoRef,
    options::CoreOptions,
    path::PathFactory,
    schema::{SchemaManager, TableSchema},
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
    /// Where files live.
    pub paths: Arc<PathFactory>,
    /// Older schemas, cached.
    pub schemas: Arc<SchemaManager>,
    /// When the file of the schema was written; `None`: of main, whose schemas tell by themselves whose they are.
    pub written: Option<SchemaWritten>,
}

/// The schema file that a branch was opened with. A branch that is made again has copies of the same schemas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaWritten {
    /// The file.
    pub path: String,
    /// Epoch milliseconds, as the storage says.
    pub millis: i64,
}
