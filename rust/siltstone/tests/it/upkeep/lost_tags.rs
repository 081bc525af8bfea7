//! Tags whose manifest lists are gone, and no record says why.

use siltstone::{
    ErrorKind,
    fs::FileIo as _,
    operation::{expire::expire_snapshots, orphan::remove_orphan_files},
    snapshot::TagManager,
};

use super::{ROOT, dies::versions, open, tag, until};

/// The error named a manifest list, of which nobody knew what needed it.
#[test]
fn upkeep_that_cannot_read_what_a_tag_keeps_names_the_tag() {
    let (io, fs) = versions(4);
    tag(&open(&fs, "main"), "lost", 2);
    let tagged = TagManager::new(fs.clone(), ROOT).get("lost").unwrap();
    for list in [&tagged.base_manifest_list, &tagged.delta_manifest_list] {
        io.delete(&format!("{ROOT}/manifest/{list}")).unwrap();
    }
    let ctx = open(&fs, "main");
    let errors = [
        expire_snapshots(&ctx, &until(4, 4), false).unwrap_err(),
        remove_orphan_files(&ctx, i64::MAX, i64::MAX, false).unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.kind(), ErrorKind::FileNotFound, "{error}");
        assert_eq!(error.context_value("tag"), Some("lost"), "{error}");
    }
}
