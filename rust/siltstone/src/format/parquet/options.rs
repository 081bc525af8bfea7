//! How a file is encoded: Paimon's options and those that parquet-mr takes under the same names.

use std::collections::BTreeMap;

use parquet::{
    basic::{BrotliLevel, Compression, Encoding, GzipLevel, Type as Physical, ZstdLevel},
    file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder, WriterVersion},
    schema::types::{ColumnPath, SchemaDescriptor},
};

use crate::error::{Error, ErrorKind, Result};

const MIB: u64 = 1024 * 1024;
/// Row groups are not made smaller than this to save memory: many small ones are slow to read.
pub(super) const LEAST_BLOCK_SIZE: u64 = 4 * MIB;
/// A row group is held in memory until it is written, and readers share a file among threads by row groups: a quarter of parquet-mr's.
const DEFAULT_BLOCK_SIZE: u64 = 32 * MIB;
/// parquet-mr's page size, of data and dictionary pages.
const DEFAULT_PAGE_SIZE: u64 = MIB;
/// parquet-mr's largest number of rows in a page.
const DEFAULT_PAGE_ROWS: u64 = 20_000;
/// The same where rows are looked for by their keys: each one takes a page of every column.
const KEYED_PAGE_ROWS: u64 = 6_000;

/// Encoding options of one file.
#[derive(Clone, Debug)]
pub struct ParquetWriteOptions {
    pub(crate) compression: Compression,
    pub(crate) block_size: u64,
    pub(crate) page_size: usize,
    pub(crate) page_rows: usize,
    pub(crate) dictionary_page_size: usize,
    /// Dictionaries are allowed at all.
    pub(crate) dictionary: bool,
    /// Columns whose dictionary the user decided (`parquet.enable.dictionary#column`).
    pub(crate) dictionary_columns: BTreeMap<String, bool>,
    pub(crate) version: WriterVersion,
    pub(crate) bloom_filter: bool,
    /// Threads that one file may use.
    pub(crate) threads: usize,
    /// Bytes that encoders and what they have encoded may hold, when there is a limit.
    pub(crate) memory: usize,
}

impl ParquetWriteOptions {
    /// From `file.compression` and its level, `file.block-size`, and the table's `parquet.*` options, whose keys may
    /// come with or without the prefix; `keyed`: single rows are looked for by a key.
    pub fn new(
        compression: &str,
        zstd_level: i32,
        block_size: Option<u64>,
        properties: &BTreeMap<String, String>,
        keyed: bool,
    ) -> Result<Self> {
        let properties = Properties(properties);
        let page_rows = if keyed { KEYED_PAGE_ROWS } else { DEFAULT_PAGE_ROWS };
        let name = properties.get("compression").unwrap_or(compression);
        let zstd_level = properties.number("compression.codec.zstd.level")?.unwrap_or(i64::from(zstd_level));
        let mut options = Self {
            compression: codec(name, zstd_level)?,
            block_size: properties.size("block.size")?.or(block_size).unwrap_or(DEFAULT_BLOCK_SIZE).max(1),
            page_size: to_usize(properties.size("page.size")?.unwrap_or(DEFAULT_PAGE_SIZE)),
            page_rows: to_usize(properties.size("page.row.count.limit")?.unwrap_or(page_rows)),
            dictionary_page_size: to_usize(properties.size("dictionary.page.size")?.unwrap_or(DEFAULT_PAGE_SIZE)),
            dictionary: properties.flag("enable.dictionary")?.unwrap_or(true),
            dictionary_columns: BTreeMap::new(),
            version: version(properties.get("writer.version").unwrap_or("PARQUET_1_0"))?,
            bloom_filter: properties.flag("bloom.filter.enabled")?.unwrap_or(false),
            threads: 1,
            memory: usize::MAX,
        };
        for (key, value) in properties.0 {
            if let Some(column) = Properties::bare(key).strip_prefix("enable.dictionary#") {
                options.dictionary_columns.insert(column.to_owned(), flag(key, value)?);
            }
        }
        Ok(options)
    }

