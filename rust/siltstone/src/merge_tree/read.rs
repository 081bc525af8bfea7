//! Reading the files of a bucket merged: sections one after another.

use std::{collections::HashMap, ops::Range, path::PathBuf, sync::Arc};

use super::{
    SortedRun,
    expiry::RecordExpiry,
    interval_partition,
    merge::{
        LateCasts, MergeOptions, SpillOptions, merge, merge_wrapped, read_ahead,
        wrapper::{MergeFunctionWrapper, Rule},
    },
    merge_function::{Choice, MergeFunction, for_layout},
    ties::{CommitOrder, Stays, may_tie, runs_in_order},
};
use crate::{
    ErrorKind, Result,
    deletion_vectors::DeletionMap,
    io::{BatchStream, FileReadSpec, KvLayout, TableContext, read_data_file},
    manifest::{BucketId, DataFileMeta},
    options::CoreOptions,
    predicate::Predicate,
    types::{DataField, DataType},
};

/// Bytes that the runs of a merge may hold where nothing else is said.
const MERGE_BYTES: usize = 1 << 30;
/// Bytes of the decoder of a column, without what it has read.
const DECODER_BYTES: u64 = 64 << 10;
/// Bytes of a column's page, decompressed and as it was read.
const PAGE_BYTES: u64 = 1280 << 10;
/// How much larger rows are in memory than in their file, about.
const DECOMPRESSED: u64 = 4;
/// Runs that are merged at once, however much each of them holds.
const LEAST_RUNS: usize = 4;

/// How to read merged rows.
#[derive(Clone, Debug)]
pub struct MergeReadOptions {
    /// Condition over key columns; rows that do not satisfy it may still come.
    pub key_filter: Option<Predicate>,
    /// Condition over any columns of the layout; used only where nothing is merged. Rows that do not satisfy it may
    /// still come.
    pub value_filter: Option<Predicate>,
    /// Leave out retracts.
    pub drop_deletes: bool,
    /// Rows of a batch.
    pub batch_rows: usize,
    /// Threads that decode ahead; 0 does everything on the reader's thread.
    pub threads: usize,
    /// Local folder for spilling when a section has more runs than `sort-spill-threshold`; `None` opens all at once that
    /// the memory is enough for.
    pub spill_dir: Option<PathBuf>,
    /// Bytes that the runs of a section may hold while they are merged, about; `None`: 1 GiB.
    pub memory: Option<usize>,
    /// Rows that do not come: deletion vectors by data file.
    pub deletions: DeletionMap,
    /// Other rows that do not come, by data file: ascending numbers.
    pub(crate) left_out: Arc<HashMap<String, Vec<Range<i64>>>>,
    /// There are files with older rows of the same keys that are not read: merging stops where they would be needed
    /// ([`older`](super::merge::older)).
    pub(crate) leaves_out_older: bool,
    /// Records that are too old do not come either.
    pub(crate) expiry: Option<RecordExpiry>,
}

impl Default for MergeReadOptions {
    fn default() -> Self {
        Self {
            key_filter: None,
            value_filter: None,
            drop_deletes: true,
            batch_rows: 8192,
            threads: 1,
            spill_dir: None,
            memory: None,
            deletions: DeletionMap::default(),
            left_out: Arc::default(),
            leaves_out_older: false,
            expiry: None,
        }
    }
}

/// Reads files of one bucket as merged key-value batches of the layout, in key order. Sections are opened one
/// after another; a section with one run is read without merging. Files of level 0 come in the order of their commits: of
/// equal records that of the first one stays ([`ties`](super::ties)).
pub fn read_merged(
    ctx: &TableContext,
    partition: &[u8],
    bucket: i32,
    files: &[DataFileMeta],
    layout: &KvLayout,
    options: MergeReadOptions,
) -> Result<BatchStream> {
    let key_types: Vec<DataType> = ctx.schema.key_fields().iter().map(|f| f.data_type.clone()).collect();
    let sections = interval_partition(files, &key_types)?;
    let reader = SectionReader {
        ctx: ctx.clone(),
        bucket: BucketId { partition: partition.to_vec(), bucket },
        layout: layout.clone(),
        function: for_layout(ctx, layout, Some(partition))?,
        rule: level_rule(ctx, layout, files)?,
        commits: CommitOrder::of(files),
        key_types,
        options,
    };
    Ok(reader.read(sections))
}

