//! Names of single files: what a name from metadata or from a user must be before it becomes part of a path.
//!
//! Metadata is somebody else's bytes: a name such as `../../other/data` would lead out of the table, and whoever deletes
//! what the metadata names would delete it there. So names are checked where they are decoded, and again where they
//! become paths.

use super::strip_scheme;
use crate::error::{Error, ErrorKind, Result};

/// Why this cannot be the name of one file in one directory; `None` when it can.
pub fn name_fault(name: &str) -> Option<&'static str> {
    // the names of real tables end here
    let odd = |b: u8| matches!(b, 0..=0x1f | b'/' | b'\\' | 0x7f..);
    if !name.bytes().any(odd) && !name.is_empty() && name != "." && name != ".." {
        return None;
    }
    if name.is_empty() {
        Some("it is empty")
    } else if name.contains(['/', '\\']) {
        Some("it contains a slash")
    } else if name == "." || name == ".." {
        Some("it names a directory")
    } else if name.chars().any(char::is_control) {
        Some("it contains a control character")
    } else {
        None
    }
}

/// A name that metadata gives a file; `field` is where it stands. `CorruptFile` when it is not a plain file name.
pub fn check_file_name(field: &'static str, name: &str) -> Result<()> {
    match name_fault(name) {
        None => Ok(()),
        Some(why) => Err(bad_name(field, name, why)),
    }
}

#[cold]
fn bad_name(field: &'static str, name: &str, why: &str) -> Error {
    let message = format!("expected the name of a file, found {name:?}: {why}");
    Error::new(ErrorKind::CorruptFile, message)
        .with("field", field)
        .hint("names in metadata never lead out of their directory: somebody has changed this table's metadata")
}

/// A full path that metadata gives a file outside of the table. `CorruptFile` when it is not absolute, or leads anywhere
/// else than it says.
pub fn check_external_path(path: &str) -> Result<()> {
    let plain = strip_scheme(path);
    let absolute = plain.starts_with('/') || plain.contains("://");
    let why = if !absolute {
        "it is not absolute"
    } else if plain.split(['/', '\\']).any(|part| part == "." || part == "..") {
        "it contains '.' or '..'"
    } else if plain.chars().any(char::is_control) {
        "it contains a control character"
    } else {
        return Ok(());
    };
    Err(Error::new(ErrorKind::CorruptFile, format!("expected the full path of a file, found {path:?}: {why}"))
        .with("field", "_EXTERNAL_PATH"))
}

/// Whether something can exist under this name as a part of one directory entry (`tag-<name>`). New names must pass more.
pub fn can_exist(name: &str) -> bool {
    !name.trim().is_empty() && !name.contains(['/', '\0'])
}

/// Refuses what a user calls a branch, tag or consumer when nothing can exist under such a name.
pub fn check_can_exist(what: &'static str, name: &str) -> Result<()> {
    if can_exist(name) {
        return Ok(());
    }
    let why = if name.trim().is_empty() { "it is blank" } else { "it contains a slash or a zero byte" };
    Err(Error::new(ErrorKind::InvalidArgument, format!("{name:?} cannot be the name of a {what}: {why}"))
        .with(what, name.escape_debug()))
}

/// Why this cannot be a directory below a table (option `data-file.path-directory`); `None` when it can.
pub fn subdirectory_fault(directory: &str) -> Option<&'static str> {
    if directory.starts_with('/') {
        Some("it is absolute")
    } else if directory.contains(':') {
        Some("it contains a colon, as URIs do")
    } else if directory.split('/').any(|part| part == "." || part == "..") {
        Some("it contains '.' or '..'")
    } else {
        directory.strip_suffix('/').unwrap_or(directory).split('/').find_map(name_fault)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_java_gives_files_are_plain() {
        for name in [
            "data-81feb09b-11a9-4594-ac29-e0867ab4b5a1-0.parquet",
            "changelog-1.zst.parquet",
            "manifest-list-0-1",
            "data-é 1.index",
            "a..b",
            ".hidden",
            "...",
        ] {
            check_file_name("_FILE_NAME", name).unwrap();
        }
    }

    #[test]
    fn names_that_lead_elsewhere_are_refused_with_their_field() {
        for name in [
            "",
            ".",
            "..",
            "/",
            "/etc/passwd",
            "../x",
            "a/b",
            "a/../b",
            "x/",
            "a\\b",
            "..\\x",
            "a\0",
            "a\n",
            "\u{7f}",
            "\u{85}",
        ] {
            let error = check_file_name("_FILE_NAME", name).unwrap_err();
            assert_eq!(
                (error.kind(), error.context_value("field")),
                (ErrorKind::CorruptFile, Some("_FILE_NAME")),
                "{name:?}"
            );
        }
    }

    #[test]
    fn external_paths_are_absolute_and_lead_where_they_say() {
        for path in ["/x/bucket-0/d", "file:/x/d", "file:///x/d", "FILE:///x/d", "s3://b/x/d", "/x//d"] {
            check_external_path(path).unwrap();
        }
        for path in ["", "x/d", "./d", "/x/../d", "file:x/d", "/x/./d", "/x/..", "/x/a\\..\\d", "/x\n/d", "/x\0"] {
            assert_eq!(check_external_path(path).unwrap_err().kind(), ErrorKind::CorruptFile, "{path:?}");
        }
    }

    #[test]
    fn names_of_branches_and_consumers_are_one_part_of_a_path() {
        for name in ["a", "2026-Q4", "a b ", "..", "a\\b"] {
            check_can_exist("branch", name).unwrap();
        }
        for name in ["", " ", "/", "a/b", "a/../..", "a\0"] {
            assert_eq!(check_can_exist("branch", name).unwrap_err().kind(), ErrorKind::InvalidArgument, "{name:?}");
        }
    }

    #[test]
    fn data_directories_stay_below_the_table() {
        for directory in ["data", "data/", "a/b", "a b"] {
            assert_eq!(subdirectory_fault(directory), None, "{directory}");
        }
        for directory in ["/data", "..", "../x", "a/..", "a/../b", "a//b", ".", "./a", "file:/x", "a\\..", "a\n"] {
            assert!(subdirectory_fault(directory).is_some(), "{directory:?}");
        }
    }
}
