//! Rows, hashes, buckets and statistics that Java wrote (`tests/golden/vectors`), byte for byte both ways.

use std::{fs, path::Path, sync::Arc};

use arrow_array::ArrayRef;
use serde_json::Value;
use siltstone::{
    codec::{from_hex, to_hex},
    index::{BucketFunction, assign_buckets, bucket_of},
    row::{
        BinaryRow, Datum, array_datum, array_from_datums, binary_rows, datum_from_text, datum_to_text,
        datums_from_array, hash_rows, map_datum, row_datum,
    },
    stats::{ColumnStats, SimpleStats, StatsFields, StatsMode, decode_stats_for, dense, encode_stats},
    types::{DataField, DataType, MAX_LENGTH, TypeKind},
};

/// The lines of a file of vectors.
pub(crate) fn vectors(name: &str) -> Vec<Value> {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/vectors"));
    let text = fs::read_to_string(folder.join(name)).expect("golden vectors");
    text.lines().map(|line| serde_json::from_str(line).expect("a JSON line")).collect()
}

#[test]
fn rows_hashes_and_buckets_are_those_of_java() {
    for vector in vectors("hash.jsonl") {
        let types: Vec<DataType> = list(&vector["types"]).iter().map(parse_type).collect();
        let values: Vec<Datum> = list(&vector["values"]).iter().zip(&types).map(|(v, t)| datum(v, t)).collect();
        let row = BinaryRow::from_datums(&types, &values).unwrap();
        assert_eq!(to_hex(row.as_bytes()), vector["binary_row_hex"], "{vector}");
        assert_eq!(to_hex(&row.to_serialized()), vector["serialized_hex"]);
        assert_eq!(i64::from(row.hash()), vector["hash"].as_i64().unwrap());
        let serialized = from_hex(vector["serialized_hex"].as_str().unwrap()).unwrap();
        let read = BinaryRow::from_serialized(&serialized).unwrap().datums(&types).unwrap();
        assert_eq!(format!("{read:?}"), format!("{values:?}"));
        for (n, bucket) in vector["bucket"].as_object().unwrap() {
            let found = bucket_of(BucketFunction::Default, &types, &values, n.parse().unwrap()).unwrap();
            assert_eq!(i64::from(found), bucket.as_i64().unwrap(), "{vector}");
        }
        for (n, bucket) in vector.get("bucket_mod").and_then(Value::as_object).into_iter().flatten() {
            let found = bucket_of(BucketFunction::Mod, &types, &values, n.parse().unwrap()).unwrap();
            assert_eq!(i64::from(found), bucket.as_i64().unwrap(), "{vector}");
        }
    }
}

/// Vectors of the same types make one batch.
#[test]
fn batches_of_rows_are_the_same_bytes_as_single_rows() {
    let mut groups: Vec<(Value, Vec<Value>)> = Vec::new();
    for vector in vectors("hash.jsonl") {
        match groups.iter_mut().find(|(types, _)| *types == vector["types"]) {
            Some((_, group)) => group.push(vector),
            None => groups.push((vector["types"].clone(), vec![vector])),
        }
    }
    for (types, group) in groups {
        let types: Vec<DataType> = list(&types).iter().map(parse_type).collect();
        let column = |i: usize| {
            let t = &types[i];
            let values: Vec<Datum> = group.iter().map(|v| datum(&v["values"][i], t)).collect();
            let array = array_from_datums(&values, t).unwrap();
            assert_eq!(format!("{:?}", datums_from_array(array.as_ref(), t).unwrap()), format!("{values:?}"));
            array
        };
        let columns: Vec<ArrayRef> = (0..types.len()).map(column).collect();
        let (rows, hashes) = (binary_rows(&types, &columns).unwrap(), hash_rows(&types, &columns).unwrap());
        assert_eq!((rows.len(), hashes.len()), (group.len(), group.len()));
        for (i, vector) in group.iter().enumerate() {
            assert_eq!(to_hex(&rows.serialized(i)), vector["serialized_hex"], "{vector}");
            assert_eq!(i64::from(hashes[i]), vector["hash"].as_i64().unwrap());
        }
        let buckets = assign_buckets(BucketFunction::Default, &types, &columns, 97).unwrap();
        let expected: Vec<i64> = group.iter().map(|v| v["bucket"]["97"].as_i64().unwrap()).collect();
        assert_eq!(buckets.iter().map(|b| i64::from(*b)).collect::<Vec<_>>(), expected);
        // a slice of a batch has its own offsets and null bits
        if group.len() > 3 {
            let sliced: Vec<ArrayRef> = columns.iter().map(|c| c.slice(2, group.len() - 3)).collect();
            let rows = binary_rows(&types, &sliced).unwrap();
            (0..rows.len()).for_each(|i| assert_eq!(to_hex(rows.row(i)), group[i + 2]["binary_row_hex"]));
        }
    }
}

