//! Files that come to level 0 after an alter of what levels mean, by a writer from before it.
//!
//! ```text
//! writer   opens the table under schema 0, writes a file                       … commits it
//! alter                                           makes schema 1: levels mean something else
//! Java                                                                                        moves the file up as it is
//! ```
//!
//! What a file above level 0 holds is told by the schema that it names: under lookups each record has taken in what lies below. A
//! record of level 0 has not, under whatever schema: but Java moves such files up without writing them again. So the file names the
//! newest schema where that one has the same columns, and its bytes mean the same under both.

use std::borrow::Cow;

use super::changes::FileChanges;
use crate::{
    error::Result,
    io::{TableContext, levels_changed},
    manifest::{EntryKind, ManifestEntry},
    schema::TableSchema,
};

/// Makes new files of level 0 that were written under another meaning of levels files of the newest schema, where they can be.
pub(super) fn name_newest_schema(
    ctx: &TableContext,
    newest: &TableSchema,
    changes: &mut Cow<'_, FileChanges>,
) -> Result<()> {
    let is_older = |e: &ManifestEntry| e.kind == EntryKind::Add && e.file.level == 0 && e.file.schema_id < newest.id;
    let mut older: Vec<i64> = changes.files.iter().filter(|e| is_older(e)).map(|e| e.file.schema_id).collect();
    older.sort_unstable();
    older.dedup();
    for id in older {
        let written = ctx.schemas.get(id)?;
        if written.fields != newest.fields || levels_changed(ctx, id, newest.id)?.is_none() {
            continue;
        }
        let files = changes.to_mut().files.iter_mut();
        for entry in files.filter(|e| is_older(e) && e.file.schema_id == id) {
            entry.file.schema_id = newest.id;
        }
    }
    Ok(())
}
