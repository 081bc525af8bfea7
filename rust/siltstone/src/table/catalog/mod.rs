//! Catalogs: databases and tables of a warehouse (semantics j).
//!
//! ```text
//! <warehouse>/<database>.db/<table>/schema/schema-<n>
//! ```
//!
//! Where nobody keeps names (`FileSystemCatalog`), a database is a directory that ends in `.db`, and a table a directory in it
//! with at least one schema ([`directories`]). Other catalogs keep the names in a [`Metastore`] ([`named`]); tables have their
//! files at the same places.

mod directories;
mod errors;
mod metastore;
mod named;
mod server;

use std::collections::BTreeMap;
use std::sync::Arc;

use metastore::LockedPublishing;
pub use metastore::{Metastore, Patience, Properties};

use super::{
    name::{MAIN_BRANCH, TableName, check_database},
    open::Table,
    place::{Place, SERVED_BY},
    served::TableServer,
};
use crate::cleanup::{delete_tree, with_effect};
use crate::error::{Error, ErrorKind, Result};
use crate::fs::{ConfinedFileIo, FileIoRef, LocalFileIo, check_renames, is_storage_option, watch, watched};
use crate::options::{CoreOptions, without_secrets};
use crate::path::branch_root;
use crate::schema::{NewTable, SchemaManager, TableSchema, notes};
use crate::snapshot::{BranchManager, UpkeepLock};

const SUFFIX: &str = ".db";

/// Databases and tables of a warehouse.
#[derive(Clone, Debug)]
pub struct Catalog {
    fs: FileIoRef,
    warehouse: String,
    options: BTreeMap<String, String>,
    metastore: Option<Arc<dyn Metastore>>,
    server: Option<Arc<dyn TableServer>>,
}

/// A table that was found: its name, where it is, and its latest schema.
#[derive(Clone, Debug)]
pub struct FoundTable {
    /// Its name, with the branch if one was asked for.
    pub name: TableName,
    /// Root directory of the main table.
    pub location: String,
    /// The latest schema of the branch.
    pub schema: Arc<TableSchema>,
    /// All schemas of the branch.
    pub schemas: Arc<SchemaManager>,
    /// How its storage is reached where that is not as the catalog's options say; no secrets.
    pub storage: BTreeMap<String, String>,
}

impl Catalog {
    /// A catalog of directories; the warehouse is made when the first database is.
    ///
    /// Options: `table-default.<key>` are defaults for new tables; `metastore`, `lock.enabled`, `case-sensitive` and
    /// `table.type` must have the values of a filesystem catalog.
    pub fn new(fs: FileIoRef, warehouse: &str, options: BTreeMap<String, String>) -> Result<Self> {
        let only = [
            ("metastore", "filesystem"),
            ("lock.enabled", "false"),
            ("case-sensitive", "true"),
            ("table.type", "managed"),
        ];
        for (key, only) in only {
            check_only(&options, key, only, "filesystem")?;
        }
        Self::of(fs, warehouse, options)
    }

    /// A catalog whose names a metastore keeps. From now on every handle of this process publishes to the tables of the
    /// warehouse under the metastore's locks.
    pub fn with_metastore(
        fs: FileIoRef,
        warehouse: &str,
        options: BTreeMap<String, String>,
        metastore: Arc<dyn Metastore>,
    ) -> Result<Self> {
        let kind = options.get("metastore").map_or("such", String::as_str);
        check_only(&options, "table.type", "managed", kind)?;
        let catalog = Self { metastore: Some(Arc::clone(&metastore)), ..Self::of(fs, warehouse, options)? };
        watch(&catalog.warehouse, Arc::new(LockedPublishing { metastore, warehouse: catalog.warehouse.clone() }));
        Ok(catalog)
    }

    fn of(fs: FileIoRef, warehouse: &str, options: BTreeMap<String, String>) -> Result<Self> {
        if warehouse.trim().is_empty() {
            return Err(Error::new(ErrorKind::InvalidArgument, "the warehouse directory is empty"));
        }
        Ok(Self {
            fs,
            warehouse: warehouse.trim_end_matches('/').to_owned(),
            options: without_secrets(&options),
            metastore: None,
            server: None,
        })
    }

    /// [`Self::new`] on the storage of the warehouse: a path of this machine, or a URI.
    pub fn open(warehouse: &str, options: BTreeMap<String, String>) -> Result<Self> {
        let place = place_of(warehouse, options)?;
        Self::new(place.fs, &place.path, place.options)?.checked()
    }

