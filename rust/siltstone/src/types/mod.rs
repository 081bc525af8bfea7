//! Paimon's data types, their text and JSON form, and their Arrow counterparts.
//!
//! Source: format chapter 2.3; `org.apache.paimon.types`. The Arrow mapping is the project's own
//! (`decisions.md`, "Types at the border").

mod arrow;
mod carried;
mod display;
mod from_arrow;
mod json;
mod parse;

pub use arrow::{arrow_schema, arrow_type, holds_variant, is_variant, variant_type};
pub(crate) use carried::too_deep;
pub use carried::{MAX_NESTING, check_carried};
pub use from_arrow::data_type_from_arrow;
pub use json::fields_from_json;
pub use parse::parse_type;

/// The largest length of CHAR, VARCHAR, BINARY and VARBINARY; a VARCHAR of it is written STRING.
pub const MAX_LENGTH: u32 = 2_147_483_647;

/// A type and whether null is allowed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DataType {
    /// What values look like.
    pub kind: TypeKind,
    /// Whether null is a value.
    pub nullable: bool,
}

/// The shape of a type, without nullability.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TypeKind {
    /// Text of at most n characters; never padded.
    Char(u32),
    /// Text of at most n characters; `MAX_LENGTH` is STRING.
    VarChar(u32),
    /// true or false.
    Boolean,
    /// Bytes, at most n.
    Binary(u32),
    /// Bytes, at most n; `MAX_LENGTH` is BYTES.
    VarBinary(u32),
    /// Exact number with `precision` digits, `scale` of them after the point.
    Decimal {
        /// 1 to 38.
        precision: u8,
        /// 0 to `precision`.
        scale: u8,
    },
    /// i8
    TinyInt,
    /// i16
    SmallInt,
    /// i32
    Int,
    /// i64
    BigInt,
    /// f32
    Float,
    /// f64
    Double,
    /// Days since 1970-01-01.
    Date,
    /// Milliseconds of the day, whatever the precision.
    Time(u8),
    /// Wall-clock time with this many fraction digits.
    Timestamp(u8),
    /// Instant with this many fraction digits.
    LocalZonedTimestamp(u8),
    /// Semi-structured value.
    Variant,
    /// Large binary object in its own file.
    Blob,
    /// List of elements.
    Array(Box<DataType>),
    /// Bag: element to count.
    Multiset(Box<DataType>),
    /// Key to value.
    Map(Box<DataType>, Box<DataType>),
    /// Nested row.
    Row(Vec<DataField>),
    /// Fixed-length list of numbers.
    Vector(Box<DataType>, u32),
}

/// A named, numbered column or nested field.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DataField {
    /// Unique in the table's whole schema, never reused.
    pub id: i32,
    /// Name.
    pub name: String,
    /// Type.
    pub data_type: DataType,
    /// Comment.
    pub description: Option<String>,
    /// Value written for null, as text.
    pub default_value: Option<String>,
}

impl DataType {
    /// A nullable type.
    pub fn new(kind: TypeKind) -> Self {
        Self { kind, nullable: true }
    }

    /// A NOT NULL type.
    pub fn not_null(kind: TypeKind) -> Self {
        Self { kind, nullable: false }
    }

    /// The same type with the given nullability.
    #[must_use]
    pub fn with_nullable(mut self, nullable: bool) -> Self {
        self.nullable = nullable;
        self
    }

    /// Whether values can be compared, so that the type may be a sequence field's.
    pub fn has_order(&self) -> bool {
        match &self.kind {
            TypeKind::Variant | TypeKind::Blob | TypeKind::Vector(..) => false,
            TypeKind::Array(element) | TypeKind::Multiset(element) => element.has_order(),
            TypeKind::Map(key, value) => key.has_order() && value.has_order(),
            TypeKind::Row(fields) => fields.iter().all(|field| field.data_type.has_order()),
            _ => true,
        }
    }

    /// ARRAY, MAP, MULTISET, ROW, VARIANT, VECTOR: no statistics, no keys.
    pub fn is_nested(&self) -> bool {
        matches!(
            self.kind,
            TypeKind::Array(_)
                | TypeKind::Map(..)
                | TypeKind::Multiset(_)
                | TypeKind::Row(_)
                | TypeKind::Variant
                | TypeKind::Vector(..)
        )
    }
}

impl DataField {
    /// A field without comment and default.
    pub fn new(id: i32, name: impl Into<String>, data_type: DataType) -> Self {
        Self { id, name: name.into(), data_type, description: None, default_value: None }
    }
}

/// Ids and names of the columns that Paimon adds to files (`SpecialFields`).
pub mod special {
    use super::{DataField, DataType, TypeKind};

    /// Added to a column's id for its `_KEY_` copy.
    pub const KEY_ID_OFFSET: i32 = 1_073_741_823;
    /// Prefix of key columns.
    pub const KEY_PREFIX: &str = "_KEY_";
    /// Column name of the sequence number.
    pub const SEQUENCE_NUMBER: &str = "_SEQUENCE_NUMBER";
    /// Column name of the row kind.
    pub const VALUE_KIND: &str = "_VALUE_KIND";
    /// Field id of the sequence number.
    pub const SEQUENCE_NUMBER_ID: i32 = 2_147_483_646;
    /// Field id of the row kind.
    pub const VALUE_KIND_ID: i32 = 2_147_483_645;
    /// Column name of the id that a row keeps (row tracking).
    pub const ROW_ID: &str = "_ROW_ID";
    /// Field id of the row id.
    pub const ROW_ID_ID: i32 = 2_147_483_642;
    /// Column name of the physical row position; in memory only, never written.
    pub const POSITION: &str = "_POSITION";

    /// Whether a field id belongs to the columns that Paimon adds (`SpecialFields.isSystemField`): data files are read by field id.
    pub fn is_system_id(id: i32) -> bool {
        id >= KEY_ID_OFFSET
    }

    /// `_SEQUENCE_NUMBER BIGINT NOT NULL`
    pub fn sequence_number() -> DataField {
        DataField::new(SEQUENCE_NUMBER_ID, SEQUENCE_NUMBER, DataType::not_null(TypeKind::BigInt))
    }

    /// `_VALUE_KIND TINYINT NOT NULL`
    pub fn value_kind() -> DataField {
        DataField::new(VALUE_KIND_ID, VALUE_KIND, DataType::not_null(TypeKind::TinyInt))
    }

    /// `_ROW_ID BIGINT NOT NULL`
    pub fn row_id() -> DataField {
        DataField::new(ROW_ID_ID, ROW_ID, DataType::not_null(TypeKind::BigInt))
    }

    /// Whether a column says which row it is, or since when it is so (row tracking).
    pub fn is_tracking(field: &DataField) -> bool {
        matches!(field.id, ROW_ID_ID | SEQUENCE_NUMBER_ID)
    }

    /// The `_KEY_` copy of a column.
    pub fn key_field(field: &DataField) -> DataField {
        DataField::new(
            field.id.wrapping_add(KEY_ID_OFFSET),
            format!("{KEY_PREFIX}{}", field.name),
            field.data_type.clone(),
        )
    }
}
