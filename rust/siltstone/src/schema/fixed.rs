//! Options that are fixed: always, or once the table has snapshots (`CoreOptions.IMMUTABLE_OPTIONS`,
//! `SchemaManager.checkAlterTableOption`). What lies in data files was made under them.
//!
//! The first snapshot may come about while such an option changes: `SchemaManager::commit_changes` looks for snapshots again
//! after it has published its schema, and a commit looks at the newest schema before and after publishing
//! (`commit::place`). Whichever comes second gives way.

use std::collections::{BTreeMap, BTreeSet};

use super::TableSchema;
use super::column_options::named_columns;
use super::file_indexes::{file_indexes, is_index_option};
use super::refusal::forbidden_change;
use super::validate_options::{check_deletion_vectors, check_field_options, concerns_deletion_vectors, value_faults};
use crate::error::{Error, ErrorKind, Result};
use crate::options::catalogue::{find, spellings};
use crate::options::{
    ChangelogProducer, CoreOptions, check_known, check_known_here, effective, overlay, parse_bool, parse_list,
};

/// The option that makes each row the only one of its key, whatever level it is in.
pub const VECTORS: &str = "deletion-vectors.enabled";

/// The directory of null partitions where the option says nothing.
const DEFAULT_PARTITION: &str = "__DEFAULT_PARTITION__";

/// Checks options that are laid over the stored ones for one operation: known, well formed, and not fixed otherwise.
pub fn check_dynamic_options(schema: &TableSchema, dynamic: &BTreeMap<String, String>) -> Result<()> {
    check_known(dynamic)?;
    for (key, value) in dynamic.iter().filter(|(key, _)| *key != "branch") {
        if effective(&schema.options, key) == Some(value) || says_what_is(schema, key, value) {
            continue;
        }
        check_changeable(schema, key, Some(value), true).map_err(|e| {
            let message = format!("'{key}' cannot be set for one operation: it is fixed in the table");
            Error::new(ErrorKind::InvalidOption, message).with("option", key).caused_by(e)
        })?;
    }
    let with_dynamic = TableSchema { options: overlay(&schema.options, dynamic), ..schema.clone() };
    // versions from before vectors were switched on, or off, are read with the other value
    if let Some(option) = levels_option_changed(schema, &with_dynamic)?.filter(|option| *option != VECTORS) {
        let message = format!(
            "'{option}' cannot be set for one operation: what files of several levels hold was made under another"
        );
        return Err(Error::new(ErrorKind::InvalidOption, message)
            .with("option", option)
            .hint("change it for good: t.alter().set_option(...).commit()"));
    }
    if dynamic.keys().any(|key| concerns_deletion_vectors(key)) {
        check_deletion_vectors(&CoreOptions::parse(&overlay(&schema.options, dynamic))?)?;
    }
    Ok(())
}

/// Checks options that a user gives for one handle, beside [`check_dynamic_options`]: they are options, of columns that are
/// there, and their values could be those of a table. What a stored schema has is not judged again.
pub fn check_handle_options(schema: &TableSchema, given: &BTreeMap<String, String>) -> Result<()> {
    check_known_here(&schema.options, given)?;
    check_field_options(schema, given)?;
    let all = overlay(&schema.options, given);
    if given.keys().any(|key| is_index_option(key)) {
        file_indexes(schema, &all)?;
    }
    let faults = value_faults(&CoreOptions::parse(&all)?);
    let is_new = |key: &&String| effective(&schema.options, key) != given.get(*key);
    let mut new = given.keys().filter(is_new).filter_map(|key| spellings(key).next());
    let of_new = |name: &str| faults.iter().position(|fault| fault.context_value("option") == Some(name));
    match new.find_map(of_new) {
        Some(at) => faults.into_iter().nth(at).map_or(Ok(()), Err),
        None => Ok(()),
    }
}

/// The option that files written under one schema were made with and that another schema of the table has otherwise,
/// although it may not change once there are such files.
pub fn fixed_option_changed(written: &TableSchema, now: &TableSchema) -> Option<String> {
    let keys = written.options.keys().chain(now.options.keys());
    let names: BTreeSet<&str> = keys.filter_map(|key| spellings(key).next()).collect();
    let changed = names.into_iter().find(|name| {
        let value = effective(&now.options, name).map(String::as_str);
        meaning(written, name) != meaning(now, name)
            && !value.is_some_and(|value| says_what_is(written, name, value))
            && check_changeable(written, name, value, true).is_err()
    });
    changed.map(str::to_owned)
}

