//! Checking a table: every version of every branch against its metadata, and the metadata against the files.
//!
//! ```text
//! branch ─ versions (snapshots, tags, changelogs) ─ lists ─ manifests ─ data, changelog and index files
//! ```
//!
//! What is found is a verdict with a place, and a repair that a person can decide on; nothing is changed here. Problems
//! are what gives wrong rows or an error to a reader; warnings are what only costs time or space.
//!
//! Source: the rules of format chapters 1.5, 3, 4 and 8, and semantics e.3.

mod buckets;
mod columns;
mod data;
mod duplicate_keys;
mod dv_check;
mod fault;
mod file_indexes;
mod files;
mod hashes;
mod index;
mod keys;
mod layout;
mod line;
mod manifests;
mod needed;
mod partitions;
mod row_ids;
mod stable_snapshot;
mod statistics;
mod versions;

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use crate::{
    cancel,
    cleanup::ManifestCache,
    error::{Error, ErrorKind, Result},
    io::TableContext,
    options::CoreOptions,
    path::{PathFactory, branch_root},
    schema::{SchemaManager, TableSchema},
    snapshot::Snapshot,
};

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Readers get an error or wrong rows.
    Problem,
    /// Space or time is lost, rows are right.
    Warning,
}

impl Severity {
    /// For reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Problem => "problem",
            Self::Warning => "warning",
        }
    }
}

/// One thing that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How bad.
    pub severity: Severity,
    /// What kind of thing, stable for programs: `missing-file`, `wrong-size`...
    pub code: &'static str,
    /// `main/snapshot-3`, `dev/tag-v1`, or a file.
    pub place: String,
    /// What is wrong, in words.
    pub message: String,
    /// What could be done about it.
    pub repair: String,
}

/// What was looked at and what was found.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// Problems first.
    pub findings: Vec<Finding>,
    /// How many versions, manifests, files were looked at.
    pub checked: BTreeMap<&'static str, usize>,
}

impl Verdict {
    fn problem(&mut self, code: &'static str, place: &str, message: impl Into<String>, repair: &str) {
        self.add(Severity::Problem, code, place, message.into(), repair);
    }

    fn warning(&mut self, code: &'static str, place: &str, message: impl Into<String>, repair: &str) {
        self.add(Severity::Warning, code, place, message.into(), repair);
    }

    fn add(&mut self, severity: Severity, code: &'static str, place: &str, message: String, repair: &str) {
        let finding = Finding { severity, code, place: place.to_owned(), message, repair: repair.to_owned() };
        self.findings.push(finding);
    }

    fn count(&mut self, what: &'static str, n: usize) {
        *self.checked.entry(what).or_default() += n;
    }

    /// Of a table that cannot be opened at all.
    pub fn of_unopened(location: &str, e: &Error) -> Self {
        let mut verdict = Self::default();
        let repair = if e.kind() == ErrorKind::TableNotFound { RESTORE_SCHEMAS } else { RESTORE };
        verdict.problem("bad-schema", location, e.to_string(), repair);
        verdict
    }
}

const RESTORE_SCHEMAS: &str = "restore the files of the directory schema (schema-0, and those that altered the table): without them nobody \
     knows the columns";
const RESTORE: &str = "restore the file from a backup, or roll back to a version that is whole";

/// What is shared by the checks of one run.
struct Check<'a> {
    ctx: &'a TableContext,
    deep: bool,
    cache: ManifestCache,
    verdict: Verdict,
    looked: manifests::Looked,
    /// Names of index manifests that were looked at.
    seen: HashSet<String>,
    /// Paths of data, changelog and index files with the size they must have.
    files: BTreeMap<String, files::Expected>,
    /// Of the branch that is looked at.
    schemas: HashSet<i64>,
    /// Schemas that data files need and that are gone, by branch.
    lost_schemas: HashSet<(String, i64)>,
    /// Snapshots and tags of all branches.
    versions: Vec<needed::Version>,
    ahead: Vec<line::Ahead>,
}

impl Check<'_> {
    /// What could be read; `None` and a problem when the table is to blame.
    ///
    /// # Errors
    /// The storage's, and what siltstone does not have.
    fn told<T>(&mut self, code: &'static str, place: &str, read: Result<T>, repair: &str) -> Result<Option<T>> {
        match read {
            Ok(found) => Ok(Some(found)),
            Err(e) if is_of_table(&e) => {
                self.verdict.problem(code, place, e.to_string(), repair);
                Ok(None)
            }
            Err(e) => Err(e),
        }
    }

    /// The schemas of a branch, and the table under the newest of them that can be read.
    fn schemas_of(&mut self, branch: &str) -> Result<Option<TableContext>> {
        let schemas = SchemaManager::new(self.ctx.fs.clone(), &branch_root(&self.ctx.location, branch));
        let ids = schemas.ids()?;
        if ids.is_empty() {
            self.verdict.problem("bad-schema", branch, "the branch has no schema", RESTORE);
        }
        let mut newest = None;
        for id in &ids {
            let found = self.told("bad-schema", &schemas.path(*id), schemas.get(*id), RESTORE)?;
            newest = found.or(newest);
        }
        self.schemas = ids.into_iter().collect();
        match self.in_time(newest, &schemas)? {
            Some(schema) => {
                let of = of_branch(self.ctx, branch, schema, schemas);
                self.told("bad-schema", branch, of, RESTORE)
            }
            // as it was when the table was opened
            None => Ok((branch == self.ctx.branch).then(|| self.ctx.clone())),
        }
    }
}

