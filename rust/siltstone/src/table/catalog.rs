//! The filesystem catalog (semantics j.2; `FileSystemCatalog`).
//!
//! ```text
//! <warehouse>/<database>.db/<table>/schema/schema-<n>
//! ```
//!
//! A database is a directory that ends in `.db`, a table a directory in it with at least one schema. There is nothing
//! else: no registry, no properties, no locks.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::place::Place;
use super::{
    name::{TableName, check_database},
    open::MAIN_BRANCH,
};
use crate::cancel;
use crate::cleanup::{delete_tree, is_dropped_tree, with_effect};
use crate::error::{Error, ErrorKind, Result};
use crate::fs::{ConfinedFileIo, FileIoRef, FileStatus, check_renames, is_storage_option};
use crate::options::CoreOptions;
use crate::path::branch_root;
use crate::schema::{NewTable, SchemaManager, TableSchema};
use crate::snapshot::{BranchManager, UpkeepLock};

const SUFFIX: &str = ".db";

/// Databases and tables below a warehouse directory.
#[derive(Clone, Debug)]
pub struct FilesystemCatalog {
    fs: FileIoRef,
    warehouse: String,
    options: BTreeMap<String, String>,
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
}

impl FilesystemCatalog {
    /// A catalog; the warehouse is made when the first database is.
    ///
    /// Options: `table-default.<key>` are defaults for new tables; `metastore`, `lock.enabled`, `case-sensitive` and
    /// `table.type` must have the values of a filesystem catalog.
    pub fn new(fs: FileIoRef, warehouse: &str, options: BTreeMap<String, String>) -> Result<Self> {
        let trimmed = warehouse.trim_end_matches('/');
        if warehouse.trim().is_empty() {
            return Err(Error::new(ErrorKind::InvalidArgument, "the warehouse directory is empty"));
        }
        for (key, only) in [
            ("metastore", "filesystem"),
            ("lock.enabled", "false"),
            ("case-sensitive", "true"),
            ("table.type", "managed"),
        ] {
            if let Some(value) = options.get(key).filter(|value| !value.eq_ignore_ascii_case(only)) {
                let error = Error::unsupported(format!("the catalog option '{key}' = '{value}'")).with("option", key);
                return Err(error.hint(format!("a filesystem catalog has '{key}' = '{only}'")));
            }
        }
        Ok(Self { fs, warehouse: trimmed.to_owned(), options })
    }

    /// A catalog on the storage of its warehouse: a path of this machine, or a URI. Secrets among the options are for the storage
    /// and are not kept.
    pub fn local(warehouse: &str, options: BTreeMap<String, String>) -> Result<Self> {
        if warehouse.trim().is_empty() {
            return Err(Error::new(ErrorKind::InvalidArgument, "the warehouse directory is empty"));
        }
        let place = Place::of(warehouse, options)?;
        let catalog = Self::new(place.fs, &place.path, place.options)?;
        match catalog.fs.status(&catalog.warehouse)? {
            Some(status) if !status.is_dir => {
                let message = format!("the warehouse {} is a file, not a directory", catalog.warehouse);
                Err(Error::new(ErrorKind::InvalidArgument, message).with("file", &catalog.warehouse))
            }
            _ => Ok(catalog),
        }
    }

    /// The root directory.
    pub fn warehouse(&self) -> &str {
        &self.warehouse
    }

    /// Options of the catalog.
    pub fn options(&self) -> &BTreeMap<String, String> {
        &self.options
    }

    /// Those of them that say how the storage is reached, without secrets.
    pub fn storage_options(&self) -> BTreeMap<String, String> {
        self.options.clone().into_iter().filter(|(key, _)| is_storage_option(key)).collect()
    }

    /// The storage.
    pub fn fs(&self) -> &FileIoRef {
        &self.fs
    }

    /// Names of the databases, in order.
    pub fn databases(&self) -> Result<Vec<String>> {
        let children = self.fs.list(&self.warehouse)?;
        let directories = children.iter().filter(|child| child.is_dir);
        let mut names: Vec<String> = directories
            .filter_map(|child| last_name(&child.path).strip_suffix(SUFFIX))
            .filter(|name| check_database(name).is_ok())
            .map(str::to_owned)
            .collect();
        names.sort_unstable();
        Ok(names)
    }

    /// Makes a database.
    pub fn create_database(&self, name: &str, if_not_exists: bool) -> Result<()> {
        check_database(name)?;
        if self.has_database(name)? {
            return if if_not_exists {
                Ok(())
            } else {
                let message = format!("the database '{name}' exists already");
                Err(Error::new(ErrorKind::DatabaseExists, message).with("database", name))
            };
        }
        let path = self.database_path(name);
        self.fs.create_dir(&path)?;
        // whoever commits to its tables makes only their names durable
        let durable = self.fs.sync_dir(&path).and_then(|()| self.sync_warehouse());
        with_effect(durable, || Ok(self.has_database(name)?.then(|| format!("database '{name}' was created"))))
    }

