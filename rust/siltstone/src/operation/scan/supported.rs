//! What a scan must not touch: files whose rows would come out wrong.

use std::collections::HashSet;

use crate::{
    error::{Error, Result},
    io::TableContext,
    manifest::{ManifestEntry, ManifestStore},
    path::format_of,
    snapshot::Snapshot,
};

/// Type of the index entries that hold deletion vectors.
const DELETION_VECTORS: &str = "DELETION_VECTORS";

/// Refuses data files that only a later version of siltstone can read.
pub(super) fn check_files(ctx: &TableContext, entries: &[ManifestEntry]) -> Result<()> {
    for entry in entries {
        let file = &entry.file;
        let refuse =
            |what: String| Err(Error::unsupported(what).with("table", &ctx.name).with("file", &file.file_name));
        if file.write_cols.is_some() {
            return refuse("a data file that holds only some of the columns (data evolution)".to_owned());
        }
        match format_of(&file.file_name) {
            Some("parquet") => {}
            Some(other) => return refuse(format!("the data file format '{other}'")),
            None => return refuse("a data file without a format in its name".to_owned()),
        }
    }
    Ok(())
}

/// Refuses to read files of which some rows are deleted by deletion vectors.
pub(super) fn check_deletion_vectors(ctx: &TableContext, snapshot: &Snapshot, entries: &[ManifestEntry]) -> Result<()> {
    let Some(name) = &snapshot.index_manifest else {
        return Ok(());
    };
    let wanted: HashSet<&str> = entries.iter().map(|e| e.file.file_name.as_str()).collect();
    let store = ManifestStore::new(&ctx.fs, &ctx.paths, &ctx.options)?;
    for index in store.read_index(name)?.iter().filter(|i| i.index_type == DELETION_VECTORS) {
        let hit = match &index.deletion_vectors {
            Some(vectors) => vectors.iter().any(|v| wanted.contains(v.data_file_name.as_str())),
            None => true,
        };
        if hit {
            return Err(Error::unsupported("a table with deletion vectors")
                .with("table", &ctx.name)
                .with("snapshot", snapshot.id)
                .with("file", &index.file_name)
                .hint(
                    "read this table with Java Paimon, or with a version of siltstone that applies deletion vectors",
                ));
        }
    }
    Ok(())
}
