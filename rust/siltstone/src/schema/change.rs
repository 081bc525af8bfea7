//! Schema changes and the rules for options (format chapters 11.3 and 12; `SchemaManager.generateTableSchema`).

use std::collections::BTreeMap;

use super::new_table::keys_not_null;
use super::validate_options::{check_deletion_vectors, concerns_deletion_vectors};
use super::{TableSchema, change_columns, features, validate};
use crate::env;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::next_id;
use crate::options::catalogue::find;
use crate::options::{CoreOptions, check_known, parse_bool, parse_list};
use crate::types::DataType;

/// One change of a schema. A nested column is a path: `["r", "x"]`, `["list", "element", "x"]`, `["map", "value"]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchemaChange {
    /// Sets a table option.
    SetOption {
        /// Key.
        key: String,
        /// Value.
        value: String,
    },
    /// Removes a table option.
    RemoveOption {
        /// Key.
        key: String,
    },
    /// Sets or removes the table's comment.
    SetComment {
        /// The comment.
        comment: Option<String>,
    },
    /// Adds a nullable column.
    AddColumn {
        /// Where and under which name.
        path: Vec<String>,
        /// Its type.
        data_type: DataType,
        /// Its comment.
        comment: Option<String>,
        /// Its place; last when not given.
        position: Option<ColumnPosition>,
    },
    /// Renames a column; its id stays.
    RenameColumn {
        /// Which.
        path: Vec<String>,
        /// The new last name of the path.
        new_name: String,
    },
    /// Drops a column; its id is never used again.
    DropColumn {
        /// Which.
        path: Vec<String>,
    },
    /// Changes a type; null stays allowed or forbidden as it was.
    SetType {
        /// Which.
        path: Vec<String>,
        /// The new type.
        data_type: DataType,
    },
    /// Allows or forbids null.
    SetNullable {
        /// Which.
        path: Vec<String>,
        /// Whether null is allowed.
        nullable: bool,
    },
    /// Sets or removes a column's comment.
    SetColumnComment {
        /// Which.
        path: Vec<String>,
        /// The comment.
        comment: Option<String>,
    },
    /// Sets or removes the value that is written for null.
    SetDefault {
        /// Which.
        path: Vec<String>,
        /// The value as text.
        default: Option<String>,
    },
    /// Moves a top-level column.
    MoveColumn {
        /// Which.
        name: String,
        /// Where to.
        position: ColumnPosition,
    },
}

/// A place among the columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnPosition {
    /// Before all others.
    First,
    /// After all others.
    Last,
    /// After this column.
    After(String),
    /// Before this column.
    Before(String),
}

/// The schema that follows `old`: changed, numbered, validated.
pub(super) fn apply(old: &TableSchema, changes: &[SchemaChange], has_snapshots: bool) -> Result<TableSchema> {
    let mut new = old.clone();
    for change in changes {
        match change {
            SchemaChange::SetOption { key, value } => set_option(old, &mut new, key, value, has_snapshots)?,
            SchemaChange::RemoveOption { key } => remove_option(old, &mut new, key, has_snapshots)?,
            SchemaChange::SetComment { comment } => new.comment.clone_from(comment),
            _ => change_columns::apply(old, &mut new, change)?,
        }
    }
    new.id = next_id(old.id).ok_or_else(|| forbidden(format!("no schema can come after schema {}", old.id)))?;
    new.time_millis = env::now_millis();
    keys_not_null(&mut new);
    // what was wrong before does not keep its owner from changing something else
    validate(&new).or_else(|e| if validate(old).is_ok() { Err(e) } else { Ok(()) })?;
    features::check_writable(&new).or_else(|e| if features::check_writable(old).is_ok() { Err(e) } else { Ok(()) })?;
    Ok(new)
}

