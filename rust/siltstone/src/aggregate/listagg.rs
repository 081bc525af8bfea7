//! `listagg`: puts texts together with a delimiter between them; empty texts do not count (semantics b.7;
//! `FieldListaggAgg`).
//!
//! `fields.<f>.list-agg-delimiter` is `,` unless set; with `fields.<f>.distinct` only those parts of a text are added
//! that are not there yet. Of a null and another text the other one stays, blank or not, as up to Paimon 1.4 (2.0
//! gives null for a blank text alone).

use std::{borrow::Cow, collections::HashSet, sync::Arc};

use arrow_array::{Array, ArrayRef, StringArray, builder::StringBuilder, cast::AsArray};

use super::{AggStep, AggregateFunction, Aggregated, ColumnGroups, FieldOptions, error::no_retract};
use crate::{
    Error, ErrorKind, Result,
    cancel::Work,
    limits,
    types::{DataField, DataType, MAX_LENGTH, TypeKind},
};

const NAME: &str = "listagg";
/// What needs memory, for messages.
const WHAT: &str = "the texts that listagg puts together";

/// STRING; a VARCHAR with a length could not hold what comes out.
pub(super) fn accepts(data_type: &DataType) -> bool {
    data_type.kind == TypeKind::VarChar(MAX_LENGTH)
}

pub(super) fn new(_: &DataField, options: &FieldOptions) -> Result<Arc<dyn AggregateFunction>> {
    Ok(Arc::new(Listagg { delimiter: options.list_agg_delimiter.clone(), distinct: options.distinct }))
}

#[derive(Debug)]
struct Listagg {
    delimiter: String,
    distinct: bool,
}

/// An accumulated text: null, a record's as it is, or built.
type Text<'a> = Option<Cow<'a, str>>;

/// The accumulated text of a group, and its parts where they are known.
#[derive(Default)]
struct Accumulated<'a> {
    text: Text<'a>,
    parts: Option<HashSet<&'a str>>,
    work: Work,
}

impl AggregateFunction for Listagg {
    fn name(&self) -> &'static str {
        NAME
    }

    fn aggregate(&self, groups: &ColumnGroups<'_>) -> Aggregated {
        let texts = groups.arrays.iter().map(text_array).collect::<Result<Vec<_>>>()?;
        let mut results = Results::with_capacity(groups.len());
        groups.walk(
            Accumulated::default,
            |acc, step, at| {
                let input = text(&texts, at)?;
                if step == AggStep::Add && self.distinct {
                    return self.add_distinct(acc, input);
                }
                let before = acc.text.take();
                acc.parts = None;
                acc.work.done(input.map_or(0, str::len))?;
                let input = input.map(Cow::Borrowed);
                acc.text = match step {
                    AggStep::Skip => before,
                    AggStep::Set | AggStep::Resume => input,
                    AggStep::Clear => None,
                    AggStep::Add => self.agg(before, input)?,
                    AggStep::AddReversed => {
                        acc.work.done(before.as_ref().map_or(0, |text| text.len()))?;
                        self.agg(input, before)?
                    }
                    AggStep::Retract => return Err(no_retract(NAME)),
                };
                Ok(())
            },
            |acc| results.push(acc.text),
        )?;
        Ok(Arc::new(results.texts.finish()))
    }
}

impl Listagg {
    fn agg<'a>(&self, acc: Text<'a>, input: Text<'a>) -> Result<Text<'a>> {
        let (acc, input) = match (acc, input) {
            (None, other) | (other, None) => return Ok(other),
            (Some(acc), Some(input)) if input.is_empty() => return Ok(Some(acc)),
            (Some(acc), Some(input)) if acc.is_empty() => return Ok(Some(input)),
            (Some(acc), Some(input)) => (acc, input),
        };
        let mut text = owned(acc)?;
        if self.distinct {
            let mut more = String::new();
            self.append(&mut more, &self.not_in(self.parts(&text)?, &input)?.1)?;
            limits::grow_text(&mut text, more.len(), WHAT)?;
            text.push_str(&more);
        } else {
            self.append(&mut text, &[&input])?;
        }
        Ok(Some(Cow::Owned(text)))
    }

