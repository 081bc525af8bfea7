//! Bytes are Java's, both forms agree with a set of numbers, and broken bytes are errors.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use arrow_array::Int64Array;
use proptest::{collection::vec, prelude::*, sample::Index};

use super::*;
use crate::{
    codec::{from_hex, to_hex},
    error::ErrorKind,
    fs::{FaultFileIo, FileIoRef},
    manifest::{BucketId, EntryKind},
    options::CoreOptions,
    path::PathFactory,
};

fn vector(kind: BitmapKind, positions: impl IntoIterator<Item = u64>) -> DeletionVector {
    let mut vector = DeletionVector::new(kind);
    positions.into_iter().for_each(|p| vector.delete(p).unwrap());
    vector
}

fn stored(vector: &mut DeletionVector) -> DeletedRows {
    DeletedRows::parse("index-0", 1, vector.serialize().unwrap().into()).unwrap()
}

use BitmapKind::{Bits32, Bits64};

#[test]
fn bytes_are_those_of_java() {
    // format chapter 8.4
    let cases: [(BitmapKind, Vec<u64>, &str, i32); 6] = [
        (Bits32, vec![3, 150], "00000018 5e43f2d0 3a300000 01000000 0000 0100 10000000 0300 9600 7c12ef07", 24),
        (
            Bits64,
            vec![3, 150],
            "00000024 d1d33964 0100000000000000 00000000 3a300000 01000000 0000 0100 10000000 0300 9600 ce0b217d",
            44,
        ),
        (
            Bits32,
            vec![1, 5, 100_000],
            "00000022 5e43f2d0 3a300000 02000000 0000 0100 0100 0000 18000000 1c000000 0100 0500 a086 038d4e4d",
            34,
        ),
        (
            Bits64,
            vec![1, 5, 100_000],
            "0000002e d1d33964 0100000000000000 00000000 3a300000 02000000 0000 0100 0100 0000 18000000 1c000000 0100 \
             0500 a086 46fdf74f",
            54,
        ),
        (
            Bits64,
            vec![1, (1 << 32) + 2],
            "00000038 d1d33964 0200000000000000 00000000 3a300000 01000000 0000 0000 10000000 0100 01000000 3a300000 \
             01000000 0000 0000 10000000 0200 f4a90021",
            64,
        ),
        (Bits32, (0..1000).collect(), "00000013 5e43f2d0 3b300000 01 0000 e703 0100 0000 e703 5d08589f", 19),
    ];
    for (kind, positions, hex, length) in cases {
        let expected = from_hex(&hex.replace(' ', "")).unwrap();
        let mut built = vector(kind, positions.clone());
        let mut bytes = vec![1];
        assert_eq!(built.serialize_into(&mut bytes).unwrap(), length);
        assert_eq!(to_hex(&bytes[1..]), to_hex(&expected));
        let read = DeletedRows::parse("index-0", 1, expected.into()).unwrap();
        assert_eq!(read.range_length(), i64::from(length));
        assert_eq!(read.to_vector().unwrap().positions().collect::<Vec<_>>(), positions);
    }
}

#[test]
fn a_position_beyond_the_encoding_is_refused() {
    let error = DeletionVector::new(Bits32).delete(1 << 31).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LengthExceeded);
    assert!(DeletionVector::new(Bits64).delete(1 << 31).is_ok());
    assert!(DeletionVector::new(Bits64).delete(u64::MAX).is_err());
    for negative in [[1_i64, -1], [-1, 1]] {
        assert!(DeletionVector::new(Bits64).delete_all(&negative).is_err());
    }
}

#[test]
fn marking_twice_is_noticed() {
    let mut vector = DeletionVector::new(Bits32);
    assert!(vector.is_empty());
    assert!(vector.checked_delete(7).unwrap());
    assert!(!vector.checked_delete(7).unwrap());
    assert_eq!((vector.cardinality(), vector.is_deleted(7), vector.is_deleted(8)), (1, true, false));
}

