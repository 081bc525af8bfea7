//! The `schema/` directory of a table or branch (format chapter 2.5; `SchemaManager`).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::{SchemaChange, TableSchema, change, fixed_option_changed, rows_option_changed};
use crate::error::{Error, ErrorKind, Result};
use crate::fs::{FileIoRef, read_json};
use crate::limits::LAST_ID;
use crate::snapshot::{Snapshot, SnapshotManager};

/// Options that name a branch to read from besides the table's own.
pub const READ_BRANCHES: [&str; 2] = ["scan.fallback-branch", "scan.primary-branch"];

/// How often a change is applied anew because another writer took the next id.
const RETRIES: usize = 100;

/// How often the latest schema is looked for when it vanishes between listing and reading.
const ATTEMPTS: usize = 5;

/// What a change of the latest schema into the next one is asked about files: `IllegalSchemaChange` refuses it.
pub type CheckChange<'a> = &'a dyn Fn(&TableSchema, &TableSchema) -> Result<()>;

/// The schemas of one branch. What was read once is kept: a schema file never changes.
#[derive(Debug)]
pub struct SchemaManager {
    pub(super) fs: FileIoRef,
    pub(super) root: String,
    cache: Mutex<HashMap<i64, Arc<TableSchema>>>,
}

impl SchemaManager {
    /// The schemas below `branch_root` (`path::branch_root`).
    pub fn new(fs: FileIoRef, branch_root: &str) -> Self {
        Self { fs, root: branch_root.trim_end_matches('/').to_owned(), cache: Mutex::default() }
    }

    /// `<branch root>/schema`
    pub fn directory(&self) -> String {
        format!("{}/schema", self.root)
    }

    /// Path of `schema-<id>`.
    pub fn path(&self, id: i64) -> String {
        format!("{}/schema/schema-{id}", self.root)
    }

    /// All ids, ascending. Other files in the directory do not matter.
    pub fn ids(&self) -> Result<Vec<i64>> {
        let files = self.fs.list(&self.directory())?;
        let mut ids: Vec<i64> = files.iter().filter(|f| !f.is_dir).filter_map(|f| id_of(&f.path)).collect();
        ids.sort_unstable();
        ids.dedup();
        Ok(ids)
    }

    /// The schema to go by: the one with the largest id, unless it came too late ([`super::pending`]); `None` when there is no
    /// table.
    pub fn latest(&self) -> Result<Option<Arc<TableSchema>>> {
        self.newest()?.map(|newest| self.in_time(newest)).transpose()
    }

    /// The schema with the largest id.
    pub fn newest(&self) -> Result<Option<Arc<TableSchema>>> {
        let mut vanished = None;
        for _ in 0..ATTEMPTS {
            let Some(id) = self.ids()?.last().copied() else { return Ok(None) };
            match self.get(id) {
                // a fast-forward has taken it away since it was listed: another one is the latest now
                Err(e) if e.kind() == ErrorKind::FileNotFound => vanished = Some(e),
                found => return found.map(Some),
            }
        }
        vanished.map_or(Ok(None), Err)
    }

    /// One schema.
    pub fn get(&self, id: i64) -> Result<Arc<TableSchema>> {
        if let Some(schema) = self.lock().get(&id) {
            return Ok(schema.clone());
        }
        let path = self.path(id);
        let bytes = read_json(&*self.fs, &path).map_err(|e| match e.kind() {
            ErrorKind::FileNotFound => Error::new(ErrorKind::FileNotFound, format!("the schema {id} is missing"))
                .with("file", &path)
                .hint(
                    "open the table again, a fast-forward may have taken it away; if it is missing then, too, restore the file: \
                     data written with it cannot be read without it",
                ),
            _ => e,
        })?;
        let schema = TableSchema::from_json(&path, &bytes)?;
        if schema.id != id {
            return Err(Error::corrupt(&path, 0, format!("the schema with id {id}"), format!("id {}", schema.id)));
        }
        let schema = Arc::new(schema);
        if !schema.is_pending() {
            self.lock().insert(id, schema.clone());
        }
        Ok(schema)
    }

