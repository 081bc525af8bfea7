//! Conditions over the rows of a batch in which columns and computed values are compared with each other, where a
//! [`crate::predicate::Predicate`] compares columns with literals: of CASE, and of statements over rows of two tables.

use arrow_arith::boolean::{and_kleene, is_not_null, is_null, or_kleene};
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch};
use arrow_ord::cmp;
use arrow_schema::{DataType as Arrow, TimeUnit};
use arrow_select::filter::prep_null_mask_filter;
use sqlparser::ast::{BinaryOperator, Expr, UnaryOperator};

use super::{
    arithmetic::{Operator, as_type, computed, converted, is_number, wider},
    evaluate::{column_type, evaluate},
    expression::{FUNCTIONS, node},
    invalid,
    node::{Node, Truth},
    text::string,
};
use crate::{
    error::{Error, Result, shorten},
    predicate::{
        CompareOp, Grammar, Qualify, condition_of, evaluate as evaluate_predicate, parse_qualified, plain_floats,
    },
    types::{DataField, DataType},
};

const CONDITION: Grammar = Grammar {
    what: "condition",
    example: "write a SQL condition such as \"s.amount > t.amount\"",
    refusal: "cannot be used in a condition",
    instead: "use =, <>, <, <=, >, >=, IN, BETWEEN, LIKE, IS NULL with AND, OR and NOT, and values as in SET",
    shorter: "put many values of one column into IN (...)",
    functions: FUNCTIONS,
    casts: true,
    cases: true,
    keys: false,
};

impl Truth {
    /// Parses a text over these columns.
    pub(super) fn parse(text: &str, fields: &[DataField], qualify: Option<Qualify<'_>>) -> Result<Self> {
        let parsed = parse_qualified(text, &CONDITION, qualify).and_then(|expr| Self::of(&expr, fields));
        parsed.map_err(|e: Error| e.with("condition", shorten(text)))
    }

    pub(super) fn of(expr: &Expr, fields: &[DataField]) -> Result<Self> {
        read(expr, fields, false)
    }

    /// `a = b`
    pub(super) fn equal(a: &Expr, b: &Expr, fields: &[DataField]) -> Result<Self> {
        compare(a, CompareOp::Eq, b, fields)
    }

    /// The parts that must all hold.
    pub(super) fn conjuncts(self) -> Vec<Self> {
        match self {
            Self::All(parts) => parts.into_iter().flat_map(Self::conjuncts).collect(),
            other => vec![other],
        }
    }

    /// The two columns that must be equal.
    pub(super) fn equal_columns(&self) -> Option<(&DataField, &DataField)> {
        match self {
            Self::Compare(a, CompareOp::Eq, b) => match (a.as_ref(), b.as_ref()) {
                (Node::Column(a), Node::Column(b)) => Some((a, b)),
                _ => None,
            },
            _ => None,
        }
    }

    /// Adds the names of the columns that it looks at.
    pub(super) fn columns<'a>(&'a self, names: &mut Vec<&'a str>) {
        match self {
            Self::Plain(predicate) => names.extend(predicate.columns()),
            Self::Compare(a, _, b) => {
                a.columns(names);
                b.columns(names);
            }
            Self::Null(node, _) => node.columns(names),
            Self::All(parts) | Self::Any(parts) => parts.iter().for_each(|part| part.columns(names)),
        }
    }

    /// Whether it holds; unknown counts as false.
    pub(super) fn holds(&self, rows: &RecordBatch) -> Result<BooleanArray> {
        let values = self.evaluate(rows)?;
        Ok(if values.null_count() == 0 { values } else { prep_null_mask_filter(&values) })
    }

    /// True, false, or null for unknown.
    pub(super) fn evaluate(&self, rows: &RecordBatch) -> Result<BooleanArray> {
        match self {
            Self::Plain(predicate) => evaluate_predicate(predicate, rows),
            Self::Compare(a, op, b) => compared(a, *op, b, rows),
            Self::Null(node, wanted) => {
                let value = evaluate(node, rows, hint(node).as_ref())?;
                computed(if *wanted { is_null(&value) } else { is_not_null(&value) })
            }
            Self::All(parts) => joined(parts, rows, true),
            Self::Any(parts) => joined(parts, rows, false),
        }
    }
}

fn joined(parts: &[Truth], rows: &RecordBatch, all: bool) -> Result<BooleanArray> {
    let mut result = BooleanArray::from(vec![all; rows.num_rows()]);
    for part in parts {
        crate::cancel::check()?;
        let next = part.evaluate(rows)?;
        result = computed(if all { and_kleene(&result, &next) } else { or_kleene(&result, &next) })?;
    }
    Ok(result)
}

