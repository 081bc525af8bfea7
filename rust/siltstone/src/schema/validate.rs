//! Rules that every schema obeys when it is created or changed (`SchemaValidation`): names, keys, buckets.
//! Rules about combinations of options are in `validate_options`.

use super::{
    TableSchema,
    refusal::{illegal, no_such_column},
    validate_options,
};
use std::collections::HashSet;

use crate::error::{Error, ErrorKind, Result};
use crate::options::{BucketFunctionType, CoreOptions};
use crate::types::{DataField, MAX_NESTING, TypeKind, special, too_deep};

/// Names that Paimon needs for itself (`SpecialFields`).
const RESERVED: &[&str] = &[special::SEQUENCE_NUMBER, special::VALUE_KIND, "_LEVEL", "rowkind", special::ROW_ID];

/// Checks a whole schema; the first broken rule is the error.
pub fn validate(schema: &TableSchema) -> Result<()> {
    faults(schema).into_iter().next().map_or(Ok(()), Err)
}

/// What every rule that the schema breaks says about it, in the order of the rules.
pub(super) fn faults(schema: &TableSchema) -> Vec<Error> {
    let options = match CoreOptions::parse(&schema.options) {
        Ok(options) => options,
        Err(e) => return vec![e],
    };
    let mut faults: Vec<Error> = [check_columns(schema), check_keys(schema), check_bucket(schema, &options)]
        .into_iter()
        .filter_map(Result::err)
        .collect();
    faults.extend(validate_options::faults(schema, &options));
    faults
}

/// The first of the faults that the schema before did not have: what was wrong does not keep the owner of a table from
/// changing something else.
pub(super) fn first_new(faults: Vec<Error>, before: &[Error]) -> Result<()> {
    let was_there = |e: &Error| before.iter().any(|b| b.kind() == e.kind() && b.to_string() == e.to_string());
    faults.into_iter().find(|e| !was_there(e)).map_or(Ok(()), Err)
}

fn check_columns(schema: &TableSchema) -> Result<()> {
    if schema.fields.is_empty() {
        return Err(illegal("a table needs at least one column"));
    }
    for field in &schema.fields {
        let levels = field.data_type.nesting();
        if levels > MAX_NESTING {
            return Err(too_deep(levels).with("column", &field.name));
        }
    }
    check_names(&schema.fields)?;
    for field in &schema.fields {
        let name = field.name.as_str();
        if RESERVED.contains(&name) || name.starts_with(special::KEY_PREFIX) {
            let message = format!("the column name '{name}' is reserved for Paimon itself");
            let hint = format!("reserved: {} and names that start with {}", RESERVED.join(", "), special::KEY_PREFIX);
            return Err(illegal(message).with("column", name).hint(hint));
        }
    }
    Ok(())
}

/// Names are there, differ and survive C, also inside rows.
fn check_names(fields: &[DataField]) -> Result<()> {
    let mut earlier = HashSet::new();
    for (at, field) in fields.iter().enumerate() {
        if field.name.trim().is_empty() {
            return Err(illegal(format!("column {} has no name", at + 1)));
        }
        if field.name.contains('\0') {
            let name = field.name.escape_debug();
            return Err(illegal(format!("the column name '{name}' has a NUL, which the Arrow C interface cuts off"))
                .with("column", name));
        }
        if !earlier.insert(field.name.as_str()) {
            return Err(illegal(format!("the column '{}' occurs twice", field.name)).with("column", &field.name));
        }
        check_nested_names(&field.data_type.kind).map_err(|e| e.with("column", &field.name))?;
    }
    Ok(())
}

fn check_nested_names(kind: &TypeKind) -> Result<()> {
    match kind {
        // Java makes such a table, but cannot write a row to it: Parquet has no group without fields
        TypeKind::Row(fields) if fields.is_empty() => {
            Err(illegal("a ROW needs at least one field").hint("leave the column out until it has a field"))
        }
        TypeKind::Row(fields) => check_names(fields),
        TypeKind::Array(inner) | TypeKind::Multiset(inner) | TypeKind::Vector(inner, _) => {
            check_nested_names(&inner.kind)
        }
        TypeKind::Map(key, value) => check_nested_names(&key.kind).and_then(|()| check_nested_names(&value.kind)),
        _ => Ok(()),
    }
}

fn check_keys(schema: &TableSchema) -> Result<()> {
    check_key_list(schema, &schema.partition_keys, "partition key")?;
    check_key_list(schema, &schema.primary_keys, "primary key")?;
    if schema.has_primary_key() && schema.trimmed_primary_keys().is_empty() {
        let message = "the primary key is the partition key: every partition could hold one row only";
        return Err(illegal(message).hint("add a column to the primary key, or leave the primary key out"));
    }
    Ok(())
}

