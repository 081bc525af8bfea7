//! Types from their SQL text (format chapter 2.3; `DataTypeJsonParser`); `display.rs` is the way back.
//!
//! `DECIMAL(10, 2) NOT NULL`, `TIMESTAMP(3) WITH LOCAL TIME ZONE`, also the nested forms `ARRAY<INT>`,
//! `MAP<STRING, INT>`, `ROW<a INT, b STRING 'comment'>`, which Paimon prints but does not read itself.

use std::fmt;

use super::{DataField, DataType, MAX_LENGTH, TypeKind};
use crate::error::{Error, ErrorKind, Result};

/// Deeper types are refused instead of exhausting the stack.
pub(super) const MAX_DEPTH: usize = 64;

/// Parses a type in any spelling that Paimon accepts. Nested row fields are numbered 0, 1, 2... depth first.
pub fn parse_type(text: &str) -> Result<DataType> {
    let tokens = tokenize(text)?;
    let mut parser = Parser { text, tokens: &tokens, at: 0, next_id: 0 };
    let parsed = parser.type_with_nullability(0)?;
    match parser.peek() {
        None => Ok(parsed),
        Some(token) => Err(parser.error(format!("unexpected {token}"))),
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    /// Keyword or bare name, as written.
    Word(String),
    /// `` `name` ``
    Quoted(String),
    /// `'text'`
    Text(String),
    Number(String),
    Sign(char),
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(t) | Self::Quoted(t) | Self::Text(t) | Self::Number(t) => write!(f, "'{t}'"),
            Self::Sign(c) => write!(f, "'{c}'"),
        }
    }
}

fn tokenize(text: &str) -> Result<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut chars = text.chars().peekable();
    while let Some(&c) = chars.peek() {
        match c {
            c if c.is_whitespace() => {
                chars.next();
            }
            '<' | '>' | '(' | ')' | ',' | '.' | ':' => {
                chars.next();
                tokens.push(Token::Sign(c));
            }
            '\'' | '`' => {
                chars.next();
                let inner = quoted(&mut chars, c).ok_or_else(|| wrong_type(text, format!("{c} is not closed")))?;
                tokens.push(if c == '`' { Token::Quoted(inner) } else { Token::Text(inner) });
            }
            c if c.is_ascii_digit() => {
                let mut number = String::new();
                while let Some(d) = chars.next_if(char::is_ascii_digit) {
                    number.push(d);
                }
                tokens.push(Token::Number(number));
            }
            _ => {
                let mut word = String::new();
                while let Some(d) = chars.next_if(|d| !d.is_whitespace() && !"<>(),.:'`".contains(*d)) {
                    word.push(d);
                }
                tokens.push(Token::Word(word));
            }
        }
    }
    Ok(tokens)
}

/// The text up to the closing quote; a doubled quote stands for itself.
fn quoted(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, quote: char) -> Option<String> {
    let mut inner = String::new();
    loop {
        let c = chars.next()?;
        if c == quote && chars.next_if_eq(&quote).is_none() {
            return Some(inner);
        }
        inner.push(c);
    }
}

fn wrong_type(text: &str, why: impl fmt::Display) -> Error {
    Error::new(ErrorKind::UnsupportedType, format!("'{text}' is not a Paimon type: {why}")).hint(
        "types look like INT, DECIMAL(10, 2), VARCHAR(20), TIMESTAMP(3), ARRAY<INT>, ROW<a INT>, each with NOT NULL",
    )
}

/// What types of SQL dialects and of Arrow are called here; the name is in capitals.
fn called_here(name: &str) -> Option<&'static str> {
    Some(match name {
        "TEXT" | "UTF8" | "LARGE_STRING" | "NVARCHAR" => "STRING",
        "BOOL" => "BOOLEAN",
        "INT16" | "SHORT" => "SMALLINT",
        "INT32" => "INT",
        "INT64" | "LONG" => "BIGINT",
        "FLOAT32" | "REAL" => "FLOAT",
        "FLOAT64" => "DOUBLE",
        "DATE32" => "DATE",
        "DATETIME" | "TIMESTAMP_NTZ" => "TIMESTAMP(6)",
        "TIMESTAMPTZ" => "TIMESTAMP_LTZ(6)",
        "BYTEA" => "BYTES",
        "LIST" => "ARRAY<...>",
        "JSON" => "VARIANT, or STRING",
        _ => return None,
    })
}

