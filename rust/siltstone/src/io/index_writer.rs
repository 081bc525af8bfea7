//! The index of a data file that is being written.
//!
//! Source: `DataFileIndexWriter`.

use std::{collections::BTreeMap, sync::Arc};

use arrow_array::{Array, RecordBatch, cast::AsArray};

use super::{FileReadSpec, TableContext, indexed::INDEX_SUFFIX, read_data_file};
use crate::{
    error::{Error, ErrorKind, Result},
    file_index::{IndexBuilder, Indexes, encode_container},
    manifest::DataFileMeta,
    row::{Datum, datum_from_array},
    schema::{FileIndexSpec, file_indexes},
    types::{DataField, DataType, MAX_LENGTH, TypeKind},
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
        Self::of(file_indexes(&ctx.schema, &ctx.options.raw)?, &ctx.schema.fields)
    }

    /// These indexes of rows with these columns; `None`: there are none.
    fn of(specs: Vec<FileIndexSpec>, fields: &[DataField]) -> Result<Option<Self>> {
        let mut columns = Vec::new();
        for spec in specs {
            let at = fields.iter().position(|f| f.name == spec.column);
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

/// The data file with the indexes that the table's options ask for now, whatever it had; the path of an index file that was
/// written for that. Columns that the file does not have, or with another type, get none.
///
/// # Errors
/// No index file is left then.
pub fn reindexed(
    ctx: &TableContext,
    (partition, bucket): (&[u8], i32),
    file: &DataFileMeta,
) -> Result<(DataFileMeta, Option<String>)> {
    let stored =
        if file.schema_id == ctx.schema.id { Arc::clone(&ctx.schema) } else { ctx.schemas.get(file.schema_id)? };
    let (mut fields, mut specs) = (Vec::new(), Vec::new());
    for spec in file_indexes(&ctx.schema, &ctx.options.raw)? {
        let Some(field) = ctx.schema.field(&spec.column) else { continue };
        let same = |old: &&DataField| old.id == field.id && old.data_type.kind == field.data_type.kind;
        // in a container columns have the names of the file
        let Some(old) = stored.fields.iter().find(same) else { continue };
        specs.push(FileIndexSpec { column: old.name.clone(), ..spec });
        if !fields.iter().any(|f: &DataField| f.id == field.id) {
            fields.push(field.clone());
        }
    }
    let names: Vec<DataField> =
        fields.iter().filter_map(|field| stored.fields.iter().find(|old| old.id == field.id).cloned()).collect();
    let written = match IndexWriter::of(specs, &names)? {
        Some(mut index) => {
            for batch in read_data_file(ctx, partition, bucket, file, &FileReadSpec::new(fields))? {
                index.add(&batch?)?;
            }
            index.finish(&file.file_name, ctx.options.file_index_in_manifest_threshold)?
        }
        None => WrittenIndex::default(),
    };
    let (indexes, mut extra_files): (Vec<_>, Vec<_>) =
        file.extra_files.iter().cloned().partition(|name| name.ends_with(INDEX_SUFFIX));
    let mut path = None;
    if let Some((first, bytes)) = written.beside {
        let directory = ctx.paths.data_file(partition, bucket, file)?;
        let directory = directory.rsplit_once('/').map_or("", |(directory, _)| directory);
        let mut name = indexes.first().map_or(first, |old| next_name(old));
        while ctx.fs.is_file(&format!("{directory}/{name}"))? {
            name = next_name(&name);
        }
        let new = format!("{directory}/{name}");
        ctx.fs.write_new(&new, &bytes, ctx.options.sync)?;
        extra_files.push(name);
        path = Some(new);
    }
    Ok((DataFileMeta { extra_files, embedded_file_index: written.embedded, ..file.clone() }, path))
}

/// `a.parquet.index`, `a.parquet-1.index`, `a.parquet-2.index` (format chapter 1.2).
fn next_name(name: &str) -> String {
    let stem = name.strip_suffix(INDEX_SUFFIX).unwrap_or(name);
    let (before, number) = match stem.rsplit_once('-') {
        Some((before, digits)) if digits.bytes().all(|b| b.is_ascii_digit()) => (before, digits.parse::<u64>().ok()),
        _ => (stem, None),
    };
    match number {
        Some(number) => format!("{before}-{}{INDEX_SUFFIX}", number.saturating_add(1)),
        None => format!("{stem}-1{INDEX_SUFFIX}"),
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

#[cfg(test)]
mod tests {
    use super::next_name;

    #[test]
    fn indexes_that_are_made_again_have_the_next_number() {
        for (old, new) in [
            ("data-1b-0.parquet.index", "data-1b-0.parquet-1.index"),
            ("data-1b-0.parquet-1.index", "data-1b-0.parquet-2.index"),
            ("x.index", "x-1.index"),
        ] {
            assert_eq!(next_name(old), new);
        }
    }
}