    /// Drops a database; with `cascade` its tables too, otherwise it must have none: then only directories go that are empty when
    /// they go, and what dropped tables have left.
    ///
    /// # Errors
    /// `DatabaseNotFound`; `InvalidArgument`: without `cascade`, there are tables or other files, also those that came meanwhile;
    /// `UpkeepRunning` as for dropping tables.
    pub fn drop_database(&self, name: &str, cascade: bool, if_exists: bool) -> Result<()> {
        check_database(name)?;
        let path = self.database_path(name);
        let Some(database) = self.fs.status(&path)?.filter(|status| status.is_dir) else {
            return if if_exists { Ok(()) } else { Err(self.no_database(name)) };
        };
        match (cascade, database.is_plain) {
            (true, true) => self.drop_with_tables(name)?,
            (false, true) => self.drop_empty(name)?,
            (false, false) if !self.fs.list(&path)?.is_empty() => return Err(self.not_empty(name)),
            // of a link the link goes, and the tables that it leads to stay
            (_, false) => self.fs.delete(&path)?,
        }
        let dropped = || Ok((!self.has_database(name)?).then(|| format!("database '{name}' was dropped")));
        with_effect(self.sync_warehouse(), dropped)
    }

    fn drop_with_tables(&self, name: &str) -> Result<()> {
        // each with its lock, those that come meanwhile, too: the directory goes when nothing is in it
        let path = self.database_path(name);
        loop {
            cancel::check()?;
            let mut went = false;
            for table in self.table_names(name)? {
                went = true;
                self.drop_table(&format!("{name}.{table}"), true)?;
            }
            let tables: BTreeSet<String> = self.table_names(name)?.into_iter().collect();
            for child in self.fs.list(&path)?.iter().filter(|child| !tables.contains(last_name(&child.path))) {
                let is_directory = child.is_plain && child.is_dir;
                let deleted = if is_directory { self.fs.delete_dir(&child.path) } else { self.fs.delete(&child.path) };
                deleted?;
                went = true;
            }
            if self.fs.delete_empty_dir(&path)? {
                return Ok(());
            }
            if !went && self.fs.list(&path)?.is_empty() {
                // names that are no text: no storage call can name them one by one
                return self.fs.delete_dir(&path);
            }
        }
    }

    fn drop_empty(&self, name: &str) -> Result<()> {
        let path = self.database_path(name);
        let left = self.fs.list(&path)?;
        let is_left_over = |child: &FileStatus| child.is_dir && is_dropped_tree(last_name(&child.path));
        let (left_over, others): (Vec<_>, Vec<_>) = left.into_iter().partition(is_left_over);
        for child in &others {
            let is_empty = child.is_plain && child.is_dir && self.fs.list(&child.path)?.is_empty();
            if !is_empty {
                return Err(self.not_empty(name));
            }
        }
        for child in &left_over {
            self.fs.delete_dir(&child.path)?;
        }
        for directory in others.iter().map(|child| &child.path).chain([&path]) {
            if !self.fs.delete_empty_dir(directory)? {
                return Err(self.not_empty(name));
            }
        }
        Ok(())
    }

    /// Makes names of databases durable.
    fn sync_warehouse(&self) -> Result<()> {
        self.fs.sync_dir(if self.warehouse.is_empty() { "/" } else { &self.warehouse })
    }

    fn not_empty(&self, name: &str) -> Error {
        let left = self.fs.list(&self.database_path(name)).map(|children| children.len()).unwrap_or_default();
        let message = format!("the database '{name}' is not empty ({left} tables or other files)");
        let hint = "drop its tables first, or drop the database with cascade";
        Error::new(ErrorKind::InvalidArgument, message).with("database", name).hint(hint)
    }

    /// Names of the tables of a database, in order.
    pub fn tables(&self, database: &str) -> Result<Vec<String>> {
        check_database(database)?;
        self.need_database(database)?;
        self.table_names(database)
    }

    /// The directory of `db.table` or of the table that `db.table$branch_b` is a branch of.
    ///
    /// # Errors
    /// `InvalidArgument`: not such a name, or that of a system table.
    pub fn location(&self, name: &str) -> Result<String> {
        let parsed = TableName::parse(name)?;
        match &parsed.system {
            None => Ok(self.table_path(&parsed)),
            Some(system) => {
                let message = format!("the system table '{name}' has no directory");
                let plain = parsed.plain();
                let error = Error::new(ErrorKind::InvalidArgument, message).with("table", &plain);
                Err(error.hint(format!("leave '${system}' out to name the table {plain}")))
            }
        }
    }

