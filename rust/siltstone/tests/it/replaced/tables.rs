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
