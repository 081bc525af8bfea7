//! An expression that was parsed.

use super::{arithmetic::Operator, literal::Literal};
use crate::{
    predicate::{CompareOp, Predicate},
    types::DataField,
};

#[derive(Clone, Debug)]
pub(super) enum Node {
    /// A constant: a value of the column that it is for, or of its own type where it is computed with.
    Literal(Literal),
    Column(DataField),
    Negated(Box<Node>),
    /// `a + b - c ...`, from left to right: in a list, as it may be longer than a stack is deep.
    Chain(Box<Node>, Vec<(Operator, Node)>),
    Coalesce(Vec<Node>),
    Upper(Box<Node>),
    Lower(Box<Node>),
    /// `CASE WHEN .. THEN .. ELSE .. END`: the first condition that holds says which value it is.
    Case(Vec<(Truth, Node)>, Option<Box<Node>>),
}

/// A condition; unknown counts as false in the end.
#[derive(Clone, Debug)]
pub(super) enum Truth {
    /// Columns and literals.
    Plain(Predicate),
    Compare(Box<Node>, CompareOp, Box<Node>),
    /// IS NULL, or IS NOT NULL (`false`).
    Null(Box<Node>, bool),
    All(Vec<Truth>),
    Any(Vec<Truth>),
}

impl Node {
    /// Adds the names of the columns that it is computed from.
    pub(super) fn columns<'a>(&'a self, names: &mut Vec<&'a str>) {
        match self {
            Self::Literal(_) => {}
            Self::Column(field) => names.push(&field.name),
            Self::Negated(inner) | Self::Upper(inner) | Self::Lower(inner) => inner.columns(names),
            Self::Chain(first, rest) => {
                first.columns(names);
                for (_, node) in rest {
                    node.columns(names);
                }
            }
            Self::Case(branches, otherwise) => {
                for (truth, node) in branches {
                    truth.columns(names);
                    node.columns(names);
                }
                if let Some(node) = otherwise {
                    node.columns(names);
                }
            }
            Self::Coalesce(nodes) => {
                for node in nodes {
                    node.columns(names);
                }
            }
        }
    }

    /// The values that it chooses one of.
    pub(super) fn choices(&self) -> Option<Vec<&Self>> {
        match self {
            Self::Coalesce(parts) => Some(parts.iter().collect()),
            Self::Case(branches, otherwise) => {
                Some(branches.iter().map(|(_, node)| node).chain(otherwise.as_deref()).collect())
            }
            _ => None,
        }
    }
}