    /// [`Self::with_metastore`] on the storage of the warehouse. Where a server keeps the tables, the warehouse is a name that only
    /// the server knows.
    pub fn open_with(
        warehouse: &str,
        options: BTreeMap<String, String>,
        metastore: Arc<dyn Metastore>,
    ) -> Result<Self> {
        if let Some(server) = Arc::clone(&metastore).server() {
            let fs: FileIoRef = Arc::new(LocalFileIo::new());
            let catalog = Self::of(fs, warehouse, options)?;
            return Ok(Self { metastore: Some(metastore), server: Some(server), ..catalog });
        }
        let place = place_of(warehouse, options)?;
        Self::with_metastore(place.fs, &place.path, place.options, metastore)?.checked()
    }

    fn checked(self) -> Result<Self> {
        match self.fs.status(&self.warehouse)? {
            Some(status) if !status.is_dir => {
                let message = format!("the warehouse {} is a file, not a directory", self.warehouse);
                Err(Error::new(ErrorKind::InvalidArgument, message).with("file", &self.warehouse))
            }
            _ => Ok(self),
        }
    }

    /// The root directory.
    pub fn warehouse(&self) -> &str {
        &self.warehouse
    }

    /// Options of the catalog, without secrets.
    pub fn options(&self) -> &BTreeMap<String, String> {
        &self.options
    }

    /// Those of them that say how the storage is reached.
    pub fn storage_options(&self) -> BTreeMap<String, String> {
        self.options.clone().into_iter().filter(|(key, _)| is_storage_option(key)).collect()
    }

    /// The storage.
    pub fn fs(&self) -> &FileIoRef {
        &self.fs
    }

    /// Names of the databases, in order.
    ///
    /// # Errors
    /// `FileNotFound`: names are those of directories, and there is no warehouse.
    pub fn databases(&self) -> Result<Vec<String>> {
        let mut names = match &self.metastore {
            None => self.database_directories()?,
            // what has another program's name cannot be opened here
            Some(metastore) => usable(metastore.databases()?, |name| check_database(name).is_ok()),
        };
        names.sort_unstable();
        Ok(names)
    }

    /// Properties of a database; a catalog of directories keeps none.
    pub fn database(&self, name: &str) -> Result<Properties> {
        check_database(name)?;
        let found = match &self.metastore {
            None => self.has_database(name)?.then(Properties::new),
            Some(metastore) => metastore.database(name)?,
        };
        found.ok_or_else(|| self.no_database(name))
    }

    /// Makes a database without properties.
    pub fn create_database(&self, name: &str, if_not_exists: bool) -> Result<()> {
        self.create_database_with(name, &Properties::new(), if_not_exists)
    }

    /// Makes a database.
    ///
    /// # Errors
    /// `DatabaseExists`; `UnsupportedFeature`: properties for a catalog that has no place for them.
    pub fn create_database_with(&self, name: &str, properties: &Properties, if_not_exists: bool) -> Result<()> {
        check_database(name)?;
        match &self.metastore {
            Some(metastore) => self.add_database(metastore.as_ref(), name, properties, if_not_exists),
            None if properties.is_empty() => self.make_database(name, if_not_exists),
            None => Err(Error::new(ErrorKind::UnsupportedFeature, "a filesystem catalog keeps no database properties")
                .with("database", name)),
        }
    }

    /// Drops a database; with `cascade` its tables too, otherwise it must have none: then only directories go that are empty when
    /// they go, and what dropped tables have left.
    ///
    /// # Errors
    /// `DatabaseNotFound`; `InvalidArgument`: without `cascade`, there are tables or other files, also those that came meanwhile;
    /// `UpkeepRunning` as for dropping tables.
    pub fn drop_database(&self, name: &str, cascade: bool, if_exists: bool) -> Result<()> {
        check_database(name)?;
        if !self.has_database(name)? {
            return if if_exists { Ok(()) } else { Err(self.no_database(name)) };
        }
        match &self.metastore {
            Some(metastore) => self.remove_database(metastore.as_ref(), name, cascade),
            None => self.remove_directories(name, cascade, if_exists),
        }
    }

    /// Names of the tables of a database, in order.
    pub fn tables(&self, database: &str) -> Result<Vec<String>> {
        check_database(database)?;
        self.need_database(database)?;
        self.table_names(database)
    }

