//! Functions whose values are sets in some serialized form: null is passed over, two values become their union.

use super::{BytesCheck, fold::ValueFunction};
use crate::{Error, ErrorKind, Result, row::Datum};

/// A function of two serialized sets.
#[derive(Debug)]
pub(super) struct SetUnion {
    /// Its name in options.
    pub(super) name: &'static str,
    /// What its values are, for messages.
    pub(super) wants: &'static str,
    /// Whether bytes are a value: what passes has a union with all others that pass.
    pub(super) check: fn(&[u8]) -> Result<()>,
    /// The union of two values; bytes that are none are a `CorruptFile` error.
    pub(super) union: fn(&[u8], &[u8]) -> Result<Vec<u8>>,
}

impl ValueFunction for SetUnion {
    fn name(&self) -> &'static str {
        self.name
    }

    fn check(&self) -> Option<BytesCheck> {
        Some(BytesCheck { wants: self.wants, check: self.check })
    }

    fn agg(&self, acc: Datum, input: Datum) -> Result<Datum> {
        match (acc, input) {
            (Datum::Null, other) | (other, Datum::Null) => Ok(other),
            (Datum::Bytes(acc), Datum::Bytes(input)) => {
                (self.union)(&acc, &input).map(Datum::Bytes).map_err(|e| e.with("function", self.name))
            }
            _ => Err(Error::new(ErrorKind::Internal, format!("{} works on bytes", self.name))),
        }
    }
}
