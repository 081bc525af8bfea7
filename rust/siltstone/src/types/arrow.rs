//! Paimon type to Arrow type (`decisions.md`, "Types at the border").

use std::sync::Arc;

use arrow_schema::{DataType as Arrow, Field, Fields, Schema, SchemaRef, TimeUnit};

use super::{DataField, DataType, TypeKind};
use crate::error::{Error, ErrorKind, Result};

/// The Arrow type that values of `t` have in every batch of this crate.
pub fn arrow_type(t: &DataType) -> Result<Arrow> {
    Ok(match &t.kind {
        TypeKind::Char(_) | TypeKind::VarChar(_) => Arrow::Utf8,
        TypeKind::Variant => variant_type(),
        TypeKind::Boolean => Arrow::Boolean,
        TypeKind::Binary(_) | TypeKind::VarBinary(_) | TypeKind::Blob => Arrow::Binary,
        TypeKind::Decimal { precision, scale } => {
            let scale = i8::try_from(*scale)
                .map_err(|e| Error::new(ErrorKind::UnsupportedType, "decimal scale").caused_by(e))?;
            Arrow::Decimal128(*precision, scale)
        }
        TypeKind::TinyInt => Arrow::Int8,
        TypeKind::SmallInt => Arrow::Int16,
        TypeKind::Int => Arrow::Int32,
        TypeKind::BigInt => Arrow::Int64,
        TypeKind::Float => Arrow::Float32,
        TypeKind::Double => Arrow::Float64,
        TypeKind::Date => Arrow::Date32,
        TypeKind::Time(_) => Arrow::Time32(TimeUnit::Millisecond),
        TypeKind::Timestamp(p) => Arrow::Timestamp(time_unit(*p), None),
        TypeKind::LocalZonedTimestamp(p) => Arrow::Timestamp(time_unit(*p), Some("UTC".into())),
        TypeKind::Array(e) => Arrow::List(Arc::new(Field::new("element", arrow_type(e)?, e.nullable))),
        TypeKind::Map(k, v) => map_type(k, v)?,
        TypeKind::Multiset(e) => map_type(e, &DataType::not_null(TypeKind::Int))?,
        TypeKind::Row(fields) => Arrow::Struct(arrow_fields(fields)?),
        TypeKind::Vector(..) => return Err(Error::unsupported("the type VECTOR")),
    })
}

/// Key of the metadata that tells the fields of a VARIANT from those of a ROW.
const VARIANT_FIELD: &str = "siltstone.variant";

/// The two binaries of a VARIANT. Users get another form of them (`variant::shown`).
pub fn variant_type() -> Arrow {
    let field = |name: &str| {
        let of_variant = [(VARIANT_FIELD.to_owned(), name.to_owned())];
        Field::new(name, Arrow::Binary, false).with_metadata(of_variant.into())
    };
    Arrow::Struct(Fields::from_iter(["value", "metadata"].map(field)))
}

/// Whether an Arrow type is [`variant_type`].
pub fn is_variant(t: &Arrow) -> bool {
    match t {
        Arrow::Struct(fields) => fields.iter().any(|field| field.metadata().contains_key(VARIANT_FIELD)),
        _ => false,
    }
}

/// Whether an Arrow type is one, or has one in it.
pub fn holds_variant(t: &Arrow) -> bool {
    let held = |field: &Field| holds_variant(field.data_type());
    is_variant(t)
        || match t {
            Arrow::Struct(fields) => fields.iter().any(|field| held(field)),
            Arrow::List(inner)
            | Arrow::LargeList(inner)
            | Arrow::ListView(inner)
            | Arrow::LargeListView(inner)
            | Arrow::FixedSizeList(inner, _)
            | Arrow::Map(inner, _)
            | Arrow::RunEndEncoded(_, inner) => held(inner),
            Arrow::Dictionary(_, values) => holds_variant(values),
            _ => false,
        }
}

/// The Arrow schema of a list of fields, in their order.
pub fn arrow_schema(fields: &[DataField]) -> Result<SchemaRef> {
    Ok(Arc::new(Schema::new(arrow_fields(fields)?)))
}

fn arrow_fields(fields: &[DataField]) -> Result<Fields> {
    fields
        .iter()
        .map(|f| {
            let t = arrow_type(&f.data_type).map_err(|e| e.with("column", &f.name))?;
            Ok(Field::new(&f.name, t, f.data_type.nullable))
        })
        .collect()
}

fn map_type(key: &DataType, value: &DataType) -> Result<Arrow> {
    let entries = Fields::from(vec![
        Field::new("key", arrow_type(key)?, false),
        Field::new("value", arrow_type(value)?, value.nullable),
    ]);
    Ok(Arrow::Map(Arc::new(Field::new("entries", Arrow::Struct(entries), false)), false))
}

fn time_unit(precision: u8) -> TimeUnit {
    match precision {
        0 => TimeUnit::Second,
        1..=3 => TimeUnit::Millisecond,
        4..=6 => TimeUnit::Microsecond,
        _ => TimeUnit::Nanosecond,
    }
}
