//! Bytes that are not what the format says: every decoder of the crate gives a value or an error, never a panic, and
//! does not take more memory than broken bytes of this size could be worth.
//!
//! Seeds are files and rows that Java wrote; a case changes one in a few places. `PROPTEST_CASES` asks for more.

use std::sync::Arc;

use arrow_array::RecordBatch;
use bytes::Bytes;
use proptest::{collection::vec, prelude::*, sample::Index, test_runner::TestRunner};
use siltstone::{
    ErrorKind, Result,
    codec::from_hex,
    deletion_vectors::DeletionVectorsIndexFile,
    file_index::{FileIndex, candidates},
    format::{FileRead, avro::Compression, file_format},
    fs::{FaultFileIo, FileIoRef, InputFile},
    index::HashIndexFiles,
    manifest::{
        BucketId, CompactIncrement, DataIncrement, DeletionVectorRange, IndexManifestEntry, ManifestEntry,
        decode_index_manifest, decode_manifest, decode_manifest_list, encode_index_manifest, encode_manifest,
        encode_manifest_list,
    },
    options::{CoreOptions, VariantForm},
    path::{PathFactory, unescape},
    predicate::{Predicate, parse_predicate},
    row::{BinaryRow, array_from_datums, compare_serialized, datum_from_text, datum_to_text, parse_decimal},
    schema::TableSchema,
    snapshot::{RemovedSnapshot, Snapshot},
    stats::{StatsFields, StatsMode, decode_stats_for},
    types::{DataField, DataType, TypeKind, arrow_schema, fields_from_json, parse_type},
    variant::shown,
    wire::{CommitMessage, CompactionTask, Split, TableIdentity, TaskUnit},
};

use crate::{fixtures::fixture, vectors::vectors, watched_memory::peak_of};

/// What a decoder may hold for a seed of some kilobytes.
const MEMORY_LIMIT: usize = 96 << 20;
const CASES: u32 = 256;

/// One change of some bytes.
#[derive(Clone, Debug)]
enum Change {
    Flip(Index, u8),
    /// a 32-bit number, in either byte order
    Number(Index, i32, bool),
    Cut(Index),
    Remove(Index, u8),
    Insert(Index, Vec<u8>),
    Copy(Index, Index, u8),
}

fn change() -> impl Strategy<Value = Change> {
    let number = prop_oneof![Just(-1), Just(0), Just(1), Just(i32::MAX), Just(i32::MIN), Just(1 << 28), any::<i32>()];
    prop_oneof![
        4 => (any::<Index>(), 0u8..8).prop_map(|(at, bit)| Change::Flip(at, bit)),
        4 => (any::<Index>(), number, any::<bool>()).prop_map(|(at, n, big)| Change::Number(at, n, big)),
        1 => any::<Index>().prop_map(Change::Cut),
        1 => (any::<Index>(), any::<u8>()).prop_map(|(at, n)| Change::Remove(at, n)),
        1 => (any::<Index>(), vec(any::<u8>(), 1..9)).prop_map(|(at, bytes)| Change::Insert(at, bytes)),
        1 => (any::<Index>(), any::<Index>(), 1u8..32).prop_map(|(from, to, n)| Change::Copy(from, to, n)),
    ]
}

fn apply(bytes: &mut Vec<u8>, change: &Change) {
    if bytes.is_empty() {
        return;
    }
    let len = bytes.len();
    match change {
        Change::Flip(at, bit) => bytes[at.index(len)] ^= 1 << bit,
        Change::Number(at, number, big_endian) => {
            let number = if *big_endian { number.to_be_bytes() } else { number.to_le_bytes() };
            bytes.iter_mut().skip(at.index(len)).zip(number).for_each(|(to, from)| *to = from);
        }
        Change::Cut(at) => bytes.truncate(at.index(len)),
        Change::Remove(at, n) => {
            let at = at.index(len);
            bytes.drain(at..len.min(at + usize::from(*n)));
        }
        Change::Insert(at, more) => {
            let at = at.index(len);
            bytes.splice(at..at, more.iter().copied());
        }
        Change::Copy(from, to, n) => {
            let from = from.index(len);
            let part = bytes[from..len.min(from + usize::from(*n))].to_vec();
            let to = to.index(len);
            let end = len.min(to + part.len());
            bytes.splice(to..end, part);
        }
    }
}

