//! What a scan is asked and what it answers.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use serde::{Deserialize, Serialize};

use super::{
    ReadOptions, ReadRequest, VersionSelector,
    incremental_range::{Between, Incremental},
};
use crate::{
    error::{Error, ErrorKind, Result},
    io::TableContext,
    predicate::Condition,
    snapshot::Snapshot,
    types::DataType,
    wire::Split,
};

/// What to read: given once, planned as it is, and carried by splits as it is. The filter's columns are those of the version's
/// schema (see [`time_travel`](super::time_travel())).
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScanRequest {
    /// Column names in the order of the result; `None` = all.
    pub columns: Option<Vec<String>>,
    /// Condition that rows must satisfy.
    pub filter: Option<Condition>,
    /// Types of columns of which only some fields are read, by their id.
    #[serde(skip)]
    pub pruned: Option<Arc<HashMap<i32, DataType>>>,
    /// A system table that shows rows (`audit_log`) instead of the table; the table's own scan knows none.
    pub system: Option<String>,
    /// The form of the rows, and what reading them may use.
    pub options: ReadOptions,
    /// Version; a split is of one.
    #[serde(skip)]
    pub version: VersionSelector,
    /// What lies between two versions instead of a state; the version does not count then.
    #[serde(skip)]
    pub incremental: Option<Incremental>,
    /// The rows come under the table's schema, not under that of the version.
    #[serde(skip)]
    pub todays_schema: bool,
    /// Primary-key tables: only files from this level on; rows below it are left out.
    #[serde(skip)]
    pub min_level: Option<i32>,
    /// Level 0 is read also where readers leave it out: the keys that are there, whether their rows are shown yet or not.
    #[serde(skip)]
    pub all_levels: bool,
    /// Only files made at these epoch milliseconds or later; the table's options may ask for that, too.
    #[serde(skip)]
    pub created_since: Option<i64>,
    /// None of these partitions (serialized rows), which another branch has.
    #[serde(skip)]
    pub not_partitions: Option<Arc<HashSet<Vec<u8>>>>,
    /// Files come with the statistics of their columns also where no condition is compared with them: they go into a commit.
    #[serde(skip)]
    pub statistics: bool,
}

impl ScanRequest {
    /// With the version that is asked for: at most one of these; without any the table's `scan.*` options decide.
    /// `mode` says how to read `between` two versions: `auto`, `delta`, `changelog`, `diff`.
    pub fn at(
        self,
        version: Option<VersionSelector>,
        tag: Option<String>,
        as_of: Option<i64>,
        between: Option<Between>,
        mode: Option<&str>,
    ) -> Result<Self> {
        let incremental = between.map(|between| Incremental::given(between, mode)).transpose()?;
        if mode.is_some() && incremental.is_none() {
            return Err(Error::new(ErrorKind::InvalidArgument, "mode says how to read between two versions")
                .hint("give between=(start, end), too"));
        }
        let (tag, time) = (tag.map(VersionSelector::Tag), as_of.map(VersionSelector::Timestamp));
        let mut given: Vec<VersionSelector> = [version, tag, time].into_iter().flatten().collect();
        if given.len() + usize::from(incremental.is_some()) > 1 {
            return Err(Error::new(ErrorKind::InvalidArgument, "give only one of version, tag, as_of and between"));
        }
        Ok(Self { version: given.pop().unwrap_or_default(), incremental, ..self })
    }
}

/// The splits of one query at one snapshot, and how to read each of them.
#[derive(Clone, Debug)]
pub struct ScanPlan {
    /// The table under the schema that the result has.
    pub ctx: TableContext,
    /// `None`: the table has no snapshot yet.
    pub snapshot: Option<Snapshot>,
    /// Splits in partition, bucket and key order.
    pub splits: Vec<Split>,
    /// How each split is read.
    pub read: ReadRequest,
    /// Files that the snapshot has in the wanted partitions and buckets.
    pub files_considered: usize,
}

impl ScanPlan {
    /// Files of all splits.
    pub fn files(&self) -> usize {
        self.splits.iter().map(|s| s.files.len()).sum()
    }
}
