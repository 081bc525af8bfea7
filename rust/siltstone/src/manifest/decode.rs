//! Manifest files into values, straight from the blocks.
//!
//! The writer's schema is resolved by name once a file (layouts of 0.8 to 2.x differ only in optional fields);
//! then each record is read field by field in the order of its bytes.

use std::sync::Arc;

use super::{
    DataFileFields, DeletionVectorRange, EntryHead, EntryKind, FileSource, GlobalIndexMeta, IndexManifestEntry,
    KeepEntry, KeepFile, ManifestEntry, ManifestFileMeta, each_once,
};
use crate::{
    error::{Error, ErrorKind, Result},
    format::{
        AvroRecords,
        avro::{Block, ContainerReader, Cursor, DecodePlan, FieldRule, WriterType},
    },
    fs::{check_external_path, check_file_name},
    limits::{self, MOST},
    stats::{SimpleStats, StatsFields},
    threads::try_map,
};

/// `_VERSION` of manifests and manifest lists.
pub(super) const MANIFEST_VERSION: i32 = 2;
/// `_VERSION` of index manifests.
pub(super) const INDEX_MANIFEST_VERSION: i32 = 1;

/// Lists the fields of a record: name in the file, slot, and whether a file must have it.
macro_rules! fields {
    ($(#[$doc:meta])* $slots:ident, $rules:ident: $($slot:ident $name:literal $need:ident),+ $(,)?) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        enum $slots { $($slot),+ }

        const $rules: &[FieldRule<$slots>] = &[$(
            FieldRule { name: $name, slot: $slots::$slot, required: fields!(@ $need) }
        ),+];
    };
    (@ required) => { true };
    (@ optional) => { false };
}

fields! {
    /// `SimpleStats`
    StatsSlot, STATS:
    Min "_MIN_VALUES" required,
    Max "_MAX_VALUES" required,
    Nulls "_NULL_COUNTS" optional,
}

fields! {
    /// `ManifestEntry`
    EntrySlot, ENTRY:
    Version "_VERSION" required,
    Kind "_KIND" required,
    Partition "_PARTITION" required,
    Bucket "_BUCKET" required,
    TotalBuckets "_TOTAL_BUCKETS" required,
    File "_FILE" required,
}

fields! {
    /// `DataFileMeta`
    FileSlot, FILE:
    FileName "_FILE_NAME" required,
    FileSize "_FILE_SIZE" required,
    RowCount "_ROW_COUNT" required,
    MinKey "_MIN_KEY" required,
    MaxKey "_MAX_KEY" required,
    KeyStats "_KEY_STATS" required,
    ValueStats "_VALUE_STATS" required,
    MinSequence "_MIN_SEQUENCE_NUMBER" required,
    MaxSequence "_MAX_SEQUENCE_NUMBER" required,
    SchemaId "_SCHEMA_ID" required,
    Level "_LEVEL" required,
    ExtraFiles "_EXTRA_FILES" optional,
    CreationTime "_CREATION_TIME" optional,
    DeleteRowCount "_DELETE_ROW_COUNT" optional,
    EmbeddedIndex "_EMBEDDED_FILE_INDEX" optional,
    Source "_FILE_SOURCE" optional,
    ValueStatsCols "_VALUE_STATS_COLS" optional,
    ExternalPath "_EXTERNAL_PATH" optional,
    FirstRowId "_FIRST_ROW_ID" optional,
    WriteCols "_WRITE_COLS" optional,
}

fields! {
    /// `ManifestFileMeta`
    ListSlot, LIST:
    Version "_VERSION" required,
    FileName "_FILE_NAME" required,
    FileSize "_FILE_SIZE" required,
    Added "_NUM_ADDED_FILES" required,
    Deleted "_NUM_DELETED_FILES" required,
    PartitionStats "_PARTITION_STATS" required,
    SchemaId "_SCHEMA_ID" required,
    MinBucket "_MIN_BUCKET" optional,
    MaxBucket "_MAX_BUCKET" optional,
    MinLevel "_MIN_LEVEL" optional,
    MaxLevel "_MAX_LEVEL" optional,
    MinRowId "_MIN_ROW_ID" optional,
    MaxRowId "_MAX_ROW_ID" optional,
}

fields! {
    /// `IndexManifestEntry`
    IndexSlot, INDEX:
    Version "_VERSION" required,
    Kind "_KIND" required,
    Partition "_PARTITION" required,
    Bucket "_BUCKET" required,
    IndexType "_INDEX_TYPE" required,
    FileName "_FILE_NAME" required,
    FileSize "_FILE_SIZE" required,
    RowCount "_ROW_COUNT" required,
    Vectors "_DELETIONS_VECTORS_RANGES" optional,
    ExternalPath "_EXTERNAL_PATH" optional,
    GlobalIndex "_GLOBAL_INDEX" optional,
}

fields! {
    /// `DeletionVectorMeta`
    VectorSlot, VECTOR:
    DataFile "f0" required,
    Offset "f1" required,
    Length "f2" required,
    Cardinality "_CARDINALITY" optional,
}

fields! {
    /// `GlobalIndexMeta`
    GlobalSlot, GLOBAL:
    Start "_ROW_RANGE_START" required,
    End "_ROW_RANGE_END" required,
    FieldId "_INDEX_FIELD_ID" required,
    ExtraFieldIds "_EXTRA_FIELD_IDS" optional,
    Meta "_INDEX_META" optional,
    SourceMeta "_SOURCE_META" optional,
}

/// Entries of a manifest whose head passes `keep` and that `wanted` keeps, with the statistics of their columns or as files without;
/// blocks are decoded in parallel.
pub(super) fn manifest(
    file: &str,
    avro: &AvroRecords<'_>,
    keep: KeepEntry<'_>,
    wanted: KeepFile<'_>,
    statistics: bool,
) -> Result<Vec<ManifestEntry>> {
    let container = avro.open(file)?;
    let top = DecodePlan::new(file, &**nested(file, Some(&container.schema))?, ENTRY)?;
    let meta = DecodePlan::new(file, &**nested(file, top.type_of(|s| *s == EntrySlot::File))?, FILE)?;
    let key_stats = stats_plan(file, meta.type_of(|s| *s == FileSlot::KeyStats))?;
    let value_stats = stats_plan(file, meta.type_of(|s| *s == FileSlot::ValueStats))?;
    let plan = EntryPlan { top, meta, key_stats, value_stats, statistics };
    let decode = |block: &Block<'_>| {
        let plain = container.plain(block)?;
        let mut columns = [SameColumns::default(), SameColumns::default()];
        container.records(block, &plain, |at| {
            enter(&container.schema, at)?;
            let entry = plan.read(at, keep, &mut columns)?;
            entry.map(|entry| Ok(wanted(&entry)?.then_some(entry))).transpose().map(Option::flatten)
        })
    };
    let parts: Vec<Vec<ManifestEntry>> = try_map(&container.blocks, decode)?;
    limits::joined(parts, "the entries of a manifest").map_err(|e| e.with("file", file))
}

