//! New values of columns, as SQL expressions over the old row: `'x'`, `amount * 2`, `coalesce(a, b) || '!'`, `NULL`.
//!
//! ```text
//! literals   'text'  12.5  TRUE  NULL  X'0a'  DATE '..'  TIME '..'  TIMESTAMP '..'
//! columns    a, `odd name`, "odd name"
//! operators  + - * / %  ||  unary minus  parentheses
//! functions  COALESCE(x, ...), UPPER(x), LOWER(x); CAST(x AS T) is left out: values become the column's type anyway
//! ```

use std::sync::Arc;

use arrow_arith::boolean::is_not_null;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, StringArray, new_null_array};
use arrow_schema::DataType as Arrow;
use arrow_select::{nullif::nullif, zip::zip};
use sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, TypedString, UnaryOperator,
};

use super::{
    arithmetic::{Operator, arithmetic, check_whole, computed, converted, negated},
    literal::Literal,
    text::{concatenate, map_text, string, texts},
};
use crate::{
    error::{Error, ErrorKind, Result, shorten},
    operation::write::convert_column,
    predicate::{Grammar, parse_expression, resolve_column},
    types::{DataField, DataType, TypeKind, arrow_type},
};

const INSTEAD: &str =
    "use literals, columns, + - * / % ||, COALESCE, UPPER and LOWER, or compute the rows yourself and upsert them";

const NEW_VALUE: Grammar = Grammar {
    what: "new value",
    example: "write a SQL expression; a text needs quotes of its own: {'status': \"'done'\"}",
    refusal: "cannot be computed",
    instead: INSTEAD,
    shorter: "compute the rows yourself and upsert them",
    functions: &["coalesce", "upper", "lower"],
    casts: false,
};

/// The new value of one column.
#[derive(Clone, Debug)]
pub struct Assignment {
    field: DataField,
    node: Node,
    text: String,
}

#[derive(Clone, Debug)]
pub(super) enum Node {
    /// A constant of the column it is assigned to or combined with; a number or text as it was written.
    Literal(Literal),
    Column(DataField),
    Negated(Box<Node>),
    /// `a + b - c ...`, from left to right: in a list, as it may be longer than a stack is deep.
    Chain(Box<Node>, Vec<(Operator, Node)>),
    Coalesce(Vec<Node>),
    Upper(Box<Node>),
    Lower(Box<Node>),
}

impl Assignment {
    /// Parses `column = text` over these columns. Errors are `InvalidArgument`, or those of a write for a literal that
    /// the column does not hold, and name the column and the text.
    pub fn parse(fields: &[DataField], column: &str, text: &str) -> Result<Self> {
        let field = resolve_column(fields, column, true)?.clone();
        let named = |e: Error| e.with("column", column).with("value", shorten(text));
        let expr = parse_expression(text, &NEW_VALUE).map_err(named)?;
        let node = node(&expr, fields).map_err(named)?;
        if matches!(node, Node::Literal(Literal::Null)) && !field.data_type.nullable {
            return Err(named(Error::new(ErrorKind::NullInKey, "the column is NOT NULL")));
        }
        let assignment = Self { field, node, text: text.to_owned() };
        // a literal that the column cannot hold is an error before anything is read
        if let Node::Literal(_) = &assignment.node {
            let empty = RecordBatch::new_empty(Arc::new(arrow_schema::Schema::empty()));
            assignment.value(&empty, 0)?;
        }
        Ok(assignment)
    }

    /// Name of the column that gets the value.
    pub fn column(&self) -> &str {
        &self.field.name
    }

    /// The new values for the rows of a batch, in the column's type. In errors rows are counted from `before` on.
    ///
    /// # Errors
    /// `InvalidArgument` where a value cannot be computed; those of a write for a value that the column does not hold.
    pub fn value(&self, rows: &RecordBatch, before: usize) -> Result<ArrayRef> {
        let named = |e: Error| e.with("column", &self.field.name).with("value", shorten(&self.text));
        let value = self.computed(rows).map_err(named)?;
        convert_column(&value, &self.field, before).map_err(|e| e.with("value", shorten(&self.text)))
    }

    fn computed(&self, rows: &RecordBatch) -> Result<ArrayRef> {
        let value = evaluate(&self.node, rows, &self.field.data_type)?;
        if is_computed(&self.node) {
            check_whole(&value, &arrow_type(&self.field.data_type)?)?;
        }
        Ok(value)
    }
}

