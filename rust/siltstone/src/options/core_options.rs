//! The options that siltstone acts on, and the typed form of a table's options.
//!
//! One row is all there is to declare of such an option: key, form, what else the list of options says about it
//! ([`super::known::Known`]), field, type, and how it is read, with its default.

use std::collections::BTreeMap;
use std::time::Duration;

use super::known::BLOCK_COMPRESSIONS;
use super::reader::{
    core_options, integer, lower, parse_assigners, parse_max_buckets, parse_ratio, parse_target_size, per_field,
    with_prefix,
};
use super::values::{
    BucketFunctionType, ChangelogProducer, ExpireMode, IncrementalMode, LookupCompact, MergeEngine,
    PartitionExpireStrategy, ScanMode, SortOrder, TagCreation, TagFormatter, TagPeriod, VariantForm, parse_bool,
    parse_days, parse_duration, parse_size, parse_time_of_day,
};
use crate::error::Result;

const MB: u64 = 1 << 20;

core_options! {
    o;

    // buckets and layout
    /// -2 postpone, -1 dynamic or unaware, else the number of buckets.
    "bucket": Int => bucket: i32 = o.int(-1)?;
    /// Empty when not set (then it is the trimmed primary key).
    "bucket-key": Text, immutable => bucket_keys: Vec<String> = o.list();
    "bucket-function.type": Enum(BucketFunctionType::TEXTS), immutable =>
        bucket_function: BucketFunctionType = o.parsed(BucketFunctionType::Default, BucketFunctionType::parse)?;
    "bucket-append-ordered": Bool => bucket_append_ordered: bool = o.bool(true)?;
    "dynamic-bucket.target-row-num": Long => dynamic_bucket_target_row_num: u64 = o.at_least(2_000_000, 1)?;
    /// Buckets of a partition whose first rows leave bucket-postpone; `None`: by their size.
    "postpone.default-bucket-num": Int => postpone_default_bucket_num: Option<i32> = o.maybe(|t| integer(t, 1))?;
    "postpone.target-row-num-per-bucket": Long => postpone_target_row_num: Option<i64> = o.maybe(|t| integer(t, 1))?;
    "postpone.target-size-per-bucket": Size => postpone_target_size: u64 = o.parsed(1 << 30, parse_target_size)?;
    /// `None` for -1: no limit but the format's.
    "dynamic-bucket.max-buckets": Int =>
        dynamic_bucket_max_buckets: Option<u16> = o.maybe(parse_max_buckets)?.flatten();
    "dynamic-bucket.initial-buckets": Int, immutable =>
        dynamic_bucket_initial_buckets: Option<u32> = o.maybe(parse_assigners)?;
    "dynamic-bucket.assigner-parallelism": Int =>
        dynamic_bucket_assigner_parallelism: Option<u32> = o.maybe(parse_assigners)?;
    "cross-partition-upsert.index-ttl": Duration =>
        cross_partition_index_ttl: Option<Duration> = o.maybe(parse_duration)?;
    "cross-partition-upsert.bootstrap-parallelism": Int =>
        cross_partition_bootstrap_parallelism: u64 = o.at_least(10, 1)?;
    /// How old rows of primary-key tables may be when they are compacted.
    "record-level.expire-time": Duration => record_level_expire_time: Option<Duration> = o.maybe(parse_duration)?;
    "record-level.time-field": Text => record_level_time_field: Option<String> = o.optional();
    "branch": Text => branch: String = o.text("main");
    "partition.default-name": Text, immutable => partition_default_name: String = o.text("__DEFAULT_PARTITION__");
    "partition.legacy-name": Bool, immutable => partition_legacy_name: bool = o.bool(true)?;
    "data-file.path-directory": Text, immutable => data_file_path_directory: Option<String> = o.optional();
    "index-file-in-data-file-dir": Bool, immutable => index_file_in_data_file_dir: bool = o.bool(false)?;
    "data-file.thin-mode": Bool => thin_mode: bool = o.bool(false)?;

    // data files
    "data-file.prefix": Text => data_file_prefix: String = o.text("data-");
    "changelog-file.prefix": Text => changelog_file_prefix: String = o.text("changelog-");
    /// Lower case.
    "file.format": Text => file_format: String = o.text("parquet").to_ascii_lowercase();
    /// Lower case.
    "file.format.per.level": Levels => file_format_per_level: BTreeMap<i32, String> = lower(o.levels()?);
    "file.compression": Text => file_compression: String = o.text("zstd");
    "file.compression.per.level": Levels => file_compression_per_level: BTreeMap<i32, String> = o.levels()?;
    "file.compression.zstd-level": Int => zstd_level: i32 = o.int(1)?;
    /// Parquet row group size.
    "file.block-size": Size => file_block_size: Option<u64> = o.maybe(parse_size)?;
    "file.suffix.include.compression": Bool => file_suffix_include_compression: bool = o.bool(false)?;
    "changelog-file.format": Text =>
        changelog_file_format: Option<String> = o.optional().map(|f| f.to_ascii_lowercase());
    "changelog-file.compression": Text => changelog_file_compression: Option<String> = o.optional();
    /// The default depends on the table, see [`CoreOptions::target_file_size`].
    "target-file-size": Size => target_file_size: Option<u64> = o.maybe(parse_size)?;
    "target-file-row-num": Long => target_file_row_num: u64 = o.long(u64::MAX)?;

    // statistics
    "metadata.stats-mode": Text => stats_mode: String = o.text("truncate(16)");
    "metadata.stats-mode.per.level": Levels => stats_mode_per_level: BTreeMap<i32, String> = o.levels()?;
    "changelog-file.stats-mode": Text => changelog_stats_mode: Option<String> = o.optional();
    "metadata.stats-dense-store": Bool => stats_dense_store: bool = o.bool(true)?;
    /// -1 keeps all.
    "metadata.stats-keep-first-n-columns": Int => stats_keep_first_n_columns: i32 = o.int(-1)?;

    // manifests
    /// Up to 1.4; lower case.
    "manifest.format": Text, immutable => manifest_format: String = o.text("avro").to_ascii_lowercase();
    "manifest.compression": Text => manifest_compression: String = o.text("zstd");
    "manifest.target-file-size": Size => manifest_target_file_size: u64 = o.size(8 * MB)?;
    "manifest.full-compaction-threshold-size": Size => manifest_full_compaction_threshold_size: u64 = o.size(16 * MB)?;
    "manifest.merge-min-count": Int => manifest_merge_min_count: usize = o.at_least(30, 0)?;
    "manifest.delete-file-drop-stats": Bool => manifest_delete_file_drop_stats: bool = o.bool(false)?;

    // merging
    "merge-engine": Enum(MergeEngine::TEXTS), immutable =>
        merge_engine: MergeEngine = o.parsed(MergeEngine::Deduplicate, MergeEngine::parse)?;
    "sequence.field": Text => sequence_fields: Vec<String> = o.list();
    "sequence.field.sort-order": Enum(SortOrder::TEXTS) =>
        sequence_order: SortOrder = o.parsed(SortOrder::Ascending, SortOrder::parse)?;
    "ignore-delete": Bool,
        aliases(&["first-row.ignore-delete", "deduplicate.ignore-delete", "partial-update.ignore-delete"]) =>
        ignore_delete: bool = o.bool(false)?;
    "ignore-update-before": Bool => ignore_update_before: bool = o.bool(false)?;
    "rowkind.field": Text, immutable => rowkind_field: Option<String> = o.optional();
    "changelog-producer": Enum(ChangelogProducer::TEXTS) =>
        changelog_producer: ChangelogProducer = o.parsed(ChangelogProducer::None, ChangelogProducer::parse)?;
    "changelog-producer.row-deduplicate": Bool => changelog_row_deduplicate: bool = o.bool(false)?;
    "changelog-producer.row-deduplicate-ignore-fields": Text =>
        changelog_row_deduplicate_ignore_fields: Vec<String> = o.list();
    "row-tracking.enabled": Bool, immutable => row_tracking_enabled: bool = o.bool(false)?;
    "data-evolution.enabled": Bool, immutable => data_evolution_enabled: bool = o.bool(false)?;
    "deletion-vectors.enabled": Bool => deletion_vectors_enabled: bool = o.bool(false)?;
    "deletion-vectors.bitmap64": Bool => deletion_vectors_bitmap64: bool = o.bool(false)?;
    "deletion-vectors.merge-on-read": Bool => deletion_vectors_merge_on_read: bool = o.bool(false)?;
    "deletion-vector.index-file.target-size": Size => deletion_vector_index_file_target_size: u64 = o.size(2 * MB)?;
    /// Files above level 0 of which a larger share is deleted by vectors are rewritten.
    "siltstone.compact-deleted-ratio": Double => compact_deleted_ratio: Option<f64> = o.maybe(parse_ratio)?;
    "force-lookup": Bool, immutable => force_lookup: bool = o.bool(false)?;
    /// A writer of many commits waits for the compaction of level 0.
    "lookup-wait": Bool, aliases(&["changelog-producer.lookup-wait"]) => lookup_wait: bool = o.bool(true)?;
    "lookup-compact": Enum(LookupCompact::TEXTS) =>
        lookup_compact: LookupCompact = o.parsed(LookupCompact::Radical, LookupCompact::parse)?;
    /// Other defaults depend on it.
    "num-sorted-run.compaction-trigger": Int => num_sorted_run_compaction_trigger: usize = o.at_least(5, 1)?;
    /// By default twice the compaction trigger and never below it.
    "lookup-compact.max-interval": Int =>
        lookup_compact_max_interval: usize =
            o.at_least(num_sorted_run_compaction_trigger.saturating_mul(2), 1)?.max(num_sorted_run_compaction_trigger);
    "lookup.cache-max-memory-size": Size => lookup_cache_max_memory_size: u64 = o.size(256 * MB)?;

    // write buffer
    "write-buffer-size": Size => write_buffer_size: u64 = o.size(256 * MB)?;
    "write-buffer-spillable": Bool => write_buffer_spillable: bool = o.bool(true)?;
    "write-buffer-spill.max-disk-size": Size => write_buffer_spill_max_disk_size: u64 = o.size(u64::MAX)?;
    "sort-spill-threshold": Int => sort_spill_threshold: Option<usize> = o.maybe(|t| integer(t, 1))?;
    "spill-compression": Enum(BLOCK_COMPRESSIONS) => spill_compression: String = o.text("zstd");
    /// Bytes of texts and bytes that count in `zorder`.
    "zorder.var-length-contribution": Int => zorder_var_length_contribution: usize = o.at_least(8, 1)?;
    "local-sort.max-num-file-handles": Int => local_sort_max_file_handles: usize = o.at_least(128, 2)?;

    // compaction
    "write-only": Bool, aliases(&["write.compaction-skip"]) => write_only: bool = o.bool(false)?;
    /// By default the trigger + 3.
    "num-sorted-run.stop-trigger": Int =>
        num_sorted_run_stop_trigger: usize =
            o.at_least(num_sorted_run_compaction_trigger.saturating_add(3), 1)?.max(num_sorted_run_compaction_trigger);
    /// By default the trigger + 1.
    "num-levels": Int =>
        num_levels: i32 =
            o.int(i32::try_from(num_sorted_run_compaction_trigger.saturating_add(1)).unwrap_or(i32::MAX))?;
    "compaction.max-size-amplification-percent": Int => compaction_max_size_amplification_percent: u64 = o.long(200)?;
    "compaction.size-ratio": Int => compaction_size_ratio: u64 = o.long(1)?;
    "compaction.small-file-ratio": Double => compaction_small_file_ratio: f64 = o.double(0.7)?;
    "compaction.optimization-interval": Duration =>
        compaction_optimization_interval: Option<Duration> = o.maybe(parse_duration)?;
    "compaction.total-size-threshold": Size => compaction_total_size_threshold: Option<u64> = o.maybe(parse_size)?;
    "compaction.incremental-size-threshold": Size =>
        compaction_incremental_size_threshold: Option<u64> = o.maybe(parse_size)?;
    /// -1 is off.
    "compaction.offpeak.start.hour": Int => compaction_offpeak_start_hour: i32 = o.int(-1)?;
    /// -1 is off.
    "compaction.offpeak.end.hour": Int => compaction_offpeak_end_hour: i32 = o.int(-1)?;
    "compaction.offpeak-ratio": Int => compaction_offpeak_ratio: u64 = o.long(0)?;
    "compaction.force-up-level-0": Bool => compaction_force_up_level_0: bool = o.bool(false)?;
    "compaction.force-rewrite-all-files": Bool => compaction_force_rewrite_all_files: bool = o.bool(false)?;
    "compaction.min.file-num": Int => compaction_min_file_num: usize = o.at_least(5, 1)?;
    "compaction.file-num-limit": Int => compaction_file_num_limit: usize = o.at_least(100_000, 1)?;
    "compaction.delete-ratio-threshold": Double => compaction_delete_ratio_threshold: f64 = o.double(0.2)?;
    "full-compaction.delta-commits": Int => full_compaction_delta_commits: Option<u32> = o.maybe(|t| integer(t, 1))?;
    "overwrite-upgrade": Bool => overwrite_upgrade: bool = o.bool(true)?;

    // commit
    "commit.user-prefix": Text => commit_user_prefix: Option<String> = o.optional();
    "commit.max-retries": Int => commit_max_retries: u32 = o.at_least(10, 0)?;
    "commit.timeout": Duration => commit_timeout: Option<Duration> = o.maybe(parse_duration)?;
    "commit.min-retry-wait": Duration => commit_min_retry_wait: Duration = o.duration(Duration::from_millis(10))?;
    "commit.max-retry-wait": Duration => commit_max_retry_wait: Duration = o.duration(Duration::from_secs(10))?;
    "commit.force-create-snapshot": Bool => commit_force_create_snapshot: bool = o.bool(false)?;
    "commit.force-compact": Bool => commit_force_compact: bool = o.bool(false)?;
    "commit.discard-duplicate-files": Bool => commit_discard_duplicate_files: bool = o.bool(false)?;
    "snapshot.ignore-empty-commit": Bool => snapshot_ignore_empty_commit: Option<bool> = o.maybe(parse_bool)?;
    "dynamic-partition-overwrite": Bool => dynamic_partition_overwrite: bool = o.bool(true)?;
    /// Whether files are made durable before a snapshot is published.
    "siltstone.sync": Bool, aliases(&["siltstone.commit.fsync"]) => sync: bool = o.bool(true)?;
    /// How long an expiry, a rollback, … waits for another one to end.
    "siltstone.upkeep-lock-timeout": Duration => upkeep_lock_timeout: Duration = o.duration(Duration::from_secs(30))?;

    // snapshots, tags, partitions: how long they are kept
    "snapshot.num-retained.min": Int => snapshot_num_retained_min: u32 = o.at_least(10, 1)?;
    "snapshot.num-retained.max": Int => snapshot_num_retained_max: u32 = o.at_least(i32::MAX.unsigned_abs(), 1)?;
    "snapshot.time-retained": Duration => snapshot_time_retained: Duration = o.duration(Duration::from_secs(3600))?;
    "snapshot.expire.limit": Int => snapshot_expire_limit: u32 = o.at_least(50, 1)?;
    "snapshot.expire.execution-mode": Enum(ExpireMode::TEXTS) =>
        snapshot_expire_mode: ExpireMode = o.parsed(ExpireMode::Sync, ExpireMode::parse)?;
    "snapshot.clean-empty-directories": Bool, aliases(&["snapshot.expire.clean-empty-directories"]) =>
        snapshot_clean_empty_directories: bool = o.bool(false)?;
    /// By default that of snapshots.
    "changelog.num-retained.min": Int => changelog_num_retained_min: Option<u32> = o.maybe(|t| integer(t, 1))?;
    /// By default that of snapshots.
    "changelog.num-retained.max": Int => changelog_num_retained_max: Option<u32> = o.maybe(|t| integer(t, 1))?;
    /// By default that of snapshots.
    "changelog.time-retained": Duration => changelog_time_retained: Option<Duration> = o.maybe(parse_duration)?;
    "consumer.expiration-time": Duration => consumer_expiration_time: Option<Duration> = o.maybe(parse_duration)?;
    /// Consumers keep changelogs, not snapshots.
    "consumer.changelog-only": Bool => consumer_changelog_only: bool = o.bool(false)?;
    "partition.expiration-time": Duration => partition_expiration_time: Option<Duration> = o.maybe(parse_duration)?;
    "partition.expiration-check-interval": Duration =>
        partition_expiration_check_interval: Duration = o.duration(Duration::from_secs(3600))?;
    "partition.expiration-strategy": Text =>
        partition_expiration_strategy: PartitionExpireStrategy =
            o.parsed(PartitionExpireStrategy::ValuesTime, PartitionExpireStrategy::parse)?;
    "partition.expiration-max-num": Int => partition_expiration_max_num: usize = o.at_least(100, 1)?;
    /// So many partitions go in one commit; 0: all in one.
    "partition.expiration-batch-size": Int => partition_expiration_batch_size: usize = o.at_least(0, 0)?;
    /// Every batch commit looks for old partitions, whatever the interval.
    "end-input.check-partition-expire": Bool => end_input_check_partition_expire: bool = o.bool(false)?;
    "partition.timestamp-formatter": Text => partition_timestamp_formatter: Option<String> = o.optional();
    "partition.timestamp-pattern": Text => partition_timestamp_pattern: Option<String> = o.optional();
    "tag.automatic-creation": Enum(TagCreation::TEXTS) =>
        tag_automatic_creation: TagCreation = o.parsed(TagCreation::None, TagCreation::parse)?;
    "tag.creation-period": Enum(TagPeriod::TEXTS) =>
        tag_creation_period: TagPeriod = o.parsed(TagPeriod::Daily, TagPeriod::parse)?;
    "tag.creation-period-duration": Duration =>
        tag_creation_period_duration: Option<Duration> = o.maybe(parse_duration)?;
    "tag.creation-delay": Duration => tag_creation_delay: Duration = o.duration(Duration::ZERO)?;
    /// `hh:mm`: an older proposal's words for a daily tag with a delay after midnight.
    "tag.create-time": Text => tag_create_time: Option<Duration> = o.maybe(parse_time_of_day)?;
    /// Whole days: that proposal's words for the period.
    "tag.create-interval": Duration => tag_create_interval: Option<Duration> = o.maybe(parse_days)?;
    "tag.period-formatter": Enum(TagFormatter::TEXTS) =>
        tag_period_formatter: TagFormatter = o.parsed(TagFormatter::WithDashes, TagFormatter::parse)?;
    "tag.automatic-completion": Bool => tag_automatic_completion: bool = o.bool(false)?;
    "tag.num-retained-max": Int => tag_num_retained_max: Option<usize> = o.maybe(|t| integer(t, 1))?;
    "tag.default-time-retained": Duration => tag_default_time_retained: Option<Duration> = o.maybe(parse_duration)?;
    "tag.time-expire-enabled": Bool => tag_time_expire_enabled: bool = o.bool(true)?;
    "tag.batch.customized-name": Text => tag_batch_customized_name: Option<String> = o.optional();
    "tag.create-success-file": Bool => tag_create_success_file: bool = o.bool(false)?;
    /// Of automatic tags by process time.
    "sink.process-time-zone": Text => sink_process_time_zone: Option<String> = o.optional();
    /// Of automatic tags by watermark.
    "sink.watermark-time-zone": Text => sink_watermark_time_zone: String = o.text("UTC");

    // reading
    "scan.fallback-branch": Text => scan_fallback_branch: Option<String> = o.optional();
    "scan.primary-branch": Text => scan_primary_branch: Option<String> = o.optional();
    "source.split.target-size": Size => source_split_target_size: u64 = o.size(128 * MB)?;
    "source.split.open-file-cost": Size => source_split_open_file_cost: u64 = o.size(4 * MB)?;
    "scan.mode": Enum(ScanMode::TEXTS), aliases(&["log.scan"]) =>
        scan_mode: ScanMode = o.parsed(ScanMode::Default, ScanMode::parse)?;
    "scan.snapshot-id": Long => scan_snapshot_id: Option<i64> = o.maybe(|t| integer(t, i64::MIN))?;
    "scan.tag-name": Text => scan_tag_name: Option<String> = o.optional();
    "scan.version": Text => scan_version: Option<String> = o.optional();
    "scan.timestamp-millis": Long, aliases(&["log.scan.timestamp-millis"]) =>
        scan_timestamp_millis: Option<i64> = o.maybe(|t| integer(t, i64::MIN))?;
    "scan.timestamp": Text => scan_timestamp: Option<String> = o.optional();
    /// Only data files made at this time or later.
    "scan.file-creation-time-millis": Long =>
        scan_file_creation_time_millis: Option<i64> = o.maybe(|t| integer(t, i64::MIN))?;
    "scan.creation-time-millis": Long => scan_creation_time_millis: Option<i64> = o.maybe(|t| integer(t, i64::MIN))?;
    "scan.watermark": Long => scan_watermark: Option<i64> = o.maybe(|t| integer(t, i64::MIN))?;
    /// `start,end`, two tags or two snapshot ids.
    "incremental-between": Text => incremental_between: Option<String> = o.optional();
    /// `start,end`.
    "incremental-between-timestamp": Text => incremental_between_timestamp: Option<String> = o.optional();
    "incremental-to-auto-tag": Text => incremental_to_auto_tag: Option<String> = o.optional();
    "incremental-between-scan-mode": Enum(IncrementalMode::TEXTS) =>
        incremental_mode: IncrementalMode = o.parsed(IncrementalMode::Auto, IncrementalMode::parse)?;
    "incremental-between-tag-to-snapshot": Bool => incremental_tag_to_snapshot: bool = o.bool(false)?;
    "consumer-id": Text => consumer_id: Option<String> = o.optional();
    "consumer.ignore-progress": Bool => consumer_ignore_progress: bool = o.bool(false)?;
    "continuous.discovery-interval": Duration =>
        continuous_discovery_interval: Duration = o.duration(Duration::from_secs(10))?;
    "scan.bounded.watermark": Long => scan_bounded_watermark: Option<i64> = o.maybe(|t| integer(t, i64::MIN))?;
    "streaming-read-overwrite": Bool => streaming_read_overwrite: bool = o.bool(false)?;
    "streaming-read-append-overwrite": Bool => streaming_read_append_overwrite: bool = o.bool(false)?;
    "streaming.read.snapshot.delay": Duration =>
        streaming_read_snapshot_delay: Option<Duration> = o.maybe(parse_duration)?;
    /// `$audit_log` and `$binlog` show `_SEQUENCE_NUMBER`.
    "table-read.sequence-number.enabled": Bool, neutral("false") => table_read_sequence_number: bool = o.bool(false)?;
    /// Read this bucket only.
    "scan.bucket": Int => scan_bucket: Option<i32> = o.maybe(|t| integer(t, 0))?;
    /// A DELETE of whole partitions deletes row by row, too.
    "delete.force-produce-changelog": Bool => delete_force_produce_changelog: bool = o.bool(false)?;
    /// Of files with values of a BLOB column (default that of other files).
    "blob.target-file-size": Size => blob_target_file_size: Option<u64> = o.maybe(parse_size)?;
    /// The form of values of the type VARIANT in results.
    "siltstone.variant": Enum(VariantForm::TEXTS) =>
        variant: VariantForm = o.parsed(VariantForm::Json, VariantForm::parse)?;
    /// Where Iceberg metadata is written after each commit.
    "metadata.iceberg.storage":
        Enum(&["disabled", "table-location", "hadoop-catalog", "hive-catalog", "rest-catalog"]) =>
        iceberg_storage: String = o.text("disabled").to_ascii_lowercase();
    "metadata.iceberg.manifest-compression": Text => iceberg_manifest_compression: String = o.text("snappy");
    "metadata.iceberg.delete-after-commit.enabled": Bool => iceberg_delete_after_commit: bool = o.bool(true)?;
    "metadata.iceberg.previous-versions-max": Int => iceberg_previous_versions: u32 = o.at_least(0, 0)?;
    "file-index.read.enabled": Bool => file_index_read_enabled: bool = o.bool(true)?;
    "file-index.in-manifest-threshold": Size => file_index_in_manifest_threshold: u64 = o.size(500)?;
}

