//! What decides which row, and which values, win when records of one key are merged, and what is told of them, as far as an alter
//! can change it.
//!
//! ```text
//! writer, schema 0    no sequence field            rows (g 9), (g 5): the later one wins
//! others, schema 1    sequence.field = g           readers see (g 9)
//! its compaction      keeps (g 5): (g 9) is gone                                                   (wrong: given up)
//! ```

use std::collections::{BTreeMap, HashMap};

use super::{
    TableSchema,
    column_options::{SEQUENCE_GROUP, named_columns},
    fixed::VECTORS,
};
use crate::{
    cast::same_values,
    options::{
        catalogue::{field_option, spellings},
        parse_list,
    },
    types::DataField,
};

/// Rows of these kinds are left out.
const IGNORED_KINDS: [&str; 2] = ["ignore-delete", "ignore-update-before"];

/// Rows that are too old are left out.
const RECORD_LEVEL: &str = "record-level.";

/// What is told of rows that are merged.
const CHANGELOG: &str = "changelog-producer";

/// The option, or the column, for which records of one key that one schema merges may become another row under a later one, or
/// come into a changelog.
pub fn merge_rule_changed(written: &TableSchema, now: &TableSchema) -> Option<String> {
    if !now.has_primary_key() {
        return None;
    }
    let (before, after) = (rule(written, now), rule(now, written));
    let differs =
        |key: &&Vec<String>| before.get(*key).map(|(_, value)| value) != after.get(*key).map(|(_, value)| value);
    if let Some(key) = before.keys().chain(after.keys()).find(differs) {
        return before.get(key).or_else(|| after.get(key)).map(|(option, _)| option.clone());
    }
    // values are compared and computed as what they are
    let by_values = after.keys().any(|key| !key.iter().any(|part| [CHANGELOG, VECTORS].contains(&part.as_str())))
        || now.options.get("merge-engine").is_some_and(|engine| engine == "aggregation");
    let became: HashMap<i32, &DataField> = now.fields.iter().map(|field| (field.id, field)).collect();
    let changed = |id: i32, old| became.get(&id).is_some_and(|new| !same_values(old, &new.data_type));
    let column = written.fields.iter().find(|field| by_values && changed(field.id, &field.data_type));
    column.map(|column| column.name.clone())
}

/// The option of a handle for which it would merge records otherwise than the stored schema that it has on top of it. Not those
/// about levels ([`super::levels_option`]), nor those of rows that are too old: leaving these out is what is asked for.
pub fn own_rule_changed(stored: &TableSchema, own: &TableSchema) -> Option<String> {
    let (before, after) = (rule(stored, own), rule(own, stored));
    let elsewhere =
        |option: &str| [CHANGELOG, VECTORS].contains(&name_of(option)) || name_of(option).starts_with(RECORD_LEVEL);
    let differs =
        |key: &&Vec<String>| before.get(*key).map(|(_, value)| value) != after.get(*key).map(|(_, value)| value);
    let named = |key: &Vec<String>| before.get(key).or_else(|| after.get(key)).map(|(option, _)| option.clone());
    before.keys().chain(after.keys()).filter(differs).filter_map(named).find(|option| !elsewhere(option))
}

/// Options by what they are about, with their names and values. Columns are meant by their ids; those that the other schema does
/// not have are left out, and so is what goes without saying.
fn rule(schema: &TableSchema, other: &TableSchema) -> BTreeMap<Vec<String>, (String, Vec<String>)> {
    let by_columns = [schema, other].into_iter().any(has_rules_of_columns);
    let counts = |key: &str| by_columns || !name_of(key).starts_with("fields.");
    let decisive = schema.options.iter().filter(|(key, value)| decides(key) && counts(key) && !is_default(key, value));
    let said = decisive.filter_map(|(key, value)| {
        let (about, value) = said(schema, other, key, value)?;
        Some((about, (key.clone(), value)))
    });
    said.collect()
}