pub(super) fn invalid(text: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidArgument, text)
}

fn node(expr: &Expr, fields: &[DataField]) -> Result<Node> {
    Ok(match expr {
        Expr::Nested(inner) => node(inner, fields)?,
        Expr::Identifier(name) => {
            Node::Column(resolve_column(fields, &name.value, name.quote_style.is_none())?.clone())
        }
        Expr::Value(value) => Node::Literal(Literal::new(&value.value)?),
        Expr::TypedString(TypedString { data_type, value, .. }) => {
            Node::Literal(Literal::typed(data_type, &value.value)?)
        }
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => match node(expr, fields)? {
            Node::Literal(Literal::Number(text)) => Node::Literal(Literal::Number(negative(&text))),
            other => Node::Negated(Box::new(other)),
        },
        Expr::UnaryOp { op: UnaryOperator::Plus, expr } => node(expr, fields)?,
        Expr::BinaryOp { .. } => chain(expr, fields)?,
        Expr::Function(call) => function(call, fields)?,
        _ => return Err(unknown("a condition")),
    })
}

fn negative(number: &str) -> String {
    number.strip_prefix('-').map_or_else(|| format!("-{number}"), str::to_owned)
}

/// The operands of a chain of operators, without recursion along its left spine.
fn chain(expr: &Expr, fields: &[DataField]) -> Result<Node> {
    let (mut rest, mut at) = (Vec::new(), expr);
    while let Expr::BinaryOp { left, op, right } = at {
        rest.push((operator(op)?, node(right, fields)?));
        at = left;
    }
    rest.reverse();
    Ok(Node::Chain(Box::new(node(at, fields)?), rest))
}

fn function(call: &Function, fields: &[DataField]) -> Result<Node> {
    let name = call.name.to_string().to_ascii_lowercase();
    let unknown = || unknown(&format!("this call of {}", shorten(&name)));
    let FunctionArguments::List(list) = &call.args else {
        return Err(unknown());
    };
    let mut arguments = Vec::new();
    for argument in &list.args {
        let FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)) = argument else {
            return Err(unknown());
        };
        arguments.push(node(argument, fields)?);
    }
    match (name.as_str(), arguments.len()) {
        ("coalesce", 1..) => Ok(Node::Coalesce(arguments)),
        ("upper", 1) => Ok(Node::Upper(Box::new(arguments.remove(0)))),
        ("lower", 1) => Ok(Node::Lower(Box::new(arguments.remove(0)))),
        _ => Err(unknown()),
    }
}

fn unknown(what: &str) -> Error {
    invalid(format!("{what} {}", NEW_VALUE.refusal)).hint(INSTEAD)
}

fn operator(op: &BinaryOperator) -> Result<Operator> {
    Ok(match op {
        BinaryOperator::Plus => Operator::Add,
        BinaryOperator::Minus => Operator::Subtract,
        BinaryOperator::Multiply => Operator::Multiply,
        BinaryOperator::Divide => Operator::Divide,
        BinaryOperator::Modulo => Operator::Remainder,
        BinaryOperator::StringConcat => Operator::Concatenate,
        other => return Err(invalid(format!("the operator {other} cannot be computed"))),
    })
}

/// `wanted`: the type that literals take.
fn evaluate(node: &Node, rows: &RecordBatch, wanted: &DataType) -> Result<ArrayRef> {
    match node {
        Node::Literal(value) => value.array(wanted, rows.num_rows()),
        Node::Column(field) => rows
            .column_by_name(&field.name)
            .cloned()
            .ok_or_else(|| Error::new(ErrorKind::Internal, "a column of the new value was not read")),
        Node::Negated(inner) => negated(&evaluate(inner, rows, wanted)?),
        Node::Chain(first, rest) => evaluate_chain(first, rest, rows, wanted),
        Node::Coalesce(parts) => coalesce(parts, rows, wanted),
        Node::Upper(inner) => Ok(map_text(&node_texts(inner, rows)?, str::to_uppercase)),
        Node::Lower(inner) => Ok(map_text(&node_texts(inner, rows)?, str::to_lowercase)),
    }
}

/// Literals are texts here.
fn node_texts(node: &Node, rows: &RecordBatch) -> Result<StringArray> {
    texts(&evaluate(node, rows, &string())?, Some(node))
}

