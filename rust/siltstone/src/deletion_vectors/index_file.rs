//! Index files of type `DELETION_VECTORS`: many vectors in one file.

use std::{collections::BTreeMap, sync::Arc};

use bytes::Bytes;

use super::{BitmapKind, DELETION_VECTORS, DeletedRows, DeletionVector, VERSION};
use crate::{
    error::{Error, ErrorKind, Result},
    fs::{FileIoRef, METADATA_BYTES},
    manifest::{BucketId, DeletionVectorRange, EntryKind, IndexManifestEntry},
    options::CoreOptions,
    path::{MetaNames, PathFactory},
};

/// Files up to this size are read at once.
const WHOLE_FILE: u64 = 1 << 20;
/// What lies around the data of a vector: size field and CRC.
const AROUND: u64 = 8;

/// Reads and writes the index files of a table.
///
/// Source: requirement DV-18; `DeletionVectorsIndexFile`.
#[derive(Clone, Debug)]
pub struct DeletionVectorsIndexFile {
    fs: FileIoRef,
    paths: Arc<PathFactory>,
    names: Arc<MetaNames>,
    kind: BitmapKind,
    target_size: u64,
    sync: bool,
}

impl DeletionVectorsIndexFile {
    /// For a table with these options.
    pub fn new(fs: &FileIoRef, paths: &Arc<PathFactory>, options: &CoreOptions) -> Self {
        Self {
            fs: Arc::clone(fs),
            paths: Arc::clone(paths),
            names: Arc::new(MetaNames::new()),
            kind: BitmapKind::of(options),
            target_size: options.deletion_vector_index_file_target_size,
            sync: options.sync,
        }
    }

    /// The encoding of new vectors.
    pub fn kind(&self) -> BitmapKind {
        self.kind
    }

    /// Full path of an index file.
    pub fn path(&self, entry: &IndexManifestEntry) -> Result<String> {
        self.paths.index_file_of(entry)
    }

    /// Bytes of an index file; `FileNotFound` when it is gone.
    pub fn file_size(&self, entry: &IndexManifestEntry) -> Result<u64> {
        self.fs.open(&self.path(entry)?)?.size()
    }

    /// All vectors of an index file, by data file.
    pub fn read_all(&self, entry: &IndexManifestEntry) -> Result<BTreeMap<String, DeletedRows>> {
        let path = self.path(entry)?;
        let bytes = self.fs.read_at_most(&path, METADATA_BYTES).map_err(without_it)?;
        check_version(&path, bytes.first().copied())?;
        let mut vectors = BTreeMap::new();
        for range in entry.deletion_vectors.iter().flatten() {
            let (start, _) = range_of(&path, range)?;
            let at = usize::try_from(start).ok().filter(|at| *at < bytes.len());
            let at = at.ok_or_else(|| outside(&path, range, bytes.len()))?;
            let rows = checked(DeletedRows::parse(&path, start, bytes.slice(at..))?, range)?;
            if vectors.insert(range.data_file_name.clone(), rows).is_some() {
                let text = "an index file has two deletion vectors for one data file";
                return Err(Error::new(ErrorKind::CorruptFile, text)
                    .with("file", &path)
                    .with("data_file", &range.data_file_name));
            }
        }
        Ok(vectors)
    }

    /// The vector at a range of an index file (full path).
    pub fn read(fs: &FileIoRef, path: &str, range: &DeletionVectorRange) -> Result<DeletedRows> {
        let opened = fs.open(path).and_then(|input| input.size().map(|size| (input, size)));
        let (input, size) = opened.map_err(without_it)?;
        let (start, length) = range_of(path, range)?;
        let end = start.saturating_add(length).saturating_add(AROUND).min(size);
        if start >= end {
            return Err(outside(path, range, size));
        }
        let bytes: Bytes = if size <= WHOLE_FILE {
            let whole = input.read_range(0, size)?;
            check_version(path, whole.first().copied())?;
            let at = |place: u64| usize::try_from(place).unwrap_or(usize::MAX);
            let inside = at(end) <= whole.len();
            if !inside {
                return Err(outside(path, range, size));
            }
            whole.slice(at(start)..at(end))
        } else {
            check_version(path, input.read_range(0, 1)?.first().copied())?;
            input.read_range(start, end - start)?
        };
        checked(DeletedRows::parse(path, start, bytes)?, range)
    }

