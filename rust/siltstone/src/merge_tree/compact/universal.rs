//! Universal compaction: decides from sizes and levels what to compact (semantics a.7; `UniversalCompaction`,
//! `EarlyFullCompaction`, `ForceUpLevel0Compaction`). Pure: values in, a value out.

use super::CompactUnit;
use crate::{Result, manifest::DataFileMeta, merge_tree::LevelSortedRun, options::CoreOptions};

/// The options of universal compaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UniversalRules {
    /// `num-sorted-run.compaction-trigger`
    pub trigger: usize,
    /// `compaction.max-size-amplification-percent`
    pub max_size_amplification_percent: u64,
    /// `compaction.size-ratio`, with the off-peak ratio where it applies
    pub size_ratio: u64,
    /// `compaction.optimization-interval`, milliseconds
    pub optimization_interval_millis: Option<i64>,
    /// `compaction.total-size-threshold`
    pub total_size_threshold: Option<u64>,
    /// `compaction.incremental-size-threshold`
    pub incremental_size_threshold: Option<u64>,
    /// `compaction.force-up-level-0`
    pub force_up_level0: bool,
}

impl UniversalRules {
    /// The rules of a table at an hour of the day (0 to 23, local time).
    pub fn new(options: &CoreOptions, local_hour: i32) -> Self {
        let off_peak = is_off_peak(options, local_hour);
        let extra = if off_peak { options.compaction_offpeak_ratio } else { 0 };
        let millis = |d: std::time::Duration| i64::try_from(d.as_millis()).unwrap_or(i64::MAX);
        Self {
            trigger: options.num_sorted_run_compaction_trigger,
            max_size_amplification_percent: options.compaction_max_size_amplification_percent,
            size_ratio: options.compaction_size_ratio.saturating_add(extra),
            optimization_interval_millis: options.compaction_optimization_interval.map(millis),
            total_size_threshold: options.compaction_total_size_threshold,
            incremental_size_threshold: options.compaction_incremental_size_threshold,
            force_up_level0: options.compaction_force_up_level_0,
        }
    }

    /// What to compact; `runs` are level 0 newest first, then the levels above. `now`, `last_full` (when
    /// this process last compacted everything) and the files' creation times are local wall clocks in milliseconds.
    pub fn pick(
        &self,
        runs: &[LevelSortedRun],
        max_level: i32,
        now: i64,
        last_full: Option<i64>,
    ) -> Option<CompactUnit> {
        // a full compaction that only moved files up left no younger file behind
        let last_full = last_full.max(newest_of_level(runs, max_level));
        let unit = self.pick_normally(runs, max_level, now, last_full).or_else(|| {
            let level0 = runs.iter().take_while(|r| r.level == 0).count();
            (self.force_up_level0 && level0 > 0).then(|| self.extend(runs, max_level, level0, true))?
        })?;
        let idle = match unit.files.as_slice() {
            [] => true,
            [file] => file.level == unit.output_level,
            _ => false,
        };
        (!idle).then_some(unit)
    }

    fn pick_normally(
        &self,
        runs: &[LevelSortedRun],
        max_level: i32,
        now: i64,
        last_full: Option<i64>,
    ) -> Option<CompactUnit> {
        if self.wants_early_full(runs, max_level, now, last_full) || self.is_amplified(runs) {
            return Some(unit(runs, max_level, runs.len()));
        }
        let by_ratio = (runs.len() >= self.trigger).then(|| self.extend(runs, max_level, 1, false)).flatten();
        by_ratio.or_else(|| {
            let too_many = runs.len() > self.trigger;
            too_many.then(|| self.extend(runs, max_level, runs.len() - self.trigger + 1, true)).flatten()
        })
    }

