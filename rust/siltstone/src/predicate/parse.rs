//! SQL text to a predicate.
//!
//! Columns are compared with literals: `a = 1`, `dt IN ('x', 'y')`, `name LIKE 'a%'`, `ts >= '2024-05-01'`,
//! `NOT (a > 1 OR b IS NULL)`, and so is what a map has for a key: `m['k'] = 1`. Text is in single quotes, odd column names in backticks or double quotes.

use sqlparser::ast::{AccessExpr, BinaryOperator, DataType as SqlType, Expr, Subscript, UnaryOperator, Value};

use super::{
    CompareOp, Predicate,
    columns::resolve,
    literal::Literal,
    number,
    operand::Operand,
    sql::{Grammar, parse_expression},
    typed::{Family, check_typed, family},
};
use crate::{
    cancel::Work,
    error::{Error, ErrorKind, Result, shorten},
    types::DataField,
};

const INSTEAD: &str =
    "use =, <>, <, <=, >, >=, IN, BETWEEN, LIKE, IS NULL with AND, OR and NOT; filter further in your engine";

const CONDITION: Grammar = Grammar {
    what: "condition",
    example: "write a SQL condition such as \"dt = '2024-05-01' AND amount > 10\"",
    refusal: "cannot be used in a condition",
    instead: INSTEAD,
    shorter: "put many values of one column into IN (...)",
    functions: &[],
    casts: true,
    cases: false,
    keys: true,
};

/// Parses a SQL condition over these columns.
pub fn parse_predicate(text: &str, fields: &[DataField]) -> Result<Predicate> {
    let parsed = parse_expression(text, &CONDITION).and_then(|expr| Reader { fields }.condition(&expr, false));
    parsed.map_err(|e| e.with("condition", shorten(text)))
}

/// The condition that a tree is, or its negation; unknown counts as false either way.
pub(crate) fn condition_of(expr: &Expr, fields: &[DataField], negate: bool) -> Result<Predicate> {
    Reader { fields }.condition(expr, negate)
}

fn invalid(sentence: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidArgument, sentence)
}

/// One side of a comparison.
enum Side<'a> {
    Operand(Operand<'a>),
    Literal(Literal),
}

struct Reader<'a> {
    fields: &'a [DataField],
}

impl<'a> Reader<'a> {
    /// `expr`, or its negation; unknown counts as false either way.
    fn condition(&self, expr: &Expr, negate: bool) -> Result<Predicate> {
        match expr {
            Expr::Nested(inner) => self.condition(inner, negate),
            Expr::UnaryOp { op: UnaryOperator::Not | UnaryOperator::BangNot, expr } => self.condition(expr, !negate),
            Expr::BinaryOp { op: op @ (BinaryOperator::And | BinaryOperator::Or), .. } => {
                let mut parts = Vec::new();
                self.chain(expr, op, negate, &mut parts)?;
                let all = (*op == BinaryOperator::And) != negate;
                Ok(if all { Predicate::all(parts) } else { Predicate::any(parts) })
            }
            Expr::BinaryOp { left, op: BinaryOperator::Spaceship, right } | Expr::IsNotDistinctFrom(left, right) => {
                self.distinct(left, right, !negate)
            }
            Expr::BinaryOp { left, op, right } => self.comparison(left, compare_op(op)?, right, negate),
            Expr::IsDistinctFrom(left, right) => self.distinct(left, right, negate),
            Expr::IsNull(inner) | Expr::IsUnknown(inner) => Ok(self.operand(inner)?.null_test(!negate)),
            Expr::IsNotNull(inner) | Expr::IsNotUnknown(inner) => Ok(self.operand(inner)?.null_test(negate)),
            Expr::IsTrue(inner) => self.is_boolean(inner, true, negate),
            Expr::IsNotTrue(inner) => self.is_boolean(inner, true, !negate),
            Expr::IsFalse(inner) => self.is_boolean(inner, false, negate),
            Expr::IsNotFalse(inner) => self.is_boolean(inner, false, !negate),
            Expr::InList { expr, list, negated } => self.in_list(expr, list, *negated != negate),
            Expr::Between { expr, negated, low, high } => self.between(expr, low, high, *negated != negate),
            Expr::Like { negated, any: false, expr, pattern, escape_char } => {
                let escape = escape(escape_char.as_ref())?;
                self.operand(expr)?.like(&self.literal(pattern)?, escape, *negated != negate)
            }
            Expr::ILike { .. } => Err(unsupported_form("ILIKE")),
            _ => self.bare(expr, negate),
        }
    }

