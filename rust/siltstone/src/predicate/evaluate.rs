//! A predicate over a batch.

use std::sync::Arc;

use arrow_arith::boolean::{and_kleene, is_not_null, is_null, not, or_kleene};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Decimal128Array, Float32Array, Float64Array, Int64Array, RecordBatch,
    Scalar, StringArray, cast::AsArray,
};
use arrow_ord::cmp;
use arrow_schema::DataType as Arrow;

use super::{
    CompareOp, Predicate,
    like::{Pattern, Steps},
    listed::ValueList,
    operand::values_of_key,
    values::{as_integer, plain_floats},
};
use crate::{
    cancel,
    error::{Error, ErrorKind, Result},
    row::Datum,
};

/// One value per row: true, false, or null for unknown. Every column of the predicate must be in the batch.
pub fn evaluate(predicate: &Predicate, batch: &RecordBatch) -> Result<BooleanArray> {
    match predicate {
        Predicate::Constant(value) => Ok(BooleanArray::from(vec![*value; batch.num_rows()])),
        Predicate::And(parts) => junction(parts, batch, true),
        Predicate::Or(parts) => junction(parts, batch, false),
        Predicate::Not(inner) => Ok(not(&evaluate(inner, batch)?)?),
        Predicate::IsNull(column) => Ok(is_null(find(batch, column)?)?),
        Predicate::IsNotNull(column) => Ok(is_not_null(find(batch, column)?)?),
        Predicate::Compare { column, op, value } => {
            compare(find(batch, column)?, *op, value).map_err(|e| e.with("column", column))
        }
        Predicate::In { column, values, negated } => {
            let found = is_in(find(batch, column)?, values).map_err(|e| e.with("column", column))?;
            if *negated { Ok(not(&found)?) } else { Ok(found) }
        }
        Predicate::OfKey { column, key, of } => {
            evaluate(of, &values_of_key(find(batch, column)?, key)?).map_err(|e| e.with("column", column))
        }
        Predicate::Like { column, pattern, escape, negated } => {
            let array = find(batch, column)?;
            like(array, &Pattern::new(pattern, *escape), *negated)?
                .ok_or_else(|| not_comparable(Some(array), "LIKE").with("column", column))
        }
    }
}

fn junction(parts: &[Predicate], batch: &RecordBatch, all: bool) -> Result<BooleanArray> {
    let mut result: Option<BooleanArray> = None;
    for part in parts {
        if let Some(so_far) = &result {
            let decided = if all {
                so_far.true_count() == 0 && so_far.null_count() == 0
            } else {
                so_far.true_count() == so_far.len()
            };
            if decided {
                break;
            }
        }
        let next = evaluate(part, batch)?;
        result = Some(match result {
            None => next,
            Some(so_far) if all => and_kleene(&so_far, &next)?,
            Some(so_far) => or_kleene(&so_far, &next)?,
        });
    }
    Ok(result.unwrap_or_else(|| BooleanArray::from(vec![all; batch.num_rows()])))
}

fn find<'a>(batch: &'a RecordBatch, column: &str) -> Result<&'a ArrayRef> {
    batch.column_by_name(column).ok_or_else(|| {
        Error::new(ErrorKind::Internal, "a condition looks at a column that was not read").with("column", column)
    })
}

fn not_comparable(array: Option<&ArrayRef>, value: impl std::fmt::Debug) -> Error {
    let found = array.map_or_else(String::new, |a| a.data_type().to_string());
    Error::new(ErrorKind::Internal, format!("{value:?} cannot be compared with an array of {found}"))
}

pub(super) fn compare(array: &ArrayRef, op: CompareOp, value: &Datum) -> Result<BooleanArray> {
    let array = &plain_floats(array);
    let literal = match literal(value, array.data_type()) {
        Some(Fit::Value(literal)) => Scalar::new(literal),
        Some(Fit::Above) => return Ok(constant(array, op.holds(std::cmp::Ordering::Less))),
        Some(Fit::Below) => return Ok(constant(array, op.holds(std::cmp::Ordering::Greater))),
        None => return Err(not_comparable(Some(array), value)),
    };
    Ok(match op {
        CompareOp::Eq => cmp::eq(array, &literal)?,
        CompareOp::NotEq => cmp::neq(array, &literal)?,
        CompareOp::Lt => cmp::lt(array, &literal)?,
        CompareOp::LtEq => cmp::lt_eq(array, &literal)?,
        CompareOp::Gt => cmp::gt(array, &literal)?,
        CompareOp::GtEq => cmp::gt_eq(array, &literal)?,
    })
}

