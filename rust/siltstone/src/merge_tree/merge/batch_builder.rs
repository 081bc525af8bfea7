//! From groups of equal keys to result batches.
//!
//! The merge feeds rows in merge order and says where a key ends. The batch builder applies the engine's
//! [`Choice`] and collects the winners as *segments* (consecutive rows of one slot). A finished batch is gathered
//! the cheapest way its segments allow: a slice for one segment, `concat` of slices for long ones, row by row for
//! short ones.
#![allow(clippy::indexing_slicing, reason = "slots and rows were handed out by the merge that asks for them back")]

use std::{collections::VecDeque, ops::Range, sync::Arc};

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::SchemaRef;
use arrow_select::concat::concat;
use rayon::prelude::*;

use super::{
    older::{OlderRecords, fitting},
    open::{CARRIED, OpenGroup},
    source_batch::SourceBatch,
    wrapper::{Finished, MergeFunctionWrapper, RowRef},
};
use crate::{
    Error, ErrorKind, Result,
    aggregate::gather::gather_rows,
    cancel,
    io::{Failures, batch_bytes, failure_in},
    merge_tree::{
        merge_function::{Choice, Computed, Groups, MergeFunction},
        records,
    },
    threads::in_pool,
};

/// Mean rows of a segment from which slices beat single rows (measured: about 30 on ten mixed columns).
const LONG_SEGMENT: usize = 32;

/// Rows of which columns are gathered side by side.
const PARALLEL_ROWS: usize = 1 << 16;

/// The slot number of rows that the engine has yet to compute.
const COMPUTED: usize = usize::MAX;

#[derive(Clone, Copy)]
struct Segment {
    slot: usize,
    start: usize,
    len: usize,
}

/// One key's rows so far.
#[derive(Default)]
struct Group {
    len: usize,
    first: (usize, usize),
    chosen: Option<(usize, usize)>,
    /// whether any of them is -U or -D; only known for [`Choice::First`]
    has_retract: bool,
}

/// Collects winners and makes batches of them.
pub(crate) struct BatchBuilder {
    schema: SchemaRef,
    function: Arc<dyn MergeFunction>,
    choice: Choice,
    drop_deletes: bool,
    batch_rows: usize,
    /// batches that rows may come from
    pub(crate) slots: Vec<SourceBatch>,
    segments: Vec<Segment>,
    pending_rows: usize,
    group: Group,
    /// rows and group ends for [`Choice::Computed`]
    computed_rows: Vec<(usize, usize)>,
    computed_ends: Vec<usize>,
    /// the records behind the last end
    open: OpenGroup,
    /// older records of the keys are left out
    older: Option<OlderRecords>,
    /// decides over finished groups instead of the plain reducer rule
    wrapper: Option<MergeFunctionWrapper>,
    /// how many finished groups it decides over at once
    most_groups: usize,
    /// a record that the engine cannot take, or with a value that could not be cast
    refusal: Option<Error>,
    /// whether any batch has had values that could not be cast
    has_failures: bool,
    ready: VecDeque<RecordBatch>,
}

impl BatchBuilder {
    pub(crate) fn new(
        schema: SchemaRef,
        function: Arc<dyn MergeFunction>,
        drop_deletes: bool,
        batch_rows: usize,
    ) -> Self {
        Self {
            schema,
            choice: function.choice(),
            function,
            drop_deletes,
            batch_rows: batch_rows.max(1),
            slots: Vec::new(),
            segments: Vec::new(),
            pending_rows: 0,
            group: Group::default(),
            computed_rows: Vec::new(),
            computed_ends: Vec::new(),
            open: OpenGroup::new(batch_rows.max(1)),
            older: None,
            wrapper: None,
            most_groups: usize::MAX,
            refusal: None,
            has_failures: false,
            ready: VecDeque::new(),
        }
    }

    /// Lets a wrapper decide over groups.
    pub(crate) fn with_wrapper(self, wrapper: Option<MergeFunctionWrapper>) -> Self {
        let most_groups = wrapper.as_ref().map_or(usize::MAX, MergeFunctionWrapper::most_groups);
        Self { wrapper, most_groups, ..self }
    }

    /// Stops where records that are left out would be needed. Only an engine that computes can need them: another takes one of
    /// the records as it is.
    pub(crate) fn without_older(self, left_out: bool) -> Self {
        let computes = left_out && self.choice == Choice::Computed && self.wrapper.is_none();
        let older = computes.then(|| OlderRecords::left_out(self.function.as_ref()));
        Self { older, ..self }
    }

