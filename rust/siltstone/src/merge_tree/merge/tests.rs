use std::sync::Arc;

use arrow_array::{Int64Array, RecordBatch};
use proptest::prelude::*;

use super::*;
use crate::{
    merge_tree::{
        merge_function::Deduplicate,
        testing::{self, Record},
    },
    row::Datum,
    types::TypeKind,
};

fn dedup() -> Arc<dyn MergeFunction> {
    Arc::new(Deduplicate::new(false))
}

fn string() -> TypeKind {
    TypeKind::VarChar(100)
}

fn int(key: i32, value: i64, sequence: i64) -> Record {
    Record { fields: vec![Datum::Int(key), Datum::BigInt(value)], sequence, kind: 0 }
}

fn int_layout() -> KvLayout {
    testing::layout(&[TypeKind::Int, TypeKind::BigInt], &[0], &[])
}

/// Key shapes under test: how a small number becomes key fields.
#[derive(Clone, Copy, Debug)]
enum Shape {
    Int,
    BigInt,
    Text,
    Composite,
    Double,
}

impl Shape {
    fn layout(self, user_sequence: bool, descending: bool) -> KvLayout {
        let (key_types, keys): (Vec<TypeKind>, Vec<usize>) = match self {
            Self::Int => (vec![TypeKind::Int], vec![0]),
            Self::BigInt => (vec![TypeKind::BigInt], vec![0]),
            Self::Text => (vec![string()], vec![0]),
            Self::Composite => (vec![TypeKind::Int, string()], vec![1, 0]),
            Self::Double => (vec![TypeKind::Double], vec![0]),
        };
        let mut types = key_types;
        types.extend([TypeKind::BigInt, string()]);
        let sequence = if user_sequence { vec![types.len() - 2] } else { vec![] };
        let mut layout = testing::layout(&types, &keys, &sequence);
        layout.sequence_descending = descending;
        layout
    }

    fn key(self, n: i16) -> Vec<Datum> {
        match self {
            Self::Int => vec![Datum::Int(i32::from(n))],
            Self::BigInt => vec![Datum::BigInt(i64::from(n) << 40)],
            Self::Text => vec![Datum::String(format!("a long common prefix {n}\u{e9}"))],
            Self::Composite => vec![Datum::Int(i32::from(n) % 3), Datum::String(format!("{}", n / 3))],
            Self::Double => {
                let special = [f64::NAN, -f64::NAN, 0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY];
                let at = usize::from(n.unsigned_abs());
                vec![Datum::Double(special.get(at).copied().unwrap_or(f64::from(n)))]
            }
        }
    }
}

fn shapes() -> impl Strategy<Value = Shape> {
    prop_oneof![Just(Shape::Int), Just(Shape::BigInt), Just(Shape::Text), Just(Shape::Composite), Just(Shape::Double)]
}

/// Runs as (key, user sequence, retract): rows of one run get one key at most once.
fn runs() -> impl Strategy<Value = Vec<Vec<(i16, Option<i8>, bool)>>> {
    prop::collection::vec(
        prop::collection::vec((-40i16..40, prop::option::of(-2i8..3), prop::bool::weighted(0.3)), 0..60),
        0..9,
    )
}

