//! The schema that a file was written with.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use serde_json::{Map, Value as Json};

use crate::{
    error::{Error, Result},
    fs::json_value,
};

/// Types nested deeper than this are not metadata, nor rows: JSON of more than 127 levels is not read.
const MAX_DEPTH: usize = 64;
/// A schema may have so many nodes, named types counted at every use...
const FREE_NODES: usize = 20_000;
/// ...or one for so many bytes of its text, which takes more for each that no name stands for.
const NODE_BYTES: usize = 4;
/// None has more.
const MAX_NODES: usize = 1_000_000;

/// A type as the writer had it; logical types are left out, they do not change the bytes.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "the types of the Avro specification by their names")]
pub enum WriterType {
    Null,
    Boolean,
    Int,
    Long,
    Float,
    Double,
    Bytes,
    String,
    Fixed(usize),
    Enum,
    Array(Arc<WriterType>),
    Map(Arc<WriterType>),
    Union(Arc<[WriterType]>),
    Record(Arc<WriterRecord>),
}

/// A record type: its fields in the order of their bytes.
#[derive(Debug, PartialEq)]
pub struct WriterRecord {
    /// Name and type of each field.
    pub fields: Vec<(String, WriterType)>,
    /// What its bytes are: the types of its fields in their order, those of nested records in the place of the record, without
    /// those whose values take no byte.
    pub(super) sized: Vec<WriterType>,
}

impl WriterRecord {
    fn new(fields: Vec<(String, WriterType)>) -> Self {
        let mut sized = Vec::new();
        for (_, data_type) in &fields {
            match data_type {
                WriterType::Record(record) => sized.extend_from_slice(&record.sized),
                other if other.is_empty_value() => {}
                other => sized.push(other.clone()),
            }
        }
        Self { fields, sized }
    }
}

impl WriterType {
    /// From the JSON text of `avro.schema`.
    pub fn parse(file: &str, schema: &[u8]) -> Result<Self> {
        let json = json_value(file, schema, |e| Error::corrupt(file, 0, "an Avro schema as JSON", e.to_string()))?;
        let most = (schema.len() / NODE_BYTES).clamp(FREE_NODES, MAX_NODES);
        let mut parser = Parser { named: HashMap::new(), nodes: 0, most };
        parser.parse(&json, "", 0).map_err(|found| Error::corrupt(file, 0, "an Avro schema", found))
    }

    /// The record that this is, directly or as the one record of a union.
    pub fn record(&self) -> Option<&Arc<WriterRecord>> {
        match self {
            Self::Record(record) => Some(record),
            Self::Union(branches) => {
                let mut records = branches.iter().filter_map(Self::record);
                records.next().filter(|_| records.next().is_none())
            }
            Self::Array(items) => items.record(),
            _ => None,
        }
    }

    /// The name of the type in the specification.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "boolean",
            Self::Int => "int",
            Self::Long => "long",
            Self::Float => "float",
            Self::Double => "double",
            Self::Bytes => "bytes",
            Self::String => "string",
            Self::Fixed(_) => "fixed",
            Self::Enum => "enum",
            Self::Array(_) => "array",
            Self::Map(_) => "map",
            Self::Union(_) => "union",
            Self::Record(_) => "record",
        }
    }

    /// Whether a value takes no byte at all; an array of such could be endless.
    pub(super) fn is_empty_value(&self) -> bool {
        match self {
            Self::Null | Self::Fixed(0) => true,
            Self::Record(record) => record.sized.is_empty(),
            _ => false,
        }
    }
}

/// What goes wrong is told as "found ...".
type Parsed<T> = std::result::Result<T, String>;

struct Parser {
    /// Named types by full name, with the nodes that each use of them counts.
    named: HashMap<String, (WriterType, usize)>,
    nodes: usize,
    /// How many there may be.
    most: usize,
}

impl Parser {
    fn parse(&mut self, json: &Json, namespace: &str, depth: usize) -> Parsed<WriterType> {
        self.nodes += 1;
        if depth > MAX_DEPTH || self.nodes > self.most {
            return Err(format!("one with more than {MAX_DEPTH} levels or {} types", self.most));
        }
        match json {
            Json::String(name) => self.by_name(name, namespace),
            Json::Array(branches) => {
                let branches: Parsed<Vec<WriterType>> =
                    branches.iter().map(|branch| self.parse(branch, namespace, depth + 1)).collect();
                Ok(WriterType::Union(branches?.into()))
            }
            Json::Object(object) => self.complex(object, namespace, depth),
            other => Err(format!("{other} as a type")),
        }
    }

    fn by_name(&mut self, name: &str, namespace: &str) -> Parsed<WriterType> {
        Ok(match name {
            "null" => WriterType::Null,
            "boolean" => WriterType::Boolean,
            "int" => WriterType::Int,
            "long" => WriterType::Long,
            "float" => WriterType::Float,
            "double" => WriterType::Double,
            "bytes" => WriterType::Bytes,
            "string" => WriterType::String,
            _ => {
                let found = self.named.get(&full_name(name, namespace)).or_else(|| self.named.get(name));
                let (data_type, nodes) = found.ok_or_else(|| format!("the unknown type '{name}'"))?;
                self.nodes = self.nodes.saturating_add(*nodes);
                data_type.clone()
            }
        })
    }