/// Records of a manifest list.
pub(super) fn manifest_list(file: &str, avro: &AvroRecords<'_>) -> Result<Vec<ManifestFileMeta>> {
    let container = avro.open(file)?;
    let plan = DecodePlan::new(file, &**nested(file, Some(&container.schema))?, LIST)?;
    let stats = stats_plan(file, plan.type_of(|s| *s == ListSlot::PartitionStats))?;
    let out = records(file, &container, |at| read_manifest_meta(&plan, &stats, at))?;
    each_once(&out).map_err(|e| e.with("file", file))?;
    Ok(out)
}

/// Records of an index manifest.
pub(super) fn index_manifest(file: &str, avro: &AvroRecords<'_>) -> Result<Vec<IndexManifestEntry>> {
    let container = avro.open(file)?;
    let top = DecodePlan::new(file, &**nested(file, Some(&container.schema))?, INDEX)?;
    let vectors = match top.type_of(|s| *s == IndexSlot::Vectors) {
        Some(t) => Some(DecodePlan::new(file, &**nested(file, Some(t))?, VECTOR)?),
        None => None,
    };
    let global = match top.type_of(|s| *s == IndexSlot::GlobalIndex) {
        Some(t) => Some(DecodePlan::new(file, &**nested(file, Some(t))?, GLOBAL)?),
        None => None,
    };
    let plan = IndexPlan { top, vectors, global };
    records(file, &container, |at| plan.read(at))
}

