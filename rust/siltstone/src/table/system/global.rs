//! `sys.*`: system tables about a whole catalog.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::{
    InspectArgs,
    columns::{Row, fields, long, maybe, or_null, string, text},
    finish, partitions,
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
    rows: fn(&Catalog) -> Result<Vec<Row>>,
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

    /// The rows of `sys.<name>`.
    pub fn inspect(&self, name: &str, args: &InspectArgs) -> Result<RecordBatch> {
        let table = self.global(name)?;
        finish(&(table.columns)(), &(table.rows)(self)?, args)
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

    /// Every table with the names of its database and its own.
    fn each(&self, mut visit: impl FnMut(&TableName, &Table) -> Result<()>) -> Result<()> {
        for database in self.databases()? {
            for table in self.tables(&database)? {
                let name = TableName::parse_plain(&format!("{database}.{table}"))?;
                match self.open_plain(&name) {
                    Ok(table) => visit(&name, &table)?,
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

fn option_rows(catalog: &Catalog) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    catalog.each(|name, table| {
        let options = &table.context().schema.options;
        let row = |(key, value)| vec![string(&name.database), string(&name.table), string(key), string(value)];
        rows.extend(options.iter().map(row));
        Ok(())
    })?;
    Ok(rows)
}

fn catalog_columns() -> Vec<DataField> {
    fields(&[("key", text()), ("value", text())])
}

#[allow(clippy::unnecessary_wraps, reason = "the signature of every system table's rows")]
fn catalog_rows(catalog: &Catalog) -> Result<Vec<Row>> {
    let shown = without_secrets(catalog.options());
    Ok(shown.iter().map(|(key, value)| vec![string(key), string(value)]).collect())
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

/// Owners and editors are not known to a filesystem catalog.
fn table_rows(catalog: &Catalog) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    catalog.each(|name, table| {
        let schema = &table.context().schema;
        let sum = partitions::total(table)?;
        let kind = schema.options.get("type").map_or("table", String::as_str);
        let mut row = vec![
            string(&name.database),
            string(&name.table),
            string(kind),
            Datum::Boolean(!schema.partition_keys.is_empty()),
            Datum::Boolean(schema.has_primary_key()),
        ];
        row.extend([Datum::Null, Datum::Null, Datum::Null]);
        row.extend([Datum::BigInt(schema.time_millis), Datum::Null]);
        row.extend(sum.counts());
        row.push(or_null(sum.newest(), epoch));
        rows.push(row);
        Ok(())
    })?;
    Ok(rows)
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

fn partition_rows(catalog: &Catalog) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    catalog.each(|name, table| {
        if table.context().schema.partition_keys.is_empty() {
            return Ok(());
        }
        for ((partition, _), sum) in partitions::sums(table, false)? {
            let mut row =
                vec![string(&name.database), string(&name.table), string(partitions::name(table, &partition)?)];
            row.extend(sum.counts());
            row.extend([or_null(sum.newest(), epoch), Datum::Boolean(false)]);
            rows.push(row);
        }
        Ok(())
    })?;
    Ok(rows)
}

/// A local time of a file as epoch milliseconds.
fn epoch(wall: i64) -> Datum {
    let local = chrono::DateTime::from_timestamp_millis(wall).map(|t| t.naive_utc());
    local.map_or(Datum::BigInt(wall), |time| Datum::BigInt(env::local_to_instant(time)))
}
