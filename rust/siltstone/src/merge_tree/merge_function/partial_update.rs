//! `merge-engine=partial-update`: later records fill in and overwrite columns (semantics b.4;
//! `PartialUpdateMergeFunction`).
//!
//! Every column belongs to a *class*; columns of one class share the [`AggStep`]s of the records:
//!
//! ```text
//! class 0          columns in no sequence group    Add     (last_non_null_value)
//! class 3 g + 1    sequence fields of group g      Set when the record is new to the group
//! class 3 g + 2    columns of g without a function Set when new, Clear when a retract is new
//! class 3 g + 3    columns of g with a function    Add when new, AddReversed when old, Retract
//! ```
//! A retract that comes first fills the whole row before it does anything else: it then stands twice among the rows.

use super::{
    Bearing, Carried, Choice, Computed, Groups, MergeFunction,
    columns::{ColumnPlan, Columns, DELETE, INSERT, Kinds, Remembered},
    record_names::RecordNames,
    sequence::{SequenceColumns, SequenceOrder, Standing},
};
use crate::{
    Error, ErrorKind, Result,
    aggregate::AggStep,
    io::KvLayout,
    merge_tree::records::is_retract,
    schema::{ColumnRole, EngineSpec},
};

/// Fills rows column by column.
#[derive(Debug)]
pub struct PartialUpdate {
    columns: Columns,
    ignore_delete: bool,
    /// `partial-update.remove-record-on-delete`
    remove_on_delete: bool,
    /// whether the table has sequence groups, the layout's or not
    has_groups: bool,
    /// what an addition has to do with older records
    adds: Bearing,
    /// groups of the layout: positions of their sequence fields, and whether a -D removes the row
    groups: Vec<(Vec<usize>, bool)>,
    /// of each column
    classes: Vec<usize>,
    /// classes that any column is in
    used: Vec<bool>,
}

impl PartialUpdate {
    /// For the columns of a layout; the sequence fields of every column's group must be among them.
    pub(super) fn new(names: RecordNames, spec: &EngineSpec, layout: &KvLayout) -> Result<Self> {
        let columns = Columns::new(names, spec, layout)?;
        let mut groups: Vec<(Vec<usize>, bool)> = Vec::new();
        let mut place = vec![None; spec.groups.len()];
        for (group, place) in spec.groups.iter().zip(&mut place) {
            let fields: Vec<usize> = group.fields.iter().filter_map(|name| columns.position(name)).collect();
            if fields.len() == group.fields.len() {
                *place = Some(groups.len());
                groups.push((fields, group.removes));
            }
        }
        let class = |role: ColumnRole| {
            let (group, offset) = match role {
                ColumnRole::Plain => return Some(0),
                ColumnRole::Sequence(group) => (group, 1),
                ColumnRole::Protected(group) => (group, 2),
                ColumnRole::Aggregated(group) => (group, 3),
            };
            Some(3 * place.get(group).copied().flatten()? + offset)
        };
        let classes = columns
            .rules()
            .iter()
            .map(|rule| {
                class(rule.role).ok_or_else(|| {
                    let message = format!("'{}' is merged without the sequence fields of its group", rule.name);
                    Error::new(ErrorKind::Internal, message).with("table", columns.table())
                })
            })
            .collect::<Result<Vec<_>>>()?;
        let ahead = columns.rules().iter().all(|rule| rule.function.adds_ahead());
        let adds = if ahead { Bearing::Adds } else { Bearing::TakesBack };
        let used = (0..=3 * groups.len()).map(|class| classes.contains(&class)).collect();
        Ok(Self {
            columns,
            ignore_delete: spec.ignore_delete,
            remove_on_delete: spec.remove_on_delete,
            has_groups: !spec.groups.is_empty(),
            adds,
            groups,
            classes,
            used,
        })
    }

