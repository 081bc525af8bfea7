//! Files written and read back.

use std::{
    collections::BTreeMap,
    io::Write,
    sync::{Arc, Mutex},
};

use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float32Array, Float64Array, Int8Array,
    Int16Array, Int32Array, Int64Array, ListArray, MapArray, RecordBatch, StringArray, StructArray,
    Time32MillisecondArray, TimestampMicrosecondArray, TimestampMillisecondArray, TimestampNanosecondArray,
    TimestampSecondArray,
};
use arrow_schema::DataType as Arrow;
use bytes::Bytes;
use parquet::{
    basic::Encoding,
    file::reader::{FileReader, SerializedFileReader},
};

use super::*;
use crate::{
    error::{ErrorKind, Result},
    format::WrittenFile,
    format::{FileRead, RowTest, Rows},
    format::{Prune, PruneColumn},
    fs::{InputFile, OutputFile},
    predicate::{CompareOp, Predicate},
    row::Datum,
    types::{DataField, DataType, MAX_LENGTH, TypeKind, arrow_schema},
};

#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Vec<u8>>>);

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl OutputFile for Memory {
    fn position(&self) -> u64 {
        self.0.lock().unwrap().len() as u64
    }
    fn close(self: Box<Self>, _sync: bool) -> Result<u64> {
        Ok(self.position())
    }
}

/// A disk that is full.
struct Full;

impl Write for Full {
    fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
        Err(std::io::ErrorKind::StorageFull.into())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl OutputFile for Full {
    fn position(&self) -> u64 {
        0
    }
    fn close(self: Box<Self>, _sync: bool) -> Result<u64> {
        Ok(0)
    }
}

struct Stored(Bytes);

impl InputFile for Stored {
    fn path(&self) -> &'static str {
        "stored.parquet"
    }
    fn size(&self) -> Result<u64> {
        Ok(self.0.len() as u64)
    }
    fn read_range(&self, start: u64, length: u64) -> Result<Bytes> {
        let start = usize::try_from(start).unwrap();
        Ok(self.0.slice(start..start + usize::try_from(length).unwrap()))
    }
}

fn options(pairs: &[(&str, &str)]) -> ParquetWriteOptions {
    let map: BTreeMap<String, String> = pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    ParquetWriteOptions::new("zstd", 1, None, &map, false).unwrap()
}

fn write(fields: &[DataField], batches: &[RecordBatch], options: &ParquetWriteOptions) -> (Bytes, WrittenFile) {
    let out = Memory::default();
    let mut writer = ParquetFileWriter::new("f", Box::new(out.clone()), fields, options).unwrap();
    for batch in batches {
        writer.write(batch).unwrap();
    }
    let written = writer.finish(false).unwrap();
    let bytes = Bytes::from(out.0.lock().unwrap().clone());
    assert_eq!(written.size, bytes.len() as u64);
    (bytes, written)
}

fn open(bytes: &Bytes) -> ParquetFile {
    ParquetFile::open(Arc::new(Stored(bytes.clone())), None).unwrap()
}

fn request(fields: &[DataField]) -> FileRead {
    FileRead { columns: fields.to_vec(), rows: None, prune: None, row_test: None, position: false, batch_rows: 1000 }
}

fn read(bytes: &Bytes, request: FileRead) -> Vec<Rows> {
    open(bytes).read(request).unwrap().collect::<Result<Vec<_>>>().unwrap()
}

fn read_back(bytes: &Bytes, fields: &[DataField]) -> RecordBatch {
    let schema = arrow_schema(fields).unwrap();
    let batches: Vec<RecordBatch> = read(bytes, request(fields))
        .into_iter()
        .map(|rows| RecordBatch::try_new(Arc::clone(&schema), rows.columns).unwrap())
        .collect();
    arrow_select::concat::concat_batches(&schema, &batches).unwrap()
}

fn field(id: i32, name: &str, kind: TypeKind) -> DataField {
    DataField::new(id, name, DataType::new(kind))
}

fn text() -> TypeKind {
    TypeKind::VarChar(MAX_LENGTH)
}

