//! JSON of files as values that are counted: a map of one entry takes a hundred times the memory of its text.

use std::{
    cell::{Cell, RefCell},
    fmt,
};

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::{
    cancel,
    error::{Error, Result},
    limits::Taken,
};

/// What a value takes in a list that has grown.
const VALUE_BYTES: usize = 2 * size_of::<Value>();
/// What a map takes for its first entries.
const MAP_BYTES: usize = 512;
/// What an entry takes in a map that has grown, beside its name and its value.
const ENTRY_BYTES: usize = 96;
/// After so many values there is a look at whether to stop.
const ASK_VALUES: usize = 1024;

/// The value of a JSON text; `file` is for messages, `wrong` says that it is none.
///
/// # Errors
/// What `wrong` gives; `MemoryLimitExceeded` when the value takes more memory than there is.
pub(crate) fn json_value(file: &str, bytes: &[u8], wrong: impl FnOnce(serde_json::Error) -> Error) -> Result<Value> {
    let (taken, values, fault) = (Taken::default(), Cell::new(0), RefCell::new(None));
    let counted = Counted { taken: &taken, values: &values, fault: &fault };
    let mut from = serde_json::Deserializer::from_slice(bytes);
    let value = counted.deserialize(&mut from).and_then(|value| from.end().map(|()| value));
    match fault.take() {
        Some(fault) => Err(fault.with("file", file)),
        None => value.map_err(wrong),
    }
}

#[derive(Clone, Copy)]
struct Counted<'a> {
    taken: &'a Taken,
    values: &'a Cell<usize>,
    /// Why it was given up, if the text is not to blame.
    fault: &'a RefCell<Option<Error>>,
}

impl Counted<'_> {
    fn take<E: serde::de::Error>(self, bytes: usize) -> std::result::Result<(), E> {
        let taken = self.taken.more(bytes, "a JSON document");
        taken.map_err(|fault| self.stopped(fault))
    }

    fn step<E: serde::de::Error>(self) -> std::result::Result<(), E> {
        let values = self.values.get();
        self.values.set(values.wrapping_add(1));
        let asked = if values.is_multiple_of(ASK_VALUES) { cancel::check() } else { Ok(()) };
        asked.map_err(|fault| self.stopped(fault))
    }

    fn stopped<E: serde::de::Error>(self, fault: Error) -> E {
        *self.fault.borrow_mut() = Some(fault);
        E::custom("given up")
    }
}

impl<'de> DeserializeSeed<'de> for Counted<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> std::result::Result<Value, D::Error> {
        self.step()?;
        self.take(VALUE_BYTES)?;
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Counted<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> std::result::Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> std::result::Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> std::result::Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E>(self, value: f64) -> std::result::Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_unit<E>(self) -> std::result::Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> std::result::Result<Value, E> {
        self.take(text.len())?;
        Ok(Value::from(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> std::result::Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> std::result::Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(name) = entries.next_key::<String>()? {
            let beside = if map.is_empty() { MAP_BYTES } else { ENTRY_BYTES };
            self.take(name.len().saturating_add(beside))?;
            map.insert(name, entries.next_value_seed(self)?);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    fn parse(text: &str) -> Result<Value> {
        json_value("f", text.as_bytes(), |e| Error::corrupt("f", 0, "JSON", e.to_string()))
    }

    #[test]
    fn values_are_those_of_the_text() {
        for text in [
            r#"{"b":[1,-2,18446744073709551615,1.5,1e3,null,true,"x\"\u0041é"],"a":{"":{}},"b":2}"#,
            "[]",
            " 7 ",
            r#""t""#,
        ] {
            let expected: Value = serde_json::from_str(text).unwrap();
            let found = parse(text).unwrap();
            // also the order of names
            assert_eq!((found.to_string(), found), (expected.to_string(), expected));
        }
        for text in ["", "{", "[1,]", "1 2", &"[".repeat(1000)] {
            assert_eq!(parse(text).unwrap_err().kind(), ErrorKind::CorruptFile, "{text}");
        }
    }

    /// A list of small maps became fifty times its text, and nobody asked for it.
    #[test]
    fn values_are_counted_while_they_are_made() {
        let text = format!("[{}0]", r#"{"":0},"#.repeat(5000));
        let (taken, values, fault) = (Taken::default(), Cell::new(0), RefCell::new(None));
        let counted = Counted { taken: &taken, values: &values, fault: &fault };
        counted.deserialize(&mut serde_json::Deserializer::from_str(&text)).unwrap();
        assert!(taken.bytes() > 5000 * (MAP_BYTES + 2 * VALUE_BYTES), "{}", taken.bytes());
        let token = cancel::Cancellation::default();
        token.cancel();
        token.run(|| assert_eq!(parse(&text).unwrap_err().kind(), ErrorKind::Cancelled));
    }
}
