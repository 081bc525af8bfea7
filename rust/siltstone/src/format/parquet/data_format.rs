//! Parquet as a format of data files.

use std::{collections::BTreeMap, ops::Range, sync::Arc};

use arrow_array::RecordBatch;

use super::{ParquetFile, ParquetFileWriter, ParquetWriteOptions, copyable::blocks, parquet_schema};
use crate::{
    error::{Error, ErrorKind, Result},
    format::{DataFileReader, DataFileWriter, DataFormat, EncodedRows, Encoding, Footers, WriteOptions, WrittenFile},
    fs::{InputFile, OutputFile},
    options::CoreOptions,
    types::DataField,
};

/// Threads that encode one file.
const THREADS: usize = 2;
/// Stands in a table for `file.compression`.
const COMPRESSION: &str = "parquet.compression";

/// The format.
#[derive(Debug)]
pub(in crate::format) struct Parquet;

impl DataFormat for Parquet {
    fn name(&self) -> &'static str {
        "parquet"
    }

    fn magic(&self) -> &'static [u8] {
        b"PAR1"
    }

    fn open(
        &self,
        input: Arc<dyn InputFile>,
        size: u64,
        _: &BTreeMap<String, String>,
    ) -> Result<Arc<dyn DataFileReader>> {
        Ok(Arc::new(ParquetFile::open(input, Some(size))?))
    }

    fn open_known(
        &self,
        input: Arc<dyn InputFile>,
        size: u64,
        _: &BTreeMap<String, String>,
        footers: &Arc<Footers>,
    ) -> Result<Arc<dyn DataFileReader>> {
        Ok(Arc::new(ParquetFile::open_known(input, size, footers)?))
    }

    fn encoding(&self, options: WriteOptions<'_>) -> Result<Arc<dyn Encoding>> {
        let WriteOptions { compression, table, memory, keyed, .. } = options;
        let (level, block_size) = (table.zstd_level, table.file_block_size);
        let options = ParquetWriteOptions::new(compression, level, block_size, &table.parquet, keyed)?;
        Ok(Arc::new(options.with_threads(THREADS).within(memory)))
    }

    fn compressions(&self) -> &'static [&'static str] {
        &["none", "uncompressed", "zstd", "snappy", "gzip", "lz4", "lz4_raw", "brotli"]
    }

    fn check_columns(&self, fields: &[DataField]) -> Result<()> {
        parquet_schema(fields).map(drop)
    }

    fn check_options(&self, options: &CoreOptions) -> Vec<Result<()>> {
        // one by one: each option is a rule of its own
        let each = options.parquet.iter().map(|(key, value)| match key.as_str() {
            COMPRESSION if self.has_compression(value.trim()) => Ok(()),
            COMPRESSION => {
                Err(Error::new(ErrorKind::InvalidOption, format!("'{}' is not a compression", value.trim()))
                    .with("option", COMPRESSION)
                    .hint(format!("use one of: {}", self.compressions().join(", "))))
            }
            _ => {
                let alone = BTreeMap::from([(key.clone(), value.clone())]);
                ParquetWriteOptions::new("none", options.zstd_level, options.file_block_size, &alone, false).map(drop)
            }
        });
        each.collect()
    }
}

impl Encoding for ParquetWriteOptions {
    fn create(&self, path: &str, out: Box<dyn OutputFile>, fields: &[DataField]) -> Result<Box<dyn DataFileWriter>> {
        Ok(Box::new(ParquetFileWriter::new(path, out, fields, self)?))
    }

    fn copyable(
        &self,
        file: &dyn DataFileReader,
        fields: &[DataField],
        whole: &dyn Fn(usize) -> bool,
    ) -> Result<Option<Vec<EncodedRows>>> {
        file.as_any().downcast_ref::<ParquetFile>().map_or(Ok(None), |file| blocks(self, file, fields, whole))
    }
}

impl DataFileWriter for ParquetFileWriter {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        Self::write(self, batch)
    }

    fn copy(&mut self, file: &dyn DataFileReader, rows: &Range<i64>) -> Result<()> {
        let other = || Error::new(ErrorKind::Internal, "rows of a file that is not Parquet are to be copied into one");
        Self::copy(self, file.as_any().downcast_ref().ok_or_else(other)?, rows)
    }

    fn size(&self) -> u64 {
        Self::size(self)
    }

    fn rows(&self) -> i64 {
        Self::rows(self)
    }

    fn memory_used(&self) -> usize {
        Self::memory_used(self)
    }

    fn finish(self: Box<Self>, sync: bool) -> Result<WrittenFile> {
        Self::finish(*self, sync)
    }
}