    /// Where a table of this name is or would be.
    pub fn table_path(&self, name: &TableName) -> String {
        format!("{}/{}", self.database_path(&name.database), name.table)
    }

    /// Creates a table `db.table`.
    pub fn create_table(&self, name: &str, mut table: NewTable, if_not_exists: bool) -> Result<FoundTable> {
        let name = TableName::parse_plain(name)?;
        self.need_database(&name.database)?;
        let location = self.table_path(&name);
        let own: FileIoRef = Arc::new(ConfinedFileIo::founding(self.fs.clone(), &location));
        let schemas = Arc::new(SchemaManager::new(own, &location));
        if let Some(schema) = schemas.latest()? {
            return if if_not_exists {
                Ok(FoundTable { name, location, schema, schemas })
            } else {
                Err(table_exists(&name))
            };
        }
        for (key, value) in &self.options {
            if let Some(key) = key.strip_prefix("table-default.") {
                table.options.entry(key.to_owned()).or_insert_with(|| value.clone());
            }
        }
        let schema = table.into_schema().map_err(|e| e.with("table", &name))?;
        if !self.fs.has_directories() {
            self.check_nothing_left(&name)?;
        }
        match schemas.create(schema) {
            Ok(schema) => Ok(FoundTable { name, location, schema, schemas }),
            // another writer was faster
            Err(e) if e.kind() == ErrorKind::TableExists && if_not_exists => self.load(name),
            Err(e) if e.kind() == ErrorKind::TableExists => Err(table_exists(&name)),
            Err(e) => Err(self.gone(&name, e)),
        }
    }

    /// On a store a writer that was held up may put something where a table was dropped: a new table must not take it for its own.
    fn check_nothing_left(&self, name: &TableName) -> Result<()> {
        let location = self.table_path(name);
        let Some(left) = self.fs.list(&location)?.into_iter().next() else { return Ok(()) };
        Err(Error::new(ErrorKind::TableExists, format!("files of a dropped table are left where '{name}' would be"))
            .with("path", location)
            .with("file", left.path)
            .hint("delete them when nobody writes to the dropped table any more, or take another name"))
    }

    /// Why the making of a table failed: when its database, or the table, was dropped meanwhile, that is it.
    fn gone(&self, name: &TableName, error: Error) -> Error {
        match (self.has_database(&name.database), self.has_table(name)) {
            (Ok(false), _) => self.no_database(&name.database).caused_by(error),
            (Ok(true), Ok(false)) if error.kind() == ErrorKind::FileNotFound => self.no_table(name).caused_by(error),
            _ => error.with("table", name),
        }
    }

    /// Finds `db.table` or `db.table$branch_b`; of a system table the table that it is about.
    pub fn load_table(&self, name: &str, branch: Option<&str>) -> Result<FoundTable> {
        self.load(TableName::on_branch(name, branch)?)
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
        let location = self.table_path(&name);
        match find(&self.fs, &location, name.clone())? {
            Some(found) => Ok(found),
            None if name.branch != "main" && self.has_table(&name)? => Err(self.no_branch(&name)),
            None => Err(self.no_table(&name)),
        }
    }

