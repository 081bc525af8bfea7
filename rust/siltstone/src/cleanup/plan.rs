//! A plan of what is deleted and why, and carrying it out.
//!
//! Steps run one after another, the files of one step in parallel. Every deletion is fine when the file is gone already:
//! a plan that was cut short can be made and carried out again, and two jobs may do the same work.

use std::{collections::BTreeMap, sync::Arc, thread, time::Duration};

use crossbeam_channel::bounded;
use serde_json::Value;

use crate::{
    cancel,
    env::new_uuid,
    error::{Error, ErrorKind, Result},
    fs::{FileIoRef, read_json},
    snapshot::SnapshotManager,
};

/// What a file is to its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileKind {
    /// Data files and their indexes.
    Data,
    /// Changelog files.
    Changelog,
    /// Manifests, manifest lists, index manifests.
    Manifest,
    /// Hash indexes and deletion vectors.
    Index,
    /// Statistics.
    Statistics,
    /// `snapshot-<n>`
    Snapshot,
    /// `changelog-<n>`
    LongLivedChangelog,
    /// `tag-<name>`
    Tag,
    /// `schema-<n>`
    Schema,
    /// `consumer-<id>`
    Consumer,
    /// A branch's directory.
    Branch,
    /// An empty directory.
    Directory,
    /// Temporary files and whatever else is in the way.
    Other,
}

impl FileKind {
    /// For reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Changelog => "changelog",
            Self::Manifest => "manifest",
            Self::Index => "index",
            Self::Statistics => "statistics",
            Self::Snapshot => "snapshot",
            Self::LongLivedChangelog => "long-lived changelog",
            Self::Tag => "tag",
            Self::Schema => "schema",
            Self::Consumer => "consumer",
            Self::Branch => "branch",
            Self::Directory => "directory",
            Self::Other => "other",
        }
    }
}

/// One path to delete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedFile {
    /// Full path.
    pub path: String,
    /// What it is.
    pub kind: FileKind,
    /// Its size; 0 when nobody has said.
    pub bytes: u64,
    /// Why it may go.
    pub reason: Arc<str>,
}

/// A small file that is written, or a directory that is renamed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Replaces a small file (hints, long-lived changelogs).
    Overwrite {
        /// Where.
        path: String,
        /// What.
        content: String,
    },
    /// Makes a file that must not exist; the same content there already is fine.
    Publish {
        /// Where.
        path: String,
        /// What.
        content: String,
    },
    /// Lets the `LATEST` hint name this version, or a newer one.
    Latest {
        /// The table's or branch's directory.
        root: String,
        /// The version.
        id: i64,
    },
    /// Makes names in a directory durable before going on.
    Sync {
        /// Which.
        directory: String,
    },
}

/// One step of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CleanupStep {
    /// Deletes files, in parallel.
    Delete(Vec<PlannedFile>),
    /// Deletes files one after another: what is first is gone first.
    DeleteInOrder(Vec<PlannedFile>),
    /// Deletes directories with all they hold.
    DeleteTrees(Vec<PlannedFile>),
    /// Deletes those of these directories that are empty, in this order.
    DeleteEmpty(Vec<String>),
    /// Writes.
    Change(Change),
}

/// What is to be done, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CleanupPlan {
    /// The steps.
    pub steps: Vec<CleanupStep>,
    /// What was left alone, and why.
    pub notes: Vec<String>,
}

impl CleanupPlan {
    /// Adds a step that deletes files in parallel, unless there are none.
    pub fn delete(&mut self, files: Vec<PlannedFile>) {
        if !files.is_empty() {
            self.steps.push(CleanupStep::Delete(files));
        }
    }

    /// Adds a step that deletes files one by one, unless there are none.
    pub fn delete_in_order(&mut self, files: Vec<PlannedFile>) {
        if !files.is_empty() {
            self.steps.push(CleanupStep::DeleteInOrder(files));
        }
    }

    /// Adds a write.
    pub fn overwrite(&mut self, path: String, content: impl Into<String>) {
        self.steps.push(CleanupStep::Change(Change::Overwrite { path, content: content.into() }));
    }

    /// Everything that is deleted, in order.
    pub fn files(&self) -> impl Iterator<Item = &PlannedFile> {
        self.steps.iter().flat_map(|step| match step {
            CleanupStep::Delete(files) | CleanupStep::DeleteInOrder(files) | CleanupStep::DeleteTrees(files) => {
                files.as_slice()
            }
            CleanupStep::DeleteEmpty(_) | CleanupStep::Change(_) => &[],
        })
    }

