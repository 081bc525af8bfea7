//! Operators of new values. A result that its type does not hold is an error, never another number.

use std::sync::Arc;

use arrow_arith::numeric;
use arrow_array::{
    Array, ArrayRef, Int64Array,
    cast::AsArray,
    types::{Decimal128Type, Float64Type},
};
use arrow_buffer::i256;
use arrow_cast::{cast, display::array_value_to_string};
use arrow_schema::{ArrowError, DataType as Arrow};

use super::invalid;
use crate::error::{Error, ErrorKind, Result};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    /// The quotient without its fraction.
    DivideWhole,
    Remainder,
    Concatenate,
}

/// Digits that a quotient of DECIMALs has after the point at least.
const QUOTIENT_DIGITS: i8 = 6;
/// Digits that Arrow gives a quotient more than its dividend.
const MORE_DIGITS: i8 = 4;
const MOST_DIGITS: u8 = 38;

/// What Arrow refuses, such as overflow and a division by zero, is wrong with the expression and its values.
pub(super) fn computed<T>(result: std::result::Result<T, ArrowError>) -> Result<T> {
    result.map_err(|e| invalid(format!("the new value cannot be computed: {e}")))
}

pub(super) fn is_number(t: &Arrow) -> bool {
    t.is_floating() || t.is_signed_integer() || is_decimal(t)
}

fn is_decimal(t: &Arrow) -> bool {
    matches!(t, Arrow::Decimal128(..))
}

pub(super) fn negated(array: &ArrayRef) -> Result<ArrayRef> {
    if !is_number(array.data_type()) {
        return Err(invalid(format!("{} cannot be computed with", array.data_type())));
    }
    computed(numeric::neg(array))
}

/// The result of an operator between numbers.
pub(super) fn arithmetic(operator: Operator, left: &ArrayRef, right: &ArrayRef) -> Result<ArrayRef> {
    let common = match wider(left.data_type(), right.data_type())? {
        decimal if is_decimal(&decimal) => None,
        _ if operator == Operator::Divide => Some(Arrow::Float64),
        floating if operator == Operator::DivideWhole && floating.is_floating() => {
            return Err(
                invalid("DIV divides integers and decimals").hint("x / y is the quotient of floating-point numbers")
            );
        }
        _ if operator == Operator::DivideWhole => Some(Arrow::Int64),
        number => Some(number),
    };
    let (left, right) = match &common {
        Some(common) => (as_type(left, common)?, as_type(right, common)?),
        None => (as_decimal(left)?, as_decimal(right)?),
    };
    let result = match operator {
        Operator::Add => numeric::add(&left, &right),
        Operator::Subtract => numeric::sub(&left, &right),
        Operator::Multiply => numeric::mul(&left, &right),
        Operator::Divide if common.is_none() => return quotients(&left, &right),
        Operator::DivideWhole if common.is_none() => return whole_quotients(&left, &right),
        Operator::Divide | Operator::DivideWhole => numeric::div(&left, &right),
        Operator::Remainder => numeric::rem(&left, &right),
        Operator::Concatenate => return Err(Error::new(ErrorKind::Internal, "texts are not computed with")),
    };
    let result = computed(result)?;
    check_finite(&left, &right, &result)?;
    Ok(result)
}

/// An integer as the DECIMAL that holds all of its type.
fn as_decimal(array: &ArrayRef) -> Result<ArrayRef> {
    let digits = match array.data_type() {
        Arrow::Int8 => 3,
        Arrow::Int16 => 5,
        Arrow::Int32 => 10,
        Arrow::Int64 => 19,
        _ => return Ok(Arc::clone(array)),
    };
    converted(array, &Arrow::Decimal128(digits, 0))
}

/// Quotients of DECIMALs, of which no digit is lost.
fn quotients(left: &ArrayRef, right: &ArrayRef) -> Result<ArrayRef> {
    let least = QUOTIENT_DIGITS - MORE_DIGITS;
    let dividend = match left.data_type() {
        Arrow::Decimal128(_, scale) if *scale < least => converted(left, &Arrow::Decimal128(MOST_DIGITS, least))?,
        _ => Arc::clone(left),
    };
    let result = computed(numeric::div(&dividend, right))?;
    check_quotients(&dividend, right, &result)?;
    Ok(result)
}

