//! What the index of a data file says of a condition.

use bytes::Bytes;

use super::TableContext;
use crate::{
    error::{Error, Result},
    file_index::{Candidates, FileIndex, candidates, is_empty_container},
    manifest::DataFileMeta,
    predicate::{Predicate, key_and_value},
    types::DataField,
};

/// End of the names of index files.
pub(super) const INDEX_SUFFIX: &str = ".index";

/// The index of a data file.
#[derive(Debug)]
pub struct IndexOfFile {
    /// Its container.
    pub index: FileIndex,
    /// Where it is a file of its own.
    pub path: Option<String>,
    /// Bytes of the container.
    pub size: u64,
}

/// Whether a data file has an index.
pub fn has_index(file: &DataFileMeta) -> bool {
    let embedded = file.embedded_file_index.as_ref();
    embedded.is_some_and(|bytes| !is_empty_container(bytes))
        || file.extra_files.iter().any(|name| name.ends_with(INDEX_SUFFIX))
}

/// The index of a data file: the one in its entry, else the file beside it; `None`: it has none.
///
/// # Errors
/// `CorruptFile`: it is none, or there are several.
pub fn index_of_file(
    ctx: &TableContext,
    partition: &[u8],
    bucket: i32,
    file: &DataFileMeta,
) -> Result<Option<IndexOfFile>> {
    if let Some(embedded) = embedded_index(ctx, file)? {
        return Ok(Some(embedded));
    }
    if !file.extra_files.iter().any(|name| name.ends_with(INDEX_SUFFIX)) {
        return Ok(None);
    }
    let paths = ctx.paths.extra_files(partition, bucket, file)?;
    let mut paths = paths.into_iter().filter(|path| path.ends_with(INDEX_SUFFIX));
    match (paths.next(), paths.next()) {
        (Some(path), None) => {
            let opened = ctx.fs.open(&path)?;
            let size = opened.size()?;
            let index = FileIndex::open(opened).map_err(|e| e.with("table", &ctx.name))?;
            Ok(Some(IndexOfFile { index, path: Some(path), size }))
        }
        (_, Some(second)) => {
            let e = Error::corrupt(&file.file_name, 0, "one index file in _EXTRA_FILES", format!("also {second}"));
            Err(e.with("table", &ctx.name))
        }
        (None, None) => Ok(None),
    }
}

fn embedded_index(ctx: &TableContext, file: &DataFileMeta) -> Result<Option<IndexOfFile>> {
    let Some(bytes) = &file.embedded_file_index else { return Ok(None) };
    let what = format!("_EMBEDDED_FILE_INDEX of {}", file.file_name);
    let index = FileIndex::embedded(&what, Bytes::copy_from_slice(bytes));
    let index = index.map_err(|e| e.with("table", &ctx.name))?;
    Ok(Some(IndexOfFile { index, path: None, size: bytes.len() as u64 }))
}

/// Rows that may match by the index in the manifest entry. `file_fields`: of the schema that the file was written with.
pub(crate) fn by_embedded_index(
    ctx: &TableContext,
    file: &DataFileMeta,
    file_fields: &[DataField],
    condition: &Predicate,
) -> Result<Candidates> {
    let found = if ctx.options.file_index_read_enabled { embedded_index(ctx, file)? } else { None };
    asked(ctx, found.as_ref(), file, file_fields, condition)
}

/// Rows that may match by the index of the file, wherever it is.
pub(super) fn by_any_index(
    ctx: &TableContext,
    (partition, bucket): (&[u8], i32),
    file: &DataFileMeta,
    file_fields: &[DataField],
    condition: &Predicate,
) -> Result<Candidates> {
    let enabled = ctx.options.file_index_read_enabled;
    let found = if enabled { index_of_file(ctx, partition, bucket, file)? } else { None };
    asked(ctx, found.as_ref(), file, file_fields, condition)
}

fn asked(
    ctx: &TableContext,
    found: Option<&IndexOfFile>,
    file: &DataFileMeta,
    file_fields: &[DataField],
    condition: &Predicate,
) -> Result<Candidates> {
    let Some(found) = found else { return Ok(Candidates::All) };
    // of a column that had another type the index has other values
    let stored = |column: &str| {
        let wanted = ctx.schema.field(column)?;
        file_fields.iter().find(|f| f.id == wanted.id && f.data_type.kind == wanted.data_type.kind)
    };
    let is_shared = |name: &str| file_fields.iter().filter(|field| gives_name(field, name)).count() > 1;
    candidates(&found.index, condition, file.row_count, &stored, &is_shared).map_err(|e| e.with("table", &ctx.name))
}

/// Whether an index of a column, or of a key of it, may have this name in a container.
fn gives_name(field: &DataField, name: &str) -> bool {
    match name.strip_prefix(field.name.as_str()) {
        Some("") => true,
        Some(rest) => key_and_value(&field.data_type).is_some() && rest.starts_with('[') && rest.ends_with(']'),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::parse_type;

    /// The index of the column `x[k]` was asked for the key `k` of the map `x`, and its rows were lost.
    #[test]
    fn names_of_indexes_may_be_those_of_columns_and_of_keys_of_maps() {
        let field = |name: &str, kind: &str| DataField::new(0, name, parse_type(kind).unwrap());
        let map = field("x", "MAP<STRING, INT>");
        assert!(gives_name(&map, "x[k]") && gives_name(&map, "x[a[b]") && !gives_name(&map, "xy[k]"));
        assert!(gives_name(&field("x[k]", "INT"), "x[k]") && gives_name(&field("x[a", "MAP<STRING, INT>"), "x[a[b]"));
        assert!(!gives_name(&field("x", "INT"), "x[k]"));
    }
}