/// All records of a file, one block after another.
fn records<T>(
    file: &str,
    container: &ContainerReader<'_>,
    mut read: impl FnMut(&mut Cursor<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    let mut parts = Vec::new();
    for block in &container.blocks {
        let plain = container.plain(block)?;
        parts.push(container.records(block, &plain, |at| {
            enter(&container.schema, at)?;
            read(at).map(Some)
        })?);
    }
    limits::joined(parts, "the records of a metadata file").map_err(|e| e.with("file", file))
}

/// At the fields of a record; writers may declare `["null", record]` for it, also at the top.
#[inline]
fn enter(data_type: &WriterType, at: &mut Cursor<'_>) -> Result<()> {
    let present = data_type.enter(at)?;
    need(present.then_some(()), at)
}

fn nested<'t>(
    file: &str,
    data_type: Option<&'t WriterType>,
) -> Result<&'t std::sync::Arc<crate::format::avro::WriterRecord>> {
    data_type.and_then(WriterType::record).ok_or_else(|| {
        Error::corrupt(file, 0, "a record in the Avro schema", data_type.map_or("nothing", WriterType::name))
    })
}

fn stats_plan(file: &str, data_type: Option<&WriterType>) -> Result<DecodePlan<StatsSlot>> {
    DecodePlan::new(file, nested(file, data_type)?, STATS)
}

struct EntryPlan {
    top: DecodePlan<EntrySlot>,
    meta: DecodePlan<FileSlot>,
    key_stats: DecodePlan<StatsSlot>,
    value_stats: DecodePlan<StatsSlot>,
    statistics: bool,
}

impl EntryPlan {
    fn read(
        &self,
        at: &mut Cursor<'_>,
        keep: KeepEntry<'_>,
        columns: &mut [SameColumns; 2],
    ) -> Result<Option<ManifestEntry>> {
        let (mut kind, mut bucket, mut total_buckets) = (EntryKind::Add, 0, 0);
        let mut partition: &[u8] = &[];
        let mut file = None;
        self.top.run(at, |slot, t, at| {
            match slot {
                EntrySlot::Version => check_version(t, at, MANIFEST_VERSION)?,
                EntrySlot::Kind => kind = entry_kind(t, at)?,
                EntrySlot::Partition => partition = need(t.bytes(at)?, at)?,
                EntrySlot::Bucket => bucket = need(t.int(at)?, at)?,
                EntrySlot::TotalBuckets => total_buckets = need(t.int(at)?, at)?,
                EntrySlot::File if keep(EntryHead { kind, partition, bucket, total_buckets }) => {
                    enter(t, at)?;
                    file = Some(self.read_file(at, columns)?.into());
                }
                EntrySlot::File => t.skip(at)?,
            }
            Ok(())
        })?;
        let entry = |file| ManifestEntry { kind, partition: partition.to_vec(), bucket, total_buckets, file };
        Ok(file.map(entry))
    }

