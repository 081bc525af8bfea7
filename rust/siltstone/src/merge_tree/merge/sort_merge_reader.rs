//! The merge loop.
//!
//! Each input has a head: the prefix of its next key. A loser tree gives the input with the least head; its
//! row joins the current group or starts the next one. An input that wins many times in a row is searched for
//! the place where the runner-up takes over, and the rows before it go out without comparisons; when only one
//! input is left, its batches go out as they are.
#![allow(
    clippy::indexing_slicing,
    reason = "input and slot numbers are made here and stay below their vectors' lengths"
)]

use std::{cmp::Ordering, sync::Arc};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::{
    LateCasts, MergeOptions,
    batch_builder::BatchBuilder,
    key::KeyCodec,
    loser_tree::LoserTree,
    source_batch::{SourceBatchFactory, tie_order},
    wrapper::MergeFunctionWrapper,
};
use crate::{
    Error, ErrorKind, Result, cancel,
    io::{BatchStream, KvLayout, carried_failures, split_failures},
    merge_tree::merge_function::{Choice, MergeFunction},
};

/// Wins in a row after which an input is searched instead of stepped.
const STREAK: usize = 16;

/// Bytes of batches taken from the inputs after which the rows that wait go out: they hold the batches that they come from.
const TAKEN_BYTES: usize = 32 * 1024 * 1024;

struct Input {
    stream: BatchStream,
    slot: usize,
    row: usize,
    rows: usize,
    done: bool,
}

/// Rows whose key the current group has.
#[derive(Clone, Copy)]
struct GroupKey {
    slot: usize,
    row: usize,
    prefix: u64,
}

/// Merges streams; the keys are compared as `C` encodes them.
pub(super) struct SortMergeReader<C: KeyCodec> {
    codec: C,
    factory: SourceBatchFactory,
    schema: SchemaRef,
    inputs: Vec<Input>,
    heads: Vec<u64>,
    /// keys of the batch builder's slots, by slot number
    keys: Vec<C::Keys>,
    tree: Option<LoserTree>,
    assembler: BatchBuilder,
    group: Option<GroupKey>,
    late_casts: LateCasts,
    /// rows may be sent on without comparing them with their own input
    unique: bool,
    /// slots that make a collection worth its cost
    collect_at: usize,
    /// bytes of batches taken since the last collection
    taken: usize,
    /// the last winner and how often it has won in a row
    streak: (usize, usize),
    finished: bool,
    failed: bool,
}

impl<C: KeyCodec> SortMergeReader<C> {
    pub(super) fn new(
        codec: C,
        inputs: Vec<BatchStream>,
        layout: &KvLayout,
        function: Arc<dyn MergeFunction>,
        options: &MergeOptions,
        wrapper: Option<MergeFunctionWrapper>,
    ) -> Result<Self> {
        let schema = options.schema(layout)?;
        let unique = options.unique_inputs || function.choice() == Choice::All;
        let count = inputs.len();
        let input = |stream| Input { stream, slot: 0, row: 0, rows: 0, done: false };
        Ok(Self {
            codec,
            factory: SourceBatchFactory::new(layout)?,
            assembler: BatchBuilder::new(Arc::clone(&schema), function, options.drop_deletes, options.batch_rows)
                .with_wrapper(wrapper)
                .without_older(options.leaves_out_older),
            schema,
            late_casts: options.late_casts,
            inputs: inputs.into_iter().map(input).collect(),
            heads: vec![0; count],
            keys: Vec::new(),
            tree: None,
            group: None,
            unique,
            collect_at: 4 * count + 16,
            taken: 0,
            streak: (0, if count == 1 { STREAK } else { 0 }),
            finished: false,
            failed: false,
        })
    }

