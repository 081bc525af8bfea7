//! Reads of a table that goes while they are at any one of their storage calls: they give its rows, or say that it has gone.
//! Nobody is told of an empty table, or of a damaged one.

use super::*;

type Read = fn(&Table) -> Result<usize>;

const READS: [(&str, Read); 6] = [
    ("scan", |table| {
        let args = ScanRequest::default();
        let planned = table.plan(&args)?;
        table.read(&args, &planned)?.try_fold(0, |rows, batch| Ok(rows + batch?.num_rows()))
    }),
    ("count", |table| {
        let args = ScanRequest::default();
        let planned = table.plan(&args)?;
        Ok(usize::try_from(table.count(&args, &planned)?).unwrap())
    }),
    ("history", |table| Ok(table.history(9)?.len())),
    ("files", |table| Ok(table.files(None)?.len())),
    ("system table", |table| {
        Ok(table.inspect("snapshots", &InspectArgs::default())?.iter().map(RecordBatch::num_rows).sum())
    }),
    ("fsck", |table| {
        let findings = table.fsck(true)?.findings;
        assert!(findings.is_empty(), "{findings:#?}");
        Ok(2)
    }),
];

type Replace = fn(&FaultFileIo);

const DEEDS: [(&str, Replace); 3] = [
    ("rename", |io| catalog(io).rename_table("db.t", "db.u").unwrap()),
    ("drop", |io| catalog(io).drop_table("db.t", false).unwrap()),
    ("drop, and make another one with a key", |io| {
        recreate(io, KEYED);
        put(&main_of(io), THEIRS).unwrap();
    }),
];

#[test]
fn a_table_that_goes_while_it_is_read_is_neither_empty_nor_damaged() {
    let base = made(APPEND, 2);
    for (read_name, read) in READS {
        for (deed_name, deed) in DEEDS {
            let (mut whole, mut gone) = (0, 0);
            for at in 0.. {
                let io = base.fork();
                let others = io.clone();
                let gate = Arc::new(Meanwhile {
                    armed: AtomicBool::new(false),
                    calls: AtomicU64::new(0),
                    at,
                    fired: AtomicBool::new(false),
                    run: Mutex::new(Box::new(move || deed(&others))),
                });
                let table = open(Arc::new(io.behind(Arc::clone(&gate) as Arc<dyn BeforeCall>)), HOME, "main");
                gate.armed.store(true, Ordering::SeqCst);
                let found = read(&table);
                if !gate.fired.load(Ordering::SeqCst) {
                    break;
                }
                let what = format!("{read_name}, {deed_name}, call {at}: {found:?}");
                match found {
                    // what a handle says of the versions is about those that are there
                    Ok(1) if !["scan", "count"].contains(&read_name) && deed_name.ends_with("with a key") => whole += 1,
                    Ok(rows) => {
                        assert_eq!(rows, 2, "{what}");
                        whole += 1;
                    }
                    Err(error) => {
                        assert_eq!(error.kind(), ErrorKind::TableNotFound, "{what}");
                        gone += 1;
                    }
                }
            }
            assert!(
                gone > 0 || deed_name.ends_with("with a key"),
                "{read_name}, {deed_name}: {whole} whole, {gone} gone"
            );
        }
    }
}
