//! Every Parquet data file of the golden tables: read under its own schema and under the newest, and written again,
//! which must give the same metadata as Java's.

use std::sync::Arc;

use arrow_array::{Array, Int64Array, RecordBatch, StringArray, cast::AsArray, types::Int64Type};
use arrow_select::concat::concat_batches;
use siltstone::{
    ErrorKind, Result,
    fs::{FaultFileIo, FileIoRef},
    io::{FileReadSpec, FileWriteSpec, RollingWriter, TableContext, read_data_file},
    manifest::{DataFileFields, DataFileMeta, EntryKind, FileSource, ManifestEntry, decode_manifest},
    options::CoreOptions,
    path::PathFactory,
    predicate::{CompareOp, Predicate},
    row::{Datum, datums_from_array},
    schema::{SchemaManager, TableSchema},
    stats::decode_stats_for,
    types::{DataField, DataType, TypeKind},
};

use crate::fixtures::{Fixture, ROOT, all, fixture};

struct Table {
    fixture: Fixture,
    io: FileIoRef,
    schemas: Vec<TableSchema>,
}

impl Table {
    fn new(fixture: Fixture) -> Self {
        let files = fixture.files.iter().filter(|(path, _)| path.starts_with("schema/schema-"));
        let mut schemas: Vec<TableSchema> =
            files.map(|(path, bytes)| TableSchema::from_json(path, bytes).unwrap()).collect();
        schemas.sort_by_key(|s| s.id);
        let io: FileIoRef = Arc::new(fixture.io());
        Self { fixture, io, schemas }
    }

    /// Tables whose schema numbers mean one schema.
    fn all() -> Vec<Self> {
        let plain = all().into_iter().filter(|f| !f.files.keys().any(|path| path.starts_with("branch/")));
        plain.map(Self::new).collect()
    }

    fn context(&self, schema: &TableSchema) -> TableContext {
        let options = CoreOptions::parse(&schema.options).unwrap();
        TableContext {
            fs: Arc::clone(&self.io),
            name: self.fixture.name.clone(),
            location: ROOT.to_owned(),
            branch: "main".to_owned(),
            schema: Arc::new(schema.clone()),
            paths: Arc::new(PathFactory::new(ROOT, schema, &options)),
            options: Arc::new(options),
            schemas: Arc::new(SchemaManager::new(Arc::clone(&self.io), ROOT)),
            dynamic: Arc::default(),
            written: None,
            remembered: Arc::default(),
        }
    }

    fn schema(&self, id: i64) -> &TableSchema {
        self.schemas.iter().find(|s| s.id == id).unwrap()
    }

    /// Entries that add a Parquet file that is there.
    fn parquet_files(&self) -> Vec<ManifestEntry> {
        self.files_of("parquet")
    }

    fn files_of(&self, format: &str) -> Vec<ManifestEntry> {
        let manifests =
            self.fixture.files.iter().filter(|(path, _)| {
                path.strip_prefix("manifest/manifest-").is_some_and(|name| !name.starts_with("list"))
            });
        let entries = manifests.flat_map(|(path, bytes)| decode_manifest(path, bytes).unwrap_or_default());
        let mut entries: Vec<ManifestEntry> = entries
            .filter(|e| e.kind == EntryKind::Add && e.file.file_name.ends_with(&format!(".{format}")))
            .filter(|e| self.fixture.files.keys().any(|path| path.ends_with(&e.file.file_name)))
            .collect();
        entries.sort_by(|a, b| a.file.file_name.cmp(&b.file.file_name));
        entries.dedup_by(|a, b| a.file.file_name == b.file.file_name);
        entries
    }
}

/// VARIANT and the like: the only reason not to read a file.
fn is_refused<T>(result: &Result<T>) -> bool {
    result.as_ref().err().is_some_and(|e| e.kind() == ErrorKind::UnsupportedFeature)
}

fn read(ctx: &TableContext, entry: &ManifestEntry, spec: &FileReadSpec) -> Result<Vec<RecordBatch>> {
    read_data_file(ctx, &entry.partition, entry.bucket, &entry.file, spec)?.collect()
}

