//! Reading one data file under its own schema.

use super::{BatchStream, FileReadSpec, TableContext};
use crate::{Error, ErrorKind, Result, manifest::DataFileMeta};

/// Reads a data file of a bucket: columns found under the file's own schema, mapped by field id, cast
/// to the wanted types, null where the file has no such column.
pub fn read_data_file(
    _ctx: &TableContext,
    _partition: &[u8],
    _bucket: i32,
    _file: &DataFileMeta,
    _spec: &FileReadSpec,
) -> Result<BatchStream> {
    Err(Error::new(ErrorKind::Internal, "not yet"))
}