    fn read_file(&self, at: &mut Cursor<'_>, columns: &mut [SameColumns; 2]) -> Result<DataFileFields> {
        let mut f = blank_file();
        let [of_stats, written] = columns;
        if !self.statistics {
            // as of files that were written without
            f.value_stats_cols = Some([].into());
        }
        self.meta.run(at, |slot, t, at| {
            match slot {
                FileSlot::KeyStats | FileSlot::ValueStats | FileSlot::ValueStatsCols if !self.statistics => {
                    t.skip(at)?;
                }
                FileSlot::FileName => f.file_name = file_name("_FILE_NAME", t, at)?,
                FileSlot::FileSize => f.file_size = need(t.long(at)?, at)?,
                FileSlot::RowCount => f.row_count = need(t.long(at)?, at)?,
                FileSlot::MinKey => f.min_key = need(t.bytes(at)?, at)?.to_vec(),
                FileSlot::MaxKey => f.max_key = need(t.bytes(at)?, at)?.to_vec(),
                FileSlot::KeyStats => f.key_stats = read_stats(&self.key_stats, t, at)?,
                FileSlot::ValueStats => f.value_stats = read_stats(&self.value_stats, t, at)?,
                FileSlot::MinSequence => f.min_sequence_number = need(t.long(at)?, at)?,
                FileSlot::MaxSequence => f.max_sequence_number = need(t.long(at)?, at)?,
                FileSlot::SchemaId => f.schema_id = need(t.long(at)?, at)?,
                FileSlot::Level => f.level = need(t.int(at)?, at)?,
                FileSlot::ExtraFiles => f.extra_files = extra_files(t, at)?,
                FileSlot::CreationTime => f.creation_time = t.long(at)?,
                FileSlot::DeleteRowCount => f.delete_row_count = t.long(at)?,
                FileSlot::EmbeddedIndex => f.embedded_file_index = t.bytes(at)?.map(<[u8]>::to_vec),
                FileSlot::Source => f.file_source = file_source(t, at)?,
                FileSlot::ValueStatsCols => f.value_stats_cols = of_stats.read(t, at)?,
                FileSlot::ExternalPath => f.external_path = external_path(t, at)?,
                FileSlot::FirstRowId => f.first_row_id = t.long(at)?,
                FileSlot::WriteCols => f.write_cols = written.read(t, at)?,
            }
            Ok(())
        })?;
        match f.wrong_number() {
            Some((field, number)) => Err(at.corrupt(format!("a '{field}' that can be true"), number)),
            None => Ok(f),
        }
    }
}

fn blank_stats() -> StatsFields {
    StatsFields { min_values: Vec::new(), max_values: Vec::new(), null_counts: Vec::new() }
}

fn blank_file() -> DataFileFields {
    DataFileFields {
        file_name: String::new(),
        file_size: 0,
        row_count: 0,
        min_key: Vec::new(),
        max_key: Vec::new(),
        key_stats: SimpleStats::empty(),
        value_stats: SimpleStats::empty(),
        min_sequence_number: 0,
        max_sequence_number: 0,
        schema_id: 0,
        level: 0,
        extra_files: Vec::new(),
        creation_time: None,
        delete_row_count: None,
        embedded_file_index: None,
        file_source: None,
        value_stats_cols: None,
        external_path: None,
        first_row_id: None,
        write_cols: None,
    }
}

fn read_stats(plan: &DecodePlan<StatsSlot>, data_type: &WriterType, at: &mut Cursor<'_>) -> Result<SimpleStats> {
    let mut stats = blank_stats();
    enter(data_type, at)?;
    plan.run(at, |slot, t, at| {
        match slot {
            StatsSlot::Min => stats.min_values = need(t.bytes(at)?, at)?.to_vec(),
            StatsSlot::Max => stats.max_values = need(t.bytes(at)?, at)?.to_vec(),
            StatsSlot::Nulls => {
                stats.null_counts = t.array(at, |item, at| item.long(at).map(Some))?.unwrap_or_default();
            }
        }
        Ok(())
    })?;
    Ok(stats.into())
}

/// Names of columns, which are the same for most files of a block: those of the file before are shared.
#[derive(Default)]
struct SameColumns {
    bytes: Vec<u8>,
    names: Option<Arc<[String]>>,
}

impl SameColumns {
    fn read(&mut self, data_type: &WriterType, at: &mut Cursor<'_>) -> Result<Option<Arc<[String]>>> {
        let start = at.clone();
        data_type.skip(at)?;
        let bytes = start.until(at);
        if bytes != self.bytes || bytes.is_empty() {
            let mut again = start;
            self.names = strings(data_type, &mut again)?.map(Arc::from);
            self.bytes = bytes.to_vec();
        }
        Ok(self.names.clone())
    }
}

