//! What came of a run: what is there is looked at, then a round of upkeep, then another look.

use std::sync::Arc;

use siltstone::{
    Error, ErrorKind, Result,
    fs::{FaultFileIo, FileIoRef},
    maintenance::orphan_files::remove_orphan_files,
    table::RescaleArgs,
};

use super::{
    look::{findings, ripe, short, state, told},
    model::{Effect, Rows, State, Step, outcomes},
    operations::{Verb, changes, compact, consume, retain},
    run::{Ended, Run, caught},
    versions::Reader,
    world::{World, open, write},
};

impl Run {
    pub(super) fn judge(&mut self, world: &World, io: &FaultFileIo, ended: &[Ended], deep: bool) {
        let any = |verb: Verb| ended.iter().any(|ended| ended.operation.verb == verb);
        let hides = world.kind.hides || any(Verb::SwitchVectors);
        for operation in ended {
            self.judge_end(operation);
        }
        let mut steps: Vec<Step> = Vec::new();
        let taken_back = ended.iter().any(|ended| ended.operation.verb.takes_back());
        let to_main = |ended: &&Ended| ended.operation.verb.commits() && ended.operation.branch() == "main";
        let commits = ended.iter().filter(to_main).count();
        for (at, operation) in ended.iter().enumerate() {
            let mut own = operation.steps(at, &self.log, taken_back, any(Verb::BranchFromTag), commits);
            if hides && matches!(operation.effect, Effect::See(_)) {
                own.clear();
            }
            steps.extend(own);
        }
        let expected = outcomes(&world.state, &steps);
        // what a call that failed has left goes with the next upkeep
        self.left = ended.iter().filter(|ended| ended.leaves()).count();
        let finished = steps.iter().any(|step| step.leaves).then(|| {
            for step in &mut steps {
                step.leaves = false;
            }
            outcomes(&world.state, &steps)
        });
        let partly = ended.iter().any(Ended::is_unknown);
        let fs: FileIoRef = Arc::new(io.clone());
        let reader = Reader::new(io, &world.known);
        if partly && any(Verb::BranchForward) {
            self.go_on_forward(&fs);
        }
        let before = match caught(|| state(&fs, &reader)) {
            Ok(found) => {
                if !found.is_one_of(&expected, hides, partly) {
                    self.wrong("there is", &found, &expected);
                }
                Some(found)
            }
            Err(error) => {
                self.problems.push(format!("not readable: {}", told(&error)));
                None
            }
        };
        if !partly {
            self.told(findings(&fs, false, false));
        }
        if let Err(error) = caught(|| round(&fs, io, any(Verb::Rescale) && world.kind.has_fixed_buckets())) {
            self.problems.push(format!("afterwards: {}", told(&error)));
        }
        let after = match caught(|| state(&fs, &reader)) {
            Ok(after) => after,
            Err(error) => {
                self.problems.push(format!("not readable afterwards: {}", told(&error)));
                return;
            }
        };
        let loosely = hides || partly;
        match &finished {
            Some(finished) => {
                self.look_again(None, &after, finished, loosely);
                if !loosely && !finished.iter().any(|state| state.kept() == after.kept()) {
                    self.wrong("after upkeep there is", &after, finished);
                }
            }
            None => self.look_again(before.as_ref(), &after, &expected, loosely),
        }
        self.changes(world, &fs, ended, after.main().rows());
        self.consumers(world, &fs, ended);
        if hides && !any(Verb::SwitchVectors) {
            match caught(|| ripe(&fs, &after)) {
                Ok(ripe) => self.problems.extend(ripe.wrong(finished.as_ref().unwrap_or(&expected))),
                Err(error) => self.problems.push(format!("not compacted afterwards: {}", told(&error))),
            }
        }
        self.told(caught(|| findings(&fs, deep, true)));
    }

    /// A fast-forward that died between main's schemas and the branch's is called again, as the error of every reader says.
    fn go_on_forward(&mut self, fs: &FileIoRef) {
        let looked = caught(|| open(fs, "main", &[])?.context().snapshots().latest());
        let is_between = |e: &Error| e.to_string().contains("main goes forward to branch");
        if looked.is_err_and(|e| is_between(&e))
            && let Err(e) = caught(|| open(fs, "main", &[])?.fast_forward("fix", false))
        {
            self.problems.push(format!("the fast-forward does not go on: {}", told(&e)));
        }
    }

    fn look_again(&mut self, before: Option<&State>, after: &State, expected: &[State], loosely: bool) {
        let newest = after.main().rows().to_vec();
        let fits = |state: &State| {
            let mut rows = state.main().rows().to_vec();
            rows.push(NEW);
            rows == newest
        };
        if !expected.is_empty() && !expected.iter().any(fits) {
            self.wrong("there is afterwards", after, expected);
        }
        if let Some(before) = before
            && !loosely
            && before.kept() != after.kept()
        {
            self.problems.push(format!("upkeep changed {} to {}", before.shown(after), after.shown(before)));
        }
    }

