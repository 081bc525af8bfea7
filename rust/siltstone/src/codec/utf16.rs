//! The order of texts in Java.

use std::cmp::Ordering;

/// Bytes that are compared at once.
const BLOCK: usize = 1024;

/// The order of Java's `String.compareTo`, by UTF-16 units: characters that need two of them come before those from U+E000 on.
pub fn compare_utf16(a: &str, b: &str) -> Ordering {
    let blocks = a.as_bytes().chunks_exact(BLOCK).zip(b.as_bytes().chunks_exact(BLOCK));
    let mut same = blocks.take_while(|(a, b)| a == b).count() * BLOCK;
    // both have the same bytes up to there, hence the same characters
    while !a.is_char_boundary(same) {
        same -= 1;
    }
    let (a, b) = (a.get(same..).unwrap_or(a), b.get(same..).unwrap_or(b));
    a.encode_utf16().cmp(b.encode_utf16())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn pairs_of_surrogates_come_before_the_last_characters_of_one_unit() {
        assert!(compare_utf16("\u{10000}", "\u{e000}").is_lt());
        assert!("\u{10000}" > "\u{e000}");
    }

    proptest! {
        #[test]
        fn a_long_common_beginning_changes_nothing(
            begin in "[a\u{e9}\u{20ac}\u{10000}]{0,900}", a in "[ab\u{e000}\u{10000}\u{1f600}]{0,3}", b in "[ab\u{e000}\u{10000}\u{1f600}]{0,3}"
        ) {
            let (a, b) = (format!("{begin}{a}"), format!("{begin}{b}"));
            prop_assert_eq!(compare_utf16(&a, &b), a.encode_utf16().cmp(b.encode_utf16()));
        }
    }
}
