//! Where a value of the input is: its column, or the part of a nested one, and its row. Rows are counted from the first
//! one that a call of the writer was given, over all of its batches, those that are left out included.

use std::sync::Arc;

use arrow_array::BooleanArray;
use arrow_buffer::OffsetBuffer;

/// Which rows of the input the rows of a batch are.
#[derive(Clone, Debug)]
pub(super) struct InputRows {
    /// Rows of the same input before the batch.
    before: usize,
    /// Rows of the batch that are left, when some are not.
    kept: Option<Arc<[usize]>>,
}

impl InputRows {
    /// All rows of a batch that follows `before` rows.
    pub(super) fn after(before: usize) -> Self {
        Self { before, kept: None }
    }

    /// Those of all rows for which `keep` is true.
    pub(super) fn kept(&self, keep: &BooleanArray) -> Self {
        let kept = keep.iter().enumerate().filter(|(_, keep)| *keep == Some(true)).map(|(row, _)| row);
        Self { before: self.before, kept: Some(kept.collect()) }
    }

    /// The row of the input that the row `at` is.
    pub(super) fn of(&self, at: usize) -> usize {
        let row = self.kept.as_ref().map_or(Some(at), |kept| kept.get(at).copied());
        self.before.saturating_add(row.unwrap_or(at))
    }
}

/// A column or a part of one. The values of a part are counted by themselves; [`ColumnPath::row`] finds the row of the input.
pub(super) struct ColumnPath<'a> {
    name: String,
    rows: Rows<'a>,
}

enum Rows<'a> {
    /// A column, with this many rows of the same input before it.
    Input(usize),
    /// A field of a row.
    Field(&'a ColumnPath<'a>),
    /// Elements, keys or values.
    Elements(&'a ColumnPath<'a>, &'a OffsetBuffer<i32>),
}

impl<'a> ColumnPath<'a> {
    /// A column of a batch that follows `before` rows.
    pub(super) fn column(name: &str, before: usize) -> Self {
        Self { name: name.to_owned(), rows: Rows::Input(before) }
    }

    /// A field of the rows here.
    pub(super) fn field(&'a self, name: &str) -> Self {
        Self { name: format!("{}.{name}", self.name), rows: Rows::Field(self) }
    }

    /// The elements, keys or values of the lists or maps here; their offsets start at 0.
    pub(super) fn elements(&'a self, name: &str, offsets: &'a OffsetBuffer<i32>) -> Self {
        Self { name: format!("{}.{name}", self.name), rows: Rows::Elements(self, offsets) }
    }

    /// `column`, `column.field`, `column.element`.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The row of the input that the value at `at` belongs to.
    pub(super) fn row(&self, at: usize) -> usize {
        match &self.rows {
            Rows::Input(before) => before.saturating_add(at),
            Rows::Field(parent) => parent.row(at),
            Rows::Elements(parent, offsets) => {
                let starts = offsets.partition_point(|start| usize::try_from(*start).is_ok_and(|start| start <= at));
                parent.row(starts.saturating_sub(1))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_are_left_out_count() {
        let rows = InputRows::after(100);
        assert_eq!((rows.of(0), rows.of(7)), (100, 107));
        let rows = rows.kept(&BooleanArray::from(vec![false, true, false, true]));
        assert_eq!((rows.of(0), rows.of(1)), (101, 103));
    }

    #[test]
    fn a_value_in_a_list_of_rows_of_lists_knows_its_row() {
        let column = ColumnPath::column("c", 100);
        let outer = OffsetBuffer::new(vec![0, 0, 2, 3].into());
        let elements = column.elements("element", &outer);
        let field = elements.field("f");
        let inner = OffsetBuffer::new(vec![0, 1, 1, 4].into());
        let values = field.elements("value", &inner);
        assert_eq!(values.name(), "c.element.f.value");
        assert_eq!((0..4).map(|at| values.row(at)).collect::<Vec<_>>(), [101, 102, 102, 102]);
    }
}
