//! Operators of new values. A result that its type does not hold is an error, never another number.

use std::sync::Arc;

use arrow_arith::numeric;
use arrow_array::{
    Array, ArrayRef,
    cast::AsArray,
    types::{Decimal128Type, Float64Type},
};
use arrow_buffer::i256;
use arrow_cast::{cast, display::array_value_to_string};
use arrow_schema::{ArrowError, DataType as Arrow};

use super::expression::invalid;
use crate::error::{Error, ErrorKind, Result};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Concatenate,
}

/// What Arrow refuses, such as overflow and a division by zero, is wrong with the expression and its values.
pub(super) fn computed<T>(result: std::result::Result<T, ArrowError>) -> Result<T> {
    result.map_err(|e| invalid(format!("the new value cannot be computed: {e}")))
}

pub(super) fn negated(array: &ArrayRef) -> Result<ArrayRef> {
    computed(numeric::neg(array))
}

/// The result of an operator between numbers.
pub(super) fn arithmetic(operator: Operator, mut left: ArrayRef, mut right: ArrayRef) -> Result<ArrayRef> {
    let decimal = |array: &ArrayRef| matches!(array.data_type(), Arrow::Decimal128(..));
    if left.data_type() != right.data_type() && !(decimal(&left) && decimal(&right)) {
        let common = wider(left.data_type(), right.data_type())?;
        (left, right) = (operand(&left, &common)?, operand(&right, &common)?);
    }
    let result = computed(match operator {
        Operator::Add => numeric::add(&left, &right),
        Operator::Subtract => numeric::sub(&left, &right),
        Operator::Multiply => numeric::mul(&left, &right),
        Operator::Divide => numeric::div(&left, &right),
        Operator::Remainder => numeric::rem(&left, &right),
        Operator::Concatenate => return Err(Error::new(ErrorKind::Internal, "texts are not computed with")),
    })?;
    check_finite(&left, &right, &result)?;
    if operator == Operator::Divide {
        check_quotients(&left, &right, &result)?;
    }
    Ok(result)
}

/// A quotient of DECIMALs has four digits more than the dividend; what needs more is no DECIMAL at all, or another number.
fn check_quotients(left: &ArrayRef, right: &ArrayRef, quotients: &ArrayRef) -> Result<()> {
    let (Arrow::Decimal128(_, scale), Arrow::Decimal128(_, divided_by), Arrow::Decimal128(_, digits)) =
        (left.data_type(), right.data_type(), quotients.data_type())
    else {
        return Ok(());
    };
    let shift = u32::try_from(i32::from(*digits) + i32::from(*divided_by) - i32::from(*scale)).ok();
    let shift = shift.and_then(|digits| i256::from_i128(10).checked_pow(digits));
    let is_exact = |left: i128, right: i128, quotient: i128| {
        let product = i256::from_i128(quotient).checked_mul(i256::from_i128(right));
        product.is_some() && product == shift.and_then(|shift| i256::from_i128(left).checked_mul(shift))
    };
    let operands = left.as_primitive::<Decimal128Type>().iter().zip(right.as_primitive::<Decimal128Type>());
    for (row, ((left_value, right_value), quotient)) in
        operands.zip(quotients.as_primitive::<Decimal128Type>()).enumerate()
    {
        if let (Some(l), Some(r), Some(q)) = (left_value, right_value, quotient)
            && !is_exact(l, r, q)
        {
            let shown = |array: &ArrayRef| array_value_to_string(array, row).unwrap_or_default();
            let text = format!("{} divided by {} has more than {digits} decimal places", shown(left), shown(right));
            let error = Error::new(ErrorKind::SchemaMismatch, text);
            return Err(error.hint("multiply before dividing, or compute with a floating-point number: v / 3.0e0"));
        }
    }
    Ok(())
}

/// A DECIMAL beside a floating-point number becomes the nearest one.
fn operand(array: &ArrayRef, common: &Arrow) -> Result<ArrayRef> {
    if matches!(array.data_type(), Arrow::Decimal128(..)) && common.is_floating() {
        return computed(cast(array, common));
    }
    converted(array, common)
}

