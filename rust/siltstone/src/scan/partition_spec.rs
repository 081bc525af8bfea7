//! Partition specifications as people give them, `{"dt": "2026-11-20"}`: the one place that checks and reads them.

use std::collections::BTreeMap;

use crate::{
    error::{Error, ErrorKind, Result},
    io::TableContext,
    predicate::{CompareOp, Predicate},
    row::{Datum, exact_datum_from_text},
    types::{DataType, TypeKind},
};

/// Partition values by column name, as text; `None` (or the table's `partition.default-name`) is null.
/// Columns may be missing: then every value of them is meant.
pub type PartitionSpec = BTreeMap<String, Option<String>>;

/// For each partition column the value that is meant; `None`: any value.
///
/// Texts are not rounded: what they name may be deleted, and 1.005 is not the partition 1.01.
///
/// # Errors
/// `InvalidArgument`: a name that is no partition column, or a text that is no value of the column.
pub(crate) fn pattern(ctx: &TableContext, spec: &PartitionSpec) -> Result<Vec<Option<Datum>>> {
    let names = ctx.paths.partition_names();
    if let Some(unknown) = spec.keys().find(|key| !names.contains(key)) {
        return Err(unknown_column(ctx, unknown));
    }
    let value = |(name, data_type): (&String, &DataType)| match spec.get(name) {
        None => Ok(None),
        Some(None) => Ok(Some(Datum::Null)),
        Some(Some(text)) if *text == ctx.options.partition_default_name => Ok(Some(Datum::Null)),
        Some(Some(text)) if is_of_several(text, data_type) => Err(of_several(ctx, name, text)),
        Some(Some(text)) => {
            let value = exact_datum_from_text(text, data_type);
            value.map(Some).map_err(|e| e.with("table", &ctx.name).with("column", name))
        }
    };
    names.iter().zip(ctx.paths.partition_types()).map(value).collect()
}

/// The same as a condition on the partition columns.
pub(crate) fn predicate(ctx: &TableContext, spec: &PartitionSpec) -> Result<Predicate> {
    Ok(condition(ctx, &pattern(ctx, spec)?))
}

/// A pattern as a condition.
pub(crate) fn condition(ctx: &TableContext, pattern: &[Option<Datum>]) -> Predicate {
    let columns = pattern.iter().zip(ctx.paths.partition_names());
    Predicate::all(columns.filter_map(|(value, name)| Some(equals(name, value.as_ref()?))))
}

/// Whether bytes that differ have this text: those that are not UTF-8 have U+FFFD in their names, in Java, too.
fn is_of_several(text: &str, data_type: &DataType) -> bool {
    matches!(data_type.kind, TypeKind::Binary(_) | TypeKind::VarBinary(_)) && text.contains(char::REPLACEMENT_CHARACTER)
}

fn of_several(ctx: &TableContext, column: &str, text: &str) -> Error {
    let message = format!("'{text}' does not say which bytes are meant: all that are no UTF-8 are shown so");
    Error::new(ErrorKind::InvalidArgument, message)
        .with("table", &ctx.name)
        .with("column", column)
        .hint(format!("delete the rows where the column is the value in hexadecimal: {column} = X'ff00'"))
}

fn unknown_column(ctx: &TableContext, unknown: &str) -> Error {
    let names = ctx.paths.partition_names();
    let hint = if names.is_empty() {
        "the table is not partitioned".to_owned()
    } else {
        format!("partition columns: {}", names.join(", "))
    };
    Error::new(ErrorKind::InvalidArgument, format!("'{unknown}' is not a partition column of {}", ctx.name))
        .with("table", &ctx.name)
        .with("column", unknown)
        .hint(hint)
}

fn equals(column: &str, value: &Datum) -> Predicate {
    match value {
        Datum::Null => Predicate::IsNull(column.to_owned()),
        value => Predicate::Compare { column: column.to_owned(), op: CompareOp::Eq, value: value.clone() },
    }
}
