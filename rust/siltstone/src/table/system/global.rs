//! `sys.*`: system tables about a whole catalog.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::{
    InspectArgs,
    columns::{fields, long, maybe, or_null, string, text},
    partitions::{self, Sum},
    rows::{Rows, put},
};
use crate::{
    Error, ErrorKind, Result, env,
    options::without_secrets,
    row::Datum,
    table::{Catalog, Table, TableName},
    types::{DataField, DataType, TypeKind},
};

struct GlobalTable {
    name: &'static str,
    columns: fn() -> Vec<DataField>,
    rows: fn(&Catalog, &mut Rows) -> Result<()>,
}

/// One line for each.
const TABLES: [GlobalTable; 4] = [
    GlobalTable { name: "all_table_options", columns: option_columns, rows: option_rows },
    GlobalTable { name: "tables", columns: table_columns, rows: table_rows },
    GlobalTable { name: "partitions", columns: partition_columns, rows: partition_rows },
    GlobalTable { name: "catalog_options", columns: catalog_columns, rows: catalog_rows },
];

const SHOW_OPTIONS: &str = "catalog-options-table.enabled";

impl Catalog {
    /// The schema of what [`Catalog::inspect`] gives, and the check of its arguments.
    pub fn inspect_schema(&self, name: &str, args: &InspectArgs) -> Result<SchemaRef> {
        args.result_schema(&(self.global(name)?.columns)())
    }

    /// The rows of `sys.<name>`, in one batch at least.
    pub fn inspect(&self, name: &str, args: &InspectArgs) -> Result<Vec<RecordBatch>> {
        let table = self.global(name)?;
        let mut rows = Rows::new(&(table.columns)(), args)?;
        (table.rows)(self, &mut rows)?;
        rows.finish()
    }

    fn global(&self, name: &str) -> Result<&'static GlobalTable> {
        let lower = name.to_lowercase();
        let shown = |table: &&GlobalTable| {
            table.name != "catalog_options" || self.options().get(SHOW_OPTIONS).is_some_and(|v| v == "true")
        };
        TABLES.iter().filter(shown).find(|t| t.name == lower).ok_or_else(|| {
            let known: Vec<&str> = TABLES.iter().filter(shown).map(|t| t.name).collect();
            Error::new(ErrorKind::TableNotFound, format!("there is no system table 'sys.{name}'"))
                .hint(format!("tables of sys: {}", known.join(", ")))
        })
    }

    /// Every table with the names of its database and its own, until no more rows are wanted.
    fn each(&self, rows: &mut Rows, visit: impl Fn(&mut Rows, &TableName, &Table) -> Result<()>) -> Result<()> {
        for database in self.databases()? {
            for table in self.tables(&database)? {
                if rows.is_full() {
                    return Ok(());
                }
                let name = TableName::parse_plain(&format!("{database}.{table}"))?;
                match self.open_plain(&name) {
                    Ok(table) => visit(rows, &name, &table)?,
                    // dropped meanwhile, or something else than a table
                    Err(e) if e.kind() == ErrorKind::TableNotFound || e.context_value("object").is_some() => {}
                    Err(e) => return Err(e),
                }
            }
        }
        Ok(())
    }
}

fn boolean() -> DataType {
    DataType::new(TypeKind::Boolean)
}

fn option_columns() -> Vec<DataField> {
    let text = || maybe(text());
    fields(&[("database_name", text()), ("table_name", text()), ("key", text()), ("value", text())])
}

fn option_rows(catalog: &Catalog, rows: &mut Rows) -> Result<()> {
    catalog.each(rows, |rows, name, table| {
        for (key, value) in &table.context().schema.options {
            if rows.is_full() {
                break;
            }
            put!(rows; string(&name.database), string(&name.table), string(key), string(value));
        }
        Ok(())
    })
}

fn catalog_columns() -> Vec<DataField> {
    fields(&[("key", text()), ("value", text())])
}

fn catalog_rows(catalog: &Catalog, rows: &mut Rows) -> Result<()> {
    for (key, value) in without_secrets(catalog.options()) {
        if rows.is_full() {
            break;
        }
        put!(rows; string(key), string(value));
    }
    Ok(())
}

fn table_columns() -> Vec<DataField> {
    let (text, long) = (|| maybe(text()), || maybe(long()));
    fields(&[
        ("database_name", text()),
        ("table_name", text()),
        ("table_type", text()),
        ("partitioned", boolean()),
        ("primary_key", boolean()),
        ("owner", text()),
        ("created_at", long()),
        ("created_by", text()),
        ("updated_at", long()),
        ("updated_by", text()),
        ("record_count", long()),
        ("file_size_in_bytes", long()),
        ("file_count", long()),
        ("last_file_creation_time", long()),
    ])
}

/// Columns of [`Sum`]s.
const SUMS: [&str; 4] = ["record_count", "file_size_in_bytes", "file_count", "last_file_creation_time"];

/// Owners and editors are not known to a filesystem catalog.
fn table_rows(catalog: &Catalog, rows: &mut Rows) -> Result<()> {
    catalog.each(rows, |rows, name, table| {
        let schema = &table.context().schema;
        let sum = if rows.wants(&SUMS) { partitions::total(table)? } else { Sum::default() };
        let [count, size, files] = sum.counts();
        let unknown = || Datum::Null;
        put!(rows;
            string(&name.database),
            string(&name.table),
            string(schema.options.get("type").map_or("table", String::as_str)),
            Datum::Boolean(!schema.partition_keys.is_empty()),
            Datum::Boolean(schema.has_primary_key()),
            unknown(),
            unknown(),
            unknown(),
            Datum::BigInt(schema.time_millis),
            unknown(),
            count,
            size,
            files,
            or_null(sum.newest(), epoch),
        );
        Ok(())
    })
}

fn partition_columns() -> Vec<DataField> {
    let (text, long) = (|| maybe(text()), || maybe(long()));
    fields(&[
        ("database_name", text()),
        ("table_name", text()),
        ("partition_name", text()),
        ("record_count", long()),
        ("file_size_in_bytes", long()),
        ("file_count", long()),
        ("last_file_creation_time", long()),
        ("done", boolean()),
    ])
}

fn partition_rows(catalog: &Catalog, rows: &mut Rows) -> Result<()> {
    catalog.each(rows, |rows, name, table| {
        if table.context().schema.partition_keys.is_empty() {
            return Ok(());
        }
        for ((partition, _), sum) in partitions::sums(table, false)? {
            if rows.is_full() {
                break;
            }
            let [count, size, files] = sum.counts();
            put!(rows;
                string(&name.database),
                string(&name.table),
                string(partitions::name(table, &partition)?),
                count,
                size,
                files,
                or_null(sum.newest(), epoch),
                Datum::Boolean(false),
            );
        }
        Ok(())
    })
}

/// A local time of a file as epoch milliseconds.
fn epoch(wall: i64) -> Datum {
    let local = chrono::DateTime::from_timestamp_millis(wall).map(|t| t.naive_utc());
    local.map_or(Datum::BigInt(wall), |time| Datum::BigInt(env::local_to_instant(time)))
}
