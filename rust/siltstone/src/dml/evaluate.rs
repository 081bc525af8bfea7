//! The values of expressions for the rows of a batch.
//!
//! What is computed has a type of its own, as in Spark SQL, whether it is made of columns or of literals:
//!
//! ```text
//! 7  INT    7000000000  BIGINT    1.50  DECIMAL(3, 2)    15e-1  DOUBLE
//! + - * %   the wider type of both; a DECIMAL beside FLOAT and DOUBLE is DOUBLE
//! /         DECIMAL where one side is a DECIMAL, and the other no floating-point number; else DOUBLE
//! DIV       BIGINT
//! ```
//! A choice (COALESCE, CASE) has the widest type of its parts.
//!
//! A literal that is the whole value, or a part of COALESCE, is read as a value of the column that it is for.

use std::sync::Arc;

use arrow_arith::boolean::{and, and_not, is_not_null};
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, StringArray, new_null_array};
use arrow_schema::{DataType as Arrow, Field as ArrowField};
use arrow_select::{nullif::nullif, zip::zip};

use super::{
    arithmetic::{Operator, arithmetic, as_type, assigned, computed, is_number, negated, wider},
    literal::Literal,
    node::{Node, Truth},
    text::{concatenate, map_text, string, texts},
};
use crate::{
    error::{Error, ErrorKind, Result},
    io::{filtered_rows, interleaved},
    types::{DataField, DataType, arrow_type, data_type_from_arrow},
    write::convert_column,
};

/// The values of an expression that a column of this type gets, as far as it says what they are: a number may have another
/// type, to be converted as in a write.
pub(super) fn new_value(node: &Node, rows: &RecordBatch, column: &DataType) -> Result<ArrayRef> {
    let value = evaluate(node, rows, Some(column))?;
    if is_computed(node) { assigned(&value, &arrow_type(column)?) } else { Ok(value) }
}

/// `wanted`: the type that literals are read as; `None` where they are computed with.
pub(super) fn evaluate(node: &Node, rows: &RecordBatch, wanted: Option<&DataType>) -> Result<ArrayRef> {
    match node {
        Node::Literal(value) => match wanted {
            Some(wanted) => value.array(wanted, rows.num_rows()),
            None => value.number(rows.num_rows()),
        },
        Node::Column(field) => rows
            .column_by_name(&field.name)
            .cloned()
            .ok_or_else(|| Error::new(ErrorKind::Internal, "a column of the new value was not read")),
        Node::Negated(inner) => negated(&evaluate(inner, rows, None)?),
        Node::Chain(first, rest) => chain(first, rest, rows),
        Node::Coalesce(parts) => coalesce(parts, rows, wanted),
        Node::Case(branches, otherwise) => case(node, branches, otherwise.as_deref(), rows, wanted),
        Node::Upper(inner) => map_text(&node_texts(inner, rows)?, str::to_uppercase),
        Node::Lower(inner) => map_text(&node_texts(inner, rows)?, str::to_lowercase),
    }
}

/// Literals are texts here.
fn node_texts(node: &Node, rows: &RecordBatch) -> Result<StringArray> {
    texts(&evaluate(node, rows, Some(&string()))?, Some(node))
}

/// From left to right.
fn chain(first: &Node, rest: &[(Operator, Node)], rows: &RecordBatch) -> Result<ArrayRef> {
    let first_operator = rest.first().map_or(Operator::Concatenate, |(operator, _)| *operator);
    let mut value = operand(first, first_operator, rows)?;
    // what operators made is of no column
    let mut left = Some(first);
    for (operator, node) in rest {
        crate::cancel::check()?;
        let right = operand(node, *operator, rows)?;
        value = match operator {
            Operator::Concatenate => concatenate(&texts(&value, left)?, &texts(&right, Some(node))?)?,
            operator => arithmetic(*operator, &value, &right)?,
        };
        left = None;
    }
    Ok(value)
}

fn operand(node: &Node, operator: Operator, rows: &RecordBatch) -> Result<ArrayRef> {
    let text = string();
    evaluate(node, rows, (operator == Operator::Concatenate).then_some(&text))
}

/// Numbers have the type that is wanted, or the widest of them; other values that of the first part.
fn coalesce(parts: &[Node], rows: &RecordBatch, wanted: Option<&DataType>) -> Result<ArrayRef> {
    let parts: Vec<&Node> = parts.iter().collect();
    let (read_as, wanted_number) = reading(&parts, wanted)?;
    let values = parts.iter().map(|part| evaluate(part, rows, read_as)).collect::<Result<Vec<_>>>()?;
    let Some(target) = common_type(&parts, &values, wanted_number)? else {
        return Ok(new_null_array(&Arrow::Null, rows.num_rows()));
    };
    let mut chosen = new_null_array(&target, rows.num_rows());
    for (value, part) in values.iter().zip(parts) {
        let known: BooleanArray = computed(is_not_null(&chosen))?;
        // a value that is not needed need not fit
        let needed = computed(nullif(value, &known))?;
        chosen = computed(zip(&known, &chosen, &choice(&needed, part, &target)?))?;
    }
    Ok(chosen)
}