    /// Nothing but inserts, and no groups: every record is added.
    fn plain<'a>(groups: &Groups<'a>, kinds: &Kinds<'_>) -> ColumnPlan<'a> {
        let kind = |group: &[(usize, usize)]| match group {
            [single] if groups.pass_single => kinds.of(*single),
            _ => INSERT,
        };
        ColumnPlan {
            sources: groups.sources,
            rows: groups.rows,
            ends: groups.ends,
            pass_single: groups.pass_single,
            steps: vec![None],
            seen: &[],
            last: groups.iter().filter_map(|group| group.last().copied()).collect(),
            kinds: groups.iter().map(kind).collect(),
        }
    }

    /// Calls `run` with what happens to the records, and what is remembered of the last group.
    fn planned<T>(
        &self,
        groups: &Groups<'_>,
        run: impl FnOnce(ColumnPlan<'_>, Remembered<'_>) -> Result<T>,
    ) -> Result<T> {
        let kinds = self.columns.kinds(groups.sources)?;
        if self.groups.is_empty() && !kinds.retracts && groups.carried.is_none() {
            return run(Self::plain(groups, &kinds), Remembered { held: &[], meets_insert: true });
        }
        let fields = self.groups.iter().map(|(fields, _)| SequenceColumns::new(groups.sources, fields));
        let sequences: Vec<SequenceColumns> = fields.collect::<Result<_>>()?;
        let orders = sequences.iter().map(SequenceColumns::order).collect::<Result<Vec<_>>>()?;
        let mut planner = Planner::new(self, groups, &kinds, &orders);
        planner.all()?;
        let Planner { steps, rows, ends, last, result_kinds, held, meets_insert, .. } = planner;
        let plan = ColumnPlan {
            sources: groups.sources,
            rows: rows.as_deref().unwrap_or(groups.rows),
            ends: rows.as_ref().map_or(groups.ends, |_| &ends),
            pass_single: groups.pass_single,
            steps: steps.into_iter().map(Some).collect(),
            seen: groups.carried.map_or(&[], |carried| &carried.seen),
            last,
            kinds: result_kinds,
        };
        run(plan, Remembered { held: &held, meets_insert })
    }

    fn class(&self, column: usize) -> usize {
        self.classes.get(column).copied().unwrap_or_default()
    }

    fn deletes_refused(&self, groups: &Groups<'_>, place: (usize, usize), kind: i8) -> Error {
        let name = if kind == DELETE { "-D" } else { "-U" };
        let message = format!("the merge engine 'partial-update' cannot take a {name} record");
        self.columns
            .named(Error::new(ErrorKind::DeleteNotAllowed, message), groups.sources, place)
            .with("option", "merge-engine")
            .hint(
                "set 'ignore-delete' = 'true' to drop such records, 'partial-update.remove-record-on-delete' = 'true' \
                 to remove whole rows, or sequence groups to take back the columns of one group",
            )
    }
}

impl MergeFunction for PartialUpdate {
    fn choice(&self) -> Choice {
        Choice::Computed
    }

    fn has_overflowed(&self) -> bool {
        self.columns.rules().iter().any(|rule| rule.function.has_overflowed())
    }

    fn bearing(&self, kind: i8) -> Bearing {
        // in groups it hangs on the sequence fields whether a -D removes the row
        let replaces = kind == DELETE && self.remove_on_delete && !self.has_groups && !self.ignore_delete;
        match (is_retract(kind), replaces) {
            (false, _) => self.adds,
            (true, true) => Bearing::Replaces,
            // also one that is ignored fills the row where nothing is before it
            (true, false) => Bearing::TakesBack,
        }
    }

    fn merge(&self, groups: &Groups<'_>) -> Result<Computed> {
        let rows = self.planned(groups, |plan, _| self.columns.compute(&plan, |column| self.class(column)))?;
        Ok(Computed { rows, keep: None })
    }

    fn fold(&self, group: &Groups<'_>) -> Result<Option<Carried>> {
        self.planned(group, |plan, remembered| self.columns.fold(&plan, |column| self.class(column), &remembered))
            .map(Some)
    }
}

