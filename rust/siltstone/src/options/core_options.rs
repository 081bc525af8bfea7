//! The options of a table, parsed once.

use std::collections::BTreeMap;
use std::time::Duration;

use super::values::{
    BucketFunctionType, ChangelogProducer, MergeEngine, ScanMode, SortOrder, invalid, parse_bool, parse_duration,
    parse_level_map, parse_list, parse_size,
};
use crate::error::{Error, Result};

const MB: u64 = 1 << 20;

/// Every option that siltstone acts on, with Paimon's defaults filled in. `raw` keeps all of them as text.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::struct_excessive_bools, reason = "one field per option, and many options are flags")]
pub struct CoreOptions {
    /// All options as they stand in the schema (and, over them, the dynamic ones).
    pub raw: BTreeMap<String, String>,

    // buckets and layout
    /// `bucket`: -2 postpone, -1 dynamic or unaware, else the number of buckets.
    pub bucket: i32,
    /// `bucket-key`, empty when not set (then it is the trimmed primary key).
    pub bucket_keys: Vec<String>,
    /// `bucket-function.type`
    pub bucket_function: BucketFunctionType,
    /// `bucket-append-ordered`
    pub bucket_append_ordered: bool,
    /// `branch`
    pub branch: String,
    /// `partition.default-name`
    pub partition_default_name: String,
    /// `partition.legacy-name`
    pub partition_legacy_name: bool,
    /// `data-file.path-directory`
    pub data_file_path_directory: Option<String>,
    /// `index-file-in-data-file-dir`
    pub index_file_in_data_file_dir: bool,
    /// `data-file.thin-mode`
    pub thin_mode: bool,

    // data files
    /// `data-file.prefix`
    pub data_file_prefix: String,
    /// `changelog-file.prefix`
    pub changelog_file_prefix: String,
    /// `file.format`, lower case
    pub file_format: String,
    /// `file.format.per.level`, lower case
    pub file_format_per_level: BTreeMap<i32, String>,
    /// `file.compression`
    pub file_compression: String,
    /// `file.compression.per.level`
    pub file_compression_per_level: BTreeMap<i32, String>,
    /// `file.compression.zstd-level`
    pub zstd_level: i32,
    /// `file.block-size`: Parquet row group size
    pub file_block_size: Option<u64>,
    /// `file.suffix.include.compression`
    pub file_suffix_include_compression: bool,
    /// `changelog-file.format`
    pub changelog_file_format: Option<String>,
    /// `changelog-file.compression`
    pub changelog_file_compression: Option<String>,
    /// `target-file-size`; the default depends on the table, see [`CoreOptions::target_file_size`].
    pub target_file_size: Option<u64>,
    /// `target-file-row-num`
    pub target_file_row_num: u64,
    /// `parquet.*` with their full names
    pub parquet: BTreeMap<String, String>,
    /// `write.batch-size` (alias `orc.write.batch-size`)
    pub write_batch_size: usize,
    /// `read.batch-size`
    pub read_batch_size: usize,

    // statistics
    /// `metadata.stats-mode`
    pub stats_mode: String,
    /// `metadata.stats-mode.per.level`
    pub stats_mode_per_level: BTreeMap<i32, String>,
    /// `changelog-file.stats-mode`
    pub changelog_stats_mode: Option<String>,
    /// `metadata.stats-dense-store`
    pub stats_dense_store: bool,
    /// `metadata.stats-keep-first-n-columns`; -1 keeps all
    pub stats_keep_first_n_columns: i32,
    /// `fields.<column>.stats-mode`
    pub field_stats_mode: BTreeMap<String, String>,

    // manifests
    /// `manifest.format` (up to 1.4), lower case
    pub manifest_format: String,
    /// `manifest.compression`
    pub manifest_compression: String,
    /// `manifest.target-file-size`
    pub manifest_target_file_size: u64,
    /// `manifest.full-compaction-threshold-size`
    pub manifest_full_compaction_threshold_size: u64,
    /// `manifest.merge-min-count`
    pub manifest_merge_min_count: usize,
    /// `manifest.delete-file-drop-stats`
    pub manifest_delete_file_drop_stats: bool,

