//! How long engines take on the same runs: `cargo test --profile ci -p siltstone --lib -- --ignored speed --nocapture`.

use std::time::{Duration, Instant};

use arrow_array::{ArrayRef, Float64Array, Int8Array, Int32Array, Int64Array, StringArray};

use super::*;
use crate::io::BatchStream;

const RUNS: i32 = 5;
const ROWS: i32 = 200_000;

/// Ten columns; every run has a fifth of the keys at random, in batches of 8192 rows.
fn run(table: &Table, run: i32) -> Vec<RecordBatch> {
    let mut keys: Vec<i32> =
        (0..ROWS).map(|i| (i.wrapping_mul(0x9E37_79B1_u32.cast_signed()) >> 8) ^ (run * 7919)).collect();
    for key in &mut keys {
        *key = key.rem_euclid(ROWS * 2);
    }
    keys.sort_unstable();
    keys.dedup();
    let number = |i: usize| i64::try_from(i).unwrap();
    let chunk = |keys: &[i32]| {
        let n = keys.len();
        let some = |column: usize, i: usize| !(i + column + usize::try_from(run).unwrap()).is_multiple_of(3);
        let column = |c: usize| -> ArrayRef {
            match c % 3 {
                0 => Arc::new((0..n).map(|i| some(c, i).then_some(number(i))).collect::<Int64Array>()),
                1 => {
                    Arc::new((0..n).map(|i| some(c, i).then(|| format!("value {}", i % 1000))).collect::<StringArray>())
                }
                _ => Arc::new(
                    (0..n)
                        .map(|i| some(c, i).then_some(f64::from(u32::try_from(i).unwrap())))
                        .collect::<Float64Array>(),
                ),
            }
        };
        let mut columns: Vec<ArrayRef> = vec![Arc::new(Int32Array::from(keys.to_vec()))];
        columns.extend((0..9).map(column));
        columns.push(Arc::new(Int64Array::from_iter_values((0..n).map(|i| i64::from(run) * 10_000_000 + number(i)))));
        columns.push(Arc::new(Int8Array::from_value(0, n)));
        RecordBatch::try_new(table.layout.arrow_schema().unwrap(), columns).unwrap()
    };
    keys.chunks(8192).map(chunk).collect()
}

fn time(table: &Table, runs: &[Vec<RecordBatch>]) -> (Duration, usize) {
    let inputs: Vec<BatchStream> =
        runs.iter().map(|run| Box::new(run.clone().into_iter().map(Ok)) as BatchStream).collect();
    let start = Instant::now();
    let merged = merge(inputs, &table.layout, table.engine(), MergeOptions::default()).unwrap();
    let rows = merged.map(|batch| batch.unwrap().num_rows()).sum();
    (start.elapsed(), rows)
}

#[test]
#[ignore = "a measurement"]
fn speed_of_engines() {
    let columns: Vec<(String, &str)> =
        (0..9).map(|c| (format!("c{c}"), ["BIGINT", "STRING", "DOUBLE"][c % 3])).collect();
    let columns: Vec<(&str, &str)> = columns.iter().map(|(name, data_type)| (name.as_str(), *data_type)).collect();
    let functions: Vec<(String, &str)> = (0..9)
        .map(|c| (format!("fields.c{c}.aggregate-function"), ["sum", "last_non_null_value", "max"][c % 3]))
        .collect();
    let functions: Vec<(&str, &str)> = functions.iter().map(|(key, name)| (key.as_str(), *name)).collect();
    let groups = [("fields.c0.sequence-group", "c1,c2,c3"), ("fields.c4.sequence-group", "c5,c6")];
    let tables = [
        ("deduplicate", Table::new("deduplicate", &columns, &[])),
        ("partial-update", Table::new("partial-update", &columns, &[])),
        ("sequence groups", Table::new("partial-update", &columns, &groups)),
        ("aggregation", Table::new("aggregation", &columns, &functions)),
    ];
    let runs: Vec<Vec<RecordBatch>> = (0..RUNS).map(|r| run(&tables[0].1, r)).collect();
    let rows: usize = runs.iter().flatten().map(RecordBatch::num_rows).sum();
    let mut best = [Duration::MAX; 4];
    for _ in 0..7 {
        for ((name, table), best) in tables.iter().zip(&mut best) {
            let (elapsed, merged) = time(table, &runs);
            assert!(merged < rows, "{name}");
            *best = elapsed.min(*best);
        }
    }
    for ((name, _), best_of) in tables.iter().zip(best) {
        let ratio = best_of.as_secs_f64() / best[0].as_secs_f64();
        println!("{name}: {:.0} ms for {rows} rows, {ratio:.2} of deduplicate", best_of.as_secs_f64() * 1000.0);
    }
}