    fn table_names(&self, database: &str) -> Result<Vec<String>> {
        let mut names = match &self.metastore {
            None => self.table_directories(database)?,
            Some(metastore) => {
                let is_usable = |name: &str| TableName::parse_plain(&format!("{database}.{name}")).is_ok();
                usable(metastore.tables(database)?, is_usable)
            }
        };
        names.sort_unstable();
        Ok(names)
    }

    /// The directory of `db.table` or of the table that `db.table$branch_b` is a branch of.
    ///
    /// # Errors
    /// `InvalidArgument`: not such a name, or that of a system table; `TableNotFound`: only the server that keeps the tables knows
    /// their places, and it has no such table.
    pub fn location(&self, name: &str) -> Result<String> {
        let parsed = TableName::parse(name)?;
        match (&parsed.system, &self.server) {
            (None, None) => Ok(self.table_path(&parsed)),
            (None, Some(server)) => Ok(self.place_of_served(server, &parsed)?.0.path),
            (Some(system), _) => {
                let message = format!("the system table '{name}' has no directory");
                let plain = parsed.plain();
                let error = Error::new(ErrorKind::InvalidArgument, message).with("table", &plain);
                Err(error.hint(format!("leave '${system}' out to name the table {plain}")))
            }
        }
    }

    /// Where a table of this name is or would be.
    fn table_path(&self, name: &TableName) -> String {
        format!("{}/{}", self.database_path(&name.database), name.table)
    }

    /// Creates a table `db.table`.
    pub fn create_table(&self, name: &str, mut table: NewTable, if_not_exists: bool) -> Result<FoundTable> {
        let name = TableName::parse_plain(name)?;
        self.need_database(&name.database)?;
        if self.has_table(&name)? {
            return if if_not_exists { self.load(name) } else { Err(errors::table_exists(&name)) };
        }
        for (key, value) in &self.options {
            if let Some(key) = key.strip_prefix("table-default.") {
                table.options.entry(key.to_owned()).or_insert_with(|| value.clone());
            }
        }
        let schema = table.into_schema().map_err(|e| e.with("table", &name))?;
        let notes = notes(None, &schema)?;
        let made = if let Some(server) = &self.server {
            self.add_served(server, name, &schema, if_not_exists)
        } else {
            self.check_nothing_left(&name)?;
            match &self.metastore {
                None => self.make_table(name, schema, if_not_exists),
                Some(metastore) => self.add_table(metastore, name, schema, if_not_exists),
            }
        }?;
        for note in notes {
            tracing::warn!("{note}");
        }
        Ok(made)
    }

    /// Creates a table, and opens it.
    pub fn create_and_open(&self, name: &str, table: NewTable, if_not_exists: bool) -> Result<Table> {
        let found = self.create_table(name, table, if_not_exists)?;
        let made = || Ok(Some(format!("the table '{}' is there", found.name)));
        with_effect(self.opened(&found, BTreeMap::new()), made)
    }

    /// On a store a writer that was held up may put something where a table was dropped: a new table must not take it for its own.
    fn check_nothing_left(&self, name: &TableName) -> Result<()> {
        if self.fs.has_directories() {
            return Ok(());
        }
        let location = self.table_path(name);
        let Some(left) = self.fs.list(&location)?.into_iter().next() else { return Ok(()) };
        Err(Error::new(ErrorKind::TableExists, format!("files of a dropped table are left where '{name}' would be"))
            .with("path", location)
            .with("file", left.path)
            .hint("delete them when nobody writes to the dropped table any more, or take another name"))
    }

    /// Finds `db.table` or `db.table$branch_b`; of a system table the table that it is about.
    pub fn load_table(&self, name: &str, branch: Option<&str>) -> Result<FoundTable> {
        self.load(TableName::on_branch(name, branch)?)
    }

    /// Opens `db.table` or `db.table$branch_b`, with dynamic options; and the name of the system table that is meant.
    pub fn open_table(
        &self,
        name: &str,
        branch: Option<&str>,
        options: BTreeMap<String, String>,
    ) -> Result<(Table, Option<String>)> {
        let found = self.load_table(name, branch)?;
        Ok((self.opened(&found, options)?, found.name.system))
    }

    /// Opens a table that was found.
    pub fn opened(&self, found: &FoundTable, options: BTreeMap<String, String>) -> Result<Table> {
        let mut all = self.storage_options();
        all.extend(found.storage.clone());
        if self.server.is_some() {
            all.insert(SERVED_BY.to_owned(), self.options.get("uri").cloned().unwrap_or_default());
        }
        all.extend(options);
        Table::open(&found.location, &found.name.branch, all)
    }

