//! Rows of versions. Those that are made of the same files as one that was read before are not read again, as long as all files
//! are still there: no file has the name of another one.

use std::{
    cell::RefCell,
    collections::{BTreeSet, HashMap, HashSet},
    mem,
    sync::{Arc, Mutex, PoisonError},
};

use siltstone::{
    Result,
    fs::{BeforeCall, FaultFileIo, FileIoRef},
    io::TableContext,
    scan::VersionSelector,
    snapshot::Snapshot,
};

use super::{model::Rows, world::open};
use crate::steps::rows;

/// What a version was found to be.
#[derive(Clone, Debug)]
struct Known {
    rows: Arc<Rows>,
    /// All files that were asked for.
    files: Vec<String>,
}

/// By what versions are made of.
#[derive(Clone, Debug, Default)]
pub(super) struct Versions(HashMap<String, Known>);

/// Reads versions of a storage.
pub(super) struct Reader<'a> {
    io: &'a FaultFileIo,
    /// What the table had in the beginning.
    known: &'a Versions,
    own: RefCell<Versions>,
    there: RefCell<HashSet<String>>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(io: &'a FaultFileIo, known: &'a Versions) -> Self {
        Self { io, known, own: RefCell::default(), there: RefCell::default() }
    }

    /// Looks which files are there now.
    pub(super) fn look(&self) {
        *self.there.borrow_mut() = self.io.paths().into_iter().collect();
    }

    /// The rows of a version of a table's branch.
    pub(super) fn rows(&self, ctx: &TableContext, is: &Snapshot, version: VersionSelector) -> Result<Arc<Rows>> {
        // a version is read by the options of the newest schema: the first one is the same in all runs
        if ctx.schema.id != 0 {
            return rows(ctx, version).map(Arc::new);
        }
        let (base, delta, index) = (&is.base_manifest_list, &is.delta_manifest_list, is.index_manifest.as_deref());
        let key = format!("{base} {delta} {}", index.unwrap_or_default());
        let of = |versions: &Versions| {
            let known = versions.0.get(&key)?;
            let there = self.there.borrow();
            known.files.iter().all(|file| there.contains(file)).then(|| Arc::clone(&known.rows))
        };
        if let Some(rows) = of(self.known).or_else(|| of(&self.own.borrow())) {
            return Ok(rows);
        }
        let seen = Arc::new(Seen::default());
        let fs: FileIoRef = Arc::new(self.io.behind(Arc::clone(&seen) as Arc<dyn BeforeCall>));
        let rows = Arc::new(rows(open(&fs, &ctx.branch, &[])?.context(), version)?);
        let is_part = |path: &String| ["/manifest/", "/index/", "/bucket-"].iter().any(|part| path.contains(part));
        let files = seen.take().into_iter().filter(is_part).collect();
        self.own.borrow_mut().0.insert(key, Known { rows: Arc::clone(&rows), files });
        Ok(rows)
    }

    /// What was read.
    pub(super) fn into_known(self) -> Versions {
        self.own.into_inner()
    }
}

/// The files that were asked for.
#[derive(Debug, Default)]
struct Seen(Mutex<BTreeSet<String>>);

impl Seen {
    fn take(&self) -> BTreeSet<String> {
        mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl BeforeCall for Seen {
    fn before(&self, _: &str, path: &str) -> Result<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned());
        Ok(())
    }
}
