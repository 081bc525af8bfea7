//! Rules that look at the levels of records: lookup, first-row, full-compaction changelogs.
//!
//! ```text
//!   finished groups ─┬─ level 0 and the record of the smallest level above ─┐
//!                    └─ keys without a record above ─▶ Probe (older levels) ─┴─▶ engine ─▶ one row a group
//!                                                                 before, after ─▶ changelog (+I, -U +U, -D)
//! ```
//!
//! The batch builder collects groups and hands over many at once; keys are probed, engines run and rows compared batch by
//! batch. Source: semantics c.3 and c.4; `LookupChangelogMergeFunctionWrapper`, `FullChangelogMergeFunctionWrapper`,
//! `FirstRowMergeFunctionWrapper`.
#![allow(clippy::indexing_slicing, reason = "places and groups are made by the assembler that owns the slots")]

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, Int8Array, RecordBatch};
use arrow_select::interleave::interleave;

use super::source_batch::{SourceBatch, SourceBatchFactory, tie_order};
use crate::{
    Error, ErrorKind, Result,
    io::KvLayout,
    merge_tree::{
        merge_function::{Choice, Groups, MergeFunction},
        records::{self, one_nan},
    },
    row::{RowKind, batch_bytes},
};

/// A record: slot and row.
pub(crate) type RowRef = (usize, usize);

/// Where changelog rows go: key-value batches in key order.
pub(crate) type ChangelogSink = Box<dyn FnMut(&RecordBatch) -> Result<()> + Send>;

/// Finds keys among files that a merge does not take part in.
pub(crate) trait Probe: Send {
    /// Looks keys up: a batch of the key columns, ascending, and above those of the call before.
    fn probe(&mut self, keys: &RecordBatch) -> Result<Hits>;
}

/// What a probe found.
#[derive(Debug)]
pub(crate) struct Hits {
    /// For each key its row in `rows`.
    pub(crate) of_key: Vec<Option<usize>>,
    /// Key-value batch of the found records; may be empty when only existence was asked for.
    pub(crate) rows: RecordBatch,
}

/// Which rule decides.
pub(crate) enum Rule {
    /// The reducer rule over level 0 and the record of the smallest level above it: reads and plain rewrites of
    /// lookup tables.
    Levels,
    /// `changelog-producer=lookup` and whatever else looks keys up in older levels (c.3).
    Lookup(Option<Box<dyn Probe>>),
    /// The end of c.3: a key that exists already gives nothing, and what is above level 0 stays.
    FirstRow(Option<Box<dyn Probe>>),
    /// `changelog-producer=full-compaction`: what changed against this level (c.4).
    Top(i32),
}

/// Decides what becomes of groups whose records have levels.
pub(crate) struct MergeFunctionWrapper {
    rule: Rule,
    factory: SourceBatchFactory,
    key: Vec<usize>,
    kind: usize,
    levels: Vec<i32>,
    /// groups whose records may be looked up at once
    most_groups: usize,
    changelog: Option<ChangelogSink>,
    /// columns that make an update worth telling; `None` tells every update
    compared: Option<Vec<usize>>,
    /// only the changelog is wanted
    pub(crate) changelog_only: bool,
}

/// Groups that are complete: group `g` is `rows[ends[g - 1]..ends[g]]`.
pub(crate) struct Finished<'a> {
    pub(crate) rows: &'a [RowRef],
    pub(crate) ends: &'a [usize],
}

impl<'a> Finished<'a> {
    fn group(&self, g: usize) -> &'a [RowRef] {
        let start = if g == 0 { 0 } else { self.ends[g - 1] };
        &self.rows[start..self.ends[g]]
    }

    fn len(&self) -> usize {
        self.ends.len()
    }
}

/// What became of the groups.
pub(crate) struct Decided {
    /// One row for each group, or none.
    pub(crate) rows: Vec<Option<RowRef>>,
    /// Changelog rows with their kinds.
    pub(crate) changelog: Vec<(RowRef, RowKind)>,
}

/// What a group gives to the engine, and what it is compared with.
struct Question {
    before: Option<RowRef>,
    /// the changelog of this group is wanted
    tells: bool,
    /// the row, when the engine is not asked
    passes: Option<RowRef>,
}

