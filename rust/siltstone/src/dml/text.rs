//! Values as text in new values of columns: the text that the same value has when its column becomes STRING.

use std::{fmt::Write as _, sync::Arc};

use arrow_array::{Array, ArrayRef, BooleanArray, StringArray, builder::StringBuilder, cast::AsArray};
use arrow_schema::{DataType as Arrow, Field};
use arrow_select::zip::zip;

use super::{
    arithmetic::{computed, converted},
    invalid,
    node::Node,
};
use crate::{
    cast::cast_array,
    error::{Error, ErrorKind, Result},
    limits,
    types::{DataType, MAX_LENGTH, TypeKind, arrow_type, data_type_from_arrow},
};

pub(super) fn string() -> DataType {
    DataType::new(TypeKind::VarChar(MAX_LENGTH))
}

/// The texts of the values of a node; `None`: of values that operators made. Nested values have none, bytes only where
/// they are UTF-8.
pub(super) fn texts(array: &ArrayRef, node: Option<&Node>) -> Result<StringArray> {
    let t = value_type(array, node)?;
    if t.is_nested() {
        let hint = "compute the rows yourself and upsert them";
        return Err(invalid(format!("values of the type {} are no texts", t.kind)).hint(hint));
    }
    let texts = match t.kind {
        TypeKind::Char(_) | TypeKind::VarChar(_) | TypeKind::Binary(_) | TypeKind::VarBinary(_) => {
            converted(array, &Arrow::Utf8)?
        }
        _ => cast_array(array, &t, &string())?,
    };
    let texts = texts.as_string::<i32>().clone();
    if digits_are_few(&t.kind) { with_all_digits(texts, array) } else { Ok(texts) }
}

/// Whether values in memory may have more digits than their type: files of others have such times.
fn digits_are_few(kind: &TypeKind) -> bool {
    matches!(kind, TypeKind::Time(..=2) | TypeKind::Timestamp(..=8) | TypeKind::LocalZonedTimestamp(..=8))
}

/// The texts with the digits of their column, but all digits of a value that has more: a new value would be another one.
fn with_all_digits(texts: StringArray, array: &ArrayRef) -> Result<StringArray> {
    let full = cast_array(array, &value_type(array, None)?, &string())?;
    let full = full.as_string::<i32>();
    let is_whole = |(short, full): (Option<&str>, Option<&str>)| match (short, full) {
        (Some(short), Some(full)) => {
            full.strip_prefix(short).is_some_and(|rest| rest.bytes().all(|b| matches!(b, b'.' | b'0')))
        }
        _ => true,
    };
    let whole: Vec<bool> = texts.iter().zip(full).map(is_whole).collect();
    if whole.iter().all(|is_whole| *is_whole) {
        return Ok(texts);
    }
    let chosen = computed(zip(&BooleanArray::from(whole), &texts, full))?;
    Ok(chosen.as_string::<i32>().clone())
}

/// # Errors
/// `MemoryLimitExceeded`, as for all new texts: they do not fit into memory, or into an array.
pub(super) fn concatenate(left: &StringArray, right: &StringArray) -> Result<ArrayRef> {
    let pairs = || left.iter().zip(right).map(|(a, b)| a.zip(b));
    let bytes = pairs().flatten().map(|(a, b)| a.len() + b.len()).sum();
    let mut joined = room(left.len(), bytes)?;
    for pair in pairs() {
        let Some((a, b)) = pair else {
            joined.append_null();
            continue;
        };
        joined.write_str(a).map_err(|e| Error::new(ErrorKind::Internal, e.to_string()))?;
        joined.append_value(b);
    }
    Ok(Arc::new(joined.finish()))
}

pub(super) fn map_text(texts: &StringArray, f: impl Fn(&str) -> String) -> Result<ArrayRef> {
    let mut mapped = room(texts.len(), texts.value_data().len())?;
    let mut bytes: usize = 0;
    for text in texts {
        let text = text.map(&f);
        bytes = bytes.saturating_add(text.as_ref().map_or(0, String::len));
        check_size(bytes)?;
        mapped.append_option(text);
    }
    Ok(Arc::new(mapped.finish()))
}

/// Room for so many texts of so many bytes together.
fn room(texts: usize, bytes: usize) -> Result<StringBuilder> {
    check_size(bytes)?;
    limits::ask(bytes, NEW_TEXTS)?;
    Ok(StringBuilder::with_capacity(texts, bytes))
}

