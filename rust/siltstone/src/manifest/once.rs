//! Each manifest is named once in a version.
//!
//! A second mention brings back what later manifests have deleted.

use std::collections::HashSet;

use super::ManifestFileMeta;
use crate::error::{Error, ErrorKind, Result};

/// `CorruptFile` when a manifest is named twice among those of a list, or of the lists of one version.
pub fn each_once(manifests: &[ManifestFileMeta]) -> Result<()> {
    let mut names: HashSet<&str> = HashSet::with_capacity(manifests.len());
    match manifests.iter().find(|manifest| !names.insert(&manifest.file_name)) {
        Some(twice) => Err(Error::new(ErrorKind::CorruptFile, "a version names a manifest twice")
            .with("manifest", &twice.file_name)
            .hint("roll back to a version that names each manifest once")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::SimpleStats;

    fn named(name: &str) -> ManifestFileMeta {
        ManifestFileMeta {
            file_name: name.to_owned(),
            file_size: 1,
            num_added_files: 1,
            num_deleted_files: 0,
            partition_stats: SimpleStats::empty(),
            schema_id: 0,
            min_bucket: None,
            max_bucket: None,
            min_level: None,
            max_level: None,
            min_row_id: None,
            max_row_id: None,
        }
    }

    #[test]
    fn a_manifest_that_is_named_twice_is_damage_also_with_another_between() {
        each_once(&[named("a"), named("b")]).unwrap();
        let error = each_once(&[named("a"), named("b"), named("a")]).unwrap_err();
        assert_eq!((error.kind(), error.context_value("manifest")), (ErrorKind::CorruptFile, Some("a")));
    }
}
