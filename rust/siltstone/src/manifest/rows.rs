//! Manifest files in other formats than Avro (`manifest.format` up to 1.4), as files of records with these fields.

use std::borrow::Cow;

use crate::{
    error::{Error, ErrorKind, Result},
    format::records_as_avro,
    types::{DataField, TypeKind, parse_type},
};

/// Fields as Java has them, but nullable: releases differ in which there are.
const STATS: &str = "ROW<_MIN_VALUES BYTES, _MAX_VALUES BYTES, _NULL_COUNTS ARRAY<BIGINT>>";
const FILE: &str = "_FILE_NAME STRING, _FILE_SIZE BIGINT, _ROW_COUNT BIGINT, _MIN_KEY BYTES, _MAX_KEY BYTES, \
    _KEY_STATS {STATS}, _VALUE_STATS {STATS}, _MIN_SEQUENCE_NUMBER BIGINT, _MAX_SEQUENCE_NUMBER BIGINT, _SCHEMA_ID BIGINT, \
    _LEVEL INT, _EXTRA_FILES ARRAY<STRING>, _CREATION_TIME TIMESTAMP(3), _DELETE_ROW_COUNT BIGINT, \
    _EMBEDDED_FILE_INDEX BYTES, _FILE_SOURCE TINYINT, _VALUE_STATS_COLS ARRAY<STRING>, _EXTERNAL_PATH STRING, \
    _FIRST_ROW_ID BIGINT, _WRITE_COLS ARRAY<STRING>";
const MANIFEST: &str =
    "_VERSION INT, _KIND TINYINT, _PARTITION BYTES, _BUCKET INT, _TOTAL_BUCKETS INT, _FILE ROW<{FILE}>";
const MANIFEST_LIST: &str = "_VERSION INT, _FILE_NAME STRING, _FILE_SIZE BIGINT, _NUM_ADDED_FILES BIGINT, \
    _NUM_DELETED_FILES BIGINT, _PARTITION_STATS {STATS}, _SCHEMA_ID BIGINT, _MIN_BUCKET INT, _MAX_BUCKET INT, \
    _MIN_LEVEL INT, _MAX_LEVEL INT, _MIN_ROW_ID BIGINT, _MAX_ROW_ID BIGINT";
const INDEX_MANIFEST: &str = "_VERSION INT, _KIND TINYINT, _PARTITION BYTES, _BUCKET INT, _INDEX_TYPE STRING, \
    _FILE_NAME STRING, _FILE_SIZE BIGINT, _ROW_COUNT BIGINT, \
    _DELETIONS_VECTORS_RANGES ARRAY<ROW<f0 STRING, f1 INT, f2 INT, _CARDINALITY BIGINT>>, _EXTERNAL_PATH STRING, \
    _GLOBAL_INDEX ROW<_ROW_RANGE_START BIGINT, _ROW_RANGE_END BIGINT, _INDEX_FIELD_ID INT, _EXTRA_FIELD_IDS ARRAY<INT>, \
    _INDEX_META BYTES>";

/// The bytes of a manifest as Avro.
pub(super) fn manifest<'a>(file: &str, bytes: &'a [u8]) -> Result<Cow<'a, [u8]>> {
    as_avro(file, bytes, MANIFEST)
}

/// The bytes of a manifest list as Avro.
pub(super) fn manifest_list<'a>(file: &str, bytes: &'a [u8]) -> Result<Cow<'a, [u8]>> {
    as_avro(file, bytes, MANIFEST_LIST)
}

/// The bytes of an index manifest as Avro.
pub(super) fn index_manifest<'a>(file: &str, bytes: &'a [u8]) -> Result<Cow<'a, [u8]>> {
    as_avro(file, bytes, INDEX_MANIFEST)
}

fn as_avro<'a>(file: &str, bytes: &'a [u8], fields: &str) -> Result<Cow<'a, [u8]>> {
    // nearly all are Avro
    if bytes.starts_with(b"Obj") { Ok(Cow::Borrowed(bytes)) } else { records_as_avro(file, bytes, &fields_of(fields)?) }
}

fn fields_of(fields: &str) -> Result<Vec<DataField>> {
    let text = format!("ROW<{}>", fields.replace("{FILE}", FILE).replace("{STATS}", STATS));
    match parse_type(&text)?.kind {
        TypeKind::Row(fields) => Ok(fields),
        _ => Err(Error::new(ErrorKind::Internal, "the fields of a manifest are no row")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_are_types_of_paimon() {
        let names = |fields| fields_of(fields).unwrap().into_iter().map(|f| f.name).collect::<Vec<_>>();
        assert_eq!(names(MANIFEST).last().unwrap(), "_FILE");
        assert_eq!(names(MANIFEST_LIST).len(), 13);
        assert_eq!(names(INDEX_MANIFEST).len(), 11);
    }
}
