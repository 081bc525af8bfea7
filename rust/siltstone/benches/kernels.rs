//! The inner loops, each beside the least that any implementation has to do for the same rows.
//!
//! ```text
//! cargo bench --locked -p siltstone --bench kernels [-- sort]
//! ```
//!
//! | kernel | its limit |
//! |---|---|
//! | `sort`: rows in random order through the write buffer | their keys sorted as numbers, the columns taken in that order |
//! | `merge`: five sorted runs into one, the newest row of a key stays | the rows that stay, taken when it is known which they are |
//! | `encode`: a Parquet file | its columns, plain, through zstd |
//! | `decode`: the same file | the same bytes back |
//!
//! 200,000 rows of a BIGINT key, two numbers and a text; all on one thread. The limit of `encode` knows neither pages nor bounds, and
//! compresses what a dictionary would have made small: it can be slower.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "a bench, not part of the library"
)]

use std::{collections::BTreeMap, hint::black_box, sync::Arc};

use arrow_array::{ArrayRef, Float64Array, Int8Array, Int64Array, RecordBatch, StringArray, UInt32Array};
use arrow_select::{concat::concat_batches, take::take_record_batch};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use siltstone::{
    format::{
        FileRead,
        parquet::{ParquetFile, ParquetFileWriter, ParquetWriteOptions},
    },
    fs::{FileIo, LocalFileIo},
    io::{BatchStream, KvLayout},
    merge_tree::{MergeOptions, WriteBuffer, WriteBufferOptions, merge, merge_function::Deduplicate},
    types::{DataField, DataType, MAX_LENGTH, TypeKind, arrow_schema},
};

const ROWS: i64 = 200_000;
const RUNS: i64 = 5;
const BATCH: usize = 8192;

/// A permutation of the numbers below `of`, which is no multiple of the factor.
fn permuted(number: i64, of: i64) -> i64 {
    number * 7_919 % of
}

fn fields() -> Vec<DataField> {
    let kinds = [
        ("id", DataType::not_null(TypeKind::BigInt)),
        ("count", DataType::new(TypeKind::BigInt)),
        ("price", DataType::new(TypeKind::Double)),
        ("name", DataType::new(TypeKind::VarChar(MAX_LENGTH))),
    ];
    (0..).zip(kinds).map(|(id, (name, data_type))| DataField::new(id, name, data_type)).collect()
}

fn layout() -> KvLayout {
    KvLayout { fields: fields(), key: vec![0], sequence: Vec::new(), sequence_descending: false }
}

/// Rows with these keys, sequence numbers from `first` on, all of them added.
fn rows(keys: &[i64], first: i64) -> RecordBatch {
    let count = i64::try_from(keys.len()).unwrap();
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from(keys.to_vec())),
        Arc::new(keys.iter().map(|key| (key % 11 != 0).then_some(key * 31 % 1_000_003)).collect::<Int64Array>()),
        Arc::new(keys.iter().map(|key| f64::from((key % 99_991) as i32) * 0.25).collect::<Float64Array>()),
        Arc::new(keys.iter().map(|key| Some(format!("name {}", key % 5_003))).collect::<StringArray>()),
        Arc::new(Int64Array::from_iter_values(first..first + count)),
        Arc::new(Int8Array::from(vec![0; keys.len()])),
    ];
    RecordBatch::try_new(layout().arrow_schema().unwrap(), columns).unwrap()
}

fn batches(rows: &RecordBatch) -> Vec<RecordBatch> {
    (0..rows.num_rows()).step_by(BATCH).map(|at| rows.slice(at, BATCH.min(rows.num_rows() - at))).collect()
}

fn count(stream: BatchStream) -> usize {
    stream.map(|batch| batch.unwrap().num_rows()).sum()
}

fn sort(c: &mut Criterion) {
    let keys: Vec<i64> = (0..ROWS).map(|number| permuted(number, ROWS)).collect();
    let given = rows(&keys, 0);
    let mut group = c.benchmark_group("sort");
    group.throughput(Throughput::Elements(ROWS as u64));
    group.bench_function("write buffer", |b| {
        b.iter(|| {
            let options = WriteBufferOptions {
                budget: usize::MAX,
                spill: None,
                max_disk_size: 0,
                strict: false,
                batch_rows: BATCH,
                ahead: false,
            };
            let function = Arc::new(Deduplicate::new(false));
            let mut buffer = WriteBuffer::new(Arc::new(layout()), function, options).unwrap();
            for batch in batches(&given) {
                assert!(!buffer.write(batch).unwrap());
            }
            assert_eq!(count(buffer.drain().unwrap()), ROWS as usize);
        });
    });
    group.bench_function("limit", |b| {
        b.iter(|| {
            let mut order: Vec<(i64, u32)> = keys.iter().copied().zip(0..).collect();
            order.sort_unstable();
            let order = UInt32Array::from_iter_values(order.into_iter().map(|(_, at)| at));
            black_box(take_record_batch(&given, &order).unwrap())
        });
    });
    group.finish();
}

