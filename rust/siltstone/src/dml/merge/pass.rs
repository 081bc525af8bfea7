//! A part of the source in memory, and the rows of the table that are held against it.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions, UInt32Array, cast::AsArray};
use arrow_cast::display::array_value_to_string;
use arrow_row::Rows;
use arrow_schema::{Field, Schema};
use foldhash::fast::RandomState;

use super::{
    Merge, Source,
    clauses::{Clause, Rows as Of, Verb},
    sieve::Sieve,
    source::{class_of, hash},
};
use crate::{
    dml::invalid,
    error::{Error, ErrorKind, Result},
    io::{filtered_rows, taken_column, taken_rows},
    row::RowBytes,
};

/// Pairs of rows that are looked at together...
const PAIRS: usize = 1 << 16;
/// ...and the most bytes that their values take, unless one pair alone has more: a long value may belong to many rows.
const BYTES: usize = 16 << 20;
/// Rows of the source that are inserted together, unless they have more than that many bytes.
const INSERTED: usize = 8192;

/// The rows of one pass.
pub(super) struct Pass<'a> {
    merge: &'a Merge,
    source: &'a Source,
    rows: RecordBatch,
    keys: Rows,
    /// `None`: rows of the table are looked at that no row of the source belongs to, too.
    sieve: Option<Sieve>,
    /// The last row with a hash, and the one before each row.
    last: HashMap<u64, u32, RandomState>,
    before: Vec<Option<u32>>,
    classes: Option<BTreeSet<usize>>,
    /// Which rows belong to a row of the table.
    matched: Vec<bool>,
    needs: Vec<&'a str>,
    /// Bytes of each row's values that clauses look at.
    sizes: Vec<usize>,
}

/// Takes what is decided about rows of a batch, some of them at a time.
pub(super) type Decided<'s> = &'s mut dyn FnMut(Decisions) -> Result<()>;

/// What becomes of some rows of a batch of the table.
#[derive(Default)]
pub(super) struct Decisions {
    /// Rows that are gone.
    pub(super) deleted: Vec<u32>,
    /// By clause: rows that get new values, and what these are computed from.
    pub(super) updated: Vec<(usize, Vec<u32>, RecordBatch)>,
}

impl<'a> Pass<'a> {
    pub(super) fn new(merge: &'a Merge, source: &'a Source, classes: Option<Vec<usize>>) -> Result<Self> {
        let rows = source.load(classes.as_deref())?;
        let columns = source.keys().columns(&rows)?;
        let (keys, unknown) = source.keys().encode(&columns)?;
        let sieve = if merge.looks_at_all_rows() { None } else { Sieve::of(&columns) };
        let mut last = HashMap::with_capacity_and_hasher(keys.num_rows(), RandomState::default());
        let mut before = Vec::with_capacity(keys.num_rows());
        for (row, (key, unknown)) in (0_u32..).zip(keys.iter().zip(&unknown)) {
            before.push(if *unknown { None } else { last.insert(hash(key.as_ref()), row) });
        }
        let matched = vec![false; rows.num_rows()];
        let classes = classes.map(|classes| classes.into_iter().collect());
        let needs: Vec<&str> = merge.needs().into_iter().collect();
        let bytes = RowBytes::of_columns(needs.iter().filter_map(|name| rows.column_by_name(name)));
        let sizes = (0..rows.num_rows()).map(|row| bytes.of_row(row)).collect();
        Ok(Self { merge, source, rows, keys, sieve, last, before, classes, matched, needs, sizes })
    }

    /// What becomes of rows of the table; those whose keys are in other passes stay for these.
    pub(super) fn decide(&mut self, table: &RecordBatch, decided: Decided<'_>) -> Result<()> {
        crate::cancel::check()?;
        let mut columns: Vec<ArrayRef> =
            self.merge.on.iter().map(|(name, _)| column(table, name)).collect::<Result<_>>()?;
        let looked_at = self.sieve.as_ref().map(|sieve| sieve.rows(&columns)).transpose()?.flatten();
        let rows = if let Some(rows) = looked_at {
            let indices = UInt32Array::from(rows.clone());
            columns = columns.iter().map(|column| taken_column(column, &indices)).collect::<Result<_>>()?;
            rows
        } else {
            (0..u32::try_from(table.num_rows()).unwrap_or(u32::MAX)).collect()
        };
        let (keys, unknown) = self.source.keys().encode(&columns)?;
        let mut state = State { done: vec![false; table.num_rows()], found: vec![false; table.num_rows()] };
        let (mut pairs, mut bytes) = (Pairs::default(), 0_usize);
        let own = self.needs.iter().filter_map(|name| table.column_by_name(name.strip_prefix("t.")?));
        let own = RowBytes::of_columns(own);
        let mut alone: Vec<u32> = Vec::new();
        for (row, (key, unknown)) in rows.into_iter().zip(keys.iter().zip(&unknown)) {
            if self.classes.as_ref().is_some_and(|classes| !classes.contains(&class_of(key.as_ref(), *unknown))) {
                continue;
            }
            alone.push(row);
            let own = own.of_row(usize::try_from(row).unwrap_or(usize::MAX));
            let mut at = if *unknown { None } else { self.last.get(&hash(key.as_ref())).copied() };
            while let Some(other) = at {
                let place = usize::try_from(other).unwrap_or(usize::MAX);
                if self.keys.row(place).as_ref() == key.as_ref() {
                    pairs.add(row, other);
                    bytes = bytes.saturating_add(own).saturating_add(self.sizes.get(place).copied().unwrap_or(0));
                }
                at = self.before.get(place).copied().flatten();
                if pairs.table.len() >= PAIRS || bytes >= BYTES {
                    crate::cancel::check()?;
                    decided(self.look_at(table, std::mem::take(&mut pairs), &mut state)?)?;
                    bytes = 0;
                }
            }
        }
        decided(self.look_at(table, pairs, &mut state)?)?;
        if self.merge.looks_at_all_rows() {
            let is_alone = |row: &u32| !flag(&state.found, *row);
            let alone = alone.into_iter().filter(is_alone).collect();
            decided(self.look_at_alone(table, alone)?)?;
        }
        Ok(())
    }