struct Parser<'a> {
    text: &'a str,
    tokens: &'a [Token],
    at: usize,
    next_id: i32,
}

impl Parser<'_> {
    fn error(&self, why: impl fmt::Display) -> Error {
        wrong_type(self.text, why)
    }

    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn word_is(&self, offset: usize, word: &str) -> bool {
        matches!(self.tokens.get(self.at + offset), Some(Token::Word(w)) if w.eq_ignore_ascii_case(word))
    }

    /// Takes these words if they come next.
    fn take_words(&mut self, words: &[&str]) -> bool {
        let all = words.iter().enumerate().all(|(i, word)| self.word_is(i, word));
        if all {
            self.at += words.len();
        }
        all
    }

    fn take_sign(&mut self, sign: char) -> bool {
        let found = self.peek() == Some(&Token::Sign(sign));
        if found {
            self.at += 1;
        }
        found
    }

    fn expect_sign(&mut self, sign: char) -> Result<()> {
        if self.take_sign(sign) { Ok(()) } else { Err(self.error(format!("'{sign}' is missing"))) }
    }

    fn next(&mut self) -> Result<Token> {
        let token = self.peek().cloned().ok_or_else(|| self.error("the text ends too early"))?;
        self.at += 1;
        Ok(token)
    }

    fn number(&mut self, least: u32, most: u32, what: &str) -> Result<u32> {
        match self.next()? {
            Token::Number(n) => match n.parse() {
                Ok(n) if (least..=most).contains(&n) => Ok(n),
                _ => Err(self.error(format!("the {what} must be from {least} to {most}"))),
            },
            other => Err(self.error(format!("a number was expected, not {other}"))),
        }
    }

    /// `(n)`, or the default.
    fn parameter(&mut self, default: u32, least: u32, most: u32, what: &str) -> Result<u32> {
        if !self.take_sign('(') {
            return Ok(default);
        }
        let n = self.number(least, most, what)?;
        self.expect_sign(')')?;
        Ok(n)
    }

    fn length(&mut self) -> Result<u32> {
        self.parameter(1, 1, MAX_LENGTH, "length")
    }

    fn precision(&mut self, default: u32) -> Result<u8> {
        let p = self.parameter(default, 0, 9, "precision")?;
        u8::try_from(p).map_err(|_| self.error("the precision must be from 0 to 9"))
    }

    /// `[NOT] NULL`, or nothing for nullable.
    fn nullability(&mut self) -> bool {
        if self.take_words(&["NOT", "NULL"]) {
            return false;
        }
        self.take_words(&["NULL"]);
        true
    }

    fn type_with_nullability(&mut self, depth: usize) -> Result<DataType> {
        if depth > MAX_DEPTH {
            return Err(self.error("it is nested too deeply"));
        }
        let kind = self.kind(depth)?;
        let mut parsed = DataType { kind, nullable: self.nullability() };
        // the suffix forms `INT ARRAY`, `INT MULTISET`
        for _ in 0..MAX_DEPTH {
            let wrap = if self.take_words(&["ARRAY"]) {
                TypeKind::Array
            } else if self.take_words(&["MULTISET"]) {
                TypeKind::Multiset
            } else {
                return Ok(parsed);
            };
            parsed = DataType { kind: wrap(Box::new(parsed)), nullable: self.nullability() };
        }
        Err(self.error("it is nested too deeply"))
    }

    fn kind(&mut self, depth: usize) -> Result<TypeKind> {
        let Token::Word(word) = self.next()? else { return Err(self.error("a type name was expected")) };
        Ok(match word.to_ascii_uppercase().as_str() {
            "CHAR" => TypeKind::Char(self.length()?),
            "VARCHAR" => TypeKind::VarChar(self.length()?),
            "STRING" => TypeKind::VarChar(MAX_LENGTH),
            "BOOLEAN" => TypeKind::Boolean,
            "BINARY" => TypeKind::Binary(self.length()?),
            "VARBINARY" => TypeKind::VarBinary(self.length()?),
            "BYTES" => TypeKind::VarBinary(MAX_LENGTH),
            "DECIMAL" | "NUMERIC" | "DEC" => self.decimal()?,
            "TINYINT" => TypeKind::TinyInt,
            "SMALLINT" => TypeKind::SmallInt,
            "INT" | "INTEGER" => TypeKind::Int,
            "BIGINT" => TypeKind::BigInt,
            "FLOAT" => TypeKind::Float,
            "DOUBLE" => {
                self.take_words(&["PRECISION"]);
                TypeKind::Double
            }
            "DATE" => TypeKind::Date,
            "TIME" => {
                let precision = self.precision(0)?;
                self.take_words(&["WITHOUT", "TIME", "ZONE"]);
                TypeKind::Time(precision)
            }
            "TIMESTAMP" => self.timestamp()?,
            "TIMESTAMP_LTZ" => TypeKind::LocalZonedTimestamp(self.precision(6)?),
            "VARIANT" => TypeKind::Variant,
            "BLOB" => TypeKind::Blob,
            "ARRAY" => TypeKind::Array(Box::new(self.single_parameter_type(depth)?)),
            "MULTISET" => TypeKind::Multiset(Box::new(self.single_parameter_type(depth)?)),
            "MAP" => self.map(depth)?,
            "VECTOR" => self.vector(depth)?,
            "ROW" | "STRUCT" => self.row(depth)?,
            other => {
                let error = self.error(format!("'{word}' is not a type name"));
                return Err(match called_here(other) {
                    Some(name) => error.hint(format!("here it is called {name}")),
                    None => error,
                });
            }
        })
    }

    fn decimal(&mut self) -> Result<TypeKind> {
        let (mut precision, mut scale) = (10, 0);
        if self.take_sign('(') {
            precision = self.number(1, 38, "precision")?;
            if self.take_sign(',') {
                scale = self.number(0, precision, "scale")?;
            }
            self.expect_sign(')')?;
        }
        let small = |n: u32| u8::try_from(n).map_err(|_| self.error("the precision must be from 1 to 38"));
        Ok(TypeKind::Decimal { precision: small(precision)?, scale: small(scale)? })
    }

    fn timestamp(&mut self) -> Result<TypeKind> {
        let precision = self.precision(6)?;
        if self.take_words(&["WITH", "LOCAL", "TIME", "ZONE"]) {
            return Ok(TypeKind::LocalZonedTimestamp(precision));
        }
        self.take_words(&["WITHOUT", "TIME", "ZONE"]);
        Ok(TypeKind::Timestamp(precision))
    }

    fn single_parameter_type(&mut self, depth: usize) -> Result<DataType> {
        self.expect_sign('<')?;
        let element = self.type_with_nullability(depth + 1)?;
        self.expect_sign('>')?;
        Ok(element)
    }

    fn map(&mut self, depth: usize) -> Result<TypeKind> {
        self.expect_sign('<')?;
        let key = self.type_with_nullability(depth + 1)?;
        self.expect_sign(',')?;
        let value = self.type_with_nullability(depth + 1)?;
        self.expect_sign('>')?;
        Ok(TypeKind::Map(Box::new(key), Box::new(value)))
    }

    fn vector(&mut self, depth: usize) -> Result<TypeKind> {
        self.expect_sign('<')?;
        let element = self.type_with_nullability(depth + 1)?;
        self.expect_sign(',')?;
        let length = self.number(1, MAX_LENGTH, "length")?;
        self.expect_sign('>')?;
        Ok(TypeKind::Vector(Box::new(element), length))
    }

    /// `<name [:] type ['comment'], ...>`, or the same in parentheses
    fn row(&mut self, depth: usize) -> Result<TypeKind> {
        let close = if self.take_sign('(') {
            ')'
        } else {
            self.expect_sign('<')?;
            '>'
        };
        let mut fields = Vec::new();
        if self.take_sign(close) {
            return Ok(TypeKind::Row(fields));
        }
        loop {
            fields.push(self.row_field(depth)?);
            if self.take_sign(close) {
                return Ok(TypeKind::Row(fields));
            }
            self.expect_sign(',')?;
        }
    }

    fn row_field(&mut self, depth: usize) -> Result<DataField> {
        let name = match self.next()? {
            Token::Word(name) | Token::Quoted(name) | Token::Number(name) => name,
            other => return Err(self.error(format!("a field name was expected, not {other}"))),
        };
        self.take_sign(':');
        let id = self.next_id;
        self.next_id += 1;
        let mut field = DataField::new(id, name, self.type_with_nullability(depth + 1)?);
        if let Some(Token::Text(comment)) = self.peek().cloned() {
            self.at += 1;
            field.description = Some(comment);
        }
        Ok(field)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(text: &str) -> String {
        parse_type(text).unwrap().to_string()
    }

    #[test]
    fn what_holds_a_variant_has_no_order() {
        for (text, ordered) in [
            ("INT", true),
            ("MAP<INT, ARRAY<STRING>>", true),
            ("ROW<a INT, b MULTISET<DATE>>", true),
            ("VARIANT", false),
            ("ARRAY<VARIANT>", false),
            ("ROW<a INT, b MAP<INT, VARIANT>>", false),
        ] {
            assert_eq!(parse_type(text).unwrap().has_order(), ordered, "{text}");
        }
    }

    #[test]
    fn every_accepted_spelling_gives_its_canonical_text() {
        for (text, expected) in [
            ("char", "CHAR(1)"),
            ("VarChar ( 20 )", "VARCHAR(20)"),
            ("VARCHAR(2147483647)", "STRING"),
            ("varbinary", "VARBINARY(1)"),
            ("VARBINARY(2147483647) not  null", "BYTES NOT NULL"),
            ("dec", "DECIMAL(10, 0)"),
            ("numeric(12,2)", "DECIMAL(12, 2)"),
            ("decimal(38)", "DECIMAL(38, 0)"),
            ("INTEGER NULL", "INT"),
            ("double precision NOT NULL", "DOUBLE NOT NULL"),
            ("TIME", "TIME(0)"),
            ("TIME(3) WITHOUT TIME ZONE", "TIME(3)"),
            ("timestamp", "TIMESTAMP(6)"),
            ("TIMESTAMP(9) WITHOUT TIME ZONE", "TIMESTAMP(9)"),
            ("TIMESTAMP WITH LOCAL TIME ZONE", "TIMESTAMP(6) WITH LOCAL TIME ZONE"),
            ("TIMESTAMP_LTZ(3) NOT NULL", "TIMESTAMP(3) WITH LOCAL TIME ZONE NOT NULL"),
            ("INT NOT NULL ARRAY", "ARRAY<INT NOT NULL>"),
            ("STRING MULTISET NOT NULL", "MULTISET<STRING> NOT NULL"),
            ("map<string not null, array<int>>", "MAP<STRING NOT NULL, ARRAY<INT>>"),
            ("VECTOR<FLOAT, 128>", "VECTOR<FLOAT, 128>"),
            (
                "row<a int, `b c` string 'it''s', d row<e int> not null>",
                "ROW<`a` INT, `b c` STRING 'it''s', `d` ROW<`e` INT> NOT NULL>",
            ),
            ("struct<a:int,b:array<string>>", "ROW<`a` INT, `b` ARRAY<STRING>>"),
            ("VARIANT", "VARIANT"),
            ("BLOB", "BLOB"),
        ] {
            assert_eq!(canonical(text), expected, "{text}");
            assert_eq!(canonical(expected), expected);
        }
    }

    #[test]
    fn types_of_other_systems_are_told_what_they_are_called_here() {
        for (text, here) in [("TEXT", "STRING"), ("int64", "BIGINT"), ("ARRAY<bool>", "BOOLEAN")] {
            let error = parse_type(text).unwrap_err();
            assert_eq!(error.hint_text(), Some(format!("here it is called {here}").as_str()), "{text}");
        }
        assert!(parse_type("INTT").unwrap_err().hint_text().unwrap().starts_with("types look like"));
    }

    #[test]
    fn wrong_texts_are_errors_that_show_the_text() {
        for text in [
            "",
            "INTT",
            "DECIMAL(39, 2)",
            "DECIMAL(5, 6)",
            "CHAR(0)",
            "VARCHAR(2147483648)",
            "TIME(10)",
            "INT INT",
            "DECIMAL(10",
            "ARRAY<INT",
            "MAP<INT>",
            "ROW<a>",
            "NOT NULL",
            "'INT'",
            "TIMESTAMP(3) WITH TIME ZONE",
            "`INT",
        ] {
            let error = parse_type(text).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::UnsupportedType, "{text}");
            assert!(error.message().contains(text));
        }
    }

    #[test]
    fn endless_nesting_is_refused() {
        let deep = "ARRAY<".repeat(10_000);
        assert!(parse_type(&deep).is_err());
        assert!(parse_type(&format!("INT{}", " ARRAY".repeat(10_000))).is_err());
    }

    #[test]
    fn nested_fields_are_numbered_depth_first() {
        let TypeKind::Row(fields) = parse_type("ROW<a ROW<x INT>, b INT>").unwrap().kind else { panic!() };
        assert_eq!((fields[0].id, fields[1].id), (0, 2));
    }
}