/// What literals of a choice are read as, and the type of numbers that is wanted.
fn reading<'a>(parts: &[&'a Node], wanted: Option<&'a DataType>) -> Result<(Option<&'a DataType>, Option<Arrow>)> {
    let wanted_number = wanted.map(arrow_type).transpose()?.filter(is_number);
    // a literal beside a column of another kind is a value of that
    let read_as = match wanted {
        Some(wanted) if wanted_number.is_none() => Some(parts.iter().find_map(|p| column_type(p)).unwrap_or(wanted)),
        wanted => wanted,
    };
    Ok((read_as, wanted_number))
}

/// Values of the rows that a branch is for, and no others, are computed: those of others need not exist.
fn case(
    node: &Node,
    branches: &[(Truth, Node)],
    otherwise: Option<&Node>,
    rows: &RecordBatch,
    wanted: Option<&DataType>,
) -> Result<ArrayRef> {
    let parts = node.choices().unwrap_or_default();
    let (read_as, wanted_number) = reading(&parts, wanted)?;
    let mut masks: Vec<BooleanArray> = Vec::with_capacity(parts.len());
    let mut open = BooleanArray::from(vec![true; rows.num_rows()]);
    for (truth, _) in branches {
        let holds = truth.holds(rows)?;
        masks.push(computed(and(&open, &holds))?);
        open = computed(and_not(&open, &holds))?;
    }
    if otherwise.is_some() {
        masks.push(open);
    }
    let of_part = |(part, mask): (&&Node, &BooleanArray)| evaluate(part, &filtered_rows(rows, mask)?, read_as);
    let values = parts.iter().zip(&masks).map(of_part).collect::<Result<Vec<_>>>()?;
    let Some(target) = common_type(&parts, &values, wanted_number)? else {
        return Ok(new_null_array(&Arrow::Null, rows.num_rows()));
    };
    let fitting = values.iter().zip(&parts).map(|(value, part)| choice(value, part, &target));
    let mut values = fitting.collect::<Result<Vec<_>>>()?;
    let none = values.len();
    values.push(new_null_array(&target, 1));
    let mut taken = vec![0_usize; values.len()];
    let places = (0..rows.num_rows()).map(|row| {
        let part = masks.iter().position(|mask| mask.value(row)).unwrap_or(none);
        let next = taken.get_mut(part).filter(|_| part != none);
        (part, next.map_or(0, |next| std::mem::replace(next, *next + 1)))
    });
    let places: Vec<(usize, usize)> = places.collect();
    interleaved(&values, &places)
}

/// A part as the type of the choice has it.
fn choice(value: &ArrayRef, part: &Node, target: &Arrow) -> Result<ArrayRef> {
    if matches!(part, Node::Literal(Literal::Null)) || value.data_type() == &Arrow::Null {
        return Ok(new_null_array(target, value.len()));
    }
    if *target == Arrow::Utf8 {
        return Ok(Arc::new(texts(value, Some(part))?));
    }
    let value = if is_computed(part) { assigned(value, target)? } else { ArrayRef::clone(value) };
    if value.data_type() == target || (is_number(value.data_type()) && is_number(target)) {
        return as_type(&value, target);
    }
    taken(&value, target)
}

/// Values of another type as a write takes them: no text is parsed, no number is a BOOLEAN, no moment a day.
fn taken(value: &ArrayRef, target: &Arrow) -> Result<ArrayRef> {
    let misfit = |e: Error| {
        let text = format!("a choice of {target} does not take all values of {}", value.data_type());
        Error::new(e.kind(), text).caused_by(e)
    };
    let wanted = data_type_from_arrow(&ArrowField::new("value", target.clone(), true)).map_err(misfit)?;
    convert_column(value, &DataField::new(0, "value", wanted), 0).map_err(misfit)
}

/// NULL has the type of whatever is beside it.
fn common_type(parts: &[&Node], values: &[ArrayRef], wanted_number: Option<Arrow>) -> Result<Option<Arrow>> {
    let is_null = |part: &Node| matches!(part, Node::Literal(Literal::Null));
    let known = || parts.iter().zip(values).filter(|(part, _)| !is_null(part)).map(|(_, value)| value.data_type());
    if !known().all(is_number) {
        return Ok(known().next().cloned());
    }
    if wanted_number.is_some() {
        return Ok(wanted_number);
    }
    let mut widest: Option<Arrow> = None;
    for t in known() {
        widest = Some(match widest {
            Some(widest) => wider(&widest, t)?,
            None => t.clone(),
        });
    }
    Ok(widest.or_else(|| values.first().map(|value| value.data_type().clone())))
}

/// Whether operators make the value.
fn is_computed(node: &Node) -> bool {
    match node {
        Node::Chain(..) => true,
        Node::Negated(inner) => is_computed(inner),
        Node::Coalesce(_) | Node::Case(..) => node.choices().into_iter().flatten().any(is_computed),
        Node::Literal(_) | Node::Column(_) | Node::Upper(_) | Node::Lower(_) => false,
    }
}

/// The type of the first column that is a part of a choice.
pub(super) fn column_type(node: &Node) -> Option<&DataType> {
    match node {
        Node::Column(field) => Some(&field.data_type),
        Node::Coalesce(_) | Node::Case(..) => node.choices()?.into_iter().find_map(column_type),
        Node::Literal(_) | Node::Negated(_) | Node::Chain(..) | Node::Upper(_) | Node::Lower(_) => None,
    }
}