fn every_type() -> (Vec<DataField>, RecordBatch) {
    let decimal = |precision, scale| TypeKind::Decimal { precision, scale };
    let d128 = |values: [Option<i128>; 3], p, s| -> ArrayRef {
        Arc::new(Decimal128Array::from_iter(values).with_precision_and_scale(p, s).unwrap())
    };
    let columns: Vec<(TypeKind, ArrayRef)> = vec![
        (text(), Arc::new(StringArray::from(vec![Some("a"), None, Some("ж")]))),
        (TypeKind::Boolean, Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)]))),
        (TypeKind::VarBinary(MAX_LENGTH), Arc::new(BinaryArray::from_opt_vec(vec![Some(&[0, 255]), None, Some(&[])]))),
        (decimal(9, 2), d128([Some(-999_999_999), None, Some(1)], 9, 2)),
        (decimal(18, 0), d128([Some(-999_999_999_999_999_999), None, Some(1)], 18, 0)),
        (decimal(38, 10), d128([Some(-10_i128.pow(38) + 1), None, Some(10_i128.pow(38) - 1)], 38, 10)),
        (TypeKind::TinyInt, Arc::new(Int8Array::from(vec![Some(i8::MIN), None, Some(i8::MAX)]))),
        (TypeKind::SmallInt, Arc::new(Int16Array::from(vec![Some(i16::MIN), None, Some(i16::MAX)]))),
        (TypeKind::Int, Arc::new(Int32Array::from(vec![Some(i32::MIN), None, Some(i32::MAX)]))),
        (TypeKind::BigInt, Arc::new(Int64Array::from(vec![Some(i64::MIN), None, Some(i64::MAX)]))),
        (TypeKind::Float, Arc::new(Float32Array::from(vec![Some(-0.5), None, Some(f32::INFINITY)]))),
        (TypeKind::Double, Arc::new(Float64Array::from(vec![Some(-0.5), None, Some(1e300)]))),
        (TypeKind::Date, Arc::new(Date32Array::from(vec![Some(-1), None, Some(20_000)]))),
        (TypeKind::Time(3), Arc::new(Time32MillisecondArray::from(vec![Some(0), None, Some(86_399_999)]))),
        (TypeKind::Timestamp(0), Arc::new(TimestampSecondArray::from(vec![Some(-1), None, Some(1)]))),
        (TypeKind::Timestamp(3), Arc::new(TimestampMillisecondArray::from(vec![Some(-1), None, Some(1)]))),
        (TypeKind::Timestamp(6), Arc::new(TimestampMicrosecondArray::from(vec![Some(-1), None, Some(1)]))),
        (TypeKind::Timestamp(9), Arc::new(TimestampNanosecondArray::from(vec![Some(-1), None, Some(i64::MAX)]))),
        (
            TypeKind::LocalZonedTimestamp(6),
            Arc::new(TimestampMicrosecondArray::from(vec![Some(-1), None, Some(1)]).with_timezone("UTC")),
        ),
        (
            TypeKind::LocalZonedTimestamp(9),
            Arc::new(TimestampNanosecondArray::from(vec![Some(-1), None, Some(1)]).with_timezone("UTC")),
        ),
    ];
    let mut fields: Vec<DataField> =
        columns.iter().zip(0..).map(|((kind, _), i)| field(i, &format!("c.{i}"), kind.clone())).collect();
    let mut arrays: Vec<ArrayRef> = columns.into_iter().map(|(_, a)| a).collect();
    let (nested, values) = nested_types();
    fields.extend(nested);
    arrays.extend(values);
    let batch = RecordBatch::try_new(arrow_schema(&fields).unwrap(), arrays).unwrap();
    (fields, batch)
}

