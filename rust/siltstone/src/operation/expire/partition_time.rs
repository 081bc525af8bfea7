//! The time that a partition's values say (semantics g.9; `PartitionTimeExtractor`).

use chrono::{NaiveDate, NaiveDateTime};

/// Option `partition.timestamp-pattern` with the values filled in, read by option `partition.timestamp-formatter`.
///
/// `None`: the values say no time, so the partition never expires.
pub(super) fn partition_time(
    spec: &[(String, Option<String>)],
    pattern: Option<&str>,
    formatter: Option<&str>,
) -> Option<NaiveDateTime> {
    let text = match pattern {
        Some(pattern) => fill_in(pattern, spec)?,
        None => spec.first()?.1.clone()?,
    };
    match formatter {
        Some(formatter) => parse(&text, &Token::all(formatter)?),
        None => parse_default(&text),
    }
}

/// `$year-$month` with values for names; a longer name is tried first, so that `$dt1` is not `$dt`.
fn fill_in(pattern: &str, spec: &[(String, Option<String>)]) -> Option<String> {
    let mut by_length: Vec<&(String, Option<String>)> = spec.iter().collect();
    by_length.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
    let (mut out, mut rest) = (String::new(), pattern);
    while let Some(at) = rest.find('$') {
        let (before, after) = rest.split_at(at);
        out.push_str(before);
        let after = after.strip_prefix('$')?;
        let found = by_length.iter().find_map(|(name, value)| Some((after.strip_prefix(name.as_str())?, value)));
        if let Some((left, value)) = found {
            out.push_str(value.as_deref()?);
            rest = left;
        } else {
            out.push('$');
            rest = after;
        }
    }
    out.push_str(rest);
    Some(out)
}

/// `2024-5-1` or `2024-05-01 12:30:00[.5]`; values may run over as in `2024-02-30`, which is March 1st.
fn parse_default(text: &str) -> Option<NaiveDateTime> {
    let (date, time) = text.split_once(' ').map_or((text, None), |(date, time)| (date, Some(time)));
    let mut numbers = date.splitn(3, '-').map(|part| digits(part)?.parse::<u32>().ok());
    let (year, month, day) = (numbers.next()??, numbers.next()??, numbers.next()??);
    let months = i32::try_from(month).ok()?.checked_sub(1)?;
    let first = NaiveDate::from_ymd_opt(i32::try_from(year).ok()?, 1, 1)?;
    let month = match u32::try_from(months) {
        Ok(months) => first.checked_add_months(chrono::Months::new(months))?,
        Err(_) => first.checked_sub_months(chrono::Months::new(1))?,
    };
    let date = month.and_hms_opt(0, 0, 0)?.checked_add_signed(chrono::Duration::days(i64::from(day) - 1))?;
    let Some(time) = time else { return Some(date) };
    let mut parts = time.splitn(3, ':');
    let (hours, minutes) = (digits(parts.next()?)?.parse::<i64>().ok()?, digits(parts.next()?)?.parse::<i64>().ok()?);
    let (seconds, fraction) = parts.next()?.split_once('.').map_or((None, ""), |(s, f)| (Some(s), f));
    let seconds = match seconds {
        Some(seconds) => seconds,
        None => time.rsplit(':').next()?,
    };
    let seconds = digits(seconds)?.parse::<i64>().ok()?;
    let nanos = if fraction.is_empty() { 0 } else { format!("{:0<9}", digits(fraction)?).parse::<i64>().ok()? };
    let since = hours.checked_mul(3600)?.checked_add(minutes.checked_mul(60)?)?.checked_add(seconds)?;
    date.checked_add_signed(chrono::Duration::seconds(since))?.checked_add_signed(chrono::Duration::nanoseconds(nanos))
}

fn digits(text: &str) -> Option<&str> {
    (!text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())).then_some(text)
}

/// A piece of a Java `DateTimeFormatter` pattern.
#[derive(Debug, PartialEq, Eq)]
enum Token {
    /// A letter of a field, and how often it stands there.
    Field(char, usize),
    /// Text as it is.
    Literal(char),
}

