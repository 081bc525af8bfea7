//! Rules about options and their combinations (semantics b.8; `SchemaValidation`).

use std::collections::BTreeMap;

use super::{
    EngineSpec, TableSchema,
    features::check_data_directory,
    refusal::{forbidden_option, no_such_column},
    validate_java,
    validate_values::{
        check_automatic_tags, check_data_files, check_default_partition, check_default_values, check_file_sizes,
        check_levels, check_manifest_compression, check_prefixes, check_retention, check_stats_modes,
    },
};
use crate::error::{Error, Result};
use crate::options::catalogue::{FIELD_OPTIONS, column_of_field_option, find};
use crate::options::{ChangelogProducer, CoreOptions, MergeEngine, check_list, check_value, parse_bool, parse_list};
use crate::types::TypeKind;

pub(super) fn faults(schema: &TableSchema, options: &CoreOptions) -> Vec<Error> {
    let forms =
        schema.options.iter().map(|(key, value)| find(key).map_or(Ok(()), |known| check_value(&known, key, value)));
    let mut results: Vec<Result<()>> = forms.collect();
    results.extend([
        check_field_options(schema, &schema.options),
        check_sequence(schema, options),
        check_row_kind(schema, options),
        check_engine(options),
        check_merging(schema, options),
        check_changelog(schema, options),
        check_deletion_vectors(options),
        check_row_tracking(schema, options),
        check_read_branches(options),
        check_file_sizes(options),
        check_levels(options),
        check_retention(options),
        check_automatic_tags(options),
        options.named_version().map(drop),
        options.named_changes().map(drop),
    ]);
    let mut faults: Vec<Error> = results.into_iter().filter_map(Result::err).collect();
    faults.extend(value_faults(options));
    let of_schema = validate_java::check(schema, options).into_iter().chain([check_default_values(schema)]);
    faults.extend(of_schema.filter_map(Result::err));
    faults
}

/// Values that are wrong whatever else the table says.
pub(super) fn value_faults(options: &CoreOptions) -> Vec<Error> {
    let mut results = check_stats_modes(options);
    results.extend([
        check_manifest_compression(options),
        check_prefixes(options),
        check_data_directory(options.data_file_path_directory.as_deref()),
        check_default_partition(options),
    ]);
    results.extend(check_data_files(options));
    results.into_iter().filter_map(Result::err).collect()
}

/// `fields.<column>.<suffix>` name columns that exist.
pub(super) fn check_field_options(schema: &TableSchema, options: &BTreeMap<String, String>) -> Result<()> {
    for key in options.keys().filter(|key| key.starts_with("fields.")) {
        let Some(columns) = FIELD_OPTIONS.iter().find_map(|known| column_of_field_option(key, known.key)) else {
            continue;
        };
        for column in columns.split(',').filter(|column| *column != "default-aggregate-function") {
            if schema.field(column).is_none() {
                return Err(no_such_column(schema, column, &format!("'{key}'")).with("option", key));
            }
        }
    }
    Ok(())
}

fn check_sequence(schema: &TableSchema, options: &CoreOptions) -> Result<()> {
    const OPTION: &str = "sequence.field";
    let fields = &options.sequence_fields;
    if let Some(text) = schema.options.get(OPTION) {
        check_list(OPTION, text)?;
    }
    for (at, name) in fields.iter().enumerate() {
        let Some(field) = schema.field(name) else {
            return Err(no_such_column(schema, name, "'sequence.field'").with("option", OPTION));
        };
        if !field.data_type.has_order() {
            let message = format!("a column of type {} has no order, it cannot be a sequence field", field.data_type);
            return Err(forbidden_option(OPTION, message).with("column", name));
        }
        if fields.iter().take(at).any(|earlier| earlier == name) {
            return Err(forbidden_option(OPTION, format!("'sequence.field' names '{name}' twice")).with("column", name));
        }
        let function = format!("fields.{name}.aggregate-function");
        if schema.options.contains_key(&function) {
            let message = format!("the sequence field '{name}' cannot be aggregated");
            return Err(forbidden_option(&function, message).with("column", name));
        }
    }
    let Some(first) = fields.first() else { return Ok(()) };
    if !schema.has_primary_key() {
        return Err(forbidden_option(OPTION, "'sequence.field' needs a primary key"));
    }
    if options.merge_engine == MergeEngine::FirstRow {
        let message = "'merge-engine' = 'first-row' keeps the first row, it takes no 'sequence.field'";
        return Err(forbidden_option(OPTION, message).with("column", first));
    }
    match schema.partition_keys.iter().find(|key| !schema.primary_keys.contains(key)) {
        Some(key) => {
            let message = "'sequence.field' needs every partition column in the primary key";
            Err(forbidden_option(OPTION, message).with("column", key))
        }
        None => Ok(()),
    }
}

fn check_row_kind(schema: &TableSchema, options: &CoreOptions) -> Result<()> {
    let Some(name) = &options.rowkind_field else { return Ok(()) };
    match schema.field(name) {
        None => Err(no_such_column(schema, name, "'rowkind.field'").with("option", "rowkind.field")),
        Some(field) if matches!(field.data_type.kind, TypeKind::Char(_) | TypeKind::VarChar(_)) => Ok(()),
        Some(field) => {
            let message = format!("'rowkind.field' is a text (+I, -U, +U, -D), not {}", field.data_type);
            Err(forbidden_option("rowkind.field", message).with("column", name))
        }
    }
}

