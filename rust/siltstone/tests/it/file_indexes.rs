//! Indexes of data files: Java's are the ones that we write, and what ours of random values leave out never matches.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use bytes::Bytes;
use proptest::{collection::vec, option, prelude::*, sample::select, test_runner::RngSeed};
use siltstone::{
    Error, ErrorKind, Result,
    file_index::{
        Candidates, FileIndex, IndexBuilder, IndexKind, IndexPlace, IndexSettings, Indexes, candidates,
        encode_container,
    },
    format::{FileRead, data_format},
    fs::{BeforeCall, FaultFileIo, FileIo, FileIoRef},
    manifest::decode_manifest,
    predicate::{CompareOp, Predicate, matches_datums, parse_predicate},
    row::{Datum, datum_from_array},
    schema::{TableSchema, file_indexes},
    types::{DataField, DataType, MAX_LENGTH, TypeKind},
    write::{TableWrite, WriteOptions},
};

use crate::{
    crash,
    fixtures::{Fixture, ROOT, all},
};

/// The rows of a data file, by column.
fn columns_of(table: &Fixture, path: &str, fields: &[DataField]) -> Vec<Vec<Datum>> {
    let input = table.io().open(&format!("{ROOT}/{path}")).unwrap();
    let size = input.size().unwrap();
    let file = data_format("parquet").unwrap().open(input, size, &BTreeMap::new()).unwrap();
    let columns = fields.to_vec();
    let read = FileRead { columns, rows: None, prune: None, row_test: None, position: false, batch_rows: 1000 };
    let mut values = vec![Vec::new(); fields.len()];
    for rows in file.read(read).unwrap() {
        let rows = rows.unwrap();
        for ((column, field), values) in rows.columns.iter().zip(fields).zip(&mut values) {
            values.extend((0..rows.count).map(|row| datum_from_array(column.as_ref(), row, &field.data_type).unwrap()));
        }
    }
    values
}

fn built(kind: IndexKind, data_type: &DataType, settings: &IndexSettings, values: &[Datum]) -> Option<Vec<u8>> {
    let mut builder = IndexBuilder::new(kind, data_type, settings, usize::MAX).unwrap();
    for value in values {
        builder.add(value);
    }
    builder.finish().unwrap()
}

/// Of each data file its container, embedded or beside it.
fn containers(table: &Fixture) -> Vec<(String, FileIndex)> {
    let manifests = table
        .files
        .iter()
        .filter(|(name, _)| name.strip_prefix("manifest/manifest-").is_some_and(|rest| !rest.starts_with("list")));
    let files = manifests.flat_map(|(name, bytes)| decode_manifest(name, bytes).unwrap()).map(|entry| entry.file);
    let found = files.filter_map(|file| {
        let path = table.files.keys().find(|path| path.ends_with(&file.file_name))?.clone();
        let bytes = match (&file.embedded_file_index, file.extra_files.first()) {
            (Some(bytes), _) => bytes.clone(),
            (None, Some(name)) => table.files.iter().find(|(path, _)| path.ends_with(name))?.1.clone(),
            (None, None) => return None,
        };
        Some((path, FileIndex::embedded(&file.file_name, Bytes::from(bytes)).unwrap()))
    });
    found.collect()
}

#[test]
fn javas_indexes_are_those_that_we_write() {
    let (mut same, mut narrowed) = (BTreeMap::new(), 0);
    for table in all().into_iter().filter(|table| table.name.starts_with("index_") && !table.name.contains("_pk_")) {
        let schema = TableSchema::from_json("schema-0", &table.files["schema/schema-0"]).unwrap();
        let specs = file_indexes(&schema, &schema.options).unwrap();
        for (path, index) in containers(&table) {
            let values = columns_of(&table, &path, &schema.fields);
            assert_eq!(index.columns().values().map(BTreeMap::len).sum::<usize>(), specs.len(), "{}", table.name);
            for spec in &specs {
                let what = format!("{}: {} of {}", table.name, spec.kind.name(), spec.column);
                let IndexPlace::At { start, length } = index.columns()[&spec.column][spec.kind.name()] else {
                    panic!("{what}")
                };
                let at = schema.fields.iter().position(|f| f.name == spec.column).unwrap();
                let ours = built(spec.kind, &spec.data_type, &spec.settings, &values[at]).unwrap();
                let javas = index.bytes(start, length).unwrap();
                assert_eq!(ours.len(), javas.len(), "{what}");
                // the bitmaps of values lie in the order of Java's hash table
                if spec.kind != IndexKind::Bitmap {
                    assert_eq!(ours, javas, "{what}");
                }
                *same.entry(spec.kind).or_insert(0) += 1;
                narrowed += usize::from(answers_are_right(&index, &schema.fields, &values, at));
            }
        }
    }
    assert_eq!(same.len(), IndexKind::ALL.len(), "{same:?}");
    assert!(narrowed > 20, "{narrowed}");
}

