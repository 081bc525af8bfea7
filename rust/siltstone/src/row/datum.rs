//! One value of one column, outside of Arrow: partition values, statistics, predicate literals.

/// A value; which variant belongs to which type is format chapter 5.1.
#[derive(Clone, Debug, PartialEq)]
pub enum Datum {
    /// SQL NULL.
    Null,
    /// BOOLEAN
    Boolean(bool),
    /// TINYINT
    TinyInt(i8),
    /// SMALLINT
    SmallInt(i16),
    /// INT
    Int(i32),
    /// BIGINT
    BigInt(i64),
    /// FLOAT
    Float(f32),
    /// DOUBLE
    Double(f64),
    /// DECIMAL: unscaled value; precision and scale come from the type.
    Decimal(i128),
    /// CHAR, VARCHAR, STRING
    String(String),
    /// BINARY, VARBINARY, BYTES
    Bytes(Vec<u8>),
    /// DATE: days since 1970-01-01
    Date(i32),
    /// TIME: milliseconds of the day
    Time(i32),
    /// TIMESTAMP and TIMESTAMP_LTZ of any precision.
    Timestamp {
        /// Milliseconds since 1970-01-01T00:00:00 (UTC for LTZ), rounded down.
        millis: i64,
        /// 0 to 999,999.
        nanos_of_milli: i32,
    },
    /// ARRAY, MAP, MULTISET, ROW: the binary form, undecoded.
    Nested(Vec<u8>),
}

impl Datum {
    /// Bytes that the value keeps in memory of its own.
    pub(crate) fn owned_bytes(&self) -> usize {
        match self {
            Self::String(text) => text.len(),
            Self::Bytes(bytes) | Self::Nested(bytes) => bytes.len(),
            _ => 0,
        }
    }

    /// Whether this is NULL.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }
}
