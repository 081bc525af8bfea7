//! Carrying out a unit: files are upgraded where that is enough, rewritten where it is not (semantics a.8;
//! `MergeTreeCompactTask`).

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use super::{
    CompactResources, CompactUnit,
    rewriter::{ChangelogFiles, MergeTreeCompactRewriter, Upgrade, compared_columns, runs_above},
    untouched::{Finder, Untouched},
};
use crate::{
    Result,
    deletion_vectors::DeletionMap,
    io::{
        BatchStream, FileWriteSpec, KvLayout, RollingWriter, TableContext, check_merges_alike, check_rewritable,
        delete_unused, levels_changed,
    },
    manifest::{BucketId, CompactIncrement, DataFileFields, DataFileMeta, DroppedDeletes, FileSource},
    merge_tree::{
        Levels, LookupCache, MergeReadOptions, SortedRun,
        expiry::RecordExpiry,
        interval_partition,
        lookup::{LevelProbe, SharedProbe},
        merge::{
            older::OlderRecordsNeeded,
            read_ahead,
            wrapper::{MergeFunctionWrapper, Probe, Rule},
        },
        merge_function::for_table,
        read::{LevelRule, SectionReader, WrapperFactory, level_rule, took_in},
        ties::{CommitOrder, is_late},
    },
    options::CoreOptions,
    row::compare_serialized,
    types::DataType,
};

/// Batches that merging may be ahead of encoding.
const AHEAD: usize = 4;

/// Rows of a batch when keys are looked up: as many are looked up at once.
const LOOKUP_ROWS: usize = 1 << 14;

/// Executes a unit picked from `files` (all live files of the bucket, those of level 0 in the order of their commits). An error
/// leaves no new file behind.
///
/// A compaction never changes what a read shows, but for the rounding of floats. Where a -U or -D would have to be merged without older rows that the unit leaves in
/// higher levels ([`older`](crate::merge_tree::merge::older)), all of `files` are compacted to the highest level instead.
///
/// # Errors
/// `CommitConflict` when it would write rows again whose files know columns or values that the table's schema, as it was opened,
/// does not have, or merge them otherwise than the newest schema. Those of reading and writing.
pub fn run_compaction(
    ctx: &TableContext,
    partition: &[u8],
    bucket: i32,
    files: &[DataFileMeta],
    unit: &CompactUnit,
    resources: &CompactResources,
) -> Result<CompactIncrement> {
    check_merges_alike(ctx, [ctx.schema.id])?;
    if took_in(ctx, files)? != ctx.options.needs_lookup() {
        // another program has altered the table meanwhile; looked up is what lies above level 0, and so that comes first
        let plain = MergeTreeCompactRewriter::of(&ctx.options) == MergeTreeCompactRewriter::Plain;
        let unit = if plain { everything(ctx, files)? } else { above_level_0(ctx, files)? };
        return run_unit(ctx, partition, bucket, files, (&unit, Merged::ByRuleOfFiles), resources);
    }
    if takes_in_without_lookup(&ctx.options) && !left_above(files, unit).is_empty() {
        return run_unit(ctx, partition, bucket, files, (&everything(ctx, files)?, Merged::ByRuleOfTable), resources);
    }
    let done = run_unit(ctx, partition, bucket, files, (unit, Merged::ByRuleOfTable), resources);
    let Err(error) = &done else { return done };
    if !OlderRecordsNeeded::is_cause_of(error) {
        return done;
    }
    let everything = everything(ctx, files)?;
    tracing::debug!(table = ctx.name, bucket, output_level = unit.output_level, "compacted with all older rows");
    run_unit(ctx, partition, bucket, files, (&everything, Merged::ByRuleOfTable), resources)
}

/// Whether readers take a record of a level above 0 as one that has taken in what lies above it, and compactions, which tell a
/// changelog from the highest level alone, look nothing up (`full-compaction` with `force-lookup`; Java's leave it out). Then they
/// take all files.
fn takes_in_without_lookup(options: &CoreOptions) -> bool {
    let rewriter = MergeTreeCompactRewriter::of(options);
    options.needs_lookup() && options.levels_matter() && rewriter == MergeTreeCompactRewriter::FullChangelog
}

