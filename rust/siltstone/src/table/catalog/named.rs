//! Databases and tables by the names of a metastore.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    Catalog, FoundTable, errors,
    metastore::{CatalogLock, Metastore, Properties, copied},
};
use crate::{
    cancel,
    cleanup::delete_tree,
    error::{Error, ErrorKind, Result},
    fs::{ConfinedFileIo, FileIoRef},
    schema::{SchemaManager, TableSchema},
    table::name::TableName,
};

impl Catalog {
    /// Adds a database to the metastore; its directory comes with its first table.
    pub(super) fn add_database(
        &self,
        metastore: &dyn Metastore,
        name: &str,
        properties: &Properties,
        if_not_exists: bool,
    ) -> Result<()> {
        let mut all = properties.clone();
        if self.server.is_none() {
            all.entry("location".to_owned()).or_insert_with(|| self.database_path(name));
        }
        let made = metastore.create_database(name, &all)?;
        if made || if_not_exists { Ok(()) } else { Err(errors::database_exists(name)) }
    }

    /// Takes a database out of the metastore, with `cascade` after its tables, each with its files.
    pub(super) fn remove_database(&self, metastore: &dyn Metastore, name: &str, cascade: bool) -> Result<()> {
        loop {
            let tables = metastore.tables(name)?;
            if !cascade && !tables.is_empty() {
                return Err(errors::not_empty(name, tables.len(), "tables"));
            }
            if self.server.is_none() {
                for table in tables {
                    self.drop_table(&format!("{name}.{table}"), true)?;
                }
            }
            // who drops it looks once more: others may have made tables since
            if metastore.drop_database(name)? {
                break;
            }
            cancel::check()?;
        }
        if self.server.is_some() {
            return Ok(());
        }
        // other files in the directory stay, and the directory with them
        self.fs.delete_empty_dir(&self.database_path(name)).map(drop)
    }

    /// Writes the first schema of a table, then adds its name: both under its lock.
    pub(super) fn add_table(
        &self,
        metastore: &Arc<dyn Metastore>,
        name: TableName,
        schema: TableSchema,
        if_not_exists: bool,
    ) -> Result<FoundTable> {
        let _lock = CatalogLock::take(metastore, &name)?;
        if metastore.has_table(&name)? {
            return if if_not_exists { self.load(name) } else { Err(errors::table_exists(&name)) };
        }
        if let Some(other) = metastore.other_object(&name)? {
            return Err(errors::table_exists(&name).caused_by(errors::other_object(&name, &other)));
        }
        let location = self.table_path(&name);
        let own: FileIoRef = Arc::new(ConfinedFileIo::founding(self.fs.clone(), &location));
        let schemas = Arc::new(SchemaManager::new(own, &location));
        let schema = schemas.create(schema).map_err(|e| match e.kind() {
            ErrorKind::TableExists => left_over(&name, &location, e),
            _ => e.with("table", &name),
        })?;
        match metastore.create_table(&name, &copied(&schema)) {
            Ok(true) => Ok(FoundTable { name, location, schema, schemas, storage: BTreeMap::new() }),
            // nobody else has seen it: it had no name
            Ok(false) => delete_tree(&self.fs, &location).and(Err(errors::table_exists(&name))),
            Err(e) if e.kind() == ErrorKind::DatabaseNotFound => delete_tree(&self.fs, &location).and(Err(e)),
            Err(e) => {
                let hint = format!("drop the table, or delete the directory {location}, before you try again");
                let message = format!("the table '{name}' has its files, and perhaps no name in the catalog");
                Err(Error::new(e.kind(), message).with("table", &name).hint(hint).caused_by(e))
            }
        }
    }