/// The wider of two number types.
fn wider(a: &Arrow, b: &Arrow) -> Result<Arrow> {
    let rank = |t: &Arrow| match t {
        Arrow::Int8 => Some(0),
        Arrow::Int16 => Some(1),
        Arrow::Int32 => Some(2),
        Arrow::Int64 => Some(3),
        Arrow::Float32 => Some(4),
        Arrow::Float64 | Arrow::Decimal128(..) => Some(5),
        _ => None,
    };
    match (rank(a), rank(b)) {
        (Some(_), Some(_)) if matches!((a, b), (Arrow::Decimal128(..), _) | (_, Arrow::Decimal128(..))) => {
            let integer = |t: &Arrow| rank(t).is_some_and(|r| r < 4);
            match (a, b) {
                (Arrow::Decimal128(_, scale), other) | (other, Arrow::Decimal128(_, scale)) if integer(other) => {
                    Ok(Arrow::Decimal128(38, *scale))
                }
                _ => Ok(Arrow::Float64),
            }
        }
        // FLOAT has fewer digits than they
        (Some(2 | 3), Some(4)) | (Some(4), Some(2 | 3)) => Ok(Arrow::Float64),
        (Some(x), Some(y)) => Ok(if x >= y { a.clone() } else { b.clone() }),
        _ => Err(invalid(format!("{a} and {b} cannot be computed with each other"))),
    }
}

/// Floating-point numbers overflow and divide by zero without an error of their own.
fn check_finite(left: &ArrayRef, right: &ArrayRef, result: &ArrayRef) -> Result<()> {
    if !result.data_type().is_floating() {
        return Ok(());
    }
    let (left, right, result) = (floats(left)?, floats(right)?, floats(result)?);
    let operands = left.as_primitive::<Float64Type>().iter().zip(right.as_primitive::<Float64Type>());
    for ((left, right), result) in operands.zip(result.as_primitive::<Float64Type>()) {
        if let (Some(left), Some(right), Some(result)) = (left, right, result)
            && left.is_finite()
            && right.is_finite()
            && !result.is_finite()
        {
            return Err(invalid(format!("the new value cannot be computed: {left} and {right} give {result}")));
        }
    }
    Ok(())
}

fn floats(array: &ArrayRef) -> Result<ArrayRef> {
    computed(cast(array, &Arrow::Float64))
}

/// A floating-point result becomes an integer only below the size from which on integers are rounded.
pub(super) fn check_whole(result: &ArrayRef, wanted: &Arrow) -> Result<()> {
    let limit = match result.data_type() {
        Arrow::Float32 => 16_777_216.0,
        Arrow::Float64 => 9_007_199_254_740_992.0,
        _ => return Ok(()),
    };
    if !wanted.is_integer() {
        return Ok(());
    }
    let wide = floats(result)?;
    match wide.as_primitive::<Float64Type>().iter().flatten().find(|v| v.abs() >= limit) {
        None => Ok(()),
        Some(v) => Err(Error::new(ErrorKind::SchemaMismatch, format!("the result {v} may have lost digits"))
            .hint("compute whole numbers without a decimal point: v * 2, not v * 2.0")),
    }
}

/// The same values in another type; an error names the first that the type does not hold.
pub(super) fn converted(array: &ArrayRef, wanted: &Arrow) -> Result<ArrayRef> {
    if array.data_type() == wanted {
        return Ok(Arc::clone(array));
    }
    let after = computed(cast(array, wanted))?;
    let Some(row) = first_lost(array, &after)? else {
        return Ok(after);
    };
    let value = array_value_to_string(array, row).unwrap_or_default();
    let message = format!("the value {} does not fit the type {wanted}", crate::error::shorten(&value));
    Err(Error::new(ErrorKind::SchemaMismatch, message))
}

