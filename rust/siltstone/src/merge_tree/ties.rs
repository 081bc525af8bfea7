//! Records of one key with equal sequence fields and equal sequence numbers: which of them stays.
//!
//! Jobs that open a bucket at the same time number their rows on from the same number, so their files hold equal numbers.
//! The order of merging (sequence fields, sequence number, retracts before additions) then says nothing, and a reader that
//! let any of the rows win would see another one after each compaction. Java does: there the row is the one that its loser
//! tree meets last, which hangs on the keys beside it. Here there is one rule, for scans and for compactions of every kind:
//!
//! > The record of the higher level stays, and of records in level 0 that of the file which was committed first.
//!
//! It is the rule that compactions cannot break. What reaches a higher level was seen before what is still in level 0, and a
//! compaction lifts its result over the rows that come after it. Had the one committed last won, moving the first one up
//! would have to keep it below the other, and levels are all that is left of commits once files are merged.
//!
//! ```text
//! merged in this order, the last one stays                     first-row: in reverse, the first one stays
//!   level 0: committed last … committed first │ level 1 │ … │ highest level
//! ```
//!
//! Which file of level 0 was committed first is told by the order of the manifests' entries, which commits append to and
//! merges of manifests keep. Neither numbers nor times of files tell: they are from the writing, not from the commit.
//!
//! [`runs_in_order`] puts the inputs of a merge in this order, and the merge, which asks for the number of the input when
//! everything else is equal, needs to know nothing of it. Where the numbers of no two inputs overlap, as with one writer,
//! nothing is put in order, and runs are as few as they can be.
//!
//! Files that came *late* are the other half: rows of level 0 whose numbers do not exceed those above ([`is_late`]). A
//! compaction that looks keys up must read what is there before it lets such a file replace it.

use std::{cmp::Ordering, collections::HashMap, sync::Arc};

use super::{
    SortedRun,
    interval::{few_runs, key_ranges},
    merge_function::Choice,
};
use crate::{Result, cancel, manifest::DataFileMeta, row::compare_serialized, types::DataType};

/// Where the record that stays stands among its equals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stays {
    /// In front: the engine takes the first record.
    First,
    /// Behind.
    Last,
}

impl Stays {
    /// Where an engine looks for it.
    pub(super) fn of(choice: Choice) -> Self {
        if matches!(choice, Choice::First { .. }) { Self::First } else { Self::Last }
    }
}

/// Which files of level 0 were committed before which.
#[derive(Clone, Debug, Default)]
pub(super) struct CommitOrder(Arc<HashMap<String, usize>>);

impl CommitOrder {
    /// Of files that are in the order of their commits.
    pub(super) fn of(files: &[DataFileMeta]) -> Self {
        let level0 = files.iter().filter(|file| file.level <= 0).enumerate();
        Self(Arc::new(level0.map(|(at, file)| (file.file_name.clone(), at)).collect()))
    }

    /// What is not known has come later.
    fn place(&self, file: &DataFileMeta) -> usize {
        self.0.get(&file.file_name).copied().unwrap_or(usize::MAX)
    }
}

/// Whether two of the files that a merge takes in may hold equal sequence numbers of one key: by their numbers alone. Files
/// of one level above 0 share no keys.
pub(super) fn may_tie<'f>(files: impl IntoIterator<Item = &'f DataFileMeta>) -> bool {
    let mut ranges: Vec<(i64, i64)> = Vec::new();
    let mut above: HashMap<i32, (i64, i64)> = HashMap::new();
    for file in files {
        let (min, max) = (file.min_sequence_number, file.max_sequence_number);
        if file.level <= 0 {
            ranges.push((min, max));
        } else {
            let level = above.entry(file.level).or_insert((min, max));
            *level = (level.0.min(min), level.1.max(max));
        }
    }
    ranges.extend(above.into_values());
    ranges.sort_unstable();
    let mut end = None;
    ranges.into_iter().any(|(min, max)| {
        let meets = end.is_some_and(|end| min <= end);
        end = end.max(Some(max));
        meets
    })
}

/// The files of a section as runs of one level each, in the order in which records that are equal are merged.
pub(super) fn runs_in_order(
    files: &[DataFileMeta],
    order: &CommitOrder,
    key_types: &[DataType],
    stays: Stays,
) -> Result<Vec<(i32, SortedRun)>> {
    let (level0, above): (Vec<_>, Vec<_>) = files.iter().cloned().partition(|file| file.level <= 0);
    let mut runs = Vec::new();
    for part in turns(level0, order, key_types)?.into_iter().rev() {
        runs.extend(few_runs(&part, key_types)?.into_iter().map(|run| (0, run)));
    }
    let mut levels: Vec<i32> = above.iter().map(|file| file.level).collect();
    levels.sort_unstable();
    levels.dedup();
    for level in levels {
        let of_level: Vec<DataFileMeta> = above.iter().filter(|file| file.level == level).cloned().collect();
        runs.extend(few_runs(&of_level, key_types)?.into_iter().map(|run| (level, run)));
    }
    if stays == Stays::First {
        runs.reverse();
    }
    Ok(runs)
}

