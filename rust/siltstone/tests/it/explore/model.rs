//! What the table may be after operations that overlapped: as if they had happened one after another, in an order that
//! no two of them contradict by their times, and no snapshot by its id.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use super::world::{BASE, Merges, partition};

/// Rows by key, in order; a row that is there twice is twice in it.
pub(super) type Rows = Vec<(i32, i64)>;

/// The versions of main or of a branch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Line {
    /// All that were acknowledged and not taken back, expired ones among them.
    pub(super) versions: BTreeMap<i64, Arc<Rows>>,
    /// Columns of the newest schema.
    pub(super) columns: usize,
}

impl Line {
    pub(super) fn newest(&self) -> i64 {
        self.versions.last_key_value().map_or(0, |(id, _)| *id)
    }

    pub(super) fn rows(&self) -> &[(i32, i64)] {
        self.versions.last_key_value().map_or(&[], |(_, rows)| rows)
    }

    pub(super) fn add(&mut self, id: i64, mut rows: Rows) {
        rows.sort_unstable();
        self.versions.insert(id, Arc::new(rows));
    }

    /// A branch that begins with a version.
    pub(super) fn begun_at(&self, id: i64) -> Self {
        let first = self.versions.get(&id).map(|rows| (id, Arc::clone(rows)));
        Self { versions: first.into_iter().collect(), columns: self.columns }
    }
}

/// What users see of the table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct State {
    /// Main and the branches.
    pub(super) lines: BTreeMap<String, Line>,
    /// Main's tags, with the snapshots that they are of.
    pub(super) tags: BTreeMap<String, (i64, Arc<Rows>)>,
}

/// What an operation does to the state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Effect {
    /// No more than a snapshot, if that.
    #[default]
    Nothing,
    Put(Rows),
    /// Rows that are merged with those of their keys.
    Merge(Merges, Rows),
    Replace(Rows),
    /// Rows instead of those of a partition.
    ReplacePartition(Rows, i32),
    Delete(i32),
    Update(i32, i64),
    /// Main's newest version was seen with these rows.
    See(Rows),
    Rollback(i64),
    RollbackToTag(String),
    Tag(String, Option<i64>),
    Retag(String, Option<i64>),
    Untag(String),
    /// Tags that were there in the beginning, unless they were replaced: each by itself.
    UntagAll(Vec<(String, i64)>),
    UntagFirst(String, i64),
    RenameTag(String, String),
    Branch(String),
    BranchFromTag(String, String),
    Unbranch(String),
    RenameBranch(String, String),
    /// A fast-forward that has taken main as far as one of the branch's versions.
    ForwardPart(String),
    Forward(String),
    AddColumn,
}

/// A step of an operation: what it does, and the snapshot that says so.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) operation: usize,
    pub(super) branch: String,
    pub(super) id: Option<i64>,
    pub(super) effect: Effect,
    /// Nobody knows whether it happened.
    pub(super) optional: bool,
    /// A snapshot that was there for a while, until somebody took it back.
    pub(super) passing: bool,
    /// Tags that it takes away may be there until the next upkeep.
    pub(super) leaves: bool,
    /// First and last moment at which it may have happened.
    pub(super) from: u64,
    pub(super) to: u64,
}

/// All states that are right after the steps; steps of one operation come in their order.
pub(super) fn outcomes(begin: &State, steps: &[Step]) -> Vec<State> {
    let mut search = Search { steps, seen: HashSet::new(), found: HashSet::new() };
    search.go(begin, 0, 0);
    let mut found: Vec<State> = search.found.into_iter().collect();
    found.sort();
    found
}

struct Search<'a> {
    steps: &'a [Step],
    seen: HashSet<(u64, u64, State)>,
    found: HashSet<State>,
}