    // merging
    /// `merge-engine`
    pub merge_engine: MergeEngine,
    /// `sequence.field`
    pub sequence_fields: Vec<String>,
    /// `sequence.field.sort-order`
    pub sequence_order: SortOrder,
    /// `ignore-delete` and its aliases
    pub ignore_delete: bool,
    /// `ignore-update-before`
    pub ignore_update_before: bool,
    /// `rowkind.field`
    pub rowkind_field: Option<String>,
    /// `changelog-producer`
    pub changelog_producer: ChangelogProducer,
    /// `deletion-vectors.enabled`
    pub deletion_vectors_enabled: bool,
    /// `force-lookup`
    pub force_lookup: bool,

    // write buffer
    /// `write-buffer-size`
    pub write_buffer_size: u64,
    /// `write-buffer-spillable`
    pub write_buffer_spillable: bool,
    /// `write-buffer-spill.max-disk-size`
    pub write_buffer_spill_max_disk_size: u64,
    /// `sort-spill-threshold`
    pub sort_spill_threshold: Option<usize>,
    /// `sort-spill-buffer-size`
    pub sort_spill_buffer_size: u64,
    /// `spill-compression`
    pub spill_compression: String,
    /// `spill-compression.zstd-level`
    pub spill_compression_zstd_level: i32,
    /// `write-max-writers-to-spill`
    pub write_max_writers_to_spill: usize,
    /// `local-sort.max-num-file-handles`
    pub local_sort_max_file_handles: usize,

    // compaction
    /// `write-only` (alias `write.compaction-skip`)
    pub write_only: bool,
    /// `num-sorted-run.compaction-trigger`
    pub num_sorted_run_compaction_trigger: usize,
    /// `num-sorted-run.stop-trigger`, default trigger + 3
    pub num_sorted_run_stop_trigger: usize,
    /// `num-levels`, default trigger + 1
    pub num_levels: i32,
    /// `compaction.max-size-amplification-percent`
    pub compaction_max_size_amplification_percent: u64,
    /// `compaction.size-ratio`
    pub compaction_size_ratio: u64,
    /// `compaction.small-file-ratio`
    pub compaction_small_file_ratio: f64,
    /// `compaction.optimization-interval`
    pub compaction_optimization_interval: Option<Duration>,
    /// `compaction.total-size-threshold`
    pub compaction_total_size_threshold: Option<u64>,
    /// `compaction.incremental-size-threshold`
    pub compaction_incremental_size_threshold: Option<u64>,
    /// `compaction.offpeak.start.hour`; -1 is off
    pub compaction_offpeak_start_hour: i32,
    /// `compaction.offpeak.end.hour`; -1 is off
    pub compaction_offpeak_end_hour: i32,
    /// `compaction.offpeak-ratio`
    pub compaction_offpeak_ratio: u64,
    /// `compaction.force-up-level-0`
    pub compaction_force_up_level_0: bool,
    /// `compaction.force-rewrite-all-files`
    pub compaction_force_rewrite_all_files: bool,
    /// `compaction.min.file-num`
    pub compaction_min_file_num: usize,
    /// `compaction.max.file-num` (up to 1.0; fixed-bucket append)
    pub compaction_max_file_num: Option<usize>,
    /// `compaction.file-num-limit`
    pub compaction_file_num_limit: usize,
    /// `compaction.delete-ratio-threshold`
    pub compaction_delete_ratio_threshold: f64,
    /// `full-compaction.delta-commits`
    pub full_compaction_delta_commits: Option<u32>,
    /// `overwrite-upgrade`
    pub overwrite_upgrade: bool,

    // commit
    /// `commit.user-prefix`
    pub commit_user_prefix: Option<String>,
    /// `commit.max-retries`
    pub commit_max_retries: u32,
    /// `commit.timeout`
    pub commit_timeout: Option<Duration>,
    /// `commit.min-retry-wait`
    pub commit_min_retry_wait: Duration,
    /// `commit.max-retry-wait`
    pub commit_max_retry_wait: Duration,
    /// `commit.force-create-snapshot`
    pub commit_force_create_snapshot: bool,
    /// `commit.force-compact`
    pub commit_force_compact: bool,
    /// `commit.discard-duplicate-files`
    pub commit_discard_duplicate_files: bool,
    /// `snapshot.ignore-empty-commit`
    pub snapshot_ignore_empty_commit: Option<bool>,
    /// `dynamic-partition-overwrite`
    pub dynamic_partition_overwrite: bool,
    /// `siltstone.sync`: whether files are made durable before a snapshot is published (default true)
    pub sync: bool,

