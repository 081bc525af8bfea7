//! One Parquet file being written.

use std::{
    collections::HashSet,
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use arrow_array::{
    Array, ArrayRef, RecordBatch,
    cast::AsArray,
    types::{Float32Type, Float64Type},
};
use arrow_schema::DataType as Arrow;
use parquet::{
    arrow::arrow_writer::{ArrowColumnChunk, ArrowRowGroupWriterFactory},
    basic::Type as Physical,
    errors::ParquetError,
    file::{
        metadata::ColumnChunkMetaData, properties::WriterPropertiesPtr, statistics::Statistics,
        writer::SerializedFileWriter,
    },
    schema::types::{ColumnDescPtr, SchemaDescriptor},
};

use super::{
    bounds,
    copied::Copied,
    dictionary::dictionaries,
    encodable::Encodable,
    encoder::{ColumnEncoder, Encoder},
    error::{encoder_panicked, writing},
    options::{LEAST_BLOCK_SIZE, ParquetWriteOptions},
    reader::ParquetFile,
    schema::{Int96As, schema_with},
    sink::Sink,
};
use crate::{
    error::{Error, ErrorKind, Result},
    format::WrittenFile,
    fs::OutputFile,
    limits,
    predicate::ColumnBounds,
    row::Datum,
    types::{DataField, TypeKind},
};

/// What encoding a column takes, without its pages and its dictionary.
const ENCODER_BYTES: usize = 48 * 1024;

/// Bytes of a column's least and greatest value that are too long for the footer.
const LONG_BOUNDS: usize = 4096;

/// Writes batches into one file.
pub struct ParquetFileWriter {
    path: String,
    fields: Vec<DataField>,
    options: ParquetWriteOptions,
    encodable: Encodable,
    /// The schema that columns are encoded with: INT96 as fixed bytes.
    encoding_schema: SchemaDescriptor,
    /// The file's own leaves.
    leaves: Vec<ColumnDescPtr>,
    /// Position of each column's first leaf.
    first_leaf: Vec<usize>,
    file: SerializedFileWriter<Sink>,
    out: Sink,
    encoder: Option<Encoder>,
    group_rows: usize,
    /// Least and greatest value of each FLOAT and DOUBLE column in this row group: the encoder leaves NaN out.
    floats: Vec<Option<FloatRange>>,
    rows: i64,
    bounds: Vec<Option<ColumnBounds>>,
}

impl ParquetFileWriter {
    /// A writer for these columns; `path` is for messages.
    pub fn new(
        path: &str,
        out: Box<dyn OutputFile>,
        fields: &[DataField],
        options: &ParquetWriteOptions,
    ) -> Result<Self> {
        let schema = schema_with(fields, Int96As::Int96)?;
        let encoding_schema = schema_with(fields, Int96As::Fixed)?;
        let properties = Arc::new(options.properties(&schema, &[]));
        let out = Sink::new(out);
        let file = SerializedFileWriter::new(out.clone(), schema.root_schema_ptr(), properties)
            .map_err(|e| writing(path, e))?;
        let roots: Vec<usize> = (0..schema.num_columns()).map(|i| schema.get_column_root_idx(i)).collect();
        let mut first_leaf = vec![0; fields.len()];
        for (leaf, root) in roots.iter().enumerate().rev() {
            first_leaf.get_mut(*root).into_iter().for_each(|first| *first = leaf);
        }
        Ok(Self {
            path: path.to_owned(),
            fields: fields.to_vec(),
            options: options.clone(),
            encodable: Encodable::new(fields)?,
            encoding_schema,
            leaves: schema.columns().to_vec(),
            first_leaf,
            file,
            out,
            encoder: None,
            group_rows: 0,
            floats: vec![None; fields.len()],
            rows: 0,
            bounds: vec![None; fields.len()],
        })
    }

    /// Takes rows in.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        let columns = self.encodable.columns(batch).map_err(|e| e.with("file", &self.path))?;
        for (range, column) in self.floats.iter_mut().zip(&columns) {
            *range = FloatRange::both(range.take(), float_range(column));
        }
        if self.group_rows == 0 {
            self.begin_row_group(&columns)?;
        }
        self.group_rows += batch.num_rows();
        if let Some(encoder) = &mut self.encoder {
            encoder.write(columns);
            let encoded = u64::try_from(encoder.encoded_bytes()).unwrap_or(u64::MAX);
            let too_much = encoder.memory() >= self.options.memory && encoded >= LEAST_BLOCK_SIZE;
            if encoded >= self.options.block_size || too_much {
                self.end_row_group()?;
            }
        }
        Ok(())
    }

    /// Takes over rows of another file as they are encoded, as a row group.
    pub fn copy(&mut self, file: &ParquetFile, rows: &Range<i64>) -> Result<()> {
        self.end_row_group()?;
        let copied = Copied::new(file, rows)?;
        let mut group = self.file.next_row_group().map_err(|e| writing(&self.path, e))?;
        let mut bounds = vec![None; self.fields.len()];
        for (c, field) in self.fields.iter().enumerate() {
            let first = self.first_leaf.get(c).copied().unwrap_or(self.leaves.len());
            let next = self.first_leaf.get(c + 1).copied().unwrap_or(self.leaves.len());
            for (leaf, described) in self.leaves.iter().enumerate().take(next).skip(first) {
                let (close, bytes) = copied.chunk(leaf, described, &field.data_type)?;
                if let (Some(slot), Some(known)) = (bounds.get_mut(c), close.metadata.statistics()) {
                    *slot = Some(bounds::from_statistics(known, &field.data_type));
                }
                group.append_column(&bytes, close).map_err(|e| writing(&self.path, e))?;
            }
        }
        group.close().map_err(|e| writing(&self.path, e))?;
        let count = rows.end - rows.start;
        for (slot, new) in self.bounds.iter_mut().zip(bounds) {
            let Some(new) = new else { continue };
            *slot = Some(match slot.take() {
                Some(old) => bounds::merge((old, self.rows), (new, count)),
                None => new,
            });
        }
        self.rows += count;
        Ok(())
    }

    /// Bytes on disk and expected from what is buffered.
    pub fn size(&self) -> u64 {
        let buffered = self.encoder.as_ref().map_or(0, Encoder::encoded_bytes);
        u64::try_from(self.file.bytes_written() + buffered).unwrap_or(u64::MAX)
    }

    /// Rows taken in.
    pub fn rows(&self) -> i64 {
        self.rows + i64::try_from(self.group_rows).unwrap_or(0)
    }

    /// Memory held by buffered pages and encoders.
    pub fn memory_used(&self) -> usize {
        self.encoder.as_ref().map_or(0, Encoder::memory)
    }

    /// Writes the footer and closes the file; durable when `sync`.
    pub fn finish(mut self, sync: bool) -> Result<WrittenFile> {
        self.end_row_group()?;
        let Self { path, file, out, rows, bounds, .. } = self;
        file.close().map_err(|e| writing(&path, e))?;
        let out = out.into_file().ok_or_else(|| {
            Error::new(ErrorKind::Internal, "somebody else still writes the data file").with("file", &path)
        })?;
        let size = out.close(sync)?;
        Ok(WrittenFile { size, rows, bounds })
    }

    fn begin_row_group(&mut self, columns: &[ArrayRef]) -> Result<()> {
        let encoders = self.leaves.len().saturating_mul(ENCODER_BYTES);
        limits::ask(encoders, format_args!("writing {} columns at once", self.leaves.len()))
            .map_err(|e| e.with("file", &self.path))?;
        let chosen = dictionaries(&self.encoding_schema, columns, &self.options);
        let properties: WriterPropertiesPtr = Arc::new(self.options.properties(&self.encoding_schema, &chosen));
        let mut writers = self.column_writers(properties).map_err(|e| writing(&self.path, e))?.into_iter();
        let mut encoders = Vec::with_capacity(self.fields.len());
        for (c, field) in self.encodable.schema().fields().iter().enumerate() {
            let next = self.first_leaf.get(c + 1).copied().unwrap_or(self.leaves.len());
            let count = next.saturating_sub(self.first_leaf.get(c).copied().unwrap_or(0));
            let writers = writers.by_ref().take(count).collect();
            encoders.push(ColumnEncoder::new(Arc::clone(field), writers, self.options.page_rows));
        }
        let weights: Vec<usize> = columns.iter().map(|c| c.get_buffer_memory_size().max(1)).collect();
        let (path, threads) = (&self.path, self.options.threads);
        self.encoder.get_or_insert_with(|| Encoder::new(path, &weights, threads)).begin(encoders);
        Ok(())
    }

    fn column_writers(
        &self,
        properties: WriterPropertiesPtr,
    ) -> std::result::Result<Vec<parquet::arrow::arrow_writer::ArrowColumnWriter>, ParquetError> {
        // only lends its schema and properties to the factory; what it "writes" is dropped
        let model = SerializedFileWriter::new(Vec::new(), self.encoding_schema.root_schema_ptr(), properties)?;
        let factory = ArrowRowGroupWriterFactory::new(&model, Arc::clone(self.encodable.schema()));
        // every column gets a zstd context of its own, and the crate panics where there is no memory for one
        let made = || factory.create_column_writers(self.file.flushed_row_groups().len());
        catch_unwind(AssertUnwindSafe(made))
            .unwrap_or_else(|panic| Err(ParquetError::External(Box::new(encoder_panicked(&self.path, panic.as_ref())))))
    }

    fn end_row_group(&mut self) -> Result<()> {
        let Some(encoder) = self.encoder.as_mut().filter(|_| self.group_rows > 0) else {
            return Ok(());
        };
        let mut chunks = encoder.finish()?;
        self.adjust(&mut chunks).map_err(|e| writing(&self.path, e))?;
        self.add_bounds(&chunks);
        self.leave_out_long_bounds(&mut chunks).map_err(|e| writing(&self.path, e))?;
        self.append(chunks).map_err(|e| writing(&self.path, e))?;
        self.rows += i64::try_from(self.group_rows).unwrap_or(0);
        self.group_rows = 0;
        self.floats.fill(None);
        Ok(())
    }

    /// INT96 columns get their true type, and columns with NaN lose bounds that leave the NaN out.
    fn adjust(&self, chunks: &mut [ArrowColumnChunk]) -> std::result::Result<(), ParquetError> {
        let ranges = self.first_leaf.iter().zip(&self.floats);
        let with_nan: HashSet<usize> =
            ranges.filter(|(_, r)| r.is_some_and(|r| r.max.is_nan())).map(|(first, _)| *first).collect();
        for (leaf, (chunk, descriptor)) in chunks.iter_mut().zip(&self.leaves).enumerate() {
            let has_nan = with_nan.contains(&leaf);
            let int96 = descriptor.physical_type() == Physical::INT96;
            if !has_nan && !int96 {
                continue;
            }
            let close = chunk.close_mut();
            let nulls = close.metadata.statistics().and_then(Statistics::null_count_opt);
            let statistics = match descriptor.physical_type() {
                Physical::INT96 => Some(Statistics::int96(None, None, None, nulls, false)),
                Physical::FLOAT => Some(Statistics::float(None, None, None, nulls, false)),
                Physical::DOUBLE => Some(Statistics::double(None, None, None, nulls, false)),
                _ => None,
            };
            close.metadata = with_type(&close.metadata, descriptor, statistics)?;
            close.column_index = None;
        }
        Ok(())
    }

    /// Long bounds are not in the footer, which every reader holds whole (parquet-mr has the same rule).
    fn leave_out_long_bounds(&self, chunks: &mut [ArrowColumnChunk]) -> std::result::Result<(), ParquetError> {
        for (chunk, descriptor) in chunks.iter_mut().zip(&self.leaves) {
            let Some(statistics) = chunk.close().metadata.statistics() else { continue };
            let length = |bytes: Option<&[u8]>| bytes.map_or(0, <[u8]>::len);
            if length(statistics.min_bytes_opt()).saturating_add(length(statistics.max_bytes_opt())) < LONG_BOUNDS {
                continue;
            }
            let nulls = statistics.null_count_opt();
            let without = match descriptor.physical_type() {
                Physical::BYTE_ARRAY => Statistics::byte_array(None, None, None, nulls, false),
                Physical::FIXED_LEN_BYTE_ARRAY => Statistics::fixed_len_byte_array(None, None, None, nulls, false),
                _ => continue,
            };
            let close = chunk.close_mut();
            close.metadata = with_type(&close.metadata, descriptor, Some(without))?;
        }
        Ok(())
    }

    fn add_bounds(&mut self, chunks: &[ArrowColumnChunk]) {
        let group_rows = i64::try_from(self.group_rows).unwrap_or(0);
        for (c, field) in self.fields.iter().enumerate() {
            let Some(first) = self.first_leaf.get(c).filter(|_| !field.data_type.is_nested()) else {
                continue;
            };
            let statistics = chunks.get(*first).and_then(|chunk| chunk.close().metadata.statistics());
            let (Some(statistics), Some(slot)) = (statistics, self.bounds.get_mut(c)) else {
                continue;
            };
            let mut new = bounds::from_statistics(statistics, &field.data_type);
            if let Some(Some(range)) = self.floats.get(c) {
                (new.min, new.max) = range.datums(&field.data_type.kind);
            }
            *slot = Some(match slot.take() {
                Some(old) => bounds::merge((old, self.rows), (new, group_rows)),
                None => new,
            });
        }
    }

    fn append(&mut self, chunks: Vec<ArrowColumnChunk>) -> std::result::Result<(), ParquetError> {
        let mut group = self.file.next_row_group()?;
        for chunk in chunks {
            chunk.append_to_row_group(&mut group)?;
        }
        group.close()?;
        Ok(())
    }
}