    /// Whether nothing is to be done.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// An error when one of the files is not the table's to delete: then nothing of the plan is carried out.
    pub fn check(&self, fs: &FileIoRef) -> Result<()> {
        let mut known = "";
        for file in self.files() {
            let (directory, name) = file.path.rsplit_once('/').unwrap_or_default();
            // files of one directory stand next to each other
            if directory != known || name.is_empty() || name == "." || name == ".." {
                fs.check_deletable(&file.path)?;
                known = directory;
            }
        }
        Ok(())
    }

    /// Carries the plan out.
    pub fn execute(&self, fs: &FileIoRef) -> Result<()> {
        self.check(fs)?;
        self.steps.iter().try_for_each(|step| run(fs, step))
    }
}

pub(super) fn run(fs: &FileIoRef, step: &CleanupStep) -> Result<()> {
    match step {
        CleanupStep::Delete(files) => delete_all(fs, files),
        CleanupStep::DeleteInOrder(files) => {
            // what is begun is ended: the order says what a plan that was cut short may leave
            let _shield = cancel::shield();
            let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
            fs.delete_all(&paths)
        }
        CleanupStep::DeleteTrees(files) => files.iter().try_for_each(|file| delete_tree(fs, &file.path)),
        CleanupStep::DeleteEmpty(directories) => {
            for directory in directories {
                // a directory that cannot be deleted is no harm
                if let Err(error) = fs.delete_empty_dir(directory) {
                    tracing::debug!(%error, directory, "an empty directory was not deleted");
                }
            }
            Ok(())
        }
        CleanupStep::Change(Change::Overwrite { path, content }) => {
            if let Some((directory, _)) = path.rsplit_once('/') {
                fs.create_dir(directory)?;
            }
            fs.overwrite(path, content.as_bytes())
        }
        CleanupStep::Change(Change::Publish { path, content }) => match fs.publish(path, content.as_bytes(), true) {
            Err(e) if e.kind() == ErrorKind::FileExists => {
                if read_json(&**fs, path)? == content.as_bytes() {
                    return Ok(());
                }
                Err(Error::new(ErrorKind::CommitConflict, "another job wrote this file meanwhile").with("file", path))
            }
            other => other,
        },
        CleanupStep::Change(Change::Latest { root, id }) => {
            SnapshotManager::new(fs.clone(), root).write_latest_hint(*id)
        }
        CleanupStep::Change(Change::Sync { directory }) => {
            if fs.exists(directory)? {
                fs.sync_dir(directory)?;
            }
            Ok(())
        }
    }
}

/// Threads that delete. They wait for the storage more than they work, so their number does not follow that of the cores:
/// on a busy ext4, deleting with eight threads took a fifth of the time that two took.
const DELETERS: usize = 16;
/// Fewer files than this are not worth a thread.
const FILES_EACH: usize = 64;

/// Files of one directory are deleted next to each other: they share blocks of the file system (a fifth less time on ext4).
fn delete_all(fs: &FileIoRef, files: &[PlannedFile]) -> Result<()> {
    let mut paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let each = paths.len().div_ceil(DELETERS).max(FILES_EACH);
    if paths.len() <= each {
        return fs.delete_all(&paths);
    }
    paths.sort_unstable();
    thread::scope(|scope| {
        let token = cancel::current();
        let start = |part| match thread::Builder::new().spawn_scoped(scope, {
            let token = token.clone();
            move || token.run(|| fs.delete_all(part))
        }) {
            Ok(job) => Share::Running(job),
            // no more threads to be had
            Err(_) => Share::Done(fs.delete_all(part)),
        };
        let jobs: Vec<Share<'_>> = paths.chunks(each).map(start).collect();
        jobs.into_iter().try_for_each(Share::result)
    })
}

/// A share of the files: being deleted, or done.
enum Share<'scope> {
    Running(thread::ScopedJoinHandle<'scope, Result<()>>),
    Done(Result<()>),
}

impl Share<'_> {
    fn result(self) -> Result<()> {
        match self {
            Self::Running(job) => {
                // they know when to stop, but who asks the caller is this thread
                while !job.is_finished() && cancel::check().is_ok() {
                    thread::park_timeout(Duration::from_millis(1));
                }
                job.join().unwrap_or_else(|_| Err(Error::new(ErrorKind::Internal, "a thread that deletes files died")))
            }
            Self::Done(result) => result,
        }
    }
}

