//! What a new table must not say because Java could not open it, or not write to it, although siltstone could.

use super::TableSchema;
use super::refusal::forbidden_option;
use crate::aggregate::{FieldOptions, is_function};
use crate::error::Result;
use crate::options::{CoreOptions, MergeEngine, parse_size, sequence_groups};
use crate::types::TypeKind;

/// Pages that Java's write buffer has at least.
const PAGES: u64 = 3;
const PAGE_SIZE: &str = "64 kb";

pub(super) fn check(schema: &TableSchema, options: &CoreOptions) -> Vec<Result<()>> {
    let mut results = vec![check_list(options, "bucket-key"), check_partitions(schema, options), check_pages(options)];
    if !schema.has_primary_key() {
        return results;
    }
    results.push(check_buffer(options));
    results.push(check_lookups(schema, options));
    match options.merge_engine {
        MergeEngine::PartialUpdate => {
            results.push(check_list(options, "partial-update.remove-record-on-sequence-group"));
            results.extend(sequence_groups(&options.raw).iter().map(|group| check_list(options, &group.option)));
            results.push(check_functions(schema, options));
        }
        MergeEngine::Aggregation => results.push(check_functions(schema, options)),
        MergeEngine::Deduplicate | MergeEngine::FirstRow => {}
    }
    results
}

fn is_bytes(kind: &TypeKind) -> bool {
    matches!(kind, TypeKind::Binary(_) | TypeKind::VarBinary(_))
}

/// Java names a partition of bytes by the identity of the array that holds them, another one each time.
fn check_partitions(schema: &TableSchema, options: &CoreOptions) -> Result<()> {
    const OPTION: &str = "partition.legacy-name";
    let keys = schema.partition_keys.iter().filter_map(|key| schema.field(key));
    match keys.into_iter().find(|field| is_bytes(&field.data_type.kind)) {
        Some(field) if options.partition_legacy_name => {
            let message =
                format!("Java cannot read partitions of the type {} with '{OPTION}' = 'true'", field.data_type);
            Err(forbidden_option(OPTION, message).with("column", &field.name).hint(format!("set '{OPTION}' = 'false'")))
        }
        _ => Ok(()),
    }
}

/// Java's lookup cannot compare keys of bytes: each write beside larger files would fail.
fn check_lookups(schema: &TableSchema, options: &CoreOptions) -> Result<()> {
    let keys = schema.key_fields();
    let Some(field) = keys.into_iter().find(|field| is_bytes(&field.data_type.kind)) else { return Ok(()) };
    let Some(option) = options.lookup_option() else { return Ok(()) };
    let message = format!("Java cannot look up keys of the type {}, which '{option}' asks for", field.data_type);
    Err(forbidden_option(option, message)
        .with("column", &field.name)
        .hint("take another type for the key, or leave the option out"))
}

/// A page of Java's Parquet writer begins with so many bytes.
fn check_pages(options: &CoreOptions) -> Result<()> {
    const OPTION: &str = "parquet.page.size";
    const LEAST: u64 = 64;
    match options.parquet.get(OPTION).and_then(|text| text.trim().parse::<u64>().ok()) {
        Some(bytes) if bytes < LEAST => {
            let message = format!("'{OPTION}' = {bytes} is less than the {LEAST} bytes that Java needs");
            Err(forbidden_option(OPTION, message).hint(format!("set it to at least {LEAST}")))
        }
        _ => Ok(()),
    }
}

/// In these lists of columns Java takes a space for a part of the name.
fn check_list(options: &CoreOptions, key: &str) -> Result<()> {
    let Some(text) = options.raw.get(key) else { return Ok(()) };
    let plain: Vec<&str> = text.split(',').map(str::trim).collect();
    let plain = plain.join(",");
    if plain == *text {
        return Ok(());
    }
    let message =
        format!("'{key}' = '{text}' has spaces around the names of columns, which Java takes for parts of them");
    Err(forbidden_option(key, message).hint(format!("write '{plain}'")))
}

/// Every column's function exists by its exact name, also where it is not used (a key's, a sequence field's), and
/// compares only what Java compares.
fn check_functions(schema: &TableSchema, options: &CoreOptions) -> Result<()> {
    for field in &schema.fields {
        let of = FieldOptions::of(&options.raw, &field.name)?;
        let Some(name) = options.raw.get(&of.function_option) else { continue };
        let refused = |message: String| forbidden_option(&of.function_option, message).with("column", &field.name);
        if !is_function(name) {
            let hint = "Java opens no table that names an unknown function, even where the column does not use it";
            return Err(refused(format!("'{name}' is not an aggregate function")).hint(hint));
        }
        let is_key = schema.primary_keys.contains(&field.name);
        if matches!(name.as_str(), "max" | "min") && field.data_type.kind == TypeKind::Boolean && !is_key {
            let message = format!("the aggregate function '{name}' does not take values of type {}", field.data_type);
            let other = if name == "max" { "bool_or" } else { "bool_and" };
            return Err(refused(message).with("type", &field.data_type).hint(format!("use '{other}'")));
        }
    }
    Ok(())
}

fn check_buffer(options: &CoreOptions) -> Result<()> {
    const OPTION: &str = "write-buffer-size";
    let page = parse_size(options.get("page-size").unwrap_or(PAGE_SIZE)).map_err(|e| e.with("option", "page-size"))?;
    if page == 0 {
        return Err(forbidden_option("page-size", "'page-size' must be at least 1 byte"));
    }
    let least = page.saturating_mul(PAGES);
    if options.write_buffer_size < least {
        let message = format!("'{OPTION}' has {} bytes, Java needs room for {PAGES} pages", options.write_buffer_size);
        return Err(
            forbidden_option(OPTION, message).hint(format!("set it to at least {least} bytes, or lower 'page-size'"))
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::new_table::tests::table;
    use crate::error::{ErrorKind, Result};

    fn keyed_by(kind: &str, options: &[(&str, &str)]) -> Result<()> {
        let options: Vec<(&str, &str)> = options.iter().copied().chain([("bucket", "1")]).collect();
        table(&[("k", kind), ("v", "INT")], &["k"], &[], &options).into_schema().map(drop)
    }

    /// Java failed at each write, with a ClassCastException.
    #[test]
    fn keys_of_bytes_that_java_would_look_up_are_refused() {
        for (option, value) in [
            ("deletion-vectors.enabled", "true"),
            ("changelog-producer", "lookup"),
            ("merge-engine", "first-row"),
            ("force-lookup", "true"),
        ] {
            for kind in ["BYTES", "BINARY(2)", "VARBINARY(3)"] {
                let error = keyed_by(kind, &[(option, value)]).unwrap_err();
                let found = (error.kind(), error.context_value("option"), error.context_value("column"));
                assert_eq!(found, (ErrorKind::InvalidOption, Some(option), Some("k")), "{kind}");
            }
            keyed_by("STRING", &[(option, value)]).unwrap();
        }
        keyed_by("BYTES", &[("changelog-producer", "full-compaction")]).unwrap();
    }
}
