//! Snapshots and manifests of the golden tables, against what Java decodes from the same files.

use std::{fmt::Write as _, sync::Arc};

use chrono::NaiveDateTime;
use serde_json::{Value, json};
use siltstone::{
    ErrorKind,
    format::avro::{Compression, ContainerReader},
    fs::{FaultFileIo, FileIo, FileIoRef},
    manifest::{
        DataFileMeta, EntryKind, FileSource, IndexManifestEntry, ManifestEntry, ManifestFileMeta, ManifestStore,
        decode_index_manifest, decode_manifest, decode_manifest_list, encode_index_manifest, encode_manifest,
        encode_manifest_list, live_entries,
    },
    options::CoreOptions,
    path::PathFactory,
    schema::TableSchema,
    snapshot::{NamedList, Snapshot, SnapshotManager, TagManager},
    stats::SimpleStats,
};

use crate::fixtures::{ROOT, all, fixture};

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut out, b| {
        write!(out, "{b:02x}").unwrap();
        out
    })
}

fn kind(kind: EntryKind) -> &'static str {
    match kind {
        EntryKind::Add => "ADD",
        EntryKind::Delete => "DELETE",
    }
}

/// Sets `expected`'s keys that our metadata has undecoded to what we have in hex, and leaves the rest to compare.
fn stats_of(stats: &SimpleStats) -> Value {
    json!({"min_hex": hex(&stats.min_values), "max_hex": hex(&stats.max_values), "null_counts": stats.null_counts})
}

fn file_of(f: &DataFileMeta) -> Value {
    json!({
        "file_name": f.file_name,
        "file_size": f.file_size,
        "row_count": f.row_count,
        "min_key_hex": hex(&f.min_key),
        "max_key_hex": hex(&f.max_key),
        "key_stats": stats_of(&f.key_stats),
        "value_stats": stats_of(&f.value_stats),
        "min_sequence_number": f.min_sequence_number,
        "max_sequence_number": f.max_sequence_number,
        "schema_id": f.schema_id,
        "level": f.level,
        "extra_files": f.extra_files,
        "creation_time": f.creation_time,
        "delete_row_count": f.delete_row_count,
        "embedded_index": f.embedded_file_index.as_deref().map(hex),
        "file_source": f.file_source.map(|s| match s {
            FileSource::Append => "APPEND",
            FileSource::Compact => "COMPACT",
        }),
        "value_stats_cols": f.value_stats_cols.as_deref(),
        "external_path": f.external_path,
        "first_row_id": f.first_row_id,
    })
}

fn entry_of(e: &ManifestEntry) -> Value {
    json!({
        "kind": kind(e.kind),
        "partition_hex": hex(&e.partition),
        "bucket": e.bucket,
        "total_buckets": e.total_buckets,
        "file": file_of(&e.file),
    })
}

fn list_entry_of(m: &ManifestFileMeta) -> Value {
    json!({
        "file_name": m.file_name,
        "file_size": m.file_size,
        "num_added_files": m.num_added_files,
        "num_deleted_files": m.num_deleted_files,
        "schema_id": m.schema_id,
        "partition_stats": stats_of(&m.partition_stats),
        "minBucket": m.min_bucket,
        "maxBucket": m.max_bucket,
        "minLevel": m.min_level,
        "maxLevel": m.max_level,
        "minRowId": m.min_row_id,
        "maxRowId": m.max_row_id,
    })
}

fn index_entry_of(e: &IndexManifestEntry) -> Value {
    let ranges = e.deletion_vectors.iter().flatten().map(|v| {
        json!({"data_file": v.data_file_name, "offset": v.offset, "length": v.length, "cardinality": v.cardinality})
    });
    json!({
        "kind": kind(e.kind),
        "bucket": e.bucket,
        "index_type": e.index_type,
        "file_name": e.file_name,
        "file_size": e.file_size,
        "row_count": e.row_count,
        "dv_ranges": ranges.collect::<Vec<_>>(),
    })
}

/// Keys that the oracle leaves out: empty statistics of append tables, and what 2.x added to snapshots.
const UNTOLD: [&str; 4] = ["key_stats", "uuid", "writerVersion", "operation"];