impl CoreOptions {
    /// `target-file-size`, default 128 MB for primary-key tables and 256 MB for append tables.
    pub fn target_file_size(&self, has_primary_key: bool) -> u64 {
        self.target_file_size.unwrap_or(if has_primary_key { 128 * MB } else { 256 * MB })
    }

    /// The file format of a level; `None`: of a table without levels.
    pub fn format_of_level(&self, level: Option<i32>) -> &str {
        level.and_then(|level| self.file_format_per_level.get(&level)).unwrap_or(&self.file_format)
    }

    /// Whether commits write Iceberg metadata.
    pub fn writes_iceberg(&self) -> bool {
        self.iceberg_storage != "disabled"
    }

    /// The formats that options name for data files, each with its option.
    pub fn file_formats(&self) -> Vec<(&'static str, &str)> {
        let levels = self.file_format_per_level.values().map(|format| ("file.format.per.level", format.as_str()));
        let changelogs = self.changelog_file_format.iter().map(|format| ("changelog-file.format", format.as_str()));
        std::iter::once(("file.format", self.file_format.as_str())).chain(levels).chain(changelogs).collect()
    }

    /// The compression of a level.
    pub fn compression_of_level(&self, level: Option<i32>) -> &str {
        level.and_then(|level| self.file_compression_per_level.get(&level)).unwrap_or(&self.file_compression)
    }