/// For each value of a column: every row that has it is named. Whether some other is not.
fn answers_are_right(index: &FileIndex, fields: &[DataField], values: &[Vec<Datum>], at: usize) -> bool {
    let stored = |name: &str| fields.iter().find(|field| field.name == name);
    let column = &values[at];
    let mut narrowed = false;
    for value in column.iter().filter(|value| !value.is_null()) {
        for op in [CompareOp::Eq, CompareOp::NotEq, CompareOp::Lt, CompareOp::GtEq] {
            let condition = Predicate::Compare { column: fields[at].name.clone(), op, value: value.clone() };
            narrowed |= loses_nothing(index, &condition, column, &stored);
        }
    }
    narrowed
}

/// Whether fewer rows are named than there are; every one that matches must be.
fn loses_nothing<'a>(
    index: &FileIndex,
    condition: &Predicate,
    values: &[Datum],
    stored: &dyn Fn(&str) -> Option<&'a DataField>,
) -> bool {
    let rows = i64::try_from(values.len()).unwrap();
    let found = candidates(index, condition, rows, stored, &|_| false).unwrap();
    let Candidates::Rows(named) = &found else { return false };
    let ranges = found.ranges(rows).unwrap();
    for (row, value) in (0..).zip(values) {
        if matches_datums(condition, &|_| Some(value.clone())) == Some(true) {
            assert!(named.contains(row), "{condition:?} leaves row {row} out: {value:?}");
            let at = i64::from(row);
            assert!(ranges.as_ref().is_none_or(|ranges| ranges.iter().any(|range| range.contains(&at))));
        }
    }
    named.len() < values.len() as u64
}

fn kinds_of_values() -> impl Strategy<Value = TypeKind> {
    select(vec![
        TypeKind::Boolean,
        TypeKind::TinyInt,
        TypeKind::SmallInt,
        TypeKind::Int,
        TypeKind::BigInt,
        TypeKind::Float,
        TypeKind::Double,
        TypeKind::Decimal { precision: 18, scale: 3 },
        TypeKind::Decimal { precision: 38, scale: 0 },
        TypeKind::Date,
        TypeKind::Time(3),
        TypeKind::Timestamp(0),
        TypeKind::Timestamp(3),
        TypeKind::Timestamp(6),
        TypeKind::Timestamp(9),
        TypeKind::VarChar(MAX_LENGTH),
        TypeKind::Char(4),
        TypeKind::VarBinary(MAX_LENGTH),
    ])
}

/// Few different values, so that some are equal, and those at the ends.
fn value(kind: &TypeKind) -> BoxedStrategy<Datum> {
    let small = prop_oneof![4 => -3_i64..4, 1 => Just(i64::MAX), 1 => Just(i64::MIN), 1 => any::<i64>()];
    let kind = kind.clone();
    (small, select(vec!["", "a", "ab", "abc", "b", "é", "\u{1F600}"]))
        .prop_map(move |(n, text)| {
            #[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "any value will do")]
            match &kind {
                TypeKind::Boolean => Datum::Boolean(n > 0),
                TypeKind::TinyInt => Datum::TinyInt(n as i8),
                TypeKind::SmallInt => Datum::SmallInt(n as i16),
                TypeKind::Int => Datum::Int(n as i32),
                TypeKind::BigInt => Datum::BigInt(n),
                TypeKind::Float if n == i64::MAX => Datum::Float(f32::NAN),
                TypeKind::Float if n == i64::MIN => Datum::Float(-0.0),
                TypeKind::Float => Datum::Float(n as f32),
                TypeKind::Double if n == i64::MAX => Datum::Double(f64::NAN),
                TypeKind::Double if n == i64::MIN => Datum::Double(-0.0),
                TypeKind::Double => Datum::Double(n as f64),
                TypeKind::Decimal { precision: 38, .. } => Datum::Decimal(i128::from(n) * 7),
                TypeKind::Decimal { .. } => Datum::Decimal(i128::from(n % 1_000_000_000_000_000_000)),
                TypeKind::Date => Datum::Date(n as i32),
                TypeKind::Time(_) => Datum::Time((n.rem_euclid(86_400_000)) as i32),
                TypeKind::Timestamp(0) => Datum::Timestamp { millis: n % 1_000_000 * 1000, nanos_of_milli: 0 },
                TypeKind::Timestamp(3) => Datum::Timestamp { millis: n, nanos_of_milli: 0 },
                TypeKind::Timestamp(6) => {
                    Datum::Timestamp { millis: n % 1_000_000_000, nanos_of_milli: (n.rem_euclid(1000) * 1000) as i32 }
                }
                TypeKind::Timestamp(_) => {
                    Datum::Timestamp { millis: n % 3, nanos_of_milli: n.rem_euclid(1_000_000) as i32 }
                }
                TypeKind::VarBinary(_) => Datum::Bytes(text.as_bytes().to_vec()),
                _ => Datum::String(text.to_owned()),
            }
        })
        .boxed()
}

