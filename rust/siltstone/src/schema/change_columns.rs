//! Changes of columns (format chapter 11.3). Data files are never touched: they are read by field id.

use super::new_table::number_column;
use super::refusal::{forbidden_change, no_such_column};
use super::{ColumnPosition, SchemaChange, TableSchema, column_options};
use crate::cast::{CastRule, cast_rule};
use crate::error::{Error, ErrorKind, Result};
use crate::options::parse_bool;
use crate::types::{DataField, DataType, TypeKind, special};

pub(super) fn apply(old: &TableSchema, new: &mut TableSchema, change: &SchemaChange) -> Result<()> {
    match change {
        SchemaChange::AddColumn { path, data_type, comment, position } => {
            let mut field = DataField::new(0, last(path), data_type.clone());
            field.description.clone_from(comment);
            add(new, path, field, position.as_ref())
        }
        SchemaChange::RenameColumn { path, new_name } => rename(new, path, new_name),
        SchemaChange::DropColumn { path } => drop_column(new, path),
        SchemaChange::SetType { path, data_type } => set_type(old, new, path, data_type),
        SchemaChange::SetNullable { path, nullable } => set_nullable(old, new, path, *nullable),
        SchemaChange::SetColumnComment { path, comment } => {
            field_at(new, path)?.description.clone_from(comment);
            Ok(())
        }
        SchemaChange::SetDefault { path, default } => {
            field_at(new, path)?.default_value.clone_from(default);
            Ok(())
        }
        SchemaChange::MoveColumn { name, position } => move_column(new, name, position),
        SchemaChange::SetOption { .. } | SchemaChange::RemoveOption { .. } | SchemaChange::SetComment { .. } => Ok(()),
    }
}

fn last(path: &[String]) -> String {
    path.last().cloned().unwrap_or_default()
}

fn add(new: &mut TableSchema, path: &[String], field: DataField, position: Option<&ColumnPosition>) -> Result<()> {
    if !field.data_type.nullable {
        let message =
            format!("the new column '{}' cannot be NOT NULL: the rows that exist have no value", path.join("."));
        return Err(forbidden_change(message).with("column", path.join(".")));
    }
    // ids that were ever given, also should an old writer have kept 'highestFieldId' too low
    let mut highest = new.highest_field_id.max(new.fields.iter().map(|f| f.id).max().unwrap_or(-1));
    let field = number_column(field, &mut highest);
    if special::is_system_id(highest) {
        let message = format!("there is no field id left for the new column '{}'", path.join("."));
        return Err(forbidden_change(message)
            .with("column", path.join("."))
            .with("highestFieldId", new.highest_field_id)
            .hint("ids from 1073741823 on are those of columns that Paimon adds; copy the rows to a new table"));
    }
    new.highest_field_id = highest;
    let before_partition = (path.len() == 1 && flag(new, "add-column-before-partition"))
        .then(|| new.fields.iter().position(|f| new.partition_keys.contains(&f.name)))
        .flatten();
    let fields = siblings(new, path)?;
    if fields.iter().any(|f| f.name == field.name) {
        return Err(
            forbidden_change(format!("the column '{}' exists already", path.join("."))).with("column", &field.name)
        );
    }
    let at = match position {
        Some(position) => place(fields, position)?,
        None => before_partition.unwrap_or(fields.len()),
    };
    fields.insert(at, field);
    Ok(())
}

/// The index at which something goes.
fn place(fields: &[DataField], position: &ColumnPosition) -> Result<usize> {
    let index = |name: &String| {
        let found = fields.iter().position(|f| f.name == *name);
        found.ok_or_else(|| forbidden_change(format!("the column '{name}' does not exist")).with("column", name))
    };
    match position {
        ColumnPosition::First => Ok(0),
        ColumnPosition::Last => Ok(fields.len()),
        ColumnPosition::After(name) => Ok(index(name)? + 1),
        ColumnPosition::Before(name) => index(name),
    }
}