    /// The operands of a chain of one operator, without recursion along its left spine.
    fn chain(&self, expr: &Expr, wanted: &BinaryOperator, negate: bool, parts: &mut Vec<Predicate>) -> Result<()> {
        let mut rights = Vec::new();
        let mut at = expr;
        loop {
            match at {
                Expr::BinaryOp { left, op, right } if op == wanted => {
                    rights.push(right.as_ref());
                    at = left;
                }
                _ => break,
            }
        }
        parts.push(self.condition(at, negate)?);
        for right in rights.into_iter().rev() {
            parts.push(self.condition(right, negate)?);
        }
        Ok(())
    }

    /// TRUE, FALSE, NULL, or a boolean column by itself.
    fn bare(&self, expr: &Expr, negate: bool) -> Result<Predicate> {
        match self.side(expr)? {
            Side::Literal(Literal::Boolean(value)) => Ok(Predicate::Constant(value != negate)),
            Side::Literal(Literal::Null) => Ok(Predicate::Constant(false)),
            Side::Operand(operand) if operand.is_boolean() => {
                operand.compare(CompareOp::Eq, &Literal::Boolean(!negate))
            }
            _ => Err(invalid(format!("'{expr}' is not a condition")).hint("compare a column with a literal: a = 1")),
        }
    }

    fn comparison(&self, left: &Expr, op: CompareOp, right: &Expr, negate: bool) -> Result<Predicate> {
        let op = if negate { op.negated() } else { op };
        match (self.side(left)?, self.side(right)?) {
            (Side::Operand(operand), Side::Literal(value)) => operand.compare(op, &value),
            (Side::Literal(value), Side::Operand(operand)) => operand.compare(op.flipped(), &value),
            (Side::Operand(a), Side::Operand(b)) => Err(invalid(format!(
                "the columns '{}' and '{}' are compared with each other; only a column and a literal can be",
                a.name(),
                b.name()
            ))
            .hint("text is written in single quotes; compare columns in the engine that reads the scan")),
            (Side::Literal(a), Side::Literal(b)) => constants(&a, op, &b),
        }
    }

    /// `left IS DISTINCT FROM right`, or when `same` the opposite; never unknown.
    fn distinct(&self, left: &Expr, right: &Expr, same: bool) -> Result<Predicate> {
        let ((Side::Operand(operand), Side::Literal(value)) | (Side::Literal(value), Side::Operand(operand))) =
            (self.side(left)?, self.side(right)?)
        else {
            return Err(unsupported_form("IS DISTINCT FROM without exactly one column"));
        };
        if value == Literal::Null {
            return Ok(operand.null_test(same));
        }
        if same {
            return operand.compare(CompareOp::Eq, &value);
        }
        Ok(Predicate::any([operand.compare(CompareOp::NotEq, &value)?, operand.null_test(true)]))
    }

    /// `expr IS value`, or its opposite; never unknown.
    fn is_boolean(&self, expr: &Expr, value: bool, negate: bool) -> Result<Predicate> {
        let operand = self.operand(expr)?;
        if !negate {
            return operand.compare(CompareOp::Eq, &Literal::Boolean(value));
        }
        let other = operand.compare(CompareOp::Eq, &Literal::Boolean(!value))?;
        Ok(Predicate::any([other, operand.null_test(true)]))
    }

    fn in_list(&self, expr: &Expr, list: &[Expr], negated: bool) -> Result<Predicate> {
        let mut work = Work::default();
        let one = |e: &Expr| work.done(1).and_then(|()| self.literal(e));
        let values: Vec<Literal> = list.iter().map(one).collect::<Result<_>>()?;
        self.operand(expr)?.is_in(&values, negated)
    }