    /// Opens a table by its name in the catalog.
    pub(super) fn open_plain(&self, name: &TableName) -> Result<Table> {
        if self.server.is_some() {
            return self.opened(&self.load(name.clone())?, BTreeMap::new());
        }
        Table::open_with(self.fs.clone(), &self.table_path(name), MAIN_BRANCH, None, BTreeMap::new())
    }

    /// The system table about the whole catalog that a name such as `sys.tables` means.
    ///
    /// # Errors
    /// `UnsupportedFeature`: it was asked for with a branch or options, which only tables have.
    pub fn system_table<'n>(
        name: &'n str,
        branch: Option<&str>,
        options: &BTreeMap<String, String>,
    ) -> Result<Option<&'n str>> {
        let Some(system) = name.strip_prefix("sys.") else { return Ok(None) };
        if let Some(key) = options.keys().next() {
            let message = format!("{name} is about the whole catalog and takes no options, as '{key}'");
            return Err(Error::new(ErrorKind::UnsupportedFeature, message));
        }
        if branch.is_some_and(|branch| branch != MAIN_BRANCH) {
            let message = format!("{name} is about the whole catalog and has no branches");
            return Err(Error::new(ErrorKind::UnsupportedFeature, message));
        }
        Ok(Some(system))
    }

    fn load(&self, name: TableName) -> Result<FoundTable> {
        self.need_database(&name.database)?;
        if let Some(server) = &self.server {
            return self.load_served(server, name);
        }
        if let Some(metastore) = &self.metastore
            && !metastore.has_table(&name)?
        {
            return Err(match metastore.other_object(&name)? {
                Some(other) => errors::other_object(&name, &other),
                None => self.no_table(&name),
            });
        }
        let location = self.table_path(&name);
        match find(&watched(self.fs.clone(), &location), &location, name.clone())? {
            Some(found) => Ok(found),
            None if name.branch != MAIN_BRANCH && !self.schemas(&location, MAIN_BRANCH).ids()?.is_empty() => {
                let branches = BranchManager::new(self.fs.clone(), &location).names().unwrap_or_default();
                Err(errors::no_branch(&name, &branches))
            }
            None if self.metastore.is_some() => Err(errors::no_files(&name, &location)),
            None => Err(self.no_table(&name)),
        }
    }

    /// Drops a table with all its files: for others it is gone at once, as a whole.
    ///
    /// # Errors
    /// `UpkeepRunning`: an expiry, rollback or the like was at work on it all the time.
    pub fn drop_table(&self, name: &str, if_exists: bool) -> Result<()> {
        let name = TableName::parse_plain(name)?;
        let dropped = match (self.has_database(&name.database)? && self.has_table(&name)?, &self.metastore) {
            (true, None) => self.lock(&name).and_then(|_lock| delete_tree(&self.fs, &self.table_path(&name))),
            // the server deletes the files
            (true, Some(metastore)) if self.server.is_some() => {
                metastore.drop_table(&name).and_then(|gone| if gone { Ok(()) } else { Err(self.no_table(&name)) })
            }
            (true, Some(metastore)) => self.remove_table(metastore.as_ref(), &name),
            (false, _) if !if_exists && !self.has_database(&name.database)? => Err(self.no_database(&name.database)),
            (false, _) => Err(self.no_table(&name)),
        };
        match dropped {
            Err(e) if if_exists && e.kind() == ErrorKind::TableNotFound => Ok(()),
            dropped => dropped,
        }
    }

    /// Renames a table, also into another database.
    ///
    /// # Errors
    /// `UpkeepRunning`: an expiry, rollback or the like was at work on it all the time.
    pub fn rename_table(&self, from: &str, to: &str) -> Result<()> {
        let (from, to) = (TableName::parse_plain(from)?, TableName::parse_plain(to)?);
        if !self.has_database(&from.database)? {
            return Err(self.no_database(&from.database));
        }
        let is_half_moved = match &self.metastore {
            Some(metastore) if self.server.is_none() => self.is_half_moved(metastore.as_ref(), &from, &to)?,
            _ => false,
        };
        if !is_half_moved && !self.has_table(&from)? {
            return Err(self.no_table(&from));
        }
        self.need_database(&to.database)?;
        if let (Some(metastore), true) = (&self.metastore, self.server.is_some()) {
            if metastore.has_table(&to)? || metastore.other_object(&to)?.is_some() {
                return Err(errors::table_exists(&to));
            }
            let renamed = metastore.rename_table(&from, &to)?;
            return if renamed { Ok(()) } else { Err(self.no_table(&from)) };
        }
        check_renames(&*self.fs, &self.table_path(&from))?;
        let moved = match &self.metastore {
            None => self.move_directory(&from, &to),
            Some(metastore) => self.move_table(metastore, &from, &to),
        };
        with_effect(moved, || {
            let is_there = self.has_table(&to)? && !self.has_table(&from)? && self.has_schema(&to)?;
            Ok(is_there.then(|| format!("table '{}' was renamed to '{}'", from.plain(), to.plain())))
        })
    }

    /// The lock of whoever removes names of the table: a table that goes does not go under somebody's hands. `None`: nobody can
    /// have it, because something is in its way.
    fn lock(&self, name: &TableName) -> Result<Option<UpkeepLock>> {
        let location = self.table_path(name);
        // a table that cannot be read is dropped all the same
        let stored = self.schemas(&location, "main").latest().ok().flatten();
        let options = stored.and_then(|schema| CoreOptions::parse(&schema.options).ok());
        let patience = options.map_or_else(|| CoreOptions::default().upkeep_lock_timeout, |o| o.upkeep_lock_timeout);
        let own: FileIoRef = Arc::new(ConfinedFileIo::new(self.fs.clone(), &location));
        match UpkeepLock::take(&own, &location, patience) {
            Ok(lock) => Ok(Some(lock)),
            Err(e) if e.kind() == ErrorKind::CorruptFile => Ok(None),
            Err(e) if e.kind() == ErrorKind::TableNotFound => Err(self.no_table(name)),
            Err(e) => Err(e.with("table", name)),
        }
    }

    fn database_path(&self, name: &str) -> String {
        format!("{}/{name}{SUFFIX}", self.warehouse)
    }

    fn has_database(&self, name: &str) -> Result<bool> {
        match &self.metastore {
            None => Ok(self.fs.status(&self.database_path(name))?.is_some_and(|status| status.is_dir)),
            Some(metastore) => Ok(metastore.database(name)?.is_some()),
        }
    }

    fn need_database(&self, name: &str) -> Result<()> {
        if self.has_database(name)? { Ok(()) } else { Err(self.no_database(name)) }
    }

    fn has_table(&self, name: &TableName) -> Result<bool> {
        match &self.metastore {
            None => self.has_schema(name),
            Some(metastore) => metastore.has_table(name),
        }
    }

    /// Whether the directory of the name holds a table.
    fn has_schema(&self, name: &TableName) -> Result<bool> {
        Ok(!self.schemas(&self.table_path(name), MAIN_BRANCH).ids()?.is_empty())
    }

    fn schemas(&self, location: &str, branch: &str) -> Arc<SchemaManager> {
        let own: FileIoRef = Arc::new(ConfinedFileIo::new(self.fs.clone(), location));
        Arc::new(SchemaManager::new(own, &branch_root(location, branch)))
    }
}

