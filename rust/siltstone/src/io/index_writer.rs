//! The index of a data file that is being written.
//!
//! Source: `DataFileIndexWriter`.

use std::collections::BTreeMap;

use arrow_array::{Array, RecordBatch, cast::AsArray};

use super::TableContext;
use crate::{
    error::{Error, ErrorKind, Result},
    file_index::{IndexBuilder, Indexes, encode_container},
    row::{Datum, datum_from_array},
    schema::{FileIndexSpec, file_indexes},
    types::{DataType, MAX_LENGTH, TypeKind},
};

/// Builds the indexes of one file.
pub(super) struct IndexWriter {
    columns: Vec<Indexed>,
}

/// One index.
struct Indexed {
    spec: FileIndexSpec,
    /// Position of its column among those of the table.
    at: usize,
    builder: IndexBuilder,
}

/// Where the indexes of a file are.
#[derive(Debug, Default)]
pub(super) struct WrittenIndex {
    /// `_EMBEDDED_FILE_INDEX`
    pub(super) embedded: Option<Vec<u8>>,
    /// A file beside the data file: name and content.
    pub(super) beside: Option<(String, Vec<u8>)>,
}

impl IndexWriter {
    /// For files of a table; `None`: they have no indexes.
    pub(super) fn new(ctx: &TableContext) -> Result<Option<Self>> {
        let mut columns = Vec::new();
        for spec in file_indexes(&ctx.schema, &ctx.options.raw)? {
            let at = ctx.schema.fields.iter().position(|f| f.name == spec.column);
            let at = at.ok_or_else(|| Error::new(ErrorKind::Internal, "an index of no column"))?;
            let builder = IndexBuilder::new(spec.kind, &spec.data_type, &spec.settings)?;
            columns.push(Indexed { spec, at, builder });
        }
        Ok((!columns.is_empty()).then_some(Self { columns }))
    }

    /// Takes rows in; a batch has the columns of the table first.
    pub(super) fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        for Indexed { spec, at, builder } in &mut self.columns {
            let column = batch.columns().get(*at).ok_or_else(|| Error::new(ErrorKind::Internal, "no such column"))?;
            for row in 0..batch.num_rows() {
                let value = match &spec.key {
                    None => datum_from_array(column.as_ref(), row, &spec.data_type),
                    Some(key) => value_of_key(column.as_ref(), row, key, &spec.data_type),
                };
                builder.add(&value.map_err(|e| e.with("column", &spec.column))?);
            }
        }
        Ok(())
    }

    /// Memory that is held.
    pub(super) fn memory_used(&self) -> usize {
        self.columns.iter().map(|column| column.builder.memory_used()).sum()
    }

    /// The indexes of the data file of this name, embedded where the container has at most `threshold` bytes.
    pub(super) fn finish(self, data_file: &str, threshold: u64) -> Result<WrittenIndex> {
        let mut columns: BTreeMap<String, Indexes<'_>> = BTreeMap::new();
        for Indexed { spec, builder, .. } in self.columns {
            let kind = builder.kind().name();
            // what no map has is told without an index
            if spec.key.is_some() && !builder.has_value() {
                columns.entry(spec.name()).or_default().push((kind, None));
            } else if let Some(bytes) = builder.finish()? {
                columns.entry(spec.name()).or_default().push((kind, Some(bytes)));
            }
        }
        let columns: Vec<_> = columns.iter().map(|(name, indexes)| (name.as_str(), indexes.clone())).collect();
        let bytes = encode_container(&columns)?;
        Ok(if bytes.len() as u64 > threshold {
            WrittenIndex { beside: Some((format!("{data_file}.index"), bytes)), ..WrittenIndex::default() }
        } else {
            WrittenIndex { embedded: Some(bytes), ..WrittenIndex::default() }
        })
    }
}

/// The value that a map has for a key; null where it has none.
fn value_of_key(column: &dyn Array, row: usize, key: &str, value_type: &DataType) -> Result<Datum> {
    let map = column.as_map_opt().ok_or_else(|| Error::new(ErrorKind::Internal, "an index of keys of no map"))?;
    if map.is_null(row) {
        return Ok(Datum::Null);
    }
    let entries = map.value(row);
    let (Some(keys), Some(values)) = (entries.columns().first(), entries.columns().get(1)) else {
        return Err(Error::new(ErrorKind::Internal, "a map without keys and values"));
    };
    let text = DataType::new(TypeKind::VarChar(MAX_LENGTH));
    for at in 0..entries.len() {
        if matches!(datum_from_array(keys.as_ref(), at, &text)?, Datum::String(found) if found == key) {
            return datum_from_array(values.as_ref(), at, value_type);
        }
    }
    Ok(Datum::Null)
}
