//! An expression that was parsed.

use super::{arithmetic::Operator, literal::Literal};
use crate::types::DataField;

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
            Self::Coalesce(nodes) => {
                for node in nodes {
                    node.columns(names);
                }
            }
        }
    }
}