/// An array of texts has 2 GiB at most.
fn check_size(bytes: usize) -> Result<()> {
    match i32::try_from(bytes) {
        Ok(_) => Ok(()),
        Err(_) => Err(Error::new(ErrorKind::MemoryLimitExceeded, format!("{NEW_TEXTS} have more than 2 GiB together"))
            .hint("change fewer rows at once, or to shorter texts")),
    }
}

/// What needs the memory.
const NEW_TEXTS: &str = "the new texts of a batch of rows";

/// The type of values: that of their column, which knows how many digits its texts have, else what Arrow's type means.
fn value_type(array: &ArrayRef, node: Option<&Node>) -> Result<DataType> {
    let of_column = node.and_then(declared).filter(|t| arrow_type(t).is_ok_and(|t| t == *array.data_type()));
    match of_column {
        Some(t) => Ok(t.clone()),
        None => data_type_from_arrow(&Field::new("value", array.data_type().clone(), true))
            .map_err(|e| invalid("the value has no text").caused_by(e)),
    }
}

/// Of columns of a choice the one with most digits.
fn declared(node: &Node) -> Option<&DataType> {
    match node {
        Node::Column(field) => Some(&field.data_type),
        Node::Negated(inner) => declared(inner),
        Node::Coalesce(_) | Node::Case(..) => {
            node.choices()?.into_iter().filter_map(declared).max_by_key(|t| digits(&t.kind))
        }
        Node::Literal(_) | Node::Chain(..) | Node::Upper(_) | Node::Lower(_) => None,
    }
}

