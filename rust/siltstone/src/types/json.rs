//! The JSON of types and fields (format chapter 2.3): a string for atomic types, an object for nested ones.

use serde_json::{Map, Value, json};

use super::parse::MAX_DEPTH;
use super::{DataField, DataType, TypeKind, parse_type};
use crate::error::{Error, ErrorKind, Result};

impl DataType {
    /// From JSON. Nested fields without ids are numbered 0, 1, 2... depth first, a field before its children.
    pub fn from_json(value: &Value) -> Result<Self> {
        type_from(value, &mut Ids::default(), 0)
    }

    /// To JSON, as Java writes it.
    pub fn to_json(&self) -> Value {
        let name = |name: &str| Value::from(format!("{name}{}", if self.nullable { "" } else { " NOT NULL" }));
        match &self.kind {
            TypeKind::Array(e) => json!({"type": name("ARRAY"), "element": e.to_json()}),
            TypeKind::Multiset(e) => json!({"type": name("MULTISET"), "element": e.to_json()}),
            TypeKind::Map(k, v) => json!({"type": name("MAP"), "key": k.to_json(), "value": v.to_json()}),
            TypeKind::Vector(e, n) => json!({"type": name("VECTOR"), "element": e.to_json(), "length": n}),
            TypeKind::Row(fields) => {
                let fields: Vec<Value> = fields.iter().map(DataField::to_json).collect();
                json!({"type": name("ROW"), "fields": fields})
            }
            _ => Value::from(self.to_string()),
        }
    }
}

impl DataField {
    /// From JSON; without an id it is 0, see [`fields_from_json`] for whole lists.
    pub fn from_json(value: &Value) -> Result<Self> {
        field_from(value, &mut Ids::default(), 0)
    }

    /// To JSON, as Java writes it: `description` and `defaultValue` only when set.
    pub fn to_json(&self) -> Value {
        let mut object = Map::new();
        object.insert("id".into(), self.id.into());
        object.insert("name".into(), self.name.as_str().into());
        object.insert("type".into(), self.data_type.to_json());
        if let Some(description) = &self.description {
            object.insert("description".into(), description.as_str().into());
        }
        if let Some(default) = &self.default_value {
            object.insert("defaultValue".into(), default.as_str().into());
        }
        Value::Object(object)
    }
}

/// A list of fields. Either every field has an id, nested ones included, or none has one; then they are numbered.
pub fn fields_from_json(value: &Value) -> Result<Vec<DataField>> {
    fields_from(value, &mut Ids::default(), 0)
}

/// Numbering of fields that come without ids.
#[derive(Default)]
struct Ids {
    given: bool,
    next: i32,
}

impl Ids {
    fn of(&mut self, object: &Map<String, Value>) -> Result<i32> {
        let mixed = || wrong("some fields have an id and some have none");
        match object.get("id") {
            Some(_) if self.next > 0 => Err(mixed()),
            Some(id) => {
                self.given = true;
                let id = id.as_i64().and_then(|id| i32::try_from(id).ok()).filter(|id| *id >= 0);
                id.ok_or_else(|| wrong("'id' is not a field id"))
            }
            None if self.given => Err(mixed()),
            None => {
                self.next += 1;
                Ok(self.next - 1)
            }
        }
    }
}

fn wrong(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::IllegalSchema, what)
}

fn fields_from(value: &Value, ids: &mut Ids, depth: usize) -> Result<Vec<DataField>> {
    let fields = value.as_array().ok_or_else(|| wrong("'fields' is not a list"))?;
    fields.iter().map(|field| field_from(field, ids, depth)).collect()
}

fn field_from(value: &Value, ids: &mut Ids, depth: usize) -> Result<DataField> {
    let object = value.as_object().ok_or_else(|| wrong("a field is not a JSON object"))?;
    let id = ids.of(object)?;
    let name = text(object, "name")?.ok_or_else(|| wrong("a field has no 'name'"))?;
    let named = |e: Error| e.with("column", &name);
    let data_type = object.get("type").ok_or_else(|| wrong("a field has no 'type'")).map_err(named)?;
    Ok(DataField {
        id,
        data_type: type_from(data_type, ids, depth + 1).map_err(named)?,
        description: text(object, "description").map_err(named)?,
        default_value: text(object, "defaultValue").map_err(named)?,
        name,
    })
}

/// A string member; `None` when absent or null.
fn text(object: &Map<String, Value>, key: &str) -> Result<Option<String>> {
    match object.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(Value::Number(number)) => Ok(Some(number.to_string())),
        Some(Value::Bool(flag)) => Ok(Some(flag.to_string())),
        Some(_) => Err(wrong(format!("'{key}' is not a text"))),
    }
}

fn type_from(value: &Value, ids: &mut Ids, depth: usize) -> Result<DataType> {
    if depth > MAX_DEPTH {
        return Err(Error::new(ErrorKind::UnsupportedType, "the type is nested too deeply"));
    }
    match value {
        Value::String(text) => parse_type(text),
        Value::Object(object) => nested_from(object, ids, depth),
        _ => Err(wrong("a type is neither a text nor an object")),
    }
}

