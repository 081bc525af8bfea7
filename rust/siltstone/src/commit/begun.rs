//! What a writer has found of the table a moment before its commit: the first try begins with that, instead of asking for it again.
//!
//! A try that begins with an older version is one that was held up for so long after it had looked. Whatever was published, expired
//! or rolled back meanwhile is found out as it is for such a one: the name of the next snapshot is taken, or the records tell after
//! publishing ([`super::standing`]). So only the number of tries depends on it, and where others commit at the same time, nothing is
//! begun in this way. Nor is a commit that has to do with files which are there, of a table with keys or of a compaction: its writer
//! may have seen them in a version that came after the look.

use std::sync::PoisonError;

use super::{TableCommit, place, publish::Tries, request::Request};
use crate::{
    error::Result,
    snapshot::{Removals, Snapshot},
};

/// How long it may have been found before.
const MILLIS: i64 = 1000;

/// The newest version, and the newest schema, where they were looked at.
#[derive(Debug, Default)]
pub(super) struct Begun {
    line: Option<(i64, Removals, Option<Snapshot>)>,
    schema: Option<(i64, i64)>,
}

impl TableCommit {
    /// The newest version as it was just found, and the records that were known when it was looked for.
    pub fn begin_with(&self, removals: Removals, latest: Option<Snapshot>) {
        self.begun().line = Some((self.now_millis(), removals, latest));
    }

    /// Takes a version back that came about under options that are none of the table's, where its writer was killed before it could
    /// ([`crate::schema::SchemaManager::is_late_version`]). Its files lie where nobody looks for them.
    pub fn takes_late_version_back(&self, version: &Snapshot) -> Result<bool> {
        place::take_late_version(&self.ctx, &self.snapshots, version)
    }

    /// [`super::check_place`]; the commit that follows need not look for the newest schema again.
    pub fn check_place(&self) -> Result<()> {
        let newest = place::newest_in_place(&self.ctx)?;
        self.begun().schema = newest.map(|id| (self.now_millis(), id));
        Ok(())
    }

    /// The line for the first try of a request, once.
    pub(super) fn line_begun(&self, request: &Request<'_>, tries: &Tries) -> Option<(Removals, Option<Snapshot>)> {
        let (found, removals, latest) = self.begun().line.take()?;
        let only_adds = self.ctx.schema.primary_keys.is_empty() && request.source.only_adds();
        let is_first = only_adds && tries.is_first() && request.looked_up_to.is_none() && request.since.is_none();
        let may_retry = self.ctx.options.commit_max_retries > 0 && !self.ctx.remembered.is_contended();
        let may_begin = is_first && request.read.is_none() && may_retry;
        (may_begin && self.is_fresh(found)).then_some((removals, latest))
    }

    /// The newest schema for the first try after it was looked at; where the version before has a newer one, it is not.
    pub(super) fn schema_begun(&self, latest: Option<&Snapshot>) -> Option<i64> {
        let (found, id) = self.begun().schema.take()?;
        let is_newest = latest.is_none_or(|latest| latest.schema_id <= id);
        (is_newest && self.is_fresh(found)).then_some(id)
    }

    pub(super) fn is_fresh(&self, found: i64) -> bool {
        (0..=MILLIS).contains(&self.now_millis().saturating_sub(found))
    }

    fn begun(&self) -> std::sync::MutexGuard<'_, Begun> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
