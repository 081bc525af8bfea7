//! What a change of type may do to values: Java takes the change, and says nothing of those that the new type cannot hold.

use crate::types::TypeKind;

/// What readers get of a value that the new type cannot hold as it is; `None` where it holds every value of the old one.
/// Texts as numbers, times and booleans are not here: what is none of them fails its read, and stays in the file.
pub fn cast_loss(from: &TypeKind, to: &TypeKind) -> Option<&'static str> {
    use TypeKind as K;
    const WRAPS: &str = "a number out of its range becomes another number";
    const WHOLE: &str = "fractions are cut off, and a number out of its range becomes another number";
    const NULL: &str = "a number with too many digits becomes NULL, and fractions are rounded";
    const ROUNDED: &str = "numbers with more digits than it has are rounded";
    const CUT: &str = "what is longer is cut off";
    const FRACTION: &str = "what is finer is cut off";
    let length = |kind: &TypeKind| match kind {
        K::Char(n) | K::VarChar(n) | K::Binary(n) | K::VarBinary(n) => Some(*n),
        _ => None,
    };
    let lost = match (from, to) {
        (from, to) if whole_digits(from).is_some() && whole_digits(to).is_some() => {
            (whole_digits(from) > whole_digits(to)).then_some(WRAPS)
        }
        (K::Float | K::Double, K::TinyInt | K::SmallInt | K::Int | K::BigInt)
        | (K::Timestamp(_) | K::LocalZonedTimestamp(_), K::Int) => Some(WHOLE),
        (K::Decimal { precision, scale: 0 }, to) if whole_digits(to).is_some() => {
            whole_digits(to).is_some_and(|digits| *precision >= digits).then_some(WRAPS)
        }
        (K::Decimal { .. }, to) if whole_digits(to).is_some() => Some(WHOLE),
        (K::Decimal { precision, scale }, K::Decimal { precision: digits, scale: fraction }) => {
            (i16::from(*digits) - i16::from(*fraction) < i16::from(*precision) - i16::from(*scale) || fraction < scale)
                .then_some(NULL)
        }
        (K::Float | K::Double, K::Decimal { .. }) => Some(NULL),
        (from, K::Decimal { precision, scale }) => {
            whole_digits(from).is_some_and(|digits| precision.saturating_sub(*scale) < digits).then_some(NULL)
        }
        (K::Int | K::BigInt, K::Float) | (K::BigInt, K::Double) | (K::Decimal { .. }, K::Float | K::Double) => {
            Some(ROUNDED)
        }
        (K::Double, K::Float) => Some(ROUNDED),
        (K::TinyInt | K::SmallInt | K::Int | K::BigInt, K::Boolean) => Some("every number but 0 becomes true"),
        (K::Timestamp(_) | K::LocalZonedTimestamp(_), K::Date) => Some("the time of day is cut off"),
        (K::Timestamp(_) | K::LocalZonedTimestamp(_), K::Time(_)) => Some("the day is cut off"),
        (K::Timestamp(_) | K::LocalZonedTimestamp(_), K::BigInt) => Some(FRACTION),
        (
            K::Timestamp(from) | K::LocalZonedTimestamp(from) | K::Time(from),
            K::Timestamp(to) | K::LocalZonedTimestamp(to) | K::Time(to),
        ) => (to < from).then_some(FRACTION),
        _ => None,
    };
    let bounded = length(to).filter(|to| *to < crate::types::MAX_LENGTH);
    lost.or_else(|| bounded.filter(|to| length(from).is_none_or(|from| from > *to)).map(|_| CUT))
}

/// So many digits a whole number has at most.
fn whole_digits(kind: &TypeKind) -> Option<u8> {
    match kind {
        TypeKind::TinyInt => Some(3),
        TypeKind::SmallInt => Some(5),
        TypeKind::Int => Some(10),
        TypeKind::BigInt => Some(19),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::parse_type;

    fn loss(from: &str, to: &str) -> Option<&'static str> {
        cast_loss(&parse_type(from).unwrap().kind, &parse_type(to).unwrap().kind)
    }

    #[test]
    fn types_that_hold_every_value_lose_none() {
        for (from, to) in [
            ("INT", "INT"),
            ("INT", "BIGINT"),
            ("INT", "DOUBLE"),
            ("SMALLINT", "FLOAT"),
            ("FLOAT", "DOUBLE"),
            ("INT", "DECIMAL(12, 2)"),
            ("DECIMAL(5, 2)", "DECIMAL(6, 2)"),
            ("DECIMAL(5, 2)", "DECIMAL(7, 4)"),
            ("DECIMAL(9, 0)", "INT"),
            ("VARCHAR(3)", "STRING"),
            ("CHAR(3)", "VARCHAR(3)"),
            ("BIGINT", "STRING"),
            ("STRING", "BYTES"),
            ("BOOLEAN", "INT"),
            ("DATE", "TIMESTAMP(3)"),
            ("TIMESTAMP(3)", "TIMESTAMP(6)"),
            // what is no number fails its read
            ("STRING", "INT"),
        ] {
            assert_eq!(loss(from, to), None, "{from} to {to}");
        }
    }

    #[test]
    fn types_that_do_not_hold_every_value_say_what_becomes_of_the_others() {
        for (from, to, said) in [
            ("BIGINT", "SMALLINT", "another number"),
            ("DOUBLE", "BIGINT", "fractions are cut off"),
            ("DECIMAL(10, 0)", "INT", "another number"),
            ("DECIMAL(12, 2)", "BIGINT", "fractions are cut off"),
            ("DECIMAL(10, 2)", "DECIMAL(5, 2)", "NULL"),
            ("DECIMAL(10, 2)", "DECIMAL(10, 4)", "NULL"),
            ("DECIMAL(10, 4)", "DECIMAL(12, 2)", "rounded"),
            ("BIGINT", "DECIMAL(10, 0)", "NULL"),
            ("DOUBLE", "DECIMAL(38, 10)", "NULL"),
            ("BIGINT", "DOUBLE", "rounded"),
            ("DOUBLE", "FLOAT", "rounded"),
            ("INT", "BOOLEAN", "becomes true"),
            ("STRING", "VARCHAR(3)", "cut off"),
            ("VARCHAR(9)", "CHAR(3)", "cut off"),
            ("BIGINT", "VARCHAR(3)", "cut off"),
            ("STRING", "BINARY(3)", "cut off"),
            ("BYTES", "VARBINARY(3)", "cut off"),
            ("TIMESTAMP(6)", "DATE", "time of day"),
            ("TIMESTAMP(6)", "TIMESTAMP(3)", "finer"),
        ] {
            assert!(loss(from, to).is_some_and(|text| text.contains(said)), "{from} to {to}: {:?}", loss(from, to));
        }
    }
}