fn rename(new: &mut TableSchema, path: &[String], new_name: &str) -> Result<()> {
    refuse_keys(path, &new.partition_keys, "a partition column cannot be renamed")?;
    let fields = siblings(new, path)?;
    if fields.iter().any(|f| f.name == new_name) {
        return Err(forbidden_change(format!("the column '{new_name}' exists already")).with("column", new_name));
    }
    new_name.clone_into(&mut field_at(new, path)?.name);
    if let [name] = path {
        for key in new.primary_keys.iter_mut().filter(|key| *key == name) {
            new_name.clone_into(key);
        }
        column_options::rename(new, name, new_name)?;
    }
    Ok(())
}

fn drop_column(new: &mut TableSchema, path: &[String]) -> Result<()> {
    refuse_keys(path, &new.partition_keys, "a partition column cannot be dropped")?;
    refuse_keys(path, &new.primary_keys, "a primary-key column cannot be dropped")?;
    field_at(new, path)?;
    let name = last(path);
    let fields = siblings(new, path)?;
    if fields.len() == 1 {
        return Err(forbidden_change("the only column cannot be dropped").with("column", path.join(".")));
    }
    fields.retain(|f| f.name != name);
    if let [name] = path {
        column_options::drop(new, name)?;
    }
    Ok(())
}

fn set_type(old: &TableSchema, new: &mut TableSchema, path: &[String], data_type: &DataType) -> Result<()> {
    refuse_keys(path, &new.partition_keys, "the type of a partition column cannot change")?;
    refuse_keys(path, &new.primary_keys, "the type of a primary-key column cannot change")?;
    let explicit = !flag(old, "disable-explicit-type-casting");
    let target = type_at(new, path)?;
    let allowed = cast_rule(&target.kind, &data_type.kind).is_some_and(|rule| explicit || rule == CastRule::Implicit);
    if !allowed {
        let message = format!("{} cannot become {}", target.kind, data_type.kind);
        return Err(forbidden_change(message)
            .with("column", path.join("."))
            .hint("add a column of the new type instead"));
    }
    target.kind = data_type.kind.clone();
    if data_type.nullable { Ok(()) } else { set_nullable(old, new, path, false) }
}

fn set_nullable(old: &TableSchema, new: &mut TableSchema, path: &[String], nullable: bool) -> Result<()> {
    if nullable {
        refuse_keys(path, &new.primary_keys, "a primary-key column cannot become nullable")?;
    }
    let forbidden_by_default =
        old.options.get("alter-column-null-to-not-null.disabled").is_none_or(|t| parse_bool(t).unwrap_or(true));
    let target = type_at(new, path)?;
    if target.nullable && !nullable && forbidden_by_default {
        let message = format!("the column '{}' cannot become NOT NULL: it may hold nulls", path.join("."));
        let hint = "'alter-column-null-to-not-null.disabled' = 'false' allows it when you are sure there are none";
        return Err(forbidden_change(message).with("column", path.join(".")).hint(hint));
    }
    target.nullable = nullable;
    Ok(())
}

fn move_column(new: &mut TableSchema, name: &str, position: &ColumnPosition) -> Result<()> {
    if matches!(position, ColumnPosition::After(other) | ColumnPosition::Before(other) if other == name) {
        return Err(forbidden_change("a column cannot be moved next to itself").with("column", name));
    }
    let Some(at) = new.fields.iter().position(|f| f.name == name) else { return Err(missing(new, name)) };
    let field = new.fields.remove(at);
    let to = place(&new.fields, position)?;
    new.fields.insert(to, field);
    Ok(())
}

fn flag(schema: &TableSchema, option: &str) -> bool {
    schema.options.get(option).is_some_and(|text| parse_bool(text).unwrap_or(false))
}