fn merging(c: &mut Criterion) {
    let runs: Vec<RecordBatch> = (0..RUNS)
        .map(|run| {
            let of_run = (0..ROWS / RUNS).map(|number| permuted(number + run * ROWS / RUNS, ROWS / 2));
            let mut keys: Vec<i64> = of_run.collect();
            keys.sort_unstable();
            keys.dedup();
            rows(&keys, run * ROWS)
        })
        .collect();
    let newest: BTreeMap<i64, u32> = {
        let keys = runs.iter().flat_map(|run| {
            let column = run.column(0).as_any().downcast_ref::<Int64Array>().unwrap();
            column.values().to_vec()
        });
        keys.zip(0..).collect()
    };
    let (all, stays) = (concat_batches(&runs[0].schema(), &runs).unwrap(), newest.len());
    let order = UInt32Array::from_iter_values(newest.into_values());
    let mut group = c.benchmark_group("merge");
    group.throughput(Throughput::Elements(all.num_rows() as u64));
    group.bench_function("five runs", |b| {
        b.iter(|| {
            let inputs = runs.iter().map(|run| -> BatchStream { Box::new(batches(run).into_iter().map(Ok)) });
            let options = MergeOptions {
                batch_rows: BATCH,
                drop_deletes: true,
                unique_inputs: true,
                threads: 0,
                spill: None,
                late_casts: siltstone::merge_tree::LateCasts::None,
                leaves_out_older: false,
            };
            let merged = merge(inputs.collect(), &layout(), Arc::new(Deduplicate::new(false)), options).unwrap();
            assert_eq!(count(merged), stays);
        });
    });
    group.bench_function("limit", |b| b.iter(|| black_box(take_record_batch(&all, &order).unwrap())));
    group.finish();
}

/// Writes a file.
fn encode(path: &str, batches: &[RecordBatch]) {
    let options = ParquetWriteOptions::new("zstd", 1, None, &BTreeMap::new(), true).unwrap();
    let out = LocalFileIo::default().create(path).unwrap();
    let mut writer = ParquetFileWriter::new(path, out, &fields(), &options).unwrap();
    for batch in batches {
        writer.write(batch).unwrap();
    }
    writer.finish(false).unwrap();
}

fn files(c: &mut Criterion) {
    let keys: Vec<i64> = (0..ROWS).collect();
    let with_system = rows(&keys, 0);
    let plain = RecordBatch::try_new(arrow_schema(&fields()).unwrap(), with_system.columns()[..4].to_vec()).unwrap();
    let parts = batches(&plain);
    let buffers: Vec<Vec<u8>> = plain
        .columns()
        .iter()
        .flat_map(|column| {
            column.to_data().buffers().iter().map(|buffer| buffer.as_slice().to_vec()).collect::<Vec<_>>()
        })
        .collect();
    let path = std::env::temp_dir().join(format!("siltstone-bench-{}.parquet", siltstone::env::new_uuid()));
    let path = path.to_str().unwrap();
    let mut group = c.benchmark_group("encode");
    group.throughput(Throughput::Elements(ROWS as u64));
    group.bench_function("parquet", |b| {
        b.iter(|| {
            encode(path, &parts);
            std::fs::remove_file(path).unwrap();
        });
    });
    let compressed = |buffer: &Vec<u8>| zstd::bulk::compress(buffer, 1).unwrap();
    group.bench_function("limit", |b| b.iter(|| buffers.iter().map(|b| black_box(compressed(b)).len()).sum::<usize>()));
    group.finish();

    encode(path, &parts);
    let small: Vec<(usize, Vec<u8>)> = buffers.iter().map(|buffer| (buffer.len(), compressed(buffer))).collect();
    let mut group = c.benchmark_group("decode");
    group.throughput(Throughput::Elements(ROWS as u64));
    group.bench_function("parquet", |b| {
        b.iter(|| {
            let file = ParquetFile::open(LocalFileIo::default().open(path).unwrap(), None).unwrap();
            let request = FileRead {
                columns: fields(),
                prune: None,
                rows: None,
                row_test: None,
                position: false,
                batch_rows: BATCH,
            };
            let rows: usize = file.read(request).unwrap().map(|rows| rows.unwrap().count).sum();
            assert_eq!(rows, ROWS as usize);
        });
    });
    group.bench_function("limit", |b| {
        b.iter(|| small.iter().map(|(size, bytes)| zstd::bulk::decompress(bytes, *size).unwrap().len()).sum::<usize>());
    });
    group.finish();
    std::fs::remove_file(path).unwrap();
}

criterion_group!(kernels, sort, merging, files);
criterion_main!(kernels);
