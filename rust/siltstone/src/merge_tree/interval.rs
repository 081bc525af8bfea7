//! Sections: groups of files whose key ranges chain-overlap, each packed into the fewest runs (semantics a.5).

use std::{
    cmp::{Ordering, Reverse},
    collections::BinaryHeap,
};

use crate::{
    Result, cancel,
    manifest::DataFileMeta,
    row::{BinaryRow, Datum, compare_rows},
    types::DataType,
};

use super::SortedRun;

/// Splits files into sections in key order; each section is the fewest runs that hold its files. Key ranges of
/// different sections do not touch, so sections processed one after another give sorted output.
pub fn interval_partition(files: &[DataFileMeta], key_types: &[DataType]) -> Result<Vec<Vec<SortedRun>>> {
    let ranges = key_ranges(files, key_types)?;
    let mut order: Vec<(KeyRange, &DataFileMeta)> = ranges.into_iter().zip(files).collect();
    order.sort_by_key(|(range, _)| *range);
    let mut sections = Vec::new();
    let mut section: Vec<(KeyRange, &DataFileMeta)> = Vec::new();
    let mut bound = 0;
    for (range, file) in order {
        if range.min > bound && !section.is_empty() {
            sections.push(pack(&std::mem::take(&mut section)));
        }
        bound = if section.is_empty() { range.max } else { bound.max(range.max) };
        section.push((range, file));
    }
    if !section.is_empty() {
        sections.push(pack(&section));
    }
    Ok(sections)
}

/// One of so many bounds asks while it is compared whether the sort is to stop.
const ASK_BOUNDS: usize = 256;

/// The bounds of a file as ranks among all bounds: equal keys have one rank, and ranks order like keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct KeyRange {
    /// least key
    min: usize,
    /// greatest key
    max: usize,
}

impl KeyRange {
    /// Whether a key may be in both.
    pub(super) fn meets(&self, other: &Self) -> bool {
        self.min <= other.max && other.min <= self.max
    }
}

/// A key, and which bound of which file it is.
type Bound = (Vec<Datum>, usize);

/// The key range of each file. Keys are decoded once and then compared as numbers.
pub(super) fn key_ranges(files: &[DataFileMeta], key_types: &[DataType]) -> Result<Vec<KeyRange>> {
    let decode = |key: &[u8], file: &DataFileMeta| -> Result<Vec<Datum>> {
        let datums = BinaryRow::from_serialized(key).and_then(|row| row.datums(key_types));
        datums.map_err(|e| e.with("file", &file.file_name))
    };
    // bound 2i is the least key of file i, bound 2i + 1 its greatest
    let mut bounds: Vec<Bound> = Vec::with_capacity(2 * files.len());
    for (at, file) in files.iter().enumerate() {
        bounds.push((decode(&file.min_key, file)?, 2 * at));
        bounds.push((decode(&file.max_key, file)?, 2 * at + 1));
    }
    let sort = |ask: &(dyn Fn(&Bound) + Sync)| {
        bounds.sort_by(|a, b| {
            ask(a);
            compare_rows(&a.0, &b.0)
        });
    };
    cancel::stoppable(sort, |(_, bound)| bound % ASK_BOUNDS == 0)?;
    let mut ranges = vec![KeyRange { min: 0, max: 0 }; files.len()];
    let mut rank = 0;
    let mut previous: Option<&[Datum]> = None;
    for (key, bound) in &bounds {
        if previous.is_some_and(|previous| compare_rows(previous, key) == Ordering::Less) {
            rank += 1;
        }
        previous = Some(key);
        if let Some(range) = ranges.get_mut(bound / 2) {
            if bound % 2 == 0 {
                range.min = rank;
            } else {
                range.max = rank;
            }
        }
    }
    Ok(ranges)
}

