//! Tables of a catalog whose server makes them, changes their schemas and publishes their snapshots (Java's `RESTCatalog`).
//!
//! ```text
//! commit   data files, manifests ─▶ storage      snapshot, what it changes of each partition ─▶ server ─▶ snapshot-<n>
//! read     snapshot-<n>, manifests, data files ◀─ storage
//! ```
//!
//! Everything but the last step of a commit is the same as on any table: the server writes the file that others would have
//! published, or says that its id is taken. What a server remembers beside the files is changed through it only: schemas,
//! branches, rollbacks. Tags and expiry are files, as in Java.
//!
//! Handles are opened by the place of a table, so whoever found a table in such a catalog says so for the whole process
//! ([`Served::register`]). A table that the server calls external is like any other, but for its schemas.

use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock},
};

use super::name::{MAIN_BRANCH, TableName};
use crate::{
    error::{Error, ErrorKind, Result},
    fs::{Publication, Publisher, StorageTokens, watch},
};

/// What a catalog's server does for tables. Errors are `Storage` where it does not answer; those that are without effect say that
/// it has done nothing.
pub trait TableServer: Send + Sync + std::fmt::Debug {
    /// A table, or a branch of one; `None` when there is none.
    fn table(&self, name: &TableName) -> Result<Option<ServedTable>>;
    /// Options of a table's storage that hold now: asked before every request to the storage.
    fn storage(&self, name: &TableName) -> Result<BTreeMap<String, String>>;
    /// Makes a table of a schema as JSON; `false` when there is one.
    fn create_table(&self, name: &TableName, schema: &str) -> Result<bool>;
    /// Changes the schema of a table or branch, by a JSON list of Java's changes.
    fn change_schema(&self, name: &TableName, changes: &str) -> Result<()>;
    /// Publishes a snapshot with what it changes of the partitions, both as JSON; `false` when another one has its id.
    fn commit(&self, name: &TableName, id: &str, snapshot: &str, statistics: &str) -> Result<bool>;
    /// Makes a version the latest one.
    fn rollback(&self, name: &TableName, to: &GoBack) -> Result<()>;
    /// Makes a branch, from a tag or empty.
    fn create_branch(&self, name: &TableName, branch: &str, tag: Option<&str>) -> Result<()>;
    /// Deletes a branch.
    fn drop_branch(&self, name: &TableName, branch: &str) -> Result<()>;
    /// Gives a branch another name.
    fn rename_branch(&self, name: &TableName, branch: &str, to: &str) -> Result<()>;
    /// Makes main what a branch is.
    fn forward_branch(&self, name: &TableName, branch: &str) -> Result<()>;
}

/// What a server says of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServedTable {
    /// Where it is.
    pub location: String,
    /// By what the server tells it from others of its name.
    pub id: String,
    /// Whether it was there before the catalog knew of it: then its snapshots are published as those of other tables.
    pub is_external: bool,
    /// The table option `type`, when it has one.
    pub kind: Option<String>,
    /// How its storage is reached, secrets included; `None`: the server lends keys for some time ([`TableServer::storage`]).
    pub storage: Option<BTreeMap<String, String>>,
}

/// Where a rollback goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GoBack {
    /// A snapshot.
    Snapshot(i64),
    /// A tag.
    Tag(String),
}

/// A table that a server keeps.
#[derive(Clone, Debug)]
pub(super) struct Served {
    server: Arc<dyn TableServer>,
    name: TableName,
    location: String,
    id: String,
    is_external: bool,
}

/// Keys for the storage of a table, which its server lends.
#[derive(Debug)]
pub(super) struct Lent {
    server: Arc<dyn TableServer>,
    name: TableName,
}

impl Lent {
    /// Of one table.
    pub(super) fn of(server: &Arc<dyn TableServer>, name: &TableName) -> Arc<Self> {
        Arc::new(Self { server: Arc::clone(server), name: name.clone() })
    }
}

impl StorageTokens for Lent {
    fn options(&self) -> Result<BTreeMap<String, String>> {
        self.server.storage(&self.name).map_err(Error::without_effect)
    }
}

/// The tables that were found, by their places.
static SERVED: RwLock<BTreeMap<String, Arc<Served>>> = RwLock::new(BTreeMap::new());

