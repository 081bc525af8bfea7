//! What siltstone refuses, and why: features of other versions of Paimon that would give wrong rows if ignored.

use super::{TableSchema, check_iceberg, file_indexes, record_time_field};
use crate::error::{Error, ErrorKind, Result};
use crate::format::data_format;
use crate::fs::subdirectory_fault;
use crate::options::catalogue::{Class, Known, find};
use crate::options::{ChangelogProducer, CoreOptions, KeyElsewhere, POSTPONE_BUCKET};
use crate::types::{DataField, DataType, TypeKind};

/// Refuses tables whose rows siltstone would get wrong.
pub fn check_readable(schema: &TableSchema) -> Result<()> {
    reading_faults(schema).into_iter().next().map_or(Ok(()), Err)
}

/// Everything for which [`check_readable`] refuses a table.
pub fn reading_faults(schema: &TableSchema) -> Vec<Error> {
    let mut faults = check_options(schema, &[Class::Refused]);
    let options = CoreOptions::parse(&schema.options);
    let columns_of_rows = options.as_ref().map_or(Ok(()), check_evolution);
    let blobs = options.as_ref().map_or(Ok(()), |options| check_blobs(schema, options));
    let rest = [check_types(schema, unreadable_type), blobs, options.map(drop), columns_of_rows];
    faults.extend(rest.into_iter().filter_map(Result::err));
    faults
}

/// Refuses tables that siltstone would write wrongly. What is refused for reading is refused here too.
pub fn check_writable(schema: &TableSchema) -> Result<()> {
    writing_faults(schema).into_iter().next().map_or(Ok(()), Err)
}

/// Everything for which [`check_writable`] refuses a table.
pub fn writing_faults(schema: &TableSchema) -> Vec<Error> {
    let mut faults = check_options(schema, &[Class::Refused, Class::RefusedForWrite]);
    let options = CoreOptions::parse(&schema.options);
    let rest = [
        check_types(schema, unreadable_type),
        options.as_ref().map_or(Ok(()), |options| check_blobs(schema, options)),
        options.as_ref().map_or(Ok(()), check_blob_input),
        file_indexes(schema, &schema.options).map(drop),
        options.as_ref().map_or(Ok(()), |options| check_data_directory(options.data_file_path_directory.as_deref())),
        options.as_ref().map_or(Ok(()), check_manifest_format),
        options.as_ref().map_or(Ok(()), |options| check_iceberg(schema, options)),
        options.as_ref().map_or(Ok(()), |options| check_moves(schema, options)),
        options.as_ref().map_or(Ok(()), |options| record_time_field(schema, options).map(drop)),
        options.as_ref().map_or(Ok(()), |options| check_writable_buckets(schema, options.bucket)),
    ];
    faults.extend(rest.into_iter().filter_map(Result::err));
    match options {
        Ok(options) => faults.extend(check_formats(schema, &options)),
        Err(e) => faults.push(e),
    }
    faults
}

/// Vectors of tables with data evolution delete rows of several files at once, which no release of Java up to 1.4 knows.
fn check_evolution(options: &CoreOptions) -> Result<()> {
    if options.data_evolution_enabled && options.deletion_vectors_enabled {
        let text = "'deletion-vectors.enabled' together with 'data-evolution.enabled'";
        return Err(Error::unsupported(text)
            .with("option", "deletion-vectors.enabled")
            .hint("leave the option out, or use Java Paimon for this table"));
    }
    Ok(())
}

/// Java up to 1.4 reads all manifest files of a table in one format; siltstone reads each as it is.
fn check_manifest_format(options: &CoreOptions) -> Result<()> {
    data_format(&options.manifest_format).map(drop).map_err(|e| e.with("option", "manifest.format"))
}

