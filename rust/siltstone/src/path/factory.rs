//! Directories of one table.

use super::escape;
use crate::{
    error::{Error, ErrorKind, Result},
    fs::check_file_name,
    options::{CoreOptions, POSTPONE_BUCKET},
    row::{BinaryRow, Datum, datum_to_legacy_text, datum_to_text},
    schema::{TableSchema, check_data_directory},
    types::DataType,
};

/// Paths of one table. Data, manifests, index files and statistics of all branches live below the main table's root.
#[derive(Clone, Debug, PartialEq)]
pub struct PathFactory {
    location: String,
    data_root: String,
    /// Option `data-file.path-directory`.
    directory: Option<String>,
    partition_names: Vec<String>,
    partition_types: Vec<DataType>,
    default_partition: String,
    legacy_names: bool,
    index_in_bucket: bool,
}

/// Where a branch keeps its `schema`, `snapshot`, `tag`, `changelog` and `consumer`.
pub fn branch_root(location: &str, branch: &str) -> String {
    let location = location.trim_end_matches('/');
    if branch.is_empty() || branch == "main" {
        location.to_owned()
    } else {
        format!("{location}/branch/branch-{branch}")
    }
}

impl PathFactory {
    /// Paths of the table at `location` (the main table's root, also for a branch).
    pub fn new(location: &str, schema: &TableSchema, options: &CoreOptions) -> Self {
        let location = location.trim_end_matches('/').to_owned();
        let directory = options.data_file_path_directory.as_deref().map(str::trim).filter(|d| !d.is_empty());
        let data_root = directory.map_or_else(|| location.clone(), |directory| resolve(&location, directory));
        let directory = directory.map(str::to_owned);
        let fields = schema.partition_fields();
        Self {
            location,
            data_root,
            directory,
            partition_names: fields.iter().map(|f| f.name.clone()).collect(),
            partition_types: fields.iter().map(|f| f.data_type.clone()).collect(),
            default_partition: options.partition_default_name.clone(),
            legacy_names: options.partition_legacy_name,
            index_in_bucket: options.index_file_in_data_file_dir,
        }
    }

    /// The main table's root.
    pub fn location(&self) -> &str {
        &self.location
    }

    /// Where partitions and buckets are.
    pub fn data_root(&self) -> &str {
        &self.data_root
    }

    /// An error when the data root may lie outside of the table: see [`check_data_directory`].
    pub fn check_data_root(&self) -> Result<()> {
        check_data_directory(self.directory.as_deref())
    }

    /// Names of the partition keys, in their order.
    pub fn partition_names(&self) -> &[String] {
        &self.partition_names
    }

    /// Types of the partition keys.
    pub fn partition_types(&self) -> &[DataType] {
        &self.partition_types
    }

    /// Where a branch keeps its metadata.
    pub fn branch_root(&self, branch: &str) -> String {
        branch_root(&self.location, branch)
    }

    /// Directory of `schema-<n>`.
    pub fn schema_dir(&self, branch: &str) -> String {
        format!("{}/schema", self.branch_root(branch))
    }

    /// Directory of `snapshot-<n>`.
    pub fn snapshot_dir(&self, branch: &str) -> String {
        format!("{}/snapshot", self.branch_root(branch))
    }

    /// Directory of `tag-<name>`.
    pub fn tag_dir(&self, branch: &str) -> String {
        format!("{}/tag", self.branch_root(branch))
    }

    /// Directory of manifests, manifest lists and index manifests.
    pub fn manifest_dir(&self) -> String {
        format!("{}/manifest", self.location)
    }

    /// A file of the manifest directory; `CorruptFile` when the name is not one.
    pub fn manifest(&self, name: &str) -> Result<String> {
        check_file_name("a manifest's name", name)?;
        Ok(format!("{}/manifest/{name}", self.location))
    }

    /// Directory of index files that are not kept beside the data.
    pub fn index_dir(&self) -> String {
        format!("{}/index", self.location)
    }

    /// Directory where a bucket's index files go: `index/`, or with `index-file-in-data-file-dir` the bucket's.
    pub fn index_dir_of(&self, partition: &[u8], bucket: i32) -> Result<String> {
        if self.index_in_bucket { self.bucket_dir(partition, bucket) } else { Ok(self.index_dir()) }
    }