fn refuse_keys(path: &[String], keys: &[String], message: &str) -> Result<()> {
    match path {
        [name] if keys.contains(name) => Err(forbidden_change(message).with("column", name)),
        _ => Ok(()),
    }
}

fn missing(schema: &TableSchema, name: &str) -> Error {
    let near = no_such_column(schema, name, "the change");
    let error = Error::new(ErrorKind::IllegalSchemaChange, format!("the column '{name}' does not exist"));
    error.with("column", name).hint(near.hint_text().unwrap_or_default())
}

/// The list of fields that the last name of the path belongs to.
fn siblings<'a>(schema: &'a mut TableSchema, path: &[String]) -> Result<&'a mut Vec<DataField>> {
    let Some((_, parents)) = path.split_last() else { return Err(forbidden_change("a column has no name")) };
    if parents.is_empty() {
        return Ok(&mut schema.fields);
    }
    match &mut type_at(schema, parents)?.kind {
        TypeKind::Row(fields) => Ok(fields),
        _ => Err(forbidden_change(format!("'{}' has no fields", parents.join("."))).with("column", path.join("."))),
    }
}

fn field_at<'a>(schema: &'a mut TableSchema, path: &[String]) -> Result<&'a mut DataField> {
    let name = last(path);
    let top = (path.len() == 1).then(|| missing(schema, &name));
    let found = siblings(schema, path)?.iter_mut().find(|f| f.name == name);
    found.ok_or_else(|| {
        top.unwrap_or_else(|| {
            forbidden_change(format!("the column '{}' does not exist", path.join("."))).with("column", name)
        })
    })
}

/// The type that a path leads to: through fields of rows, `element` of arrays, `value` of maps.
fn type_at<'a>(schema: &'a mut TableSchema, path: &[String]) -> Result<&'a mut DataType> {
    let Some((first, rest)) = path.split_first() else { return Err(forbidden_change("a column has no name")) };
    if schema.field(first).is_none() {
        return Err(missing(schema, first));
    }
    let nowhere =
        || forbidden_change(format!("'{}' leads to no column", path.join("."))).with("column", path.join("."));
    let mut at = schema.fields.iter_mut().find(|f| f.name == *first).map(|f| &mut f.data_type).ok_or_else(nowhere)?;
    for name in rest {
        at = match (&mut at.kind, name.as_str()) {
            (TypeKind::Array(inner), "element") | (TypeKind::Map(_, inner), "value") => inner,
            (TypeKind::Row(fields), _) => {
                fields.iter_mut().find(|f| f.name == *name).map(|f| &mut f.data_type).ok_or_else(nowhere)?
            }
            _ => return Err(nowhere()),
        };
    }
    Ok(at)
}

#[cfg(test)]
mod tests {
    use super::super::change::apply;
    use super::super::new_table::tests::table;
    use super::*;
    use crate::types::parse_type;

    fn schema() -> TableSchema {
        let columns =
            &[("dt", "STRING"), ("k", "INT"), ("v", "INT"), ("r", "ROW<x INT, y STRING>"), ("l", "ARRAY<ROW<o INT>>")];
        let options = &[("bucket", "1"), ("sequence.field", "v"), ("fields.v.stats-mode", "none")];
        table(columns, &["dt", "k"], &["dt"], options).into_schema().unwrap()
    }

    fn path(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn add(names: &[&str], data_type: &str, position: Option<ColumnPosition>) -> SchemaChange {
        SchemaChange::AddColumn {
            path: path(names),
            data_type: parse_type(data_type).unwrap(),
            comment: None,
            position,
        }
    }

    fn set_type(names: &[&str], data_type: &str) -> SchemaChange {
        SchemaChange::SetType { path: path(names), data_type: parse_type(data_type).unwrap() }
    }

    fn names(schema: &TableSchema) -> Vec<&str> {
        schema.fields.iter().map(|f| f.name.as_str()).collect()
    }

    fn refused(change: SchemaChange) {
        let error = apply(&schema(), std::slice::from_ref(&change), true).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::IllegalSchemaChange, "{change:?}: {error}");
    }

