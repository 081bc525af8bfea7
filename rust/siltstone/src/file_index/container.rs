//! The container: which indexes a file has, and where they are in it (format chapter 9.2).
//!
//! ```text
//! i64 magic | i32 version 1 | i32 head length | i32 columns
//!   each column:  UTF name | i32 indexes
//!   each index:   UTF kind | i32 start, -1 = no value but null | i32 length
//! i32 length of what is not used | what is not used
//! the indexes
//! ```
//!
//! UTF: u16 length and Java's modified UTF-8. All numbers are big-endian.
//!
//! Source: `FileIndexFormat`.

use std::{collections::BTreeMap, sync::Arc};

use bytes::Bytes;

use super::{
    listed::ask_whether_to_stop,
    utf::{modified_utf8, put_utf, read_utf},
};
use crate::{
    codec::ByteReader,
    error::{Error, Result},
    fs::InputFile,
    limits::Taken,
};

const MAGIC: i64 = 1_493_475_289_347_502;
const VERSION: i32 = 1;
/// Magic, version and head length.
const FIXED: u64 = 16;
/// Asked for at first.
const FIRST_READ: u64 = 4096;
/// What a column takes in memory beside its name, and the first of its indexes.
const COLUMN_BYTES: usize = 768;
/// What an index takes beside its name.
const INDEX_BYTES: usize = 128;
/// Instead of a start: all values are null.
const NO_VALUE: i32 = -1;

/// Where an index is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexPlace {
    /// The column has no value but null.
    NoValue,
    /// There, in the container.
    At {
        /// first byte
        start: u64,
        /// bytes
        length: u64,
    },
}

/// The container of a data file, its head read.
#[derive(Clone)]
pub struct FileIndex {
    what: String,
    source: Source,
    columns: BTreeMap<String, BTreeMap<String, IndexPlace>>,
}

#[derive(Clone)]
enum Source {
    Bytes(Bytes),
    File(Arc<dyn InputFile>),
}

impl FileIndex {
    /// A container that was embedded; `what` is for messages.
    pub fn embedded(what: &str, bytes: Bytes) -> Result<Self> {
        let columns = read_head(what, &bytes, bytes.len() as u64)?;
        Ok(Self { what: what.to_owned(), source: Source::Bytes(bytes), columns })
    }

    /// A container that is a file.
    pub fn open(file: Arc<dyn InputFile>) -> Result<Self> {
        let (what, size) = (file.path().to_owned(), file.size()?);
        let mut head = file.read_range(0, FIRST_READ.min(size))?;
        let told = head_length(&what, &head)?;
        if told > head.len() as u64 {
            if told > size {
                return Err(Error::corrupt(&what, 12, format!("a head of at most {size} bytes"), told));
            }
            head = file.read_range(0, told)?;
        }
        let columns = read_head(&what, &head, size)?;
        Ok(Self { what, source: Source::File(file), columns })
    }

    /// The container, for messages.
    pub fn what(&self) -> &str {
        &self.what
    }

    /// The columns that have indexes, by name; of a map the name with a key (`m[k]`). Their indexes by kind.
    pub fn columns(&self) -> &BTreeMap<String, BTreeMap<String, IndexPlace>> {
        &self.columns
    }

    /// The bytes of an index.
    pub fn bytes(&self, start: u64, length: u64) -> Result<Bytes> {
        match &self.source {
            Source::File(file) => file.read_range(start, length),
            Source::Bytes(bytes) => {
                let range = usize::try_from(start).ok().zip(usize::try_from(length).ok());
                let range = range.and_then(|(start, length)| Some(start..start.checked_add(length)?));
                let range = range.filter(|range| range.end <= bytes.len());
                let outside = || Error::corrupt(&self.what, start, format!("{length} bytes"), "the end");
                range.map(|range| bytes.slice(range)).ok_or_else(outside)
            }
        }
    }
}

impl std::fmt::Debug for FileIndex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FileIndex").field("what", &self.what).field("columns", &self.columns).finish_non_exhaustive()
    }
}

/// Whether a container says that no column has an index: such are left where indexes were taken away.
pub fn is_empty_container(bytes: &[u8]) -> bool {
    bytes.get(usize::try_from(FIXED).unwrap_or(0)..).is_some_and(|rest| rest.starts_with(&[0; 4]))
}

fn head_length(what: &str, bytes: &[u8]) -> Result<u64> {
    let mut from = ByteReader::new(what, bytes);
    let (magic, version) = (from.i64_be()?, from.i32_be()?);
    if magic != MAGIC {
        return Err(Error::corrupt(what, 0, "the magic number of a file index", format!("{magic:016x}")));
    }
    if version != VERSION {
        return Err(Error::corrupt(what, 8, format!("version {VERSION} of a file index"), version));
    }
    let length = from.i32_be()?;
    u64::try_from(length).map_err(|_| Error::corrupt(what, 12, "the length of a head", length))
}