/// Makes a wrapper for each section.
pub(super) type WrapperFactory = Arc<dyn Fn() -> Result<MergeFunctionWrapper> + Send + Sync>;

/// What the levels of records mean.
#[derive(Clone)]
pub(super) enum LevelRule {
    /// Nothing.
    None,
    /// They matter where records of one key meet.
    Merging(WrapperFactory),
    /// They matter for every record.
    Always(WrapperFactory),
}

/// In tables that look keys up, records of several levels above 0 are not merged with one another: each has taken in
/// what lies above it (semantics c.3; `LookupMergeFunction`). First-row keeps whatever comes first.
pub(super) fn level_rule(ctx: &TableContext, layout: &KvLayout, files: &[DataFileMeta]) -> Result<LevelRule> {
    if ctx.options.merge_engine.oldest_wins() || !took_in(ctx, files)? {
        return Ok(LevelRule::None);
    }
    let layout = layout.clone();
    Ok(LevelRule::Merging(Arc::new(move || MergeFunctionWrapper::new(Rule::Levels, &layout))))
}

/// Whether the compactions that made these files looked keys up. The option changes only where each bucket has one level: files of
/// several levels were made, the newest of them at least, since the last change before the version that is read.
pub(super) fn took_in(ctx: &TableContext, files: &[DataFileMeta]) -> Result<bool> {
    let above = || files.iter().filter(|file| file.level > 0);
    let several = above().map(|file| file.level).min() < above().map(|file| file.level).max();
    match above().map(|file| file.schema_id).max() {
        Some(newest) if several && ctx.options.levels_matter() => took_in_under(ctx, newest),
        _ => Ok(ctx.options.needs_lookup()),
    }
}

/// Whether compactions under a schema looked keys up; where it is gone, as they do now.
fn took_in_under(ctx: &TableContext, schema_id: i64) -> Result<bool> {
    match ctx.schemas.get(schema_id) {
        Ok(schema) => Ok(CoreOptions::parse(&schema.options)?.needs_lookup()),
        Err(error) if error.kind() == ErrorKind::FileNotFound => Ok(ctx.options.needs_lookup()),
        Err(error) => Err(error),
    }
}

/// Opens sections when their turn comes.
pub(super) struct SectionReader {
    pub(super) ctx: TableContext,
    pub(super) bucket: BucketId,
    pub(super) layout: KvLayout,
    pub(super) function: Arc<dyn MergeFunction>,
    pub(super) rule: LevelRule,
    pub(super) commits: CommitOrder,
    pub(super) key_types: Vec<DataType>,
    pub(super) options: MergeReadOptions,
}

impl SectionReader {
    /// All sections, one after another.
    pub(super) fn read(self, sections: Vec<Vec<SortedRun>>) -> BatchStream {
        let reader = Arc::new(self);
        Box::new(sections.into_iter().flat_map(move |section| opened(SectionReader::section(&reader, section))))
    }

