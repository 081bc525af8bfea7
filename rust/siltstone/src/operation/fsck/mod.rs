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

mod data;
mod files;
mod partitions;
mod steady;
mod vectors;
mod versions;
mod whole;

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use serde_json::{Value, json};

use crate::{
    error::{Error, ErrorKind, Result},
    io::TableContext,
    operation::cleanup::ManifestCache,
    options::CoreOptions,
    path::{PathFactory, branch_root},
    schema::SchemaManager,
    snapshot::{BranchManager, Snapshot},
};

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Readers get an error or wrong rows.
    Problem,
    /// Space or time is lost, rows are right.
    Warning,
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

impl Finding {
    /// As a JSON object.
    pub fn to_json(&self) -> Value {
        let severity = match self.severity {
            Severity::Problem => "problem",
            Severity::Warning => "warning",
        };
        json!({
            "severity": severity, "code": self.code, "place": self.place, "message": self.message, "repair": self.repair,
        })
    }
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

    /// As a JSON object.
    pub fn to_json(&self) -> Value {
        let findings: Vec<Value> = self.findings.iter().map(Finding::to_json).collect();
        json!({ "findings": findings, "checked": self.checked })
    }
}

const RESTORE: &str = "restore the file from a backup, or roll back to a version that is whole";

/// What is shared by the checks of one run.
struct Check<'a> {
    ctx: &'a TableContext,
    cache: ManifestCache,
    verdict: Verdict,
    /// Names of manifests and lists that were looked at.
    seen: HashSet<String>,
    /// Paths of data, changelog and index files with the size they must have.
    files: BTreeMap<String, (i64, String)>,
    schemas: HashSet<i64>,
}

/// The table as a branch has it: under the branch's own schema and stored options.
fn of_branch(ctx: &TableContext, branch: &str, schemas: SchemaManager) -> Result<TableContext> {
    let missing = || Error::new(ErrorKind::FileNotFound, "the branch has no schema").with("branch", branch);
    let schema = schemas.latest()?.ok_or_else(missing)?;
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
    steady::steady(ctx, || look(ctx, deep, now))
}

fn look(ctx: &TableContext, deep: bool, now: i64) -> Result<Verdict> {
    let mut branches = vec!["main".to_owned()];
    branches.extend(BranchManager::new(ctx.fs.clone(), &ctx.location).names()?);
    let mut check = Check {
        ctx,
        cache: ManifestCache::new(ctx)?,
        verdict: Verdict::default(),
        seen: HashSet::new(),
        files: BTreeMap::new(),
        schemas: HashSet::new(),
    };
    let mut whole: Vec<(TableContext, Snapshot)> = Vec::new();
    let mut contexts = Vec::new();
    for branch in &branches {
        let schemas = SchemaManager::new(ctx.fs.clone(), &branch_root(&ctx.location, branch));
        check.schemas = schemas.ids()?.into_iter().collect();
        for id in schemas.ids()? {
            if let Err(e) = schemas.get(id) {
                check.verdict.problem("bad-schema", &schemas.path(id), e.to_string(), RESTORE);
            }
        }
        let of = match of_branch(ctx, branch, schemas) {
            Ok(of) => of,
            Err(e) => {
                check.verdict.problem("bad-schema", branch, e.to_string(), RESTORE);
                continue;
            }
        };
        whole.extend(check.branch(&of)?.into_iter().map(|version| (of.clone(), version)));
        contexts.push(of);
    }
    check.files_exist()?;
    if deep {
        check.data_files(&whole, &contexts)?;
        check.index_files(&whole);
        check.whole_versions(&whole);
    }
    check.unreferenced(now);
    let mut verdict = check.verdict;
    verdict.findings.sort_by_key(|finding| finding.severity);
    Ok(verdict)
}