    /// Publishes the first schema; `TableExists` when there is one already.
    pub fn create(&self, schema: TableSchema) -> Result<Arc<TableSchema>> {
        let exists = || Error::new(ErrorKind::TableExists, "the table exists already").with("file", self.directory());
        if !self.ids()?.is_empty() {
            return Err(exists());
        }
        let names_branch = |key: &&str| schema.options.get(*key).is_some_and(|name| !name.trim().is_empty());
        if let Some(option) = READ_BRANCHES.into_iter().find(names_branch) {
            return Err(Error::new(
                ErrorKind::BranchNotFound,
                format!("a new table has no branch that '{option}' can name"),
            )
            .with("option", option)
            .hint("make the table and its branch first, then set the option"));
        }
        if !self.publish(&schema)? {
            return Err(exists());
        }
        self.get(schema.id).map_err(|e| {
            Error::new(e.kind(), "the table was created; then a call failed")
                .with("file", self.path(schema.id))
                .caused_by(e)
        })
    }

    /// [`Self::commit_changes_if`] without a check.
    pub fn commit_changes(&self, changes: &[SchemaChange]) -> Result<Arc<TableSchema>> {
        self.commit_changes_if(changes, &|_, _| Ok(()))
    }

    /// Applies changes to the latest schema and publishes the result, again when another writer was faster. What `check`
    /// refuses, before or after it is published, does not stay.
    pub fn commit_changes_if(&self, changes: &[SchemaChange], check: CheckChange<'_>) -> Result<Arc<TableSchema>> {
        for _ in 0..RETRIES {
            let (old, new) = self.changed(changes, check)?;
            if !old.is_pending() && rows_option_changed(&old, &new)?.is_some() {
                match self.commit_with_lock(changes, check)? {
                    Some(changed) => return Ok(changed),
                    None => continue,
                }
            }
            if !old.is_pending() && self.publish_if(&new, &|| self.check_stored(&old))? {
                return self.settle(&old, &new, check);
            }
            self.decide()?;
        }
        let message = "the schema could not be changed: other writers changed it each time";
        Err(Error::new(ErrorKind::CommitRetriesExhausted, message).with("file", self.directory()))
    }

    /// The latest schema, and what changes make of it; nothing is written.
    pub fn changed(&self, changes: &[SchemaChange], check: CheckChange<'_>) -> Result<(Arc<TableSchema>, TableSchema)> {
        let Some(old) = self.latest()? else {
            return Err(Error::new(ErrorKind::TableNotFound, "there is no schema").with("file", self.directory()));
        };
        let newest = SnapshotManager::new(self.fs.clone(), &self.root).latest()?;
        let written = newest.map(|newest| self.written_under(&newest, &old)).transpose()?;
        let new = change::apply_to(&old, changes, written.as_deref())?;
        let pending = fixed_option_changed(&old, &new).is_some() || rows_option_changed(&old, &new)?.is_some();
        let new = TableSchema { pending: pending.then_some(true), ..new };
        check(&old, &new)?;
        Ok((old, new))
    }

    /// The schema of a version; where its file is missing, the newest one.
    fn written_under(&self, version: &Snapshot, newest: &Arc<TableSchema>) -> Result<Arc<TableSchema>> {
        if version.schema_id >= newest.id {
            return Ok(newest.clone());
        }
        match self.get(version.schema_id) {
            Err(e) if e.kind() == ErrorKind::FileNotFound => Ok(newest.clone()),
            found => found,
        }
    }

    fn publish(&self, schema: &TableSchema) -> Result<bool> {
        self.publish_if(schema, &|| Ok(()))
    }

    /// `false`: another writer has that id.
    pub(super) fn publish_if(&self, schema: &TableSchema, still: &dyn Fn() -> Result<()>) -> Result<bool> {
        let (path, json) = (self.path(schema.id), schema.to_json()?);
        // a schema that nobody can read would be the end of the table
        TableSchema::from_json(&path, json.as_bytes()).map_err(|e| match e.kind() {
            ErrorKind::Cancelled => e,
            _ => Error::new(ErrorKind::IllegalSchema, "the schema could not be read back and was not written")
                .caused_by(e),
        })?;
        match self.fs.publish_if(&path, json.as_bytes(), true, still) {
            Ok(()) => Ok(true),
            Err(e) if e.kind() == ErrorKind::FileExists => Ok(false),
            Err(e) if e.is_without_effect() => Err(e),
            Err(e) => Err(self.came_so_far(schema, json.as_bytes(), e)),
        }
    }