    /// The statistics mode of a level.
    pub fn stats_mode_of_level(&self, level: Option<i32>) -> &str {
        level.and_then(|level| self.stats_mode_per_level.get(&level)).unwrap_or(&self.stats_mode)
    }

    /// `sequence.field.sort-order` = descending
    pub fn sequence_descending(&self) -> bool {
        self.sequence_order == SortOrder::Descending
    }

    /// The length of a period that is not one of `tag.creation-period`.
    pub fn tag_own_period(&self) -> Option<Duration> {
        let whole_days = self.tag_create_interval.filter(|every| every.as_secs() != 86_400);
        self.tag_creation_period_duration.or(whole_days)
    }

    /// The length of the period of automatic tags.
    pub fn tag_period(&self) -> Duration {
        const HOUR: u64 = 3_600;
        self.tag_own_period().unwrap_or(Duration::from_secs(match self.tag_creation_period {
            TagPeriod::Daily => 24 * HOUR,
            TagPeriod::TwoHours => 2 * HOUR,
            TagPeriod::Hourly => HOUR,
        }))
    }

    /// Whether compactions look keys up in higher levels, so that level 0 must be compacted soon: lookup changelogs,
    /// deletion vectors, first-row, `force-lookup` (`CoreOptions.needLookup`).
    pub fn needs_lookup(&self) -> bool {
        self.lookup_option().is_some()
    }