    /// As [`Self::agg`]; the parts of the text stay known where they do not depend on what comes behind them.
    fn add_distinct<'a>(&self, acc: &mut Accumulated<'a>, input: Option<&'a str>) -> Result<()> {
        let Some(input) = input.filter(|input| acc.text.is_none() || !input.is_empty()) else { return Ok(()) };
        acc.work.done(input.len())?;
        let Some(text) = acc.text.take().filter(|text| !text.is_empty()) else {
            (acc.text, acc.parts) = (Some(Cow::Borrowed(input)), None);
            return Ok(());
        };
        let parts = match (acc.parts.take(), &text) {
            _ if self.delimiter.chars().count() != 1 => None,
            (None, Cow::Borrowed(text)) => Some(self.parts(text)?),
            (parts, _) => parts,
        };
        let Some(parts) = parts else {
            acc.work.done(text.len())?;
            acc.text = self.agg(Some(text), Some(Cow::Borrowed(input)))?;
            return Ok(());
        };
        let (parts, added) = self.not_in(parts, input)?;
        let mut text = owned(text)?;
        self.append(&mut text, &added)?;
        (acc.text, acc.parts) = (Some(Cow::Owned(text)), Some(parts));
        Ok(())
    }

    fn append(&self, text: &mut String, parts: &[&str]) -> Result<()> {
        let more = parts.iter().map(|part| part.len() + self.delimiter.len()).fold(0, usize::saturating_add);
        limits::grow_text(text, more, WHAT)?;
        for part in parts {
            text.extend([self.delimiter.as_str(), part]);
        }
        Ok(())
    }

    /// As in Java, where no delimiter separates words.
    fn separator(&self) -> &str {
        if self.delimiter.is_empty() { " " } else { &self.delimiter }
    }

    fn parts<'a>(&self, text: &'a str) -> Result<HashSet<&'a str>> {
        let mut parts = HashSet::new();
        let mut work = Work::default();
        for part in text.split(self.separator()) {
            work.done(1 + part.len())?;
            insert(&mut parts, part)?;
        }
        Ok(parts)
    }

    /// The parts of `input` that are not there, each once; all parts then.
    fn not_in<'a>(&self, mut there: HashSet<&'a str>, input: &'a str) -> Result<(HashSet<&'a str>, Vec<&'a str>)> {
        let mut added = Vec::new();
        let mut work = Work::default();
        for part in input.split(self.separator()).filter(|part| !part.is_empty()) {
            work.done(1 + part.len())?;
            if insert(&mut there, part)? {
                limits::grow(&mut added, 1, WHAT)?;
                added.push(part);
            }
        }
        Ok((there, added))
    }
}

fn owned(text: Cow<'_, str>) -> Result<String> {
    match text {
        Cow::Owned(text) => Ok(text),
        Cow::Borrowed(text) => {
            let mut copy = String::new();
            limits::grow_text(&mut copy, text.len(), WHAT)?;
            copy.push_str(text);
            Ok(copy)
        }
    }
}

fn insert<'a>(parts: &mut HashSet<&'a str>, part: &'a str) -> Result<bool> {
    if parts.len() == parts.capacity() {
        limits::ask_for_part(parts.len().saturating_mul(4 * size_of::<&str>()), WHAT)?;
    }
    Ok(parts.insert(part))
}

/// The texts of all groups.
struct Results {
    texts: StringBuilder,
    bytes: usize,
    /// Bytes that were asked for.
    room: usize,
}

impl Results {
    fn with_capacity(groups: usize) -> Self {
        Self { texts: StringBuilder::with_capacity(groups, 0), bytes: 0, room: 0 }
    }

    fn push(&mut self, text: Text<'_>) -> Result<()> {
        self.bytes += text.as_ref().map_or(0, |text| text.len());
        if i32::try_from(self.bytes).is_err() {
            let message = "the texts that listagg built for one batch are longer than 2^31 bytes";
            return Err(Error::new(ErrorKind::MemoryLimitExceeded, message));
        }
        if self.bytes > self.room {
            // a builder doubles
            self.room = self.bytes.saturating_mul(2);
            limits::ask_for_part(self.room, WHAT)?;
        }
        self.texts.append_option(text);
        Ok(())
    }
}

fn text_array(array: &ArrayRef) -> Result<&StringArray> {
    array
        .as_string_opt()
        .ok_or_else(|| Error::new(ErrorKind::Internal, format!("a STRING column of Arrow type {}", array.data_type())))
}

fn text<'a>(texts: &[&'a StringArray], (source, row): (usize, usize)) -> Result<Option<&'a str>> {
    let array = texts.get(source).filter(|array| row < array.len()).ok_or_else(|| {
        Error::new(ErrorKind::Internal, format!("row {row} of source {source} of a group does not exist"))
    })?;
    Ok(array.is_valid(row).then(|| array.value(row)))
}