    /// With row groups that take at most so many bytes of memory until they are written.
    #[must_use]
    pub fn within(self, memory: Option<usize>) -> Self {
        let most = memory.map_or(u64::MAX, |memory| u64::try_from(memory).unwrap_or(u64::MAX).max(LEAST_BLOCK_SIZE));
        Self { block_size: self.block_size.min(most), memory: memory.unwrap_or(usize::MAX), ..self }
    }

    /// Encodes a file's columns on up to this many threads.
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads.max(1);
        self
    }

    /// What the encoder takes; `dictionaries` says for each leaf whether it gets one.
    pub(crate) fn properties(
        &self,
        schema: &SchemaDescriptor,
        dictionaries: &[(ColumnPath, bool)],
    ) -> WriterProperties {
        let mut builder = self.builder().set_dictionary_enabled(false);
        let integers =
            schema.columns().iter().filter(|c| matches!(c.physical_type(), Physical::INT32 | Physical::INT64));
        for leaf in integers.filter(|_| self.differences()) {
            builder = builder.set_column_encoding(leaf.path().clone(), Encoding::DELTA_BINARY_PACKED);
        }
        for (path, enabled) in dictionaries {
            if *enabled {
                builder = builder.set_column_dictionary_enabled(path.clone(), true);
            }
        }
        builder.build()
    }

    /// Integers that have no dictionary are written as differences (`DELTA_BINARY_PACKED`), as parquet-mr's second
    /// version does: Java reads them since 1.1.
    pub(super) fn differences(&self) -> bool {
        self.version == WriterVersion::PARQUET_2_0
    }

    fn builder(&self) -> WriterPropertiesBuilder {
        WriterProperties::builder()
            .set_created_by(format!("siltstone version {}", env!("CARGO_PKG_VERSION")))
            .set_writer_version(self.version)
            // the fallback of a dictionary too; DELTA encodings are not read by Java 0.9 and 1.0
            .set_encoding(Encoding::PLAIN)
            .set_compression(self.compression)
            .set_max_row_group_row_count(None)
            .set_data_page_size_limit(self.page_size)
            .set_data_page_row_count_limit(self.page_rows)
            .set_dictionary_page_size_limit(self.dictionary_page_size)
            .set_statistics_enabled(EnabledStatistics::Page)
            // manifests take their bounds from the footer's: cut there, by the table's own rule
            .set_statistics_truncate_length(None)
            .set_bloom_filter_enabled(self.bloom_filter)
    }
}

/// The user's `parquet.*` options.
struct Properties<'a>(&'a BTreeMap<String, String>);

impl Properties<'_> {
    fn bare(key: &str) -> &str {
        key.strip_prefix("parquet.").unwrap_or(key)
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(k, _)| Self::bare(k) == name).map(|(_, v)| v.trim())
    }

    fn number(&self, name: &str) -> Result<Option<i64>> {
        self.get(name).map(|v| v.parse().map_err(|_| wrong(name, v, "a number"))).transpose()
    }

    fn size(&self, name: &str) -> Result<Option<u64>> {
        self.get(name)
            .map(|v| match v.parse() {
                Ok(0) | Err(_) => Err(wrong(name, v, "a positive number of bytes")),
                Ok(size) => Ok(size),
            })
            .transpose()
    }

    fn flag(&self, name: &str) -> Result<Option<bool>> {
        self.get(name).map(|v| flag(name, v)).transpose()
    }
}

fn flag(name: &str, value: &str) -> Result<bool> {
    match value.trim().to_ascii_lowercase().as_str() {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(wrong(name, value, "true or false")),
    }
}

fn wrong(name: &str, value: &str, expected: &str) -> Error {
    let name = Properties::bare(name);
    Error::new(ErrorKind::InvalidOption, format!("'{value}' is not {expected}"))
        .with("option", format!("parquet.{name}"))
}

fn to_usize(size: u64) -> usize {
    usize::try_from(size).unwrap_or(usize::MAX)
}

