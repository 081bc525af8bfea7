//! A type as SQL text, for messages and for the atomic types of schema JSON.

use std::fmt;

use super::{DataType, MAX_LENGTH, TypeKind};

impl fmt::Display for DataType {
    /// The canonical SQL text, as Java writes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.kind, if self.nullable { "" } else { " NOT NULL" })
    }
}

impl fmt::Display for TypeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Char(n) => write!(f, "CHAR({n})"),
            Self::VarChar(MAX_LENGTH) => f.write_str("STRING"),
            Self::VarChar(n) => write!(f, "VARCHAR({n})"),
            Self::Boolean => f.write_str("BOOLEAN"),
            Self::Binary(n) => write!(f, "BINARY({n})"),
            Self::VarBinary(MAX_LENGTH) => f.write_str("BYTES"),
            Self::VarBinary(n) => write!(f, "VARBINARY({n})"),
            Self::Decimal { precision, scale } => write!(f, "DECIMAL({precision}, {scale})"),
            Self::TinyInt => f.write_str("TINYINT"),
            Self::SmallInt => f.write_str("SMALLINT"),
            Self::Int => f.write_str("INT"),
            Self::BigInt => f.write_str("BIGINT"),
            Self::Float => f.write_str("FLOAT"),
            Self::Double => f.write_str("DOUBLE"),
            Self::Date => f.write_str("DATE"),
            Self::Time(p) => write!(f, "TIME({p})"),
            Self::Timestamp(p) => write!(f, "TIMESTAMP({p})"),
            Self::LocalZonedTimestamp(p) => write!(f, "TIMESTAMP({p}) WITH LOCAL TIME ZONE"),
            Self::Variant => f.write_str("VARIANT"),
            Self::Blob => f.write_str("BLOB"),
            Self::Array(e) => write!(f, "ARRAY<{e}>"),
            Self::Multiset(e) => write!(f, "MULTISET<{e}>"),
            Self::Map(k, v) => write!(f, "MAP<{k}, {v}>"),
            Self::Vector(e, n) => write!(f, "VECTOR<{e}, {n}>"),
            Self::Row(fields) => {
                f.write_str("ROW<")?;
                for (i, field) in fields.iter().enumerate() {
                    let comma = if i > 0 { ", " } else { "" };
                    write!(f, "{comma}`{}` {}", field.name.replace('`', "``"), field.data_type)?;
                    if let Some(comment) = &field.description {
                        write!(f, " '{}'", comment.replace('\'', "''"))?;
                    }
                }
                f.write_str(">")
            }
        }
    }
}