/// Whether deletion vectors are switched off between two schemas. That is no fixed option where `deletion-vectors.modifiable`
/// says so, but rows that vectors delete would be there again.
pub fn switches_vectors_off(old: &TableSchema, new: &TableSchema) -> Result<bool> {
    let on = |schema: &TableSchema| CoreOptions::parse(&schema.options).map(|o| o.deletion_vectors_enabled);
    Ok(on(old)? && !on(new)?)
}

/// The option by which records of several levels of a primary-key table are taken otherwise under one schema than under another:
/// merged with one another, or each as one that has taken in what lies above it (lookups, where
/// [levels matter](CoreOptions::levels_matter)), or each as the only one of its key (deletion vectors); or by which those that no
/// changelog has told of yet never get into one (`full-compaction` tells of the highest level alone).
pub fn levels_option_changed(old: &TableSchema, new: &TableSchema) -> Result<Option<&'static str>> {
    if new.primary_keys.is_empty() {
        return Ok(None);
    }
    Ok(levels_option(&CoreOptions::parse(&old.options)?, &CoreOptions::parse(&new.options)?))
}

/// The option by which rows that are there are taken otherwise under one schema than under another: [what levels
/// mean](levels_option_changed), or that vectors delete some of them.
pub fn rows_option_changed(old: &TableSchema, new: &TableSchema) -> Result<Option<&'static str>> {
    if switches_vectors_off(old, new)? { Ok(Some(VECTORS)) } else { levels_option_changed(old, new) }
}

/// [`levels_option_changed`] of the options of primary-key tables.
pub fn levels_option(old: &CoreOptions, new: &CoreOptions) -> Option<&'static str> {
    if old.deletion_vectors_enabled != new.deletion_vectors_enabled {
        return Some(VECTORS);
    }
    let takes_in = |o: &CoreOptions| o.lookup_option().filter(|_| o.levels_matter());
    let told_late = |o: &CoreOptions| o.changelog_producer == ChangelogProducer::FullCompaction;
    match (takes_in(old), takes_in(new)) {
        (Some(option), None) | (None, Some(option)) => Some(option),
        _ => (told_late(old) && !told_late(new)).then_some("changelog-producer"),
    }
}

/// Whether files of level 0 count among those of several levels where such an option changes to what the schema `new` says, in a
/// version of the schema `written`: readers of files with vectors pass over level 0, and Java moves its files up as they are, as if
/// they were from before the change; whoever has written under the new schema knows.
pub fn level_0_counts(option: &str, new: &TableSchema, written: i64) -> Result<bool> {
    Ok(written < new.id && (option == VECTORS || CoreOptions::parse(&new.options)?.levels_matter()))
}

/// What an option says. Columns are meant by their ids: a renamed column is the same one.
fn meaning(schema: &TableSchema, name: &str) -> Option<Vec<String>> {
    let value = effective(&schema.options, name)?;
    let Some(columns) = named_columns(name, value) else { return Some(vec![value.clone()]) };
    let id = |column: String| schema.field(&column).map_or_else(|| column.clone(), |field| format!("#{}", field.id));
    Some(columns.into_iter().map(id).collect())
}

/// Options that are fixed may be set to what they are, also where that is said elsewhere or by default.
pub(super) fn says_what_is(old: &TableSchema, key: &str, value: &str) -> bool {
    match key {
        "primary-key" => parse_list(value) == old.primary_keys,
        "partition" => parse_list(value) == old.partition_keys,
        "type" => value.eq_ignore_ascii_case(old.options.get("type").map_or("table", String::as_str)),
        "partition.legacy-name" => {
            let is = effective(&old.options, key).map_or(Ok(true), |text| parse_bool(text));
            matches!((is, parse_bool(value)), (Ok(is), Ok(value)) if is == value)
        }
        "manifest.format" => {
            value.eq_ignore_ascii_case(effective(&old.options, key).map_or("avro", |format| format.as_str()))
        }
        "partition.default-name" => value == effective(&old.options, key).map_or(DEFAULT_PARTITION, String::as_str),
        _ => false,
    }
}

