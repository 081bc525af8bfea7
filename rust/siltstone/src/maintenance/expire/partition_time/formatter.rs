//! Patterns of Java's `DateTimeFormatter`, as far as they make up dates and times of day.

use crate::error::{Error, ErrorKind, Result};

/// A field of a date or time of day, by its letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Field {
    Year,
    YearOfEra,
    Month,
    Day,
    DayOfYear,
    DayOfWeek,
    Hour,
    ClockHour,
    HourOfHalf,
    ClockHourOfHalf,
    Half,
    Minute,
    Second,
    Nano,
    NanoOfDay,
    MilliOfDay,
}

/// Which signs a number may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    /// A minus.
    Normal,
    /// A minus; a plus where, and only where, there are more digits than the least number.
    ExceedsPad,
    /// None.
    Never,
}

/// A number of digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Number {
    pub(super) field: Field,
    pub(super) min: usize,
    pub(super) max: usize,
    pub(super) sign: Sign,
    /// Digits that are left to the fields of fixed width right behind it.
    pub(super) reserved: usize,
    /// What is added to it: 2000 for years of two digits.
    pub(super) base: i64,
}

/// A piece of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Literal(char),
    Number(Number),
    /// Digits of a fraction of a second, after a point where the last is true.
    Fraction(usize, usize, bool),
    /// A name, counted from this value on.
    Name(Field, i64, &'static [&'static str]),
    /// It may be missing.
    Optional(Vec<Part>),
}

/// A pattern that texts are read by.
#[derive(Debug)]
pub(super) struct Formatter(pub(super) Vec<Part>);

