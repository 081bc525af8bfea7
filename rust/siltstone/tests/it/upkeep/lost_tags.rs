//! Tags whose manifest lists are gone, and no record says why.

use siltstone::{
    ErrorKind,
    fs::FileIo as _,
    maintenance::{expire::expire_snapshots, orphan_files::remove_orphan_files},
    snapshot::TagManager,
};

use super::{ROOT, append, dies::versions, open, tag, until};

/// The error named a manifest list, of which nobody knew what needed it.
#[test]
fn upkeep_that_cannot_read_what_a_tag_keeps_names_the_tag() {
    let (io, fs) = versions(4);
    tag(&open(&fs, "main"), "lost", 2);
    let path = TagManager::new(fs.clone(), ROOT).path("lost");
    let content = io.read(&path).unwrap();
    io.delete(&path).unwrap();
    expire_snapshots(&open(&fs, "main"), &until(4, 4), false).unwrap();
    // the tag of a maker that died beside the expiry, whose record was deleted since
    io.write_new(&path, &content, true).unwrap();
    let records: Vec<String> = io.paths().into_iter().filter(|path| path.contains("/siltstone/removal-")).collect();
    assert!(!records.is_empty());
    for record in &records {
        io.delete(record).unwrap();
    }
    append(&fs, "main", (5, 0));
    let ctx = open(&fs, "main");
    let errors = [
        expire_snapshots(&ctx, &until(5, 5), false).unwrap_err(),
        remove_orphan_files(&ctx, i64::MAX, i64::MAX, false).unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.kind(), ErrorKind::FileNotFound, "{error}");
        assert_eq!(error.context_value("tag"), Some("lost"), "{error}");
    }
}