/// Feeds the seeds, changed seeds and random bytes to a decoder, and watches its memory.
fn torture(seeds: &[Vec<u8>], decode: impl Fn(&[u8])) {
    feed(seeds, |bytes| {
        let peak = peak_of(|| decode(bytes));
        assert!(peak < MEMORY_LIMIT, "{peak} bytes of memory for {} bytes of input", bytes.len());
    });
}

fn feed(seeds: &[Vec<u8>], check: impl Fn(&[u8])) {
    assert!(!seeds.is_empty());
    for seed in seeds {
        check(seed);
    }
    let default = ProptestConfig::default();
    // the environment may ask for more
    let cases = if default.cases == 256 { CASES } else { default.cases };
    let config = ProptestConfig { cases, failure_persistence: None, ..default };
    let changed = (any::<Index>(), vec(change(), 1..5)).prop_map(|(seed, changes)| {
        let mut bytes = seeds[seed.index(seeds.len())].clone();
        for change in &changes {
            apply(&mut bytes, change);
        }
        bytes
    });
    let bytes = prop_oneof![9 => changed, 1 => vec(any::<u8>(), 0..200)];
    TestRunner::new(config)
        .run(&bytes, |bytes| {
            check(&bytes);
            Ok(())
        })
        .unwrap();
}

/// The error a decoder gave, if any, is one about bytes, and says something.
fn judge<T>(result: Result<T>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(error) => {
            assert_ne!(error.kind(), ErrorKind::Internal, "{error}");
            assert!(!error.message().is_empty());
            None
        }
    }
}

/// Seeds of text: the decoder gets text even when the bytes are not.
fn torture_text(seeds: &[&str], decode: impl Fn(&str)) {
    let seeds: Vec<Vec<u8>> = seeds.iter().map(|s| s.as_bytes().to_vec()).collect();
    torture(&seeds, |bytes| decode(&String::from_utf8_lossy(bytes)));
}

#[test]
fn binary_rows() {
    let mut groups: Vec<(Vec<DataType>, Vec<Vec<u8>>)> = Vec::new();
    for vector in vectors("hash.jsonl") {
        let types: Vec<DataType> =
            vector["types"].as_array().unwrap().iter().map(|t| DataType::from_json(t).unwrap()).collect();
        let bytes = from_hex(vector["serialized_hex"].as_str().unwrap()).unwrap();
        match groups.iter_mut().find(|(known, _)| *known == types) {
            Some((_, seeds)) => seeds.push(bytes),
            None => groups.push((types, vec![bytes])),
        }
    }
    let interesting = groups.iter().filter(|(types, _)| types.len() > 1 || types[0].is_nested());
    for (types, seeds) in interesting {
        torture(seeds, |bytes| {
            judge(compare_serialized(bytes, &seeds[0], types));
            let values = judge(BinaryRow::from_serialized(bytes)).and_then(|row| judge(row.datums(types)));
            for (value, t) in values.iter().flatten().zip(types) {
                let _ = datum_to_text(value, t);
                judge(array_from_datums(std::slice::from_ref(value), t));
            }
        });
    }
}

#[test]
fn column_statistics() {
    for vector in vectors("stats.jsonl") {
        let fields = vector["fields"].as_array().unwrap();
        let names: Vec<&str> = fields.iter().map(|f| f["name"].as_str().unwrap()).collect();
        let types: Vec<DataType> = fields.iter().map(|f| DataType::from_json(&f["type"]).unwrap()).collect();
        if types.len() == 1 {
            continue;
        }
        let bytes = |side: &str| from_hex(vector["value_stats"][side].as_str().unwrap()).unwrap();
        let (min, max) = (bytes("min_hex"), bytes("max_hex"));
        torture(&[min], |bytes| {
            let stats =
                StatsFields { min_values: bytes.to_vec(), max_values: max.clone(), null_counts: vec![Some(1)] }.into();
            let decoded = judge(decode_stats_for(&stats, None, &names, &types));
            for column in decoded.into_iter().flatten() {
                let _ = StatsMode::Truncate(3).apply_mode(column);
            }
        });
    }
}

