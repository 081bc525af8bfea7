//! How the splits of a plan are read.

use std::sync::Arc;

use arrow_schema::{DataType as Arrow, Field, Schema, SchemaRef};
use serde::{Deserialize, Serialize};

use crate::{
    error::Result,
    io::FileReadSpec,
    predicate::Predicate,
    types::{DataField, arrow_schema, special},
};

/// Name of the column that [`ReadOptions::row_kind`] adds.
pub const ROW_KIND_COLUMN: &str = "rowkind";

/// What one reading thread holds with batches of 8,192 rows: decoded pages of a few runs and the batches ahead.
const THREAD_BYTES: u64 = 32 << 20;

/// In what form rows are handed out, and what reading them may use. Splits carry it as it was given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(clippy::struct_excessive_bools, reason = "four independent wishes")]
pub struct ReadOptions {
    /// At most this many rows.
    pub limit: Option<usize>,
    /// First column `rowkind` with `+I` and so on; retract rows of streaming splits stay.
    pub row_kind: bool,
    /// Largest number of rows of a batch; `None` = the default.
    pub batch_rows: Option<usize>,
    /// Bytes that decoding and merging may hold; `None` = no limit of its own.
    pub memory_limit: Option<u64>,
    /// Threads; `None` = all cores.
    pub threads: Option<usize>,
    /// Rows that end with a retract stay in merged results, too (`$audit_log`).
    #[serde(skip)]
    pub keep_deletes: bool,
    /// Column `_SEQUENCE_NUMBER` behind `rowkind`, or first (`table-read.sequence-number.enabled`).
    #[serde(skip)]
    pub sequence_number: bool,
    /// `_ROW_ID` and `_SEQUENCE_NUMBER` are columns of the table, too (`$row_tracking`).
    #[serde(skip)]
    pub row_ids: bool,
}

impl ReadOptions {
    /// Threads to read with: as many as asked for, and no more than the memory limit feeds.
    pub fn thread_count(&self) -> usize {
        let threads = self.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
        let fed =
            self.memory_limit.map_or(usize::MAX, |limit| usize::try_from(limit / THREAD_BYTES).unwrap_or(usize::MAX));
        threads.min(fed).max(1)
    }

    /// What the runs of a merge may hold on each thread: half of what is left for it. `None`: as many as usual.
    pub(crate) fn merge_memory(&self) -> Option<usize> {
        let threads = u64::try_from(self.thread_count()).unwrap_or(u64::MAX);
        self.memory_limit.map(|limit| usize::try_from(limit / 2 / threads).unwrap_or(usize::MAX))
    }

    /// Rows of a batch: as many as asked for; fewer when the memory limit is below what one thread holds.
    pub(crate) fn batch_rows(&self) -> usize {
        let most = match self.memory_limit.filter(|limit| *limit < THREAD_BYTES) {
            Some(limit) => usize::try_from(limit * 8192 / THREAD_BYTES).unwrap_or(1).max(64),
            None => usize::MAX,
        };
        self.batch_rows.unwrap_or(FileReadSpec::DEFAULT_BATCH_ROWS).clamp(1, most)
    }
}

/// How splits are read.
#[derive(Clone, Debug, Default)]
pub struct ReadRequest {
    /// Columns of the result, in order.
    pub fields: Vec<DataField>,
    /// Condition that every returned row satisfies.
    pub filter: Option<Predicate>,
    /// As the scan was asked.
    pub options: ReadOptions,
    /// Threads that decode beside the reader's within a split; 0 reads on the reader's thread alone.
    pub decoders: usize,
    /// The consumer holds all rows in the end: splits are read ahead of it as far as it goes.
    pub whole: bool,
}

impl ReadRequest {
    /// The Arrow schema of the result.
    pub fn arrow_schema(&self) -> Result<SchemaRef> {
        let schema = arrow_schema(&self.fields)?;
        let kind = self.options.row_kind.then(|| Arc::new(Field::new(ROW_KIND_COLUMN, Arrow::Utf8, false)));
        let number = Field::new(special::SEQUENCE_NUMBER, Arrow::Int64, false);
        let number = self.options.sequence_number.then(|| Arc::new(number));
        let fields: Vec<_> = kind.into_iter().chain(number).chain(schema.fields().iter().cloned()).collect();
        Ok(Arc::new(Schema::new(fields)))
    }
}
