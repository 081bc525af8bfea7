//! Where the files live that manifests name (format chapter 1.4).

use super::{DataFileMeta, IndexManifestEntry};
use crate::{error::Result, fs::strip_scheme, path::PathFactory};

impl PathFactory {
    /// Full path of a data file: its external path, else its name in the bucket's directory.
    pub fn data_file(&self, partition: &[u8], bucket: i32, file: &DataFileMeta) -> Result<String> {
        match &file.external_path {
            Some(path) => Ok(strip_scheme(path).to_owned()),
            None => Ok(data_file_in(&self.bucket_dir(partition, bucket)?, file)),
        }
    }

    /// Full paths of a data file's extra files: they are in its directory.
    pub fn extra_files(&self, partition: &[u8], bucket: i32, file: &DataFileMeta) -> Result<Vec<String>> {
        Ok(extra_files_beside(&self.data_file(partition, bucket, file)?, file))
    }

    /// Full path of an index file: its external path, else its name in the index directory.
    pub fn index_file_of(&self, entry: &IndexManifestEntry) -> Result<String> {
        match &entry.external_path {
            Some(path) => Ok(strip_scheme(path).to_owned()),
            None => Ok(format!("{}/{}", self.index_dir_of(&entry.partition, entry.bucket)?, entry.file_name)),
        }
    }
}

/// Full path of a data file, when the directory of its bucket is known: its external path, else its name there.
pub fn data_file_in(bucket_dir: &str, file: &DataFileMeta) -> String {
    match &file.external_path {
        Some(path) => strip_scheme(path).to_owned(),
        None => format!("{bucket_dir}/{}", file.file_name),
    }
}

/// Full paths of the extra files of the data file at `path`.
pub fn extra_files_beside(path: &str, file: &DataFileMeta) -> Vec<String> {
    let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
    file.extra_files.iter().map(|name| format!("{directory}/{name}")).collect()
}