/// Packs the files of a section, sorted by range: each goes to the run that ends first, when it ends before the file.
fn pack(section: &[(KeyRange, &DataFileMeta)]) -> Vec<SortedRun> {
    let mut runs: Vec<SortedRun> = Vec::new();
    let mut ends: BinaryHeap<Reverse<(usize, usize)>> = BinaryHeap::new();
    for (range, file) in section {
        let free = ends.peek().filter(|Reverse((end, _))| range.min > *end).map(|Reverse((_, run))| *run);
        let run = if let Some(run) = free {
            ends.pop();
            run
        } else {
            runs.push(SortedRun::default());
            runs.len() - 1
        };
        if let Some(run) = runs.get_mut(run) {
            run.files.push((*file).clone());
        }
        ends.push(Reverse((range.max, run)));
    }
    runs
}

/// Files in the fewest runs: those of each section behind those of the section before.
pub(super) fn few_runs(files: &[DataFileMeta], key_types: &[DataType]) -> Result<Vec<SortedRun>> {
    let mut runs: Vec<SortedRun> = Vec::new();
    for section in interval_partition(files, key_types)? {
        for (at, run) in section.into_iter().enumerate() {
            match runs.get_mut(at) {
                Some(longer) => longer.files.extend(run.files),
                None => runs.push(run),
            }
        }
    }
    Ok(runs)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{merge_tree::testing::file, types::TypeKind};

    fn sections(ranges: &[(i32, i32)]) -> Vec<Vec<Vec<String>>> {
        let files: Vec<DataFileMeta> =
            ranges.iter().enumerate().map(|(n, (min, max))| file(&format!("{n}"), 0, 1, *min, *max)).collect();
        let parts = interval_partition(&files, &[DataType::not_null(TypeKind::Int)]).unwrap();
        let names = |run: SortedRun| run.files.into_iter().map(|f| f.into_inner().file_name).collect();
        parts.into_iter().map(|section| section.into_iter().map(names).collect()).collect()
    }

    #[test]
    fn no_files_have_no_sections() {
        assert!(sections(&[]).is_empty());
    }

    #[test]
    fn files_that_only_touch_still_overlap() {
        assert_eq!(sections(&[(1, 3), (3, 5), (6, 7)]), [vec![vec!["0"], vec!["1"]], vec![vec!["2"]]]);
    }

    #[test]
    fn a_section_uses_the_fewest_runs() {
        // 0: 1..9, 1: 2..3, 2: 4..5, 3: 5..8
        assert_eq!(sections(&[(1, 9), (2, 3), (4, 5), (5, 8)]), [vec![vec!["0"], vec!["1", "2"], vec!["3"]]]);
        assert_eq!(sections(&[(1, 2), (2, 3), (3, 4)]), [vec![vec!["0", "2"], vec!["1"]]]);
    }

    proptest! {
        #[test]
        fn sections_are_disjoint_and_runs_are_sorted_and_as_few_as_the_deepest_overlap(
            bounds in prop::collection::vec((-30i32..30, 0i32..15), 0..25),
        ) {
            let files: Vec<DataFileMeta> = bounds
                .iter()
                .enumerate()
                .map(|(i, (min, width))| file(&i.to_string(), 0, 1, *min, min + width))
                .collect();
            let range = |f: &DataFileMeta| bounds[f.file_name.parse::<usize>().unwrap()];
            let sections = interval_partition(&files, &[DataType::not_null(TypeKind::Int)]).unwrap();
            let count: usize = sections.iter().flatten().map(|r| r.files.len()).sum();
            prop_assert_eq!(count, files.len());
            let mut end = i32::MIN;
            for section in &sections {
                let all: Vec<(i32, i32)> = section.iter().flat_map(|r| &r.files).map(range).collect();
                let least = all.iter().map(|r| r.0).min().unwrap();
                prop_assert!(least > end);
                end = all.iter().map(|r| r.0 + r.1).max().unwrap();
                for run in section {
                    for pair in run.files.windows(2) {
                        let (a, b) = (range(&pair[0]), range(&pair[1]));
                        prop_assert!(b.0 > a.0 + a.1);
                    }
                }
                let depth = (least..=end).map(|k| all.iter().filter(|r| r.0 <= k && k <= r.0 + r.1).count()).max().unwrap();
                prop_assert_eq!(section.len(), depth);
            }
        }
    }
}