fn check_key_list(schema: &TableSchema, keys: &[String], what: &str) -> Result<()> {
    for (at, key) in keys.iter().enumerate() {
        let Some(field) = schema.field(key) else { return Err(no_such_column(schema, key, &format!("the {what}"))) };
        if keys.iter().take(at).any(|earlier| earlier == key) {
            return Err(illegal(format!("the {what} names '{key}' twice")).with("column", key));
        }
        if field.data_type.is_nested() || matches!(field.data_type.kind, TypeKind::Blob) {
            let message = format!("a column of type {} cannot be in the {what}", field.data_type);
            return Err(illegal(message).with("column", key));
        }
    }
    Ok(())
}

fn check_bucket(schema: &TableSchema, options: &CoreOptions) -> Result<()> {
    let option = |message: String, hint: &str| {
        Err(Error::new(ErrorKind::InvalidOption, message).with("option", "bucket").hint(hint))
    };
    match options.bucket {
        -1 if !options.bucket_keys.is_empty() => {
            return option(
                "'bucket-key' needs a number of buckets".into(),
                "set 'bucket' = 'N', or leave 'bucket-key' out",
            );
        }
        -1 => return Ok(()),
        -2 if schema.has_primary_key() => {}
        -2 => {
            return option(
                "'bucket' = '-2' needs a primary key: rows without one wait for no bucket".into(),
                "leave 'bucket' out, or give the table a primary key",
            );
        }
        n if n < 1 => {
            return option(
                format!("'bucket' = '{n}' is not a number of buckets"),
                "use a number of at least 1; -1: rows find their buckets themselves; -2: a compaction gives them buckets",
            );
        }
        _ => {}
    }
    let keys = schema.bucket_keys();
    if keys.is_empty() {
        let message = "an append table with a number of buckets needs a 'bucket-key'";
        let hint = "set 'bucket-key' to the columns that choose the bucket, or leave 'bucket' out";
        return Err(Error::new(ErrorKind::InvalidOption, message).with("option", "bucket-key").hint(hint));
    }
    check_bucket_keys(schema, &keys)?;
    check_bucket_function(schema, options, &keys)?;
    let missing = schema.partition_keys.iter().find(|key| !schema.primary_keys.contains(key));
    match missing {
        Some(key) if schema.has_primary_key() => {
            let message = match options.bucket {
                -2 => "with postponed buckets the primary key must contain every partition column",
                _ => "with a fixed number of buckets the primary key must contain every partition column",
            };
            let hint =
                format!("add '{key}' to the primary key, or leave 'bucket' out: a key then moves between partitions");
            Err(illegal(message).with("column", key).hint(hint))
        }
        _ => Ok(()),
    }
}

fn check_bucket_keys(schema: &TableSchema, keys: &[String]) -> Result<()> {
    let at_key = |e: Error, key: &str| Err(e.with("option", "bucket-key").with("column", key));
    let mut names = std::collections::HashSet::new();
    if let Some(twice) = keys.iter().find(|key| !names.insert(key.as_str())) {
        let error = Error::new(ErrorKind::InvalidOption, format!("'bucket-key' names '{twice}' twice"));
        return at_key(error, twice);
    }
    for key in keys {
        let Some(field) = schema.field(key) else {
            return Err(no_such_column(schema, key, "'bucket-key'").with("option", "bucket-key"));
        };
        if schema.partition_keys.contains(key) {
            return at_key(illegal(format!("the partition column '{key}' cannot be in 'bucket-key'")), key);
        }
        if schema.has_primary_key() && !schema.primary_keys.contains(key) {
            return at_key(illegal(format!("the column '{key}' of 'bucket-key' is not in the primary key")), key);
        }
        if field.data_type.is_nested() {
            let message = format!("a column of type {} cannot be in 'bucket-key'", field.data_type);
            return at_key(illegal(message), key);
        }
    }
    Ok(())
}