impl Token {
    /// `yyyyMMdd HH:mm:ss`; letters that are no part of a date and time are not understood.
    fn all(pattern: &str) -> Option<Vec<Self>> {
        let mut tokens = Vec::new();
        let mut quoted = false;
        let mut chars = pattern.chars().peekable();
        while let Some(c) = chars.next() {
            if c == '\'' {
                if chars.next_if_eq(&'\'').is_some() {
                    tokens.push(Self::Literal('\''));
                } else {
                    quoted = !quoted;
                }
            } else if quoted || !c.is_ascii_alphabetic() {
                tokens.push(Self::Literal(c));
            } else if "yuMdHmsS".contains(c) {
                match tokens.last_mut() {
                    Some(Self::Field(last, count)) if *last == c => *count += 1,
                    _ => tokens.push(Self::Field(c, 1)),
                }
            } else {
                return None;
            }
        }
        (!quoted).then_some(tokens)
    }
}

fn parse(text: &str, tokens: &[Token]) -> Option<NaiveDateTime> {
    let (mut year, mut month, mut day) = (None, Some(1), Some(1));
    let (mut hour, mut minute, mut second, mut nano) = (0, 0, 0, 0);
    let mut rest = text;
    for (at, token) in tokens.iter().enumerate() {
        let (letter, count) = match token {
            Token::Literal(c) => {
                rest = rest.strip_prefix(*c)?;
                continue;
            }
            Token::Field(letter, count) => (*letter, *count),
        };
        // a field without fixed width ends at the first character that is no digit
        let fixed = count > 1 || matches!(tokens.get(at + 1), Some(Token::Field(..)));
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let width = if fixed { count } else { end };
        let part = digits(rest.get(..width)?)?;
        rest = rest.get(width..)?;
        let value: u32 = part.parse().ok()?;
        match letter {
            'y' | 'u' if count == 2 => year = Some(2000 + i32::try_from(value).ok()?),
            'y' | 'u' => year = i32::try_from(value).ok(),
            'M' => month = Some(value),
            'd' => day = Some(value),
            'H' => hour = value,
            'm' => minute = value,
            's' => second = value,
            _ => nano = format!("{part:0<9}").get(..9)?.parse().ok()?,
        }
    }
    let date = NaiveDate::from_ymd_opt(year?, month?, day?)?;
    if rest.is_empty() { date.and_hms_nano_opt(hour, minute, second, nano) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(pairs: &[(&str, Option<&str>)]) -> Vec<(String, Option<String>)> {
        pairs.iter().map(|(k, v)| ((*k).to_owned(), v.map(str::to_owned))).collect()
    }

    fn time(pairs: &[(&str, Option<&str>)], pattern: Option<&str>, formatter: Option<&str>) -> Option<String> {
        partition_time(&spec(pairs), pattern, formatter).map(|t| t.to_string())
    }

    #[test]
    fn without_pattern_the_first_value_is_a_date_or_a_time() {
        let at = |text| time(&[("dt", Some(text)), ("h", Some("7"))], None, None);
        assert_eq!(at("2024-05-01").as_deref(), Some("2024-05-01 00:00:00"));
        assert_eq!(at("2024-5-1 1:02:03").as_deref(), Some("2024-05-01 01:02:03"));
        assert_eq!(at("2024-05-01 01:02:03.5").as_deref(), Some("2024-05-01 01:02:03.500"));
        assert_eq!(at("2024-02-30").as_deref(), Some("2024-03-01 00:00:00"));
        for text in ["20240501", "", "x", "2024-05", "2024-05-01T01:02:03", "-1-2-3", "19844"] {
            assert_eq!(at(text), None, "{text}");
        }
    }

    #[test]
    fn patterns_take_values_by_name_and_formatters_read_them() {
        let pairs = [("y", Some("2024")), ("month", Some("05")), ("m", Some("x")), ("d", Some("01"))];
        assert_eq!(time(&pairs, Some("$y-$month-$d"), None).as_deref(), Some("2024-05-01 00:00:00"));
        let compact = [("dt", Some("20240501")), ("hour", Some("23"))];
        assert_eq!(time(&compact, Some("$dt"), Some("yyyyMMdd")).as_deref(), Some("2024-05-01 00:00:00"));
        assert_eq!(time(&compact, Some("$dt $hour"), Some("yyyyMMdd HH")).as_deref(), Some("2024-05-01 23:00:00"));
        assert_eq!(time(&compact, Some("$dt"), Some("yyyy-MM-dd")), None);
        assert_eq!(time(&compact, Some("$dt"), Some("EEEE")), None);
        assert_eq!(time(&[("dt", None)], None, None), None);
        assert_eq!(time(&[("dt", Some("2024/5/1"))], None, Some("yyyy/M/d")).as_deref(), Some("2024-05-01 00:00:00"));
    }
}
