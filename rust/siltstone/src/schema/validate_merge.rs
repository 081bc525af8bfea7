//! Rules about merge engines: sequence groups, functions of columns, and options that exclude each other
//! (semantics b.4 and b.5; `PartialUpdateMergeFunction.Factory`, `FieldAggregatorFactory`).
//!
//! Which functions exist and which types and options they take is checked where they are made (`merge_spec`).

use super::TableSchema;
use super::refusal::{forbidden_option, no_such_column};
use crate::aggregate::FieldOptions;
use crate::error::Result;
use crate::options::{CoreOptions, MergeEngine, SequenceGroup, check_list, parse_bool, parse_list, sequence_groups};

const ON_DELETE: &str = "partial-update.remove-record-on-delete";
const ON_GROUP: &str = "partial-update.remove-record-on-sequence-group";
const AGGREGATION_ON_DELETE: &str = "aggregation.remove-record-on-delete";
/// The only function that a partial-update column may have outside sequence groups.
const UNGROUPED: &str = "last_non_null_value";

pub(super) fn check(schema: &TableSchema, options: &CoreOptions) -> Result<()> {
    if !schema.has_primary_key() {
        return Ok(());
    }
    match options.merge_engine {
        MergeEngine::PartialUpdate => {
            let groups = sequence_groups(&options.raw);
            groups.iter().try_for_each(|group| check_group(schema, options, group))?;
            check_apart(&groups)?;
            check_removal(schema, options, &groups)?;
            check_grouped_functions(schema, options, &groups)
        }
        MergeEngine::Aggregation if is_true(options, AGGREGATION_ON_DELETE) => check_ignore_retract(schema, options),
        _ => Ok(()),
    }
}

fn is_true(options: &CoreOptions, key: &str) -> bool {
    options.get(key).is_some_and(|text| parse_bool(text).unwrap_or(false))
}

/// Its columns exist, its sequence fields have an order, and no key is in it.
fn check_group(schema: &TableSchema, options: &CoreOptions, group: &SequenceGroup) -> Result<()> {
    let option = &group.option;
    options.get(option).map_or(Ok(()), |text| check_list(option, text))?;
    if group.columns.is_empty() {
        let message = format!("'{option}' protects no column");
        return Err(forbidden_option(option, message).hint("list the columns of the group, separated by commas"));
    }
    for name in group.sequence.iter().chain(&group.columns) {
        if schema.field(name).is_none() {
            return Err(no_such_column(schema, name, &format!("'{option}'")).with("option", option));
        }
        if schema.primary_keys.contains(name) {
            let message = format!("the key column '{name}' cannot be in a sequence group");
            return Err(forbidden_option(option, message).with("column", name));
        }
    }
    for (at, name) in group.sequence.iter().enumerate() {
        if let Some(field) = schema.field(name).filter(|field| !field.data_type.has_order()) {
            let message = format!("a column of type {} has no order, it cannot be a sequence field", field.data_type);
            return Err(forbidden_option(option, message).with("column", name));
        }
        if group.sequence.iter().take(at).any(|earlier| earlier == name) {
            return Err(forbidden_option(option, format!("'{option}' names '{name}' twice")).with("column", name));
        }
    }
    Ok(())
}

/// No column belongs to two groups, and none to one group twice.
fn check_apart(groups: &[SequenceGroup]) -> Result<()> {
    for (at, group) in groups.iter().enumerate() {
        for (place, name) in group.columns.iter().enumerate() {
            if group.columns.iter().take(place).any(|earlier| earlier == name) {
                let message = format!("'{}' names '{name}' twice", group.option);
                return Err(forbidden_option(&group.option, message).with("column", name));
            }
        }
        for name in group.sequence.iter().chain(&group.columns) {
            if let Some(other) = groups.iter().take(at).find(|other| other.has(name)) {
                let message =
                    format!("the column '{name}' is in two sequence groups: '{}' and '{}'", other.option, group.option);
                let hint = "a column follows the sequence of one group only";
                return Err(forbidden_option(&group.option, message).with("column", name).hint(hint));
            }
        }
    }
    Ok(())
}

