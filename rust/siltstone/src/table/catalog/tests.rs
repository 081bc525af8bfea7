//! The catalog over an in-memory store.

use std::{
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, channel},
    },
    thread,
};

use super::*;
use crate::cancel::interruptible;
use crate::fs::{BeforeCall, FaultFileIo, FileIo as _, Meanwhile};
use crate::types::{DataField, parse_type};

fn catalog_with(options: &[(&str, &str)]) -> (Arc<FaultFileIo>, Catalog) {
    let fs = Arc::new(FaultFileIo::new());
    let options = options.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    (fs.clone(), Catalog::new(fs, "/lake/", options).unwrap())
}

fn catalog() -> Catalog {
    let (_, catalog) = catalog_with(&[]);
    catalog.create_database("shop", false).unwrap();
    catalog
}

fn orders() -> NewTable {
    let field = |name: &str, t: &str| DataField::new(0, name, parse_type(t).unwrap());
    NewTable { fields: vec![field("id", "BIGINT"), field("v", "STRING")], ..NewTable::default() }
}

fn kind<T: std::fmt::Debug>(result: Result<T>) -> ErrorKind {
    result.unwrap_err().kind()
}

#[test]
fn databases_are_made_listed_and_dropped() {
    let (_, catalog) = catalog_with(&[]);
    assert_eq!(kind(catalog.databases()), ErrorKind::FileNotFound, "there is no warehouse");
    catalog.create_database("b", false).unwrap();
    catalog.create_database("a", false).unwrap();
    catalog.create_database("a", true).unwrap();
    assert_eq!(kind(catalog.create_database("a", false)), ErrorKind::DatabaseExists);
    assert_eq!(catalog.databases().unwrap(), ["a", "b"]);
    catalog.drop_database("a", false, false).unwrap();
    catalog.drop_database("a", false, true).unwrap();
    assert_eq!(kind(catalog.drop_database("a", false, false)), ErrorKind::DatabaseNotFound);
    assert_eq!(catalog.databases().unwrap(), ["b"]);
}

#[test]
fn a_database_with_tables_is_dropped_only_with_cascade() {
    let catalog = catalog();
    catalog.create_table("shop.orders", orders(), false).unwrap();
    assert_eq!(kind(catalog.drop_database("shop", false, false)), ErrorKind::InvalidArgument);
    catalog.drop_database("shop", true, false).unwrap();
    assert!(catalog.databases().unwrap().is_empty());
}

/// It was deleted where it lay, file by file, without its lock.
#[test]
fn a_table_that_comes_into_a_database_that_is_dropped_is_dropped_like_others() {
    for call in ["list", "delete_empty_dir"] {
        let (fs, others) = catalog_with(&[]);
        others.create_database("shop", false).unwrap();
        others.create_database("other", false).unwrap();
        others.create_table("other.orders", orders(), false).unwrap();
        let moves = others.clone();
        let meanwhile =
            Meanwhile::new().before(call, "/shop.db", move || moves.rename_table("other.orders", "shop.orders"));
        let from = fs.calls();
        catalog_behind(&fs, meanwhile).drop_database("shop", true, false).unwrap();
        assert_eq!(others.databases().unwrap(), ["other"]);
        let trace = fs.trace();
        let whole = trace
            .iter()
            .skip(usize::try_from(from).unwrap())
            .any(|call| call.contains("rename") && call.contains("/shop.db/orders"));
        assert!(whole, "{call}: out of the way as a whole first: {trace:?}");
    }
}

/// A database of the catalog behind a gate.
fn catalog_behind(fs: &FaultFileIo, meanwhile: Meanwhile) -> Catalog {
    let behind: FileIoRef = Arc::new(fs.behind(Arc::new(meanwhile)));
    Catalog::new(behind, "/lake", BTreeMap::new()).unwrap()
}

#[test]
fn a_table_that_is_made_while_its_empty_database_is_dropped_stays() {
    for (call, path) in [("list", "/shop.db"), ("delete_empty_dir", "/shop.db")] {
        let (fs, others) = catalog_with(&[]);
        others.create_database("shop", false).unwrap();
        let makes = others.clone();
        let meanwhile =
            Meanwhile::new().before(call, path, move || makes.create_table("shop.orders", orders(), false).map(drop));
        let error = catalog_behind(&fs, meanwhile).drop_database("shop", false, false).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        assert!(error.message().contains("not empty"), "{error}");
        others.load_table("shop.orders", None).unwrap();
    }
}

