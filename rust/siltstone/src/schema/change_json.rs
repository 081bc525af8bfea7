//! Changes as JSON: `[{"kind": "set_option", "key": ..., "value": ...}, ...]`, the form in which bindings hand them over.

use serde_json::{Map, Value};

use super::{ColumnPosition, SchemaChange};
use crate::error::{Error, ErrorKind, Result};
use crate::types::DataType;

impl SchemaChange {
    /// A list of changes from JSON text.
    pub fn list_from_json(text: &str) -> Result<Vec<Self>> {
        let value: Value = serde_json::from_str(text).map_err(|e| wrong("changes are not JSON").caused_by(e))?;
        let list = value.as_array().ok_or_else(|| wrong("changes are not a list"))?;
        list.iter().map(Self::from_json).collect()
    }

    /// One change from JSON.
    pub fn from_json(value: &Value) -> Result<Self> {
        let object = value.as_object().ok_or_else(|| wrong("a change is not an object"))?;
        let text = |key: &str| needed(object, key);
        Ok(match text("kind")?.as_str() {
            "set_option" => Self::SetOption { key: text("key")?, value: text("value")? },
            "remove_option" => Self::RemoveOption { key: text("key")? },
            "comment" => Self::SetComment { comment: optional(object, "comment") },
            "add_column" => Self::AddColumn {
                path: path(object)?,
                data_type: data_type(object)?,
                comment: optional(object, "comment"),
                position: position(object),
            },
            "rename_column" => Self::RenameColumn { path: path(object)?, new_name: text("new_name")? },
            "drop_column" => Self::DropColumn { path: path(object)? },
            "set_type" => Self::SetType { path: path(object)?, data_type: data_type(object)? },
            "set_nullable" => Self::SetNullable {
                path: path(object)?,
                nullable: object
                    .get("nullable")
                    .and_then(Value::as_bool)
                    .ok_or_else(|| wrong("'nullable' is missing"))?,
            },
            "set_comment" => Self::SetColumnComment { path: path(object)?, comment: optional(object, "comment") },
            "set_default" => Self::SetDefault { path: path(object)?, default: optional(object, "default") },
            "move_column" => Self::MoveColumn {
                name: text("column")?,
                position: position(object).ok_or_else(|| wrong("where to move the column is missing"))?,
            },
            other => return Err(wrong(format!("'{other}' is not a schema change"))),
        })
    }
}

fn wrong(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidArgument, message)
}

fn optional(object: &Map<String, Value>, key: &str) -> Option<String> {
    object.get(key).and_then(Value::as_str).map(str::to_owned)
}

fn needed(object: &Map<String, Value>, key: &str) -> Result<String> {
    optional(object, key).ok_or_else(|| wrong(format!("'{key}' is missing")))
}

/// `"column": "a"` or `"column": ["r", "x"]`
fn path(object: &Map<String, Value>) -> Result<Vec<String>> {
    let names = match object.get("column") {
        Some(Value::String(name)) => vec![name.clone()],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    if names.is_empty() { Err(wrong("'column' is missing")) } else { Ok(names) }
}

fn data_type(object: &Map<String, Value>) -> Result<DataType> {
    DataType::from_json(object.get("type").ok_or_else(|| wrong("'type' is missing"))?)
}

/// `"first": true`, `"last": true`, `"after": name`, `"before": name`
fn position(object: &Map<String, Value>) -> Option<ColumnPosition> {
    let is_set = |key: &str| object.get(key).and_then(Value::as_bool).unwrap_or(false);
    if is_set("first") {
        return Some(ColumnPosition::First);
    }
    if is_set("last") {
        return Some(ColumnPosition::Last);
    }
    let after = optional(object, "after").map(ColumnPosition::After);
    after.or_else(|| optional(object, "before").map(ColumnPosition::Before))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_change_is_read() {
        let text = r#"[{"kind": "set_option", "key": "a", "value": "b"}, {"kind": "remove_option", "key": "a"},
            {"kind": "comment", "comment": null}, {"kind": "add_column", "column": ["r", "x"], "type": "INT", "after": "y"},
            {"kind": "rename_column", "column": "a", "new_name": "b"}, {"kind": "drop_column", "column": "a"},
            {"kind": "set_type", "column": "a", "type": "BIGINT"}, {"kind": "set_nullable", "column": "a", "nullable": true},
            {"kind": "set_comment", "column": "a", "comment": "c"}, {"kind": "set_default", "column": "a", "default": null},
            {"kind": "move_column", "column": "a", "first": true}]"#;
        let changes = SchemaChange::list_from_json(text).unwrap();
        assert_eq!(changes.len(), 11);
        assert_eq!(changes[10], SchemaChange::MoveColumn { name: "a".into(), position: ColumnPosition::First });
    }

    #[test]
    fn other_texts_are_wrong_arguments() {
        for text in ["", "{}", "[{}]", r#"[{"kind": "explode"}]"#, r#"[{"kind": "drop_column"}]"#] {
            assert_eq!(SchemaChange::list_from_json(text).unwrap_err().kind(), ErrorKind::InvalidArgument, "{text}");
        }
    }
}