/// The values have the type of the first part.
fn coalesce(parts: &[Node], rows: &RecordBatch, wanted: &DataType) -> Result<ArrayRef> {
    let wanted = parts.iter().find_map(column_type).unwrap_or(wanted);
    let Some((first, rest)) = parts.split_first() else {
        return Ok(new_null_array(&arrow_type(wanted)?, rows.num_rows()));
    };
    rest.iter().try_fold(evaluate(first, rows, wanted)?, |value, part| {
        let known: BooleanArray = computed(is_not_null(&value))?;
        // a value that is not needed need not fit
        let next = computed(nullif(&evaluate(part, rows, wanted)?, &known))?;
        if is_computed(part) {
            check_whole(&next, value.data_type())?;
        }
        let next: ArrayRef = if *value.data_type() == Arrow::Utf8 {
            Arc::new(texts(&next, Some(part))?)
        } else {
            converted(&next, value.data_type())?
        };
        computed(zip(&known, &value, &next))
    })
}

/// Whether operators make the value.
fn is_computed(node: &Node) -> bool {
    match node {
        Node::Chain(..) => true,
        Node::Negated(inner) => is_computed(inner),
        Node::Coalesce(parts) => parts.iter().any(is_computed),
        Node::Literal(_) | Node::Column(_) | Node::Upper(_) | Node::Lower(_) => false,
    }
}

/// The type of the first column in an expression: literals beside it have it too.
fn column_type(node: &Node) -> Option<&DataType> {
    match node {
        Node::Column(field) => Some(&field.data_type),
        Node::Negated(inner) => column_type(inner),
        Node::Chain(first, rest) => {
            column_type(first).or_else(|| rest.iter().find_map(|(_, operand)| column_type(operand)))
        }
        Node::Coalesce(parts) => parts.iter().find_map(column_type),
        Node::Literal(_) | Node::Upper(_) | Node::Lower(_) => None,
    }
}

/// From left to right. The types that literals take are those of recursion from the right: text beside `||`, else that
/// of the first column so far, else what the operator after it wants.
fn evaluate_chain(first: &Node, rest: &[(Operator, Node)], rows: &RecordBatch, wanted: &DataType) -> Result<ArrayRef> {
    let text = string();
    let mut column = column_type(first);
    let columns: Vec<Option<&DataType>> = rest
        .iter()
        .map(|(_, operand)| {
            column = column.or_else(|| column_type(operand));
            column
        })
        .collect();
    let mut next = wanted;
    let mut types: Vec<&DataType> = Vec::with_capacity(rest.len());
    for ((operator, _), column) in rest.iter().zip(&columns).rev() {
        next = if *operator == Operator::Concatenate { &text } else { column.unwrap_or(next) };
        types.push(next);
    }
    let first_operator = rest.first().map_or(Operator::Concatenate, |(operator, _)| *operator);
    let mut value = operand(first, first_operator, rows, next)?;
    // what operators made is of no column
    let mut left = Some(first);
    for ((operator, node), wanted) in rest.iter().zip(types.into_iter().rev()) {
        crate::cancel::check()?;
        let right = operand(node, *operator, rows, wanted)?;
        value = match operator {
            Operator::Concatenate => concatenate(&texts(&value, left)?, &texts(&right, Some(node))?),
            operator => arithmetic(*operator, value, right)?,
        };
        left = None;
    }
    Ok(value)
}

fn operand(node: &Node, operator: Operator, rows: &RecordBatch, wanted: &DataType) -> Result<ArrayRef> {
    let value = evaluate(node, rows, wanted);
    if operator == Operator::Concatenate || !is_constant(node) {
        return value;
    }
    value.or_else(|_| evaluate(node, rows, &beside(node, wanted)))
}

/// The type of a constant that is no value of the type beside it: a number beside a DECIMAL keeps all of its digits,
/// 1.5 beside an INT makes both sides DOUBLE.
fn beside(node: &Node, wanted: &DataType) -> DataType {
    let decimal = match (node, &wanted.kind) {
        (Node::Literal(literal), TypeKind::Decimal { .. }) => literal.decimal_type(),
        _ => None,
    };
    decimal.unwrap_or_else(|| DataType::new(TypeKind::Double))
}

/// A literal, or a choice among literals. Chains see to their own literals: tried once more at each level, they would
/// take exponential time.
fn is_constant(node: &Node) -> bool {
    match node {
        Node::Literal(_) => true,
        Node::Negated(inner) => is_constant(inner),
        Node::Coalesce(parts) => parts.iter().all(|part| matches!(part, Node::Literal(_))),
        _ => false,
    }
}
