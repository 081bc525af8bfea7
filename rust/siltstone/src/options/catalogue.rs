//! Every table option of Paimon 0.5 to 2.x, with what siltstone does about it.
//!
//! Taken from `CoreOptions` of each release line, the connector options of Flink and Spark that end up in tables, and
//! format chapter 12. A key that is not here and lies in one of Paimon's namespaces is a typing error.

use std::sync::LazyLock;

pub use super::known::{Class, Kind, Known, column_of_field_option};
use super::{
    core_options::WITH_FIELD,
    known::{BLOCK_COMPRESSIONS, row},
};
use Class::{Harmless, Honoured, Refused, RefusedForWrite, RefusedToSet};

/// All options, sorted by key.
static OPTIONS: LazyLock<Vec<&'static Known>> = LazyLock::new(|| {
    let mut all: Vec<&Known> = WITH_FIELD.iter().chain(WITHOUT_FIELD).collect();
    all.sort_unstable_by_key(|known| known.key);
    all
});

/// All options, sorted by key.
pub fn options() -> impl Iterator<Item = &'static Known> {
    OPTIONS.iter().copied()
}

/// The option of this key.
fn named(key: &str) -> Option<&'static Known> {
    OPTIONS.binary_search_by(|known| known.key.cmp(key)).ok().and_then(|at| OPTIONS.get(at).copied())
}

/// The option of this key or alias; also `fields.<column>.<suffix>` and `file-index.<type>....`.
pub fn find(key: &str) -> Option<Known> {
    let known = named(key)
        .or_else(|| options().find(|known| known.aliases.contains(&key)))
        .or_else(|| FIELD_OPTIONS.iter().find(|known| is_field_option(key, known.key)))
        .or_else(|| PREFIXES.iter().find(|known| key.len() > known.key.len() && key.starts_with(known.key)));
    known.copied()
}

fn is_field_option(key: &str, suffix: &str) -> bool {
    column_of_field_option(key, suffix).is_some()
}

/// `fields.<columns>.<suffix>` with a known suffix → (columns, suffix). Names of columns may have dots.
pub fn field_option(key: &str) -> Option<(&str, &'static str)> {
    FIELD_OPTIONS.iter().find_map(|known| Some((column_of_field_option(key, known.key)?, known.key)))
}

/// All keys of the option that `key` is one of, its name first; a key that is no option's, or of a single column, is alone.
pub fn spellings(key: &str) -> impl Iterator<Item = &str> {
    let known = options().find(|known| known.key == key || known.aliases.contains(&key));
    let (name, others) = known.map_or((key, &[] as &[&str]), |known| (known.key, known.aliases));
    std::iter::once(name).chain(others.iter().copied())
}

/// The aliases of an option.
pub fn aliases(key: &str) -> &'static [&'static str] {
    named(key).map_or(&[], |known| known.aliases)
}

