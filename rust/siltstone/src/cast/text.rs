//! Values to and from text, by the rules of Java's casts (which are stricter than those of literals).

use super::{clock_text, time, value::fit_decimal};
use crate::{
    error::{Error, ErrorKind, Result},
    row::{Datum, datum_from_text, datum_to_text, rounded_decimal},
    types::{DataType, TypeKind},
};

/// CHAR(n) is cut or filled up with blanks to n characters, VARCHAR(n) cut.
pub(super) fn fit(text: String, to: &TypeKind) -> Datum {
    let (TypeKind::Char(n) | TypeKind::VarChar(n)) = to else {
        return Datum::String(text);
    };
    let n = usize::try_from(*n).unwrap_or(usize::MAX);
    // a text of at most n bytes has at most n characters
    if text.len() > n
        && let Some((end, _)) = text.char_indices().nth(n)
    {
        return Datum::String(text.get(..end).unwrap_or_default().to_owned());
    }
    let missing = n.saturating_sub(text.chars().count());
    Datum::String(if matches!(to, TypeKind::Char(_)) { text + &" ".repeat(missing) } else { text })
}

pub(super) fn of(value: &Datum, from: &TypeKind) -> String {
    datum_to_text(value, &DataType::new(from.clone()))
}

/// Java takes the bytes as they are; what is not UTF-8 shows as U+FFFD.
pub(super) fn from_bytes(value: Datum) -> Result<Datum> {
    match value {
        Datum::Bytes(bytes) => Ok(Datum::String(String::from_utf8_lossy(&bytes).into_owned())),
        other => Err(super::value::wrong_value(&other)),
    }
}

/// A text that is no value of the type fails the read, as in Java.
pub(super) fn parse(text: &str, to: &TypeKind) -> Result<Datum> {
    let t = || DataType::new(to.clone());
    let error = || no_value(format!("the text '{text}' is not a value of {}, which its column became", t()));
    parse_value(text, to).ok_or_else(error)
}

/// The error of a value that its column's new type does not have.
pub fn no_value(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::SchemaMismatch, message)
        .hint("read with the older schema (time travel), or change the column back")
}

fn parse_value(text: &str, to: &TypeKind) -> Option<Datum> {
    Some(match to {
        TypeKind::TinyInt => Datum::TinyInt(i8::try_from(whole(text)?).ok()?),
        TypeKind::SmallInt => Datum::SmallInt(i16::try_from(whole(text)?).ok()?),
        TypeKind::Int => Datum::Int(i32::try_from(whole(text)?).ok()?),
        TypeKind::BigInt => Datum::BigInt(whole(text)?),
        TypeKind::Float => Datum::Float(real(text)?.parse().ok()?),
        TypeKind::Double => Datum::Double(real(text)?.parse().ok()?),
        TypeKind::Decimal { precision, scale } => {
            let scale = *scale;
            // what has too many digits is null
            rounded_decimal(text, i32::from(scale))?
                .map_or(Datum::Null, |unscaled| fit_decimal(unscaled, i32::from(scale), *precision, scale))
        }
        TypeKind::Boolean => match text.to_ascii_lowercase().as_str() {
            "t" | "true" | "y" | "yes" | "1" => Datum::Boolean(true),
            "f" | "false" | "n" | "no" | "0" => Datum::Boolean(false),
            _ => return None,
        },
        TypeKind::Date => return clock_text::date(text),
        TypeKind::Time(_) => return clock_text::time(text),
        TypeKind::Timestamp(p) => return clock_text::timestamp(text, *p),
        TypeKind::LocalZonedTimestamp(p) => time::local_to_instant(&clock_text::local_timestamp(text, *p)?)?,
        _ => datum_from_text(text, &DataType::new(to.clone())).ok()?,
    })
}

/// Digits with a sign, and digits after a point that do not count.
fn whole(text: &str) -> Option<i64> {
    let (number, fraction) = text.split_once('.').unwrap_or((text, ""));
    let unsigned = number.strip_prefix(['-', '+']).unwrap_or(number);
    if matches!(text, "" | "-" | "+") {
        return None;
    }
    let only_digits = |t: &str| t.bytes().all(|b| b.is_ascii_digit());
    if !only_digits(unsigned) || !only_digits(fraction) {
        return None;
    }
    if unsigned.is_empty() { Some(0) } else { number.parse().ok() }
}

/// What Java's `parseDouble` takes, in the form that Rust's parser takes: blanks around and a type suffix are fine,
/// `NaN` and `Infinity` are spelled so, hexadecimal is not supported.
fn real(text: &str) -> Option<String> {
    let text = text.trim_matches(|c: char| c <= ' ');
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if matches!(unsigned, "NaN" | "Infinity") {
        return Some(text.to_owned());
    }
    let number = text.strip_suffix(['f', 'F', 'd', 'D']).unwrap_or(text);
    let known = number.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'-' | b'+' | b'e' | b'E'));
    known.then(|| number.to_owned())
}
