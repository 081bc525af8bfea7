//! `merge-engine=aggregation`: every column has a function (semantics b.5; `AggregateMergeFunction`).

use super::{
    Bearing, Carried, Choice, Computed, Groups, MergeFunction,
    carried::last_of,
    columns::{ColumnPlan, Columns, DELETE, INSERT, Kinds, Remembered},
    record_names::RecordNames,
};
use crate::{Result, aggregate::AggStep, io::KvLayout, merge_tree::records::is_retract, schema::EngineSpec};

/// Aggregates columns.
#[derive(Debug)]
pub struct Aggregation {
    columns: Columns,
    /// `aggregation.remove-record-on-delete`
    remove_on_delete: bool,
    /// what every column makes of an addition, and of a retract, does not hang on what is there
    adds_ahead: bool,
    retracts_ahead: bool,
}

impl Aggregation {
    /// For the columns of a layout.
    pub(super) fn new(names: RecordNames, spec: &EngineSpec, layout: &KvLayout) -> Result<Self> {
        let columns = Columns::new(names, spec, layout)?;
        let adds_ahead = columns.rules().iter().all(|rule| rule.function.adds_ahead());
        let taken_back = |at: &usize| columns.rules().get(*at).is_none_or(|rule| !rule.function.ignores_retracts());
        // a row without its value of the sequence field would sort before the older ones
        let keeps_order = !layout.sequence.iter().any(taken_back);
        let retracts_ahead = keeps_order && columns.rules().iter().all(|rule| rule.function.retracts_ahead());
        Ok(Self { columns, remove_on_delete: spec.remove_on_delete, adds_ahead, retracts_ahead })
    }

    /// What a record of this kind does to every column.
    fn step(&self, kind: i8) -> AggStep {
        match kind {
            DELETE if self.remove_on_delete => AggStep::Set,
            kind if is_retract(kind) => AggStep::Retract,
            _ => AggStep::Add,
        }
    }

    /// What every record does.
    fn steps(&self, groups: &Groups<'_>, kinds: &Kinds<'_>) -> Vec<AggStep> {
        let mut steps = Vec::with_capacity(groups.rows.len());
        let step = |place: &(usize, usize)| self.step(kinds.of(*place));
        for (group, carried) in groups.with_carried() {
            match (carried, group) {
                (None, [_]) if groups.pass_single => steps.push(AggStep::Set),
                (Some(_), [_, rest @ ..]) => {
                    steps.push(AggStep::Set);
                    steps.extend(rest.iter().map(step));
                }
                _ => steps.extend(group.iter().map(step)),
            }
        }
        steps
    }

    /// The row kind of a group's result.
    fn kind(&self, group: &[(usize, usize)], kinds: &Kinds<'_>, passes: bool) -> i8 {
        match group {
            [single] if passes => kinds.of(*single),
            [.., last] if self.remove_on_delete && kinds.of(*last) == DELETE => DELETE,
            _ => INSERT,
        }
    }

    fn plan<'a>(&self, groups: &Groups<'a>) -> Result<ColumnPlan<'a>> {
        let kinds = self.columns.kinds(groups.sources)?;
        let steps = (kinds.retracts || groups.carried.is_some()).then(|| self.steps(groups, &kinds));
        let kind = |(group, carried): (&[(usize, usize)], Option<&Carried>)| {
            self.kind(group, &kinds, groups.pass_single || carried.is_some())
        };
        Ok(ColumnPlan {
            sources: groups.sources,
            rows: groups.rows,
            ends: groups.ends,
            pass_single: groups.pass_single,
            steps: vec![steps],
            seen: groups.carried.map_or(&[], |carried| &carried.seen),
            last: groups.with_carried().filter_map(|(group, carried)| last_of(group, carried)).collect(),
            kinds: groups.with_carried().map(kind).collect(),
        })
    }
}

impl MergeFunction for Aggregation {
    fn choice(&self) -> Choice {
        Choice::Computed
    }

    fn has_overflowed(&self) -> bool {
        self.columns.rules().iter().any(|rule| rule.function.has_overflowed())
    }

    fn bearing(&self, kind: i8) -> Bearing {
        match self.step(kind) {
            AggStep::Set => Bearing::Replaces,
            AggStep::Retract if self.retracts_ahead => Bearing::Adds,
            AggStep::Retract => Bearing::TakesBack,
            _ if self.adds_ahead => Bearing::Adds,
            _ => Bearing::TakesBack,
        }
    }

    fn merge(&self, groups: &Groups<'_>) -> Result<Computed> {
        Ok(Computed { rows: self.columns.compute(&self.plan(groups)?, |_| 0)?, keep: None })
    }

    fn fold(&self, group: &Groups<'_>) -> Result<Option<Carried>> {
        let remembered = Remembered { held: &[], meets_insert: true };
        self.columns.fold(&self.plan(group)?, |_| 0, &remembered).map(Some)
    }
}
