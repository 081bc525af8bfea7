//! Jobs that are open at the same time give their rows equal numbers: what readers saw once stays, whatever is compacted.

use super::*;

/// Rows of some jobs that open the bucket together; they commit in this order.
type Jobs = Vec<Vec<(i32, Option<i8>, bool)>>;

#[derive(Clone, Debug)]
enum Act {
    Jobs(Jobs),
    /// the same of a job that had opened the bucket together with the ones before, and commits only now
    Late(Vec<(i32, Option<i8>, bool)>),
    /// full or not
    Compact(bool),
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let row = (0i32..6, prop::option::of(-1i8..2), prop::bool::weighted(0.2));
    let rows = prop::collection::vec(row, 1..8);
    let jobs = prop::collection::vec(rows.clone(), 1..4);
    let compact = any::<bool>().prop_map(Act::Compact);
    prop::collection::vec(
        prop_oneof![3 => jobs.prop_map(Act::Jobs), 1 => rows.prop_map(Act::Late), 2 => compact],
        2..12,
    )
}

/// What orders the records of a key: sequence field, number, whether it adds.
type Rank = (Option<Option<i64>>, i64, bool);

/// The record of each key, of those that came so far: one with the same rank changes nothing.
#[derive(Default)]
struct Shown(BTreeMap<i32, (Rank, String)>);

impl Shown {
    fn take(&mut self, key: i32, rank: Rank, text: String) {
        let known = self.0.get(&key);
        if known.is_none_or(|(known, _)| rank > *known) {
            self.0.insert(key, (rank, text));
        }
    }

    /// The first row that is not compacted stays in front of what is: smaller numbers first.
    fn take_first(&mut self, key: i32, rank: Rank, text: String) {
        let known = self.0.get(&key);
        if known.is_none_or(|(known, _)| rank < *known) {
            self.0.insert(key, (rank, text));
        }
    }

    fn texts(&self) -> Vec<(i32, String)> {
        let adds = self.0.iter().filter(|(_, ((_, _, adds), _))| *adds);
        adds.map(|(key, (_, text))| (*key, text.clone())).collect()
    }
}

impl Bucket {
    /// Each job goes on from the numbers of these files; nothing is compacted yet.
    fn run_jobs(&mut self, restored: &[DataFileMeta], jobs: &Jobs) -> Vec<(i32, Rank, String)> {
        let settings = WriterSettings { write_only: true, ..alone() };
        let first = restored.iter().map(|f| f.max_sequence_number + 1).max().unwrap_or(0);
        let mut all = Vec::new();
        for rows in jobs {
            let mut writer = MergeTreeWriter::new(&self.ctx, bucket_0(), restored.to_vec(), settings.clone()).unwrap();
            let at = self.written;
            let (batch, kinds) = self.batch(rows);
            writer.write(&batch, &kinds).unwrap();
            let (data, compact) = writer.prepare_commit(true).unwrap();
            self.apply(data, compact);
            let written = rows.iter().zip(kinds.values()).zip(0..).map(|((row, kind), n)| {
                let user = self.user_sequence.then(|| row.1.map(i64::from));
                (row.0, (user, first + n, kind % 2 == 0), format!("row {}", at + usize::try_from(n).unwrap() + 1))
            });
            all.extend(written);
        }
        all
    }

    fn texts(&self, files: &[DataFileMeta]) -> Vec<(i32, String)> {
        let layout = KvLayout::of_table(&self.ctx);
        let options =
            MergeReadOptions { batch_rows: 3, spill_dir: self.settings.spill_dir.clone(), ..Default::default() };
        let rows = read_merged(&self.ctx, &partition(), 0, files, &layout, options).unwrap();
        let text = |record: Record| match record.fields.as_slice() {
            [Datum::Int(key), _, Datum::String(text)] => (*key, text.clone()),
            other => panic!("{other:?}"),
        };
        testing::all_records(&layout, rows).into_iter().map(text).collect()
    }

    /// Does it; the rows of jobs.
    fn act(&mut self, act: Act, opened: &mut Vec<DataFileMeta>) -> Vec<(i32, Rank, String)> {
        match act {
            Act::Jobs(jobs) => {
                opened.clone_from(&self.live);
                self.run_jobs(opened, &jobs)
            }
            Act::Late(rows) => self.run_jobs(opened, &vec![rows]),
            Act::Compact(full) => {
                self.run_task(full);
                Vec::new()
            }
        }
    }

    fn above_level_0(&self) -> Vec<DataFileMeta> {
        self.live.iter().filter(|file| file.level > 0).cloned().collect()
    }
}