fn read_manifest_meta(
    plan: &DecodePlan<ListSlot>,
    stats: &DecodePlan<StatsSlot>,
    at: &mut Cursor<'_>,
) -> Result<ManifestFileMeta> {
    let mut m = ManifestFileMeta {
        file_name: String::new(),
        file_size: 0,
        num_added_files: 0,
        num_deleted_files: 0,
        partition_stats: SimpleStats::empty(),
        schema_id: 0,
        min_bucket: None,
        max_bucket: None,
        min_level: None,
        max_level: None,
        min_row_id: None,
        max_row_id: None,
    };
    plan.run(at, |slot, t, at| {
        match slot {
            ListSlot::Version => check_version(t, at, MANIFEST_VERSION)?,
            ListSlot::FileName => m.file_name = file_name("_FILE_NAME", t, at)?,
            ListSlot::FileSize => m.file_size = count("_FILE_SIZE", t, at)?,
            ListSlot::Added => m.num_added_files = count("_NUM_ADDED_FILES", t, at)?,
            ListSlot::Deleted => m.num_deleted_files = count("_NUM_DELETED_FILES", t, at)?,
            ListSlot::PartitionStats => m.partition_stats = read_stats(stats, t, at)?,
            ListSlot::SchemaId => m.schema_id = need(t.long(at)?, at)?,
            ListSlot::MinBucket => m.min_bucket = t.int(at)?,
            ListSlot::MaxBucket => m.max_bucket = t.int(at)?,
            ListSlot::MinLevel => m.min_level = t.int(at)?,
            ListSlot::MaxLevel => m.max_level = t.int(at)?,
            ListSlot::MinRowId => m.min_row_id = t.long(at)?,
            ListSlot::MaxRowId => m.max_row_id = t.long(at)?,
        }
        Ok(())
    })?;
    Ok(m)
}

struct IndexPlan {
    top: DecodePlan<IndexSlot>,
    vectors: Option<DecodePlan<VectorSlot>>,
    global: Option<DecodePlan<GlobalSlot>>,
}

impl IndexPlan {
    fn read(&self, at: &mut Cursor<'_>) -> Result<IndexManifestEntry> {
        let mut e = IndexManifestEntry {
            kind: EntryKind::Add,
            partition: Vec::new(),
            bucket: 0,
            index_type: String::new(),
            file_name: String::new(),
            file_size: 0,
            row_count: 0,
            deletion_vectors: None,
            external_path: None,
            global_index: None,
        };
        self.top.run(at, |slot, t, at| {
            match slot {
                IndexSlot::Version => check_version(t, at, INDEX_MANIFEST_VERSION)?,
                IndexSlot::Kind => e.kind = entry_kind(t, at)?,
                IndexSlot::Partition => e.partition = need(t.bytes(at)?, at)?.to_vec(),
                IndexSlot::Bucket => e.bucket = need(t.int(at)?, at)?,
                IndexSlot::IndexType => need(t.string(at)?, at)?.clone_into(&mut e.index_type),
                IndexSlot::FileName => e.file_name = file_name("_FILE_NAME", t, at)?,
                IndexSlot::FileSize => e.file_size = need(t.long(at)?, at)?,
                IndexSlot::RowCount => e.row_count = need(t.long(at)?, at)?,
                IndexSlot::Vectors => e.deletion_vectors = self.read_vectors(t, at)?,
                IndexSlot::ExternalPath => e.external_path = external_path(t, at)?,
                IndexSlot::GlobalIndex => e.global_index = self.read_global(t, at)?,
            }
            Ok(())
        })?;
        Ok(e)
    }

    fn read_vectors(&self, data_type: &WriterType, at: &mut Cursor<'_>) -> Result<Option<Vec<DeletionVectorRange>>> {
        let Some(plan) = &self.vectors else {
            return Ok(None);
        };
        data_type.array(at, |item, at| {
            let mut v = DeletionVectorRange { data_file_name: String::new(), offset: 0, length: 0, cardinality: None };
            if !item.enter(at)? {
                return Ok(None);
            }
            plan.run(at, |slot, t, at| {
                match slot {
                    VectorSlot::DataFile => v.data_file_name = file_name("f0", t, at)?,
                    VectorSlot::Offset => v.offset = need(t.int(at)?, at)?,
                    VectorSlot::Length => v.length = need(t.int(at)?, at)?,
                    VectorSlot::Cardinality => v.cardinality = t.long(at)?,
                }
                Ok(())
            })?;
            Ok(Some(v))
        })
    }

