//! The time that a partition's values say (semantics g.9; `PartitionTimeExtractor`).
//!
//! ```text
//! values ─ option partition.timestamp-pattern ─▶ text ─ option partition.timestamp-formatter ─▶ date [and time]
//! ```
//!
//! Where the text says no whole date the partition has no time, and never expires: what is left out is not guessed.

mod formatter;
mod parse;
mod resolve;

use chrono::NaiveDateTime;

use crate::error::{Error, Result};
use formatter::Formatter;
use parse::Fields;

/// How times are read from the values of partitions.
#[derive(Debug)]
pub(super) struct PartitionTimes {
    pattern: Option<String>,
    /// `None`: one of the forms that are read without a formatter.
    formatter: Option<Formatter>,
}

impl PartitionTimes {
    /// By the values of the options `partition.timestamp-pattern` and `partition.timestamp-formatter`.
    ///
    /// # Errors
    /// `InvalidOption` for a formatter that is none in Java; `UnsupportedFeature` for letters that are not understood here.
    pub(super) fn new(pattern: Option<&str>, formatter: Option<&str>) -> Result<Self> {
        let formatter =
            formatter.map(|text| Formatter::of_pattern(text).map_err(|e| with_option(e, text))).transpose()?;
        Ok(Self { pattern: pattern.map(str::to_owned), formatter })
    }

    /// `None`: the values say no time, so the partition never expires.
    pub(super) fn of(&self, spec: &[(String, Option<String>)]) -> Option<NaiveDateTime> {
        let text = match &self.pattern {
            Some(pattern) => fill_in(pattern, spec)?,
            None => spec.first()?.1.clone()?,
        };
        let Some(formatter) = &self.formatter else { return of_default_form(&text) };
        resolve::smart(&parse::all(&text, formatter)?)
    }
}

fn with_option(error: Error, text: &str) -> Error {
    error.with("option", "partition.timestamp-formatter").with("value", text)
}

/// `$year-$month` with values for names, key by key as Java does it; with a null among the values nothing is filled in.
fn fill_in(pattern: &str, spec: &[(String, Option<String>)]) -> Option<String> {
    spec.iter()
        .try_fold(pattern.to_owned(), |text, (name, value)| Some(text.replace(&format!("${name}"), value.as_deref()?)))
}

/// `2024-5-1` or `2024-05-01 12:30:00[.5]`; values may run over as in `2024-02-30`, which is March 1st.
fn of_default_form(text: &str) -> Option<NaiveDateTime> {
    let fields: Fields = parse::all(text, &Formatter::default_form())?;
    resolve::lenient(&fields)
}

#[cfg(test)]
mod tests;
