//! From what a user asks for to `schema-0`.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{TableSchema, features, validate};
use crate::env;
use crate::error::{Error, ErrorKind, Result};
use crate::options::{check_known, parse_list};
use crate::types::{DataField, DataType, TypeKind, data_type_from_arrow, fields_from_json};

/// A table to be created. Ids of the fields do not matter, they are given here.
#[derive(Clone, Debug, Default)]
pub struct NewTable {
    /// Columns in their order.
    pub fields: Vec<DataField>,
    /// Key columns, partition columns included; empty for an append table.
    pub primary_key: Vec<String>,
    /// Partition columns.
    pub partition_by: Vec<String>,
    /// Options as text.
    pub options: BTreeMap<String, String>,
    /// Comment.
    pub comment: Option<String>,
}

impl NewTable {
    /// A table with these columns, from fields in Paimon's schema JSON; ids are optional.
    pub fn from_json(fields: &str) -> Result<Self> {
        let wrong = |message: &str| Error::new(ErrorKind::IllegalSchema, message);
        let value = serde_json::from_str(fields).map_err(|e| wrong("the columns are not JSON").caused_by(e))?;
        Ok(Self { fields: fields_from_json(&value)?, ..Self::default() })
    }

    /// A table with the columns of an Arrow schema; a field's metadata entry `comment` becomes its comment.
    pub fn from_arrow(schema: &arrow_schema::Schema) -> Result<Self> {
        let field = |field: &Arc<arrow_schema::Field>| {
            let mut column = DataField::new(0, field.name(), data_type_from_arrow(field)?);
            column.description = field.metadata().get("comment").cloned();
            Ok(column)
        };
        Ok(Self { fields: schema.fields().iter().map(field).collect::<Result<_>>()?, ..Self::default() })
    }

    /// Validates and numbers: the schema with id 0, at the current time.
    pub fn into_schema(mut self) -> Result<TableSchema> {
        keys_from_options(&mut self.options, "primary-key", &mut self.primary_key)?;
        keys_from_options(&mut self.options, "partition", &mut self.partition_by)?;
        if self.options.contains_key("path") {
            let message = "the place of a table follows from its name, 'path' cannot be set";
            return Err(Error::new(ErrorKind::InvalidOption, message).with("option", "path"));
        }
        check_known(&self.options)?;
        let mut highest = -1;
        let fields = self.fields.into_iter().map(|field| number_column(field, &mut highest)).collect();
        let mut schema = TableSchema {
            id: 0,
            fields,
            highest_field_id: highest,
            partition_keys: self.partition_by,
            primary_keys: self.primary_key,
            options: self.options,
            comment: self.comment,
            time_millis: env::now_millis(),
            pending: None,
        };
        keys_not_null(&mut schema);
        validate(&schema)?;
        features::check_writable(&schema)?;
        Ok(schema)
    }
}

/// `primary-key` and `partition` may come as options; they are moved into the schema.
fn keys_from_options(
    options: &mut BTreeMap<String, String>,
    option: &'static str,
    keys: &mut Vec<String>,
) -> Result<()> {
    let Some(text) = options.remove(option) else { return Ok(()) };
    let given = parse_list(&text);
    if !keys.is_empty() && *keys != given {
        let message = format!("'{option}' is given twice, as argument and as option, and they differ");
        return Err(Error::new(ErrorKind::InvalidOption, message).with("option", option));
    }
    *keys = given;
    Ok(())
}

/// Primary-key columns are NOT NULL whatever was said.
pub(super) fn keys_not_null(schema: &mut TableSchema) {
    for field in &mut schema.fields {
        if schema.primary_keys.contains(&field.name) {
            field.data_type.nullable = false;
        }
    }
}

/// A new column: its own id first, then its nested fields.
pub(super) fn number_column(mut field: DataField, highest: &mut i32) -> DataField {
    field.id = next(highest);
    field.data_type = number_nested(field.data_type, highest);
    field
}

