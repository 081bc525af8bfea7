//! System tables: what a table says about itself, as rows (semantics h; `org.apache.paimon.table.system`).
//!
//! A table is one file: its columns (Java's names and types) and its rows. Times are local, without a zone, as in Java.

mod branches;
mod buckets;
mod columns;
mod consumers;
mod fields;
mod file_indexes;
mod files;
mod global;
mod hash_order;
mod indexes;
mod manifests;
mod options;
pub(super) mod partitions;
mod rows;
mod schemas;
mod snapshots;
mod statistics;
mod tags;
#[cfg(test)]
mod tests;
pub(super) mod text;

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};

pub use self::partitions::Partition;
use self::rows::Rows;
use super::Table;
use crate::{
    Error, ErrorKind, Result,
    io::TableContext,
    predicate::{Condition, Predicate},
    read::data_system_tables::DataSystemTable,
    scan::{VersionSelector, overtaken::again_when_overtaken, time_travel},
    snapshot::Snapshot,
    types::{DataField, arrow_schema},
};

/// What a system table is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The table's rows in another form; it is scanned like the table itself.
    Rows,
    /// One snapshot, the latest when none is named.
    Snapshot,
    /// The table, whatever its versions.
    Table,
}

/// One system table.
#[derive(Clone, Copy)]
struct SystemTable {
    name: &'static str,
    about: Subject,
    columns: fn() -> Vec<DataField>,
    rows: fn(&Table, &mut Rows) -> Result<()>,
}

const fn table(
    name: &'static str,
    about: Subject,
    columns: fn() -> Vec<DataField>,
    rows: fn(&Table, &mut Rows) -> Result<()>,
) -> SystemTable {
    SystemTable { name, about, columns, rows }
}

/// One line for each.
const TABLES: &[SystemTable] = &[
    table("snapshots", Subject::Table, snapshots::columns, snapshots::rows),
    table("schemas", Subject::Table, schemas::columns, schemas::rows),
    table("options", Subject::Table, options::columns, options::rows),
    table("files", Subject::Snapshot, files::columns, files::rows),
    table("file_key_ranges", Subject::Snapshot, files::range_columns, files::range_rows),
    table("file_indexes", Subject::Snapshot, file_indexes::columns, file_indexes::rows),
    table("manifests", Subject::Snapshot, manifests::columns, manifests::rows),
    table("tags", Subject::Table, tags::columns, tags::rows),
    table("branches", Subject::Table, branches::columns, branches::rows),
    table("consumers", Subject::Table, consumers::columns, consumers::rows),
    table("partitions", Subject::Snapshot, partitions::columns, partitions::rows),
    table("buckets", Subject::Snapshot, buckets::columns, buckets::rows),
    table("aggregation_fields", Subject::Table, fields::columns, fields::rows),
    table("statistics", Subject::Snapshot, statistics::columns, statistics::rows),
    table("table_indexes", Subject::Snapshot, indexes::columns, indexes::rows),
];

/// What to take of a system table.
#[derive(Clone, Debug, Default)]
pub struct InspectArgs {
    /// Column names; `None` = all.
    pub columns: Option<Vec<String>>,
    /// Condition that rows must satisfy.
    pub filter: Option<Condition>,
    /// At most this many rows.
    pub limit: Option<usize>,
}

impl InspectArgs {
    fn result_schema(&self, columns: &[DataField]) -> Result<SchemaRef> {
        self.filter(columns)?;
        let schema = arrow_schema(columns)?;
        Ok(Arc::new(schema.project(&self.chosen(&schema)?)?))
    }

    fn filter(&self, columns: &[DataField]) -> Result<Option<Predicate>> {
        Condition::of(self.filter.as_ref(), columns)
    }

    /// Positions of the wanted columns.
    fn chosen(&self, schema: &Schema) -> Result<Vec<usize>> {
        let Some(names) = &self.columns else { return Ok((0..schema.fields().len()).collect()) };
        let at = |name: &String| {
            schema.index_of(name).map_err(|_| {
                let known: Vec<&str> = schema.fields().iter().map(|f| f.name().as_str()).collect();
                Error::new(ErrorKind::InvalidArgument, format!("there is no column '{name}'"))
                    .with("column", name)
                    .hint(format!("columns: {}", known.join(", ")))
            })
        };
        names.iter().map(at).collect()
    }
}

impl Table {
    /// All system tables with what they are about: those made of metadata, and the views of the table's rows.
    pub fn system_tables() -> Vec<(&'static str, Subject)> {
        let views = DataSystemTable::NAMES.map(|name| (name, Subject::Rows));
        TABLES.iter().map(|t| (t.name, t.about)).chain(views).collect()
    }

    /// The schema of what [`Table::inspect`] gives, and the check of its arguments.
    pub fn inspect_schema(&self, name: &str, args: &InspectArgs) -> Result<SchemaRef> {
        args.result_schema(&(self.system_table(name)?.columns)())
    }

    /// The rows of a system table, in one batch at least; names are not case-sensitive.
    pub fn inspect(&self, name: &str, args: &InspectArgs) -> Result<Vec<RecordBatch>> {
        let table = self.system_table(name)?;
        let columns = (table.columns)();
        args.result_schema(&columns)?;
        let make = || {
            let mut rows = Rows::new(&columns, args)?;
            (table.rows)(self, &mut rows)?;
            Ok(rows)
        };
        let rows = again_when_overtaken(self.context(), make)
            .map_err(|e| e.with("table", format!("{}${}", self.context().name, table.name)));
        self.found(rows, Rows::is_empty)?.finish()
    }

    fn system_table(&self, name: &str) -> Result<SystemTable> {
        let lower = name.to_lowercase();
        TABLES.iter().find(|t| t.name == lower).copied().ok_or_else(|| {
            let known: Vec<&str> = Self::system_tables().into_iter().map(|(name, _)| name).collect();
            let known = known.join(", ");
            Error::new(ErrorKind::TableNotFound, format!("there is no system table '${name}'"))
                .with("table", &self.context().name)
                .hint(format!("system tables: {known}"))
        })
    }

    /// What lies between two versions is no version.
    pub(in crate::table) fn check_one_version(&self) -> Result<()> {
        if self.context().options.named_changes()?.is_none() {
            return Ok(());
        }
        let text = "this system table looks at one version, not at what lies between two";
        Err(Error::unsupported(text)
            .hint("open the table without 'incremental-between' and the like, and without 'latest-delta'"))
    }

    /// The version that the table's options name, and the table under its schema.
    pub(in crate::table) fn travelled(&self) -> Result<(TableContext, Option<Snapshot>)> {
        self.check_one_version()?;
        time_travel(self.context(), &VersionSelector::Latest)
    }
}
