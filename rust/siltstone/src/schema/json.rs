//! `schema-<n>` as JSON (format chapters 2.1 and 2.2; `SchemaSerializer`).
//!
//! ```text
//! { "version" : 3, "id" : n, "fields" : [ field... ], "highestFieldId" : i, "partitionKeys" : [ text... ],
//!   "primaryKeys" : [ text... ], "options" : { text : text... }, "comment" : text?, "timeMillis" : ms }
//! ```

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{TableSchema, pending};
use crate::codec::to_java_json;
use crate::error::{Error, ErrorKind, Result};
use crate::fs::json_value;
use crate::limits::LAST_ID;
use crate::types::{DataField, TypeKind, fields_from_json, special};

/// The version that is written.
const VERSION: i64 = 3;

impl TableSchema {
    /// From the content of a schema file. Rules of older versions are applied: missing `bucket` and `file.format`
    /// get the defaults of their time.
    pub fn from_json(file: &str, bytes: &[u8]) -> Result<Self> {
        let value = json_value(file, bytes, |e| {
            let (line, column) = (e.line(), e.column());
            Error::new(ErrorKind::CorruptFile, format!("the schema is not JSON (line {line}, column {column})"))
                .with("file", file)
                .caused_by(e)
        })?;
        from_value(&value).map_err(|e| match e.kind() {
            ErrorKind::UnsupportedVersion => e.with("file", file),
            _ => corrupt(file, &e),
        })
    }

    /// The content of a schema file, spaced and ordered as Java does.
    pub fn to_json(&self) -> Result<String> {
        let texts = |list: &[String]| Value::from(list.to_vec());
        let mut object = Map::new();
        object.insert("version".into(), VERSION.into());
        object.insert("id".into(), self.id.into());
        object.insert("fields".into(), self.fields.iter().map(DataField::to_json).collect());
        object.insert("highestFieldId".into(), self.highest_field_id.into());
        object.insert("partitionKeys".into(), texts(&self.partition_keys));
        object.insert("primaryKeys".into(), texts(&self.primary_keys));
        let options: Map<String, Value> =
            self.options.iter().map(|(key, value)| (key.clone(), value.as_str().into())).collect();
        object.insert("options".into(), options.into());
        if let Some(comment) = &self.comment {
            object.insert("comment".into(), comment.as_str().into());
        }
        object.insert("timeMillis".into(), self.time_millis.into());
        if let Some(pending) = self.pending {
            object.insert(pending::MEMBER.into(), pending.into());
        }
        to_java_json(&object)
    }
}

fn corrupt(file: &str, e: &Error) -> Error {
    let message = format!("the schema breaks the format: {}", e.message());
    let mut error = Error::new(ErrorKind::CorruptFile, message).with("file", file);
    if let Some(column) = e.context_value("column") {
        error = error.with("column", column);
    }
    error
}

fn wrong(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::CorruptFile, what)
}

fn from_value(value: &Value) -> Result<TableSchema> {
    let object = value.as_object().ok_or_else(|| wrong("it is not a JSON object"))?;
    let version = number(object, "version")?.unwrap_or(1);
    if !(1..=VERSION).contains(&version) {
        let message = format!("version {version} of the schema format is not known");
        return Err(
            Error::new(ErrorKind::UnsupportedVersion, message).hint("a newer Paimon wrote it; update siltstone")
        );
    }
    let fields = fields_from_json(member(object, "fields")?)?;
    let highest = needed(object, "highestFieldId")?;
    let schema = TableSchema {
        id: needed(object, "id")?,
        highest_field_id: i32::try_from(highest).map_err(|_| wrong("'highestFieldId' is too large"))?,
        partition_keys: texts(object, "partitionKeys")?,
        primary_keys: texts(object, "primaryKeys")?,
        options: options(object, version)?,
        comment: object.get("comment").and_then(Value::as_str).map(str::to_owned),
        time_millis: number(object, "timeMillis")?.unwrap_or(0),
        pending: object.get(pending::MEMBER).and_then(Value::as_bool),
        fields,
    };
    check(&schema)?;
    Ok(schema)
}