    fn read_global(&self, data_type: &WriterType, at: &mut Cursor<'_>) -> Result<Option<GlobalIndexMeta>> {
        let Some(plan) = &self.global else {
            return Ok(None);
        };
        if !data_type.enter(at)? {
            return Ok(None);
        }
        let mut g = GlobalIndexMeta {
            row_range_start: 0,
            row_range_end: 0,
            index_field_id: 0,
            extra_field_ids: None,
            index_meta: None,
            source_meta: None,
        };
        plan.run(at, |slot, t, at| {
            match slot {
                GlobalSlot::Start => g.row_range_start = need(t.long(at)?, at)?,
                GlobalSlot::End => g.row_range_end = need(t.long(at)?, at)?,
                GlobalSlot::FieldId => g.index_field_id = need(t.int(at)?, at)?,
                GlobalSlot::ExtraFieldIds => {
                    g.extra_field_ids = t.array(at, |item, at| need(item.int(at)?, at).map(Some))?;
                }
                GlobalSlot::Meta => g.index_meta = t.bytes(at)?.map(<[u8]>::to_vec),
                GlobalSlot::SourceMeta => g.source_meta = t.bytes(at)?.map(<[u8]>::to_vec),
            }
            Ok(())
        })?;
        Ok(Some(g))
    }
}

/// A value that must not be null.
#[inline]
fn need<T>(value: Option<T>, at: &Cursor<'_>) -> Result<T> {
    value.ok_or_else(|| at.corrupt("a value", "null"))
}

/// A number of bytes or files that can be true.
fn count(field: &'static str, data_type: &WriterType, at: &mut Cursor<'_>) -> Result<i64> {
    let number = need(data_type.long(at)?, at)?;
    if (0..=MOST).contains(&number) {
        return Ok(number);
    }
    Err(at.corrupt(format!("a '{field}' that can be true"), number))
}

fn strings(data_type: &WriterType, at: &mut Cursor<'_>) -> Result<Option<Vec<String>>> {
    data_type.array(at, |item, at| Ok(Some(need(item.string(at)?, at)?.to_owned())))
}

/// A name that will be part of a path: see [`check_file_name`].
fn file_name(field: &'static str, data_type: &WriterType, at: &mut Cursor<'_>) -> Result<String> {
    let name = need(data_type.string(at)?, at)?;
    check_file_name(field, name).map_err(|e| e.with("file", at.file()))?;
    Ok(name.to_owned())
}

fn extra_files(data_type: &WriterType, at: &mut Cursor<'_>) -> Result<Vec<String>> {
    Ok(data_type.array(at, |item, at| file_name("_EXTRA_FILES", item, at).map(Some))?.unwrap_or_default())
}

fn external_path(data_type: &WriterType, at: &mut Cursor<'_>) -> Result<Option<String>> {
    let Some(path) = data_type.string(at)? else { return Ok(None) };
    check_external_path(path).map_err(|e| e.with("file", at.file()))?;
    Ok(Some(path.to_owned()))
}

fn check_version(data_type: &WriterType, at: &mut Cursor<'_>, known: i32) -> Result<()> {
    let version = need(data_type.int(at)?, at)?;
    if version == known {
        return Ok(());
    }
    let message = format!("records of version {version} are not known, only {known} is");
    Err(Error::new(ErrorKind::UnsupportedVersion, message).with("file", at.file()))
}

fn entry_kind(data_type: &WriterType, at: &mut Cursor<'_>) -> Result<EntryKind> {
    match need(data_type.int(at)?, at)? {
        0 => Ok(EntryKind::Add),
        1 => Ok(EntryKind::Delete),
        other => Err(at.corrupt("kind 0 (ADD) or 1 (DELETE)", other)),
    }
}

fn file_source(data_type: &WriterType, at: &mut Cursor<'_>) -> Result<Option<FileSource>> {
    match data_type.int(at)? {
        None => Ok(None),
        Some(0) => Ok(Some(FileSource::Append)),
        Some(1) => Ok(Some(FileSource::Compact)),
        Some(other) => Err(at.corrupt("file source 0 (APPEND) or 1 (COMPACT)", other)),
    }
}