#[test]
fn types_and_literals() {
    let types = ["DECIMAL(10, 2) NOT NULL", "TIMESTAMP(3) WITH LOCAL TIME ZONE", "VARCHAR(20)", "INT ARRAY", "BYTES"];
    torture_text(&types, |text| {
        judge(parse_type(text));
    });
    let json = r#"[{"id":0,"name":"a","type":{"type":"MAP","key":"INT NOT NULL","value":{"type":"ROW","fields":
        [{"id":1,"name":"x","type":"DECIMAL(38, 18)","description":"d","defaultValue":"1"}]}}}]"#;
    torture_text(&[json], |text| {
        if let Ok(json) = serde_json::from_str(text) {
            judge(fields_from_json(&json));
        }
    });
    let kinds = [
        TypeKind::Boolean,
        TypeKind::Int,
        TypeKind::Double,
        TypeKind::Decimal { precision: 38, scale: 18 },
        TypeKind::Date,
        TypeKind::Time(3),
        TypeKind::Timestamp(9),
        TypeKind::LocalZonedTimestamp(6),
    ];
    let texts = ["2024-02-29 01:02:03.456789+05:30", "-12345.678901e-3", "23:59:59.999", "true", "1970-1-1T0:0"];
    torture_text(&texts, |text| {
        let _ = parse_decimal(text);
        for kind in &kinds {
            judge(datum_from_text(text, &DataType::new(kind.clone())));
        }
    });
}

#[test]
fn predicates_options_and_paths() {
    let fields = [
        DataField::new(0, "a", DataType::new(TypeKind::Int)),
        DataField::new(1, "b c", DataType::new(TypeKind::VarChar(20))),
        DataField::new(2, "d", DataType::new(TypeKind::Timestamp(6))),
    ];
    let predicates = ["a > 5 AND (`b c` LIKE 'x%' OR NOT d = '2024-01-01') AND a IN (1, 2.5, NULL)", "a IS NOT NULL"];
    torture_text(&predicates, |text| {
        judge(parse_predicate(text, &fields));
        judge(Predicate::from_json(text, &fields));
        let _ = unescape(text);
    });
    let options = [r#"{"write-buffer-size":"256 mb","bucket":"4","snapshot.time-retained":"1 h","fields.a.stats-mode":
        "truncate(16)","metadata.stats-mode.per.level":"0:none,1:full","num-levels":"3"}"#];
    torture_text(&options, |text| {
        if let Ok(options) = serde_json::from_str(text) {
            judge(CoreOptions::parse(&options));
        }
    });
}

/// The files of some tables whose path contains `part`.
fn seeds(tables: &[&str], part: &str) -> Vec<Vec<u8>> {
    let all = tables.iter().flat_map(|name| fixture(name).files);
    all.filter(|(path, _)| path.contains(part)).map(|(_, bytes)| bytes).collect()
}

const TABLES: &[&str] = &["types_all_pk_parquet", "partition_types", "evolve_nested", "dv_pk", "bucket_dynamic"];

#[test]
fn schemas() {
    torture(&seeds(TABLES, "schema/schema-"), |bytes| {
        if let Some(schema) = judge(TableSchema::from_json("schema-0", bytes)) {
            judge(schema.to_json());
        }
    });
}

#[test]
fn snapshots() {
    torture(&seeds(TABLES, "snapshot/snapshot-"), |bytes| {
        judge(Snapshot::from_json("snapshot-1", bytes));
    });
}

/// Java's files, and the same without compression: changes then reach the records.
#[test]
fn manifests() {
    let mut lists = seeds(TABLES, "manifest/manifest-list-");
    for i in 0..lists.len() {
        let list = decode_manifest_list("manifest-list-0", &lists[i]).unwrap();
        lists.push(encode_manifest_list(&list, Compression::None).unwrap());
    }
    torture(&lists, |bytes| {
        judge(decode_manifest_list("manifest-list-0", bytes));
    });
    let mut manifests = manifest_seeds();
    for i in 0..manifests.len() {
        let entries = decode_manifest("manifest-0", &manifests[i]).unwrap();
        manifests.push(encode_manifest(&entries, Compression::None).unwrap());
    }
    torture(&manifests, |bytes| {
        judge(decode_manifest("manifest-0", bytes));
    });
    let mut indexes = seeds(TABLES, "manifest/index-manifest-");
    for i in 0..indexes.len() {
        let entries = decode_index_manifest("index-manifest-0", &indexes[i]).unwrap();
        indexes.push(encode_index_manifest(&entries, Compression::None).unwrap());
    }
    torture(&indexes, |bytes| {
        judge(decode_index_manifest("index-manifest-0", bytes));
    });
}