    /// Takes a batch that rows may come from. Values that could not be cast matter when their rows are chosen, or told of in a
    /// changelog; whoever computes rows looks at all of them.
    pub(crate) fn take(&mut self, mut slot: SourceBatch, failures: Option<Failures>) -> Result<()> {
        if let Some(failures) = failures.as_ref().filter(|_| self.choice == Choice::Computed)
            && let Some(error) = failure_in(failures, 0..failures.len())
        {
            return Err(error);
        }
        self.has_failures |= failures.is_some();
        slot.failures = failures;
        if self.choice == Choice::Computed && self.wrapper.is_none() {
            slot.row_bytes = batch_bytes(&slot.batch).div_ceil(slot.batch.num_rows().max(1));
        }
        self.slots.push(slot);
        Ok(())
    }

    /// Rows go out.
    #[cold]
    fn check_casts(&mut self, slot: usize, rows: Range<usize>) {
        // what is discarded is not looked at
        if self.refusal.is_none() && self.wrapper.as_ref().is_none_or(|wrapper| !wrapper.changelog_only) {
            self.refusal = self.slots.get(slot).and_then(|slot| slot.cast_failure(rows));
        }
    }

    /// Batches are to have so many rows from now on.
    pub(crate) fn set_batch_rows(&mut self, rows: usize) {
        self.batch_rows = rows.max(1);
    }

    /// A finished batch.
    pub(crate) fn pop(&mut self) -> Option<RecordBatch> {
        self.ready.pop_front()
    }

    /// Whether a batch can be popped.
    pub(crate) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Whether enough rows wait to make a batch of them, or enough records of one key to be put together.
    pub(crate) fn is_full(&self) -> bool {
        let done = self.computed_ends.last().copied().unwrap_or(0);
        self.pending_rows >= self.batch_rows
            || done >= self.batch_rows.saturating_mul(8)
            || self.computed_ends.len() >= self.most_groups
            // a wrapper looks at whole groups
            || (self.open.is_long(self.computed_rows.len() - done) && self.wrapper.is_none())
    }

    /// Adds the next row in merge order to the current group.
    #[inline]
    pub(crate) fn add(&mut self, slot: usize, row: usize) {
        let at = (slot, row);
        self.group.len += 1;
        if self.group.len == 1 {
            self.group.first = at;
        }
        if self.wrapper.is_some() {
            self.computed_rows.push(at);
            return;
        }
        match self.choice {
            Choice::Last { ignore_retracts } => {
                if !ignore_retracts || !self.slots[slot].is_retract(row) {
                    self.group.chosen = Some(at);
                }
            }
            Choice::First { ignore_retracts } => {
                let retract = self.slots[slot].is_retract(row);
                self.group.has_retract |= retract;
                if self.group.chosen.is_none() && !(ignore_retracts && retract) {
                    self.group.chosen = Some(at);
                }
            }
            Choice::All => {
                self.group.len = 0;
                self.emit(slot, row);
            }
            Choice::Computed => {
                if let Some(older) = &mut self.older {
                    older.add(self.slots[slot].kind_byte(row));
                }
                self.computed_rows.push(at);
            }
        }
    }

    /// The current group has no more rows.
    #[inline]
    pub(crate) fn end_group(&mut self) {
        let Group { len, first, chosen, has_retract } = std::mem::take(&mut self.group);
        if let Some(wrapper) = &self.wrapper {
            if len == 1 && wrapper.passes_singles(self.choice, &self.slots[first.0]) {
                self.computed_rows.pop();
                self.emit(first.0, first.1);
            } else if len > 0 {
                self.push(COMPUTED, self.computed_ends.len());
                self.computed_ends.push(self.computed_rows.len());
            }
            return;
        }
        match len {
            0 => {}
            // the engine passes a single record through, so that every row of a batch is copied once
            _ if self.choice == Choice::Computed => {
                if let Some(stops) = self.older.as_mut().and_then(OlderRecords::end_group) {
                    self.refusal.get_or_insert(stops);
                }
                self.push(COMPUTED, self.computed_ends.len());
                self.computed_ends.push(self.computed_rows.len());
            }
            // the reducer rule: a single record never meets the engine
            1 => self.emit(first.0, first.1),
            _ => {
                if has_retract && self.refusal.is_none() {
                    self.refusal = self.function.refusal(&self.slots[first.0].batch, first.1);
                }
                if let Some((slot, row)) = chosen {
                    self.emit(slot, row);
                }
            }
        }
    }

