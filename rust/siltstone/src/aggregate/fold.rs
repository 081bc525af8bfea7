//! Functions that work on one value at a time.
//!
//! [`Fold`] makes an [`AggregateFunction`] of a [`ValueFunction`]. Values are decoded only when the function is
//! called: a group whose result is one of its records is copied as it is.

use std::{fmt, mem};

use arrow_array::{Array, ArrayRef};
use arrow_select::interleave::interleave;

use super::{AggStep, AggregateFunction, Aggregated, BytesCheck, ColumnGroups, error::no_retract};
use crate::{
    Error, ErrorKind, Result, cancel, limits,
    row::{Datum, array_from_datums, datum_from_array},
    types::DataType,
};

/// Two values, decoded, and what becomes of them take so many times their bytes.
const MERGING: usize = 4;

/// A function of single values; accumulated values start as [`Datum::Null`].
pub trait ValueFunction: Send + Sync + fmt::Debug {
    /// Its name in the option `fields.<f>.aggregate-function`.
    fn name(&self) -> &'static str;

    /// Whether [`ValueFunction::retract`] is written.
    fn retracts(&self) -> bool {
        false
    }

    /// What a value must pass ([`AggregateFunction::check`]).
    fn check(&self) -> Option<BytesCheck> {
        None
    }

    /// The accumulated value with one more input.
    fn agg(&self, acc: Datum, input: Datum) -> Result<Datum>;

    /// The accumulated value with an input that belongs before what was accumulated.
    fn agg_reversed(&self, acc: Datum, input: Datum) -> Result<Datum> {
        self.agg(input, acc)
    }

    /// The accumulated value without an input.
    fn retract(&self, _acc: Datum, _input: Datum) -> Result<Datum> {
        Err(no_retract(self.name()))
    }
}

/// A [`ValueFunction`] for a column of one type.
#[derive(Debug)]
pub struct Fold<F> {
    function: F,
    data_type: DataType,
}

impl<F: ValueFunction> Fold<F> {
    /// For columns of `data_type`.
    pub fn new(function: F, data_type: &DataType) -> Self {
        Self { function, data_type: data_type.clone() }
    }

    fn step(&self, acc: &mut Acc, step: AggStep, at: (usize, usize), arrays: &[ArrayRef]) -> Result<()> {
        *acc = match step {
            AggStep::Skip => return Ok(()),
            AggStep::Set | AggStep::Resume => Acc::Record(at),
            AggStep::Clear => Acc::Value(Datum::Null),
            AggStep::Add | AggStep::AddReversed | AggStep::Retract => {
                cancel::check()?;
                let before = match mem::replace(acc, Acc::Value(Datum::Null)) {
                    Acc::Value(value) => value,
                    Acc::Record(at) => self.value(arrays, at)?,
                };
                let input = self.value(arrays, at)?;
                limits::ask_for_part(
                    MERGING * (bytes_of(&before) + bytes_of(&input)),
                    "merging two values of a column",
                )?;
                Acc::Value(match step {
                    AggStep::AddReversed => self.function.agg_reversed(before, input)?,
                    AggStep::Retract => self.function.retract(before, input)?,
                    _ => self.function.agg(before, input)?,
                })
            }
        };
        Ok(())
    }

    fn value(&self, arrays: &[ArrayRef], (source, row): (usize, usize)) -> Result<Datum> {
        let array = arrays.get(source).filter(|array| row < array.len()).ok_or_else(|| {
            Error::new(ErrorKind::Internal, format!("row {row} of source {source} of a group does not exist"))
        })?;
        datum_from_array(array.as_ref(), row, &self.data_type)
    }
}

fn bytes_of(value: &Datum) -> usize {
    if let Datum::Bytes(bytes) = value { bytes.len() } else { 0 }
}

/// The accumulated value: computed, or a record's as it is.
enum Acc {
    Value(Datum),
    Record((usize, usize)),
}

impl<F: ValueFunction> AggregateFunction for Fold<F> {
    fn name(&self) -> &'static str {
        self.function.name()
    }

    fn retracts(&self) -> bool {
        self.function.retracts()
    }

    fn check(&self) -> Option<BytesCheck> {
        self.function.check()
    }

    fn aggregate(&self, groups: &ColumnGroups<'_>) -> Aggregated {
        let computed = groups.arrays.len();
        let mut values = Vec::new();
        let mut places = Vec::with_capacity(groups.len());
        groups.walk(
            || Acc::Value(Datum::Null),
            |acc, step, at| self.step(acc, step, at, groups.arrays),
            |acc| {
                places.push(match acc {
                    Acc::Record(at) => at,
                    Acc::Value(value) => {
                        values.push(value);
                        (computed, values.len() - 1)
                    }
                });
                Ok(())
            },
        )?;
        let values = array_from_datums(&values, &self.data_type)?;
        if places.iter().all(|(source, _)| *source == computed) {
            return Ok(values);
        }
        let sources: Vec<&dyn Array> =
            groups.arrays.iter().map(AsRef::as_ref).chain(std::iter::once(values.as_ref())).collect();
        Ok(interleave(&sources, &places)?)
    }
}