impl MergeFunctionWrapper {
    /// A wrapper over batches of a layout.
    pub(crate) fn new(rule: Rule, layout: &KvLayout) -> Result<Self> {
        let most_groups = if matches!(rule, Rule::Lookup(Some(_))) { FIRST_GROUPS } else { usize::MAX };
        Ok(Self {
            rule,
            most_groups,
            factory: SourceBatchFactory::new(layout)?,
            key: layout.key.clone(),
            kind: layout.kind_index(),
            levels: Vec::new(),
            changelog: None,
            compared: None,
            changelog_only: false,
        })
    }

    /// Sends changelog rows there.
    pub(crate) fn with_changelog(self, sink: Option<ChangelogSink>) -> Self {
        Self { changelog: sink, ..self }
    }

    /// Tells only updates that change one of these columns.
    pub(crate) fn comparing(self, columns: Option<Vec<usize>>) -> Self {
        Self { compared: columns, ..self }
    }

    /// Makes no rows, only a changelog.
    pub(crate) fn with_changelog_only(self, changelog_only: bool) -> Self {
        Self { changelog_only, ..self }
    }

    /// The level of each input.
    pub(super) fn with_levels(self, levels: Vec<i32>) -> Self {
        Self { levels, ..self }
    }

    fn level(&self, slot: &SourceBatch) -> i32 {
        self.levels.get(slot.input).copied().unwrap_or(0)
    }

    /// So many finished groups are to be decided over at once.
    pub(super) fn most_groups(&self) -> usize {
        self.most_groups
    }

    /// Whether records of this slot that are alone in their group go through as they are.
    #[inline]
    pub(crate) fn passes_singles(&self, choice: Choice, slot: &SourceBatch) -> bool {
        let chosen = matches!(choice, Choice::Last { .. } | Choice::First { .. }) && !slot.has_retracts;
        match self.rule {
            Rule::Levels => true,
            // the engine is asked even about a single record: one that computes may change it
            Rule::Lookup(_) | Rule::FirstRow(_) => chosen && self.level(slot) > 0,
            Rule::Top(top) => self.level(slot) == top,
        }
    }

    /// Gives changelog rows to the sink, with these kinds.
    pub(super) fn send(&mut self, rows: &RecordBatch, kinds: impl Iterator<Item = RowKind>) -> Result<()> {
        let Some(sink) = &mut self.changelog else { return Ok(()) };
        let mut columns = rows.columns().to_vec();
        if let Some(kind) = columns.get_mut(self.kind) {
            *kind = Arc::new(Int8Array::from_iter_values(kinds.map(RowKind::to_byte)));
        }
        sink(&RecordBatch::try_new(rows.schema(), columns)?)
    }

    /// Decides over complete groups. Batches of found and computed rows are put behind the slots.
    pub(super) fn decide(
        &mut self,
        groups: &Finished<'_>,
        slots: &mut Vec<SourceBatch>,
        engine: &dyn MergeFunction,
    ) -> Result<Decided> {
        match self.rule {
            Rule::FirstRow(_) => self.first_row(groups, slots, engine),
            _ => self.changes(groups, slots, engine),
        }
    }

    /// Lookup, full compaction, plain level rule.
    fn changes(
        &mut self,
        groups: &Finished<'_>,
        slots: &mut Vec<SourceBatch>,
        engine: &dyn MergeFunction,
    ) -> Result<Decided> {
        let above: Vec<Option<RowRef>> = (0..groups.len()).map(|g| self.above(groups.group(g), slots)).collect();
        let found = self.look_up(groups, &above, slots)?;
        let mut input = EngineInput::with_capacity(groups.rows.len() + groups.len(), groups.len());
        let mut questions = Vec::with_capacity(groups.len());
        for (g, above) in above.into_iter().enumerate() {
            questions.push(self.question(groups.group(g), above, found[g], slots, &mut input));
        }
        let answers = input.ask(engine, slots, &self.factory)?;
        let mut answers = answers.into_iter();
        let rows: Vec<Option<RowRef>> =
            questions.iter().map(|q| q.passes.or_else(|| answers.next().flatten())).collect();
        let changelog = if self.changelog.is_some() { self.changelog(&questions, &rows, slots)? } else { Vec::new() };
        let top = matches!(self.rule, Rule::Top(_));
        let kept = |row: Option<RowRef>| row.filter(|&(slot, at)| !(top && slots[slot].is_retract(at)));
        Ok(Decided { rows: rows.into_iter().map(kept).collect(), changelog })
    }

