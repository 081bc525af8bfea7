//! What a reader is asked to leave out, and what its file says of the rows in it, piece by piece.

use std::{collections::HashMap, ops::Range};

use crate::{
    predicate::{ColumnBounds, Predicate},
    row::Datum,
    types::DataField,
};

/// Where the file has a column of the predicate.
#[derive(Clone, Debug, PartialEq)]
pub enum PruneColumn {
    /// The file has no such column: every value is null.
    Missing,
    /// A column of this name, whose values have the predicate's type without any cast.
    Stored(DataField),
}

/// A condition by which row groups and pages are skipped.
#[derive(Clone, Debug, PartialEq)]
pub struct Prune {
    /// The condition.
    pub predicate: Predicate,
    /// Its columns; nothing is assumed of a column that is not here.
    pub columns: HashMap<String, PruneColumn>,
}

/// Consecutive rows of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// Row numbers in the file.
    pub rows: Range<i64>,
    /// For each column asked for, bounds of its values in these rows; null where nothing is known.
    pub bounds: Vec<(Datum, Datum)>,
}

/// Bounds and nulls of a column in some rows of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// A row group or a page, in words.
    pub place: String,
    /// Row numbers in the file.
    pub rows: Range<i64>,
    /// What is said of them.
    pub bounds: ColumnBounds,
}
