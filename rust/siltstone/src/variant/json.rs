//! JSON texts to values, with Java's choice of types: the narrowest integer, DECIMAL for a fraction of up to 38 digits,
//! DOUBLE for exponents and more digits.
//!
//! `serde_json` reads numbers into DOUBLE before anybody sees their digits, so the text is taken apart here; texts in it are
//! read by `serde_json`.
//!
//! Source: `GenericVariantBuilder.buildJson`.

use arrow_array::Array as _;
use arrow_array::{ArrayRef, StringArray};

use super::{
    DEEPEST,
    binaries::{BINARIES, made},
    builder::{Builder, Member, too_deep},
    collected::Collected,
};
use crate::{
    cancel,
    error::{Error, ErrorKind, Result},
};

/// Digits of a DECIMAL.
const DIGITS: usize = 38;

/// The value of each text; an error tells the row.
pub(crate) fn from_json_texts(texts: &StringArray) -> std::result::Result<ArrayRef, (usize, Error)> {
    let collected = || Collected::new(BINARIES, texts.len()).map_err(|e| (0, e));
    let (mut values, mut metadata) = (collected()?, collected()?);
    let mut builder = Builder::default();
    for (at, text) in texts.iter().enumerate() {
        let (value, names) = match text {
            Some(text) => parsed(text, &mut builder).map_err(|e| (at, e))?,
            None => (Vec::new(), Vec::new()),
        };
        values.add(&value).and_then(|()| metadata.add(&names)).map_err(|e| (at, e))?;
    }
    made(values, metadata, texts.nulls()).map_err(|e| (0, e))
}

fn parsed(text: &str, builder: &mut Builder) -> Result<(Vec<u8>, Vec<u8>)> {
    cancel::check()?;
    let mut json = Json { text, at: 0, builder };
    json.value(0)?;
    json.blanks();
    if json.at < text.len() {
        return Err(json.unexpected("the end"));
    }
    json.builder.finish()
}

struct Json<'a> {
    text: &'a str,
    at: usize,
    builder: &'a mut Builder,
}

