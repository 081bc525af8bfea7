//! Writing rows of one bucket into files of the target size.
//!
//! Source: `RollingFileWriter`, `KeyValueDataFileWriter`, `RowDataFileWriter`.

use std::{
    ops::{Range, RangeInclusive},
    sync::Arc,
};

use arrow_array::{
    RecordBatch,
    cast::AsArray,
    types::{Int8Type, Int64Type},
};

use super::{
    BatchStream, FileReadSpec, FileWriteSpec, OpenDataFile, TableContext, batch_bytes,
    blob_files::{BlobFiles, Place},
    file_columns::FileColumns,
    index_writer::{IndexWriter, WrittenIndex},
};
use crate::{
    cancel, env,
    error::{Error, ErrorKind, Result},
    format::{DataFileWriter, DataFormat, EncodedRows, Encoding, WriteOptions, data_format},
    limits,
    manifest::{DataFileFields, DataFileMeta},
    path::FileNames,
    row::{BinaryRow, RowKind, datum_from_array},
    types::{DataField, TypeKind},
};

/// Java looks at the size of a file every so many rows.
const CHECK_ROWS: usize = 1000;
/// Rows that become a part of a file are there that many times for a moment: in a dictionary, in its page, in what this is
/// compressed to, each of which grows by doubling.
const ENCODING: usize = 5;
/// Bytes of such a part, if it has more than one row.
const PART_BYTES: usize = 64 * 1024 * 1024;

/// Writes rows of one bucket, in their order, into as many data files as the target size asks for.
pub struct RollingWriter {
    ctx: TableContext,
    spec: FileWriteSpec,
    columns: Arc<FileColumns>,
    encoding: Arc<dyn Encoding>,
    format: &'static dyn DataFormat,
    keys: Vec<(usize, DataField)>,
    compression: String,
    names: FileNames,
    directory: String,
    target_size: u64,
    target_rows: i64,
    next_sequence: i64,
    open: Option<OpenFile>,
    blobs: Option<BlobFiles>,
    finished: Vec<DataFileMeta>,
    /// Every file created, for `abort`.
    created: Vec<String>,
    rows: i64,
}

/// The file that rows go to, and what its meta will say.
struct OpenFile {
    name: String,
    path: String,
    writer: Box<dyn DataFileWriter>,
    index: Option<IndexWriter>,
    min_key: Vec<u8>,
    max_key: Vec<u8>,
    sequence: RangeInclusive<i64>,
    deletes: i64,
}

/// What the manifest says of some rows beside their values.
struct SystemColumns {
    sequence: RangeInclusive<i64>,
    deletes: i64,
}

impl SystemColumns {
    /// Of rows that are copied.
    fn of(file: &OpenDataFile, rows: &Range<i64>, batches: BatchStream) -> Result<Self> {
        let (mut found, mut count): (Option<Self>, i64) = (None, 0);
        for batch in batches {
            let batch = batch?;
            let (sequence, deletes) = (sequence_bounds(&batch)?, deletes(&batch)?);
            count = count.saturating_add(i64::try_from(batch.num_rows()).unwrap_or(i64::MAX));
            found = Some(match found {
                None => Self { sequence, deletes },
                Some(before) => Self {
                    sequence: *before.sequence.start().min(sequence.start())
                        ..=*before.sequence.end().max(sequence.end()),
                    deletes: before.deletes + deletes,
                },
            });
        }
        let wanted = rows.end - rows.start;
        found.filter(|_| count == wanted).ok_or_else(|| {
            Error::corrupt(&file.meta().file_name, 0, format!("{wanted} rows from row {} on", rows.start), count)
        })
    }
}

