//! The files of one bucket as groups that do not share keys.

use crate::{
    error::Result,
    io::TableContext,
    manifest::DataFileMeta,
    merge_tree::{SortedRun, interval_partition},
    types::DataType,
};

/// Files whose keys no other section has; merging never crosses it.
#[derive(Clone, Debug)]
pub(crate) struct Section {
    pub(crate) runs: Vec<SortedRun>,
}

impl Section {
    pub(crate) fn files(&self) -> impl Iterator<Item = &DataFileMeta> {
        self.runs.iter().flat_map(|r| r.files.iter())
    }

    pub(crate) fn into_files(self) -> impl Iterator<Item = DataFileMeta> {
        self.runs.into_iter().flat_map(|run| run.files)
    }

    pub(crate) fn size(&self) -> i64 {
        crate::limits::sum(self.runs.iter().map(SortedRun::total_size))
    }

    /// No key is in two files.
    pub(crate) fn needs_no_merge(&self) -> bool {
        self.runs.len() <= 1
    }

    /// The rows of the files are the rows of the table: nothing to merge, no retract rows.
    pub(crate) fn is_raw(&self) -> bool {
        self.needs_no_merge() && self.files().all(|f| f.delete_row_count == Some(0))
    }
}

/// Sections in key order.
pub(crate) fn sections_of(ctx: &TableContext, files: &[DataFileMeta]) -> Result<Vec<Section>> {
    let types: Vec<DataType> = ctx.schema.key_fields().into_iter().map(|f| f.data_type.clone()).collect();
    let sections = interval_partition(files, &types)?;
    Ok(sections.into_iter().map(|runs| Section { runs }).collect())
}
