//! The k-way merge: sorted batch streams in, one sorted and merged batch stream out, in bounded memory.
//!
//! [`sort_merge_reader`] is the loop, [`key`] says how keys are compared, [`source_batch`] how equal keys are ordered
//! ([`nested_order`]: nested sequence fields), [`batch_builder`] applies the engine and builds batches, [`open`] keeps the
//! records of one key few, [`older`] stops a merge that would need records which it leaves out, [`prefetch`] puts decoding on
//! other threads, [`spill`] keeps the number of open inputs small, [`wrapper`] knows the levels of records: lookup, changelogs,
//! first-row.

pub(crate) mod batch_builder;
pub(crate) mod key;
mod loser_tree;
pub(crate) mod older;
mod open;
pub(crate) mod prefetch;
mod sort_merge_reader;
pub(crate) mod source_batch;
pub(crate) mod spill;
#[cfg(test)]
mod tests;
pub(crate) mod wrapper;

use std::sync::Arc;

use arrow_schema::SchemaRef;

pub use prefetch::read_ahead;
pub use spill::SpillOptions;

use self::{
    key::{KeyShape, with_codec},
    prefetch::Decoders,
    sort_merge_reader::SortMergeReader,
    spill::SpilledRun,
    wrapper::MergeFunctionWrapper,
};
use super::merge_function::{Choice, Computed, Groups, MergeFunction};
use crate::{
    Error, ErrorKind, Result,
    io::{BatchStream, KvLayout, schema_with_failures},
};

/// How to merge.
#[derive(Clone, Debug)]
pub struct MergeOptions {
    /// Rows of a result batch.
    pub batch_rows: usize,
    /// Leave out results that are retracts.
    pub drop_deletes: bool,
    /// No input has two rows of one key; true for data files.
    pub unique_inputs: bool,
    /// Threads that decode inputs ahead; 0 decodes inside the merge.
    pub threads: usize,
    /// When there are more than `max_fan_in` inputs, the last ones are first merged into spill files.
    pub spill: Option<SpillOptions>,
    /// Values of the inputs that could not be cast.
    pub late_casts: LateCasts,
    /// There are older records of the keys that are not among the inputs: the merge stops with an error where it
    /// would need them.
    pub leaves_out_older: bool,
}

/// What becomes of values of the inputs that could not be cast.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LateCasts {
    /// The inputs have none.
    #[default]
    None,
    /// A chosen row that has one is an error.
    Checked,
    /// The result says of each row whether it has one: it is merged again.
    Carried,
}

impl LateCasts {
    /// Of a merge whose result is merged again.
    fn intermediate(self) -> Self {
        if self == Self::None { Self::None } else { Self::Carried }
    }
}

impl Default for MergeOptions {
    fn default() -> Self {
        Self {
            batch_rows: 8192,
            drop_deletes: false,
            unique_inputs: true,
            threads: 0,
            spill: None,
            late_casts: LateCasts::None,
            leaves_out_older: false,
        }
    }
}

impl MergeOptions {
    /// Of a merge whose result is merged again.
    fn intermediate(&self) -> Self {
        let late_casts = self.late_casts.intermediate();
        Self { drop_deletes: false, spill: None, batch_rows: 4096, late_casts, ..self.clone() }
    }

    /// Of the merged batches.
    fn schema(&self, layout: &KvLayout) -> Result<SchemaRef> {
        let schema = layout.arrow_schema()?;
        Ok(if self.late_casts == LateCasts::Carried { schema_with_failures(&schema) } else { schema })
    }
}

/// Merges streams of key-value batches, each sorted by key (and equal keys in merge order), into one. Of records that are
/// equal in everything that orders them those of earlier streams come first. The work happens on the thread that pulls; see
/// [`read_ahead`].
pub fn merge(
    mut inputs: Vec<BatchStream>,
    layout: &KvLayout,
    function: Arc<dyn MergeFunction>,
    mut options: MergeOptions,
) -> Result<BatchStream> {
    if let Some(spill) = options.spill.take() {
        limit_inputs(&mut inputs, layout, &function, &mut options, &spill)?;
    }
    let decoders = Decoders::new(options.threads.min(inputs.len()));
    let inputs = inputs.into_iter().map(|stream| decoders.attach(stream)).collect();
    merge_inputs(inputs, layout, function, &options, None)
}