    // reading
    /// `source.split.target-size`
    pub source_split_target_size: u64,
    /// `source.split.open-file-cost`
    pub source_split_open_file_cost: u64,
    /// `scan.mode`
    pub scan_mode: ScanMode,
    /// `scan.snapshot-id`
    pub scan_snapshot_id: Option<i64>,
    /// `scan.tag-name`
    pub scan_tag_name: Option<String>,
    /// `scan.version`
    pub scan_version: Option<String>,
    /// `scan.timestamp-millis`
    pub scan_timestamp_millis: Option<i64>,
    /// `scan.timestamp`
    pub scan_timestamp: Option<String>,
    /// `scan.watermark`
    pub scan_watermark: Option<i64>,
    /// `scan.bucket`: read this bucket only
    pub scan_bucket: Option<i32>,
    /// `file-index.read.enabled`
    pub file_index_read_enabled: bool,
}

impl CoreOptions {
    /// Parses options; a value that is not of its option's form is an `InvalidOption` that names the key.
    #[allow(clippy::too_many_lines, reason = "one line per option")]
    pub fn parse(options: &BTreeMap<String, String>) -> Result<Self> {
        let o = Lookup(options);
        let trigger = o.at_least("num-sorted-run.compaction-trigger", 5, 1)?;
        Ok(Self {
            bucket: o.int("bucket", -1)?,
            bucket_keys: o.list("bucket-key"),
            bucket_function: o.parsed(
                "bucket-function.type",
                BucketFunctionType::Default,
                BucketFunctionType::parse,
            )?,
            bucket_append_ordered: o.bool("bucket-append-ordered", true)?,
            branch: o.text("branch", "main"),
            partition_default_name: o.text("partition.default-name", "__DEFAULT_PARTITION__"),
            partition_legacy_name: o.bool("partition.legacy-name", true)?,
            data_file_path_directory: o.optional("data-file.path-directory"),
            index_file_in_data_file_dir: o.bool("index-file-in-data-file-dir", false)?,
            thin_mode: o.bool("data-file.thin-mode", false)?,
            data_file_prefix: o.text("data-file.prefix", "data-"),
            changelog_file_prefix: o.text("changelog-file.prefix", "changelog-"),
            file_format: o.text("file.format", "parquet").to_ascii_lowercase(),
            file_format_per_level: lower(o.levels("file.format.per.level")?),
            file_compression: o.text("file.compression", "zstd"),
            file_compression_per_level: o.levels("file.compression.per.level")?,
            zstd_level: o.int("file.compression.zstd-level", 1)?,
            file_block_size: o.maybe("file.block-size", parse_size)?,
            file_suffix_include_compression: o.bool("file.suffix.include.compression", false)?,
            changelog_file_format: o.optional("changelog-file.format").map(|f| f.to_ascii_lowercase()),
            changelog_file_compression: o.optional("changelog-file.compression"),
            target_file_size: o.maybe("target-file-size", parse_size)?,
            target_file_row_num: o.long("target-file-row-num", u64::MAX)?,
            parquet: o.with_prefix("parquet."),
            write_batch_size: o.at_least("write.batch-size", 1024, 1)?,
            read_batch_size: o.at_least("read.batch-size", 1024, 1)?,

            stats_mode: o.text("metadata.stats-mode", "truncate(16)"),
            stats_mode_per_level: o.levels("metadata.stats-mode.per.level")?,
            changelog_stats_mode: o.optional("changelog-file.stats-mode"),
            stats_dense_store: o.bool("metadata.stats-dense-store", true)?,
            stats_keep_first_n_columns: o.int("metadata.stats-keep-first-n-columns", -1)?,
            field_stats_mode: o.per_field("stats-mode"),

            manifest_format: o.text("manifest.format", "avro").to_ascii_lowercase(),
            manifest_compression: o.text("manifest.compression", "zstd"),
            manifest_target_file_size: o.size("manifest.target-file-size", 8 * MB)?,
            manifest_full_compaction_threshold_size: o.size("manifest.full-compaction-threshold-size", 16 * MB)?,
            manifest_merge_min_count: o.at_least("manifest.merge-min-count", 30, 0)?,
            manifest_delete_file_drop_stats: o.bool("manifest.delete-file-drop-stats", false)?,

            merge_engine: o.parsed("merge-engine", MergeEngine::Deduplicate, MergeEngine::parse)?,
            sequence_fields: o.list("sequence.field"),
            sequence_order: o.parsed("sequence.field.sort-order", SortOrder::Ascending, SortOrder::parse)?,
            ignore_delete: o.bool("ignore-delete", false)?,
            ignore_update_before: o.bool("ignore-update-before", false)?,
            rowkind_field: o.optional("rowkind.field"),
            changelog_producer: o.parsed("changelog-producer", ChangelogProducer::None, ChangelogProducer::parse)?,
            deletion_vectors_enabled: o.bool("deletion-vectors.enabled", false)?,
            force_lookup: o.bool("force-lookup", false)?,

            write_buffer_size: o.size("write-buffer-size", 256 * MB)?,
            write_buffer_spillable: o.bool("write-buffer-spillable", true)?,
            write_buffer_spill_max_disk_size: o.size("write-buffer-spill.max-disk-size", u64::MAX)?,
            sort_spill_threshold: o.maybe("sort-spill-threshold", |t| integer(t, 1))?,
            sort_spill_buffer_size: o.size("sort-spill-buffer-size", 64 * MB)?,
            spill_compression: o.text("spill-compression", "zstd"),
            spill_compression_zstd_level: o.int("spill-compression.zstd-level", 1)?,
            write_max_writers_to_spill: o.at_least("write-max-writers-to-spill", 10, 0)?,
            local_sort_max_file_handles: o.at_least("local-sort.max-num-file-handles", 128, 2)?,

            write_only: o.bool("write-only", false)?,
            num_sorted_run_compaction_trigger: trigger,
            num_sorted_run_stop_trigger: o.at_least("num-sorted-run.stop-trigger", trigger + 3, 1)?.max(trigger),
            num_levels: o.int("num-levels", i32::try_from(trigger + 1).unwrap_or(i32::MAX))?,
            compaction_max_size_amplification_percent: o.long("compaction.max-size-amplification-percent", 200)?,
            compaction_size_ratio: o.long("compaction.size-ratio", 1)?,
            compaction_small_file_ratio: o.double("compaction.small-file-ratio", 0.7)?,
            compaction_optimization_interval: o.maybe("compaction.optimization-interval", parse_duration)?,
            compaction_total_size_threshold: o.maybe("compaction.total-size-threshold", parse_size)?,
            compaction_incremental_size_threshold: o.maybe("compaction.incremental-size-threshold", parse_size)?,
            compaction_offpeak_start_hour: o.int("compaction.offpeak.start.hour", -1)?,
            compaction_offpeak_end_hour: o.int("compaction.offpeak.end.hour", -1)?,
            compaction_offpeak_ratio: o.long("compaction.offpeak-ratio", 0)?,
            compaction_force_up_level_0: o.bool("compaction.force-up-level-0", false)?,
            compaction_force_rewrite_all_files: o.bool("compaction.force-rewrite-all-files", false)?,
            compaction_min_file_num: o.at_least("compaction.min.file-num", 5, 1)?,
            compaction_max_file_num: o.maybe("compaction.max.file-num", |t| integer(t, 1))?,
            compaction_file_num_limit: o.at_least("compaction.file-num-limit", 100_000, 1)?,
            compaction_delete_ratio_threshold: o.double("compaction.delete-ratio-threshold", 0.2)?,
            full_compaction_delta_commits: o.maybe("full-compaction.delta-commits", |t| integer(t, 1))?,
            overwrite_upgrade: o.bool("overwrite-upgrade", true)?,

            commit_user_prefix: o.optional("commit.user-prefix"),
            commit_max_retries: o.at_least("commit.max-retries", 10, 0)?,
            commit_timeout: o.maybe("commit.timeout", parse_duration)?,
            commit_min_retry_wait: o.duration("commit.min-retry-wait", Duration::from_millis(10))?,
            commit_max_retry_wait: o.duration("commit.max-retry-wait", Duration::from_secs(10))?,
            commit_force_create_snapshot: o.bool("commit.force-create-snapshot", false)?,
            commit_force_compact: o.bool("commit.force-compact", false)?,
            commit_discard_duplicate_files: o.bool("commit.discard-duplicate-files", false)?,
            snapshot_ignore_empty_commit: o.maybe("snapshot.ignore-empty-commit", parse_bool)?,
            dynamic_partition_overwrite: o.bool("dynamic-partition-overwrite", true)?,
            sync: o.bool("siltstone.sync", true)?,

            source_split_target_size: o.size("source.split.target-size", 128 * MB)?,
            source_split_open_file_cost: o.size("source.split.open-file-cost", 4 * MB)?,
            scan_mode: o.parsed("scan.mode", ScanMode::Default, ScanMode::parse)?,
            scan_snapshot_id: o.maybe("scan.snapshot-id", |t| integer(t, i64::MIN))?,
            scan_tag_name: o.optional("scan.tag-name"),
            scan_version: o.optional("scan.version"),
            scan_timestamp_millis: o.maybe("scan.timestamp-millis", |t| integer(t, i64::MIN))?,
            scan_timestamp: o.optional("scan.timestamp"),
            scan_watermark: o.maybe("scan.watermark", |t| integer(t, i64::MIN))?,
            scan_bucket: o.maybe("scan.bucket", |t| integer(t, 0))?,
            file_index_read_enabled: o.bool("file-index.read.enabled", true)?,
            raw: options.clone(),
        })
    }

