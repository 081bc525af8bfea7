//! What a catalog knows besides files: which databases and tables there are, their properties, and a lock for each table.
//!
//! Schemas, snapshots and data stay in the warehouse; a metastore holds names. The order of calls is Java's (`JdbcCatalog`): a
//! table has its first schema before it has its name, and loses its name before it loses its files.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use super::super::{
    name::{MAIN_BRANCH, TableName},
    served::TableServer,
};
use crate::{
    cancel,
    env::{ClockRef, system_clock},
    error::{Error, ErrorKind, Result},
    fs::{Publication, Publisher},
    options::overlay,
    schema::TableSchema,
};

/// Properties of a database or a table.
pub type Properties = BTreeMap<String, String>;

/// Names of databases and tables that are kept somewhere else than in directories.
///
/// Errors are `Storage` where it does not answer. What is added twice, or removed when it is not there, is `false`.
pub trait Metastore: Send + Sync + std::fmt::Debug {
    /// Names of the databases, in any order.
    fn databases(&self) -> Result<Vec<String>>;
    /// Properties of a database; `None` when there is none.
    fn database(&self, name: &str) -> Result<Option<Properties>>;
    /// Adds a database.
    fn create_database(&self, name: &str, properties: &Properties) -> Result<bool>;
    /// Removes a database: `false` where it has tables, which may have come meanwhile. A server drops it with them.
    fn drop_database(&self, name: &str) -> Result<bool>;
    /// Names of the tables of a database, in any order.
    fn tables(&self, database: &str) -> Result<Vec<String>>;
    /// Whether there is a table.
    fn has_table(&self, name: &TableName) -> Result<bool>;
    /// What has the name of a table and is none, such as a view.
    fn other_object(&self, name: &TableName) -> Result<Option<String>>;
    /// Adds a table, with the properties of its first schema.
    fn create_table(&self, name: &TableName, properties: &Properties) -> Result<bool>;
    /// Removes a table.
    fn drop_table(&self, name: &TableName) -> Result<bool>;
    /// Gives a table another name, which no table has.
    fn rename_table(&self, from: &TableName, to: &TableName) -> Result<bool>;
    /// Takes over the properties of a newer schema.
    fn alter_table(&self, name: &TableName, properties: &Properties) -> Result<()>;
    /// How long to wait for the lock of a table, and between two tries; `None`: there are no locks.
    fn patience(&self) -> Option<Patience>;
    /// Takes the lock of a table if it is free, or if its holder has had it for too long: what to give it back with.
    fn try_lock(&self, name: &TableName) -> Result<Option<String>>;
    /// Gives the lock back, if it is still the one that was taken.
    fn unlock(&self, name: &TableName, taken: &str) -> Result<()>;
    /// The server that keeps the tables themselves, with their schemas and snapshots; `None`: they are directories of the
    /// warehouse.
    fn server(self: Arc<Self>) -> Option<Arc<dyn TableServer>> {
        None
    }
}

/// How long a lock is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// `lock-acquire-timeout`
    pub timeout: Duration,
    /// `lock-check-max-sleep`
    pub longest_sleep: Duration,
}

/// The first pause between two tries, which doubles.
const PAUSE: Duration = Duration::from_millis(50);
/// How long nobody is asked whether to stop.
const SLICE: Duration = Duration::from_millis(50);

/// The lock of a table in its metastore, held until it is dropped.
#[derive(Debug)]
pub(super) struct CatalogLock {
    metastore: Arc<dyn Metastore>,
    name: TableName,
    taken: String,
}

impl CatalogLock {
    /// Waits for the lock; `None` where the metastore has none.
    ///
    /// # Errors
    /// `CommitRetriesExhausted`: somebody held it all the time. All errors are without effect.
    pub(super) fn take(metastore: &Arc<dyn Metastore>, name: &TableName) -> Result<Option<Self>> {
        Self::take_with(metastore, name, &system_clock()).map_err(Error::without_effect)
    }