#[test]
fn without_cascade_only_empty_directories_and_what_dropped_tables_left_go() {
    let left_over = "/lake/shop.db/.orders.0b7ed1cf-5a2f-4b0c-9a1e-3f7f6f0c1d2e";
    let foreign =
        ["/lake/shop.db/notes.txt", "/lake/shop.db/t/data", "/lake/shop.db/.git/HEAD", "/lake/shop.db/.orders.old/x"];
    for file in foreign {
        let (fs, catalog) = catalog_with(&[]);
        catalog.create_database("shop", false).unwrap();
        fs.create_dir(&format!("{left_over}/schema")).unwrap();
        fs.put(&format!("{left_over}/schema/schema-0"), b"{}");
        fs.create_dir("/lake/shop.db/empty").unwrap();
        fs.create_dir(file.rsplit_once('/').unwrap().0).unwrap();
        fs.put(file, b"x");
        assert_eq!(kind(catalog.drop_database("shop", false, false)), ErrorKind::InvalidArgument, "{file}");
        assert_eq!(fs.paths().len(), 2, "nothing has gone");
        fs.delete(file).unwrap();
        if file.contains("/.") {
            fs.delete_dir(file.rsplit_once('/').unwrap().0).unwrap();
        }
        catalog.drop_database("shop", false, false).unwrap();
        assert!(fs.paths().is_empty() && catalog.databases().unwrap().is_empty());
    }
}

#[test]
fn names_of_databases_and_renamed_tables_are_durable() {
    let (fs, catalog) = catalog_with(&[]);
    let synced = |from: usize| -> Vec<String> {
        fs.trace().split_off(from).into_iter().filter(|call| call.contains("sync_dir")).collect()
    };
    for name in ["a", "b"] {
        let before = fs.trace().len();
        catalog.create_database(name, false).unwrap();
        assert!(synced(before).iter().any(|call| call.ends_with("/lake")), "{:?}", synced(before));
    }
    catalog.create_table("a.orders", orders(), false).unwrap();
    let before = fs.trace().len();
    catalog.rename_table("a.orders", "b.orders").unwrap();
    let synced_by_rename = synced(before);
    let last = synced_by_rename.iter().rev().take(2).filter_map(|call| call.rsplit(' ').next()).collect::<Vec<_>>();
    assert_eq!(last, ["/lake/a.db", "/lake/b.db"], "the new name first");
    let before = fs.trace().len();
    catalog.drop_database("a", false, false).unwrap();
    assert!(synced(before).iter().any(|call| call.ends_with("/lake")));
}

#[test]
fn tables_are_created_loaded_renamed_and_dropped() {
    let catalog = catalog();
    let created = catalog.create_table("shop.orders", orders(), false).unwrap();
    assert_eq!(created.location, "/lake/shop.db/orders");
    assert_eq!(catalog.load_table("shop.orders", None).unwrap().schema, created.schema);
    assert_eq!(kind(catalog.create_table("shop.orders", orders(), false)), ErrorKind::TableExists);
    catalog.create_table("shop.orders", orders(), true).unwrap();
    catalog.create_table("shop.items", orders(), false).unwrap();
    assert_eq!(kind(catalog.rename_table("shop.orders", "shop.items")), ErrorKind::TableExists);
    catalog.rename_table("shop.orders", "shop.sales").unwrap();
    assert_eq!(catalog.tables("shop").unwrap(), ["items", "sales"]);
    catalog.drop_table("shop.items", false).unwrap();
    catalog.drop_table("shop.items", true).unwrap();
    assert_eq!(kind(catalog.drop_table("shop.items", false)), ErrorKind::TableNotFound);
    assert_eq!(catalog.tables("shop").unwrap(), ["sales"]);
}

#[test]
fn what_is_missing_gets_a_near_name_as_a_hint() {
    let catalog = catalog();
    catalog.create_table("shop.orders", orders(), false).unwrap();
    let error = catalog.load_table("shop.order", None).unwrap_err();
    assert_eq!((error.kind(), error.hint_text()), (ErrorKind::TableNotFound, Some("did you mean 'shop.orders'?")));
    let error = catalog.load_table("shopp.orders", None).unwrap_err();
    assert_eq!((error.kind(), error.hint_text()), (ErrorKind::DatabaseNotFound, Some("did you mean 'shop'?")));
    assert_eq!(kind(catalog.load_table("shop.orders$branch_b", None)), ErrorKind::BranchNotFound);
    assert_eq!(catalog.load_table("shop.orders$files", None).unwrap().name.system.as_deref(), Some("files"));
    assert_eq!(kind(catalog.tables("nope")), ErrorKind::DatabaseNotFound);
    assert_eq!(kind(catalog.create_table("nope.t", orders(), false)), ErrorKind::DatabaseNotFound);
    assert_eq!(kind(catalog.rename_table("shop.orders", "nope.t")), ErrorKind::DatabaseNotFound);
}