/// Which options are fixed (`CoreOptions.IMMUTABLE_OPTIONS`, `SchemaManager.checkAlterTableOption`).
pub(super) fn check_changeable(old: &TableSchema, key: &str, value: Option<&str>, has_snapshots: bool) -> Result<()> {
    let name = find(key).map_or(key, |known| known.key);
    let always_fixed = ["type", "path", "branch", "primary-key", "partition"].contains(&name);
    if !has_snapshots && !always_fixed {
        return Ok(());
    }
    let fixed = |message: String, hint: &str| Err(forbidden_change(message).with("option", key).hint(hint));
    if always_fixed {
        return fixed(format!("'{key}' cannot change"), "create another table");
    }
    if find(key).is_some_and(|known| known.immutable && known.key == name && !is_field_key(key)) {
        return fixed(format!("'{key}' cannot change any more, the table has snapshots"), "create another table");
    }
    let options = CoreOptions::parse(&old.options)?;
    // an option that is removed is false
    let becomes = |flag: bool| value.map_or(Ok(false), parse_bool).is_ok_and(|b| b == flag);
    match name {
        "bucket" => check_bucket_change(options.bucket, value),
        VECTORS => {
            let modifiable = options.get("deletion-vectors.modifiable").is_some_and(|t| parse_bool(t).unwrap_or(false));
            if options.deletion_vectors_enabled == becomes(true) || modifiable {
                return Ok(());
            }
            fixed(
                "'deletion-vectors.enabled' cannot change, the table has snapshots".to_owned(),
                "'deletion-vectors.modifiable' = 'true' allows it; run a full compaction before and after",
            )
        }
        "ignore-delete" if options.ignore_delete && becomes(false) => {
            fixed("'ignore-delete' cannot change from true to false".to_owned(), "deletes were dropped already")
        }
        "ignore-update-before" if options.ignore_update_before && becomes(false) => {
            fixed("'ignore-update-before' cannot change from true to false".to_owned(), "rows were dropped already")
        }
        _ => Ok(()),
    }
}

fn is_field_key(key: &str) -> bool {
    key.starts_with("fields.")
}