fn with_type(
    metadata: &ColumnChunkMetaData,
    descriptor: &ColumnDescPtr,
    statistics: Option<Statistics>,
) -> std::result::Result<ColumnChunkMetaData, ParquetError> {
    let mut builder = ColumnChunkMetaData::builder(Arc::clone(descriptor))
        .set_compression_codec(metadata.compression_codec())
        .set_encodings_mask(*metadata.encodings_mask())
        .set_total_compressed_size(metadata.compressed_size())
        .set_total_uncompressed_size(metadata.uncompressed_size())
        .set_num_values(metadata.num_values())
        .set_data_page_offset(metadata.data_page_offset())
        .set_dictionary_page_offset(metadata.dictionary_page_offset())
        .set_repetition_level_histogram(metadata.repetition_level_histogram().cloned())
        .set_definition_level_histogram(metadata.definition_level_histogram().cloned())
        // readers make their batches by it
        .set_unencoded_byte_array_data_bytes(metadata.unencoded_byte_array_data_bytes());
    if let Some(statistics) = statistics {
        builder = builder.set_statistics(statistics);
    }
    if let Some(encodings) = metadata.page_encoding_stats() {
        builder = builder.set_page_encoding_stats(encodings.clone());
    }
    builder.build()
}

/// Bounds in Java's order: -0.0 below 0.0, NaN above everything.
#[derive(Clone, Copy, Debug)]
struct FloatRange {
    min: f64,
    max: f64,
}

