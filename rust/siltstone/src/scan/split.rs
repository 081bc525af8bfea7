//! Packing the files of a bucket into splits (semantics f.3).

use std::collections::HashMap;

use super::{
    deletions::DeletionFiles,
    sections::{Section, sections_of},
};
use crate::{
    error::Result,
    io::{RowGroup, TableContext, row_groups},
    manifest::{BucketId, DataFileMeta},
    snapshot::Snapshot,
    wire::Split,
};

/// The live files of one bucket.
#[derive(Clone, Debug)]
pub(super) struct BucketFiles {
    pub(super) id: BucketId,
    pub(super) total_buckets: i32,
    pub(super) files: Vec<DataFileMeta>,
}

/// Packs in order: a new bin starts when adding would exceed the target. An item weighs at least the cost of opening
/// a file.
fn pack<T>(items: Vec<T>, weight: impl Fn(&T) -> i64, target: i64, open_cost: i64) -> Vec<Vec<T>> {
    let mut bins: Vec<Vec<T>> = Vec::new();
    let (mut bin, mut filled) = (Vec::new(), 0_i64);
    for item in items {
        let item_weight = weight(&item).max(open_cost);
        if !bin.is_empty() && filled.saturating_add(item_weight) > target {
            bins.push(std::mem::take(&mut bin));
            filled = 0;
        }
        filled = filled.saturating_add(item_weight);
        bin.push(item);
    }
    if !bin.is_empty() {
        bins.push(bin);
    }
    bins
}

/// Turns buckets into splits.
pub(super) struct SplitGenerator<'a> {
    ctx: &'a TableContext,
    snapshot: &'a Snapshot,
    target: i64,
    open_cost: i64,
    /// Files of different levels never share a key (first-row, deletion vectors).
    pub(super) disjoint_levels: bool,
    /// Deletion vectors of the files.
    pub(super) deletions: DeletionFiles,
}

impl<'a> SplitGenerator<'a> {
    pub(super) fn new(ctx: &'a TableContext, snapshot: &'a Snapshot) -> Self {
        let size = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
        Self {
            ctx,
            snapshot,
            target: size(ctx.options.source_split_target_size),
            open_cost: size(ctx.options.source_split_open_file_cost),
            disjoint_levels: false,
            deletions: DeletionFiles::default(),
        }
    }

    pub(super) fn splits(&self, bucket: BucketFiles) -> Result<Vec<Split>> {
        if self.ctx.options.data_evolution_enabled {
            return self.evolution_splits(bucket);
        }
        if self.ctx.schema.primary_keys.is_empty() {
            return self.append_splits(bucket);
        }
        if self.disjoint_levels {
            return self.file_splits(bucket);
        }
        self.section_splits(bucket)
    }

    /// Splits of files that are merged, whatever their levels; no key is in two of them.
    pub(super) fn merged_splits(
        &self,
        id: BucketId,
        total_buckets: i32,
        files: Vec<DataFileMeta>,
    ) -> Result<Vec<Split>> {
        self.section_splits(BucketFiles { id, total_buckets, files })
    }

    /// Files that are merged stay in the order of their commits, which decides between rows that nothing else orders.
    fn section_splits(&self, mut bucket: BucketFiles) -> Result<Vec<Split>> {
        let files = std::mem::take(&mut bucket.files);
        let sections = sections_of(self.ctx, &files)?;
        let merged = sections.iter().any(|section| !section.needs_no_merge());
        let names = files.iter().filter(|_| merged).map(|file| file.file_name.as_str()).enumerate();
        let commits: HashMap<&str, usize> = names.map(|(at, name)| (name, at)).collect();
        let bins = pack(sections, Section::size, self.target, self.open_cost);
        bins.into_iter()
            .map(|bin| {
                let raw = bin.iter().all(Section::is_raw);
                let merged = bin.iter().any(|section| !section.needs_no_merge());
                let mut files: Vec<DataFileMeta> = bin.into_iter().flat_map(Section::into_files).collect();
                if merged {
                    files.sort_by_key(|file| commits.get(file.file_name.as_str()).copied());
                }
                self.split(&bucket, files, raw)
            })
            .collect()
    }

    /// Files with columns of the same rows are in one split.
    fn evolution_splits(&self, mut bucket: BucketFiles) -> Result<Vec<Split>> {
        let groups = row_groups(self.ctx, std::mem::take(&mut bucket.files))?;
        let bins = pack(groups, RowGroup::size, self.target, self.open_cost);
        let splits = bins.into_iter().map(|groups| {
            let raw = groups.iter().all(|group| group.only_file().is_some());
            self.split(&bucket, groups.into_iter().flat_map(RowGroup::into_files).collect(), raw)
        });
        splits.collect()
    }

    /// Files in the order they were written.
    fn append_splits(&self, mut bucket: BucketFiles) -> Result<Vec<Split>> {
        bucket.files.sort_by_key(|f| f.min_sequence_number);
        self.file_splits(bucket)
    }

    fn file_splits(&self, mut bucket: BucketFiles) -> Result<Vec<Split>> {
        let files = std::mem::take(&mut bucket.files);
        let bins = pack(files, |f| f.file_size, self.target, self.open_cost);
        bins.into_iter().map(|files| self.split(&bucket, files, true)).collect()
    }

    fn split(&self, bucket: &BucketFiles, files: Vec<DataFileMeta>, raw_convertible: bool) -> Result<Split> {
        let vectors = || files.iter().map(|file| self.deletions.get(&bucket.id, &file.file_name)).collect();
        // as Java: a table with vectors names them even when no file has one
        let deletion_files = (self.ctx.options.deletion_vectors_enabled || !self.deletions.is_empty()).then(vectors);
        Ok(Split {
            snapshot_id: self.snapshot.id,
            snapshot_list: Some(self.snapshot.delta_manifest_list.clone()),
            bucket: bucket.id.clone(),
            total_buckets: bucket.total_buckets,
            bucket_path: self.ctx.paths.bucket_dir(&bucket.id.partition, bucket.id.bucket)?,
            files,
            deletion_files,
            raw_convertible,
            is_streaming: false,
            before_files: Vec::new(),
            before_deletion_files: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::pack;

    #[test]
    fn items_are_packed_in_order_up_to_the_target() {
        let bins = pack(vec![50, 60, 10, 200, 1], |w| *w, 120, 4);
        assert_eq!(bins, vec![vec![50, 60, 10], vec![200], vec![1]]);
        assert_eq!(pack(vec![0; 5], |w| *w, 8, 4), vec![vec![0, 0], vec![0, 0], vec![0]]);
        assert!(pack(Vec::<i64>::new(), |w| *w, 8, 4).is_empty());
    }
}