    fn between(&self, expr: &Expr, low: &Expr, high: &Expr, negated: bool) -> Result<Predicate> {
        let operand = self.operand(expr)?;
        let (low, high) = (self.literal(low)?, self.literal(high)?);
        if negated {
            let below = operand.compare(CompareOp::Lt, &low)?;
            return Ok(Predicate::any([below, operand.compare(CompareOp::Gt, &high)?]));
        }
        let from = operand.compare(CompareOp::GtEq, &low)?;
        Ok(Predicate::all([from, operand.compare(CompareOp::LtEq, &high)?]))
    }

    fn operand(&self, expr: &Expr) -> Result<Operand<'a>> {
        match self.side(expr)? {
            Side::Operand(operand) => Ok(operand),
            Side::Literal(_) => Err(invalid(format!("'{expr}' stands where a column is expected"))),
        }
    }

    fn literal(&self, expr: &Expr) -> Result<Literal> {
        match self.side(expr)? {
            Side::Literal(value) => Ok(value),
            Side::Operand(operand) => {
                Err(invalid(format!("the column '{}' stands where a literal is expected", operand.name()))
                    .hint("text is written in single quotes"))
            }
        }
    }

    fn side(&self, expr: &Expr) -> Result<Side<'a>> {
        Ok(match expr {
            Expr::Identifier(name) => {
                Side::Operand(Operand::column(resolve(self.fields, &name.value, name.quote_style.is_none())?))
            }
            Expr::CompoundFieldAccess { root, access_chain } => match (root.as_ref(), access_chain.as_slice()) {
                (Expr::Identifier(name), [AccessExpr::Subscript(Subscript::Index { index })]) => {
                    let column = resolve(self.fields, &name.value, name.quote_style.is_none())?;
                    Side::Operand(Operand::of_key(column, &self.literal(index)?, &expr.to_string())?)
                }
                _ => return Err(unsupported_form("a nested field")),
            },
            Expr::CompoundIdentifier(_) => {
                return Err(unsupported_form("a nested field"));
            }
            Expr::Nested(inner) => self.side(inner)?,
            Expr::Value(value) => Side::Literal(value_literal(&value.value)?),
            Expr::UnaryOp { op: op @ (UnaryOperator::Minus | UnaryOperator::Plus), expr } => {
                match (self.literal(expr)?, op) {
                    (Literal::Number(n), UnaryOperator::Minus) => Side::Literal(Literal::Number(negative(&n))),
                    (Literal::Number(n), _) => Side::Literal(Literal::Number(n)),
                    _ => return Err(invalid(format!("'{expr}' is not a number"))),
                }
            }
            Expr::TypedString(typed) => {
                let text = typed.value.value.clone().into_string();
                Side::Literal(typed_literal(&typed.data_type, text.unwrap_or_default())?)
            }
            Expr::Cast { expr, data_type, .. } => match expr.as_ref() {
                Expr::Value(text) => match value_literal(&text.value)? {
                    Literal::Text(text) => Side::Literal(typed_literal(data_type, text)?),
                    _ => return Err(unsupported_form("CAST of anything but a quoted text")),
                },
                _ => return Err(unsupported_form("CAST of anything but a quoted text")),
            },
            Expr::Function(f) => return Err(unsupported_form(format!("the function {}", f.name))),
            Expr::BinaryOp { op, .. } if is_arithmetic(op) => return Err(unsupported_form("arithmetic")),
            Expr::Tuple(_) => return Err(unsupported_form("a list that is not behind IN")),
            // not written out: that takes as deep a recursion as the condition has operators
            _ => return Err(unsupported_form("a condition as an operand of another")),
        })
    }
}

fn unsupported_form(what: impl std::fmt::Display) -> Error {
    invalid(format!("{what} {}", CONDITION.refusal)).hint(INSTEAD)
}

