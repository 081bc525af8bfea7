//! Commits whose storage calls fail, and many committers at once: what was acknowledged is there once, the rest is not.

use super::*;

/// Every storage call of a commit fails once, before or after its effect; the table is before or after the commit,
/// also after a power loss, and committing again ends with the commit there once.
fn every_call_may_fail(
    make: impl Fn() -> Table,
    commit: impl Fn(&Table, &TableCommit) -> crate::Result<CommitOutcome>,
) {
    let count = {
        let t = make();
        let (committer, before) = (t.commit_as("u"), t.io.calls());
        commit(&t, &committer).unwrap();
        t.io.calls() - before
    };
    let (old, new) = {
        let t = make();
        let old = t.names();
        commit(&t, &t.commit_as("u")).unwrap();
        (old, t.names())
    };
    assert!(count > 10 && old != new);
    for n in 0..count {
        for when in [FailWhen::Before, FailWhen::After] {
            for crash in 0..3 {
                let t = make();
                let committer = t.commit_as("u");
                let start = usize::try_from(t.io.calls()).unwrap();
                t.io.fail_after(n, when);
                let result = commit(&t, &committer);
                let what = format!("{n} {when:?} {crash}: {result:?}\n{:#?}", &t.io.trace()[start..]);
                let done = matches!(&result, Ok(o) if !matches!(o.compaction, CompactionOutcome::Failed(_)));
                match crash {
                    0 => t.io.heal(),
                    1 => t.io.crash(),
                    _ => t.io.crash_keeping_names(),
                }
                let now = t.names();
                assert!(now == old || now == new, "{now:?} {what}");
                assert!(!done || now == new, "{what}");
                for name in &now {
                    assert!(t.ctx.fs.read(&format!("{ROOT}/bucket-0/{name}")).unwrap() == "rows", "{name} {what}");
                }
                if crash == 0 && !done {
                    let again = commit(&t, &committer);
                    assert_eq!(t.names(), new, "{again:?} {what}");
                    assert!(again.is_ok(), "{again:?} {what}");
                }
            }
        }
    }
}

#[test]
fn an_append_is_there_or_not_whatever_call_fails() {
    let make = || {
        let t = append_table();
        t.add(&["a"]);
        t.put(&["b"]);
        t
    };
    every_call_may_fail(make, |_, commit| commit.commit(of(vec![adds(&["b"])])));
}

#[test]
fn an_overwrite_is_there_or_not_whatever_call_fails() {
    let make = || {
        let t = append_table();
        t.add(&["a"]);
        t.put(&["b"]);
        t
    };
    let target = OverwriteTarget::Static(PartitionSpec::new());
    every_call_may_fail(make, |_, commit| commit.overwrite(&target, of(vec![adds(&["b"])])));
}

#[test]
fn a_compaction_is_there_or_not_whatever_call_fails() {
    let make = || {
        let t = key_table();
        t.add(&["a"]);
        t.add(&["b"]);
        t.put(&["c"]);
        t
    };
    every_call_may_fail(make, |_, commit| {
        commit.commit(of(vec![compacts(&[f("a"), f("b")], &[file("c", 5, (0, 9))])]))
    });
}

#[test]
fn of_many_committers_none_is_lost() {
    let t = append_table();
    std::thread::scope(|scope| {
        for user in 0..4 {
            let ctx = &t.ctx;
            scope.spawn(move || {
                let commit = TableCommit::new(ctx, &format!("u{user}"));
                for i in 0..10 {
                    loop {
                        match commit.commit(of(vec![adds(&[&format!("f-{user}-{i}")])])) {
                            Ok(_) => break,
                            Err(e) => assert_eq!(e.kind(), ErrorKind::CommitRetriesExhausted),
                        }
                    }
                }
            });
        }
    });
    assert_eq!((t.names().len(), t.latest().unwrap().id), (40, 40));
    assert_eq!(t.orphans(), Vec::<String>::new());
}

#[test]
fn one_identifier_committed_by_many_processes_at_once_is_there_once() {
    for round in 0..20 {
        let t = append_table();
        t.add(&["first"]);
        let made: usize = std::thread::scope(|scope| {
            let run = |copy: i32| {
                let ctx = &t.ctx;
                scope.spawn(move || {
                    let name = format!("f-{copy}");
                    let once = Committable { identifier: Some(7), ..of(vec![adds(&[&name])]) };
                    let outcome = TableCommit::new(ctx, "job").commit(once).unwrap();
                    assert_ne!(outcome.already_committed, outcome.snapshots.len() == 1);
                    outcome.snapshots.len()
                })
            };
            let runs: Vec<_> = (0..6).map(run).collect();
            runs.into_iter().map(|run| run.join().unwrap()).sum()
        });
        assert_eq!((made, t.names().len(), t.latest().unwrap().id), (1, 2, 2), "round {round}");
        assert_eq!(t.orphans(), Vec::<String>::new());
    }
}

/// Refuses to publish snapshots, and says so for certain or not.
#[derive(Debug)]
struct Refuses {
    certain: bool,
    tries: AtomicUsize,
}

impl BeforeCall for Refuses {
    fn before(&self, what: &str, path: &str) -> crate::Result<()> {
        if what != "publish: link" || !path.contains("/snapshot/snapshot-") {
            return Ok(());
        }
        self.tries.fetch_add(1, Ordering::Relaxed);
        let refused = Error::new(ErrorKind::Storage, "permission denied").with("file", path);
        Err(if self.certain { refused.without_effect() } else { refused })
    }
}

#[test]
fn a_snapshot_whose_publishing_is_refused_for_certain_is_not_in_doubt() {
    for certain in [true, false] {
        let t = append_table();
        t.add(&["a"]);
        t.put(&["b"]);
        let (before, orphans) = (t.names(), t.orphans().len());
        let gate = Arc::new(Refuses { certain, tries: AtomicUsize::new(0) });
        let refusing: FileIoRef = Arc::new(t.io.behind(Arc::<Refuses>::clone(&gate) as Arc<dyn BeforeCall>));
        let ctx = TableContext { fs: refusing, ..t.ctx.clone() };
        let committer = TableCommit::new(&ctx, "u").with_clock(Arc::new(ManualClock::at(1_000)));
        let error = committer.commit(of(vec![adds(&["b"])])).unwrap_err();
        let tries = gate.tries.load(Ordering::Relaxed);
        assert_eq!(error.kind(), ErrorKind::Storage);
        assert_eq!(error.context_value("table"), Some("db.t"));
        assert_eq!(t.names(), before);
        assert!(t.has("b"), "the rows can be committed again");
        if certain {
            assert_eq!((tries, error.message()), (1, "permission denied"));
            assert_eq!(t.orphans().len(), orphans, "what was prepared is gone: {:?}", t.orphans());
        } else {
            assert!(tries > 1 && error.message().contains("it is not known"), "{tries} {error}");
        }
        t.commit_as("u").commit(of(vec![adds(&["b"])])).unwrap();
        assert_eq!(t.names(), ["a", "b"]);
    }
}
