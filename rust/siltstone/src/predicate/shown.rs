//! A condition as SQL text: what [`parse_predicate`](super::parse_predicate) reads as the same condition again, but for lists
//! that are cut short.

use std::fmt::Write as _;

use super::{
    CompareOp, Predicate,
    operand::{VALUE, key_and_value},
};
use crate::{
    codec::to_hex,
    row::{Datum, datum_to_text},
    types::{DataField, DataType},
};

/// Values of a list that are shown.
const SHOWN: usize = 20;

/// The text of a condition over these columns.
pub fn predicate_text(predicate: &Predicate, fields: &[DataField]) -> String {
    match predicate {
        Predicate::Constant(value) => value.to_string().to_uppercase(),
        Predicate::Compare { column, op, value } => {
            format!("{} {} {}", name(column), sign(*op), literal(value, column, fields))
        }
        Predicate::IsNull(column) => format!("{} IS NULL", name(column)),
        Predicate::IsNotNull(column) => format!("{} IS NOT NULL", name(column)),
        Predicate::In { column, values, negated } => {
            let shown = values.iter().take(SHOWN).map(|value| literal(value, column, fields));
            let mut list = shown.collect::<Vec<_>>().join(", ");
            if values.len() > SHOWN {
                let _ = write!(list, ", ... {} more", values.len() - SHOWN);
            }
            format!("{} {}IN ({list})", name(column), not(*negated))
        }
        Predicate::OfKey { column, key, of } => {
            let maps = fields.iter().find(|field| field.name == *column);
            let (key_type, value_type) = maps.and_then(|field| key_and_value(&field.data_type)).unzip();
            let one = |name: &str, data_type: Option<DataType>| {
                data_type.map(|data_type| DataField::new(0, name, data_type)).into_iter().collect::<Vec<_>>()
            };
            let shown = format!("{}[{}]", name(column), literal(key, "key", &one("key", key_type)));
            let of = predicate_text(of, &one(VALUE, value_type));
            of.strip_prefix(VALUE).map_or_else(|| of.clone(), |rest| format!("{shown}{rest}"))
        }
        Predicate::Like { column, pattern, escape, negated } => {
            let escape = escape.map_or_else(String::new, |c| format!(" ESCAPE {}", quoted(&c.to_string())));
            format!("{} {}LIKE {}{escape}", name(column), not(*negated), quoted(pattern))
        }
        Predicate::And(parts) => joined(parts, " AND ", fields),
        Predicate::Or(parts) => joined(parts, " OR ", fields),
        Predicate::Not(inner) => format!("NOT ({})", predicate_text(inner, fields)),
    }
}

fn joined(parts: &[Predicate], word: &str, fields: &[DataField]) -> String {
    let inside = |part: &Predicate| match part {
        Predicate::And(_) | Predicate::Or(_) => format!("({})", predicate_text(part, fields)),
        _ => predicate_text(part, fields),
    };
    parts.iter().map(inside).collect::<Vec<_>>().join(word)
}

fn not(negated: bool) -> &'static str {
    if negated { "NOT " } else { "" }
}

fn sign(op: CompareOp) -> &'static str {
    match op {
        CompareOp::Eq => "=",
        CompareOp::NotEq => "<>",
        CompareOp::Lt => "<",
        CompareOp::LtEq => "<=",
        CompareOp::Gt => ">",
        CompareOp::GtEq => ">=",
    }
}

/// A column's name, in backticks where it would not be taken for one.
fn name(column: &str) -> String {
    let starts = column.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let is_plain = starts && column.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if is_plain && !WORDS.contains(&column.to_ascii_uppercase().as_str()) {
        column.to_owned()
    } else {
        format!("`{}`", column.replace('`', "``"))
    }
}

/// Words that mean something in a condition.
const WORDS: [&str; 19] = [
    "AND",
    "BETWEEN",
    "CAST",
    "DATE",
    "DISTINCT",
    "ESCAPE",
    "FALSE",
    "FROM",
    "IN",
    "IS",
    "LIKE",
    "NOT",
    "NULL",
    "OR",
    "TIME",
    "TIMESTAMP",
    "TRUE",
    "UNKNOWN",
    "X",
];

