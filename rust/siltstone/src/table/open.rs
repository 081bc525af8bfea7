//! Opening a table by its directory, and what it says about itself.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    name::MAIN_BRANCH,
    place::{Place, SERVED_BY, of_tables},
    served::{Served, UnknownServer},
};
use crate::{
    Error, ErrorKind, Result,
    fs::{ConfinedFileIo, FileIoRef, check_can_exist, guarded, strip_scheme, watched},
    io::{SchemaWritten, TableContext},
    options::{CoreOptions, overlay},
    path::{PathFactory, branch_root},
    scan::skips_level_0,
    schema::{SchemaManager, TableSchema, check_dynamic_options, check_handle_options, check_writable},
    snapshot::{BRANCH_WITHOUT_SCHEMA, BranchManager},
};

/// A table of one branch, with dynamic options on top of the stored ones.
#[derive(Clone, Debug)]
pub struct Table {
    ctx: TableContext,
    dynamic_options: BTreeMap<String, String>,
}

impl Table {
    /// Opens the table whose directory is `location`: a path of this machine, or a URI. Options of its storage may be among the
    /// others; secrets of them are not kept with the table.
    ///
    /// # Errors
    /// `UnknownOption` for what is no option, `IllegalSchema` for an option of a column that the table does not have: they
    /// would do nothing; `InvalidOption` for a value that a new table could not have. Other branches and older schemas, which
    /// options are laid over as well ([`Self::open_with`]), need not have the column.
    pub fn open(location: &str, branch: &str, dynamic_options: BTreeMap<String, String>) -> Result<Self> {
        let place = Place::of(location, dynamic_options)?;
        let fs = match place.options.get(SERVED_BY).filter(|_| Served::at(&place.path).is_none()) {
            Some(server) => guarded(place.fs, Arc::new(UnknownServer(server.clone()))),
            None => watched(place.fs, &place.path),
        };
        let table = Self::open_with(fs, &place.path, branch, None, place.options)?;
        check_handle_options(&table.ctx.schema, &of_tables(&table.dynamic_options))
            .map_err(|e| e.with("table", &table.ctx.name))?;
        Ok(table)
    }

    /// Opens a table on any storage, under its latest schema or a given one. What is done with it changes files below
    /// `location` only, and at the external paths that it declares.
    pub fn open_with(
        fs: FileIoRef,
        location: &str,
        branch: &str,
        schema_id: Option<i64>,
        dynamic_options: BTreeMap<String, String>,
    ) -> Result<Self> {
        let location = location.trim_end_matches('/');
        let branch = branch_of(branch, &dynamic_options).map_err(|e| e.with("path", location))?;
        if branch != MAIN_BRANCH {
            check_can_exist("branch", branch).map_err(|e| e.with("path", location))?;
        }
        let own = ConfinedFileIo::new(fs.unconfined().unwrap_or(&fs).clone(), location);
        let fs: FileIoRef = Arc::new(own.clone());
        let root = branch_root(location, branch);
        let schemas = Arc::new(SchemaManager::new(Arc::clone(&fs), &root));
        let schema = match schema_id {
            Some(id) => Some(schemas.get(id)?),
            None => schemas.latest()?,
        };
        let Some(schema) = schema else {
            BranchManager::new(Arc::clone(&fs), location).check_exists(branch).map_err(|e| e.with("path", location))?;
            return Err(no_table(location, branch));
        };
        let name = Served::at(location).map(|served| served.name(branch).to_string());
        let name = name.unwrap_or_else(|| name_of(location, branch));
        // its file is replaced when it is decided about it
        let may_be_replaced = schema.is_pending();
        let written = written(&fs, branch, &schemas.path(schema.id)).map_err(|e| e.with("path", location))?;
        let written = written.filter(|_| !may_be_replaced);
        let ctx = context(own, name, location, branch, schema, schemas, &of_tables(&dynamic_options))?;
        Ok(Self { ctx: TableContext { written, ..ctx }, dynamic_options })
    }

    /// What operations work with.
    pub fn context(&self) -> &TableContext {
        &self.ctx
    }

    /// Whether batch reads leave level 0 out: its rows count when they have been compacted.
    pub fn skips_level_0(&self) -> bool {
        skips_level_0(&self.ctx)
    }

    /// Options given when the table was opened, those of its storage among them, but no secrets.
    pub fn dynamic_options(&self) -> &BTreeMap<String, String> {
        &self.dynamic_options
    }

    /// Stored options with the dynamic ones on top.
    pub fn options(&self) -> BTreeMap<String, String> {
        overlay(&self.ctx.schema.options, &of_tables(&self.dynamic_options))
    }