fn nested_types() -> (Vec<DataField>, Vec<ArrayRef>) {
    let stamp = DataType::new(TypeKind::Timestamp(9));
    let fields = vec![
        field(100, "list", TypeKind::Array(Box::new(stamp.clone()))),
        field(101, "map", TypeKind::Map(Box::new(DataType::not_null(text())), Box::new(stamp.clone()))),
        field(102, "bag", TypeKind::Multiset(Box::new(DataType::not_null(text())))),
        field(
            103,
            "row",
            TypeKind::Row(vec![DataField::new(104, "s", stamp), field(105, "t", TypeKind::Timestamp(0))]),
        ),
    ];
    let schema = arrow_schema(&fields).unwrap();
    let offsets = || arrow_buffer::OffsetBuffer::new(vec![0, 2, 2, 3].into());
    let nulls = || Some(arrow_buffer::NullBuffer::from(vec![true, false, true]));
    let stamps: ArrayRef = Arc::new(TimestampNanosecondArray::from(vec![Some(1), None, Some(-86_400_000_000_001)]));
    let keys: ArrayRef = Arc::new(StringArray::from(vec!["x", "y", "x"]));
    let entry_of = |t: &Arrow| match t {
        Arrow::Map(entries, _) => Arc::clone(entries),
        _ => unreachable!("a map"),
    };
    let map = |column: usize, values: ArrayRef| -> ArrayRef {
        let field = entry_of(schema.field(column).data_type());
        let Arrow::Struct(pair) = field.data_type().clone() else { unreachable!("a struct") };
        let entries = StructArray::new(pair, vec![Arc::clone(&keys), values], None);
        Arc::new(MapArray::new(field, offsets(), entries, nulls(), false))
    };
    let Arrow::List(element) = schema.field(0).data_type().clone() else { unreachable!("a list") };
    let Arrow::Struct(members) = schema.field(3).data_type().clone() else { unreachable!("a struct") };
    let seconds: ArrayRef = Arc::new(TimestampSecondArray::from(vec![Some(-7), None, Some(9)]));
    let values: Vec<ArrayRef> = vec![
        Arc::new(ListArray::new(element, offsets(), Arc::clone(&stamps), nulls())),
        map(1, Arc::clone(&stamps)),
        map(2, Arc::new(Int32Array::from(vec![1, 2, 3]))),
        Arc::new(StructArray::new(members, vec![stamps, seconds], nulls())),
    ];
    (fields, values)
}

/// The bytes of a small file wait until the footer: what failed then was called a defect of the encoder.
#[test]
fn a_disk_that_is_full_when_the_footer_is_written_is_an_error_of_the_storage() {
    let (fields, batch) = every_type();
    let mut writer = ParquetFileWriter::new("f", Box::new(Full), &fields, &options(&[])).unwrap();
    let done = writer.write(&batch).and_then(|()| writer.finish(false));
    let error = done.unwrap_err();
    assert_eq!((error.kind(), error.context_value("file")), (ErrorKind::Storage, Some("f")), "{error}");
    assert!(error.to_string().contains("no storage space"), "{error}");
}

#[test]
fn every_type_comes_back_as_it_went_in() {
    let (fields, batch) = every_type();
    let (bytes, written) = write(&fields, std::slice::from_ref(&batch), &options(&[]));
    assert_eq!(written.rows, 3);
    assert_eq!(read_back(&bytes, &fields), batch);
}

#[test]
fn every_compression_and_both_page_versions_come_back() {
    let (fields, batch) = every_type();
    for compression in ["none", "snappy", "gzip", "lz4", "lz4_raw", "zstd", "brotli"] {
        for version in ["PARQUET_1_0", "PARQUET_2_0"] {
            let options = options(&[("compression", compression), ("writer.version", version)]);
            let (bytes, _) = write(&fields, std::slice::from_ref(&batch), &options);
            assert_eq!(read_back(&bytes, &fields), batch, "{compression} {version}");
        }
    }
}

/// The encodings of each column, in a file of this version.
fn encodings(fields: &[DataField], batch: &RecordBatch, version: &str) -> Vec<Vec<Encoding>> {
    let (bytes, _) = write(fields, std::slice::from_ref(batch), &options(&[("writer.version", version)]));
    let reader = SerializedFileReader::new(bytes).unwrap();
    let group = reader.metadata().row_group(0);
    group.columns().iter().map(|column| column.encodings().collect()).collect()
}