/// Columns of CHAR that tell in which bucket a row is, or which row it is: a format that does not keep the spaces at the end of a
/// text would make another key of it.
fn text_keys(ctx: &TableContext) -> Vec<(usize, DataField)> {
    let (schema, bucket_keys) = (&ctx.schema, ctx.schema.bucket_keys());
    let is_key = |name: &String| schema.primary_keys.contains(name) || bucket_keys.contains(name);
    let texts = schema.fields.iter().cloned().enumerate();
    texts.filter(|(_, field)| matches!(field.data_type.kind, TypeKind::Char(_)) && is_key(&field.name)).collect()
}

impl RollingWriter {
    /// A writer that creates its first file with its first row.
    pub fn new(ctx: &TableContext, partition: &[u8], bucket: i32, spec: FileWriteSpec) -> Result<Self> {
        let options = &ctx.options;
        let (option, format) = match &options.changelog_file_format {
            Some(format) if spec.changelog => ("changelog-file.format", format.as_str()),
            _ => ("file.format", options.format_of_level(spec.options_level())),
        };
        let compression = match &options.changelog_file_compression {
            Some(compression) if spec.changelog => compression,
            _ => options.compression_of_level(spec.options_level()),
        };
        let format = data_format(format).map_err(|e| e.with("table", &ctx.name).with("option", option))?;
        let columns = FileColumns::new(ctx, &spec, format.always_describes_system_columns())
            .map_err(|e| e.with("table", &ctx.name))?;
        let encoding = format
            .encoding(WriteOptions {
                compression,
                table: options,
                memory: spec.memory,
                bounds: columns.describes_any(),
                keyed: spec.key_value && !spec.changelog,
            })
            .map_err(|e| if e.context_value("option").is_some() { e } else { e.with("option", option) })
            .map_err(|e| e.with("table", &ctx.name))?;
        let suffix = options.file_suffix_include_compression;
        Ok(Self {
            columns: Arc::new(columns),
            encoding,
            format,
            keys: text_keys(ctx),
            compression: compression.to_owned(),
            names: FileNames::new(&options.data_file_prefix, &options.changelog_file_prefix, suffix),
            directory: ctx.paths.bucket_dir(partition, bucket)?,
            target_size: options.target_file_size(!ctx.schema.primary_keys.is_empty()).max(1),
            target_rows: i64::try_from(options.target_file_row_num).unwrap_or(i64::MAX).max(1),
            next_sequence: spec.first_sequence,
            blobs: BlobFiles::new(ctx).map_err(|e| e.with("table", &ctx.name))?,
            ctx: ctx.clone(),
            spec,
            open: None,
            finished: Vec::new(),
            created: Vec::new(),
            rows: 0,
        })
    }