/// Goes through the records and says what each does to each class of columns.
struct Planner<'a> {
    engine: &'a PartialUpdate,
    groups: &'a Groups<'a>,
    kinds: &'a Kinds<'a>,
    orders: &'a [SequenceOrder<'a>],
    /// by class; empty for classes without columns
    steps: Vec<Vec<AggStep>>,
    /// the records, once one of them stands twice; as long as `ends` is kept up
    rows: Option<Vec<(usize, usize)>>,
    ends: Vec<usize>,
    last: Vec<(usize, usize)>,
    result_kinds: Vec<i8>,
    /// for each sequence group the record that set its fields
    held: Vec<Option<(usize, usize)>>,
    /// whether the group has +I or +U
    meets_insert: bool,
}

impl<'a> Planner<'a> {
    fn new(
        engine: &'a PartialUpdate,
        groups: &'a Groups<'a>,
        kinds: &'a Kinds<'a>,
        orders: &'a [SequenceOrder<'a>],
    ) -> Self {
        let steps = |used: &bool| Vec::with_capacity(if *used { groups.rows.len() } else { 0 });
        Self {
            engine,
            groups,
            kinds,
            orders,
            steps: engine.used.iter().map(steps).collect(),
            rows: None,
            ends: Vec::with_capacity(groups.len()),
            last: Vec::with_capacity(groups.len()),
            result_kinds: Vec::with_capacity(groups.len()),
            held: vec![None; orders.len()],
            meets_insert: false,
        }
    }

    fn all(&mut self) -> Result<()> {
        let mut start = 0;
        let groups = self.groups;
        for ((group, carried), &end) in groups.with_carried().zip(groups.ends) {
            match (carried, group) {
                (None, [single]) if groups.pass_single => {
                    self.record(*single, AggStep::Set);
                    self.finish(*single, self.kinds.of(*single));
                }
                (Some(carried), [first, rest @ ..]) => self.resumed(carried, *first, rest, start)?,
                (_, group) => self.group(group, start)?,
            }
            start = end;
        }
        Ok(())
    }

    /// The records of one key, the first of them number `start` of all.
    fn group(&mut self, group: &[(usize, usize)], start: usize) -> Result<()> {
        self.held.fill(None);
        self.meets_insert = false;
        let last = group.last().copied().unwrap_or_default();
        self.records(group, start, Some(start), (false, last))
    }

    /// The rest of a group behind its record `first`, which stands for the records before and is number `start` of all.
    fn resumed(
        &mut self,
        carried: &Carried,
        first: (usize, usize),
        rest: &[(usize, usize)],
        start: usize,
    ) -> Result<()> {
        self.record(first, AggStep::Set);
        self.held.clear();
        self.held.extend(carried.held.iter().map(|row| row.map(|row| (first.0, row))));
        self.meets_insert = carried.meets_insert;
        let last = match rest.last() {
            // until an insert comes, the last record counts
            Some(last) if !carried.meets_insert => *last,
            _ => Carried::last(first.0),
        };
        self.records(rest, start + 1, None, (self.kinds.of(first) == DELETE, last))
    }

    /// Goes through records, the first of them number `start` of all and that of the group number `opens`; `so_far` says
    /// whether the row is removed, and which record's sequence number counts.
    fn records(
        &mut self,
        records: &[(usize, usize)],
        start: usize,
        opens: Option<usize>,
        so_far: (bool, (usize, usize)),
    ) -> Result<()> {
        let (mut removed, mut last) = so_far;
        for (number, &place) in (start..).zip(records) {
            let kind = self.kinds.of(place);
            if !is_retract(kind) {
                self.insert(place);
                self.meets_insert = true;
                (removed, last) = (false, place);
                continue;
            }
            removed = self.retract(place, number, kind, opens == Some(number))?;
            if !self.engine.ignore_delete {
                last = place;
            }
        }
        self.finish(last, if removed || !self.meets_insert { DELETE } else { INSERT });
        Ok(())
    }

    fn insert(&mut self, place: (usize, usize)) {
        for group in 0..self.orders.len() {
            let standing = self.standing(group, place);
            if standing == Standing::New {
                self.hold(group, place);
            }
            let (set, add) = match standing {
                Standing::Absent => (AggStep::Skip, AggStep::Skip),
                Standing::New => (AggStep::Set, AggStep::Add),
                Standing::Old => (AggStep::Skip, AggStep::AddReversed),
            };
            self.push_group(group, [set, set, add]);
        }
        self.push(0, AggStep::Add);
        self.row(place);
    }

    /// True when the record removes the row.
    fn retract(&mut self, place: (usize, usize), number: usize, kind: i8, first: bool) -> Result<bool> {
        let fill = if first { AggStep::Set } else { AggStep::Skip };
        if first {
            self.held.fill(Some(place));
        }
        if self.engine.ignore_delete {
            self.record(place, fill);
            return Ok(false);
        }
        if !self.engine.has_groups {
            if !self.engine.remove_on_delete {
                return Err(self.engine.deletes_refused(self.groups, place, kind));
            }
            let removes = kind == DELETE;
            self.record(place, if removes { AggStep::Set } else { fill });
            return Ok(removes);
        }
        let standings: Vec<Standing> = (0..self.orders.len()).map(|group| self.standing(group, place)).collect();
        let removes =
            |(standing, (_, removes)): (&Standing, &(Vec<usize>, bool))| *removes && *standing == Standing::New;
        if kind == DELETE && standings.iter().zip(&self.engine.groups).any(removes) {
            self.held.fill(Some(place));
            self.record(place, AggStep::Set);
            return Ok(true);
        }
        if first {
            self.record(place, AggStep::Set);
            self.repeat(number);
        }
        for (group, standing) in standings.into_iter().enumerate() {
            if standing == Standing::New {
                self.hold(group, place);
            }
            self.push_group(
                group,
                match standing {
                    Standing::Absent => [AggStep::Skip; 3],
                    Standing::New => [AggStep::Set, AggStep::Clear, AggStep::Retract],
                    Standing::Old => [AggStep::Skip, AggStep::Skip, AggStep::Retract],
                },
            );
        }
        self.push(0, AggStep::Skip);
        self.row(place);
        Ok(false)
    }

    fn standing(&self, group: usize, place: (usize, usize)) -> Standing {
        let held = self.held.get(group).copied().flatten();
        self.orders.get(group).map_or(Standing::Absent, |order| order.standing(place, held))
    }

    fn hold(&mut self, group: usize, place: (usize, usize)) {
        if let Some(held) = self.held.get_mut(group) {
            *held = Some(place);
        }
    }

    /// A record that does the same to all classes.
    fn record(&mut self, place: (usize, usize), step: AggStep) {
        for class in 0..self.steps.len() {
            self.push(class, step);
        }
        self.row(place);
    }

    fn push_group(&mut self, group: usize, steps: [AggStep; 3]) {
        for (offset, step) in (1..).zip(steps) {
            self.push(3 * group + offset, step);
        }
    }

    #[inline]
    fn push(&mut self, class: usize, step: AggStep) {
        if self.engine.used.get(class) == Some(&true)
            && let Some(steps) = self.steps.get_mut(class)
        {
            steps.push(step);
        }
    }

    #[inline]
    fn row(&mut self, place: (usize, usize)) {
        if let Some(rows) = &mut self.rows {
            rows.push(place);
        }
    }

    /// From now on the rows are listed here, because record `number` comes again.
    fn repeat(&mut self, number: usize) {
        if self.rows.is_none() {
            self.rows = Some(self.groups.rows.get(..=number).unwrap_or_default().to_vec());
        }
    }

    fn finish(&mut self, last: (usize, usize), kind: i8) {
        self.last.push(last);
        self.result_kinds.push(kind);
        let rows = self.rows.as_ref().map(Vec::len);
        self.ends.push(rows.or_else(|| self.groups.ends.get(self.ends.len()).copied()).unwrap_or_default());
    }
}
