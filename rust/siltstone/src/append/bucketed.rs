//! What to compact in a fixed bucket of an append table, keeping the order of rows.

use std::collections::VecDeque;

use crate::{manifest::DataFileMeta, options::CoreOptions};

/// Files smaller than the target, in the order of their rows, that may be worth compacting.
#[derive(Clone, Debug)]
pub struct BucketQueue {
    files: Vec<DataFileMeta>,
    min_files: usize,
    target_size: i64,
    small_size: i64,
    rewrite_all: bool,
}

impl BucketQueue {
    /// A queue of the live files of a bucket.
    pub fn new(options: &CoreOptions, files: Vec<DataFileMeta>) -> Self {
        let target_size = i64::try_from(options.target_file_size(false)).unwrap_or(i64::MAX);
        Self {
            files,
            min_files: options.compaction_min_file_num.max(1),
            target_size,
            small_size: small_size(options, target_size),
            rewrite_all: options.compaction_force_rewrite_all_files,
        }
    }

    /// A file that was just written.
    pub fn add(&mut self, file: DataFileMeta) {
        self.files.push(file);
    }

    /// The oldest neighbours that are enough files to be worth it without being too large together; they
    /// leave the queue. Files passed over as large leave it too.
    pub fn pick(&mut self) -> Option<Vec<DataFileMeta>> {
        let mut waiting = VecDeque::from(self.take_sorted());
        let mut candidates: VecDeque<DataFileMeta> = VecDeque::new();
        let mut size = 0_i64;
        while let Some(file) = waiting.pop_front() {
            size = size.saturating_add(file.file_size);
            candidates.push_back(file);
            if candidates.len() >= self.min_files {
                self.files = waiting.into();
                return Some(candidates.into());
            }
            if size >= self.target_size.saturating_mul(2) {
                let passed = candidates.pop_front();
                size -= passed.map_or(0, |f| f.file_size);
            }
        }
        self.files = candidates.into();
        None
    }

    /// Everything behind the leading large files, when most of it is small and there are `least` files or
    /// more; the files leave the queue.
    pub fn pick_full(&mut self, least: usize) -> Option<Vec<DataFileMeta>> {
        let files = self.take_sorted();
        if self.rewrite_all {
            return (!files.is_empty()).then_some(files);
        }
        let large = |f: &DataFileMeta| f.file_size >= self.small_size;
        let files: Vec<DataFileMeta> = files.into_iter().skip_while(|f| large(f)).collect();
        let many_small = files.iter().filter(|f| large(f)).count() * 2 < files.len();
        if many_small && files.len() >= least {
            return Some(files);
        }
        self.files = files;
        None
    }

    /// The files that replaced a pick: a small one at the end may be compacted again with later files.
    pub fn finished(&mut self, outputs: &[DataFileMeta]) {
        self.files.extend(outputs.last().filter(|f| f.file_size < self.small_size).cloned());
    }

    fn take_sorted(&mut self) -> Vec<DataFileMeta> {
        let mut files = std::mem::take(&mut self.files);
        files.sort_by_key(|f| f.min_sequence_number);
        files
    }
}

/// Files below this size are small: the target times `compaction.small-file-ratio`.
#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "a size times a ratio; Java computes it in double as well"
)]
pub(super) fn small_size(options: &CoreOptions, target: i64) -> i64 {
    (target as f64 * options.compaction_small_file_ratio) as i64
}

#[cfg(test)]
mod tests {
    use super::super::pack::tests::file;
    use super::*;

    fn queue(sizes: &[i64]) -> BucketQueue {
        let options = CoreOptions { target_file_size: Some(100), compaction_min_file_num: 3, ..CoreOptions::default() };
        BucketQueue::new(&options, sizes.iter().zip(0..).map(|(size, at)| file(at, *size)).collect())
    }

    fn sizes(files: Option<Vec<DataFileMeta>>) -> Option<Vec<i64>> {
        files.map(|files| files.iter().map(|f| f.file_size).collect())
    }

    #[test]
    fn the_oldest_files_are_picked_as_soon_as_there_are_enough() {
        let mut q = queue(&[10, 11, 12, 13]);
        assert_eq!(sizes(q.pick()), Some(vec![10, 11, 12]));
        assert_eq!(sizes(q.pick()), None);
        q.add(file(4, 14));
        q.add(file(5, 15));
        assert_eq!(sizes(q.pick()), Some(vec![13, 14, 15]));
    }

    #[test]
    fn files_that_are_large_together_are_passed_over() {
        let mut q = queue(&[150, 60, 10]);
        assert_eq!(sizes(q.pick()), None, "150 + 60 reach twice the target, so 150 goes");
        q.add(file(3, 20));
        assert_eq!(sizes(q.pick()), Some(vec![60, 10, 20]));
    }

    #[test]
    fn rows_stay_in_order_whatever_the_order_of_arrival() {
        let mut q = queue(&[]);
        for at in [2, 0, 1] {
            q.add(file(at, 10 + at));
        }
        assert_eq!(sizes(q.pick()), Some(vec![10, 11, 12]));
    }

    #[test]
    fn full_compaction_leaves_leading_large_files_alone() {
        assert_eq!(sizes(queue(&[90, 80, 10, 10, 10]).pick_full(3)), Some(vec![10, 10, 10]));
        assert_eq!(sizes(queue(&[90, 10, 10]).pick_full(3)), None, "too few");
        assert_eq!(sizes(queue(&[90, 10, 10]).pick_full(2)), Some(vec![10, 10]));
        assert_eq!(sizes(queue(&[10, 90, 90, 10]).pick_full(2)), None, "not mostly small");
    }

    #[test]
    fn a_small_output_may_be_compacted_again() {
        let mut q = queue(&[1, 1, 1]);
        assert!(q.pick().is_some());
        q.finished(&[file(0, 100), file(1, 3)]);
        q.add(file(7, 1));
        q.add(file(8, 1));
        assert_eq!(sizes(q.pick()), Some(vec![3, 1, 1]));
    }
}