/// Formats that files of this table cannot be written in.
fn check_formats(schema: &TableSchema, options: &CoreOptions) -> Vec<Error> {
    let written = options.file_formats().into_iter().filter(|(option, _)| match *option {
        "file.format" => true,
        // without changelog files their format does not matter
        "changelog-file.format" => schema.has_primary_key() && options.changelog_producer != ChangelogProducer::None,
        // append tables have no levels
        _ => schema.has_primary_key(),
    });
    // values of BLOB columns have files of their own
    let is_apart = |field: &&DataField| field.data_type.kind == TypeKind::Blob;
    let fields: Vec<DataField> = schema.fields.iter().filter(|field| !is_apart(field)).cloned().collect();
    let faults = written.filter_map(|(option, name)| {
        let checked = data_format(name).and_then(|format| format.check_columns(&fields));
        checked.err().map(|e| e.with("option", option))
    });
    faults.collect()
}

/// A row that moves to another partition is deleted in the old one: where deletes are ignored its key would live in both, as it
/// does when Java writes such a table.
fn check_moves(schema: &TableSchema, options: &CoreOptions) -> Result<()> {
    let moves = options.bucket == -1 && schema.has_primary_key() && !schema.key_holds_partition();
    if !moves || !options.ignore_delete || options.merge_engine.key_elsewhere() != KeyElsewhere::Moves {
        return Ok(());
    }
    let text = "'ignore-delete' where rows move between partitions (the primary key lacks a partition column)";
    Err(Error::unsupported(text)
        .with("option", "ignore-delete")
        .hint("leave the option out, or put every partition column into the primary key"))
}

fn check_writable_buckets(schema: &TableSchema, bucket: i32) -> Result<()> {
    let writable = match bucket {
        POSTPONE_BUCKET => schema.has_primary_key(),
        number => number > 0 || number == -1,
    };
    if writable {
        return Ok(());
    }
    let key = if schema.has_primary_key() { "with" } else { "without" };
    let what = format!("'bucket' = '{bucket}' of a table {key} a primary key");
    let advice = "leave 'bucket' out, or set 'bucket' = 'N', one bucket for every 0.2 to 1 GB of the largest partition";
    Err(Error::unsupported(what).with("option", "bucket").hint(advice))
}

/// Refuses a `data-file.path-directory` that is not below the table. Java takes any: such tables are read, but what lies
/// there may be another table's, so nothing is written or deleted.
pub fn check_data_directory(directory: Option<&str>) -> Result<()> {
    const OPTION: &str = "data-file.path-directory";
    let given = directory.map(str::trim).filter(|directory| !directory.is_empty());
    match given.and_then(|directory| Some((directory, subdirectory_fault(directory)?))) {
        None => Ok(()),
        Some((directory, why)) => {
            let message = format!("'{directory}' is not a directory below the table: {why}");
            Err(Error::new(ErrorKind::InvalidOption, message)
                .with("option", OPTION)
                .hint("name one such as 'data'; a table that has its files elsewhere can be read, and its rows copied"))
        }
    }
}

fn check_options(schema: &TableSchema, classes: &[Class]) -> Vec<Error> {
    let faults = schema.options.iter().filter_map(|(key, value)| {
        let known = find(key).filter(|known| classes.contains(&known.class))?;
        let asks = !known.is_neutral(value);
        asks.then(|| refused(key, value).hint(advice(&known)))
    });
    faults.collect()
}

fn refused(key: &str, value: &str) -> Error {
    Error::unsupported(format!("the table option '{key}' = '{value}'")).with("option", key)
}

fn advice(known: &Known) -> String {
    match known.class {
        Class::RefusedForWrite => "the table can be read; leave the option out, or write with Java Paimon".to_owned(),
        _ => "leave the option out, or use Java Paimon for this table".to_owned(),
    }
}

fn check_types(schema: &TableSchema, unsupported: fn(&DataType) -> Option<&'static str>) -> Result<()> {
    for field in &schema.fields {
        if let Some(name) = innermost(&field.data_type, unsupported) {
            return Err(Error::unsupported(format!("the type {name}")).with("column", &field.name));
        }
        if field.data_type.holds_empty_row() {
            let e = Error::unsupported("a ROW without fields").with("column", &field.name);
            return Err(e.hint("Parquet files cannot have it: drop the column"));
        }
    }
    Ok(())
}