    fn take_with(metastore: &Arc<dyn Metastore>, name: &TableName, clock: &ClockRef) -> Result<Option<Self>> {
        let Some(patience) = metastore.patience() else { return Ok(None) };
        let begun = clock.elapsed();
        let mut pause = PAUSE;
        loop {
            if let Some(taken) = metastore.try_lock(name)? {
                return Ok(Some(Self { metastore: Arc::clone(metastore), name: name.clone(), taken }));
            }
            let waited = clock.elapsed().saturating_sub(begun);
            if waited >= patience.timeout {
                return Err(still_held(name, waited));
            }
            pause = pause.saturating_mul(2).min(patience.longest_sleep.max(SLICE));
            let mut left = pause;
            while !left.is_zero() {
                cancel::check_before()?;
                clock.sleep(left.min(SLICE));
                left = left.saturating_sub(SLICE);
            }
        }
    }
}

fn still_held(name: &TableName, waited: Duration) -> Error {
    Error::new(ErrorKind::CommitRetriesExhausted, "somebody held the catalog's lock of the table all the time")
        .with("table", name.plain())
        .with("waited_millis", waited.as_millis())
        .hint("try again; the catalog option 'lock-acquire-timeout' says how long to wait")
}

impl Drop for CatalogLock {
    fn drop(&mut self) {
        // who has stopped gives the lock back all the same
        let _shield = cancel::shield();
        if let Err(error) = self.metastore.unlock(&self.name, &self.taken) {
            tracing::warn!(%error, table = %self.name, "a catalog's lock was not given back; it expires by itself");
        }
    }
}

/// Publishes snapshots and schemas of the tables of a warehouse under the locks of its metastore.
#[derive(Debug)]
pub(super) struct LockedPublishing {
    pub(super) metastore: Arc<dyn Metastore>,
    pub(super) warehouse: String,
}

impl Publisher for LockedPublishing {
    fn publish(&self, what: &Publication<'_>, publish: &dyn Fn() -> Result<()>) -> Result<()> {
        let Publication { path, data, .. } = *what;
        let Some((name, file)) = table_of(&self.warehouse, path) else { return publish() };
        if !(file.starts_with("snapshot/snapshot-") || file.starts_with("schema/schema-")) {
            return publish();
        }
        let lock = CatalogLock::take(&self.metastore, &name)?;
        publish()?;
        drop(lock);
        if name.branch == MAIN_BRANCH && file.starts_with("schema/") {
            // the schema is there, whatever becomes of the copy of its options
            let copied =
                TableSchema::from_json(path, data).and_then(|s| self.metastore.alter_table(&name, &copied(&s)));
            if let Err(error) = copied {
                tracing::warn!(%error, table = %name, "the catalog's copy of the table's options was not changed");
            }
        }
        Ok(())
    }
}

/// The table, with its branch, that a file below the warehouse belongs to, and the rest of the path.
fn table_of<'p>(warehouse: &str, path: &'p str) -> Option<(TableName, &'p str)> {
    let rest = path.strip_prefix(warehouse)?.strip_prefix('/')?;
    let (database, rest) = rest.split_once('/')?;
    let (table, rest) = rest.split_once('/')?;
    let name = TableName::parse_plain(&format!("{}.{table}", database.strip_suffix(".db")?)).ok()?;
    let branched = rest.strip_prefix("branch/branch-").and_then(|rest| rest.split_once('/'));
    Some(match branched {
        Some((branch, file)) => (TableName { branch: branch.to_owned(), ..name }, file),
        None => (name, rest),
    })
}

/// What metastores keep of a schema: its options, and keys by the names that options for them have.
pub(super) fn copied(schema: &TableSchema) -> Properties {
    let keys = [
        ("primary-key", schema.primary_keys.clone()),
        ("partition", schema.partition_keys.clone()),
        ("bucket-key", schema.bucket_keys()),
    ];
    let keys = keys.into_iter().filter(|(_, columns)| !columns.is_empty());
    overlay(&schema.options, &keys.map(|(key, columns)| (key.to_owned(), columns.join(","))).collect())
}