    fn section(reader: &Arc<Self>, mut section: Vec<SortedRun>) -> Result<BatchStream> {
        let single = section.len() == 1;
        match &reader.rule {
            LevelRule::Always(wrapper) => return Self::wrapped_section(reader, section, wrapper()?),
            LevelRule::Merging(wrapper) if !single => return Self::wrapped_section(reader, section, wrapper()?),
            LevelRule::Merging(_) | LevelRule::None => {}
        }
        let late = if single { Vec::new() } else { reader.late_casts() };
        let ties = !single && may_tie(section.iter().flat_map(|run| &run.files));
        if ties {
            section = reader.in_order(section)?.into_iter().map(|(_, run)| run).collect();
        }
        let options = reader.merge_options(&section, &late);
        if !ties && options.spill.as_ref().is_some_and(|spill| section.len() > spill.max_fan_in) {
            // the last ones are spilled: the smallest
            section.sort_by_key(|run| std::cmp::Reverse(run.total_size()));
        }
        let filter = if single { reader.single_filter() } else { reader.options.key_filter.clone() };
        let mut runs: Vec<BatchStream> =
            section.into_iter().map(|run| Self::run(reader, run, filter.clone(), late.clone(), single)).collect();
        if single && let Some(run) = runs.pop() {
            return Ok(if reader.options.threads > 0 { read_ahead(run, 2) } else { run });
        }
        merge(runs, &reader.layout, Arc::clone(&reader.function), options)
    }

    /// A section whose records' levels matter: every run has files of one level only.
    fn wrapped_section(
        reader: &Arc<Self>,
        section: Vec<SortedRun>,
        wrapper: MergeFunctionWrapper,
    ) -> Result<BatchStream> {
        let ties = may_tie(section.iter().flat_map(|run| &run.files));
        let mut runs = reader.in_order(section)?;
        if !ties {
            // where they are too many, the smallest are spilled
            runs.sort_by_key(|(_, run)| std::cmp::Reverse(run.total_size()));
        }
        let filter = reader.options.key_filter.clone();
        let late = reader.late_casts();
        let options = reader.merge_options(runs.iter().map(|(_, run)| run), &late);
        let open = |run| Self::run(reader, run, filter.clone(), late.clone(), false);
        let inputs = runs.into_iter().map(|(level, run)| (level, open(run))).collect();
        merge_wrapped(inputs, &reader.layout, Arc::clone(&reader.function), options, wrapper)
    }

    /// Runs of one level each, in the order in which equal records are merged.
    fn in_order(&self, section: Vec<SortedRun>) -> Result<Vec<(i32, SortedRun)>> {
        let files: Vec<DataFileMeta> = section.into_iter().flat_map(|run| run.files).collect();
        runs_in_order(&files, &self.commits, &self.key_types, Stays::of(self.function.choice()))
    }

    /// Both conditions: nothing is merged, so a row that does not satisfy them hides nothing.
    fn single_filter(&self) -> Option<Predicate> {
        match (&self.options.key_filter, &self.options.value_filter) {
            (Some(key), Some(value)) => Some(Predicate::And(vec![key.clone(), value.clone()])),
            (key, value) => key.clone().or_else(|| value.clone()),
        }
    }

    /// The files of a run, one after another. `single`: it is merged with nothing, so that retracts take nothing back.
    fn run(
        reader: &Arc<Self>,
        run: SortedRun,
        filter: Option<Predicate>,
        late_casts: Vec<i32>,
        single: bool,
    ) -> BatchStream {
        let reader = Arc::clone(reader);
        let (filter, exact_filter) = match (&reader.options.expiry, filter) {
            (None, filter) => (filter, false),
            (Some(expiry), filter) => (Some(Predicate::And(filter.into_iter().chain([expiry.kept()]).collect())), true),
        };
        let spec = FileReadSpec {
            exact_filter,
            late_casts,
            system: true,
            drop_retracts: single && reader.options.drop_deletes,
            filter,
            batch_rows: reader.options.batch_rows,
            ..FileReadSpec::new(reader.layout.fields.clone())
        };
        let open = move |file| opened(reader.file(&file, &spec));
        Box::new(run.files.into_iter().flat_map(open))
    }