/// Every key of `ours` must be in `theirs` with the same value; times are compared as milliseconds.
fn assert_covered(what: &str, ours: &Value, theirs: &Value) {
    match (ours, theirs) {
        (Value::Object(a), Value::Object(b)) => {
            for (key, value) in a {
                match (value, b.get(key)) {
                    (_, Some(other)) => assert_covered(&format!("{what}.{key}"), value, other),
                    (Value::Array(empty), None) if empty.is_empty() => {}
                    (_, None) if UNTOLD.contains(&key.as_str()) => {}
                    _ => panic!("{what}.{key}: Java does not tell it"),
                }
            }
        }
        (Value::Array(a), Value::Array(b)) => {
            assert_eq!(a.len(), b.len(), "{what}");
            a.iter().zip(b).enumerate().for_each(|(i, (x, y))| assert_covered(&format!("{what}[{i}]"), x, y));
        }
        (Value::Number(millis), Value::String(time)) => {
            let time = NaiveDateTime::parse_from_str(time, "%Y-%m-%dT%H:%M:%S%.f")
                .or_else(|_| NaiveDateTime::parse_from_str(time, "%Y-%m-%dT%H:%M"));
            assert_eq!(millis.as_i64(), time.ok().map(|t| t.and_utc().timestamp_millis()), "{what}");
        }
        _ => assert_eq!(ours, theirs, "{what}"),
    }
}

/// Lines of one type in a golden table's metadata, with the file's bytes, whatever format it has.
fn each_file(line_type: &str, list: &str, check: impl Fn(&str, &str, &[u8], &Value)) -> usize {
    let mut files = 0;
    for table in all() {
        for line in table.meta().iter().filter(|line| line["type"] == line_type) {
            let name = line["name"].as_str().expect("a name");
            if let Some(bytes) = table.manifest(name) {
                check(&table.writer(), &format!("{}/{name}", table.name), bytes, &line[list]);
                files += 1;
            }
        }
    }
    files
}

/// The same header and, decompressed, the same blocks; only the sync marker is random.
fn assert_same_container(what: &str, java: &[u8], ours: &[u8]) {
    let (a, b) = (ContainerReader::open(what, java).unwrap(), ContainerReader::open(what, ours).unwrap());
    let header = java.windows(16).position(|w| w == &java[java.len() - 16..]).expect("the sync marker");
    assert_eq!(java[..header], ours[..header], "{what}: header");
    assert_eq!(a.blocks.len(), b.blocks.len(), "{what}: blocks");
    if !matches!(a.compression, Compression::Deflate | Compression::Snappy) {
        assert_eq!(without_sync(java), without_sync(ours), "{what}: zstd compresses to the same bytes");
    }
    for (x, y) in a.blocks.iter().zip(&b.blocks) {
        assert_eq!((x.count, a.plain(x).unwrap()), (y.count, b.plain(y).unwrap()), "{what}");
    }
}

/// The file with zeros for its sync marker.
fn without_sync(file: &[u8]) -> Vec<u8> {
    let (_, sync) = file.split_at(file.len() - 16);
    let mut out = file.to_vec();
    let places: Vec<usize> = file.windows(16).enumerate().filter(|(_, w)| *w == sync).map(|(at, _)| at).collect();
    for at in places {
        out[at..at + 16].fill(0);
    }
    out
}

fn compression_of(what: &str, bytes: &[u8]) -> Compression {
    ContainerReader::open(what, bytes).unwrap().compression
}

const SAME_LAYOUT: &str = "paimon 1.4.2";

/// Only such manifests are written.
fn is_avro(bytes: &[u8]) -> bool {
    bytes.starts_with(b"Obj")
}

#[test]
fn manifests_decode_as_java_decodes_them_and_encode_to_the_same_bytes() {
    let files = each_file("manifest", "entries", |writer, what, bytes, expected| {
        let entries = decode_manifest(what, bytes).unwrap();
        assert_covered(what, &Value::Array(entries.iter().map(entry_of).collect()), expected);
        if !is_avro(bytes) {
            return;
        }
        let ours = encode_manifest(&entries, compression_of(what, bytes)).unwrap();
        assert_eq!(decode_manifest(what, &ours).unwrap(), entries, "{what}");
        if writer == SAME_LAYOUT {
            assert_same_container(what, bytes, &ours);
        }
    });
    assert!(files > 1000, "{files}");
}

#[test]
fn manifest_lists_decode_as_java_decodes_them_and_encode_to_the_same_bytes() {
    let files = each_file("manifest_list", "manifests", |writer, what, bytes, expected| {
        let manifests = decode_manifest_list(what, bytes).unwrap();
        assert_covered(what, &Value::Array(manifests.iter().map(list_entry_of).collect()), expected);
        if !is_avro(bytes) {
            return;
        }
        let ours = encode_manifest_list(&manifests, compression_of(what, bytes)).unwrap();
        assert_eq!(decode_manifest_list(what, &ours).unwrap(), manifests, "{what}");
        if writer == SAME_LAYOUT && !manifests.is_empty() {
            assert_same_container(what, bytes, &ours);
        }
    });
    assert!(files > 1900, "{files}");
}