fn check_bucket_function(schema: &TableSchema, options: &CoreOptions, keys: &[String]) -> Result<()> {
    if options.bucket_function != BucketFunctionType::Mod {
        return Ok(());
    }
    let kind = |key: &String| schema.field(key).map(|field| &field.data_type.kind);
    match keys {
        [key] if matches!(kind(key), Some(TypeKind::Int | TypeKind::BigInt)) => Ok(()),
        _ => {
            let message = "the bucket function 'mod' needs exactly one bucket key, of type INT or BIGINT";
            Err(Error::new(ErrorKind::InvalidOption, message).with("option", "bucket-function.type"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::new_table::tests::table;
    use super::*;

    const COLUMNS: &[(&str, &str)] = &[("dt", "STRING"), ("id", "BIGINT"), ("n", "INT"), ("list", "ARRAY<INT>")];

    fn error(key: &[&str], partition: &[&str], options: &[(&str, &str)]) -> Error {
        table(COLUMNS, key, partition, options).into_schema().unwrap_err()
    }

    #[test]
    fn names_must_be_there_differ_and_not_be_reserved() {
        for columns in [
            &[("a", "INT"), ("a", "INT")][..],
            &[("", "INT")],
            &[("  ", "INT")],
            &[("_SEQUENCE_NUMBER", "INT")],
            &[("_KEY_a", "INT")],
            &[("rowkind", "INT")],
            &[("r", "ROW<x INT, x INT>")],
            &[("r", "ARRAY<ROW<x INT, x INT>>")],
            &[("a\0b", "INT")],
            &[("r", "ARRAY<ROW<`x\0` INT>>")],
            &[("r", "ROW<>")],
            &[("r", "MAP<INT, ROW<a ROW<>>>")],
            &[],
        ] {
            let error = table(columns, &[], &[], &[]).into_schema().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::IllegalSchema, "{columns:?}");
        }
        table(&[("r", "ROW<rowkind INT, _KEY_x INT>"), ("x", "INT")], &[], &[], &[]).into_schema().unwrap();
    }

    #[test]
    fn keys_must_be_columns_of_plain_types() {
        let bucket = &[("bucket", "1")];
        assert_eq!(error(&["idd"], &[], bucket).hint_text(), Some("did you mean 'id'?"));
        assert_eq!(error(&["list"], &[], bucket).context_value("column"), Some("list"));
        assert_eq!(error(&["id", "id"], &[], bucket).kind(), ErrorKind::IllegalSchema);
        assert_eq!(error(&[], &["list"], &[]).kind(), ErrorKind::IllegalSchema);
        assert_eq!(error(&["dt"], &["dt"], bucket).kind(), ErrorKind::IllegalSchema);
    }

    #[test]
    fn bucket_keys_are_primary_key_columns_outside_the_partition_key() {
        for (key, partition, bucket_key) in
            [(&["dt", "id"][..], &["dt"][..], "dt"), (&["id"], &[], "n"), (&[], &[], "list"), (&[], &[], "x")]
        {
            let error = error(key, partition, &[("bucket", "2"), ("bucket-key", bucket_key)]);
            assert_eq!(
                (error.kind(), error.context_value("option")),
                (ErrorKind::IllegalSchema, Some("bucket-key")),
                "{bucket_key}"
            );
        }
        table(COLUMNS, &["dt", "id", "n"], &["dt"], &[("bucket", "2"), ("bucket-key", "n")]).into_schema().unwrap();
    }

    #[test]
    fn append_tables_have_buckets_with_a_key_or_none() {
        table(COLUMNS, &[], &["dt"], &[]).into_schema().unwrap();
        table(COLUMNS, &[], &[], &[("bucket", "3"), ("bucket-key", "id,n")]).into_schema().unwrap();
        for options in [
            &[("bucket", "3")][..],
            &[("bucket", "-1"), ("bucket-key", "id")],
            &[("bucket", "0")],
            &[("bucket", "-2")],
            &[("bucket", "-7")],
        ] {
            assert_eq!(error(&[], &[], options).kind(), ErrorKind::InvalidOption, "{options:?}");
        }
    }

    #[test]
    fn with_fixed_buckets_the_primary_key_contains_the_partition_key() {
        assert_eq!(error(&["id"], &["dt"], &[("bucket", "2")]).context_value("column"), Some("dt"));
    }

    /// Java takes such a table; its compaction gives buckets partition by partition, so that a key lived twice.
    #[test]
    fn with_postponed_buckets_too() {
        let error = error(&["id"], &["dt"], &[("bucket", "-2")]);
        assert_eq!((error.kind(), error.context_value("column")), (ErrorKind::IllegalSchema, Some("dt")));
        table(COLUMNS, &["id", "dt"], &["dt"], &[("bucket", "-2")]).into_schema().unwrap();
        table(COLUMNS, &["id"], &[], &[("bucket", "-2")]).into_schema().unwrap();
    }

    #[test]
    fn the_mod_function_takes_one_integer() {
        let mod_of = |key: &'static str| [("bucket", "2"), ("bucket-key", key), ("bucket-function.type", "mod")];
        table(COLUMNS, &[], &[], &mod_of("id")).into_schema().unwrap();
        assert_eq!(error(&[], &[], &mod_of("dt")).kind(), ErrorKind::InvalidOption);
        assert_eq!(error(&[], &[], &mod_of("id,n")).kind(), ErrorKind::InvalidOption);
    }
}
