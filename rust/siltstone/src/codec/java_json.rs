//! JSON with the spacing of Java's pretty printer (Jackson's default): two blanks a level, `"key" : value`, lists on
//! one line as `[ a, b ]`, `{ }` and `[ ]` when empty.

use std::io;

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};

use crate::error::{Error, ErrorKind, Result};

/// The text of a value, as Java would write it.
pub fn to_java_json(value: &impl Serialize) -> Result<String> {
    let wrong = |e: String| Error::new(ErrorKind::Internal, "a value cannot be written as JSON").caused_by(e);
    let mut out = Vec::new();
    let mut serializer = Serializer::with_formatter(&mut out, JavaFormatter::default());
    value.serialize(&mut serializer).map_err(|e| wrong(e.to_string()))?;
    String::from_utf8(out).map_err(|e| wrong(e.to_string()))
}

#[derive(Default)]
struct JavaFormatter {
    depth: usize,
    /// Whether the innermost object or list has members.
    filled: bool,
}

impl JavaFormatter {
    fn new_line<W: ?Sized + io::Write>(&self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b"\n")?;
        (0..self.depth).try_for_each(|_| writer.write_all(b"  "))
    }
}

impl Formatter for JavaFormatter {
    fn begin_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth += 1;
        self.filled = false;
        writer.write_all(b"{")
    }

    fn begin_object_key<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if !first {
            writer.write_all(b",")?;
        }
        self.new_line(writer)
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b" : ")
    }

    fn end_object_value<W: ?Sized + io::Write>(&mut self, _writer: &mut W) -> io::Result<()> {
        self.filled = true;
        Ok(())
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth = self.depth.saturating_sub(1);
        if self.filled {
            self.new_line(writer)?;
        } else {
            writer.write_all(b" ")?;
        }
        writer.write_all(b"}")
    }

    fn begin_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b"[")
    }

    fn begin_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        writer.write_all(if first { b" " } else { b", " })
    }

    fn end_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b" ]")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn spacing_is_that_of_jackson() {
        let value = json!({"a": [], "b": {}, "c": ["x", 1], "d": [{"e": null}, {"f": {"g": true}}]});
        let expected = "{\n  \"a\" : [ ],\n  \"b\" : { },\n  \"c\" : [ \"x\", 1 ],\n  \"d\" : [ {\n    \"e\" : null\n  }, {\n    \"f\" : {\n      \"g\" : true\n    }\n  } ]\n}";
        assert_eq!(to_java_json(&value).unwrap(), expected);
    }
}