fn everything(schema: &TableSchema) -> FileReadSpec {
    FileReadSpec { system: schema.has_primary_key(), position: true, ..FileReadSpec::new(schema.fields.clone()) }
}

#[test]
fn every_file_reads_under_its_own_schema_within_its_bounds() {
    let (mut files, mut refused) = (0, 0);
    for table in Table::all() {
        for entry in table.parquet_files() {
            let what = format!("{} {}", table.fixture.name, entry.file.file_name);
            let schema = table.schema(entry.file.schema_id);
            let batches = read(&table.context(schema), &entry, &everything(schema));
            if is_refused(&batches) {
                refused += 1;
                continue;
            }
            let batches = batches.unwrap_or_else(|e| panic!("{what}: {e}"));
            let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
            assert_eq!(rows, usize::try_from(entry.file.row_count).unwrap(), "{what}");
            let positions =
                batches.iter().flat_map(|b| b.columns().last().unwrap().as_primitive::<Int64Type>().values());
            assert!(positions.copied().eq(0..entry.file.row_count), "{what}");
            within_bounds(&what, schema, &entry.file, &batches);
            files += 1;
        }
    }
    assert!(files > 800, "{files}");
    assert!(refused < 10, "{refused}");
}

fn within_bounds(what: &str, schema: &TableSchema, file: &DataFileMeta, batches: &[RecordBatch]) {
    if what.contains("written_by_0_9_0") && file.value_stats.null_counts.is_empty() {
        return;
    }
    let names: Vec<&str> = schema.fields.iter().map(|f| f.name.as_str()).collect();
    let types: Vec<DataType> = schema.fields.iter().map(|f| f.data_type.clone()).collect();
    let stats = decode_stats_for(&file.value_stats, file.value_stats_cols.as_deref(), &names, &types).unwrap();
    for (i, (field, stats)) in schema.fields.iter().zip(&stats).enumerate() {
        if let Some(nulls) = stats.null_count {
            let found: usize = batches.iter().map(|b| b.column(i).null_count()).sum();
            assert_eq!(nulls, i64::try_from(found).unwrap(), "{what} {}", field.name);
        }
        if stats.min.is_null() || field.data_type.is_nested() {
            continue;
        }
        let values: Vec<Datum> =
            batches.iter().flat_map(|b| datums_from_array(b.column(i).as_ref(), &field.data_type).unwrap()).collect();
        for value in values.iter().filter(|v| !v.is_null()) {
            let order = |a: &Datum, b: &Datum| siltstone::row::compare_datums(a, b);
            assert!(order(value, &stats.min).is_ge(), "{what} {}: {value:?} < {:?}", field.name, stats.min);
            assert!(order(value, &stats.max).is_le(), "{what} {}: {value:?} > {:?}", field.name, stats.max);
        }
    }
}

#[test]
fn every_file_reads_under_the_newest_schema() {
    let mut evolved = 0;
    for table in Table::all() {
        let newest = table.schemas.last().unwrap();
        for entry in table.parquet_files().iter().filter(|e| e.file.schema_id != newest.id) {
            let batches = read(&table.context(newest), entry, &everything(newest));
            if !is_refused(&batches) {
                let batches = batches.unwrap_or_else(|e| panic!("{}: {e}", table.fixture.name));
                let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
                assert_eq!(rows, usize::try_from(entry.file.row_count).unwrap(), "{}", table.fixture.name);
                evolved += 1;
            }
        }
    }
    assert!(evolved > 10, "{evolved}");
}

/// What a rewritten file must have in common with the original.
fn described(file: &DataFileMeta) -> DataFileMeta {
    DataFileFields {
        file_name: String::new(),
        file_size: 0,
        creation_time: None,
        extra_files: Vec::new(),
        embedded_file_index: None,
        first_row_id: None,
        ..DataFileFields::clone(file)
    }
    .into()
}

