//! Commit messages and splits as Java serializes them, to travel between processes and engines.
//!
//! ```text
//! message  bytes partition | int bucket | bool, int total buckets
//!          data increment: new, deleted, changelog files; new, deleted index files
//!          compact increment: before, after, changelog files; new, deleted index files
//!          (ours, which Java leaves unread) int "HASH", UTF writer, bytes version of the hash index that rows were assigned
//!          by; int "SEEN", long snapshot that a compaction looked keys up in, UTF its
//!          delta list, names of files made since; int "DROP", int count, each int level, bytes smallest and largest
//!          key, long sequence number, names of known files
//! split    long magic | int version 8 | long snapshot | bytes partition | int bucket | UTF bucket path
//!          bool, int total buckets | data files from before | deletion files from before
//!          data files | deletion files | bool streaming | bool raw convertible
//!          (release 1.4 leaves the files from before empty and has a split of its own for them)
//! deletion files  byte 0: none; else byte 1, int count, each byte 0 or
//!          byte 1, UTF path, long offset, long length, long cardinality (-1: unknown)
//! ```
//!
//! Source: `CommitMessageSerializer` (version 11), `DataSplit.serialize` (version 8) of release 1.4.2.

mod data;
mod files;
mod layout;
mod own;
#[cfg(test)]
mod tests;

use data::{DataInput, DataOutput};
use files::{read_data_files, read_index_files, write_data_files, write_index_files};
use own::{Own, read_own, write_own};

use super::{CommitMessage, Split};
use crate::{
    error::{Error, ErrorKind, Result},
    manifest::{BucketId, CompactIncrement, DataFileMeta, DataIncrement, DeletionVectorRange, EntryKind},
};

const SPLIT_MAGIC: i64 = -2_394_839_472_490_812_314;
const SPLIT_VERSION: i32 = 8;

impl CommitMessage {
    /// Java's `CommitMessageSerializer.CURRENT_VERSION`; the bytes do not hold it.
    pub const VERSION: i32 = 11;

    /// The bytes that Java's `CommitMessageSerializer` gives.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut out = DataOutput::default();
        out.bytes(&self.bucket.partition)?;
        out.int(self.bucket.bucket);
        out.bool(true);
        out.int(self.total_buckets);
        let (data, compact) = (&self.data, &self.compact);
        for files in [&data.new_files, &data.deleted_files, &data.changelog_files] {
            write_data_files(&mut out, files)?;
        }
        write_index_files(&mut out, &self.bucket, &data.index_files, EntryKind::Add)?;
        write_index_files(&mut out, &self.bucket, &data.index_files, EntryKind::Delete)?;
        for files in [&compact.compact_before, &compact.compact_after, &compact.changelog_files] {
            write_data_files(&mut out, files)?;
        }
        write_index_files(&mut out, &self.bucket, &compact.index_files, EntryKind::Add)?;
        write_index_files(&mut out, &self.bucket, &compact.index_files, EntryKind::Delete)?;
        write_own(&mut out, self)?;
        Ok(out.into_bytes())
    }

    /// From the bytes that Java's `CommitMessageSerializer` gives.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut input = DataInput::new("commit message", bytes);
        let bucket = read_bucket(&mut input)?;
        let total_buckets = read_total_buckets(&mut input)?.ok_or_else(|| {
            Error::new(ErrorKind::UnsupportedVersion, "the commit message does not say how many buckets the table had")
                .hint("Write and commit with the same release.")
        })?;
        let mut data = DataIncrement {
            new_files: read_data_files(&mut input)?,
            deleted_files: read_data_files(&mut input)?,
            changelog_files: read_data_files(&mut input)?,
            index_files: read_index_files(&mut input, &bucket, EntryKind::Add)?,
        };
        data.index_files.extend(read_index_files(&mut input, &bucket, EntryKind::Delete)?);
        let mut compact = CompactIncrement {
            compact_before: read_data_files(&mut input)?,
            compact_after: read_data_files(&mut input)?,
            changelog_files: read_data_files(&mut input)?,
            index_files: read_index_files(&mut input, &bucket, EntryKind::Add)?,
            dropped: Vec::new(),
        };
        compact.index_files.extend(read_index_files(&mut input, &bucket, EntryKind::Delete)?);
        let Own { seen, dropped, assigned } = read_own(&mut input)?;
        compact.dropped = dropped;
        input.finish()?;
        Ok(Self { bucket, total_buckets, data, compact, seen, after: None, assigned })
    }
}

