//! LIKE: `%` is any text, `_` any one character, the escape character (backslash when none is named) takes the
//! next one literally.

/// One step of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Char(char),
    One,
    Any,
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

    pub(super) fn matches(&self, text: &str) -> bool {
        match &self.simple {
            Some((false, part, false)) => text == part,
            Some((false, part, true)) => text.starts_with(part.as_str()),
            Some((true, part, false)) => text.ends_with(part.as_str()),
            Some((true, part, true)) => text.contains(part.as_str()),
            None => self.walk(text),
        }
    }

    /// Greedy with one point to go back to: the last `%`.
    fn walk(&self, text: &str) -> bool {
        let mut rest = text.chars();
        let mut at = 0;
        let mut back: Option<(usize, std::str::Chars<'_>)> = None;
        loop {
            let here = rest.clone();
            match (self.steps.get(at), rest.next()) {
                (None, None) => return true,
                (Some(Step::Any), _) => {
                    at += 1;
                    rest = here.clone();
                    back = Some((at, here));
                }
                (Some(Step::One), Some(_)) => at += 1,
                (Some(Step::Char(c)), Some(found)) if *c == found => at += 1,
                _ => {
                    let Some((step, mut from)) = back.take() else {
                        return false;
                    };
                    if from.next().is_none() {
                        return false;
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
    use super::Pattern;

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
            assert_eq!(Pattern::new(pattern, None).matches(text), expected, "{pattern} {text}");
        }
        assert!(Pattern::new("1!_%", Some('!')).matches("1_x"));
        assert!(!Pattern::new("1!_%", Some('!')).matches("12x"));
        assert_eq!(Pattern::new("ab%c", None).prefix(), ("ab".to_owned(), false));
        assert_eq!(Pattern::new("ab", None).prefix(), ("ab".to_owned(), true));
    }
}
