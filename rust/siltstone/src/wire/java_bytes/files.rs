//! `DataFileMeta` and `IndexFileMeta` as rows.
//!
//! ```text
//! DataFileMeta   20 fields, in the order of the manifest's _FILE record (format chapter 4.3);
//!                keys and statistics rows as bytes with their arity in front
//! IndexFileMeta  _INDEX_TYPE _FILE_NAME _FILE_SIZE _ROW_COUNT _DELETIONS_VECTORS_RANGES _EXTERNAL_PATH _GLOBAL_INDEX
//! on the wire    int size of the row, then the row; a list has its int count in front
//! ```
//!
//! Source: `DataFileMetaSerializer`, `IndexFileMetaSerializer`, `ObjectSerializer` of release 1.4.2.

use super::{
    data::{DataInput, DataOutput},
    layout::{Builder, View},
};
use crate::{
    error::{Error, Result},
    fs::{check_external_path, check_file_name},
    manifest::{
        BucketId, DataFileFields, DataFileMeta, DeletionVectorRange, EntryKind, FileSource, IndexManifestEntry,
    },
    stats::{SimpleStats, StatsFields},
};

const DATA_FILE_FIELDS: usize = 20;
const INDEX_FILE_FIELDS: usize = 7;
const STATS_FIELDS: usize = 3;
const RANGE_FIELDS: usize = 4;

pub(super) fn write_data_files(out: &mut DataOutput, files: &[DataFileMeta]) -> Result<()> {
    out.len(files.len())?;
    files.iter().try_for_each(|file| out.bytes(&data_file_row(file)))
}

pub(super) fn read_data_files(input: &mut DataInput<'_>) -> Result<Vec<DataFileMeta>> {
    let len = input.len()?;
    (0..len).map(|_| data_file(input.bytes()?)).collect()
}

/// The files of one kind (ADD: new index files, DELETE: deleted ones). All must be of the message's bucket.
pub(super) fn write_index_files(
    out: &mut DataOutput,
    bucket: &BucketId,
    entries: &[IndexManifestEntry],
    kind: EntryKind,
) -> Result<()> {
    let chosen: Vec<_> = entries.iter().filter(|entry| entry.kind == kind).collect();
    out.len(chosen.len())?;
    for entry in chosen {
        if entry.partition != bucket.partition || entry.bucket != bucket.bucket {
            let text = "an index file of another bucket cannot travel in this message";
            return Err(Error::new(crate::ErrorKind::Internal, text).with("file", &entry.file_name));
        }
        if entry.global_index.is_some() {
            return Err(Error::unsupported("global indexes in commit messages").with("file", &entry.file_name));
        }
        out.bytes(&index_file_row(entry))?;
    }
    Ok(())
}

pub(super) fn read_index_files(
    input: &mut DataInput<'_>,
    bucket: &BucketId,
    kind: EntryKind,
) -> Result<Vec<IndexManifestEntry>> {
    let len = input.len()?;
    (0..len).map(|_| index_file(input.bytes()?, bucket, kind)).collect()
}

fn stats_row(row: &mut Builder, stats: &SimpleStats) {
    let mut nested = Builder::row(STATS_FIELDS);
    nested.binary(&stats.min_values).binary(&stats.max_values);
    nested.list(&stats.null_counts, |array, count| {
        array.option(*count, |array, count| {
            array.long(count);
        });
    });
    row.nested(&nested.finish());
}

fn stats(row: &View<'_>, i: usize) -> Result<SimpleStats> {
    let nested = row.nested_row(i, STATS_FIELDS)?;
    Ok(StatsFields {
        min_values: nested.binary(0)?.to_vec(),
        max_values: nested.binary(1)?.to_vec(),
        null_counts: nested.list(2, |array, at| array.option(at, View::long))?,
    }
    .into())
}

fn put_long(row: &mut Builder, value: i64) {
    row.long(value);
}

fn put_text(row: &mut Builder, value: &String) {
    row.binary(value.as_bytes());
}

fn put_texts(row: &mut Builder, values: &[String]) {
    row.strings(values);
}

fn data_file_row(file: &DataFileMeta) -> Vec<u8> {
    let mut row = Builder::row(DATA_FILE_FIELDS);
    row.binary(file.file_name.as_bytes()).long(file.file_size).long(file.row_count);
    row.binary(&file.min_key).binary(&file.max_key);
    stats_row(&mut row, &file.key_stats);
    stats_row(&mut row, &file.value_stats);
    row.long(file.min_sequence_number).long(file.max_sequence_number).long(file.schema_id).int(file.level);
    row.strings(&file.extra_files).option(file.creation_time, put_long).option(file.delete_row_count, put_long);
    row.option(file.embedded_file_index.as_ref(), |row, bytes| {
        row.binary(bytes);
    });
    row.option(file.file_source, |row, source| {
        row.byte(source as u8);
    });
    row.option(file.value_stats_cols.as_deref(), put_texts).option(file.external_path.as_ref(), put_text);
    row.option(file.first_row_id, put_long).option(file.write_cols.as_deref(), put_texts);
    row.finish()
}