/// The options that say what a delete does exclude each other.
fn check_removal(schema: &TableSchema, options: &CoreOptions, groups: &[SequenceGroup]) -> Result<()> {
    let on_delete = is_true(options, ON_DELETE);
    let on_group = options.get(ON_GROUP).map(parse_list);
    let exclusive = |option: &str, other: &str| {
        Err(forbidden_option(option, format!("'{option}' and '{other}' exclude each other"))
            .hint("leave one of them out"))
    };
    if on_delete && options.ignore_delete {
        return exclusive(ON_DELETE, "ignore-delete");
    }
    if on_group.is_some() && options.ignore_delete {
        return exclusive(ON_GROUP, "ignore-delete");
    }
    if let (true, Some(group)) = (on_delete, groups.first()) {
        return exclusive(ON_DELETE, &group.option);
    }
    for name in on_group.unwrap_or_default() {
        if schema.field(&name).is_none() {
            return Err(no_such_column(schema, &name, &format!("'{ON_GROUP}'")).with("option", ON_GROUP));
        }
        if !groups.iter().any(|group| group.sequence.contains(&name)) {
            let message = format!("'{name}' in '{ON_GROUP}' is not the sequence field of a group");
            return Err(forbidden_option(ON_GROUP, message).with("column", name));
        }
    }
    Ok(())
}

/// Columns outside groups have no order of their own to aggregate in; sequence fields are not aggregated.
fn check_grouped_functions(schema: &TableSchema, options: &CoreOptions, groups: &[SequenceGroup]) -> Result<()> {
    let ordering = |name: &String| groups.iter().any(|group| group.sequence.contains(name));
    for field in schema.fields.iter().filter(|f| !schema.primary_keys.contains(&f.name) && !ordering(&f.name)) {
        let of = FieldOptions::of(&options.raw, &field.name)?;
        let Some(function) = of.function.as_deref() else { continue };
        if function == UNGROUPED || groups.iter().any(|group| group.has(&field.name)) {
            continue;
        }
        let message = format!(
            "under 'merge-engine' = 'partial-update' the function '{function}' needs a sequence group, and '{}' is in \
             none",
            field.name
        );
        let hint = format!("put '{}' into 'fields.<sequence field>.sequence-group'", field.name);
        return Err(forbidden_option(&of.function_option, message).with("column", &field.name).hint(hint));
    }
    Ok(())
}