#[test]
fn encodings_are_merged() {
    let mut a = vector(Bits32, [1, 9]);
    a.merge(&vector(Bits64, [2, 9])).unwrap();
    assert_eq!((a.kind(), a.positions().collect::<Vec<_>>()), (Bits32, vec![1, 2, 9]));
    assert!(a.merge(&vector(Bits64, [1 << 40])).is_err());
}

/// Positions of all shapes: single ones, dense containers, runs, and far apart.
fn positions(kind: BitmapKind) -> impl Strategy<Value = Vec<u64>> {
    let far: u64 = if kind == Bits64 { 5 << 32 } else { 1 << 31 };
    let base = prop_oneof![3 => Just(0_u64), 2 => 0..300_000_u64, 1 => 0..far - 300_000];
    let some = prop_oneof![
        vec(0..200_000_u64, 0..50),
        (0..1000_u64, 1..70_000_u64).prop_map(|(from, n)| (from..from + n).collect()),
        (0..8_u64, 1..6_u64).prop_map(|(from, step)| (from..100_000).step_by(usize::try_from(step).unwrap()).collect()),
        vec(0..70_000_u64, 5000..6000),
        // ascending and dense, with repeated ones and gaps that fall anywhere in words and blocks
        vec(0..4_u64, 3000..20_000).prop_map(|gaps| gaps
            .into_iter()
            .scan(0, |at, gap| {
                *at += gap;
                Some(*at)
            })
            .collect()),
    ];
    vec((base, some), 0..4)
        .prop_map(|parts| parts.into_iter().flat_map(|(base, some)| some.into_iter().map(move |p| base + p)).collect())
}