#[test]
fn index_manifests_decode_as_java_decodes_them_and_encode_to_the_same_bytes() {
    let files = each_file("index_manifest", "entries", |writer, what, bytes, expected| {
        let entries = decode_index_manifest(what, bytes).unwrap();
        assert_covered(what, &Value::Array(entries.iter().map(index_entry_of).collect()), expected);
        if !is_avro(bytes) {
            return;
        }
        let ours = encode_index_manifest(&entries, compression_of(what, bytes)).unwrap();
        assert_eq!(decode_index_manifest(what, &ours).unwrap(), entries, "{what}");
        if writer == SAME_LAYOUT {
            assert_same_container(what, bytes, &ours);
        }
    });
    assert!(files > 70, "{files}");
}

#[test]
fn snapshots_decode_as_java_decodes_them_and_encode_to_the_same_bytes() {
    let mut same = 0;
    for table in all() {
        for (name, bytes) in table.files.iter().filter(|(name, _)| name.contains("snapshot/snapshot-")) {
            let Ok(snapshot) = Snapshot::from_json(name, bytes) else {
                assert!(!name.rsplit('-').next().unwrap().bytes().all(|b| b.is_ascii_digit()), "{}/{name}", table.name);
                continue;
            };
            let text = snapshot.to_json().unwrap();
            assert_eq!(Snapshot::from_json(name, text.as_bytes()).unwrap(), snapshot);
            // releases up to 1.3 wrote `logOffsets`, which has no meaning
            if table.writer() == SAME_LAYOUT {
                assert_eq!(text, String::from_utf8_lossy(bytes), "{}/{name}", table.name);
                same += 1;
            }
        }
        for line in table.meta().iter().filter(|line| line["type"] == "snapshot") {
            let expected = &line["snapshot"];
            let Some(bytes) = table.files.get(&format!("snapshot/snapshot-{}", expected["id"])) else {
                continue;
            };
            let ours = serde_json::to_value(Snapshot::from_json(&table.name, bytes).unwrap()).unwrap();
            assert_covered(&table.name, &ours, expected);
        }
    }
    assert!(same > 800, "{same}");
}

#[test]
fn every_golden_table_has_a_latest_snapshot_whatever_its_hints_say() {
    for table in all() {
        let io: FileIoRef = Arc::new(table.io());
        let manager = SnapshotManager::new(Arc::clone(&io), ROOT);
        let listed = manager.ids().unwrap();
        assert_eq!(manager.latest_id().unwrap(), listed.last().copied(), "{}", table.name);
        assert_eq!(manager.earliest_id().unwrap(), listed.first().copied(), "{}", table.name);
        assert_eq!(manager.latest().unwrap().map(|s| s.id), listed.last().copied(), "{}", table.name);
        for (name, snapshot) in TagManager::new(io, ROOT).list().unwrap() {
            assert!(snapshot.id > 0, "{name}");
        }
    }
}

#[test]
fn live_files_and_their_extra_files_are_where_paths_say() {
    let mut found = 0;
    for table in all().iter().filter(|t| !t.name.starts_with("manifest_format_")) {
        let io: FileIoRef = Arc::new(table.io());
        let Some(snapshot) = SnapshotManager::new(Arc::clone(&io), ROOT).latest().unwrap() else {
            continue;
        };
        let schema_file = format!("schema/schema-{}", snapshot.schema_id);
        let schema = TableSchema::from_json(&schema_file, &table.files[&schema_file]).unwrap();
        let options = CoreOptions::parse(&schema.options).unwrap();
        let paths = Arc::new(PathFactory::new(ROOT, &schema, &options));
        let store = ManifestStore::new(&io, &paths, &options).unwrap();
        let manifests = store.read_lists(&snapshot).unwrap();
        let live = live_entries(store.read_all(&manifests, &|_| true).unwrap()).unwrap();
        for entry in &live {
            let path = paths.data_file(&entry.partition, entry.bucket, &entry.file).unwrap();
            if entry.file.external_path.is_none() {
                assert!(io.exists(&path).unwrap(), "{}: {path}", table.name);
                found += 1;
            }
            for extra in paths.extra_files(&entry.partition, entry.bucket, &entry.file).unwrap() {
                assert!(io.exists(&extra).unwrap(), "{}: {extra}", table.name);
            }
        }
        let rows: i64 = live.iter().map(|e| e.file.row_count).sum();
        assert_eq!(Some(rows), snapshot.total_record_count, "{}", table.name);
        for index in snapshot.index_manifest.iter().flat_map(|name| store.read_index(name).unwrap()) {
            let path = paths.index_file_of(&index).unwrap();
            assert!(index.external_path.is_some() || io.exists(&path).unwrap(), "{}: {path}", table.name);
        }
    }
    assert!(found > 500, "{found}");
}