    /// The error of a schema that may have been published although the call failed.
    fn came_so_far(&self, schema: &TableSchema, json: &[u8], failed: Error) -> Error {
        let path = self.path(schema.id);
        let text = match read_json(&*self.fs, &path) {
            Ok(found) if found == json => format!("schema {} was published, but a power loss may undo it", schema.id),
            Ok(_) => return failed,
            Err(e) if e.kind() == ErrorKind::FileNotFound => return failed,
            Err(_) => format!("it is not known whether schema {} was published", schema.id),
        };
        Error::new(failed.kind(), text)
            .with("file", path)
            .hint("look at the table's schema before you try again")
            .caused_by(failed)
    }

    pub(super) fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<i64, Arc<TableSchema>>> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// `.../schema-12` → 12; `None` for temporary and foreign files.
fn id_of(path: &str) -> Option<i64> {
    let name = path.rsplit('/').next()?.strip_prefix("schema-")?;
    // with zeros before it, it is the number of another name
    let digits = (name == "0" || !name.starts_with('0')) && name.bytes().all(|b| b.is_ascii_digit());
    digits.then(|| name.parse().ok()).flatten().filter(|id| *id <= LAST_ID)
}

#[cfg(test)]
mod tests {
    use super::super::new_table::tests::table;
    use super::*;
    use crate::cancel::Cancellation;
    use crate::fs::{FaultFileIo, FileIo};
    use crate::types::{DataField, DataType, TypeKind, parse_type};

    fn manager() -> (Arc<FaultFileIo>, SchemaManager) {
        let fs = Arc::new(FaultFileIo::new());
        (fs.clone(), SchemaManager::new(fs, "/t"))
    }

    fn first() -> TableSchema {
        table(&[("k", "INT")], &["k"], &[], &[("bucket", "1")]).into_schema().unwrap()
    }

    #[test]
    fn a_table_without_schemas_has_no_latest_one() {
        assert_eq!(manager().1.latest().unwrap(), None);
    }

    #[test]
    fn stray_and_temporary_files_do_not_matter() {
        let (fs, manager) = manager();
        manager.create(first()).unwrap();
        for name in [
            ".schema-7.0f.tmp",
            "schema-9.tmp",
            "schema-",
            "schema-x",
            "schema--3",
            "schema-007",
            "schema-00",
            "README",
        ] {
            fs.put(&format!("/t/schema/{name}"), b"junk");
        }
        assert_eq!(manager.ids().unwrap(), [0]);
        assert_eq!(manager.latest().unwrap().unwrap().id, 0);
    }

    #[test]
    fn creating_twice_is_an_error() {
        let (_, manager) = manager();
        manager.create(first()).unwrap();
        assert_eq!(manager.create(first()).unwrap_err().kind(), ErrorKind::TableExists);
    }

    #[test]
    fn the_id_inside_must_be_the_number_of_the_file() {
        let (fs, manager) = manager();
        fs.put("/t/schema/schema-5", first().to_json().unwrap().as_bytes());
        assert_eq!(manager.latest().unwrap_err().kind(), ErrorKind::CorruptFile);
    }

    #[test]
    fn a_schema_that_could_not_be_read_back_is_not_published() {
        let (fs, manager) = manager();
        let mut deep = parse_type("INT").unwrap();
        for _ in 0..45 {
            deep = DataType::new(TypeKind::Row(vec![DataField::new(0, "a", deep)]));
        }
        let mut schema = first();
        schema.fields.push(DataField::new(1, "v", deep));
        assert_eq!(manager.create(schema).unwrap_err().kind(), ErrorKind::IllegalSchema);
        assert_eq!(manager.latest().unwrap(), None);
        assert!(fs.list("/t/schema").unwrap().is_empty());
    }