    /// The record that stands for all levels above 0: of the smallest level, or of the top level.
    fn above(&self, group: &[RowRef], slots: &[SourceBatch]) -> Option<RowRef> {
        let levels = group.iter().map(|&(slot, row)| (self.level(&slots[slot]), (slot, row)));
        match self.rule {
            Rule::Top(top) => levels.into_iter().find(|(level, _)| *level == top).map(|(_, place)| place),
            _ => levels.filter(|(level, _)| *level > 0).min_by_key(|(level, _)| *level).map(|(_, place)| place),
        }
    }

    /// The first row that readers see: it stays, whatever numbers rows have that came after it.
    fn visible(&self, group: &[RowRef], slots: &[SourceBatch]) -> Option<RowRef> {
        let is_visible = |&&(slot, row): &&RowRef| self.level(&slots[slot]) > 0 && !slots[slot].is_retract(row);
        group.iter().filter(is_visible).max_by_key(|(slot, _)| self.level(&slots[*slot])).copied()
    }

    /// Gives the engine what it has to merge.
    fn question(
        &self,
        group: &[RowRef],
        above: Option<RowRef>,
        found: Option<RowRef>,
        slots: &[SourceBatch],
        input: &mut EngineInput,
    ) -> Question {
        let level = |place: &RowRef| self.level(&slots[place.0]);
        if let (Rule::Top(_) | Rule::Levels, &[single]) = (&self.rule, group) {
            // the reducer rule
            return Question { before: above, tells: above.is_none(), passes: Some(single) };
        }
        if let Rule::Top(_) = self.rule {
            input.group(group.iter().copied());
            return Question { before: above, tells: true, passes: None };
        }
        let taken = group.iter().copied().filter(|place| level(place) <= 0 || Some(*place) == above);
        match found {
            None => input.group(taken),
            Some((slot, row)) => {
                let records: Vec<RowRef> = taken.collect();
                let newer = |&(s, r): &RowRef| tie_order(&slots[slot], row, &slots[s], r).is_lt();
                let at = records.iter().position(newer).unwrap_or(records.len());
                input.group(records[..at].iter().copied().chain([(slot, row)]).chain(records[at..].iter().copied()));
            }
        }
        Question { before: above.or(found), tells: group.iter().any(|place| level(place) == 0), passes: None }
    }

    /// For groups without a record above level 0: the record of an older level.
    fn look_up(
        &mut self,
        groups: &Finished<'_>,
        above: &[Option<RowRef>],
        slots: &mut Vec<SourceBatch>,
    ) -> Result<Vec<Option<RowRef>>> {
        let mut found = vec![None; groups.len()];
        let Rule::Lookup(Some(probe)) = &mut self.rule else { return Ok(found) };
        let asked: Vec<usize> = (0..groups.len()).filter(|&g| above[g].is_none()).collect();
        if asked.is_empty() {
            return Ok(found);
        }
        let keys = keys_of(&self.key, asked.iter().map(|&g| groups.group(g)[0]), slots)?;
        let hits = probe.probe(&keys)?;
        self.most_groups = groups_at_once(self.most_groups, &hits.rows);
        for (g, hit) in asked.into_iter().zip(hits.of_key) {
            found[g] = hit.map(|row| (slots.len(), row));
        }
        slots.push(self.factory.slot(hits.rows, usize::MAX)?);
        Ok(found)
    }

    /// What changed between before and after.
    fn changelog(
        &self,
        questions: &[Question],
        rows: &[Option<RowRef>],
        slots: &[SourceBatch],
    ) -> Result<Vec<(RowRef, RowKind)>> {
        let add = |place: Option<RowRef>| place.filter(|&(slot, row)| !slots[slot].is_retract(row));
        let pairs: Vec<(Option<RowRef>, Option<RowRef>)> = questions
            .iter()
            .zip(rows)
            .map(|(q, after)| if q.tells { (add(q.before), add(*after)) } else { (None, None) })
            .collect();
        let changed = self.changed(&pairs, slots)?;
        let mut updates = changed.iter();
        let mut changelog = Vec::new();
        for (before, after) in pairs {
            match (before, after) {
                (None, None) => {}
                (None, Some(after)) => changelog.push((after, RowKind::Insert)),
                (Some(before), None) => changelog.push((before, RowKind::Delete)),
                (Some(before), Some(after)) => {
                    if updates.next().copied().unwrap_or(true) {
                        changelog.extend([(before, RowKind::UpdateBefore), (after, RowKind::UpdateAfter)]);
                    }
                }
            }
        }
        Ok(changelog)
    }