#[test]
fn written_manifests_say_of_their_entries_what_java_says() {
    for table in all().iter().filter(|t| !t.name.starts_with("manifest_format_") && t.writer() == SAME_LAYOUT) {
        let io: FileIoRef = Arc::new(table.io());
        for line in table.meta().iter().filter(|line| line["type"] == "manifest_list") {
            let name = line["name"].as_str().unwrap();
            let schema = TableSchema::from_json("schema-0", &table.files["schema/schema-0"]).unwrap();
            let options = CoreOptions::parse(&schema.options).unwrap();
            let paths = Arc::new(PathFactory::new(ROOT, &schema, &options));
            let store = ManifestStore::new(&io, &paths, &options).unwrap();
            for java in store.read_list(NamedList { name, size: None }).unwrap_or_default() {
                let entries = store.read(&java).unwrap();
                let ours = store.write(&entries).unwrap();
                let [ours] = &ours[..] else { panic!("{}: {} manifests", table.name, ours.len()) };
                let mut same_file = ManifestFileMeta { file_name: java.file_name.clone(), ..ours.clone() };
                if matches!(options.manifest_compression.as_str(), "deflate" | "snappy") {
                    // another implementation, another size
                    same_file.file_size = java.file_size;
                }
                assert_eq!(same_file, java, "{}", table.name);
            }
        }
    }
}

/// Whatever Java has written, in each format and with each compression of Java, is what was written.
#[test]
fn manifests_lists_and_index_manifests_are_written_in_every_format() {
    let mut read = 0;
    for table in all().iter().filter(|t| t.writer() == SAME_LAYOUT && t.files.contains_key("schema/schema-0")) {
        let schema = TableSchema::from_json("schema-0", &table.files["schema/schema-0"]).unwrap();
        let options = CoreOptions::parse(&schema.options).unwrap();
        let paths = Arc::new(PathFactory::new(ROOT, &schema, &options));
        let java = ManifestStore::new(&(Arc::new(table.io()) as FileIoRef), &paths, &options).unwrap();
        let snapshots: Vec<_> = table.files.iter().filter(|(name, _)| name.contains("snapshot/snapshot-")).collect();
        let Some((name, bytes)) = snapshots.last() else { continue };
        let Ok(snapshot) = Snapshot::from_json(name, bytes) else { continue };
        let Ok(lists) = java.read_lists(&snapshot) else { continue };
        let entries = java.read_all(&lists, &|_| true).unwrap();
        let indexes = snapshot.index_manifest.as_ref().map(|name| java.read_index(name).unwrap()).unwrap_or_default();
        for (format, compression) in [("orc", "zstd"), ("orc", "none"), ("parquet", "zstd"), ("parquet", "snappy")] {
            let mut options = options.clone();
            (options.manifest_format, options.manifest_compression) = (format.to_owned(), compression.to_owned());
            let io = FaultFileIo::new();
            let store = ManifestStore::new(&(Arc::new(io.clone()) as FileIoRef), &paths, &options).unwrap();
            let written = store.write(&entries).unwrap();
            assert_eq!(store.read_all(&written, &|_| true).unwrap(), entries, "{}: {format}", table.name);
            let (list, size) = store.write_list(&lists).unwrap();
            let list = NamedList { name: &list, size: Some(size) };
            assert_eq!(store.read_list(list).unwrap(), lists, "{}: {format}", table.name);
            let index = store.write_index(&indexes).unwrap();
            assert_eq!(store.read_index(&index).unwrap(), indexes, "{}: {format}", table.name);
            let magic = if format == "orc" { &b"ORC"[..] } else { b"PAR1" };
            let is_of_format = |path: &str| io.read(path).unwrap().starts_with(magic);
            assert!(io.list(&paths.manifest_dir()).unwrap().iter().all(|file| is_of_format(&file.path)));
            read += 1;
        }
    }
    assert!(read > 400, "{read}");
}

