//! Files of one bucket read in the order of their rows and written again.

use std::thread;

use arrow_array::RecordBatch;
use crossbeam_channel::{Receiver, Sender, bounded};

use crate::{
    cancel,
    deletion_vectors::DeletionMap,
    error::{Error, ErrorKind, Result},
    io::{FileReadSpec, FileWriteSpec, RollingWriter, TableContext, check_rewritable, read_data_file},
    manifest::{BucketId, DataFileMeta, FileSource},
    threads::not_started,
};

/// Batches decoded ahead of the encoder.
const READ_AHEAD: usize = 4;

/// Writes the rows of `files`, without those that `deletions` deletes, into new ones, under the table's schema as it was opened.
/// Rows that have ids keep them, and their versions.
/// With `threads` of two or more the next rows are decoded while the last ones are encoded. An error leaves no new file behind.
///
/// # Errors
/// `CommitConflict` when files know columns or values that this schema does not have. Those of reading and writing.
pub fn rewrite(
    ctx: &TableContext,
    bucket: &BucketId,
    files: &[DataFileMeta],
    deletions: &DeletionMap,
    threads: usize,
) -> Result<Vec<DataFileMeta>> {
    check_rewritable(ctx, files.iter())?;
    let ctx = &ctx.with_row_ids();
    let mut files = files.to_vec();
    files.sort_by_key(|f| f.min_sequence_number);
    let Some(first) = files.first() else {
        return Ok(Vec::new());
    };
    let spec = FileWriteSpec::append(first.min_sequence_number, FileSource::Compact);
    let mut writer = RollingWriter::new(ctx, &bucket.partition, bucket.bucket, spec)?;
    let copied = if threads > 1 {
        copy_in_parallel(ctx, bucket, &files, deletions, &mut writer)
    } else {
        read_rows(ctx, bucket, &files, deletions, &mut |batch| writer.write(&batch))
    };
    match copied {
        Ok(()) => writer.finish(),
        Err(error) => {
            writer.abort();
            Err(error)
        }
    }
}

fn copy_in_parallel(
    ctx: &TableContext,
    bucket: &BucketId,
    files: &[DataFileMeta],
    deletions: &DeletionMap,
    writer: &mut RollingWriter,
) -> Result<()> {
    thread::scope(|scope| {
        let (sender, receiver): (Sender<Result<RecordBatch>>, Receiver<_>) = bounded(READ_AHEAD);
        let token = cancel::current();
        let read = move || {
            let stopped = || Error::new(ErrorKind::Cancelled, "the writer stopped");
            let mut send = |batch| sender.send(Ok(batch)).map_err(|_| stopped());
            let result = read_rows(ctx, bucket, files, deletions, &mut send);
            if let Err(error) = result {
                // nobody listens any more when the writer failed first
                drop(sender.send(Err(error)));
            }
        };
        let reader = thread::Builder::new().spawn_scoped(scope, move || token.run(read));
        reader.map_err(|e| not_started("read the files that are rewritten").caused_by(e))?;
        while let Some(batch) = cancel::wait(&receiver)? {
            writer.write(&batch?)?;
        }
        Ok(())
    })
}

/// Gives the rows of files, one after another, without those that `deletions` deletes: all columns of `ctx`.
pub fn read_rows(
    ctx: &TableContext,
    bucket: &BucketId,
    files: &[DataFileMeta],
    deletions: &DeletionMap,
    sink: &mut dyn FnMut(RecordBatch) -> Result<()>,
) -> Result<()> {
    for file in files {
        let deletions = deletions.get(&file.file_name).cloned();
        let spec = FileReadSpec { deletions, ..FileReadSpec::new(ctx.schema.fields.clone()) };
        for batch in read_data_file(ctx, &bucket.partition, bucket.bucket, file, &spec)? {
            sink(batch?)?;
        }
    }
    Ok(())
}