fn read(expr: &Expr, fields: &[DataField], negate: bool) -> Result<Truth> {
    match expr {
        Expr::Nested(inner) => read(inner, fields, negate),
        Expr::UnaryOp { op: UnaryOperator::Not | UnaryOperator::BangNot, expr } => read(expr, fields, !negate),
        Expr::BinaryOp { op: op @ (BinaryOperator::And | BinaryOperator::Or), .. } => {
            let parts = operands(expr, op).into_iter().map(|part| read(part, fields, negate)).collect::<Result<_>>()?;
            Ok(if (*op == BinaryOperator::And) == negate { Truth::Any(parts) } else { Truth::All(parts) })
        }
        Expr::BinaryOp { left, op, right } => match operator(op) {
            Some(op) => compare(left, if negate { op.negated() } else { op }, right, fields),
            None => plain(expr, fields, negate),
        },
        Expr::IsNull(inner) if !is_plain(inner) => Ok(Truth::Null(Box::new(node(inner, fields)?), !negate)),
        Expr::IsNotNull(inner) if !is_plain(inner) => Ok(Truth::Null(Box::new(node(inner, fields)?), negate)),
        _ => plain(expr, fields, negate),
    }
}

fn plain(expr: &Expr, fields: &[DataField], negate: bool) -> Result<Truth> {
    condition_of(expr, fields, negate).map(Truth::Plain)
}

/// The operands of a chain of one operator, without recursion along its left spine.
fn operands<'a>(expr: &'a Expr, wanted: &BinaryOperator) -> Vec<&'a Expr> {
    let (mut found, mut at) = (Vec::new(), expr);
    while let Expr::BinaryOp { left, op, right } = at {
        if op != wanted {
            break;
        }
        found.push(right.as_ref());
        at = left;
    }
    found.push(at);
    found.reverse();
    found
}

fn compare(left: &Expr, op: CompareOp, right: &Expr, fields: &[DataField]) -> Result<Truth> {
    if is_plain(left) && is_plain(right) && !(is_column(left) && is_column(right)) {
        let expr = Expr::BinaryOp { left: Box::new(left.clone()), op: symbol(op), right: Box::new(right.clone()) };
        return plain(&expr, fields, false);
    }
    Ok(Truth::Compare(Box::new(node(left, fields)?), op, Box::new(node(right, fields)?)))
}

/// A column or a literal.
fn is_plain(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) => is_plain(inner),
        Expr::UnaryOp { op: UnaryOperator::Minus | UnaryOperator::Plus, expr } => is_plain(expr) && !is_column(expr),
        Expr::Identifier(_) | Expr::Value(_) | Expr::TypedString(_) | Expr::Cast { .. } => true,
        _ => false,
    }
}

fn is_column(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) => is_column(inner),
        Expr::Identifier(_) => true,
        _ => false,
    }
}

fn operator(op: &BinaryOperator) -> Option<CompareOp> {
    Some(match op {
        BinaryOperator::Eq => CompareOp::Eq,
        BinaryOperator::NotEq => CompareOp::NotEq,
        BinaryOperator::Lt => CompareOp::Lt,
        BinaryOperator::LtEq => CompareOp::LtEq,
        BinaryOperator::Gt => CompareOp::Gt,
        BinaryOperator::GtEq => CompareOp::GtEq,
        _ => return None,
    })
}

fn symbol(op: CompareOp) -> BinaryOperator {
    match op {
        CompareOp::Eq => BinaryOperator::Eq,
        CompareOp::NotEq => BinaryOperator::NotEq,
        CompareOp::Lt => BinaryOperator::Lt,
        CompareOp::LtEq => BinaryOperator::LtEq,
        CompareOp::Gt => BinaryOperator::Gt,
        CompareOp::GtEq => BinaryOperator::GtEq,
    }
}

/// The type that literals beside a value are read as; `None` for numbers that are computed.
fn hint(node: &Node) -> Option<DataType> {
    match node {
        Node::Column(field) => Some(field.data_type.clone()),
        Node::Coalesce(_) | Node::Case(..) => column_type(node).cloned(),
        Node::Upper(_) | Node::Lower(_) => Some(string()),
        Node::Chain(_, rest) => rest.iter().any(|(op, _)| *op == Operator::Concatenate).then(string),
        Node::Literal(_) | Node::Negated(_) => None,
    }
}

fn compared(a: &Node, op: CompareOp, b: &Node, rows: &RecordBatch) -> Result<BooleanArray> {
    let (of_a, of_b) = (hint(a), hint(b));
    let left = evaluate(a, rows, of_a.as_ref().or(of_b.as_ref()))?;
    let right = evaluate(b, rows, of_b.as_ref().or(of_a.as_ref()))?;
    let (left, right) = alike(&left, &right)?;
    let (left, right) = (plain_floats(&left), plain_floats(&right));
    computed(match op {
        CompareOp::Eq => cmp::eq(&left, &right),
        CompareOp::NotEq => cmp::neq(&left, &right),
        CompareOp::Lt => cmp::lt(&left, &right),
        CompareOp::LtEq => cmp::lt_eq(&left, &right),
        CompareOp::Gt => cmp::gt(&left, &right),
        CompareOp::GtEq => cmp::gt_eq(&left, &right),
    })
}