/// `size`: of the whole container.
fn read_head(what: &str, bytes: &[u8], size: u64) -> Result<BTreeMap<String, BTreeMap<String, IndexPlace>>> {
    let length = head_length(what, bytes)?;
    let head = usize::try_from(length).ok().and_then(|length| bytes.get(..length));
    let head = head.ok_or_else(|| Error::corrupt(what, 12, format!("a head of at most {size} bytes"), length))?;
    let mut from = ByteReader::new(what, head);
    from.take(usize::try_from(FIXED).unwrap_or(0))?;
    let mut columns: BTreeMap<String, BTreeMap<String, IndexPlace>> = BTreeMap::new();
    let taken = Taken::default();
    let take = |name: &str, beside: usize| {
        let bytes = name.len().saturating_add(beside);
        taken.more(bytes, "the head of a file index").map_err(|e| e.with("file", what))
    };
    for _ in 0..from.count_be(6)? {
        let name = read_utf(&mut from)?;
        take(&name, COLUMN_BYTES)?;
        let indexes = columns.entry(name).or_default();
        for number in 0..from.count_be(10)? {
            ask_whether_to_stop(number)?;
            let kind = read_utf(&mut from)?;
            take(&kind, INDEX_BYTES)?;
            let (start, length) = (from.i32_be()?, from.i32_be()?);
            indexes.insert(kind, place(&from, start, length, size)?);
        }
    }
    // what follows is not used
    Ok(columns)
}

fn place(from: &ByteReader<'_>, start: i32, length: i32, size: u64) -> Result<IndexPlace> {
    if start == NO_VALUE {
        return Ok(IndexPlace::NoValue);
    }
    match (u64::try_from(start), u64::try_from(length)) {
        (Ok(start), Ok(length)) if start + length <= size => Ok(IndexPlace::At { start, length }),
        _ => Err(from.error(format!("an index inside of {size} bytes"), format!("{length} bytes from {start} on"))),
    }
}

/// Indexes by kind; `None`: there is no value but null.
pub type Indexes<'a> = Vec<(&'a str, Option<Vec<u8>>)>;

/// A container with these indexes of columns, and with bytes that nobody reads.
///
/// # Errors
/// `UnsupportedFeature`: a name is too long, or the indexes are.
pub fn encode_container(columns: &BTreeMap<String, Indexes<'_>>, unused: &[u8]) -> Result<Vec<u8>> {
    let names = columns.iter().map(|(name, indexes)| {
        let kinds: usize = indexes.iter().map(|(kind, _)| 2 + kind.len() + 8).sum();
        2 + modified_utf8(name).len() + 4 + kinds
    });
    let head = 20 + names.sum::<usize>() + 4 + unused.len();
    let total = head + columns.values().flatten().flat_map(|(_, b)| b).map(Vec::len).sum::<usize>();
    let too_long = || Error::unsupported("indexes of one data file of 2 GiB or more");
    i32::try_from(total).map_err(|_| too_long())?;
    let number = |length: usize| i32::try_from(length).map_err(|_| too_long());
    let mut out = MAGIC.to_be_bytes().to_vec();
    out.extend_from_slice(&VERSION.to_be_bytes());
    out.extend_from_slice(&number(head)?.to_be_bytes());
    out.extend_from_slice(&number(columns.len())?.to_be_bytes());
    let mut body: Vec<u8> = Vec::new();
    for (name, indexes) in columns {
        put_utf(&mut out, name)?;
        out.extend_from_slice(&number(indexes.len())?.to_be_bytes());
        for (kind, bytes) in indexes {
            put_utf(&mut out, kind)?;
            let (start, length) = match bytes {
                Some(bytes) => (number(head + body.len())?, number(bytes.len())?),
                None => (NO_VALUE, 0),
            };
            out.extend_from_slice(&start.to_be_bytes());
            out.extend_from_slice(&length.to_be_bytes());
            body.extend(bytes.iter().flatten());
        }
    }
    out.extend_from_slice(&number(unused.len())?.to_be_bytes());
    out.extend_from_slice(unused);
    out.extend(body);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::{from_hex, to_hex};

    /// Java's, of the column `v` with a bloom filter.
    const JAVA: &str = "00054e4ed01a35ae0000000100000035000000010001760000000100\
        0c626c6f6f6d2d66696c74657200000035000000220000000000000003000000000080000000800000000000000000010000000000000000000000";

    #[test]
    fn containers_are_read_and_written_as_java_does() {
        let bytes = from_hex(&JAVA.replace(' ', "")).unwrap();
        let read = FileIndex::embedded("x", bytes.clone().into()).unwrap();
        let place = IndexPlace::At { start: 53, length: 34 };
        assert_eq!(read.columns()["v"]["bloom-filter"], place);
        let index = read.bytes(53, 34).unwrap().to_vec();
        let written = encode_container(&[("v".to_owned(), vec![("bloom-filter", Some(index))])].into(), &[]).unwrap();
        assert_eq!(to_hex(&written), to_hex(&bytes));
    }

    #[test]
    fn columns_without_values_have_no_index() {
        let written = encode_container(&[("m[k]".to_owned(), vec![("bitmap", None)])].into(), b"unused").unwrap();
        let read = FileIndex::embedded("x", written.into()).unwrap();
        assert_eq!(read.columns()["m[k]"]["bitmap"], IndexPlace::NoValue);
    }
}
