//! VARIANT values as JSON text, as Java prints them.
//!
//! Source: the Variant encoding of the Parquet format; `GenericVariant.toJson`.

use std::{fmt::Write, sync::Arc};

use arrow_array::{Array, ArrayRef, StructArray};
use base64::{Engine, prelude::BASE64_STANDARD};

use super::{
    DEEPEST, LONGEST,
    binaries::Binaries,
    collected::Collected,
    decode::{Names, bytes, corrupt, fixed, signed, text, unsigned},
};
use crate::{
    cancel,
    error::{Error, ErrorKind, Result},
    limits,
    row::{civil_from_days, decimal_text, double_text, float_text},
};

/// What needs the memory.
const TEXTS: &str = "texts of a VARIANT column";
/// Bytes of the longest text of a number, time or UUID, with the signs around it.
const LONGEST_SCALAR: usize = 512;
const MICROS_OF_DAY: i64 = 86_400_000_000;

/// The JSON text of each value. Null where the value is null; JSON's own null is the text `null`.
pub(super) fn json_texts(values: &StructArray) -> Result<ArrayRef> {
    let stored = Binaries::of(values)?;
    let (mut texts, mut text) = (Collected::new(TEXTS, values.len())?, String::new());
    for at in 0..values.len() {
        cancel::check()?;
        let Some((value, metadata)) = stored.get(at)? else {
            texts.add(&[])?;
            continue;
        };
        text.clear();
        print(value, metadata, &mut text)?;
        texts.add(text.as_bytes())?;
    }
    Ok(Arc::new(texts.texts(values.nulls().cloned())?))
}

/// Appends the JSON text of one value.
pub(super) fn print(value: &[u8], metadata: &[u8], text: &mut String) -> Result<()> {
    Printer { names: Names::of(metadata)?, left: value.len(), text }.print(value, 0)
}

/// One value on its way into a text.
struct Printer<'a> {
    names: Names<'a>,
    /// Bytes of the value that have not been printed: each is printed once.
    left: usize,
    text: &'a mut String,
}

