//! The Avro schema of data files (format chapter 7.7).
//!
//! Java's names: the record of a file is `record`, that of a nested row has the names of the columns it lies in behind,
//! `record_<column>_<field>`. Entries of maps whose keys are no texts are records, too.

use std::collections::HashMap;

use super::WriterType;
use crate::{
    error::{Error, Result},
    types::{DataField, DataType, TypeKind},
};

const ROOT: &str = "record";
const NAMESPACE: &str = "org.apache.paimon.avro.generated";

/// The schema of files with these columns, as JSON text.
///
/// # Errors
/// `UnsupportedFeature` for types and names that Avro files cannot have.
pub(in crate::format) fn record_schema(fields: &[DataField]) -> Result<String> {
    let mut records = Records(HashMap::new());
    let fields = records.fields(ROOT, fields)?;
    Ok(format!(r#"{{"type":"record","name":"{ROOT}","namespace":"{NAMESPACE}","fields":[{fields}]}}"#))
}

/// Whether files with these columns can be written, and read again.
///
/// # Errors
/// `UnsupportedFeature` when they cannot.
pub(super) fn check_columns(fields: &[DataField]) -> Result<()> {
    let schema = record_schema(fields)?;
    WriterType::parse("", schema.as_bytes()).map(drop).map_err(|e| {
        Error::unsupported(format!("columns of so many types in Avro files ({})", e.message()))
            .hint("use another 'file.format', fewer columns or fewer types in one another")
    })
}

/// The nested records so far: what each name stands for.
struct Records(HashMap<String, String>);

impl Records {
    fn fields(&mut self, record: &str, fields: &[DataField]) -> Result<String> {
        let each = fields.iter().map(|field| {
            let made = check_name(&field.name)
                .and_then(|()| self.field(&field.name, &field.data_type, &format!("{record}_{}", field.name), true));
            made.map_err(|e| if e.context_value("column").is_some() { e } else { e.with("column", &field.name) })
        });
        Ok(each.collect::<Result<Vec<_>>>()?.join(","))
    }

    fn field(&mut self, name: &str, data_type: &DataType, record: &str, default: bool) -> Result<String> {
        let schema = self.nullable(data_type, record)?;
        let default = if default && data_type.nullable { r#","default":null"# } else { "" };
        Ok(format!(r#"{{"name":"{name}","type":{schema}{default}}}"#))
    }

    fn nullable(&mut self, data_type: &DataType, record: &str) -> Result<String> {
        let schema = self.schema(&data_type.kind, record)?;
        Ok(if data_type.nullable { format!(r#"["null",{schema}]"#) } else { schema })
    }

    /// `record`: the name that a record of this type has.
    fn schema(&mut self, kind: &TypeKind, record: &str) -> Result<String> {
        let logical = |of: &str, name: &str| format!(r#"{{"type":"{of}","logicalType":"{name}"}}"#);
        Ok(match kind {
            TypeKind::Boolean => r#""boolean""#.to_owned(),
            TypeKind::TinyInt | TypeKind::SmallInt | TypeKind::Int => r#""int""#.to_owned(),
            TypeKind::BigInt => r#""long""#.to_owned(),
            TypeKind::Float => r#""float""#.to_owned(),
            TypeKind::Double => r#""double""#.to_owned(),
            TypeKind::Char(_) | TypeKind::VarChar(_) => r#""string""#.to_owned(),
            TypeKind::Binary(_) | TypeKind::VarBinary(_) => r#""bytes""#.to_owned(),
            TypeKind::Date => logical("int", "date"),
            TypeKind::Time(0..=3) => logical("int", "time-millis"),
            TypeKind::Timestamp(0..=3) => logical("long", "timestamp-millis"),
            TypeKind::Timestamp(4..=6) => logical("long", "timestamp-micros"),
            TypeKind::LocalZonedTimestamp(0..=3) => logical("long", "local-timestamp-millis"),
            TypeKind::LocalZonedTimestamp(4..=6) => logical("long", "local-timestamp-micros"),
            TypeKind::Decimal { precision, scale } => {
                format!(r#"{{"type":"bytes","logicalType":"decimal","precision":{precision},"scale":{scale}}}"#)
            }
            TypeKind::Array(element) => format!(r#"{{"type":"array","items":{}}}"#, self.nullable(element, record)?),
            TypeKind::Map(key, value) => self.map(key, value, record)?,
            TypeKind::Multiset(element) => self.map(element, &count_type(), record)?,
            TypeKind::Row(fields) => {
                let fields = self.fields(record, fields)?;
                self.named(record, &fields)?
            }
            TypeKind::Time(_) => return Err(no_type(kind, "times of the day have milliseconds there: use TIME(3)")),
            TypeKind::Timestamp(_) | TypeKind::LocalZonedTimestamp(_) => {
                return Err(no_type(kind, "times have microseconds there: use a precision of 6 or less"));
            }
            TypeKind::Variant | TypeKind::Blob | TypeKind::Vector(..) => {
                return Err(no_type(kind, "leave the column out"));
            }
        })
    }

    fn map(&mut self, key: &DataType, value: &DataType, record: &str) -> Result<String> {
        if is_text(key) {
            return Ok(format!(r#"{{"type":"map","values":{}}}"#, self.nullable(value, record)?));
        }
        let key = self.field("key", key, &format!("{record}_key"), false)?;
        let value = self.field("value", value, &format!("{record}_value"), true)?;
        let entry = self.named(record, &format!("{key},{value}"))?;
        Ok(format!(r#"{{"type":"array","items":{entry},"logicalType":"map"}}"#))
    }

    /// A record, by its name alone where the same one has been before.
    fn named(&mut self, name: &str, fields: &str) -> Result<String> {
        match self.0.get(name) {
            Some(before) if before == fields => Ok(format!(r#""{name}""#)),
            Some(_) => Err(Error::unsupported(format!("two different rows with the name '{name}' in Avro files"))
                .hint("rows are named after the columns they lie in, joined by '_': rename one of them")),
            None => {
                self.0.insert(name.to_owned(), fields.to_owned());
                Ok(format!(r#"{{"type":"record","name":"{name}","fields":[{fields}]}}"#))
            }
        }
    }
}

/// How often an element of a multiset is in it.
pub(super) fn count_type() -> DataType {
    DataType::new(TypeKind::Int)
}

/// Maps with such keys are maps in Avro, too.
pub(super) fn is_text(key: &DataType) -> bool {
    matches!(key.kind, TypeKind::Char(_) | TypeKind::VarChar(_))
}

fn no_type(kind: &TypeKind, advice: &str) -> Error {
    Error::unsupported(format!("the type {kind} in Avro files")).hint(advice)
}

/// Java's rule for names: letters, digits and '_'. What it holds for a letter is not known here of every script: those are
/// taken that have upper and lower case, and those of China, Japan and Korea.
fn check_name(name: &str) -> Result<()> {
    let letter = |c: char| {
        c == '_'
            || c.is_ascii_alphabetic()
            || (c <= '\u{FFFF}' && (c.is_lowercase() || c.is_uppercase()) && c.is_alphabetic() && !is_number_like(c))
            || matches!(c, '\u{3041}'..='\u{3096}' | '\u{30A1}'..='\u{30FA}' | '\u{4E00}'..='\u{9FA5}' | '\u{AC00}'..='\u{D7A3}')
    };
    let mut rest = name.chars();
    if rest.next().is_some_and(letter) && rest.all(|c| letter(c) || c.is_ascii_digit()) {
        return Ok(());
    }
    Err(Error::unsupported(format!("the name '{name}' in Avro files"))
        .hint("names consist of letters, digits and '_' there: rename the column, or use another 'file.format'"))
}

/// Numbers and signs that have cases without being letters: Roman numbers, letters in circles, a mark.
fn is_number_like(c: char) -> bool {
    matches!(c, '\u{0345}' | '\u{2160}'..='\u{217F}' | '\u{24B6}'..='\u{24E9}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ErrorKind, types::parse_type};

    fn column(name: &str, text: &str) -> DataField {
        DataField::new(0, name, parse_type(text).unwrap())
    }

    #[test]
    fn the_schema_is_java_s() {
        let json = record_schema(&[
            column("k", "BIGINT NOT NULL"),
            column("arr", "ARRAY<ROW<x INT NOT NULL>>"),
            column("m", "MAP<INT, STRING>"),
            column("t", "MAP<STRING, INT>"),
            column("ltz", "TIMESTAMP(3) WITH LOCAL TIME ZONE"),
            column("dec", "DECIMAL(10, 2)"),
            column("bag", "MULTISET<DATE>"),
        ]);
        let expected = concat!(
            r#"{"type":"record","name":"record","namespace":"org.apache.paimon.avro.generated","fields":["#,
            r#"{"name":"k","type":"long"},"#,
            r#"{"name":"arr","type":["null",{"type":"array","items":["null",{"type":"record","name":"record_arr","fields":[{"name":"x","type":"int"}]}]}],"default":null},"#,
            r#"{"name":"m","type":["null",{"type":"array","items":{"type":"record","name":"record_m","fields":[{"name":"key","type":["null","int"]},{"name":"value","type":["null","string"],"default":null}]},"logicalType":"map"}],"default":null},"#,
            r#"{"name":"t","type":["null",{"type":"map","values":["null","int"]}],"default":null},"#,
            r#"{"name":"ltz","type":["null",{"type":"long","logicalType":"local-timestamp-millis"}],"default":null},"#,
            r#"{"name":"dec","type":["null",{"type":"bytes","logicalType":"decimal","precision":10,"scale":2}],"default":null},"#,
            r#"{"name":"bag","type":["null",{"type":"array","items":{"type":"record","name":"record_bag","fields":[{"name":"key","type":["null",{"type":"int","logicalType":"date"}]},{"name":"value","type":["null","int"],"default":null}]},"logicalType":"map"}],"default":null}]}"#,
        );
        assert_eq!(json.unwrap(), expected);
    }

    #[test]
    fn rows_of_one_name_are_the_same_or_refused() {
        let one = column("a", "ROW<b ROW<x INT>>");
        let same = record_schema(&[one.clone(), column("a_b", "ROW<x INT>")]).unwrap();
        assert!(same.contains(r#"{"name":"a_b","type":["null","record_a_b"],"default":null}"#), "{same}");
        let error = record_schema(&[one, column("a_b", "ROW<y INT>")]).unwrap_err();
        assert_eq!((error.kind(), error.context_value("column")), (ErrorKind::UnsupportedFeature, Some("a_b")));
    }

    #[test]
    fn types_and_names_that_avro_has_not_are_named() {
        for (name, text) in [
            ("a", "TIMESTAMP(9)"),
            ("a", "ARRAY<TIMESTAMP(7) WITH LOCAL TIME ZONE>"),
            ("a", "TIME(6)"),
            ("a b", "INT"),
            ("1a", "INT"),
            ("Ⅷ", "INT"),
        ] {
            let error = record_schema(&[column(name, text)]).unwrap_err();
            assert_eq!((error.kind(), error.context_value("column")), (ErrorKind::UnsupportedFeature, Some(name)));
        }
        for name in ["_a1", "größe", "列", "Ж9"] {
            record_schema(&[column(name, "INT")]).unwrap();
        }
    }
}