    /// A statistics file; `CorruptFile` when the name is not one.
    pub fn statistics(&self, name: &str) -> Result<String> {
        check_file_name("a statistics file's name", name)?;
        Ok(format!("{}/statistics/{name}", self.location))
    }

    /// Directory of a bucket; `partition` is a serialized `BinaryRow`.
    pub fn bucket_dir(&self, partition: &[u8], bucket: i32) -> Result<String> {
        let directory = self.partition_dir(partition)?;
        Ok(if bucket == POSTPONE_BUCKET {
            format!("{directory}/bucket-postpone")
        } else {
            format!("{directory}/bucket-{bucket}")
        })
    }

    /// Directory of a partition; without partition keys the directory of the buckets.
    pub fn partition_dir(&self, partition: &[u8]) -> Result<String> {
        let path = self.partition_path(partition)?;
        Ok(if path.is_empty() { self.data_root.clone() } else { format!("{}/{path}", self.data_root) })
    }

    /// `<key>=<value>/…` below the data root; empty without partition keys.
    pub fn partition_path(&self, partition: &[u8]) -> Result<String> {
        let spec = self.partition_spec(partition)?;
        let levels = spec.iter().map(|(name, value)| format!("{}={}", escape(name), escape(value)));
        Ok(levels.collect::<Vec<_>>().join("/"))
    }

    /// As [`Self::partition_path`], for people: days and times as conditions and specs have them, whatever directories do.
    pub fn partition_shown(&self, partition: &[u8]) -> Result<String> {
        let shown = |(name, value, data_type): (&String, Datum, &DataType)| {
            format!("{}={}", escape(name), escape(&self.value_text(&value, data_type, datum_to_text)))
        };
        Ok(self.partition_values(partition)?.into_iter().map(shown).collect::<Vec<_>>().join("/"))
    }

    /// Name and text of each partition value, as directories have them before escaping.
    pub fn partition_spec(&self, partition: &[u8]) -> Result<Vec<(String, String)>> {
        let text = if self.legacy_names { datum_to_legacy_text } else { datum_to_text };
        let values = self.partition_values(partition)?.into_iter();
        Ok(values.map(|(name, value, data_type)| (name.clone(), self.value_text(&value, data_type, text))).collect())
    }

    /// Name, value and type of each partition key.
    fn partition_values(&self, partition: &[u8]) -> Result<Vec<(&String, Datum, &DataType)>> {
        if self.partition_names.is_empty() {
            return Ok(Vec::new());
        }
        let row = BinaryRow::from_serialized(partition)?;
        if row.arity() != self.partition_types.len() {
            return Err(Error::new(
                ErrorKind::CorruptFile,
                format!(
                    "a partition has {} values, the table has {} partition keys",
                    row.arity(),
                    self.partition_types.len()
                ),
            ));
        }
        let values = row.datums(&self.partition_types)?;
        let named = self.partition_names.iter().zip(values.into_iter().zip(&self.partition_types));
        Ok(named.map(|(name, (value, data_type))| (name, value, data_type)).collect())
    }

    /// Null and blank values share the default partition's directory.
    fn value_text(&self, value: &Datum, data_type: &DataType, text: fn(&Datum, &DataType) -> String) -> String {
        let text = if value.is_null() { String::new() } else { text(value, data_type) };
        if text.chars().all(is_java_whitespace) { self.default_partition.clone() } else { text }
    }
}

/// A directory as Java's `Path` joins it to its parent: an absolute one takes the parent's place, `..` leaves a part out.
fn resolve(parent: &str, directory: &str) -> String {
    if directory.starts_with('/') {
        return directory.trim_end_matches('/').to_owned();
    }
    let mut parts: Vec<&str> = parent.split('/').collect();
    for part in directory.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            other => parts.push(other),
        }
    }
    parts.join("/")
}

/// `Character.isWhitespace`, which knows no no-break spaces but the separators U+001C to U+001F.
fn is_java_whitespace(c: char) -> bool {
    match c {
        '\u{1C}'..='\u{1F}' => true,
        '\u{85}' | '\u{A0}' | '\u{2007}' | '\u{202F}' => false,
        other => other.is_whitespace(),
    }
}