impl Printer<'_> {
    fn print(&mut self, value: &[u8], depth: usize) -> Result<()> {
        let head = unsigned(value, 0, 1)?;
        self.spend(1)?;
        let (kind, info) = (head & 3, head >> 2);
        match kind {
            0 => self.primitive(value, info),
            1 => self.quoted(bytes(value, 1, info)?),
            _ if depth >= DEEPEST => Err(Error::unsupported(format!("a VARIANT of more than {DEEPEST} levels"))),
            2 => self.object(value, info, depth),
            _ => self.array(value, info, depth),
        }
    }

    /// Values that lie over each other would make a text without end of a few bytes.
    fn spend(&mut self, bytes: usize) -> Result<()> {
        self.left = self.left.checked_sub(bytes).ok_or_else(|| corrupt("values in a VARIANT lie over each other"))?;
        if self.text.len() > LONGEST {
            return Err(Error::unsupported("a VARIANT whose text is longer than 128 MiB"));
        }
        room(self.text, LONGEST_SCALAR)
    }

    fn object(&mut self, value: &[u8], info: usize, depth: usize) -> Result<()> {
        let (of_count, of_id, of_offset) =
            (if info >> 4 & 1 == 1 { 4 } else { 1 }, (info >> 2 & 3) + 1, (info & 3) + 1);
        let count = unsigned(value, 1, of_count)?;
        let ids = 1 + of_count;
        let offsets = ids + count * of_id;
        self.spend(of_count + count * (of_id + of_offset))?;
        self.text.push('{');
        for i in 0..count {
            if i > 0 {
                self.text.push(',');
            }
            let name = self.names.get(unsigned(value, ids + i * of_id, of_id)?)?;
            self.escaped(name)?;
            self.text.push(':');
            self.member(value, (offsets, of_offset, count), i, depth)?;
        }
        self.text.push('}');
        Ok(())
    }

    fn array(&mut self, value: &[u8], info: usize, depth: usize) -> Result<()> {
        let (of_count, of_offset) = (if info >> 2 & 1 == 1 { 4 } else { 1 }, (info & 3) + 1);
        let count = unsigned(value, 1, of_count)?;
        self.spend(of_count + count * of_offset)?;
        self.text.push('[');
        for i in 0..count {
            if i > 0 {
                self.text.push(',');
            }
            self.member(value, (1 + of_count, of_offset, count), i, depth)?;
        }
        self.text.push(']');
        Ok(())
    }

    /// The i-th of `count` values, whose offsets begin at `offsets`.
    fn member(
        &mut self,
        value: &[u8],
        (offsets, width, count): (usize, usize, usize),
        i: usize,
        depth: usize,
    ) -> Result<()> {
        let start = offsets + (count + 1) * width + unsigned(value, offsets + i * width, width)?;
        let rest = bytes(value, start, value.len().saturating_sub(start).max(1))?;
        self.print(rest, depth + 1)
    }

    fn primitive(&mut self, value: &[u8], kind: usize) -> Result<()> {
        let length = match kind {
            0..=2 => 0,
            3 => 1,
            4 => 2,
            5 | 11 | 14 => 4,
            6 | 7 | 12 | 13 => 8,
            8 => 5,
            9 => 9,
            10 => 17,
            15 | 16 => return self.long(value, kind == 15),
            20 => 16,
            other => return Err(Error::unsupported(format!("the VARIANT type {other}"))),
        };
        let stored = bytes(value, 1, length)?;
        self.spend(length)?;
        let number = || signed(stored, 0, length.min(16));
        let micros =
            || signed(stored, 0, 8).and_then(|n| i64::try_from(n).map_err(|e| corrupt("no time").caused_by(e)));
        match kind {
            0 => self.text.push_str("null"),
            1 => self.text.push_str("true"),
            2 => self.text.push_str("false"),
            3..=6 => self.add(number()?),
            7 => {
                let value = f64::from_bits(u64::from_le_bytes(fixed(stored)?));
                self.number(&double_text(value), value.is_finite());
            }
            14 => {
                let value = f32::from_bits(u32::from_le_bytes(fixed(stored)?));
                self.number(&float_text(value), value.is_finite());
            }
            8..=10 => self.decimal(stored)?,
            11 => {
                let days = i64::try_from(number()?).map_err(|e| corrupt("no date").caused_by(e))?;
                self.add(format_args!("\"{}\"", date(days)));
            }
            12 => self.add(format_args!("\"{}+00:00\"", moment(micros()?))),
            13 => self.add(format_args!("\"{}\"", moment(micros()?))),
            _ => self.add(format_args!("\"{}\"", uuid::Uuid::from_bytes(fixed(stored)?))),
        }
        Ok(())
    }

    fn add(&mut self, value: impl std::fmt::Display) {
        // to a String it cannot fail
        let _ = write!(self.text, "{value}");
    }

    fn number(&mut self, number: &str, finite: bool) {
        if finite { self.text.push_str(number) } else { escape(self.text, number) }
    }

    fn decimal(&mut self, stored: &[u8]) -> Result<()> {
        let scale = stored.first().copied().unwrap_or_default();
        let (mut unscaled, mut scale) = (signed(stored, 1, stored.len() - 1)?, scale);
        let most: u8 = match stored.len() - 1 {
            4 => 9,
            8 => 18,
            _ => 38,
        };
        if scale > most {
            return Err(corrupt(format!("a decimal of a VARIANT has the scale {scale}, of {most} digits at most")));
        }
        if unscaled.unsigned_abs() >= 10_u128.pow(most.into()) {
            return Err(corrupt(format!("a decimal of a VARIANT has more than {most} digits")));
        }
        while scale > 0 && unscaled % 10 == 0 {
            (unscaled, scale) = (unscaled / 10, scale - 1);
        }
        self.text.push_str(&decimal_text(unscaled, scale));
        Ok(())
    }

    fn long(&mut self, value: &[u8], binary: bool) -> Result<()> {
        let length = unsigned(value, 1, 4)?;
        let content = bytes(value, 5, length)?;
        self.spend(4)?;
        if !binary {
            return self.quoted(content);
        }
        self.spend(length)?;
        room(self.text, (length / 3).saturating_mul(4))?;
        self.text.push('"');
        BASE64_STANDARD.encode_string(content, self.text);
        self.text.push('"');
        Ok(())
    }

    fn quoted(&mut self, content: &[u8]) -> Result<()> {
        self.spend(content.len())?;
        self.escaped(text(content)?)
    }

    fn escaped(&mut self, content: &str) -> Result<()> {
        room(self.text, escaped_length(content).saturating_add(LONGEST_SCALAR))?;
        escape(self.text, content);
        Ok(())
    }
}