fn check_bucket_change(bucket: i32, value: Option<&str>) -> Result<()> {
    let fixed = |message: &str, hint: &str| Err(forbidden_change(message).with("option", "bucket").hint(hint));
    let new = value.and_then(|text| text.trim().parse::<i32>().ok());
    match new {
        None => fixed("'bucket' cannot be removed, the table has snapshots", "set another number of buckets"),
        Some(new) if bucket > 0 && new > 0 => Ok(()),
        Some(new) if new == bucket => Ok(()),
        Some(_) if bucket == -1 => {
            fixed("'bucket' cannot change from -1, the table has snapshots", "create another table and copy the rows")
        }
        Some(_) if bucket > 0 => {
            fixed("'bucket' can only change to a number of at least 1", "create another table and copy the rows")
        }
        Some(_) => fixed(
            &format!("'bucket' cannot change from {bucket}, the table has snapshots"),
            "t.rescale(N) gives the rows other buckets; otherwise create another table and copy the rows",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::change::apply;
    use super::super::new_table::tests::table;
    use super::super::{SchemaChange, TableSchema};
    use super::*;

    fn schema(options: &[(&str, &str)]) -> TableSchema {
        let mut all = vec![("bucket", "2")];
        all.extend(options);
        table(&[("p", "DATE"), ("k", "INT"), ("v", "STRING")], &["p", "k"], &["p"], &all).into_schema().unwrap()
    }

    fn with(options: &[(&str, &str)]) -> TableSchema {
        let mut schema = schema(&[]);
        schema.options.extend(options.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())));
        schema
    }

    #[test]
    fn options_of_one_operation_cannot_override_what_is_fixed() {
        let check = |key: &str, value: &str| {
            check_dynamic_options(&schema(&[]), &BTreeMap::from([(key.to_owned(), value.to_owned())]))
        };
        for (key, value) in [
            ("write-only", "true"),
            ("scan.snapshot-id", "3"),
            ("branch", "b"),
            ("type", "TABLE"),
            ("my.key", "x"),
            ("partition.legacy-name", "TRUE"),
            ("partition.default-name", "__DEFAULT_PARTITION__"),
        ] {
            check(key, value).unwrap();
        }
        for (key, value) in [
            ("merge-engine", "first-row"),
            ("bucket-key", "v"),
            ("bucket", "-1"),
            ("path", "/x"),
            ("primary-key", "v"),
            ("partition.legacy-name", "false"),
            ("partition.default-name", "NONE"),
        ] {
            assert_eq!(check(key, value).unwrap_err().kind(), ErrorKind::InvalidOption, "{key}");
        }
    }

    /// A prefix that is no name was given for one handle, and reported as damage of a file by the first write.
    #[test]
    fn values_of_one_handle_are_judged_as_those_of_a_new_table() {
        let check = |stored: &[(&str, &str)], key: &str, value: &str| {
            check_handle_options(&with(stored), &BTreeMap::from([(key.to_owned(), value.to_owned())]))
        };
        for (key, value) in [
            ("data-file.prefix", "a/b"),
            ("data-file.prefix", "a:b"),
            ("data-file.prefix", ".x"),
            ("data-file.prefix", &*"x".repeat(191)),
            ("changelog-file.prefix", "../x"),
            ("manifest.compression", "nope"),
            ("file.compression", "nope"),
            ("metadata.stats-mode", "nope"),
        ] {
            let error = check(&[], key, value).unwrap_err();
            assert_eq!((error.kind(), error.context_value("option")), (ErrorKind::InvalidOption, Some(key)));
            // a table that has it can be opened as before, with other options, too
            check(&[(key, value)], key, value).unwrap();
            check(&[(key, value)], "write-only", "true").unwrap();
        }
        check(&[], "data-file.prefix", "part-").unwrap();
        assert_eq!(check(&[], "my.key", "x").unwrap_err().kind(), ErrorKind::UnknownOption);
        assert_eq!(check(&[], "fields.x.ignore-retract", "true").unwrap_err().kind(), ErrorKind::IllegalSchema);
    }

    /// Paths of data files come from values of partitions by these options.
    #[test]
    fn names_of_partitions_change_only_before_the_first_snapshot() {
        for (key, value) in [("partition.legacy-name", "false"), ("partition.default-name", "NONE")] {
            let set = [SchemaChange::SetOption { key: key.into(), value: value.into() }];
            let new = apply(&schema(&[]), &set, false).unwrap();
            let unset = [SchemaChange::RemoveOption { key: key.into() }];
            for (old, change) in [(&schema(&[]), set), (&new, unset)] {
                let error = apply(old, &change, true).unwrap_err();
                assert_eq!((error.kind(), error.context_value("option")), (ErrorKind::IllegalSchemaChange, Some(key)));
            }
        }
    }

    #[test]
    fn schemas_differ_in_what_is_fixed_only_where_an_alter_beside_snapshots_would_be_refused() {
        let changed = |old: &[(&str, &str)], new: &[(&str, &str)]| fixed_option_changed(&with(old), &with(new));
        for (key, value) in [
            ("bucket-function.type", "mod"),
            ("data-file.path-directory", "data"),
            ("merge-engine", "first-row"),
            ("bucket", "-1"),
            ("partition.default-name", "NONE"),
        ] {
            assert_eq!(changed(&[], &[(key, value)]).as_deref(), Some(key));
        }
        assert_eq!(changed(&[("ignore-delete", "true")], &[]).as_deref(), Some("ignore-delete"));
        for (old, new) in [
            (&[][..], &[("bucket", "4")][..]),
            (&[], &[("ignore-delete", "true")]),
            (&[], &[("partition.legacy-name", "true")]),
            (&[("first-row.ignore-delete", "true")], &[("ignore-delete", "true")]),
            (&[("fields.v.stats-mode", "none")], &[("write-only", "true"), ("my.key", "x")]),
        ] {
            assert_eq!(changed(old, new), None, "{old:?} {new:?}");
        }
    }

    #[test]
    fn vectors_are_switched_off_by_another_value_or_without_one() {
        let on = with(&[("deletion-vectors.enabled", "true")]);
        for off in [with(&[]), with(&[("deletion-vectors.enabled", "false")])] {
            assert!(switches_vectors_off(&on, &off).unwrap());
            assert!(!switches_vectors_off(&off, &on).unwrap());
        }
        assert!(!switches_vectors_off(&on, &on).unwrap());
    }

    #[test]
    fn a_renamed_column_is_the_same_one_for_what_is_fixed() {
        let old = schema(&[("bucket-key", "k")]);
        let rename = SchemaChange::RenameColumn { path: vec!["k".into()], new_name: "key".into() };
        let new = apply(&old, &[rename], true).unwrap();
        assert_eq!((new.options["bucket-key"].as_str(), fixed_option_changed(&old, &new)), ("key", None));
    }
}