    fn wants_early_full(&self, runs: &[LevelSortedRun], max_level: i32, now: i64, last_full: Option<i64>) -> bool {
        if runs.len() < 2 {
            return false;
        }
        let due = self
            .optimization_interval_millis
            .is_some_and(|interval| last_full.is_none_or(|last| now.saturating_sub(last) > interval));
        let total: u64 = runs.iter().map(size).sum();
        let incremental: u64 = runs.iter().filter(|r| r.level != max_level).map(size).sum();
        due || self.total_size_threshold.is_some_and(|limit| total < limit)
            || self.incremental_size_threshold.is_some_and(|limit| incremental > limit)
    }

    /// The runs above the last one are large beside it.
    fn is_amplified(&self, runs: &[LevelSortedRun]) -> bool {
        let Some((last, newer)) = runs.split_last() else { return false };
        let newer: u128 = newer.iter().map(|r| u128::from(size(r))).sum();
        let allowed = u128::from(self.max_size_amplification_percent) * u128::from(size(last));
        runs.len() >= self.trigger && newer * 100 > allowed
    }

    /// Takes `count` runs and goes on while the next one is not much larger. Unless `forced` a single run is nothing.
    fn extend(&self, runs: &[LevelSortedRun], max_level: i32, count: usize, forced: bool) -> Option<CompactUnit> {
        let mut taken = count.min(runs.len());
        let mut sum: u128 = runs.iter().take(taken).map(|r| u128::from(size(r))).sum();
        for next in runs.iter().skip(taken) {
            let fits = sum * (100 + u128::from(self.size_ratio)) / 100 >= u128::from(size(next));
            // once something is picked, level 0 and level 1 are always swallowed
            if !fits && (!(forced || taken > 1) || next.level > 1) {
                break;
            }
            sum += u128::from(size(next));
            taken += 1;
        }
        (forced || taken > 1).then(|| unit(runs, max_level, taken))
    }
}

/// The first `taken` runs and their output level: below the first run not taken, never level 0.
fn unit(runs: &[LevelSortedRun], max_level: i32, taken: usize) -> CompactUnit {
    let mut taken = taken;
    let mut level = runs.get(taken).map_or(max_level, |next| (next.level - 1).max(0));
    if level == 0 {
        for run in runs.iter().skip(taken) {
            taken += 1;
            level = run.level;
            if run.level != 0 {
                break;
            }
        }
    }
    if taken >= runs.len() {
        level = max_level;
    }
    let files = runs.iter().take(taken).flat_map(|r| r.run.files.iter().cloned()).collect();
    CompactUnit { output_level: level, files, file_rewrite: false }
}

/// Everything, when somebody asks for a full compaction. When all files are at the highest level already there is nothing
/// to do but for those that `must_go`.
pub fn pick_full(
    runs: &[LevelSortedRun],
    max_level: i32,
    must_go: impl Fn(&DataFileMeta) -> Result<bool>,
) -> Result<Option<CompactUnit>> {
    let mut files: Vec<DataFileMeta> = runs.iter().flat_map(|r| r.run.files.iter().cloned()).collect();
    let file_rewrite = matches!(runs, [only] if only.level == max_level);
    if file_rewrite {
        let wanted = files.iter().map(&must_go).collect::<Result<Vec<bool>>>()?;
        let mut wanted = wanted.into_iter();
        files.retain(|_| wanted.next().unwrap_or(false));
    }
    Ok((!files.is_empty()).then_some(CompactUnit { output_level: max_level, files, file_rewrite }))
}

fn newest_of_level(runs: &[LevelSortedRun], level: i32) -> Option<i64> {
    let top = runs.iter().filter(|r| r.level == level).flat_map(|r| &r.run.files);
    top.filter_map(|f: &DataFileMeta| f.creation_time).max()
}

fn size(run: &LevelSortedRun) -> u64 {
    u64::try_from(run.run.total_size()).unwrap_or(0)
}

