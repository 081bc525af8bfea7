//! The types of a file's columns, in pre-order (format chapter 7.6).

use super::{super::schema::Kind, message::MessageWriter};
use crate::{
    error::{Error, Result},
    format::nested_ids::At,
    types::{DataField, DataType, MAX_LENGTH, TypeKind},
};

/// A column of a file.
#[derive(Debug)]
pub(super) struct Type {
    pub(super) kind: Kind,
    /// Column numbers of its children.
    pub(super) children: Vec<usize>,
    names: Vec<String>,
    length: Option<u32>,
    decimal: Option<(u8, u8)>,
    /// The id of its field; `None`: the root.
    id: Option<i32>,
}

/// The types of files with these columns.
///
/// # Errors
/// `UnsupportedFeature` for types that ORC files cannot have.
pub(super) fn types_of(fields: &[DataField]) -> Result<Vec<Type>> {
    let mut types = Vec::new();
    add_row(&mut types, fields, None)?;
    Ok(types)
}

/// Whether there can be files with these columns.
pub(in crate::format::orc) fn check_columns(fields: &[DataField]) -> Result<()> {
    check_names(fields)?;
    types_of(fields).map(drop)
}

/// Java makes text of the columns that it asks a file for, with each name between backticks: of a name that has one itself it
/// reads nulls.
fn check_names(fields: &[DataField]) -> Result<()> {
    for field in fields {
        if field.name.contains('`') {
            return Err(Error::unsupported(format!("the name '{}' in ORC files", field.name))
                .with("column", &field.name)
                .hint("Java reads nulls under names with '`' there: rename the column, or use another 'file.format'"));
        }
        check_names_below(&field.data_type)?;
    }
    Ok(())
}

fn check_names_below(t: &DataType) -> Result<()> {
    match &t.kind {
        TypeKind::Row(fields) => check_names(fields),
        TypeKind::Array(element) | TypeKind::Multiset(element) => check_names_below(element),
        TypeKind::Map(key, value) => check_names_below(key).and_then(|()| check_names_below(value)),
        _ => Ok(()),
    }
}

/// As a message of the footer.
pub(super) fn message(t: &Type) -> MessageWriter {
    let mut out = MessageWriter::default();
    out.number(1, t.kind.number());
    if !t.children.is_empty() {
        out.packed(2, t.children.iter().map(|child| *child as u64));
    }
    for name in &t.names {
        out.bytes(3, name.as_bytes());
    }
    if let Some(length) = t.length {
        out.number(4, u64::from(length));
    }
    if let Some((precision, scale)) = t.decimal {
        out.number(5, u64::from(precision)).number(6, u64::from(scale));
    }
    if let Some(id) = t.id {
        let mut pair = MessageWriter::default();
        pair.bytes(1, b"paimon.id").bytes(2, id.to_string().as_bytes());
        out.message(7, &pair);
    }
    out
}

fn add(types: &mut Vec<Type>, kind: Kind, id: Option<i32>) -> usize {
    types.push(Type { kind, children: Vec::new(), names: Vec::new(), length: None, decimal: None, id });
    types.len() - 1
}

fn add_row(types: &mut Vec<Type>, fields: &[DataField], id: Option<i32>) -> Result<usize> {
    let row = add(types, Kind::Struct, id);
    for field in fields {
        let child = add_type(types, &field.data_type, field.id, At::field(field.id))
            .map_err(|e| if e.context_value("column").is_some() { e } else { e.with("column", &field.name) })?;
        if let Some(row) = types.get_mut(row) {
            row.children.push(child);
            row.names.push(field.name.clone());
        }
    }
    Ok(row)
}

fn add_type(types: &mut Vec<Type>, t: &DataType, id: i32, at: At) -> Result<usize> {
    let kind = match &t.kind {
        TypeKind::Row(fields) => return add_row(types, fields, Some(id)),
        TypeKind::Array(element) => {
            let below = at.down();
            return add_nested(types, Kind::List, id, &[(element.as_ref(), below.value_id())], below);
        }
        TypeKind::Map(key, value) => {
            let below = at.down();
            let sides = [(key.as_ref(), below.key_id()), (value.as_ref(), below.value_id())];
            return add_nested(types, Kind::Map, id, &sides, below);
        }
        TypeKind::Multiset(element) => {
            let (below, count) = (at.down(), DataType::not_null(TypeKind::Int));
            let sides = [(element.as_ref(), below.key_id()), (&count, below.value_id())];
            return add_nested(types, Kind::Map, id, &sides, below);
        }
        TypeKind::Boolean => Kind::Boolean,
        TypeKind::TinyInt => Kind::Byte,
        TypeKind::SmallInt => Kind::Short,
        TypeKind::Int | TypeKind::Time(_) => Kind::Int,
        TypeKind::BigInt => Kind::Long,
        TypeKind::Float => Kind::Float,
        TypeKind::Double => Kind::Double,
        TypeKind::Date => Kind::Date,
        TypeKind::Char(_) => Kind::Char,
        TypeKind::VarChar(length) if *length < MAX_LENGTH => Kind::Varchar,
        TypeKind::VarChar(_) => Kind::String,
        TypeKind::Binary(_) | TypeKind::VarBinary(_) => Kind::Binary,
        TypeKind::Decimal { .. } => Kind::Decimal,
        TypeKind::Timestamp(_) => Kind::Timestamp,
        TypeKind::LocalZonedTimestamp(_) => Kind::TimestampInstant,
        TypeKind::Variant | TypeKind::Blob | TypeKind::Vector(..) => {
            return Err(Error::unsupported(format!("the type {} in ORC files", t.kind)).hint("leave the column out"));
        }
    };
    let added = add(types, kind, Some(id));
    if let Some(made) = types.get_mut(added) {
        match &t.kind {
            TypeKind::Char(length) => made.length = Some(*length),
            TypeKind::VarChar(length) if *length < MAX_LENGTH => made.length = Some(*length),
            TypeKind::Decimal { precision, scale } => made.decimal = Some((*precision, *scale)),
            _ => {}
        }
    }
    Ok(added)
}

fn add_nested(types: &mut Vec<Type>, kind: Kind, id: i32, children: &[(&DataType, i32)], at: At) -> Result<usize> {
    let nested = add(types, kind, Some(id));
    for (child, id) in children {
        let child = add_type(types, child, *id, at)?;
        if let Some(nested) = types.get_mut(nested) {
            nested.children.push(child);
        }
    }
    Ok(nested)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ErrorKind, types::parse_type};

    /// Of our files and of its own, Java reads nulls under such a name and says nothing.
    #[test]
    fn names_with_backticks_are_refused_at_any_depth() {
        let column = |name: &str, kind: &str| [DataField::new(0, name, parse_type(kind).unwrap())];
        check_columns(&column("a\"b'c", "ROW<x INT>")).unwrap();
        for fields in [
            column("a`b", "INT"),
            column("a", "ROW<`x``y` INT>"),
            column("a", "ARRAY<ROW<`x``y` INT>>"),
            column("a", "MAP<STRING, ROW<`x``y` INT>>"),
        ] {
            let error = check_columns(&fields).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::UnsupportedFeature, "{error}");
            assert!(error.context_value("column").is_some_and(|name| name.contains('`')), "{error}");
        }
    }
}
