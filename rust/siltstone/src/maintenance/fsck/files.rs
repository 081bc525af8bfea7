//! Files: whether everything that metadata names is there with its size, and what nobody names.

use rayon::prelude::*;

use super::{Check, RESTORE};
use crate::{
    cancel,
    error::Result,
    fs::FileStatus,
    io::TableContext,
    maintenance::orphan_files::remove_orphan_files,
    manifest::{DataFileMeta, ManifestEntry},
    threads::in_pool,
};

/// Nobody says how large the file is.
const ANY_SIZE: i64 = i64::MIN;

/// What metadata says of a file.
#[derive(Debug)]
pub(super) struct Expected {
    size: i64,
    /// Which version names it.
    place: String,
    /// What to do when it is not there.
    repair: &'static str,
}

impl Expected {
    pub(super) fn new(size: i64, place: &str, repair: &'static str) -> Self {
        Self { size, place: place.to_owned(), repair }
    }
}

impl Check<'_> {
    /// Remembers files that must exist, and names schemas that they need and that do not.
    pub(super) fn expect_files<'e>(
        &mut self,
        ctx: &TableContext,
        place: &str,
        entries: impl Iterator<Item = &'e ManifestEntry>,
    ) -> Result<()> {
        for entry in entries {
            self.schema_is_there(ctx, place, &entry.file);
            let path = ctx.paths.data_file(&entry.partition, entry.bucket, &entry.file);
            let extras = ctx.paths.extra_files(&entry.partition, entry.bucket, &entry.file);
            let Some(path) = self.told("bad-manifest", place, path, RESTORE)? else { continue };
            if !self.files.contains_key(&path) {
                self.embedded_index(ctx, place, entry)?;
            }
            self.files.entry(path).or_insert_with(|| Expected::new(entry.file.file_size, place, RESTORE));
            for extra in self.told("bad-manifest", place, extras, RESTORE)?.into_iter().flatten() {
                self.files.entry(extra).or_insert_with(|| Expected::new(ANY_SIZE, place, RESTORE));
            }
        }
        Ok(())
    }

    fn schema_is_there(&mut self, ctx: &TableContext, place: &str, file: &DataFileMeta) {
        let id = file.schema_id;
        if !self.schemas.contains(&id) && self.lost_schemas.insert((ctx.branch.clone(), id)) {
            let message = format!("the schema {id} is missing, with which {} was written", file.file_name);
            self.verdict.problem("missing-schema", place, message, RESTORE);
        }
    }

    /// Looks at all remembered files, in parallel.
    pub(super) fn files_exist(&mut self) -> Result<()> {
        self.verdict.count("files", self.files.len());
        let fs = &self.ctx.fs;
        let files: Vec<(&String, &Expected)> = self.files.iter().collect();
        let status = |(path, _): &(&String, &Expected)| cancel::check().and_then(|()| fs.status(path));
        let found: Vec<Option<FileStatus>> =
            in_pool(|| files.par_iter().map(cancel::carried(status)).collect::<Result<_>>())?;
        let mut wrong = Vec::new();
        for ((path, Expected { size, place, repair }), found) in files.into_iter().zip(found) {
            let (code, message) = match found {
                None => ("missing-file", format!("{path} is missing")),
                Some(found) if found.is_dir => ("missing-file", format!("{path} is a directory")),
                Some(found) if *size != ANY_SIZE && u64::try_from(*size) != Ok(found.size) => {
                    ("wrong-size", format!("{path} has {} bytes, the metadata says {size}", found.size))
                }
                Some(_) => continue,
            };
            wrong.push((code, path.clone(), place.clone(), message, *repair));
        }
        let needed = self.needed(&wrong.iter().map(|(_, path, ..)| path.as_str()).collect())?;
        for (code, path, seen, message, repair) in wrong {
            let (place, by) = needed.by(&path, &seen, &self.versions);
            self.verdict.problem(code, &place, message + &by, repair);
        }
        Ok(())
    }

    /// Warnings for files that nothing refers to; when that cannot be known, one that says so.
    pub(super) fn unreferenced(&mut self, now: i64) {
        match remove_orphan_files(self.ctx, now, now, true) {
            Ok(report) => {
                let paths: Vec<String> = report.plan.files().map(|file| file.path.clone()).collect();
                self.hints_ahead(&paths);
                for file in report.plan.files() {
                    let message = format!("{} bytes that nothing refers to", file.bytes);
                    let repair = "remove orphan files, unless a writer is about to commit it";
                    self.verdict.warning("unreferenced-file", &file.path, message, repair);
                }
            }
            Err(e) => {
                self.hints_ahead(&[]);
                let repair = e.hint_text().unwrap_or(RESTORE);
                self.verdict.warning("unknown-references", &self.ctx.location.clone(), e.to_string(), repair);
            }
        }
    }
}
