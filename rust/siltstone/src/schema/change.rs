//! Schema changes and the rules for options (format chapters 11.3 and 12; `SchemaManager.generateTableSchema`).

use std::collections::BTreeMap;

use super::fixed::{check_changeable, says_what_is};
use super::new_table::keys_not_null;
use super::refusal::forbidden_change;
use super::schema_change::SchemaChange;
use super::validate::{faults, first_new};
use super::{TableSchema, change_columns, features};
use crate::env;
use crate::error::Result;
use crate::limits::next_id;
use crate::options::{check_known, effective, spelling};

/// The schema that follows `old`, which a table with or without snapshots has.
#[cfg(test)]
pub(super) fn apply(old: &TableSchema, changes: &[SchemaChange], has_snapshots: bool) -> Result<TableSchema> {
    apply_to(old, changes, has_snapshots.then_some(old))
}

/// The schema that follows `old`: changed, numbered, validated. `written`: the schema of the newest version; what is fixed may
/// become what it is there.
pub(super) fn apply_to(
    old: &TableSchema,
    changes: &[SchemaChange],
    written: Option<&TableSchema>,
) -> Result<TableSchema> {
    let mut new = old.clone();
    for change in changes {
        match change {
            SchemaChange::SetOption { key, value } => set_option(old, &mut new, key, value, written)?,
            SchemaChange::RemoveOption { key } => remove_option(old, &mut new, key, written)?,
            SchemaChange::SetComment { comment } => new.comment.clone_from(comment),
            _ => change_columns::apply(old, &mut new, change)?,
        }
    }
    new.id = next_id(old.id).ok_or_else(|| forbidden_change(format!("no schema can come after schema {}", old.id)))?;
    new.time_millis = env::now_millis();
    keys_not_null(&mut new);
    first_new(faults(&new), &faults(old))?;
    first_new(features::writing_faults(&new), &features::writing_faults(old))?;
    Ok(new)
}

fn set_option(
    old: &TableSchema,
    new: &mut TableSchema,
    key: &str,
    value: &str,
    written: Option<&TableSchema>,
) -> Result<()> {
    if effective(&new.options, key).is_some_and(|current| current == value) || says_what_is(new, key, value) {
        return Ok(());
    }
    check_known(&BTreeMap::from([(key.to_owned(), value.to_owned())]))?;
    check_changeable_to(old, key, Some(value), written)?;
    spelling::remove(&mut new.options, key);
    new.options.insert(key.to_owned(), value.to_owned());
    Ok(())
}

fn remove_option(old: &TableSchema, new: &mut TableSchema, key: &str, written: Option<&TableSchema>) -> Result<()> {
    if effective(&new.options, key).is_some() {
        check_changeable_to(old, key, None, written)?;
        spelling::remove(&mut new.options, key);
    }
    Ok(())
}

/// What the files of the newest version were made with can be said again, where it could not have been changed, and an alter beside
/// the first commit did.
fn check_changeable_to<'a>(
    old: &'a TableSchema,
    key: &str,
    value: Option<&str>,
    written: Option<&'a TableSchema>,
) -> Result<()> {
    let says = |schema: &'a TableSchema| effective(&schema.options, key).map(String::as_str);
    let is_set_back = |written: &'a TableSchema| {
        written.id < old.id && says(written) == value && check_changeable(written, key, says(old), true).is_err()
    };
    match written {
        Some(written) if is_set_back(written) => Ok(()),
        _ => check_changeable(old, key, value, written.is_some()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::new_table::tests::table;
    use super::*;
    use crate::error::ErrorKind;

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
        for (key, value) in [("file.format.per.level", "0:csv"), ("file.format", "csv")] {
            assert_eq!(set(&old, key, value, false).unwrap_err().kind(), ErrorKind::UnsupportedFeature, "{key}");
        }
        assert_eq!(set(&old, "bukcet", "3", true).unwrap_err().kind(), ErrorKind::UnknownOption);
        assert_eq!(set(&old, "num-levels", "x", true).unwrap_err().kind(), ErrorKind::InvalidOption);
    }

    #[test]
    fn a_table_of_an_unsupported_feature_can_still_have_options_changed() {
        let mut old = schema(&[]);
        old.options.insert("file.format".into(), "csv".into());
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
    fn an_option_is_changed_under_whatever_name_it_is_stored() {
        let (name, alias) = ("write-only", "write.compaction-skip");
        let stored = schema(&[(alias, "true")]);
        assert!(!remove(&stored, name, true).unwrap().options.contains_key(alias));
        for (stored, given) in [(name, alias), (alias, name)] {
            let new = set(&schema(&[(stored, "false")]), given, "true", true).unwrap();
            assert_eq!((new.options.get(stored), new.options[given].as_str()), (None, "true"));
        }
    }

    #[test]
    fn the_last_of_several_changes_of_an_option_counts() {
        let old = schema(&[("write-only", "false")]);
        let value = |value: &str| SchemaChange::SetOption { key: "write-only".into(), value: value.into() };
        assert_eq!(apply(&old, &[value("true"), value("false")], true).unwrap().options["write-only"], "false");
    }

    /// Java makes such tables; what is wrong with them is no leave for more.
    #[test]
    fn a_table_that_breaks_one_rule_keeps_the_others() {
        let mut old = schema(&[]);
        old.options.insert("page-size".into(), "0 b".into());
        set(&old, "snapshot.num-retained.max", "20", true).unwrap();
        for (key, value) in [
            ("metadata.stats-mode", "foo"),
            ("parquet.page.size", "0"),
            ("sequence.field", "nope"),
            ("num-levels", "1"),
            ("target-file-size", "0 b"),
            ("file.format", "lance"),
        ] {
            assert_eq!(set(&old, key, value, true).unwrap_err().context_value("option"), Some(key));
        }
        for (from, to) in [("v", "_SEQUENCE_NUMBER"), ("v", "")] {
            let rename = SchemaChange::RenameColumn { path: vec![from.into()], new_name: to.into() };
            assert_eq!(apply(&old, &[rename], true).unwrap_err().kind(), ErrorKind::IllegalSchema, "{to:?}");
        }
        let mut unreadable = schema(&[]);
        unreadable.options.insert("file.format".into(), "lance".into());
        assert_eq!(
            set(&unreadable, "query-auth.enabled", "true", true).unwrap_err().kind(),
            ErrorKind::UnsupportedFeature
        );
    }
}
