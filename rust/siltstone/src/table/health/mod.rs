//! Figures of a table's health, for `t.report()`: what its newest version is made of, what its versions keep, and what compactions
//! would read.
//!
//! ```text
//! manifests of the version ── each is decoded once ──▶ live files ──▶ sums of levels, buckets, sizes, partitions
//!             │                                            └────────▶ sums of two compaction plans
//!             └─ which files they add and delete, as numbers ─▶ kept: other versions decode only the manifests of their own
//! ```
//!
//! What comes out has a bounded size, however many files there are.

mod compared;
mod kept;
mod partitions;
mod sums;

use std::collections::BTreeMap;

use self::{kept::Comparison, partitions::PartitionFigures, sums::Sums};
pub use self::{
    kept::{Kept, KeptVersion},
    partitions::{LargePartition, PartitionClass},
    sums::{BucketFigures, LevelFigures, SizeClass, TotalFigures},
};
use super::{Table, replaced::explained};
use crate::{
    Error, ErrorKind, Result, cancel,
    compact::{CompactionPlanSums, looks_at_statistics, plan_sums},
    io::TableContext,
    manifest::{BucketId, IndexManifestEntry, ManifestEntry, ManifestStore, live_entries},
    scan::{
        self, EntryFilter, LastWrites, Resolved, VersionSelector,
        overtaken::{again_when_overtaken, expired_meanwhile},
        vectors_among,
    },
    schema::check_writable,
    snapshot::Snapshot,
};

/// What to look at.
#[derive(Clone, Debug, Default)]
pub struct HealthArgs {
    /// The version; `None`: the table has none.
    pub snapshot: Option<i64>,
    /// Versions to compare: those of a keeper follow each other, and the first one is the version itself.
    pub versions: Vec<KeptVersion>,
    /// Names of files that are compared; versions beyond that are not looked at.
    pub compared: usize,
    /// Buckets and partitions that are named one by one.
    pub shown: usize,
    /// Local time, milliseconds.
    pub now: i64,
    /// Hours at which the classes of ages of partitions end; the last class has no end.
    pub ages: Vec<i64>,
}

/// Sums of a compaction plan, or the text of why there is none.
pub type PlanFigures = std::result::Result<CompactionPlanSums, String>;

/// The figures.
#[derive(Debug)]
pub struct Health {
    /// All files together.
    pub totals: TotalFigures,
    /// By level.
    pub levels: Vec<LevelFigures>,
    /// The buckets with the most runs, and then bytes.
    pub buckets: Vec<BucketFigures>,
    /// By size.
    pub sizes: Vec<SizeClass>,
    /// By age and size; none where the table is not partitioned.
    pub partition_classes: Vec<PartitionClass>,
    /// The largest ones.
    pub partitions: Vec<LargePartition>,
    /// What the versions keep.
    pub kept: Kept,
    /// What a compaction would read.
    pub compaction: PlanFigures,
    /// What a full compaction would read.
    pub full_compaction: PlanFigures,
}

/// The files of the version, decoded once.
struct Version {
    snapshot: Snapshot,
    live: Vec<ManifestEntry>,
    writes: LastWrites,
    index: Vec<IndexManifestEntry>,
}

impl Table {
    /// Figures of the table's health.
    ///
    /// # Errors
    /// `SnapshotExpired`: the version has gone meanwhile. Other versions that cannot be read are left out, and a plan that cannot
    /// be made says why.
    pub fn health(&self, args: &HealthArgs) -> Result<Health> {
        self.check_one_version()?;
        self.found(self.looked_at(args), |health| health.totals.files == 0)
    }

    /// Figures of each level, of the version that the table's options name.
    pub fn level_figures(&self) -> Result<Vec<LevelFigures>> {
        let levels = || {
            let (ctx, Some(snapshot)) = self.travelled()? else { return Ok(Vec::new()) };
            let live = scan::live_entries(&ctx, &snapshot, &EntryFilter::without_statistics())?;
            Ok(Sums::of(self, &live, &[])?.levels())
        };
        self.found(again_when_overtaken(self.context(), levels), Vec::is_empty)
    }

    fn looked_at(&self, args: &HealthArgs) -> Result<Health> {
        let mut comparison = Comparison::new(self, args.compared);
        let version = match args.snapshot {
            Some(id) => Some(self.version_of(id, &mut comparison)?),
            None => None,
        };
        let (live, index) = version.as_ref().map_or((&[][..], &[][..]), |v| (&v.live, &v.index));
        let sums = Sums::of(self, live, index)?;
        let parts = PartitionFigures::of(self, args, version.as_ref().map(|v| (&*v.live, &v.writes)))?;
        let kept = comparison.kept(&args.versions)?;
        let mut totals = sums.totals();
        totals.partitions = parts.count;
        let (levels, sizes, buckets) = (sums.levels(), sums.sizes(), sums.largest(args.shown)?);
        drop(sums);
        let [compaction, full_compaction] = self.both_plans(version)?;
        Ok(Health {
            totals,
            levels,
            buckets,
            sizes,
            partition_classes: parts.classes,
            partitions: parts.largest,
            kept,
            compaction,
            full_compaction,
        })
    }

    fn version_of(&self, id: i64, comparison: &mut Comparison<'_>) -> Result<Version> {
        let Resolved { ctx, snapshot, .. } = Resolved::state(self.context(), &VersionSelector::Snapshot(id))?;
        let snapshot = snapshot.ok_or_else(|| Error::new(ErrorKind::SnapshotNotFound, "no snapshot"))?;
        let read = |comparison: &mut Comparison<'_>| {
            let all = comparison.entries(&ctx, &snapshot, looks_at_statistics(self.context()))?;
            let writes = LastWrites::of(&all);
            let live = live_entries(all)?;
            let index = index_entries(&ctx, &snapshot)?;
            Ok(Version { live, writes, index, snapshot: snapshot.clone() })
        };
        read(comparison).map_err(|e| expired_meanwhile(&ctx, &snapshot, e))
    }

    /// The sums of the plans that [`Self::plan_compaction`] makes of a version, as far as each can be made.
    fn both_plans(&self, version: Option<Version>) -> Result<[PlanFigures; 2]> {
        let ctx = self.context();
        let plans = || {
            self.check_writable()?;
            check_writable(&ctx.schema.with_options(&ctx.options.raw))?;
            let Some(Version { snapshot, live, index, .. }) = version else { return Ok([Ok(none()), Ok(none())]) };
            let vectors: BTreeMap<BucketId, Vec<IndexManifestEntry>> = match &snapshot.index_manifest {
                Some(name) => vectors_among(ctx, name, index)?,
                None => BTreeMap::new(),
            };
            plan_sums(ctx, &snapshot, live, vectors)
        };
        let planned = explained(ctx, plans());
        cancel::check()?;
        let text = |error: &Error| error.message_and_cause();
        Ok(match planned {
            Ok(plans) => plans.map(|plan| plan.map_err(|error| text(&error))),
            Err(error) => [Err(text(&error)), Err(text(&error))],
        })
    }
}

fn none() -> CompactionPlanSums {
    CompactionPlanSums::default()
}

fn index_entries(ctx: &TableContext, snapshot: &Snapshot) -> Result<Vec<IndexManifestEntry>> {
    let Some(name) = &snapshot.index_manifest else { return Ok(Vec::new()) };
    ManifestStore::new(&ctx.fs, &ctx.paths, &ctx.options)?.read_index(name).map_err(|e| e.in_table(&ctx.name))
}
