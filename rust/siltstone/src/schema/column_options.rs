//! Options that name columns, when a column is renamed or dropped (format chapter 11.3).

use super::TableSchema;
use super::file_indexes::{index_of, is_index_option};
use super::refusal::forbidden_change;
use crate::error::Result;
use crate::options::catalogue::field_option;
use crate::options::{parse_list, sequence_groups};

/// Options whose value is a list of columns.
const LISTS: [&str; 4] = [
    "bucket-key",
    "sequence.field",
    "partial-update.remove-record-on-sequence-group",
    "changelog-producer.row-deduplicate-ignore-fields",
];

/// Options whose value is one column.
const SINGLE: [&str; 2] = ["rowkind.field", "record-level.time-field"];

/// The columns that the value of an option names; `None` where it names none.
pub(super) fn named_columns(option: &str, value: &str) -> Option<Vec<String>> {
    match option {
        _ if LISTS.contains(&option) => Some(parse_list(value)),
        _ if SINGLE.contains(&option) => Some(vec![value.trim().to_owned()]),
        _ => None,
    }
}

/// Options that name the column follow it: their values, and keys `fields.<column>.*`.
pub(super) fn rename(new: &mut TableSchema, name: &str, new_name: &str) -> Result<()> {
    for (key, value) in std::mem::take(&mut new.options) {
        let (mut renamed_key, mut renamed_value) = (key.clone(), value.clone());
        if SINGLE.contains(&key.as_str()) && value.trim() == name {
            new_name.clone_into(&mut renamed_value);
        }
        if LISTS.contains(&key.as_str()) {
            renamed_value = in_list(&key, &value, name, new_name)?;
        }
        if let Some((columns, suffix)) = field_option(&key) {
            let columns = in_key(&key, columns, suffix, name, new_name)?;
            renamed_key = format!("fields.{columns}.{suffix}");
            if suffix == SEQUENCE_GROUP {
                renamed_value = in_list(&key, &value, name, new_name)?;
            }
        }
        if let Some((kind, column, option)) = index_of(&key) {
            renamed_key = format!("file-index.{kind}.{}.{option}", in_index(column, name, new_name));
        } else if is_index_option(&key) && parse_list(&value).iter().any(|column| is_of(column, name)) {
            check_listable(&key, new_name)?;
            let columns = parse_list(&value);
            renamed_value = columns.iter().map(|c| in_index(c, name, new_name)).collect::<Vec<_>>().join(",");
        }
        new.options.insert(renamed_key, renamed_value);
    }
    Ok(())
}

/// The options of the column go with it.
///
/// # Errors
/// `IllegalSchemaChange`: an option of others names it.
pub(super) fn drop(new: &mut TableSchema, name: &str) -> Result<()> {
    check_unused(new, name)?;
    let is_of_it = |key: &str| field_option(key).is_some_and(|(columns, _)| columns == name);
    new.options.retain(|key, _| !is_of_it(key));
    Ok(())
}

/// Whether what a list of indexes names is the column, or a key of it.
fn is_of(listed: &str, column: &str) -> bool {
    listed.strip_prefix(column).is_some_and(|rest| rest.is_empty() || (rest.starts_with('[') && rest.ends_with(']')))
}

fn in_index(listed: &str, name: &str, new_name: &str) -> String {
    match listed.strip_prefix(name) {
        Some(rest) if is_of(listed, name) => format!("{new_name}{rest}"),
        _ => listed.to_owned(),
    }
}

pub(super) const SEQUENCE_GROUP: &str = "sequence-group";

/// Only keys of sequence groups are lists; in others the name of a column may have commas.
fn in_key(key: &str, columns: &str, suffix: &str, name: &str, new_name: &str) -> Result<String> {
    if suffix != SEQUENCE_GROUP && columns == name {
        check_listable(key, new_name)?;
        return Ok(new_name.to_owned());
    }
    in_list(key, columns, name, new_name)
}

/// A list without the column stays as it is written.
fn in_list(option: &str, text: &str, name: &str, new_name: &str) -> Result<String> {
    let mut columns = parse_list(text);
    if !columns.iter().any(|column| column == name) {
        return Ok(text.to_owned());
    }
    check_listable(option, new_name)?;
    for column in columns.iter_mut().filter(|column| *column == name) {
        new_name.clone_into(column);
    }
    Ok(columns.join(","))
}

/// A list of columns has no way to write a name with commas, or with spaces around it.
fn check_listable(option: &str, new_name: &str) -> Result<()> {
    if parse_list(new_name) == [new_name] {
        return Ok(());
    }
    let message =
        format!("the column cannot become '{new_name}': '{option}' names it, and would be read as other columns");
    Err(forbidden_change(message)
        .with("column", new_name)
        .with("option", option)
        .hint("use a name without commas, and without spaces around it"))
}

