//! What compactions would read, as sums: for those who look at a plan and do not carry it out.

use std::collections::BTreeMap;

use super::plan::{LiveBucket, LiveFiles, units};
use crate::{
    cancel,
    error::Result,
    io::TableContext,
    limits::sum,
    manifest::{BucketId, DataFileMeta, IndexManifestEntry, ManifestEntry},
    merge_tree::RecordExpiry,
    schema::check_writable,
    snapshot::Snapshot,
};

/// What the tasks of a plan read, together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompactionPlanSums {
    /// Tasks; 0 when nothing is to be done.
    pub tasks: usize,
    /// Data files.
    pub files: usize,
    /// Their bytes.
    pub bytes: i64,
    /// Rows in them.
    pub rows: i64,
}

impl CompactionPlanSums {
    fn add(&mut self, files: &[DataFileMeta]) {
        self.tasks += 1;
        self.files += files.len();
        self.bytes = self.bytes.saturating_add(sum(files.iter().map(|file| file.file_size)));
        self.rows = self.rows.saturating_add(sum(files.iter().map(|file| file.row_count)));
    }
}

/// Whether a plan depends on statistics of columns: full compactions of trees whose records expire look for files with old ones.
pub(crate) fn looks_at_statistics(ctx: &TableContext) -> bool {
    // where the option is wrong, planning says so
    ctx.schema.has_primary_key() && RecordExpiry::of(ctx).is_ok_and(|expiry| expiry.is_some())
}

/// The sums of two plans over the live files of a version, as [`super::plan_compaction`] makes them: the one of what the triggers
/// of the table ask for, and the full one. One of them may fail alone.
///
/// # Errors
/// Those that both plans have.
pub(crate) fn plan_sums(
    ctx: &TableContext,
    snapshot: &Snapshot,
    live: Vec<ManifestEntry>,
    vectors: BTreeMap<BucketId, Vec<IndexManifestEntry>>,
) -> Result<[Result<CompactionPlanSums>; 2]> {
    check_writable(&ctx.schema.with_options(&ctx.options.raw))?;
    let live = LiveFiles::of(ctx, snapshot, live, vectors)?;
    let mut triggered = Ok(CompactionPlanSums::default());
    let mut full = Ok(CompactionPlanSums::default());
    for waiting in &live.waiting {
        for sums in [&mut triggered, &mut full].into_iter().flatten() {
            sums.add(&waiting.files);
        }
    }
    for LiveBucket { files, index, .. } in live.buckets {
        cancel::check()?;
        add(&mut triggered, ctx, false, files.clone(), &index);
        add(&mut full, ctx, true, files, &index);
    }
    cancel::check()?;
    Ok([triggered, full])
}

/// Adds the tasks of one bucket; the first error stays.
fn add(
    sums: &mut Result<CompactionPlanSums>,
    ctx: &TableContext,
    full: bool,
    files: Vec<DataFileMeta>,
    index: &[IndexManifestEntry],
) {
    let Ok(known) = sums else { return };
    match units(ctx, full, files, index) {
        Ok(units) => units.iter().for_each(|(_, files)| known.add(files)),
        Err(error) => *sums = Err(error),
    }
}