    /// It was an illegal schema.
    #[test]
    fn a_table_whose_making_is_stopped_has_no_illegal_schema() {
        let (fs, manager) = manager();
        let stopped = Cancellation::default();
        stopped.cancel();
        assert_eq!(stopped.run(|| manager.create(first())).unwrap_err().kind(), ErrorKind::Cancelled);
        assert!(fs.list("/t/schema").unwrap().is_empty());
    }

    #[test]
    fn a_change_to_a_type_that_is_too_deep_leaves_the_schema_as_it_is() {
        let (_, manager) = manager();
        manager.create(first()).unwrap();
        for open in ["ROW<a ", "MAP<STRING, ", "ARRAY<", "MULTISET<"] {
            let column = |levels: usize| SchemaChange::AddColumn {
                path: vec!["v".to_owned()],
                data_type: parse_type(&format!("{}INT{}", open.repeat(levels), ">".repeat(levels))).unwrap(),
                comment: None,
                position: None,
            };
            let error = manager.commit_changes(&[column(32)]).unwrap_err();
            assert_eq!((error.kind(), error.context_value("column")), (ErrorKind::UnsupportedType, Some("v")));
            let before = manager.latest().unwrap().unwrap().id;
            manager.commit_changes(&[column(31)]).unwrap();
            let new = SchemaManager::new(manager.fs.clone(), "/t").latest().unwrap().unwrap();
            assert_eq!((new.id, new.field("v").unwrap().data_type.nesting()), (before + 1, 31));
            manager.commit_changes(&[SchemaChange::DropColumn { path: vec!["v".to_owned()] }]).unwrap();
        }
    }

    #[test]
    fn a_missing_schema_says_which() {
        let error = manager().1.get(3).unwrap_err();
        assert_eq!((error.kind(), error.context_value("file")), (ErrorKind::FileNotFound, Some("/t/schema/schema-3")));
    }

    #[test]
    fn changes_get_the_next_id_and_keep_the_old_schema() {
        let (_, manager) = manager();
        manager.create(first()).unwrap();
        let change = SchemaChange::SetOption { key: "write-only".into(), value: "true".into() };
        let new = manager.commit_changes(&[change]).unwrap();
        assert_eq!((new.id, new.options["write-only"].as_str()), (1, "true"));
        assert!(!manager.get(0).unwrap().options.contains_key("write-only"));
        assert_eq!(manager.latest().unwrap().unwrap(), new);
    }

    #[test]
    fn no_schema_is_published_with_an_id_that_no_reader_finds() {
        let (fs, manager) = manager();
        let with_id = |id| TableSchema { id, ..first() }.to_json().unwrap();
        fs.put(&format!("/t/schema/schema-{}", LAST_ID - 1), with_id(LAST_ID - 1).as_bytes());
        let change = |text: &str| [SchemaChange::SetComment { comment: Some(text.into()) }];
        assert_eq!(manager.commit_changes(&change("a")).unwrap().id, LAST_ID);
        let error = manager.commit_changes(&change("b")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::IllegalSchemaChange, "{error}");
        assert_eq!(manager.ids().unwrap(), [LAST_ID - 1, LAST_ID]);
        assert_eq!(fs.list("/t/schema").unwrap().len(), 2);
        let error = TableSchema::from_json("f", with_id(i64::MAX).as_bytes()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::CorruptFile);
    }

    #[test]
    fn changes_of_several_writers_are_all_kept() {
        let (fs, manager) = manager();
        manager.create(first()).unwrap();
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let fs = fs.clone();
                scope.spawn(move || {
                    let own = SchemaManager::new(fs, "/t");
                    for n in 0..5 {
                        let change = SchemaChange::SetOption { key: format!("my.{writer}.{n}"), value: "x".into() };
                        own.commit_changes(&[change]).unwrap();
                    }
                });
            }
        });
        let last = manager.latest().unwrap().unwrap();
        assert_eq!((last.id, last.options.keys().filter(|key| key.starts_with("my.")).count()), (20, 20));
    }
}