fn said(schema: &TableSchema, other: &TableSchema, key: &str, value: &str) -> Option<(Vec<String>, Vec<String>)> {
    let about = |columns: &[String], suffix: &str| [ids(schema, columns), vec![suffix.to_owned()]].concat();
    let name = name_of(key);
    Some(match field_option(key) {
        Some((columns, SEQUENCE_GROUP)) => {
            // whichever is named first
            let mut group = ids(schema, &kept(schema, other, &parse_list(value)));
            group.sort_unstable();
            (about(&parse_list(columns), SEQUENCE_GROUP), group)
        }
        Some((column, suffix)) => {
            let column = kept(schema, other, &[column.to_owned()]);
            column.first()?;
            (about(&column, suffix), vec![value.trim().to_owned()])
        }
        None => {
            let columns = named_columns(name, value).map(|columns| ids(schema, &columns));
            (vec![name.to_owned()], columns.unwrap_or_else(|| vec![value.trim().to_lowercase()]))
        }
    })
}

/// Whether the merge engine has functions and groups of columns.
fn has_rules_of_columns(schema: &TableSchema) -> bool {
    schema.options.get("merge-engine").is_some_and(|engine| matches!(engine.trim(), "partial-update" | "aggregation"))
}

fn name_of(key: &str) -> &str {
    spellings(key).next().unwrap_or(key)
}

fn decides(key: &str) -> bool {
    let name = name_of(key);
    let by_name = ["fields.", "sequence.", RECORD_LEVEL].iter().any(|start| name.starts_with(start));
    by_name || [CHANGELOG, VECTORS].contains(&name) || IGNORED_KINDS.contains(&name)
}

fn is_default(key: &str, value: &str) -> bool {
    let default = match field_option(key).map_or_else(|| name_of(key), |(_, suffix)| suffix) {
        "ignore-retract" | "distinct" => "false",
        "list-agg-delimiter" => return value == ",",
        "sequence.field.sort-order" => "ascending",
        CHANGELOG => "none",
        VECTORS => "false",
        name if IGNORED_KINDS.contains(&name) => "false",
        _ => return false,
    };
    value.trim().eq_ignore_ascii_case(default)
}

fn ids(schema: &TableSchema, columns: &[String]) -> Vec<String> {
    let id = |column: &String| schema.field(column).map_or_else(|| column.clone(), |field| format!("#{}", field.id));
    columns.iter().map(id).collect()
}