    /// The next merged batch.
    fn advance(&mut self) -> Result<Option<RecordBatch>> {
        if self.tree.is_none() {
            for input in 0..self.inputs.len() {
                self.load(input)?;
            }
            self.tree = Some(LoserTree::new(self.inputs.len(), &|a, b| self.beats(a, b)));
        }
        loop {
            if let Some(batch) = self.assembler.pop() {
                return Ok(Some(batch));
            }
            if self.finished {
                return Ok(None);
            }
            cancel::check()?;
            self.fill()?;
            self.assembler.flush()?;
            self.collect();
        }
    }

    /// Merges until a batch is full, many slots or bytes are in use, or the inputs end.
    fn fill(&mut self) -> Result<()> {
        let mut tree = self.tree.take().ok_or_else(|| Error::new(ErrorKind::Internal, "the merge has no tree"))?;
        let result = self.fill_with(&mut tree);
        self.tree = Some(tree);
        result
    }

    fn fill_with(&mut self, tree: &mut LoserTree) -> Result<()> {
        while !self.assembler.is_full() && !self.assembler.has_ready() && !self.holds_much() {
            let winner = tree.winner();
            let Some(input) = self.inputs.get(winner).filter(|input| !input.done) else {
                self.assembler.end_group();
                self.finished = true;
                return Ok(());
            };
            let (slot, row) = (input.slot, input.row);
            self.streak = if self.streak.0 == winner { (winner, self.streak.1 + 1) } else { (winner, 0) };
            if self.unique && self.streak.1 > STREAK {
                if self.run(winner, tree)? {
                    continue;
                }
                self.streak.1 = 0;
            }
            let prefix = self.heads[winner];
            if !self.in_group(slot, row, prefix) {
                self.assembler.end_group();
                self.group = Some(GroupKey { slot, row, prefix });
            }
            self.assembler.add(slot, row);
            self.step(winner, 1)?;
            tree.replay(|a, b| self.beats(a, b));
        }
        Ok(())
    }

    /// Whether a collection is worth its cost.
    #[inline]
    fn holds_much(&self) -> bool {
        self.keys.len() >= self.collect_at || self.taken >= TAKEN_BYTES
    }

    #[inline]
    fn in_group(&self, slot: usize, row: usize, prefix: u64) -> bool {
        self.group.is_some_and(|group| {
            group.prefix == prefix
                && (C::EXACT || C::compare(&self.keys[group.slot], group.row, &self.keys[slot], row) == Ordering::Equal)
        })
    }

    /// Sends on all rows of the winner's batch that come before every other input's head; false when there is none.
    fn run(&mut self, winner: usize, tree: &mut LoserTree) -> Result<bool> {
        let Input { slot, row, rows, .. } = self.inputs[winner];
        if self.in_group(slot, row, self.heads[winner]) {
            return Ok(false);
        }
        let end = match tree.runner_up(|a, b| self.beats(a, b)).filter(|&other| !self.inputs[other].done) {
            None => rows,
            Some(other) => self.first_not_below(slot, row, rows, other),
        };
        if end == row {
            return Ok(false);
        }
        self.assembler.end_group();
        self.group = None;
        self.assembler.add_singles(slot, row, end)?;
        self.step(winner, end - row)?;
        tree.replay(|a, b| self.beats(a, b));
        Ok(true)
    }

