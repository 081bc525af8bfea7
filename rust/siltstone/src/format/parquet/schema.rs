//! Paimon fields as a Parquet schema: names, repetition, annotations and field ids exactly as Java writes them.
//!
//! Source: format chapters 7.4 and 7.5; `ParquetSchemaConverter`, `SpecialFields`.

use std::sync::Arc;

use parquet::{
    basic::{LogicalType, Repetition, TimeUnit, Type as Physical},
    errors::ParquetError,
    schema::types::{SchemaDescriptor, Type, TypePtr},
};

use crate::{
    error::{Error, ErrorKind, Result},
    format::nested_ids::At,
    types::{DataField, DataType, MAX_LENGTH, TypeKind},
};

/// Name of the root group.
const MESSAGE_NAME: &str = "paimon_schema";

/// How timestamps of more than six digits appear in the schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Int96As {
    /// INT96, as files say.
    Int96,
    /// FIXED_LEN_BYTE_ARRAY(12), as our encoder and decoder handle the same bytes.
    Fixed,
}

/// The schema of a data file with these columns.
pub fn parquet_schema(fields: &[DataField]) -> Result<SchemaDescriptor> {
    schema_with(fields, Int96As::Int96)
}

pub(crate) fn schema_with(fields: &[DataField], int96: Int96As) -> Result<SchemaDescriptor> {
    let columns = fields
        .iter()
        .map(|f| node(&f.name, &f.data_type, f.id, At::field(f.id), int96).map_err(|e| e.with("column", &f.name)))
        .collect::<Result<Vec<_>>>()?;
    let root = Type::group_type_builder(MESSAGE_NAME).with_fields(columns).build().map_err(invalid)?;
    Ok(SchemaDescriptor::new(Arc::new(root)))
}

/// A file's schema with INT96 leaves as fixed bytes; `None` when there are none.
pub(crate) fn without_int96(schema: &SchemaDescriptor) -> Result<Option<SchemaDescriptor>> {
    if schema.columns().iter().all(|c| c.physical_type() != Physical::INT96) {
        return Ok(None);
    }
    let root = schema.root_schema();
    let children = root.get_fields().iter().map(fixed_bytes).collect::<Result<Vec<_>>>()?;
    let root = Type::group_type_builder(root.name()).with_fields(children).build().map_err(invalid)?;
    Ok(Some(SchemaDescriptor::new(Arc::new(root))))
}

fn fixed_bytes(node: &TypePtr) -> Result<TypePtr> {
    let info = node.get_basic_info();
    let id = info.has_id().then(|| info.id());
    if node.is_group() {
        let children = node.get_fields().iter().map(fixed_bytes).collect::<Result<Vec<_>>>()?;
        return Type::group_type_builder(node.name())
            .with_id(id)
            .with_repetition(info.repetition())
            .with_converted_type(info.converted_type())
            .with_logical_type(info.logical_type_ref().cloned())
            .with_fields(children)
            .build()
            .map(Arc::new)
            .map_err(invalid);
    }
    if node.get_physical_type() != Physical::INT96 {
        return Ok(Arc::clone(node));
    }
    Type::primitive_type_builder(node.name(), Physical::FIXED_LEN_BYTE_ARRAY)
        .with_id(id)
        .with_repetition(info.repetition())
        .with_length(12)
        .build()
        .map(Arc::new)
        .map_err(invalid)
}

fn invalid(e: ParquetError) -> Error {
    Error::new(ErrorKind::Internal, "cannot build the Parquet schema").caused_by(e)
}

fn node(name: &str, t: &DataType, id: i32, at: At, int96: Int96As) -> Result<TypePtr> {
    let repetition = if t.nullable { Repetition::OPTIONAL } else { Repetition::REQUIRED };
    let built = match &t.kind {
        TypeKind::Array(element) => {
            let below = at.down();
            let element = node("element", element, below.value_id(), below, int96)?;
            annotated(name, id, repetition, LogicalType::List, "list", vec![element])?
        }
        TypeKind::Map(key, value) => map(name, id, repetition, key, value, at, int96)?,
        TypeKind::Multiset(element) => {
            let count = DataType::not_null(TypeKind::Int);
            map(name, id, repetition, element, &count, at, int96)?
        }
        TypeKind::Row(fields) => {
            let children = fields
                .iter()
                .map(|f| node(&f.name, &f.data_type, f.id, At::field(f.id), int96))
                .collect::<Result<Vec<_>>>()?;
            group(name, Some(id), repetition, None, children)?
        }
        TypeKind::Variant => {
            let binary = |name, id| {
                leaf(name, &DataType::not_null(TypeKind::VarBinary(MAX_LENGTH)), id, Repetition::REQUIRED, int96)
            };
            let children = vec![Arc::new(binary("value", 0)?), Arc::new(binary("metadata", 1)?)];
            group(name, Some(id), repetition, None, children)?
        }
        _ => leaf(name, t, id, repetition, int96)?,
    };
    Ok(Arc::new(built))
}