impl Split {
    /// The bytes that Java's `DataSplit.serialize` gives.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut out = DataOutput::default();
        out.long(SPLIT_MAGIC);
        out.int(SPLIT_VERSION);
        out.long(self.snapshot_id);
        out.bytes(&self.bucket.partition)?;
        out.int(self.bucket.bucket);
        out.utf(&self.bucket_path)?;
        out.bool(true);
        out.int(self.total_buckets);
        write_data_files(&mut out, &self.before_files)?;
        write_deletion_files(&mut out, self.before_deletion_files.as_deref())?;
        write_data_files(&mut out, &self.files)?;
        write_deletion_files(&mut out, self.deletion_files.as_deref())?;
        out.bool(self.is_streaming);
        out.bool(self.raw_convertible);
        Ok(out.into_bytes())
    }

    /// From the bytes that Java's `DataSplit.serialize` gives.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut input = DataInput::new("split", bytes);
        let magic = input.long()?;
        let version = if magic == SPLIT_MAGIC { input.int()? } else { 1 };
        if version != SPLIT_VERSION {
            let text = format!("a split of version {version} cannot be read, only version {SPLIT_VERSION}");
            return Err(Error::new(ErrorKind::UnsupportedVersion, text).hint("Plan and read with the same release."));
        }
        let snapshot_id = input.long()?;
        let bucket = read_bucket(&mut input)?;
        let bucket_path = input.utf()?;
        // -1 stands for "not said", as for tables whose number of buckets is not fixed
        let total_buckets = read_total_buckets(&mut input)?.unwrap_or(-1);
        let before_files = read_data_files(&mut input)?;
        let before_deletion_files = read_deletion_files(&mut input, &before_files)?;
        let files = read_data_files(&mut input)?;
        let deletion_files = read_deletion_files(&mut input, &files)?;
        let is_streaming = input.bool()?;
        let raw_convertible = input.bool()?;
        input.finish()?;
        Ok(Self {
            snapshot_id,
            snapshot_list: None,
            bucket,
            total_buckets,
            bucket_path,
            files,
            deletion_files,
            raw_convertible,
            is_streaming,
            before_files,
            before_deletion_files,
        })
    }
}

fn read_bucket(input: &mut DataInput<'_>) -> Result<BucketId> {
    let partition = input.bytes()?.to_vec();
    if partition.len() < 12 {
        return Err(input.corrupt("a serialized partition", format!("{} bytes", partition.len())));
    }
    Ok(BucketId { partition, bucket: input.int()? })
}

fn read_total_buckets(input: &mut DataInput<'_>) -> Result<Option<i32>> {
    if input.bool()? { input.int().map(Some) } else { Ok(None) }
}

type DeletionFile = Option<(String, DeletionVectorRange)>;

fn write_deletion_files(out: &mut DataOutput, files: Option<&[DeletionFile]>) -> Result<()> {
    let Some(files) = files else {
        out.bool(false);
        return Ok(());
    };
    out.bool(true);
    out.len(files.len())?;
    for file in files {
        out.bool(file.is_some());
        if let Some((path, range)) = file {
            out.utf(path)?;
            out.long(i64::from(range.offset));
            out.long(i64::from(range.length));
            out.long(range.cardinality.unwrap_or(-1));
        }
    }
    Ok(())
}

fn read_deletion_files(input: &mut DataInput<'_>, files: &[DataFileMeta]) -> Result<Option<Vec<DeletionFile>>> {
    if !input.bool()? {
        return Ok(None);
    }
    let len = input.len()?;
    if len != files.len() {
        return Err(input.corrupt("one deletion file for each data file", len));
    }
    files.iter().map(|file| read_deletion_file(input, file)).collect::<Result<_>>().map(Some)
}

fn read_deletion_file(input: &mut DataInput<'_>, file: &DataFileMeta) -> Result<DeletionFile> {
    if !input.bool()? {
        return Ok(None);
    }
    let path = input.utf()?;
    let (offset, length, cardinality) = (input.long()?, input.long()?, input.long()?);
    let narrow = |value: i64| i32::try_from(value).map_err(|_| input.corrupt("a 32-bit place in an index file", value));
    let range = DeletionVectorRange {
        data_file_name: file.file_name.clone(),
        offset: narrow(offset)?,
        length: narrow(length)?,
        cardinality: (cardinality != -1).then_some(cardinality),
    };
    Ok(Some((path, range)))
}