    /// Appends rows; key-value rows must come in key order.
    ///
    /// A batch has all table columns in their order; for key-value files `_SEQUENCE_NUMBER` and `_VALUE_KIND` behind.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let mut start = 0;
        while start < batch.num_rows() {
            cancel::check()?;
            let left = batch.num_rows() - start;
            let average = batch.get_array_memory_size().div_ceil(batch.num_rows());
            let mut count = self.rows_to_check(average).min(left);
            let mut part = batch.slice(start, count);
            // rows differ in size
            while count > 1 && batch_bytes(&part) > PART_BYTES {
                count = count.div_ceil(2);
                part = part.slice(0, count);
            }
            self.write_part(&part).map_err(|e| e.with("table", &self.ctx.name))?;
            start += count;
        }
        Ok(())
    }

    /// Rows that can be written before the size of the file has to be looked at again.
    fn rows_to_check(&self, batch_average: usize) -> usize {
        let (size, rows) = self.open.as_ref().map_or((0, 0), |f| (f.writer.size(), f.writer.rows()));
        let average = match u64::try_from(rows) {
            Ok(rows) if rows > 0 => (size / rows).max(1),
            _ => u64::try_from(batch_average).unwrap_or(1).max(1),
        };
        let by_size = usize::try_from(self.target_size.saturating_sub(size) / average).unwrap_or(usize::MAX);
        let by_rows = usize::try_from(self.target_rows.saturating_sub(rows).max(1)).unwrap_or(usize::MAX);
        by_size.max(CHECK_ROWS).min(by_rows)
    }

    fn write_part(&mut self, batch: &RecordBatch) -> Result<()> {
        let rows = i64::try_from(batch.num_rows()).unwrap_or(i64::MAX);
        for (at, field) in &self.keys {
            let values = batch.columns().get(*at);
            let storable = values.map_or(Ok(()), |values| self.format.check_values(&field.data_type, values));
            storable.map_err(|e| e.with("column", &field.name))?;
        }
        let columns = Arc::clone(&self.columns);
        let arranged = columns.arrange(batch)?;
        let (sequence, deletes) = if self.spec.key_value {
            (sequence_bounds(batch)?, deletes(batch)?)
        } else {
            (self.next_sequence..=self.next_sequence.saturating_add(rows - 1), 0)
        };
        if self.open.is_none() {
            let first_key = key(&columns, batch, 0)?;
            self.open = Some(self.create(first_key, sequence.clone())?);
        }
        let Some(file) = &mut self.open else {
            return Err(Error::new(ErrorKind::Internal, "no file is open"));
        };
        let memory = batch_bytes(&arranged).saturating_mul(ENCODING);
        limits::ask_for_part(memory, format_args!("writing {rows} rows of a data file at once"))?;
        file.writer.write(&arranged)?;
        if let Some(blobs) = &mut self.blobs {
            let (ctx, names, directory, created) = (&self.ctx, &self.names, &self.directory, &mut self.created);
            blobs.write(batch, &mut Place { ctx, names, directory, created })?;
        }
        if let Some(index) = &mut file.index {
            index.add(batch)?;
        }
        file.max_key = key(&columns, batch, batch.num_rows() - 1)?;
        file.sequence = *file.sequence.start().min(sequence.start())..=*file.sequence.end().max(sequence.end());
        file.deletes += deletes;
        self.rows += rows;
        self.next_sequence = self.next_sequence.saturating_add(rows);
        if file.writer.size() >= self.target_size || file.writer.rows() >= self.target_rows {
            self.close()?;
        }
        Ok(())
    }

    /// The rows of a data file that can be copied as they are encoded, in blocks; `None`: they are not as this writer would write
    /// them, or what its files say of their rows has to be found out from the rows.
    pub fn copyable(&self, file: &OpenDataFile) -> Result<Option<Vec<EncodedRows>>> {
        let indexed = || IndexWriter::new(&self.ctx, self.spec.memory).map(|index| index.is_some());
        let rows_count = self.target_rows != i64::MAX;
        if !self.spec.key_value || self.spec.changelog || self.blobs.is_some() || rows_count || indexed()? {
            return Ok(None);
        }
        if !has_same_fields(&self.ctx, file.meta())? {
            return Ok(None);
        }
        let whole = |column: usize| self.columns.keeps_long_bounds(column);
        self.encoding.copyable(file.reader(), &self.columns.fields, &whole)
    }

    /// Takes over rows of a data file as they are encoded: some of its blocks ([`Self::copyable`]), all of one row group, whose
    /// first and last row have these keys and all of which are added. `system`: their [`Self::system_columns`].
    pub fn copy(
        &mut self,
        file: &OpenDataFile,
        rows: &Range<i64>,
        (first_key, last_key): (&[u8], &[u8]),
        system: BatchStream,
    ) -> Result<()> {
        cancel::check()?;
        self.copy_rows(file, rows, (first_key, last_key), system).map_err(|e| e.with("table", &self.ctx.name))
    }

    fn copy_rows(
        &mut self,
        file: &OpenDataFile,
        rows: &Range<i64>,
        (first_key, last_key): (&[u8], &[u8]),
        system: BatchStream,
    ) -> Result<()> {
        let first = self.open.is_none();
        if first {
            self.open = Some(self.create(first_key.to_vec(), 0..=0)?);
        }
        let open = self.open.as_mut().ok_or_else(|| Error::new(ErrorKind::Internal, "no file is open"))?;
        open.writer.copy(file.reader(), rows)?;
        let system = SystemColumns::of(file, rows, system)?;
        let (least, greatest) = system.sequence.into_inner();
        open.sequence = if first {
            least..=greatest
        } else {
            least.min(*open.sequence.start())..=greatest.max(*open.sequence.end())
        };
        open.deletes += system.deletes;
        open.max_key = last_key.to_vec();
        self.rows += rows.end - rows.start;
        if open.writer.size() >= self.target_size {
            self.close()?;
        }
        Ok(())
    }

    /// The sequence numbers and kinds of rows that are to be copied: they are decoded, as an update is lost where the manifest names
    /// a number that is too small.
    pub fn system_columns(&self, file: &OpenDataFile, rows: &Range<i64>) -> Result<BatchStream> {
        let spec = FileReadSpec { system: true, rows: Some(vec![rows.clone()]), ..FileReadSpec::new(Vec::new()) };
        file.read(&self.ctx, &spec)
    }

    /// The serialized key of a row of a batch that is to be written.
    pub(crate) fn key_of(&self, batch: &RecordBatch, row: usize) -> Result<Vec<u8>> {
        key(&self.columns, batch, row)
    }

    fn create(&mut self, min_key: Vec<u8>, sequence: RangeInclusive<i64>) -> Result<OpenFile> {
        let name = if self.spec.changelog {
            self.names.next_changelog_file(self.format.name(), &self.compression)
        } else {
            self.names.next_data_file(self.format.name(), &self.compression)
        };
        let path = format!("{}/{name}", self.directory);
        let out = self.ctx.fs.create_unsynced(&path)?;
        self.created.push(path.clone());
        let writer = self.encoding.create(&path, out, &self.columns.fields)?;
        // changelog files have none
        let index = if self.spec.changelog { None } else { IndexWriter::new(&self.ctx, self.spec.memory)? };
        Ok(OpenFile { name, path, writer, index, min_key, max_key: Vec::new(), sequence, deletes: 0 })
    }

    fn close(&mut self) -> Result<()> {
        let Some(OpenFile { name, path, writer, index, min_key, max_key, sequence, deletes }) = self.open.take() else {
            return Ok(());
        };
        let written = writer.finish(self.ctx.options.sync)?;
        let file_size = i64::try_from(written.size)
            .map_err(|e| Error::new(ErrorKind::Internal, "a file is too large").with("file", &path).caused_by(e))?;
        let index = match index {
            Some(index) => index.finish(&name, self.ctx.options.file_index_in_manifest_threshold)?,
            None => WrittenIndex::default(),
        };
        let mut extra_files = Vec::new();
        if let Some((name, bytes)) = index.beside {
            let path = format!("{}/{name}", self.directory);
            self.created.push(path.clone());
            self.ctx.fs.write_new_unsynced(&path, &bytes, self.ctx.options.sync)?;
            extra_files.push(name);
        }
        let (key_stats, value_stats, value_stats_cols) =
            self.columns.stats(written.bounds).map_err(|e| e.with("file", &path))?;
        self.finished.push(
            DataFileFields {
                file_name: name,
                file_size,
                row_count: written.rows,
                min_key,
                max_key,
                key_stats,
                value_stats,
                min_sequence_number: *sequence.start(),
                max_sequence_number: *sequence.end(),
                schema_id: self.ctx.schema.id,
                level: self.spec.level,
                extra_files,
                creation_time: Some(env::local_millis()),
                delete_row_count: Some(deletes),
                embedded_file_index: index.embedded,
                file_source: Some(self.spec.source),
                value_stats_cols: value_stats_cols.map(Into::into),
                external_path: None,
                first_row_id: None,
                write_cols: self.columns.written(&self.spec).map(Into::into),
            }
            .into(),
        );
        if let Some(blobs) = &mut self.blobs {
            self.finished.extend(blobs.close(&self.ctx)?);
        }
        Ok(())
    }

    /// Rows written so far, over all files.
    pub fn rows(&self) -> i64 {
        self.rows
    }

    /// Memory that the encoders hold.
    pub fn memory_used(&self) -> usize {
        let index = |file: &OpenFile| file.index.as_ref().map_or(0, IndexWriter::memory_used);
        let blobs = self.blobs.as_ref().map_or(0, BlobFiles::memory_used);
        blobs + self.open.as_ref().map_or(0, |f| f.writer.memory_used() + index(f))
    }

    /// Closes the last file; the metas in the order of writing. No rows, no file.
    pub fn finish(mut self) -> Result<Vec<DataFileMeta>> {
        match self.close() {
            Ok(()) => Ok(self.finished),
            Err(e) => {
                let e = e.with("table", &self.ctx.name);
                self.abort();
                Err(e)
            }
        }
    }

    /// Deletes every file written so far; errors are logged, not returned.
    pub fn abort(mut self) {
        self.open = None;
        for path in &self.created {
            if let Err(e) = self.ctx.fs.delete(path) {
                tracing::warn!("cannot delete the unfinished data file {path}: {e}");
            }
        }
    }
}