#[test]
fn no_page_has_an_encoding_that_old_readers_lack() {
    let (fields, batch) = every_type();
    for encoding in encodings(&fields, &batch, "PARQUET_1_0").into_iter().flatten() {
        let name = format!("{encoding}");
        let old = ["PLAIN", "RLE", "PLAIN_DICTIONARY", "RLE_DICTIONARY", "BIT_PACKED"];
        assert!(old.contains(&&*name), "{name}");
    }
}

#[test]
fn version_2_has_differences_of_integers_and_nothing_else_that_is_new() {
    let (fields, batches) = numbers(1000);
    let found = encodings(&fields, &batches[0], "PARQUET_2_0");
    let has = |column: usize| found[column].contains(&Encoding::DELTA_BINARY_PACKED);
    assert!(has(0), "{found:?}");
    assert!(found[2].contains(&Encoding::PLAIN) && !has(2) && !has(1), "{found:?}");
    let old = encodings(&fields, &batches[0], "PARQUET_1_0");
    assert!(old[0].contains(&Encoding::PLAIN), "{old:?}");
    let texts = [Encoding::DELTA_BYTE_ARRAY, Encoding::DELTA_LENGTH_BYTE_ARRAY];
    let (fields, batch) = every_type();
    let every = encodings(&fields, &batch, "PARQUET_2_0");
    assert!(!every.iter().flatten().any(|encoding| texts.contains(encoding)), "{every:?}");
}

#[test]
fn timestamps_with_nanoseconds_are_int96_without_bounds() {
    let fields = [field(0, "t", TypeKind::Timestamp(9))];
    let array: ArrayRef = Arc::new(TimestampNanosecondArray::from(vec![Some(-1), None]));
    let batch = RecordBatch::try_new(arrow_schema(&fields).unwrap(), vec![array]).unwrap();
    let (bytes, written) = write(&fields, &[batch], &options(&[]));
    let reader = SerializedFileReader::new(bytes).unwrap();
    let column = reader.metadata().row_group(0).column(0);
    assert_eq!(column.column_type(), parquet::basic::Type::INT96);
    assert!(column.statistics().is_some_and(|s| s.min_bytes_opt().is_none() && s.null_count_opt() == Some(1)));
    let bounds = written.bounds[0].clone().unwrap();
    assert_eq!((bounds.min, bounds.max, bounds.null_count), (Datum::Null, Datum::Null, Some(1)));
}

fn numbers(rows: i64) -> (Vec<DataField>, Vec<RecordBatch>) {
    let fields = vec![
        DataField::new(0, "id", DataType::not_null(TypeKind::BigInt)),
        field(1, "name", text()),
        field(2, "v", TypeKind::Double),
    ];
    let schema = arrow_schema(&fields).unwrap();
    let batch = |start: i64| {
        let ids = start..(start + 1000).min(rows);
        #[allow(clippy::cast_precision_loss, reason = "small numbers")]
        let doubles = Float64Array::from_iter_values(ids.clone().map(|i| i as f64));
        let names = StringArray::from_iter_values(ids.clone().map(|i| format!("n{}", i % 10)));
        let ids = Int64Array::from_iter_values(ids);
        RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(ids), Arc::new(names), Arc::new(doubles)]).unwrap()
    };
    let batches = (0..rows).step_by(1000).map(batch).collect();
    (fields, batches)
}

#[test]
fn many_rows_on_two_threads_give_the_same_rows_and_bounds() {
    let (fields, batches) = numbers(150_000);
    let small_groups = options(&[("block.size", "600000"), ("compression", "none"), ("page.row.count.limit", "5000")]);
    let (bytes, one) = write(&fields, &batches, &small_groups);
    let (parallel, two) = write(&fields, &batches, &small_groups.clone().with_threads(2));
    assert_eq!(one.bounds, two.bounds);
    assert!(open(&bytes).metadata_for_tests().num_row_groups() > 1);
    assert_eq!(read_back(&bytes, &fields), read_back(&parallel, &fields));
    let bounds = one.bounds[0].clone().unwrap();
    assert_eq!((bounds.min, bounds.max), (Datum::BigInt(0), Datum::BigInt(149_999)));
}