fn map(
    name: &str,
    id: i32,
    repetition: Repetition,
    key: &DataType,
    value: &DataType,
    at: At,
    int96: Int96As,
) -> Result<Type> {
    let below = at.down();
    let key = node("key", &key.clone().with_nullable(false), below.key_id(), below, int96)?;
    let value = node("value", value, below.value_id(), below, int96)?;
    annotated(name, id, repetition, LogicalType::Map, "key_value", vec![key, value])
}

/// `group name (annotation) { repeated group middle { children } }`
fn annotated(
    name: &str,
    id: i32,
    repetition: Repetition,
    annotation: LogicalType,
    middle: &str,
    children: Vec<TypePtr>,
) -> Result<Type> {
    let middle = group(middle, None, Repetition::REPEATED, None, children)?;
    group(name, Some(id), repetition, Some(annotation), vec![Arc::new(middle)])
}

fn group(
    name: &str,
    id: Option<i32>,
    repetition: Repetition,
    annotation: Option<LogicalType>,
    children: Vec<TypePtr>,
) -> Result<Type> {
    Type::group_type_builder(name)
        .with_id(id)
        .with_repetition(repetition)
        .with_logical_type(annotation)
        .with_fields(children)
        .build()
        .map_err(invalid)
}

fn leaf(name: &str, t: &DataType, id: i32, repetition: Repetition, int96: Int96As) -> Result<Type> {
    let Leaf { physical, annotation, length, decimal } = leaf_layout(t, int96)?;
    let mut builder = Type::primitive_type_builder(name, physical)
        .with_id(Some(id))
        .with_repetition(repetition)
        .with_length(length)
        .with_logical_type(annotation);
    if let Some((precision, scale)) = decimal {
        builder = builder.with_precision(precision).with_scale(scale);
    }
    builder.build().map_err(invalid)
}

struct Leaf {
    physical: Physical,
    annotation: Option<LogicalType>,
    length: i32,
    decimal: Option<(i32, i32)>,
}

impl Leaf {
    fn plain(physical: Physical) -> Self {
        Self { physical, annotation: None, length: -1, decimal: None }
    }

    fn annotated(physical: Physical, annotation: LogicalType) -> Self {
        Self { annotation: Some(annotation), ..Self::plain(physical) }
    }
}

fn leaf_layout(t: &DataType, int96: Int96As) -> Result<Leaf> {
    Ok(match &t.kind {
        TypeKind::Char(_) | TypeKind::VarChar(_) => Leaf::annotated(Physical::BYTE_ARRAY, LogicalType::String),
        TypeKind::Boolean => Leaf::plain(Physical::BOOLEAN),
        TypeKind::Binary(_) | TypeKind::VarBinary(_) => Leaf::plain(Physical::BYTE_ARRAY),
        TypeKind::Decimal { precision, scale } => decimal(*precision, *scale),
        TypeKind::TinyInt => Leaf::annotated(Physical::INT32, LogicalType::integer(8, true)),
        TypeKind::SmallInt => Leaf::annotated(Physical::INT32, LogicalType::integer(16, true)),
        TypeKind::Int => Leaf::plain(Physical::INT32),
        TypeKind::BigInt => Leaf::plain(Physical::INT64),
        TypeKind::Float => Leaf::plain(Physical::FLOAT),
        TypeKind::Double => Leaf::plain(Physical::DOUBLE),
        TypeKind::Date => Leaf::annotated(Physical::INT32, LogicalType::Date),
        TypeKind::Time(_) => Leaf::annotated(Physical::INT32, LogicalType::time(true, TimeUnit::MILLIS)),
        TypeKind::Timestamp(p) => timestamp(*p, false, int96),
        TypeKind::LocalZonedTimestamp(p) => timestamp(*p, true, int96),
        TypeKind::Blob => return Err(Error::unsupported("the type BLOB")),
        TypeKind::Vector(..) => return Err(Error::unsupported("the type VECTOR")),
        TypeKind::Array(_) | TypeKind::Multiset(_) | TypeKind::Map(..) | TypeKind::Row(_) | TypeKind::Variant => {
            return Err(Error::new(ErrorKind::Internal, "a nested type is not a leaf"));
        }
    })
}