#[test]
fn manifests_roll_over_at_their_target_size_and_lose_nothing() {
    let table = fixture("partition_two_keys");
    let schema = TableSchema::from_json("schema-0", &table.files["schema/schema-0"]).unwrap();
    let mut options = CoreOptions::parse(&schema.options).unwrap();
    options.manifest_target_file_size = 8_000;
    let io = FaultFileIo::new();
    let fs: FileIoRef = Arc::new(io.clone());
    let paths = Arc::new(PathFactory::new(ROOT, &schema, &options));
    let store = ManifestStore::new(&fs, &paths, &options).unwrap();
    let (_, bytes) = table.files.iter().find(|(name, _)| is_manifest(name)).unwrap();
    let [template, ..] = &decode_manifest("m", bytes).unwrap()[..] else { panic!("no entries") };
    let entries: Vec<ManifestEntry> = (0..2000)
        .map(|i| {
            let mut entry = template.clone();
            entry.bucket = i;
            entry.file.file_name = format!("data-{:x}-{i}.parquet", i.wrapping_mul(0x9E37_79B1_u32.cast_signed()));
            entry
        })
        .collect();
    let written = store.write(&entries).unwrap();
    assert!(written.len() > 2, "{}", written.len());
    assert_eq!(written.iter().map(|m| m.num_added_files).sum::<i64>(), 2000);
    assert_eq!(written.iter().map(|m| m.min_bucket.unwrap()).collect::<Vec<_>>()[0], 0);
    assert_eq!(store.read_all(&written, &|_| true).unwrap(), entries);
    let (list, size) = store.write_list(&written).unwrap();
    store.sync().unwrap();
    io.crash();
    assert_eq!(i64::try_from(fs.read(&paths.manifest(&list).unwrap()).unwrap().len()).unwrap(), size);
    assert_eq!(store.read_list(NamedList { name: &list, size: Some(size) }).unwrap(), written);
    assert_eq!(store.read_all(&written, &|head| head.bucket == 7).unwrap(), entries[7..8]);
    assert!(store.write(&[]).unwrap().is_empty());

    let path = paths.manifest(&written[0].file_name).unwrap();
    let whole = fs.read(&path).unwrap();
    let last = ContainerReader::open("m", &whole).unwrap().blocks.last().unwrap().offset;
    io.put(&path, &whole[..usize::try_from(last).unwrap() - 5]);
    assert_eq!(store.read(&written[0]).expect_err("cut off").kind(), ErrorKind::CorruptFile);
}

/// Cut off after its header, or between two blocks, it is a list of fewer manifests: their rows were gone, and the next commit
/// made that last.
#[test]
fn a_list_of_another_size_than_its_snapshot_says_is_damage() {
    let table = fixture("partition_two_keys");
    let schema = TableSchema::from_json("schema-0", &table.files["schema/schema-0"]).unwrap();
    let options = CoreOptions::parse(&schema.options).unwrap();
    let io = FaultFileIo::new();
    let fs: FileIoRef = Arc::new(io.clone());
    let paths = Arc::new(PathFactory::new(ROOT, &schema, &options));
    let store = ManifestStore::new(&fs, &paths, &options).unwrap();
    let (_, bytes) = table.files.iter().find(|(name, _)| is_manifest(name)).unwrap();
    let written = store.write(&decode_manifest("m", bytes).unwrap()).unwrap();
    let (name, size) = store.write_list(&written).unwrap();
    let said = NamedList { name: &name, size: Some(size) };
    let unsaid = NamedList { size: None, ..said };
    assert_eq!((store.read_list(said).unwrap(), store.read_list(unsaid).unwrap()), (written.clone(), written.clone()));
    let path = paths.manifest(&name).unwrap();
    let whole = fs.read(&path).unwrap();
    // the sync marker ends the header and each block
    let sync = &whole[whole.len() - 16..];
    let header = whole.windows(16).position(|window| window == sync).unwrap() + 16;
    let twice = [&whole[..], &whole[header..]].concat();
    for bytes in [&whole[..header], &twice] {
        io.put(&path, bytes);
        assert_eq!(store.read_list(said).unwrap_err().kind(), ErrorKind::CorruptFile);
        // where nothing says its size it is a list, of other manifests, or of one that is named twice
        assert_ne!(store.read_list(unsaid).ok().as_ref(), Some(&written));
    }
    // a manifest is no longer than its list says, either
    let path = paths.manifest(&written[0].file_name).unwrap();
    let longer = [&fs.read(&path).unwrap()[..], b"\0"].concat();
    io.put(&path, &longer);
    assert_eq!(store.read(&written[0]).unwrap_err().kind(), ErrorKind::CorruptFile);
}

fn is_manifest(name: &str) -> bool {
    name.strip_prefix("manifest/manifest-").is_some_and(|rest| !rest.starts_with("list-"))
}