#[test]
fn files_written_again_have_the_metadata_that_java_wrote() {
    // row tracking, which numbers rows by snapshot, and VARIANT are refused for writing
    let refused = ["append_row_tracking", "types_variant"];
    let ours = |t: &Table| t.fixture.writer().contains("1.4.2") && !refused.contains(&&*t.fixture.name);
    let tables: Vec<Table> = Table::all().into_iter().filter(ours).collect();
    for (format, least) in [("parquet", 500), ("avro", 25), ("orc", 20)] {
        let written = tables.iter().flat_map(|table| table.files_of(format).into_iter().map(move |e| (table, e)));
        let files = written.filter(|(table, entry)| is_written_alike(table, entry, format)).count();
        assert!(files > least, "{format}: {files}");
    }
}

/// Writes a file again and compares; `false` for files that are not written so any more.
fn is_written_alike(table: &Table, entry: &ManifestEntry, format: &str) -> bool {
    let what = format!("{} {}", table.fixture.name, entry.file.file_name);
    let schema = table.schema(entry.file.schema_id);
    let ctx = table.context(schema);
    let read_spec = FileReadSpec { position: false, ..everything(schema) };
    let batches = read(&ctx, entry, &read_spec);
    let spec = FileWriteSpec {
        key_value: schema.has_primary_key(),
        level: entry.file.level,
        source: entry.file.file_source.unwrap_or(FileSource::Append),
        first_sequence: entry.file.min_sequence_number,
        changelog: entry.file.file_name.starts_with("changelog-"),
        some_columns: false,
        memory: None,
    };
    let level = spec.key_value.then_some(spec.level);
    let of_changelog = ctx.options.changelog_file_format.as_deref().filter(|_| spec.changelog);
    if is_refused(&batches) || of_changelog.unwrap_or_else(|| ctx.options.format_of_level(level)) != format {
        return false;
    }
    let mut writer = RollingWriter::new(&ctx, &entry.partition, entry.bucket, spec).unwrap();
    // a file ends behind a batch: what Java wrote into one comes in one
    let batches = batches.unwrap();
    let all = concat_batches(&batches[0].schema(), &batches).unwrap();
    writer.write(&all).unwrap_or_else(|e| panic!("{what}: {e}"));
    let written = writer.finish().unwrap();
    assert_eq!(written.len(), 1, "{what}");
    let java = if format == "orc" { with_our_exceptions(&entry.file, &written[0], schema) } else { entry.file.clone() };
    assert_eq!(described(&written[0]), described(&java), "{what}");
    if ctx.options.compression_of_level(level) == "null" {
        // but for the marker of the file the bytes are the same, too
        assert_eq!(written[0].file_size, entry.file.file_size, "{what}");
    }
    true
}

/// Java takes the bounds of ORC files out of them: there NaN is left out or hides all other numbers, of -0.0 and 0.0 the first one
/// counts, and texts of CHAR columns are filled up with spaces that no reader sees. Ours are true.
fn with_our_exceptions(java: &DataFileMeta, ours: &DataFileMeta, schema: &TableSchema) -> DataFileMeta {
    let names: Vec<&str> = schema.fields.iter().map(|f| f.name.as_str()).collect();
    let types: Vec<DataType> = schema.fields.iter().map(|f| f.data_type.clone()).collect();
    let decoded = |file: &DataFileMeta| {
        decode_stats_for(&file.value_stats, file.value_stats_cols.as_deref(), &names, &types).unwrap()
    };
    for ((java, ours), t) in decoded(java).iter().zip(decoded(ours)).zip(&types) {
        assert_eq!(java.null_count, ours.null_count);
        if !matches!(t.kind, TypeKind::Float | TypeKind::Double | TypeKind::Char(_)) {
            assert_eq!((&java.min, &java.max), (&ours.min, &ours.max), "{t}");
        }
    }
    DataFileFields { value_stats: ours.value_stats.clone(), ..DataFileFields::clone(java) }.into()
}

fn ids(batches: &[RecordBatch], column: usize) -> Vec<i64> {
    let columns = batches.iter().map(|b| arrow_cast::cast(b.column(column), &arrow_schema::DataType::Int64).unwrap());
    columns.flat_map(|c| c.as_any().downcast_ref::<Int64Array>().unwrap().values().to_vec()).collect()
}