/// Checks options that are laid over the stored ones for one operation: known, well formed, and not fixed otherwise.
pub fn check_dynamic_options(schema: &TableSchema, dynamic: &BTreeMap<String, String>) -> Result<()> {
    check_known(dynamic)?;
    for (key, value) in dynamic.iter().filter(|(key, _)| *key != "branch") {
        if schema.options.get(key) == Some(value) || says_what_is(schema, key, value) {
            continue;
        }
        check_changeable(schema, key, Some(value), true).map_err(|e| {
            let message = format!("'{key}' cannot be set for one operation: it is fixed in the table");
            Error::new(ErrorKind::InvalidOption, message).with("option", key).caused_by(e)
        })?;
    }
    if dynamic.keys().any(|key| concerns_deletion_vectors(key)) {
        let merged: BTreeMap<String, String> =
            schema.options.iter().chain(dynamic).map(|(key, value)| (key.clone(), value.clone())).collect();
        check_deletion_vectors(&CoreOptions::parse(&merged)?)?;
    }
    Ok(())
}

/// An `IllegalSchemaChange` error.
pub(super) fn forbidden(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::IllegalSchemaChange, message)
}

fn set_option(old: &TableSchema, new: &mut TableSchema, key: &str, value: &str, has_snapshots: bool) -> Result<()> {
    if old.options.get(key).is_some_and(|current| current == value) || says_what_is(old, key, value) {
        return Ok(());
    }
    check_known(&BTreeMap::from([(key.to_owned(), value.to_owned())]))?;
    check_changeable(old, key, Some(value), has_snapshots)?;
    new.options.insert(key.to_owned(), value.to_owned());
    Ok(())
}

fn remove_option(old: &TableSchema, new: &mut TableSchema, key: &str, has_snapshots: bool) -> Result<()> {
    if new.options.contains_key(key) {
        check_changeable(old, key, None, has_snapshots)?;
        new.options.remove(key);
    }
    Ok(())
}

/// `primary-key`, `partition` and `type` may be set to what they are.
fn says_what_is(old: &TableSchema, key: &str, value: &str) -> bool {
    match key {
        "primary-key" => parse_list(value) == old.primary_keys,
        "partition" => parse_list(value) == old.partition_keys,
        "type" => value.eq_ignore_ascii_case(old.options.get("type").map_or("table", String::as_str)),
        _ => false,
    }
}

