//! Files: whether everything that metadata names is there with its size, and what nobody names.

use rayon::prelude::*;

use super::{Check, RESTORE};
use crate::{
    error::{ErrorKind, Result},
    io::TableContext,
    manifest::ManifestEntry,
    operation::orphan::remove_orphan_files,
    snapshot::Snapshot,
    threads::in_pool,
};

impl Check<'_> {
    /// Remembers files that must exist.
    pub(super) fn expect_files<'e>(
        &mut self,
        ctx: &TableContext,
        place: &str,
        entries: impl Iterator<Item = &'e ManifestEntry>,
    ) -> Result<()> {
        for entry in entries {
            let path = ctx.paths.data_file(&entry.partition, entry.bucket, &entry.file)?;
            self.files.entry(path).or_insert_with(|| (entry.file.file_size, place.to_owned()));
            for extra in ctx.paths.extra_files(&entry.partition, entry.bucket, &entry.file)? {
                self.files.entry(extra).or_insert_with(|| (-1, place.to_owned()));
            }
        }
        Ok(())
    }

    /// The index manifest, its files, and the statistics file.
    pub(super) fn index(&mut self, ctx: &TableContext, place: &str, version: &Snapshot) -> Result<()> {
        if let Some(name) = version.index_manifest.as_deref().filter(|name| self.seen.insert((*name).to_owned())) {
            match self.cache.store().read_index(name) {
                Ok(entries) => {
                    for entry in entries {
                        let path = ctx.paths.index_file_of(&entry)?;
                        self.files.entry(path).or_insert_with(|| (entry.file_size, place.to_owned()));
                    }
                }
                Err(e) if matches!(e.kind(), ErrorKind::FileNotFound | ErrorKind::CorruptFile) => {
                    self.verdict.problem("bad-index-manifest", place, e.to_string(), RESTORE);
                }
                Err(e) => return Err(e),
            }
        }
        if let Some(name) = &version.statistics {
            let path = ctx.paths.statistics(name);
            if self.seen.insert(name.clone()) && !ctx.fs.exists(&path)? {
                self.verdict.warning("missing-statistics", place, format!("{path} is missing"), "analyze the table");
            }
        }
        Ok(())
    }

    /// Looks at all remembered files, in parallel.
    pub(super) fn files_exist(&mut self) -> Result<()> {
        self.verdict.count("files", self.files.len());
        let fs = &self.ctx.fs;
        let files: Vec<(&String, &(i64, String))> = self.files.iter().collect();
        let found: Vec<Option<u64>> = in_pool(|| {
            files.par_iter().map(|(path, _)| Ok(fs.status(path)?.map(|status| status.size))).collect::<Result<_>>()
        })?;
        let mut wrong = Vec::new();
        for ((path, (size, place)), found) in files.into_iter().zip(found) {
            match found {
                None => wrong.push(("missing-file", place.clone(), format!("{path} is missing"))),
                Some(found) if *size >= 0 && u64::try_from(*size) != Ok(found) => {
                    wrong.push((
                        "wrong-size",
                        place.clone(),
                        format!("{path} has {found} bytes, the metadata says {size}"),
                    ));
                }
                Some(_) => {}
            }
        }
        for (code, place, message) in wrong {
            self.verdict.problem(code, &place, message, RESTORE);
        }
        Ok(())
    }

    /// Warnings for files that nothing refers to; when that cannot be known, one that says so.
    pub(super) fn unreferenced(&mut self, now: i64) {
        match remove_orphan_files(self.ctx, now, now, true) {
            Ok(report) => {
                for file in report.plan.files() {
                    let message = format!("{} bytes that nothing refers to", file.bytes);
                    let repair = "remove orphan files, unless a writer is about to commit it";
                    self.verdict.warning("unreferenced-file", &file.path, message, repair);
                }
            }
            Err(e) => self.verdict.warning("unknown-references", &self.ctx.location.clone(), e.to_string(), RESTORE),
        }
    }
}