const MONTHS: &[&str] = &[
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const SHORT_MONTHS: &[&str] = &["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const DAYS: &[&str] = &["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
const SHORT_DAYS: &[&str] = &["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const HALVES: &[&str] = &["AM", "PM"];
/// The most digits of a number, as in Java.
const MAX_DIGITS: usize = 19;

impl Formatter {
    /// `yyyyMMdd['T'HH:mm]`
    pub(super) fn of_pattern(pattern: &str) -> Result<Self> {
        let mut chars = pattern.chars().peekable();
        let mut open: Vec<Vec<Part>> = Vec::new();
        let mut parts = Vec::new();
        while let Some(c) = chars.next() {
            match c {
                '\'' => quoted(&mut chars, &mut parts)?,
                '[' => open.push(std::mem::take(&mut parts)),
                ']' => {
                    let before = open.pop().ok_or_else(|| invalid("it has a ] without a ["))?;
                    let inner = std::mem::replace(&mut parts, before);
                    parts.push(Part::Optional(inner));
                }
                '{' | '}' | '#' => return Err(invalid("it has a reserved character: {, } or #")),
                letter if letter.is_ascii_alphabetic() => {
                    let mut count = 1;
                    while chars.next_if_eq(&letter).is_some() {
                        count += 1;
                    }
                    append(&mut parts, field(letter, count)?);
                }
                other => parts.push(Part::Literal(other)),
            }
        }
        while let Some(before) = open.pop() {
            let inner = std::mem::replace(&mut parts, before);
            parts.push(Part::Optional(inner));
        }
        Ok(Self(parts))
    }

    /// What is read without a formatter: `y-M-d[ H:m:s[.S]]`.
    pub(super) fn default_form() -> Self {
        let digits = |field, max| Part::Number(Number { field, min: 1, max, sign: Sign::Normal, reserved: 0, base: 0 });
        let time = vec![
            Part::Literal(' '),
            digits(Field::Hour, 2),
            Part::Literal(':'),
            digits(Field::Minute, 2),
            Part::Literal(':'),
            digits(Field::Second, 2),
            Part::Optional(vec![Part::Fraction(1, 9, true)]),
        ];
        Self(vec![
            digits(Field::Year, 10),
            Part::Literal('-'),
            digits(Field::Month, 2),
            Part::Literal('-'),
            digits(Field::Day, 2),
            Part::Optional(time),
        ])
    }
}

/// Text up to the next quote that is not doubled; an empty one is a quote.
fn quoted(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, parts: &mut Vec<Part>) -> Result<()> {
    let before = parts.len();
    loop {
        match chars.next() {
            None => return Err(invalid("a ' has no end")),
            Some('\'') if chars.next_if_eq(&'\'').is_none() => break,
            Some(c) => parts.push(Part::Literal(c)),
        }
    }
    if parts.len() == before {
        parts.push(Part::Literal('\''));
    }
    Ok(())
}

/// Fields of fixed width leave no digits to the number of variable width before them.
fn append(parts: &mut Vec<Part>, new: Part) {
    let width = match &new {
        Part::Number(number) if number.min == number.max => number.min,
        Part::Fraction(min, max, false) if min == max => *min,
        _ => 0,
    };
    let is_fixed = |part: &Part| match part {
        Part::Number(number) => number.min == number.max && number.sign == Sign::Never,
        Part::Fraction(..) => true,
        _ => false,
    };
    let variable = parts.iter_mut().rev().find(|part| !is_fixed(part));
    match (width, variable) {
        (1.., Some(Part::Number(number))) => number.reserved += width,
        // the digits end with the second number of variable width
        (0, Some(Part::Number(number))) if matches!(new, Part::Number(_)) => number.reserved = 0,
        _ => {}
    }
    parts.push(new);
}

/// The field of a letter that stands there so often (`DateTimeFormatterBuilder.parseField`).
fn field(letter: char, count: usize) -> Result<Part> {
    let number = |field, min, max, sign| Part::Number(Number { field, min, max, sign, reserved: 0, base: 0 });
    let short = |field| match count {
        1 => Ok(number(field, 1, MAX_DIGITS, Sign::Normal)),
        2 => Ok(number(field, 2, 2, Sign::Never)),
        _ => Err(invalid(&format!("there are too many letters {letter} in a row"))),
    };
    let unsupported = || {
        Error::unsupported(format!("'{}' in a formatter of times", letter.to_string().repeat(count)))
            .hint("the letters y u M L d D E a H h K k m s S A n N make up a date and a time")
    };
    match letter {
        'y' | 'u' => {
            let field = if letter == 'u' { Field::Year } else { Field::YearOfEra };
            Ok(match count {
                2 => Part::Number(Number { field, min: 2, max: 2, sign: Sign::Never, reserved: 0, base: 2000 }),
                1 | 3 => number(field, count, MAX_DIGITS, Sign::Normal),
                _ if count <= MAX_DIGITS => number(field, count, MAX_DIGITS, Sign::ExceedsPad),
                _ => return Err(invalid("there are too many letters in a row")),
            })
        }
        'M' | 'L' => match count {
            3 => Ok(Part::Name(Field::Month, 1, SHORT_MONTHS)),
            4 => Ok(Part::Name(Field::Month, 1, MONTHS)),
            5 => Err(unsupported()),
            _ => short(Field::Month),
        },
        'E' => match count {
            1..=3 => Ok(Part::Name(Field::DayOfWeek, 1, SHORT_DAYS)),
            4 => Ok(Part::Name(Field::DayOfWeek, 1, DAYS)),
            5 => Err(unsupported()),
            _ => Err(invalid("there are too many letters E in a row")),
        },
        'a' if count == 1 => Ok(Part::Name(Field::Half, 0, HALVES)),
        'd' => short(Field::Day),
        'H' => short(Field::Hour),
        'k' => short(Field::ClockHour),
        'K' => short(Field::HourOfHalf),
        'h' => short(Field::ClockHourOfHalf),
        'm' => short(Field::Minute),
        's' => short(Field::Second),
        'D' => match count {
            1 => short(Field::DayOfYear),
            2 | 3 => Ok(number(Field::DayOfYear, count, 3, Sign::Never)),
            _ => Err(invalid("there are too many letters D in a row")),
        },
        'S' if count <= 9 => Ok(Part::Fraction(count, count, false)),
        'n' | 'N' | 'A' if count <= MAX_DIGITS => {
            let field = match letter {
                'n' => Field::Nano,
                'N' => Field::NanoOfDay,
                _ => Field::MilliOfDay,
            };
            Ok(number(field, count, MAX_DIGITS, Sign::Never))
        }
        'G' | 'Q' | 'q' | 'Y' | 'w' | 'W' | 'e' | 'c' | 'F' | 'B' | 'g' | 'V' | 'v' | 'z' | 'O' | 'X' | 'x' | 'Z'
        | 'p' => Err(unsupported()),
        _ => Err(invalid(&format!("{count} letters {letter} in a row mean nothing"))),
    }
}

fn invalid(what: &str) -> Error {
    Error::new(ErrorKind::InvalidOption, format!("this is no pattern of a date and time: {what}"))
        .hint("write it as Java's DateTimeFormatter reads it, such as yyyyMMdd or yyyy-MM-dd'T'HH")
}