    /// Writes all vectors of a bucket into one index file. Vectors without rows are left out.
    pub fn write(&self, bucket: &BucketId, vectors: &mut BTreeMap<String, Held>) -> Result<IndexManifestEntry> {
        let mut files = self.write_files(bucket, vectors, u64::MAX)?;
        files.pop().ok_or_else(|| Error::new(ErrorKind::Internal, "no index file was written"))
    }

    /// Writes vectors into as many index files as `deletion-vector.index-file.target-size` asks for; none for none.
    pub fn write_rolling(
        &self,
        bucket: &BucketId,
        vectors: &mut BTreeMap<String, Held>,
    ) -> Result<Vec<IndexManifestEntry>> {
        vectors.retain(|_, vector| !vector.is_empty());
        if vectors.is_empty() {
            return Ok(Vec::new());
        }
        self.write_files(bucket, vectors, self.target_size)
    }

    /// Deletes an index file that nothing refers to; a failure is logged.
    pub fn delete(&self, entry: &IndexManifestEntry) {
        if let Err(error) = self.path(entry).and_then(|path| self.fs.delete(&path)) {
            tracing::warn!(file = entry.file_name, %error, "an unused index file was not deleted");
        }
    }

    fn write_files(
        &self,
        bucket: &BucketId,
        vectors: &mut BTreeMap<String, Held>,
        target: u64,
    ) -> Result<Vec<IndexManifestEntry>> {
        let (mut files, mut bytes, mut ranges) = (Vec::new(), vec![VERSION], Vec::new());
        let written = vectors.iter_mut().filter(|(_, vector)| !vector.is_empty()).try_for_each(|(name, vector)| {
            let offset = i32::try_from(bytes.len()).map_err(|_| too_large())?;
            let length = vector.append_to(&mut bytes)?;
            let cardinality = i64::try_from(vector.cardinality()).unwrap_or(i64::MAX);
            ranges.push(DeletionVectorRange {
                data_file_name: name.clone(),
                offset,
                length,
                cardinality: Some(cardinality),
            });
            // as Java: a file is full when the position has passed the target
            if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > target {
                let full = std::mem::replace(&mut bytes, vec![VERSION]);
                files.push(self.write_file(bucket, &full, std::mem::take(&mut ranges))?);
            }
            Ok(())
        });
        let written = written.and_then(|()| {
            if files.is_empty() || !ranges.is_empty() {
                files.push(self.write_file(bucket, &bytes, std::mem::take(&mut ranges))?);
            }
            Ok(())
        });
        match written {
            Ok(()) => Ok(files),
            Err(error) => {
                for file in &files {
                    self.delete(file);
                }
                Err(error)
            }
        }
    }

    fn write_file(
        &self,
        bucket: &BucketId,
        bytes: &[u8],
        ranges: Vec<DeletionVectorRange>,
    ) -> Result<IndexManifestEntry> {
        let entry = IndexManifestEntry {
            kind: EntryKind::Add,
            partition: bucket.partition.clone(),
            bucket: bucket.bucket,
            index_type: DELETION_VECTORS.to_owned(),
            file_name: self.names.index_file(),
            file_size: i64::try_from(bytes.len()).unwrap_or(i64::MAX),
            row_count: i64::try_from(ranges.len()).unwrap_or(i64::MAX),
            deletion_vectors: Some(ranges),
            external_path: None,
            global_index: None,
        };
        self.fs.write_new_unsynced(&self.path(&entry)?, bytes, self.sync)?;
        Ok(entry)
    }
}

/// A vector on its way into an index file: one that changed, or one whose bytes are copied.
#[derive(Clone, Debug)]
pub enum Held {
    /// As it was read.
    Stored(Arc<DeletedRows>),
    /// Changed.
    Changed(DeletionVector),
}

impl Held {
    /// Whether no row is deleted.
    pub fn is_empty(&self) -> bool {
        self.cardinality() == 0
    }