/// Manifests and lists of `manifest.format`, which are read as data files first. Those in Parquet without the limit on memory, as
/// data files are.
#[test]
fn manifests_in_other_formats() {
    let decode = |bytes: &[u8]| {
        judge(decode_manifest("manifest-0", bytes));
        judge(decode_manifest_list("manifest-list-0", bytes));
        judge(decode_index_manifest("index-manifest-0", bytes));
    };
    torture(&seeds(&["manifest_format_orc"], "manifest/manifest-"), decode);
    feed(&seeds(&["manifest_format_parquet"], "manifest/manifest-"), decode);
}

/// Containers of Java with all kinds of indexes; their heads say where the indexes are.
#[test]
fn file_indexes() {
    let kinds = ["bitmap", "bitmap_v1", "bloom", "bsi", "mixed", "range_bitmap"];
    let tables: Vec<String> = kinds.iter().map(|kind| format!("index_{kind}_file")).collect();
    let tables: Vec<&str> = tables.iter().map(String::as_str).collect();
    let schema: serde_json::Value = serde_json::from_slice(&seeds(&tables, "schema/schema-0")[0]).unwrap();
    let fields = fields_from_json(&schema["fields"]).unwrap();
    let stored = |name: &str| fields.iter().find(|field| field.name == name);
    let conditions: Vec<Predicate> = [
        "id = 95 OR cat = 'birch' OR n IN (1, 931) OR ts = '1969-12-31 23:59:58.818396' OR d = '2022-01-08' OR b",
        "cat LIKE 'b%' OR x < 3.5",
        "n <> 5 AND id >= 0 OR x BETWEEN 0 AND 7",
        "cat IS NULL OR n IS NULL OR x IS NOT NULL OR NOT b",
    ]
    .iter()
    .map(|text| parse_predicate(text, &fields).unwrap())
    .collect();
    torture(&seeds(&tables, ".index"), |bytes| {
        let Some(index) = judge(FileIndex::embedded("x", Bytes::copy_from_slice(bytes))) else { return };
        for condition in &conditions {
            for rows in [60, 40] {
                if let Some(found) = judge(candidates(&index, condition, rows, &stored, &|_| false)) {
                    let _ = judge(found.ranges(rows));
                }
            }
        }
    });
}

fn manifest_seeds() -> Vec<Vec<u8>> {
    let mut all = seeds(TABLES, "manifest/manifest-");
    all.retain(|bytes| decode_manifest("manifest-0", bytes).is_ok_and(|entries| !entries.is_empty()));
    all
}

/// Broken vectors, and broken places of vectors. Changes behind the checksum are tried in `deletion_vectors::tests`.
#[test]
fn deletion_vector_index_files() {
    let tables = ["dv_pk", "dv_append", "dv_append_bitmap64", "dv_pk_bitmap64"];
    let entries: Vec<IndexManifestEntry> = seeds(&tables, "manifest/index-manifest-")
        .iter()
        .flat_map(|bytes| decode_index_manifest("index-manifest-0", bytes).unwrap())
        .collect();
    let ranges: Vec<DeletionVectorRange> = entries.into_iter().flat_map(|e| e.deletion_vectors.unwrap()).collect();
    let read = |bytes: &[u8], range: &DeletionVectorRange| {
        let fs: FileIoRef = Arc::new(FaultFileIo::new());
        fs.write_new("/t/index/index-0", bytes, false).unwrap();
        if let Some(rows) = judge(DeletionVectorsIndexFile::read(&fs, "/t/index/index-0", range)) {
            let _ = (rows.max(), rows.keep(0, 100), judge(rows.to_vector()), judge(rows.check_rows("f", 10)));
        }
    };
    torture(&seeds(&tables, "index/index-"), |bytes| ranges.iter().take(20).for_each(|range| read(bytes, range)));
    let file = seeds(&["dv_append"], "index/index-").remove(0);
    for (offset, length) in [(i32::MIN, 1), (0, 24), (1, -1), (1, i32::MAX), (i32::MAX, i32::MAX), (5, 24)] {
        let range = DeletionVectorRange { offset, length, ..ranges[0].clone() };
        read(&file, &range);
    }
}