fn decimal(precision: u8, scale: u8) -> Leaf {
    let (p, s) = (i32::from(precision), i32::from(scale));
    let (physical, length) = match precision {
        0..=9 => (Physical::INT32, -1),
        10..=18 => (Physical::INT64, -1),
        _ => (Physical::FIXED_LEN_BYTE_ARRAY, decimal_bytes(precision)),
    };
    Leaf { physical, annotation: Some(LogicalType::decimal(s, p)), length, decimal: Some((p, s)) }
}

/// The smallest k with 2^(8k-1) >= 10^precision.
fn decimal_bytes(precision: u8) -> i32 {
    let largest = 10_u128.saturating_pow(u32::from(precision));
    (1..=16).find(|k| 1_u128 << (8 * k - 1) >= largest).unwrap_or(16)
}

fn timestamp(precision: u8, utc: bool, int96: Int96As) -> Leaf {
    match (precision, int96) {
        (0..=3, _) => Leaf::annotated(Physical::INT64, LogicalType::timestamp(utc, TimeUnit::MILLIS)),
        (4..=6, _) => Leaf::annotated(Physical::INT64, LogicalType::timestamp(utc, TimeUnit::MICROS)),
        (_, Int96As::Int96) => Leaf::plain(Physical::INT96),
        (_, Int96As::Fixed) => Leaf { length: 12, ..Leaf::plain(Physical::FIXED_LEN_BYTE_ARRAY) },
    }
}

#[cfg(test)]
mod tests {
    use parquet::schema::printer::print_schema;

    use super::*;

    fn field(id: i32, name: &str, kind: TypeKind) -> DataField {
        DataField::new(id, name, DataType::new(kind))
    }

    #[test]
    fn a_schema_has_the_names_ids_and_annotations_that_java_writes() {
        let text = || DataType::new(TypeKind::VarChar(crate::types::MAX_LENGTH));
        let fields = [
            DataField::new(1_073_741_823, "_KEY_k", DataType::not_null(TypeKind::Int)),
            crate::types::special::sequence_number(),
            crate::types::special::value_kind(),
            field(3, "dec", TypeKind::Decimal { precision: 20, scale: 2 }),
            field(4, "ts3", TypeKind::Timestamp(3)),
            field(6, "ts9", TypeKind::Timestamp(9)),
            field(7, "ltz", TypeKind::LocalZonedTimestamp(6)),
            field(8, "arr", TypeKind::Array(Box::new(DataType::new(TypeKind::Int)))),
            field(
                9,
                "mp",
                TypeKind::Map(
                    Box::new(text()),
                    Box::new(DataType::new(TypeKind::Array(Box::new(DataType::new(TypeKind::BigInt))))),
                ),
            ),
            field(10, "r", TypeKind::Row(vec![field(11, "x", TypeKind::Int), DataField::new(12, "y", text())])),
        ];
        let mut printed = Vec::new();
        print_schema(&mut printed, parquet_schema(&fields).unwrap().root_schema());
        let printed = String::from_utf8(printed).unwrap();
        for line in [
            "message paimon_schema {",
            "REQUIRED INT32 _KEY_k [1073741823];",
            "REQUIRED INT64 _SEQUENCE_NUMBER [2147483646];",
            "REQUIRED INT32 _VALUE_KIND [2147483645] (INTEGER(8,true));",
            "OPTIONAL FIXED_LEN_BYTE_ARRAY (9) dec [3] (DECIMAL(20,2));",
            "OPTIONAL INT64 ts3 [4] (TIMESTAMP(MILLIS,false));",
            "OPTIONAL INT96 ts9 [6];",
            "OPTIONAL INT64 ltz [7] (TIMESTAMP(MICROS,true));",
            "OPTIONAL group arr [8] (LIST) {",
            "OPTIONAL INT32 element [536879104];",
            "REPEATED group key_value {",
            "REQUIRED BYTE_ARRAY key [536861694] (STRING);",
            "OPTIONAL group value [536880128] (LIST) {",
            "OPTIONAL INT64 element [536880129];",
            "OPTIONAL INT32 x [11];",
        ] {
            assert!(printed.contains(line), "no `{line}` in\n{printed}");
        }
    }

    #[test]
    fn decimals_of_many_digits_take_the_fewest_bytes() {
        let bytes: Vec<i32> = [19, 20, 21, 28, 38].into_iter().map(decimal_bytes).collect();
        assert_eq!(bytes, [9, 9, 9, 12, 16]);
    }
}
