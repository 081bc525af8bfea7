//! The files of one bucket, level by level (semantics a.1).

use crate::manifest::DataFileMeta;

/// Level 0 files, newest first, and one run for each level above.
#[derive(Clone, Debug)]
pub struct Levels {
    level0: Vec<DataFileMeta>,
}