fn check_read_branches(options: &CoreOptions) -> Result<()> {
    if options.branch != "main" {
        return Err(forbidden_option("branch", format!("a table cannot be the branch '{}' of itself", options.branch))
            .hint("open the table with the branch: open_table(path, branch=...)"));
    }
    let given = |value: &Option<String>| value.as_ref().is_some_and(|name| !name.trim().is_empty());
    if given(&options.scan_fallback_branch) && given(&options.scan_primary_branch) {
        let message = "'scan.fallback-branch' and 'scan.primary-branch' cannot both be set";
        return Err(forbidden_option("scan.primary-branch", message));
    }
    Ok(())
}

fn check_merging(schema: &TableSchema, options: &CoreOptions) -> Result<()> {
    for column in EngineSpec::of(schema, options)?.counted_columns() {
        tracing::warn!(
            column,
            "Java Paimon from 0.9 on cannot open a table with the function 'count'; use 'sum' over a column of ones \
             if Java shall read this table"
        );
    }
    Ok(())
}

fn check_engine(options: &CoreOptions) -> Result<()> {
    let producer = options.changelog_producer;
    if options.merge_engine == MergeEngine::FirstRow
        && !matches!(producer, ChangelogProducer::None | ChangelogProducer::Lookup)
    {
        let message = format!(
            "'merge-engine' = 'first-row' and 'changelog-producer' = '{}' exclude each other",
            producer.as_str()
        );
        return Err(forbidden_option("changelog-producer", message).hint("use 'none' or 'lookup'"));
    }
    Ok(())
}

fn check_changelog(schema: &TableSchema, options: &CoreOptions) -> Result<()> {
    let producer = options.changelog_producer;
    let reads_overwrites =
        options.get("streaming-read-overwrite").is_some_and(|text| parse_bool(text).unwrap_or(false));
    if !schema.has_primary_key() {
        if producer != ChangelogProducer::None {
            return Err(forbidden_option("changelog-producer", "'changelog-producer' needs a primary key"));
        }
        if reads_overwrites {
            let hint = "for append tables there is 'streaming-read-append-overwrite'";
            return Err(forbidden_option("streaming-read-overwrite", "'streaming-read-overwrite' needs a primary key")
                .hint(hint));
        }
        if options.bucket == -1 && options.full_compaction_delta_commits.is_some() {
            let message = "'full-compaction.delta-commits' needs a number of buckets";
            return Err(forbidden_option("full-compaction.delta-commits", message));
        }
    }
    let ignored = options.get("changelog-producer.row-deduplicate-ignore-fields").map(parse_list).unwrap_or_default();
    if let Some(column) = ignored.iter().find(|column| schema.field(column).is_none()) {
        let option = "changelog-producer.row-deduplicate-ignore-fields";
        return Err(no_such_column(schema, column, &format!("'{option}'")).with("option", option));
    }
    let by_compaction = matches!(producer, ChangelogProducer::Lookup | ChangelogProducer::FullCompaction);
    if reads_overwrites && by_compaction {
        let message = "'streaming-read-overwrite' would read changes twice with this 'changelog-producer'";
        return Err(forbidden_option("streaming-read-overwrite", message));
    }
    if options.full_compaction_delta_commits.is_some() && producer == ChangelogProducer::Lookup {
        let message = "'full-compaction.delta-commits' and 'changelog-producer' = 'lookup' exclude each other";
        return Err(forbidden_option("full-compaction.delta-commits", message));
    }
    Ok(())
}

/// Whether an option may exclude deletion vectors.
pub(super) fn concerns_deletion_vectors(key: &str) -> bool {
    matches!(key, "changelog-producer" | "merge-engine" | "lookup-wait") || key.starts_with("deletion-vectors.")
}

pub(super) fn check_deletion_vectors(options: &CoreOptions) -> Result<()> {
    const OPTION: &str = "deletion-vectors.enabled";
    if !options.deletion_vectors_enabled {
        return Ok(());
    }
    if options.changelog_producer == ChangelogProducer::FullCompaction {
        let message = "deletion vectors and 'changelog-producer' = 'full-compaction' exclude each other";
        return Err(forbidden_option(OPTION, message).hint("use 'none', 'input' or 'lookup'"));
    }
    if options.merge_engine == MergeEngine::FirstRow {
        return Err(forbidden_option(
            OPTION,
            "'merge-engine' = 'first-row' deletes no rows, it takes no deletion vectors",
        ));
    }
    if options.get("lookup-wait").is_some_and(|text| !parse_bool(text).unwrap_or(true)) {
        let message = "with deletion vectors 'lookup-wait' = 'false' hides rows for an unknown time";
        return Err(forbidden_option("lookup-wait", message));
    }
    Ok(())
}

/// Ids of rows are given to append tables without buckets.
fn check_row_tracking(schema: &TableSchema, options: &CoreOptions) -> Result<()> {
    const OPTION: &str = "row-tracking.enabled";
    const EVOLUTION: &str = "data-evolution.enabled";
    if options.data_evolution_enabled {
        if !options.row_tracking_enabled {
            return Err(forbidden_option(EVOLUTION, "'data-evolution.enabled' needs ids of rows")
                .hint(format!("set '{OPTION}' = 'true', too")));
        }
        if options.deletion_vectors_enabled {
            let message = "'data-evolution.enabled' and 'deletion-vectors.enabled' exclude each other";
            return Err(forbidden_option(EVOLUTION, message));
        }
    }
    if !options.row_tracking_enabled {
        return Ok(());
    }
    if schema.has_primary_key() {
        return Err(forbidden_option(OPTION, "rows of tables with a primary key have no ids")
            .hint("leave the option out: their key says which row is which"));
    }
    if options.bucket != -1 {
        return Err(forbidden_option(OPTION, "rows of tables with a number of buckets have no ids")
            .hint("leave 'bucket' out, or this option"));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
