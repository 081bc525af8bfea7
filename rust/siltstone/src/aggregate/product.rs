//! `product`: exact for whole numbers, IEEE for floats; a retract divides (semantics b.7; `FieldProductAgg`).
//!
//! A decimal product is rounded half up to the column's scale and is null when it has too many digits. Dividing whole
//! numbers cuts off; dividing decimals is an error when the exact quotient never ends.

use std::sync::Arc;

use arrow_buffer::i256;

use super::{
    AggregateFunction, FieldOptions,
    arithmetic::{Arithmetic, computing, is_numeric, overflow},
};
use crate::{
    Error, ErrorKind, Result,
    types::{DataField, DataType},
};

/// TINYINT to BIGINT, FLOAT, DOUBLE and DECIMAL.
pub(super) fn accepts(data_type: &DataType) -> bool {
    is_numeric(data_type)
}

pub(super) fn new(field: &DataField, _: &FieldOptions) -> Result<Arc<dyn AggregateFunction>> {
    computing("product", &field.data_type, Product, |precision, scale| DecimalProduct { precision, scale })
}

#[derive(Debug)]
struct Product;

macro_rules! integers {
    ($($t:ty),+) => { $(impl Arithmetic<$t> for Product {
        #[inline]
        fn agg(&self, acc: $t, input: $t) -> Result<Option<$t>> {
            acc.checked_mul(input).map(Some).ok_or_else(|| overflow(acc, '*', input))
        }

        #[inline]
        fn retract(&self, acc: $t, input: $t) -> Result<Option<$t>> {
            match input {
                0 => Err(by_zero()),
                _ => acc.checked_div(input).map(Some).ok_or_else(|| overflow(acc, '/', input)),
            }
        }

        #[inline]
        fn retract_first(&self, _: $t) -> Result<Option<$t>> {
            Ok(None)
        }
    })+ };
}
integers!(i8, i16, i32, i64);

macro_rules! floats {
    ($($t:ty),+) => { $(impl Arithmetic<$t> for Product {
        #[inline]
        fn agg(&self, acc: $t, input: $t) -> Result<Option<$t>> {
            Ok(Some(acc * input))
        }

        #[inline]
        fn retract(&self, acc: $t, input: $t) -> Result<Option<$t>> {
            Ok(Some(acc / input))
        }

        #[inline]
        fn retract_first(&self, _: $t) -> Result<Option<$t>> {
            Ok(None)
        }
    })+ };
}
floats!(f32, f64);

/// Unscaled values of one scale.
#[derive(Debug)]
struct DecimalProduct {
    precision: u8,
    scale: u8,
}

impl DecimalProduct {
    fn power_of_ten(&self) -> i256 {
        // at most 38: fits
        i256::from_i128(10_i128.pow(u32::from(self.scale.min(38))))
    }

    /// `dividend / divisor` rounded half up (away from zero), null when it has more digits than the column.
    fn rounded(&self, dividend: i256, divisor: i256) -> Option<i128> {
        let (quotient, rest) = (dividend.checked_div(divisor)?, dividend.checked_rem(divisor)?);
        let twice = rest.wrapping_abs().checked_mul(i256::from_i128(2))?;
        let negative = (dividend < i256::ZERO) != (divisor < i256::ZERO);
        let step = match (twice >= divisor.wrapping_abs(), negative) {
            (false, _) => i256::ZERO,
            (true, false) => i256::ONE,
            (true, true) => i256::MINUS_ONE,
        };
        let rounded = quotient.checked_add(step)?.to_i128()?;
        (rounded.unsigned_abs() < 10_u128.pow(u32::from(self.precision.min(38)))).then_some(rounded)
    }
}

impl Arithmetic<i128> for DecimalProduct {
    fn agg(&self, acc: i128, input: i128) -> Result<Option<i128>> {
        let product = i256::from_i128(acc).wrapping_mul(i256::from_i128(input));
        Ok(self.rounded(product, self.power_of_ten()))
    }

    /// Each product is rounded, and null where it has too many digits.
    fn adds_ahead(&self) -> bool {
        false
    }

    fn retract(&self, acc: i128, input: i128) -> Result<Option<i128>> {
        if input == 0 {
            return Err(by_zero());
        }
        if !quotient_ends(acc, input) {
            let message = "the value cannot be taken back: the quotient of the two decimals has no end";
            return Err(Error::new(ErrorKind::DeleteNotAllowed, message));
        }
        let dividend = i256::from_i128(acc).wrapping_mul(self.power_of_ten());
        Ok(self.rounded(dividend, i256::from_i128(input)))
    }

    fn retract_first(&self, _: i128) -> Result<Option<i128>> {
        Ok(None)
    }
}

/// Whether `a / b` has finitely many digits: the reduced divisor has no prime factors but 2 and 5.
fn quotient_ends(a: i128, b: i128) -> bool {
    let (mut x, mut y) = (a.unsigned_abs(), b.unsigned_abs());
    while y != 0 {
        (x, y) = (y, x % y);
    }
    let mut divisor = b.unsigned_abs() / x.max(1);
    for prime in [2, 5] {
        while divisor > 1 && divisor.is_multiple_of(prime) {
            divisor /= prime;
        }
    }
    divisor == 1
}

fn by_zero() -> Error {
    Error::new(ErrorKind::DeleteNotAllowed, "a product cannot be divided by zero to take a value back")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimal_products_are_rounded_half_up_and_null_when_they_are_too_long() {
        let two = DecimalProduct { precision: 4, scale: 2 };
        assert_eq!(two.agg(150, 150).unwrap(), Some(225));
        // 0.05 * 0.10 = 0.005
        assert_eq!((two.agg(5, 10).unwrap(), two.agg(-5, 10).unwrap()), (Some(1), Some(-1)));
        assert_eq!(two.agg(9999, 9999).unwrap(), None);
        let wide = DecimalProduct { precision: 38, scale: 0 };
        assert_eq!(wide.agg(10_i128.pow(37), 10_i128.pow(37)).unwrap(), None);
    }

    #[test]
    fn decimal_quotients_are_exact_or_an_error() {
        let two = DecimalProduct { precision: 4, scale: 2 };
        assert_eq!(two.retract(300, 200).unwrap(), Some(150));
        // 0.01 / 8.00 = 0.00125
        assert_eq!(two.retract(1, 800).unwrap(), Some(0));
        assert_eq!(two.retract(4, 800).unwrap(), Some(1));
        assert!(two.retract(100, 300).is_err());
        assert_eq!(two.retract(0, 300).unwrap(), Some(0));
        assert!(two.retract(100, 0).is_err());
    }
}
