//! Which wanted value each field of a writer's record gives: by name, as Avro's schema resolution does.

use super::{Cursor, WriterRecord, WriterType};
use crate::error::{Error, Result};

/// A field that a reader wants.
#[derive(Clone, Copy, Debug)]
pub struct FieldRule<S> {
    /// Its name in the writer's schema.
    pub name: &'static str,
    /// What the reader calls it.
    pub slot: S,
    /// Whether a file without it cannot be read.
    pub required: bool,
}

/// The fields of a record in the order of their bytes, each with the slot that wants it.
#[derive(Debug)]
pub struct DecodePlan<S> {
    steps: Vec<(Option<S>, WriterType)>,
}

impl<S: Copy> DecodePlan<S> {
    /// Resolves the wanted fields in the record; unknown fields are skipped, absent ones stay unset.
    pub fn new(file: &str, record: &WriterRecord, rules: &[FieldRule<S>]) -> Result<Self> {
        let missing = rules.iter().find(|rule| rule.required && !record.fields.iter().any(|(n, _)| n == rule.name));
        if let Some(rule) = missing {
            let names: Vec<&str> = record.fields.iter().map(|(name, _)| name.as_str()).collect();
            return Err(Error::corrupt(file, 0, format!("field {}", rule.name), format!("fields {names:?}")));
        }
        let steps = record.fields.iter().map(|(name, data_type)| {
            let rule = rules.iter().find(|rule| rule.name == name);
            (rule.map(|rule| rule.slot), data_type.clone())
        });
        // each step that nobody wants takes a byte at least
        let steps = steps.filter(|(slot, data_type)| slot.is_some() || !data_type.is_empty_value());
        Ok(Self { steps: steps.collect() })
    }

    /// Reads one record: `read` gets the slot and type of each wanted field, at its value.
    #[inline]
    pub fn run<'a>(
        &self,
        at: &mut Cursor<'a>,
        mut read: impl FnMut(S, &WriterType, &mut Cursor<'a>) -> Result<()>,
    ) -> Result<()> {
        for (slot, data_type) in &self.steps {
            match slot {
                Some(slot) => read(*slot, data_type, at)?,
                None => data_type.skip(at)?,
            }
        }
        Ok(())
    }
}

impl<S> DecodePlan<S> {
    /// The writer's type of a wanted field.
    pub fn type_of(&self, wanted: impl Fn(&S) -> bool) -> Option<&WriterType> {
        self.steps.iter().find(|(slot, _)| slot.as_ref().is_some_and(&wanted)).map(|(_, t)| t)
    }
}
