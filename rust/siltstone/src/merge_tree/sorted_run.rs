//! A list of files with disjoint key ranges, in key order.

use crate::manifest::DataFileMeta;

/// Files whose key ranges do not overlap, in key order: reading them one after another gives sorted rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SortedRun {
    /// the files, in key order
    pub files: Vec<DataFileMeta>,
}

impl SortedRun {
    /// A run of one file.
    pub fn single(file: DataFileMeta) -> Self {
        Self { files: vec![file] }
    }

    /// Bytes of all files.
    pub fn total_size(&self) -> i64 {
        crate::limits::sum(self.files.iter().map(|f| f.file_size))
    }
}

/// A run and the level it lives in. Every level 0 file is a run of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LevelSortedRun {
    /// level
    pub level: i32,
    /// run
    pub run: SortedRun,
}