/// What every reader relies on: keys are columns, names and ids are unique.
fn check(schema: &TableSchema) -> Result<()> {
    if !(0..=LAST_ID).contains(&schema.id) {
        return Err(wrong("'id' is out of range"));
    }
    for key in schema.partition_keys.iter().chain(&schema.primary_keys) {
        if schema.field(key).is_none() {
            return Err(wrong(format!("the key column '{key}' does not exist")));
        }
    }
    let mut ids = Vec::new();
    collect_ids(&schema.fields, &mut ids);
    ids.sort_unstable();
    if let Some([id, _]) = ids.windows(2).find(|pair| matches!(pair, [a, b] if a == b)) {
        return Err(wrong(format!("the field id {id} occurs twice")));
    }
    if let Some(id) = ids.last().filter(|id| special::is_system_id(**id)) {
        return Err(wrong(format!("the field id {id} is one of those that Paimon gives to columns of its own")));
    }
    if let Some(field) = schema.fields.iter().find(|field| has_own_name(schema, &field.name)) {
        let text = format!("the column '{}' has a name that Paimon gives to columns of its own", field.name);
        return Err(wrong(text).with("column", &field.name));
    }
    let mut names: Vec<&str> = schema.fields.iter().map(|f| f.name.as_str()).collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| matches!(pair, [a, b] if a == b)) {
        Some([name, _]) => Err(wrong(format!("the column '{name}' occurs twice"))),
        _ => Ok(()),
    }
}

/// Whether files and rows of the table have a column of this name that nobody gave it: its values would take the place of the
/// user's. No version of Java has made such a table, with a key or without; it has refused `_ROW_ID` only since rows have ids.
fn has_own_name(schema: &TableSchema, name: &str) -> bool {
    let has_row_ids =
        || schema.options.get("row-tracking.enabled").is_some_and(|value| value.trim().eq_ignore_ascii_case("true"));
    match name {
        special::SEQUENCE_NUMBER | special::VALUE_KIND => true,
        special::ROW_ID => has_row_ids(),
        other => other.starts_with(special::KEY_PREFIX),
    }
}

/// Ids of fields and nested fields. Atomic types of a row parsed from SQL text carry no ids of the schema.
fn collect_ids(fields: &[DataField], ids: &mut Vec<i32>) {
    for field in fields {
        ids.push(field.id);
        collect_type_ids(&field.data_type.kind, ids);
    }
}

fn collect_type_ids(kind: &TypeKind, ids: &mut Vec<i32>) {
    match kind {
        TypeKind::Row(fields) => collect_ids(fields, ids),
        TypeKind::Array(inner) | TypeKind::Multiset(inner) => collect_type_ids(&inner.kind, ids),
        TypeKind::Map(key, value) => {
            collect_type_ids(&key.kind, ids);
            collect_type_ids(&value.kind, ids);
        }
        _ => {}
    }
}

fn member<'a>(object: &'a Map<String, Value>, key: &str) -> Result<&'a Value> {
    object.get(key).ok_or_else(|| wrong(format!("'{key}' is missing")))
}

fn number(object: &Map<String, Value>, key: &str) -> Result<Option<i64>> {
    match object.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => value.as_i64().map(Some).ok_or_else(|| wrong(format!("'{key}' is not a whole number"))),
    }
}

fn needed(object: &Map<String, Value>, key: &str) -> Result<i64> {
    number(object, key)?.ok_or_else(|| wrong(format!("'{key}' is missing")))
}

fn texts(object: &Map<String, Value>, key: &str) -> Result<Vec<String>> {
    let not_texts = || wrong(format!("'{key}' is not a list of texts"));
    let list = member(object, key)?.as_array().ok_or_else(not_texts)?;
    list.iter().map(|text| text.as_str().map(str::to_owned).ok_or_else(not_texts)).collect()
}

