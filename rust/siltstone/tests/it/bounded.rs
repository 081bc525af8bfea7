//! Numbers from files and options are never sizes: whatever they say, memory follows what is there.

use siltstone::{
    ErrorKind,
    format::avro::Compression,
    manifest::{
        ManifestEntry, ManifestFileMeta, decode_manifest, decode_manifest_list, encode_manifest, encode_manifest_list,
    },
    merge_tree::{Levels, interval_partition},
    stats::StatsFields,
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

/// Nulls take a byte in a block, a fraction of one in the file, and 16 bytes in memory.
#[test]
fn what_small_blocks_become_stays_in_proportion_to_the_file() {
    let nulls = StatsFields { min_values: Vec::new(), max_values: Vec::new(), null_counts: vec![None; 1 << 20] }.into();
    let meta = ManifestFileMeta {
        file_name: "manifest-0".to_owned(),
        file_size: 1,
        num_added_files: 1,
        num_deleted_files: 0,
        partition_stats: nulls,
        schema_id: 0,
        min_bucket: None,
        max_bucket: None,
        min_level: None,
        max_level: None,
        min_row_id: None,
        max_row_id: None,
    };
    let few = encode_manifest_list(std::slice::from_ref(&meta), Compression::Zstd(1)).unwrap();
    assert_eq!(decode_manifest_list("m", &few).unwrap(), std::slice::from_ref(&meta));
    let many = encode_manifest_list(&vec![meta; 12], Compression::Zstd(1)).unwrap();
    assert!(many.len() < 8 << 10, "{}", many.len());
    let peak = peak_of(|| {
        let error = decode_manifest_list("m", &many).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::CorruptFile, "{error}");
    });
    assert!(peak < 192 << 20, "{peak}");
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