/// The hashes of keys in buckets of no fixed number.
#[test]
fn hash_index_files() {
    let tables = ["bucket_dynamic", "bucket_dynamic_partitioned"];
    let schema = seeds(&[tables[0]], "schema/schema-0").remove(0);
    let schema = TableSchema::from_json("schema-0", &schema).unwrap();
    let options = CoreOptions::parse(&schema.options).unwrap();
    let paths = Arc::new(PathFactory::new("/t", &schema, &options));
    let manifests = seeds(&[tables[0]], "manifest/index-manifest-");
    let entry = decode_index_manifest("index-manifest-0", &manifests[0]).unwrap().remove(0);
    torture(&seeds(&tables, "index/index-"), |bytes| {
        let fs: FileIoRef = Arc::new(FaultFileIo::new());
        let size = i64::try_from(bytes.len()).unwrap();
        for file_size in [entry.file_size, size] {
            let entry = IndexManifestEntry { file_size, ..entry.clone() };
            if !fs.exists(&paths.index_file_of(&entry).unwrap()).unwrap() {
                fs.write_new(&paths.index_file_of(&entry).unwrap(), bytes, false).unwrap();
            }
            let files = HashIndexFiles::new(&fs, &paths, &options);
            let mut hashes = 0_usize;
            judge(files.read(&entry, |_| {
                hashes += 1;
                Ok(())
            }));
            assert!(hashes * 4 <= bytes.len());
        }
    });
}

/// Files of Java's manifests, in every list of a message.
fn message() -> CommitMessage {
    let entries: Vec<ManifestEntry> =
        manifest_seeds().iter().flat_map(|bytes| decode_manifest("manifest-0", bytes).unwrap()).collect();
    let index_files: Vec<IndexManifestEntry> = seeds(TABLES, "manifest/index-manifest-")
        .iter()
        .flat_map(|bytes| decode_index_manifest("index-manifest-0", bytes).unwrap())
        .collect();
    let mut files = entries.iter().map(|entry| entry.file.clone());
    let mut some = || files.by_ref().take(2).collect::<Vec<_>>();
    let bucket = BucketId { partition: entries[0].partition.clone(), bucket: entries[0].bucket };
    let data = DataIncrement {
        new_files: some(),
        deleted_files: some(),
        changelog_files: vec![],
        index_files: index_files.into_iter().take(2).collect(),
    };
    let compact = CompactIncrement { compact_before: some(), compact_after: some(), ..CompactIncrement::default() };
    let seen = RemovedSnapshot { id: 3, delta_manifest_list: "manifest-list-a-1".into(), commit: None };
    CommitMessage { bucket, total_buckets: 3, data, compact, seen: Some(seen.into()), after: None, assigned: None }
}

#[test]
fn commit_messages() {
    torture(&[message().to_bytes().unwrap()], |bytes| {
        judge(CommitMessage::from_bytes(bytes));
    });
}

#[test]
fn splits() {
    let message = message();
    let vector = DeletionVectorRange { data_file_name: "f".into(), offset: 1, length: 30, cardinality: Some(2) };
    let split = Split {
        snapshot_id: 7,
        snapshot_list: None,
        bucket: message.bucket,
        total_buckets: 3,
        bucket_path: "/t/bucket-0".into(),
        files: message.data.new_files,
        deletion_files: Some(vec![None, Some(("/t/index/index-0".into(), vector))]),
        raw_convertible: true,
        is_streaming: false,
        before_files: Vec::new(),
        before_deletion_files: None,
    };
    torture(&[split.to_bytes().unwrap()], |bytes| {
        judge(Split::from_bytes(bytes));
    });
}

#[test]
fn compaction_tasks() {
    let message = message();
    let inputs = message.data.new_files.iter().map(|f| f.file_name.clone()).collect();
    let task = CompactionTask {
        table: TableIdentity { location: "/t".into(), branch: "main".into(), ..TableIdentity::default() },
        options: [("a".to_owned(), "b".to_owned())].into(),
        snapshot: RemovedSnapshot { id: 3, delta_manifest_list: "manifest-list-a-1".into(), commit: None },
        bucket: message.bucket,
        total_buckets: 1,
        unit: TaskUnit::Tree { output_level: 5, inputs, file_rewrite: false },
        files: message.data.new_files,
        vectors: message
            .data
            .index_files
            .into_iter()
            .filter(|e| e.kind == siltstone::manifest::EntryKind::Add)
            .collect(),
    };
    // with a checksum that is right, so that what it protects is read at all
    let bytes = task.to_bytes().unwrap();
    torture(&[bytes[..bytes.len() - 4].to_vec()], |bytes| {
        let sealed = [bytes, &crc32fast::hash(bytes).to_le_bytes()].concat();
        if let Some(task) = judge(CompactionTask::from_bytes(&sealed)) {
            let _ = task.input_bytes();
        }
    });
}