/// All files to the highest level: nothing is left out.
fn everything(ctx: &TableContext, files: &[DataFileMeta]) -> Result<CompactUnit> {
    let tree = Levels::new(files, ctx.options.num_levels, key_types(ctx))?;
    let files = tree.runs().into_iter().flat_map(|run| run.run.files).collect();
    Ok(CompactUnit { output_level: tree.max_level(), files, file_rewrite: false })
}

/// All files above level 0 to the highest level.
fn above_level_0(ctx: &TableContext, files: &[DataFileMeta]) -> Result<CompactUnit> {
    let mut unit = everything(ctx, files)?;
    unit.files.retain(|file| file.level > 0);
    Ok(unit)
}

/// By which rule records of several levels are merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Merged {
    ByRuleOfTable,
    /// As they were made ([`took_in`]); no changelog tells of it.
    ByRuleOfFiles,
}

fn key_types(ctx: &TableContext) -> Vec<DataType> {
    ctx.schema.key_fields().iter().map(|f| f.data_type.clone()).collect()
}

/// Leaves no new file behind when it fails.
fn run_unit(
    ctx: &TableContext,
    partition: &[u8],
    bucket: i32,
    files: &[DataFileMeta],
    (unit, merged): (&CompactUnit, Merged),
    resources: &CompactResources,
) -> Result<CompactIncrement> {
    let key_types = key_types(ctx);
    let expiry = RecordExpiry::of(ctx)?;
    let tree = Levels::new(files, ctx.options.num_levels, key_types.clone())?;
    let mut task = CompactTask {
        ctx,
        partition,
        bucket,
        unit,
        merged,
        resources,
        // nothing older lies below the output
        drop_deletes: unit.output_level != 0
            && (ctx.options.deletion_vectors_enabled || unit.output_level >= tree.highest_non_empty()),
        max_level: tree.max_level(),
        other_rule: HashMap::new(),
        left: left_up_to(files, unit),
        above: left_above(files, unit),
        key_types,
        rewriter: MergeTreeCompactRewriter::of(&ctx.options),
        layout: KvLayout::of_table(ctx),
        commits: CommitOrder::of(files),
        probe: None,
        looked_up: Vec::new(),
        late: HashSet::new(),
        deletions: DeletionMap::default(),
        expiry,
        result: CompactIncrement::default(),
    };
    task.open_probe(&tree)?;
    if let Some(vectors) = &resources.vectors {
        task.deletions = vectors.of(&unit.files)?;
    }
    match task.run().and_then(|()| task.write_vectors()) {
        Ok(()) => Ok(task.result),
        Err(error) => {
            task.delete_outputs();
            Err(error)
        }
    }
}

fn left_up_to(files: &[DataFileMeta], unit: &CompactUnit) -> Vec<String> {
    let left = left(files, unit).filter(|file| file.level <= unit.output_level);
    left.map(|file| file.file_name.clone()).collect()
}

fn left_above(files: &[DataFileMeta], unit: &CompactUnit) -> Vec<DataFileMeta> {
    left(files, unit).filter(|file| file.level > unit.output_level).cloned().collect()
}

/// Files that a unit does not take.
fn left<'a>(files: &'a [DataFileMeta], unit: &'a CompactUnit) -> impl Iterator<Item = &'a DataFileMeta> {
    let taken: HashSet<&str> = unit.files.iter().map(|file| file.file_name.as_str()).collect();
    files.iter().filter(move |file| !taken.contains(file.file_name.as_str()))
}

