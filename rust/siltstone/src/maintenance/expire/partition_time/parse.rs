//! Texts by the pieces of a pattern, as Java's `DateTimeFormatter` reads them when it is strict.

use std::collections::BTreeMap;

use super::formatter::{Field, Formatter, Number, Part, Sign};

/// What a text says of each field.
pub(super) type Fields = BTreeMap<Field, i64>;

/// The fields of a text; `None` when it is not what the pattern says, from its first to its last character.
pub(super) fn all(text: &str, formatter: &Formatter) -> Option<Fields> {
    let mut fields = Fields::new();
    parts(text, &formatter.0, &mut fields)?.is_empty().then_some(fields)
}

/// What is left of the text behind these pieces.
fn parts<'t>(text: &'t str, parts: &[Part], fields: &mut Fields) -> Option<&'t str> {
    parts.iter().try_fold(text, |rest, part| match part {
        Part::Literal(c) => rest.strip_prefix(*c),
        Part::Number(wanted) => {
            let (value, rest) = number(rest, wanted)?;
            set(fields, wanted.field, value)?;
            Some(rest)
        }
        Part::Fraction(min, max, point) => {
            let rest = if *point { rest.strip_prefix('.')? } else { rest };
            let (digits, rest) = digits(rest, *min, *max)?;
            set(fields, Field::Nano, format!("{digits:0<9}").parse().ok()?)?;
            Some(rest)
        }
        Part::Name(field, first, names) => {
            let (value, rest) =
                (*first..).zip(*names).find_map(|(value, name)| Some((value, rest.strip_prefix(name)?)))?;
            set(fields, *field, value)?;
            Some(rest)
        }
        Part::Optional(inner) => {
            let mut with = fields.clone();
            let Some(rest) = self::parts(rest, inner, &mut with) else { return Some(rest) };
            *fields = with;
            Some(rest)
        }
    })
}

/// A field that stands there twice has one value.
fn set(fields: &mut Fields, field: Field, value: i64) -> Option<()> {
    (*fields.entry(field).or_insert(value) == value).then_some(())
}

fn number<'t>(text: &'t str, wanted: &Number) -> Option<(i64, &'t str)> {
    let (sign, text) = match text.strip_prefix(['+', '-']) {
        Some(rest) if text.starts_with('+') => ('+', rest),
        Some(rest) => ('-', rest),
        None => (' ', text),
    };
    match (sign, wanted.sign) {
        ('+', Sign::Normal) | ('+' | '-', Sign::Never) => return None,
        _ => {}
    }
    let there = digits(text, wanted.min, wanted.max.saturating_add(wanted.reserved))?.0.len();
    let (digits, rest) = text.split_at_checked(there.saturating_sub(wanted.reserved).max(wanted.min))?;
    let exceeds = digits.len() > wanted.min;
    if wanted.sign == Sign::ExceedsPad && sign != '-' && exceeds != (sign == '+') {
        return None;
    }
    let value: i64 = digits.parse().ok()?;
    match sign {
        '-' if value == 0 => None,
        '-' => Some((-value, rest)),
        _ => Some((value.checked_add(wanted.base)?, rest)),
    }
}

/// As many digits as there are, up to the most that are wanted.
fn digits(text: &str, min: usize, max: usize) -> Option<(&str, &str)> {
    let there = text.bytes().take(max).take_while(u8::is_ascii_digit).count();
    if there < min { None } else { text.split_at_checked(there) }
}
