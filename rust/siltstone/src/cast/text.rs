//! Values to and from text, by the rules of Java's casts (which are stricter than those of literals).

use std::borrow::Cow;

use super::{clock_text, hex_float, number::double_to_float, time, timestamp_text, value::fit_decimal};
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
        TypeKind::Float => Datum::Float(match real(text)? {
            Real::Decimal(number) => number.parse().ok()?,
            Real::Hexadecimal(number) => double_to_float(hex_float::parse(number, hex_float::FLOAT)?),
        }),
        TypeKind::Double => Datum::Double(match real(text)? {
            Real::Decimal(number) => number.parse().ok()?,
            Real::Hexadecimal(number) => hex_float::parse(number, hex_float::DOUBLE)?,
        }),
        TypeKind::Decimal { precision, scale } => {
            let scale = *scale;
            // what has too many digits is null
            rounded_decimal(&ascii_digits(text), i32::from(scale))?
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
        TypeKind::LocalZonedTimestamp(p) => time::local_to_instant(&timestamp_text::local_timestamp(text, *p)?)?,
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

/// A floating-point number as it is written.
enum Real<'a> {
    /// In a form that Rust's parser takes.
    Decimal(&'a str),
    Hexadecimal(&'a str),
}

/// What Java's `parseDouble` takes: blanks around and a type suffix are fine, `NaN` and `Infinity` are spelled so.
fn real(text: &str) -> Option<Real<'_>> {
    let text = text.trim_matches(|c: char| c <= ' ');
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if matches!(unsigned, "NaN" | "Infinity") {
        return Some(Real::Decimal(text));
    }
    let number = text.strip_suffix(['f', 'F', 'd', 'D']).unwrap_or(text);
    if unsigned.starts_with("0x") || unsigned.starts_with("0X") {
        return Some(Real::Hexadecimal(number));
    }
    let known = number.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'-' | b'+' | b'e' | b'E'));
    known.then_some(Real::Decimal(number))
}

/// Java's `BigDecimal` reads the digits of every script that one `char` holds.
fn ascii_digits(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().map(ascii_digit).collect())
}

fn ascii_digit(c: char) -> char {
    let zero = ZEROS.iter().rev().find(|zero| **zero <= c);
    let value = zero.and_then(|zero| u32::from(c).checked_sub(u32::from(*zero)));
    value.and_then(|value| char::from_digit(value, 10)).unwrap_or(c)
}

/// The characters below U+10000 that `Character.isDigit` takes and whose digit is 0; the other nine follow each.
const ZEROS: [char; 37] = [
    '0', '\u{660}', '\u{6F0}', '\u{7C0}', '\u{966}', '\u{9E6}', '\u{A66}', '\u{AE6}', '\u{B66}', '\u{BE6}', '\u{C66}',
    '\u{CE6}', '\u{D66}', '\u{DE6}', '\u{E50}', '\u{ED0}', '\u{F20}', '\u{1040}', '\u{1090}', '\u{17E0}', '\u{1810}',
    '\u{1946}', '\u{19D0}', '\u{1A80}', '\u{1A90}', '\u{1B50}', '\u{1BB0}', '\u{1C40}', '\u{1C50}', '\u{A620}',
    '\u{A8D0}', '\u{A900}', '\u{A9D0}', '\u{A9F0}', '\u{AA50}', '\u{ABF0}', '\u{FF10}',
];