fn check_unused(new: &TableSchema, name: &str) -> Result<()> {
    if let Some(group) = sequence_groups(&new.options).into_iter().find(|group| group.has(name)) {
        let message = format!("the column '{name}' cannot be dropped: '{}' uses it", group.option);
        let hint = "take it out of the sequence group first";
        return Err(forbidden_change(message).with("column", name).with("option", &group.option).hint(hint));
    }
    let indexed = |(key, value): &(&String, &String)| {
        is_index_option(key) && index_of(key).is_none() && parse_list(value).iter().any(|column| is_of(column, name))
    };
    if let Some((option, _)) = new.options.iter().find(indexed) {
        let message = format!("the column '{name}' cannot be dropped: '{option}' uses it");
        return Err(forbidden_change(message)
            .with("column", name)
            .with("option", option)
            .hint("take it out of the option first"));
    }
    for option in LISTS.iter().chain(&SINGLE).copied() {
        let named = new.options.get(option).and_then(|value| named_columns(option, value)).unwrap_or_default();
        if named.iter().any(|column| column == name) {
            let message = format!("the column '{name}' cannot be dropped: '{option}' uses it");
            return Err(forbidden_change(message).with("column", name).with("option", option));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::SchemaChange;
    use super::super::change::apply;
    use super::super::new_table::tests::table;
    use super::*;
    use crate::error::ErrorKind;

    fn schema(options: &[(&str, &str)]) -> TableSchema {
        let columns = &[("k", "INT"), ("a", "INT"), ("a.b", "INT"), ("x", "INT"), ("y", "INT"), ("s", "INT")];
        let mut all = vec![("bucket", "1")];
        all.extend(options);
        table(columns, &["k"], &[], &all).into_schema().unwrap()
    }

    fn renamed(old: &TableSchema, from: &str, to: &str) -> Result<TableSchema> {
        apply(old, &[SchemaChange::RenameColumn { path: vec![from.to_owned()], new_name: to.to_owned() }], true)
    }

    fn dropped(old: &TableSchema, name: &str) -> Result<TableSchema> {
        apply(old, &[SchemaChange::DropColumn { path: vec![name.to_owned()] }], true)
    }

    #[test]
    fn the_options_of_a_column_whose_name_begins_like_another_stay_its_own() {
        let options = [
            ("merge-engine", "aggregation"),
            ("fields.a.b.aggregate-function", "sum"),
            ("fields.a.stats-mode", "none"),
            ("fields.default-aggregate-function", "max"),
        ];
        let old = schema(&options);
        let without = dropped(&old, "a").unwrap();
        assert_eq!(without.options.get("fields.a.b.aggregate-function").map(String::as_str), Some("sum"));
        assert!(!without.options.contains_key("fields.a.stats-mode"));
        assert!(without.options.contains_key("fields.default-aggregate-function"));
        let other = renamed(&old, "a", "c").unwrap();
        assert_eq!(other.options.get("fields.a.b.aggregate-function").map(String::as_str), Some("sum"));
        assert_eq!(other.options.get("fields.c.stats-mode").map(String::as_str), Some("none"));
        let other = renamed(&old, "a.b", "c").unwrap();
        assert_eq!(other.options.get("fields.c.aggregate-function").map(String::as_str), Some("sum"));
        assert!(!dropped(&old, "a.b").unwrap().options.contains_key("fields.a.b.aggregate-function"));
    }

    #[test]
    fn indexes_follow_their_column() {
        let options = [
            ("file-index.bitmap.columns", "a,s"),
            ("file-index.bitmap.a.version", "1"),
            ("file-index.bloom-filter.columns", "s"),
        ];
        let old = schema(&options);
        let new = renamed(&old, "a", "c").unwrap();
        assert_eq!(new.options["file-index.bitmap.columns"], "c,s");
        assert_eq!(new.options["file-index.bitmap.c.version"], "1");
        assert_eq!(new.options["file-index.bloom-filter.columns"], "s");
        assert!(renamed(&old, "a", "x,y").is_err());
        assert_eq!(dropped(&old, "a").unwrap_err().context_value("option"), Some("file-index.bitmap.columns"));
        assert_eq!(super::in_index("m[k]", "m", "n"), "n[k]");
        assert_eq!(super::in_index("ma", "m", "n"), "ma");
    }

    #[test]
    fn a_column_that_a_list_names_gets_no_name_that_the_list_would_read_as_others() {
        let group = [("merge-engine", "partial-update"), ("fields.s.sequence-group", "a")];
        for options in [&[("sequence.field", "s")][..], &[("fields.s.stats-mode", "none")], &group] {
            let old = schema(options);
            for name in ["x,y", " s", "s "] {
                assert_eq!(renamed(&old, "s", name).unwrap_err().kind(), ErrorKind::IllegalSchemaChange, "{options:?}");
            }
            renamed(&old, "s", "s t").unwrap();
        }
        assert!(renamed(&schema(&group), "a", "x,y").is_err());
        renamed(&schema(&[]), "s", "x,y").unwrap();
    }
}