impl Check<'_> {
    /// The schema to go by, and a finding where an alter beside the first commit has left another one.
    fn in_time(
        &mut self,
        newest: Option<Arc<TableSchema>>,
        schemas: &SchemaManager,
    ) -> Result<Option<Arc<TableSchema>>> {
        let Some(newest) = newest else { return Ok(None) };
        // what else is wrong with the versions is found where they are looked at
        let Ok(Some(option)) = schemas.late_option(&newest) else { return Ok(Some(newest)) };
        let text =
            format!("it has '{option}' otherwise than the schema of the newest version, whose files were made so");
        let repair = if newest.is_pending() { TAKEN_AWAY } else { SET_BACK };
        self.verdict.warning("late-schema", &schemas.path(newest.id), text, repair);
        if newest.is_pending() { schemas.latest() } else { Ok(Some(newest)) }
    }
}

const TAKEN_AWAY: &str = "an alter that was stopped has left it; compact or alter the table, or remove orphan files: that takes it away, and \
     until then other programs go by it";
const SET_BACK: &str =
    "where rows are not found, or merged otherwise, set the option to what it was, or remove it, by an alter";

/// Whether an error is about the table's files, not about the storage or what siltstone can do.
fn is_of_table(e: &Error) -> bool {
    !matches!(
        e.kind(),
        ErrorKind::Storage
            | ErrorKind::Cancelled
            | ErrorKind::MemoryLimitExceeded
            | ErrorKind::UnsupportedFeature
            | ErrorKind::Internal
    )
}

/// The table as a branch has it: under the branch's own schema and stored options.
fn of_branch(
    ctx: &TableContext,
    branch: &str,
    schema: Arc<TableSchema>,
    schemas: SchemaManager,
) -> Result<TableContext> {
    let options = Arc::new(CoreOptions::parse(&schema.options)?);
    Ok(TableContext {
        branch: branch.to_owned(),
        paths: Arc::new(PathFactory::new(&ctx.location, &schema, &options)),
        schema,
        options,
        schemas: Arc::new(schemas),
        ..ctx.clone()
    })
}

/// Checks all branches; with `deep` every row of every live data file is read, too.
///
/// Writers and upkeep may be at work meanwhile: versions that go while they are looked at are no findings.
///
/// # Errors
/// Only when the storage fails; what is wrong with the table is in the verdict.
pub fn fsck(ctx: &TableContext, deep: bool, now: i64) -> Result<Verdict> {
    stable_snapshot::steady(ctx, || look(ctx, deep, now))
}

fn look(ctx: &TableContext, deep: bool, now: i64) -> Result<Verdict> {
    let mut branches = vec!["main".to_owned()];
    branches.extend(ctx.branches().names()?);
    let mut check = Check {
        ctx,
        deep,
        cache: ManifestCache::new(ctx)?,
        verdict: Verdict::default(),
        looked: manifests::Looked::default(),
        seen: HashSet::new(),
        files: BTreeMap::new(),
        schemas: HashSet::new(),
        lost_schemas: HashSet::new(),
        versions: Vec::new(),
        ahead: Vec::new(),
    };
    let mut whole: Vec<(TableContext, Snapshot)> = Vec::new();
    let mut contexts = Vec::new();
    check.layout_of_table()?;
    for branch in &branches {
        check.layout_of_branch(branch)?;
        let Some(of) = check.schemas_of(branch)? else { continue };
        whole.extend(check.branch(&of)?.into_iter().map(|version| (of.clone(), version)));
        // otherwise nobody can read it, which is told
        if !of.snapshots().removals().read().is_ok_and(|removals| removals.mixed_with().is_some()) {
            contexts.push(of);
        }
    }
    check.files_exist()?;
    if deep {
        check.data_files(&whole, &contexts)?;
        // what could not be read because the check is to stop is no finding
        cancel::check()?;
        check.index_files(&whole)?;
        cancel::check()?;
        check.hashes(&whole)?;
        cancel::check()?;
        check.whole_versions(&whole, &contexts)?;
    }
    check.unreferenced(now);
    cancel::check()?;
    let mut verdict = check.verdict;
    verdict.findings.sort_by_key(|finding| finding.severity);
    Ok(verdict)
}