    /// Whether the row at `position` is deleted.
    pub fn is_deleted(&self, position: u64) -> bool {
        match self {
            Self::Stored(rows) => rows.is_deleted(position),
            Self::Changed(vector) => vector.is_deleted(position),
        }
    }

    /// How many rows are deleted.
    pub fn cardinality(&self) -> u64 {
        match self {
            Self::Stored(rows) => rows.cardinality(),
            Self::Changed(vector) => vector.cardinality(),
        }
    }

    /// The vector, to be changed.
    pub fn change(&mut self) -> Result<&mut DeletionVector> {
        if let Self::Stored(rows) = self {
            *self = Self::Changed(rows.to_vector()?);
        }
        match self {
            Self::Changed(vector) => Ok(vector),
            Self::Stored(_) => Err(Error::new(ErrorKind::Internal, "a vector stayed as it was read")),
        }
    }

    /// The form that is read.
    pub fn rows(&mut self) -> Result<Arc<DeletedRows>> {
        match self {
            Self::Stored(rows) => Ok(Arc::clone(rows)),
            Self::Changed(vector) => Ok(Arc::new(DeletedRows::try_from(vector)?)),
        }
    }

    fn append_to(&mut self, out: &mut Vec<u8>) -> Result<i32> {
        match self {
            Self::Changed(vector) => vector.serialize_into(out),
            Self::Stored(rows) => {
                out.extend_from_slice(rows.bytes());
                i32::try_from(rows.range_length()).map_err(|_| too_large())
            }
        }
    }
}

fn too_large() -> Error {
    Error::new(ErrorKind::LengthExceeded, "the deletion vectors of one index file take more than 2 GiB")
        .hint("compact the table: that removes deleted rows and their vectors")
}

/// Says what helps where an index file is gone.
fn without_it(error: Error) -> Error {
    if error.kind() != ErrorKind::FileNotFound {
        return error;
    }
    error.hint(
        "restore the file from a backup, or roll back to a version that is whole: without it rows that were deleted would be there \
         again",
    )
}

fn check_version(path: &str, version: Option<u8>) -> Result<()> {
    match version {
        Some(VERSION) => Ok(()),
        None => Err(Error::corrupt(path, 0, "the version of a deletion vector index file", "an empty file")),
        Some(other) => Err(Error::new(
            ErrorKind::UnsupportedVersion,
            format!("a deletion vector index file of version {other}, where {VERSION} is known"),
        )
        .with("file", path)
        .with("offset", 0)),
    }
}

/// Offset and length, which must be positive.
fn range_of(path: &str, range: &DeletionVectorRange) -> Result<(u64, u64)> {
    match (u64::try_from(range.offset), u64::try_from(range.length)) {
        (Ok(offset), Ok(length)) if offset > 0 && length > 0 => Ok((offset, length)),
        _ => Err(Error::corrupt(path, 0, "a range of a deletion vector", format!("{}+{}", range.offset, range.length))
            .with("data_file", &range.data_file_name)),
    }
}

fn outside(path: &str, range: &DeletionVectorRange, size: impl std::fmt::Display) -> Error {
    let offset = u64::try_from(range.offset).unwrap_or(0);
    Error::corrupt(path, offset, "a deletion vector", format!("the end of a file of {size} bytes"))
        .with("data_file", &range.data_file_name)
}

/// The range's length and cardinality must be those of the vector.
fn checked(rows: DeletedRows, range: &DeletionVectorRange) -> Result<DeletedRows> {
    let offset = u64::try_from(range.offset).unwrap_or(0);
    let length = rows.range_length();
    if length != i64::from(range.length) {
        let expected = format!("a deletion vector of length {} as the index manifest says", range.length);
        return Err(Error::corrupt(rows.file(), offset, expected, length).with("data_file", &range.data_file_name));
    }
    match range.cardinality {
        Some(said) if i64::try_from(rows.cardinality()).ok() != Some(said) => {
            let expected = format!("{said} deleted rows as the index manifest says");
            let found = rows.cardinality();
            Err(Error::corrupt(rows.file(), offset, expected, found).with("data_file", &range.data_file_name))
        }
        _ => Ok(rows),
    }
}