    /// The same options with others set over them.
    pub fn with(&self, dynamic: &BTreeMap<String, String>) -> Result<Self> {
        let mut merged = self.raw.clone();
        merged.extend(dynamic.iter().map(|(k, v)| (k.clone(), v.clone())));
        Self::parse(&merged)
    }

    /// `target-file-size`, default 128 MB for primary-key tables and 256 MB for append tables.
    pub fn target_file_size(&self, has_primary_key: bool) -> u64 {
        self.target_file_size.unwrap_or(if has_primary_key { 128 * MB } else { 256 * MB })
    }

    /// The file format of a level.
    pub fn format_of_level(&self, level: i32) -> &str {
        self.file_format_per_level.get(&level).unwrap_or(&self.file_format)
    }

    /// The compression of a level.
    pub fn compression_of_level(&self, level: i32) -> &str {
        self.file_compression_per_level.get(&level).unwrap_or(&self.file_compression)
    }

    /// The statistics mode of a level.
    pub fn stats_mode_of_level(&self, level: i32) -> &str {
        self.stats_mode_per_level.get(&level).unwrap_or(&self.stats_mode)
    }

    /// `sequence.field.sort-order` = descending
    pub fn sequence_descending(&self) -> bool {
        self.sequence_order == SortOrder::Descending
    }