#[test]
fn stored_statistics_decode_and_encode_to_the_same_bytes() {
    for vector in vectors("stats.jsonl") {
        let (names, types) = fields(&vector);
        let stored = simple_stats(&vector);
        let cols = stats_cols(&vector);
        let kept: Vec<&str> = cols.as_ref().map_or(names.clone(), |cols| cols.iter().map(String::as_str).collect());
        let decoded = decode_stats_for(&stored, cols.as_deref(), &names, &types).unwrap();
        for ((name, t), stats) in names.iter().zip(&types).zip(&decoded) {
            let bound = |side: &str| vector["value_stats"][side].get(*name).map_or(Datum::Null, |v| datum(v, t));
            // as text: NaN is not equal to itself
            let bounds = format!("{:?} {:?}", stats.min, stats.max);
            assert_eq!(bounds, format!("{:?} {:?}", bound("min"), bound("max")), "{name} in {vector}");
        }
        let kept = |name: &&str| kept.contains(name);
        let (kept_types, kept_stats): (Vec<DataType>, Vec<ColumnStats>) = names
            .iter()
            .zip(types.into_iter().zip(decoded))
            .filter(|(name, _)| kept(name))
            .map(|(_, column)| column)
            .unzip();
        assert_eq!(encode_stats(&kept_types, &kept_stats).unwrap(), stored);
    }
}

#[test]
fn statistics_collected_from_rows_are_those_of_java() {
    for vector in vectors("stats.jsonl") {
        let option = |key: &str| vector["options"].get(key).and_then(Value::as_str);
        if option("file.format") == Some("orc") {
            // ORC's own bounds are padded and rounded; other modules do not write it
            continue;
        }
        let parquet = option("file.format").is_none();
        let mode = StatsMode::parse(option("metadata.stats-mode").unwrap_or("truncate(16)")).unwrap();
        let (names, types) = fields(&vector);
        let collect = |(i, t): (usize, &DataType)| {
            // Java has no bounds for binaries, nor for INT96 in a Parquet footer
            let no_bounds = match t.kind {
                TypeKind::Timestamp(7..) | TypeKind::LocalZonedTimestamp(7..) => parquet,
                _ => matches!(t.kind, TypeKind::Binary(_) | TypeKind::VarBinary(_)),
            };
            if t.is_nested() {
                return ColumnStats::unknown();
            }
            let mut stats = ColumnStats::none_yet();
            for row in list(&vector["rows"]) {
                stats.add(&datum(&row[i], t));
            }
            if no_bounds {
                stats = StatsMode::Counts.apply_mode(stats);
            }
            mode.apply_mode(stats)
        };
        let stats: Vec<ColumnStats> = types.iter().enumerate().map(collect).collect();
        let found = if option("metadata.stats-dense-store") == Some("false") {
            (encode_stats(&types, &stats).unwrap(), None)
        } else {
            dense(&names, &types, &stats).unwrap()
        };
        assert_eq!(found, (simple_stats(&vector), stats_cols(&vector)), "{vector}");
    }
}