fn nested_from(object: &Map<String, Value>, ids: &mut Ids, depth: usize) -> Result<DataType> {
    let name = text(object, "type")?.ok_or_else(|| wrong("a nested type has no 'type'"))?.to_ascii_uppercase();
    let mut inner = |key: &str| {
        let value = object.get(key).ok_or_else(|| wrong(format!("the type {name} has no '{key}'")))?;
        type_from(value, ids, depth + 1).map(Box::new)
    };
    let base = name.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
    let nullable = own_nullability(object, &name)?;
    let kind = match base {
        "ARRAY" => TypeKind::Array(inner("element")?),
        "MULTISET" => TypeKind::Multiset(inner("element")?),
        "MAP" => TypeKind::Map(inner("key")?, inner("value")?),
        "VECTOR" => {
            let length = object.get("length").and_then(Value::as_u64).and_then(|n| u32::try_from(n).ok());
            TypeKind::Vector(inner("element")?, length.ok_or_else(|| wrong("the type VECTOR has no 'length'"))?)
        }
        "ROW" => {
            let fields = object.get("fields").ok_or_else(|| wrong("the type ROW has no 'fields'"))?;
            TypeKind::Row(fields_from(fields, ids, depth)?)
        }
        _ if !object.contains_key("element") && parse_type(&name).is_ok() => parse_type(&name)?.kind,
        _ => {
            let message = format!("'{name}' is not a nested Paimon type");
            return Err(Error::new(ErrorKind::UnsupportedType, message).hint("use ARRAY, MULTISET, MAP or ROW"));
        }
    };
    Ok(DataType { kind, nullable })
}

/// Whether a type that is an object may be null. Java says it in the text, as `ARRAY NOT NULL`; pypaimon says it in
/// `nullable`, and in the text there may be a `NOT NULL` of the elements: `ARRAY<INT NOT NULL>`.
fn own_nullability(object: &Map<String, Value>, name: &str) -> Result<bool> {
    let own = name.rsplit_once('>').map_or(name, |(_, behind)| behind);
    match object.get("nullable") {
        _ if own.contains("NOT NULL") => Ok(false),
        None | Some(Value::Null) => Ok(!name.contains("NOT NULL")),
        Some(Value::Bool(nullable)) => Ok(*nullable),
        Some(_) => Err(wrong("'nullable' is neither true nor false")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_types_survive_a_round_trip() {
        let value = json!({"type": "MAP NOT NULL", "key": "STRING NOT NULL", "value": {"type": "ARRAY", "element":
            {"type": "ROW", "fields": [{"id": 4, "name": "x", "type": "INT", "description": "d", "defaultValue": "7"}]}}});
        assert_eq!(DataType::from_json(&value).unwrap().to_json(), value);
    }

    #[test]
    fn nullable_beside_the_text_says_what_the_text_does_not() {
        let nullable = |value: Value| DataType::from_json(&value).unwrap().nullable;
        assert!(nullable(json!({"type": "ARRAY<INT NOT NULL>", "element": "INT NOT NULL", "nullable": true})));
        assert!(nullable(json!({"type": "ARRAY", "element": "INT", "nullable": true})));
        assert!(nullable(json!({"type": "STRING", "nullable": true})));
        assert!(nullable(json!({"type": "DECIMAL(10, 2)"})));
        assert!(!nullable(json!({"type": "STRING", "nullable": false})));
        assert!(!nullable(json!({"type": "ARRAY<INT>", "element": "INT", "nullable": false})));
        // as Java reads it
        assert!(!nullable(json!({"type": "ARRAY NOT NULL", "element": "INT", "nullable": true})));
        assert!(!nullable(json!({"type": "ARRAY<INT NOT NULL>", "element": "INT NOT NULL"})));
        let text = DataType::from_json(&json!({"type": "VARCHAR(7)", "nullable": true})).unwrap();
        assert_eq!(text.to_json(), json!("VARCHAR(7)"));
        assert!(DataType::from_json(&json!({"type": "STRING", "nullable": "yes"})).is_err());
    }

    #[test]
    fn fields_without_ids_are_numbered_before_their_children() {
        let row = json!([{"name": "a", "type": {"type": "ROW", "fields": [{"name": "x", "type": "INT"}]}}, {"name": "b", "type": "INT"}]);
        let fields = fields_from_json(&row).unwrap();
        let TypeKind::Row(nested) = &fields[0].data_type.kind else { panic!() };
        assert_eq!((fields[0].id, nested[0].id, fields[1].id), (0, 1, 2));
    }

    #[test]
    fn fields_with_and_without_ids_do_not_mix() {
        for list in [
            json!([{"id": 3, "name": "a", "type": "INT"}, {"name": "b", "type": "INT"}]),
            json!([{"name": "a", "type": "INT"}, {"id": 3, "name": "b", "type": "INT"}]),
        ] {
            assert_eq!(fields_from_json(&list).unwrap_err().kind(), ErrorKind::IllegalSchema);
        }
    }

    #[test]
    fn broken_json_is_an_error_that_names_the_column() {
        for bad in [
            json!({"id": 0, "name": "a", "type": {"type": "ARRAY"}}),
            json!({"id": 0, "name": "a", "type": 7}),
            json!({"id": 0, "name": "a"}),
            json!({"id": 0, "name": "a", "type": {"type": "TUPLE"}}),
        ] {
            assert_eq!(DataField::from_json(&bad).unwrap_err().context_value("column"), Some("a"), "{bad}");
        }
        for bad in [
            json!({"id": 1.5, "name": "a", "type": "INT"}),
            json!({"id": -1, "name": "a", "type": "INT"}),
            json!({"id": 0, "type": "INT"}),
            json!([]),
        ] {
            assert!(DataField::from_json(&bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn deep_json_is_refused() {
        let mut value = json!("INT");
        for _ in 0..100 {
            value = json!({"type": "ARRAY", "element": value});
        }
        assert!(DataType::from_json(&value).is_err());
    }
}