/// Options without a field: what siltstone does nothing about, and a few that are read by their key. Those that it acts on
/// are rows of `core_options.rs`.
#[rustfmt::skip]
const WITHOUT_FIELD: &[Known] = &[
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
    row("cache-page-size", Kind::Size, Harmless),
    row("chain-table.chain-partition-keys", Kind::Text, Harmless),
    row("chain-table.enabled", Kind::Bool, Refused).neutral("false"),
    row("chain-table.split.key-range-enabled", Kind::Bool, Harmless),
    row("chain-table.streaming.merge-snapshot", Kind::Bool, Harmless),
    row("changelog-producer.compaction-interval", Kind::Text, Harmless),
    row("changelog.precommit-compact", Kind::Text, Harmless),
    row("changelog.precommit-compact.buffer-size", Kind::Text, Harmless),
    row("changelog.precommit-compact.thread-num", Kind::Text, Harmless),
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
    row("commit.strict-mode.last-safe-snapshot", Kind::Long, RefusedForWrite),
    row("compaction.bucket-distribution-strategy", Kind::Text, Harmless),
    row("compaction.max.file-num", Kind::Int, Harmless).aliases(&["compaction.early-max.file-num"]),
    row("compaction.skip-expired-partitions", Kind::Bool, Harmless),
    row("consumer.mode", Kind::Enum(&["exactly-once", "at-least-once"]), Harmless),
    row("data-evolution.compaction.rewrite-row-ids", Kind::Bool, Harmless),
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
    row("deletion-vectors.modifiable", Kind::Bool, Harmless),
    row("disable-explicit-type-casting", Kind::Bool, Honoured),
    row("end-input.watermark", Kind::Text, RefusedToSet),
    row("fields.default-aggregate-function", Kind::Text, Honoured),
    row("file-operation.thread-num", Kind::Int, Harmless).aliases(&["delete-file.thread-num"]),
    row("file-reader-async-threshold", Kind::Size, Harmless),
    row("filesystem.job-level-settings.enabled", Kind::Text, Harmless),
    row("format-table.commit-hive-sync-url", Kind::Text, Harmless),
    row("format-table.file.compression", Kind::Text, Harmless),
    row("format-table.implementation", Kind::Enum(&["paimon", "engine"]), Harmless),
    row("format-table.partition-path-only-value", Kind::Bool, Harmless),
    row("format-table.repair.collect-statistics", Kind::Text, Harmless),
    row("format-table.scan.list-parallelism", Kind::Int, Harmless),
    row("format-table.statistics.parallelism", Kind::Text, Harmless),
    row("full-text-index.search-mode", Kind::Text, Harmless),
    row("global-index.build.max-parallelism", Kind::Int, Harmless),
    row("global-index.build.max-shard", Kind::Int, Harmless),
    row("global-index.column-update-action", Kind::Enum(&["THROW_ERROR", "DROP_PARTITION_INDEX"]), Harmless),
    row("global-index.enabled", Kind::Bool, Harmless),
    row("global-index.external-path", Kind::Text, Harmless),
    row("global-index.row-count-per-shard", Kind::Long, Harmless),
    row("global-index.search-mode", Kind::Text, Harmless),
    row("global-index.thread-num", Kind::Int, Harmless),
    row("key-value.sequence_number.enabled", Kind::Bool, Refused).neutral("false"),
    row("legacy-timestamp-mapping.enabled", Kind::Text, Harmless),
    row("local-kv-db.block-size", Kind::Size, Harmless),
    row("local-merge-buffer-size", Kind::Size, Harmless),
    row("log.changelog-mode", Kind::Text, Harmless),
    row("log.consistency", Kind::Text, Harmless),
    row("log.format", Kind::Text, Harmless),
    row("log.ignore-delete", Kind::Bool, Harmless),
    row("log.key.format", Kind::Text, Harmless),
    row("log.scan.remove-normalize", Kind::Bool, Harmless),
    row("lookup.async", Kind::Text, Harmless),
    row("lookup.async-thread-number", Kind::Text, Harmless),
    row("lookup.blob-as-descriptor", Kind::Bool, Harmless),
    row("lookup.bootstrap-parallelism", Kind::Text, Harmless),
    row("lookup.cache", Kind::Text, Harmless),
    row("lookup.cache-file-retention", Kind::Duration, Harmless),
    row("lookup.cache-max-disk-size", Kind::Size, Harmless),
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
    row("manifest.merge-optimize.enabled", Kind::Bool, Harmless),
    row("materialized-table.definition-query", Kind::Text, Harmless),
    row("materialized-table.interval-freshness", Kind::Text, Harmless),
    row("materialized-table.interval-freshness.time-unit", Kind::Enum(&["SECOND", "MINUTE", "HOUR", "DAY"]), Harmless),
    row("materialized-table.logical-refresh-mode", Kind::Enum(&["CONTINUOUS", "FULL", "AUTOMATIC"]), Harmless),
    row("materialized-table.refresh-handler-bytes", Kind::Text, Harmless),
    row("materialized-table.refresh-handler-description", Kind::Text, Harmless),
    row("materialized-table.refresh-mode", Kind::Enum(&["CONTINUOUS", "FULL", "AUTOMATIC"]), Harmless),
    row("materialized-table.refresh-status", Kind::Enum(&["INITIALIZING", "ACTIVATED", "SUSPENDED"]), Harmless),
    row("metadata.iceberg-compatible", Kind::Bool, RefusedForWrite).neutral("false"),
    row("metastore.partitioned-table", Kind::Bool, Harmless),
    row("metastore.tag-to-partition", Kind::Text, Harmless),
    row("metastore.tag-to-partition.preview", Kind::Enum(&["none", "process-time", "watermark", "batch"]), Harmless),
    row("object-location", Kind::Text, Harmless),
    row("orc.bloom.filter.columns", Kind::Text, Harmless),
    row("orc.bloom.filter.fpp", Kind::Double, Harmless),
    row("orc.column.encoding.direct", Kind::Int, Harmless),
    row("orc.dictionary.key.threshold", Kind::Int, Harmless),
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
    row("partition.end-input-to-done", Kind::Bool, Harmless),
    row("partition.idle-time-to-done", Kind::Text, Harmless),
    row("partition.idle-time-to-report-statistic", Kind::Duration, Harmless),
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
    row("postpone.merge-on-read", Kind::Bool, Refused).neutral("false"),
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
    row("record-level.time-field-type", Kind::Text, Harmless),
    row("row-tracking.partition-group-on-commit", Kind::Bool, Harmless),
    row("scalar-index.search-mode", Kind::Text, Harmless),
    row("scan.bounded", Kind::Text, Harmless),
    row("scan.dedicated-split-generation", Kind::Text, Harmless),
    row("scan.fallback-branch.read-fail-fast", Kind::Bool, Harmless),
    row("scan.fallback-delta-branch", Kind::Text, Refused),
    row("scan.fallback-snapshot-branch", Kind::Text, Refused),
    row("scan.ignore-corrupt-files", Kind::Bool, Harmless),
    row("scan.ignore-lost-files", Kind::Bool, Harmless),
    row("scan.infer-parallelism", Kind::Text, Harmless),
    row("scan.infer-parallelism.max", Kind::Text, Harmless),
    row("scan.manifest.parallelism", Kind::Int, Harmless),
    row("scan.max-snapshot.count", Kind::Text, Harmless),
    row("scan.max-splits-per-task", Kind::Int, Harmless),
    row("scan.parallelism", Kind::Text, Harmless),
    row("scan.partitions", Kind::Text, RefusedToSet),
    row("scan.plan-auto-tag-for-read.time-retained", Kind::Duration, Harmless),
    row("scan.plan-sort-partition", Kind::Bool, Harmless),
    row("scan.remove-normalize", Kind::Text, Harmless),
    row("scan.split-enumerator.batch-size", Kind::Text, Harmless),
    row("scan.split-enumerator.mode", Kind::Text, Harmless),
    row("scan.watermark.alignment.group", Kind::Text, Harmless),
    row("scan.watermark.alignment.max-drift", Kind::Text, Harmless),
    row("scan.watermark.alignment.update-interval", Kind::Text, Harmless),
    row("scan.watermark.emit.strategy", Kind::Text, Harmless),
    row("scan.watermark.idle-timeout", Kind::Text, Harmless),
    row("sequence.auto-padding", Kind::Text, RefusedForWrite),
    row("sequence.snapshot-ordering", Kind::Bool, Refused).neutral("false").immutable(),
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
    row("sink.savepoint.auto-tag", Kind::Text, Harmless),
    row("sink.use-managed-memory-allocator", Kind::Text, Harmless),
    row("sink.writer-coordinator.cache-expire-after-access", Kind::Text, Harmless),
    row("sink.writer-coordinator.cache-memory", Kind::Text, Harmless),
    row("sink.writer-coordinator.cache-soft-values", Kind::Text, Harmless),
    row("sink.writer-coordinator.enabled", Kind::Text, Harmless),
    row("sink.writer-coordinator.page-size", Kind::Text, Harmless),
    row("sink.writer-coordinator.prefetch-manifests", Kind::Text, Harmless),
    row("sink.writer-cpu", Kind::Text, Harmless),
    row("sink.writer-memory", Kind::Text, Harmless),
    row("sink.writer-refresh-detectors", Kind::Text, Harmless),
    row("snapshot.watermark-idle-timeout", Kind::Duration, Harmless),
    row("sort-compaction.local-sample.magnification", Kind::Int, Harmless),
    row("sort-compaction.range-strategy", Kind::Enum(&["SIZE", "QUANTITY"]), Harmless),
    row("sort-engine", Kind::Enum(&["min-heap", "loser-tree"]), Harmless),
    row("sort-spill-buffer-size", Kind::Size, Harmless),
    row("source.checkpoint-align.enabled", Kind::Text, Harmless),
    row("source.checkpoint-align.timeout", Kind::Text, Harmless),
    row("source.operator-uid.suffix", Kind::Text, Harmless),
    row("source.split.target-size-with-column-pruning", Kind::Text, Harmless),
    row("spill-compression.zstd-level", Kind::Int, Harmless),
    row("stream-scan-mode", Kind::Enum(&["none", "compact-bucket-table", "file-monitor"]), Harmless),
    row("streaming-compact", Kind::Text, Harmless),
    row("streaming-read-mode", Kind::Text, Harmless),
    row("tag.callback.#.param", Kind::Text, Harmless),
    row("tag.callbacks", Kind::Text, RefusedForWrite),
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
    row("write-manifest-cache", Kind::Size, Harmless),
    row("write-max-writers-to-spill", Kind::Int, Harmless),
    row("write-mode", Kind::Text, Harmless).immutable(),
    row("write.batch-memory", Kind::Size, Harmless),
    row("write.batch-size", Kind::Int, Harmless).aliases(&["orc.write.batch-size"]),
    row("write.hive-style-dynamic-partition.enabled", Kind::Text, Harmless),
    row("write.merge-schema", Kind::Text, Harmless),
    row("write.merge-schema.explicit-cast", Kind::Text, Harmless),
    row("write.merge-schema.type-widening", Kind::Text, Harmless),
    row("write.sequence-number-init-mode", Kind::Enum(&["scan", "snapshot"]), RefusedForWrite).neutral("scan"),
    row("write.use-v2-write", Kind::Text, Harmless),
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
    fn the_list_says_everything_once() {
        for pair in OPTIONS.windows(2) {
            assert!(pair[0].key < pair[1].key, "{} is there twice", pair[0].key);
        }
        let aliases: Vec<&str> = options().flat_map(|known| known.aliases.iter().copied()).collect();
        assert!(aliases.iter().all(|alias| options().all(|known| known.key != *alias)));
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