/// Merges streams of which the level is known, under the rule of a wrapper.
pub(crate) fn merge_wrapped(
    mut inputs: Vec<(i32, BatchStream)>,
    layout: &KvLayout,
    function: Arc<dyn MergeFunction>,
    mut options: MergeOptions,
    wrapper: MergeFunctionWrapper,
) -> Result<BatchStream> {
    if let Some(spill) = options.spill.take() {
        limit_level0(&mut inputs, layout, &mut options, &spill)?;
    }
    let decoders = Decoders::new(options.threads.min(inputs.len()));
    let (levels, inputs): (Vec<i32>, Vec<BatchStream>) =
        inputs.into_iter().map(|(level, stream)| (level, decoders.attach(stream))).unzip();
    merge_inputs(inputs, layout, function, &options, Some(wrapper.with_levels(levels)))
}

fn merge_inputs(
    inputs: Vec<BatchStream>,
    layout: &KvLayout,
    function: Arc<dyn MergeFunction>,
    options: &MergeOptions,
    wrapper: Option<MergeFunctionWrapper>,
) -> Result<BatchStream> {
    let shape = KeyShape::of(layout)?;
    Ok(with_codec!(shape, layout, |codec| Box::new(SortMergeReader::new(
        codec, inputs, layout, function, options, wrapper
    )?)))
}

/// Sorts the last level-0 inputs into spilled runs until at most `max_fan_in` inputs are left, or one of level 0. The
/// levels above have one run each, and a wrapper has to know the level of each record.
fn limit_level0(
    inputs: &mut Vec<(i32, BatchStream)>,
    layout: &KvLayout,
    options: &mut MergeOptions,
    spill: &SpillOptions,
) -> Result<()> {
    let schema = options.intermediate().schema(layout)?;
    let (mut zero, mut rest): (Vec<_>, Vec<_>) = std::mem::take(inputs).into_iter().partition(|(level, _)| *level == 0);
    let limit = spill.max_fan_in.saturating_sub(rest.len()).max(2);
    let mut spilled = Vec::new();
    while zero.len() + spilled.len() > limit && zero.len() > 1 {
        let excess = zero.len() + spilled.len() - limit + 1;
        let take = excess.clamp(2, limit).min(zero.len());
        let part = zero.split_off(zero.len() - take).into_iter().map(|(_, stream)| stream).collect();
        let step = options.intermediate();
        let sorted = merge_inputs(part, layout, Arc::new(KeepAll), &step, None)?;
        let sorted = if options.threads > 0 { read_ahead(sorted, 2) } else { sorted };
        spilled.push((0, SpilledRun::write(sorted, &schema, spill)?.read()?));
        options.unique_inputs = false;
    }
    // the last ones were spilled first; equal records stay in the order of the inputs
    spilled.reverse();
    inputs.append(&mut zero);
    inputs.append(&mut spilled);
    inputs.append(&mut rest);
    Ok(())
}

/// Merges the last inputs into spilled runs until at most `max_fan_in` are left. An engine that is not associative
/// gets its records unmerged, only sorted.
fn limit_inputs(
    inputs: &mut Vec<BatchStream>,
    layout: &KvLayout,
    function: &Arc<dyn MergeFunction>,
    options: &mut MergeOptions,
    spill: &SpillOptions,
) -> Result<()> {
    let limit = spill.max_fan_in.max(2);
    let schema = options.intermediate().schema(layout)?;
    let mut spilled = Vec::new();
    while inputs.len() + spilled.len() > limit {
        // runs read from disk are not merged again while others are left
        let excess = inputs.len() + spilled.len() - limit + 1;
        let take = excess.clamp(2, limit).min(inputs.len());
        let part = inputs.split_off(inputs.len() - take);
        if part.is_empty() {
            break;
        }
        let step = options.intermediate();
        let merged = merge_inputs(part, layout, intermediate(function), &step, None)?;
        let merged = if options.threads > 0 { read_ahead(merged, 2) } else { merged };
        let run = SpilledRun::write(merged, &schema, spill)?;
        spilled.push(run.read()?);
    }
    if !spilled.is_empty() {
        options.unique_inputs = options.unique_inputs && function.associative();
    }
    // the last ones were spilled first; equal records stay in the order of the inputs
    spilled.reverse();
    inputs.append(&mut spilled);
    Ok(())
}

/// The engine of a merge whose result is merged again.
pub(crate) fn intermediate(function: &Arc<dyn MergeFunction>) -> Arc<dyn MergeFunction> {
    if function.associative() { Arc::clone(function) } else { Arc::new(KeepAll) }
}

/// Sorts without merging.
#[derive(Debug)]
pub(crate) struct KeepAll;

impl MergeFunction for KeepAll {
    fn choice(&self) -> Choice {
        Choice::All
    }

    fn merge(&self, _groups: &Groups<'_>) -> Result<Computed> {
        Err(Error::new(ErrorKind::Internal, "sorting computes nothing"))
    }
}