/// The table at `location`; `None` when there is no schema.
fn find(fs: &FileIoRef, location: &str, name: TableName) -> Result<Option<FoundTable>> {
    let location = location.trim_end_matches('/').to_owned();
    let schemas = Arc::new(SchemaManager::new(fs.clone(), &branch_root(&location, &name.branch)));
    let latest = schemas.latest().map_err(|e| e.with("table", &name))?;
    Ok(latest.map(|schema| FoundTable { name, location, schema, schemas, storage: BTreeMap::new() }))
}

fn place_of(warehouse: &str, options: BTreeMap<String, String>) -> Result<Place> {
    if warehouse.trim().is_empty() {
        return Err(Error::new(ErrorKind::InvalidArgument, "the warehouse directory is empty"));
    }
    Place::of(warehouse, options)
}

/// An error where a catalog option has another value than catalogs of this kind have.
fn check_only(options: &BTreeMap<String, String>, key: &'static str, only: &str, kind: &str) -> Result<()> {
    let Some(value) = options.get(key).filter(|value| !value.eq_ignore_ascii_case(only)) else { return Ok(()) };
    let error = Error::unsupported(format!("the catalog option '{key}' = '{value}'")).with("option", key);
    Err(error.hint(format!("a {kind} catalog has '{key}' = '{only}'")))
}

/// Those of the names that can be those of databases or tables here.
fn usable(mut names: Vec<String>, is_usable: impl Fn(&str) -> bool) -> Vec<String> {
    names.retain(|name| is_usable(name));
    names.dedup();
    names
}

#[cfg(test)]
mod tests;
