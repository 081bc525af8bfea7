//! Rows of tables with postponed buckets: they wait in `bucket-postpone`, as they came, until a compaction gives them buckets.
//!
//! Neither sorted nor merged: the compaction reads the files one after another, in the order in which they were finished, and
//! hands the rows to ordinary writers. So they have no sequence numbers (-1), and `_MIN_KEY` and `_MAX_KEY` are those of the
//! first and the last row. The name tells whose they are, because Java hands files of one writer to one reader.
//!
//! The files are Avro where types and compression allow it; else they have the table's format, and its statistics.
//!
//! Source: format 6.5; `PostponeBucketFileStoreWrite`, `PostponeBucketWriter`.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int8Array, Int64Array, RecordBatch};
use arrow_schema::SchemaRef;

use crate::{
    env::new_uuid,
    error::{Error, ErrorKind, Result},
    format::data_format,
    fs::check_can_exist,
    io::{FileWriteSpec, InOrder, TableContext},
    manifest::{BucketId, CompactIncrement, DataFileMeta, DataIncrement, FileSource},
    options::{CoreOptions, POSTPONE_BUCKET},
    types::{arrow_schema, special},
};

/// Of rows whose order their files tell.
const NO_SEQUENCE_NUMBER: i64 = -1;
/// What waiting files are, as in Java.
const WAITING_FORMAT: &str = "avro";

/// The table as a writer of waiting files needs it: their names tell the user and the writer, and as Avro files they have no
/// statistics.
/// `None`: the table has no postponed buckets.
///
/// # Errors
/// `InvalidArgument` for a user whose name would not be understood in the name of a file.
pub(super) fn context_of_waiting_files(ctx: &TableContext, commit_user: &str) -> Result<Option<TableContext>> {
    if ctx.options.bucket != POSTPONE_BUCKET {
        return Ok(None);
    }
    check_user(ctx, commit_user)?;
    let prefix = format!("{}-u-{commit_user}-s-{}-w-", ctx.options.data_file_prefix, writer_id());
    let mut options = CoreOptions::clone(&ctx.options);
    options.data_file_prefix = prefix;
    let avro = data_format(WAITING_FORMAT)?;
    let compression = options.get("avro.codec").unwrap_or(&options.file_compression);
    if avro.has_compression(compression) && avro.check_columns(&ctx.schema.fields).is_ok() {
        (options.file_format, options.stats_mode) = (WAITING_FORMAT.to_owned(), "none".to_owned());
    }
    Ok(Some(TableContext { options: Arc::new(options), ..ctx.clone() }))
}

/// Java finds the number of the writer behind the first `-s-`.
fn check_user(ctx: &TableContext, user: &str) -> Result<()> {
    let refused = |why: &str| {
        Error::new(
            ErrorKind::InvalidArgument,
            format!("the commit user '{user}' cannot be part of a file's name: {why}"),
        )
        .with("table", &ctx.name)
        .hint("files of tables with postponed buckets are named after their commit user: choose another name for it")
    };
    if user.contains("-s-") {
        return Err(refused("it holds '-s-', behind which the number of the writer is looked for"));
    }
    if user.is_empty() {
        return Ok(());
    }
    check_can_exist("commit user", user).map_err(|error| refused("it is no name").caused_by(error))
}

/// Why such a writer compacts nothing.
pub(super) fn cannot_compact(ctx: &TableContext) -> Error {
    Error::new(ErrorKind::InvalidArgument, "rows of a table with postponed buckets are compacted after their commit")
        .with("table", &ctx.name)
        .hint("commit, then run t.compact()")
}

/// A number from 0 to 2³¹ - 1, from the random bits of a UUID.
fn writer_id() -> u32 {
    let uuid = new_uuid();
    uuid.get(..8).and_then(|digits| u32::from_str_radix(digits, 16).ok()).unwrap_or_default() & (u32::MAX >> 1)
}

/// Writes the waiting rows of one partition, in their order.
pub(super) struct PostponedWriter {
    rows: InOrder,
    schema: SchemaRef,
    new_files: Vec<DataFileMeta>,
    /// Encoded bytes that are held at most.
    memory: Option<usize>,
}

impl PostponedWriter {
    /// `ctx`: from [`context_of_waiting_files`].
    pub(super) fn new(ctx: &TableContext, bucket: BucketId, memory: Option<usize>) -> Result<Self> {
        let mut fields = ctx.schema.fields.clone();
        fields.extend([special::sequence_number(), special::value_kind()]);
        Ok(Self { rows: InOrder::new(ctx, bucket), schema: arrow_schema(&fields)?, new_files: Vec::new(), memory })
    }

    /// Adds rows: all table columns in schema order, and one row kind for each.
    pub(super) fn write(&mut self, rows: &RecordBatch, kinds: &Int8Array) -> Result<()> {
        if rows.num_rows() == 0 {
            return Ok(());
        }
        let mut columns: Vec<ArrayRef> = rows.columns().to_vec();
        columns.push(Arc::new(Int64Array::from_value(NO_SEQUENCE_NUMBER, rows.num_rows())));
        columns.push(Arc::new(kinds.clone()));
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns)?;
        self.rows.write(&batch, || FileWriteSpec::key_value(0, FileSource::Append).within(self.memory))
    }

    /// Bytes of waiting rows, and what the encoder holds.
    pub(super) fn memory_used(&self) -> usize {
        self.rows.memory_used()
    }

    /// Writes the rows that are in memory and closes the open file.
    pub(super) fn flush(&mut self) -> Result<()> {
        self.new_files.extend(self.rows.finish()?);
        Ok(())
    }

    /// Closes the open file and hands over what came since the last call.
    pub(super) fn prepare_commit(&mut self) -> Result<(DataIncrement, CompactIncrement)> {
        self.flush()?;
        let new_files = std::mem::take(&mut self.new_files);
        Ok((DataIncrement { new_files, ..DataIncrement::default() }, CompactIncrement::default()))
    }

    /// Deletes every file written since the last [`PostponedWriter::prepare_commit`].
    pub(super) fn abort(mut self) {
        self.rows.abort(&self.new_files);
    }
}
