//! The Avro schemas of manifest files, byte for byte as Java 1.4.2 writes them (format chapters 4.2, 4.3, 8.1).
//!
//! Java 2.x copies whole blocks between manifests only when the layout equals its own, so nothing here is free.

/// Manifest list: the records are `ManifestFileMeta`.
pub(super) const MANIFEST_LIST: &str = concat!(
    r#"{"type":"record","name":"record","namespace":"org.apache.paimon.avro.generated","fields":["#,
    r#"{"name":"_VERSION","type":"int"},{"name":"_FILE_NAME","type":"string"},"#,
    r#"{"name":"_FILE_SIZE","type":"long"},{"name":"_NUM_ADDED_FILES","type":"long"},"#,
    r#"{"name":"_NUM_DELETED_FILES","type":"long"},"#,
    r#"{"name":"_PARTITION_STATS","type":{"type":"record","name":"record__PARTITION_STATS","fields":["#,
    r#"{"name":"_MIN_VALUES","type":"bytes"},{"name":"_MAX_VALUES","type":"bytes"},"#,
    r#"{"name":"_NULL_COUNTS","type":["null",{"type":"array","items":["null","long"]}],"default":null}]}},"#,
    r#"{"name":"_SCHEMA_ID","type":"long"},{"name":"_MIN_BUCKET","type":["null","int"],"default":null},"#,
    r#"{"name":"_MAX_BUCKET","type":["null","int"],"default":null},"#,
    r#"{"name":"_MIN_LEVEL","type":["null","int"],"default":null},"#,
    r#"{"name":"_MAX_LEVEL","type":["null","int"],"default":null},"#,
    r#"{"name":"_MIN_ROW_ID","type":["null","long"],"default":null},"#,
    r#"{"name":"_MAX_ROW_ID","type":["null","long"],"default":null}]}"#,
);

/// Manifest: the records are `ManifestEntry`.
pub(super) const MANIFEST: &str = concat!(
    r#"{"type":"record","name":"record","namespace":"org.apache.paimon.avro.generated","fields":["#,
    r#"{"name":"_VERSION","type":"int"},{"name":"_KIND","type":"int"},{"name":"_PARTITION","type":"bytes"},"#,
    r#"{"name":"_BUCKET","type":"int"},{"name":"_TOTAL_BUCKETS","type":"int"},"#,
    r#"{"name":"_FILE","type":{"type":"record","name":"record__FILE","fields":["#,
    r#"{"name":"_FILE_NAME","type":"string"},{"name":"_FILE_SIZE","type":"long"},"#,
    r#"{"name":"_ROW_COUNT","type":"long"},{"name":"_MIN_KEY","type":"bytes"},"#,
    r#"{"name":"_MAX_KEY","type":"bytes"},"#,
    r#"{"name":"_KEY_STATS","type":{"type":"record","name":"record__FILE__KEY_STATS","fields":["#,
    r#"{"name":"_MIN_VALUES","type":"bytes"},{"name":"_MAX_VALUES","type":"bytes"},"#,
    r#"{"name":"_NULL_COUNTS","type":["null",{"type":"array","items":["null","long"]}],"default":null}]}},"#,
    r#"{"name":"_VALUE_STATS","type":{"type":"record","name":"record__FILE__VALUE_STATS","fields":["#,
    r#"{"name":"_MIN_VALUES","type":"bytes"},{"name":"_MAX_VALUES","type":"bytes"},"#,
    r#"{"name":"_NULL_COUNTS","type":["null",{"type":"array","items":["null","long"]}],"default":null}]}},"#,
    r#"{"name":"_MIN_SEQUENCE_NUMBER","type":"long"},{"name":"_MAX_SEQUENCE_NUMBER","type":"long"},"#,
    r#"{"name":"_SCHEMA_ID","type":"long"},{"name":"_LEVEL","type":"int"},"#,
    r#"{"name":"_EXTRA_FILES","type":{"type":"array","items":"string"}},"#,
    r#"{"name":"_CREATION_TIME","type":["null",{"type":"long","logicalType":"timestamp-millis"}],"default":null},"#,
    r#"{"name":"_DELETE_ROW_COUNT","type":["null","long"],"default":null},"#,
    r#"{"name":"_EMBEDDED_FILE_INDEX","type":["null","bytes"],"default":null},"#,
    r#"{"name":"_FILE_SOURCE","type":["null","int"],"default":null},"#,
    r#"{"name":"_VALUE_STATS_COLS","type":["null",{"type":"array","items":"string"}],"default":null},"#,
    r#"{"name":"_EXTERNAL_PATH","type":["null","string"],"default":null},"#,
    r#"{"name":"_FIRST_ROW_ID","type":["null","long"],"default":null},"#,
    r#"{"name":"_WRITE_COLS","type":["null",{"type":"array","items":"string"}],"default":null}]}}]}"#,
);