fn both() -> impl Strategy<Value = (BitmapKind, Vec<u64>)> {
    prop_oneof![positions(Bits32).prop_map(|p| (Bits32, p)), positions(Bits64).prop_map(|p| (Bits64, p))]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn adding_at_once_is_adding_one_by_one((kind, positions) in both(), cut in any::<Index>()) {
        let model: BTreeSet<u64> = positions.iter().copied().collect();
        let mut one = DeletionVector::new(kind);
        for p in &positions {
            one.checked_delete(*p).unwrap();
        }
        let mut many = DeletionVector::new(kind);
        let (first, second) = positions.split_at(cut.index(positions.len() + 1));
        many.delete_all(first).unwrap();
        many.delete_all(second).unwrap();
        prop_assert_eq!(many.cardinality(), model.len() as u64);
        prop_assert!(many.positions().eq(model.iter().copied()));
        prop_assert_eq!(one.serialize().unwrap(), many.serialize().unwrap());
        prop_assert_eq!(one.max(), model.last().copied());
    }

    /// A row counts as new once, however its number is kept, and whichever positions come with it.
    #[test]
    fn marking_many_says_which_are_new((kind, positions) in both(), cut in any::<Index>()) {
        let (first, second) = positions.split_at(cut.index(positions.len() + 1));
        let mut vector = DeletionVector::new(kind);
        vector.delete_all(first).unwrap();
        let before: BTreeSet<u64> = first.iter().copied().collect();
        let expected: Vec<bool> = second.iter().map(|p| !before.contains(p)).collect();
        let signed: Vec<i64> = second.iter().map(|p| i64::try_from(*p).unwrap()).collect();
        let fresh = vector.checked_delete_all(&signed).unwrap();
        prop_assert_eq!(fresh.is_some(), expected.contains(&false));
        prop_assert_eq!(fresh.map_or_else(|| vec![true; second.len()], |f| f.iter().collect()), expected);
        let all: BTreeSet<u64> = positions.iter().copied().collect();
        prop_assert!(vector.positions().eq(all));
        let known = vector.checked_delete_all(&positions).unwrap();
        prop_assert_eq!(known.map(|f| f.count_set_bits()), (!positions.is_empty()).then_some(0));
    }

    #[test]
    fn both_forms_are_the_set((kind, positions) in both(), probes in vec(0..300_000_u64, 0..100), start in 0..200_000_u64, rows in 0..20_000_usize) {
        let model: BTreeSet<u64> = positions.iter().copied().collect();
        let mut changing = DeletionVector::new(kind);
        changing.delete_all(&positions).unwrap();
        let read = stored(&mut changing);
        prop_assert_eq!(read.kind(), kind);
        prop_assert_eq!(read.cardinality(), model.len() as u64);
        prop_assert_eq!(read.max(), model.last().copied());
        prop_assert_eq!(&read.to_vector().unwrap(), &changing);
        let near = positions.iter().flat_map(|p| [p.saturating_sub(1), *p, p + 1]).take(500);
        for p in probes.iter().copied().chain(near) {
            prop_assert_eq!(read.is_deleted(p), model.contains(&p), "{}", p);
            prop_assert_eq!(changing.is_deleted(p), model.contains(&p), "{}", p);
        }
        for start in [start, positions.first().map_or(0, |p| p.saturating_sub(100))] {
            let end = start + rows as u64;
            let keep = read.keep(start, rows);
            let found: Vec<bool> = keep.map_or_else(|| vec![true; rows], |k| k.iter().collect());
            let expected: Vec<bool> = (start..end).map(|p| !model.contains(&p)).collect();
            prop_assert_eq!(found, expected);
        }
        let at: Vec<i64> = probes.iter().map(|p| i64::try_from(*p).unwrap()).collect();
        let kept = read.keep_at(&Int64Array::from(at.clone())).map_or_else(|| vec![true; at.len()], |k| k.iter().collect());
        let expected: Vec<bool> = probes.iter().map(|p| !model.contains(p)).collect();
        prop_assert_eq!(kept, expected);
        let deleted: Vec<bool> = read.deleted_at(&probes).iter().collect();
        let expected: Vec<bool> = probes.iter().map(|p| model.contains(p)).collect();
        prop_assert_eq!(deleted, expected);
    }

    #[test]
    fn ranges_are_marked(kind in prop_oneof![Just(Bits32), Just(Bits64)], from in 0..200_000_u64, rows in 0..200_000_u64) {
        let mut range = vector(kind, [3]);
        range.delete_range(from, from + rows).unwrap();
        let expected: BTreeSet<u64> = (from..from + rows).chain([3]).collect();
        prop_assert!(range.positions().eq(expected));
    }

    /// With a right checksum, so that the structure itself is read.
    #[test]
    fn broken_bytes_are_errors_or_other_rows((kind, positions) in both(), changes in vec((any::<Index>(), any::<u8>()), 1..4), cut in any::<Index>(), shorten in any::<bool>(), repair in any::<bool>()) {
        let mut bytes = vector(kind, positions).serialize().unwrap();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if shorten {
            bytes.truncate(cut.index(bytes.len() + 1));
        }
        if repair && bytes.len() >= 8 {
            let size = i32::try_from(bytes.len() - 8).unwrap();
            bytes[..4].copy_from_slice(&size.to_be_bytes());
            let end = bytes.len() - 4;
            let crc = crc32fast::hash(&bytes[4..end]).to_be_bytes();
            bytes[end..].copy_from_slice(&crc);
        }
        match DeletedRows::parse("index-0", 17, bytes.into()) {
            Ok(rows) => {
                let _ = (rows.max(), rows.is_deleted(5), rows.keep(0, 1000), rows.keep(70_000, 1000));
                let _ = rows.to_vector().map_err(|e| assert_ne!(e.kind(), ErrorKind::Internal));
            }
            Err(error) => {
                prop_assert!(matches!(error.kind(), ErrorKind::CorruptFile | ErrorKind::ChecksumMismatch), "{error}");
                prop_assert_eq!(error.context_value("file"), Some("index-0"));
                prop_assert!(error.context_value("offset").is_some());
            }
        }
    }
}

#[test]
fn each_kind_of_damage_has_its_own_error() {
    let good = vector(Bits32, [3, 150]).serialize().unwrap();
    let damaged = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        DeletedRows::parse("index-0", 1, bytes.into()).unwrap_err()
    };
    assert_eq!(damaged(22, 9).kind(), ErrorKind::ChecksumMismatch);
    assert!(damaged(4, 0).to_string().contains("magic number"));
    assert!(damaged(3, 0xFF).to_string().contains("size of a deletion vector"));
    assert!(DeletedRows::parse("index-0", 1, good[..7].to_vec().into()).is_err());
}