    /// Adds rows that are groups of one record each.
    pub(crate) fn add_singles(&mut self, slot: usize, start: usize, end: usize) -> Result<()> {
        if self.wrapper.as_ref().is_some_and(|w| !w.passes_singles(self.choice, &self.slots[slot])) {
            for row in start..end {
                self.add(slot, row);
                self.end_group();
                if self.is_full() {
                    self.flush()?;
                }
            }
            return Ok(());
        }
        if self.choice == Choice::Computed && self.wrapper.is_none() && end - start < LONG_SEGMENT {
            self.push_many(COMPUTED, self.computed_ends.len(), end - start);
            for row in start..end {
                self.computed_rows.push((slot, row));
                self.computed_ends.push(self.computed_rows.len());
            }
            return Ok(());
        }
        if self.drop_deletes && self.slots[slot].has_retracts {
            for row in start..end {
                self.emit(slot, row);
            }
            return Ok(());
        }
        if end - start >= self.batch_rows / 2 {
            // long enough to be a batch by itself: no copy
            if self.has_failures {
                self.check_casts(slot, start..end);
            }
            self.flush()?;
            if self.wrapper.as_ref().is_some_and(|w| w.changelog_only) {
                return Ok(());
            }
            let batch = &self.slots[slot].batch;
            let whole = start == 0 && end == batch.num_rows();
            self.ready.push_back(if whole { batch.clone() } else { batch.slice(start, end - start) });
            return Ok(());
        }
        if end > start {
            self.push_many(slot, start, end - start);
        }
        Ok(())
    }

    #[inline]
    fn emit(&mut self, slot: usize, row: usize) {
        if !(self.drop_deletes && self.slots[slot].is_retract(row)) {
            self.push(slot, row);
        }
    }

    #[inline]
    fn push(&mut self, slot: usize, row: usize) {
        self.push_many(slot, row, 1);
    }

    #[inline]
    fn push_many(&mut self, slot: usize, start: usize, len: usize) {
        self.pending_rows += len;
        if self.has_failures {
            self.check_casts(slot, start..start + len);
        }
        if let Some(last) = self.segments.last_mut()
            && last.slot == slot
            && last.start + last.len == start
        {
            last.len += len;
            return;
        }
        self.segments.push(Segment { slot, start, len });
    }

    /// Makes batches of all waiting rows. Rows of the current, unfinished group stay, or are put together.
    pub(crate) fn flush(&mut self) -> Result<()> {
        if let Some(refusal) = self.refusal.take() {
            return Err(refusal);
        }
        if let Some(wrapper) = self.wrapper.take() {
            let own = self.slots.len();
            let (wrapper, result) = self.flush_wrapped(wrapper);
            // what was found and computed is copied by now
            self.slots.truncate(own);
            self.wrapper = Some(wrapper);
            return result;
        }
        let computed = self.compute()?;
        self.pending_rows = 0;
        let mut segments = std::mem::take(&mut self.segments);
        if !segments.is_empty() {
            self.ready.push_back(self.gather(&segments, computed.as_ref())?);
        }
        segments.clear();
        self.segments = segments;
        self.fold()
    }

    /// Lets the wrapper decide over the finished groups, and makes batches of what it decided.
    fn flush_wrapped(&mut self, mut wrapper: MergeFunctionWrapper) -> (MergeFunctionWrapper, Result<()>) {
        let result = self.decide(&mut wrapper);
        self.most_groups = wrapper.most_groups();
        (wrapper, result)
    }

    fn decide(&mut self, wrapper: &mut MergeFunctionWrapper) -> Result<()> {
        let places = if self.computed_ends.is_empty() { Vec::new() } else { self.decided(wrapper)? };
        let segments = std::mem::take(&mut self.segments);
        self.pending_rows = 0;
        if wrapper.changelog_only {
            return Ok(());
        }
        for Segment { slot, start, len } in segments {
            if slot != COMPUTED {
                self.push_many(slot, start, len);
                continue;
            }
            for &(slot, row) in places[start..start + len].iter().flatten() {
                self.emit(slot, row);
            }
        }
        self.pending_rows = 0;
        let segments = std::mem::take(&mut self.segments);
        if let Some(refusal) = self.refusal.take() {
            return Err(refusal);
        }
        if !segments.is_empty() {
            self.ready.push_back(self.gather(&segments, None)?);
        }
        Ok(())
    }

