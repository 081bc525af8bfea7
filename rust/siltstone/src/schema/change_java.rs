//! Changes as Java's JSON, which catalogs' servers take (`SchemaChange`).
//!
//! ```text
//! { "action" : "addColumn", "fieldNames" : [ text... ], "dataType" : type, "comment" : text?, "move" : move? }
//! move = { "fieldName" : text, "referenceFieldName" : text?, "type" : "FIRST" | "LAST" | "AFTER" | "BEFORE" }
//! ```

use serde_json::{Value, json};

use super::{ColumnPosition, SchemaChange};

impl SchemaChange {
    /// As Java writes it.
    pub fn to_java(&self) -> Value {
        match self {
            Self::SetOption { key, value } => json!({"action": "setOption", "key": key, "value": value}),
            Self::RemoveOption { key } => json!({"action": "removeOption", "key": key}),
            Self::SetComment { comment } => json!({"action": "updateComment", "comment": comment}),
            Self::AddColumn { path, data_type, comment, position } => {
                let name = path.last().map(String::as_str).unwrap_or_default();
                json!({
                    "action": "addColumn", "fieldNames": path, "dataType": data_type.to_json(), "comment": comment,
                    "move": position.as_ref().map(|position| place(name, position)),
                })
            }
            Self::RenameColumn { path, new_name } => {
                json!({"action": "renameColumn", "fieldNames": path, "newName": new_name})
            }
            Self::DropColumn { path } => json!({"action": "dropColumn", "fieldNames": path}),
            Self::SetType { path, data_type } => json!({
                "action": "updateColumnType", "fieldNames": path, "newDataType": data_type.to_json(),
                "keepNullability": true,
            }),
            Self::SetNullable { path, nullable } => {
                json!({"action": "updateColumnNullability", "fieldNames": path, "newNullability": nullable})
            }
            Self::SetColumnComment { path, comment } => {
                json!({"action": "updateColumnComment", "fieldNames": path, "newComment": comment})
            }
            Self::SetDefault { path, default } => {
                json!({"action": "updateColumnDefaultValue", "fieldNames": path, "newDefaultValue": default})
            }
            Self::MoveColumn { name, position } => {
                json!({"action": "updateColumnPosition", "move": place(name, position)})
            }
        }
    }
}

fn place(name: &str, position: &ColumnPosition) -> Value {
    let (kind, other) = match position {
        ColumnPosition::First => ("FIRST", None),
        ColumnPosition::Last => ("LAST", None),
        ColumnPosition::After(other) => ("AFTER", Some(other)),
        ColumnPosition::Before(other) => ("BEFORE", Some(other)),
    };
    json!({"fieldName": name, "referenceFieldName": other, "type": kind})
}