/// A table in memory.
struct Bed {
    fs: FileIoRef,
    paths: Arc<PathFactory>,
    bucket: BucketId,
}

fn bed() -> Bed {
    let fields = vec![crate::types::DataField::new(0, "a", crate::types::DataType::new(crate::types::TypeKind::Int))];
    let table = crate::schema::NewTable {
        fields,
        primary_key: vec![],
        partition_by: vec![],
        options: BTreeMap::new(),
        comment: None,
    };
    let schema = table.into_schema().unwrap();
    Bed {
        fs: Arc::new(FaultFileIo::new()),
        paths: Arc::new(PathFactory::new("/t", &schema, &CoreOptions::default())),
        bucket: BucketId { partition: vec![0; 12], bucket: 0 },
    }
}

impl Bed {
    fn files(&self, options: &CoreOptions) -> DeletionVectorsIndexFile {
        DeletionVectorsIndexFile::new(&self.fs, &self.paths, options)
    }
}

#[test]
fn an_index_file_holds_both_encodings() {
    let bed = bed();
    let files = bed.files(&CoreOptions::default());
    let mut vectors = BTreeMap::from([
        ("a".to_owned(), Held::Changed(vector(Bits32, [3, 150]))),
        ("b".to_owned(), Held::Changed(vector(Bits64, 0..5000))),
        ("none".to_owned(), Held::Changed(DeletionVector::new(Bits32))),
    ]);
    let entry = files.write(&bed.bucket, &mut vectors).unwrap();
    assert_eq!((entry.row_count, entry.kind), (2, EntryKind::Add), "a vector without rows is not written");
    assert_eq!(i64::try_from(files.file_size(&entry).unwrap()).unwrap(), entry.file_size);
    let read = files.read_all(&entry).unwrap();
    assert_eq!((read["a"].cardinality(), read["b"].cardinality()), (2, 5000));
    let path = files.path(&entry).unwrap();
    for range in entry.deletion_vectors.clone().unwrap() {
        let one = DeletionVectorsIndexFile::read(&bed.fs, &path, &range).unwrap();
        assert_eq!(one.bytes(), read[&range.data_file_name].bytes());
        let longer = DeletionVectorRange { length: range.length + 1, ..range.clone() };
        assert_eq!(DeletionVectorsIndexFile::read(&bed.fs, &path, &longer).unwrap_err().kind(), ErrorKind::CorruptFile);
        let other = DeletionVectorRange { cardinality: Some(1), ..range };
        let error = DeletionVectorsIndexFile::read(&bed.fs, &path, &other).unwrap_err();
        assert_eq!(error.context_value("file"), Some(path.as_str()));
    }
    let gone = DeletionVectorsIndexFile::read(&bed.fs, "/t/index/none", &entry.deletion_vectors.unwrap()[0]);
    assert_eq!(gone.unwrap_err().kind(), ErrorKind::FileNotFound);
}

use crate::manifest::DeletionVectorRange;

#[test]
fn index_files_roll_when_they_pass_the_target_size() {
    let bed = bed();
    let files = bed.files(&CoreOptions { deletion_vector_index_file_target_size: 30, ..CoreOptions::default() });
    let held = |n: u64| Held::Changed(vector(Bits32, [n]));
    let mut vectors: BTreeMap<String, Held> = (0..3).map(|n| (n.to_string(), held(n))).collect();
    let entries = files.write_rolling(&bed.bucket, &mut vectors).unwrap();
    assert_eq!(entries.iter().map(|e| e.row_count).collect::<Vec<_>>(), [1, 1, 1]);
    assert!(files.write_rolling(&bed.bucket, &mut BTreeMap::new()).unwrap().is_empty());
}

