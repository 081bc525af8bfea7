//! The files of one bucket, level by level (semantics a.1; `Levels`).

use std::{cmp::Reverse, collections::BTreeMap};

use super::{LevelSortedRun, SortedRun};
use crate::{
    Result,
    manifest::DataFileMeta,
    row::{BinaryRow, Datum, compare_rows},
    types::DataType,
};

/// Level 0 files, in the order of their commits, and one run for each level above that has files. Level numbers come from
/// manifests and options: there is nothing here for a level without files.
#[derive(Clone, Debug)]
pub struct Levels {
    key_types: Vec<DataType>,
    level0: Vec<DataFileMeta>,
    /// by level
    upper: BTreeMap<i32, SortedRun>,
    max_level: i32,
}

impl Levels {
    /// The tree of some live files, those of level 0 in the order of their commits, with at least `num_levels` levels (never fewer than 2).
    pub fn new(files: &[DataFileMeta], num_levels: i32, key_types: Vec<DataType>) -> Result<Self> {
        let highest = files.iter().map(|f| f.level).max().unwrap_or(0);
        let max_level = num_levels.max(2).saturating_sub(1).max(highest);
        let mut tree = Self { key_types, level0: Vec::new(), upper: BTreeMap::new(), max_level };
        tree.add(files)?;
        Ok(tree)
    }

    /// The level that only full compactions write.
    pub fn max_level(&self) -> i32 {
        self.max_level
    }

    /// The highest level with a file; 0 when none has.
    pub fn highest_non_empty(&self) -> i32 {
        self.upper.last_key_value().map_or(0, |(level, _)| *level)
    }

    /// Every level 0 file counts as a run, and every level above that has files.
    pub fn number_of_sorted_runs(&self) -> usize {
        self.level0.len() + self.upper.len()
    }

    /// Runs as compaction sees them: level 0 newest first, then the levels above.
    pub fn runs(&self) -> Vec<LevelSortedRun> {
        let zero = newest_first(&self.level0);
        let zero = zero.into_iter().map(|f| LevelSortedRun { level: 0, run: SortedRun::single(f.clone()) });
        let above = self.upper.iter().map(|(level, run)| LevelSortedRun { level: *level, run: run.clone() });
        zero.chain(above).collect()
    }

    /// All files, those of level 0 in the order of their commits.
    pub fn files(&self) -> Vec<DataFileMeta> {
        let above = self.upper.values().flat_map(|run| &run.files);
        self.level0.iter().chain(above).cloned().collect()
    }

    /// Whether level 0 has files.
    pub fn has_level0(&self) -> bool {
        !self.level0.is_empty()
    }

    /// Adds a file that was flushed.
    pub fn add_level0(&mut self, file: DataFileMeta) {
        self.level0.push(file);
    }

    /// Replaces the inputs of a compaction by its outputs. An upgraded file is both, at different levels.
    pub fn update(&mut self, before: &[DataFileMeta], after: &[DataFileMeta]) -> Result<()> {
        let gone = |f: &DataFileMeta| before.iter().any(|b| b.level == f.level && b.file_name == f.file_name);
        self.level0.retain(|f| !gone(f));
        for run in self.upper.values_mut() {
            run.files.retain(|f| !gone(f));
        }
        self.upper.retain(|_, run| !run.files.is_empty());
        self.add(after)
    }

    fn add(&mut self, files: &[DataFileMeta]) -> Result<()> {
        for file in files {
            // a level that the tree does not have counts as level 0
            if (1..=self.max_level).contains(&file.level) {
                self.upper.entry(file.level).or_default().files.push(file.clone());
            } else {
                self.level0.push(file.clone());
            }
        }
        for run in self.upper.values_mut() {
            sort_run(run, &self.key_types)?;
        }
        Ok(())
    }
}

/// Larger largest sequence number, then smaller smallest one, then older, then by name.
fn newest_first(level0: &[DataFileMeta]) -> Vec<&DataFileMeta> {
    let mut sorted: Vec<&DataFileMeta> = level0.iter().collect();
    sorted.sort_by(|a, b| {
        let order = |f: &DataFileMeta| (Reverse(f.max_sequence_number), f.min_sequence_number, f.creation_time);
        order(a).cmp(&order(b)).then_with(|| a.file_name.cmp(&b.file_name))
    });
    sorted
}

fn sort_run(run: &mut SortedRun, types: &[DataType]) -> Result<()> {
    let mut keyed = Vec::with_capacity(run.files.len());
    for file in std::mem::take(&mut run.files) {
        let key: Vec<Datum> = BinaryRow::from_serialized(&file.min_key)
            .and_then(|row| row.datums(types))
            .map_err(|e| e.with("file", &file.file_name))?;
        keyed.push((key, file));
    }
    keyed.sort_by(|(a, _), (b, _)| compare_rows(a, b));
    run.files = keyed.into_iter().map(|(_, file)| file).collect();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{manifest::DataFileFields, merge_tree::testing::file, types::TypeKind};

    fn levels(files: &[DataFileMeta]) -> Levels {
        Levels::new(files, 4, vec![DataType::not_null(TypeKind::Int)]).unwrap()
    }

    #[test]
    fn runs_are_level_zero_newest_first_then_upwards() {
        let mut old = file("old", 0, 1, 1, 2);
        old.max_sequence_number = 3;
        let mut new = file("new", 0, 1, 1, 2);
        new.max_sequence_number = 9;
        let tree = levels(&[old, file("b", 2, 1, 5, 6), file("a", 2, 1, 1, 2), new]);
        let names: Vec<Vec<String>> = tree
            .runs()
            .into_iter()
            .map(|r| r.run.files.into_iter().map(|f| f.into_inner().file_name).collect())
            .collect();
        assert_eq!(names, [vec!["new"], vec!["old"], vec!["a", "b"]]);
        let committed: Vec<String> = tree.files().into_iter().map(|f| f.into_inner().file_name).collect();
        assert_eq!(committed, ["old", "new", "a", "b"]);
        assert_eq!((tree.number_of_sorted_runs(), tree.highest_non_empty(), tree.max_level()), (3, 2, 3));
    }

    #[test]
    fn an_upgrade_moves_a_file_between_levels() {
        let before = file("f", 0, 1, 1, 2);
        let mut tree = levels(std::slice::from_ref(&before));
        let after = DataFileFields { level: 3, ..DataFileFields::clone(&before) }.into();
        tree.update(&[before], &[after]).unwrap();
        assert_eq!((tree.files().len(), tree.highest_non_empty()), (1, 3));
    }

    #[test]
    fn a_tree_has_as_many_levels_as_its_files_need() {
        assert_eq!(levels(&[file("f", 7, 1, 1, 2)]).max_level(), 7);
    }

    #[test]
    fn the_highest_level_there_can_be_costs_no_more_than_any_other() {
        let tree = levels(&[file("f", i32::MAX, 1, 1, 2), file("g", 1, 1, 3, 4)]);
        assert_eq!((tree.max_level(), tree.highest_non_empty(), tree.number_of_sorted_runs()), (i32::MAX, i32::MAX, 2));
        let wide = Levels::new(&[], i32::MAX, Vec::new()).unwrap();
        assert_eq!((wide.max_level(), wide.runs().len()), (i32::MAX - 1, 0));
    }
}