    /// The option that makes compactions look keys up.
    pub fn lookup_option(&self) -> Option<&'static str> {
        [
            ("changelog-producer", self.changelog_producer == ChangelogProducer::Lookup),
            ("deletion-vectors.enabled", self.deletion_vectors_enabled),
            ("merge-engine", self.merge_engine.oldest_wins()),
            ("force-lookup", self.force_lookup),
        ]
        .into_iter()
        .find_map(|(option, given)| given.then_some(option))
    }

    /// Whether it hangs on looking keys up which row records of several levels above 0 make: they are put together, or ordered by
    /// columns, so that a later one may lie above that which counts.
    pub fn levels_matter(&self) -> bool {
        self.merge_engine.computes() || (!self.merge_engine.oldest_wins() && !self.sequence_fields.is_empty())
    }

    /// Whether batch reads leave out level 0: first-row, and deletion vectors without `deletion-vectors.merge-on-read`.
    pub fn skips_level0(&self) -> bool {
        self.merge_engine.oldest_wins() || (self.deletion_vectors_enabled && !self.deletion_vectors_merge_on_read)
    }
}

impl Default for CoreOptions {
    fn default() -> Self {
        Self::parse(&BTreeMap::new()).unwrap_or_else(|_| unreachable!("the defaults are valid"))
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
    fn the_largest_trigger_there_is_has_derived_defaults_too() {
        let most = usize::MAX.to_string();
        let o = CoreOptions::parse(&options(&[("num-sorted-run.compaction-trigger", &most)])).unwrap();
        assert_eq!((o.num_levels, o.num_sorted_run_stop_trigger), (i32::MAX, usize::MAX));
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
