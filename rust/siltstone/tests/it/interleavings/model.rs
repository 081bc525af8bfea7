//! What the table may be after some operations: as if they had happened one after another in some order.
//!
//! The first actor begins before all others and ends after them, so it may come at any place among them. An operation that
//! gave up has changed nothing; one that died has happened or not.

use std::collections::BTreeMap;

use super::{
    actors::{Actor, OLDEST, TARGET},
    world::{BASE, KEPT, OLD, World},
};

/// Rows by key; a row that is there twice is twice in it.
pub(super) type Rows = Vec<(i32, i64)>;

/// Newer than every version that was there in the beginning.
const LATER: i64 = i64::MAX;

/// What users see of the table.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct State {
    pub(super) rows: Rows,
    /// Columns of the newest schema.
    pub(super) columns: usize,
    /// The newest snapshot, if it was there in the beginning.
    pub(super) newest: i64,
    /// Rows and snapshot of each tag.
    pub(super) tags: BTreeMap<String, (Rows, i64)>,
    /// Rows of each branch.
    pub(super) branches: BTreeMap<String, Rows>,
}

/// How an operation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    Acknowledged,
    /// With a typed error.
    GaveUp,
    Died,
}

/// One operation of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operation {
    pub(super) actor: Actor,
    pub(super) number: i32,
    pub(super) ended: Ended,
}

/// All states that are right after the first operation ran beside the others, which ran one after another.
pub(super) fn outcomes(world: &World, first: Operation, others: &[Operation]) -> Vec<State> {
    let mut all = Vec::new();
    for place in 0..=others.len() {
        let mut states = vec![world.now.clone()];
        for (at, other) in others.iter().enumerate() {
            if at == place {
                states = after(world, &states, first);
            }
            states = after(world, &states, *other);
        }
        if place == others.len() {
            states = after(world, &states, first);
        }
        all.extend(states);
    }
    if first.actor == Actor::BranchForward {
        all.extend(all.clone().iter().flat_map(|state| state.tagged_meanwhile(world, others)));
    }
    all.sort();
    all.dedup();
    all
}

fn after(world: &World, states: &[State], operation: Operation) -> Vec<State> {
    let Operation { actor, number, ended } = operation;
    let mut all: Vec<State> = Vec::new();
    for state in states {
        match ended {
            Ended::Acknowledged => all.extend(state.after(world, actor, number)),
            Ended::GaveUp => all.push(state.clone()),
            Ended::Died => {
                all.push(state.clone());
                all.extend(state.after(world, actor, number));
                all.extend(state.partly(world, actor));
            }
        }
    }
    all
}

impl State {
    /// What may be after an operation that was acknowledged; nothing when it cannot succeed here.
    fn after(&self, world: &World, actor: Actor, number: i32) -> Vec<Self> {
        let mut next = self.clone();
        let name = Actor::name(number);
        let latest = (self.rows.clone(), self.newest);
        if actor.commits() {
            next.newest = LATER;
        }
        match actor {
            Actor::Write | Actor::WriteCompacting | Actor::WriteExpiring => next.put(Actor::row(number)),
            Actor::Compact | Actor::CompactManifests | Actor::Rescale | Actor::Expire | Actor::RemoveOrphans => {}
            Actor::Overwrite => next.rows = vec![Actor::row(number)],
            Actor::Delete => next.rows.retain(|row| row.0 != 1),
            Actor::Update => {
                let there = self.rows.iter().any(|row| row.0 == 2);
                next.put((2, i64::from(number)));
                if !there {
                    return vec![self.clone()];
                }
            }
            Actor::RollbackToVersion => return self.rolled_back(&world.versions[&TARGET], TARGET),
            Actor::RollbackToTag | Actor::RollbackToExpiredTag => {
                let tag = self.tags.get(if actor == Actor::RollbackToTag { KEPT } else { OLD });
                return tag.map_or(Vec::new(), |(rows, id)| self.rolled_back(rows, *id));
            }
            Actor::TagCreate => drop(next.tags.insert(name, latest)),
            Actor::TagOldest => drop(next.tags.insert(name, (world.versions[&OLDEST].clone(), OLDEST))),
            Actor::TagReplace => {
                if next.tags.insert(KEPT.to_owned(), latest).is_none() {
                    return Vec::new();
                }
            }
            Actor::TagDelete => {
                if self.made_from_old().next().is_some() {
                    return Vec::new();
                }
                // somebody else's deletion is as good
                next.tags.remove(OLD);
            }
            Actor::BranchCreate => {
                if self.newest > 0 {
                    next.tags.insert(format!("fork-{name}"), latest);
                }
                next.branches.insert(name, self.rows.clone());
            }
            Actor::BranchFromTag => match self.tags.get(OLD) {
                Some((rows, _)) => drop(next.branches.insert(format!("old-{name}"), rows.clone())),
                None => return Vec::new(),
            },
            Actor::BranchForward => return self.forwarded(world),
            Actor::BranchDelete => drop(next.branches.remove("fix")),
            Actor::Alter => next.columns += 1,
        }
        vec![next]
    }

