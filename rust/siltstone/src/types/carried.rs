//! What a type must be so that every file and interface can carry it: few levels, rows with fields, names without NUL.

use arrow_schema::{DataType as Arrow, Field, Schema};

use super::{DataType, TypeKind};
use crate::error::{Error, ErrorKind, Result};

/// Nested types in one another that a column may have. A ROW takes three levels of a schema file's JSON, of which 127 can
/// be read; a MAP takes two levels of the Arrow C interface, of which pyarrow reads [`ARROW_LEVELS`].
pub const MAX_NESTING: usize = 31;

/// Levels that pyarrow reads from the Arrow C interface, the column's own included.
const ARROW_LEVELS: usize = 63;

impl DataType {
    /// Nested types in one another: 0 for INT, 2 for `ARRAY<ROW<a INT>>`.
    pub fn nesting(&self) -> usize {
        let inner = match &self.kind {
            TypeKind::Array(e) | TypeKind::Multiset(e) | TypeKind::Vector(e, _) => e.nesting(),
            TypeKind::Map(key, value) => key.nesting().max(value.nesting()),
            TypeKind::Row(fields) => fields.iter().map(|field| field.data_type.nesting()).max().unwrap_or(0),
            _ => return 0,
        };
        inner.saturating_add(1)
    }

    /// Whether it is or holds a ROW without fields, which no Parquet file can have.
    pub fn holds_empty_row(&self) -> bool {
        match &self.kind {
            TypeKind::Array(e) | TypeKind::Multiset(e) | TypeKind::Vector(e, _) => e.holds_empty_row(),
            TypeKind::Map(key, value) => key.holds_empty_row() || value.holds_empty_row(),
            TypeKind::Row(fields) => fields.is_empty() || fields.iter().any(|f| f.data_type.holds_empty_row()),
            _ => false,
        }
    }
}

/// An error unless the Arrow C interface, as pyarrow reads it, can carry batches of this schema: a table that somebody
/// else made may have deeper types, and names that end early in C.
pub fn check_carried(schema: &Schema) -> Result<()> {
    schema.fields().iter().try_for_each(|column| {
        let refused = |what: String| {
            Err(Error::unsupported(what)
                .with("column", column.name().escape_debug())
                .hint("read the other columns by name, or rename or drop this one"))
        };
        match fault(column, 1) {
            Some(Fault::Name(name)) => refused(format!("the column name '{}' with a NUL", name.escape_debug())),
            Some(Fault::Depth) => refused(format!("a type of more than {ARROW_LEVELS} levels in Arrow")),
            None => Ok(()),
        }
    })
}

enum Fault<'f> {
    Name(&'f str),
    Depth,
}

fn fault(field: &Field, level: usize) -> Option<Fault<'_>> {
    if level > ARROW_LEVELS {
        return Some(Fault::Depth);
    }
    if field.name().contains('\0') {
        return Some(Fault::Name(field.name()));
    }
    match field.data_type() {
        Arrow::List(inner) | Arrow::Map(inner, _) => fault(inner, level + 1),
        Arrow::Struct(fields) => fields.iter().find_map(|inner| fault(inner, level + 1)),
        _ => None,
    }
}

/// The error for a column of a new schema whose type is nested too deeply.
pub(crate) fn too_deep(levels: usize) -> Error {
    let message = format!("{levels} nested types in one another, at most {MAX_NESTING} can be read back");
    Error::new(ErrorKind::UnsupportedType, message).hint("keep the value as text, or spread it over several columns")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{DataField, arrow_schema, parse_type};

    fn column(name: &str, text: &str) -> Result<()> {
        let schema = arrow_schema(&[DataField::new(0, name, parse_type(text).unwrap())]).unwrap();
        check_carried(&schema)
    }

    fn nested(open: &str, times: usize) -> String {
        format!("{}INT{}", open.repeat(times), ">".repeat(times))
    }

    #[test]
    fn nested_types_are_counted_whatever_they_are() {
        for (text, levels) in
            [("INT", 0), ("ARRAY<INT>", 1), ("MAP<STRING, MULTISET<INT>>", 2), ("ROW<a INT, b ROW<c ARRAY<INT>>>", 3)]
        {
            assert_eq!(parse_type(text).unwrap().nesting(), levels, "{text}");
        }
    }

    #[test]
    fn a_row_without_fields_is_found_wherever_it_is() {
        for (text, holds) in
            [("ROW<>", true), ("MAP<INT, ARRAY<ROW<a ROW<>>>>", true), ("ROW<a INT>", false), ("INT", false)]
        {
            assert_eq!(parse_type(text).unwrap().holds_empty_row(), holds, "{text}");
        }
    }

    #[test]
    fn the_deepest_types_that_may_be_made_are_carried_and_deeper_ones_are_refused() {
        for open in ["ARRAY<", "MAP<STRING, ", "ROW<a ", "MULTISET<"] {
            column("c", &nested(open, MAX_NESTING)).unwrap();
        }
        let error = column("deep", &nested("MAP<STRING, ", MAX_NESTING + 1)).unwrap_err();
        assert_eq!((error.kind(), error.context_value("column")), (ErrorKind::UnsupportedFeature, Some("deep")));
    }

    #[test]
    fn a_name_that_c_would_cut_off_is_refused() {
        for (name, text) in [("a\0b", "INT"), ("c", "ARRAY<ROW<`x\0` INT>>")] {
            assert_eq!(column(name, text).unwrap_err().kind(), ErrorKind::UnsupportedFeature, "{text}");
        }
    }
}
