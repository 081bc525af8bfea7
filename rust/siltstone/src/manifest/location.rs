//! Where the files live that manifests name (format chapter 1.4).

use super::{DataFileMeta, IndexManifestEntry};
use crate::{
    error::Result,
    fs::{check_external_path, check_file_name, strip_scheme},
    path::PathFactory,
};

impl PathFactory {
    /// Full path of a data file: its external path, else its name in the bucket's directory.
    pub fn data_file(&self, partition: &[u8], bucket: i32, file: &DataFileMeta) -> Result<String> {
        check(&file.file_name, file.external_path.as_deref())?;
        let directory = if file.external_path.is_some() { String::new() } else { self.bucket_dir(partition, bucket)? };
        Ok(data_file_in(&directory, &file.file_name, file.external_path.as_deref()))
    }

    /// Full paths of a data file's extra files.
    pub fn extra_files(&self, partition: &[u8], bucket: i32, file: &DataFileMeta) -> Result<Vec<String>> {
        file.extra_files.iter().try_for_each(|name| check_file_name("_EXTRA_FILES", name))?;
        Ok(extra_files_beside(&self.data_file(partition, bucket, file)?, &file.extra_files))
    }

    /// Full path of an index file: its external path, else its name in the index directory.
    pub fn index_file_of(&self, entry: &IndexManifestEntry) -> Result<String> {
        check(&entry.file_name, entry.external_path.as_deref())?;
        match &entry.external_path {
            Some(path) => Ok(strip_scheme(path).to_owned()),
            None => Ok(format!("{}/{}", self.index_dir_of(&entry.partition, entry.bucket)?, entry.file_name)),
        }
    }
}

/// Names are checked when manifests are decoded; this is for those that came another way.
fn check(name: &str, external_path: Option<&str>) -> Result<()> {
    check_file_name("_FILE_NAME", name)?;
    external_path.map_or(Ok(()), check_external_path)
}

/// Full path of a data file, when the directory of its bucket is known: its external path, else its name there.
pub fn data_file_in(bucket_dir: &str, name: &str, external_path: Option<&str>) -> String {
    external_path.map_or_else(|| format!("{bucket_dir}/{name}"), |path| strip_scheme(path).to_owned())
}

/// Full paths of the extra files of the data file at `path`: they are in its directory.
pub fn extra_files_beside(path: &str, extra_files: &[String]) -> Vec<String> {
    let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
    extra_files.iter().map(|name| format!("{directory}/{name}")).collect()
}