fn is_arithmetic(op: &BinaryOperator) -> bool {
    use BinaryOperator as B;
    matches!(op, B::Plus | B::Minus | B::Multiply | B::Divide | B::DuckIntegerDivide | B::Modulo | B::StringConcat)
}

fn negative(number: &str) -> String {
    number.strip_prefix('-').map_or_else(|| format!("-{number}"), str::to_owned)
}

fn compare_op(op: &BinaryOperator) -> Result<CompareOp> {
    Ok(match op {
        BinaryOperator::Eq => CompareOp::Eq,
        BinaryOperator::NotEq => CompareOp::NotEq,
        BinaryOperator::Lt => CompareOp::Lt,
        BinaryOperator::LtEq => CompareOp::LtEq,
        BinaryOperator::Gt => CompareOp::Gt,
        BinaryOperator::GtEq => CompareOp::GtEq,
        other => return Err(unsupported_form(format!("the operator {other}"))),
    })
}

/// `1 = 1` and the like, which tools put in front of generated conditions.
fn constants(a: &Literal, op: CompareOp, b: &Literal) -> Result<Predicate> {
    let order = match (a, b) {
        (Literal::Null, _) | (_, Literal::Null) => return Ok(Predicate::Constant(false)),
        (Literal::Number(a), Literal::Number(b)) => {
            let float = |t: &str| t.parse::<f64>().map_err(|_| invalid(format!("'{t}' is not a number")));
            match number::order(a, b) {
                Some(order) => order,
                // 'NaN', 'inf'
                None => float(a)?.total_cmp(&float(b)?),
            }
        }
        (Literal::Text(a), Literal::Text(b)) => a.cmp(b),
        (Literal::Boolean(a), Literal::Boolean(b)) => a.cmp(b),
        _ => return Err(unsupported_form("a comparison of literals of different types")),
    };
    Ok(Predicate::Constant(op.holds(order)))
}

fn value_literal(value: &Value) -> Result<Literal> {
    Ok(match value {
        Value::Number(text, _) => Literal::Number(text.clone()),
        Value::SingleQuotedString(text) | Value::NationalStringLiteral(text) => Literal::Text(text.clone()),
        Value::Boolean(b) => Literal::Boolean(*b),
        Value::Null => Literal::Null,
        Value::HexStringLiteral(text) => Literal::Bytes(hex(text)?),
        other => return Err(unsupported_form(format!("the literal {other}"))),
    })
}

/// Hexadecimal text to bytes.
pub(super) fn hex(text: &str) -> Result<Vec<u8>> {
    let refuse =
        || invalid(format!("'{}' is not hexadecimal", shorten(text))).hint("write two digits per byte: X'0a1b'");
    let digits: Vec<char> = text.chars().collect();
    if !digits.len().is_multiple_of(2) {
        return Err(refuse());
    }
    let byte = |pair: &[char]| {
        let pair: String = pair.iter().collect();
        u8::from_str_radix(&pair, 16).ok().filter(|_| !pair.starts_with('+'))
    };
    digits.chunks(2).map(|pair| byte(pair).ok_or_else(refuse)).collect()
}

fn typed_literal(data_type: &SqlType, text: String) -> Result<Literal> {
    check_typed(data_type, &text)?;
    Ok(match family(data_type) {
        Some(Family::Date) => Literal::Date(text),
        Some(Family::Time) => Literal::Time(text),
        Some(Family::Timestamp) => Literal::Timestamp(text),
        Some(Family::Text) => Literal::Text(text),
        Some(Family::Number) => Literal::Number(text),
        None => return Err(unsupported_form(format!("a literal of the type {data_type}"))),
    })
}

fn escape(value: Option<&Value>) -> Result<Option<char>> {
    let Some(value) = value else {
        return Ok(None);
    };
    let text = value.clone().into_string().unwrap_or_default();
    let mut chars = text.chars();
    match (chars.next(), chars.next()) {
        (Some(c), None) => Ok(Some(c)),
        _ => Err(invalid("the ESCAPE of LIKE must be one character")),
    }
}

#[cfg(test)]
mod tests;
