//! Databases and tables that are directories, and nothing else: no registry, no properties, no locks.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{Catalog, FoundTable, SUFFIX, errors};
use crate::{
    cancel,
    cleanup::{is_dropped_tree, with_effect},
    error::{Error, ErrorKind, Result},
    fs::{ConfinedFileIo, FileIoRef, FileStatus},
    schema::{SchemaManager, TableSchema},
    table::name::{TableName, check_database},
};

impl Catalog {
    /// Directories that are databases.
    ///
    /// # Errors
    /// `FileNotFound`: there is no warehouse: its first database makes it. On a store, which has no directories, an empty place
    /// is a warehouse without databases.
    pub(super) fn database_directories(&self) -> Result<Vec<String>> {
        if self.fs.has_directories() && self.fs.status(&self.warehouse)?.is_none() {
            return Err(errors::no_warehouse(&self.warehouse));
        }
        let children = self.fs.list(&self.warehouse)?;
        let directories = children.iter().filter(|child| child.is_dir);
        let names = directories
            .filter_map(|child| last_name(&child.path).strip_suffix(SUFFIX))
            .filter(|name| check_database(name).is_ok())
            .map(str::to_owned);
        Ok(names.collect())
    }

    /// Makes a database.
    pub(super) fn make_database(&self, name: &str, if_not_exists: bool) -> Result<()> {
        if self.has_database(name)? {
            return if if_not_exists { Ok(()) } else { Err(errors::database_exists(name)) };
        }
        let path = self.database_path(name);
        self.fs.create_dir(&path)?;
        // whoever commits to its tables makes only their names durable
        let durable = self.fs.sync_dir(&path).and_then(|()| self.sync_warehouse());
        with_effect(durable, || Ok(self.has_database(name)?.then(|| format!("database '{name}' was created"))))
    }

    /// Deletes the directory of a database.
    pub(super) fn remove_directories(&self, name: &str, cascade: bool, if_exists: bool) -> Result<()> {
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
        errors::not_empty(name, left, "tables or other files")
    }

    /// Directories of a database that are tables.
    pub(super) fn table_directories(&self, database: &str) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for child in self.fs.list(&self.database_path(database))? {
            let name = last_name(&child.path);
            let usable = child.is_dir && TableName::parse_plain(&format!("{database}.{name}")).is_ok();
            if usable && !self.schemas(&child.path, "main").ids()?.is_empty() {
                names.push(name.to_owned());
            }
        }
        Ok(names)
    }

    /// Writes the first schema of a table, which makes it one.
    pub(super) fn make_table(&self, name: TableName, schema: TableSchema, if_not_exists: bool) -> Result<FoundTable> {
        let location = self.table_path(&name);
        let own: FileIoRef = Arc::new(ConfinedFileIo::founding(self.fs.clone(), &location));
        let schemas = Arc::new(SchemaManager::new(own, &location));
        match schemas.create(schema) {
            Ok(schema) => Ok(FoundTable { name, location, schema, schemas, storage: BTreeMap::new() }),
            // another writer was faster
            Err(e) if e.kind() == ErrorKind::TableExists && if_not_exists => self.load(name),
            Err(e) if e.kind() == ErrorKind::TableExists => Err(errors::table_exists(&name)),
            Err(e) => Err(self.gone(&name, e)),
        }
    }

    /// Why the making of a table failed: when its database, or the table, was dropped meanwhile, that is it.
    fn gone(&self, name: &TableName, error: Error) -> Error {
        match (self.has_database(&name.database), self.has_table(name)) {
            (Ok(false), _) => self.no_database(&name.database).caused_by(error),
            (Ok(true), Ok(false)) if error.kind() == ErrorKind::FileNotFound => self.no_table(name).caused_by(error),
            _ => error.with("table", name),
        }
    }

    /// Renames the directory of a table.
    pub(super) fn move_directory(&self, from: &TableName, to: &TableName) -> Result<()> {
        let target = self.table_path(to);
        let _lock = self.lock(from)?;
        if self.fs.exists(&target)? {
            return Err(errors::table_exists(to).with("file", target));
        }
        self.fs.rename_dir(&self.table_path(from), &target).map_err(|e| match e.kind() {
            ErrorKind::FileExists => errors::table_exists(to).with("file", &target).caused_by(e),
            // a database may have been dropped since
            _ => match self.need_database(&to.database) {
                Err(gone) => gone.caused_by(e),
                Ok(()) => e,
            },
        })?;
        // the new name first: a table has one name or both, never none
        let durable = self.fs.sync_dir(&self.database_path(&to.database));
        durable.and_then(|()| self.fs.sync_dir(&self.database_path(&from.database)))
    }
}

fn last_name(path: &str) -> &str {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or_default()
}