/// `value` for every row that is not null.
fn constant(array: &ArrayRef, value: bool) -> BooleanArray {
    let values = BooleanArray::from(vec![value; array.len()]);
    let (bits, _) = values.into_parts();
    BooleanArray::new(bits, array.logical_nulls())
}

/// A literal in an Arrow type.
enum Fit {
    Value(ArrayRef),
    Above,
    Below,
}

/// `None` when the literal is of another type.
fn literal(value: &Datum, data_type: &Arrow) -> Option<Fit> {
    let array: ArrayRef = match (value, data_type) {
        (Datum::Boolean(v), Arrow::Boolean) => Arc::new(BooleanArray::from(vec![*v])),
        (Datum::Float(v), Arrow::Float32) => plain_floats(&(Arc::new(Float32Array::from(vec![*v])) as ArrayRef)),
        (Datum::Double(v), Arrow::Float64) => plain_floats(&(Arc::new(Float64Array::from(vec![*v])) as ArrayRef)),
        (Datum::Decimal(v), Arrow::Decimal128(p, s)) => {
            Arc::new(Decimal128Array::from(vec![*v]).with_precision_and_scale(*p, *s).ok()?)
        }
        (Datum::String(v), Arrow::Utf8) => Arc::new(StringArray::from(vec![v.as_str()])),
        (Datum::Bytes(v), Arrow::Binary) => Arc::new(BinaryArray::from(vec![v.as_slice()])),
        (Datum::Timestamp { millis, .. }, Arrow::Timestamp(..)) => match as_integer(value, data_type) {
            Some(v) => from_integer(v, data_type)?,
            None if *millis < 0 => return Some(Fit::Below),
            None => return Some(Fit::Above),
        },
        _ => from_integer(as_integer(value, data_type)?, data_type)?,
    };
    Some(Fit::Value(array))
}

fn from_integer(value: i64, data_type: &Arrow) -> Option<ArrayRef> {
    let array: ArrayRef = match data_type {
        Arrow::Date32 | Arrow::Time32(_) => {
            let narrow = arrow_array::Int32Array::from(vec![i32::try_from(value).ok()?]);
            arrow_cast::cast(&narrow, data_type).ok()?
        }
        _ => arrow_cast::cast(&Int64Array::from(vec![value]), data_type).ok()?,
    };
    array.is_valid(0).then_some(array)
}

/// Null rows, and misses when a null is among the values, are unknown.
fn is_in(array: &ArrayRef, values: &ValueList) -> Result<BooleanArray> {
    let found = if let Some(found) = values.among(array)? {
        found
    } else {
        let mut found = constant(array, false);
        for value in values.iter().filter(|v| !v.is_null()) {
            cancel::check()?;
            found = or_kleene(&found, &compare(array, CompareOp::Eq, value)?)?;
        }
        found
    };
    if values.has_null() {
        let unknown: BooleanArray = vec![None; array.len()].into_iter().collect();
        return Ok(or_kleene(&found, &unknown)?);
    }
    Ok(found)
}

/// `None` where the column holds no texts.
fn like(array: &ArrayRef, pattern: &Pattern, negated: bool) -> Result<Option<BooleanArray>> {
    let Some(texts) = array.as_string_opt::<i32>() else {
        return Ok(None);
    };
    let mut steps = Steps::default();
    let mut matches = |text: &str| pattern.matches(text, &mut steps).map(|found| found != negated);
    let found: Result<BooleanArray> = texts.iter().map(|text| text.map(&mut matches).transpose()).collect();
    found.map(Some)
}

#[cfg(test)]
mod tests;