impl Served {
    /// From now on handles of the table at `location`, in this process, commit through the server.
    pub(super) fn register(server: &Arc<dyn TableServer>, name: &TableName, location: &str, table: &ServedTable) {
        let name = TableName { branch: MAIN_BRANCH.to_owned(), system: None, ..name.clone() };
        let served = Arc::new(Self {
            server: Arc::clone(server),
            name,
            location: location.to_owned(),
            id: table.id.clone(),
            is_external: table.is_external,
        });
        watch(location, Arc::clone(&served) as Arc<dyn Publisher>);
        SERVED.write().unwrap_or_else(PoisonError::into_inner).insert(location.to_owned(), served);
    }

    /// The server's table at a place; `None`: it is nobody's.
    pub(super) fn at(location: &str) -> Option<Arc<Self>> {
        SERVED.read().unwrap_or_else(PoisonError::into_inner).get(location).cloned()
    }

    /// Whether the server keeps its versions and branches, too.
    pub(super) fn has_versions(&self) -> bool {
        !self.is_external
    }

    /// What the catalog calls the table, or a branch of it.
    pub(super) fn name(&self, branch: &str) -> TableName {
        TableName { branch: branch.to_owned(), ..self.name.clone() }
    }

    /// The server.
    pub(super) fn server(&self) -> &dyn TableServer {
        self.server.as_ref()
    }

    fn commit(&self, branch: &str, what: &Publication<'_>) -> Result<()> {
        (what.still)()?;
        let statistics = (what.statistics)().map_err(Error::without_effect)?;
        let snapshot = std::str::from_utf8(what.data)
            .map_err(|e| Error::new(ErrorKind::Internal, "a snapshot as text").caused_by(e).without_effect())?;
        if self.server.commit(&self.name(branch), &self.id, snapshot, &statistics)? {
            return Ok(());
        }
        Err(Error::new(ErrorKind::FileExists, "another commit has the id of the snapshot").with("file", what.path))
    }
}

impl Publisher for Served {
    fn publish(&self, what: &Publication<'_>, publish: &dyn Fn() -> Result<()>) -> Result<()> {
        let own = what.path.strip_prefix(&self.location).and_then(|rest| rest.strip_prefix('/'));
        let Some(file) = own.filter(|_| !self.is_external) else { return publish() };
        let branched = file.strip_prefix("branch/branch-").and_then(|rest| rest.split_once('/'));
        let (branch, file) = branched.unwrap_or((MAIN_BRANCH, file));
        if file.starts_with("snapshot/snapshot-") {
            return self.commit(branch, what);
        }
        if file.starts_with("schema/schema-") {
            return Err(Error::unsupported("writing a schema beside the catalog's server")
                .with("table", self.name(branch))
                .with("file", what.path)
                .without_effect());
        }
        publish()
    }

    fn is_server(&self) -> bool {
        !self.is_external
    }
}

/// The server of a table that was found by another process: nothing is published without it.
#[derive(Clone, Debug)]
pub(super) struct UnknownServer(pub(super) String);

impl UnknownServer {
    pub(super) fn error(&self) -> Error {
        Error::unsupported(format!("the table belongs to the catalog at {}, which this process does not know", self.0))
            .hint("connect to the catalog, and open the table by its name there; rows can be read without it")
            .without_effect()
    }
}

impl Publisher for UnknownServer {
    fn publish(&self, what: &Publication<'_>, publish: &dyn Fn() -> Result<()>) -> Result<()> {
        let is_kept = |name: &str| what.path.rsplit_once('/').is_some_and(|(above, _)| above.ends_with(name));
        if is_kept("/snapshot") || is_kept("/schema") { Err(self.error().with("file", what.path)) } else { publish() }
    }