impl std::fmt::Debug for RollingWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RollingWriter")
            .field("directory", &self.directory)
            .field("rows", &self.rows)
            .finish_non_exhaustive()
    }
}

/// Whether a file was written with the columns that the table has.
fn has_same_fields(ctx: &TableContext, file: &DataFileMeta) -> Result<bool> {
    if file.schema_id == ctx.schema.id {
        return Ok(true);
    }
    let old = ctx.schemas.get(file.schema_id)?;
    let same = |(a, b): (&DataField, &DataField)| (a.id, &a.name, &a.data_type) == (b.id, &b.name, &b.data_type);
    Ok(old.fields.len() == ctx.schema.fields.len() && old.fields.iter().zip(&ctx.schema.fields).all(same))
}

/// The serialized key of a row; of no columns in append tables.
fn key(columns: &FileColumns, batch: &RecordBatch, row: usize) -> Result<Vec<u8>> {
    let values = columns.key_sources.iter().zip(&columns.key_types).map(|(column, t)| {
        let array = batch.columns().get(*column).ok_or_else(|| Error::new(ErrorKind::Internal, "no key column"))?;
        datum_from_array(array.as_ref(), row, t)
    });
    let values = values.collect::<Result<Vec<_>>>()?;
    Ok(BinaryRow::from_datums(&columns.key_types, &values)?.to_serialized())
}

