//! What becomes of a branch's tags when main goes forward to it.

use crate::{
    error::{ErrorKind, Result},
    fs::{FileIoRef, read_json},
    snapshot::{Snapshot, Tag, TagManager},
};

/// Tags of the branch that main gets, by their paths there.
#[derive(Default)]
pub(super) struct Tags {
    /// Main has a copy, which gets what it knows of removals anew. With the lock nobody replaces it meanwhile.
    pub(super) copies: Vec<(String, Tag)>,
    /// Main has none of that name. They come after the versions that they name, and replace nothing: others make tags without the
    /// lock.
    pub(super) new: Vec<(String, Tag)>,
}

impl Tags {
    /// `gone`: tags of main that go before.
    pub(super) fn of(main: &TagManager, branch: &TagManager, gone: &[(String, Snapshot)]) -> Result<Self> {
        let mut come = Self::default();
        for (name, tag) in branch.tags()? {
            let path = main.path(&name);
            if !main.exists(&name)? || gone.iter().any(|(other, _)| *other == name) {
                come.new.push((path, tag));
            } else if is_copy(&main.tag(&name)?, &tag) {
                come.copies.push((path, tag));
            }
        }
        Ok(come)
    }
}

pub(super) fn is_copy(one: &Tag, other: &Tag) -> bool {
    one.snapshot.is_same_version(&other.snapshot)
        && (one.create_time, one.time_retained) == (other.create_time, other.time_retained)
}

/// Publishes tags that main did not have; a note for each name that somebody else has given meanwhile.
pub(super) fn publish_tags(fs: &FileIoRef, tags: Vec<(String, String)>) -> Result<Vec<String>> {
    let mut notes = Vec::new();
    for (path, content) in tags {
        if let Some((directory, _)) = path.rsplit_once('/') {
            fs.create_dir(directory)?;
        }
        match fs.publish(&path, content.as_bytes(), true) {
            Err(e) if e.kind() == ErrorKind::FileExists => {
                if read_json(&**fs, &path)? != content.as_bytes() {
                    let name = path.rsplit_once("/tag-").map_or(path.as_str(), |(_, name)| name);
                    notes.push(format!(
                        "tag '{name}', which was made in main meanwhile, stays; the branch's is not in main"
                    ));
                }
            }
            published => published?,
        }
    }
    Ok(notes)
}
