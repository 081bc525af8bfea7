//! Operations of every kind at the same time, in schedules that a seed decides: two to four actors of which one goes on at a
//! time, who die or meet errors anywhere, on tables of several kinds. After each the table must be as if what was acknowledged had
//! happened one after another, and stay so after a round of upkeep.
//!
//! `make stress` runs many (and prints how many), `cargo test` the first of them. More of them, or one again:
//!
//! ```text
//! SILTSTONE_EXPLORE_SEEDS=1000000:50000 cargo test … explore -- --ignored --nocapture
//! SILTSTONE_EXPLORE="plain Write1 ExpireToOne2 / 0:e3 1 0:7!" cargo test … explore -- --ignored --nocapture
//! ```
//!
//! A turn `0:e3` lets actor 0 go on up to the call behind its third effect, `0:7` for seven calls, `0` to its end; `!` behind it:
//! the actor dies there, `-`: the call fails, `+`: it fails after its effect.

mod cases;
mod judge;
mod look;
mod model;
mod operations;
mod random;
mod run;
mod scheduler;
mod versions;
mod world;

use std::{
    collections::BTreeMap,
    env,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Instant,
};

use self::{
    run::{Case, Look, Pools, Run},
    world::Worlds,
};

/// What came of many runs.
#[derive(Default)]
struct Tally {
    gave_up: BTreeMap<String, usize>,
    /// How many failed in each way, and how many of them were to be shown.
    failed: BTreeMap<String, (usize, usize)>,
}

/// Shown of each kind of failure.
const SHOWN: usize = 2;

impl Tally {
    /// Whether the run is one that should be shown.
    fn add(&mut self, run: &Run) -> bool {
        for line in &run.gave_up {
            let kind = line.splitn(3, ": ").take(2).collect::<Vec<_>>().join(": ");
            *self.gave_up.entry(kind.chars().filter(|c| !c.is_ascii_digit()).collect()).or_default() += 1;
        }
        if run.problems.is_empty() {
            return false;
        }
        let (count, shown) = self.failed.entry(run.kind()).or_default();
        *count += 1;
        *shown += 1;
        *shown <= SHOWN
    }
}

/// Shows a run that failed, long before all have run, and a shorter one that fails in the same way.
#[allow(clippy::print_stdout, reason = "what a person looks at when it failed")]
fn show(seed: u64, case: &Case, run: Run, worlds: &Worlds, pools: &Pools, look: Look) {
    println!("seed {seed} failed: {case}");
    describe(&run);
    let (case, run) = case.shortened(worlds, pools, look, run);
    println!("-- seed {seed}: SILTSTONE_EXPLORE=\"{case}\"");
    describe(&run);
}

