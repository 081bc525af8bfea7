//! Schemas that this thread has parsed: the many small files of a table's metadata have the same few.

use std::cell::RefCell;

use super::WriterType;
use crate::error::Result;

/// So many are kept, the one that was used last first.
const KEPT: usize = 6;
/// Longer texts are those of wide data files.
const LONGEST: usize = 16 * 1024;

thread_local! {
    static PARSED: RefCell<Vec<(Box<[u8]>, WriterType)>> = const { RefCell::new(Vec::new()) };
}

/// As [`WriterType::parse`], which is asked once for a text.
pub(super) fn parse(file: &str, schema: &[u8]) -> Result<WriterType> {
    if let Some(known) = PARSED.with_borrow_mut(|parsed| {
        let at = parsed.iter().position(|(text, _)| **text == *schema)?;
        parsed.get_mut(..=at)?.rotate_right(1);
        Some(parsed.first()?.1.clone())
    }) {
        return Ok(known);
    }
    let new = WriterType::parse(file, schema)?;
    if schema.len() <= LONGEST {
        PARSED.with_borrow_mut(|parsed| {
            parsed.truncate(KEPT - 1);
            parsed.insert(0, (schema.into(), new.clone()));
        });
    }
    Ok(new)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(name: &str) -> Vec<u8> {
        format!(r#"{{"type":"record","name":"r","fields":[{{"name":"{name}","type":"int"}}]}}"#).into_bytes()
    }

    fn kept() -> Vec<Box<[u8]>> {
        PARSED.with_borrow(|parsed| parsed.iter().map(|(text, _)| text.clone()).collect())
    }

    #[test]
    fn a_text_is_parsed_once_and_the_last_ones_are_kept() {
        let names: Vec<String> = (0..KEPT + 2).map(|n| format!("f{n}")).collect();
        for name in names.iter().chain(&names[4..5]) {
            let again = parse("m", &text(name)).unwrap();
            assert_eq!(again, WriterType::parse("m", &text(name)).unwrap());
        }
        let kept = kept();
        assert_eq!(kept.len(), KEPT);
        assert_eq!(*kept[0], *text("f4"));
        assert_eq!(*kept[1], *text("f7"));
    }

    #[test]
    fn what_is_no_schema_is_not_kept() {
        let error = parse("other-file", b"no schema").unwrap_err();
        assert!(error.to_string().contains("other-file"), "{error}");
        assert!(kept().is_empty());
    }
}
