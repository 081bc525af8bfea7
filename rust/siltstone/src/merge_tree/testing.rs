//! What the tests of this module share: records, batches and a model of merging.

use std::{cmp::Ordering, collections::BTreeMap, sync::Arc};

use arrow_array::{
    ArrayRef, Int8Array, Int64Array, RecordBatch,
    cast::AsArray,
    types::{Int8Type, Int64Type},
};

use crate::{
    io::{BatchStream, KvLayout},
    manifest::{DataFileFields, DataFileMeta},
    row::{BinaryRow, Datum, array_from_datums, datum_from_array},
    stats::SimpleStats,
    types::{DataField, DataType, TypeKind},
};

/// One record: fields, sequence number, kind.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) fields: Vec<Datum>,
    pub(crate) sequence: i64,
    pub(crate) kind: i8,
}

/// Equal when they print alike: a NaN equals itself.
impl PartialEq for Record {
    fn eq(&self, other: &Self) -> bool {
        format!("{self:?}") == format!("{other:?}")
    }
}

/// A layout of nullable non-key and NOT NULL key fields.
pub(crate) fn layout(types: &[TypeKind], key: &[usize], sequence: &[usize]) -> KvLayout {
    let field = |(at, kind): (usize, &TypeKind)| {
        let data_type = DataType { kind: kind.clone(), nullable: !key.contains(&at) };
        DataField::new(i32::try_from(at).unwrap(), format!("f{at}"), data_type)
    };
    KvLayout {
        fields: types.iter().enumerate().map(field).collect(),
        key: key.to_vec(),
        sequence: sequence.to_vec(),
        sequence_descending: false,
    }
}

pub(crate) fn batch(layout: &KvLayout, records: &[Record]) -> RecordBatch {
    let mut columns: Vec<ArrayRef> = layout
        .fields
        .iter()
        .enumerate()
        .map(|(c, f)| {
            let data: Vec<Datum> = records.iter().map(|r| r.fields[c].clone()).collect();
            array_from_datums(&data, &f.data_type).unwrap()
        })
        .collect();
    columns.push(Arc::new(Int64Array::from_iter_values(records.iter().map(|r| r.sequence))));
    columns.push(Arc::new(Int8Array::from_iter_values(records.iter().map(|r| r.kind))));
    RecordBatch::try_new(layout.arrow_schema().unwrap(), columns).unwrap()
}

pub(crate) fn records(layout: &KvLayout, batch: &RecordBatch) -> Vec<Record> {
    let n = layout.fields.len();
    let sequence = batch.column(n).as_primitive::<Int64Type>();
    let kinds = batch.column(n + 1).as_primitive::<Int8Type>();
    let row = |row: usize| Record {
        fields: (0..n)
            .map(|c| datum_from_array(batch.column(c).as_ref(), row, &layout.fields[c].data_type).unwrap())
            .collect(),
        sequence: sequence.value(row),
        kind: kinds.value(row),
    };
    assert_eq!(sequence.len(), batch.num_rows());
    (0..batch.num_rows()).map(row).collect()
}

pub(crate) fn all_records(layout: &KvLayout, stream: BatchStream) -> Vec<Record> {
    stream.flat_map(|b| records(layout, &b.unwrap())).collect()
}

/// A stream of batches of `rows` rows.
pub(crate) fn stream(layout: &KvLayout, records: &[Record], rows: usize) -> BatchStream {
    let batches: Vec<_> = records.chunks(rows.max(1)).map(|c| Ok(batch(layout, c))).collect();
    Box::new(batches.into_iter())
}

/// Paimon's order of two values, written independently of the merge.
pub(crate) fn model_order(a: &Datum, b: &Datum) -> Ordering {
    match (a, b) {
        (Datum::Null, Datum::Null) => Ordering::Equal,
        (Datum::Null, _) => Ordering::Less,
        (_, Datum::Null) => Ordering::Greater,
        (Datum::Int(a), Datum::Int(b)) => a.cmp(b),
        (Datum::BigInt(a), Datum::BigInt(b)) => a.cmp(b),
        (Datum::Decimal(a), Datum::Decimal(b)) => a.cmp(b),
        (Datum::String(a), Datum::String(b)) => a.as_bytes().cmp(b.as_bytes()),
        (Datum::Double(a), Datum::Double(b)) if a.is_nan() || b.is_nan() => a.is_nan().cmp(&b.is_nan()),
        (Datum::Double(a), Datum::Double(b)) => a.total_cmp(b),
        other => panic!("not modelled: {other:?}"),
    }
}

pub(crate) fn key_order(layout: &KvLayout, a: &Record, b: &Record) -> Ordering {
    layout.key.iter().map(|&k| model_order(&a.fields[k], &b.fields[k])).find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
}

/// Key, user sequence, sequence number, retract before add.
pub(crate) fn merge_order(layout: &KvLayout, a: &Record, b: &Record) -> Ordering {
    let user = || {
        let one = |&s: &usize| {
            let order = model_order(&a.fields[s], &b.fields[s]);
            let null = a.fields[s].is_null() || b.fields[s].is_null();
            if layout.sequence_descending && !null { order.reverse() } else { order }
        };
        layout.sequence.iter().map(one).find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
    };
    key_order(layout, a, b)
        .then_with(user)
        .then_with(|| a.sequence.cmp(&b.sequence))
        .then_with(|| (b.kind & 1).cmp(&(a.kind & 1)))
}

/// Deduplicates by sorting everything: what every merge must give.
pub(crate) fn deduplicated(layout: &KvLayout, all: &[Record], drop_deletes: bool) -> Vec<Record> {
    let mut sorted = all.to_vec();
    sorted.sort_by(|a, b| merge_order(layout, a, b));
    let mut last: BTreeMap<usize, Record> = BTreeMap::new();
    let mut group = 0;
    for (at, record) in sorted.iter().enumerate() {
        if at > 0 && key_order(layout, &sorted[at - 1], record).is_ne() {
            group += 1;
        }
        last.insert(group, record.clone());
    }
    last.into_values().filter(|r| !(drop_deletes && r.kind & 1 == 1)).collect()
}

/// A file's metadata with an INT key range.
pub(crate) fn file(name: &str, level: i32, size: i64, min: i32, max: i32) -> DataFileMeta {
    let key = |k: i32| {
        let types = [DataType::not_null(TypeKind::Int)];
        BinaryRow::from_datums(&types, &[Datum::Int(k)]).unwrap().to_serialized()
    };
    DataFileFields {
        file_name: name.to_owned(),
        file_size: size,
        row_count: 1,
        min_key: key(min),
        max_key: key(max),
        key_stats: SimpleStats::empty(),
        value_stats: SimpleStats::empty(),
        min_sequence_number: 0,
        max_sequence_number: 0,
        schema_id: 0,
        level,
        extra_files: Vec::new(),
        creation_time: Some(0),
        delete_row_count: Some(0),
        embedded_file_index: None,
        file_source: None,
        value_stats_cols: None,
        external_path: None,
        first_row_id: None,
        write_cols: None,
    }
    .into()
}