#[allow(clippy::print_stdout, reason = "the number of schedules is what people want to see")]
#[allow(clippy::disallowed_methods, reason = "how long they took")]
fn explore(first: u64, count: u64) {
    let worlds = Worlds::default();
    let (next, tally) = (AtomicU64::new(first), Mutex::new(Tally::default()));
    let started = Instant::now();
    let work = || {
        let pools = Pools::new();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= first + count {
                return;
            }
            let case = Case::of_seed(seed);
            // all files are read after some: the rows of versions are compared after each
            let look = if seed % 4 == 0 { Look::Deep } else { Look::Short };
            let run = case.run(&worlds, &pools, look);
            let is_new = tally.lock().unwrap().add(&run);
            if is_new {
                show(seed, &case, run, &worlds, &pools, look);
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let seconds = started.elapsed().as_secs_f64();
    let tally = tally.into_inner().unwrap();
    println!("{count} schedules in {seconds:.1} s");
    for (kind, count) in &tally.gave_up {
        println!("  gave up {count:>6} {kind}");
    }
    for (kind, (count, _)) in &tally.failed {
        println!("== {count} failed: {kind}");
    }
    let failed: usize = tally.failed.values().map(|(count, _)| count).sum();
    assert_eq!(failed, 0, "{failed} of {count} schedules failed");
}

#[allow(clippy::print_stdout, reason = "what a person looks at when it failed")]
fn describe(run: &Run) {
    for line in &run.gave_up {
        println!("   gave up: {line}");
    }
    for problem in &run.problems {
        println!("   {problem}");
    }
}

#[allow(clippy::print_stdout, reason = "what a person looks at")]
fn replay(text: &str) {
    let case: Case = text.parse().unwrap();
    let worlds = Worlds::default();
    let run = case.run(&worlds, &Pools::new(), Look::Whole);
    run.log.iter().for_each(|event| println!("{event}"));
    describe(&run);
    assert!(run.problems.is_empty(), "{} problems", run.problems.len());
}

#[test]
fn operations_in_schedules_of_a_few_seeds_end_as_one_after_another() {
    explore(0, 40);
}

/// A rollback whose deletion of a later tag fails is done, says so, and leaves the tag to the next upkeep. The judge took that for
/// a table that no order of the operations leads to.
#[test]
fn a_rollback_that_leaves_a_later_tag_has_taken_effect_and_the_next_upkeep_deletes_it() {
    let (worlds, pools) = (Worlds::default(), Pools::new());
    let mut left = 0;
    for calls in 0..24 {
        let case: Case = format!("append RollbackToTag1,Overwrite2 / 0:e2 0:6 0:{calls}-").parse().unwrap();
        let run = case.run(&worlds, &pools, Look::Deep);
        assert_eq!(run.problems, Vec::<String>::new(), "{case}");
        left += run.left;
    }
    assert!(left > 0, "no rollback has left a tag");
}

/// A writer that published between two looks of an alter at what others had done made it be refused for what an earlier one had
/// changed, under whose schema that writer had written.
#[test]
fn an_alter_is_not_refused_for_a_change_that_versions_have_been_made_under() {
    let (worlds, pools) = (Worlds::default(), Pools::new());
    for calls in 90..140 {
        let case: Case = format!("vectors SwitchVectors1,AddColumn2 Write3 / 0:{calls} 1").parse().unwrap();
        let run = case.run(&worlds, &pools, Look::Short);
        assert_eq!(run.problems, Vec::<String>::new(), "{case}");
        let refused: Vec<&String> = run.gave_up.iter().filter(|text| text.contains("was published")).collect();
        assert_eq!(refused, Vec::<&String>::new(), "{case}");
    }
}

/// The newest version was before the one behind which the reader began, whose file was still there: that was told as a wrong argument.
#[test]
fn a_reader_of_changes_that_meets_a_fast_forward_half_way_says_that_its_beginning_was_taken_back() {
    let (worlds, pools) = (Worlds::default(), Pools::new());
    let mut told = 0;
    for calls in 20..60 {
        let case: Case =
            format!("plain WriteExpiring1 Changes2 BranchForward3 / 0:e6! 1:{calls} 2:e5").parse().unwrap();
        let run = case.run(&worlds, &pools, Look::Short);
        assert_eq!(run.problems, Vec::<String>::new(), "{case}");
        told += run.gave_up.iter().filter(|text| text.contains("was taken back by a rollback")).count();
    }
    assert!(told > 0, "no reader met it");
}

/// A compaction and an overwrite, both acknowledged, came between parts of one fast-forward; each was made to give way by itself. The
/// judge knew of one such commit.
#[test]
fn all_commits_that_come_while_main_goes_forward_give_way() {
    let case = "largest WriteBranch1,OverwriteWithMessages2 Compact6 BranchForward7 \
                / 2:6 2:e1 2:e3 1:e3 2:e3 2:e3 2:7 2:e2 0:6 2:e3";
    let run = case.parse::<Case>().unwrap().run(&Worlds::default(), &Pools::new(), Look::Deep);
    assert_eq!(run.problems, Vec::<String>::new(), "{case}");
}

/// An expiry that came after the tag sees it and keeps its files, but the maker of the tag cannot know while that is at work. It said
/// that the snapshot was gone, and left the tag.
#[test]
#[ignore = "waits for the lock of upkeep: make stress"]
fn a_tag_that_is_made_beside_an_expiry_that_does_not_end_is_said_to_be_there() {
    let case = "sums TagOldest1 OverwriteWithMessages4,Expire6 / 1:e2 1:e3 0:e2 1:e2".parse::<Case>().unwrap();
    let run = case.run(&Worlds::default(), &Pools::new(), Look::Whole);
    assert_eq!(run.problems, Vec::<String>::new(), "{case}");
    assert!(
        run.gave_up.iter().any(|text| text.contains("it is not known whether its files stay")),
        "{:?}",
        run.gave_up
    );
}

#[test]
#[ignore = "takes long: make stress"]
fn operations_in_schedules_of_many_seeds_end_as_one_after_another() {
    if let Ok(text) = env::var("SILTSTONE_EXPLORE") {
        return replay(&text);
    }
    let asked = env::var("SILTSTONE_EXPLORE_SEEDS").unwrap_or_else(|_| "1000:3000".to_owned());
    let (first, count) = asked.split_once(':').unwrap();
    explore(first.parse().unwrap(), count.parse().unwrap());
}