    /// Which pairs belong together, and what their rows of the table become.
    fn look_at(&mut self, table: &RecordBatch, pairs: Pairs, state: &mut State) -> Result<Decisions> {
        let mut decisions = Decisions::default();
        if pairs.table.is_empty() {
            return Ok(decisions);
        }
        let mut pairs = pairs;
        let mut scope = self.scope(Some((table, &pairs.table)), Some(&pairs.source))?;
        if let Some(rest) = &self.merge.rest {
            let keep = rest.holds(&scope)?;
            pairs = pairs.filtered(&keep);
            scope = filtered_rows(&scope, &keep)?;
        }
        for (row, other) in pairs.table.iter().zip(&pairs.source) {
            set(&mut state.found, *row);
            set(&mut self.matched, *other);
        }
        let chosen = choose(self.merge.of(Of::Matched), &scope)?;
        let mut updates: BTreeMap<usize, (Vec<u32>, Vec<u32>)> = BTreeMap::new();
        for (at, (clause, row)) in (0_u32..).zip(chosen.into_iter().zip(&pairs.table)) {
            let Some((clause, verb)) = clause else { continue };
            if flag(&state.done, *row) {
                if self.merge.takes_several() {
                    continue;
                }
                return Err(self.ambiguous(table, *row));
            }
            set(&mut state.done, *row);
            if verb == Verb::Delete {
                decisions.deleted.push(*row);
            } else {
                let (rows, places) = updates.entry(clause).or_default();
                rows.push(*row);
                places.push(at);
            }
        }
        for (clause, (rows, places)) in updates {
            decisions.updated.push((clause, rows, taken_rows(&scope, &UInt32Array::from(places))?));
        }
        Ok(decisions)
    }

    /// Rows of the table that no row of the source belongs to.
    fn look_at_alone(&self, table: &RecordBatch, rows: Vec<u32>) -> Result<Decisions> {
        let mut decisions = Decisions::default();
        if rows.is_empty() {
            return Ok(decisions);
        }
        let scope = self.scope(Some((table, &rows)), None)?;
        let chosen = choose(self.merge.of(Of::NotMatchedBySource), &scope)?;
        let mut updates: BTreeMap<usize, (Vec<u32>, Vec<u32>)> = BTreeMap::new();
        for (at, (clause, row)) in (0_u32..).zip(chosen.into_iter().zip(&rows)) {
            match clause {
                None => {}
                Some((_, Verb::Delete)) => decisions.deleted.push(*row),
                Some((clause, _)) => {
                    let (rows, places) = updates.entry(clause).or_default();
                    rows.push(*row);
                    places.push(at);
                }
            }
        }
        for (clause, (rows, places)) in updates {
            decisions.updated.push((clause, rows, taken_rows(&scope, &UInt32Array::from(places))?));
        }
        Ok(decisions)
    }

    /// The rows of the source that belong to no row of the table, by clause, when the whole table was looked at.
    pub(super) fn insert(&self, sink: &mut dyn FnMut(&Clause, &RecordBatch) -> Result<()>) -> Result<()> {
        if self.merge.of(Of::NotMatched).next().is_none() {
            return Ok(());
        }
        let open: Vec<u32> =
            (0_u32..).zip(&self.matched).filter(|(_, matched)| !**matched).map(|(row, _)| row).collect();
        let mut left = open.as_slice();
        while !left.is_empty() {
            let (rows, others) = left.split_at(self.inserted_together(left));
            left = others;
            crate::cancel::check()?;
            let scope = self.scope(None, Some(rows))?;
            let chosen = choose(self.merge.of(Of::NotMatched), &scope)?;
            let mut places: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
            for (at, clause) in (0_u32..).zip(chosen) {
                if let Some((clause, _)) = clause {
                    places.entry(clause).or_default().push(at);
                }
            }
            for (at, places) in places {
                if let Some(clause) = self.merge.clauses.get(at) {
                    sink(clause, &taken_rows(&scope, &UInt32Array::from(places))?)?;
                }
            }
        }
        Ok(())
    }