struct CompactTask<'a> {
    ctx: &'a TableContext,
    partition: &'a [u8],
    bucket: i32,
    unit: &'a CompactUnit,
    merged: Merged,
    resources: &'a CompactResources,
    drop_deletes: bool,
    max_level: i32,
    /// whether levels meant something else at some time since a schema
    other_rule: HashMap<i64, bool>,
    /// names of known files up to the output level that the unit leaves where they are
    left: Vec<String>,
    /// files of the levels above the output: older rows
    above: Vec<DataFileMeta>,
    key_types: Vec<DataType>,
    rewriter: MergeTreeCompactRewriter,
    layout: KvLayout,
    commits: CommitOrder,
    /// looks into the levels above the output
    probe: Option<SharedProbe>,
    /// files whose values it looks up
    looked_up: Vec<DataFileMeta>,
    /// names of files of level 0 whose rows may not be newer than what is looked up
    late: HashSet<String>,
    /// deletion vectors of the inputs
    deletions: DeletionMap,
    /// records that are too old
    expiry: Option<RecordExpiry>,
    result: CompactIncrement,
}

/// What becomes of merged rows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Output {
    /// New files.
    Rewrite {
        /// whether retracts are left out
        drop_deletes: bool,
    },
    /// The files stay and change their level; only the changelog is new.
    Keep,
}