#[test]
fn a_bucket_writes_its_index_file_when_its_vectors_change() {
    let bed = bed();
    let files = bed.files(&CoreOptions::default());
    let mut maintainer = DeletionVectorsMaintainer::restore(files.clone(), bed.bucket.clone(), &[]).unwrap();
    assert!(maintainer.prepare_commit().unwrap().is_none());
    maintainer.notify_new_deletion("a", 4).unwrap();
    maintainer.notify_new_deletions("b", &[1_u64, 2, 3]).unwrap();
    let first = maintainer.prepare_commit().unwrap().unwrap();
    maintainer.notify_new_deletion("a", 4).unwrap();
    assert!(maintainer.prepare_commit().unwrap().is_none(), "nothing changed");

    let bits64 = bed.files(&CoreOptions { deletion_vectors_bitmap64: true, ..CoreOptions::default() });
    let mut again = DeletionVectorsMaintainer::restore(bits64, bed.bucket.clone(), &[first]).unwrap();
    again.notify_new_deletion("a", 5).unwrap();
    again.notify_new_deletion("c", 5).unwrap();
    let all = again.deletion_vectors().unwrap();
    let kinds: Vec<_> = all.values().map(|rows| rows.kind()).collect();
    assert_eq!(kinds, [Bits32, Bits32, Bits64], "a vector keeps its encoding");
    assert!(again.deletion_vector_of("a").unwrap().unwrap().is_deleted(5));
    for file in ["a", "b", "c"] {
        again.remove_deletion_vector_of(file);
    }
    let empty = again.prepare_commit().unwrap().unwrap();
    assert_eq!((empty.file_size, empty.row_count, empty.deletion_vectors.unwrap().len()), (1, 0, 0));
}

#[test]
fn touching_an_index_file_without_buckets_replaces_it() {
    let bed = bed();
    let files = bed.files(&CoreOptions::default());
    let held = |n: u64| Held::Changed(vector(Bits32, [n]));
    let mut ab = BTreeMap::from([("a".to_owned(), held(1)), ("b".to_owned(), held(2))]);
    let mut c = BTreeMap::from([("c".to_owned(), held(3))]);
    let (ab, c) = (files.write(&bed.bucket, &mut ab).unwrap(), files.write(&bed.bucket, &mut c).unwrap());
    let bits64 = bed.files(&CoreOptions { deletion_vectors_bitmap64: true, ..CoreOptions::default() });
    let mut maintainer = AppendDeleteMaintainer::new(bits64.clone(), bed.bucket.clone(), &[ab.clone(), c]).unwrap();
    maintainer.notify_new_deletions("a", &vector(Bits32, [9])).unwrap();
    let changes = maintainer.persist().unwrap();
    let names = |kind| changes.iter().filter(|e| e.kind == kind).map(|e| e.file_name.clone()).collect::<Vec<_>>();
    assert_eq!(names(EntryKind::Delete), std::slice::from_ref(&ab.file_name));
    let added: Vec<_> = changes.iter().filter(|e| e.kind == EntryKind::Add).collect();
    let read = bits64.read_all(added[0]).unwrap();
    assert_eq!(read["a"].to_vector().unwrap().positions().collect::<Vec<_>>(), [1, 9]);
    assert_eq!((read["a"].kind(), read["b"].kind()), (Bits64, Bits32), "a touched vector gets the table's encoding");

    let mut maintainer = AppendDeleteMaintainer::new(files, bed.bucket.clone(), &[ab]).unwrap();
    maintainer.remove_deletion_vector_of("a");
    maintainer.remove_deletion_vector_of("b");
    let changes = maintainer.persist().unwrap();
    assert_eq!(changes.iter().map(|e| e.kind).collect::<Vec<_>>(), [EntryKind::Delete]);
}

#[test]
fn a_row_that_no_file_has_does_not_make_a_vector_of_gigabytes() {
    let mut vector = DeletionVector::new(BitmapKind::Bits64);
    vector.delete(0x7FFF_FFFE_0000_0007).unwrap();
    let error = vector.serialize().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::CorruptFile, "{error}");
}
