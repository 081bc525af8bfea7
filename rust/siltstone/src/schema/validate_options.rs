//! Rules about options and their combinations (semantics b.8; `SchemaValidation`).

use std::collections::BTreeMap;

use super::validate::{illegal, no_such_column};
use super::{EngineSpec, TableSchema, features::check_data_directory, validate_java};
use crate::cast::default_value;
use crate::error::{Error, ErrorKind, Result, shorten};
use crate::format::parquet::ParquetWriteOptions;
use crate::fs::name_fault;
use crate::options::catalogue::{FIELD_OPTIONS, column_of_field_option, find};
use crate::options::{
    ChangelogProducer, CoreOptions, MergeEngine, TagCreation, Zone, check_list, check_value, parse_bool, parse_list,
};
use crate::stats::StatsMode;
use crate::types::TypeKind;

/// Compressions of Parquet files.
const COMPRESSIONS: &[&str] = &["none", "uncompressed", "zstd", "snappy", "gzip", "lz4", "lz4_raw", "brotli"];
/// Codecs of manifests, by their exact names; Java reads `zstd` without regard to case.
const MANIFEST_COMPRESSIONS: &[&str] = &["zstd", "zstandard", "snappy", "deflate", "null"];

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

pub(super) fn forbidden(option: &str, message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidOption, message).with("option", option)
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
            return Err(forbidden(OPTION, message).with("column", name));
        }
        if fields.iter().take(at).any(|earlier| earlier == name) {
            return Err(forbidden(OPTION, format!("'sequence.field' names '{name}' twice")).with("column", name));
        }
        let function = format!("fields.{name}.aggregate-function");
        if schema.options.contains_key(&function) {
            let message = format!("the sequence field '{name}' cannot be aggregated");
            return Err(forbidden(&function, message).with("column", name));
        }
    }
    let Some(first) = fields.first() else { return Ok(()) };
    if !schema.has_primary_key() {
        return Err(forbidden(OPTION, "'sequence.field' needs a primary key"));
    }
    if options.merge_engine == MergeEngine::FirstRow {
        let message = "'merge-engine' = 'first-row' keeps the first row, it takes no 'sequence.field'";
        return Err(forbidden(OPTION, message).with("column", first));
    }
    match schema.partition_keys.iter().find(|key| !schema.primary_keys.contains(key)) {
        Some(key) => {
            let message = "'sequence.field' needs every partition column in the primary key";
            Err(forbidden(OPTION, message).with("column", key))
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
            Err(forbidden("rowkind.field", message).with("column", name))
        }
    }
}

fn check_read_branches(options: &CoreOptions) -> Result<()> {
    if options.branch != "main" {
        return Err(forbidden("branch", format!("a table cannot be the branch '{}' of itself", options.branch))
            .hint("open the table with the branch: open_table(path, branch=...)"));
    }
    let given = |value: &Option<String>| value.as_ref().is_some_and(|name| !name.trim().is_empty());
    if given(&options.scan_fallback_branch) && given(&options.scan_primary_branch) {
        let message = "'scan.fallback-branch' and 'scan.primary-branch' cannot both be set";
        return Err(forbidden("scan.primary-branch", message));
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
        return Err(forbidden("changelog-producer", message).hint("use 'none' or 'lookup'"));
    }
    Ok(())
}