fn version(name: &str) -> Result<WriterVersion> {
    match name.to_ascii_lowercase().as_str() {
        "parquet_1_0" | "v1" => Ok(WriterVersion::PARQUET_1_0),
        "parquet_2_0" | "v2" => Ok(WriterVersion::PARQUET_2_0),
        _ => Err(wrong("writer.version", name, "PARQUET_1_0 or PARQUET_2_0")),
    }
}

/// As zstd itself takes levels: 0 is its default of 3, what lies outside of its range the nearest (the levels below 1 are
/// not to be had here).
fn zstd(level: i64) -> Result<ZstdLevel> {
    let level = if level == 0 { 3 } else { level.clamp(1, 22) };
    let made = i32::try_from(level).ok().and_then(|level| ZstdLevel::try_new(level).ok());
    made.ok_or_else(|| Error::new(ErrorKind::Internal, format!("zstd does not know the level {level}")))
}

fn codec(name: &str, zstd_level: i64) -> Result<Compression> {
    Ok(match name.to_ascii_lowercase().as_str() {
        "none" | "uncompressed" => Compression::UNCOMPRESSED,
        "snappy" => Compression::SNAPPY,
        "gzip" => Compression::GZIP(GzipLevel::default()),
        "lz4" => Compression::LZ4,
        "lz4_raw" => Compression::LZ4_RAW,
        "brotli" => Compression::BROTLI(BrotliLevel::default()),
        "zstd" => Compression::ZSTD(zstd(zstd_level)?),
        _ => {
            return Err(Error::new(
                ErrorKind::InvalidOption,
                format!(
                    "'{name}' is not a compression of Parquet files: none, snappy, gzip, lz4, lz4_raw, zstd, brotli"
                ),
            )
            .with("option", "file.compression"));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(pairs: &[(&str, &str)]) -> Result<ParquetWriteOptions> {
        let map = pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        ParquetWriteOptions::new("zstd", 1, None, &map, false)
    }

    #[test]
    fn defaults_are_those_of_parquet_mr_but_for_row_groups() {
        let options = parse(&[]).unwrap();
        assert_eq!(options.block_size, 32 * MIB);
        assert_eq!((options.page_size, options.page_rows), (1_048_576, 20_000));
        assert_eq!(options.version, WriterVersion::PARQUET_1_0);
        assert!(options.dictionary);
        assert!(matches!(options.compression, Compression::ZSTD(level) if level.compression_level() == 1));
    }

    #[test]
    fn options_are_taken_with_and_without_the_prefix() {
        let options = parse(&[
            ("parquet.block.size", "1048576"),
            ("page.size", "4096"),
            ("parquet.enable.dictionary#a.b", "false"),
            ("parquet.writer.version", "PARQUET_2_0"),
            ("parquet.compression", "SNAPPY"),
        ])
        .unwrap();
        assert_eq!((options.block_size, options.page_size), (MIB, 4096));
        assert_eq!(options.dictionary_columns.get("a.b"), Some(&false));
        assert_eq!(options.version, WriterVersion::PARQUET_2_0);
        assert_eq!(options.compression, Compression::SNAPPY);
    }

    #[test]
    fn every_compression_of_the_format_has_a_codec() {
        for name in ["none", "uncompressed", "snappy", "gzip", "lz4", "lz4_raw", "zstd", "brotli", "ZSTD"] {
            assert!(codec(name, 3).is_ok(), "{name}");
        }
        assert_eq!(codec("lzo", 1).unwrap_err().kind(), ErrorKind::InvalidOption);
        for (given, taken) in [(99, 22), (22, 22), (1, 1), (0, 3), (-7, 1)] {
            assert_eq!(codec("zstd", given).unwrap(), Compression::ZSTD(ZstdLevel::try_new(taken).unwrap()), "{given}");
        }
    }

    #[test]
    fn a_wrong_value_names_its_option() {
        let e = parse(&[("parquet.page.size", "1 mb")]).unwrap_err();
        assert_eq!(e.context_value("option"), Some("parquet.page.size"));
    }
}
