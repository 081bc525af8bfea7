//! The index of a data file that is being written.
//!
//! Source: `DataFileIndexWriter`.

use std::{collections::BTreeMap, sync::Arc};

use arrow_array::{Array, RecordBatch, cast::AsArray};

use super::{
    FileReadSpec, TableContext,
    indexed::{INDEX_SUFFIX, IndexOfFile, index_of_file},
    read_data_file,
};
use crate::{
    error::{Error, ErrorKind, Result},
    file_index::{IndexBuilder, IndexPlace, Indexes, encode_container},
    manifest::{DataFileFields, DataFileMeta},
    row::{Datum, datum_from_array},
    schema::{FileIndexSpec, file_indexes},
    types::{DataField, DataType, MAX_LENGTH, TypeKind},
};

/// Builds the indexes of one file.
pub(super) struct IndexWriter {
    columns: Vec<Indexed>,
    /// Memory that they may take while they are built.
    room: usize,
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
    /// For files of a table; `None`: they have no indexes. `room`: memory that all of them may take, else as much as the write
    /// buffer. A column for whose values there is no room has no index in this file.
    pub(super) fn new(ctx: &TableContext, room: Option<usize>) -> Result<Option<Self>> {
        Self::of(file_indexes(&ctx.schema, &ctx.options.raw)?, &ctx.schema.fields, room.unwrap_or_else(|| room_of(ctx)))
    }

    /// These indexes of rows with these columns; `None`: there are none.
    fn of(specs: Vec<FileIndexSpec>, fields: &[DataField], room: usize) -> Result<Option<Self>> {
        let (mut columns, mut used) = (Vec::new(), 0_usize);
        for spec in specs {
            let at = fields.iter().position(|f| f.name == spec.column);
            let at = at.ok_or_else(|| Error::new(ErrorKind::Internal, "an index of no column"))?;
            let builder = IndexBuilder::new(spec.kind, &spec.data_type, &spec.settings, room.saturating_sub(used))?;
            used = used.saturating_add(builder.memory_used());
            if builder.is_given_up() {
                too_large(&spec);
            }
            columns.push(Indexed { spec, at, builder });
        }
        Ok((!columns.is_empty()).then_some(Self { columns, room }))
    }

    /// Takes rows in; a batch has the columns of the table first.
    pub(super) fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        let mut used = self.memory_used();
        for Indexed { spec, at, builder } in &mut self.columns {
            let column = batch.columns().get(*at).ok_or_else(|| Error::new(ErrorKind::Internal, "no such column"))?;
            let others = used.saturating_sub(builder.memory_used());
            for row in 0..batch.num_rows() {
                let value = match &spec.key {
                    None => datum_from_array(column.as_ref(), row, &spec.data_type),
                    Some(key) => value_of_key(column.as_ref(), row, key, &spec.data_type),
                };
                builder.add(&value.map_err(|e| e.with("column", &spec.column))?);
                if !builder.is_given_up() && others.saturating_add(builder.memory_used()) > self.room {
                    too_large(spec);
                    builder.give_up();
                }
            }
            used = others.saturating_add(builder.memory_used());
        }
        Ok(())
    }

    /// Memory that is held.
    pub(super) fn memory_used(&self) -> usize {
        self.columns.iter().map(|column| column.builder.memory_used()).sum()
    }

    /// The indexes of the data file of this name, embedded where the container has at most `threshold` bytes.
    pub(super) fn finish(self, data_file: &str, threshold: u64) -> Result<WrittenIndex> {
        let bytes = encode_container(&self.indexes()?, &[])?;
        Ok(WrittenIndex::of(bytes, format!("{data_file}{INDEX_SUFFIX}"), threshold))
    }

    /// By column, or key of a map.
    fn indexes(self) -> Result<BTreeMap<String, Indexes<'static>>> {
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
        Ok(columns)
    }
}

impl WrittenIndex {
    fn of(container: Vec<u8>, file: String, threshold: u64) -> Self {
        if container.len() as u64 > threshold {
            Self { beside: Some((file, container)), embedded: None }
        } else {
            Self { embedded: Some(container), beside: None }
        }
    }
}

fn too_large(spec: &FileIndexSpec) {
    let (column, kind) = (spec.name(), spec.kind.name());
    tracing::warn!(column, kind, "a file gets no such index: its values would take too much memory");
}

fn room_of(ctx: &TableContext) -> usize {
    usize::try_from(ctx.options.write_buffer_size).unwrap_or(usize::MAX)
}