    /// One row for each finished group, and their changelog goes where the wrapper sends it.
    fn decided(&mut self, wrapper: &mut MergeFunctionWrapper) -> Result<Vec<Option<RowRef>>> {
        let done = self.computed_ends.last().copied().unwrap_or(0);
        let finished = Finished { rows: &self.computed_rows[..done], ends: &self.computed_ends };
        let decided = wrapper.decide(&finished, &mut self.slots, self.function.as_ref())?;
        self.computed_rows.drain(..done);
        self.computed_ends.clear();
        let mut told = decided.changelog.iter().map(|&((slot, row), _)| (&self.slots[slot], row));
        if let Some(failure) = told.find_map(|(slot, row)| slot.cast_failure(row..row + 1)) {
            return Err(failure);
        }
        if !decided.changelog.is_empty() {
            let mut segments: Vec<Segment> = Vec::with_capacity(decided.changelog.len());
            segments.extend(decided.changelog.iter().map(|&((slot, start), _)| Segment { slot, start, len: 1 }));
            let rows = self.gather(&segments, None)?;
            wrapper.send(&rows, decided.changelog.iter().map(|&(_, kind)| kind))?;
        }
        Ok(decided.rows)
    }

    /// Slots that rows of the unfinished group live in.
    pub(crate) fn mark_used(&self, used: &mut [bool]) {
        if self.group.len > 0 {
            used[self.group.first.0] = true;
        }
        if let Some((slot, _)) = self.group.chosen {
            used[slot] = true;
        }
        for &(slot, _) in self.computed_rows.iter().filter(|(slot, _)| *slot != CARRIED) {
            used[slot] = true;
        }
    }

    /// Applies new slot numbers after the slots were compacted.
    pub(crate) fn renumber(&mut self, new: &[usize]) {
        if self.group.len > 0 {
            self.group.first.0 = new[self.group.first.0];
        }
        if let Some((slot, _)) = &mut self.group.chosen {
            *slot = new[*slot];
        }
        for (slot, _) in self.computed_rows.iter_mut().filter(|(slot, _)| *slot != CARRIED) {
            *slot = new[*slot];
        }
    }

    /// Lets the engine compute the finished groups, and drops the segments of groups that leave no row.
    fn compute(&mut self) -> Result<Option<RecordBatch>> {
        if self.computed_ends.is_empty() {
            return Ok(None);
        }
        let mut ends = std::mem::take(&mut self.computed_ends);
        let computed = self.ask(&ends, |function, groups| function.merge(groups))?;
        if computed.rows.num_rows() != ends.len() {
            return Err(Error::new(
                ErrorKind::Internal,
                format!("{:?} computed {} rows for {} groups", self.function, computed.rows.num_rows(), ends.len()),
            ));
        }
        self.computed_rows.drain(..ends.last().copied().unwrap_or(0));
        ends.clear();
        self.computed_ends = ends;
        self.open.end();
        self.drop_computed(&computed)?;
        Ok(Some(computed.rows))
    }

    /// Puts the records of the open group together when they are many or large; no other group waits.
    fn fold(&mut self) -> Result<()> {
        if self.computed_rows.is_empty() || !self.open.is_large(&self.computed_rows, &self.slots) {
            return Ok(());
        }
        match self.ask(&[self.computed_rows.len()], |function, group| function.fold(group))? {
            Some(carried) => {
                self.computed_rows.clear();
                self.computed_rows.push((CARRIED, 0));
                self.open.carry(carried);
            }
            None => self.open.keep_all(),
        }
        Ok(())
    }

