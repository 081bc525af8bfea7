//! What indexes are asked.

use super::{Candidates, key::Key};
use crate::{error::Result, predicate::CompareOp};

/// A question about one column.
#[derive(Clone, Debug)]
pub(super) enum Question<'a> {
    IsNull,
    IsNotNull,
    /// One of them.
    In(&'a [Key]),
    /// Not null, and none of them.
    NotIn(&'a [Key]),
    Compare(CompareOp, &'a Key),
    /// Texts that begin with this one.
    Prefix(&'a Key),
}

/// An index that answers.
pub(super) trait Index {
    fn answer(&self, question: &Question<'_>) -> Result<Candidates>;
}
