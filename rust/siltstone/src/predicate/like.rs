//! LIKE: `%` is any text, `_` any one character, the escape character (backslash when none is named) takes the
//! next one literally.

use crate::{cancel, error::Result};

/// One step of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Char(char),
    One,
    Any,
}

/// Counts the steps of matching, over many texts: after so many the work is asked whether to stop.
#[derive(Debug, Default)]
pub(super) struct Steps(u32);

impl Steps {
    const ASK_EVERY: u32 = 1 << 16;

    fn take(&mut self) -> Result<()> {
        self.0 += 1;
        if self.0 < Self::ASK_EVERY {
            return Ok(());
        }
        self.0 = 0;
        cancel::check()
    }
}

/// A compiled pattern.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    steps: Vec<Step>,
    /// `text`, `text%`, `%text`, `%text%` are compared as text.
    simple: Option<(bool, String, bool)>,
}

impl Pattern {
    pub(super) fn new(pattern: &str, escape: Option<char>) -> Self {
        let escape = escape.unwrap_or('\\');
        let mut steps = Vec::new();
        let mut chars = pattern.chars();
        while let Some(c) = chars.next() {
            let step = match c {
                c if c == escape => Step::Char(chars.next().unwrap_or(c)),
                '%' => Step::Any,
                '_' => Step::One,
                c => Step::Char(c),
            };
            if step != Step::Any || steps.last() != Some(&Step::Any) {
                steps.push(step);
            }
        }
        let simple = simple(&steps);
        Self { steps, simple }
    }

    /// Text that every match begins with, and whether that text is the only match.
    pub(super) fn prefix(&self) -> (String, bool) {
        let chars = self.steps.iter().map_while(|s| if let Step::Char(c) = s { Some(*c) } else { None });
        let prefix: String = chars.collect();
        let whole = self.steps.iter().all(|s| matches!(s, Step::Char(_)));
        (prefix, whole)
    }

    /// An error only when the work is to stop.
    pub(super) fn matches(&self, text: &str, steps: &mut Steps) -> Result<bool> {
        Ok(match &self.simple {
            Some((false, part, false)) => text == part,
            Some((false, part, true)) => text.starts_with(part.as_str()),
            Some((true, part, false)) => text.ends_with(part.as_str()),
            Some((true, part, true)) => text.contains(part.as_str()),
            None => return self.walk(text, steps),
        })
    }

    /// Greedy with one point to go back to: the last `%`. At worst the lengths of text and pattern multiplied.
    fn walk(&self, text: &str, steps: &mut Steps) -> Result<bool> {
        let mut rest = text.chars();
        let mut at = 0;
        let mut back: Option<(usize, std::str::Chars<'_>)> = None;
        loop {
            steps.take()?;
            let here = rest.clone();
            match (self.steps.get(at), rest.next()) {
                (None, None) => return Ok(true),
                (Some(Step::Any), _) => {
                    at += 1;
                    rest = here.clone();
                    back = Some((at, here));
                }
                (Some(Step::One), Some(_)) => at += 1,
                (Some(Step::Char(c)), Some(found)) if *c == found => at += 1,
                _ => {
                    let Some((step, mut from)) = back.take() else {
                        return Ok(false);
                    };
                    if from.next().is_none() {
                        return Ok(false);
                    }
                    at = step;
                    rest = from.clone();
                    back = Some((step, from));
                }
            }
        }
    }
}

fn simple(steps: &[Step]) -> Option<(bool, String, bool)> {
    let (open, steps) = match steps.split_first() {
        Some((Step::Any, rest)) => (true, rest),
        _ => (false, steps),
    };
    let (close, steps) = match steps.split_last() {
        Some((Step::Any, rest)) => (true, rest),
        _ => (false, steps),
    };
    let text: Option<String> = steps.iter().map(|s| if let Step::Char(c) = s { Some(*c) } else { None }).collect();
    text.map(|text| (open, text, close))
}

#[cfg(test)]
mod tests {
    use super::{Pattern, Steps};
    use crate::{ErrorKind, cancel::Cancellation};

    fn matches(pattern: &Pattern, text: &str) -> bool {
        pattern.matches(text, &mut Steps::default()).unwrap()
    }

    #[test]
    fn patterns_match_as_sql_says() {
        for (pattern, text, expected) in [
            ("abc", "abc", true),
            ("abc", "abcd", false),
            ("a%", "abc", true),
            ("%c", "abc", true),
            ("%b%", "abc", true),
            ("a_c", "abc", true),
            ("a_c", "a中c", true),
            ("a_c", "ac", false),
            ("%a%b%", "xxaxxbxx", true),
            ("%a%b", "xxaxxbxb", true),
            ("%ab_", "aabab", false),
            ("%ab_", "aababx", true),
            ("", "", true),
            ("", "x", false),
            ("%", "", true),
            ("%%", "abc", true),
            ("_%", "", false),
            ("100\\%", "100%", true),
            ("100\\%", "1000", false),
        ] {
            assert_eq!(matches(&Pattern::new(pattern, None), text), expected, "{pattern} {text}");
        }
        assert!(matches(&Pattern::new("1!_%", Some('!')), "1_x"));
        assert!(!matches(&Pattern::new("1!_%", Some('!')), "12x"));
        assert_eq!(Pattern::new("ab%c", None).prefix(), ("ab".to_owned(), false));
        assert_eq!(Pattern::new("ab", None).prefix(), ("ab".to_owned(), true));
    }

    /// One text of 1 MB once held up Ctrl-C until the process was killed: nobody was asked while it was looked at.
    #[test]
    fn matching_one_long_text_stops_when_the_work_is_to_stop() {
        let pattern = Pattern::new(&format!("%{}b_%", "a".repeat(400_000)), None);
        let text = "a".repeat(1_000_000);
        let token = Cancellation::default();
        token.cancel();
        let stopped = token.run(|| pattern.matches(&text, &mut Steps::default()));
        assert_eq!(stopped.unwrap_err().kind(), ErrorKind::Cancelled);
    }

    /// Many short texts take as long as a long one.
    #[test]
    fn the_steps_of_many_texts_add_up() {
        let pattern = Pattern::new("%a_b%", None);
        let token = Cancellation::default();
        token.cancel();
        let mut steps = Steps::default();
        assert!(token.run(|| (0..20_000).any(|_| pattern.matches("aaaaaaaa", &mut steps).is_err())));
    }
}
