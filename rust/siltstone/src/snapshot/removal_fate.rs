//! What the removal records say of one snapshot: did it come in time, has it been removed, or can nobody tell any more?
//!
//! Records are asked for one after another. One that is not there is the end of them, or was deleted because it is old: then
//! the hint names a much newer one ([`RemovalLog::next`]).

use super::{Removal, RemovalKind, RemovalLog, RemovedSnapshot, Snapshot, removal_log::ATTEMPTS};
use crate::error::Result;

/// Where a published snapshot stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It became part of the line; it may have expired since.
    Committed,
    /// It came into a hole that a removal had left: nobody takes it for a version.
    TooLate,
    /// It was part of the line and a rollback has taken it out.
    RolledBack,
    /// The records that would tell are not kept any more.
    Unknown,
}

/// What has become of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// No record lists it.
    NotRemoved,
    /// It was removed, and why.
    Removed(RemovalKind),
    /// The records that would tell are not kept any more.
    Unknown,
}

/// What is found in the place of a record.
enum Next {
    Record(Box<Removal>),
    /// It has not been written.
    End,
    /// It was deleted.
    Gone,
}

/// What a walk along the records came to.
enum Walk<T> {
    Met(T),
    End,
    Gone,
}

impl RemovalLog {
    /// Where a snapshot stands that was published by a writer who knew `known` records.
    pub fn standing(&self, snapshot: &Snapshot, known: u64) -> Result<Standing> {
        Ok(self.standing_for_now(snapshot, known)?.0)
    }

    /// The same, and whether somebody is about to take back a version before it, and has not ended yet or has died.
    pub fn standing_for_now(&self, snapshot: &Snapshot, known: u64) -> Result<(Standing, bool)> {
        let mut base_goes = false;
        let met = self.after(known, |number, record| {
            base_goes = record.pending.takes_back(snapshot.id - 1);
            // where it was in the line, it does not matter whether it is still there
            record.concerns(number, snapshot.id).then(|| match (record.lists(snapshot), record.kind) {
                (false, _) => Standing::TooLate,
                (true, RemovalKind::Rollback) => Standing::RolledBack,
                (true, _) => Standing::Committed,
            })
        })?;
        Ok(match met {
            Walk::Met(standing) => (standing, false),
            Walk::End => (Standing::Committed, base_goes),
            Walk::Gone => (Standing::Unknown, false),
        })
    }

    /// Why this very snapshot was removed after `known` records.
    pub fn removed_by(&self, snapshot: &RemovedSnapshot, known: u64) -> Result<Fate> {
        let met = self.after(known, |_, record| record.removed.contains(snapshot).then_some(record.kind))?;
        Ok(match met {
            Walk::Met(kind) => Fate::Removed(kind),
            Walk::End => Fate::NotRemoved,
            Walk::Gone => Fate::Unknown,
        })
    }

    /// Whether a record after `known` ones says that this very snapshot is not taken back any more, or nobody can tell.
    pub fn is_kept(&self, snapshot: &RemovedSnapshot, known: u64) -> Result<bool> {
        let met = self.after(known, |_, record| (record.pending.keeping.as_ref() == Some(snapshot)).then_some(()))?;
        Ok(!matches!(met, Walk::End))
    }

    /// All that was removed after `known` records; `None`: some of the records are not kept any more.
    pub fn removed_since(&self, known: u64) -> Result<Option<Vec<(RemovalKind, RemovedSnapshot)>>> {
        let mut all = Vec::new();
        let walk: Walk<()> = self.after(known, |_, record| {
            all.extend(record.removed.iter().map(|removed| (record.kind, removed.clone())));
            None
        })?;
        Ok(if matches!(walk, Walk::Gone) { None } else { Some(all) })
    }

    /// What has expired by records after `known` ones, without what a later rollback has taken back; `None`: not all of them are
    /// kept any more.
    pub fn expired_since(&self, known: u64) -> Result<Option<Vec<RemovedSnapshot>>> {
        let mut expired = Vec::new();
        let walk: Walk<()> = self.after(known, |number, record| {
            record.add_to_expired(number, &mut expired);
            None
        })?;
        Ok(if matches!(walk, Walk::Gone) { None } else { Some(expired) })
    }

    /// Asks the records after `known` ones, until one of them has an answer.
    fn after<T>(&self, known: u64, mut ask: impl FnMut(u64, &Removal) -> Option<T>) -> Result<Walk<T>> {
        if !self.has_newer(known)? {
            return Ok(Walk::End);
        }
        let mut number = known;
        loop {
            number += 1;
            match self.next(number)? {
                Next::Record(record) => {
                    if let Some(answer) = ask(number, &record) {
                        return Ok(Walk::Met(answer));
                    }
                }
                Next::End => return Ok(Walk::End),
                Next::Gone => return Ok(Walk::Gone),
            }
        }
    }

    /// The record of this number, which may have been deleted: whoever asks may have been held up for long.
    fn next(&self, number: u64) -> Result<Next> {
        if let Some(record) = self.record(number)? {
            return Ok(Next::Record(Box::new(record)));
        }
        let mut hint = self.hint()?;
        for _ in 0..ATTEMPTS {
            let Some(newest) = hint.filter(|newest| *newest >= number) else { return Ok(Next::End) };
            if let Some(record) = self.record(number)? {
                // it was written meanwhile
                return Ok(Next::Record(Box::new(record)));
            }
            if self.has(newest)? {
                return Ok(Next::Gone);
            }
            // where that one is old by now, too, the hint names another one; otherwise the hint is wrong
            let again = self.hint()?;
            if again == hint {
                return Ok(Next::End);
            }
            hint = again;
        }
        Ok(Next::Gone)
    }
}