fn at_least(value: i64) -> Prune {
    Prune {
        predicate: Predicate::Compare { column: "key".into(), op: CompareOp::GtEq, value: Datum::BigInt(value) },
        columns: [(
            "key".to_owned(),
            PruneColumn::Stored(DataField::new(0, "id", DataType::not_null(TypeKind::BigInt))),
        )]
        .into(),
    }
}

fn positions(rows: &[Rows]) -> Vec<i64> {
    rows.iter().flat_map(|r| r.positions.as_ref().unwrap().values().to_vec()).collect()
}

fn ids(rows: &[Rows], column: usize) -> Vec<i64> {
    let arrays = rows.iter().map(|r| r.columns[column].as_any().downcast_ref::<Int64Array>().unwrap());
    arrays.flat_map(|a| a.values().to_vec()).collect()
}

#[test]
fn pruned_rows_keep_their_positions() {
    let (fields, batches) = numbers(50_000);
    let options = options(&[("block.size", "40000"), ("page.row.count.limit", "1000")]);
    let (bytes, _) = write(&fields, &batches, &options);
    let request = FileRead { prune: Some(at_least(48_123)), position: true, ..request(&fields) };
    let rows = read(&bytes, request);
    let (ids, positions) = (ids(&rows, 0), positions(&rows));
    assert_eq!(ids, positions);
    assert!(ids.contains(&48_123) && ids.last() == Some(&49_999));
    assert!(ids.len() < 10_000, "{} rows", ids.len());
}

#[test]
fn a_row_test_drops_rows_before_other_columns_are_decoded() {
    let (fields, batches) = numbers(50_000);
    let options = options(&[("block.size", "40000"), ("page.row.count.limit", "1000")]);
    let (bytes, _) = write(&fields, &batches, &options);
    let test = RowTest {
        columns: vec![fields[0].clone()],
        test: Arc::new(|rows: &Rows| {
            let ids = rows.columns[0].as_any().downcast_ref::<Int64Array>().unwrap();
            Ok(BooleanArray::from_unary(ids, |id| id % 1000 == 7))
        }),
    };
    for prune in [None, Some(at_least(20_000))] {
        let first = if prune.is_some() { 20_007 } else { 7 };
        let request = FileRead { prune, row_test: Some(test.clone()), position: true, ..request(&fields[1..]) };
        let expected: Vec<i64> = (first..50_000).step_by(1000).collect();
        assert_eq!(positions(&read(&bytes, request)), expected);
    }
}

#[test]
fn a_column_with_the_name_of_the_row_numbers_keeps_its_values() {
    let fields = vec![field(0, "id", TypeKind::BigInt), field(1, "_POSITION", TypeKind::BigInt)];
    let column = |values: std::ops::Range<i64>| Arc::new(Int64Array::from_iter_values(values)) as ArrayRef;
    let batch = RecordBatch::try_new(arrow_schema(&fields).unwrap(), vec![column(0..100), column(1000..1100)]).unwrap();
    let (bytes, _) = write(&fields, &[batch], &options(&[]));
    for tested in 0..2 {
        let test = RowTest {
            columns: vec![fields[tested].clone()],
            test: Arc::new(|rows: &Rows| {
                let values = rows.columns[0].as_any().downcast_ref::<Int64Array>().unwrap();
                Ok(BooleanArray::from_unary(values, |value| value % 1000 == 7))
            }),
        };
        let request = FileRead { row_test: Some(test), position: true, ..request(&fields) };
        let rows = read(&bytes, request);
        assert_eq!((ids(&rows, 0), ids(&rows, 1), positions(&rows)), (vec![7], vec![1007], vec![7]));
    }
}

#[test]
fn columns_that_the_file_lacks_are_null() {
    let (fields, batches) = numbers(10);
    let (bytes, _) = write(&fields, &batches, &options(&[]));
    let rows = read(&bytes, request(&[field(7, "new", text())]));
    assert_eq!(rows.iter().map(|r| r.columns[0].null_count()).sum::<usize>(), 10);
}

