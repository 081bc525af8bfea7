//! Escaping of partition names and values in directory names (format chapter 1.3).

use std::fmt::Write as _;

/// `%HH` for characters that cannot stand in a directory name; all others, also non-ASCII, stay.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if must_escape(c) {
            let _ = write!(out, "%{:02X}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out
}

/// The text that [`escape`] was given. A `%` that no two hex digits follow is kept.
pub fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let (c, used) = hex_code(from).map_or(('%', 1), |c| (c, 3));
        out.push(c);
        rest = from.get(used..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}

fn hex_code(from_percent: &str) -> Option<char> {
    let digits = from_percent.get(1..3)?;
    if !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    u8::from_str_radix(digits, 16).ok().map(char::from)
}

fn must_escape(c: char) -> bool {
    matches!(
        c,
        '\u{0}'
            ..='\u{1F}'
                | '"'
                | '#'
                | '%'
                | '\''
                | '*'
                | '/'
                | ':'
                | '='
                | '?'
                | '\\'
                | '\u{7F}'
                | '{'
                | '}'
                | '['
                | ']'
                | '^'
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn special_characters_become_hex_and_others_stay() {
        assert_eq!(escape("a b/c:d%=é[x]"), "a b%2Fc%3Ad%25%3Dé%5Bx%5D");
        assert_eq!(escape("\u{1}\u{7f}"), "%01%7F");
        assert_eq!(escape("𝄞~,"), "𝄞~,");
    }

    #[test]
    fn an_invalid_sequence_is_kept_as_text() {
        assert_eq!(unescape("100%"), "100%");
        assert_eq!(unescape("%zz%2"), "%zz%2");
        assert_eq!(unescape("%é%2F"), "%é/");
    }

    proptest! {
        #[test]
        fn unescaping_gives_back_what_was_escaped(text in "\\PC*|[%=/a-f0-9é]*") {
            prop_assert_eq!(unescape(&escape(&text)), text);
        }
    }
}