fn simple_stats(vector: &Value) -> SimpleStats {
    let stats = &vector["value_stats"];
    StatsFields {
        min_values: from_hex(stats["min_hex"].as_str().unwrap()).unwrap(),
        max_values: from_hex(stats["max_hex"].as_str().unwrap()).unwrap(),
        null_counts: list(&stats["null_counts"]).iter().map(Value::as_i64).collect(),
    }
    .into()
}

fn stats_cols(vector: &Value) -> Option<Vec<String>> {
    let cols = vector["value_stats_cols"].as_array()?;
    Some(cols.iter().map(|c| c.as_str().unwrap().to_owned()).collect())
}

fn fields(vector: &Value) -> (Vec<&str>, Vec<DataType>) {
    list(&vector["fields"]).iter().map(|f| (f["name"].as_str().unwrap(), parse_type(&f["type"]))).unzip()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// A value in the oracle's JSON form.
fn datum(value: &Value, t: &DataType) -> Datum {
    match (value, &t.kind) {
        (Value::Null, _) => Datum::Null,
        (Value::String(hex), TypeKind::Binary(_) | TypeKind::VarBinary(_)) => Datum::Bytes(from_hex(hex).unwrap()),
        (Value::String(text), _) => {
            let datum = datum_from_text(text, t).unwrap();
            round_trip(&datum, t);
            datum
        }
        (Value::Array(items), TypeKind::Array(element)) => array_datum(element, &datums(items, element)).unwrap(),
        (Value::Array(pairs), TypeKind::Map(key, value)) => map(pairs, key, value),
        (Value::Array(pairs), TypeKind::Multiset(element)) => map(pairs, element, &DataType::new(TypeKind::Int)),
        (row, TypeKind::Row(fields)) => {
            let types: Vec<DataType> = fields.iter().map(|f| f.data_type.clone()).collect();
            let value = |(i, f): (usize, &DataField)| datum(row.get(i).unwrap_or(&row[&f.name]), &f.data_type);
            row_datum(&types, &fields.iter().enumerate().map(value).collect::<Vec<_>>()).unwrap()
        }
        (other, _) => datum_from_text(&other.to_string(), t).unwrap(),
    }
}

fn datums(items: &[Value], t: &DataType) -> Vec<Datum> {
    items.iter().map(|item| datum(item, t)).collect()
}

fn map(pairs: &[Value], key: &DataType, value: &DataType) -> Datum {
    let keys: Vec<Datum> = pairs.iter().map(|pair| datum(&pair[0], key)).collect();
    let values: Vec<Datum> = pairs.iter().map(|pair| datum(&pair[1], value)).collect();
    map_datum(key, &keys, value, &values).unwrap()
}

/// The text form of a value means the same value.
fn round_trip(value: &Datum, t: &DataType) {
    let text = datum_to_text(value, t);
    assert_eq!(format!("{:?}", datum_from_text(&text, t).unwrap()), format!("{value:?}"), "{text}");
}

fn parse_type(value: &Value) -> DataType {
    DataType::from_json(value).unwrap()
}

#[test]
fn a_batch_larger_than_a_chunk_hashes_like_its_rows() {
    let types = [DataType::new(TypeKind::Int), DataType::new(TypeKind::VarChar(MAX_LENGTH))];
    let ids: Vec<Datum> = (0..3000).map(|i| if i % 7 == 0 { Datum::Null } else { Datum::Int(i) }).collect();
    let texts: Vec<Datum> = (0..3000usize).map(|i| Datum::String("x".repeat(i % 23))).collect();
    let columns: Vec<ArrayRef> = [&ids, &texts]
        .into_iter()
        .zip(&types)
        .map(|(values, t)| Arc::clone(&array_from_datums(values, t).unwrap()))
        .collect();
    let hashes = hash_rows(&types, &columns).unwrap();
    for (i, (id, text)) in ids.into_iter().zip(texts).enumerate() {
        assert_eq!(hashes[i], BinaryRow::from_datums(&types, &[id, text]).unwrap().hash(), "row {i}");
    }
}