#[test]
fn a_nan_is_the_upper_bound_and_leaves_none_in_the_footer() {
    let fields = [field(0, "v", TypeKind::Double)];
    let array: ArrayRef = Arc::new(Float64Array::from(vec![1.0, f64::NAN]));
    let batch = RecordBatch::try_new(arrow_schema(&fields).unwrap(), vec![array]).unwrap();
    let (bytes, written) = write(&fields, &[batch], &options(&[]));
    let bounds = written.bounds[0].clone().unwrap();
    assert_eq!(bounds.min, Datum::Double(1.0));
    assert!(matches!(bounds.max, Datum::Double(v) if v.is_nan()));
    let reader = SerializedFileReader::new(bytes).unwrap();
    assert!(reader.metadata().row_group(0).column(0).statistics().is_some_and(|s| s.max_bytes_opt().is_none()));
}

#[test]
fn damaged_files_are_errors_and_never_panics() {
    let (fields, batch) = every_type();
    let (bytes, _) = write(&fields, std::slice::from_ref(&batch), &options(&[("compression", "none")]));
    for at in (0..bytes.len()).step_by(7) {
        let mut damaged = bytes.to_vec();
        damaged[at] ^= 0x55;
        let input = Arc::new(Stored(Bytes::from(damaged)));
        if let Ok(file) = ParquetFile::open(input, None)
            && let Ok(batches) = file.read(request(&fields))
        {
            let _ = batches.collect::<Result<Vec<_>>>();
        }
    }
    let cut = bytes.slice(0..bytes.len() / 2);
    let e = ParquetFile::open(Arc::new(Stored(cut)), None).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::CorruptFile);
    assert_eq!(e.context_value("file"), Some("stored.parquet"));
}

/// A file of one text of three million bytes, and where its only page begins.
fn one_long_text(compression: &str) -> (Vec<DataField>, Vec<u8>, usize) {
    let fields = vec![field(0, "s", text())];
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["x".repeat(3_000_000)]));
    let batch = RecordBatch::try_new(arrow_schema(&fields).unwrap(), vec![texts]).unwrap();
    let options = options(&[("parquet.enable.dictionary", "false"), ("parquet.compression", compression)]);
    let (bytes, _) = write(&fields, &[batch], &options);
    let at = open(&bytes).metadata_for_tests().row_group(0).column(0).data_page_offset();
    (fields, bytes.to_vec(), usize::try_from(at).unwrap())
}

#[test]
fn a_page_that_claims_more_bytes_than_it_can_have_is_damage() {
    for compression in ["none", "zstd", "snappy", "lz4_raw", "gzip"] {
        let (fields, mut bytes, at) = one_long_text(compression);
        assert_eq!(read_back(&Bytes::from(bytes.clone()), &fields).num_rows(), 1);
        // 15 kind 15 size: three million takes four bytes, and becomes the most that four bytes hold
        assert_eq!((bytes[at], bytes[at + 2], bytes[at + 7]), (0x15, 0x15, 0x15), "{compression}");
        bytes[at + 3..at + 7].copy_from_slice(&[0xfe, 0xff, 0xff, 0x7f]);
        let rows = open(&Bytes::from(bytes)).read(request(&fields)).and_then(Iterator::collect::<Result<Vec<_>>>);
        let error = rows.unwrap_err();
        assert_eq!((error.kind(), error.context_value("file")), (ErrorKind::CorruptFile, Some("stored.parquet")));
    }
}

#[test]
fn long_bounds_are_known_of_a_file_and_not_written_into_its_footer() {
    let (fields, bytes, _) = one_long_text("zstd");
    let file = open(&Bytes::from(bytes));
    let statistics = file.metadata_for_tests().row_group(0).column(0).statistics().unwrap().clone();
    assert_eq!((statistics.min_bytes_opt(), statistics.null_count_opt()), (None, Some(0)));
    let (_, written) = {
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["b".repeat(5000), "a".repeat(5000)]));
        let batch = RecordBatch::try_new(arrow_schema(&fields).unwrap(), vec![texts]).unwrap();
        write(&fields, &[batch], &options(&[]))
    };
    let bounds = written.bounds[0].clone().unwrap();
    assert_eq!((bounds.min, bounds.max), (Datum::String("a".repeat(5000)), Datum::String("b".repeat(5000))));
}

mod counted;
mod long_values;
