//! Tables that are replaced while a commit is at work.

use super::*;

const TABLES: [Deed; 5] = [
    Deed { name: "rename", run: |io, _| catalog(io).rename_table("db.t", "db.u").unwrap(), may_end: false },
    Deed { name: "drop", run: |io, _| catalog(io).drop_table("db.t", false).unwrap(), may_end: true },
    Deed { name: "drop and make again", run: recreate, may_end: true },
    Deed {
        name: "drop, make again and commit",
        run: |io, kind| {
            recreate(io, kind);
            put(&opened(io, HOME, "main"), THEIRS).unwrap();
        },
        may_end: true,
    },
    Deed {
        name: "rename, make another and commit",
        run: |io, kind| {
            catalog(io).rename_table("db.t", "db.u").unwrap();
            create(io, kind);
            put(&opened(io, HOME, "main"), THEIRS).unwrap();
        },
        may_end: false,
    },
];

#[test]
fn a_commit_is_in_its_table_or_nowhere_though_the_table_is_replaced_at_any_call() {
    for kind in [APPEND, KEYED] {
        for deed in TABLES {
            for commits in [0, 2] {
                let ends = at_each_call(&made(kind, commits), kind, "main", deed);
                assert!(ends.acknowledged > 0 && ends.given_up > 15, "{}, {kind:?}: {ends:?}", deed.name);
            }
        }
    }
}

/// `DELETE` of the one row that the table has, with the deed before each of its storage calls.
fn delete_at_each_call(kind: Kind, deed: Deed) -> Ends {
    let (base, mut ends) = (made(kind, 1), Ends::default());
    for at in 0.. {
        let io = base.fork();
        let others = io.clone();
        let gate = Arc::new(Meanwhile {
            armed: AtomicBool::new(false),
            calls: AtomicU64::new(0),
            at,
            fired: AtomicBool::new(false),
            run: Mutex::new(Box::new(move || (deed.run)(&others, kind))),
        });
        let table = open(Arc::new(io.behind(Arc::clone(&gate) as Arc<dyn BeforeCall>)), HOME, "main");
        gate.armed.store(true, Ordering::SeqCst);
        let where_k =
            ModifyArgs { filter: Some(Condition::Sql("k = 0".to_owned())), threads: Some(1), ..ModifyArgs::default() };
        let end = table.modify(&where_k);
        if !gate.fired.load(Ordering::SeqCst) {
            return ends;
        }
        let what = format!("DELETE, {}, {kind:?}, call {at}: {end:?}", deed.name);
        match &end {
            Ok(report) => {
                ends.acknowledged += 1;
                assert_eq!(report.affected_rows, 1, "{what}");
            }
            Err(error) => {
                ends.given_up += 1;
                let kinds = [ErrorKind::TableNotFound, ErrorKind::CommitConflict];
                assert!(kinds.contains(&error.kind()), "{what}");
            }
        }
        check_whole(&io, &what);
        go_on(&io, &everything(&io), &what);
    }
    ends
}

/// It ran again on the table that was made in the place of its own, found no row there, and was acknowledged; of a table that
/// was dropped it said that its snapshots were damaged.
#[test]
fn a_statement_is_about_the_table_that_was_opened_though_it_is_replaced_at_any_call() {
    for kind in [APPEND, KEYED] {
        for deed in TABLES {
            let ends = delete_at_each_call(kind, deed);
            assert!(ends.acknowledged > 0 && ends.given_up > 30, "{}, {kind:?}: {ends:?}", deed.name);
        }
    }
}
