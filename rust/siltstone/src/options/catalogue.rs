//! Every table option of Paimon 0.5 to 2.x, with what siltstone does about it.
//!
//! Taken from `CoreOptions` of each release line, the connector options of Flink and Spark that end up in tables, and
//! format chapter 12. A key that is not here and lies in one of Paimon's namespaces is a typing error.

use super::values::{
    BucketFunctionType, ChangelogProducer, LookupCompact, MergeEngine, ScanMode, SortOrder, VariantForm,
};
use Class::{Harmless, Honoured, Refused, RefusedForWrite, RefusedToSet};

/// What siltstone does about an option that is set to something else than its neutral value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// It does what the option says.
    Honoured,
    /// It ignores the option, and no row, file or snapshot is wrong because of that: tuning of other engines,
    /// maintenance that siltstone does only when asked.
    Harmless,
    /// Nobody may set it here, because it would do nothing; tables of others that have it are read and written.
    RefusedToSet,
    /// Tables with it are read, not written.
    RefusedForWrite,
    /// Tables with it are neither read nor written.
    Refused,
}

/// The form of an option's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Any text.
    Text,
    /// `true` or `false`
    Bool,
    /// i32
    Int,
    /// i64
    Long,
    /// A decimal number.
    Double,
    /// `128 mb`
    Size,
    /// `10 min`
    Duration,
    /// `0:avro,5:parquet`
    Levels,
    /// One of these texts.
    Enum(&'static [&'static str]),
}

/// One option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// Its key.
    pub key: &'static str,
    /// The form of its value.
    pub kind: Kind,
    /// What siltstone does about it.
    pub class: Class,
    /// For refused options: the value that asks for nothing, usually the default.
    pub neutral: Option<&'static str>,
    /// Whether it is fixed once the table has a snapshot.
    pub immutable: bool,
    /// Older keys that still work.
    pub aliases: &'static [&'static str],
}

impl Known {
    const fn neutral(mut self, value: &'static str) -> Self {
        self.neutral = Some(value);
        self
    }

    const fn immutable(mut self) -> Self {
        self.immutable = true;
        self
    }

    const fn aliases(mut self, keys: &'static [&'static str]) -> Self {
        self.aliases = keys;
        self
    }

    /// Whether `value` asks for nothing special.
    pub fn is_neutral(&self, value: &str) -> bool {
        let Some(neutral) = self.neutral else { return value.trim().is_empty() };
        let same = |text: &str| text.trim().replace('_', "-").eq_ignore_ascii_case(neutral);
        match self.kind {
            Kind::Levels => value.split(',').all(|part| part.split_once(':').is_some_and(|(_, format)| same(format))),
            _ => value.trim().is_empty() || same(value),
        }
    }
}

const fn row(key: &'static str, kind: Kind, class: Class) -> Known {
    Known { key, kind, class, neutral: None, immutable: false, aliases: &[] }
}

/// The option of this key or alias; also `fields.<column>.<suffix>` and `file-index.<type>....`.
pub fn find(key: &str) -> Option<Known> {
    let direct = OPTIONS.binary_search_by(|known| known.key.cmp(key)).ok().and_then(|at| OPTIONS.get(at).copied());
    direct
        .or_else(|| OPTIONS.iter().find(|known| known.aliases.contains(&key)).copied())
        .or_else(|| FIELD_OPTIONS.iter().find(|known| is_field_option(key, known.key)).copied())
        .or_else(|| PREFIXES.iter().find(|known| key.len() > known.key.len() && key.starts_with(known.key)).copied())
}

fn is_field_option(key: &str, suffix: &str) -> bool {
    column_of_field_option(key, suffix).is_some()
}

/// `fields.<column>.<suffix>` → column (or several, separated by commas).
pub fn column_of_field_option<'a>(key: &'a str, suffix: &str) -> Option<&'a str> {
    let column = key.strip_prefix("fields.")?.strip_suffix(suffix)?.strip_suffix('.')?;
    (!column.is_empty()).then_some(column)
}

/// `fields.<columns>.<suffix>` with a known suffix → (columns, suffix). Names of columns may have dots.
pub fn field_option(key: &str) -> Option<(&str, &'static str)> {
    FIELD_OPTIONS.iter().find_map(|known| Some((column_of_field_option(key, known.key)?, known.key)))
}

/// All keys of the option that `key` is one of, its name first; a key that is no option's, or of a single column, is alone.
pub fn spellings(key: &str) -> impl Iterator<Item = &str> {
    let known = OPTIONS.iter().find(|known| known.key == key || known.aliases.contains(&key));
    let (name, others) = known.map_or((key, &[] as &[&str]), |known| (known.key, known.aliases));
    std::iter::once(name).chain(others.iter().copied())
}

/// The aliases of an option.
pub fn aliases(key: &str) -> &'static [&'static str] {
    OPTIONS.binary_search_by(|known| known.key.cmp(key)).ok().and_then(|at| OPTIONS.get(at)).map_or(&[], |k| k.aliases)
}

/// Of files that are spilled.
const BLOCK_COMPRESSIONS: &[&str] = &["none", "zstd", "lz4", "lzo"];