/// Hours from start to end, the end not included; the interval may go over midnight.
fn is_off_peak(options: &CoreOptions, hour: i32) -> bool {
    let (start, end) = (options.compaction_offpeak_start_hour, options.compaction_offpeak_end_hour);
    if start < 0 || end < 0 {
        return false;
    }
    if start <= end { (start..end).contains(&hour) } else { hour >= start || hour < end }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::merge_tree::{SortedRun, testing::file};

    const MAX: i32 = 5;

    fn runs(spec: &[(i32, i64)]) -> Vec<LevelSortedRun> {
        let run = |(n, (level, size)): (usize, &(i32, i64))| LevelSortedRun {
            level: *level,
            run: SortedRun::single(file(&format!("f{n}"), *level, *size, 0, 1)),
        };
        spec.iter().enumerate().map(run).collect()
    }

    fn rules(options: &[(&str, &str)]) -> UniversalRules {
        let map: BTreeMap<String, String> = options.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        UniversalRules::new(&CoreOptions::parse(&map).unwrap(), 12)
    }

    /// (number of files, output level)
    fn picked(options: &[(&str, &str)], spec: &[(i32, i64)]) -> Option<(usize, i32)> {
        rules(options).pick(&runs(spec), MAX, 1_000, None).map(|u| (u.files.len(), u.output_level))
    }

    const TRIGGER_3: (&str, &str) = ("num-sorted-run.compaction-trigger", "3");

    #[test]
    fn few_runs_are_left_alone() {
        assert_eq!(picked(&[], &[]), None);
        assert_eq!(picked(&[], &[(0, 1), (0, 1), (0, 1), (0, 1)]), None);
        assert_eq!(picked(&[TRIGGER_3], &[(0, 1), (5, 100)]), None);
    }

    #[test]
    fn amplification_compacts_everything_to_the_highest_level() {
        // 1 + 1 + 1 above 1: 300 % > 200 %
        assert_eq!(picked(&[TRIGGER_3], &[(0, 1), (0, 1), (0, 1), (5, 1)]), Some((4, 5)));
    }

    #[test]
    fn the_size_ratio_takes_runs_of_like_size() {
        assert_eq!(picked(&[TRIGGER_3], &[(0, 1), (0, 1), (3, 50), (5, 1000)]), Some((2, 2)));
        assert_eq!(picked(&[TRIGGER_3], &[(0, 1), (0, 1), (2, 2), (5, 1000)]), Some((3, 4)));
        // the next level is 1: it is swallowed too
        assert_eq!(picked(&[TRIGGER_3], &[(0, 1), (0, 1), (1, 50), (5, 1000)]), Some((3, 4)));
    }

    #[test]
    fn too_many_runs_are_compacted_whatever_their_size() {
        // by number: 4 runs, trigger 3, so at least the first two
        assert_eq!(picked(&[TRIGGER_3], &[(0, 1), (0, 10), (3, 500), (5, 10_000)]), Some((2, 2)));
    }

    #[test]
    fn the_output_is_never_level_zero() {
        // the next run not taken is at level 0: go on to the first level above
        let spec = [(0, 1), (0, 1), (0, 100), (2, 1_000), (5, 100_000)];
        assert_eq!(picked(&[TRIGGER_3], &spec), Some((3, 1)));
    }

    #[test]
    fn early_full_compaction_has_three_reasons() {
        let two = [(0, 10), (5, 1000)];
        assert_eq!(picked(&[("compaction.total-size-threshold", "2 kb")], &two), Some((2, 5)));
        assert_eq!(picked(&[("compaction.incremental-size-threshold", "9 b")], &two), Some((2, 5)));
        assert_eq!(picked(&[("compaction.incremental-size-threshold", "10 b")], &two), None);
        // created at 0, now 1000 ms
        assert_eq!(picked(&[("compaction.optimization-interval", "999 ms")], &two), Some((2, 5)));
        assert_eq!(picked(&[("compaction.optimization-interval", "1 s")], &two), None);
        assert_eq!(picked(&[("compaction.total-size-threshold", "2 kb")], &[(0, 10)]), None);
    }

    #[test]
    fn a_full_compaction_that_only_moved_files_counts_all_the_same() {
        let interval = rules(&[("compaction.optimization-interval", "999 ms")]);
        let old = runs(&[(0, 10), (5, 1000)]);
        assert!(interval.pick(&old, MAX, 1_000, None).is_some());
        assert_eq!(interval.pick(&old, MAX, 1_000, Some(500)), None);
    }

    #[test]
    fn level_zero_can_be_forced_up() {
        let force = ("compaction.force-up-level-0", "true");
        assert_eq!(picked(&[force], &[(0, 1), (3, 1000)]), Some((1, 2)));
        assert_eq!(picked(&[force], &[(0, 1)]), Some((1, 5)));
        assert_eq!(picked(&[force], &[(3, 1000)]), None);
    }

    #[test]
    fn off_peak_hours_may_go_over_midnight() {
        let hours = |start: &str, end: &str, hour: i32| {
            let map =
                [("start", start), ("end", end)].map(|(k, v)| (format!("compaction.offpeak.{k}.hour"), v.to_owned()));
            is_off_peak(&CoreOptions::parse(&map.into_iter().collect()).unwrap(), hour)
        };
        assert!(hours("22", "6", 23) && hours("22", "6", 5) && !hours("22", "6", 6));
        assert!(hours("1", "3", 2) && !hours("1", "3", 3) && !hours("-1", "3", 2));
    }

    #[test]
    fn a_full_compaction_of_a_compacted_tree_is_nothing_unless_files_must_be_rewritten() {
        let top = runs(&[(5, 10)]);
        let full = |runs: &[LevelSortedRun], must_go: bool| pick_full(runs, MAX, |_| Ok(must_go)).unwrap();
        assert_eq!(full(&top, false), None);
        assert!(full(&top, true).is_some_and(|u| u.file_rewrite));
        assert_eq!(full(&[], true), None);
        assert!(full(&runs(&[(0, 10)]), false).is_some_and(|u| u.output_level == MAX));
        let large = pick_full(&runs(&[(5, 10)]), MAX, |file| Ok(file.file_size > 10)).unwrap();
        assert_eq!(large, None);
    }

    /// Level 0 runs, then levels above in order.
    fn trees() -> impl Strategy<Value = Vec<(i32, i64)>> {
        let upper = prop::collection::btree_map(1..=MAX, 1i64..100_000, 0..4);
        (prop::collection::vec(1i64..1_000, 0..9), upper)
            .prop_map(|(zero, upper)| zero.into_iter().map(|size| (0, size)).chain(upper).collect())
    }

    proptest! {
        #[test]
        fn a_pick_is_a_prefix_that_fits_above_the_rest(
            spec in trees(), trigger in 1usize..7, ratio in 0u64..200, amplification in 0u64..300, force in any::<bool>(),
            total in prop::option::of(0u64..10_000), incremental in prop::option::of(0u64..10_000),
        ) {
            let runs = runs(&spec);
            let rules = UniversalRules {
                trigger,
                max_size_amplification_percent: amplification,
                size_ratio: ratio,
                optimization_interval_millis: None,
                total_size_threshold: total,
                incremental_size_threshold: incremental,
                force_up_level0: force,
            };
            let Some(unit) = rules.pick(&runs, MAX, 0, None) else {
                prop_assert!(runs.len() <= trigger || runs.len() < 2, "too many runs stay");
                prop_assert!(!force || runs.first().is_none_or(|r| r.level > 0), "level 0 stays");
                return Ok(());
            };
            let taken = unit.files.len();
            let names: Vec<&String> = unit.files.iter().map(|f| &f.file_name).collect();
            let first: Vec<&String> = runs.iter().take(taken).flat_map(|r| &r.run.files).map(|f| &f.file_name).collect();
            prop_assert_eq!(names, first, "the newest runs, without a gap");
            prop_assert!(unit.output_level >= 1 && unit.output_level <= MAX);
            match runs.get(taken) {
                None => prop_assert_eq!(unit.output_level, MAX),
                Some(rest) => prop_assert!(unit.output_level < rest.level, "outputs lie above what stays"),
            }
            prop_assert!(unit.files.iter().all(|f| f.level <= unit.output_level));
            prop_assert!(taken > 1 || unit.files[0].level != unit.output_level, "something changes");
        }
    }
}
