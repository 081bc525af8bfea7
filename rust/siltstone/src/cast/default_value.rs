//! The value that the default of a column stands for.
//!
//! Source: `DefaultValueUtils`. SQL engines store the default as it was written, texts in their quotes; Java takes the
//! quotes off and casts what is left as text of the unbounded type.

use super::{cast_datum, value::value_cast};
use crate::{
    error::{Error, ErrorKind, Result, shorten},
    row::Datum,
    types::{DataType, MAX_LENGTH, TypeKind},
};

/// The value that is written for null into a column of type `t` with this default. It is null where Java's cast gives
/// null: a DECIMAL that is too narrow.
///
/// # Errors
/// `InvalidArgument`: a text that Java's cast refuses; `UnsupportedFeature`: nested types.
pub fn default_value(text: &str, t: &DataType) -> Result<Datum> {
    let string = DataType::new(TypeKind::VarChar(MAX_LENGTH));
    if value_cast(&string.kind, &t.kind).is_none() {
        return Err(Error::unsupported(format!("a default value of the type {}", t.kind)));
    }
    let value = unquoted(text).and_then(|bare| cast_datum(Datum::String(bare.to_owned()), &string, t).ok());
    value.ok_or_else(|| {
        let message = format!("the default value '{}' is no value of the type {}", shorten(text), t.kind);
        Error::new(ErrorKind::InvalidArgument, message).hint("it is read as CAST reads a text of this type")
    })
}

/// The text without one pair of quotes around it; quotes inside stay as they are, also doubled ones. A quote alone is
/// no text.
fn unquoted(text: &str) -> Option<&str> {
    if text.starts_with('\'') && text.ends_with('\'') { text.get(1..)?.strip_suffix('\'') } else { Some(text) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        row::{datum_from_text, datum_to_text},
        types::parse_type,
    };

    fn shown(t: &str, default: &str) -> Option<String> {
        let t = parse_type(t).unwrap();
        default_value(default, &t).ok().map(|value| datum_to_text(&value, &t))
    }

    /// Each value is the one that Java wrote for null; `None` where it wrote nothing.
    #[test]
    fn a_default_is_the_value_that_java_writes_for_null() {
        for (t, default, written) in [
            ("TINYINT", "7.5", Some("7")),
            ("TINYINT", " 7 ", None),
            ("TINYINT", "128", None),
            ("INT", "'7'", Some("7")),
            ("INT", "-0.0", Some("0")),
            ("BIGINT", "1234.5", Some("1234")),
            ("BIGINT", "1e2", None),
            ("FLOAT", "inf", None),
            ("DOUBLE", "Infinity", Some("Infinity")),
            ("DECIMAL(5, 2)", "1.005", Some("1.01")),
            ("DECIMAL(5, 2)", " 7 ", None),
            ("DECIMAL(5, 2)", "99999999999", Some("null")),
            ("BOOLEAN", "yes", Some("true")),
            ("BOOLEAN", "on", None),
            ("STRING", "'x'", Some("x")),
            ("STRING", "'it''s'", Some("it''s")),
            ("STRING", "it's'", Some("it's'")),
            ("STRING", "''", Some("")),
            ("STRING", "'", None),
            ("CHAR(3)", "'x'", Some("x  ")),
            ("CHAR(3)", "🙂🙂", Some("🙂🙂 ")),
            ("CHAR(3)", "abcd", Some("abc")),
            ("VARCHAR(3)", "1234", Some("123")),
            ("BYTES", "'x'", Some("x")),
            ("BINARY(2)", "'x'", Some("x\0")),
            ("BINARY(2)", "0x0a", Some("0x")),
            ("DATE", " 7 ", Some("0007-01-01")),
            ("DATE", "'2024-01-01'", Some("2024-01-01")),
            ("DATE", "2024-02-29T01:02:03.1239", None),
            ("TIME(3)", " 7 ", Some("07:00:00.0")),
            ("TIME(3)", "12:00:00.0009", Some("12:00:00.001")),
            ("TIMESTAMP(0)", "1709164800", Some("2024-02-29 00:00:00")),
            ("TIMESTAMP(3)", "1709164800", Some("1970-01-20 18:46:04.800")),
            ("TIMESTAMP(3)", "2024-02-30", Some("2024-02-29 00:00:00.000")),
            ("TIMESTAMP(3)", " 7 ", None),
            ("TIMESTAMP(3)", "2024-02-29T01:02:03.1239", None),
            ("TIMESTAMP(9)", "1709164800", Some("1970-01-01 00:00:01.709164800")),
            ("TIMESTAMP_LTZ(3)", "19000", None),
        ] {
            assert_eq!(shown(t, default).as_deref(), written, "{t} {default:?}");
        }
    }

    #[test]
    fn a_nested_type_has_no_default() {
        for t in ["ARRAY<INT>", "MAP<STRING, INT>", "ROW<a INT>", "MULTISET<INT>"] {
            let error = default_value("[]", &parse_type(t).unwrap()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::UnsupportedFeature, "{t}");
        }
    }

    /// The forms of literals and partitions are others.
    #[test]
    fn a_default_is_not_read_as_a_literal() {
        let t = parse_type("DATE").unwrap();
        assert_ne!(datum_from_text(" 7 ", &t).unwrap(), default_value(" 7 ", &t).unwrap());
    }
}