fn make_runs(shape: Shape, layout: &KvLayout, runs: &[Vec<(i16, Option<i8>, bool)>]) -> Vec<Vec<Record>> {
    let mut next = 0;
    let mut record = |&(key, user, retract): &(i16, Option<i8>, bool)| {
        next += 1;
        let mut fields = shape.key(key);
        fields.push(user.map_or(Datum::Null, |u| Datum::BigInt(i64::from(u))));
        fields.push(Datum::String(format!("value {next}")));
        Record { fields, sequence: next, kind: if retract { 3 } else { 0 } }
    };
    runs.iter()
        .map(|run| {
            let mut records: Vec<Record> = run.iter().map(&mut record).collect();
            records.sort_by(|a, b| testing::merge_order(layout, a, b));
            records.dedup_by(|a, b| testing::key_order(layout, a, b).is_eq());
            records
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn merging_runs_keeps_the_last_record_of_each_key(
        shape in shapes(), runs in runs(), user in any::<bool>(), descending in any::<bool>(), drop_deletes in any::<bool>(),
        input_rows in 1usize..20, batch_rows in 1usize..30, threads in 0usize..3,
    ) {
        let layout = shape.layout(user, descending);
        let runs = make_runs(shape, &layout, &runs);
        let all: Vec<Record> = runs.iter().flatten().cloned().collect();
        let inputs = runs.iter().map(|r| testing::stream(&layout, r, input_rows)).collect();
        let options = MergeOptions { batch_rows, drop_deletes, threads, ..MergeOptions::default() };
        let merged = testing::all_records(&layout, merge(inputs, &layout, dedup(), options).unwrap());
        prop_assert_eq!(merged, testing::deduplicated(&layout, &all, drop_deletes));
    }

    #[test]
    fn too_many_runs_are_spilled_and_give_the_same_rows(runs in runs(), fan_in in 2usize..4, associative in any::<bool>()) {
        let layout = Shape::Text.layout(true, false);
        let runs = make_runs(Shape::Text, &layout, &runs);
        let all: Vec<Record> = runs.iter().flatten().cloned().collect();
        let inputs = runs.iter().map(|r| testing::stream(&layout, r, 7)).collect();
        let dir = std::env::temp_dir().join(format!("siltstone-merge-{}", uuid::Uuid::new_v4()));
        let spill = SpillOptions { dir: dir.clone(), compress: true, max_fan_in: fan_in };
        let function: Arc<dyn MergeFunction> = if associative { dedup() } else { Arc::new(LastByComputing) };
        let merged = merge(inputs, &layout, function, MergeOptions { spill: Some(spill), ..MergeOptions::default() }).unwrap();
        let merged = testing::all_records(&layout, merged);
        prop_assert_eq!(merged, testing::deduplicated(&layout, &all, false));
        let left = std::fs::read_dir(&dir).map_or(0, Iterator::count);
        prop_assert_eq!(left, 0, "spill files must be gone");
        let _ = std::fs::remove_dir_all(dir);
    }

    #[test]
    fn an_engine_that_computes_sees_every_group_in_merge_order(
        shape in shapes(), runs in runs(), user in any::<bool>(), drop_deletes in any::<bool>(), batch_rows in 1usize..30,
    ) {
        let layout = shape.layout(user, false);
        let runs = make_runs(shape, &layout, &runs);
        let all: Vec<Record> = runs.iter().flatten().cloned().collect();
        let inputs = runs.iter().map(|r| testing::stream(&layout, r, 5)).collect();
        let options = MergeOptions { batch_rows, drop_deletes, ..MergeOptions::default() };
        let merged = testing::all_records(&layout, merge(inputs, &layout, Arc::new(LastByComputing), options).unwrap());
        prop_assert_eq!(merged, testing::deduplicated(&layout, &all, drop_deletes));
    }
}

/// Deduplicates the hard way.
#[derive(Debug)]
struct LastByComputing;

impl MergeFunction for LastByComputing {
    fn choice(&self) -> Choice {
        Choice::Computed
    }

    fn merge(&self, groups: &Groups<'_>) -> Result<Computed> {
        let last: Vec<(usize, usize)> = groups
            .iter()
            .map(|g| {
                assert!(groups.pass_single || g.len() > 1);
                g[g.len() - 1]
            })
            .collect();
        let sources: Vec<&RecordBatch> = groups.sources.iter().collect();
        Ok(Computed { rows: arrow_select::interleave::interleave_record_batch(&sources, &last)?, keep: None })
    }
}

#[test]
fn no_inputs_give_no_rows() {
    let merged = merge(vec![], &int_layout(), dedup(), MergeOptions::default()).unwrap();
    assert_eq!(merged.count(), 0);
}

#[test]
fn a_single_input_passes_its_batches_through_untouched() {
    let layout = int_layout();
    let rows: Vec<Record> = (0..100).map(|k| int(k, 0, i64::from(k))).collect();
    let batch = testing::batch(&layout, &rows);
    let input: BatchStream = Box::new(vec![Ok(batch.clone())].into_iter());
    let options = MergeOptions { batch_rows: 100, ..MergeOptions::default() };
    let out: Vec<RecordBatch> = merge(vec![input], &layout, dedup(), options).unwrap().map(Result::unwrap).collect();
    assert_eq!(out.len(), 1);
    assert!(Arc::ptr_eq(out[0].column(0), batch.column(0)));
}

#[test]
fn a_lone_delete_passes_even_when_deletes_are_ignored() {
    let layout = int_layout();
    let delete = |key, sequence| Record { kind: 3, ..int(key, 0, sequence) };
    let first = [int(1, 10, 1), delete(2, 2), int(3, 30, 3), delete(4, 4)];
    let second = [delete(1, 5), int(3, 31, 6), delete(4, 7)];
    let inputs = vec![testing::stream(&layout, &first, 9), testing::stream(&layout, &second, 9)];
    let function = Arc::new(Deduplicate::new(true));
    let merged = testing::all_records(&layout, merge(inputs, &layout, function, MergeOptions::default()).unwrap());
    assert_eq!(merged, [int(1, 10, 1), delete(2, 2), int(3, 31, 6)]);
}

#[test]
fn equal_sequence_numbers_let_the_add_win() {
    let layout = int_layout();
    let add = [int(1, 10, 5)];
    let delete = [Record { kind: 3, ..int(1, 11, 5) }];
    for order in [[&add[..], &delete[..]], [&delete[..], &add[..]]] {
        let inputs = order.iter().map(|r| testing::stream(&layout, r, 1)).collect();
        let merged = testing::all_records(&layout, merge(inputs, &layout, dedup(), MergeOptions::default()).unwrap());
        assert_eq!(merged, add);
    }
}

#[test]
fn an_error_of_an_input_ends_the_merge() {
    for threads in [0, 2] {
        let layout = int_layout();
        let broken: BatchStream = Box::new(
            vec![Ok(testing::batch(&layout, &[int(1, 1, 1)])), Err(Error::new(ErrorKind::CorruptFile, "broken"))]
                .into_iter(),
        );
        let fine = testing::stream(&layout, &[int(0, 0, 0), int(5, 5, 2)], 1);
        let options = MergeOptions { threads, ..MergeOptions::default() };
        let mut merged = read_ahead(merge(vec![broken, fine], &layout, dedup(), options).unwrap(), 2);
        let error = merged.find_map(Result::err).expect("the error arrives");
        assert_eq!(error.kind(), ErrorKind::CorruptFile);
        assert!(merged.next().is_none());
    }
}

#[test]
fn a_batch_of_another_shape_is_an_error() {
    let layout = int_layout();
    let column: arrow_array::ArrayRef = Arc::new(Int64Array::from(vec![1]));
    let other = RecordBatch::try_from_iter([("x", column)]).unwrap();
    let mut merged =
        merge(vec![Box::new(std::iter::once(Ok(other)))], &layout, dedup(), MergeOptions::default()).unwrap();
    assert!(merged.next().unwrap().is_err());
    assert!(merged.next().is_none());
}

#[test]
fn long_stretches_of_one_run_are_found_by_search() {
    let layout = int_layout();
    let base: Vec<Record> = (0..5000).map(|k| int(k, 0, i64::from(k))).collect();
    let updates: Vec<Record> = (0..5000).step_by(611).map(|k| int(k, 1, 10_000 + i64::from(k))).collect();
    let inputs = vec![testing::stream(&layout, &base, 1000), testing::stream(&layout, &updates, 3)];
    let merged = testing::all_records(&layout, merge(inputs, &layout, dedup(), MergeOptions::default()).unwrap());
    assert_eq!(merged.len(), 5000);
    for (key, record) in merged.iter().enumerate() {
        let updated = key % 611 == 0;
        assert_eq!(record.fields, [Datum::Int(i32::try_from(key).unwrap()), Datum::BigInt(i64::from(updated))]);
    }
}