impl FloatRange {
    fn both(a: Option<Self>, b: Option<Self>) -> Option<Self> {
        match (a, b) {
            (Some(a), Some(b)) => Some(Self { min: least(a.min, b.min), max: greatest(a.max, b.max) }),
            (a, b) => a.or(b),
        }
    }

    #[allow(clippy::cast_possible_truncation, reason = "a FLOAT that was widened")]
    fn datums(self, kind: &TypeKind) -> (Datum, Datum) {
        match kind {
            TypeKind::Float => (Datum::Float(self.min as f32), Datum::Float(self.max as f32)),
            _ => (Datum::Double(self.min), Datum::Double(self.max)),
        }
    }
}

fn least(a: f64, b: f64) -> f64 {
    if b.is_nan() || a.total_cmp(&b).is_lt() { a } else { b }
}

fn greatest(a: f64, b: f64) -> f64 {
    if b.is_nan() || (!a.is_nan() && a.total_cmp(&b).is_lt()) { b } else { a }
}

fn float_range(column: &ArrayRef) -> Option<FloatRange> {
    match column.data_type() {
        Arrow::Float32 => range_of(column.as_primitive::<Float32Type>().iter().flatten().map(f64::from)),
        Arrow::Float64 => range_of(column.as_primitive::<Float64Type>().iter().flatten()),
        _ => None,
    }
}

fn range_of(mut values: impl Iterator<Item = f64>) -> Option<FloatRange> {
    let first = values.next()?;
    let start = FloatRange { min: first, max: first };
    Some(values.fold(start, |r, v| FloatRange { min: least(v, r.min), max: greatest(v, r.max) }))
}

impl std::fmt::Debug for ParquetFileWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ParquetFileWriter")
            .field("path", &self.path)
            .field("rows", &self.rows())
            .finish_non_exhaustive()
    }
}