    fn is_server(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::fs::{FaultFileIo, FileIo as _, FileIoRef, guarded, watched};

    /// Publishes once, and writes down what it was told.
    #[derive(Debug, Default)]
    struct Fake(Mutex<Vec<String>>);

    impl TableServer for Fake {
        fn table(&self, _: &TableName) -> Result<Option<ServedTable>> {
            Ok(None)
        }
        fn storage(&self, _: &TableName) -> Result<BTreeMap<String, String>> {
            Ok(BTreeMap::new())
        }
        fn create_table(&self, _: &TableName, _: &str) -> Result<bool> {
            Ok(true)
        }
        fn change_schema(&self, _: &TableName, _: &str) -> Result<()> {
            Ok(())
        }
        fn commit(&self, name: &TableName, id: &str, snapshot: &str, statistics: &str) -> Result<bool> {
            let mut told = self.0.lock().unwrap();
            told.push(format!("{name} {id} {snapshot} {statistics}"));
            Ok(told.len() == 1)
        }
        fn rollback(&self, _: &TableName, _: &GoBack) -> Result<()> {
            Ok(())
        }
        fn create_branch(&self, _: &TableName, _: &str, _: Option<&str>) -> Result<()> {
            Ok(())
        }
        fn drop_branch(&self, _: &TableName, _: &str) -> Result<()> {
            Ok(())
        }
        fn rename_branch(&self, _: &TableName, _: &str, _: &str) -> Result<()> {
            Ok(())
        }
        fn forward_branch(&self, _: &TableName, _: &str) -> Result<()> {
            Ok(())
        }
    }

    fn storage(location: &str, is_external: bool) -> (Arc<Fake>, FaultFileIo, FileIoRef) {
        let (fake, io) = (Arc::new(Fake::default()), FaultFileIo::new());
        let server: Arc<dyn TableServer> = fake.clone();
        let table =
            ServedTable { location: location.to_owned(), id: "7".to_owned(), is_external, kind: None, storage: None };
        Served::register(&server, &TableName::parse_plain("shop.orders").unwrap(), location, &table);
        io.create_dir(&format!("{location}/snapshot")).unwrap();
        io.create_dir(&format!("{location}/tag")).unwrap();
        let fs = watched(Arc::new(io.clone()), location);
        (fake, io, fs)
    }

    const REFUSED: fn() -> Result<()> = || Err(Error::new(ErrorKind::TableNotFound, "gone"));

    #[test]
    fn snapshots_go_to_the_server_and_nothing_else() {
        let (fake, io, fs) = storage("/served/t", false);
        let said = || Ok("[1]".to_owned());
        let snapshot = "/served/t/snapshot/snapshot-1";
        assert!(fs.publish_snapshot(snapshot, b"{}", true, &REFUSED, &said).is_err(), "the last look decides");
        assert!(fake.0.lock().unwrap().is_empty());
        fs.publish_snapshot(snapshot, b"{}", true, &|| Ok(()), &said).unwrap();
        let branch = "/served/t/branch/branch-b/snapshot/snapshot-1";
        let taken = fs.publish_snapshot(branch, b"{}", true, &|| Ok(()), &said).unwrap_err();
        assert_eq!(taken.kind(), ErrorKind::FileExists);
        assert_eq!(*fake.0.lock().unwrap(), ["shop.orders 7 {} [1]", "shop.orders$branch_b 7 {} [1]"]);
        let schema = fs.publish("/served/t/schema/schema-1", b"{}", true).unwrap_err();
        assert!(schema.is_without_effect());
        fs.publish("/served/t/tag/tag-v1", b"{}", true).unwrap();
        assert_eq!(io.paths(), ["/served/t/tag/tag-v1"]);
        assert!(fs.is_served());
    }

    #[test]
    fn external_tables_publish_as_others_do() {
        let (fake, io, fs) = storage("/external/t", true);
        fs.publish("/external/t/snapshot/snapshot-1", b"{}", true).unwrap();
        assert_eq!(io.paths(), ["/external/t/snapshot/snapshot-1"]);
        assert!(fake.0.lock().unwrap().is_empty() && !fs.is_served());
        assert!(!Served::at("/external/t").unwrap().has_versions());
    }

    #[test]
    fn who_does_not_know_the_server_publishes_nothing_that_it_keeps() {
        let io = FaultFileIo::new();
        for directory in ["snapshot", "schema", "branch/branch-b/snapshot", "tag"] {
            io.create_dir(&format!("/unknown/t/{directory}")).unwrap();
        }
        let fs = guarded(Arc::new(io.clone()), Arc::new(UnknownServer("http://x".to_owned())));
        for file in ["snapshot/snapshot-1", "schema/schema-1", "branch/branch-b/snapshot/snapshot-1"] {
            let refused = fs.publish(&format!("/unknown/t/{file}"), b"{}", true).unwrap_err();
            assert!(refused.is_without_effect() && refused.message().contains("http://x"), "{refused}");
        }
        fs.publish("/unknown/t/tag/tag-v1", b"{}", true).unwrap();
        assert_eq!(io.paths(), ["/unknown/t/tag/tag-v1"]);
    }
}