/// Index manifest: the records are `IndexManifestEntry`.
pub(super) const INDEX_MANIFEST: &str = concat!(
    r#"{"type":"record","name":"record","namespace":"org.apache.paimon.avro.generated","fields":["#,
    r#"{"name":"_VERSION","type":"int"},{"name":"_KIND","type":"int"},{"name":"_PARTITION","type":"bytes"},"#,
    r#"{"name":"_BUCKET","type":"int"},{"name":"_INDEX_TYPE","type":"string"},"#,
    r#"{"name":"_FILE_NAME","type":"string"},{"name":"_FILE_SIZE","type":"long"},"#,
    r#"{"name":"_ROW_COUNT","type":"long"},"#,
    r#"{"name":"_DELETIONS_VECTORS_RANGES","type":["null",{"type":"array","items":["null",{"type":"record","name":"record__DELETIONS_VECTORS_RANGES","fields":["#,
    r#"{"name":"f0","type":"string"},{"name":"f1","type":"int"},{"name":"f2","type":"int"},"#,
    r#"{"name":"_CARDINALITY","type":["null","long"],"default":null}]}]}],"default":null},"#,
    r#"{"name":"_EXTERNAL_PATH","type":["null","string"],"default":null},"#,
    r#"{"name":"_GLOBAL_INDEX","type":["null",{"type":"record","name":"record__GLOBAL_INDEX","fields":["#,
    r#"{"name":"_ROW_RANGE_START","type":"long"},{"name":"_ROW_RANGE_END","type":"long"},"#,
    r#"{"name":"_INDEX_FIELD_ID","type":"int"},"#,
    r#"{"name":"_EXTRA_FIELD_IDS","type":["null",{"type":"array","items":"int"}],"default":null},"#,
    r#"{"name":"_INDEX_META","type":["null","bytes"],"default":null}]}],"default":null}]}"#,
);

/// Index manifest of the 2.1 line, written only when an entry has `_SOURCE_META`.
pub(super) const INDEX_MANIFEST_2_1: &str = concat!(
    r#"{"type":"record","name":"record","namespace":"org.apache.paimon.avro.generated","fields":["#,
    r#"{"name":"_VERSION","type":"int"},{"name":"_KIND","type":"int"},{"name":"_PARTITION","type":"bytes"},"#,
    r#"{"name":"_BUCKET","type":"int"},{"name":"_INDEX_TYPE","type":"string"},"#,
    r#"{"name":"_FILE_NAME","type":"string"},{"name":"_FILE_SIZE","type":"long"},"#,
    r#"{"name":"_ROW_COUNT","type":"long"},"#,
    r#"{"name":"_DELETIONS_VECTORS_RANGES","type":["null",{"type":"array","items":["null",{"type":"record","name":"record__DELETIONS_VECTORS_RANGES","fields":["#,
    r#"{"name":"f0","type":"string"},{"name":"f1","type":"int"},{"name":"f2","type":"int"},"#,
    r#"{"name":"_CARDINALITY","type":["null","long"],"default":null}]}]}],"default":null},"#,
    r#"{"name":"_EXTERNAL_PATH","type":["null","string"],"default":null},"#,
    r#"{"name":"_GLOBAL_INDEX","type":["null",{"type":"record","name":"record__GLOBAL_INDEX","fields":["#,
    r#"{"name":"_ROW_RANGE_START","type":"long"},{"name":"_ROW_RANGE_END","type":"long"},"#,
    r#"{"name":"_INDEX_FIELD_ID","type":"int"},"#,
    r#"{"name":"_EXTRA_FIELD_IDS","type":["null",{"type":"array","items":"int"}],"default":null},"#,
    r#"{"name":"_INDEX_META","type":["null","bytes"],"default":null},"#,
    r#"{"name":"_SOURCE_META","type":["null","bytes"],"default":null}]}],"default":null}]}"#,
);