    /// The table of a catalog's server, if it is one.
    ///
    /// # Errors
    /// `UnsupportedFeature`: this process does not know the server.
    pub(super) fn server(&self) -> Result<Option<Arc<Served>>> {
        match (Served::at(&self.ctx.location), self.dynamic_options.get(SERVED_BY)) {
            (None, Some(server)) => Err(UnknownServer(server.clone()).error().with("table", &self.ctx.name)),
            (served, _) => Ok(served),
        }
    }

    /// An error when the table needs something for writing that is not implemented.
    pub(super) fn check_writable(&self) -> Result<()> {
        check_writable(&self.ctx.schema).map_err(|e| e.with("table", &self.ctx.name))
    }

    /// Reads the definition again, after a change of the schema.
    pub fn reload(&mut self) -> Result<()> {
        let fresh = Self::open_with(
            Arc::clone(&self.ctx.fs),
            &self.ctx.location,
            &self.ctx.branch,
            None,
            self.dynamic_options.clone(),
        )?;
        *self = fresh;
        Ok(())
    }

    /// Root of the branch: the directory of `schema/`, `snapshot/` and `tag/`.
    pub fn branch_root(&self) -> String {
        self.ctx.branch_root()
    }
}

/// The branch that the caller names, or that the dynamic option `branch` names, as in Java.
fn branch_of<'a>(branch: &'a str, dynamic: &'a BTreeMap<String, String>) -> Result<&'a str> {
    let asked = dynamic.get("branch").map(|name| name.trim()).filter(|name| !name.is_empty());
    match asked {
        None => Ok(branch),
        Some(asked) if asked == branch || branch == MAIN_BRANCH => Ok(asked),
        Some(asked) => {
            let message = format!("the option says branch '{asked}', and branch '{branch}' is asked for");
            Err(Error::new(ErrorKind::InvalidOption, message).with("option", "branch").hint("give only one of them"))
        }
    }
}

/// When the schema file of a branch was written.
fn written(fs: &FileIoRef, branch: &str, path: &str) -> Result<Option<SchemaWritten>> {
    if branch == MAIN_BRANCH {
        return Ok(None);
    }
    match fs.status(path)? {
        Some(file) => Ok(Some(SchemaWritten { path: path.to_owned(), millis: file.modified_millis })),
        None => Err(Error::new(ErrorKind::BranchNotFound, format!("branch '{branch}' does not exist any more"))),
    }
}

fn context(
    own: ConfinedFileIo,
    name: String,
    location: &str,
    branch: &str,
    schema: Arc<TableSchema>,
    schemas: Arc<SchemaManager>,
    dynamic: &BTreeMap<String, String>,
) -> Result<TableContext> {
    check_dynamic_options(&schema, dynamic).map_err(|e| e.with("table", &name))?;
    let all = overlay(&schema.options, dynamic);
    let options = Arc::new(CoreOptions::parse(&all).map_err(|e| e.with("table", &name))?);
    let paths = Arc::new(PathFactory::new(location, &schema, &options));
    let external = all.get("data-file.external-paths").map(String::as_str).unwrap_or_default();
    let external: Vec<String> = external.split(',').map(|path| strip_scheme(path.trim()).to_owned()).collect();
    Ok(TableContext {
        fs: Arc::new(own.with_external(&external)),
        name,
        location: location.to_owned(),
        branch: branch.to_owned(),
        schema,
        options,
        dynamic: Arc::new(dynamic.clone()),
        paths,
        schemas,
        written: None,
        remembered: Arc::default(),
    })
}

/// `db.table` from `.../db.db/table`, else the last part of the path; `$branch_b` behind it.
fn name_of(location: &str, branch: &str) -> String {
    let mut parts = location.rsplit('/');
    let table = parts.next().unwrap_or(location);
    let database = parts.next().and_then(|p| p.strip_suffix(".db"));
    let name = database.map_or_else(|| table.to_owned(), |db| format!("{db}.{table}"));
    if branch == MAIN_BRANCH { name } else { format!("{name}$branch_{branch}") }
}

fn no_table(location: &str, branch: &str) -> Error {
    if branch == MAIN_BRANCH {
        Error::new(ErrorKind::TableNotFound, "there is no Paimon table")
            .with("path", location)
            .hint("give the directory that holds schema/ and snapshot/")
    } else {
        Error::new(ErrorKind::BranchNotFound, format!("branch '{branch}' has no schema"))
            .with("path", location)
            .hint(BRANCH_WITHOUT_SCHEMA)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_from_the_warehouse_layout() {
        assert_eq!(name_of("/w/shop.db/orders", "main"), "shop.orders");
        assert_eq!(name_of("/w/shop.db/orders", "b"), "shop.orders$branch_b");
        assert_eq!(name_of("/tmp/table", "main"), "table");
    }
}
