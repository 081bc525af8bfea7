//! What it costs to look at batches of another library before they are written, beside the whole write.
//!
//! ```text
//! CARGO_PROFILE_CI_OPT_LEVEL=3 cargo bench --locked --profile ci -p siltstone --bench arrow_check
//! ```
//!
//! A million rows of an INT key, two texts, a DOUBLE and a BIGINT, as one batch: once with texts in ASCII, once with
//! texts in other letters. Times are CPU of all threads, so that other work on the machine counts less.
#![allow(clippy::print_stdout, reason = "figures are for whoever runs it")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a bench, not part of the library")]

use std::{collections::BTreeMap, hint::black_box, sync::Arc};

use arrow_array::{ArrayRef, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray};
use siltstone::{
    commit::Committable,
    schema::NewTable,
    table::{Catalog, Table},
    types::{DataField, DataType, MAX_LENGTH, TypeKind},
    write::{WriteOptions, check_arrays},
};

const ROWS: i32 = 1_000_000;
const ROUNDS: usize = 5;

const CHECKS: u32 = 50;

fn main() {
    let folder = std::env::temp_dir().join(format!("siltstone-bench-{}", siltstone::env::new_uuid()));
    for (letters, first, second) in [("ASCII", "name of the row", "city"), ("other letters", "ąęółść żółw", "大阪市")]
    {
        let batch = rows(first, second);
        let check = check_millis(&batch);
        println!("{letters}: looking at the batch takes {check:.2} ms");
        for (what, key) in [("append", None), ("upsert", Some("id"))] {
            let times = (0..ROUNDS)
                .map(|round| write_millis(&format!("{}/{letters}{what}{round}", folder.display()), &batch, key));
            let whole = times.fold(f64::INFINITY, f64::min);
            println!("  {what}: {whole:.0} ms, of which {:.2} %", 100.0 * check / whole);
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
}

fn rows(first: &str, second: &str) -> RecordBatch {
    let texts = |text: &str, different: i32| -> ArrayRef {
        Arc::new((0..ROWS).map(|i| Some(format!("{text} {}", i % different))).collect::<StringArray>())
    };
    RecordBatch::try_from_iter([
        ("id", Arc::new((0..ROWS).map(|i| i.wrapping_mul(7_919) % ROWS).collect::<Int32Array>()) as ArrayRef),
        ("name", texts(first, ROWS)),
        ("place", texts(second, 5_000)),
        ("price", Arc::new((0..ROWS).map(|i| f64::from(i % 9_973) * 0.25).collect::<Float64Array>())),
        ("count", Arc::new((0..ROWS).map(|i| i64::from(i % 101)).collect::<Int64Array>())),
    ])
    .unwrap()
}

/// The best of some rounds.
fn check_millis(batch: &RecordBatch) -> f64 {
    let round = |_| {
        let start = cpu_millis();
        (0..CHECKS).for_each(|_| check_arrays(black_box(batch), 0).unwrap());
        (cpu_millis() - start) / f64::from(CHECKS)
    };
    (0..ROUNDS).map(round).fold(f64::INFINITY, f64::min)
}

/// Writing and committing into a new table.
fn write_millis(warehouse: &str, batch: &RecordBatch, key: Option<&str>) -> f64 {
    let catalog = Catalog::open(warehouse, BTreeMap::new()).unwrap();
    catalog.create_database("b", false).unwrap();
    let kinds = [
        TypeKind::Int,
        TypeKind::VarChar(MAX_LENGTH),
        TypeKind::VarChar(MAX_LENGTH),
        TypeKind::Double,
        TypeKind::BigInt,
    ];
    let field = |(id, (column, kind)): (i32, (&Arc<arrow_schema::Field>, TypeKind))| {
        DataField::new(id, column.name(), DataType::new(kind))
    };
    let fields = (0..).zip(batch.schema_ref().fields().iter().zip(kinds)).map(field).collect();
    let table = NewTable {
        fields,
        primary_key: key.map(str::to_owned).into_iter().collect(),
        partition_by: Vec::new(),
        options: key.map(|_| ("bucket".to_owned(), "1".to_owned())).into_iter().collect(),
        comment: None,
    };
    let found = catalog.create_table("b.t", table, false).unwrap();
    let start = cpu_millis();
    let mut writer =
        Table::open(&found.location, "main", BTreeMap::new()).unwrap().writer(None, WriteOptions::default()).unwrap();
    writer.write_all(std::iter::once(Ok(batch.clone())), None).unwrap();
    writer.commit(Committable::default()).unwrap();
    cpu_millis() - start
}

/// CPU of the process so far, in user and in system mode.
fn cpu_millis() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    // the 14th and 15th field, in hundredths of a second
    fields.iter().skip(11).take(2).map(|ticks| ticks.parse::<f64>().unwrap() * 10.0).sum()
}
