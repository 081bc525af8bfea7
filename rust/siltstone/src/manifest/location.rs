//! Where the files live that manifests name (format chapter 1.4).

use super::{DataFileMeta, IndexManifestEntry};
use crate::{error::Result, fs::strip_scheme, path::PathFactory};

impl PathFactory {
    /// Full path of a data file: its external path, else its name in the bucket's directory.
    pub fn data_file(&self, partition: &[u8], bucket: i32, file: &DataFileMeta) -> Result<String> {
        match &file.external_path {
            Some(path) => Ok(strip_scheme(path).to_owned()),
            None => Ok(format!("{}/{}", self.bucket_dir(partition, bucket)?, file.file_name)),
        }
    }

    /// Full paths of a data file's extra files: they are in its directory.
    pub fn extra_files(&self, partition: &[u8], bucket: i32, file: &DataFileMeta) -> Result<Vec<String>> {
        let path = self.data_file(partition, bucket, file)?;
        let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
        Ok(file.extra_files.iter().map(|name| format!("{directory}/{name}")).collect())
    }

    /// Full path of an index file: its external path, else its name in the index directory.
    pub fn index_file_of(&self, entry: &IndexManifestEntry) -> Result<String> {
        match &entry.external_path {
            Some(path) => Ok(strip_scheme(path).to_owned()),
            None => Ok(format!("{}/{}", self.index_dir_of(&entry.partition, entry.bucket)?, entry.file_name)),
        }
    }
}
