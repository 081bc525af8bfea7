//! Files that nothing refers to.

use super::TableContext;
use crate::manifest::DataFileMeta;

/// Deletes a data file and its extra files; a failure is logged, because nothing refers to them.
pub fn delete_unused(ctx: &TableContext, partition: &[u8], bucket: i32, file: &DataFileMeta) {
    let paths = ctx.paths.data_file(partition, bucket, file).and_then(|data| {
        let mut all = ctx.paths.extra_files(partition, bucket, file)?;
        all.push(data);
        Ok(all)
    });
    let deleted = paths.and_then(|all| all.iter().try_for_each(|path| ctx.fs.delete(path)));
    if let Err(error) = deleted {
        tracing::warn!(file = file.file_name, %error, "a file that nothing refers to could not be deleted");
    }
}
