//! Indexes of single data files: whether readers that have a condition can ask them.

use super::{
    Check,
    fault::{Fault, unread},
};
use crate::{
    error::Result,
    file_index::candidates,
    io::{TableContext, index_of_file},
    manifest::ManifestEntry,
    predicate::Predicate,
    types::DataField,
};

const BROKEN: &str = "bad-file-index";
const REPAIR: &str = "compact the bucket fully, which writes its indexes anew; with 'file-index.read.enabled' = 'false' it is read until then";

impl Check<'_> {
    /// The head of an index that lies in a manifest entry.
    pub(super) fn embedded_index(&mut self, ctx: &TableContext, place: &str, entry: &ManifestEntry) -> Result<()> {
        if entry.file.embedded_file_index.is_some() {
            let opened = index_of_file(ctx, &entry.partition, entry.bucket, &entry.file);
            self.told(BROKEN, place, opened, REPAIR)?;
        }
        Ok(())
    }
}

/// What is wrong with the index of a data file, which is opened and asked about each of these columns of the file.
///
/// # Errors
/// Memory that could not be had, a check that was stopped.
pub(super) fn index_faults(ctx: &TableContext, entry: &ManifestEntry, fields: &[DataField]) -> Result<Vec<Fault>> {
    match asked(ctx, entry, fields) {
        Ok(()) => Ok(Vec::new()),
        Err(error) => {
            let fault = unread(BROKEN, error)?;
            let repaired = |fault: Fault| if fault.mild { fault } else { Fault { repair: REPAIR, ..fault } };
            Ok(fault.map(repaired).into_iter().collect())
        }
    }
}

fn asked(ctx: &TableContext, entry: &ManifestEntry, fields: &[DataField]) -> Result<()> {
    let Some(found) = index_of_file(ctx, &entry.partition, entry.bucket, &entry.file)? else { return Ok(()) };
    let stored = |column: &str| fields.iter().find(|field| field.name == column);
    for field in fields {
        for question in [Predicate::IsNull(field.name.clone()), Predicate::IsNotNull(field.name.clone())] {
            candidates(&found.index, &question, entry.file.row_count, &stored, &|_| false)?;
        }
    }
    Ok(())
}
