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

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{Error as _, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Value};

use super::{
    CompareOp, Predicate,
    columns::resolve,
    literal::Literal,
    operand::Operand,
    parse::{hex, parse_predicate},
};
use crate::{
    cancel::{self, Work},
    error::{Error, ErrorKind, Result},
    types::DataField,
};

/// How deep expressions may nest.
const MAX_DEPTH: usize = 200;

impl Predicate {
    /// From the JSON that `st.col(...)` expressions make (form above); literals get the columns' types.
    ///
    /// # Errors
    /// `InvalidArgument` for JSON that is no expression over these columns, `Cancelled`.
    pub fn from_json(text: &str, fields: &[DataField]) -> Result<Self> {
        read(Node::of(text)?, fields, false, 0)
    }
}

/// An expression as it is written.
#[derive(Default)]
struct Node {
    args: Option<Vec<Self>>,
    /// Or why one of them is none.
    values: Option<Result<Vec<Literal>>>,
    /// All others.
    members: Map<String, Value>,
}

impl Node {
    fn of(text: &str) -> Result<Self> {
        serde_json::from_str(text).map_err(|e| match cancel::check() {
            Err(stopped) => stopped,
            Ok(()) => invalid("a predicate is not JSON of an expression").caused_by(e),
        })
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Node;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an expression")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> std::result::Result<Node, A::Error> {
                let mut node = Node::default();
                while let Some(key) = from.next_key::<String>()? {
                    match key.as_str() {
                        "args" => node.args = Some(from.next_value()?),
                        "values" => node.values = Some(from.next_value::<Values>()?.0),
                        _ => drop(node.members.insert(key, from.next_value()?)),
                    }
                }
                Ok(node)
            }
        }
        from.deserialize_map(Members)
    }
}

/// A list of values, of which there may be millions, or why one of them is none.
struct Values(Result<Vec<Literal>>);

impl<'de> Deserialize<'de> for Values {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        struct Elements;
        impl<'de> Visitor<'de> for Elements {
            type Value = Values;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of values")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> std::result::Result<Values, A::Error> {
                let mut found = Ok(Vec::new());
                let mut work = Work::default();
                while let Some(element) = from.next_element::<Value>()? {
                    work.done(1).map_err(A::Error::custom)?;
                    found = found.and_then(|mut values| {
                        values.push(value(&element)?);
                        Ok(values)
                    });
                }
                Ok(Values(found))
            }
        }
        from.deserialize_seq(Elements)
    }
}

fn invalid(sentence: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidArgument, sentence)
}

fn read(mut json: Node, fields: &[DataField], negate: bool, depth: usize) -> Result<Predicate> {
    if depth > MAX_DEPTH {
        return Err(invalid("the expression is nested too deeply").hint("use is_in(...) for many values"));
    }
    let op = text(&json, "op")?.to_owned();
    if let Some(op) = compare_op(&op) {
        let op = if negate { op.negated() } else { op };
        return operand(&json, fields)?.compare(op, &value(member(&json, "value")?)?);
    }
    match op.as_str() {
        "in" | "not_in" => {
            let values = json.values.take().ok_or_else(|| lacks("values"))??;
            operand(&json, fields)?.is_in(&values, (op == "not_in") != negate)
        }
        "between" | "not_between" => between(&json, fields, (op == "not_between") != negate),
        "like" | "not_like" => {
            let escape = json.members.get("escape").and_then(Value::as_str).and_then(|t| t.chars().next());
            let pattern = value(member(&json, "value")?)?;
            operand(&json, fields)?.like(&pattern, escape, (op == "not_like") != negate)
        }
        "is_null" | "is_not_null" => Ok(operand(&json, fields)?.null_test((op == "is_null") != negate)),
        "and" | "or" => {
            let args = json.args.take().ok_or_else(|| lacks("args"))?.into_iter();
            let parts: Vec<Predicate> = args.map(|a| read(a, fields, negate, depth + 1)).collect::<Result<_>>()?;
            let all = (op == "and") != negate;
            Ok(if all { Predicate::all(parts) } else { Predicate::any(parts) })
        }
        "not" => match <[Node; 1]>::try_from(json.args.take().ok_or_else(|| lacks("args"))?) {
            Ok([arg]) => read(arg, fields, !negate, depth + 1),
            Err(_) => Err(invalid("'not' of an expression takes one argument")),
        },
        "sql" => {
            let parsed = parse_predicate(text(&json, "text")?, fields)?;
            if negate { parse_predicate(&format!("NOT ({})", text(&json, "text")?), fields) } else { Ok(parsed) }
        }
        "true" | "false" => Ok(Predicate::Constant((op == "true") != negate)),
        other => Err(invalid(format!("'{other}' is not an operation of an expression"))),
    }
}

fn between(json: &Node, fields: &[DataField], negated: bool) -> Result<Predicate> {
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

fn lacks(key: &str) -> Error {
    invalid(format!("an expression lacks its '{key}'"))
}

fn member<'a>(json: &'a Node, key: &str) -> Result<&'a Value> {
    json.members.get(key).ok_or_else(|| lacks(key))
}

fn text<'a>(json: &'a Node, key: &str) -> Result<&'a str> {
    text_in(&json.members, key)
}

fn text_in<'a>(members: &'a Map<String, Value>, key: &str) -> Result<&'a str> {
    let found = members.get(key).ok_or_else(|| lacks(key))?;
    found.as_str().ok_or_else(|| invalid(format!("'{key}' of an expression is not text")))
}

fn operand<'a>(json: &Node, fields: &'a [DataField]) -> Result<Operand<'a>> {
    let column = resolve(fields, text(json, "column")?, true)?;
    match json.members.get("key") {
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
        Value::Object(members) => typed(text_in(members, "type")?, text_in(members, "value")?)?,
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
