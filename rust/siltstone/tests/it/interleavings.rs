//! Two operations at the same time, everywhere: the first stops before each of its storage calls, the second runs to its
//! end, and in half of the runs a third lets all snapshots but one expire; then the first goes on, or never does.
//!
//! ```text
//! first   ── call 0 ── … ── call k │                                        │ call k + 1 ── …   or dies
//! second                           │ from beginning to end ─┐               │
//! third                            │                        └ expires to 1 ─│
//! ```
//!
//! After each run the table must be as if the operations had happened one after another: every acknowledged commit is in
//! the newest version or was superseded by a later operation, every version, tag and branch can be read, `fsck` finds
//! nothing, whoever gave up said why and changed nothing; and a healthy round afterwards (commit, expiry, orphan cleaning)
//! works.
//!
//! Where stopping one call later cannot end otherwise (`alike`), one run stands for both. `make stress` runs all of it, `cargo test` a part that differs from pair to pair. One pair, or one run:
//!
//! ```text
//! SILTSTONE_INTERLEAVING=keyed:Write:Expire[:call[:third][:dies]] cargo test … interleavings -- --ignored --nocapture
//! ```

mod actors;
mod alike;
mod gate;
mod kept;
mod look;
mod model;
mod run;
mod world;

use std::{
    collections::BTreeMap,
    env,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Instant,
};

use self::{
    actors::Actor,
    alike::{next_death, next_stop},
    run::{Case, Pools, Run},
    world::World,
};

/// What came of many interleavings.
#[derive(Debug, Default)]
struct Tally {
    runs: usize,
    /// Interleavings that end as one of the runs does.
    alike: u64,
    gave_up: BTreeMap<String, usize>,
    failed: Vec<(Case, Run)>,
}

impl Tally {
    fn add(&mut self, case: Case, run: Run) {
        for line in &run.gave_up {
            let kind = line.splitn(3, ": ").take(2).collect::<Vec<_>>().join(": ");
            *self.gave_up.entry(kind).or_default() += 1;
        }
        if !run.problems.is_empty() {
            self.failed.push((case, run));
        }
    }

    fn join(&mut self, other: Self) {
        self.runs += other.runs;
        self.alike += other.alike;
        for (kind, count) in other.gave_up {
            *self.gave_up.entry(kind).or_default() += count;
        }
        self.failed.extend(other.failed);
    }
}

/// Which calls of which pairs.
#[derive(Clone, Debug, Default)]
struct Choice {
    first: Option<String>,
    second: Option<String>,
    call: Option<u64>,
    third: Option<bool>,
    dies: Option<bool>,
    /// One run of every other pair, somewhere among the calls of the first.
    once: Option<BTreeMap<Actor, u64>>,
}

impl Choice {
    /// What the environment asks for of this table; `None`: nothing.
    fn asked(world: &str) -> Option<Self> {
        let Ok(text) = env::var("SILTSTONE_INTERLEAVING") else { return Some(Self::default()) };
        let mut parts = text.split(':').map(str::to_owned);
        if parts.next().is_some_and(|name| name != world && name != "*") {
            return None;
        }
        let any = |part: Option<String>| part.filter(|part| part != "*");
        let mut choice = Self { first: any(parts.next()), second: any(parts.next()), ..Self::default() };
        choice.call = any(parts.next()).and_then(|call| call.parse().ok());
        let rest: Vec<String> = parts.collect();
        if choice.call.is_some() {
            choice.third = Some(rest.iter().any(|word| word == "third"));
            choice.dies = Some(rest.iter().any(|word| word == "dies"));
        }
        Some(choice)
    }

    fn takes(&self, first: Actor, second: Actor) -> bool {
        let is = |wanted: &Option<String>, actor| wanted.as_ref().is_none_or(|name| *name == format!("{actor:?}"));
        is(&self.first, first) && is(&self.second, second)
    }

    /// All interleavings of a pair, or one that its number chooses.
    fn pair(&self, world: &World, first: Actor, second: Actor, number: u64, pools: &Pools) -> Tally {
        let mut tally = Tally::default();
        let mut run = |call, third, dies| {
            let case = Case { first, second, call, third, dies };
            let run = case.run(world, pools)?;
            let next = if dies { None } else { Some(next_stop(&run.log, call)) };
            tally.runs += 1;
            tally.add(case, run);
            next.or(Some(call + 1))
        };
        if let Some(calls) = self.once.as_ref().and_then(|calls| calls.get(&first)) {
            // somewhere: no stride that some calls never meet
            run((number.wrapping_mul(0x9E37_79B9) >> 8) % calls, number % 4 > 1, number % 2 == 1);
            return tally;
        }
        if let Some(call) = self.call {
            run(call, self.third == Some(true), self.dies == Some(true));
            return tally;
        }
        let course = Case::course(first, world, pools);
        let mut alike = 0;
        for (third, dies) in [(false, false), (true, false), (false, true), (true, true)] {
            let mut call = 0;
            while let Some(next) = run(call, third, dies) {
                let next = if dies { next_death(&course, call) } else { next };
                alike += next - call - 1;
                call = next;
            }
        }
        tally.alike = alike;
        tally
    }