/// All options, sorted by key.
#[rustfmt::skip]
pub const OPTIONS: &[Known] = &[
    row("add-column-before-partition", Kind::Bool, Honoured),
    row("aggregation.remove-record-on-delete", Kind::Bool, Honoured).immutable(),
    row("alter-column-null-to-not-null.disabled", Kind::Bool, Honoured),
    row("async-file-write", Kind::Bool, Harmless),
    row("auto-create", Kind::Bool, Harmless),
    row("batch-scan-mode", Kind::Enum(&["none", "compact"]), Harmless),
    row("blob-as-descriptor", Kind::Bool, Honoured),
    row("blob-compaction.enabled", Kind::Bool, Harmless),
    row("blob-descriptor-field", Kind::Text, Refused).immutable().aliases(&["blob.stored-descriptor-fields"]),
    row("blob-descriptor.source-table", Kind::Text, Harmless),
    row("blob-external-storage-field", Kind::Text, Refused).immutable(),
    row("blob-external-storage-path", Kind::Text, Harmless).immutable(),
    row("blob-field", Kind::Text, RefusedToSet).neutral("").immutable(),
    row("blob-view-field", Kind::Text, Refused).immutable(),
    row("blob-view.resolve.enabled", Kind::Bool, Harmless),
    row("blob-write-null-on-fetch-failure", Kind::Bool, Harmless),
    row("blob-write-null-on-missing-file", Kind::Bool, Harmless),
    row("blob.copy-buffer-size", Kind::Size, Harmless),
    row("blob.split-by-file-size", Kind::Bool, Harmless),
    row("blob.target-file-size", Kind::Size, Honoured),
    row("branch", Kind::Text, Honoured),
    row("bucket", Kind::Int, Honoured),
    row("bucket-append-ordered", Kind::Bool, Honoured),
    row("bucket-function.type", Kind::Enum(BucketFunctionType::TEXTS), Honoured).immutable(),
    row("bucket-key", Kind::Text, Honoured).immutable(),
    row("cache-page-size", Kind::Size, Harmless),
    row("chain-table.chain-partition-keys", Kind::Text, Harmless),
    row("chain-table.enabled", Kind::Bool, Refused).neutral("false"),
    row("chain-table.split.key-range-enabled", Kind::Bool, Harmless),
    row("chain-table.streaming.merge-snapshot", Kind::Bool, Harmless),
    row("changelog-file.compression", Kind::Text, Honoured),
    row("changelog-file.format", Kind::Text, Honoured),
    row("changelog-file.prefix", Kind::Text, Honoured),
    row("changelog-file.stats-mode", Kind::Text, Honoured),
    row("changelog-producer", Kind::Enum(ChangelogProducer::TEXTS), Honoured),
    row("changelog-producer.compaction-interval", Kind::Text, Harmless),
    row("changelog-producer.row-deduplicate", Kind::Bool, Honoured),
    row("changelog-producer.row-deduplicate-ignore-fields", Kind::Text, Honoured),
    row("changelog.num-retained.max", Kind::Int, Honoured),
    row("changelog.num-retained.min", Kind::Int, Honoured),
    row("changelog.precommit-compact", Kind::Text, Harmless),
    row("changelog.precommit-compact.buffer-size", Kind::Text, Harmless),
    row("changelog.precommit-compact.thread-num", Kind::Text, Harmless),
    row("changelog.time-retained", Kind::Duration, Honoured),
    row("clustering.columns", Kind::Text, Harmless).aliases(&["sink.clustering.by-columns"]),
    row("clustering.history-partition.idle-to-full-sort", Kind::Duration, Harmless),
    row("clustering.history-partition.limit", Kind::Int, Harmless),
    row("clustering.incremental", Kind::Bool, RefusedForWrite).neutral("false"),
    row("clustering.incremental.mode", Kind::Enum(&["global-sort", "local-sort"]), Harmless),
    row("clustering.incremental.optimize-write", Kind::Bool, Harmless),
    row("clustering.strategy", Kind::Text, Harmless).aliases(&["sink.clustering.strategy"]),
    row("commit.callback.#.param", Kind::Text, Harmless),
    row("commit.callbacks", Kind::Text, RefusedForWrite).neutral(""),
    row("commit.custom-listeners", Kind::Text, Harmless),
    row("commit.discard-duplicate-files", Kind::Bool, Honoured),
    row("commit.force-compact", Kind::Bool, Honoured),
    row("commit.force-create-snapshot", Kind::Bool, Honoured),
    row("commit.max-retries", Kind::Int, Honoured),
    row("commit.max-retry-wait", Kind::Duration, Honoured),
    row("commit.min-retry-wait", Kind::Duration, Honoured),
    row("commit.strict-mode.last-safe-snapshot", Kind::Long, RefusedForWrite),
    row("commit.timeout", Kind::Duration, Honoured),
    row("commit.user-prefix", Kind::Text, Honoured),
    row("compaction.bucket-distribution-strategy", Kind::Text, Harmless),
    row("compaction.delete-ratio-threshold", Kind::Double, Honoured),
    row("compaction.file-num-limit", Kind::Int, Honoured),
    row("compaction.force-rewrite-all-files", Kind::Bool, Honoured),
    row("compaction.force-up-level-0", Kind::Bool, Honoured),
    row("compaction.incremental-size-threshold", Kind::Size, Honoured),
    row("compaction.max-size-amplification-percent", Kind::Int, Honoured),
    row("compaction.max.file-num", Kind::Int, Harmless).aliases(&["compaction.early-max.file-num"]),
    row("compaction.min.file-num", Kind::Int, Honoured),
    row("compaction.offpeak-ratio", Kind::Int, Honoured),
    row("compaction.offpeak.end.hour", Kind::Int, Honoured),
    row("compaction.offpeak.start.hour", Kind::Int, Honoured),
    row("compaction.optimization-interval", Kind::Duration, Honoured),
    row("compaction.size-ratio", Kind::Int, Honoured),
    row("compaction.skip-expired-partitions", Kind::Bool, Harmless),
    row("compaction.small-file-ratio", Kind::Double, Honoured),
    row("compaction.total-size-threshold", Kind::Size, Honoured),
    row("consumer-id", Kind::Text, Honoured),
    row("consumer.changelog-only", Kind::Bool, Honoured),
    row("consumer.expiration-time", Kind::Duration, Honoured),
    row("consumer.ignore-progress", Kind::Bool, Honoured),
    row("consumer.mode", Kind::Enum(&["exactly-once", "at-least-once"]), Harmless),
    row("continuous.discovery-interval", Kind::Duration, Honoured),
    row("cross-partition-upsert.bootstrap-parallelism", Kind::Int, Honoured),
    row("cross-partition-upsert.index-ttl", Kind::Duration, Honoured),
    row("data-evolution.compaction.rewrite-row-ids", Kind::Bool, Harmless),
    row("data-evolution.enabled", Kind::Bool, Honoured).immutable(),
    row("data-evolution.merge-into.file-pruning", Kind::Bool, Harmless),
    row("data-evolution.merge-into.source-persist", Kind::Bool, Harmless),
    row("data-evolution.reassign.skip-contiguous-row-count", Kind::Long, Harmless),
    row("data-evolution.row-id-conflict-rewrite.max-size", Kind::Size, Harmless),
    row("data-evolution.row-sidecar.enabled", Kind::Bool, Harmless),
    row("data-evolution.row-sidecar.max-selected-rows", Kind::Long, Harmless),
    row("data-evolution.row-sidecar.max-selection-ratio", Kind::Double, Harmless),
    row("data-file.external-paths", Kind::Text, RefusedForWrite),
    row("data-file.external-paths.specific-fs", Kind::Text, Harmless),
    row("data-file.external-paths.strategy", Kind::Enum(&["none", "specific-fs", "round-robin", "entropy-inject", "weight-robin"]), Harmless),
    row("data-file.external-paths.weights", Kind::Text, Harmless),
    row("data-file.path-directory", Kind::Text, Honoured).immutable(),
    row("data-file.prefix", Kind::Text, Honoured),
    row("data-file.thin-mode", Kind::Bool, Honoured),
    row("delete.force-produce-changelog", Kind::Bool, Honoured),
    row("deletion-vector.index-file.target-size", Kind::Size, Honoured),
    row("deletion-vectors.bitmap64", Kind::Bool, Honoured),
    row("deletion-vectors.enabled", Kind::Bool, Honoured),
    row("deletion-vectors.merge-on-read", Kind::Bool, Honoured),
    row("deletion-vectors.modifiable", Kind::Bool, Harmless),
    row("disable-explicit-type-casting", Kind::Bool, Honoured),
    row("dynamic-bucket.assigner-parallelism", Kind::Int, Honoured),
    row("dynamic-bucket.initial-buckets", Kind::Int, Honoured).immutable(),
    row("dynamic-bucket.max-buckets", Kind::Int, Honoured),
    row("dynamic-bucket.target-row-num", Kind::Long, Honoured),
    row("dynamic-partition-overwrite", Kind::Bool, Honoured),
    row("end-input.check-partition-expire", Kind::Bool, Honoured),
    row("end-input.watermark", Kind::Text, RefusedToSet),
    row("fields.default-aggregate-function", Kind::Text, Honoured),
    row("file-index.in-manifest-threshold", Kind::Size, Honoured),
    row("file-index.read.enabled", Kind::Bool, Honoured),
    row("file-operation.thread-num", Kind::Int, Harmless).aliases(&["delete-file.thread-num"]),
    row("file-reader-async-threshold", Kind::Size, Harmless),
    row("file.block-size", Kind::Size, Honoured),
    row("file.compression", Kind::Text, Honoured),
    row("file.compression.per.level", Kind::Levels, Honoured),
    row("file.compression.zstd-level", Kind::Int, Honoured),
    row("file.format", Kind::Text, Honoured),
    row("file.format.per.level", Kind::Levels, Honoured),
    row("file.suffix.include.compression", Kind::Bool, Honoured),
    row("filesystem.job-level-settings.enabled", Kind::Text, Harmless),
    row("force-lookup", Kind::Bool, Honoured).immutable(),
    row("format-table.commit-hive-sync-url", Kind::Text, Harmless),
    row("format-table.file.compression", Kind::Text, Harmless),
    row("format-table.implementation", Kind::Enum(&["paimon", "engine"]), Harmless),
    row("format-table.partition-path-only-value", Kind::Bool, Harmless),
    row("format-table.repair.collect-statistics", Kind::Text, Harmless),
    row("format-table.scan.list-parallelism", Kind::Int, Harmless),
    row("format-table.statistics.parallelism", Kind::Text, Harmless),
    row("full-compaction.delta-commits", Kind::Int, Honoured),
    row("full-text-index.search-mode", Kind::Text, Harmless),
    row("global-index.build.max-parallelism", Kind::Int, Harmless),
    row("global-index.build.max-shard", Kind::Int, Harmless),
    row("global-index.column-update-action", Kind::Enum(&["THROW_ERROR", "DROP_PARTITION_INDEX"]), Harmless),
    row("global-index.enabled", Kind::Bool, Harmless),
    row("global-index.external-path", Kind::Text, Harmless),
    row("global-index.row-count-per-shard", Kind::Long, Harmless),
    row("global-index.search-mode", Kind::Text, Harmless),
    row("global-index.thread-num", Kind::Int, Harmless),
    row("ignore-delete", Kind::Bool, Honoured)
        .aliases(&["first-row.ignore-delete", "deduplicate.ignore-delete", "partial-update.ignore-delete"]),
    row("ignore-update-before", Kind::Bool, Honoured),
    row("incremental-between", Kind::Text, Honoured),
    row("incremental-between-scan-mode", Kind::Enum(&["auto", "delta", "changelog", "diff"]), Honoured),
    row("incremental-between-tag-to-snapshot", Kind::Bool, Honoured),
    row("incremental-between-timestamp", Kind::Text, Honoured),
    row("incremental-to-auto-tag", Kind::Text, Honoured),
    row("index-file-in-data-file-dir", Kind::Bool, Honoured).immutable(),
    row("key-value.sequence_number.enabled", Kind::Bool, Refused).neutral("false"),
    row("legacy-timestamp-mapping.enabled", Kind::Text, Harmless),
    row("local-kv-db.block-size", Kind::Size, Harmless),
    row("local-merge-buffer-size", Kind::Size, Harmless),
    row("local-sort.max-num-file-handles", Kind::Int, Honoured),
    row("log.changelog-mode", Kind::Text, Harmless),
    row("log.consistency", Kind::Text, Harmless),
    row("log.format", Kind::Text, Harmless),
    row("log.ignore-delete", Kind::Bool, Harmless),
    row("log.key.format", Kind::Text, Harmless),
    row("log.scan.remove-normalize", Kind::Bool, Harmless),
    row("lookup-compact", Kind::Enum(LookupCompact::TEXTS), Honoured),
    row("lookup-compact.max-interval", Kind::Int, Honoured),
    row("lookup-wait", Kind::Bool, Honoured).aliases(&["changelog-producer.lookup-wait"]),
    row("lookup.async", Kind::Text, Harmless),
    row("lookup.async-thread-number", Kind::Text, Harmless),
    row("lookup.blob-as-descriptor", Kind::Bool, Harmless),
    row("lookup.bootstrap-parallelism", Kind::Text, Harmless),
    row("lookup.cache", Kind::Text, Harmless),
    row("lookup.cache-file-retention", Kind::Duration, Harmless),
    row("lookup.cache-max-disk-size", Kind::Size, Harmless),
    row("lookup.cache-max-memory-size", Kind::Size, Honoured),
    row("lookup.cache-rows", Kind::Long, Harmless),
    row("lookup.cache-spill-compression", Kind::Enum(BLOCK_COMPRESSIONS), Harmless),
    row("lookup.cache.bloom.filter.enabled", Kind::Bool, Harmless),
    row("lookup.cache.bloom.filter.fpp", Kind::Double, Harmless),
    row("lookup.cache.high-priority-pool-ratio", Kind::Double, Harmless),
    row("lookup.continuous.discovery-interval", Kind::Duration, Harmless),
    row("lookup.dynamic-partition", Kind::Text, Harmless),
    row("lookup.dynamic-partition.refresh-interval", Kind::Text, Harmless),
    row("lookup.dynamic-partition.refresh.async", Kind::Text, Harmless),
    row("lookup.hash-load-factor", Kind::Double, Harmless),
    row("lookup.local-file-type", Kind::Text, Harmless),
    row("lookup.merge-buffer-size", Kind::Size, Harmless),
    row("lookup.merge-records-threshold", Kind::Int, Harmless),
    row("lookup.refresh.async", Kind::Text, Harmless),
    row("lookup.refresh.async.pending-snapshot-count", Kind::Text, Harmless),
    row("lookup.refresh.full-load-threshold", Kind::Text, Harmless),
    row("lookup.refresh.time-periods-blacklist", Kind::Text, Harmless),
    row("lookup.remote-file.enabled", Kind::Bool, Harmless),
    row("lookup.remote-file.level-threshold", Kind::Int, Harmless),
    row("manifest-sort.enabled", Kind::Bool, Harmless),
    row("manifest-sort.max-rewrite-size", Kind::Size, Harmless),
    row("manifest-sort.partition-field", Kind::Text, Harmless),
    row("manifest.compression", Kind::Text, Honoured),
    row("manifest.delete-file-drop-stats", Kind::Bool, Honoured),
    row("manifest.format", Kind::Text, Honoured).immutable(),
    row("manifest.full-compaction-threshold-size", Kind::Size, Honoured),
    row("manifest.merge-min-count", Kind::Int, Honoured),
    row("manifest.merge-optimize.enabled", Kind::Bool, Harmless),
    row("manifest.target-file-size", Kind::Size, Honoured),
    row("materialized-table.definition-query", Kind::Text, Harmless),
    row("materialized-table.interval-freshness", Kind::Text, Harmless),
    row("materialized-table.interval-freshness.time-unit", Kind::Enum(&["SECOND", "MINUTE", "HOUR", "DAY"]), Harmless),
    row("materialized-table.logical-refresh-mode", Kind::Enum(&["CONTINUOUS", "FULL", "AUTOMATIC"]), Harmless),
    row("materialized-table.refresh-handler-bytes", Kind::Text, Harmless),
    row("materialized-table.refresh-handler-description", Kind::Text, Harmless),
    row("materialized-table.refresh-mode", Kind::Enum(&["CONTINUOUS", "FULL", "AUTOMATIC"]), Harmless),
    row("materialized-table.refresh-status", Kind::Enum(&["INITIALIZING", "ACTIVATED", "SUSPENDED"]), Harmless),
    row("merge-engine", Kind::Enum(MergeEngine::TEXTS), Honoured).immutable(),
    row("metadata.iceberg-compatible", Kind::Bool, RefusedForWrite).neutral("false"),
    row("metadata.iceberg.storage", Kind::Text, RefusedForWrite).neutral("disabled"),
    row("metadata.stats-dense-store", Kind::Bool, Honoured),
    row("metadata.stats-keep-first-n-columns", Kind::Int, Honoured),
    row("metadata.stats-mode", Kind::Text, Honoured),
    row("metadata.stats-mode.per.level", Kind::Levels, Honoured),
    row("metastore.partitioned-table", Kind::Bool, Harmless),
    row("metastore.tag-to-partition", Kind::Text, Harmless),
    row("metastore.tag-to-partition.preview", Kind::Enum(&["none", "process-time", "watermark", "batch"]), Harmless),
    row("num-levels", Kind::Int, Honoured),
    row("num-sorted-run.compaction-trigger", Kind::Int, Honoured),
    row("num-sorted-run.stop-trigger", Kind::Int, Honoured),
    row("object-location", Kind::Text, Harmless),
    row("orc.bloom.filter.columns", Kind::Text, Harmless),
    row("orc.bloom.filter.fpp", Kind::Double, Harmless),
    row("orc.column.encoding.direct", Kind::Int, Harmless),
    row("orc.dictionary.key.threshold", Kind::Int, Harmless),
    row("overwrite-upgrade", Kind::Bool, Honoured),
    row("page-size", Kind::Size, Harmless),
    row("parquet.block.size", Kind::Text, Honoured),
    row("parquet.bloom.filter.enabled", Kind::Text, Honoured),
    row("parquet.compression", Kind::Text, Honoured),
    row("parquet.compression.codec.zstd.level", Kind::Text, Honoured),
    row("parquet.dictionary.page.size", Kind::Text, Honoured),
    row("parquet.enable.dictionary", Kind::Bool, Honoured),
    row("parquet.page.row.count.limit", Kind::Text, Honoured),
    row("parquet.page.size", Kind::Text, Honoured),
    row("parquet.writer.version", Kind::Text, Honoured),
    row("partial-update.remove-record-on-delete", Kind::Bool, Honoured).immutable(),
    row("partial-update.remove-record-on-sequence-group", Kind::Text, Honoured).immutable(),
    row("partition", Kind::Text, Honoured).immutable(),
    row("partition.default-name", Kind::Text, Honoured).immutable(),
    row("partition.end-input-to-done", Kind::Bool, Harmless),
    row("partition.expiration-batch-size", Kind::Int, Honoured),
    row("partition.expiration-check-interval", Kind::Duration, Honoured),
    row("partition.expiration-max-num", Kind::Int, Honoured),
    row("partition.expiration-strategy", Kind::Text, Honoured),
    row("partition.expiration-time", Kind::Duration, Honoured),
    row("partition.idle-time-to-done", Kind::Text, Harmless),
    row("partition.idle-time-to-report-statistic", Kind::Duration, Harmless),
    row("partition.legacy-name", Kind::Bool, Honoured).immutable(),
    row("partition.mark-done-action", Kind::Text, Harmless),
    row("partition.mark-done-action.custom.class", Kind::Text, Harmless),
    row("partition.mark-done-action.http.params", Kind::Text, Harmless),
    row("partition.mark-done-action.http.timeout", Kind::Duration, Harmless),
    row("partition.mark-done-action.http.url", Kind::Text, Harmless),
    row("partition.mark-done-action.mode", Kind::Text, Harmless),
    row("partition.mark-done.recover-from-state", Kind::Text, Harmless),
    row("partition.sink-strategy", Kind::Enum(&["NONE", "HASH"]), Harmless),
    row("partition.time-interval", Kind::Text, Harmless),
    row("partition.timestamp-format.strict", Kind::Bool, Harmless),
    row("partition.timestamp-formatter", Kind::Text, Honoured),
    row("partition.timestamp-pattern", Kind::Text, Honoured),
    row("path", Kind::Text, Honoured),
    row("pk-bitmap.index.columns", Kind::Text, RefusedForWrite),
    row("pk-btree.index.columns", Kind::Text, RefusedForWrite),
    row("pk-clustering-override", Kind::Bool, Refused).neutral("false").immutable(),
    row("pk-full-text.index.columns", Kind::Text, RefusedForWrite),
    row("pk-multivalue.index.columns", Kind::Text, RefusedForWrite),
    row("pk-vector.index.columns", Kind::Text, RefusedForWrite),
    row("postpone.batch-write-fixed-bucket", Kind::Bool, RefusedToSet).neutral("false"),
    row("postpone.batch-write-fixed-bucket.max-parallelism", Kind::Int, RefusedToSet),
    row("postpone.batch-write-fixed-bucket.rescale-load-factor", Kind::Int, RefusedToSet),
    row("postpone.default-bucket-num", Kind::Int, Honoured),
    row("postpone.merge-on-read", Kind::Bool, Refused).neutral("false"),
    row("postpone.target-row-num-per-bucket", Kind::Long, Honoured),
    row("postpone.target-size-per-bucket", Kind::Size, Honoured),
    row("precommit-compact", Kind::Text, Harmless),
    row("primary-key", Kind::Text, Honoured).immutable(),
    row("primary-key.nullable", Kind::Bool, Refused).neutral("false").immutable(),
    row("query-auth.enabled", Kind::Bool, Refused).neutral("false"),
    row("read.allow.fullScan", Kind::Text, Harmless),
    row("read.batch-size", Kind::Int, Harmless),
    row("read.changelog", Kind::Text, RefusedToSet),
    row("read.shuffle-bucket-with-partition", Kind::Text, Harmless),
    row("read.stream.maxBytesPerTrigger", Kind::Text, Harmless),
    row("read.stream.maxFilesPerTrigger", Kind::Text, Harmless),
    row("read.stream.maxRowsPerTrigger", Kind::Text, Harmless),
    row("read.stream.maxTriggerDelayMs", Kind::Text, Harmless),
    row("read.stream.minRowsPerTrigger", Kind::Text, Harmless),
    row("record-level.expire-time", Kind::Duration, Honoured),
    row("record-level.time-field", Kind::Text, Honoured),
    row("record-level.time-field-type", Kind::Text, Harmless),
    row("row-tracking.enabled", Kind::Bool, Honoured).immutable(),
    row("row-tracking.partition-group-on-commit", Kind::Bool, Harmless),
    row("rowkind.field", Kind::Text, Honoured).immutable(),
    row("scalar-index.search-mode", Kind::Text, Harmless),
    row("scan.bounded", Kind::Text, Harmless),
    row("scan.bounded.watermark", Kind::Long, Honoured),
    row("scan.bucket", Kind::Int, Honoured),
    row("scan.creation-time-millis", Kind::Long, Honoured),
    row("scan.dedicated-split-generation", Kind::Text, Harmless),
    row("scan.fallback-branch", Kind::Text, Honoured),
    row("scan.fallback-branch.read-fail-fast", Kind::Bool, Harmless),
    row("scan.fallback-delta-branch", Kind::Text, Refused),
    row("scan.fallback-snapshot-branch", Kind::Text, Refused),
    row("scan.file-creation-time-millis", Kind::Long, Honoured),
    row("scan.ignore-corrupt-files", Kind::Bool, Harmless),
    row("scan.ignore-lost-files", Kind::Bool, Harmless),
    row("scan.infer-parallelism", Kind::Text, Harmless),
    row("scan.infer-parallelism.max", Kind::Text, Harmless),
    row("scan.manifest.parallelism", Kind::Int, Harmless),
    row("scan.max-snapshot.count", Kind::Text, Harmless),
    row("scan.max-splits-per-task", Kind::Int, Harmless),
    row("scan.mode", Kind::Enum(ScanMode::TEXTS), Honoured).aliases(&["log.scan"]),
    row("scan.parallelism", Kind::Text, Harmless),
    row("scan.partitions", Kind::Text, RefusedToSet),
    row("scan.plan-auto-tag-for-read.time-retained", Kind::Duration, Harmless),
    row("scan.plan-sort-partition", Kind::Bool, Harmless),
    row("scan.primary-branch", Kind::Text, Honoured),
    row("scan.remove-normalize", Kind::Text, Harmless),
    row("scan.snapshot-id", Kind::Long, Honoured),
    row("scan.split-enumerator.batch-size", Kind::Text, Harmless),
    row("scan.split-enumerator.mode", Kind::Text, Harmless),
    row("scan.tag-name", Kind::Text, Honoured),
    row("scan.timestamp", Kind::Text, Honoured),
    row("scan.timestamp-millis", Kind::Long, Honoured).aliases(&["log.scan.timestamp-millis"]),
    row("scan.version", Kind::Text, Honoured),
    row("scan.watermark", Kind::Long, Honoured),
    row("scan.watermark.alignment.group", Kind::Text, Harmless),
    row("scan.watermark.alignment.max-drift", Kind::Text, Harmless),
    row("scan.watermark.alignment.update-interval", Kind::Text, Harmless),
    row("scan.watermark.emit.strategy", Kind::Text, Harmless),
    row("scan.watermark.idle-timeout", Kind::Text, Harmless),
    row("sequence.auto-padding", Kind::Text, RefusedForWrite),
    row("sequence.field", Kind::Text, Honoured),
    row("sequence.field.sort-order", Kind::Enum(SortOrder::TEXTS), Honoured),
    row("sequence.snapshot-ordering", Kind::Bool, Refused).neutral("false").immutable(),
    row("siltstone.compact-deleted-ratio", Kind::Double, Honoured),
    row("siltstone.sync", Kind::Bool, Honoured).aliases(&["siltstone.commit.fsync"]),
    row("siltstone.upkeep-lock-timeout", Kind::Duration, Honoured),
    row("siltstone.variant", Kind::Enum(VariantForm::TEXTS), Honoured),
    row("sink.clustering.sample-factor", Kind::Text, Harmless),
    row("sink.clustering.sort-in-cluster", Kind::Text, Harmless),
    row("sink.committer-cpu", Kind::Text, Harmless),
    row("sink.committer-memory", Kind::Text, Harmless),
    row("sink.committer-operator-chaining", Kind::Text, Harmless),
    row("sink.coordinator-commit.enabled", Kind::Text, Harmless),
    row("sink.cross-partition.managed-memory", Kind::Text, Harmless),
    row("sink.key-only-deletes.enabled", Kind::Text, Harmless),
    row("sink.managed.writer-buffer-memory", Kind::Text, Harmless),
    row("sink.operator-uid.suffix", Kind::Text, Harmless),
    row("sink.parallelism", Kind::Text, Harmless),
    row("sink.process-time-zone", Kind::Text, Honoured),
    row("sink.savepoint.auto-tag", Kind::Text, Harmless),
    row("sink.use-managed-memory-allocator", Kind::Text, Harmless),
    row("sink.watermark-time-zone", Kind::Text, Honoured),
    row("sink.writer-coordinator.cache-expire-after-access", Kind::Text, Harmless),
    row("sink.writer-coordinator.cache-memory", Kind::Text, Harmless),
    row("sink.writer-coordinator.cache-soft-values", Kind::Text, Harmless),
    row("sink.writer-coordinator.enabled", Kind::Text, Harmless),
    row("sink.writer-coordinator.page-size", Kind::Text, Harmless),
    row("sink.writer-coordinator.prefetch-manifests", Kind::Text, Harmless),
    row("sink.writer-cpu", Kind::Text, Harmless),
    row("sink.writer-memory", Kind::Text, Harmless),
    row("sink.writer-refresh-detectors", Kind::Text, Harmless),
    row("snapshot.clean-empty-directories", Kind::Bool, Honoured).aliases(&["snapshot.expire.clean-empty-directories"]),
    row("snapshot.expire.execution-mode", Kind::Enum(&["sync", "async"]), Honoured),
    row("snapshot.expire.limit", Kind::Int, Honoured),
    row("snapshot.ignore-empty-commit", Kind::Bool, Honoured),
    row("snapshot.num-retained.max", Kind::Int, Honoured),
    row("snapshot.num-retained.min", Kind::Int, Honoured),
    row("snapshot.time-retained", Kind::Duration, Honoured),
    row("snapshot.watermark-idle-timeout", Kind::Duration, Harmless),
    row("sort-compaction.local-sample.magnification", Kind::Int, Harmless),
    row("sort-compaction.range-strategy", Kind::Enum(&["SIZE", "QUANTITY"]), Harmless),
    row("sort-engine", Kind::Enum(&["min-heap", "loser-tree"]), Harmless),
    row("sort-spill-buffer-size", Kind::Size, Harmless),
    row("sort-spill-threshold", Kind::Int, Honoured),
    row("source.checkpoint-align.enabled", Kind::Text, Harmless),
    row("source.checkpoint-align.timeout", Kind::Text, Harmless),
    row("source.operator-uid.suffix", Kind::Text, Harmless),
    row("source.split.open-file-cost", Kind::Size, Honoured),
    row("source.split.target-size", Kind::Size, Honoured),
    row("source.split.target-size-with-column-pruning", Kind::Text, Harmless),
    row("spill-compression", Kind::Enum(BLOCK_COMPRESSIONS), Honoured),
    row("spill-compression.zstd-level", Kind::Int, Harmless),
    row("stream-scan-mode", Kind::Enum(&["none", "compact-bucket-table", "file-monitor"]), Harmless),
    row("streaming-compact", Kind::Text, Harmless),
    row("streaming-read-append-overwrite", Kind::Bool, Honoured),
    row("streaming-read-mode", Kind::Text, Harmless),
    row("streaming-read-overwrite", Kind::Bool, Honoured),
    row("streaming.read.snapshot.delay", Kind::Duration, Honoured),
    row("table-read.sequence-number.enabled", Kind::Bool, Honoured).neutral("false"),
    row("tag.automatic-completion", Kind::Bool, Honoured),
    row("tag.automatic-creation", Kind::Enum(&["none", "process-time", "watermark", "batch"]), Honoured),
    row("tag.batch.customized-name", Kind::Text, Honoured),
    row("tag.callback.#.param", Kind::Text, Harmless),
    row("tag.callbacks", Kind::Text, RefusedForWrite),
    row("tag.create-interval", Kind::Duration, Honoured),
    row("tag.create-success-file", Kind::Bool, Honoured),
    row("tag.create-time", Kind::Text, Honoured),
    row("tag.creation-delay", Kind::Duration, Honoured),
    row("tag.creation-period", Kind::Enum(&["daily", "hourly", "two-hours"]), Honoured),
    row("tag.creation-period-duration", Kind::Duration, Honoured),
    row("tag.default-time-retained", Kind::Duration, Honoured),
    row("tag.num-retained-max", Kind::Int, Honoured),
    row("tag.period-formatter", Kind::Enum(&["with_dashes", "without_dashes", "without_dashes_and_spaces"]), Honoured),
    row("tag.time-expire-enabled", Kind::Bool, Honoured),
    row("target-file-row-num", Kind::Long, Honoured),
    row("target-file-size", Kind::Size, Honoured),
    row("type", Kind::Text, Refused).neutral("table").immutable(),
    row("unaware-bucket.compaction.parallelism", Kind::Text, Harmless),
    row("unaware-bucket.no-shuffle", Kind::Text, Harmless),
    row("upsert-key", Kind::Text, Refused),
    row("variant.inferShreddingSchema", Kind::Bool, Harmless),
    row("variant.shredding.adaptive.maxInferBufferRow", Kind::Int, Harmless),
    row("variant.shredding.adaptive.retentionRatio", Kind::Double, Harmless),
    row("variant.shredding.inferenceMode", Kind::Text, Harmless),
    row("variant.shredding.maxInferBufferRow", Kind::Int, Harmless),
    row("variant.shredding.maxSchemaDepth", Kind::Int, Harmless),
    row("variant.shredding.maxSchemaWidth", Kind::Int, Harmless),
    row("variant.shredding.minFieldCardinalityRatio", Kind::Double, Harmless),
    row("variant.shreddingSchema", Kind::Text, Harmless).aliases(&["parquet.variant.shreddingSchema"]),
    row("vector-field", Kind::Text, Refused).neutral(""),
    row("vector-index.search-mode", Kind::Text, Harmless),
    row("vector-search.distribute.enabled", Kind::Bool, Harmless),
    row("vector-search.lateral-join.batch-size", Kind::Int, Harmless),
    row("vector.file.format", Kind::Text, Refused),
    row("vector.target-file-size", Kind::Size, Harmless),
    row("visibility-callback.check-interval", Kind::Duration, Harmless),
    row("visibility-callback.enabled", Kind::Bool, Harmless),
    row("visibility-callback.timeout", Kind::Duration, Harmless),
    row("write-buffer-for-append", Kind::Bool, Harmless),
    row("write-buffer-size", Kind::Size, Honoured),
    row("write-buffer-spill.max-disk-size", Kind::Size, Honoured),
    row("write-buffer-spillable", Kind::Bool, Honoured),
    row("write-manifest-cache", Kind::Size, Harmless),
    row("write-max-writers-to-spill", Kind::Int, Harmless),
    row("write-mode", Kind::Text, Harmless).immutable(),
    row("write-only", Kind::Bool, Honoured).aliases(&["write.compaction-skip"]),
    row("write.batch-memory", Kind::Size, Harmless),
    row("write.batch-size", Kind::Int, Harmless).aliases(&["orc.write.batch-size"]),
    row("write.hive-style-dynamic-partition.enabled", Kind::Text, Harmless),
    row("write.merge-schema", Kind::Text, Harmless),
    row("write.merge-schema.explicit-cast", Kind::Text, Harmless),
    row("write.merge-schema.type-widening", Kind::Text, Harmless),
    row("write.sequence-number-init-mode", Kind::Enum(&["scan", "snapshot"]), RefusedForWrite).neutral("scan"),
    row("write.use-v2-write", Kind::Text, Harmless),
    row("zorder.var-length-contribution", Kind::Int, Harmless),
];