/// Quotients of DECIMALs without their fractions, as BIGINT.
fn whole_quotients(left: &ArrayRef, right: &ArrayRef) -> Result<ArrayRef> {
    let same = wider(left.data_type(), right.data_type())?;
    let (left, right) = (converted(left, &same)?, converted(right, &same)?);
    let operands = left.as_primitive::<Decimal128Type>().iter().zip(right.as_primitive::<Decimal128Type>());
    let divide = |(left, right): (Option<i128>, Option<i128>)| {
        let (Some(left), Some(right)) = (left, right) else { return Ok(None) };
        if right == 0 {
            return computed(Err(ArrowError::DivideByZero));
        }
        let quotient = left.checked_div(right).and_then(|quotient| i64::try_from(quotient).ok());
        quotient.map(Some).ok_or_else(|| invalid("the new value cannot be computed: the quotient is beyond BIGINT"))
    };
    Ok(Arc::new(operands.map(divide).collect::<Result<Int64Array>>()?))
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

/// The values in another type of numbers: a DECIMAL as the nearest floating-point number, all others as they are.
pub(super) fn as_type(array: &ArrayRef, wanted: &Arrow) -> Result<ArrayRef> {
    match array.data_type() {
        Arrow::Decimal128(_, scale) if wanted.is_floating() => {
            let nearest = |v: i128| decimal_to_double(v, *scale);
            let doubles: ArrayRef = Arc::new(array.as_primitive::<Decimal128Type>().unary::<_, Float64Type>(nearest));
            converted(&doubles, wanted)
        }
        _ => converted(array, wanted),
    }
}

/// The number nearest to `unscaled / 10^scale`.
fn decimal_to_double(unscaled: i128, scale: i8) -> f64 {
    format!("{unscaled}e{}", -i32::from(scale)).parse().unwrap_or(f64::NAN)
}

/// The wider of two number types.
pub(super) fn wider(a: &Arrow, b: &Arrow) -> Result<Arrow> {
    if !is_number(a) || !is_number(b) {
        return Err(invalid(format!("{a} and {b} cannot be computed with each other")));
    }
    let width = |t: &Arrow| t.primitive_width().unwrap_or_default();
    Ok(match (a, b) {
        (Arrow::Decimal128(_, a), Arrow::Decimal128(_, b)) => Arrow::Decimal128(MOST_DIGITS, (*a).max(*b)),
        (Arrow::Decimal128(_, scale), other) | (other, Arrow::Decimal128(_, scale)) if other.is_integer() => {
            Arrow::Decimal128(MOST_DIGITS, *scale)
        }
        (Arrow::Decimal128(..), _) | (_, Arrow::Decimal128(..)) => Arrow::Float64,
        (float, integer) | (integer, float) if float.is_floating() && integer.is_integer() => {
            // FLOAT has fewer digits than they
            if width(integer) > 2 { Arrow::Float64 } else { float.clone() }
        }
        _ => {
            if width(a) >= width(b) {
                a.clone()
            } else {
                b.clone()
            }
        }
    })
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

/// Results as a column of a type gets them: what is beyond the integers of the column is an overflow, a DECIMAL becomes the
/// nearest floating-point number. What else does not fit is found when the values are converted.
pub(super) fn assigned(result: &ArrayRef, wanted: &Arrow) -> Result<ArrayRef> {
    if wanted.is_signed_integer() {
        check_range(result, wanted)?;
        check_whole(result)?;
    }
    match result.data_type() {
        t if is_decimal(t) && wanted.is_floating() => as_type(result, wanted),
        t if t.is_floating() && is_decimal(wanted) => Err(no_decimal(wanted)),
        _ => Ok(Arc::clone(result)),
    }
}

fn no_decimal(wanted: &Arrow) -> Error {
    Error::new(ErrorKind::SchemaMismatch, format!("a floating-point number is no {wanted}"))
        .hint("compute with decimals: v / 2.0 and v * 1.5 are, v / 2 of integers and v * 1.5e0 are not")
}

fn check_range(result: &ArrayRef, wanted: &Arrow) -> Result<()> {
    let bits = i32::try_from(wanted.primitive_width().unwrap_or_default() * 8).unwrap_or_default();
    let end = 2_f64.powi(bits - 1);
    let beyond = match result.data_type() {
        t if t.is_floating() => {
            let wide = floats(result)?;
            let wide = wide.as_primitive::<Float64Type>();
            wide.iter().position(|v| v.is_some_and(|v| v.is_finite() && !(-end..end).contains(&v)))
        }
        t if t.is_signed_integer() => {
            let narrow = computed(cast(result, wanted))?;
            (0..result.len()).find(|&row| result.is_valid(row) && narrow.is_null(row))
        }
        _ => None,
    };
    let Some(row) = beyond else { return Ok(()) };
    let value = array_value_to_string(result, row).unwrap_or_default();
    Err(invalid(format!("the new value cannot be computed: {value} is beyond {wanted}")))
}

/// A floating-point result becomes an integer only below the size from which on integers are rounded.
fn check_whole(result: &ArrayRef) -> Result<()> {
    let limit = match result.data_type() {
        Arrow::Float32 => 16_777_216.0,
        Arrow::Float64 => 9_007_199_254_740_992.0,
        _ => return Ok(()),
    };
    let wide = floats(result)?;
    match wide.as_primitive::<Float64Type>().iter().flatten().find(|v| v.abs() >= limit) {
        None => Ok(()),
        Some(v) => Err(Error::new(ErrorKind::SchemaMismatch, format!("the result {v} may have lost digits"))
            .hint("compute with integers and decimals: v * 2 or v * 2.0, not v * 2e0; v DIV 2, not v / 2")),
    }
}

/// The same values in another type; an error names the first that the type does not hold.
pub(super) fn converted(array: &ArrayRef, wanted: &Arrow) -> Result<ArrayRef> {
    if array.data_type() == wanted {
        return Ok(Arc::clone(array));
    }
    if array.data_type().is_floating() && is_decimal(wanted) {
        return Err(no_decimal(wanted));
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
            for operator in [Operator::Add, Operator::Multiply] {
                let error = arithmetic(operator, &least, &minus_one).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{operator:?}");
            }
            let quotient = arithmetic(Operator::Divide, &least, &minus_one).unwrap();
            let error = assigned(&quotient, least.data_type()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        }
        let (least, minus_one) = (of(Int64Array::from(vec![i64::MIN])), of(Int8Array::from(vec![-1])));
        assert!(arithmetic(Operator::DivideWhole, &least, &minus_one).is_err());
        assert_eq!(negated(&of(StringArray::from(vec!["a"]))).unwrap_err().kind(), ErrorKind::InvalidArgument);
    }

    /// FLOAT once became infinite.
    #[test]
    fn numbers_do_not_become_infinite() {
        let large = of(Float32Array::from(vec![1e38]));
        let error = arithmetic(Operator::Multiply, &large, &large).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        let (one, zero) = (of(Float64Array::from(vec![1.0])), of(Float64Array::from(vec![0.0])));
        assert!(arithmetic(Operator::Divide, &one, &zero).is_err());
        let endless = of(Float64Array::from(vec![f64::INFINITY]));
        assert!(arithmetic(Operator::Add, &one, &endless).is_ok());
    }

    /// BIGINT 9007199254740993 times 1.0 was once ...992.
    #[test]
    fn integers_keep_their_digits_beside_floating_point_numbers() {
        let one = || of(Float64Array::from(vec![1.0]));
        let odd = of(Int64Array::from(vec![9_007_199_254_740_993]));
        let error = arithmetic(Operator::Multiply, &odd, &one()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::SchemaMismatch);
        let even = of(Int64Array::from(vec![9_007_199_254_740_992]));
        let sum = arithmetic(Operator::Add, &even, &one()).unwrap();
        assert_eq!(assigned(&sum, &Arrow::Int64).unwrap_err().kind(), ErrorKind::SchemaMismatch);
        assigned(&sum, &Arrow::Float64).unwrap();
        let float = of(Float32Array::from(vec![0.5]));
        let sum = arithmetic(Operator::Add, &of(Int32Array::from(vec![16_777_217])), &float).unwrap();
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