    #[test]
    fn new_columns_get_new_ids_and_the_place_that_is_asked_for() {
        let old = schema();
        let changes = [
            add(&["n"], "ROW<p INT>", Some(ColumnPosition::After("k".into()))),
            add(&["r", "z"], "INT", Some(ColumnPosition::First)),
            add(&["l", "element", "q"], "STRING", None),
        ];
        let new = apply(&old, &changes, true).unwrap();
        assert_eq!(names(&new), ["dt", "k", "n", "v", "r", "l"]);
        assert_eq!(new.field("n").unwrap().id, old.highest_field_id + 1);
        assert_eq!(new.field("r").unwrap().data_type.to_string(), "ROW<`z` INT, `x` INT, `y` STRING>");
        assert_eq!(new.field("l").unwrap().data_type.to_string(), "ARRAY<ROW<`o` INT, `q` STRING>>");
        assert_eq!(new.highest_field_id, old.highest_field_id + 4);
    }

    #[test]
    fn ids_of_system_columns_are_never_handed_out() {
        let mut old = schema();
        old.highest_field_id = special::KEY_ID_OFFSET - 2;
        let one = apply(&old, &[add(&["n"], "INT", None)], true).unwrap();
        assert_eq!(one.field("n").unwrap().id, special::KEY_ID_OFFSET - 1);
        for (highest, data_type) in [
            (special::KEY_ID_OFFSET - 2, "ROW<p INT>"),
            (special::KEY_ID_OFFSET - 1, "INT"),
            (special::VALUE_KIND_ID - 1, "TINYINT"),
            (special::SEQUENCE_NUMBER_ID - 1, "BIGINT"),
            (i32::MAX, "INT"),
        ] {
            old.highest_field_id = highest;
            let error = apply(&old, &[add(&["n"], data_type, None)], true).unwrap_err();
            assert_eq!((error.kind(), error.context_value("column")), (ErrorKind::IllegalSchemaChange, Some("n")));
        }
    }

    #[test]
    fn ids_of_dropped_columns_are_not_used_again() {
        let dropped = apply(&schema(), &[SchemaChange::DropColumn { path: path(&["l"]) }], true).unwrap();
        let added = apply(&dropped, &[add(&["l"], "INT", None)], true).unwrap();
        assert!(added.field("l").unwrap().id > schema().highest_field_id);
    }

    #[test]
    fn renaming_follows_into_keys_and_options() {
        let rename = |from: &str, to: &str| SchemaChange::RenameColumn { path: path(&[from]), new_name: to.into() };
        let new = apply(&schema(), &[rename("k", "key"), rename("v", "w")], true).unwrap();
        assert_eq!(new.primary_keys, ["dt", "key"]);
        assert_eq!(
            (new.options["sequence.field"].as_str(), new.options["fields.w.stats-mode"].as_str()),
            ("w", "none")
        );
        assert_eq!(new.field("w").unwrap().id, schema().field("v").unwrap().id);
    }

    #[test]
    fn what_breaks_the_table_is_refused() {
        refused(add(&["n"], "INT NOT NULL", None));
        refused(add(&["v"], "INT", None));
        refused(add(&["n"], "INT", Some(ColumnPosition::After("nope".into()))));
        refused(add(&["k", "x"], "INT", None));
        refused(SchemaChange::DropColumn { path: path(&["dt"]) });
        refused(SchemaChange::DropColumn { path: path(&["k"]) });
        refused(SchemaChange::DropColumn { path: path(&["v"]) });
        refused(SchemaChange::DropColumn { path: path(&["nope"]) });
        refused(SchemaChange::RenameColumn { path: path(&["dt"]), new_name: "d".into() });
        refused(SchemaChange::RenameColumn { path: path(&["v"]), new_name: "k".into() });
        refused(set_type(&["k"], "BIGINT"));
        refused(set_type(&["r"], "INT"));
        refused(SchemaChange::SetNullable { path: path(&["k"]), nullable: true });
        refused(SchemaChange::SetNullable { path: path(&["v"]), nullable: false });
        refused(SchemaChange::MoveColumn { name: "v".into(), position: ColumnPosition::After("v".into()) });
    }