/// Deletes a directory so that it is there whole or not at all, also for other processes: first it gets a hidden name,
/// and that is durable before any of its files goes. On a store nothing has another name: there the schemas go last. Hidden ones that were left behind in a table go with the orphan files.
pub fn delete_tree(fs: &FileIoRef, path: &str) -> Result<()> {
    let Some((parent, name)) = path.rsplit_once('/').filter(|(_, name)| !name.starts_with('.')) else {
        return fs.delete_dir(path);
    };
    if !fs.has_directories() {
        return fs.delete_dir(path);
    }
    let hidden = format!("{parent}/.{}.{}", shortened(name), new_uuid());
    match fs.rename_dir(path, &hidden) {
        Err(e) if e.kind() == ErrorKind::FileNotFound => return Ok(()),
        other => other?,
    }
    fs.sync_dir(parent).and_then(|()| delete_hidden(fs, &hidden)).map_err(|e| {
        let hint = match e.kind() {
            ErrorKind::Cancelled => {
                "they are deleted while this process lives: delete this directory if it has ended before"
            }
            _ => "delete this directory when the storage works",
        };
        Error::new(e.kind(), format!("'{name}' was deleted; some of its files are left"))
            .with("path", &hidden)
            .hint(hint)
            .caused_by(e)
    })
}

/// Deletes a directory whose name nobody else has and nobody will. A caller who is told to stop does not wait for the rest of it: an
/// operating system deletes trees without asking.
fn delete_hidden(fs: &FileIoRef, hidden: &str) -> Result<()> {
    let (done, ended) = bounded(1);
    let (own, path) = (fs.clone(), hidden.to_owned());
    let work = move || drop(done.send(own.delete_dir(&path)));
    if thread::Builder::new().name("siltstone-delete".to_owned()).spawn(work).is_err() {
        return fs.delete_dir(hidden);
    }
    let died = || Error::new(ErrorKind::Internal, "the thread that deletes a directory died");
    cancel::wait(&ended)?.unwrap_or_else(|| Err(died()))
}

/// As much of a name as leaves place for two dots and an id in a name of 255 bytes.
fn shortened(name: &str) -> &str {
    const LONGEST: usize = 255 - 2 - 36;
    let end = (0..=name.len().min(LONGEST)).rev().find(|at| name.is_char_boundary(*at));
    end.and_then(|end| name.get(..end)).unwrap_or(name)
}

/// Whether a name is one that [`delete_tree`] gives to what it deletes.
pub fn is_dropped_tree(name: &str) -> bool {
    let parts = name.strip_prefix('.').and_then(|rest| rest.rsplit_once('.'));
    parts.is_some_and(|(of, id)| {
        !of.is_empty() && uuid::Uuid::try_parse(id).is_ok_and(|parsed| parsed.to_string() == id)
    })
}

/// How often planning begins anew because another job deleted what was being read.
const ATTEMPTS: u32 = 10;
const PAUSE: Duration = Duration::from_millis(10);

/// Plans; once more when a version vanished meanwhile, because another job expires versions, too.
pub fn plan_beside_others<T>(mut plan: impl FnMut() -> Result<T>) -> Result<T> {
    let vanished = |kind| {
        matches!(
            kind,
            ErrorKind::FileNotFound | ErrorKind::SnapshotExpired | ErrorKind::SnapshotNotFound | ErrorKind::TagNotFound
        )
    };
    let mut last = plan();
    for attempt in 1..ATTEMPTS {
        match &last {
            Err(e) if vanished(e.kind()) => {
                // the other job deletes manifests a moment before it deletes the version that names them
                thread::sleep(PAUSE * attempt);
                last = plan();
            }
            _ => break,
        }
    }
    last
}

/// What an operation did or would do.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Report {
    /// The plan.
    pub plan: CleanupPlan,
    /// Whether it was only shown.
    pub dry_run: bool,
    /// What else there is to say: names of tags, ids of snapshots, by topic.
    pub details: BTreeMap<&'static str, Value>,
}

impl Report {
    /// Carries the plan out unless it is only to be shown.
    pub fn of(fs: &FileIoRef, plan: CleanupPlan, dry_run: bool) -> Result<Self> {
        if dry_run {
            plan.check(fs)?;
        } else {
            plan.execute(fs)?;
        }
        Ok(Self { plan, dry_run, details: BTreeMap::new() })
    }

    /// Adds a detail.
    #[must_use]
    pub fn with(mut self, key: &'static str, value: impl Into<Value>) -> Self {
        self.details.insert(key, value.into());
        self
    }

    /// Adds what another operation did.
    pub fn extend(&mut self, other: Self) {
        self.plan.steps.extend(other.plan.steps);
        self.plan.notes.extend(other.plan.notes);
        self.details.extend(other.details);
    }

    /// How many files of each kind, and their bytes.
    pub fn by_kind(&self) -> BTreeMap<FileKind, (usize, u64)> {
        let mut kinds: BTreeMap<FileKind, (usize, u64)> = BTreeMap::new();
        for file in self.plan.files() {
            let sum = kinds.entry(file.kind).or_default();
            sum.0 += 1;
            sum.1 = sum.1.saturating_add(file.bytes);
        }
        kinds
    }
}