/// As ISO 8601 has it: four digits of the year, more with a sign.
fn date(days: i64) -> String {
    let (year, month, day) = civil_from_days(days);
    let sign = if year < 0 {
        "-"
    } else if year > 9999 {
        "+"
    } else {
        ""
    };
    format!("{sign}{:04}-{month:02}-{day:02}", year.unsigned_abs())
}

/// `2024-01-31 10:20:30.5`: as many digits of the second as there are.
fn moment(micros: i64) -> String {
    let (day, rest) = (micros.div_euclid(MICROS_OF_DAY), micros.rem_euclid(MICROS_OF_DAY));
    let (seconds, fraction) = (rest / 1_000_000, rest % 1_000_000);
    let clock = format!("{} {:02}:{:02}:{:02}", date(day), seconds / 3600, seconds / 60 % 60, seconds % 60);
    if fraction == 0 { clock } else { format!("{clock}.{}", format!("{fraction:06}").trim_end_matches('0')) }
}

/// Room for so many more bytes of a text, or an error.
fn room(text: &mut String, more: usize) -> Result<()> {
    if text.capacity() - text.len() >= more {
        return Ok(());
    }
    limits::ask(text.len().saturating_add(more).saturating_mul(2), TEXTS)?;
    let refused =
        |e| Error::new(ErrorKind::MemoryLimitExceeded, format!("{TEXTS} do not fit into memory")).caused_by(e);
    text.try_reserve(more).map_err(refused)
}

/// No escape is longer; long texts are counted.
fn escaped_length(content: &str) -> usize {
    const LONGEST_ESCAPE: usize = 6;
    if content.len() < 1 << 16 {
        return content.len() * LONGEST_ESCAPE;
    }
    content
        .chars()
        .map(|c| if c < ' ' { LONGEST_ESCAPE } else { c.len_utf8() + usize::from(matches!(c, '"' | '\\')) })
        .sum()
}

