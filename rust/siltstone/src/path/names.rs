//! Names of new files (format chapter 1.2).

use std::sync::atomic::{AtomicU64, Ordering};

use crate::env::new_uuid;

/// Names for the data and changelog files of one bucket writer: one UUID, one counter. Threads may share it.
#[derive(Debug)]
pub struct FileNames {
    uuid: String,
    counter: AtomicU64,
    data_prefix: String,
    changelog_prefix: String,
    suffix_with_compression: bool,
}

impl FileNames {
    /// With the values of `data-file.prefix`, `changelog-file.prefix` and `file.suffix.include.compression`.
    pub fn new(data_prefix: &str, changelog_prefix: &str, suffix_with_compression: bool) -> Self {
        Self {
            uuid: new_uuid(),
            counter: AtomicU64::new(0),
            data_prefix: data_prefix.to_owned(),
            changelog_prefix: changelog_prefix.to_owned(),
            suffix_with_compression,
        }
    }

    /// A new data file of this format (`parquet`) and compression (`zstd`).
    pub fn next_data_file(&self, format: &str, compression: &str) -> String {
        self.next(&self.data_prefix, format, compression)
    }

    /// A new changelog file.
    pub fn next_changelog_file(&self, format: &str, compression: &str) -> String {
        self.next(&self.changelog_prefix, format, compression)
    }

    fn next(&self, prefix: &str, format: &str, compression: &str) -> String {
        let k = self.counter.fetch_add(1, Ordering::Relaxed);
        let extension = file_extension(format, compression, self.suffix_with_compression);
        format!("{prefix}{}-{k}.{extension}", self.uuid)
    }
}

/// Names for metadata files of one commit: one UUID, a counter for each kind.
#[derive(Debug)]
pub struct MetaNames {
    uuid: String,
    counters: [AtomicU64; 5],
}

impl Default for MetaNames {
    fn default() -> Self {
        Self::new()
    }
}

impl MetaNames {
    /// With a new UUID.
    pub fn new() -> Self {
        Self { uuid: new_uuid(), counters: Default::default() }
    }

    /// `manifest-<uuid>-<k>`
    pub fn manifest(&self) -> String {
        let [counter, ..] = &self.counters;
        self.next("manifest", counter)
    }

    /// `manifest-list-<uuid>-<k>`
    pub fn manifest_list(&self) -> String {
        let [_, counter, ..] = &self.counters;
        self.next("manifest-list", counter)
    }

    /// `index-manifest-<uuid>-<k>`
    pub fn index_manifest(&self) -> String {
        let [_, _, counter, ..] = &self.counters;
        self.next("index-manifest", counter)
    }

    /// `index-<uuid>-<k>`
    pub fn index_file(&self) -> String {
        let [.., counter, _] = &self.counters;
        self.next("index", counter)
    }

    /// `stat-<uuid>-<k>`
    pub fn statistics(&self) -> String {
        let [.., counter] = &self.counters;
        self.next("stat", counter)
    }

    fn next(&self, kind: &str, counter: &AtomicU64) -> String {
        format!("{kind}-{}-{}", self.uuid, counter.fetch_add(1, Ordering::Relaxed))
    }
}

/// The extension of a data file; `with_compression` is `file.suffix.include.compression`.
pub fn file_extension(format: &str, compression: &str, with_compression: bool) -> String {
    let format = format.to_ascii_lowercase();
    match compression_extension(compression) {
        Some(c) if format == "json" || format == "csv" => format!("{format}.{c}"),
        Some(c) if with_compression => format!("{c}.{format}"),
        _ => format,
    }
}

fn compression_extension(compression: &str) -> Option<String> {
    let name = compression.to_ascii_lowercase();
    Some(match name.as_str() {
        "none" | "" => return None,
        "gzip" => "gz".to_owned(),
        "bzip2" => "bz2".to_owned(),
        "zstd" => "zst".to_owned(),
        _ => name,
    })
}

/// The format that a data file's name tells: its extension, a compression's extension skipped.
pub fn format_of(file_name: &str) -> Option<&str> {
    let (stem, last) = file_name.rsplit_once('.')?;
    let compressed = matches!(last, "gz" | "bz2" | "deflate" | "snappy" | "lz4" | "zst");
    let inner = stem.rsplit_once('.').map(|(_, inner)| inner);
    Some(inner.filter(|_| compressed).unwrap_or(last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_and_changelog_files_of_a_writer_share_uuid_and_counter() {
        let names = FileNames::new("data-", "changelog-", false);
        let (a, b) = (names.next_changelog_file("parquet", "zstd"), names.next_data_file("parquet", "zstd"));
        let uuid = a.strip_prefix("changelog-").and_then(|r| r.strip_suffix("-0.parquet")).expect("pattern");
        assert_eq!(uuid.len(), 36);
        assert_eq!(b, format!("data-{uuid}-1.parquet"));
    }

    #[test]
    fn every_kind_of_metadata_file_counts_for_itself() {
        let names = MetaNames::new();
        assert!(names.manifest().ends_with("-0"));
        assert!(names.manifest().ends_with("-1"));
        for name in [names.manifest_list(), names.index_manifest(), names.index_file(), names.statistics()] {
            assert!(name.ends_with("-0"), "{name}");
        }
    }

    #[test]
    fn the_extension_names_format_and_compression_as_java_does() {
        assert_eq!(file_extension("csv", "gzip", false), "csv.gz");
        assert_eq!(file_extension("parquet", "zstd", true), "zst.parquet");
        assert_eq!(file_extension("PARQUET", "zstd", false), "parquet");
        assert_eq!(file_extension("parquet", "none", true), "parquet");
    }

    #[test]
    fn the_format_is_read_from_the_name() {
        assert_eq!(format_of("data-u-0.parquet"), Some("parquet"));
        assert_eq!(format_of("data-u-0.zst.parquet"), Some("parquet"));
        assert_eq!(format_of("data-u-0.csv.gz"), Some("csv"));
        assert_eq!(format_of("data-u-0"), None);
    }
}
