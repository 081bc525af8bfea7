//! Compaction: picking a unit (pure), executing it, and doing so beside a writer.

mod compact_task;
mod manager;
mod permits;
mod rewriter;
mod universal;
mod untouched;

use std::path::PathBuf;

use chrono::{DateTime, Timelike};

pub use compact_task::run_compaction;
pub(super) use manager::CompactManager;
pub use permits::CompactionPermits;
pub(super) use rewriter::ChangelogFiles;
pub use rewriter::looks_values_up;
pub use universal::{UniversalRules, pick_full};

use super::{BucketVectors, Levels, LookupCache, expiry::RecordExpiry};
use crate::{Result, env, io::TableContext, manifest::DataFileMeta, types::DataType};

/// What one compaction takes, and to which level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompactUnit {
    /// level of the outputs
    pub output_level: i32,
    /// files to compact
    pub files: Vec<DataFileMeta>,
    /// rewrite every file by itself, even one that is already at its level
    pub file_rewrite: bool,
}

/// Resources of a compaction.
#[derive(Clone, Debug, Default)]
pub struct CompactResources {
    /// Threads that decode ahead of the encoder; 0 does everything on one thread.
    pub threads: usize,
    /// Local folder for spilling.
    pub spill_dir: Option<PathBuf>,
    /// Files and keys that earlier lookups left; `None` starts with nothing.
    pub cache: Option<LookupCache>,
    /// The output replaces what is there (overwrite): nothing is told of changes.
    pub ignore_previous: bool,
    /// Deletion vectors of the bucket.
    pub vectors: Option<BucketVectors>,
    /// Encoded bytes that are held at most; `None`: as many as the options say.
    pub memory: Option<usize>,
}

/// Picks what to compact in a bucket with these live files: everything worth it when `full`, else what the
/// universal rules say. `None`: nothing to do.
pub fn pick(ctx: &TableContext, files: &[DataFileMeta], full: bool) -> Result<Option<CompactUnit>> {
    pick_with_vectors(ctx, files, full, &|_| 0)
}

/// [`pick`] of a table with deletion vectors; `deleted` says how many rows of a file they delete.
pub fn pick_with_vectors(
    ctx: &TableContext,
    files: &[DataFileMeta],
    full: bool,
    deleted: &dyn Fn(&str) -> u64,
) -> Result<Option<CompactUnit>> {
    let key_types: Vec<DataType> = ctx.schema.key_fields().iter().map(|f| f.data_type.clone()).collect();
    let levels = Levels::new(files, ctx.options.num_levels, key_types)?;
    let unit = pick_in(ctx, &levels, full, forces_level0(ctx), None)?;
    Ok(unit.or_else(|| pick_deleted(ctx, &levels, full, deleted)))
}

/// When nothing else is to be done: files to rewrite by themselves because rows of theirs are deleted. A full compaction
/// takes all of the highest level (semantics a.7 c); otherwise those of which more than `siltstone.compact-deleted-ratio`
/// is deleted, when that is set.
pub(super) fn pick_deleted(
    ctx: &TableContext,
    levels: &Levels,
    full: bool,
    deleted: &dyn Fn(&str) -> u64,
) -> Option<CompactUnit> {
    #[allow(clippy::cast_precision_loss, reason = "a share")]
    let wanted = |file: &DataFileMeta| match deleted(&file.file_name) {
        0 => false,
        _ if full => true,
        rows => ctx.options.compact_deleted_ratio.is_some_and(|ratio| rows as f64 > file.row_count as f64 * ratio),
    };
    let above = levels.runs().into_iter().filter(|run| run.level > 0);
    above
        .filter_map(|run| {
            let files: Vec<DataFileMeta> = run.run.files.into_iter().filter(&wanted).collect();
            (!files.is_empty()).then_some(CompactUnit { output_level: run.level, files, file_rewrite: true })
        })
        .next_back()
}

/// Whether level 0 is compacted even when the universal rules see no reason.
pub(super) fn forces_level0(ctx: &TableContext) -> bool {
    ctx.options.compaction_force_up_level_0 || ctx.options.needs_lookup()
}

/// [`pick`] for a tree. `force`: level 0 goes up even when nothing else asks for it. `last_full` is when this process last
/// did a full compaction of the tree, by the local wall clock.
pub(super) fn pick_in(
    ctx: &TableContext,
    levels: &Levels,
    full: bool,
    force: bool,
    last_full: Option<i64>,
) -> Result<Option<CompactUnit>> {
    let runs = levels.runs();
    if full {
        let expiry = RecordExpiry::of(ctx)?;
        let has_expired = |file: &DataFileMeta| expiry.as_ref().map_or(Ok(false), |e| e.has_expired_rows(ctx, file));
        let all = ctx.options.compaction_force_rewrite_all_files;
        return pick_full(&runs, levels.max_level(), |file| Ok(all || has_expired(file)?));
    }
    let now = env::local_millis();
    let hour = DateTime::from_timestamp_millis(now).map_or(0, |t| i32::try_from(t.hour()).unwrap_or(0));
    let rules = UniversalRules { force_up_level0: force, ..UniversalRules::new(&ctx.options, hour) };
    Ok(rules.pick(&runs, levels.max_level(), now, last_full))
}
