//! What may be changed of a schema.

use crate::types::DataType;

/// One change of a schema. A nested column is a path: `["r", "x"]`, `["list", "element", "x"]`, `["map", "value"]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchemaChange {
    /// Sets a table option.
    SetOption {
        /// Key.
        key: String,
        /// Value.
        value: String,
    },
    /// Removes a table option.
    RemoveOption {
        /// Key.
        key: String,
    },
    /// Sets or removes the table's comment.
    SetComment {
        /// The comment.
        comment: Option<String>,
    },
    /// Adds a nullable column.
    AddColumn {
        /// Where and under which name.
        path: Vec<String>,
        /// Its type.
        data_type: DataType,
        /// Its comment.
        comment: Option<String>,
        /// Its place; last when not given.
        position: Option<ColumnPosition>,
    },
    /// Renames a column; its id stays.
    RenameColumn {
        /// Which.
        path: Vec<String>,
        /// The new last name of the path.
        new_name: String,
    },
    /// Drops a column; its id is never used again.
    DropColumn {
        /// Which.
        path: Vec<String>,
    },
    /// Changes a type; null stays allowed or forbidden as it was.
    SetType {
        /// Which.
        path: Vec<String>,
        /// The new type.
        data_type: DataType,
    },
    /// Allows or forbids null.
    SetNullable {
        /// Which.
        path: Vec<String>,
        /// Whether null is allowed.
        nullable: bool,
    },
    /// Sets or removes a column's comment.
    SetColumnComment {
        /// Which.
        path: Vec<String>,
        /// The comment.
        comment: Option<String>,
    },
    /// Sets or removes the value that is written for null.
    SetDefault {
        /// Which.
        path: Vec<String>,
        /// The value as text.
        default: Option<String>,
    },
    /// Moves a top-level column.
    MoveColumn {
        /// Which.
        name: String,
        /// Where to.
        position: ColumnPosition,
    },
}

/// A place among the columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnPosition {
    /// Before all others.
    First,
    /// After all others.
    Last,
    /// After this column.
    After(String),
    /// Before this column.
    Before(String),
}