fn data_file(bytes: &[u8]) -> Result<DataFileMeta> {
    let row = View::row("data file meta", bytes, DATA_FILE_FIELDS)?;
    let source = match row.option(15, View::byte)? {
        None => None,
        Some(0) => Some(FileSource::Append),
        Some(1) => Some(FileSource::Compact),
        Some(other) => return Err(Error::corrupt("data file meta", 0, "file source 0 or 1", other)),
    };
    let file = DataFileFields {
        file_name: file_name(&row, 0)?,
        file_size: row.long(1)?,
        row_count: row.long(2)?,
        min_key: row.binary(3)?.to_vec(),
        max_key: row.binary(4)?.to_vec(),
        key_stats: stats(&row, 5)?,
        value_stats: stats(&row, 6)?,
        min_sequence_number: row.long(7)?,
        max_sequence_number: row.long(8)?,
        schema_id: row.long(9)?,
        level: row.int(10)?,
        extra_files: extra_files(&row)?,
        creation_time: row.option(12, View::long)?,
        delete_row_count: row.option(13, View::long)?,
        embedded_file_index: row.option(14, View::binary)?.map(<[u8]>::to_vec),
        file_source: source,
        value_stats_cols: row.option(16, View::strings)?.map(Into::into),
        external_path: row.option(17, external_path)?,
        first_row_id: row.option(18, View::long)?,
        write_cols: row.option(19, View::strings)?.map(Into::into),
    };
    match file.wrong_number() {
        Some((field, number)) => {
            Err(Error::corrupt("data file meta", 0, format!("a '{field}' that can be true"), number))
        }
        None => Ok(file.into()),
    }
}

/// Names and paths come from another process: they are checked as those of manifests.
fn file_name(row: &View<'_>, i: usize) -> Result<String> {
    let name = row.string(i)?;
    check_file_name("_FILE_NAME", &name)?;
    Ok(name)
}

fn extra_files(row: &View<'_>) -> Result<Vec<String>> {
    let names = row.strings(11)?;
    names.iter().try_for_each(|name| check_file_name("_EXTRA_FILES", name))?;
    Ok(names)
}

fn external_path(row: &View<'_>, i: usize) -> Result<String> {
    let path = row.string(i)?;
    check_external_path(&path)?;
    Ok(path)
}

fn index_file_row(entry: &IndexManifestEntry) -> Vec<u8> {
    let mut row = Builder::row(INDEX_FILE_FIELDS);
    row.binary(entry.index_type.as_bytes()).binary(entry.file_name.as_bytes());
    row.long(entry.file_size).long(entry.row_count);
    row.option(entry.deletion_vectors.as_ref(), |row, ranges| {
        row.list(ranges, |array, range| {
            array.nested(&range_row(range));
        });
    });
    row.option(entry.external_path.as_ref(), put_text).null();
    row.finish()
}

fn range_row(range: &DeletionVectorRange) -> Vec<u8> {
    let mut row = Builder::row(RANGE_FIELDS);
    row.binary(range.data_file_name.as_bytes()).int(range.offset).int(range.length);
    row.option(range.cardinality, put_long);
    row.finish()
}

fn index_file(bytes: &[u8], bucket: &BucketId, kind: EntryKind) -> Result<IndexManifestEntry> {
    let row = View::row("index file meta", bytes, INDEX_FILE_FIELDS)?;
    let file_name = file_name(&row, 1)?;
    if !row.is_null(6) {
        return Err(Error::unsupported("global indexes in commit messages").with("file", file_name));
    }
    Ok(IndexManifestEntry {
        kind,
        partition: bucket.partition.clone(),
        bucket: bucket.bucket,
        index_type: row.string(0)?,
        file_name,
        file_size: row.long(2)?,
        row_count: row.long(3)?,
        deletion_vectors: row.option(4, |row, i| row.list(i, range))?,
        external_path: row.option(5, external_path)?,
        global_index: None,
    })
}

fn range(array: &View<'_>, at: usize) -> Result<DeletionVectorRange> {
    let row = array.nested_row(at, RANGE_FIELDS)?;
    Ok(DeletionVectorRange {
        data_file_name: file_name(&row, 0)?,
        offset: row.int(1)?,
        length: row.int(2)?,
        cardinality: row.option(3, View::long)?,
    })
}
