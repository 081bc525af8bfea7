//! `sum`: exact for whole numbers and decimals, IEEE for floats; a retract subtracts (semantics b.7; `FieldSumAgg`).
//!
//! Decimals of up to 18 digits are added as BIGINTs, **as in Java**: a sum that has more digits than the column's
//! precision is kept as long as it fits 64 bits. Otherwise a sum that has too many digits is null.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use super::{
    AggregateFunction, FieldOptions,
    arithmetic::{Arithmetic, computing, is_numeric, overflow},
};
use crate::{
    Result,
    types::{DataField, DataType},
};

/// TINYINT to BIGINT, FLOAT, DOUBLE and DECIMAL.
pub(super) fn accepts(data_type: &DataType) -> bool {
    is_numeric(data_type)
}

pub(super) fn new(field: &DataField, _: &FieldOptions) -> Result<Arc<dyn AggregateFunction>> {
    named("sum", field)
}

/// Adds up; called `name` in messages.
pub(super) fn named(name: &'static str, field: &DataField) -> Result<Arc<dyn AggregateFunction>> {
    computing(name, &field.data_type, Sum, |precision, _| DecimalSum { precision, overflowed: AtomicBool::new(false) })
}

#[derive(Debug)]
struct Sum;

macro_rules! integers {
    ($($t:ty),+) => { $(impl Arithmetic<$t> for Sum {
        #[inline]
        fn agg(&self, acc: $t, input: $t) -> Result<Option<$t>> {
            acc.checked_add(input).map(Some).ok_or_else(|| overflow(acc, '+', input))
        }

        #[inline]
        fn add(&self, acc: $t, input: $t) -> ($t, bool) {
            acc.overflowing_add(input)
        }

        fn adds(&self) -> bool {
            true
        }

        fn retracts_ahead(&self) -> bool {
            true
        }

        #[inline]
        fn retract(&self, acc: $t, input: $t) -> Result<Option<$t>> {
            acc.checked_sub(input).map(Some).ok_or_else(|| overflow(acc, '-', input))
        }

        #[inline]
        fn retract_first(&self, input: $t) -> Result<Option<$t>> {
            self.retract(0, input)
        }
    })+ };
}
integers!(i8, i16, i32, i64);

macro_rules! floats {
    ($($t:ty),+) => { $(impl Arithmetic<$t> for Sum {
        #[inline]
        fn agg(&self, acc: $t, input: $t) -> Result<Option<$t>> {
            Ok(Some(acc + input))
        }

        #[inline]
        fn add(&self, acc: $t, input: $t) -> ($t, bool) {
            (acc + input, false)
        }

        fn adds(&self) -> bool {
            true
        }

        fn retracts_ahead(&self) -> bool {
            true
        }

        #[inline]
        fn retract(&self, acc: $t, input: $t) -> Result<Option<$t>> {
            Ok(Some(acc - input))
        }

        #[inline]
        fn retract_first(&self, input: $t) -> Result<Option<$t>> {
            Ok(Some(-input))
        }
    })+ };
}
floats!(f32, f64);

/// Unscaled values of one scale.
#[derive(Debug)]
struct DecimalSum {
    precision: u8,
    /// Some sum had more digits than the column.
    overflowed: AtomicBool,
}

impl DecimalSum {
    fn fitting(&self, sum: Option<i128>) -> Option<i128> {
        let has_digits = |sum: &i128| sum.unsigned_abs() < 10_u128.pow(u32::from(self.precision));
        if !sum.as_ref().is_some_and(has_digits) {
            // also where it is kept: no file may hold it
            self.overflowed.store(true, Ordering::Relaxed);
        }
        sum.filter(|sum| has_digits(sum) || (self.precision <= 18 && i64::try_from(*sum).is_ok()))
    }
}

impl Arithmetic<i128> for DecimalSum {
    // 38 digits and 38 digits never leave 128 bits
    #[inline]
    fn agg(&self, acc: i128, input: i128) -> Result<Option<i128>> {
        Ok(self.fitting(acc.checked_add(input)))
    }

    fn has_overflowed(&self) -> bool {
        self.overflowed.load(Ordering::Relaxed)
    }

    fn retracts_ahead(&self) -> bool {
        true
    }

    #[inline]
    fn retract(&self, acc: i128, input: i128) -> Result<Option<i128>> {
        Ok(self.fitting(acc.checked_sub(input)))
    }

    #[inline]
    fn retract_first(&self, input: i128) -> Result<Option<i128>> {
        Ok(input.checked_neg())
    }
}