    fn complex(&mut self, object: &Map<String, Json>, namespace: &str, depth: usize) -> Parsed<WriterType> {
        let inner = |key: &str| object.get(key).ok_or_else(|| format!("a type without '{key}'"));
        match object.get("type") {
            Some(Json::String(kind)) => match kind.as_str() {
                "record" => self.record(object, namespace, depth),
                "enum" => Ok(self.remember(object, namespace, WriterType::Enum, 1)),
                "fixed" => {
                    let size = inner("size")?.as_u64().and_then(|n| usize::try_from(n).ok());
                    let fixed = WriterType::Fixed(size.ok_or("a fixed type without a size")?);
                    Ok(self.remember(object, namespace, fixed, 1))
                }
                "array" => Ok(WriterType::Array(Arc::new(self.items(inner("items")?, namespace, depth)?))),
                "map" => Ok(WriterType::Map(Arc::new(self.items(inner("values")?, namespace, depth)?))),
                name => self.by_name(name, namespace),
            },
            Some(nested) => self.parse(nested, namespace, depth + 1),
            None => Err("a type without 'type'".to_owned()),
        }
    }

    fn items(&mut self, json: &Json, namespace: &str, depth: usize) -> Parsed<WriterType> {
        let items = self.parse(json, namespace, depth + 1)?;
        if items.is_empty_value() { Err("items that take no bytes".to_owned()) } else { Ok(items) }
    }

    fn record(&mut self, object: &Map<String, Json>, namespace: &str, depth: usize) -> Parsed<WriterType> {
        let before = self.nodes;
        let namespace = space_of(object, namespace);
        let listed = object.get("fields").and_then(Json::as_array).ok_or("a record without fields")?;
        let mut fields = Vec::with_capacity(listed.len());
        let mut names = HashSet::new();
        for field in listed {
            let name = field.get("name").and_then(Json::as_str).ok_or("a field without a name")?;
            if !names.insert(name) {
                return Err(format!("the field '{name}' twice"));
            }
            let json = field.get("type").ok_or_else(|| format!("field '{name}' without a type"))?;
            fields.push((name.to_owned(), self.parse(json, &namespace, depth + 1)?));
        }
        let nodes = self.nodes - before;
        Ok(self.remember(object, &namespace, WriterType::Record(Arc::new(WriterRecord::new(fields))), nodes))
    }

    fn remember(&mut self, object: &Map<String, Json>, namespace: &str, t: WriterType, nodes: usize) -> WriterType {
        if let Some(name) = object.get("name").and_then(Json::as_str) {
            self.named.insert(full_name(name, &space_of(object, namespace)), (t.clone(), nodes));
        }
        t
    }
}

fn space_of(object: &Map<String, Json>, enclosing: &str) -> String {
    let name = object.get("name").and_then(Json::as_str).unwrap_or_default();
    if let Some((namespace, _)) = name.rsplit_once('.') {
        return namespace.to_owned();
    }
    object.get("namespace").and_then(Json::as_str).unwrap_or(enclosing).to_owned()
}

fn full_name(name: &str, namespace: &str) -> String {
    if namespace.is_empty() || name.contains('.') { name.to_owned() } else { format!("{namespace}.{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<WriterType> {
        WriterType::parse("m", text.as_bytes())
    }

    #[test]
    fn named_types_are_found_again_by_short_and_full_name() {
        let schema = r#"{"type":"record","name":"r","namespace":"n","fields":[
            {"name":"a","type":{"type":"record","name":"s","fields":[{"name":"x","type":{"type":"long","logicalType":"timestamp-millis"}}]}},
            {"name":"b","type":["null","s"]},{"name":"c","type":"n.s"}]}"#;
        let parsed = parse(schema).expect("valid");
        let record = parsed.record().expect("a record");
        let inner = record.fields[0].1.clone();
        assert_eq!(record.fields[2].1, inner);
        assert_eq!(record.fields[1].1, WriterType::Union([WriterType::Null, inner].into()));
    }

    /// Eight thousand columns and their keys were written, and never read again.
    #[test]
    fn wide_and_deep_rows_are_read() {
        let field = |at| format!(r#"{{"name":"c{at}","type":["null","int"],"default":null}}"#);
        let fields: Vec<String> = (0..30_000).map(field).collect();
        let wide = parse(&format!(r#"{{"type":"record","name":"t","fields":[{}]}}"#, fields.join(",")));
        assert_eq!(wide.expect("valid").record().expect("a record").fields.len(), 30_000);
        let around = |inner: String, _| format!(r#"["null",{{"type":"array","items":{inner}}}]"#);
        let deep = (0..25).fold(r#""int""#.to_owned(), around);
        assert_eq!(parse(&deep).expect("valid").name(), "union");
    }

    #[test]
    fn schemas_that_would_explode_are_refused() {
        let first = r#"{"name":"a0","type":{"type":"record","name":"r0","fields":[{"name":"x","type":"int"}]}}"#;
        let mut fields = vec![first.to_owned()];
        for i in 1..40 {
            let inner: Vec<String> = (0..10).map(|k| format!(r#"{{"name":"f{k}","type":"r{}"}}"#, i - 1)).collect();
            let inner = inner.join(",");
            fields.push(format!(r#"{{"name":"a{i}","type":{{"type":"record","name":"r{i}","fields":[{inner}]}}}}"#));
        }
        let fields = fields.join(",");
        assert!(parse(&format!(r#"{{"type":"record","name":"t","fields":[{fields}]}}"#)).is_err());
        assert!(parse(&format!("{}\"int\"{}", "[".repeat(100), "]".repeat(100))).is_err());
        assert!(parse(r#"{"type":"array","items":"null"}"#).is_err());
        let twice = r#"{"type":"record","name":"r","fields":[{"name":"x","type":"null"},{"name":"x","type":"int"}]}"#;
        assert!(parse(twice).is_err());
        assert!(parse(r#"{"type":"record","name":"r","fields":[{"name":"x","type":"r"}]}"#).is_err());
    }
}
