//! Arrow type to Paimon type, for tables that are created from an Arrow schema.

use arrow_schema::{DataType as Arrow, Field, TimeUnit};

use super::{DataField, DataType, MAX_LENGTH, TypeKind, is_variant};
use crate::error::{Error, ErrorKind, Result};

/// Name of Arrow's canonical extension type for values of the Variant encoding.
const VARIANT_EXTENSION: &str = "arrow.parquet.variant";

/// The Paimon type of an Arrow field: the narrowest that holds every value.
///
/// Unsigned integers widen (`uint32` becomes BIGINT, `uint64` DECIMAL(20, 0)); nested fields get id 0 and are
/// numbered when the table is created.
pub fn data_type_from_arrow(field: &Field) -> Result<DataType> {
    let kind = match field.extension_type_name() {
        Some(VARIANT_EXTENSION) => TypeKind::Variant,
        _ => kind_from_arrow(field.data_type()).map_err(|e| e.with("column", field.name()))?,
    };
    Ok(DataType { kind, nullable: field.is_nullable() })
}

fn kind_from_arrow(t: &Arrow) -> Result<TypeKind> {
    Ok(match t {
        Arrow::Boolean => TypeKind::Boolean,
        Arrow::Int8 => TypeKind::TinyInt,
        Arrow::Int16 | Arrow::UInt8 => TypeKind::SmallInt,
        Arrow::Int32 | Arrow::UInt16 => TypeKind::Int,
        Arrow::Int64 | Arrow::UInt32 => TypeKind::BigInt,
        Arrow::UInt64 => TypeKind::Decimal { precision: 20, scale: 0 },
        Arrow::Float16 | Arrow::Float32 => TypeKind::Float,
        Arrow::Float64 => TypeKind::Double,
        Arrow::Utf8 | Arrow::LargeUtf8 | Arrow::Utf8View => TypeKind::VarChar(MAX_LENGTH),
        Arrow::Binary | Arrow::LargeBinary | Arrow::BinaryView => TypeKind::VarBinary(MAX_LENGTH),
        Arrow::FixedSizeBinary(n) => TypeKind::Binary(u32::try_from(*n).unwrap_or(1)),
        Arrow::Date32 | Arrow::Date64 => TypeKind::Date,
        Arrow::Time32(unit) | Arrow::Time64(unit) => TypeKind::Time(digits(*unit).min(3)),
        Arrow::Timestamp(unit, None) => TypeKind::Timestamp(digits(*unit)),
        Arrow::Timestamp(unit, Some(_)) => TypeKind::LocalZonedTimestamp(digits(*unit)),
        Arrow::Decimal32(p, s) | Arrow::Decimal64(p, s) | Arrow::Decimal128(p, s) | Arrow::Decimal256(p, s) => {
            decimal(*p, *s)?
        }
        Arrow::Dictionary(_, values) => kind_from_arrow(values)?,
        Arrow::RunEndEncoded(_, values) => kind_from_arrow(values.data_type())?,
        Arrow::List(e)
        | Arrow::LargeList(e)
        | Arrow::FixedSizeList(e, _)
        | Arrow::ListView(e)
        | Arrow::LargeListView(e) => TypeKind::Array(Box::new(data_type_from_arrow(e)?)),
        Arrow::Map(entries, _) => map(entries)?,
        stored if is_variant(stored) => TypeKind::Variant,
        Arrow::Struct(fields) => TypeKind::Row(
            fields.iter().map(|f| Ok(DataField::new(0, f.name(), data_type_from_arrow(f)?))).collect::<Result<_>>()?,
        ),
        other => {
            return Err(Error::new(
                ErrorKind::UnsupportedType,
                format!("the Arrow type {other} has no counterpart in Paimon"),
            )
            .hint("cast the column, or give the schema in Paimon's SQL types"));
        }
    })
}

fn decimal(precision: u8, scale: i8) -> Result<TypeKind> {
    match u8::try_from(scale) {
        Ok(scale) if precision <= 38 && scale <= precision => Ok(TypeKind::Decimal { precision, scale }),
        _ => Err(Error::new(
            ErrorKind::UnsupportedType,
            format!("DECIMAL({precision}, {scale}) does not exist in Paimon: at most 38 digits, scale 0 to precision"),
        )),
    }
}

fn map(entries: &Field) -> Result<TypeKind> {
    match entries.data_type() {
        Arrow::Struct(fields) => match fields.iter().collect::<Vec<_>>().as_slice() {
            [key, value] => {
                Ok(TypeKind::Map(Box::new(data_type_from_arrow(key)?), Box::new(data_type_from_arrow(value)?)))
            }
            _ => Err(Error::new(ErrorKind::UnsupportedType, "a map needs a key and a value")),
        },
        other => Err(Error::new(ErrorKind::UnsupportedType, format!("a map of {other} is not a map"))),
    }
}

fn digits(unit: TimeUnit) -> u8 {
    match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 3,
        TimeUnit::Microsecond => 6,
        TimeUnit::Nanosecond => 9,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::arrow_type;

    #[test]
    fn types_survive_the_way_to_arrow_and_back() {
        for kind in [
            TypeKind::Boolean,
            TypeKind::TinyInt,
            TypeKind::SmallInt,
            TypeKind::Int,
            TypeKind::BigInt,
            TypeKind::Float,
            TypeKind::Double,
            TypeKind::Date,
            TypeKind::Time(3),
            TypeKind::Timestamp(0),
            TypeKind::Timestamp(3),
            TypeKind::LocalZonedTimestamp(6),
            TypeKind::Timestamp(9),
            TypeKind::Decimal { precision: 38, scale: 10 },
            TypeKind::VarChar(MAX_LENGTH),
            TypeKind::VarBinary(MAX_LENGTH),
            TypeKind::Array(Box::new(DataType::new(TypeKind::Int))),
            TypeKind::Map(Box::new(DataType::not_null(TypeKind::Int)), Box::new(DataType::new(TypeKind::Date))),
            TypeKind::Row(vec![DataField::new(0, "x", DataType::not_null(TypeKind::Int))]),
        ] {
            let t = DataType::new(kind);
            let field = Field::new("c", arrow_type(&t).unwrap(), true);
            assert_eq!(data_type_from_arrow(&field).unwrap(), t);
        }
    }
}