fn condition(kind: &TypeKind) -> BoxedStrategy<Predicate> {
    use CompareOp::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    let column = || "c".to_owned();
    let compare = (select(vec![Eq, NotEq, Lt, LtEq, Gt, GtEq]), value(kind))
        .prop_map(move |(op, value)| Predicate::Compare { column: column(), op, value });
    let one_of = (vec(prop_oneof![9 => value(kind), 1 => Just(Datum::Null)], 0..4), any::<bool>())
        .prop_map(move |(values, negated)| Predicate::In { column: column(), values: values.into(), negated });
    let null =
        any::<bool>().prop_map(move |is| if is { Predicate::IsNull(column()) } else { Predicate::IsNotNull(column()) });
    let leaf = prop_oneof![4 => compare, 2 => one_of, 1 => null].boxed();
    let leaf = if matches!(kind, TypeKind::VarChar(_) | TypeKind::Char(_)) {
        let patterns = select(vec!["a%", "ab", "%b", "", "é%", "_b%"]);
        let like = (patterns, any::<bool>()).prop_map(move |(pattern, negated)| Predicate::Like {
            column: column(),
            pattern: pattern.to_owned(),
            escape: None,
            negated,
        });
        prop_oneof![2 => leaf, 1 => like].boxed()
    } else {
        leaf
    };
    leaf.prop_recursive(2, 6, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 1..3).prop_map(Predicate::And),
            vec(inner.clone(), 1..3).prop_map(Predicate::Or),
            inner.prop_map(|p| Predicate::Not(Box::new(p))),
        ]
    })
    .boxed()
}

fn settings(kind: IndexKind, small: bool) -> IndexSettings {
    match kind {
        IndexKind::BloomFilter => IndexSettings::BloomFilter { items: if small { 1 } else { 50 }, fpp: 0.1 },
        IndexKind::Bitmap => {
            IndexSettings::Bitmap { version: if small { 1 } else { 2 }, block_size: if small { 16 << 10 } else { 40 } }
        }
        IndexKind::BitSliced => IndexSettings::BitSliced,
        IndexKind::RangeBitmap => IndexSettings::RangeBitmap { chunk_size: if small { 0 } else { 12 } },
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, rng_seed: RngSeed::Fixed(9), ..ProptestConfig::default() })]

    #[test]
    fn no_row_that_matches_is_left_out(
        (kind, values, conditions) in kinds_of_values().prop_flat_map(|kind| {
            let values = vec(option::weighted(0.8, value(&kind)).prop_map(|v| v.unwrap_or(Datum::Null)), 0..60);
            let conditions = vec(condition(&kind), 1..6);
            (Just(kind), values, conditions)
        }),
        small in any::<bool>(),
    ) {
        let data_type = DataType::new(kind);
        let field = DataField::new(0, "c", data_type.clone());
        let stored = |_: &str| Some(&field);
        let fitting = IndexKind::ALL.into_iter().filter(|index| index.takes(&data_type));
        let indexes: Vec<(&str, Vec<u8>)> = fitting
            .filter_map(|kind| Some((kind.name(), built(kind, &data_type, &settings(kind, small), &values)?)))
            .collect();
        // each alone, and all together
        let alone = indexes.iter().map(std::slice::from_ref);
        for some in alone.chain([&indexes[..]]) {
            let some = some.iter().map(|(kind, bytes)| (*kind, Some(bytes.clone()))).collect();
            let container = encode_container(&[("c".to_owned(), some)].into(), &[]).unwrap();
            let index = FileIndex::embedded("x", Bytes::from(container)).unwrap();
            for condition in &conditions {
                loses_nothing(&index, condition, &values, &stored);
            }
        }
    }
}

