//! The options of a table, parsed once.

use std::collections::BTreeMap;
use std::time::Duration;

use super::values::{
    BucketFunctionType, ChangelogProducer, ExpireMode, IncrementalMode, LookupCompact, MergeEngine,
    PartitionExpireStrategy, ScanMode, SortOrder, TagCreation, TagFormatter, TagPeriod, VariantForm, invalid,
    parse_bool, parse_days, parse_duration, parse_level_map, parse_list, parse_size, parse_time_of_day,
};
use crate::error::{Error, Result};

const MB: u64 = 1 << 20;

/// Declares each option once: its documentation, its type, and how it is read.
macro_rules! core_options {
    ($lookup:ident; $($(#[$doc:meta])* $name:ident: $type:ty = $value:expr;)+) => {
        /// Every option that siltstone acts on, with Paimon's defaults filled in. `raw` keeps all of them as text.
        #[derive(Clone, Debug, PartialEq)]
        #[allow(clippy::struct_excessive_bools, reason = "one field per option, and many options are flags")]
        pub struct CoreOptions {
            /// All options as they stand in the schema (and, over them, the dynamic ones).
            pub raw: BTreeMap<String, String>,
            $($(#[$doc])* pub $name: $type,)+
        }

        impl CoreOptions {
            /// Parses options; a value that is not of its option's form is an `InvalidOption` that names the key.
            pub fn parse(options: &BTreeMap<String, String>) -> Result<Self> {
                let $lookup = Lookup(options);
                Ok(Self { raw: options.clone(), $($name: $value,)+ })
            }
        }
    };
}

core_options! {
    o;
    // buckets and layout
    /// `bucket`: -2 postpone, -1 dynamic or unaware, else the number of buckets.
    bucket: i32 = o.int("bucket", -1)?;
    /// `bucket-key`, empty when not set (then it is the trimmed primary key).
    bucket_keys: Vec<String> = o.list("bucket-key");
    /// `bucket-function.type`
    bucket_function: BucketFunctionType =
        o.parsed("bucket-function.type", BucketFunctionType::Default, BucketFunctionType::parse)?;
    /// `bucket-append-ordered`
    bucket_append_ordered: bool = o.bool("bucket-append-ordered", true)?;
    /// `dynamic-bucket.target-row-num`
    dynamic_bucket_target_row_num: u64 = o.at_least("dynamic-bucket.target-row-num", 2_000_000, 1)?;
    /// `postpone.default-bucket-num`: buckets of a partition whose first rows leave bucket-postpone; `None`: by their size.
    postpone_default_bucket_num: Option<i32> = o.maybe("postpone.default-bucket-num", |t| integer(t, 1))?;
    /// `postpone.target-row-num-per-bucket`
    postpone_target_row_num: Option<i64> = o.maybe("postpone.target-row-num-per-bucket", |t| integer(t, 1))?;
    /// `postpone.target-size-per-bucket`
    postpone_target_size: u64 = o.parsed("postpone.target-size-per-bucket", 1 << 30, parse_target_size)?;
    /// `dynamic-bucket.max-buckets`; `None`: -1, no limit but the format's.
    dynamic_bucket_max_buckets: Option<u16> = o.maybe("dynamic-bucket.max-buckets", parse_max_buckets)?.flatten();
    /// `dynamic-bucket.initial-buckets`
    dynamic_bucket_initial_buckets: Option<u32> = o.maybe("dynamic-bucket.initial-buckets", parse_assigners)?;
    /// `dynamic-bucket.assigner-parallelism`
    dynamic_bucket_assigner_parallelism: Option<u32> =
        o.maybe("dynamic-bucket.assigner-parallelism", parse_assigners)?;
    /// `cross-partition-upsert.index-ttl`
    cross_partition_index_ttl: Option<Duration> = o.maybe("cross-partition-upsert.index-ttl", parse_duration)?;
    /// `cross-partition-upsert.bootstrap-parallelism`
    cross_partition_bootstrap_parallelism: u64 = o.at_least("cross-partition-upsert.bootstrap-parallelism", 10, 1)?;
    /// `record-level.expire-time`: how old rows of primary-key tables may be when they are compacted.
    record_level_expire_time: Option<Duration> = o.maybe("record-level.expire-time", parse_duration)?;
    /// `record-level.time-field`
    record_level_time_field: Option<String> = o.optional("record-level.time-field");
    /// `branch`
    branch: String = o.text("branch", "main");
    /// `partition.default-name`
    partition_default_name: String = o.text("partition.default-name", "__DEFAULT_PARTITION__");
    /// `partition.legacy-name`
    partition_legacy_name: bool = o.bool("partition.legacy-name", true)?;
    /// `data-file.path-directory`
    data_file_path_directory: Option<String> = o.optional("data-file.path-directory");
    /// `index-file-in-data-file-dir`
    index_file_in_data_file_dir: bool = o.bool("index-file-in-data-file-dir", false)?;
    /// `data-file.thin-mode`
    thin_mode: bool = o.bool("data-file.thin-mode", false)?;

    // data files
    /// `data-file.prefix`
    data_file_prefix: String = o.text("data-file.prefix", "data-");
    /// `changelog-file.prefix`
    changelog_file_prefix: String = o.text("changelog-file.prefix", "changelog-");
    /// `file.format`, lower case
    file_format: String = o.text("file.format", "parquet").to_ascii_lowercase();
    /// `file.format.per.level`, lower case
    file_format_per_level: BTreeMap<i32, String> = lower(o.levels("file.format.per.level")?);
    /// `file.compression`
    file_compression: String = o.text("file.compression", "zstd");
    /// `file.compression.per.level`
    file_compression_per_level: BTreeMap<i32, String> = o.levels("file.compression.per.level")?;
    /// `file.compression.zstd-level`
    zstd_level: i32 = o.int("file.compression.zstd-level", 1)?;
    /// `file.block-size`: Parquet row group size
    file_block_size: Option<u64> = o.maybe("file.block-size", parse_size)?;
    /// `file.suffix.include.compression`
    file_suffix_include_compression: bool = o.bool("file.suffix.include.compression", false)?;
    /// `changelog-file.format`
    changelog_file_format: Option<String> = o.optional("changelog-file.format").map(|f| f.to_ascii_lowercase());
    /// `changelog-file.compression`
    changelog_file_compression: Option<String> = o.optional("changelog-file.compression");
    /// `target-file-size`; the default depends on the table, see [`CoreOptions::target_file_size`].
    target_file_size: Option<u64> = o.maybe("target-file-size", parse_size)?;
    /// `target-file-row-num`
    target_file_row_num: u64 = o.long("target-file-row-num", u64::MAX)?;
    /// `parquet.*` with their full names
    parquet: BTreeMap<String, String> = o.with_prefix("parquet.");

    // statistics
    /// `metadata.stats-mode`
    stats_mode: String = o.text("metadata.stats-mode", "truncate(16)");
    /// `metadata.stats-mode.per.level`
    stats_mode_per_level: BTreeMap<i32, String> = o.levels("metadata.stats-mode.per.level")?;
    /// `changelog-file.stats-mode`
    changelog_stats_mode: Option<String> = o.optional("changelog-file.stats-mode");
    /// `metadata.stats-dense-store`
    stats_dense_store: bool = o.bool("metadata.stats-dense-store", true)?;
    /// `metadata.stats-keep-first-n-columns`; -1 keeps all
    stats_keep_first_n_columns: i32 = o.int("metadata.stats-keep-first-n-columns", -1)?;
    /// `fields.<column>.stats-mode`
    field_stats_mode: BTreeMap<String, String> = o.per_field("stats-mode");

    // manifests
    /// `manifest.format` (up to 1.4), lower case
    manifest_format: String = o.text("manifest.format", "avro").to_ascii_lowercase();
    /// `manifest.compression`
    manifest_compression: String = o.text("manifest.compression", "zstd");
    /// `manifest.target-file-size`
    manifest_target_file_size: u64 = o.size("manifest.target-file-size", 8 * MB)?;
    /// `manifest.full-compaction-threshold-size`
    manifest_full_compaction_threshold_size: u64 = o.size("manifest.full-compaction-threshold-size", 16 * MB)?;
    /// `manifest.merge-min-count`
    manifest_merge_min_count: usize = o.at_least("manifest.merge-min-count", 30, 0)?;
    /// `manifest.delete-file-drop-stats`
    manifest_delete_file_drop_stats: bool = o.bool("manifest.delete-file-drop-stats", false)?;

    // merging
    /// `merge-engine`
    merge_engine: MergeEngine = o.parsed("merge-engine", MergeEngine::Deduplicate, MergeEngine::parse)?;
    /// `sequence.field`
    sequence_fields: Vec<String> = o.list("sequence.field");
    /// `sequence.field.sort-order`
    sequence_order: SortOrder = o.parsed("sequence.field.sort-order", SortOrder::Ascending, SortOrder::parse)?;
    /// `ignore-delete` and its aliases
    ignore_delete: bool = o.bool("ignore-delete", false)?;
    /// `ignore-update-before`
    ignore_update_before: bool = o.bool("ignore-update-before", false)?;
    /// `rowkind.field`
    rowkind_field: Option<String> = o.optional("rowkind.field");
    /// `changelog-producer`
    changelog_producer: ChangelogProducer =
        o.parsed("changelog-producer", ChangelogProducer::None, ChangelogProducer::parse)?;
    /// `changelog-producer.row-deduplicate`
    changelog_row_deduplicate: bool = o.bool("changelog-producer.row-deduplicate", false)?;
    /// `changelog-producer.row-deduplicate-ignore-fields`
    changelog_row_deduplicate_ignore_fields: Vec<String> = o.list("changelog-producer.row-deduplicate-ignore-fields");
    /// `row-tracking.enabled`
    row_tracking_enabled: bool = o.bool("row-tracking.enabled", false)?;
    /// `data-evolution.enabled`
    data_evolution_enabled: bool = o.bool("data-evolution.enabled", false)?;
    /// `deletion-vectors.enabled`
    deletion_vectors_enabled: bool = o.bool("deletion-vectors.enabled", false)?;
    /// `deletion-vectors.bitmap64`
    deletion_vectors_bitmap64: bool = o.bool("deletion-vectors.bitmap64", false)?;
    /// `deletion-vectors.merge-on-read`
    deletion_vectors_merge_on_read: bool = o.bool("deletion-vectors.merge-on-read", false)?;
    /// `deletion-vector.index-file.target-size`
    deletion_vector_index_file_target_size: u64 = o.size("deletion-vector.index-file.target-size", 2 * MB)?;
    /// `siltstone.compact-deleted-ratio`: files above level 0 of which a larger share is deleted by vectors are rewritten
    compact_deleted_ratio: Option<f64> = o.maybe("siltstone.compact-deleted-ratio", parse_ratio)?;
    /// `force-lookup`
    force_lookup: bool = o.bool("force-lookup", false)?;
    /// `lookup-wait`: a writer of many commits waits for the compaction of level 0
    lookup_wait: bool = o.bool("lookup-wait", true)?;
    /// `lookup-compact`
    lookup_compact: LookupCompact = o.parsed("lookup-compact", LookupCompact::Radical, LookupCompact::parse)?;
    /// `lookup-compact.max-interval`, by default twice the compaction trigger and never below it
    lookup_compact_max_interval: usize =
        o.at_least("lookup-compact.max-interval", o.trigger()?.saturating_mul(2), 1)?.max(o.trigger()?);
    /// `lookup.cache-max-memory-size`
    lookup_cache_max_memory_size: u64 = o.size("lookup.cache-max-memory-size", 256 * MB)?;

    // write buffer
    /// `write-buffer-size`
    write_buffer_size: u64 = o.size("write-buffer-size", 256 * MB)?;
    /// `write-buffer-spillable`
    write_buffer_spillable: bool = o.bool("write-buffer-spillable", true)?;
    /// `write-buffer-spill.max-disk-size`
    write_buffer_spill_max_disk_size: u64 = o.size("write-buffer-spill.max-disk-size", u64::MAX)?;
    /// `sort-spill-threshold`
    sort_spill_threshold: Option<usize> = o.maybe("sort-spill-threshold", |t| integer(t, 1))?;
    /// `spill-compression`
    spill_compression: String = o.text("spill-compression", "zstd");
    /// `local-sort.max-num-file-handles`
    local_sort_max_file_handles: usize = o.at_least("local-sort.max-num-file-handles", 128, 2)?;

    // compaction
    /// `write-only` (alias `write.compaction-skip`)
    write_only: bool = o.bool("write-only", false)?;
    /// `num-sorted-run.compaction-trigger`
    num_sorted_run_compaction_trigger: usize = o.trigger()?;
    /// `num-sorted-run.stop-trigger`, default trigger + 3
    num_sorted_run_stop_trigger: usize =
        o.at_least("num-sorted-run.stop-trigger", o.trigger()?.saturating_add(3), 1)?.max(o.trigger()?);
    /// `num-levels`, default trigger + 1
    num_levels: i32 = o.int("num-levels", i32::try_from(o.trigger()?.saturating_add(1)).unwrap_or(i32::MAX))?;
    /// `compaction.max-size-amplification-percent`
    compaction_max_size_amplification_percent: u64 = o.long("compaction.max-size-amplification-percent", 200)?;
    /// `compaction.size-ratio`
    compaction_size_ratio: u64 = o.long("compaction.size-ratio", 1)?;
    /// `compaction.small-file-ratio`
    compaction_small_file_ratio: f64 = o.double("compaction.small-file-ratio", 0.7)?;
    /// `compaction.optimization-interval`
    compaction_optimization_interval: Option<Duration> = o.maybe("compaction.optimization-interval", parse_duration)?;
    /// `compaction.total-size-threshold`
    compaction_total_size_threshold: Option<u64> = o.maybe("compaction.total-size-threshold", parse_size)?;
    /// `compaction.incremental-size-threshold`
    compaction_incremental_size_threshold: Option<u64> =
        o.maybe("compaction.incremental-size-threshold", parse_size)?;
    /// `compaction.offpeak.start.hour`; -1 is off
    compaction_offpeak_start_hour: i32 = o.int("compaction.offpeak.start.hour", -1)?;
    /// `compaction.offpeak.end.hour`; -1 is off
    compaction_offpeak_end_hour: i32 = o.int("compaction.offpeak.end.hour", -1)?;
    /// `compaction.offpeak-ratio`
    compaction_offpeak_ratio: u64 = o.long("compaction.offpeak-ratio", 0)?;
    /// `compaction.force-up-level-0`
    compaction_force_up_level_0: bool = o.bool("compaction.force-up-level-0", false)?;
    /// `compaction.force-rewrite-all-files`
    compaction_force_rewrite_all_files: bool = o.bool("compaction.force-rewrite-all-files", false)?;
    /// `compaction.min.file-num`
    compaction_min_file_num: usize = o.at_least("compaction.min.file-num", 5, 1)?;
    /// `compaction.file-num-limit`
    compaction_file_num_limit: usize = o.at_least("compaction.file-num-limit", 100_000, 1)?;
    /// `compaction.delete-ratio-threshold`
    compaction_delete_ratio_threshold: f64 = o.double("compaction.delete-ratio-threshold", 0.2)?;
    /// `full-compaction.delta-commits`
    full_compaction_delta_commits: Option<u32> = o.maybe("full-compaction.delta-commits", |t| integer(t, 1))?;
    /// `overwrite-upgrade`
    overwrite_upgrade: bool = o.bool("overwrite-upgrade", true)?;

    // commit
    /// `commit.user-prefix`
    commit_user_prefix: Option<String> = o.optional("commit.user-prefix");
    /// `commit.max-retries`
    commit_max_retries: u32 = o.at_least("commit.max-retries", 10, 0)?;
    /// `commit.timeout`
    commit_timeout: Option<Duration> = o.maybe("commit.timeout", parse_duration)?;
    /// `commit.min-retry-wait`
    commit_min_retry_wait: Duration = o.duration("commit.min-retry-wait", Duration::from_millis(10))?;
    /// `commit.max-retry-wait`
    commit_max_retry_wait: Duration = o.duration("commit.max-retry-wait", Duration::from_secs(10))?;
    /// `commit.force-create-snapshot`
    commit_force_create_snapshot: bool = o.bool("commit.force-create-snapshot", false)?;
    /// `commit.force-compact`
    commit_force_compact: bool = o.bool("commit.force-compact", false)?;
    /// `commit.discard-duplicate-files`
    commit_discard_duplicate_files: bool = o.bool("commit.discard-duplicate-files", false)?;
    /// `snapshot.ignore-empty-commit`
    snapshot_ignore_empty_commit: Option<bool> = o.maybe("snapshot.ignore-empty-commit", parse_bool)?;
    /// `dynamic-partition-overwrite`
    dynamic_partition_overwrite: bool = o.bool("dynamic-partition-overwrite", true)?;
    /// `siltstone.sync`: whether files are made durable before a snapshot is published (default true)
    sync: bool = o.bool("siltstone.sync", true)?;
    /// `siltstone.upkeep-lock-timeout`: how long an expiry, a rollback, … waits for another one to end (default 30 s)
    upkeep_lock_timeout: Duration = o.duration("siltstone.upkeep-lock-timeout", Duration::from_secs(30))?;

    // snapshots, tags, partitions: how long they are kept
    /// `snapshot.num-retained.min`
    snapshot_num_retained_min: u32 = o.at_least("snapshot.num-retained.min", 10, 1)?;
    /// `snapshot.num-retained.max`
    snapshot_num_retained_max: u32 = o.at_least("snapshot.num-retained.max", i32::MAX.unsigned_abs(), 1)?;
    /// `snapshot.time-retained`
    snapshot_time_retained: Duration = o.duration("snapshot.time-retained", Duration::from_secs(3600))?;
    /// `snapshot.expire.limit`
    snapshot_expire_limit: u32 = o.at_least("snapshot.expire.limit", 50, 1)?;
    /// `snapshot.expire.execution-mode`
    snapshot_expire_mode: ExpireMode =
        o.parsed("snapshot.expire.execution-mode", ExpireMode::Sync, ExpireMode::parse)?;
    /// `snapshot.clean-empty-directories`
    snapshot_clean_empty_directories: bool = o.bool("snapshot.clean-empty-directories", false)?;
    /// `changelog.num-retained.min`, default that of snapshots
    changelog_num_retained_min: Option<u32> = o.maybe("changelog.num-retained.min", |t| integer(t, 1))?;
    /// `changelog.num-retained.max`, default that of snapshots
    changelog_num_retained_max: Option<u32> = o.maybe("changelog.num-retained.max", |t| integer(t, 1))?;
    /// `changelog.time-retained`, default that of snapshots
    changelog_time_retained: Option<Duration> = o.maybe("changelog.time-retained", parse_duration)?;
    /// `consumer.expiration-time`
    consumer_expiration_time: Option<Duration> = o.maybe("consumer.expiration-time", parse_duration)?;
    /// `consumer.changelog-only`: consumers keep changelogs, not snapshots
    consumer_changelog_only: bool = o.bool("consumer.changelog-only", false)?;
    /// `partition.expiration-time`
    partition_expiration_time: Option<Duration> = o.maybe("partition.expiration-time", parse_duration)?;
    /// `partition.expiration-check-interval`
    partition_expiration_check_interval: Duration =
        o.duration("partition.expiration-check-interval", Duration::from_secs(3600))?;
    /// `partition.expiration-strategy`
    partition_expiration_strategy: PartitionExpireStrategy =
        o.parsed("partition.expiration-strategy", PartitionExpireStrategy::ValuesTime, PartitionExpireStrategy::parse)?;
    /// `partition.expiration-max-num`
    partition_expiration_max_num: usize = o.at_least("partition.expiration-max-num", 100, 1)?;
    /// `partition.expiration-batch-size`: so many partitions go in one commit; 0: all in one
    partition_expiration_batch_size: usize = o.at_least("partition.expiration-batch-size", 0, 0)?;
    /// `end-input.check-partition-expire`: every batch commit looks for old partitions, whatever the interval
    end_input_check_partition_expire: bool = o.bool("end-input.check-partition-expire", false)?;
    /// `partition.timestamp-formatter`
    partition_timestamp_formatter: Option<String> = o.optional("partition.timestamp-formatter");
    /// `partition.timestamp-pattern`
    partition_timestamp_pattern: Option<String> = o.optional("partition.timestamp-pattern");
    /// `tag.automatic-creation`
    tag_automatic_creation: TagCreation = o.parsed("tag.automatic-creation", TagCreation::None, TagCreation::parse)?;
    /// `tag.creation-period`
    tag_creation_period: TagPeriod = o.parsed("tag.creation-period", TagPeriod::Daily, TagPeriod::parse)?;
    /// `tag.creation-period-duration`
    tag_creation_period_duration: Option<Duration> = o.maybe("tag.creation-period-duration", parse_duration)?;
    /// `tag.creation-delay`
    tag_creation_delay: Duration = o.duration("tag.creation-delay", Duration::ZERO)?;
    /// `tag.create-time` (`hh:mm`), an older proposal's words for a daily tag with a delay after midnight
    tag_create_time: Option<Duration> = o.maybe("tag.create-time", parse_time_of_day)?;
    /// `tag.create-interval` (whole days), that proposal's words for the period
    tag_create_interval: Option<Duration> = o.maybe("tag.create-interval", parse_days)?;
    /// `tag.period-formatter`
    tag_period_formatter: TagFormatter =
        o.parsed("tag.period-formatter", TagFormatter::WithDashes, TagFormatter::parse)?;
    /// `tag.automatic-completion`
    tag_automatic_completion: bool = o.bool("tag.automatic-completion", false)?;
    /// `tag.num-retained-max`
    tag_num_retained_max: Option<usize> = o.maybe("tag.num-retained-max", |t| integer(t, 1))?;
    /// `tag.default-time-retained`
    tag_default_time_retained: Option<Duration> = o.maybe("tag.default-time-retained", parse_duration)?;
    /// `tag.time-expire-enabled`
    tag_time_expire_enabled: bool = o.bool("tag.time-expire-enabled", true)?;
    /// `tag.batch.customized-name`
    tag_batch_customized_name: Option<String> = o.optional("tag.batch.customized-name");
    /// `tag.create-success-file`
    tag_create_success_file: bool = o.bool("tag.create-success-file", false)?;
    /// `sink.process-time-zone`: of automatic tags by process time
    sink_process_time_zone: Option<String> = o.optional("sink.process-time-zone");
    /// `sink.watermark-time-zone`: of automatic tags by watermark
    sink_watermark_time_zone: String = o.text("sink.watermark-time-zone", "UTC");

    // reading
    /// `scan.fallback-branch`
    scan_fallback_branch: Option<String> = o.optional("scan.fallback-branch");
    /// `scan.primary-branch`
    scan_primary_branch: Option<String> = o.optional("scan.primary-branch");
    /// `source.split.target-size`
    source_split_target_size: u64 = o.size("source.split.target-size", 128 * MB)?;
    /// `source.split.open-file-cost`
    source_split_open_file_cost: u64 = o.size("source.split.open-file-cost", 4 * MB)?;
    /// `scan.mode`
    scan_mode: ScanMode = o.parsed("scan.mode", ScanMode::Default, ScanMode::parse)?;
    /// `scan.snapshot-id`
    scan_snapshot_id: Option<i64> = o.maybe("scan.snapshot-id", |t| integer(t, i64::MIN))?;
    /// `scan.tag-name`
    scan_tag_name: Option<String> = o.optional("scan.tag-name");
    /// `scan.version`
    scan_version: Option<String> = o.optional("scan.version");
    /// `scan.timestamp-millis`
    scan_timestamp_millis: Option<i64> = o.maybe("scan.timestamp-millis", |t| integer(t, i64::MIN))?;
    /// `scan.timestamp`
    scan_timestamp: Option<String> = o.optional("scan.timestamp");
    /// `scan.file-creation-time-millis`: only data files made at this time or later
    scan_file_creation_time_millis: Option<i64> =
        o.maybe("scan.file-creation-time-millis", |t| integer(t, i64::MIN))?;
    /// `scan.creation-time-millis`
    scan_creation_time_millis: Option<i64> = o.maybe("scan.creation-time-millis", |t| integer(t, i64::MIN))?;
    /// `scan.watermark`
    scan_watermark: Option<i64> = o.maybe("scan.watermark", |t| integer(t, i64::MIN))?;
    /// `incremental-between`: `start,end`, two tags or two snapshot ids
    incremental_between: Option<String> = o.optional("incremental-between");
    /// `incremental-between-timestamp`: `start,end`
    incremental_between_timestamp: Option<String> = o.optional("incremental-between-timestamp");
    /// `incremental-to-auto-tag`
    incremental_to_auto_tag: Option<String> = o.optional("incremental-to-auto-tag");
    /// `incremental-between-scan-mode`
    incremental_mode: IncrementalMode =
        o.parsed("incremental-between-scan-mode", IncrementalMode::Auto, IncrementalMode::parse)?;
    /// `incremental-between-tag-to-snapshot`
    incremental_tag_to_snapshot: bool = o.bool("incremental-between-tag-to-snapshot", false)?;
    /// `consumer-id`
    consumer_id: Option<String> = o.optional("consumer-id");
    /// `consumer.ignore-progress`
    consumer_ignore_progress: bool = o.bool("consumer.ignore-progress", false)?;
    /// `continuous.discovery-interval`
    continuous_discovery_interval: Duration = o.duration("continuous.discovery-interval", Duration::from_secs(10))?;
    /// `scan.bounded.watermark`
    scan_bounded_watermark: Option<i64> = o.maybe("scan.bounded.watermark", |t| integer(t, i64::MIN))?;
    /// `streaming-read-overwrite`
    streaming_read_overwrite: bool = o.bool("streaming-read-overwrite", false)?;
    /// `streaming-read-append-overwrite`
    streaming_read_append_overwrite: bool = o.bool("streaming-read-append-overwrite", false)?;
    /// `streaming.read.snapshot.delay`
    streaming_read_snapshot_delay: Option<Duration> = o.maybe("streaming.read.snapshot.delay", parse_duration)?;
    /// `table-read.sequence-number.enabled`: `$audit_log` and `$binlog` show `_SEQUENCE_NUMBER`
    table_read_sequence_number: bool = o.bool("table-read.sequence-number.enabled", false)?;
    /// `scan.bucket`: read this bucket only
    scan_bucket: Option<i32> = o.maybe("scan.bucket", |t| integer(t, 0))?;
    /// `delete.force-produce-changelog`: a DELETE of whole partitions deletes row by row, too
    delete_force_produce_changelog: bool = o.bool("delete.force-produce-changelog", false)?;
    /// `blob.target-file-size`: of files with values of a BLOB column (default that of other files)
    blob_target_file_size: Option<u64> = o.maybe("blob.target-file-size", parse_size)?;
    /// `siltstone.variant`: the form of values of the type VARIANT in results (default JSON text)
    variant: VariantForm = o.parsed("siltstone.variant", VariantForm::Json, VariantForm::parse)?;
    /// `file-index.read.enabled`
    file_index_read_enabled: bool = o.bool("file-index.read.enabled", true)?;
    /// `file-index.in-manifest-threshold`
    file_index_in_manifest_threshold: u64 = o.size("file-index.in-manifest-threshold", 500)?;
}

impl CoreOptions {
    /// The same options with others set over them.
    pub fn with(&self, dynamic: &BTreeMap<String, String>) -> Result<Self> {
        Self::parse(&super::overlay(&self.raw, dynamic))
    }

    /// `target-file-size`, default 128 MB for primary-key tables and 256 MB for append tables.
    pub fn target_file_size(&self, has_primary_key: bool) -> u64 {
        self.target_file_size.unwrap_or(if has_primary_key { 128 * MB } else { 256 * MB })
    }

    /// The file format of a level; `None`: of a table without levels.
    pub fn format_of_level(&self, level: Option<i32>) -> &str {
        level.and_then(|level| self.file_format_per_level.get(&level)).unwrap_or(&self.file_format)
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
            ("merge-engine", self.merge_engine == MergeEngine::FirstRow),
            ("force-lookup", self.force_lookup),
        ]
        .into_iter()
        .find_map(|(option, given)| given.then_some(option))
    }

    /// Whether batch reads leave out level 0: first-row, and deletion vectors without `deletion-vectors.merge-on-read`.
    pub fn skips_level0(&self) -> bool {
        self.merge_engine == MergeEngine::FirstRow
            || (self.deletion_vectors_enabled && !self.deletion_vectors_merge_on_read)
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

/// A size that something can be divided by.
fn parse_target_size(text: &str) -> Result<u64> {
    match parse_size(text)? {
        0 => Err(invalid(text, "a size of at least 1 byte")),
        size => Ok(size),
    }
}

/// Java keeps the numbers of dynamic buckets in 15 bits.
fn parse_max_buckets(text: &str) -> Result<Option<u16>> {
    match text.trim().parse::<i32>() {
        Ok(-1) => Ok(None),
        Ok(most @ 1..=32_767) => Ok(u16::try_from(most).ok()),
        _ => Err(invalid(text, "-1 or a number of buckets from 1 to 32767")),
    }
}

/// As many as there may be buckets.
fn parse_assigners(text: &str) -> Result<u32> {
    let number = text.trim().parse::<u32>().ok().filter(|number| (1..=32_767).contains(number));
    number.ok_or_else(|| invalid(text, "a number from 1 to 32767"))
}

fn parse_ratio(text: &str) -> Result<f64> {
    let ratio = text.trim().parse::<f64>().ok().filter(|ratio| (0.0..=1.0).contains(ratio));
    ratio.ok_or_else(|| invalid(text, "a number from 0 to 1"))
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

    /// `num-sorted-run.compaction-trigger`, on which other defaults depend.
    fn trigger(&self) -> Result<usize> {
        self.at_least("num-sorted-run.compaction-trigger", 5, 1)
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
