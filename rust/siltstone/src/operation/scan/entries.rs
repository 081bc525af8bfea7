//! The files that are alive at a snapshot.

use std::collections::HashSet;

use crate::{
    error::{Error, ErrorKind, Result},
    io::TableContext,
    manifest::ManifestEntry,
    predicate::Predicate,
    snapshot::Snapshot,
};

/// Which entries are wanted; the default wants all of them.
#[derive(Clone, Debug, Default)]
pub struct EntryFilter {
    /// Only these partitions (serialized rows).
    pub partitions: Option<HashSet<Vec<u8>>>,
    /// A condition over partition columns; parts over other columns are ignored.
    pub partition_predicate: Option<Predicate>,
    /// Only this bucket.
    pub bucket: Option<i32>,
    /// Only levels from this one on.
    pub min_level: Option<i32>,
}

/// Every ADD entry of the snapshot that no DELETE cancels and that the filter wants, in manifest order.
pub fn live_entries(_ctx: &TableContext, _snapshot: &Snapshot, _filter: &EntryFilter) -> Result<Vec<ManifestEntry>> {
    Err(Error::new(ErrorKind::Internal, "not yet"))
}
