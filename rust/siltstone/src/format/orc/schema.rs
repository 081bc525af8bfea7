//! The types of a file's columns: a tree in pre-order, the root a struct with a child per column.

use super::proto::{Message, push};
use crate::{
    cancel,
    error::{Error, Result},
};

/// Kinds of types, by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names of the specification")]
pub(super) enum Kind {
    Boolean,
    Byte,
    Short,
    Int,
    Long,
    Float,
    Double,
    String,
    Binary,
    Timestamp,
    List,
    Map,
    Struct,
    Union,
    Decimal,
    Date,
    Varchar,
    Char,
    TimestampInstant,
}

impl Kind {
    const ALL: [Self; 19] = [
        Self::Boolean,
        Self::Byte,
        Self::Short,
        Self::Int,
        Self::Long,
        Self::Float,
        Self::Double,
        Self::String,
        Self::Binary,
        Self::Timestamp,
        Self::List,
        Self::Map,
        Self::Struct,
        Self::Union,
        Self::Decimal,
        Self::Date,
        Self::Varchar,
        Self::Char,
        Self::TimestampInstant,
    ];

    pub(super) fn of(number: u64) -> Option<Self> {
        Self::ALL.get(usize::try_from(number).ok()?).copied()
    }

    pub(super) fn number(self) -> u64 {
        Self::ALL.iter().position(|kind| *kind == self).unwrap_or_default() as u64
    }
}

/// A type; its column number is its place in the list.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) kind: Kind,
    /// Column numbers of children, all above its own.
    pub(super) children: Vec<usize>,
    names: Vec<String>,
}

impl Node {
    /// The child of this name; of several the first counts.
    pub(super) fn child(&self, name: &str) -> Option<usize> {
        let at = self.names.iter().position(|n| n == name)?;
        self.children.get(at).copied()
    }
}

/// The types of a footer.
pub(super) fn parse_types(file: &str, messages: &[Message<'_>]) -> Result<Vec<Node>> {
    let corrupt = |column: usize, expected: &str, found: String| {
        Error::corrupt(file, 0, expected, found).with("part", format_args!("type {column} of an ORC file"))
    };
    let mut nodes = Vec::new();
    for (column, message) in messages.iter().enumerate() {
        if column.is_multiple_of(1024) {
            cancel::check()?;
        }
        let (mut kind, mut children, mut names) = (0, Vec::new(), Vec::new());
        message.fields(|field, value| {
            match field {
                1 => kind = value.number()?,
                2 => value.numbers(&mut children)?,
                3 => push(&mut names, value.text()?.to_owned())?,
                _ => {}
            }
            Ok(())
        })?;
        let kind = Kind::of(kind).ok_or_else(|| corrupt(column, "a kind of type", kind.to_string()))?;
        let children: Vec<usize> = children.into_iter().map(|c| usize::try_from(c).unwrap_or(usize::MAX)).collect();
        if let Some(wrong) = children.iter().find(|c| **c <= column || **c >= messages.len()) {
            return Err(corrupt(column, "children behind it", wrong.to_string()));
        }
        let expected = match kind {
            Kind::List => Some(1),
            Kind::Map => Some(2),
            Kind::Struct => Some(names.len()),
            Kind::Union => None,
            _ => Some(0),
        };
        if expected.is_some_and(|expected| expected != children.len()) {
            return Err(corrupt(column, "as many children as the kind has", children.len().to_string()));
        }
        push(&mut nodes, Node { kind, children, names })?;
    }
    if nodes.first().is_some_and(|root| root.kind == Kind::Struct) {
        return Ok(nodes);
    }
    Err(corrupt(0, "a struct", nodes.first().map_or("nothing".to_owned(), |root| format!("{:?}", root.kind))))
}
