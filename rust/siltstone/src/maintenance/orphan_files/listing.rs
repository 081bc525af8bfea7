//! What lies in the directories of a table and is old enough.

use std::sync::Arc;

use rayon::prelude::*;

use crate::{
    cancel,
    cleanup::{FileKind, PlannedFile},
    error::{ErrorKind, Result},
    fs::FileStatus,
    io::TableContext,
    path::branch_root,
    threads::in_pool,
};

/// What may have to go.
#[derive(Debug, Default)]
pub(super) struct Candidates {
    /// Data files and metadata, to be compared with what is in use.
    pub(super) files: Vec<PlannedFile>,
    /// What nobody can be using: temporary files, branches whose making was cut short.
    pub(super) temporary: Vec<PlannedFile>,
    /// Old directories of buckets and partitions, the deepest first; tried, and deleted when empty.
    pub(super) empty_dirs: Vec<String>,
    /// What was left alone, and why.
    pub(super) notes: Vec<String>,
}

impl Candidates {
    /// What lies in a directory; nothing when the directory, or one on the way to it, is a link: what lies there is not
    /// the table's.
    fn children(&mut self, ctx: &TableContext, directory: &str) -> Result<Vec<FileStatus>> {
        match ctx.fs.check_no_links(&ctx.location, &format!("{directory}/")) {
            Ok(()) => ctx.fs.list(directory),
            Err(e) if e.kind() == ErrorKind::CorruptFile => {
                self.notes.push(format!("{directory} is reached through a link: nothing there was looked at"));
                Ok(Vec::new())
            }
            Err(e) => Err(e),
        }
    }
}

/// Lists everything that is older than the limit.
pub(super) fn list(ctx: &TableContext, branches: &[String], older_than: i64) -> Result<Candidates> {
    ctx.paths.check_data_root()?;
    let mut found = Candidates::default();
    for branch in branches {
        temporary_files(ctx, &branch_root(&ctx.location, branch), older_than, &mut found)?;
    }
    let unfinished: Arc<str> = Arc::from("the making of a branch was cut short");
    for child in found.children(ctx, &format!("{}/branch", ctx.location))? {
        if child.is_dir && child.is_plain && name(&child).starts_with('.') && child.modified_millis < older_than {
            found.temporary.push(planned(child, FileKind::Branch, &unfinished));
        }
    }
    let pending: Arc<str> = Arc::from("");
    let metadata = [
        (ctx.paths.manifest_dir(), FileKind::Manifest),
        (ctx.paths.index_dir(), FileKind::Index),
        (format!("{}/statistics", ctx.location), FileKind::Statistics),
    ];
    for (directory, kind) in metadata {
        let children = found.children(ctx, &directory)?.into_iter();
        let old = children.filter(|child| is_file(child) && child.modified_millis < older_than);
        found.files.extend(old.map(|child| planned(child, kind, &pending)));
    }
    data_files(ctx, older_than, &mut found)?;
    Ok(found)
}

/// Whatever is no snapshot, changelog or hint in the directories that hold these; hidden temporary files elsewhere.
fn temporary_files(ctx: &TableContext, root: &str, older_than: i64, found: &mut Candidates) -> Result<()> {
    let reason: Arc<str> = Arc::from("a temporary file that was left behind");
    for (directory, prefix) in
        [("snapshot", "snapshot-"), ("changelog", "changelog-"), ("tag", ""), ("schema", ""), ("siltstone", "")]
    {
        for child in found.children(ctx, &format!("{root}/{directory}"))? {
            let name = name(&child);
            let own = if prefix.is_empty() {
                !(name.starts_with('.') && name.strip_suffix(".tmp").is_some())
            } else {
                name.strip_prefix(prefix).is_some_and(|id| !id.is_empty() && id.bytes().all(|b| b.is_ascii_digit()))
                    || name == "EARLIEST"
                    || name == "LATEST"
            };
            if !own && is_file(&child) && child.modified_millis < older_than {
                found.temporary.push(planned(child, FileKind::Other, &reason));
            }
        }
    }
    Ok(())
}

/// Files of `bucket-*` directories below exactly as many `key=value` levels as the table has partition columns.
fn data_files(ctx: &TableContext, older_than: i64, found: &mut Candidates) -> Result<()> {
    let root = ctx.paths.data_root().to_owned();
    let mut level = if found.children(ctx, &root)?.is_empty() { Vec::new() } else { vec![root] };
    let mut old_dirs: Vec<Vec<String>> = Vec::new();
    for key in ctx.paths.partition_names() {
        let prefix = format!("{}=", crate::path::escape(key));
        let children = directories(ctx, &level)?;
        let inner: Vec<FileStatus> = children.into_iter().filter(|child| name(child).starts_with(&prefix)).collect();
        old_dirs.push(old(&inner, older_than));
        level = inner.into_iter().map(|child| child.path).collect();
    }
    let children = directories(ctx, &level)?;
    let buckets: Vec<FileStatus> = children.into_iter().filter(|child| name(child).starts_with("bucket-")).collect();
    old_dirs.push(old(&buckets, older_than));
    let of_bucket = |bucket: &FileStatus| cancel::check().and_then(|()| ctx.fs.list(&bucket.path));
    let listed: Vec<Vec<FileStatus>> =
        in_pool(|| buckets.par_iter().map(cancel::carried(of_bucket)).collect::<Result<_>>())?;
    let pending: Arc<str> = Arc::from("");
    for child in listed.into_iter().flatten() {
        if is_file(&child) && child.modified_millis < older_than {
            found.files.push(planned(child, FileKind::Data, &pending));
        }
    }
    found.empty_dirs.extend(old_dirs.into_iter().rev().flatten());
    Ok(())
}

fn directories(ctx: &TableContext, parents: &[String]) -> Result<Vec<FileStatus>> {
    let list = |parent: &String| cancel::check().and_then(|()| ctx.fs.list(parent));
    let listed: Vec<Vec<FileStatus>> =
        in_pool(|| parents.par_iter().map(cancel::carried(list)).collect::<Result<_>>())?;
    Ok(listed.into_iter().flatten().filter(|child| child.is_dir && child.is_plain).collect())
}

/// A file that may go. Links and pipes are nobody's orphans.
fn is_file(child: &FileStatus) -> bool {
    child.is_plain && !child.is_dir
}

fn old(directories: &[FileStatus], older_than: i64) -> Vec<String> {
    let old = directories.iter().filter(|directory| directory.modified_millis < older_than);
    old.map(|directory| directory.path.clone()).collect()
}

fn name(file: &FileStatus) -> &str {
    file.path.rsplit('/').next().unwrap_or_default()
}

fn planned(file: FileStatus, kind: FileKind, reason: &Arc<str>) -> PlannedFile {
    PlannedFile { path: file.path, kind, bytes: file.size, reason: Arc::clone(reason) }
}