impl Search<'_> {
    /// `done`: steps that are behind us; `happened`: those of them that were not left out.
    fn go(&mut self, state: &State, done: u64, happened: u64) {
        if !self.seen.insert((done, happened, state.clone())) {
            return;
        }
        if done.count_ones() as usize == self.steps.len() {
            self.found.insert(state.clone());
            return;
        }
        for (at, step) in self.steps.iter().enumerate() {
            if done & (1 << at) != 0 || !self.may_be_next(at, done) {
                continue;
            }
            if step.optional {
                self.go(state, done | 1 << at, happened);
            }
            for next in self.after(state, step, happened) {
                self.go(&next, done | 1 << at, happened | 1 << at);
            }
        }
    }

    /// Whether everything that must come before a step is done.
    fn may_be_next(&self, at: usize, done: u64) -> bool {
        let step = &self.steps[at];
        self.steps.iter().enumerate().all(|(other_at, other)| {
            let first = other.to < step.from || (other.operation == step.operation && other_at < at);
            done & (1 << other_at) != 0 || !first
        })
    }

    fn after(&self, state: &State, step: &Step, happened: u64) -> Vec<State> {
        let before = self.steps.iter().enumerate().filter(|(at, _)| happened & (1 << at) != 0);
        // of an operation that makes several snapshots the first has the effect; when that was taken back, the next one
        let own: Vec<_> = before.map(|(_, other)| other).filter(|other| other.operation == step.operation).collect();
        let mut all = Vec::new();
        if step.id.is_none() || own.iter().all(|other| other.passing) {
            all.extend(state.after(&step.branch, &step.effect));
        }
        if step.id.is_some() && !own.is_empty() {
            all.extend(state.after(&step.branch, &Effect::Nothing));
        }
        if step.leaves {
            all = all.iter().flat_map(|next| next.with_some_tags_of(state)).collect();
        }
        if let Some(id) = step.id {
            all.retain_mut(|next| {
                let Some(line) = next.lines.get_mut(&step.branch) else { return false };
                let before = state.lines.get(&step.branch).map_or(0, Line::newest);
                let rows = line.versions.remove(&i64::MAX);
                let Some(rows) = rows.or_else(|| line.versions.get(&before).cloned()) else {
                    line.versions.insert(id, Arc::default());
                    return id == before + 1;
                };
                line.versions.insert(id, rows);
                id == before + 1
            });
        }
        all
    }
}

fn merged(mut rows: Rows, how: Merges, new: &Rows) -> Rows {
    for (key, value) in new {
        match rows.iter_mut().find(|row| row.0 == *key) {
            Some(row) if how == Merges::Sum => row.1 += value,
            Some(row) if how == Merges::Largest => row.1 = row.1.max(*value),
            Some(row) => row.1 = *value,
            None => rows.push((*key, *value)),
        }
    }
    rows
}

/// Under this id is what becomes a snapshot; its step says which one.
const NEW: i64 = i64::MAX;

impl State {
    pub(super) fn main(&self) -> &Line {
        &self.lines["main"]
    }

