use super::*;
use crate::{
    row::{Datum, array_from_datums},
    types::{DataType, MAX_LENGTH, TypeKind},
};

fn both_ways(function: BucketFunction, types: &[DataType], key: &[Datum], n: i32) -> i32 {
    let one = bucket_of(function, types, key, n).unwrap();
    let columns: Vec<_> =
        key.iter().zip(types).map(|(v, t)| array_from_datums(&[v.clone(), v.clone()], t).unwrap()).collect();
    assert_eq!(assign_buckets(function, types, &columns, n).unwrap(), vec![one, one]);
    one
}

fn int() -> DataType {
    DataType::new(TypeKind::Int)
}

fn string() -> DataType {
    DataType::new(TypeKind::VarChar(MAX_LENGTH))
}

#[test]
fn default_buckets_are_those_of_java() {
    let default = BucketFunction::Default;
    assert_eq!(both_ways(default, &[int()], &[Datum::Int(1)], 5), 3);
    assert_eq!(both_ways(default, &[int()], &[Datum::Null], 5), 4);
    assert_eq!(both_ways(default, &[int()], &[Datum::Int(-5)], 3), 2);
    assert_eq!(both_ways(default, &[string()], &[Datum::String("20240514".into())], 5), 4);
    let two = [Datum::Int(7), Datum::String("hello world".into())];
    assert_eq!(both_ways(default, &[int(), string()], &two, 5), 1);
}

#[test]
fn mod_is_the_floor_modulus_and_null_counts_as_zero() {
    assert_eq!(both_ways(BucketFunction::Mod, &[int()], &[Datum::Int(-5)], 3), 1);
    assert_eq!(both_ways(BucketFunction::Mod, &[int()], &[Datum::Null], 3), 0);
    let big = DataType::new(TypeKind::BigInt);
    assert_eq!(both_ways(BucketFunction::Mod, &[big], &[Datum::BigInt(i64::MIN)], 5), 2);
    assert!(bucket_of(BucketFunction::Mod, &[string()], &[Datum::Null], 3).is_err());
}

#[test]
fn hive_buckets_are_those_of_java() {
    let key = [Datum::String("abc".into()), Datum::Int(7)];
    assert_eq!(both_ways(BucketFunction::Hive, &[string(), int()], &key, i32::MAX), 2_986_981);
    let decimal = |precision, scale| DataType::new(TypeKind::Decimal { precision, scale });
    // equal numbers of different scale fall into the same bucket
    let a = both_ways(BucketFunction::Hive, &[decimal(10, 2)], &[Datum::Decimal(1250)], 1000);
    let b = both_ways(BucketFunction::Hive, &[decimal(10, 1)], &[Datum::Decimal(125)], 1000);
    assert_eq!((a, b), (b, (125 * 31 + 1) % 1000));
    let timestamp = DataType::new(TypeKind::Timestamp(3));
    assert!(
        bucket_of(BucketFunction::Hive, &[timestamp], &[Datum::Timestamp { millis: 0, nanos_of_milli: 0 }], 3).is_err()
    );
}

#[test]
fn a_bucket_number_below_one_and_unknown_functions_are_refused() {
    assert!(bucket_of(BucketFunction::Default, &[int()], &[Datum::Int(1)], 0).is_err());
    assert!(BucketFunction::parse("murmur").is_err());
    assert_eq!(BucketFunction::parse("MOD").unwrap(), BucketFunction::Mod);
}
