//! A compaction task and its bytes.
//!
//! An envelope (`wire::sealed`): its header says which table it is of and what is done, its payload is a
//! commit message (`CommitMessage::to_bytes`) whose `compact_before` are the bucket's files, and whose index files of the
//! compaction are those with their deletion vectors.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{CommitMessage, Seal, TableIdentity};
use crate::{
    error::Result,
    io::TableContext,
    manifest::{BucketId, CompactIncrement, DataFileMeta, DataIncrement, IndexManifestEntry},
    snapshot::RemovedSnapshot,
};

const TASK: Seal = Seal { what: "compaction task", magic: "SSCT", version: 3 };

/// One bucket's compaction, complete enough to run in another process: nothing in it has to be looked up,
/// and it holds no secrets.
#[derive(Clone, Debug, PartialEq)]
pub struct CompactionTask {
    /// The table, and the schema to write with.
    pub table: TableIdentity,
    /// Dynamic options; never secrets.
    pub options: BTreeMap<String, String>,
    /// Snapshot of the plan.
    pub snapshot: RemovedSnapshot,
    /// Bucket.
    pub bucket: BucketId,
    /// `_TOTAL_BUCKETS` of its files, or of those that waiting rows go to.
    pub total_buckets: i32,
    /// What to do.
    pub unit: TaskUnit,
    /// Primary-key tables: all live files of the bucket. Append tables: the files to rewrite. Waiting ones: in the order in
    /// which their rows count.
    pub files: Vec<DataFileMeta>,
    /// Index files with the deletion vectors of the files.
    pub vectors: Vec<IndexManifestEntry>,
}

/// What a task does with its files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum TaskUnit {
    /// Some files of an LSM tree go to a level.
    Tree {
        /// level of the outputs
        output_level: i32,
        /// names of the files that are compacted
        inputs: Vec<String>,
        /// rewrite each file, even one that is already at its level
        file_rewrite: bool,
    },
    /// Files of an append table become fewer.
    Append,
    /// The rows of files of an append table are put into an order.
    Sorted(SortOrder),
    /// Rows that wait in a postponed bucket go into so many real ones as the task says.
    Postponed {
        /// compact all buckets of the partition fully
        full: bool,
    },
}

/// How a sort compaction orders rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SortOrder {
    /// what orders them
    pub strategy: SortStrategy,
    /// by which columns
    pub columns: Vec<String>,
}

/// What makes an order of some columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SortStrategy {
    /// column by column
    Order,
    /// the bits of all columns in turn
    ZOrder,
    /// the place on a Hilbert curve
    Hilbert,
}

impl SortStrategy {
    /// As it is written in arguments, in either case.
    pub fn parse(text: &str) -> Option<Self> {
        match text.to_ascii_lowercase().as_str() {
            "order" => Some(Self::Order),
            "zorder" => Some(Self::ZOrder),
            "hilbert" => Some(Self::Hilbert),
            _ => None,
        }
    }
}

#[derive(Serialize, Deserialize)]
struct Header {
    table: TableIdentity,
    options: BTreeMap<String, String>,
    snapshot: RemovedSnapshot,
    unit: TaskUnit,
}

impl CompactionTask {
    /// The files that the task reads or moves.
    pub fn inputs(&self) -> Vec<&DataFileMeta> {
        match &self.unit {
            TaskUnit::Append | TaskUnit::Sorted(_) | TaskUnit::Postponed { .. } => self.files.iter().collect(),
            TaskUnit::Tree { inputs, .. } => {
                let names: std::collections::HashSet<&str> = inputs.iter().map(String::as_str).collect();
                self.files.iter().filter(|f| names.contains(f.file_name.as_str())).collect()
            }
        }
    }

    /// Bytes of the files that the task reads or moves.
    pub fn input_bytes(&self) -> i64 {
        crate::limits::sum(self.inputs().iter().map(|f| f.file_size))
    }

    /// Bytes that travel.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let header = Header {
            table: self.table.clone(),
            options: self.options.clone(),
            snapshot: self.snapshot.clone(),
            unit: self.unit.clone(),
        };
        TASK.close(&header, &self.as_message().to_bytes()?)
    }

    /// From [`CompactionTask::to_bytes`].
    ///
    /// # Errors
    /// `CorruptFile`: damaged on its way; `UnsupportedVersion`: made by another version.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let (header, message): (Header, _) = TASK.open(bytes)?;
        let message = CommitMessage::from_bytes(message)?;
        Ok(Self {
            table: header.table,
            options: header.options,
            snapshot: header.snapshot,
            bucket: message.bucket,
            total_buckets: message.total_buckets,
            unit: header.unit,
            files: message.compact.compact_before,
            vectors: message.compact.index_files,
        })
    }

    /// An error when the task was planned for another table than this one.
    pub fn check_table(&self, ctx: &TableContext) -> Result<()> {
        self.table.check(ctx, TASK.what)
    }

    fn as_message(&self) -> CommitMessage {
        CommitMessage {
            bucket: self.bucket.clone(),
            total_buckets: self.total_buckets,
            data: DataIncrement::default(),
            compact: CompactIncrement {
                compact_before: self.files.clone(),
                index_files: self.vectors.clone(),
                ..CompactIncrement::default()
            },
            seen: None,
            after: None,
            assigned: None,
        }
    }
}