    /// What may be after an operation; nothing when it cannot succeed here.
    fn after(&self, branch: &str, effect: &Effect) -> Vec<Self> {
        let mut next = self.clone();
        let Some(line) = next.lines.get_mut(branch) else {
            return if matches!(effect, Effect::Nothing | Effect::Unbranch(_)) { vec![next] } else { Vec::new() };
        };
        let rows = line.rows().to_vec();
        let newest = line.newest();
        match effect {
            // tags that go one by one
            Effect::Nothing | Effect::UntagAll(_) => {}
            Effect::Put(new) => {
                let others = rows.into_iter().filter(|row| new.iter().all(|new| new.0 != row.0));
                line.add(NEW, others.chain(new.iter().copied()).collect());
            }
            Effect::Merge(how, new) => line.add(NEW, merged(rows, *how, new)),
            Effect::Replace(new) => line.add(NEW, new.clone()),
            Effect::ReplacePartition(new, number) => {
                let others = rows.into_iter().filter(|row| partition(row.0) != *number);
                line.add(NEW, others.chain(new.iter().copied()).collect());
            }
            Effect::Delete(key) => line.add(NEW, rows.into_iter().filter(|row| row.0 != *key).collect()),
            Effect::Update(key, value) => {
                let updated = rows.into_iter().map(|row| if row.0 == *key { (*key, *value) } else { row });
                line.add(NEW, updated.collect());
            }
            Effect::See(seen) => return if rows == *seen { vec![next] } else { Vec::new() },
            Effect::Rollback(id) => match line.versions.get(id).cloned() {
                Some(rows) => return next.rolled_back(*id, rows),
                None => return Vec::new(),
            },
            Effect::RollbackToTag(tag) => match self.tags.get(tag) {
                Some((id, rows)) => return next.rolled_back(*id, Arc::clone(rows)),
                None => return Vec::new(),
            },
            Effect::Tag(name, id) => return next.tagged(name, id.unwrap_or(newest), false),
            Effect::Retag(name, id) => return next.tagged(name, id.unwrap_or(newest), true),
            // somebody else's deletion is as good
            Effect::Untag(name) => drop(next.tags.remove(name)),
            Effect::UntagFirst(name, id) => next.tags.retain(|tag, (tagged, _)| tag != name || tagged != id),
            Effect::RenameTag(from, to) => match next.tags.remove(from) {
                Some(tagged) => drop(next.tags.insert(to.clone(), tagged)),
                None => return Vec::new(),
            },
            Effect::Branch(name) => {
                let begun = line.begun_at(newest);
                next.lines.insert(name.clone(), begun);
            }
            Effect::BranchFromTag(name, tag) => match self.tags.get(tag) {
                Some((id, rows)) => {
                    let begun = Line { versions: BTreeMap::from([(*id, Arc::clone(rows))]), columns: line.columns };
                    next.lines.insert(name.clone(), begun);
                }
                None => return Vec::new(),
            },
            Effect::Unbranch(name) => drop(next.lines.remove(name)),
            Effect::RenameBranch(from, to) => match next.lines.remove(from) {
                Some(line) => drop(next.lines.insert(to.clone(), line)),
                None => return Vec::new(),
            },
            Effect::Forward(name) => return next.forwarded(name, i64::MAX),
            Effect::ForwardPart(name) => {
                let ids = self.lines.get(name).into_iter().flat_map(|branch| branch.versions.keys());
                let parts = ids.flat_map(|id| next.clone().forwarded(name, *id));
                // tags go after the record that takes the versions away
                return parts.flat_map(|part| [Self { tags: self.tags.clone(), ..part.clone() }, part]).collect();
            }
            Effect::AddColumn => line.columns += 1,
        }
        vec![next]
    }

    /// This state with each choice of the tags that it has no more.
    fn with_some_tags_of(&self, before: &Self) -> Vec<Self> {
        let gone: Vec<_> = before.tags.iter().filter(|(name, _)| !self.tags.contains_key(*name)).collect();
        let with = |choice: u32| {
            let left = gone.iter().enumerate().filter(|(at, _)| choice & (1 << at) != 0);
            let mut next = self.clone();
            next.tags.extend(left.map(|(_, (name, tagged))| ((*name).clone(), (*tagged).clone())));
            next
        };
        (0..1 << gone.len()).map(with).collect()
    }

    fn tagged(mut self, name: &str, id: i64, replaces: bool) -> Vec<Self> {
        let Some(rows) = self.main().versions.get(&id).cloned() else { return Vec::new() };
        let before = self.tags.insert(name.to_owned(), (id, rows));
        if before.is_some() == replaces { vec![self] } else { Vec::new() }
    }

    fn rolled_back(mut self, id: i64, rows: Arc<Rows>) -> Vec<Self> {
        if let Some(main) = self.lines.get_mut("main") {
            main.versions.retain(|version, _| *version < id);
            main.versions.insert(id, rows);
        }
        self.tags.retain(|_, (tagged, _)| *tagged <= id);
        vec![self]
    }

    fn forwarded(mut self, name: &str, last: i64) -> Vec<Self> {
        let Some(branch) = self.lines.get(name).cloned() else { return Vec::new() };
        let main = self.main();
        let is_common = |(id, rows): (&i64, &Arc<Rows>)| {
            branch.versions.get(id).is_some_and(|other| Arc::ptr_eq(rows, other)).then_some(*id)
        };
        let common = main.versions.iter().filter_map(is_common).max().unwrap_or(0);
        let first = branch.versions.keys().next().copied().unwrap_or(0);
        let mut versions = main.versions.clone();
        versions.retain(|id, _| *id <= common);
        versions.extend(branch.versions.into_iter().filter(|(id, _)| *id <= last));
        self.lines.insert("main".to_owned(), Line { versions, columns: branch.columns });
        // of the versions that both have the branch's tags stay: the one that it was made from
        self.tags.retain(|name, (id, _)| *id < first || (*id <= common && name == BASE));
        vec![self]
    }
}