/// The first row whose value became another one, or null. Text has every value.
fn first_lost(before: &ArrayRef, after: &ArrayRef) -> Result<Option<usize>> {
    if matches!(after.data_type(), Arrow::Utf8 | Arrow::Binary) {
        return Ok((0..before.len()).find(|&row| before.is_valid(row) && after.is_null(row)));
    }
    if before.data_type().is_floating() && after.data_type().is_floating() {
        let (before, after) = (floats(before)?, floats(after)?);
        let (before, after) = (before.as_primitive::<Float64Type>(), after.as_primitive::<Float64Type>());
        let lost = |b: f64, a: f64| b.is_finite() && (a.is_infinite() || (a == 0.0 && b != 0.0));
        return Ok(before.iter().zip(after).position(|pair| matches!(pair, (Some(b), Some(a)) if lost(b, a))));
    }
    let back = computed(cast(after, before.data_type()))?;
    let differs = computed(arrow_ord::cmp::distinct(before, &back))?;
    Ok(differs.iter().position(|differs| differs == Some(true)))
}

#[cfg(test)]
mod tests {
    use arrow_array::{Float32Array, Float64Array, Int8Array, Int32Array, Int64Array, StringArray};

    use super::*;

    fn of(array: impl Array + 'static) -> ArrayRef {
        Arc::new(array)
    }

    /// `-v` of the least integer was once reported as a defect of siltstone.
    #[test]
    fn overflow_of_every_operator_is_an_error_of_the_expression() {
        for least in [of(Int8Array::from(vec![i8::MIN])), of(Int64Array::from(vec![i64::MIN]))] {
            assert_eq!(negated(&least).unwrap_err().kind(), ErrorKind::InvalidArgument);
            let minus_one = cast(&of(Int8Array::from(vec![-1])), least.data_type()).unwrap();
            for operator in [Operator::Add, Operator::Multiply, Operator::Divide] {
                let error = arithmetic(operator, Arc::clone(&least), Arc::clone(&minus_one)).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{operator:?}");
            }
        }
        assert_eq!(negated(&of(StringArray::from(vec!["a"]))).unwrap_err().kind(), ErrorKind::InvalidArgument);
    }

    /// FLOAT once became infinite.
    #[test]
    fn numbers_do_not_become_infinite() {
        let large = of(Float32Array::from(vec![1e38]));
        let error = arithmetic(Operator::Multiply, Arc::clone(&large), large).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        let (one, zero) = (of(Float64Array::from(vec![1.0])), of(Float64Array::from(vec![0.0])));
        assert!(arithmetic(Operator::Divide, Arc::clone(&one), zero).is_err());
        let endless = of(Float64Array::from(vec![f64::INFINITY]));
        assert!(arithmetic(Operator::Add, one, endless).is_ok());
    }

    /// BIGINT 9007199254740993 times 1.0 was once ...992.
    #[test]
    fn integers_keep_their_digits_beside_floating_point_numbers() {
        let one = || of(Float64Array::from(vec![1.0]));
        let odd = of(Int64Array::from(vec![9_007_199_254_740_993]));
        let error = arithmetic(Operator::Multiply, odd, one()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::SchemaMismatch);
        let even = of(Int64Array::from(vec![9_007_199_254_740_992]));
        let sum = arithmetic(Operator::Add, even, one()).unwrap();
        assert_eq!(check_whole(&sum, &Arrow::Int64).unwrap_err().kind(), ErrorKind::SchemaMismatch);
        check_whole(&sum, &Arrow::Float64).unwrap();
        let float = of(Float32Array::from(vec![0.5]));
        let sum = arithmetic(Operator::Add, of(Int32Array::from(vec![16_777_217])), float).unwrap();
        assert!(sum.as_primitive::<Float64Type>().value(0) > 16_777_217.0);
    }

    #[test]
    fn a_value_is_converted_as_it_is_or_refused() {
        let kind = |array: ArrayRef, wanted: &Arrow| converted(&array, wanted).map_err(|e| e.kind());
        let refused = Err(ErrorKind::SchemaMismatch);
        assert_eq!(kind(of(Int64Array::from(vec![300])), &Arrow::Int8).map(|_| ()), refused);
        assert_eq!(kind(of(Float64Array::from(vec![1.9])), &Arrow::Int32).map(|_| ()), refused);
        assert_eq!(kind(of(Float64Array::from(vec![1e39])), &Arrow::Float32).map(|_| ()), refused);
        assert!(kind(of(Float64Array::from(vec![Some(0.1), None])), &Arrow::Float32).is_ok());
        assert!(kind(of(Int64Array::from(vec![Some(3), None])), &Arrow::Float64).is_ok());
    }
}