    fn all(&self, world: &World) -> Tally {
        let pairs: Vec<(Actor, Actor)> =
            world.actors().flat_map(|first| world.actors().map(move |second| (first, second))).collect();
        let pairs: Vec<(Actor, Actor)> =
            pairs.into_iter().filter(|(first, second)| self.takes(*first, *second)).collect();
        let every_other =
            |(at, _): &(usize, _)| self.once.is_none() || (at + at / world.actors().count()) % 2 == world.parity;
        let pairs: Vec<_> = pairs.into_iter().enumerate().filter(every_other).map(|(_, pair)| pair).collect();
        let (next, all) = (AtomicUsize::new(0), Mutex::new(Tally::default()));
        let work = || {
            let pools = Pools::new();
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some((first, second)) = pairs.get(at) else { return };
                let tally = self.pair(world, *first, *second, at as u64, &pools);
                all.lock().unwrap().join(tally);
            }
        };
        thread::scope(|scope| {
            for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
                scope.spawn(work);
            }
        });
        all.into_inner().unwrap()
    }
}

/// Runs them, tells how many there were, and fails with what was found.
#[allow(clippy::print_stdout, reason = "the number of interleavings is what people want to see")]
#[allow(clippy::disallowed_methods, reason = "how long they took")]
fn check(world: &World, choice: &Choice) {
    let started = Instant::now();
    let mut tally = choice.all(world);
    let seconds = started.elapsed().as_secs_f64();
    let (name, runs, alike) = (world.name, tally.runs, tally.alike);
    let all = runs as u64 + alike;
    println!("{name}: {all} interleavings, {alike} of them alike to others, {runs} run in {seconds:.1} s");
    println!("  {} failed", tally.failed.len());
    for (kind, count) in &tally.gave_up {
        println!("  gave up {count:>6} {kind}");
    }
    tally.failed.sort_by_key(|(case, _)| (case.first, case.second, case.call, case.third, case.dies));
    let mut pairs: BTreeMap<(Actor, Actor), Vec<&(Case, Run)>> = BTreeMap::new();
    for failed in &tally.failed {
        pairs.entry((failed.0.first, failed.0.second)).or_default().push(failed);
    }
    for ((first, second), failed) in &pairs {
        println!("== {first:?} beside {second:?}: {} interleavings failed", failed.len());
        let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
        for (case, run) in failed {
            let kind: String = run.problems[0].chars().filter(|c| !c.is_ascii_digit()).take(40).collect();
            let seen = kinds.entry(kind).or_default();
            *seen += 1;
            if *seen == 1 {
                describe(world, *case, run, choice.call.is_some());
            }
        }
    }
    assert!(tally.runs > 0 || choice.first.is_some(), "nothing ran");
    assert!(tally.failed.is_empty(), "{} of {} interleavings failed", tally.failed.len(), tally.runs);
}

#[allow(clippy::print_stdout, reason = "what a person looks at when it failed")]
fn describe(world: &World, case: Case, run: &Run, whole: bool) {
    let Case { first, second, call, third, dies } = case;
    let end = format!("{}{}", if third { ":third" } else { "" }, if dies { ":dies" } else { "" });
    println!("-- SILTSTONE_INTERLEAVING={}:{first:?}:{second:?}:{call}{end}", world.name);
    let at = run.log.iter().position(|event| event.actor == '2');
    let last = at.and_then(|at| at.checked_sub(1)).map(|at| run.log[at].to_string());
    println!("   stopped after: {}", last.unwrap_or_else(|| "nothing".to_owned()));
    for line in run.gave_up.iter().filter(|line| !run.problems.iter().any(|p| p.contains(line.as_str()))) {
        println!("   gave up: {line}");
    }
    for problem in &run.problems {
        println!("   {problem}");
    }
    if whole {
        run.log.iter().for_each(|event| println!("{event}"));
    }
}

fn all(world: &World) {
    if let Some(choice) = Choice::asked(world.name) {
        check(world, &choice);
    }
}

#[test]
#[ignore = "takes long: make stress"]
fn operations_on_a_keyed_table_interleave_everywhere() {
    all(&World::keyed());
}

#[test]
#[ignore = "takes long: make stress"]
fn operations_on_a_table_with_dynamic_buckets_interleave_everywhere() {
    all(&World::dynamic());
}

#[test]
#[ignore = "takes long: make stress"]
fn operations_on_an_append_table_interleave_everywhere() {
    all(&World::appended());
}

#[test]
#[ignore = "takes long: make stress"]
fn operations_on_a_table_without_versions_interleave_everywhere() {
    all(&World::without_versions());
}

fn some(world: &World) {
    let pools = Pools::new();
    let calls = world
        .actors()
        .map(|actor| {
            (actor, Case::course(actor, world, &pools).iter().filter(|event| event.call.is_some()).count() as u64)
        })
        .collect();
    check(world, &Choice { once: Some(calls), ..Choice::default() });
}

#[test]
fn operations_on_a_keyed_table_interleave_at_some_calls() {
    some(&World::keyed());
}

#[test]
fn operations_on_a_table_with_dynamic_buckets_interleave_at_some_calls() {
    some(&World::dynamic());
}

#[test]
fn operations_on_an_append_table_interleave_at_some_calls() {
    some(&World::appended());
}

#[test]
fn operations_on_a_table_without_versions_interleave_at_some_calls() {
    some(&World::without_versions());
}
