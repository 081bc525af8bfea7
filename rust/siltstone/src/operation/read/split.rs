//! One split as a stream of batches.

use crate::{
    error::{Error, ErrorKind, Result},
    io::{BatchStream, TableContext},
    operation::Split,
    predicate::Predicate,
    types::DataField,
};

/// How splits are read.
#[derive(Clone, Debug, Default)]
pub struct ReadRequest {
    /// Columns of the result, in order.
    pub fields: Vec<DataField>,
    /// Condition that every returned row satisfies.
    pub filter: Option<Predicate>,
    /// At most this many rows.
    pub limit: Option<usize>,
    /// First column `rowkind` with `+I` and so on; retract rows of streaming splits stay.
    pub row_kind: bool,
    /// Largest number of rows of a batch; `None` = the default.
    pub batch_rows: Option<usize>,
}

/// The rows of a split that satisfy the request.
pub fn read_split(_ctx: &TableContext, _split: &Split, _request: &ReadRequest) -> Result<BatchStream> {
    Err(Error::new(ErrorKind::Internal, "not yet"))
}