struct Memory(Bytes);

impl InputFile for Memory {
    fn path(&self) -> &'static str {
        "broken"
    }

    fn size(&self) -> Result<u64> {
        Ok(self.0.len() as u64)
    }

    fn read_range(&self, start: u64, length: u64) -> Result<Bytes> {
        let range = usize::try_from(start).ok().zip(usize::try_from(length).ok());
        let range = range.and_then(|(start, length)| Some(start..start.checked_add(length)?));
        let inside = range.filter(|range| range.end <= self.0.len());
        let range = inside.ok_or_else(|| siltstone::Error::new(ErrorKind::CorruptFile, "the file is shorter"))?;
        Ok(self.0.slice(range))
    }
}

/// The data files of a table, changed, as its columns.
fn torture_data_files(tables: &[&str], format: &str, feed: impl Fn(&[Vec<u8>], &dyn Fn(&[u8]))) {
    for table in tables {
        let schema: serde_json::Value = serde_json::from_slice(&seeds(&[table], "schema/schema-0")[0]).unwrap();
        let columns = fields_from_json(&schema["fields"]).unwrap();
        feed(&seeds(&[table], &format!(".{format}")), &|bytes| read_whole(bytes, format, &columns));
    }
}

/// All rows of a file, as users get them.
fn read_whole(bytes: &[u8], format: &str, columns: &[DataField]) {
    let input = Arc::new(Memory(Bytes::copy_from_slice(bytes)));
    let opened = file_format(format).unwrap().open(input, bytes.len() as u64, &std::collections::BTreeMap::new());
    let schema = arrow_schema(columns).unwrap();
    let columns = columns.to_vec();
    let read = FileRead { columns, rows: None, prune: None, row_test: None, position: true, batch_rows: 1000 };
    let rows = judge(opened).and_then(|file| judge(file.read(read)));
    for rows in rows.into_iter().flatten().take(50) {
        let Some(rows) = judge(rows) else { break };
        if let Ok(batch) = RecordBatch::try_new(Arc::clone(&schema), rows.columns) {
            judge(shown(batch, VariantForm::Json));
        }
    }
}

/// Two values and a null, as Java writes them.
#[test]
fn blob_files() {
    let value = |bytes: &[u8]| {
        let length = i64::try_from(bytes.len() + 16).unwrap().to_le_bytes();
        let stored = [&1_481_511_375_i32.to_le_bytes(), bytes, &length].concat();
        [&stored[..], &crc32fast::hash(&stored).to_le_bytes()].concat()
    };
    // lengths 19, -1, 16 as differences
    let file = [&value(b"abc")[..], &value(b""), &[38, 39, 34], &3_i32.to_le_bytes(), &[1]].concat();
    let columns = [DataField::new(0, "b", DataType::new(TypeKind::Blob))];
    torture(&[file], |bytes| read_whole(bytes, "blob", &columns));
}

/// Without the limit on memory: the parquet crate reserves what a page header claims (at most 2 GiB, 4 GiB for
/// Snappy) before it looks at the page.
#[test]
fn parquet_files() {
    let tables = ["types_all_append_parquet", "types_nested_append_parquet", "types_all_pk_parquet", "types_variant"];
    torture_data_files(&tables, "parquet", |seeds, decode| feed(seeds, decode));
}

#[test]
fn orc_files() {
    let tables = ["types_all_append_orc", "types_nested_append_orc", "types_all_pk_orc", "format_orc_none"];
    torture_data_files(&tables, "orc", |seeds, decode| torture(seeds, decode));
    let packed = ["format_orc_lz4", "format_orc_snappy", "format_orc_zlib", "format_orc_zstd"];
    torture_data_files(&packed, "orc", |seeds, decode| torture(seeds, decode));
}

#[test]
fn avro_files() {
    let tables = ["types_all_append_avro", "types_nested_append_avro", "types_all_pk_avro", "format_avro_null"];
    torture_data_files(&tables, "avro", |seeds, decode| torture(seeds, decode));
}
