//! Databases and tables that a server keeps.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{Catalog, FoundTable, errors, find};
use crate::{
    error::Result,
    fs::{lend, watched},
    options::without_secrets,
    schema::TableSchema,
    snapshot::BranchManager,
    table::{
        name::{MAIN_BRANCH, TableName},
        place::Place,
        served::{Lent, Served, ServedTable, TableServer},
    },
};

/// Values of the table option `type` that are tables.
const TABLES: [&str; 2] = ["table", "materialized-table"];

impl Catalog {
    /// Finds a table; a branch of it is found in its files.
    pub(super) fn load_served(&self, server: &Arc<dyn TableServer>, name: TableName) -> Result<FoundTable> {
        let (place, _) = self.place_of_served(server, &name)?;
        match find(&watched(Arc::clone(&place.fs), &place.path), &place.path, name.clone())? {
            Some(found) => Ok(FoundTable { storage: place.options, ..found }),
            None if name.branch != MAIN_BRANCH => {
                let branches = BranchManager::new(place.fs, &place.path).names().unwrap_or_default();
                Err(errors::no_branch(&name, &branches))
            }
            None => Err(errors::no_files(&name, &place.path)),
        }
    }

    /// Where a table is, on its storage; from now on its handles commit through the server.
    pub(super) fn place_of_served(
        &self,
        server: &Arc<dyn TableServer>,
        name: &TableName,
    ) -> Result<(Place, ServedTable)> {
        let plain = TableName { branch: MAIN_BRANCH.to_owned(), system: None, ..name.clone() };
        let Some(table) = server.table(&plain)? else {
            let Some(metastore) = &self.metastore else { return Err(self.no_table(name)) };
            return Err(match metastore.other_object(name)? {
                Some(other) => errors::other_object(name, &other),
                None => self.no_table(name),
            });
        };
        if let Some(kind) = table.kind.as_deref().filter(|kind| !TABLES.contains(kind)) {
            return Err(errors::other_object(name, &kind.replace('-', " ")));
        }
        let opened = match &table.storage {
            Some(options) => Place::of(&table.location, options.clone()),
            None => lend(&table.location, Lent::of(server, &plain))
                .and_then(|()| Place::of(&table.location, without_secrets(&server.storage(&plain)?))),
        };
        let place = opened.map_err(|e| e.with("table", name.plain()))?;
        Served::register(server, name, &place.path, &table);
        Ok((place, table))
    }

    /// Lets the server make a table.
    pub(super) fn add_served(
        &self,
        server: &Arc<dyn TableServer>,
        name: TableName,
        schema: &TableSchema,
        if_not_exists: bool,
    ) -> Result<FoundTable> {
        if !server.create_table(&name, &java_schema(schema).to_string())? && !if_not_exists {
            return Err(errors::table_exists(&name));
        }
        self.load_served(server, name)
    }
}

/// The part of a schema that a table is made of, as Java's `Schema`.
fn java_schema(schema: &TableSchema) -> Value {
    let options: Map<String, Value> =
        schema.options.iter().map(|(key, value)| (key.clone(), value.as_str().into())).collect();
    serde_json::json!({
        "fields": schema.fields.iter().map(crate::types::DataField::to_json).collect::<Vec<_>>(),
        "partitionKeys": schema.partition_keys,
        "primaryKeys": schema.primary_keys,
        "options": options,
        "comment": schema.comment,
    })
}