    fn wrong(&mut self, what: &str, found: &State, expected: &[State]) {
        let likes: Vec<String> = expected.iter().take(8).map(|other| other.shown(found)).collect();
        let likes = if likes.is_empty() {
            "none: no order allows all acknowledgements".to_owned()
        } else {
            likes.join("\n    or ")
        };
        let shown = found.shown(expected.first().unwrap_or(&State::default()));
        self.problems.push(format!("{what} {shown}\n  expected {likes}"));
    }

    fn judge_end(&mut self, ended: &Ended) {
        let name = ended.operation;
        match &ended.result {
            _ if ended.span.died => {}
            Ok(done) => {
                let known = [
                    "Commit failed after",
                    "Give up committing",
                    "dropped or renamed while it was open",
                    "a consumer has begun at snapshot",
                    "it is not known",
                    "records of one key are merged otherwise",
                    "main goes forward to branch",
                ];
                let failed =
                    |note: &&String| note.contains("failed") && !known.iter().any(|known| note.contains(known));
                for note in done.notes.iter().filter(failed) {
                    if note.contains("upkeep") || ended.span.injected {
                        self.gave_up.push(format!("{name}: {note}"));
                    } else {
                        self.problems.push(format!("{name} notes: {note}"));
                    }
                }
            }
            Err(error) => {
                self.gave_up.push(format!("{name}: {}", told(error)));
                let panics = error.kind() == ErrorKind::Internal;
                if panics || !(ended.may_give_up(error) || ended.span.injected) {
                    self.problems.push(format!("{name} failed: {}", told(error)));
                }
            }
        }
    }

    /// What a consumer was promised can be read.
    fn consumers(&mut self, world: &World, fs: &FileIoRef, ended: &[Ended]) {
        let any = |is: fn(Verb) -> bool| ended.iter().any(|ended| is(ended.operation.verb));
        if any(Verb::takes_back) || any(|verb| matches!(verb, Verb::ExpireConsumers | Verb::DeleteConsumer)) {
            return;
        }
        // one that failed may have taken the consumer back to where it was itself
        let is_known = |name: &str| {
            let failed = |ended: &Ended| ended.operation.verb == Verb::Changes && ended.result.is_err();
            !ended.iter().any(|ended| failed(ended) && ended.operation.consumer() == name)
        };
        let known = ended
            .iter()
            .filter(|ended| {
                !ended.span.died && (ended.operation.verb != Verb::Changes || is_known(ended.operation.consumer()))
            })
            .filter_map(|ended| ended.result.as_ref().ok().and_then(|done| done.consumer.clone()));
        let first = world.state.main().newest();
        for (name, next) in [("reader".to_owned(), first)].into_iter().chain(known) {
            let read = caught(|| {
                let table = open(fs, "main", &[])?;
                let found = table.consumers().next_snapshot(&name)?;
                if found.is_none_or(|found| found < next) {
                    return Ok(Some(format!("consumer {name} was to go on with {next}, there is {found:?}")));
                }
                consume(table, &name).map(|_| None)
            });
            match read {
                Ok(problem) => self.problems.extend(problem),
                Err(error) => self.problems.push(format!("consumer {name} at {next}: {}", told(&error))),
            }
        }
    }

    /// The changes that `reader` has not seen lead to the newest rows.
    fn changes(&mut self, world: &World, fs: &FileIoRef, ended: &[Ended], newest: &[(i32, i64)]) {
        let is_told = |ended: &Ended| world.kind.tells(ended.operation);
        if world.kind.is_postponed() || !ended.iter().all(is_told) {
            return;
        }
        let main = world.state.main();
        let mut rows = Rows::clone(&main.versions[&(main.newest() - 1)]);
        // others have gone on with `reader` itself
        let read = caught(|| {
            let table = open(fs, "main", &[])?;
            table.reset_consumer("again", table.consumers().next_snapshot("reader")?)?;
            changes(table, "again", &mut rows)
        });
        if let Err(error) = read {
            self.problems.push(format!("changes: {}", told(&error)));
        } else if rows != newest {
            self.problems.push(format!("changes lead to {{{}}}, there is {{{}}}", short(&rows), short(newest)));
        }
    }

    fn told(&mut self, found: Result<Vec<String>>) {
        match found {
            Ok(found) => self.problems.extend(found),
            Err(error) => self.problems.push(format!("the look failed: {}", told(&error))),
        }
    }
}

/// A healthy round of what a table sees every day: a commit, a compaction, an expiry, an orphan cleaning that takes all it may.
fn round(fs: &FileIoRef, io: &FaultFileIo, rescaled: bool) -> Result<()> {
    if rescaled {
        // the option may have another number than the rows, as after a rollback; what waits for a compaction does not move
        compact(fs, "main")?;
        open(fs, "main", &[])?.rescale(&RescaleArgs::default())?;
    }
    let main = open(fs, "main", &[("write-only", "true")])?;
    write(&main, &[NEW])?;
    compact(fs, "main")?;
    main.expire_snapshots(&retain(1), false)?;
    remove_orphan_files(main.context(), io.clock_millis() + 1, i64::MAX, false).map(drop)
}

const NEW: (i32, i64) = (999, 9);
