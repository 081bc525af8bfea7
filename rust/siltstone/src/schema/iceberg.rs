//! Tables that Iceberg readers open, too: which can be, and their columns in the types there.
//!
//! Source: `IcebergOptions`, `IcebergDataField`; Iceberg's table specification, version 2.

use serde_json::{Value, json};

use super::TableSchema;
use crate::{
    error::{Error, Result},
    format::NestedAt,
    options::CoreOptions,
    types::{DataField, DataType, TypeKind},
};

const STORAGE: &str = "metadata.iceberg.storage";

/// An error when the options ask for Iceberg metadata that siltstone does not write.
pub fn check_iceberg(schema: &TableSchema, options: &CoreOptions) -> Result<()> {
    if !options.writes_iceberg() {
        return Ok(());
    }
    let refused = |option: &'static str, what: &str, hint: &str| {
        Err(Error::unsupported(format!("Iceberg metadata {what}")).with("option", option).hint(hint))
    };
    if options.iceberg_storage != "table-location" {
        let what = format!("where '{STORAGE}' = '{}' puts it", options.iceberg_storage);
        return refused(STORAGE, &what, "set it to 'table-location'; an Iceberg catalog can register the file there");
    }
    for (option, only) in [
        ("metadata.iceberg.format-version", "2"),
        ("metadata.iceberg.storage-location", "table-location"),
        ("metadata.iceberg.manifest-legacy-version", "false"),
    ] {
        let given = options.get(option).map(str::trim).filter(|given| !given.eq_ignore_ascii_case(only));
        if let Some(given) = given {
            return refused(option, &format!("with '{option}' = '{given}'"), &format!("set it to '{only}'"));
        }
    }
    if options.deletion_vectors_enabled {
        return refused("deletion-vectors.enabled", "of tables with deletion vectors", "leave one of the two out");
    }
    if options.data_evolution_enabled {
        return refused("data-evolution.enabled", "of tables with data evolution", "leave one of the two out");
    }
    let other = options
        .file_formats()
        .into_iter()
        .find(|(option, format)| *option != "changelog-file.format" && !format.eq_ignore_ascii_case("parquet"));
    if let Some((option, format)) = other {
        return refused(option, &format!("of files in {format}"), "set the format to 'parquet'");
    }
    iceberg_fields(&schema.fields)?;
    schema.partition_fields().into_iter().try_for_each(|field| partition_type(field).map(drop))
}

/// Columns, or fields of a row, as Iceberg's JSON has them.
pub fn iceberg_fields(fields: &[DataField]) -> Result<Vec<Value>> {
    fields
        .iter()
        .map(|field| {
            let kind =
                type_of(&field.data_type, NestedAt::field(field.id)).map_err(|e| e.with("column", &field.name))?;
            Ok(json!({
                "id": field.id,
                "name": field.name,
                "required": !field.data_type.nullable,
                "type": kind,
            }))
        })
        .collect()
}

fn type_of(data_type: &DataType, at: NestedAt) -> Result<Value> {
    Ok(match &data_type.kind {
        TypeKind::Boolean => "boolean".into(),
        TypeKind::TinyInt | TypeKind::SmallInt | TypeKind::Int => "int".into(),
        TypeKind::BigInt => "long".into(),
        TypeKind::Float => "float".into(),
        TypeKind::Double => "double".into(),
        TypeKind::Date => "date".into(),
        TypeKind::Decimal { precision, scale } => format!("decimal({precision}, {scale})").into(),
        TypeKind::Char(_) | TypeKind::VarChar(_) => "string".into(),
        TypeKind::Binary(_) | TypeKind::VarBinary(_) => "binary".into(),
        TypeKind::Timestamp(4..=6) => "timestamp".into(),
        TypeKind::LocalZonedTimestamp(4..=6) => "timestamptz".into(),
        TypeKind::Array(element) => {
            let below = at.down();
            json!({
                "type": "list",
                "element-id": below.value_id(),
                "element-required": !element.nullable,
                "element": type_of(element, below)?,
            })
        }
        TypeKind::Map(key, value) => {
            let below = at.down();
            json!({
                "type": "map",
                "key-id": below.key_id(),
                "key": type_of(key, below)?,
                "value-id": below.value_id(),
                "value-required": !value.nullable,
                "value": type_of(value, below)?,
            })
        }
        TypeKind::Row(fields) => json!({ "type": "struct", "fields": iceberg_fields(fields)? }),
        TypeKind::Timestamp(_) | TypeKind::LocalZonedTimestamp(_) => {
            let e = Error::unsupported(format!("Iceberg metadata of a column of the type {}", data_type.kind));
            return Err(e.hint("Iceberg's times have six digits: use TIMESTAMP(6)"));
        }
        other => return Err(Error::unsupported(format!("Iceberg metadata of a column of the type {other}"))),
    })
}

/// The Avro type that a partition column has in Iceberg's manifests.
pub fn partition_type(field: &DataField) -> Result<Value> {
    let starts = field.name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let is_name = starts && field.name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    let kind = match &field.data_type.kind {
        _ if !is_name => None,
        TypeKind::Boolean => Some("boolean".into()),
        TypeKind::TinyInt | TypeKind::SmallInt | TypeKind::Int => Some("int".into()),
        TypeKind::BigInt => Some("long".into()),
        TypeKind::Date => Some(json!({ "type": "int", "logicalType": "date" })),
        TypeKind::Char(_) | TypeKind::VarChar(_) => Some("string".into()),
        _ => None,
    };
    kind.ok_or_else(|| {
        let what =
            format!("Iceberg metadata of a table partitioned by '{}' of the type {}", field.name, field.data_type);
        Error::unsupported(what)
            .with("column", &field.name)
            .hint("partition by whole numbers, texts, dates or truth values with plain names")
    })
}