    /// What an operation that takes several steps may leave when it dies between them.
    fn partly(&self, world: &World, actor: Actor) -> Vec<Self> {
        if actor != Actor::BranchForward {
            return Vec::new();
        }
        let forwarded = self.forwarded(world);
        forwarded
            .iter()
            .flat_map(|state| world.fix.iter().map(|rows| Self { rows: rows.clone(), ..state.clone() }))
            .collect()
    }

    /// While main is fast-forwarded its newest version is where the two parted, or one of the branch's: a tag may name it.
    fn tagged_meanwhile(&self, world: &World, others: &[Operation]) -> Vec<Self> {
        let tags = others.iter().filter(|other| other.actor == Actor::TagCreate && other.ended == Ended::Acknowledged);
        let names = tags.map(|other| Actor::name(other.number)).filter(|name| self.tags.contains_key(name));
        let tagged = |name: String| {
            world.fix.iter().map(move |rows| {
                let mut next = self.clone();
                next.tags.insert(name.clone(), (rows.clone(), LATER));
                next
            })
        };
        names.flat_map(tagged).collect()
    }

    fn put(&mut self, row: (i32, i64)) {
        self.rows.retain(|other| other.0 != row.0);
        self.rows.push(row);
        self.rows.sort_unstable();
    }

    /// Branches whose first version is that of tag `old`.
    fn made_from_old(&self) -> impl Iterator<Item = &String> {
        self.branches.keys().filter(|name| name.starts_with("old-"))
    }

    /// Tags that keep what a branch was made from.
    fn is_in_use(&self, tag: &str) -> bool {
        tag.strip_prefix("fork-").is_some_and(|branch| self.branches.contains_key(branch))
    }

    fn rolled_back(&self, rows: &Rows, target: i64) -> Vec<Self> {
        let mut next = Self { rows: rows.clone(), newest: target, ..self.clone() };
        let gone: Vec<String> =
            self.tags.iter().filter(|(_, (_, id))| *id > target).map(|(name, _)| name.clone()).collect();
        if gone.iter().any(|tag| self.is_in_use(tag)) {
            return Vec::new();
        }
        next.tags.retain(|name, _| !gone.contains(name));
        vec![next]
    }

    fn forwarded(&self, world: &World) -> Vec<Self> {
        if !self.branches.contains_key("fix") || self.made_from_old().next().is_some() {
            return Vec::new();
        }
        if self.tags.keys().any(|tag| self.is_in_use(tag)) {
            return Vec::new();
        }
        let rows = world.fix.last().cloned().unwrap_or_default();
        let mut next = Self { rows, newest: LATER, columns: 2, ..self.clone() };
        next.tags.retain(|name, _| name == BASE);
        vec![next]
    }
}