    #[test]
    fn types_change_along_the_casts_and_keep_their_nullability() {
        let new = apply(&schema(), &[set_type(&["v"], "BIGINT"), set_type(&["r", "x"], "STRING")], true).unwrap();
        assert_eq!(new.field("v").unwrap().data_type.to_string(), "BIGINT");
        assert_eq!(new.field("r").unwrap().data_type.to_string(), "ROW<`x` STRING, `y` STRING>");
        let mut strict = schema();
        strict.options.insert("disable-explicit-type-casting".into(), "true".into());
        assert!(apply(&strict, &[set_type(&["v"], "SMALLINT")], true).is_err());
        apply(&strict, &[set_type(&["v"], "DOUBLE")], true).unwrap();
    }

    #[test]
    fn a_type_with_not_null_forbids_nulls_or_is_refused() {
        refused(set_type(&["v"], "BIGINT NOT NULL"));
        let mut allowed = schema();
        allowed.options.insert("alter-column-null-to-not-null.disabled".into(), "false".into());
        let strict = apply(&allowed, &[set_type(&["v"], "BIGINT NOT NULL")], true).unwrap();
        assert_eq!(strict.field("v").unwrap().data_type.to_string(), "BIGINT NOT NULL");
        let wider = apply(&strict, &[set_type(&["v"], "DOUBLE")], true).unwrap();
        assert_eq!(wider.field("v").unwrap().data_type.to_string(), "DOUBLE NOT NULL");
    }

    #[test]
    fn a_type_that_no_reader_could_cast_is_refused() {
        let old = apply(&schema(), &[add(&["ts"], "TIMESTAMP(3)", None), add(&["d"], "DOUBLE", None)], true).unwrap();
        for (column, wanted) in
            [("ts", "DECIMAL(5, 2)"), ("ts", "VARCHAR(9)"), ("d", "TIMESTAMP(9)"), ("r", "ROW<x INT>")]
        {
            let error = apply(&old, &[set_type(&[column], wanted)], true).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::IllegalSchemaChange, "{column} to {wanted}");
        }
        let text = apply(&old, &[set_type(&["r"], "STRING")], true).unwrap();
        assert_eq!(text.field("r").unwrap().data_type.to_string(), "STRING");
    }

    #[test]
    fn columns_move() {
        let moved = |name: &str, position| {
            let new = apply(&schema(), &[SchemaChange::MoveColumn { name: name.into(), position }], true).unwrap();
            names(&new).join(" ")
        };
        assert_eq!(moved("l", ColumnPosition::First), "l dt k v r");
        assert_eq!(moved("dt", ColumnPosition::Last), "k v r l dt");
        assert_eq!(moved("dt", ColumnPosition::After("v".into())), "k v dt r l");
        assert_eq!(moved("l", ColumnPosition::Before("v".into())), "dt k l v r");
    }

    #[test]
    fn comments_and_defaults_of_columns_change() {
        let changes = [
            SchemaChange::SetColumnComment { path: path(&["r", "x"]), comment: Some("c".into()) },
            SchemaChange::SetDefault { path: path(&["v"]), default: Some("7".into()) },
        ];
        let new = apply(&schema(), &changes, true).unwrap();
        assert_eq!(new.field("v").unwrap().default_value.as_deref(), Some("7"));
        let bad = SchemaChange::SetDefault { path: path(&["v"]), default: Some("x".into()) };
        assert_eq!(apply(&schema(), &[bad], true).unwrap_err().kind(), ErrorKind::IllegalSchema);
    }
}