    /// The first row from `start` on whose key is not below the head of `other`: doubling steps, then halving.
    fn first_not_below(&self, slot: usize, start: usize, rows: usize, other: usize) -> usize {
        let keys = &self.keys[slot];
        let other_head = self.heads[other];
        let Input { slot: other_slot, row: other_row, .. } = self.inputs[other];
        let below = |row: usize| match C::prefix(keys, row).cmp(&other_head) {
            Ordering::Equal if !C::EXACT => C::compare(keys, row, &self.keys[other_slot], other_row) == Ordering::Less,
            order => order == Ordering::Less,
        };
        let (mut low, mut width) = (start, 1);
        while low + width < rows && below(low + width - 1) {
            low += width;
            width *= 2;
        }
        let mut high = (low + width).min(rows);
        while low < high {
            let middle = usize::midpoint(low, high);
            if below(middle) { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// Moves an input forward, to its next batch when the current one is used up.
    #[inline]
    fn step(&mut self, at: usize, rows: usize) -> Result<()> {
        let input = &mut self.inputs[at];
        input.row += rows;
        if input.row < input.rows {
            self.heads[at] = C::prefix(&self.keys[input.slot], input.row);
            return Ok(());
        }
        self.load(at)
    }

    /// Takes the next batch that has rows.
    fn load(&mut self, at: usize) -> Result<()> {
        loop {
            let Some(batch) = self.inputs[at].stream.next() else {
                let input = &mut self.inputs[at];
                (input.done, input.stream) = (true, Box::new(std::iter::empty()));
                self.heads[at] = u64::MAX;
                return Ok(());
            };
            let batch = batch?;
            if batch.num_rows() == 0 {
                continue;
            }
            let (batch, failures) = if self.late_casts == LateCasts::Carried {
                (carried_failures(batch, &self.schema)?, None)
            } else {
                split_failures(batch, &self.schema)?
            };
            if batch.num_columns() != self.schema.fields().len() {
                return Err(Error::new(
                    ErrorKind::Internal,
                    format!(
                        "a batch under merge has {} columns instead of {}",
                        batch.num_columns(),
                        self.schema.fields().len()
                    ),
                ));
            }
            let slot = self.keys.len();
            self.taken = self.taken.saturating_add(batch.get_array_memory_size());
            let input = &mut self.inputs[at];
            (input.slot, input.row, input.rows) = (slot, 0, batch.num_rows());
            self.keys.push(self.codec.encode(&batch)?);
            self.heads[at] = C::prefix(&self.keys[slot], 0);
            self.assembler.take(self.factory.slot(batch, at)?, failures)?;
            return Ok(());
        }
    }

    /// Whether the head of `a` comes before the head of `b`.
    #[inline]
    fn beats(&self, a: usize, b: usize) -> bool {
        match self.heads[a].cmp(&self.heads[b]) {
            Ordering::Equal => self.beats_on_tie(a, b),
            order => order == Ordering::Less,
        }
    }

    #[cold]
    fn beats_on_tie(&self, a: usize, b: usize) -> bool {
        let (x, y) = (&self.inputs[a], &self.inputs[b]);
        if x.done || y.done {
            return !x.done;
        }
        let keys =
            if C::EXACT { Ordering::Equal } else { C::compare(&self.keys[x.slot], x.row, &self.keys[y.slot], y.row) };
        let slots = &self.assembler.slots;
        keys.then_with(|| tie_order(&slots[x.slot], x.row, &slots[y.slot], y.row)) == Ordering::Less
    }

    /// Forgets slots that nothing refers to any more. Called when no segment waits.
    fn collect(&mut self) {
        let mut used = vec![false; self.keys.len()];
        for input in self.inputs.iter().filter(|input| !input.done) {
            used[input.slot] = true;
        }
        if let Some(group) = self.group {
            used[group.slot] = true;
        }
        self.assembler.mark_used(&mut used);
        let mut new = vec![0; used.len()];
        for (kept, (slot, _)) in used.iter().enumerate().filter(|(_, used)| **used).enumerate() {
            new[slot] = kept;
        }
        let mut keep = used.iter();
        self.keys.retain(|_| keep.next().copied().unwrap_or(false));
        let mut keep = used.iter();
        self.assembler.slots.retain(|_| keep.next().copied().unwrap_or(false));
        for input in self.inputs.iter_mut().filter(|input| !input.done) {
            input.slot = new[input.slot];
        }
        if let Some(group) = &mut self.group {
            group.slot = new[group.slot];
        }
        self.assembler.renumber(&new);
        self.collect_at = self.keys.len() + 4 * self.inputs.len() + 16;
        self.taken = 0;
    }
}

impl<C: KeyCodec> Iterator for SortMergeReader<C> {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let next = self.advance().transpose();
        self.failed = matches!(next, Some(Err(_)));
        next
    }
}
