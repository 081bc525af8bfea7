//! New values of columns, as SQL expressions over the old row: `'x'`, `amount * 2`, `coalesce(a, b) || '!'`, `NULL`.
//!
//! ```text
//! literals   'text'  12.5  TRUE  NULL  X'0a'  DATE '..'  TIME '..'  TIMESTAMP '..'
//! columns    a, `odd name`, "odd name"
//! operators  + - * / DIV %  ||  unary minus  parentheses
//! choices    CASE WHEN condition THEN x ELSE y END, CASE x WHEN y THEN z END
//! functions  COALESCE(x, ...), UPPER(x), LOWER(x); CAST(x AS T) is left out: values become the column's type anyway
//! ```

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use sqlparser::ast::{
    BinaryOperator, CaseWhen, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, TypedString,
    UnaryOperator,
};

use super::{
    arithmetic::Operator,
    evaluate::new_value,
    invalid,
    literal::Literal,
    node::{Node, Truth},
};
use crate::{
    error::{Error, ErrorKind, Result, shorten},
    predicate::{Grammar, Qualify, parse_qualified, resolve_column},
    types::DataField,
    write::{Formats, convert_column},
};

const INSTEAD: &str = "use literals, columns, + - * / DIV % ||, CASE, COALESCE, UPPER and LOWER, or compute the rows yourself and upsert them";

/// An error about a text that is one word, and so the name of a column: mostly the text itself was meant.
fn plain_word(text: &str, error: Error) -> Error {
    let is_word = !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_');
    let said = error.hint_text().unwrap_or_default().to_owned();
    if !is_word || error.kind() != ErrorKind::InvalidArgument {
        return error;
    }
    error.hint(format!("a text needs quotes of its own: \"'{text}'\", or st.lit('{text}'); {said}"))
}

const NEW_VALUE: Grammar = Grammar {
    what: "new value",
    example: "write a SQL expression; a text needs quotes of its own: {'status': \"'done'\"}",
    refusal: "cannot be computed",
    instead: INSTEAD,
    shorter: "compute the rows yourself and upsert them",
    functions: FUNCTIONS,
    casts: false,
    cases: true,
    keys: false,
};

/// Functions that are computed.
pub(super) const FUNCTIONS: &[&str] = &["coalesce", "upper", "lower"];

/// The new value of one column.
#[derive(Clone, Debug)]
pub struct Assignment {
    field: DataField,
    node: Node,
    text: String,
    /// those of the files that the values come into, sooner or later
    formats: Formats,
}

impl Assignment {
    /// Parses `column = text` over these columns. Errors are `InvalidArgument`, or those of a write for a literal that
    /// the column does not hold, and name the column and the text.
    pub fn parse(fields: &[DataField], column: &str, text: &str) -> Result<Self> {
        Self::over(fields, fields, None, column, text)
    }

    /// Parses `column = text`, where the text is over a row of other columns than those that get values.
    pub(super) fn over(
        fields: &[DataField],
        scope: &[DataField],
        qualify: Option<Qualify<'_>>,
        column: &str,
        text: &str,
    ) -> Result<Self> {
        let field = resolve_column(fields, column, true)?.clone();
        let named = |e: Error| e.with("column", column).with("value", shorten(text));
        let expr = parse_qualified(text, &NEW_VALUE, qualify).map_err(named)?;
        let node = node(&expr, scope).map_err(|e| named(plain_word(text, e)))?;
        if matches!(node, Node::Literal(Literal::Null)) && !field.data_type.nullable {
            return Err(named(Error::new(ErrorKind::NullInKey, "the column is NOT NULL")));
        }
        let assignment = Self { field, node, text: text.to_owned(), formats: Formats::default() };
        // a literal that the column cannot hold is an error before anything is read
        if let Node::Literal(_) = &assignment.node {
            let empty = RecordBatch::new_empty(Arc::new(arrow_schema::Schema::empty()));
            assignment.value(&empty, 0)?;
        }
        Ok(assignment)
    }

    /// The same, whose values can be stored in files of these formats.
    #[must_use]
    pub(crate) fn stored_in(self, formats: &Formats) -> Self {
        Self { formats: formats.clone(), ..self }
    }

    /// Name of the column that gets the value.
    pub fn column(&self) -> &str {
        &self.field.name
    }

    /// Names of the columns whose old values it needs.
    pub(super) fn needs(&self) -> Vec<&str> {
        let mut names = Vec::new();
        self.node.columns(&mut names);
        names
    }

    /// The new values for the rows of a batch, in the column's type. In errors rows are counted from `before` on.
    ///
    /// # Errors
    /// `InvalidArgument` where a value cannot be computed; those of a write for a value that the column does not hold.
    pub fn value(&self, rows: &RecordBatch, before: usize) -> Result<ArrayRef> {
        let named = |e: Error| e.with("column", &self.field.name).with("value", shorten(&self.text));
        let value = new_value(&self.node, rows, &self.field.data_type).map_err(named)?;
        let value = convert_column(&value, &self.field, before);
        let storable = value.and_then(|value| self.formats.check(&self.field, &value).map(|()| value));
        storable.map_err(|e| e.with("value", shorten(&self.text)))
    }
}

pub(super) fn node(expr: &Expr, fields: &[DataField]) -> Result<Node> {
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
        Expr::Case { operand, conditions, else_result, .. } => {
            let branch = |when: &CaseWhen| {
                let truth = match operand {
                    Some(operand) => Truth::equal(operand, &when.condition, fields)?,
                    None => Truth::of(&when.condition, fields)?,
                };
                Ok((truth, node(&when.result, fields)?))
            };
            let branches = conditions.iter().map(branch).collect::<Result<Vec<_>>>()?;
            let otherwise = else_result.as_ref().map(|other| node(other, fields)).transpose()?;
            Node::Case(branches, otherwise.map(Box::new))
        }
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
        BinaryOperator::DuckIntegerDivide => Operator::DivideWhole,
        BinaryOperator::Modulo => Operator::Remainder,
        BinaryOperator::StringConcat => Operator::Concatenate,
        other => return Err(invalid(format!("the operator {other} cannot be computed"))),
    })
}