/// Both values in one type that holds them.
fn alike(left: &ArrayRef, right: &ArrayRef) -> Result<(ArrayRef, ArrayRef)> {
    let (a, b) = (left.data_type(), right.data_type());
    let common = match (a, b) {
        _ if a == b => a.clone(),
        _ if is_number(a) && is_number(b) => {
            let common = wider(a, b)?;
            return Ok((as_type(left, &common)?, as_type(right, &common)?));
        }
        (Arrow::Timestamp(a, zone), Arrow::Timestamp(b, other)) if zone.is_some() == other.is_some() => {
            Arrow::Timestamp(finer(*a, *b), zone.clone())
        }
        (Arrow::Null, other) | (other, Arrow::Null) => other.clone(),
        _ => return Err(invalid(format!("values of the types {a} and {b} cannot be compared with each other"))),
    };
    Ok((converted(left, &common)?, converted(right, &common)?))
}

fn finer(a: TimeUnit, b: TimeUnit) -> TimeUnit {
    let rank = |unit: TimeUnit| match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 1,
        TimeUnit::Microsecond => 2,
        TimeUnit::Nanosecond => 3,
    };
    if rank(a) >= rank(b) { a } else { b }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Int32Array, StringArray};

    use super::*;
    use crate::{dml::Assignment, types::parse_type};

    fn row_fields() -> Vec<DataField> {
        ["a", "b"]
            .iter()
            .zip(0..)
            .map(|(name, id)| DataField::new(id, *name, parse_type("INT").unwrap()))
            .chain([DataField::new(2, "s", parse_type("STRING").unwrap())])
            .collect()
    }

    fn rows() -> RecordBatch {
        let a: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), Some(2), None, Some(4)]));
        let b: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), Some(1), Some(1), Some(0)]));
        let s: ArrayRef = Arc::new(StringArray::from(vec![Some("x"), None, Some("y"), Some("z")]));
        RecordBatch::try_from_iter_with_nullable([("a", a, true), ("b", b, true), ("s", s, true)]).unwrap()
    }

    #[test]
    fn columns_and_computed_values_are_compared() {
        for (text, expected) in [
            ("a = b", [Some(true), Some(false), None, Some(false)]),
            ("NOT a = b", [Some(false), Some(true), None, Some(true)]),
            ("a > b OR s = 'y'", [Some(false), Some(true), Some(true), Some(true)]),
            ("a > b AND s IS NOT NULL", [Some(false), Some(false), None, Some(true)]),
            ("a + 1 > 2", [Some(false), Some(true), None, Some(true)]),
            ("coalesce(a, 0) < b", [Some(false), Some(false), Some(true), Some(false)]),
            ("upper(s) = 'X'", [Some(true), None, Some(false), Some(false)]),
            ("coalesce(s, 'none') IN ('x')", [None; 4]),
        ] {
            match Truth::parse(text, &row_fields(), None) {
                Ok(truth) => {
                    assert_eq!(truth.evaluate(&rows()).unwrap().iter().collect::<Vec<_>>(), expected, "{text}");
                }
                // IN looks at columns alone
                Err(error) => assert!(text.contains(" IN ") && error.to_string().contains("coalesce"), "{error}"),
            }
        }
    }

    /// A branch is computed for its own rows alone: `a / b` of the last row would divide by zero.
    #[test]
    fn a_case_takes_the_first_branch_that_holds() {
        for (text, expected) in [
            ("CASE WHEN b = 0 THEN 0 WHEN a > b THEN a DIV b ELSE -1 END", [Some(-1), Some(2), Some(-1), Some(0)]),
            ("CASE a WHEN 1 THEN 10 WHEN b THEN 20 END", [Some(10), None, None, None]),
            ("case when s = 'x' then null else b end", [None, Some(1), Some(1), Some(0)]),
        ] {
            let value = Assignment::parse(&row_fields(), "a", text).unwrap().value(&rows(), 0).unwrap();
            let value = value.as_any().downcast_ref::<Int32Array>().unwrap();
            assert_eq!(value.iter().collect::<Vec<_>>(), expected, "{text}");
        }
    }

    #[test]
    fn types_that_have_no_order_together_are_refused() {
        let truth = Truth::parse("a = s", &row_fields(), None).unwrap();
        assert!(truth.evaluate(&rows()).unwrap_err().to_string().contains("cannot be compared"));
    }
}