/// Options of single columns: `fields.<column>.<suffix>`.
pub const FIELD_OPTIONS: &[Known] = &[
    row("aggregate-function", Kind::Text, Honoured),
    row("ignore-retract", Kind::Bool, Honoured),
    row("sequence-group", Kind::Text, Honoured),
    row("nested-key", Kind::Text, Honoured),
    row("nested-key-null-strategy", Kind::Text, Honoured),
    row("nested-sequence-field", Kind::Text, Honoured),
    row("count-limit", Kind::Int, Honoured),
    row("distinct", Kind::Bool, Honoured),
    row("list-agg-delimiter", Kind::Text, Honoured),
    row("ts-field", Kind::Text, Honoured),
    row("stats-mode", Kind::Text, Honoured),
    row("default-value", Kind::Text, RefusedToSet),
    row("map.storage-layout", Kind::Text, Refused).neutral("default"),
    row("map.shared-shredding.max-columns", Kind::Text, Harmless),
    row("map.shared-shredding.column-placement-policy", Kind::Text, Harmless),
    row("pk-vector.index.type", Kind::Text, Harmless),
    row("pk-vector.index.options", Kind::Text, Harmless),
    row("pk-vector.distance.metric", Kind::Text, Harmless),
    row("pk-full-text.index.options", Kind::Text, Harmless),
    row("pk-btree.index.options", Kind::Text, Harmless),
    row("pk-bitmap.index.options", Kind::Text, Harmless),
    row("pk-multivalue.index.options", Kind::Text, Harmless),
];