    /// Takes a table's name away, then its files.
    pub(super) fn remove_table(&self, metastore: &dyn Metastore, name: &TableName) -> Result<()> {
        let _lock = match self.lock(name) {
            // the name of a table without files goes, too
            Err(e) if e.kind() == ErrorKind::TableNotFound => None,
            taken => taken?,
        };
        if !metastore.drop_table(name)? {
            return Err(self.no_table(name));
        }
        delete_tree(&self.fs, &self.table_path(name))
    }

    /// Gives a table another name, then moves its files; where these cannot be moved it has its old name again.
    pub(super) fn move_table(&self, metastore: &Arc<dyn Metastore>, from: &TableName, to: &TableName) -> Result<()> {
        let _locks = two_locks(metastore, from, to)?;
        let target = self.table_path(to);
        let _lock = self.lock(from)?;
        if self.is_half_moved(metastore.as_ref(), from, to)? {
            return self.move_files(from, to);
        }
        if metastore.has_table(to)? || metastore.other_object(to)?.is_some() || self.fs.exists(&target)? {
            return Err(errors::table_exists(to).with("file", target));
        }
        // the database of the target may have no directory yet
        self.fs.create_dir(&self.database_path(&to.database))?;
        match metastore.rename_table(from, to) {
            Ok(true) => {}
            Ok(false) => return Err(self.no_table(from)),
            // an answer that did not come: the name says what was done
            Err(e) => match metastore.has_table(to) {
                Ok(true) => tracing::info!(error = %e, table = %from, "the catalog has the new name: its files follow"),
                Ok(false) => return Err(e),
                Err(_) => {
                    let hint = format!("if the catalog has the new name, {}", finish_hint(from, to));
                    let both = e.hint_text().map_or_else(|| hint.clone(), |own| format!("{own}; {hint}"));
                    return Err(e.hint(both));
                }
            },
        }
        self.move_files(from, to).map_err(|e| match metastore.rename_table(to, from) {
            Ok(_) => e.with("table", from.plain()),
            Err(back) => {
                Error::new(e.kind(), format!("'{from}' is called '{to}' in the catalog, and its files are not"))
                    .with("path", self.table_path(from))
                    .hint(format!("{} ({back})", finish_hint(from, to)))
                    .caused_by(e)
            }
        })
    }

    /// Whether a rename was stopped when the table had its new name and its files were not moved yet.
    pub(super) fn is_half_moved(&self, metastore: &dyn Metastore, from: &TableName, to: &TableName) -> Result<bool> {
        let is_named_so = !metastore.has_table(from)? && metastore.has_table(to)?;
        Ok(is_named_so && self.has_schema(from)? && !self.fs.exists(&self.table_path(to))?)
    }

    fn move_files(&self, from: &TableName, to: &TableName) -> Result<()> {
        self.fs.create_dir(&self.database_path(&to.database))?;
        self.fs.rename_dir(&self.table_path(from), &self.table_path(to))?;
        self.fs.sync_dir(&self.database_path(&to.database))?;
        self.fs.sync_dir(&self.database_path(&from.database))
    }
}

/// What finishes a rename that was stopped.
fn finish_hint(from: &TableName, to: &TableName) -> String {
    format!("rename '{}' to '{}' once more: that moves its files", from.plain(), to.plain())
}

/// Both names in one order, whoever renames what: nobody waits for somebody who waits for him.
fn two_locks(metastore: &Arc<dyn Metastore>, from: &TableName, to: &TableName) -> Result<Vec<Option<CatalogLock>>> {
    let mut names = [from, to];
    names.sort_unstable_by_key(|name| name.plain());
    names.into_iter().map(|name| CatalogLock::take(metastore, name)).collect()
}

fn left_over(name: &TableName, location: &str, error: Error) -> Error {
    let message = format!("'{}' is no table of the catalog, and its directory holds one", name.plain());
    Error::new(ErrorKind::TableExists, message)
        .with("table", name.plain())
        .with("path", location)
        .hint("somebody made it without this catalog, or died while dropping it: register or delete the directory")
        .caused_by(error)
}