fn check_ignore_retract(schema: &TableSchema, options: &CoreOptions) -> Result<()> {
    for field in &schema.fields {
        let option = format!("fields.{}.ignore-retract", field.name);
        if options.raw.get(&option).is_some_and(|text| parse_bool(text).unwrap_or(false)) {
            let message = format!("'{option}' and '{AGGREGATION_ON_DELETE}' exclude each other");
            return Err(forbidden_option(&option, message).with("column", &field.name).hint("leave one of them out"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::new_table::tests::table;
    use super::super::validate::validate;
    use super::*;
    use crate::error::{Error, ErrorKind};

    const COLUMNS: &[(&str, &str)] = &[
        ("k", "INT"),
        ("a", "INT"),
        ("b", "INT"),
        ("g", "INT"),
        ("c", "INT"),
        ("h", "INT"),
        ("i", "INT"),
        ("m", "MAP<INT, INT>"),
    ];

    fn validated(engine: &str, options: &[(&str, &str)]) -> Result<()> {
        let mut schema = table(COLUMNS, &["k"], &[], &[("bucket", "1")]).into_schema()?;
        schema.options.insert("merge-engine".to_owned(), engine.to_owned());
        schema.options.extend(options.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())));
        validate(&schema)
    }

    fn refused(engine: &str, options: &[(&str, &str)], option: &str) -> Error {
        let error = validated(engine, options).unwrap_err();
        assert_eq!(error.context_value("option"), Some(option), "{options:?}: {error}");
        assert!(matches!(error.kind(), ErrorKind::InvalidOption | ErrorKind::IllegalSchema), "{error}");
        error
    }

    #[test]
    fn a_column_is_in_one_sequence_group_only() {
        let groups = [("fields.g.sequence-group", "a,b"), ("fields.h.sequence-group", "b,c")];
        let error = refused("partial-update", &groups, "fields.h.sequence-group");
        assert_eq!(error.context_value("column"), Some("b"));
        refused(
            "partial-update",
            &[("fields.g.sequence-group", "a"), ("fields.g,h.sequence-group", "c")],
            "fields.g.sequence-group",
        );
        refused(
            "partial-update",
            &[("fields.g.sequence-group", "a,h"), ("fields.h.sequence-group", "b")],
            "fields.h.sequence-group",
        );
        refused("partial-update", &[("fields.g.sequence-group", "a,a")], "fields.g.sequence-group");
    }

    #[test]
    fn groups_are_made_of_existing_columns_that_are_no_keys() {
        for (option, columns, column) in [
            ("fields.g.sequence-group", "a,k", "k"),
            ("fields.k.sequence-group", "a", "k"),
            ("fields.g.sequence-group", "a,zz", "zz"),
            ("fields.zz.sequence-group", "a", "zz"),
            ("fields.g,g.sequence-group", "a", "g"),
        ] {
            let error = refused("partial-update", &[(option, columns)], option);
            assert_eq!(error.context_value("column"), Some(column), "{option} = {columns}");
        }
        refused("partial-update", &[("fields.g.sequence-group", " ")], "fields.g.sequence-group");
    }

    #[test]
    fn what_a_delete_does_is_said_once() {
        let group = ("fields.g.sequence-group", "a");
        let on_group = ("partial-update.remove-record-on-sequence-group", "g");
        let on_delete = ("partial-update.remove-record-on-delete", "true");
        refused("partial-update", &[on_delete, ("ignore-delete", "true")], on_delete.0);
        refused("partial-update", &[on_delete, ("partial-update.ignore-delete", "true")], on_delete.0);
        refused("partial-update", &[on_group, group, ("ignore-delete", "true")], on_group.0);
        refused("partial-update", &[on_delete, group], on_delete.0);
        refused("partial-update", &[on_group], on_group.0);
        refused("partial-update", &[(on_group.0, "zz"), group], on_group.0);
        validated("partial-update", &[on_group, group]).unwrap();
        validated("partial-update", &[on_delete]).unwrap();
        let aggregation = ("aggregation.remove-record-on-delete", "true");
        let ignoring = ("fields.a.ignore-retract", "true");
        refused("aggregation", &[aggregation, ignoring], ignoring.0);
        validated("aggregation", &[aggregation]).unwrap();
        validated("aggregation", &[ignoring]).unwrap();
    }

    #[test]
    fn a_partial_update_column_is_aggregated_inside_a_group() {
        let function = ("fields.a.aggregate-function", "last_value");
        let error = refused("partial-update", &[function], function.0);
        assert_eq!(error.context_value("column"), Some("a"));
        validated("partial-update", &[function, ("fields.g.sequence-group", "a")]).unwrap();
        validated("partial-update", &[("fields.a.aggregate-function", "last_non_null_value")]).unwrap();
        let default = ("fields.default-aggregate-function", "first_value");
        refused("partial-update", &[default, ("fields.g.sequence-group", "a")], default.0);
        validated("partial-update", &[default, ("fields.g.sequence-group", "a,b,c,h,i,m")]).unwrap();
        validated("partial-update", &[("fields.m.sequence-group", "a")]).unwrap();
    }

    #[test]
    fn a_function_exists_and_takes_the_type_of_its_column() {
        for engine in ["aggregation", "partial-update"] {
            let group = ("fields.g.sequence-group", "a,b,m");
            let error =
                refused(engine, &[group, ("fields.a.aggregate-function", "summ")], "fields.a.aggregate-function");
            assert_eq!(error.context_value("column"), Some("a"));
        }
        let default = ("fields.default-aggregate-function", "medain");
        refused("aggregation", &[default], default.0);
        validated("deduplicate", &[default]).unwrap();
        // Java opens no table with it, although a key column uses no function
        let of_key = "fields.k.aggregate-function";
        refused("aggregation", &[(of_key, "none at all")], of_key);
    }

    #[test]
    fn options_of_another_engine_are_left_alone() {
        let idle = [("fields.g.sequence-group", "a,k"), ("partial-update.remove-record-on-delete", "true")];
        validated("deduplicate", &idle).unwrap();
    }
}
