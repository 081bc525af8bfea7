//! Data files of any format: what is asked of them.

use std::{any::Any, fmt::Debug, ops::Range, sync::Arc};

use arrow_array::{ArrayRef, BooleanArray, Int64Array};

use super::prune::{Block, Claim, Prune};
use crate::{error::Result, types::DataField};

/// Says of each row whether it stays.
pub type TestRows = Arc<dyn Fn(&Rows) -> Result<BooleanArray> + Send + Sync>;

/// A condition on rows: its columns, which come in this order, and the test.
#[derive(Clone)]
pub struct RowTest {
    /// Columns as the file has them.
    pub columns: Vec<DataField>,
    /// Which rows stay; null drops a row.
    pub test: TestRows,
}

/// What to read of a file.
#[derive(Clone)]
pub struct FileRead {
    /// Columns by the names and types that the file has them under; those that it has not are null.
    pub columns: Vec<DataField>,
    /// Skips row groups and pages.
    pub prune: Option<Prune>,
    /// Only these rows, by their numbers in the file: ascending, not overlapping.
    pub rows: Option<Vec<Range<i64>>>,
    /// Drops rows before the other columns are decoded.
    pub row_test: Option<RowTest>,
    /// Whether to say where in the file each row is, to the row test, too.
    pub position: bool,
    /// Largest number of rows at once; fewer come where rows are large.
    pub batch_rows: usize,
}

/// Some rows of a file.
#[derive(Clone, Debug)]
pub struct Rows {
    /// How many.
    pub count: usize,
    /// One array per wanted column, of the Arrow type of its Paimon type.
    pub columns: Vec<ArrayRef>,
    /// Row numbers in the file, when asked for.
    pub positions: Option<Int64Array>,
}

/// Some rows after the others.
pub type RowsStream = Box<dyn Iterator<Item = Result<Rows>> + Send>;

/// An open data file.
pub trait DataFileReader: Debug + Send + Sync {
    /// The file as its own format knows it.
    fn as_any(&self) -> &dyn Any;
    /// Rows of the file.
    fn rows(&self) -> i64;
    /// Starts reading.
    fn read(&self, request: FileRead) -> Result<RowsStream>;
    /// The file with all at hand that many reads need.
    fn for_many_reads(&self) -> Result<Arc<dyn DataFileReader>>;
    /// Consecutive rows that are worth reading together, with bounds of these columns (`None`: unknown).
    fn blocks(&self, columns: &[Option<DataField>]) -> Result<Vec<Block>>;
    /// Numbers of the rows that a condition leaves, in parts of some ten thousand rows that cost little more side by side than
    /// together; `None`: the file is read as a whole.
    fn parts(&self, columns: &[DataField], prune: Option<&Prune>) -> Result<Option<Vec<Vec<Range<i64>>>>> {
        let _ = (columns, prune);
        Ok(None)
    }
    /// What the file says of the values of these columns; one list for each.
    fn claims(&self, columns: &[DataField]) -> Result<Vec<Vec<Claim>>>;
}