fn bucket(options: &[(&str, String)], spills: bool) -> (Bucket, Option<PathBuf>) {
    let dir = spills.then(|| std::env::temp_dir().join(format!("siltstone-ties-{}", uuid::Uuid::new_v4())));
    (Bucket::new(options, WriterSettings { spill_dir: dir.clone(), ..alone() }), dir)
}

prop_compose! {
    fn tie_options()(
        trigger in 1usize..4, rows_of_a_file in prop::option::of(1u32..4), small in prop::sample::select(vec!["0", "1"]),
        producer in prop::sample::select(vec!["none", "none", "lookup", "full-compaction", "forced"]),
        threshold in prop::option::of(2usize..4),
    ) -> Vec<(&'static str, String)> {
        let mut options = vec![
            ("num-sorted-run.compaction-trigger", trigger.to_string()),
            ("compaction.small-file-ratio", small.to_owned()),
        ];
        options.extend(rows_of_a_file.map(|n| ("target-file-row-num", n.to_string())));
        options.extend(threshold.map(|n| ("sort-spill-threshold", n.to_string())));
        match producer {
            "none" => {}
            "forced" => options.push(("force-lookup", "true".to_owned())),
            producer => options.push(("changelog-producer", producer.to_owned())),
        }
        options
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn of_equal_rows_the_one_that_was_committed_first_is_shown_before_and_after_every_compaction(
        mut options in tie_options(), sequence in any::<bool>(), retracts in any::<bool>(), spills in any::<bool>(),
        acts in acts(),
    ) {
        if sequence {
            options.push(("sequence.field", "seq".to_owned()));
        }
        let (mut bucket, dir) = bucket(&options, spills);
        let (mut shown, mut opened) = (Shown::default(), Vec::new());
        for mut act in acts {
            // a retract that a compaction has dropped holds no late row back: such a commit is a conflict
            if let Act::Late(rows) = &act && retracts {
                act = Act::Jobs(vec![rows.clone()]);
            } else if let Act::Jobs(jobs) = &mut act && !retracts {
                jobs.iter_mut().flatten().for_each(|row| row.2 = false);
            }
            let compacts = matches!(act, Act::Compact(_));
            for (key, rank, text) in bucket.act(act, &mut opened) {
                shown.take(key, rank, text);
            }
            if compacts {
                shown.0.retain(|_, ((_, _, adds), _)| *adds);
            }
            prop_assert_eq!(bucket.texts(&bucket.live), shown.texts());
        }
        bucket.check_changelog();
        remove(dir);
    }

    #[test]
    fn a_first_row_that_readers_see_is_never_replaced(
        mut options in tie_options(), spills in any::<bool>(), acts in acts(),
    ) {
        options.retain(|(key, value)| *key != "changelog-producer" || value == "lookup");
        options.push(("merge-engine", "first-row".to_owned()));
        let (mut bucket, dir) = bucket(&options, spills);
        let (mut seen, mut waiting, mut opened) = (Shown::default(), Shown::default(), Vec::new());
        for act in acts {
            let compacts = matches!(act, Act::Compact(_));
            for (key, rank, text) in bucket.act(act, &mut opened) {
                waiting.take_first(key, rank, text);
            }
            if compacts {
                for (key, row) in std::mem::take(&mut waiting.0) {
                    seen.0.entry(key).or_insert(row);
                }
            }
            prop_assert_eq!(bucket.texts(&bucket.above_level_0()), seen.texts());
        }
        bucket.check_changelog();
        remove(dir);
    }
}

/// A row that came late: its number is below that of the row which readers see.
#[test]
fn a_late_file_that_overlaps_nothing_in_its_compaction_does_not_hide_a_newer_row() {
    for small in ["0", "1"] {
        let options = [("changelog-producer", "lookup".to_owned()), ("compaction.small-file-ratio", small.to_owned())];
        let (mut bucket, _) = bucket(&options, false);
        let row = (1, None, false);
        bucket.run_jobs(&[], &vec![vec![row]]);
        bucket.run_task(true);
        let opened = bucket.live.clone();
        bucket.run_jobs(&opened, &vec![vec![row, row]]);
        bucket.run_task(true);
        let newest = vec![(1, "row 3".to_owned())];
        assert_eq!(bucket.texts(&bucket.live), newest);
        bucket.run_jobs(&opened, &vec![vec![row]]);
        assert_eq!(bucket.texts(&bucket.live), newest);
        for full in [false, true] {
            bucket.run_task(full);
            assert!(bucket.live.iter().all(|file| file.level > 0));
            assert_eq!(bucket.texts(&bucket.live), newest, "small files: {small}, full: {full}");
        }
        bucket.check_changelog();
    }
}