#[test]
fn keys_of_maps_and_unknown_kinds_are_no_columns() {
    let fields = [DataField::new(0, "m", DataType::new(TypeKind::Int))];
    let stored = |name: &str| fields.iter().find(|field| field.name == name);
    let container = encode_container(
        &[("m[k]".to_owned(), vec![("bitmap", None)]), ("m".to_owned(), vec![("inverted", Some(vec![1]))])].into(),
        &[],
    );
    let index = FileIndex::embedded("x", Bytes::from(container.unwrap())).unwrap();
    let condition = parse_predicate("m = 1", &fields).unwrap();
    assert_eq!(candidates(&index, &condition, 10, &stored, &|_| false).unwrap(), Candidates::All);
}

#[test]
fn indexes_in_files_are_read_in_parts() {
    let io = FaultFileIo::new();
    let data_type = DataType::new(TypeKind::BigInt);
    let values: Vec<Datum> = (0..20_000).map(Datum::BigInt).collect();
    let settings = IndexSettings::RangeBitmap { chunk_size: 16 << 10 };
    let bytes = built(IndexKind::RangeBitmap, &data_type, &settings, &values).unwrap();
    let names: Vec<String> = (0..500).map(|n| format!("column {n}")).collect();
    let mut columns: BTreeMap<String, Indexes<'_>> =
        names.into_iter().map(|name| (name, vec![("range-bitmap", Some(vec![0; 9]))])).collect();
    columns.insert("z".to_owned(), vec![("range-bitmap", Some(bytes))]);
    io.put("/t/x.index", &encode_container(&columns, &[]).unwrap());
    let index = FileIndex::open(io.open("/t/x.index").unwrap()).unwrap();
    let field = DataField::new(0, "z", data_type);
    let condition = parse_predicate("z IN (7, 19000)", std::slice::from_ref(&field)).unwrap();
    let found = candidates(&index, &condition, 20_000, &|_| Some(&field), &|_| false).unwrap();
    assert_eq!(found.ranges(20_000).unwrap(), Some(vec![7..8, 19_000..19_001]));
    let broken = encode_container(&columns, &[]).unwrap();
    io.put("/t/y.index", &broken[..5000]);
    assert!(FileIndex::open(io.open("/t/y.index").unwrap()).is_err());
}

/// Fails when the second index is written.
#[derive(Debug, Default)]
struct SecondIndex(AtomicUsize);

impl BeforeCall for SecondIndex {
    fn before(&self, what: &str, path: &str) -> Result<()> {
        let is_index = what == "write_new" && path.contains("/bucket-");
        if is_index && self.0.fetch_add(1, Ordering::Relaxed) == 1 {
            return Err(Error::new(ErrorKind::Storage, "no space is left"));
        }
        Ok(())
    }
}

/// The data file of one partition was deleted when that of another one could not be finished, its index stayed.
#[test]
fn indexes_go_with_data_files_that_are_given_up() {
    let io = FaultFileIo::new();
    let indexed = [("file-index.bitmap.columns", "k"), ("file-index.in-manifest-threshold", "1 b"), ("bucket", "-1")];
    crash::create_partitioned(&(Arc::new(io.clone()) as FileIoRef), "/t", (&[], &["v"]), &indexed);
    let full: FileIoRef = Arc::new(io.behind(Arc::new(SecondIndex::default())));
    let options = WriteOptions { threads: Some(1), ..WriteOptions::default() };
    let mut writer = TableWrite::new(&crash::open(&full, "/t"), options).unwrap();
    writer.write(&crash::batch(&[(1, 1), (2, 2)]), None).unwrap();
    assert_eq!(writer.prepare_commit().unwrap_err().kind(), ErrorKind::Storage);
    writer.abort();
    let left: Vec<String> = io.paths().into_iter().filter(|path| path.contains("/bucket-")).collect();
    assert!(left.is_empty(), "{left:?}");
}