    /// The raw text of any option, its aliases included.
    pub fn get(&self, key: &str) -> Option<&str> {
        Lookup(&self.raw).raw(key)
    }
}

impl Default for CoreOptions {
    fn default() -> Self {
        Self::parse(&BTreeMap::new()).unwrap_or_else(|_| unreachable!("the defaults are valid"))
    }
}

fn lower(map: BTreeMap<i32, String>) -> BTreeMap<i32, String> {
    map.into_iter().map(|(k, v)| (k, v.to_ascii_lowercase())).collect()
}

/// Any integer type, at least `least`.
fn integer<T>(text: &str, least: T) -> Result<T>
where
    T: std::str::FromStr + PartialOrd + std::fmt::Display,
{
    let value = text.trim().parse::<T>().map_err(|_| invalid(text, "a whole number in range"))?;
    if value < least { Err(invalid(text, &format!("a whole number of at least {least}"))) } else { Ok(value) }
}

/// Typed look-ups that put the key into every error.
struct Lookup<'a>(&'a BTreeMap<String, String>);

impl<'a> Lookup<'a> {
    fn raw(&self, key: &str) -> Option<&'a str> {
        let aliases = super::catalogue::aliases(key).iter().copied();
        std::iter::once(key).chain(aliases).find_map(|k| self.0.get(k)).map(String::as_str)
    }

    fn maybe<T>(&self, key: &str, parse: impl Fn(&str) -> Result<T>) -> Result<Option<T>> {
        let named = |e: Error| e.with("option", key);
        self.raw(key).map(|text| parse(text).map_err(named)).transpose()
    }

    fn parsed<T>(&self, key: &str, default: T, parse: impl Fn(&str) -> Result<T>) -> Result<T> {
        Ok(self.maybe(key, parse)?.unwrap_or(default))
    }

    fn bool(&self, key: &str, default: bool) -> Result<bool> {
        self.parsed(key, default, parse_bool)
    }

    fn int(&self, key: &str, default: i32) -> Result<i32> {
        self.parsed(key, default, |t| integer(t, i32::MIN))
    }

    fn long(&self, key: &str, default: u64) -> Result<u64> {
        self.parsed(key, default, |t| integer(t, 0))
    }

    fn at_least<T>(&self, key: &str, default: T, least: T) -> Result<T>
    where
        T: std::str::FromStr + PartialOrd + std::fmt::Display + Copy,
    {
        self.parsed(key, default, |t| integer(t, least))
    }

    fn double(&self, key: &str, default: f64) -> Result<f64> {
        self.parsed(key, default, |t| t.trim().parse::<f64>().map_err(|_| invalid(t, "a number")))
    }

    fn size(&self, key: &str, default: u64) -> Result<u64> {
        self.parsed(key, default, parse_size)
    }

    fn duration(&self, key: &str, default: Duration) -> Result<Duration> {
        self.parsed(key, default, parse_duration)
    }

    fn levels(&self, key: &str) -> Result<BTreeMap<i32, String>> {
        Ok(self.maybe(key, parse_level_map)?.unwrap_or_default())
    }

    fn text(&self, key: &str, default: &str) -> String {
        self.raw(key).unwrap_or(default).to_owned()
    }

    fn optional(&self, key: &str) -> Option<String> {
        self.raw(key).map(str::to_owned)
    }

    fn list(&self, key: &str) -> Vec<String> {
        self.raw(key).map(parse_list).unwrap_or_default()
    }

    fn with_prefix(&self, prefix: &str) -> BTreeMap<String, String> {
        self.0.iter().filter(|(k, _)| k.starts_with(prefix)).map(|(k, v)| (k.clone(), v.clone())).collect()
    }

    /// `fields.<column>.<suffix>` → column to value.
    fn per_field(&self, suffix: &str) -> BTreeMap<String, String> {
        let column = |key: &str| {
            let inner = key.strip_prefix("fields.")?.strip_suffix(suffix)?.strip_suffix('.')?;
            (!inner.is_empty()).then(|| inner.to_owned())
        };
        self.0.iter().filter_map(|(k, v)| Some((column(k)?, v.clone()))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    fn options(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
    }

    #[test]
    fn defaults_are_those_of_paimon() {
        let o = CoreOptions::default();
        assert_eq!((o.bucket, o.file_format.as_str(), o.file_compression.as_str()), (-1, "parquet", "zstd"));
        assert_eq!((o.num_levels, o.num_sorted_run_stop_trigger), (6, 8));
        assert_eq!((o.target_file_size(true), o.target_file_size(false)), (128 * MB, 256 * MB));
        assert_eq!(o.stats_mode, "truncate(16)");
    }

    #[test]
    fn aliases_are_read_and_the_new_name_wins() {
        let o = CoreOptions::parse(&options(&[("partial-update.ignore-delete", "true")])).unwrap();
        assert!(o.ignore_delete);
        let both = options(&[("write.compaction-skip", "true"), ("write-only", "false")]);
        assert!(!CoreOptions::parse(&both).unwrap().write_only);
    }

    #[test]
    fn derived_defaults_follow_the_trigger() {
        let o = CoreOptions::parse(&options(&[("num-sorted-run.compaction-trigger", "9")])).unwrap();
        assert_eq!((o.num_levels, o.num_sorted_run_stop_trigger), (10, 12));
    }

    #[test]
    fn a_bad_value_names_its_option() {
        for (key, value) in [("bucket", "four"), ("write-only", "yes"), ("target-file-size", "big"), ("num-levels", "")]
        {
            let error = CoreOptions::parse(&options(&[(key, value)])).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidOption);
            assert_eq!(error.context_value("option"), Some(key));
        }
    }

    #[test]
    fn dynamic_options_are_laid_over_the_stored_ones() {
        let stored = CoreOptions::parse(&options(&[("bucket", "4"), ("write-only", "true")])).unwrap();
        let now = stored.with(&options(&[("write-only", "false")])).unwrap();
        assert_eq!((now.bucket, now.write_only), (4, false));
    }

    #[test]
    fn options_of_single_columns_are_collected() {
        let o = CoreOptions::parse(&options(&[("fields.a.b.stats-mode", "none"), ("fields.stats-mode", "x")])).unwrap();
        assert_eq!(o.field_stats_mode, BTreeMap::from([("a.b".to_owned(), "none".to_owned())]));
    }
}
