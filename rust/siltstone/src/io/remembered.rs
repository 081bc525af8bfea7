//! What a handle of a table remembers from one commit or read to the next, so that these need not ask for it again.
//!
//! Nothing of it decides whether a commit stands. Manifest lists and data files never change, and the names of two are never the
//! same; what is not due is looked at again when it may have become due.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use crate::{format::Footers, manifest::ManifestFileMeta, snapshot::Snapshot};

/// Manifests of a snapshot that are kept at most.
const KEPT: usize = 1000;

/// The memory of a handle and of those that were made of it.
#[derive(Debug, Default)]
pub struct Remembered {
    manifests: Mutex<Option<(Lists, Arc<Vec<ManifestFileMeta>>)>>,
    upkeep: Mutex<HashMap<String, Upkeep>>,
    contended: AtomicBool,
    footers: Arc<Footers>,
}

/// The base and the delta list of a snapshot.
type Lists = (String, String);

/// What the upkeep after a commit has found in a branch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Upkeep {
    /// The oldest snapshot, to which the hint leads, and when the one after it was committed (epoch milliseconds), where that is
    /// known.
    pub oldest: Option<(i64, Option<i64>)>,
    /// When no tag was found whose time can be over (epoch milliseconds).
    pub no_timed_tags: Option<i64>,
}

impl Remembered {
    /// What the ends of its data files say.
    pub fn footers(&self) -> &Arc<Footers> {
        &self.footers
    }

    /// The manifests of a snapshot, oldest first, if it is the one that was committed last.
    pub fn manifests_of(&self, snapshot: &Snapshot) -> Option<Arc<Vec<ManifestFileMeta>>> {
        let kept = lock(&self.manifests);
        kept.as_ref().filter(|(lists, _)| *lists == lists_of(snapshot)).map(|(_, manifests)| Arc::clone(manifests))
    }

    /// Keeps the manifests of a snapshot that was committed.
    pub fn keep_manifests(&self, snapshot: &Snapshot, manifests: Vec<ManifestFileMeta>) {
        *lock(&self.manifests) = (manifests.len() <= KEPT).then(|| (lists_of(snapshot), Arc::new(manifests)));
    }

    /// Whether somebody else was faster when it last committed.
    pub fn is_contended(&self) -> bool {
        self.contended.load(Ordering::Relaxed)
    }

    /// Says so.
    pub fn set_contended(&self, contended: bool) {
        self.contended.store(contended, Ordering::Relaxed);
    }

    /// What is known of a branch.
    pub fn upkeep(&self, branch: &str) -> Upkeep {
        lock(&self.upkeep).get(branch).cloned().unwrap_or_default()
    }

    /// Changes what is known of a branch.
    pub fn change_upkeep(&self, branch: &str, change: impl FnOnce(&mut Upkeep)) {
        change(lock(&self.upkeep).entry(branch.to_owned()).or_default());
    }
}

fn lists_of(snapshot: &Snapshot) -> Lists {
    (snapshot.base_manifest_list.clone(), snapshot.delta_manifest_list.clone())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