/// Families of options whose members are not listed one by one; of families in a family the smaller ones come first.
pub const PREFIXES: &[Known] = &[
    row("avro.", Kind::Text, Honoured),
    row("blob-descriptor.", Kind::Text, Harmless),
    row("commit.callback.", Kind::Text, Harmless),
    row("csv.", Kind::Text, Harmless),
    row("file-index.", Kind::Text, Honoured),
    row("json.", Kind::Text, Harmless),
    row("kafka.", Kind::Text, Harmless),
    row("lance.", Kind::Text, Harmless),
    row("log.", Kind::Text, Harmless),
    row("metadata.iceberg.", Kind::Text, Harmless),
    row("mosaic.", Kind::Text, Harmless),
    row("orc.", Kind::Text, Harmless),
    row("parquet.crypto.", Kind::Text, RefusedForWrite),
    row("parquet.enable.dictionary#", Kind::Text, Honoured),
    row("parquet.encryption.", Kind::Text, RefusedForWrite),
    row("parquet.", Kind::Text, RefusedToSet),
    row("tag.callback.", Kind::Text, Harmless),
    row("text.", Kind::Text, Harmless),
    row("vortex.", Kind::Text, Harmless),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted_and_says_everything_once() {
        for pair in OPTIONS.windows(2) {
            assert!(pair[0].key < pair[1].key, "{} before {}", pair[0].key, pair[1].key);
        }
        let aliases: Vec<&str> = OPTIONS.iter().flat_map(|known| known.aliases.iter().copied()).collect();
        assert!(aliases.iter().all(|alias| OPTIONS.iter().all(|known| known.key != *alias)));
    }

    #[test]
    fn keys_are_found_by_name_alias_and_pattern() {
        assert_eq!(find("bucket").unwrap().class, Honoured);
        assert_eq!(find("write.compaction-skip").unwrap().key, "write-only");
        assert_eq!(find("fields.a,b.sequence-group").unwrap().key, "sequence-group");
        assert_eq!(find("fields.default-aggregate-function").unwrap().key, "fields.default-aggregate-function");
        assert_eq!(find("file-index.bloom-filter.columns").unwrap().class, Honoured);
        assert_eq!(find("file-index.read.enabled").unwrap().key, "file-index.read.enabled");
        assert!(find("fields.a.agregate-function").is_none());
        assert_eq!(find("parquet.enable.dictionary#v").unwrap().class, Honoured);
        assert_eq!(find("parquet.crypto.factory.class").unwrap().class, RefusedForWrite);
        assert_eq!(find("parquet.statistics.enabled").unwrap().class, RefusedToSet);
        assert!(find("my.owner").is_none());
    }

    #[test]
    fn neutral_values_ask_for_nothing() {
        let neutral = |key: &str, value: &str| find(key).unwrap().is_neutral(value);
        assert!(neutral("type", "Table"));
        assert!(!neutral("type", "format-table"));
        assert!(!neutral("scan.fallback-delta-branch", "b"));
    }
}
