//! A compaction task and its bytes.
//!
//! ```text
//! "SSCT"            magic
//! u16 BE            version: 1
//! u32 BE, bytes     length and UTF-8 JSON of the header (location, branch, schema, options, snapshot, unit)
//! rest              a commit message (`CommitMessage::to_bytes`) whose `compact_before` are the bucket's files, and
//!                   whose index files of the compaction are those with their deletion vectors
//! ```

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    error::{Error, ErrorKind, Result},
    manifest::{BucketId, CompactIncrement, DataFileMeta, DataIncrement, IndexManifestEntry},
    operation::CommitMessage,
};

const MAGIC: &[u8] = b"SSCT";
const VERSION: u16 = 1;
const WHAT: &str = "compaction task";

/// One bucket's compaction, complete enough to run in another process: nothing in it has to be looked up,
/// and it holds no secrets.
#[derive(Clone, Debug, PartialEq)]
pub struct CompactionTask {
    /// Root of the table.
    pub location: String,
    /// Branch.
    pub branch: String,
    /// Schema to write with.
    pub schema_id: i64,
    /// Dynamic options; never secrets.
    pub options: BTreeMap<String, String>,
    /// Snapshot of the plan.
    pub snapshot_id: i64,
    /// Bucket.
    pub bucket: BucketId,
    /// `_TOTAL_BUCKETS` of its files.
    pub total_buckets: i32,
    /// What to do.
    pub unit: TaskUnit,
    /// Primary-key tables: all live files of the bucket. Append tables: the files to rewrite.
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
}

#[derive(Serialize, Deserialize)]
struct Header {
    location: String,
    branch: String,
    schema_id: i64,
    options: BTreeMap<String, String>,
    snapshot_id: i64,
    unit: TaskUnit,
}

impl CompactionTask {
    /// The files that the task reads or moves.
    pub fn inputs(&self) -> Vec<&DataFileMeta> {
        match &self.unit {
            TaskUnit::Append => self.files.iter().collect(),
            TaskUnit::Tree { inputs, .. } => {
                let names: std::collections::HashSet<&str> = inputs.iter().map(String::as_str).collect();
                self.files.iter().filter(|f| names.contains(f.file_name.as_str())).collect()
            }
        }
    }

    /// Bytes of the files that the task reads or moves.
    pub fn input_bytes(&self) -> i64 {
        self.inputs().iter().map(|f| f.file_size).sum()
    }

    /// Versioned bytes.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let header = Header {
            location: self.location.clone(),
            branch: self.branch.clone(),
            schema_id: self.schema_id,
            options: self.options.clone(),
            snapshot_id: self.snapshot_id,
            unit: self.unit.clone(),
        };
        let too_large = |e| Error::new(ErrorKind::Internal, "a compaction task is too large").caused_by(e);
        let header = serde_json::to_vec(&header)
            .map_err(|e| Error::new(ErrorKind::Internal, "a compaction task has no JSON form").caused_by(e))?;
        let length = u32::try_from(header.len()).map_err(too_large)?;
        let mut bytes = MAGIC.to_vec();
        bytes.extend(VERSION.to_be_bytes());
        bytes.extend(length.to_be_bytes());
        bytes.extend(header);
        bytes.extend(self.as_message().to_bytes()?);
        Ok(bytes)
    }

    /// From [`CompactionTask::to_bytes`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let truncated = || Error::corrupt(WHAT, 0, "a whole compaction task", format!("{} bytes", bytes.len()));
        let rest =
            bytes.strip_prefix(MAGIC).ok_or_else(|| Error::corrupt(WHAT, 0, "the magic SSCT", "something else"))?;
        let (version, rest) = rest.split_first_chunk::<2>().ok_or_else(truncated)?;
        let version = u16::from_be_bytes(*version);
        if version != VERSION {
            let message = format!("a compaction task of version {version}, where {VERSION} is known");
            return Err(Error::new(ErrorKind::UnsupportedVersion, message)
                .hint("use the same version of siltstone where tasks are planned and where they run"));
        }
        let (length, rest) = rest.split_first_chunk::<4>().ok_or_else(truncated)?;
        let length = usize::try_from(u32::from_be_bytes(*length)).map_err(|_| truncated())?;
        let (header, message) = rest.split_at_checked(length).ok_or_else(truncated)?;
        let header: Header = serde_json::from_slice(header)
            .map_err(|e| Error::corrupt(WHAT, 10, "a JSON header", "something else").caused_by(e))?;
        let message = CommitMessage::from_bytes(message)?;
        Ok(Self {
            location: header.location,
            branch: header.branch,
            schema_id: header.schema_id,
            options: header.options,
            snapshot_id: header.snapshot_id,
            bucket: message.bucket,
            total_buckets: message.total_buckets,
            unit: header.unit,
            files: message.compact.compact_before,
            vectors: message.compact.index_files,
        })
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
        }
    }
}
