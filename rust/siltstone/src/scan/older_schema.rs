//! A table as an older schema describes it.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    error::{Error, ErrorKind, Result},
    io::TableContext,
    options::{CoreOptions, catalogue::field_option, parse_list},
    schema::TableSchema,
};

/// The table with an older schema: its columns, and today's options except those that name columns. Of these, the ones that
/// were given for this operation stay in force.
///
/// # Errors
/// `InvalidOption`: one of them names a column that the older schema does not have.
pub(super) fn under_schema(ctx: &TableContext, schema_id: i64) -> Result<TableContext> {
    let mut schema = (*ctx.schemas.get(schema_id)?).clone();
    let given = given_for_this_operation(ctx);
    for (key, value) in &given {
        check_columns(&schema, key, value)?;
    }
    let own = std::mem::replace(&mut schema.options, ctx.schema.options.clone());
    let mut raw = ctx.options.raw.clone();
    for options in [&mut schema.options, &mut raw] {
        options.retain(|key, _| !names_columns(key));
        options.extend(own.iter().filter(|(key, _)| names_columns(key)).map(|(k, v)| (k.clone(), v.clone())));
    }
    raw.extend(given);
    let options = Arc::new(CoreOptions::parse(&raw)?);
    Ok(TableContext { schema: Arc::new(schema), options, ..ctx.clone() })
}

/// Options that name columns and that the stored ones do not have so.
fn given_for_this_operation(ctx: &TableContext) -> BTreeMap<String, String> {
    let stored = &ctx.schema.options;
    let given = ctx.options.raw.iter().filter(|(key, value)| names_columns(key) && stored.get(*key) != Some(*value));
    given.map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// A rename of a column changes these options with it, so each schema has them in its own words.
fn names_columns(key: &str) -> bool {
    key.starts_with("fields.")
        || matches!(
            key,
            "bucket-key"
                | "sequence.field"
                | "rowkind.field"
                | "partial-update.remove-record-on-sequence-group"
                | "changelog-producer.row-deduplicate-ignore-fields"
        )
}

fn check_columns(schema: &TableSchema, key: &str, value: &str) -> Result<()> {
    let columns = match field_option(key) {
        Some((columns, "sequence-group")) => [parse_list(columns), parse_list(value)].concat(),
        Some((column, _)) => vec![column.to_owned()],
        None if key.starts_with("fields.") => Vec::new(),
        None if key == "rowkind.field" => vec![value.to_owned()],
        None => parse_list(value),
    };
    match columns.into_iter().find(|column| schema.field(column).is_none()) {
        None => Ok(()),
        Some(column) => {
            let message = format!("'{key}' names the column '{column}', which the version that is read does not have");
            let columns: Vec<&str> = schema.fields.iter().map(|field| field.name.as_str()).collect();
            Err(Error::new(ErrorKind::InvalidOption, message)
                .with("option", key)
                .with("column", column)
                .with("schema", schema.id)
                .hint(format!("its columns: {}", columns.join(", "))))
        }
    }
}