    /// How many of these rows of the source are inserted together: at least one.
    fn inserted_together(&self, rows: &[u32]) -> usize {
        let size = |row: &u32| usize::try_from(*row).ok().and_then(|row| self.sizes.get(row)).copied().unwrap_or(0);
        let up_to = rows.iter().take(INSERTED).scan(0_usize, |bytes, row| {
            *bytes = bytes.saturating_add(size(row));
            Some(*bytes)
        });
        up_to.take_while(|bytes| *bytes <= BYTES).count().max(1)
    }

    /// The columns that clauses look at, of rows of both sides.
    fn scope(&self, table: Option<(&RecordBatch, &[u32])>, source: Option<&[u32]>) -> Result<RecordBatch> {
        let rows = table.map(|(_, rows)| rows).or(source).map_or(0, <[u32]>::len);
        let indices = |rows: &[u32]| UInt32Array::from(rows.to_vec());
        let (of_table, of_source) = (table.map(|(_, rows)| indices(rows)), source.map(indices));
        let (mut fields, mut columns) = (Vec::new(), Vec::new());
        for name in &self.needs {
            let side = match name.strip_prefix("t.") {
                Some(own) => table.zip(of_table.as_ref()).map(|((batch, _), rows)| (batch, own, rows)),
                None => of_source.as_ref().map(|rows| (&self.rows, *name, rows)),
            };
            let Some((batch, own, rows)) = side else { continue };
            let column = taken_column(&column(batch, own)?, rows)?;
            fields.push(Field::new(*name, column.data_type().clone(), true));
            columns.push(column);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)?)
    }

    fn ambiguous(&self, table: &RecordBatch, row: u32) -> Error {
        let row = usize::try_from(row).unwrap_or(0);
        let value = |(name, _): &(String, String)| {
            let value = table.column_by_name(name).and_then(|column| array_value_to_string(column, row).ok());
            format!("{name} = {}", crate::error::shorten(&value.unwrap_or_default()))
        };
        let key: Vec<String> = self.merge.on.iter().map(value).collect();
        invalid(format!("several rows of the source would change one row of the table: {}", key.join(", ")))
            .hint("let the source have one row for each row of the table, for example the newest of each key")
    }
}

#[derive(Default)]
struct Pairs {
    table: Vec<u32>,
    source: Vec<u32>,
}

impl Pairs {
    fn add(&mut self, row: u32, other: u32) {
        self.table.push(row);
        self.source.push(other);
    }

    fn filtered(self, keep: &BooleanArray) -> Self {
        let kept = |rows: Vec<u32>| rows.into_iter().zip(keep.values()).filter(|(_, keep)| *keep).map(|(row, _)| row);
        Self { table: kept(self.table).collect(), source: kept(self.source).collect() }
    }
}

/// What is known of the rows of a batch of the table.
struct State {
    /// A clause has changed it.
    done: Vec<bool>,
    /// A row of the source belongs to it.
    found: Vec<bool>,
}

fn flag(flags: &[bool], row: u32) -> bool {
    usize::try_from(row).ok().and_then(|row| flags.get(row)).copied().unwrap_or(false)
}

fn set(flags: &mut [bool], row: u32) {
    if let Some(flag) = usize::try_from(row).ok().and_then(|row| flags.get_mut(row)) {
        *flag = true;
    }
}

/// The first clause whose condition holds, for each row.
fn choose<'c>(
    clauses: impl Iterator<Item = (usize, &'c Clause)>,
    scope: &RecordBatch,
) -> Result<Vec<Option<(usize, Verb)>>> {
    let mut chosen = vec![None; scope.num_rows()];
    for (at, clause) in clauses {
        let holds = clause.condition.as_ref().map(|condition| condition.holds(scope)).transpose()?;
        for (row, chosen) in chosen.iter_mut().enumerate() {
            if chosen.is_none() && holds.as_ref().is_none_or(|holds| holds.value(row)) {
                *chosen = Some((at, clause.verb));
            }
        }
    }
    Ok(chosen)
}

fn column(batch: &RecordBatch, name: &str) -> Result<ArrayRef> {
    let found = batch.column_by_name(name).cloned();
    found.ok_or_else(|| Error::new(ErrorKind::Internal, "a column of a merge was not read").with("column", name))
}

/// Positions of some rows, which are in the last column.
pub(super) fn positions_of(batch: &RecordBatch, rows: &[u32]) -> Result<Vec<u64>> {
    let all = batch.columns().last().and_then(|c| c.as_primitive_opt::<arrow_array::types::Int64Type>());
    let all = all.ok_or_else(|| Error::new(ErrorKind::Internal, "a batch without row positions"))?;
    let position = |row: &u32| usize::try_from(*row).ok().and_then(|row| all.values().get(row)).copied();
    Ok(rows.iter().filter_map(position).filter_map(|position| u64::try_from(position).ok()).collect())
}
