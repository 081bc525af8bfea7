//! Predicates that were built in Python, as JSON.
//!
//! ```text
//! {"op": "eq" | "ne" | "lt" | "le" | "gt" | "ge", "column": "a", "value": V}
//! {"op": "in" | "not_in", "column": "a", "values": [V, ...]}
//! {"op": "between" | "not_between", "column": "a", "low": V, "high": V}
//! {"op": "like" | "not_like", "column": "a", "value": "x%", "escape": "!" (optional)}
//! {"op": "is_null" | "is_not_null", "column": "a"}
//! "column": "m" with "key": V beside it is the value that a map has for a key
//! {"op": "and" | "or", "args": [P, ...]}      {"op": "not", "args": [P]}
//! {"op": "sql", "text": "a > 1"}              {"op": "true" | "false"}
//! V: null, true, 1, 1.5, "text", or {"type": T, "value": "..."} with T one of
//!    date, time, timestamp, decimal, double, float, int (as text: "1.5", "nan"), bytes (hexadecimal), string
//! ```

use serde_json::Value;

use super::{
    CompareOp, Predicate,
    columns::resolve,
    literal::Literal,
    operand::Operand,
    parse::{hex, parse_predicate},
};
use crate::{
    error::{Error, ErrorKind, Result},
    types::DataField,
};

/// How deep expressions may nest.
const MAX_DEPTH: usize = 200;

impl Predicate {
    /// From the JSON that `st.col(...)` expressions make (form above); literals get the columns' types.
    pub fn from_json(json: &Value, fields: &[DataField]) -> Result<Self> {
        read(json, fields, false, 0)
    }
}

fn invalid(sentence: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidArgument, sentence)
}

fn read(json: &Value, fields: &[DataField], negate: bool, depth: usize) -> Result<Predicate> {
    if depth > MAX_DEPTH {
        return Err(invalid("the expression is nested too deeply").hint("use is_in(...) for many values"));
    }
    let op = text(json, "op")?;
    if let Some(op) = compare_op(op) {
        let op = if negate { op.negated() } else { op };
        return operand(json, fields)?.compare(op, &value(member(json, "value")?)?);
    }
    match op {
        "in" | "not_in" => {
            let values: Vec<Literal> = array(json, "values")?.iter().map(value).collect::<Result<_>>()?;
            operand(json, fields)?.is_in(&values, (op == "not_in") != negate)
        }
        "between" | "not_between" => between(json, fields, (op == "not_between") != negate),
        "like" | "not_like" => {
            let escape = json.get("escape").and_then(Value::as_str).and_then(|t| t.chars().next());
            let pattern = value(member(json, "value")?)?;
            operand(json, fields)?.like(&pattern, escape, (op == "not_like") != negate)
        }
        "is_null" | "is_not_null" => Ok(operand(json, fields)?.null_test((op == "is_null") != negate)),
        "and" | "or" => {
            let args = array(json, "args")?.iter();
            let parts: Vec<Predicate> = args.map(|a| read(a, fields, negate, depth + 1)).collect::<Result<_>>()?;
            let all = (op == "and") != negate;
            Ok(if all { Predicate::all(parts) } else { Predicate::any(parts) })
        }
        "not" => match array(json, "args")? {
            [arg] => read(arg, fields, !negate, depth + 1),
            _ => Err(invalid("'not' of an expression takes one argument")),
        },
        "sql" => {
            let parsed = parse_predicate(text(json, "text")?, fields)?;
            if negate { parse_predicate(&format!("NOT ({})", text(json, "text")?), fields) } else { Ok(parsed) }
        }
        "true" | "false" => Ok(Predicate::Constant((op == "true") != negate)),
        other => Err(invalid(format!("'{other}' is not an operation of an expression"))),
    }
}

fn between(json: &Value, fields: &[DataField], negated: bool) -> Result<Predicate> {
    let operand = operand(json, fields)?;
    let (low, high) = (value(member(json, "low")?)?, value(member(json, "high")?)?);
    if negated {
        let below = operand.compare(CompareOp::Lt, &low)?;
        return Ok(Predicate::any([below, operand.compare(CompareOp::Gt, &high)?]));
    }
    let from = operand.compare(CompareOp::GtEq, &low)?;
    Ok(Predicate::all([from, operand.compare(CompareOp::LtEq, &high)?]))
}

fn compare_op(op: &str) -> Option<CompareOp> {
    Some(match op {
        "eq" => CompareOp::Eq,
        "ne" => CompareOp::NotEq,
        "lt" => CompareOp::Lt,
        "le" => CompareOp::LtEq,
        "gt" => CompareOp::Gt,
        "ge" => CompareOp::GtEq,
        _ => return None,
    })
}

fn member<'a>(json: &'a Value, key: &str) -> Result<&'a Value> {
    json.get(key).ok_or_else(|| invalid(format!("an expression lacks its '{key}'")))
}

fn text<'a>(json: &'a Value, key: &str) -> Result<&'a str> {
    member(json, key)?.as_str().ok_or_else(|| invalid(format!("'{key}' of an expression is not text")))
}

fn array<'a>(json: &'a Value, key: &str) -> Result<&'a [Value]> {
    let found = member(json, key)?.as_array();
    found.map(Vec::as_slice).ok_or_else(|| invalid(format!("'{key}' of an expression is not a list")))
}

fn operand<'a>(json: &Value, fields: &'a [DataField]) -> Result<Operand<'a>> {
    let column = resolve(fields, text(json, "column")?, true)?;
    match json.get("key") {
        None => Ok(Operand::column(column)),
        Some(key) => Operand::of_key(column, &value(key)?, &format!("{}[{key}]", column.name)),
    }
}

fn value(json: &Value) -> Result<Literal> {
    Ok(match json {
        Value::Null => Literal::Null,
        Value::Bool(b) => Literal::Boolean(*b),
        Value::Number(n) => Literal::Number(n.to_string()),
        Value::String(s) => Literal::Text(s.clone()),
        Value::Object(_) => typed(text(json, "type")?, text(json, "value")?)?,
        Value::Array(_) => return Err(invalid("a list stands where one value is expected").hint("use is_in(...)")),
    })
}

fn typed(kind: &str, text: &str) -> Result<Literal> {
    Ok(match kind {
        "date" => Literal::Date(text.to_owned()),
        "time" => Literal::Time(text.to_owned()),
        "timestamp" => Literal::Timestamp(text.to_owned()),
        "decimal" | "double" | "float" | "int" => Literal::Number(text.to_owned()),
        "bytes" => Literal::Bytes(hex(text)?),
        "string" => Literal::Text(text.to_owned()),
        other => return Err(invalid(format!("'{other}' is not a type of a value in an expression"))),
    })
}
