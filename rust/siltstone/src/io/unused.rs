//! Files that nothing refers to. That one cannot be deleted is logged, no error: orphan cleaning finds it.

use super::TableContext;
use crate::{
    error::Result,
    manifest::{BucketId, CompactIncrement, DataFileMeta, DataIncrement, IndexManifestEntry},
};

/// Deletes a data file and its extra files.
pub fn delete_unused(ctx: &TableContext, partition: &[u8], bucket: i32, file: &DataFileMeta) {
    if let Err(error) = delete_data_file(ctx, partition, bucket, file) {
        tracing::warn!(file = file.file_name, %error, "an unused file was not deleted");
    }
}

/// Deletes what a writer has made and will not be committed.
pub fn delete_written(ctx: &TableContext, bucket: &BucketId, increment: &DataIncrement) {
    increment.made().for_each(|file| delete_unused(ctx, &bucket.partition, bucket.bucket, file));
    increment.made_indexes().for_each(|entry| delete_unused_index(ctx, entry));
}

/// Deletes what a compaction has made and will not be committed.
pub fn delete_compacted(ctx: &TableContext, bucket: &BucketId, increment: &CompactIncrement) {
    increment.made().for_each(|file| delete_unused(ctx, &bucket.partition, bucket.bucket, file));
    increment.made_indexes().for_each(|entry| delete_unused_index(ctx, entry));
}

/// Deletes an index file.
pub fn delete_unused_index(ctx: &TableContext, entry: &IndexManifestEntry) {
    if let Err(error) = ctx.paths.index_file_of(entry).and_then(|path| ctx.fs.delete(&path)) {
        tracing::warn!(file = entry.file_name, %error, "an unused index file was not deleted");
    }
}

/// Deletes the extra files of a data file, and then the file.
///
/// # Errors
/// Storage errors.
pub fn delete_data_file(ctx: &TableContext, partition: &[u8], bucket: i32, file: &DataFileMeta) -> Result<()> {
    for extra in ctx.paths.extra_files(partition, bucket, file)? {
        ctx.fs.delete(&extra)?;
    }
    ctx.fs.delete(&ctx.paths.data_file(partition, bucket, file)?)
}