    /// Fields whose values matter only in rows that win: the engine takes rows as they are, by other fields.
    fn late_casts(&self) -> Vec<i32> {
        if !matches!(self.function.choice(), Choice::First { .. } | Choice::Last { .. }) {
            return Vec::new();
        }
        let expiry = self.options.expiry.as_ref().map(RecordExpiry::column);
        let is_time = |at: &usize| self.layout.fields.get(*at).is_some_and(|field| Some(field.name.as_str()) == expiry);
        let by = |at: &usize| self.layout.key.contains(at) || self.layout.sequence.contains(at) || is_time(at);
        // there is no value to stand in for one that may not be null
        let late =
            |(at, field): &(usize, &DataField)| !by(at) && (field.data_type.nullable || !field.data_type.is_nested());
        self.layout.fields.iter().enumerate().filter(late).map(|(_, field)| field.id).collect()
    }

    fn file(&self, file: &DataFileMeta, spec: &FileReadSpec) -> Result<BatchStream> {
        let deletions = self.options.deletions.get(&file.file_name).cloned();
        let rows = self.options.left_out.get(&file.file_name).map(|left_out| others(left_out, file.row_count));
        let spec = FileReadSpec { rows, deletions, ..spec.clone() };
        read_data_file(&self.ctx, &self.bucket.partition, self.bucket.bucket, file, &spec)
    }

    fn merge_options<'a>(&self, runs: impl IntoIterator<Item = &'a SortedRun>, late_casts: &[i32]) -> MergeOptions {
        let o = &self.ctx.options;
        let by_memory = self.most_runs(runs);
        let dir = self.options.spill_dir.clone().or_else(|| by_memory.map(|_| std::env::temp_dir()));
        let by_option = o.sort_spill_threshold.unwrap_or(o.num_sorted_run_stop_trigger.saturating_add(1)).max(2);
        let by_option = if self.options.spill_dir.is_some() { by_option } else { usize::MAX };
        let spill = dir.map(|dir| SpillOptions {
            dir,
            compress: o.spill_compression != "none",
            max_fan_in: by_memory.unwrap_or(usize::MAX).min(by_option),
        });
        MergeOptions {
            batch_rows: self.options.batch_rows,
            drop_deletes: self.options.drop_deletes,
            unique_inputs: true,
            threads: self.options.threads,
            spill,
            late_casts: if late_casts.is_empty() { LateCasts::None } else { LateCasts::Checked },
            leaves_out_older: self.options.leaves_out_older,
        }
    }

    /// Runs that can be merged at once; `None`: all of them. Each run has one file open, and of each of its columns a
    /// decoder and a page.
    fn most_runs<'a>(&self, runs: impl IntoIterator<Item = &'a SortedRun>) -> Option<usize> {
        let limit = self.options.memory.unwrap_or(MERGE_BYTES);
        let columns = u64::try_from(self.layout.fields.len() + 2).unwrap_or(u64::MAX);
        let held = |run: &SortedRun| {
            let largest = run.files.iter().map(|file| u64::try_from(file.file_size).unwrap_or(0)).max().unwrap_or(0);
            let pages = largest.saturating_mul(DECOMPRESSED).min(columns.saturating_mul(PAGE_BYTES));
            usize::try_from(columns.saturating_mul(DECODER_BYTES).saturating_add(pages)).unwrap_or(usize::MAX)
        };
        let held: Vec<usize> = runs.into_iter().map(held).collect();
        let largest = held.iter().copied().max().unwrap_or(0);
        let all = held.into_iter().fold(0, usize::saturating_add);
        (all > limit).then(|| (limit / largest.max(1)).max(LEAST_RUNS))
    }
}

/// The rows of a file of so many rows that are not among these.
fn others(rows: &[Range<i64>], count: i64) -> Vec<Range<i64>> {
    let starts = std::iter::once(0).chain(rows.iter().map(|rows| rows.end));
    let ends = rows.iter().map(|rows| rows.start).chain([count]);
    starts.zip(ends).map(|(start, end)| start..end).filter(|rows| !rows.is_empty()).collect()
}

/// A stream that could not be opened is one error.
fn opened(stream: Result<BatchStream>) -> BatchStream {
    stream.unwrap_or_else(|e| Box::new(std::iter::once(Err(e))))
}