fn unreadable_type(data_type: &DataType) -> Option<&'static str> {
    match &data_type.kind {
        TypeKind::Vector(..) => Some("VECTOR"),
        _ => None,
    }
}

/// Values are copied into the table's files, and not looked for in others.
fn check_blob_input(options: &CoreOptions) -> Result<()> {
    const OPTION: &str = "blob-as-descriptor";
    if options.get(OPTION).is_some_and(|text| text.trim().eq_ignore_ascii_case("true")) {
        return Err(Error::unsupported("writing a table whose BLOB values are given as descriptors")
            .with("option", OPTION)
            .hint("open the table without this option, and give the values themselves"));
    }
    Ok(())
}

/// Values of BLOB columns lie in files of their own, beside those of the other columns.
fn check_blobs(schema: &TableSchema, options: &CoreOptions) -> Result<()> {
    let is_blob = |t: &DataType| (t.kind == TypeKind::Blob).then_some("BLOB");
    let holds = schema.fields.iter().filter(|field| innermost(&field.data_type, is_blob).is_some());
    for field in holds {
        if field.data_type.kind != TypeKind::Blob {
            return Err(Error::unsupported("a BLOB in a nested type").with("column", &field.name));
        }
        if schema.fields.iter().all(|field| field.data_type.kind == TypeKind::Blob) {
            let error = Error::unsupported("a table of BLOB columns alone").with("column", &field.name);
            return Err(error.hint("add a column of another type"));
        }
        if !options.data_evolution_enabled {
            let error =
                Error::unsupported("the type BLOB without 'data-evolution.enabled'").with("column", &field.name);
            return Err(error.hint("set 'row-tracking.enabled' = 'true' and 'data-evolution.enabled' = 'true'"));
        }
    }
    Ok(())
}