/// The columns that the other schema has, too, or that neither has.
fn kept(schema: &TableSchema, other: &TableSchema, columns: &[String]) -> Vec<String> {
    let has = |id: i32| other.fields.iter().any(|field| field.id == id);
    columns.iter().filter(|column| schema.field(column).is_none_or(|field| has(field.id))).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::super::SchemaChange;
    use super::super::change::apply;
    use super::super::new_table::tests::table;
    use super::*;

    fn schema(options: &[(&str, &str)]) -> TableSchema {
        let columns = &[("k", "INT"), ("a", "INT"), ("b", "INT"), ("g", "INT"), ("h", "INT")];
        let mut all = vec![("bucket", "1")];
        all.extend(options);
        table(columns, &["k"], &[], &all).into_schema().unwrap()
    }

    fn after(old: &TableSchema, change: SchemaChange) -> Option<String> {
        merge_rule_changed(old, &apply(old, &[change], true).unwrap())
    }

    fn set(key: &str, value: &str) -> SchemaChange {
        SchemaChange::SetOption { key: key.to_owned(), value: value.to_owned() }
    }

    fn rename(from: &str, to: &str) -> SchemaChange {
        SchemaChange::RenameColumn { path: vec![from.to_owned()], new_name: to.to_owned() }
    }

    fn retype(column: &str, to: &str) -> SchemaChange {
        let new_type = crate::types::parse_type(to).unwrap();
        SchemaChange::SetType { path: vec![column.to_owned()], data_type: new_type }
    }

    const GROUPED: [(&str, &str); 3] =
        [("merge-engine", "partial-update"), ("fields.g.sequence-group", "a"), ("fields.a.aggregate-function", "max")];

    #[test]
    fn options_that_choose_rows_or_values_are_named() {
        let plain = schema(&[]);
        assert_eq!(after(&plain, set("sequence.field", "g")).unwrap(), "sequence.field");
        assert_eq!(after(&plain, set("changelog-producer", "lookup")).unwrap(), "changelog-producer");
        assert_eq!(after(&plain, set("deduplicate.ignore-delete", "true")).unwrap(), "deduplicate.ignore-delete");
        let aging = schema(&[("record-level.expire-time", "1 d"), ("record-level.time-field", "g")]);
        assert_eq!(after(&aging, set("record-level.expire-time", "2 d")).unwrap(), "record-level.expire-time");
        let ordered = schema(&[("sequence.field", "g")]);
        assert_eq!(after(&ordered, set("sequence.field", "g,h")).unwrap(), "sequence.field");
        assert_eq!(
            after(&ordered, set("sequence.field.sort-order", "descending")).unwrap(),
            "sequence.field.sort-order"
        );
        let sums = schema(&[("merge-engine", "aggregation"), ("fields.a.aggregate-function", "sum")]);
        assert!(after(&sums, set("fields.a.aggregate-function", "max")).is_some());
        assert!(after(&sums, set("fields.default-aggregate-function", "max")).is_some());
        let grouped = schema(&GROUPED);
        assert!(after(&grouped, set("fields.h.sequence-group", "b")).is_some());
        assert!(after(&grouped, set("fields.g.sequence-group", "a,b")).is_some());
    }

    #[test]
    fn types_count_where_merging_looks_at_values() {
        for options in [&[][..], &[("changelog-producer", "lookup")]] {
            assert_eq!(after(&schema(options), retype("g", "BIGINT")), None);
        }
        for options in [&[("sequence.field", "g")][..], &[("merge-engine", "aggregation")], &GROUPED] {
            assert_eq!(after(&schema(options), retype("g", "STRING")).unwrap(), "g");
        }
    }

    #[test]
    fn what_changes_no_merge_is_not_named() {
        let grouped = schema(&GROUPED);
        assert_eq!(after(&grouped, rename("g", "first")), None);
        assert_eq!(after(&grouped, rename("a", "amount")), None);
        assert_eq!(after(&grouped, set("snapshot.num-retained.max", "99")), None);
        assert_eq!(after(&grouped, set("ignore-delete", "false")), None);
        assert_eq!(after(&grouped, SchemaChange::DropColumn { path: vec!["b".to_owned()] }), None);
        let sums = schema(&[("merge-engine", "aggregation"), ("fields.a.aggregate-function", "sum")]);
        assert_eq!(after(&sums, SchemaChange::DropColumn { path: vec!["a".to_owned()] }), None);
        let ordered = schema(&[("sequence.field", "g")]);
        assert_eq!(after(&ordered, rename("g", "at")), None);
        assert_eq!(after(&ordered, set("sequence.field.sort-order", "ascending")), None);
    }

    /// Handles with such options compacted nothing, updated nothing and deleted nothing.
    #[test]
    fn a_handle_may_say_what_goes_without_saying() {
        let own = |stored: &[(&str, &str)], own: &[(&str, &str)]| {
            let stored = schema(stored);
            let own = own.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
            let options = stored.options.clone().into_iter().chain(own).collect();
            own_rule_changed(&stored, &TableSchema { options, ..stored.clone() })
        };
        let groups = [("merge-engine", "partial-update"), ("fields.g.sequence-group", "a,b")];
        assert_eq!(own(&groups, &[("fields.g.sequence-group", "b , a")]), None);
        assert!(own(&groups, &[("fields.g.sequence-group", "a")]).is_some());
        let sums = [("merge-engine", "aggregation"), ("fields.a.aggregate-function", "sum")];
        assert_eq!(own(&sums, &[("fields.a.ignore-retract", "false"), ("fields.a.distinct", "FALSE")]), None);
        assert!(own(&sums, &[("fields.a.ignore-retract", "true")]).is_some());
        assert!(own(&sums, &[("fields.default-aggregate-function", "max")]).is_some());
        assert_eq!(own(&[], &[("fields.a.aggregate-function", "sum")]), None);
        assert!(own(&[], &[("sequence.field", "g")]).is_some());
    }
}