/// In double quotes, with the escapes of Java's JSON library.
fn escape(text: &mut String, content: &str) {
    text.push('"');
    for c in content.chars() {
        match c {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\u{8}' => text.push_str("\\b"),
            '\t' => text.push_str("\\t"),
            '\n' => text.push_str("\\n"),
            '\u{c}' => text.push_str("\\f"),
            '\r' => text.push_str("\\r"),
            c if c < ' ' => {
                let _ = write!(text, "\\u{:04X}", u32::from(c));
            }
            c => text.push(c),
        }
    }
    text.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A dictionary of the names `a` and `b`.
    const NAMES: &[u8] = &[0x01, 2, 0, 1, 2, b'a', b'b'];

    fn json(value: &[u8]) -> Result<String> {
        let mut text = String::new();
        print(value, NAMES, &mut text).map(|()| text)
    }

    fn primitive(kind: u8, content: &[u8]) -> Vec<u8> {
        [&[kind << 2], content].concat()
    }

    #[test]
    fn each_kind_of_value_is_printed_as_java_prints_it() {
        for (kind, content, text) in [
            (0, &[][..], "null"),
            (1, &[], "true"),
            (2, &[], "false"),
            (3, &[0xff], "-1"),
            (4, &[0, 0x80], "-32768"),
            (5, &[1, 0, 0, 0], "1"),
            (6, &[0xff; 8], "-1"),
            (7, &1e10_f64.to_le_bytes(), "1.0E10"),
            (7, &f64::NAN.to_le_bytes(), "\"NaN\""),
            (8, &[2, 250, 0, 0, 0], "2.5"),
            (9, &[3, 0xe8, 3, 0, 0, 0, 0, 0, 0], "1"),
            (11, &[0xff, 0xff, 0xff, 0xff], "\"1969-12-31\""),
            (12, &0_i64.to_le_bytes(), "\"1970-01-01 00:00:00+00:00\""),
            (13, &(-500_000_i64).to_le_bytes(), "\"1969-12-31 23:59:59.5\""),
            (14, &0.5_f32.to_le_bytes(), "0.5"),
            (15, &[2, 0, 0, 0, 1, 2], "\"AQI=\""),
            (16, &[3, 0, 0, 0, b'"', 1, b'\n'], "\"\\\"\\u0001\\n\""),
        ] {
            assert_eq!(json(&primitive(kind, content)).unwrap(), text);
        }
        let id: Vec<u8> = (0..16).collect();
        assert_eq!(json(&primitive(20, &id)).unwrap(), "\"00010203-0405-0607-0809-0a0b0c0d0e0f\"");
        assert_eq!(json(&[2 << 2 | 1, b'h', b'i']).unwrap(), "\"hi\"");
    }

    /// Java reads none that has more digits, or a larger scale, than its width stands for.
    #[test]
    fn decimals_have_as_many_digits_as_their_width_stands_for() {
        for (kind, digits, width) in [(8, 9, 4), (9, 18, 8), (10, 38, 16)] {
            let with = |scale: u8, unscaled: i128| {
                let bytes = unscaled.to_le_bytes();
                json(&primitive(kind, &[&[scale], bytes.get(..width).unwrap()].concat()))
            };
            let most = 10_i128.pow(digits) - 1;
            for unscaled in [most, -most] {
                assert_eq!(with(0, unscaled).unwrap(), unscaled.to_string());
                assert_eq!(with(0, unscaled + unscaled.signum()).unwrap_err().kind(), crate::ErrorKind::CorruptFile);
            }
            let scale = u8::try_from(digits).unwrap();
            assert!(with(scale, 1).unwrap().ends_with('1'));
            assert_eq!(with(scale + 1, 1).unwrap_err().kind(), crate::ErrorKind::CorruptFile);
        }
    }

    #[test]
    fn objects_and_arrays_hold_values() {
        // {"a": true, "b": [1, null]}
        let list = [0x03, 2, 0, 2, 3, 3 << 2, 1, 0];
        let object = [&[0x02, 2, 0, 1, 0, 1, 9, 1 << 2][..], &list].concat();
        assert_eq!(json(&object).unwrap(), r#"{"a":true,"b":[1,null]}"#);
        assert_eq!(json(&[0x03, 0, 0]).unwrap(), "[]");
        assert_eq!(json(&[0x02, 0, 0]).unwrap(), "{}");
    }

    #[test]
    fn damaged_values_are_said_to_be_damaged() {
        let object = [0x02, 1, 0, 0, 1, 1 << 2];
        json(&object).unwrap();
        for cut in 0..object.len() {
            assert_eq!(json(&object[..cut]).unwrap_err().kind(), ErrorKind::CorruptFile, "{cut}");
        }
        for value in
            [&[0x02, 1, 9, 0, 1, 4][..], &[0x03, 0xff, 0], &[16 << 2, 0xff, 0xff, 0xff, 0xff], &[1 << 2 | 1, 0xff]]
        {
            assert_eq!(json(value).unwrap_err().kind(), ErrorKind::CorruptFile, "{value:?}");
        }
        assert_eq!(json(&[63 << 2]).unwrap_err().kind(), ErrorKind::UnsupportedFeature);
    }

    /// Two members of an array at one place, twenty times in each other: a million values in a few hundred bytes.
    #[test]
    fn values_that_lie_over_each_other_are_damage_and_depth_has_a_limit() {
        let around = |value: Vec<u8>, offsets: &[u8]| {
            [&[0x03 | 1 << 2, u8::try_from(offsets.len()).unwrap() - 1][..], &vec![0; offsets.len() * 2], &value]
                .concat()
        };
        let twice = (0..20).fold(vec![0], |value, _| around(value, &[0, 0, 0]));
        assert_eq!(json(&twice).unwrap_err().kind(), ErrorKind::CorruptFile);
        let deep = (0..2_000).fold(vec![0], |value, _| around(value, &[0, 0]));
        assert_eq!(json(&deep).unwrap_err().kind(), ErrorKind::UnsupportedFeature);
    }
}
