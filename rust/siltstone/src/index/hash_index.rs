//! Index files of type `HASH`: the hashes of all keys of one bucket of a table with dynamic buckets.
//!
//! ```text
//! i32 BE hash, as many as `_ROW_COUNT` says; distinct, in any order
//! ```
//!
//! Source: format chapter 8.3; `HashIndexFile`, `IntFileUtils`. Stricter than Java: a file that does not have the size that its
//! entry says is broken.

use std::sync::Arc;

use crate::{
    cancel,
    error::{Error, ErrorKind, Result},
    fs::FileIoRef,
    limits,
    manifest::{BucketId, EntryKind, IndexManifestEntry},
    options::CoreOptions,
    path::{MetaNames, PathFactory},
};

/// `_INDEX_TYPE` of index files that hold hashes of keys.
pub const HASH: &str = "HASH";
/// The largest number of a bucket that has such a file: Java keeps them in 15 bits.
pub const LAST_BUCKET: u16 = 32_766;

/// What to do about an index file that is missing, broken, or of other keys.
pub const MEND_INDEX: &str = "restore the file from a backup, roll back to a version that is whole, or overwrite the partition with its own rows: its \
     index is made anew";

/// Bytes that are read at once.
const PIECE: u64 = 1 << 20;

/// Reads and writes the hash index files of a table.
#[derive(Clone, Debug)]
pub struct HashIndexFiles {
    fs: FileIoRef,
    paths: Arc<PathFactory>,
    names: Arc<MetaNames>,
    sync: bool,
}

impl HashIndexFiles {
    /// For a table with these options.
    pub fn new(fs: &FileIoRef, paths: &Arc<PathFactory>, options: &CoreOptions) -> Self {
        let (fs, paths) = (Arc::clone(fs), Arc::clone(paths));
        Self { fs, paths, names: Arc::new(MetaNames::new()), sync: options.sync }
    }

    /// The bucket of an index file, and how many hashes it has, as its entry says.
    ///
    /// # Errors
    /// `CorruptFile` for an entry that no writer makes.
    pub fn described(&self, entry: &IndexManifestEntry) -> Result<(u16, usize)> {
        let bucket = u16::try_from(entry.bucket).ok().filter(|bucket| *bucket <= LAST_BUCKET);
        let bucket =
            bucket.ok_or_else(|| self.broken(entry, "a bucket from 0 to 32766").with("found", entry.bucket))?;
        let count = usize::try_from(entry.row_count).ok();
        let sized = entry.row_count.checked_mul(4) == Some(entry.file_size);
        let count = count.filter(|_| sized).ok_or_else(|| {
            let found = format!("{} hashes in {} bytes", entry.row_count, entry.file_size);
            self.broken(entry, "four bytes for each hash").with("found", found)
        })?;
        Ok((bucket, count))
    }

    /// Gives each hash to `visit`.
    ///
    /// # Errors
    /// `FileNotFound` when it is gone; `CorruptFile` when it has not the size that its entry says.
    pub fn read(&self, entry: &IndexManifestEntry, mut visit: impl FnMut(i32) -> Result<()>) -> Result<()> {
        self.described(entry)?;
        let path = self.paths.index_file_of(entry)?;
        let opened = self.fs.open(&path).and_then(|input| input.size().map(|size| (input, size)));
        let (input, size) = opened.map_err(|e| match e.kind() {
            ErrorKind::FileNotFound => e.hint(MEND_INDEX),
            _ => e,
        })?;
        if i64::try_from(size) != Ok(entry.file_size) {
            let expected = format!("{} bytes as the manifest says", entry.file_size);
            return Err(Error::corrupt(path, 0, expected, size).hint(MEND_INDEX));
        }
        let mut at = 0;
        while at < size {
            cancel::check()?;
            let length = PIECE.min(size - at);
            let bytes = input.read_range(at, length)?;
            let (hashes, _) = bytes.as_chunks::<4>();
            hashes.iter().try_for_each(|hash| visit(i32::from_be_bytes(*hash)))?;
            at += length;
        }
        Ok(())
    }

    /// Writes the whole index of a bucket.
    pub fn write(&self, bucket: &BucketId, hashes: &[i32]) -> Result<IndexManifestEntry> {
        let mut bytes = Vec::new();
        limits::reserve(&mut bytes, hashes.len().saturating_mul(4), "the index of the keys of a bucket")?;
        bytes.extend(hashes.iter().flat_map(|hash| hash.to_be_bytes()));
        let entry = IndexManifestEntry {
            kind: EntryKind::Add,
            partition: bucket.partition.clone(),
            bucket: bucket.bucket,
            index_type: HASH.to_owned(),
            file_name: self.names.index_file(),
            file_size: i64::try_from(bytes.len()).unwrap_or(i64::MAX),
            row_count: i64::try_from(hashes.len()).unwrap_or(i64::MAX),
            deletion_vectors: None,
            external_path: None,
            global_index: None,
        };
        self.fs.write_new_unsynced(&self.paths.index_file_of(&entry)?, &bytes, self.sync)?;
        Ok(entry)
    }

    /// Deletes an index file that nothing refers to; a failure is logged.
    pub fn delete(&self, entry: &IndexManifestEntry) {
        if let Err(error) = self.paths.index_file_of(entry).and_then(|path| self.fs.delete(&path)) {
            tracing::warn!(file = entry.file_name, %error, "an unused index file was not deleted");
        }
    }

    fn broken(&self, entry: &IndexManifestEntry, expected: &str) -> Error {
        let file = self.paths.index_file_of(entry).unwrap_or_else(|_| entry.file_name.clone());
        Error::new(ErrorKind::CorruptFile, "an index manifest describes a hash index that cannot be")
            .with("file", file)
            .with("expected", expected)
            .hint(MEND_INDEX)
    }
}

/// A number that tells the hash index files of a partition from any others: which keys are known, and where.
pub fn version_of<'a>(entries: impl Iterator<Item = &'a IndexManifestEntry>) -> u128 {
    let mut names: Vec<(i32, &str)> = entries.map(|entry| (entry.bucket, entry.file_name.as_str())).collect();
    names.sort_unstable();
    let mut version = FNV_BASIS;
    for (bucket, name) in names {
        let bytes = bucket.to_be_bytes().into_iter().chain(name.bytes()).chain([0]);
        version = bytes.fold(version, |hash, byte| (hash ^ u128::from(byte)).wrapping_mul(FNV_PRIME));
    }
    version
}

const FNV_BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
const FNV_PRIME: u128 = 0x0100_0000_0000_0000_0000_013b;