fn check_changelog(schema: &TableSchema, options: &CoreOptions) -> Result<()> {
    let producer = options.changelog_producer;
    let reads_overwrites =
        options.get("streaming-read-overwrite").is_some_and(|text| parse_bool(text).unwrap_or(false));
    if !schema.has_primary_key() {
        if producer != ChangelogProducer::None {
            return Err(forbidden("changelog-producer", "'changelog-producer' needs a primary key"));
        }
        if reads_overwrites {
            let hint = "for append tables there is 'streaming-read-append-overwrite'";
            return Err(
                forbidden("streaming-read-overwrite", "'streaming-read-overwrite' needs a primary key").hint(hint)
            );
        }
        if options.bucket == -1 && options.full_compaction_delta_commits.is_some() {
            let message = "'full-compaction.delta-commits' needs a number of buckets";
            return Err(forbidden("full-compaction.delta-commits", message));
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
        return Err(forbidden("streaming-read-overwrite", message));
    }
    if options.full_compaction_delta_commits.is_some() && producer == ChangelogProducer::Lookup {
        let message = "'full-compaction.delta-commits' and 'changelog-producer' = 'lookup' exclude each other";
        return Err(forbidden("full-compaction.delta-commits", message));
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
        return Err(forbidden(OPTION, message).hint("use 'none', 'input' or 'lookup'"));
    }
    if options.merge_engine == MergeEngine::FirstRow {
        return Err(forbidden(OPTION, "'merge-engine' = 'first-row' deletes no rows, it takes no deletion vectors"));
    }
    if options.get("lookup-wait").is_some_and(|text| !parse_bool(text).unwrap_or(true)) {
        let message = "with deletion vectors 'lookup-wait' = 'false' hides rows for an unknown time";
        return Err(forbidden("lookup-wait", message));
    }
    Ok(())
}

/// A tag that is due after the next one would never be made (`TagPeriodHandler.validateDelay`).
fn check_automatic_tags(options: &CoreOptions) -> Result<()> {
    if options.tag_automatic_creation != TagCreation::None {
        Zone::parse("sink.process-time-zone", options.sink_process_time_zone.as_deref())?;
        Zone::parse("sink.watermark-time-zone", Some(&options.sink_watermark_time_zone))?;
    }
    if options.tag_period().as_millis() < 1 {
        let message = "the period of automatic tags must be one millisecond or longer";
        return Err(forbidden("tag.creation-period-duration", message));
    }
    let (key, delay) = match options.tag_create_time {
        Some(time) => ("tag.create-time", time),
        None => ("tag.creation-delay", options.tag_creation_delay),
    };
    if options.tag_automatic_creation == TagCreation::None || delay < options.tag_period() {
        return Ok(());
    }
    Err(forbidden(key, "the delay of automatic tags must be shorter than their period")
        .hint("a daily tag may wait for less than 24 hours, an hourly one for less than an hour"))
}

fn check_file_sizes(options: &CoreOptions) -> Result<()> {
    if options.target_file_row_num == 0 {
        return Err(forbidden("target-file-row-num", "'target-file-row-num' must be at least 1"));
    }
    if options.target_file_size == Some(0) {
        return Err(forbidden("target-file-size", "'target-file-size' must be at least 1 byte"));
    }
    Ok(())
}

fn check_levels(options: &CoreOptions) -> Result<()> {
    if options.num_levels < 2 {
        return Err(forbidden("num-levels", "'num-levels' must be at least 2"));
    }
    Ok(())
}

fn check_retention(options: &CoreOptions) -> Result<()> {
    let number = |key: &str, default: i64| {
        options.get(key).map_or(default, |text| text.trim().parse::<i64>().unwrap_or(default))
    };
    let mut defaults = (10, i64::from(i32::MAX));
    for (kind, least, most) in [
        ("snapshot", "snapshot.num-retained.min", "snapshot.num-retained.max"),
        ("changelog", "changelog.num-retained.min", "changelog.num-retained.max"),
    ] {
        let (min, max) = (number(least, defaults.0), number(most, defaults.1));
        if min < 1 {
            return Err(forbidden(least, format!("at least 1 {kind} is kept")));
        }
        if min > max {
            return Err(forbidden(least, format!("'{least}' = {min} is larger than '{most}' = {max}")));
        }
        defaults = (min, max);
    }
    Ok(())
}

fn check_stats_modes(options: &CoreOptions) -> Vec<Result<()>> {
    let modes = std::iter::once(("metadata.stats-mode", &options.stats_mode))
        .chain(options.stats_mode_per_level.values().map(|mode| ("metadata.stats-mode.per.level", mode)))
        .chain(options.changelog_stats_mode.iter().map(|mode| ("changelog-file.stats-mode", mode)))
        .chain(options.field_stats_mode.values().map(|mode| ("fields.<column>.stats-mode", mode)));
    modes.map(|(key, mode)| StatsMode::parse(mode).map(drop).map_err(|e| e.with("option", key))).collect()
}

fn check_manifest_compression(options: &CoreOptions) -> Result<()> {
    let manifests = options.manifest_compression.as_str();
    if manifests.eq_ignore_ascii_case("zstd") || MANIFEST_COMPRESSIONS.contains(&manifests) {
        return Ok(());
    }
    Err(not_one_of("manifest.compression", manifests, MANIFEST_COMPRESSIONS))
}

fn check_prefixes(options: &CoreOptions) -> Result<()> {
    for (key, prefix) in
        [("data-file.prefix", &options.data_file_prefix), ("changelog-file.prefix", &options.changelog_file_prefix)]
    {
        if (!prefix.is_empty() && name_fault(prefix).is_some()) || prefix.starts_with('.') {
            return Err(forbidden(key, format!("{prefix:?} cannot begin a file name")));
        }
    }
    Ok(())
}

fn check_default_partition(options: &CoreOptions) -> Result<()> {
    if options.partition_default_name.trim().is_empty() || options.partition_default_name.contains('/') {
        let message = format!("'{}' cannot be a directory name", options.partition_default_name);
        return Err(forbidden("partition.default-name", message));
    }
    Ok(())
}

/// What the writer of data files would refuse, file by file: a table with it could be made, and never be written to.
fn check_data_files(options: &CoreOptions) -> Vec<Result<()>> {
    let changelog_format = options.changelog_file_format.as_ref();
    let formats = [("file.format", Some(&options.file_format)), ("changelog-file.format", changelog_format)];
    let formats =
        formats.into_iter().map(|(key, format)| match format.filter(|format| format.trim() != format.as_str()) {
            Some(format) => Err(forbidden(key, format!("'{format}' is not a file format, it has spaces around it"))),
            None => Ok(()),
        });
    let compressions = compressions(options).into_iter().map(|(key, name)| {
        let name = if key == "parquet.compression" { name.trim() } else { name };
        let known = COMPRESSIONS.contains(&name.to_ascii_lowercase().as_str());
        if known { Ok(()) } else { Err(not_one_of(key, name, COMPRESSIONS)) }
    });
    // one by one: each option is a rule of its own
    let parquet = options.parquet.iter().filter(|(key, _)| *key != "parquet.compression").map(|(key, value)| {
        let alone = BTreeMap::from([(key.clone(), value.clone())]);
        ParquetWriteOptions::new("none", options.zstd_level, options.file_block_size, &alone).map(drop)
    });
    formats.chain(compressions).chain(parquet).collect()
}

/// The compressions of Parquet files, each with its option.
fn compressions(options: &CoreOptions) -> Vec<(&'static str, &str)> {
    const PARQUET: &str = "parquet";
    let levels = options.file_compression_per_level.iter();
    let levels = levels.filter(|(level, _)| options.format_of_level(**level) == PARQUET);
    let mut all: Vec<(&'static str, &str)> =
        levels.map(|(_, name)| ("file.compression.per.level", name.as_str())).collect();
    if options.file_format == PARQUET {
        all.push(("file.compression", &options.file_compression));
    }
    if options.changelog_file_format.as_ref().unwrap_or(&options.file_format) == PARQUET {
        all.extend(options.changelog_file_compression.iter().map(|name| ("changelog-file.compression", name.as_str())));
    }
    all.extend(options.parquet.get("parquet.compression").map(|name| ("parquet.compression", name.as_str())));
    all
}

fn not_one_of(key: &str, name: &str, allowed: &[&str]) -> Error {
    forbidden(key, format!("'{name}' is not a compression")).hint(format!("use one of: {}", allowed.join(", ")))
}

/// A default stands for a value of its column, by the rule of the writer. Java also takes a DECIMAL that is too narrow
/// for its default, and writes null then.
fn check_default_values(schema: &TableSchema) -> Result<()> {
    for field in &schema.fields {
        let Some(text) = &field.default_value else { continue };
        if field.data_type.is_nested() {
            let message = format!("a column of type {} cannot have a default value", field.data_type);
            return Err(illegal(message).with("column", &field.name));
        }
        let named = |e: Error| e.with("column", &field.name);
        let value = default_value(text, &field.data_type)
            .map_err(|e| named(illegal(e.message()).hint(e.hint_text().unwrap_or_default())))?;
        if value.is_null() {
            let kind = &field.data_type.kind;
            let message = format!("the default value '{}' has too many digits for {kind}", shorten(text));
            return Err(named(illegal(message)));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::new_table::tests::table;
    use super::*;

    const COLUMNS: &[(&str, &str)] = &[("k", "INT"), ("v", "STRING"), ("ts", "TIMESTAMP(3)"), ("m", "MAP<INT, INT>")];

    fn keyed(options: &[(&str, &str)]) -> Result<TableSchema> {
        let mut all = vec![("bucket", "1")];
        all.extend(options);
        table(COLUMNS, &["k"], &[], &all).into_schema()
    }

    #[test]
    fn combinations_that_paimon_forbids_are_refused_before_anything_else() {
        for (option, options) in [
            ("sequence.field", &[("merge-engine", "first-row"), ("sequence.field", "ts")][..]),
            ("deletion-vectors.enabled", &[("merge-engine", "first-row"), ("deletion-vectors.enabled", "true")]),
            ("changelog-producer", &[("merge-engine", "first-row"), ("changelog-producer", "input")]),
            (
                "deletion-vectors.enabled",
                &[("deletion-vectors.enabled", "true"), ("changelog-producer", "full-compaction")],
            ),
            ("lookup-wait", &[("deletion-vectors.enabled", "true"), ("lookup-wait", "false")]),
            (
                "full-compaction.delta-commits",
                &[("changelog-producer", "lookup"), ("full-compaction.delta-commits", "3")],
            ),
            ("sequence.field", &[("sequence.field", "ts,ts")]),
            ("fields.ts.sequence-group", &[("merge-engine", "partial-update"), ("fields.ts.sequence-group", "v,,m")]),
            ("fields.v.aggregate-function", &[("sequence.field", "v"), ("fields.v.aggregate-function", "max")]),
            ("rowkind.field", &[("rowkind.field", "ts")]),
            ("snapshot.num-retained.min", &[("snapshot.num-retained.max", "3")]),
            ("target-file-row-num", &[("target-file-row-num", "0")]),
            ("file.compression", &[("file.compression", "rar")]),
            ("metadata.stats-mode", &[("metadata.stats-mode", "truncate(0)")]),
            ("manifest.compression", &[("manifest.compression", "none")]),
            ("manifest.compression", &[("manifest.compression", "SNAPPY")]),
            ("manifest.compression", &[("manifest.compression", "zstd ")]),
            ("data-file.prefix", &[("data-file.prefix", "a/b")]),
            ("tag.creation-delay", &[("tag.automatic-creation", "process-time"), ("tag.creation-delay", "1 d")]),
            (
                "tag.creation-delay",
                &[
                    ("tag.automatic-creation", "watermark"),
                    ("tag.creation-period", "hourly"),
                    ("tag.creation-delay", "60 min"),
                ],
            ),
        ] {
            let error = keyed(options).unwrap_err();
            assert_eq!(
                (error.kind(), error.context_value("option")),
                (ErrorKind::InvalidOption, Some(option)),
                "{options:?}"
            );
            if options.iter().any(|(key, _)| *key == "sequence.field") {
                assert!(error.context_value("column").is_some(), "{options:?}");
            }
        }
    }

    /// A table with `parquet.page.size` = 0 was made, and then every write failed.
    #[test]
    fn what_the_writer_of_files_does_not_take_is_refused_before_there_is_a_table() {
        for (key, value) in [
            ("parquet.page.size", "0"),
            ("parquet.page.size", "-1"),
            ("parquet.page.size", "1 mb"),
            ("parquet.block.size", "0"),
            ("parquet.page.row.count.limit", "0"),
            ("parquet.dictionary.page.size", "x"),
            ("parquet.writer.version", "7"),
            ("parquet.compression", "rar"),
            ("parquet.compression.codec.zstd.level", "high"),
            ("parquet.enable.dictionary#v", "maybe"),
            ("parquet.bloom.filter.enabled", "1"),
            ("file.compression", " zstd"),
            ("file.compression.per.level", "0:rar"),
            ("changelog-file.compression", "rar"),
            ("file.format", " parquet"),
            ("changelog-file.format", "parquet "),
        ] {
            let error = keyed(&[(key, value)]).unwrap_err();
            let found = (error.kind(), error.context_value("option"));
            assert_eq!(found, (ErrorKind::InvalidOption, Some(key)), "{key}={value}: {error}");
        }
        keyed(&[("parquet.page.size", "4096"), ("parquet.compression", "SNAPPY")]).unwrap();
        keyed(&[("changelog-file.compression", "lz4"), ("parquet.block.size", "1048576")]).unwrap();
    }

    #[test]
    fn lists_of_columns_have_no_gaps() {
        for text in ["", " ", ",v", "v,,ts"] {
            let error = keyed(&[("sequence.field", text)]).unwrap_err();
            assert_eq!(
                (error.kind(), error.context_value("option")),
                (ErrorKind::InvalidOption, Some("sequence.field"))
            );
        }
        keyed(&[("sequence.field", "v,ts,")]).unwrap();
    }

    #[test]
    fn options_that_name_columns_name_existing_ones() {
        for (key, value) in [("sequence.field", "tss"), ("rowkind.field", "kind"), ("fields.w.stats-mode", "none")] {
            let error = keyed(&[(key, value)]).unwrap_err();
            assert_eq!((error.kind(), error.context_value("option")), (ErrorKind::IllegalSchema, Some(key)));
        }
    }

    #[test]
    fn good_combinations_pass() {
        keyed(&[
            ("sequence.field", "ts,v"),
            ("sequence.field.sort-order", "descending"),
            ("rowkind.field", "v"),
            ("ignore-delete", "true"),
            ("fields.v.stats-mode", "none"),
            ("file.compression", "LZ4"),
        ])
        .unwrap();
    }

    #[test]
    fn options_of_keys_need_keys() {
        for options in [
            &[("sequence.field", "ts")][..],
            &[("changelog-producer", "input")],
            &[("full-compaction.delta-commits", "2")],
        ] {
            assert_eq!(table(COLUMNS, &[], &[], options).into_schema().unwrap_err().kind(), ErrorKind::InvalidOption);
        }
    }

    #[test]
    fn default_values_have_the_type_of_their_column() {
        let mut new = table(COLUMNS, &[], &[], &[]);
        new.fields[0].default_value = Some("'7'".into());
        new.clone().into_schema().unwrap();
        for bad in ["seven", " 7 ", "'"] {
            new.fields[0].default_value = Some(bad.into());
            let error = new.clone().into_schema().unwrap_err();
            assert_eq!((error.kind(), error.context_value("column")), (ErrorKind::IllegalSchema, Some("k")), "{bad}");
        }
    }

    /// Java takes it, and writes null.
    #[test]
    fn a_default_that_means_null_is_refused() {
        let mut new = table(&[("k", "INT"), ("d", "DECIMAL(5, 2)")], &[], &[], &[]);
        new.fields[1].default_value = Some("1234.5".into());
        let error = new.into_schema().unwrap_err();
        assert_eq!((error.kind(), error.context_value("column")), (ErrorKind::IllegalSchema, Some("d")));
    }
}