/// Which options are fixed (`CoreOptions.IMMUTABLE_OPTIONS`, `SchemaManager.checkAlterTableOption`).
fn check_changeable(old: &TableSchema, key: &str, value: Option<&str>, has_snapshots: bool) -> Result<()> {
    let name = find(key).map_or(key, |known| known.key);
    let always_fixed = ["type", "path", "branch", "primary-key", "partition"].contains(&name);
    if !has_snapshots && !always_fixed {
        return Ok(());
    }
    let fixed = |message: String, hint: &str| Err(forbidden(message).with("option", key).hint(hint));
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
        "deletion-vectors.enabled" => {
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
    let fixed = |message: &str, hint: &str| Err(forbidden(message).with("option", "bucket").hint(hint));
    let new = value.and_then(|text| text.trim().parse::<i32>().ok());
    match new {
        None => fixed("'bucket' cannot be removed, the table has snapshots", "set another number of buckets"),
        Some(new) if bucket > 0 && new > 0 => Ok(()),
        Some(new) if new == bucket => Ok(()),
        Some(_) if bucket == -1 => {
            fixed("'bucket' cannot change from -1, the table has snapshots", "create another table and copy the rows")
        }
        Some(_) => {
            fixed("'bucket' can only change to a number of at least 1", "create another table and copy the rows")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::new_table::tests::table;
    use super::*;

    fn schema(options: &[(&str, &str)]) -> TableSchema {
        let mut all = vec![("bucket", "2")];
        all.extend(options);
        table(&[("k", "INT"), ("v", "STRING")], &["k"], &[], &all).into_schema().unwrap()
    }

    fn set(old: &TableSchema, key: &str, value: &str, has_snapshots: bool) -> Result<TableSchema> {
        apply(old, &[SchemaChange::SetOption { key: key.into(), value: value.into() }], has_snapshots)
    }

    fn remove(old: &TableSchema, key: &str, has_snapshots: bool) -> Result<TableSchema> {
        apply(old, &[SchemaChange::RemoveOption { key: key.into() }], has_snapshots)
    }

    #[test]
    fn options_are_set_and_removed() {
        let new = set(&schema(&[]), "target-file-size", "64 mb", true).unwrap();
        assert_eq!((new.id, new.options["target-file-size"].as_str()), (1, "64 mb"));
        assert!(!remove(&new, "target-file-size", true).unwrap().options.contains_key("target-file-size"));
    }

    #[test]
    fn immutable_options_change_only_before_the_first_snapshot() {
        let old = schema(&[]);
        for (key, value) in [
            ("bucket-key", "k"),
            ("rowkind.field", "v"),
            ("data-file.path-directory", "d"),
            ("bucket-function.type", "mod"),
        ] {
            set(&old, key, value, false).unwrap();
            let error = set(&old, key, value, true).unwrap_err();
            assert_eq!((error.kind(), error.context_value("option")), (ErrorKind::IllegalSchemaChange, Some(key)));
        }
        assert!(remove(&schema(&[("rowkind.field", "v")]), "rowkind.field", true).is_err());
    }

    #[test]
    fn the_number_of_buckets_may_change_to_another_number() {
        let old = schema(&[]);
        assert_eq!(set(&old, "bucket", "8", true).unwrap().options["bucket"], "8");
        assert_eq!(set(&old, "bucket", "-1", true).unwrap_err().kind(), ErrorKind::IllegalSchemaChange);
        assert_eq!(remove(&old, "bucket", true).unwrap_err().kind(), ErrorKind::IllegalSchemaChange);
        let unaware = table(&[("v", "STRING")], &[], &[], &[]).into_schema().unwrap();
        assert_eq!(set(&unaware, "bucket", "4", true).unwrap_err().kind(), ErrorKind::IllegalSchemaChange);
    }

    #[test]
    fn dropped_deletes_cannot_come_back() {
        let old = schema(&[("ignore-delete", "true")]);
        assert_eq!(set(&old, "ignore-delete", "false", true).unwrap_err().kind(), ErrorKind::IllegalSchemaChange);
        set(&old, "ignore-delete", "false", false).unwrap();
        set(&schema(&[]), "ignore-delete", "true", true).unwrap();
    }

    #[test]
    fn a_change_to_what_is_not_implemented_is_refused() {
        let old = schema(&[]);
        for (key, value) in [("file.format.per.level", "0:avro"), ("file.format", "orc")] {
            assert_eq!(set(&old, key, value, false).unwrap_err().kind(), ErrorKind::UnsupportedFeature, "{key}");
        }
        assert_eq!(set(&old, "bukcet", "3", true).unwrap_err().kind(), ErrorKind::UnknownOption);
        assert_eq!(set(&old, "num-levels", "x", true).unwrap_err().kind(), ErrorKind::InvalidOption);
    }

    #[test]
    fn a_table_of_an_unsupported_feature_can_still_have_options_changed() {
        let mut old = schema(&[]);
        old.options.insert("file.format".into(), "orc".into());
        set(&old, "snapshot.num-retained.max", "20", true).unwrap();
    }

    #[test]
    fn keys_may_be_set_to_what_they_are() {
        let old = schema(&[]);
        assert!(!set(&old, "primary-key", "k", true).unwrap().options.contains_key("primary-key"));
        assert!(set(&old, "primary-key", "v", false).is_err());
        assert!(set(&old, "type", "format-table", false).is_err());
    }

    #[test]
    fn comments_come_and_go() {
        let new = apply(&schema(&[]), &[SchemaChange::SetComment { comment: Some("c".into()) }], true).unwrap();
        assert_eq!(new.comment.as_deref(), Some("c"));
        assert_eq!(apply(&new, &[SchemaChange::SetComment { comment: None }], true).unwrap().comment, None);
    }

    #[test]
    fn options_of_one_operation_cannot_override_what_is_fixed() {
        let check = |key: &str, value: &str| {
            check_dynamic_options(&schema(&[]), &BTreeMap::from([(key.to_owned(), value.to_owned())]))
        };
        for (key, value) in
            [("write-only", "true"), ("scan.snapshot-id", "3"), ("branch", "b"), ("type", "TABLE"), ("my.key", "x")]
        {
            check(key, value).unwrap();
        }
        for (key, value) in
            [("merge-engine", "first-row"), ("bucket-key", "v"), ("bucket", "-1"), ("path", "/x"), ("primary-key", "v")]
        {
            assert_eq!(check(key, value).unwrap_err().kind(), ErrorKind::InvalidOption, "{key}");
        }
    }
}
