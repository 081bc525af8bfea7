//! Cases that a seed decides, and shorter ones that fail in the same way.

use super::{
    operations::{Operation, VERBS, Verb},
    random::Random,
    run::{ACTORS, Case, Look, Pools, Run},
    scheduler::{Then, Turn, Until},
    world::{KINDS, Worlds},
};

/// How often something shorter is tried.
const TRIES: usize = 300;

impl Case {
    pub(super) fn of_seed(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let kind = usize::try_from(random.below(KINDS.len() as u64)).unwrap();
        let count = *random.one_of(&[2, 3, 3, 3, 4]);
        let mut number = 0;
        let mut actors = Vec::new();
        for _ in 0..count {
            let mut operations = Vec::new();
            for _ in 0..*random.one_of(&[1, 1, 1, 2, 2, 3]) {
                number += 1;
                let verbs: Vec<Verb> = VERBS.iter().copied().filter(|verb| verb.suits(KINDS[kind])).collect();
                operations.push(Operation { verb: *random.one_of(&verbs), number });
            }
            actors.push(operations);
        }
        let mut case = Self { kind, actors, turns: Vec::new() };
        case.turns = match random.below(4) {
            0 | 1 => case.nested(&mut random),
            2 => case.often(&mut random),
            _ => case.seldom(&mut random),
        };
        case.hurt(&mut random);
        case
    }

    /// Each stops somewhere, one within the other; the last runs to its end, then the others go on, the innermost first.
    fn nested(&self, random: &mut Random) -> Vec<Turn> {
        let actors: Vec<usize> = (0..self.actors.len()).collect();
        let (last, stopped) = actors.split_last().unwrap();
        let mut turns: Vec<Turn> = stopped.iter().map(|actor| waits(*actor, somewhere(random))).collect();
        turns.push(waits(*last, Until::End));
        let mut left = stopped.to_vec();
        while !left.is_empty() {
            // mostly the innermost first
            let at = if random.one_in(3) { 0 } else { left.len() - 1 };
            turns.push(waits(left.remove(at), if random.one_in(2) { Until::End } else { somewhere(random) }));
        }
        turns
    }

    /// Many short turns.
    fn often(&self, random: &mut Random) -> Vec<Turn> {
        let turns = 6 + random.below(30);
        (0..turns)
            .map(|_| {
                let until = if random.one_in(2) {
                    Until::Effects(1 + random.below(3))
                } else {
                    Until::Calls(1 + random.below(12))
                };
                waits(self.someone(random), until)
            })
            .collect()
    }

    /// Few turns that end anywhere: most defects need no more than two or three changes at the right calls.
    fn seldom(&self, random: &mut Random) -> Vec<Turn> {
        let turns = 2 + random.below(4);
        (0..turns).map(|_| waits(self.someone(random), Until::Calls(random.below(160)))).collect()
    }

    fn someone(&self, random: &mut Random) -> usize {
        usize::try_from(random.below(self.actors.len() as u64)).unwrap()
    }

    /// Some die, some meet errors.
    fn hurt(&mut self, random: &mut Random) {
        let (deaths, errors) = (random.one_in(2), random.one_in(6));
        for turn in &mut self.turns {
            if turn.until == Until::End {
                if deaths && random.one_in(4) {
                    *turn = Turn { until: somewhere(random), then: Then::Dies, ..*turn };
                }
            } else if deaths && random.one_in(6) {
                turn.then = Then::Dies;
            } else if errors && random.one_in(4) {
                turn.then = *random.one_of(&[Then::Fails, Then::FailsAfter]);
            }
        }
    }

    /// A case that has no part which could be left out, and still fails in the same way.
    pub(super) fn shortened(&self, worlds: &Worlds, pools: &Pools, look: Look, failed: Run) -> (Self, Run) {
        let kind = failed.kind();
        let (mut best, mut best_run) = (self.clone(), failed);
        let mut tries = 0;
        loop {
            let mut better = None;
            for shorter in best.shorter() {
                tries += 1;
                if tries > TRIES {
                    return (best, best_run);
                }
                let run = shorter.run(worlds, pools, look);
                if run.kind() == kind {
                    better = Some((shorter, run));
                    break;
                }
            }
            match better {
                Some((case, run)) => (best, best_run) = (case, run),
                None => return (best, best_run),
            }
        }
    }

    fn shorter(&self) -> Vec<Self> {
        let mut all = Vec::new();
        for actor in 0..self.actors.len() {
            if self.actors.len() > 1 {
                let mut case = self.clone();
                case.actors.remove(actor);
                case.turns.retain(|turn| turn.actor != actor);
                case.turns.iter_mut().filter(|turn| turn.actor > actor).for_each(|turn| turn.actor -= 1);
                all.push(case);
            }
            for at in 0..self.actors[actor].len() {
                if self.actors[actor].len() > 1 {
                    let mut case = self.clone();
                    case.actors[actor].remove(at);
                    all.push(case);
                }
            }
        }
        for at in 0..self.turns.len() {
            let mut case = self.clone();
            case.turns.remove(at);
            all.push(case);
        }
        for at in 0..self.turns.len() {
            let turn = self.turns[at];
            let mut with = |other: Turn| {
                let mut case = self.clone();
                case.turns[at] = other;
                all.push(case);
            };
            if turn.then != Then::Waits {
                with(Turn { then: Then::Waits, ..turn });
            }
            if turn.until != Until::End && turn.then == Then::Waits {
                with(Turn { until: Until::End, ..turn });
            }
        }
        all
    }
}

impl Run {
    /// What kind of failure it is; empty: none.
    pub(super) fn kind(&self) -> String {
        let Some(first) = self.problems.first() else { return String::new() };
        let words: Vec<&str> = first.split_whitespace().take(5).collect();
        words.join(" ").chars().filter(|c| !c.is_ascii_digit()).take(40).collect()
    }
}

fn waits(actor: usize, until: Until) -> Turn {
    Turn { actor, until, then: Then::Waits }
}

fn somewhere(random: &mut Random) -> Until {
    match random.below(4) {
        0 => Until::Calls(random.below(160)),
        1 => Until::Calls(random.below(60)),
        _ => Until::Effects(random.below(14)),
    }
}

#[test]
fn a_case_is_read_as_it_is_shown() {
    for seed in 0..200 {
        let case = Case::of_seed(seed);
        assert!(case.actors.len() <= ACTORS);
        assert_eq!(case.to_string().parse(), Ok(case));
    }
}
