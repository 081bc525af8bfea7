//! Which columns of a file are decoded, and as which Arrow types.

use std::{collections::HashSet, sync::Arc};

use arrow_schema::{DataType as Arrow, Field, Fields, Schema, SchemaRef, TimeUnit};
use orc_rust::{
    projection::ProjectionMask,
    schema::{DataType as OrcType, RootDataType},
};

use crate::types::{DataField, DataType, TypeKind};

/// The columns of the file that are decoded.
#[derive(Clone)]
pub(super) struct Projection {
    pub(super) root: RootDataType,
    /// As they are decoded.
    pub(super) schema: SchemaRef,
}

impl Projection {
    /// Those of these names; of columns of one name the first counts.
    pub(super) fn new(root: &RootDataType, wanted: &[&DataField]) -> Self {
        let mut seen = HashSet::new();
        let is_wanted = |name: &str| wanted.iter().any(|field| field.name == name);
        let chosen = root.children().iter().filter(|column| is_wanted(column.name()) && seen.insert(column.name()));
        let chosen: Vec<usize> = chosen.map(|column| column.data_type().column_index()).collect();
        let root = root.project(&ProjectionMask::roots(root, chosen));
        let fields = root.children().iter().map(|column| {
            let field = wanted.iter().find(|field| field.name == column.name());
            Field::new(column.name(), decoded_as(column.data_type(), field.map(|field| &field.data_type)), true)
        });
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        Self { root, schema }
    }

    /// The ORC type of a decoded column.
    pub(super) fn stored(&self, name: &str) -> Option<&OrcType> {
        self.root.children().iter().find(|column| column.name() == name).map(orc_rust::schema::NamedColumn::data_type)
    }
}

/// The Arrow type in which a column is decoded: moments in a unit that holds all digits of the wanted type.
fn decoded_as(stored: &OrcType, wanted: Option<&DataType>) -> Arrow {
    let kind = wanted.map(|wanted| &wanted.kind);
    match stored {
        OrcType::Timestamp { .. } => Arrow::Timestamp(unit(kind), None),
        OrcType::TimestampWithLocalTimezone { .. } => Arrow::Timestamp(unit(kind), Some("UTC".into())),
        OrcType::Struct { children, .. } => {
            let fields = children.iter().map(|child| {
                let wanted = match kind {
                    Some(TypeKind::Row(fields)) => fields.iter().find(|field| field.name == child.name()),
                    _ => None,
                };
                let wanted = wanted.map(|field| &field.data_type);
                Field::new(child.name(), decoded_as(child.data_type(), wanted), true)
            });
            Arrow::Struct(fields.collect())
        }
        OrcType::List { child, .. } => {
            let wanted = match kind {
                Some(TypeKind::Array(element)) => Some(element.as_ref()),
                _ => None,
            };
            Arrow::List(Arc::new(Field::new("item", decoded_as(child, wanted), true)))
        }
        OrcType::Map { key, value, .. } => {
            let (wanted_key, wanted_value) = match kind {
                Some(TypeKind::Map(key, value)) => (Some(key.as_ref()), Some(value.as_ref())),
                Some(TypeKind::Multiset(element)) => (Some(element.as_ref()), None),
                _ => (None, None),
            };
            let entries = Fields::from(vec![
                Field::new("keys", decoded_as(key, wanted_key), false),
                Field::new("values", decoded_as(value, wanted_value), true),
            ]);
            Arrow::Map(Arc::new(Field::new("entries", Arrow::Struct(entries), false)), false)
        }
        other => other.to_arrow_data_type(),
    }
}

fn unit(wanted: Option<&TypeKind>) -> TimeUnit {
    match wanted {
        Some(TypeKind::Timestamp(precision) | TypeKind::LocalZonedTimestamp(precision)) if *precision <= 3 => {
            TimeUnit::Millisecond
        }
        Some(TypeKind::Timestamp(precision) | TypeKind::LocalZonedTimestamp(precision)) if *precision > 6 => {
            TimeUnit::Nanosecond
        }
        _ => TimeUnit::Microsecond,
    }
}