impl Json<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn next(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn blanks(&mut self) {
        while matches!(self.next(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn unexpected(&self, wanted: &str) -> Error {
        let text = match self.rest().chars().next() {
            Some(found) => format!("not JSON: {} at byte {} where {wanted} is expected", found.escape_debug(), self.at),
            None => format!("not JSON: it ends where {wanted} is expected"),
        };
        Error::new(ErrorKind::InvalidArgument, text)
    }

    /// Takes this text, if it comes next.
    fn takes(&mut self, word: &str) -> bool {
        let found = self.rest().starts_with(word);
        if found {
            self.at += word.len();
        }
        found
    }

    fn value(&mut self, depth: usize) -> Result<()> {
        self.blanks();
        match self.next() {
            Some(b'{' | b'[') if depth >= DEEPEST => Err(too_deep()),
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => {
                let text = self.string()?;
                self.builder.text(&text)
            }
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ if self.takes("null") => self.builder.bare(0),
            _ if self.takes("true") => self.builder.bare(1),
            _ if self.takes("false") => self.builder.bare(2),
            _ => Err(self.unexpected("a value")),
        }
    }

    fn object(&mut self, depth: usize) -> Result<()> {
        let start = self.builder.position();
        let mut fields: Vec<Member> = Vec::new();
        self.at += 1;
        self.blanks();
        if !self.takes("}") {
            loop {
                cancel_now_and_then(fields.len())?;
                self.blanks();
                if self.next() != Some(b'"') {
                    return Err(self.unexpected("the name of a field"));
                }
                let name = self.string()?;
                self.blanks();
                if !self.takes(":") {
                    return Err(self.unexpected("':'"));
                }
                self.builder.field(&name, start, &mut fields)?;
                self.value(depth + 1)?;
                if self.ends("}", "',' or '}'")? {
                    break;
                }
            }
        }
        self.builder.finish_object(start, &mut fields)
    }

    fn array(&mut self, depth: usize) -> Result<()> {
        let start = self.builder.position();
        let mut elements: Vec<Member> = Vec::new();
        self.at += 1;
        self.blanks();
        if !self.takes("]") {
            loop {
                cancel_now_and_then(elements.len())?;
                self.builder.element(start, &mut elements)?;
                self.value(depth + 1)?;
                if self.ends("]", "',' or ']'")? {
                    break;
                }
            }
        }
        self.builder.finish_array(start, &elements)
    }

    /// After a member: whether it was the last one.
    fn ends(&mut self, end: &str, wanted: &str) -> Result<bool> {
        self.blanks();
        if self.takes(end) {
            return Ok(true);
        }
        if self.takes(",") { Ok(false) } else { Err(self.unexpected(wanted)) }
    }

    fn string(&mut self) -> Result<String> {
        let mut end = self.at + 1;
        loop {
            match self.text.as_bytes().get(end) {
                Some(b'"') => break,
                Some(b'\\') => end += 2,
                Some(_) => end += 1,
                None => {
                    self.at = self.text.len();
                    return Err(self.unexpected("the end of a text"));
                }
            }
        }
        let quoted = self.text.get(self.at..=end).unwrap_or_default();
        let text = serde_json::from_str(quoted).map_err(|e| {
            let text = format!("not JSON: the text at byte {} is none", self.at);
            Error::new(ErrorKind::InvalidArgument, text).caused_by(e)
        })?;
        self.at = end + 1;
        Ok(text)
    }

    fn digits(&mut self) -> Result<()> {
        let start = self.at;
        while matches!(self.next(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at == start { Err(self.unexpected("a digit")) } else { Ok(()) }
    }

    fn number(&mut self) -> Result<()> {
        let start = self.at;
        let _ = self.takes("-");
        if !self.takes("0") {
            self.digits()?;
        }
        let mut fraction = 0;
        if self.takes(".") {
            let point = self.at;
            self.digits()?;
            fraction = self.at - point;
        }
        let mut has_exponent = false;
        if self.takes("e") || self.takes("E") {
            has_exponent = true;
            let _ = self.takes("+") || self.takes("-");
            self.digits()?;
        }
        let number = self.text.get(start..self.at).unwrap_or_default();
        if fraction == 0
            && !has_exponent
            && let Ok(value) = number.parse::<i64>()
        {
            return self.builder.integer(value);
        }
        if !has_exponent
            && fraction <= DIGITS
            && let Some(unscaled) = unscaled(number)
        {
            let scale = u8::try_from(fraction).unwrap_or_default();
            return self.builder.decimal(unscaled, scale);
        }
        match number.parse::<f64>() {
            Ok(value) if value.is_finite() => self.builder.primitive(7, &value.to_le_bytes()),
            _ => Err(Error::new(ErrorKind::InvalidArgument, "a number that is larger than any DOUBLE")),
        }
    }
}

/// The digits of a number without its point, when a DECIMAL has as many.
fn unscaled(number: &str) -> Option<i128> {
    let digits: String = number.chars().filter(|c| *c != '.').collect();
    let value: i128 = digits.parse().ok()?;
    (value.unsigned_abs() < 10_u128.pow(38)).then_some(value)
}

fn cancel_now_and_then(members: usize) -> Result<()> {
    if members % 1024 == 1023 { cancel::check() } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use proptest::{
        collection::{btree_map, vec},
        prelude::*,
    };
    use serde_json::Value;

    use super::super::text::print;
    use super::*;

    fn encoded(text: &str) -> Result<(Vec<u8>, Vec<u8>)> {
        parsed(text, &mut Builder::default())
    }

    /// What Java 1.4.2 wrote for these texts.
    #[test]
    fn values_have_javas_bytes() {
        for (text, value, metadata) in [
            ("\"oxbow\"", &b"\x15oxbow"[..], &b"\x01\x00\x00"[..]),
            ("80371693", b"\x14\xed_\xca\x04", b"\x01\x00\x00"),
            ("[1, \"x\"]", b"\x03\x02\x00\x02\x04\x0c\x01\x05x", b"\x01\x00\x00"),
            (
                "{\"n\": {\"m\": {\"o\": \"pond\"}}}",
                b"\x02\x01\x00\x00\x0f\x02\x01\x01\x00\n\x02\x01\x02\x00\x05\x11pond",
                b"\x01\x03\x00\x01\x02\x03nmo",
            ),
            (
                "{\"a\": 1, \"b\": [1, 2.5, null, true], \"c\": \"tarn\"}",
                b"\x02\x03\x00\x01\x02\x00\x02\x13\x18\x0c\x01\x03\x04\x00\x02\x08\t\n\x0c\x01 \x01\x19\x00\x00\x00\x00\x04\x11tarn",
                b"\x01\x03\x00\x01\x02\x03abc",
            ),
        ] {
            let (v, m) = encoded(text).unwrap();
            assert_eq!((v.as_slice(), m.as_slice()), (value, metadata), "{text}");
        }
    }

    #[test]
    fn what_is_written_is_printed_again() {
        let long = format!("\"{}\"", "ä".repeat(200));
        let many = format!("[{}]", vec!["7"; 300].join(","));
        for text in [
            "null",
            "true",
            "-0.5",
            "9223372036854775807",
            "9223372036854775808",
            "1.0E10",
            "[]",
            "{}",
            "[[],{}]",
            "{\"b\":1,\"a\":{\"b\":[null,false,\"\\\"\"]}}",
            "12345678901234567890.123",
            &long,
            &many,
        ] {
            let (value, metadata) = encoded(text).unwrap();
            let mut printed = String::new();
            print(&value, &metadata, &mut printed).unwrap();
            let sorted =
                if text.starts_with("{\"b\"") { "{\"a\":{\"b\":[null,false,\"\\\"\"]},\"b\":1}" } else { text };
            assert_eq!(printed, sorted);
        }
        assert_eq!(encoded("0.10").unwrap().0, [8 << 2, 2, 10, 0, 0, 0]);
    }

    #[test]
    fn what_is_no_json_is_refused() {
        for text in [
            "",
            " ",
            "{",
            "[1",
            "[1,]",
            "{\"a\"}",
            "{\"a\":1,}",
            "nul",
            "01",
            "1.",
            "1e",
            "-",
            "\"a",
            "\"\\q\"",
            "1 2",
            "NaN",
            "'a'",
            "\"\\ud800\"",
            "1e400",
            "{\"a\":1,\"a\":2}",
            "\"\n\"",
        ] {
            assert_eq!(encoded(text).unwrap_err().kind(), ErrorKind::InvalidArgument, "{text}");
        }
        let deep = format!("{}{}", "[".repeat(1_001), "]".repeat(1_001));
        assert_eq!(encoded(&deep).unwrap_err().kind(), ErrorKind::UnsupportedFeature);
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            prop_oneof![
                vec(inner.clone(), 0..6).prop_map(Value::from),
                btree_map(any::<String>(), inner, 0..6).prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_json_comes_back(json in any_json()) {
            let (value, metadata) = encoded(&json.to_string()).unwrap();
            let mut printed = String::new();
            print(&value, &metadata, &mut printed).unwrap();
            prop_assert_eq!(serde_json::from_str::<Value>(&printed).unwrap(), json);
        }

        #[test]
        fn any_text_is_a_value_or_an_error(text in r#"[\[\]{},:"0-9.eE+\-a-z\\ \n]{0,40}"#) {
            let _ = encoded(&text);
        }
    }
}
