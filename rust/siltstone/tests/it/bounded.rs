//! Numbers from files and options are never sizes: whatever they say, memory follows what is there.

use siltstone::{
    ErrorKind,
    format::avro::Compression,
    manifest::{ManifestEntry, decode_manifest, encode_manifest},
    merge_tree::{Levels, interval_partition},
    types::{DataType, TypeKind},
};

use crate::{fixtures::fixture, watched_memory::peak_of};

/// More than any of these may take.
const LITTLE: usize = 1 << 20;

fn entries() -> Vec<ManifestEntry> {
    let fixture = fixture("dedup_level0_only");
    let manifests = fixture
        .files
        .iter()
        .filter(|(path, _)| path.strip_prefix("manifest/manifest-").is_some_and(|name| !name.starts_with("list")));
    let entries: Vec<ManifestEntry> =
        manifests.flat_map(|(path, bytes)| decode_manifest(path, bytes).unwrap()).collect();
    assert!(!entries.is_empty());
    entries
}

#[test]
fn a_level_of_two_thousand_million_in_a_manifest_makes_no_levels() {
    let mut entries = entries();
    for entry in &mut entries {
        entry.file.level = i32::MAX;
        (entry.bucket, entry.total_buckets) = (i32::MAX, i32::MAX);
    }
    let bytes = encode_manifest(&entries, Compression::None).unwrap();
    let mut read = Vec::new();
    let peak = peak_of(|| read = decode_manifest("m", &bytes).unwrap());
    assert!(peak < LITTLE, "{peak}");
    let files: Vec<_> = read.into_iter().map(|entry| entry.file).collect();
    let types = || vec![DataType::not_null(TypeKind::Int)];
    for num_levels in [2, i32::MAX] {
        let peak = peak_of(|| {
            let levels = Levels::new(&files, num_levels, types()).unwrap();
            assert_eq!(levels.max_level(), i32::MAX);
            assert_eq!(levels.files().len(), files.len());
            interval_partition(&files, &types()).unwrap();
        });
        assert!(peak < LITTLE, "{peak}");
    }
}

#[test]
fn a_block_that_claims_more_records_than_it_has_bytes_is_damage() {
    let bytes = encode_manifest(&entries(), Compression::None).unwrap();
    // the number of records stands behind the first sync marker, which also ends the file
    let sync = bytes[bytes.len() - 16..].to_vec();
    let at = bytes.windows(16).position(|window| window == sync).unwrap() + 16;
    for claim in [&[0xfe, 0xff, 0xff, 0xff, 0x0f][..], &[0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]] {
        let mut lying = bytes.clone();
        lying.splice(at..=at, claim.iter().copied());
        let peak = peak_of(|| {
            let error = decode_manifest("m", &lying).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::CorruptFile, "{error}");
        });
        assert!(peak < LITTLE, "{peak}");
    }
}