/// What is said of a type, or of one inside of it.
fn innermost(data_type: &DataType, of: fn(&DataType) -> Option<&'static str>) -> Option<&'static str> {
    match &data_type.kind {
        TypeKind::Array(inner) | TypeKind::Multiset(inner) => innermost(inner, of),
        TypeKind::Map(key, value) => innermost(key, of).or_else(|| innermost(value, of)),
        TypeKind::Row(fields) => fields.iter().find_map(|field| innermost(&field.data_type, of)),
        _ => of(data_type),
    }
}

#[cfg(test)]
mod tests {
    use super::super::new_table::tests::table;
    use super::*;

    fn with(options: &[(&str, &str)]) -> TableSchema {
        let mut schema =
            table(&[("k", "INT"), ("v", "STRING")], &["k"], &[], &[("bucket", "1")]).into_schema().unwrap();
        schema.options.extend(options.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())));
        schema
    }

    #[test]
    fn every_merge_engine_and_changelog_producer_is_written() {
        for engine in ["deduplicate", "partial-update", "aggregation", "first-row"] {
            check_writable(&with(&[("merge-engine", engine), ("changelog-producer", "lookup")])).unwrap();
        }
        for producer in ["none", "input", "lookup", "full-compaction"] {
            check_writable(&with(&[("changelog-producer", producer)])).unwrap();
        }
    }

    #[test]
    fn rows_that_move_between_partitions_are_deleted_where_they_were() {
        let moving =
            |options: &[(&str, &str)]| table(&[("k", "INT"), ("p", "INT")], &["k"], &["p"], options).into_schema();
        moving(&[]).unwrap();
        moving(&[("merge-engine", "first-row"), ("ignore-delete", "true")]).unwrap();
        table(&[("k", "INT"), ("p", "INT")], &["k", "p"], &["p"], &[("ignore-delete", "true")]).into_schema().unwrap();
        let error = moving(&[("ignore-delete", "true")]).unwrap_err();
        assert_eq!(
            (error.kind(), error.context_value("option")),
            (ErrorKind::UnsupportedFeature, Some("ignore-delete"))
        );
    }

    #[test]
    fn rows_expire_by_a_column_with_a_time() {
        let expiring = |column: Option<&str>, key: &[&str]| {
            let age = [("record-level.expire-time", "1 d"), ("bucket", "-1")];
            let options: Vec<_> = age.into_iter().chain(column.map(|c| ("record-level.time-field", c))).collect();
            let fields = &[("k", "INT"), ("s", "STRING"), ("l", "BIGINT"), ("t", "TIMESTAMP(3)")];
            table(fields, key, &[], &options).into_schema()
        };
        for column in ["k", "l", "t"] {
            expiring(Some(column), &["k"]).unwrap();
        }
        for column in [None, Some("s"), Some("x")] {
            let error = expiring(column, &["k"]).unwrap_err();
            let place = (error.kind(), error.context_value("option"));
            assert_eq!(place, (ErrorKind::InvalidOption, Some("record-level.time-field")), "{column:?}");
            expiring(column, &[]).unwrap();
        }
    }

    #[test]
    fn changelog_files_have_formats_that_are_written() {
        let csv = ("changelog-file.format", "csv");
        let error = check_writable(&with(&[("changelog-producer", "input"), csv])).unwrap_err();
        assert_eq!((error.kind(), error.context_value("option")), (ErrorKind::UnsupportedFeature, Some(csv.0)));
        check_writable(&with(&[csv])).unwrap();
        for format in ["avro", "orc"] {
            check_writable(&with(&[("changelog-producer", "input"), ("changelog-file.format", format)])).unwrap();
        }
    }

    #[test]
    fn some_tables_are_read_but_not_written() {
        for (key, value) in [
            ("file.format", "csv"),
            ("file-index.inverted.columns", "v"),
            ("data-file.external-paths", "file:///x"),
            ("tag.callbacks", "com.example.Callback"),
            ("manifest.format", "csv"),
            ("parquet.crypto.factory.class", "com.example.Keys"),
        ] {
            let schema = with(&[(key, value)]);
            check_readable(&schema).unwrap();
            assert_eq!(check_writable(&schema).unwrap_err().kind(), ErrorKind::UnsupportedFeature, "{key}");
        }
    }

    #[test]
    fn tables_with_data_outside_of_their_directory_are_read_but_not_written() {
        for directory in ["/elsewhere", "../other", "data/../.."] {
            let schema = with(&[("data-file.path-directory", directory)]);
            check_readable(&schema).unwrap();
            assert_eq!(check_writable(&schema).unwrap_err().kind(), ErrorKind::InvalidOption, "{directory}");
        }
        check_writable(&with(&[("data-file.path-directory", "data/files")])).unwrap();
    }

    #[test]
    fn some_tables_are_not_even_read() {
        for (key, value) in [
            ("type", "format-table"),
            ("pk-clustering-override", "true"),
            ("query-auth.enabled", "true"),
            ("scan.fallback-delta-branch", "b"),
        ] {
            let error = check_readable(&with(&[(key, value)])).unwrap_err();
            assert_eq!((error.kind(), error.context_value("option")), (ErrorKind::UnsupportedFeature, Some(key)));
        }
    }

    #[test]
    fn defaults_and_tuning_of_other_engines_do_not_matter() {
        let schema = with(&[
            ("merge-engine", "deduplicate"),
            ("type", "table"),
            ("deletion-vectors.enabled", "false"),
            ("sink.parallelism", "4"),
            ("changelog-producer", "none"),
            ("file.format.per.level", "0:parquet"),
            ("fields.v.aggregate-function", "max"),
            ("snapshot.num-retained.max", "9"),
            ("parquet.statistics.enabled", "false"),
            ("scan.partitions", "dt=1"),
        ]);
        check_writable(&schema).unwrap();
    }

    #[test]
    fn unsupported_types_name_their_column() {
        let error = table(&[("a", "ARRAY<BLOB>")], &[], &[], &[]).into_schema().unwrap_err();
        assert_eq!((error.kind(), error.context_value("column")), (ErrorKind::UnsupportedFeature, Some("a")));
    }
}