#[test]
fn directories_without_a_schema_are_no_tables() {
    let (fs, catalog) = catalog_with(&[]);
    catalog.create_database("shop", false).unwrap();
    fs.put("/lake/shop.db/junk/file", b"x");
    fs.put("/lake/shop.db/half/schema/.schema-0.1.tmp", b"x");
    fs.put("/lake/other/orders/schema/schema-0", b"x");
    assert!(catalog.tables("shop").unwrap().is_empty());
    assert_eq!(catalog.databases().unwrap(), ["shop"]);
    assert_eq!(kind(catalog.load_table("shop.half", None)), ErrorKind::TableNotFound);
}

#[test]
fn a_failed_creation_leaves_nothing() {
    let catalog = catalog();
    let bad = NewTable { primary_key: vec!["nope".into()], ..orders() };
    let error = catalog.create_table("shop.orders", bad, false).unwrap_err();
    assert_eq!((error.kind(), error.context_value("table")), (ErrorKind::IllegalSchema, Some("shop.orders")));
    assert!(!catalog.fs().exists("/lake/shop.db/orders").unwrap());
}

#[test]
fn defaults_of_the_catalog_are_stored_in_new_tables() {
    let (_, catalog) = catalog_with(&[("table-default.file.compression", "lz4"), ("table-default.write-only", "true")]);
    catalog.create_database("shop", false).unwrap();
    let table = NewTable { options: BTreeMap::from([("write-only".into(), "false".into())]), ..orders() };
    let options = catalog.create_table("shop.t", table, false).unwrap().schema.options.clone();
    assert_eq!((options["file.compression"].as_str(), options["write-only"].as_str()), ("lz4", "false"));
}

#[test]
fn catalogs_of_other_kinds_are_refused() {
    let fs: FileIoRef = Arc::new(FaultFileIo::new());
    let options = BTreeMap::from([("metastore".to_owned(), "hive".to_owned())]);
    assert_eq!(kind(Catalog::new(fs.clone(), "/lake", options)), ErrorKind::UnsupportedFeature);
    assert_eq!(kind(Catalog::new(fs, " ", BTreeMap::new())), ErrorKind::InvalidArgument);
}

/// Holds up the deletion of what was dropped until somebody lets it go on.
#[derive(Debug)]
struct HeldDeletion {
    begun: Arc<AtomicBool>,
    go_on: Mutex<Receiver<()>>,
}

impl BeforeCall for HeldDeletion {
    fn before(&self, what: &str, path: &str) -> Result<()> {
        if what == "delete_dir" && path.contains("/.orders.") {
            self.begun.store(true, Ordering::Relaxed);
            let _ = self.go_on.lock().unwrap().recv();
        }
        Ok(())
    }
}

/// A drop of very many files answered Ctrl-C when all of them had gone.
#[test]
fn a_drop_that_is_stopped_has_dropped_the_table_and_its_files_go_meanwhile() {
    let (fs, before) = catalog_with(&[]);
    before.create_database("shop", false).unwrap();
    before.create_table("shop.orders", orders(), false).unwrap();
    let (go_on, held) = channel();
    let begun = Arc::new(AtomicBool::new(false));
    let slow = fs.behind(Arc::new(HeldDeletion { begun: Arc::clone(&begun), go_on: Mutex::new(held) }));
    let catalog = Catalog::new(Arc::new(slow), "/lake/", BTreeMap::new()).unwrap();
    let dropped = interruptible(move || begun.load(Ordering::Relaxed), || catalog.drop_table("shop.orders", false));
    let stopped = dropped.unwrap_err();
    assert_eq!(stopped.kind(), ErrorKind::Cancelled);
    assert!(stopped.to_string().contains("'orders' was deleted; some of its files are left"), "{stopped}");
    assert!(before.tables("shop").unwrap().is_empty());
    assert!(!fs.paths().is_empty());
    go_on.send(()).unwrap();
    while !fs.paths().is_empty() {
        thread::yield_now();
    }
}
