//! How the splits of a plan are read.

use std::sync::Arc;

use arrow_schema::{DataType as Arrow, Field, Schema, SchemaRef};

use crate::{
    error::Result,
    io::FileReadSpec,
    predicate::Predicate,
    types::{DataField, arrow_schema, special},
};

/// Name of the column that [`ReadRequest::row_kind`] adds.
pub const ROW_KIND_COLUMN: &str = "rowkind";

/// How splits are read.
#[derive(Clone, Debug, Default)]
#[allow(clippy::struct_excessive_bools, reason = "four independent wishes")]
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
    /// Bytes that the runs of a merge may hold, about; `None`: as many as usual.
    pub memory: Option<usize>,
    /// Threads that decode beside the reader's within a split; 0 reads on the reader's thread alone.
    pub decoders: usize,
    /// Rows that end with a retract stay in merged results, too.
    pub keep_deletes: bool,
    /// Column `_SEQUENCE_NUMBER` behind `rowkind`, or first.
    pub sequence_number: bool,
    /// The consumer holds all rows in the end: splits are read ahead of it as far as it goes.
    pub whole: bool,
}

impl ReadRequest {
    /// The Arrow schema of the result.
    pub fn arrow_schema(&self) -> Result<SchemaRef> {
        let schema = arrow_schema(&self.fields)?;
        let kind = self.row_kind.then(|| Arc::new(Field::new(ROW_KIND_COLUMN, Arrow::Utf8, false)));
        let number = Field::new(special::SEQUENCE_NUMBER, Arrow::Int64, false);
        let number = self.sequence_number.then(|| Arc::new(number));
        let fields: Vec<_> = kind.into_iter().chain(number).chain(schema.fields().iter().cloned()).collect();
        Ok(Arc::new(Schema::new(fields)))
    }

    pub(crate) fn batch_rows(&self) -> usize {
        self.batch_rows.unwrap_or(FileReadSpec::DEFAULT_BATCH_ROWS).max(1)
    }
}
