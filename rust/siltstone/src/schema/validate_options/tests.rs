use super::super::new_table::tests::table;
use super::*;
use crate::error::ErrorKind;

const COLUMNS: &[(&str, &str)] = &[("k", "INT"), ("v", "STRING"), ("ts", "TIMESTAMP(3)"), ("m", "MAP<INT, INT>")];

fn keyed(options: &[(&str, &str)]) -> Result<TableSchema> {
    let mut all = vec![("bucket", "1")];
    all.extend(options);
    table(COLUMNS, &["k"], &[], &all).into_schema()
}

#[test]
fn combinations_that_paimon_forbids_are_refused_before_anything_else() {
    for (option, options) in [
        ("sequence.field", &[("merge-engine", "first-row"), ("sequence.field", "ts")][..]),
        ("deletion-vectors.enabled", &[("merge-engine", "first-row"), ("deletion-vectors.enabled", "true")]),
        ("changelog-producer", &[("merge-engine", "first-row"), ("changelog-producer", "input")]),
        (
            "deletion-vectors.enabled",
            &[("deletion-vectors.enabled", "true"), ("changelog-producer", "full-compaction")],
        ),
        ("lookup-wait", &[("deletion-vectors.enabled", "true"), ("lookup-wait", "false")]),
        ("full-compaction.delta-commits", &[("changelog-producer", "lookup"), ("full-compaction.delta-commits", "3")]),
        ("sequence.field", &[("sequence.field", "ts,ts")]),
        ("fields.ts.sequence-group", &[("merge-engine", "partial-update"), ("fields.ts.sequence-group", "v,,m")]),
        ("fields.v.aggregate-function", &[("sequence.field", "v"), ("fields.v.aggregate-function", "max")]),
        ("rowkind.field", &[("rowkind.field", "ts")]),
        ("snapshot.num-retained.min", &[("snapshot.num-retained.max", "3")]),
        ("target-file-row-num", &[("target-file-row-num", "0")]),
        ("file.compression", &[("file.compression", "rar")]),
        ("metadata.stats-mode", &[("metadata.stats-mode", "truncate(0)")]),
        ("manifest.compression", &[("manifest.compression", "none")]),
        ("manifest.compression", &[("manifest.compression", "SNAPPY")]),
        ("manifest.compression", &[("manifest.compression", "zstd ")]),
        ("data-file.prefix", &[("data-file.prefix", "a/b")]),
        ("tag.creation-delay", &[("tag.automatic-creation", "process-time"), ("tag.creation-delay", "1 d")]),
        (
            "tag.creation-delay",
            &[
                ("tag.automatic-creation", "watermark"),
                ("tag.creation-period", "hourly"),
                ("tag.creation-delay", "60 min"),
            ],
        ),
    ] {
        let error = keyed(options).unwrap_err();
        assert_eq!(
            (error.kind(), error.context_value("option")),
            (ErrorKind::InvalidOption, Some(option)),
            "{options:?}"
        );
        if options.iter().any(|(key, _)| *key == "sequence.field") {
            assert!(error.context_value("column").is_some(), "{options:?}");
        }
    }
}

/// A table with `parquet.page.size` = 0 was made, and then every write failed.
#[test]
fn what_the_writer_of_files_does_not_take_is_refused_before_there_is_a_table() {
    for (key, value) in [
        ("parquet.page.size", "0"),
        ("parquet.page.size", "-1"),
        ("parquet.page.size", "1 mb"),
        ("parquet.block.size", "0"),
        ("parquet.page.row.count.limit", "0"),
        ("parquet.dictionary.page.size", "x"),
        ("parquet.writer.version", "7"),
        ("parquet.compression", "rar"),
        ("parquet.compression.codec.zstd.level", "high"),
        ("parquet.enable.dictionary#v", "maybe"),
        ("parquet.bloom.filter.enabled", "1"),
        ("file.compression", " zstd"),
        ("file.compression.per.level", "0:rar"),
        ("changelog-file.compression", "rar"),
        ("file.format", " parquet"),
        ("changelog-file.format", "parquet "),
    ] {
        let error = keyed(&[(key, value)]).unwrap_err();
        let found = (error.kind(), error.context_value("option"));
        assert_eq!(found, (ErrorKind::InvalidOption, Some(key)), "{key}={value}: {error}");
    }
    keyed(&[("parquet.page.size", "4096"), ("parquet.compression", "SNAPPY")]).unwrap();
    keyed(&[("changelog-file.compression", "lz4"), ("parquet.block.size", "1048576")]).unwrap();
}

#[test]
fn lists_of_columns_have_no_gaps() {
    for text in ["", " ", ",v", "v,,ts"] {
        let error = keyed(&[("sequence.field", text)]).unwrap_err();
        assert_eq!((error.kind(), error.context_value("option")), (ErrorKind::InvalidOption, Some("sequence.field")));
    }
    keyed(&[("sequence.field", "v,ts,")]).unwrap();
}

#[test]
fn options_that_name_columns_name_existing_ones() {
    for (key, value) in [("sequence.field", "tss"), ("rowkind.field", "kind"), ("fields.w.stats-mode", "none")] {
        let error = keyed(&[(key, value)]).unwrap_err();
        assert_eq!((error.kind(), error.context_value("option")), (ErrorKind::IllegalSchema, Some(key)));
    }
}

#[test]
fn good_combinations_pass() {
    keyed(&[
        ("sequence.field", "ts,v"),
        ("sequence.field.sort-order", "descending"),
        ("rowkind.field", "v"),
        ("ignore-delete", "true"),
        ("fields.v.stats-mode", "none"),
        ("file.compression", "LZ4"),
    ])
    .unwrap();
}

#[test]
fn options_of_keys_need_keys() {
    for options in
        [&[("sequence.field", "ts")][..], &[("changelog-producer", "input")], &[("full-compaction.delta-commits", "2")]]
    {
        assert_eq!(table(COLUMNS, &[], &[], options).into_schema().unwrap_err().kind(), ErrorKind::InvalidOption);
    }
}

#[test]
fn default_values_have_the_type_of_their_column() {
    let mut new = table(COLUMNS, &[], &[], &[]);
    new.fields[0].default_value = Some("'7'".into());
    new.clone().into_schema().unwrap();
    for bad in ["seven", " 7 ", "'"] {
        new.fields[0].default_value = Some(bad.into());
        let error = new.clone().into_schema().unwrap_err();
        assert_eq!((error.kind(), error.context_value("column")), (ErrorKind::IllegalSchema, Some("k")), "{bad}");
    }
}

/// Java takes it, and writes null.
#[test]
fn a_default_that_means_null_is_refused() {
    let mut new = table(&[("k", "INT"), ("d", "DECIMAL(5, 2)")], &[], &[], &[]);
    new.fields[1].default_value = Some("1234.5".into());
    let error = new.into_schema().unwrap_err();
    assert_eq!((error.kind(), error.context_value("column")), (ErrorKind::IllegalSchema, Some("d")));
}