    /// For every pair of two rows whether a compared column differs; empty when nothing is compared.
    fn changed(&self, pairs: &[(Option<RowRef>, Option<RowRef>)], slots: &[SourceBatch]) -> Result<Vec<bool>> {
        let Some(compared) = &self.compared else { return Ok(Vec::new()) };
        let (old, new): (Vec<RowRef>, Vec<RowRef>) = pairs.iter().filter_map(|&(a, b)| Some((a?, b?))).unzip();
        let mut changed = vec![false; old.len()];
        if old.is_empty() {
            return Ok(changed);
        }
        // a value that could not be cast is not compared
        let failure = |&(slot, row): &RowRef| slots[slot].cast_failure(row..row + 1);
        if let Some(failure) = old.iter().chain(&new).find_map(failure) {
            return Err(failure);
        }
        for &column in compared {
            let (old, new) = (column_of(column, &old, slots)?, column_of(column, &new, slots)?);
            let same = same_values(&old, &new)?;
            changed.iter_mut().zip(same.iter()).for_each(|(changed, same)| *changed |= same != Some(true));
        }
        Ok(changed)
    }

    fn first_row(
        &mut self,
        groups: &Finished<'_>,
        slots: &mut Vec<SourceBatch>,
        engine: &dyn MergeFunction,
    ) -> Result<Decided> {
        let mut input = EngineInput::with_capacity(groups.rows.len(), groups.len());
        (0..groups.len()).for_each(|g| input.group(groups.group(g).iter().copied()));
        let mut rows = input.ask(engine, slots, &self.factory)?;
        let mut new = Vec::new();
        for (g, row) in rows.iter_mut().enumerate() {
            match self.visible(groups.group(g), slots) {
                Some(visible) => *row = Some(visible),
                None if row.is_some() => new.push(g),
                None => {}
            }
        }
        let exists = match &mut self.rule {
            Rule::FirstRow(Some(probe)) if !new.is_empty() => {
                let keys = keys_of(&self.key, new.iter().map(|&g| groups.group(g)[0]), slots)?;
                probe.probe(&keys)?.of_key.into_iter().map(|hit| hit.is_some()).collect()
            }
            _ => vec![false; new.len()],
        };
        let mut changelog = Vec::new();
        for (g, exists) in new.into_iter().zip(exists) {
            let Some((slot, row)) = rows[g] else { continue };
            if exists {
                rows[g] = None;
            } else if self.changelog.is_some() {
                // the record itself: its kind may be +U
                changelog.push(((slot, row), slots[slot].kind(row)?));
            }
        }
        Ok(Decided { rows, changelog })
    }
}

/// Bytes of records that are looked up at once: they are held beside the rows that ask for them.
const LOOKED_UP_BYTES: usize = 32 * 1024 * 1024;
/// Groups of the first look, before anything is known of the size of the records.
const FIRST_GROUPS: usize = 64;

/// How many groups are looked up next, after so many of which these records were found.
fn groups_at_once(before: usize, found: &RecordBatch) -> usize {
    let each = batch_bytes(found).div_ceil(found.num_rows().max(1)).max(1);
    (LOOKED_UP_BYTES / each).min(before.saturating_mul(4)).max(1)
}

/// Groups for the engine.
struct EngineInput {
    rows: Vec<RowRef>,
    ends: Vec<usize>,
}

impl EngineInput {
    fn with_capacity(rows: usize, groups: usize) -> Self {
        Self { rows: Vec::with_capacity(rows), ends: Vec::with_capacity(groups) }
    }

    fn group(&mut self, records: impl Iterator<Item = RowRef>) {
        self.rows.extend(records);
        self.ends.push(self.rows.len());
    }

