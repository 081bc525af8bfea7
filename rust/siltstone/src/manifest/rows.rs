//! Manifest files in other formats than Avro (`manifest.format` up to 1.4), as files of records with these fields.

use crate::{
    error::{Error, ErrorKind, Result},
    format::{AvroRecords, Encoding, avro_as_records, records_as_avro},
    types::{DataField, DataType, TypeKind, parse_type},
};

/// Fields as Java 1.4.2 writes them (`SimpleStats.SCHEMA`, `DataFileMeta.SCHEMA`, `ManifestEntry.SCHEMA`,
/// `ManifestFileMeta.SCHEMA`, `IndexManifestEntry.SCHEMA`).
const STATS: &str = "ROW<_MIN_VALUES BYTES NOT NULL, _MAX_VALUES BYTES NOT NULL, _NULL_COUNTS ARRAY<BIGINT>> NOT NULL";
const FILE: &str = "_FILE_NAME STRING NOT NULL, _FILE_SIZE BIGINT NOT NULL, _ROW_COUNT BIGINT NOT NULL, \
    _MIN_KEY BYTES NOT NULL, _MAX_KEY BYTES NOT NULL, _KEY_STATS {STATS}, _VALUE_STATS {STATS}, \
    _MIN_SEQUENCE_NUMBER BIGINT NOT NULL, _MAX_SEQUENCE_NUMBER BIGINT NOT NULL, _SCHEMA_ID BIGINT NOT NULL, \
    _LEVEL INT NOT NULL, _EXTRA_FILES ARRAY<STRING NOT NULL> NOT NULL, _CREATION_TIME TIMESTAMP(3), \
    _DELETE_ROW_COUNT BIGINT, _EMBEDDED_FILE_INDEX BYTES, _FILE_SOURCE TINYINT, \
    _VALUE_STATS_COLS ARRAY<STRING NOT NULL>, _EXTERNAL_PATH STRING, _FIRST_ROW_ID BIGINT, \
    _WRITE_COLS ARRAY<STRING NOT NULL>";
const MANIFEST: &str = "_VERSION INT NOT NULL, _KIND TINYINT NOT NULL, _PARTITION BYTES NOT NULL, _BUCKET INT NOT NULL, \
    _TOTAL_BUCKETS INT NOT NULL, _FILE ROW<{FILE}> NOT NULL";
const MANIFEST_LIST: &str = "_VERSION INT NOT NULL, _FILE_NAME STRING NOT NULL, _FILE_SIZE BIGINT NOT NULL, \
    _NUM_ADDED_FILES BIGINT NOT NULL, _NUM_DELETED_FILES BIGINT NOT NULL, _PARTITION_STATS {STATS}, \
    _SCHEMA_ID BIGINT NOT NULL, _MIN_BUCKET INT, _MAX_BUCKET INT, _MIN_LEVEL INT, _MAX_LEVEL INT, _MIN_ROW_ID BIGINT, \
    _MAX_ROW_ID BIGINT";
const INDEX_MANIFEST: &str = "_VERSION INT NOT NULL, _KIND TINYINT NOT NULL, _PARTITION BYTES NOT NULL, \
    _BUCKET INT NOT NULL, _INDEX_TYPE STRING NOT NULL, _FILE_NAME STRING NOT NULL, _FILE_SIZE BIGINT NOT NULL, \
    _ROW_COUNT BIGINT NOT NULL, _DELETIONS_VECTORS_RANGES ARRAY<ROW<f0 STRING NOT NULL, f1 INT NOT NULL, \
    f2 INT NOT NULL, _CARDINALITY BIGINT>>, _EXTERNAL_PATH STRING, _GLOBAL_INDEX ROW<_ROW_RANGE_START BIGINT NOT NULL, \
    _ROW_RANGE_END BIGINT NOT NULL, _INDEX_FIELD_ID INT NOT NULL, _EXTRA_FIELD_IDS ARRAY<INT NOT NULL>, \
    _INDEX_META BYTES>";

/// What the records of a file are.
#[derive(Clone, Copy, Debug)]
pub(super) enum Records {
    /// `ManifestEntry`
    Manifest,
    /// `ManifestFileMeta`
    ManifestList,
    /// `IndexManifestEntry`
    IndexManifest,
}

impl Records {
    /// The bytes of a file, whatever its format, as Avro.
    pub(super) fn as_avro<'a>(self, file: &str, bytes: &'a [u8]) -> Result<AvroRecords<'a>> {
        // nearly all are Avro
        if bytes.starts_with(b"Obj") {
            return Ok(AvroRecords::of_avro(bytes));
        }
        // releases differ in which fields there are
        records_as_avro(file, bytes, &fields_of(&self.fields().replace(" NOT NULL", ""))?)
    }

    /// The bytes of a file with the records of an Avro container.
    pub(super) fn encoded(self, file: &str, avro: &[u8], encoding: &dyn Encoding) -> Result<Vec<u8>> {
        avro_as_records(file, avro, &fields_of(&self.fields())?, encoding)
    }

    fn fields(self) -> String {
        let fields = match self {
            Self::Manifest => MANIFEST,
            Self::ManifestList => MANIFEST_LIST,
            Self::IndexManifest => INDEX_MANIFEST,
        };
        fields.replace("{FILE}", FILE).replace("{STATS}", STATS)
    }
}

fn fields_of(text: &str) -> Result<Vec<DataField>> {
    match parse_type(&format!("ROW<{text}>"))?.kind {
        // `_VERSION` stands before the fields that Java numbers
        TypeKind::Row(fields) => Ok(numbered(fields, -1)),
        _ => Err(Error::new(ErrorKind::Internal, "the fields of a manifest are no row")),
    }
}

/// With Java's ids: those of each row count from 0.
fn numbered(fields: Vec<DataField>, first: i32) -> Vec<DataField> {
    let number = |(id, field): (i32, DataField)| DataField { id, data_type: inside(field.data_type), ..field };
    (first..).zip(fields).map(number).collect()
}

fn inside(data_type: DataType) -> DataType {
    let kind = match data_type.kind {
        TypeKind::Row(fields) => TypeKind::Row(numbered(fields, 0)),
        TypeKind::Array(element) => TypeKind::Array(Box::new(inside(*element))),
        other => other,
    };
    DataType { kind, ..data_type }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_are_types_of_paimon_with_the_ids_of_java() {
        let fields = |records: Records| fields_of(&records.fields()).unwrap();
        let manifest = fields(Records::Manifest);
        assert_eq!(manifest.iter().map(|f| f.id).collect::<Vec<_>>(), [-1, 0, 1, 2, 3, 4]);
        let TypeKind::Row(file) = &manifest.last().unwrap().data_type.kind else { panic!("no row") };
        assert_eq!((file.len(), file[0].id, file[19].name.as_str(), file[19].id), (20, 0, "_WRITE_COLS", 19));
        assert_eq!(fields(Records::ManifestList).len(), 13);
        let index = fields(Records::IndexManifest);
        let TypeKind::Array(ranges) = &index[8].data_type.kind else { panic!("no array") };
        let TypeKind::Row(range) = &ranges.kind else { panic!("no row") };
        assert_eq!((index.len(), range[0].id, range[3].id), (11, 0, 3));
    }
}