fn literal(value: &Datum, column: &str, fields: &[DataField]) -> String {
    let of_column = fields.iter().find(|field| field.name == column).map(|field| &field.data_type);
    let text = |data_type: &DataType| datum_to_text(value, data_type);
    match (value, of_column) {
        (Datum::Null, _) => "NULL".to_owned(),
        (Datum::Boolean(value), _) => value.to_string().to_uppercase(),
        (Datum::String(text), _) => quoted(text),
        (Datum::Bytes(bytes) | Datum::Nested(bytes), _) => format!("X'{}'", to_hex(bytes)),
        (Datum::Float(number), _) if !number.is_finite() => quoted(&number.to_string()),
        (Datum::Double(number), _) if !number.is_finite() => quoted(&number.to_string()),
        (Datum::Date(_), Some(kind)) => format!("DATE '{}'", text(kind)),
        (Datum::Time(_), Some(kind)) => format!("TIME '{}'", text(kind)),
        (Datum::Timestamp { .. }, Some(kind)) => format!("TIMESTAMP '{}'", text(kind)),
        (_, Some(kind)) => text(kind),
        (other, None) => format!("{other:?}"),
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::{super::parse_predicate, predicate_text};
    use crate::types::{DataField, DataType, TypeKind};

    fn fields() -> Vec<DataField> {
        let text = || Box::new(DataType::new(TypeKind::VarChar(9)));
        let kinds = [
            ("i", TypeKind::Int),
            ("s", TypeKind::VarChar(20)),
            ("d", TypeKind::Date),
            ("t", TypeKind::Timestamp(6)),
            ("z", TypeKind::LocalZonedTimestamp(3)),
            ("c", TypeKind::Time(3)),
            ("n", TypeKind::Decimal { precision: 9, scale: 2 }),
            ("f", TypeKind::Double),
            ("b", TypeKind::VarBinary(9)),
            ("y", TypeKind::Boolean),
            ("m", TypeKind::Map(text(), Box::new(DataType::new(TypeKind::Date)))),
            ("k", TypeKind::Map(Box::new(DataType::not_null(TypeKind::Int)), text())),
            ("or", TypeKind::Int),
            ("a `b", TypeKind::Int),
        ];
        kinds.into_iter().zip(0..).map(|((name, kind), id)| DataField::new(id, name, DataType::new(kind))).collect()
    }

    /// `explain()` showed the condition as Rust's debugger does.
    #[test]
    fn what_is_shown_is_the_same_condition() {
        for (given, shown) in [
            ("i = 1", "i = 1"),
            ("NOT (i > 1 OR s LIKE 'a%')", "i <= 1 AND s NOT LIKE 'a%'"),
            ("i = 1 AND (s = 'it''s' OR s IS NULL)", "i = 1 AND (s = 'it''s' OR s IS NULL)"),
            ("s LIKE 'a!%' ESCAPE '!'", "s LIKE 'a!%' ESCAPE '!'"),
            ("d >= '2024-05-01'", "d >= DATE '2024-05-01'"),
            ("t < '2024-05-01 12:00:00.5'", "t < TIMESTAMP '2024-05-01 12:00:00.500000'"),
            ("z < '2024-05-01 12:00:00+01:00'", "z < TIMESTAMP '2024-05-01 11:00:00.000'"),
            ("c = '12:30:00.25'", "c = TIME '12:30:00.25'"),
            ("n NOT IN (1.5, -2)", "n NOT IN (1.50, -2.00)"),
            ("f IN (1, 1e300, 'NaN')", "f IN (1.0, 1.0E300, 'NaN')"),
            ("f > '-inf'", "f > '-inf'"),
            ("b = X'0a1b'", "b = X'0a1b'"),
            ("y", "y = TRUE"),
            ("`or` = 1 AND `a ``b` IS NOT NULL", "`or` = 1 AND `a ``b` IS NOT NULL"),
            ("i > 1e20", "FALSE"),
            ("m['it''s'] = '2024-05-01'", "m['it''s'] = DATE '2024-05-01'"),
            ("NOT (k[-3] IS NULL OR k[7] LIKE 'a%')", "k[-3] IS NOT NULL AND k[7] NOT LIKE 'a%'"),
        ] {
            let fields = fields();
            let parsed = parse_predicate(given, &fields).unwrap();
            let text = predicate_text(&parsed, &fields);
            assert_eq!(text, shown, "{given}");
            let again = parse_predicate(&text, &fields).unwrap();
            assert_eq!(format!("{again:?}"), format!("{parsed:?}"), "{given}");
        }
    }

    #[test]
    fn of_long_lists_the_beginning_is_shown() {
        let list = (0..100).map(|i| i.to_string()).collect::<Vec<_>>().join(", ");
        let fields = fields();
        let text = predicate_text(&parse_predicate(&format!("i IN ({list})"), &fields).unwrap(), &fields);
        assert!(text.ends_with("18, 19, ... 80 more)"), "{text}");
    }
}