    /// The engine's row of each group; single records are asked about too.
    fn ask(
        &self,
        engine: &dyn MergeFunction,
        slots: &mut Vec<SourceBatch>,
        factory: &SourceBatchFactory,
    ) -> Result<Vec<Option<RowRef>>> {
        let groups = Finished { rows: &self.rows, ends: &self.ends };
        let retracts = |place: &&RowRef| slots[place.0].is_retract(place.1);
        match engine.choice() {
            Choice::Last { ignore_retracts } => Ok((0..groups.len())
                .map(|g| groups.group(g).iter().rev().find(|p| !(ignore_retracts && retracts(p))).copied())
                .collect()),
            Choice::First { ignore_retracts } => (0..groups.len())
                .map(|g| {
                    let refused = groups.group(g).iter().find(|p| !ignore_retracts && retracts(p));
                    if let Some(error) = refused.and_then(|&(slot, row)| engine.refusal(&slots[slot].batch, row)) {
                        return Err(error);
                    }
                    Ok(groups.group(g).iter().find(|p| !(ignore_retracts && retracts(p))).copied())
                })
                .collect(),
            Choice::All => Err(Error::new(ErrorKind::Internal, "sorting looks at no levels")),
            Choice::Computed if self.ends.is_empty() => Ok(Vec::new()),
            Choice::Computed => self.compute(engine, slots, factory),
        }
    }

    fn compute(
        &self,
        engine: &dyn MergeFunction,
        slots: &mut Vec<SourceBatch>,
        factory: &SourceBatchFactory,
    ) -> Result<Vec<Option<RowRef>>> {
        let sources: Vec<RecordBatch> = slots.iter().map(|s| s.batch.clone()).collect();
        let inputs: Vec<usize> = slots.iter().map(|s| s.input).collect();
        let groups = Groups {
            sources: &sources,
            inputs: &inputs,
            rows: &self.rows,
            ends: &self.ends,
            pass_single: false,
            carried: None,
        };
        let computed = engine.merge(&groups)?;
        if computed.rows.num_rows() != groups.len() {
            let text = format!("{engine:?} computed {} rows for {} groups", computed.rows.num_rows(), groups.len());
            return Err(Error::new(ErrorKind::Internal, text));
        }
        let keeps = |row: usize| computed.keep.as_ref().is_none_or(|keep| keep.is_valid(row) && keep.value(row));
        let slot = slots.len();
        let rows = (0..groups.len()).map(|row| keeps(row).then_some((slot, row))).collect();
        slots.push(factory.slot(computed.rows, usize::MAX)?);
        Ok(rows)
    }
}

/// The key columns of some records.
fn keys_of(key: &[usize], places: impl Iterator<Item = RowRef>, slots: &[SourceBatch]) -> Result<RecordBatch> {
    let places: Vec<RowRef> = places.collect();
    let Some(first) = slots.first() else {
        return Err(Error::new(ErrorKind::Internal, "no records, but keys of them are asked for"));
    };
    let schema = Arc::new(first.batch.schema().project(key)?);
    let columns = key.iter().map(|&column| column_of(column, &places, slots)).collect::<Result<Vec<_>>>()?;
    Ok(RecordBatch::try_new(schema, columns)?)
}

/// One column of some records.
fn column_of(column: usize, places: &[RowRef], slots: &[SourceBatch]) -> Result<ArrayRef> {
    let mut place_of = vec![usize::MAX; slots.len()];
    let mut sources: Vec<&dyn Array> = Vec::new();
    let mut indices = Vec::with_capacity(places.len());
    for &(slot, row) in places {
        if place_of[slot] == usize::MAX {
            place_of[slot] = sources.len();
            sources.push(records::column(&slots[slot].batch, column)?.as_ref());
        }
        indices.push((place_of[slot], row));
    }
    Ok(interleave(&sources, &indices)?)
}

/// Row by row whether two columns hold the same; nulls are the same, and so are NaNs (`RecordEqualiser`).
fn same_values(a: &ArrayRef, b: &ArrayRef) -> Result<BooleanArray> {
    if !a.data_type().is_nested() {
        return Ok(arrow_ord::cmp::not_distinct(&one_nan(a), &one_nan(b))?);
    }
    let same = |row: usize| a.slice(row, 1).to_data() == b.slice(row, 1).to_data();
    Ok((0..a.len()).map(|row| Some(same(row))).collect())
}