#[test]
fn a_filter_gives_the_same_rows_whether_its_column_is_wanted_or_not() {
    let table = Table::new(fixture("format_parquet_pages"));
    let entry = &table.parquet_files()[0];
    let schema = table.schema(entry.file.schema_id);
    let ctx = table.context(schema);
    let number = schema.fields.iter().position(is_whole).unwrap();
    let all = read(&ctx, entry, &everything(schema)).unwrap();
    let values = ids(&all, number);
    let middle = {
        let mut v = values.clone();
        v.sort_unstable();
        v[v.len() / 2]
    };
    let expected: Vec<i64> = (0..).zip(&values).filter(|(_, v)| **v >= middle).map(|(row, _)| row).collect();
    let literal = match schema.fields[number].data_type.kind {
        TypeKind::Int => Datum::Int(i32::try_from(middle).unwrap()),
        _ => Datum::BigInt(middle),
    };
    let filter = Predicate::Compare { column: schema.fields[number].name.clone(), op: CompareOp::GtEq, value: literal };
    let others: Vec<DataField> = schema.fields.iter().filter(|f| f.id != schema.fields[number].id).cloned().collect();
    for fields in [schema.fields.clone(), vec![schema.fields[number].clone()], others, Vec::new()] {
        let spec = FileReadSpec {
            position: true,
            filter: Some(filter.clone()),
            exact_filter: true,
            batch_rows: 100,
            ..FileReadSpec::new(fields)
        };
        let batches = read(&ctx, entry, &spec).unwrap();
        assert!(batches.iter().all(|b| b.num_rows() <= 100));
        assert_eq!(ids(&batches, spec.fields.len()), expected);
    }
}

fn is_whole(field: &DataField) -> bool {
    matches!(field.data_type.kind, TypeKind::Int | TypeKind::BigInt)
}

#[test]
fn missing_short_and_foreign_files_are_named() {
    let table = Table::new(fixture("append_unaware_parquet"));
    let entry = table.parquet_files().remove(0);
    let schema = table.schema(entry.file.schema_id);
    let ctx = table.context(schema);
    let changed = |change: &dyn Fn(&mut DataFileMeta)| {
        let mut entry = entry.clone();
        change(&mut entry.file);
        read(&ctx, &entry, &everything(schema)).unwrap_err()
    };
    let missing = changed(&|f| f.file_name = "data-none-0.parquet".to_owned());
    assert_eq!(missing.kind(), ErrorKind::FileNotFound);
    let short = changed(&|f| f.file_size += 100);
    assert_eq!(short.kind(), ErrorKind::CorruptFile, "{short}");
    let cut = changed(&|f| f.file_size -= 100);
    assert_eq!(cut.kind(), ErrorKind::CorruptFile, "{cut}");
    let rows = changed(&|f| f.row_count += 1);
    assert_eq!(rows.kind(), ErrorKind::CorruptFile, "{rows}");
    let lance = changed(&|f| f.file_name = "data-none-0.lance".to_owned());
    assert_eq!(lance.kind(), ErrorKind::UnsupportedFeature);
    assert_eq!(lance.context_value("file"), Some("data-none-0.lance"));
}

fn new_table(options: &[(&str, &str)]) -> TableContext {
    let options = options.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    let field = |id, name: &str, kind| DataField::new(id, name, DataType::not_null(kind));
    let schema = TableSchema {
        id: 0,
        fields: vec![field(0, "id", TypeKind::BigInt), field(1, "name", TypeKind::VarChar(100))],
        highest_field_id: 1,
        partition_keys: Vec::new(),
        primary_keys: Vec::new(),
        options,
        comment: None,
        time_millis: 0,
        pending: None,
    };
    let io: FileIoRef = Arc::new(FaultFileIo::new());
    let options = CoreOptions::parse(&schema.options).unwrap();
    TableContext {
        fs: Arc::clone(&io),
        name: "t".to_owned(),
        location: ROOT.to_owned(),
        branch: "main".to_owned(),
        paths: Arc::new(PathFactory::new(ROOT, &schema, &options)),
        schema: Arc::new(schema),
        options: Arc::new(options),
        schemas: Arc::new(SchemaManager::new(io, ROOT)),
        dynamic: Arc::default(),
        written: None,
        remembered: Arc::default(),
    }
}