/// Files of level 0 in the fewest turns, so that of two with equal numbers of a key the one that was committed first has the
/// earlier turn. Usually there is one.
fn turns(mut files: Vec<DataFileMeta>, order: &CommitOrder, key_types: &[DataType]) -> Result<Vec<Vec<DataFileMeta>>> {
    if !may_tie(&files) {
        return Ok(if files.is_empty() { Vec::new() } else { vec![files] });
    }
    files.sort_by_key(|file| order.place(file));
    let ranges = key_ranges(&files, key_types)?;
    let mut turn_of: Vec<usize> = Vec::with_capacity(files.len());
    for (file, range) in files.iter().zip(&ranges) {
        cancel::check()?;
        let before = files.iter().zip(&ranges).zip(&turn_of);
        let ties = before.filter(|((other, keys), _)| keys.meets(range) && numbers_meet(other, file));
        turn_of.push(ties.map(|(_, turn)| turn + 1).max().unwrap_or(0));
    }
    let mut turns: Vec<Vec<DataFileMeta>> = Vec::new();
    turns.resize_with(turn_of.iter().max().map_or(0, |last| last + 1), Vec::new);
    for (file, turn) in files.into_iter().zip(turn_of) {
        if let Some(turn) = turns.get_mut(turn) {
            turn.push(file);
        }
    }
    Ok(turns)
}

/// Whether the ranges of the numbers of two files have one in common.
pub(crate) fn numbers_meet(a: &DataFileMeta, b: &DataFileMeta) -> bool {
    a.min_sequence_number <= b.max_sequence_number && b.min_sequence_number <= a.max_sequence_number
}

/// Whether a file may hold rows that are not newer than those of their keys among files of higher levels: another job has
/// written these meanwhile.
pub(super) fn is_late<'f>(
    file: &DataFileMeta,
    above: impl IntoIterator<Item = &'f DataFileMeta>,
    key_types: &[DataType],
) -> Result<bool> {
    for other in above {
        if other.max_sequence_number < file.min_sequence_number {
            continue;
        }
        let before = |a: &[u8], b: &[u8]| compare_serialized(a, b, key_types).map(Ordering::is_lt);
        if !before(&other.max_key, &file.min_key)? && !before(&file.max_key, &other.min_key)? {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{manifest::DataFileFields, merge_tree::testing, types::TypeKind};

    fn file(name: &str, level: i32, keys: (i32, i32), numbers: (i64, i64)) -> DataFileMeta {
        DataFileFields {
            min_sequence_number: numbers.0,
            max_sequence_number: numbers.1,
            ..DataFileFields::clone(&testing::file(name, level, 1, keys.0, keys.1))
        }
        .into()
    }

    fn types() -> [DataType; 1] {
        [DataType::not_null(TypeKind::Int)]
    }

    fn ordered(files: &[DataFileMeta], stays: Stays) -> Vec<Vec<String>> {
        let runs = runs_in_order(files, &CommitOrder::of(files), &types(), stays).unwrap();
        runs.into_iter()
            .map(|(_, run)| run.files.into_iter().map(|file| file.into_inner().file_name).collect())
            .collect()
    }

    #[test]
    fn of_equal_records_those_of_higher_levels_come_last_and_in_level_0_those_committed_first() {
        let files = [
            file("first", 0, (1, 5), (10, 19)),
            file("top", 5, (1, 9), (0, 12)),
            file("second", 0, (1, 5), (10, 14)),
            file("middle", 3, (1, 9), (0, 30)),
        ];
        assert_eq!(ordered(&files, Stays::Last), [["second"], ["first"], ["middle"], ["top"]]);
        assert_eq!(ordered(&files, Stays::First), [["top"], ["middle"], ["first"], ["second"]]);
    }

    #[test]
    fn files_that_share_no_numbers_or_no_keys_share_their_turn_and_runs() {
        let files = [
            file("a", 0, (1, 5), (10, 19)),
            file("b", 0, (6, 9), (10, 19)),
            file("c", 0, (7, 8), (20, 29)),
            file("d", 0, (1, 2), (25, 29)),
            file("late", 0, (5, 6), (15, 16)),
        ];
        assert_eq!(ordered(&files, Stays::Last), [vec!["late"], vec!["d", "b"], vec!["a", "c"]]);
    }

    #[test]
    fn only_overlapping_numbers_of_files_that_may_share_keys_are_ties() {
        let one_writer = [file("a", 0, (1, 5), (20, 29)), file("b", 0, (1, 5), (10, 19)), file("c", 5, (1, 5), (0, 9))];
        assert!(!may_tie(&one_writer));
        // one flush into two files, compacted: their numbers overlap, their keys cannot
        let one_level = [file("a", 5, (1, 5), (0, 9)), file("b", 5, (6, 9), (3, 7)), file("c", 0, (1, 9), (10, 10))];
        assert!(!may_tie(&one_level));
        assert!(may_tie(&[file("a", 0, (1, 5), (10, 19)), file("b", 4, (1, 5), (0, 10))]));
        assert!(may_tie(&[
            file("a", 0, (1, 5), (5, 6)),
            file("b", 0, (1, 5), (0, 10)),
            file("c", 0, (1, 5), (20, 21))
        ]));
    }

    #[test]
    fn a_file_is_late_when_higher_levels_have_its_keys_with_numbers_that_are_not_smaller() {
        let late = |above: DataFileMeta| is_late(&file("f", 0, (3, 6), (10, 19)), [&above], &types()).unwrap();
        assert!(late(file("equal", 5, (6, 9), (0, 10))));
        assert!(late(file("newer", 5, (1, 3), (30, 39))));
        assert!(!late(file("older", 5, (1, 9), (0, 9))));
        assert!(!late(file("other-keys", 5, (7, 9), (10, 19))));
    }
}