fn digits(kind: &TypeKind) -> u8 {
    match kind {
        TypeKind::Time(p) | TypeKind::Timestamp(p) | TypeKind::LocalZonedTimestamp(p) => *p,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::{DurationSecondArray, Float64Array, RecordBatch, Time32MillisecondArray};

    use super::*;
    use crate::{
        dml::Assignment,
        row::{array_from_datums, datum_from_text},
        types::{DataField, parse_type},
    };

    /// The new value of a STRING from a column `v`, whose value is this text.
    fn new_value(t: &str, value: &str, expression: &str) -> Result<Vec<Option<String>>> {
        let t = parse_type(t).unwrap();
        let array = array_from_datums(&[datum_from_text(value, &t).unwrap()], &t).unwrap();
        assigned(t, array, expression)
    }

    fn assigned(t: DataType, array: ArrayRef, expression: &str) -> Result<Vec<Option<String>>> {
        let fields = [DataField::new(0, "s", string()), DataField::new(1, "v", t)];
        let none = arrow_array::new_null_array(&Arrow::Utf8, array.len());
        let rows = RecordBatch::try_from_iter([("s", none), ("v", array)]).unwrap();
        let value = Assignment::parse(&fields, "s", expression)?.value(&rows, 0)?;
        Ok(value.as_string::<i32>().iter().map(|text| text.map(str::to_owned)).collect())
    }

    /// As `set_type` to STRING gives them.
    #[test]
    fn texts_of_values_are_those_of_casts() {
        for (t, value, expression, text) in [
            ("DOUBLE", "1e20", "v || ''", "1.0E20"),
            ("DOUBLE", "1e20", "'' || v", "1.0E20"),
            ("DOUBLE", "1e20", "upper(v)", "1.0E20"),
            ("DOUBLE", "1e20", "lower(v)", "1.0e20"),
            ("DOUBLE", "1e20", "-v || ''", "-1.0E20"),
            ("DOUBLE", "1e20", "(v * 10) || ''", "1.0E21"),
            ("DOUBLE", "1e20", "coalesce(v, 1) || ''", "1.0E20"),
            ("DOUBLE", "1e20", "coalesce(s, v)", "1.0E20"),
            ("DOUBLE", "1e20", "coalesce(s, v) || '!'", "1.0E20!"),
            ("FLOAT", "0.1", "v || ''", "0.1"),
            ("DECIMAL(5, 2)", "1.5", "v || ''", "1.50"),
            ("TIMESTAMP(0)", "2024-01-01 00:00:00", "v || ''", "2024-01-01 00:00:00"),
            ("TIMESTAMP(1)", "2024-01-01 00:00:00", "v || ''", "2024-01-01 00:00:00.0"),
            ("TIMESTAMP(3)", "2024-01-01 00:00:00", "v || ''", "2024-01-01 00:00:00.000"),
            ("TIME(0)", "01:02:03", "v || ''", "01:02:03"),
            ("DATE", "2024-01-01", "v || '!'", "2024-01-01!"),
            ("BOOLEAN", "true", "upper(v)", "TRUE"),
            ("STRING", "ab", "upper(v) || 1.50", "AB1.50"),
            ("BYTES", "ab", "v || ''", "ab"),
        ] {
            assert_eq!(new_value(t, value, expression).unwrap(), [Some(text.to_owned())], "{t} {expression}");
        }
    }

    /// `TIME || ''` of a file's 05:06:07.123 was once 05:06:07.
    #[test]
    fn the_text_of_a_value_with_more_digits_than_its_type_has_them_all() {
        let times: ArrayRef = Arc::new(Time32MillisecondArray::from(vec![Some(18_367_123), None, Some(18_367_000)]));
        for expression in ["v || ''", "coalesce(s, v)", "upper(v)"] {
            let texts = assigned(parse_type("TIME(0)").unwrap(), Arc::clone(&times), expression).unwrap();
            assert_eq!(texts, [Some("05:06:07.123".to_owned()), None, Some("05:06:07".to_owned())], "{expression}");
        }
    }

    /// `COALESCE(i, s)` once parsed the text, where `i := s` is refused.
    #[test]
    fn a_choice_takes_values_of_other_types_as_a_write_takes_them() {
        for (first, other, value, is_taken) in [
            ("INT", "STRING", "12", false),
            ("DOUBLE", "STRING", "12", false),
            ("BOOLEAN", "STRING", "true", false),
            ("BOOLEAN", "INT", "1", false),
            ("INT", "BOOLEAN", "true", false),
            ("DATE", "TIMESTAMP(6)", "2024-01-01 00:00:00", false),
            ("ARRAY<INT>", "INT", "1", false),
            ("INT", "BIGINT", "12", true),
            ("TIMESTAMP(3)", "TIMESTAMP(6)", "2024-01-01 00:00:00.5", true),
        ] {
            let (first, other) = (parse_type(first).unwrap(), parse_type(other).unwrap());
            let value = array_from_datums(&[datum_from_text(value, &other).unwrap()], &other).unwrap();
            let none = arrow_array::new_null_array(&arrow_type(&first).unwrap(), 1);
            let rows = RecordBatch::try_from_iter([("a", none), ("b", value)]).unwrap();
            let fields = [DataField::new(0, "a", first.clone()), DataField::new(1, "b", other.clone())];
            for expression in ["coalesce(a, b)", "case when a is not null then a else b end", "coalesce(null, a, b)"] {
                let made = Assignment::parse(&fields, "a", expression).and_then(|a| a.value(&rows, 0));
                let is_value = made.as_ref().is_ok_and(|made| made.null_count() == 0);
                assert_eq!(is_value, is_taken, "{first}, {other}, {expression}: {made:?}");
            }
        }
    }

    #[test]
    fn a_null_has_no_text() {
        let nulls: ArrayRef = Arc::new(Float64Array::from(vec![None, Some(0.5)]));
        let double = parse_type("DOUBLE").unwrap();
        assert_eq!(assigned(double, nulls, "v || ''").unwrap(), [None, Some("0.5".to_owned())]);
    }

    #[test]
    fn a_nested_value_is_no_text() {
        for t in ["ARRAY<INT>", "MAP<STRING, INT>", "ROW<a INT>", "MULTISET<STRING>"] {
            let t = parse_type(t).unwrap();
            let array = arrow_array::new_null_array(&arrow_type(&t).unwrap(), 1);
            for expression in ["v || ''", "'' || v", "upper(v)", "lower(v)", "coalesce(s, v)"] {
                let error = assigned(t.clone(), Arc::clone(&array), expression).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{t} {expression}");
            }
        }
        let apart: ArrayRef = Arc::new(DurationSecondArray::from(vec![1]));
        assert_eq!(texts(&apart, None).unwrap_err().kind(), ErrorKind::InvalidArgument);
    }

    /// A text with the digits of the first column would lack those of the second.
    #[test]
    fn a_choice_has_the_digits_of_all_its_columns() {
        let (none, value) = (DataField::new(0, "a", parse_type("TIME(0)").unwrap()), parse_type("TIME(3)").unwrap());
        let choice = Node::Coalesce(vec![Node::Column(none), Node::Column(DataField::new(1, "b", value))]);
        let array: ArrayRef = Arc::new(Time32MillisecondArray::from(vec![1_002]));
        assert_eq!(texts(&array, Some(&choice)).unwrap().value(0), "00:00:01.002");
    }
}
