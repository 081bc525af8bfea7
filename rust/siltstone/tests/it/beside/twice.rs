//! A commit that is held up twice: others commit before one of its calls, and before a later one commit more and let all but the
//! newest version expire.

use super::{late::beside, *};

/// Some more of what others do.
type Others = fn(&FileIoRef);

fn go_on(fs: &FileIoRef) {
    put(fs, &[(11, 0)]).unwrap();
}

fn go_on_and_expire(fs: &FileIoRef) {
    put(fs, &[(12, 0)]).unwrap();
    put(fs, &[(13, 0)]).unwrap();
    let newest = ExpireArgs { retain_max: Some(1), retain_min: Some(1), ..ExpireArgs::default() };
    let at_once = BTreeMap::from([("siltstone.upkeep-lock-timeout".to_owned(), "0 ms".to_owned())]);
    let table = Table::open_with(Arc::clone(fs), ROOT, "main", None, at_once).unwrap();
    if let Err(error) = table.expire_snapshots(&newest, false) {
        // the commit looks with the lock taken
        assert_eq!(error.kind(), ErrorKind::UpkeepRunning, "{error}");
    }
}

/// A commit of row 100 with two stops at all of its calls; `check` looks at what came of each.
fn with_two_stops(base: &FaultFileIo, others: [Others; 2], check: impl Fn(&FileIoRef, Result<CommitReport>)) -> usize {
    let mut cases = 0;
    for first in 0.. {
        for second in first + 1.. {
            let io = base.fork();
            let fs: FileIoRef = Arc::new(io.clone());
            let event = |others: Others| {
                let fs = Arc::clone(&fs);
                move || {
                    others(&fs);
                    Ok(())
                }
            };
            let stops = Meanwhile::new().before_call(first, event(others[0])).before_call(second, event(others[1]));
            let (handle, meanwhile) = beside(&io, stops);
            let end = put(&handle, &[(100, 0)]);
            match meanwhile.left() {
                0 => check(&fs, end),
                1 => break,
                _ => return cases,
            }
            cases += 1;
        }
    }
    cases
}

/// The looks of a first commit after it was published saw snapshots that came and went between them. It took its own, which had
/// expired in order, for one that came too late, and committed the rows again: the newest version named a manifest twice. Or it
/// said that nobody could tell any more, while a record told.
#[test]
fn a_commit_that_has_expired_between_two_looks_is_not_committed_again() {
    for (key, bucket, before) in [(&[][..], "-1", 0), (&["k"][..], "1", 0), (&["k"][..], "1", 1)] {
        let (io, fs) = new_table(key, &[("bucket", bucket)]);
        (0..before).for_each(|n| drop(put(&fs, &[(n, 0)]).unwrap()));
        let cases = with_two_stops(&io, [go_on, go_on_and_expire], |fs, end| {
            let report = end.unwrap();
            let mut expected: Vec<(i32, i64)> = [11, 12, 13, 100].map(|k| (k, 0)).to_vec();
            expected.extend((0..before).map(|n| (n, 0)));
            expected.sort_unstable();
            assert_eq!(rows(fs), expected, "{report:?}");
            let verdict = fsck(&open(fs, ROOT), true, 0).unwrap();
            let problems: Vec<_> = verdict.findings.iter().filter(|f| f.severity == Severity::Problem).collect();
            assert!(problems.is_empty(), "{problems:#?}");
        });
        assert!(cases > 300, "{cases}");
    }
}