fn rows(ctx: &TableContext, ids: std::ops::Range<i64>) -> RecordBatch {
    let names = StringArray::from_iter_values(ids.clone().map(|i| format!("name {}", i.wrapping_mul(7_919) % 100_003)));
    let schema = siltstone::types::arrow_schema(&ctx.schema.fields).unwrap();
    RecordBatch::try_new(schema, vec![Arc::new(Int64Array::from_iter_values(ids)), Arc::new(names)]).unwrap()
}

const UNPARTITIONED: [u8; 12] = [0; 12];

fn append(ctx: &TableContext, batches: &[RecordBatch]) -> Vec<DataFileMeta> {
    let spec = FileWriteSpec::append(10, FileSource::Append);
    let mut writer = RollingWriter::new(ctx, &UNPARTITIONED, 0, spec).unwrap();
    for batch in batches {
        writer.write(batch).unwrap();
    }
    writer.finish().unwrap()
}

#[test]
fn files_roll_over_near_their_target_size_and_sequences_go_on() {
    let ctx = new_table(&[("target-file-size", "100 kb"), ("parquet.page.size", "8192")]);
    let batches: Vec<RecordBatch> = (0..40).map(|i| rows(&ctx, i * 8192..(i + 1) * 8192)).collect();
    let files = append(&ctx, &batches);
    assert!(files.len() > 2, "{}", files.len());
    let mut next = 10;
    for file in &files {
        assert_eq!(file.min_sequence_number, next);
        assert_eq!(file.max_sequence_number, next + file.row_count - 1);
        next += file.row_count;
        assert!(file.file_size < 200_000, "{}", file.file_size);
    }
    assert_eq!(next, 10 + 40 * 8192);
    let sizes: Vec<i64> = files.iter().rev().skip(1).map(|f| f.file_size).collect();
    assert!(sizes.iter().all(|size| *size > 60_000), "{sizes:?}");
}

#[test]
fn files_roll_over_at_their_number_of_rows() {
    let ctx = new_table(&[("target-file-row-num", "3000")]);
    let files = append(&ctx, &[rows(&ctx, 0..10_000)]);
    assert_eq!(files.iter().map(|f| f.row_count).collect::<Vec<_>>(), [3000, 3000, 3000, 1000]);
}

#[test]
fn rows_on_several_threads_come_back_in_order() {
    let ctx = new_table(&[("parquet.block.size", "1500000"), ("file.compression", "none")]);
    let batches: Vec<RecordBatch> = (0..30).map(|i| rows(&ctx, i * 8192..(i + 1) * 8192)).collect();
    let file = append(&ctx, &batches).remove(0);
    let spec = FileReadSpec { position: true, ..FileReadSpec::new(ctx.schema.fields.clone()) };
    let read: Vec<RecordBatch> =
        read_data_file(&ctx, &UNPARTITIONED, 0, &file, &spec).unwrap().collect::<Result<_>>().unwrap();
    assert_eq!(ids(&read, 0), ids(&read, 2));
    assert_eq!(ids(&read, 0).len(), 30 * 8192);
}

#[test]
fn an_aborted_writer_leaves_no_file_and_one_without_rows_makes_none() {
    let ctx = new_table(&[("target-file-row-num", "3000")]);
    let directory = ctx.paths.bucket_dir(&UNPARTITIONED, 0).unwrap();
    assert!(append(&ctx, &[rows(&ctx, 0..0)]).is_empty());
    let mut writer = RollingWriter::new(&ctx, &UNPARTITIONED, 0, FileWriteSpec::append(0, FileSource::Append)).unwrap();
    writer.write(&rows(&ctx, 0..10_000)).unwrap();
    assert_eq!(ctx.fs.list(&directory).unwrap().len(), 4);
    writer.abort();
    assert!(ctx.fs.list(&directory).unwrap().is_empty());
}

#[test]
fn other_formats_are_refused_by_name_before_a_file_exists() {
    let ctx = new_table(&[("file.format", "csv")]);
    let writer = RollingWriter::new(&ctx, &UNPARTITIONED, 0, FileWriteSpec::append(0, FileSource::Append));
    let e = writer.unwrap_err();
    assert_eq!((e.kind(), e.context_value("option")), (ErrorKind::UnsupportedFeature, Some("file.format")));
}