    /// Drops a table with all its files: for others it is gone at once, as a whole.
    ///
    /// # Errors
    /// `UpkeepRunning`: an expiry, rollback or the like was at work on it all the time.
    pub fn drop_table(&self, name: &str, if_exists: bool) -> Result<()> {
        let name = TableName::parse_plain(name)?;
        let dropped = match self.has_database(&name.database)? && self.has_table(&name)? {
            true => self.lock(&name).and_then(|_lock| delete_tree(&self.fs, &self.table_path(&name))),
            false if !if_exists && !self.has_database(&name.database)? => Err(self.no_database(&name.database)),
            false => Err(self.no_table(&name)),
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
        if !self.has_table(&from)? {
            return Err(self.no_table(&from));
        }
        self.need_database(&to.database)?;
        let target = self.table_path(&to);
        check_renames(&*self.fs, &self.table_path(&from))?;
        let _lock = self.lock(&from)?;
        if self.fs.exists(&target)? {
            return Err(table_exists(&to).with("file", target));
        }
        self.fs.rename_dir(&self.table_path(&from), &target).map_err(|e| match e.kind() {
            ErrorKind::FileExists => table_exists(&to).with("file", &target).caused_by(e),
            // a database may have been dropped since
            _ => match self.need_database(&to.database) {
                Err(gone) => gone.caused_by(e),
                Ok(()) => e,
            },
        })?;
        // the new name first: a table has one name or both, never none
        let durable = self.fs.sync_dir(&self.database_path(&to.database));
        let durable = durable.and_then(|()| self.fs.sync_dir(&self.database_path(&from.database)));
        with_effect(durable, || Ok(Some(format!("table '{}' was renamed to '{}'", from.plain(), to.plain()))))
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
        Ok(self.fs.status(&self.database_path(name))?.is_some_and(|status| status.is_dir))
    }

    fn need_database(&self, name: &str) -> Result<()> {
        if self.has_database(name)? { Ok(()) } else { Err(self.no_database(name)) }
    }

    fn has_table(&self, name: &TableName) -> Result<bool> {
        Ok(!self.schemas(&self.table_path(name), "main").ids()?.is_empty())
    }

    fn table_names(&self, database: &str) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for child in self.fs.list(&self.database_path(database))? {
            let name = last_name(&child.path);
            let usable = child.is_dir && TableName::parse_plain(&format!("{database}.{name}")).is_ok();
            if usable && !self.schemas(&child.path, "main").ids()?.is_empty() {
                names.push(name.to_owned());
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    fn schemas(&self, location: &str, branch: &str) -> Arc<SchemaManager> {
        let own: FileIoRef = Arc::new(ConfinedFileIo::new(self.fs.clone(), location));
        Arc::new(SchemaManager::new(own, &branch_root(location, branch)))
    }

    fn no_database(&self, name: &str) -> Error {
        let error = Error::new(ErrorKind::DatabaseNotFound, format!("the database '{name}' does not exist"));
        let names = self.databases().unwrap_or_default();
        let hint = near(name, &names).map(|near| format!("did you mean '{near}'?"));
        error.with("database", name).hint(hint.unwrap_or_else(|| {
            if names.is_empty() {
                format!("there is no database in '{}' yet", self.warehouse)
            } else {
                format!("databases: {}", first_few(&names))
            }
        }))
    }

    fn no_branch(&self, name: &TableName) -> Error {
        let message = format!("the table '{}' has no branch '{}'", name.plain(), name.branch);
        let error =
            Error::new(ErrorKind::BranchNotFound, message).with("table", name.plain()).with("branch", &name.branch);
        let names = BranchManager::new(self.fs.clone(), &self.table_path(name)).names().unwrap_or_default();
        match near(&name.branch, &names) {
            Some(near) => error.hint(format!("did you mean '{}$branch_{near}'?", name.plain())),
            None if names.is_empty() => error.hint("the table has no branches beside main"),
            None => error.hint(format!("branches: {}", first_few(&names))),
        }
    }

    fn no_table(&self, name: &TableName) -> Error {
        let error = Error::new(ErrorKind::TableNotFound, format!("the table '{}' does not exist", name.plain()));
        let names = self.table_names(&name.database).unwrap_or_default();
        let hint = near(&name.table, &names).map(|near| format!("did you mean '{}.{near}'?", name.database));
        error.with("table", name.plain()).hint(hint.unwrap_or_else(|| {
            if names.is_empty() {
                format!("the database '{}' has no tables", name.database)
            } else {
                format!("tables of '{}': {}", name.database, first_few(&names))
            }
        }))
    }
}

/// The table at `location`; `None` when there is no schema.
fn find(fs: &FileIoRef, location: &str, name: TableName) -> Result<Option<FoundTable>> {
    let location = location.trim_end_matches('/').to_owned();
    let schemas = Arc::new(SchemaManager::new(fs.clone(), &branch_root(&location, &name.branch)));
    let latest = schemas.latest().map_err(|e| e.with("table", &name))?;
    Ok(latest.map(|schema| FoundTable { name, location, schema, schemas }))
}

fn table_exists(name: &TableName) -> Error {
    Error::new(ErrorKind::TableExists, format!("the table '{}' exists already", name.plain()))
        .with("table", name.plain())
        .hint("choose another name, or ask for it only if it does not exist")
}

fn last_name(path: &str) -> &str {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or_default()
}

fn near<'a>(name: &str, names: &'a [String]) -> Option<&'a String> {
    let lower = name.to_lowercase();
    let scored = names.iter().map(|other| (strsim::jaro_winkler(&lower, &other.to_lowercase()), other));
    scored.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|(likeness, _)| *likeness > 0.8).map(|(_, other)| other)
}

fn first_few(names: &[String]) -> String {
    let shown: Vec<&str> = names.iter().take(10).map(String::as_str).collect();
    let more = if names.len() > shown.len() { ", ..." } else { "" };
    format!("{}{more}", shown.join(", "))
}

#[cfg(test)]
#[path = "catalog_tests.rs"]
mod tests;