fn options(object: &Map<String, Value>, version: i64) -> Result<BTreeMap<String, String>> {
    let members = member(object, "options")?.as_object().ok_or_else(|| wrong("'options' is not an object"))?;
    let mut options = BTreeMap::new();
    for (key, value) in members {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Number(_) | Value::Bool(_) => value.to_string(),
            _ => return Err(wrong(format!("the option '{key}' is not a text"))),
        };
        options.insert(key.clone(), text);
    }
    if version <= 1 {
        options.entry("bucket".to_owned()).or_insert_with(|| "1".to_owned());
    }
    if version <= 2 {
        options.entry("file.format".to_owned()).or_insert_with(|| "orc".to_owned());
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn example() -> Value {
        json!({"version": 3, "id": 2, "fields": [{"id": 0, "name": "k", "type": "INT NOT NULL"}, {"id": 3, "name": "r",
            "type": {"type": "ROW", "fields": [{"id": 4, "name": "x", "type": "INT"}]}}], "highestFieldId": 4,
            "partitionKeys": [], "primaryKeys": ["k"], "options": {"bucket": "2"}, "timeMillis": 7})
    }

    fn parse(value: &Value) -> Result<TableSchema> {
        TableSchema::from_json("schema-2", value.to_string().as_bytes())
    }

    #[test]
    fn versions_before_3_get_the_defaults_of_their_time() {
        let mut old = example();
        old.as_object_mut().unwrap().remove("version");
        old["options"] = json!({});
        assert_eq!(
            parse(&old).unwrap().options,
            BTreeMap::from([("bucket".into(), "1".into()), ("file.format".into(), "orc".into())])
        );
        old["version"] = json!(2);
        assert_eq!(parse(&old).unwrap().options, BTreeMap::from([("file.format".into(), "orc".into())]));
        old["version"] = json!(3);
        assert!(parse(&old).unwrap().options.is_empty());
    }

    #[test]
    fn newer_versions_are_refused() {
        let mut newer = example();
        newer["version"] = json!(4);
        assert_eq!(parse(&newer).unwrap_err().kind(), ErrorKind::UnsupportedVersion);
    }

    #[test]
    fn broken_schemas_are_corrupt_files_that_say_what_is_wrong() {
        for (key, value) in [
            ("fields", json!(7)),
            ("id", json!("x")),
            ("id", json!(-1)),
            ("primaryKeys", json!(["nope"])),
            ("options", json!([])),
            ("highestFieldId", json!(1e30)),
            ("partitionKeys", json!([1])),
            ("fields", json!([{"id": 0, "name": "k", "type": "INT"}, {"id": 0, "name": "l", "type": "INT"}])),
            ("fields", json!([{"id": 0, "name": "k", "type": "INT"}, {"id": 1, "name": "k", "type": "INT"}])),
        ] {
            let mut broken = example();
            broken[key] = value;
            let error = parse(&broken).unwrap_err();
            assert_eq!(
                (error.kind(), error.context_value("file")),
                (ErrorKind::CorruptFile, Some("schema-2")),
                "{broken}"
            );
        }
        assert_eq!(TableSchema::from_json("f", b"{\"id\" : ").unwrap_err().kind(), ErrorKind::CorruptFile);
        assert_eq!(TableSchema::from_json("f", b"").unwrap_err().kind(), ErrorKind::CorruptFile);
    }

    #[test]
    fn ids_of_system_columns_are_no_ids_of_columns() {
        let with_id = |id: i32| {
            let mut value = example();
            value["fields"] = json!([
                {"id": 0, "name": "k", "type": "INT NOT NULL"},
                {"id": 1, "name": "v", "type": {"type": "ROW", "fields": [{"id": id, "name": "x", "type": "INT"}]}},
            ]);
            (value["partitionKeys"], value["primaryKeys"], value["options"]) = (json!([]), json!(["k"]), json!({}));
            parse(&value)
        };
        with_id(special::KEY_ID_OFFSET - 1).unwrap();
        for id in [special::KEY_ID_OFFSET, special::VALUE_KIND_ID, special::SEQUENCE_NUMBER_ID, i32::MAX] {
            let error = with_id(id).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::CorruptFile, "{id}");
            assert!(error.to_string().contains(&id.to_string()), "{error}");
        }
    }

    /// Such a column was taken, and read as Paimon's own: a row kind, a sequence number, a key.
    #[test]
    fn names_of_system_columns_are_no_names_of_columns() {
        let with_name = |name: &str, keys: &Value, options: Value| {
            let mut value = example();
            value["fields"] =
                json!([{"id": 0, "name": "k", "type": "INT NOT NULL"}, {"id": 1, "name": name, "type": "INT"}]);
            (value["primaryKeys"], value["options"]) = (keys.clone(), options);
            parse(&value)
        };
        for keys in [json!(["k"]), json!([])] {
            for name in [special::SEQUENCE_NUMBER, special::VALUE_KIND, "_KEY_k", "_KEY_x"] {
                let error = with_name(name, &keys, json!({})).unwrap_err();
                assert_eq!((error.kind(), error.context_value("column")), (ErrorKind::CorruptFile, Some(name)));
            }
            // names that older versions of Java took
            for name in [special::ROW_ID, "_LEVEL", "rowkind", "_KEY", "_value_kind"] {
                with_name(name, &keys, json!({})).unwrap();
            }
        }
        let tracked = with_name(special::ROW_ID, &json!([]), json!({"row-tracking.enabled": "true"}));
        assert_eq!(tracked.unwrap_err().kind(), ErrorKind::CorruptFile);
    }

    #[test]
    fn unknown_members_and_other_spacing_are_accepted() {
        let mut value = example();
        value["future"] = json!({"x": 1});
        assert_eq!(parse(&value).unwrap().highest_field_id, 4);
    }
}