impl CompactTask<'_> {
    fn run(&mut self) -> Result<()> {
        if self.unit.file_rewrite {
            return self.unit.files.iter().try_for_each(|f| self.rewrite(vec![vec![SortedRun::single(f.clone())]]));
        }
        let small = self.small_file_bytes();
        let mut pending: Vec<Vec<SortedRun>> = Vec::new();
        for mut section in interval_partition(&self.unit.files, &self.key_types)? {
            if section.len() != 1 {
                pending.push(section);
                continue;
            }
            for file in section.pop().into_iter().flat_map(|run| run.files) {
                // neighbours that are small are rewritten together
                if file.file_size < small {
                    pending.push(vec![SortedRun::single(file)]);
                } else {
                    self.finish_pending(std::mem::take(&mut pending))?;
                    self.upgrade(&file)?;
                }
            }
        }
        self.finish_pending(pending)
    }

    /// Rewrites what has gathered; a single run is only upgraded.
    fn finish_pending(&mut self, pending: Vec<Vec<SortedRun>>) -> Result<()> {
        match pending.as_slice() {
            [] => Ok(()),
            [section] if section.len() == 1 => {
                section.iter().flat_map(|run| &run.files).try_for_each(|file| self.upgrade(file))
            }
            _ => self.rewrite(pending),
        }
    }

    /// Moves a file to the output level without touching it, where that is right.
    fn upgrade(&mut self, file: &DataFileMeta) -> Result<()> {
        let is_there = file.level == self.unit.output_level;
        let keeps_deletes = !is_there && self.unit.output_level == self.max_level && file.delete_row_count != Some(0);
        // what reaches the highest level, or is there already, leaves its deleted rows behind
        let drops_deletes = self.unit.output_level == self.max_level && self.deletions.contains_key(&file.file_name);
        let forced = self.ctx.options.compaction_force_rewrite_all_files;
        let other_rule = !is_there && self.is_of_other_rule(file)?;
        if keeps_deletes || drops_deletes || forced || other_rule || self.has_expired_rows(file)? {
            return self.rewrite(vec![vec![SortedRun::single(file.clone())]]);
        }
        if is_there {
            return Ok(());
        }
        let alone = vec![vec![SortedRun::single(file.clone())]];
        let late = self.late.contains(&file.file_name);
        match self.rewriter.upgrade(&self.ctx.options, file, late, self.unit.output_level, self.max_level) {
            Upgrade::Changelog if self.produces_changelog() || self.writes_deletion_vectors() => {
                self.produce(alone, true, Output::Keep)
            }
            Upgrade::Rewrite => {
                let drop_deletes = self.ctx.options.deletion_vectors_enabled;
                self.produce(alone, true, Output::Rewrite { drop_deletes })
            }
            Upgrade::Plain | Upgrade::Changelog => {
                self.move_up(file);
                Ok(())
            }
        }
    }

    /// Whether readers may take the levels otherwise if a file only moved up: they go by the newest schema of the files above level
    /// 0 ([`took_in`]), of those that they look at, and this one is of a schema from before an alter, or of a handle from before it.
    fn is_of_other_rule(&mut self, file: &DataFileMeta) -> Result<bool> {
        if file.schema_id == self.ctx.schema.id {
            return Ok(false);
        }
        if let Some(known) = self.other_rule.get(&file.schema_id) {
            return Ok(*known);
        }
        let is_other = levels_changed(self.ctx, file.schema_id, self.ctx.schema.id)?.is_some();
        self.other_rule.insert(file.schema_id, is_other);
        Ok(is_other)
    }

    fn has_expired_rows(&self, file: &DataFileMeta) -> Result<bool> {
        self.expiry.as_ref().map_or(Ok(false), |expiry| expiry.has_expired_rows(self.ctx, file))
    }

    fn produces_changelog(&self) -> bool {
        self.rewriter.produces_changelog(&self.ctx.options) && !self.resources.ignore_previous
    }

    /// Rows of older levels are deleted by vectors.
    fn writes_deletion_vectors(&self) -> bool {
        self.ctx.options.deletion_vectors_enabled && self.probe.is_some()
    }

    fn write_vectors(&mut self) -> Result<()> {
        if let Some(vectors) = &self.resources.vectors {
            self.result.index_files.extend(vectors.write()?);
        }
        Ok(())
    }

    fn move_up(&mut self, file: &DataFileMeta) {
        self.result.compact_before.push(file.clone());
        self.result
            .compact_after
            .push(DataFileFields { level: self.unit.output_level, ..DataFileFields::clone(file) }.into());
    }

    fn rewrite(&mut self, sections: Vec<Vec<SortedRun>>) -> Result<()> {
        let applies = self.merged == Merged::ByRuleOfTable
            && self.rewriter.applies(self.unit.output_level, self.max_level, &sections);
        self.produce(sections, applies, Output::Rewrite { drop_deletes: self.drop_deletes })
    }

    /// Merges sections into new files, a changelog, or both. `applies`: under the table's own rule.
    fn produce(&mut self, sections: Vec<Vec<SortedRun>>, applies: bool, output: Output) -> Result<()> {
        let inputs: Vec<DataFileMeta> = sections.iter().flatten().flat_map(|run| run.files.clone()).collect();
        let level = self.unit.output_level;
        let produces_changelog = applies && self.produces_changelog();
        if produces_changelog || output != Output::Keep {
            check_rewritable(self.ctx, inputs.iter().chain(&self.looked_up))?;
        }
        let changelog = produces_changelog
            .then(|| ChangelogFiles::new(self.ctx, self.partition, self.bucket, level))
            .transpose()?;
        let spec = FileWriteSpec::key_value(level, FileSource::Compact).within(self.resources.memory);
        let writer = match output {
            Output::Rewrite { .. } => Some(RollingWriter::new(self.ctx, self.partition, self.bucket, spec)?),
            Output::Keep => None,
        };
        let untouched = match &writer {
            Some(writer) if self.copies() => self.untouched(&sections, writer)?,
            _ => Untouched::default(),
        };
        let mut reader = self.reader(applies, output, changelog.as_ref(), &untouched)?;
        reader.options.leaves_out_older = self.leaves_out_older(&inputs)?;
        let merged = reader.read(sections);
        let dropped = self.dropped_deletes(&inputs, output)?;
        let written = self.write(merged, writer, untouched);
        let told = match (&written, &changelog) {
            (_, None) => Ok(Vec::new()),
            (Ok(_), Some(changelog)) => changelog.finish(),
            (Err(_), Some(changelog)) => {
                changelog.abort();
                Ok(Vec::new())
            }
        };
        let files = written?;
        // from here on a failure deletes them with the rest
        self.result.compact_after.extend(files);
        self.result.changelog_files.extend(told?);
        self.result.dropped.extend(dropped);
        match output {
            Output::Rewrite { .. } => {
                if let Some(vectors) = &self.resources.vectors {
                    for file in &inputs {
                        vectors.remove(&file.file_name);
                    }
                }
                self.result.compact_before.extend(inputs);
            }
            Output::Keep => inputs.iter().for_each(|file| self.move_up(file)),
        }
        Ok(())
    }

    /// The keys whose deletes this leaves out; `None` where it leaves none out.
    fn dropped_deletes(&self, inputs: &[DataFileMeta], output: Output) -> Result<Option<DroppedDeletes>> {
        let with_deletes = || inputs.iter().filter(|file| file.delete_row_count != Some(0));
        let Some((min, max)) =
            self.key_range(with_deletes())?.filter(|_| output == Output::Rewrite { drop_deletes: true })
        else {
            return Ok(None);
        };
        Ok(Some(DroppedDeletes {
            level: self.unit.output_level,
            min_key: min.to_vec(),
            max_key: max.to_vec(),
            max_sequence_number: with_deletes().map(|file| file.max_sequence_number).max().unwrap_or_default(),
            known: self.left.clone(),
        }))
    }

    fn write(
        &self,
        merged: BatchStream,
        writer: Option<RollingWriter>,
        untouched: Untouched,
    ) -> Result<Vec<DataFileMeta>> {
        let Some(mut writer) = writer else {
            for batch in merged {
                batch?;
            }
            return Ok(Vec::new());
        };
        let merged = if self.resources.threads > 0 { read_ahead(merged, AHEAD) } else { merged };
        match untouched.write_among(merged, &mut writer, self.resources.threads > 0) {
            Ok(()) => writer.finish(),
            Err(error) => {
                writer.abort();
                Err(error)
            }
        }
    }

    /// Whether rows that no other run touches are as a rewrite would write them: a record alone stays as it is.
    fn copies(&self) -> bool {
        let o = &self.ctx.options;
        self.rewriter == MergeTreeCompactRewriter::Plain
            && !o.needs_lookup()
            && !o.compaction_force_rewrite_all_files
            && self.expiry.is_none()
    }

    /// Whether older rows of keys of these files may lie above the output, and are not looked up.
    fn leaves_out_older(&self, inputs: &[DataFileMeta]) -> Result<bool> {
        if self.ctx.options.needs_lookup() {
            return Ok(false);
        }
        let Some((min, max)) = self.key_range(inputs)? else { return Ok(false) };
        for older in &self.above {
            if compare_serialized(&older.min_key, max, &self.key_types)?.is_le()
                && compare_serialized(&older.max_key, min, &self.key_types)?.is_ge()
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The least and the greatest key of some files.
    fn key_range<'f>(&self, files: impl IntoIterator<Item = &'f DataFileMeta>) -> Result<Option<(&'f [u8], &'f [u8])>> {
        let mut files = files.into_iter();
        let Some(first) = files.next() else { return Ok(None) };
        let (mut min, mut max) = (first.min_key.as_slice(), first.max_key.as_slice());
        for file in files {
            if compare_serialized(&file.min_key, min, &self.key_types)?.is_lt() {
                min = &file.min_key;
            }
            if compare_serialized(&file.max_key, max, &self.key_types)?.is_gt() {
                max = &file.max_key;
            }
        }
        Ok(Some((min, max)))
    }

    fn untouched(&self, sections: &[Vec<SortedRun>], writer: &RollingWriter) -> Result<Untouched> {
        let finder = Finder {
            ctx: self.ctx,
            partition: self.partition,
            bucket: self.bucket,
            key_types: &self.key_types,
            deletions: &self.deletions,
            writer,
            memory: self.resources.memory,
        };
        finder.among(sections)
    }

    fn reader(
        &self,
        applies: bool,
        output: Output,
        changelog: Option<&ChangelogFiles>,
        untouched: &Untouched,
    ) -> Result<SectionReader> {
        let options = MergeReadOptions {
            drop_deletes: output == Output::Rewrite { drop_deletes: true },
            threads: self.resources.threads,
            spill_dir: self.resources.spill_dir.clone(),
            memory: self.resources.memory,
            deletions: self.deletions.clone(),
            left_out: Arc::new(untouched.by_file()),
            expiry: self.expiry.clone(),
            batch_rows: if self.probe.is_some() { LOOKUP_ROWS } else { MergeReadOptions::default().batch_rows },
            ..MergeReadOptions::default()
        };
        Ok(SectionReader {
            ctx: self.ctx.clone(),
            bucket: BucketId { partition: self.partition.to_vec(), bucket: self.bucket },
            layout: self.layout.clone(),
            function: for_table(self.ctx, Some(self.partition))?,
            rule: if applies {
                LevelRule::Always(self.wrapper(output, changelog))
            } else {
                level_rule(self.ctx, &self.layout, &self.unit.files)?
            },
            commits: self.commits.clone(),
            key_types: self.key_types.clone(),
            options,
        })
    }

    /// Makes the wrapper of each section.
    fn wrapper(&self, output: Output, changelog: Option<&ChangelogFiles>) -> WrapperFactory {
        let (rewriter, top, layout) = (self.rewriter, self.max_level, self.layout.clone());
        let (probe, changelog) = (self.probe.clone(), changelog.cloned());
        let compared = compared_columns(&self.ctx.options, &self.layout);
        Arc::new(move || {
            let probe = probe.clone().map(|probe| Box::new(probe) as Box<dyn Probe>);
            let rule = match rewriter {
                MergeTreeCompactRewriter::Plain => Rule::Levels,
                MergeTreeCompactRewriter::FullChangelog => Rule::Top(top),
                MergeTreeCompactRewriter::Lookup => Rule::Lookup(probe),
                MergeTreeCompactRewriter::FirstRow => Rule::FirstRow(probe),
            };
            let wrapper = MergeFunctionWrapper::new(rule, &layout)?;
            let sink = changelog.as_ref().map(ChangelogFiles::sink);
            Ok(wrapper.with_changelog(sink).comparing(compared.clone()).with_changelog_only(output == Output::Keep))
        })
    }

    /// Opens nothing yet: files are opened when keys fall into their range.
    fn open_probe(&mut self, tree: &Levels) -> Result<()> {
        if !matches!(self.rewriter, MergeTreeCompactRewriter::Lookup | MergeTreeCompactRewriter::FirstRow)
            || self.unit.output_level <= 0
        {
            return Ok(());
        }
        let runs = runs_above(tree, self.unit.output_level);
        let above = || runs.iter().flat_map(|run| &run.run.files);
        for file in self.unit.files.iter().filter(|file| file.level == 0) {
            if is_late(file, above(), &self.key_types)? {
                self.late.insert(file.file_name.clone());
            }
        }
        let o = &self.ctx.options;
        let values = self.rewriter.looks_values_up(o, self.produces_changelog(), !self.late.is_empty());
        if values {
            self.looked_up = above().cloned().collect();
        }
        let fresh = || LookupCache::new(self.ctx.options.lookup_cache_max_memory_size);
        let cache = self.resources.cache.clone().unwrap_or_else(fresh);
        let probe = LevelProbe::new(self.ctx, self.partition, self.bucket, &self.layout, &runs, values, &cache)?;
        let vectors = self.resources.vectors.clone().filter(|_| o.deletion_vectors_enabled);
        let kept = self.expiry.clone();
        self.probe = probe.map(|probe| SharedProbe::new(probe.marking(vectors).without_expired(kept)));
        Ok(())
    }

    /// Files below this size are rewritten together with their neighbours.
    fn small_file_bytes(&self) -> i64 {
        #[allow(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            reason = "a threshold: a rounded one is as good, and float to integer casts saturate"
        )]
        let bytes =
            (self.ctx.options.target_file_size(true) as f64 * self.ctx.options.compaction_small_file_ratio) as i64;
        bytes
    }

    /// Deletes what was written before the task failed.
    fn delete_outputs(&self) {
        self.result.made().for_each(|file| delete_unused(self.ctx, self.partition, self.bucket, file));
    }
}
