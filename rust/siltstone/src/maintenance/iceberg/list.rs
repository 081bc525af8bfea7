//! Iceberg's manifest lists.
//!
//! Source: `IcebergManifestFileMeta`.

use super::{
    manifest::{Listed, Status},
    value::bytes_of,
};
use crate::{
    error::{Error, Result},
    format::avro::{Compression, ContainerReader, ContainerWriter, Cursor, Encoder, WriterType},
    limits::sum,
    row::{Datum, compare_datums},
    types::DataField,
};

const SCHEMA: &str = r#"{"type":"record","name":"manifest_file","fields":[{"name":"manifest_path","type":"string","field-id":500},{"name":"manifest_length","type":"long","field-id":501},{"name":"partition_spec_id","type":"int","field-id":502},{"name":"content","type":"int","field-id":517},{"name":"sequence_number","type":"long","field-id":515},{"name":"min_sequence_number","type":"long","field-id":516},{"name":"added_snapshot_id","type":["null","long"],"default":null,"field-id":503},{"name":"added_files_count","type":"int","field-id":504},{"name":"existing_files_count","type":"int","field-id":505},{"name":"deleted_files_count","type":"int","field-id":506},{"name":"added_rows_count","type":"long","field-id":512},{"name":"existing_rows_count","type":"long","field-id":513},{"name":"deleted_rows_count","type":"long","field-id":514},{"name":"partitions","type":["null",{"type":"array","items":{"type":"record","name":"r508","fields":[{"name":"contains_null","type":"boolean","field-id":509},{"name":"contains_nan","type":["null","boolean"],"default":null,"field-id":518},{"name":"lower_bound","type":["null","bytes"],"default":null,"field-id":510},{"name":"upper_bound","type":["null","bytes"],"default":null,"field-id":511}]},"element-id":508}],"default":null,"field-id":507}]}"#;

/// A manifest as a list has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ManifestFile {
    pub(super) path: String,
    length: i64,
    /// the snapshot that wrote it, which is its sequence number
    snapshot: i64,
    added_files: i32,
    existing_files: i32,
    added_rows: i64,
    existing_rows: i64,
    partitions: Vec<Summary>,
}

/// The values of a partition column in a manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Summary {
    contains_null: bool,
    lower: Option<Vec<u8>>,
    upper: Option<Vec<u8>>,
}

impl ManifestFile {
    /// Of a manifest that was written with these files.
    pub(super) fn of(path: String, length: usize, snapshot: i64, files: &[Listed], partition: &[&DataField]) -> Self {
        let of = |status| files.iter().filter(move |file| file.status == status);
        let count = |status| i32::try_from(of(status).count()).unwrap_or(i32::MAX);
        let summary = |(at, field): (usize, &&DataField)| {
            let values = || files.iter().filter_map(|file| file.partition.get(at));
            let known = || values().filter(|value| !value.is_null());
            let bytes = |value: Option<&Datum>| value.and_then(|value| bytes_of(value, &field.data_type));
            Summary {
                contains_null: values().any(Datum::is_null),
                lower: bytes(known().min_by(|a, b| compare_datums(a, b))),
                upper: bytes(known().max_by(|a, b| compare_datums(a, b))),
            }
        };
        Self {
            path,
            length: i64::try_from(length).unwrap_or(i64::MAX),
            snapshot,
            added_files: count(Status::Added),
            existing_files: count(Status::Existing),
            added_rows: sum(of(Status::Added).map(|file| file.rows)),
            existing_rows: sum(of(Status::Existing).map(|file| file.rows)),
            partitions: partition.iter().enumerate().map(summary).collect(),
        }
    }

    fn write(&self, to: &mut Encoder) {
        to.string(&self.path);
        to.long(self.length);
        to.int(0); // partition spec
        to.int(0); // content: data
        to.long(self.snapshot);
        to.long(self.snapshot);
        to.optional(Some(self.snapshot), Encoder::long);
        to.int(self.added_files);
        to.int(self.existing_files);
        to.int(0);
        to.long(self.added_rows);
        to.long(self.existing_rows);
        to.long(0);
        to.optional(Some(&self.partitions), |to, partitions| {
            to.array(partitions, |to, summary| {
                to.out.push(u8::from(summary.contains_null));
                to.optional(Some(0_u8), |to, no_nan| to.out.push(no_nan));
                to.optional(summary.lower.as_deref(), Encoder::bytes);
                to.optional(summary.upper.as_deref(), Encoder::bytes);
            });
        });
    }

    fn read(kind: &WriterType, at: &mut Cursor<'_>) -> Result<Self> {
        let record = kind.record().ok_or_else(|| at.corrupt("a record", kind.name()))?;
        let mut read = Self::default();
        let number = |kind: &WriterType, at: &mut Cursor<'_>| Ok::<_, Error>(kind.long(at)?.unwrap_or(0));
        for (name, kind) in &record.fields {
            match name.as_str() {
                "manifest_path" => kind.string(at)?.unwrap_or_default().clone_into(&mut read.path),
                "manifest_length" => read.length = number(kind, at)?,
                "sequence_number" => read.snapshot = number(kind, at)?,
                "added_files_count" => read.added_files = kind.int(at)?.unwrap_or(0),
                "existing_files_count" => read.existing_files = kind.int(at)?.unwrap_or(0),
                "added_rows_count" => read.added_rows = number(kind, at)?,
                "existing_rows_count" => read.existing_rows = number(kind, at)?,
                "partitions" => {
                    let summaries = kind.array(at, |kind, at| Summary::read(kind, at).map(Some))?;
                    read.partitions = summaries.unwrap_or_default();
                }
                _ => kind.skip(at)?,
            }
        }
        Ok(read)
    }
}

impl Summary {
    fn read(kind: &WriterType, at: &mut Cursor<'_>) -> Result<Self> {
        let record = kind.record().ok_or_else(|| at.corrupt("a record", kind.name()))?;
        let mut read = Self::default();
        for (name, kind) in &record.fields {
            match name.as_str() {
                "contains_null" => read.contains_null = at.take(1)? != [0],
                "lower_bound" => read.lower = kind.bytes(at)?.map(<[u8]>::to_vec),
                "upper_bound" => read.upper = kind.bytes(at)?.map(<[u8]>::to_vec),
                _ => kind.skip(at)?,
            }
        }
        Ok(read)
    }
}

/// The bytes of a list.
pub(super) fn encode(manifests: &[ManifestFile], compression: Compression) -> Result<Vec<u8>> {
    let mut container = ContainerWriter::new(SCHEMA, compression);
    manifests.iter().try_for_each(|manifest| container.append(|to| manifest.write(to)))?;
    container.finish()
}

/// The manifests of a list.
pub(super) fn decode(file: &str, bytes: &[u8]) -> Result<Vec<ManifestFile>> {
    let reader = ContainerReader::open(file, bytes)?;
    let mut manifests = Vec::new();
    for block in &reader.blocks {
        let plain = reader.plain(block)?;
        manifests.extend(reader.records(block, &plain, |at| ManifestFile::read(&reader.schema, at).map(Some))?);
    }
    Ok(manifests)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_as_it_was_written() {
        let summary = Summary { contains_null: true, lower: Some(vec![1]), upper: None };
        let one = ManifestFile {
            path: "m".to_owned(),
            length: 5,
            snapshot: 7,
            added_files: 1,
            existing_rows: 9,
            partitions: vec![summary],
            ..ManifestFile::default()
        };
        let both = [one, ManifestFile::default()];
        assert_eq!(decode("l", &encode(&both, Compression::Snappy).unwrap()).unwrap(), both);
    }
}