fn sequence_bounds(batch: &RecordBatch) -> Result<RangeInclusive<i64>> {
    let column = batch.columns().iter().rev().nth(1).and_then(|c| c.as_primitive_opt::<Int64Type>());
    let bounds = column.and_then(|c| Some(arrow_arith::aggregate::min(c)?..=arrow_arith::aggregate::max(c)?));
    bounds.ok_or_else(|| Error::new(ErrorKind::Internal, "a key-value batch without sequence numbers"))
}

fn deletes(batch: &RecordBatch) -> Result<i64> {
    let kinds = batch.columns().last().and_then(|c| c.as_primitive_opt::<Int8Type>());
    let kinds = kinds.ok_or_else(|| Error::new(ErrorKind::Internal, "a key-value batch without row kinds"))?;
    let retract = [RowKind::UpdateBefore.to_byte(), RowKind::Delete.to_byte()];
    let count = kinds.values().iter().filter(|k| retract.contains(k)).count();
    Ok(i64::try_from(count).unwrap_or(i64::MAX))
}

/// No sequence number is left for the next row, because a file says that it has the last one.
pub(crate) fn numbers_used_up(table: &str) -> Error {
    let message = "a file of the bucket says that the last sequence number is used, there is none for another row";
    Error::new(ErrorKind::CorruptFile, message)
        .with("table", table)
        .hint("see _MAX_SEQUENCE_NUMBER in $files: overwrite the partition with the rows that are read from it")
}