/// The data file with the indexes that the table's options ask for now, whatever it had; the path of an index file that was
/// written for that. Columns that the file does not have, or with another type, get none.
///
/// Entries of manifests are told apart by their index, too, and readers take a deletion for one of all entries that are the
/// same (`FileEntry.Identifier`). So no file ever gets back an index that it has had: what is embedded has an id where nobody
/// looks, also a container without any index, and files have new names.
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
        let Some(old) = stored.fields.iter().find(same).filter(|old| file.has_column(&old.name)) else { continue };
        specs.push(FileIndexSpec { column: old.name.clone(), ..spec });
        if !fields.iter().any(|f: &DataField| f.id == field.id) {
            fields.push(field.clone());
        }
    }
    let names: Vec<DataField> =
        fields.iter().filter_map(|field| stored.fields.iter().find(|old| old.id == field.id).cloned()).collect();
    let indexes = match IndexWriter::of(specs, &names, room_of(ctx))? {
        Some(mut index) => {
            for batch in read_data_file(ctx, partition, bucket, file, &FileReadSpec::new(fields))? {
                index.add(&batch?)?;
            }
            index.indexes()?
        }
        None => BTreeMap::new(),
    };
    // no index is never a file
    let threshold = if indexes.is_empty() { u64::MAX } else { ctx.options.file_index_in_manifest_threshold };
    let known = index_of_file(ctx, partition, bucket, file)?;
    if has_these(known.as_ref(), &indexes, threshold)? {
        return Ok((file.clone(), None));
    }
    let id = uuid::Uuid::new_v4();
    let container = encode_container(&indexes, id.as_bytes())?;
    let (old, mut extra_files): (Vec<_>, Vec<_>) =
        file.extra_files.iter().cloned().partition(|name| name.ends_with(INDEX_SUFFIX));
    let name = new_name(old.first().unwrap_or(&file.file_name), id);
    let written = WrittenIndex::of(container, name, threshold);
    let mut path = None;
    if let Some((name, bytes)) = written.beside {
        let directory = ctx.paths.data_file(partition, bucket, file)?;
        let new = format!("{}/{name}", directory.rsplit_once('/').map_or("", |(directory, _)| directory));
        ctx.fs.write_new_unsynced(&new, &bytes, ctx.options.sync)?;
        extra_files.push(name);
        path = Some(new);
    }
    Ok((
        DataFileFields { extra_files, embedded_file_index: written.embedded, ..DataFileFields::clone(file) }.into(),
        path,
    ))
}

/// Whether a file has these indexes already, and where they belong.
fn has_these(known: Option<&IndexOfFile>, wanted: &BTreeMap<String, Indexes<'_>>, threshold: u64) -> Result<bool> {
    let Some(known) = known else { return Ok(wanted.is_empty()) };
    if known.path.is_none() != (known.size <= threshold) || known.index.columns().len() != wanted.len() {
        return Ok(false);
    }
    for (name, indexes) in wanted {
        let Some(places) = known.index.columns().get(name).filter(|places| places.len() == indexes.len()) else {
            return Ok(false);
        };
        for (kind, bytes) in indexes {
            let same = match (places.get(*kind), bytes) {
                (Some(IndexPlace::NoValue), None) => true,
                (Some(IndexPlace::At { start, length }), Some(bytes)) if *length == bytes.len() as u64 => {
                    known.index.bytes(*start, *length)? == *bytes
                }
                _ => false,
            };
            if !same {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// Indexes that are made again have names with a number (format chapter 1.2): `a.parquet-<n>.index`.
fn new_name(name: &str, id: uuid::Uuid) -> String {
    let stem = name.strip_suffix(INDEX_SUFFIX).unwrap_or(name);
    let (before, number) = stem.rsplit_once('-').unwrap_or((stem, ""));
    let is_numbered = name.ends_with(INDEX_SUFFIX) && !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    // Java counts on from it: there is room
    let number = id.as_u128() % (1 << 30);
    format!("{}-{number}{INDEX_SUFFIX}", if is_numbered { before } else { stem })
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
    use super::new_name;

    #[test]
    fn indexes_that_are_made_again_have_another_number() {
        let id = uuid::Uuid::from_u128(7);
        for (old, new) in [
            ("data-1b-0.parquet", "data-1b-0.parquet-7.index"),
            ("data-1b-0.parquet.index", "data-1b-0.parquet-7.index"),
            ("data-1b-0.parquet-1.index", "data-1b-0.parquet-7.index"),
            ("x.index", "x-7.index"),
        ] {
            assert_eq!(new_name(old, id), new);
        }
    }
}
