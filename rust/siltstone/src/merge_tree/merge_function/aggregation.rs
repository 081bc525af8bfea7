//! `merge-engine=aggregation`: every column has a function (semantics b.5; `AggregateMergeFunction`).

use super::{
    Choice, Computed, Groups, MergeFunction,
    columns::{Columns, DELETE, INSERT, Kinds, Plan},
    record_names::RecordNames,
};
use crate::{Result, aggregate::Step, io::KvLayout, merge_tree::merge::slot::is_retract, schema::EngineSpec};

/// Aggregates columns.
#[derive(Debug)]
pub struct Aggregation {
    columns: Columns,
    /// `aggregation.remove-record-on-delete`
    remove_on_delete: bool,
}

impl Aggregation {
    /// For the columns of a layout.
    pub(super) fn new(names: RecordNames, spec: &EngineSpec, layout: &KvLayout) -> Result<Self> {
        Ok(Self { columns: Columns::new(names, spec, layout)?, remove_on_delete: spec.remove_on_delete })
    }

    /// What a record of this kind does to every column.
    fn step(&self, kind: i8) -> Step {
        match kind {
            DELETE if self.remove_on_delete => Step::Set,
            kind if is_retract(kind) => Step::Retract,
            _ => Step::Add,
        }
    }

    /// What every record does.
    fn steps(&self, groups: &Groups<'_>, kinds: &Kinds<'_>) -> Vec<Step> {
        let mut steps = Vec::with_capacity(groups.rows.len());
        for group in groups.iter() {
            match group {
                [_] if groups.pass_single => steps.push(Step::Set),
                group => steps.extend(group.iter().map(|place| self.step(kinds.of(*place)))),
            }
        }
        steps
    }

    /// The row kind of a group's result.
    fn kind(&self, group: &[(usize, usize)], kinds: &Kinds<'_>, pass_single: bool) -> i8 {
        match group {
            [single] if pass_single => kinds.of(*single),
            [.., last] if self.remove_on_delete && kinds.of(*last) == DELETE => DELETE,
            _ => INSERT,
        }
    }
}

impl MergeFunction for Aggregation {
    fn choice(&self) -> Choice {
        Choice::Computed
    }

    fn merge(&self, groups: &Groups<'_>) -> Result<Computed> {
        let kinds = self.columns.kinds(groups.sources)?;
        let steps = kinds.retracts.then(|| self.steps(groups, &kinds));
        let rows = self.columns.compute(
            Plan {
                sources: groups.sources,
                rows: groups.rows,
                ends: groups.ends,
                pass_single: groups.pass_single,
                steps: vec![steps],
                last: groups.iter().filter_map(|group| group.last().copied()).collect(),
                kinds: groups.iter().map(|group| self.kind(group, &kinds, groups.pass_single)).collect(),
            },
            |_| 0,
        )?;
        Ok(Computed { rows, keep: None })
    }
}