/// Numbers nested fields as `ReassignFieldId` does: what is below a field comes before the field itself.
pub(super) fn number_nested(data_type: DataType, highest: &mut i32) -> DataType {
    let mut inner = |t: Box<DataType>| Box::new(number_nested(*t, highest));
    let kind = match data_type.kind {
        TypeKind::Array(element) => TypeKind::Array(inner(element)),
        TypeKind::Multiset(element) => TypeKind::Multiset(inner(element)),
        TypeKind::Vector(element, length) => TypeKind::Vector(inner(element), length),
        TypeKind::Map(key, value) => {
            let key = inner(key);
            TypeKind::Map(key, inner(value))
        }
        TypeKind::Row(fields) => {
            let number = |mut field: DataField| {
                field.data_type = number_nested(field.data_type, highest);
                field.id = next(highest);
                field
            };
            TypeKind::Row(fields.into_iter().map(number).collect())
        }
        atomic => atomic,
    };
    DataType { kind, nullable: data_type.nullable }
}

fn next(highest: &mut i32) -> i32 {
    *highest = highest.saturating_add(1);
    *highest
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::types::parse_type;

    /// A table from `("name", "TYPE")` and `("option", "value")` pairs.
    pub(in crate::schema) fn table(
        columns: &[(&str, &str)],
        key: &[&str],
        partition: &[&str],
        options: &[(&str, &str)],
    ) -> NewTable {
        let texts = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
        NewTable {
            fields: columns.iter().map(|(name, t)| DataField::new(0, *name, parse_type(t).unwrap())).collect(),
            primary_key: texts(key),
            partition_by: texts(partition),
            options: options.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
            comment: None,
        }
    }

    const ORDERS: &[(&str, &str)] = &[("dt", "STRING"), ("id", "BIGINT"), ("amount", "DECIMAL(12, 2)")];

    #[test]
    fn key_columns_become_not_null() {
        let schema = table(ORDERS, &["dt", "id"], &["dt"], &[("bucket", "4")]).into_schema().unwrap();
        let types: Vec<String> = schema.fields.iter().map(|f| f.data_type.to_string()).collect();
        assert_eq!(types, ["STRING NOT NULL", "BIGINT NOT NULL", "DECIMAL(12, 2)"]);
        assert_eq!((schema.id, schema.highest_field_id), (0, 2));
    }

    #[test]
    fn nested_fields_are_numbered_before_their_field_as_java_does() {
        let schema =
            table(&[("c", "ROW<a ROW<x INT>, b INT>"), ("d", "ARRAY<ROW<e INT>>"), ("f", "INT")], &[], &[], &[]);
        let schema = schema.into_schema().unwrap();
        let TypeKind::Row(c) = &schema.fields[0].data_type.kind else { panic!() };
        let TypeKind::Row(a) = &c[0].data_type.kind else { panic!() };
        assert_eq!((schema.fields[0].id, a[0].id, c[0].id, c[1].id), (0, 1, 2, 3));
        assert_eq!((schema.fields[1].id, schema.fields[2].id, schema.highest_field_id), (4, 6, 6));
    }

    #[test]
    fn keys_may_come_as_options_and_are_not_stored_there() {
        let options = &[("primary-key", "dt, id"), ("partition", "dt"), ("bucket", "1")];
        let schema = table(ORDERS, &[], &[], options).into_schema().unwrap();
        assert_eq!((schema.primary_keys, schema.partition_keys), (vec!["dt".into(), "id".into()], vec!["dt".into()]));
        assert_eq!(schema.options.len(), 1);
        let twice = table(ORDERS, &["id"], &[], options).into_schema().unwrap_err();
        assert_eq!(twice.context_value("option"), Some("primary-key"));
    }

    #[test]
    fn a_primary_key_table_needs_no_number_of_buckets() {
        for options in [&[][..], &[("bucket", "-1")]] {
            table(ORDERS, &["id"], &[], options).into_schema().unwrap();
            table(ORDERS, &["id", "dt"], &["dt"], options).into_schema().unwrap();
            table(ORDERS, &["id"], &["dt"], options).into_schema().unwrap();
        }
        table(ORDERS, &["id"], &[], &[("bucket", "-2")]).into_schema().unwrap();
    }

    #[test]
    fn misspelt_options_are_refused_and_foreign_ones_kept() {
        let error = table(ORDERS, &[], &[], &[("targt-file-size", "1 mb")]).into_schema().unwrap_err();
        assert_eq!(
            (error.kind(), error.hint_text()),
            (ErrorKind::UnknownOption, Some("did you mean 'target-file-size'?"))
        );
        let schema = table(ORDERS, &[], &[], &[("my.owner", "me")]).into_schema().unwrap();
        assert_eq!(schema.options["my.owner"], "me");
    }
}
