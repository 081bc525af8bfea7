//! Directories of partitions and buckets.

use std::collections::BTreeMap;

use super::*;
use crate::{
    options::CoreOptions,
    row::{BinaryRow, Datum},
    schema::TableSchema,
    types::{DataField, DataType, TypeKind},
};

fn paths(keys: &[(&str, TypeKind)], options: &[(&str, &str)]) -> PathFactory {
    let options: BTreeMap<String, String> = options.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    let fields = (0_i32..).zip(keys).map(|(id, (name, kind))| DataField::new(id, *name, DataType::new(kind.clone())));
    let schema = TableSchema {
        id: 0,
        fields: fields.collect(),
        highest_field_id: 9,
        partition_keys: keys.iter().map(|(name, _)| (*name).to_owned()).collect(),
        primary_keys: Vec::new(),
        options: options.clone(),
        comment: None,
        time_millis: 0,
        pending: None,
    };
    PathFactory::new("/w/db.db/t/", &schema, &CoreOptions::parse(&options).expect("options"))
}

fn partition(keys: &[(&str, TypeKind)], values: &[Datum]) -> Vec<u8> {
    let types: Vec<DataType> = keys.iter().map(|(_, kind)| DataType::new(kind.clone())).collect();
    BinaryRow::from_datums(&types, values).expect("a row").to_serialized()
}

const TEXT: TypeKind = TypeKind::VarChar(crate::types::MAX_LENGTH);

#[test]
fn buckets_without_partition_keys_are_below_the_table() {
    let paths = paths(&[], &[]);
    assert_eq!(paths.bucket_dir(&[0; 12], 3).expect("path"), "/w/db.db/t/bucket-3");
    assert_eq!(paths.bucket_dir(&[0; 12], -2).expect("path"), "/w/db.db/t/bucket-postpone");
    assert_eq!(paths.manifest("m").expect("a name"), "/w/db.db/t/manifest/m");
    assert_eq!(paths.schema_dir("main"), "/w/db.db/t/schema");
    assert_eq!(paths.schema_dir("dev"), "/w/db.db/t/branch/branch-dev/schema");
}

#[test]
fn a_data_directory_moves_the_buckets_and_nothing_else() {
    let paths = paths(&[], &[("data-file.path-directory", "data/")]);
    assert_eq!(paths.bucket_dir(&[0; 12], 0).expect("path"), "/w/db.db/t/data/bucket-0");
    assert_eq!(paths.index_dir(), "/w/db.db/t/index");
    paths.check_data_root().expect("below the table");
}

#[test]
fn a_data_directory_outside_of_the_table_is_where_java_has_it_and_only_read() {
    for (directory, root) in [("/elsewhere/", "/elsewhere"), ("../other", "/w/db.db/other"), ("a/../../..", "/w")] {
        let paths = paths(&[], &[("data-file.path-directory", directory)]);
        assert_eq!(paths.data_root(), root);
        let error = paths.check_data_root().expect_err("outside");
        assert_eq!(error.context_value("option"), Some("data-file.path-directory"));
    }
}

#[test]
fn names_that_lead_elsewhere_make_no_path() {
    let paths = paths(&[], &[]);
    for name in ["", "..", "../../../x", "a/b", "a\\b", "a\0"] {
        assert!(paths.manifest(name).is_err(), "{name:?}");
        assert!(paths.statistics(name).is_err(), "{name:?}");
    }
}

#[test]
fn names_and_values_are_escaped_in_the_order_of_the_keys() {
    let keys = [("d t", TEXT), ("n", TypeKind::Int)];
    let bytes = partition(&keys, &[Datum::String("a b/c:d%=é[x]".to_owned()), Datum::Int(-7)]);
    let path = paths(&keys, &[]).bucket_dir(&bytes, 0).expect("path");
    assert_eq!(path, "/w/db.db/t/d t=a b%2Fc%3Ad%25%3Dé%5Bx%5D/n=-7/bucket-0");
}

#[test]
fn null_and_blank_values_share_the_default_partition() {
    let keys = [("dt", TEXT)];
    for value in [Datum::Null, Datum::String(String::new()), Datum::String(" \t\u{1f}".to_owned())] {
        let bytes = partition(&keys, &[value]);
        assert_eq!(paths(&keys, &[]).partition_path(&bytes).expect("path"), "dt=__DEFAULT_PARTITION__");
        let own = paths(&keys, &[("partition.default-name", "none")]);
        assert_eq!(own.partition_path(&bytes).expect("path"), "dt=none");
    }
    // a no-break space is no white space in Java
    let bytes = partition(&keys, &[Datum::String("\u{a0}".to_owned())]);
    assert_eq!(paths(&keys, &[]).partition_path(&bytes).expect("path"), "dt=\u{a0}");
}

#[test]
fn dates_are_days_unless_legacy_names_are_off() {
    let keys = [("dt", TypeKind::Date), ("ts", TypeKind::Timestamp(3))];
    let whole_minute = Datum::Timestamp { millis: 1_715_690_040_000, nanos_of_milli: 0 };
    let bytes = partition(&keys, &[Datum::Date(19857), whole_minute]);
    assert_eq!(paths(&keys, &[]).partition_path(&bytes).expect("path"), "dt=19857/ts=2024-05-14T12%3A34");
    let text = paths(&keys, &[("partition.legacy-name", "false")]);
    assert_eq!(text.partition_path(&bytes).expect("path"), "dt=2024-05-14/ts=2024-05-14 12%3A34%3A00.000");
}

#[test]
fn a_partition_of_another_table_is_refused() {
    let keys = [("dt", TEXT)];
    assert!(paths(&keys, &[]).bucket_dir(&[0; 12], 0).is_err());
    assert!(paths(&keys, &[]).bucket_dir(&[0, 0], 0).is_err());
}