    /// Shows the engine groups of waiting records that end there.
    fn ask<T>(&mut self, ends: &[usize], ask: impl FnOnce(&dyn MergeFunction, &Groups<'_>) -> Result<T>) -> Result<T> {
        let mut sources: Vec<RecordBatch> = self.slots.iter().map(|s| s.batch.clone()).collect();
        let mut inputs: Vec<usize> = self.slots.iter().map(|s| s.input).collect();
        let carried = self.open.carried.as_ref();
        if let Some(carried) = carried {
            self.computed_rows[0].0 = sources.len();
            sources.push(carried.batch().clone());
            inputs.push(usize::MAX);
        }
        let rows = &self.computed_rows[..ends.last().copied().unwrap_or(0)];
        let groups = Groups { sources: &sources, inputs: &inputs, rows, ends, pass_single: true, carried };
        let answer = ask(self.function.as_ref(), &groups);
        if self.older.is_some() { fitting(answer, self.function.as_ref()) } else { answer }
    }

    /// Takes computed rows out of the segments that are not wanted.
    fn drop_computed(&mut self, computed: &Computed) -> Result<()> {
        let kinds = records::row_kinds(&computed.rows, self.schema.fields().len() - 1)?;
        let retracts = kinds.values().iter().fold(0, |all, kind| all | kind);
        let drop_deletes = self.drop_deletes && records::is_retract(retracts);
        if computed.keep.is_none() && !drop_deletes {
            return Ok(());
        }
        let keeps = |row: usize| {
            computed.keep.as_ref().is_none_or(|keep| keep.is_valid(row) && keep.value(row))
                && !(drop_deletes && records::is_retract(kinds.value(row)))
        };
        let segments = std::mem::take(&mut self.segments);
        self.pending_rows = 0;
        for Segment { slot, start, len } in segments {
            if slot != COMPUTED {
                self.push_many(slot, start, len);
                continue;
            }
            for row in (start..start + len).filter(|&row| keeps(row)) {
                self.push(COMPUTED, row);
            }
        }
        Ok(())
    }

    fn gather(&self, segments: &[Segment], computed: Option<&RecordBatch>) -> Result<RecordBatch> {
        let batch_of = |slot: usize| -> Result<&RecordBatch> {
            if slot == COMPUTED {
                computed.ok_or_else(|| Error::new(ErrorKind::Internal, "computed rows are missing"))
            } else {
                Ok(&self.slots[slot].batch)
            }
        };
        if let [one] = segments {
            return Ok(batch_of(one.slot)?.slice(one.start, one.len));
        }
        let rows: usize = segments.iter().map(|s| s.len).sum();
        let columns = if rows / segments.len() >= LONG_SEGMENT {
            let parts =
                segments.iter().map(|s| Ok(batch_of(s.slot)?.slice(s.start, s.len))).collect::<Result<Vec<_>>>()?;
            gather_slices(&parts, self.schema.fields().len())?
        } else {
            let (sources, places) = interleave_plan(segments, self.slots.len(), rows, &batch_of)?;
            gather_columns(&sources, &places, self.schema.fields().len())?
        };
        Ok(RecordBatch::try_new(Arc::clone(&self.schema), columns)?)
    }
}

type InterleavePlan<'a> = (Vec<&'a RecordBatch>, Vec<Place>);

/// A row: which of the batches has it, and where. Half the size of two `usize`, because every column reads all of them.
pub(crate) type Place = (u32, u32);

/// The rows at these places.
pub(crate) fn gathered(sources: &[RecordBatch], places: &[Place]) -> Result<RecordBatch> {
    let first = sources.first().ok_or_else(|| Error::new(ErrorKind::Internal, "rows of no batch"))?;
    let sources: Vec<&RecordBatch> = sources.iter().collect();
    Ok(RecordBatch::try_new(first.schema(), gather_columns(&sources, places, first.num_columns())?)?)
}

/// The batches that are really used, and every row as (batch, row).
fn interleave_plan<'a>(
    segments: &[Segment],
    slots: usize,
    rows: usize,
    batch_of: &impl Fn(usize) -> Result<&'a RecordBatch>,
) -> Result<InterleavePlan<'a>> {
    const UNUSED: usize = usize::MAX;
    let mut place = vec![UNUSED; slots + 1];
    let mut sources = Vec::new();
    let mut places = Vec::with_capacity(rows);
    let number = |number: usize| {
        u32::try_from(number)
            .map_err(|_| Error::new(ErrorKind::LengthExceeded, "a batch has more than 4,294,967,295 rows"))
    };
    for segment in segments {
        let at = segment.slot.min(slots);
        if place[at] == UNUSED {
            place[at] = sources.len();
            sources.push(batch_of(segment.slot)?);
        }
        let source = number(place[at])?;
        let (start, end) = (number(segment.start)?, number(segment.start + segment.len)?);
        places.extend((start..end).map(|row| (source, row)));
    }
    Ok((sources, places))
}

fn gather_columns(sources: &[&RecordBatch], places: &[Place], columns: usize) -> Result<Vec<ArrayRef>> {
    let column = |c: usize| -> Result<ArrayRef> {
        let arrays: Vec<ArrayRef> = sources.iter().map(|s| Arc::clone(s.column(c))).collect();
        match arrays.len() {
            1 => gather_rows(&arrays, places.len(), |row| (0, places[row].1 as usize)),
            _ => gather_rows(&arrays, places.len(), |row| (places[row].0 as usize, places[row].1 as usize)),
        }
    };
    if places.len() < PARALLEL_ROWS {
        return (0..columns).map(column).collect();
    }
    in_pool(|| (0..columns).into_par_iter().map(cancel::carried(column)).collect())
}

fn gather_slices(parts: &[RecordBatch], columns: usize) -> Result<Vec<ArrayRef>> {
    (0..columns)
        .map(|c| {
            let arrays: Vec<&dyn Array> = parts.iter().map(|p| p.column(c).as_ref()).collect();
            Ok(concat(&arrays)?)
        })
        .collect()
}
