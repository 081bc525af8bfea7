//! BLOB columns: a file of its own for each, with one value after another, or where a value lies instead of the value.
//!
//! ```text
//! value        magic 1481511375 (i32 LE), bytes, length of all of it (i64 LE), CRC-32 of all that (i32 LE); nothing for null
//! end          lengths of all values, -1 for null, as differences in zig-zag varints; bytes of that (i32 LE); version 1
//! descriptor   version 2, magic (i64 LE), length and bytes of the file's URI, offset and length of the value (i64 LE)
//! ```
//!
//! Source: `BlobFormatWriter`, `BlobFileMeta`, `DeltaVarintCompressor`, `BlobDescriptor`.

mod index;
mod writer;

use std::{collections::BTreeMap, sync::Arc};

use arrow_array::{ArrayRef, builder::BinaryBuilder};

use self::index::{Place, read_index};
use super::{
    DataFileReader, DataFormat, Encoding, FileRead, RowsStream, WriteOptions,
    groups::{self, GroupRows, Groups},
    prune::{Block, Claim},
};
use crate::{
    cancel,
    cast::nulls,
    codec::ByteReader,
    error::{Error, Result},
    fs::InputFile,
    limits,
    options::{CoreOptions, parse_bool},
    types::{DataField, TypeKind},
};

/// Its name, which is the end of its files' names.
pub(crate) const NAME: &str = "blob";

const MAGIC: i32 = 1_481_511_375;
const MAGIC_BYTES: [u8; 4] = MAGIC.to_le_bytes();
/// Of a descriptor: `BLOBDESC` and so on, as Java has it.
const DESCRIPTOR_MAGIC: i64 = 4_777_280_450_765_083_459;
/// Bytes around a value: magic, length, checksum.
const AROUND: u64 = 16;
const BEFORE: u64 = 4;
/// A batch ends after so many bytes of values.
const BATCH_BYTES: u64 = 16 << 20;
/// Descriptors come instead of values.
const AS_DESCRIPTOR: &str = "blob-as-descriptor";

/// The format. Files have a single column, and come beside others.
#[derive(Debug)]
pub(in crate::format) struct Blob;

impl DataFormat for Blob {
    fn name(&self) -> &'static str {
        NAME
    }

    /// Those of the first value, where the first row has one.
    fn magic(&self) -> &'static [u8] {
        &MAGIC_BYTES
    }

    fn open(
        &self,
        input: Arc<dyn InputFile>,
        size: u64,
        options: &BTreeMap<String, String>,
    ) -> Result<Arc<dyn DataFileReader>> {
        let described = options.get(AS_DESCRIPTOR).map_or(Ok(false), |text| parse_bool(text));
        let described = described.map_err(|e| e.with("option", AS_DESCRIPTOR))?;
        let places = read_index(&*input, size)?;
        let rows = i64::try_from(places.len()).unwrap_or(i64::MAX);
        Ok(Arc::new(BlobFile { input, places: Arc::new(places), rows: [rows], described }))
    }

    fn encoding(&self, _: WriteOptions<'_>) -> Result<Arc<dyn Encoding>> {
        Ok(Arc::new(writer::BlobEncoding))
    }

    fn compressions(&self) -> &'static [&'static str] {
        &["none"]
    }

    fn check_columns(&self, fields: &[DataField]) -> Result<()> {
        writer::check_columns(fields)
    }

    fn check_options(&self, _: &CoreOptions) -> Vec<Result<()>> {
        Vec::new()
    }
}

/// An open file.
#[derive(Clone)]
struct BlobFile {
    input: Arc<dyn InputFile>,
    /// Shared as it was made: as a slice it would be copied.
    places: Arc<Vec<Option<Place>>>,
    rows: [i64; 1],
    described: bool,
}

impl DataFileReader for BlobFile {
    fn as_any(&self) -> &dyn std::any::Any {
        self
    }

    fn rows(&self) -> i64 {
        self.rows.iter().sum()
    }

    fn read(&self, request: FileRead) -> Result<RowsStream> {
        Ok(groups::read(Arc::new(self.clone()), request))
    }

    fn for_many_reads(&self) -> Result<Arc<dyn DataFileReader>> {
        Ok(Arc::new(self.clone()))
    }

    fn blocks(&self, columns: &[Option<DataField>]) -> Result<Vec<Block>> {
        Ok(groups::blocks(self, columns))
    }

    /// A file says nothing of its values.
    fn claims(&self, columns: &[DataField]) -> Result<Vec<Vec<Claim>>> {
        Ok(vec![Vec::new(); columns.len()])
    }
}

impl Groups for BlobFile {
    fn group_rows(&self) -> &[i64] {
        &self.rows
    }

    fn open(&self, _: usize, columns: &[DataField]) -> Result<Box<dyn GroupRows>> {
        Ok(Box::new(Values { file: self.clone(), columns: columns.to_vec(), at: 0 }))
    }
}

impl std::fmt::Debug for BlobFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BlobFile").field("path", &self.input.path()).finish_non_exhaustive()
    }
}

/// No array holds more bytes.
const LARGEST: usize = i32::MAX as usize;

/// The values from a row on.
struct Values {
    file: BlobFile,
    columns: Vec<DataField>,
    at: usize,
}

impl Values {
    /// Rows whose values come at once.
    fn count(&self, most: usize) -> usize {
        let (mut count, mut bytes) = (0, 0_u64);
        for place in self.file.places.iter().skip(self.at).take(most) {
            bytes = bytes.saturating_add(place.as_ref().map_or(0, |place| place.length));
            if count > 0 && bytes > BATCH_BYTES && !self.file.described {
                break;
            }
            count += 1;
        }
        count
    }

    fn values(&self, count: usize) -> Result<ArrayRef> {
        let places = || self.file.places.iter().skip(self.at).take(count);
        let bytes = |place: &Option<Place>| match place {
            Some(place) if !self.file.described => usize::try_from(place.length).unwrap_or(usize::MAX),
            _ => 0,
        };
        let bytes = places().map(bytes).fold(0, usize::saturating_add);
        // beside them one is read at a time
        limits::ask_for_part(bytes, "BLOB values")?;
        let mut values = BinaryBuilder::with_capacity(count, bytes.min(LARGEST));
        for place in places() {
            cancel::check()?;
            match place {
                None => values.append_null(),
                Some(place) if self.file.described => values.append_value(descriptor(self.file.input.path(), place)?),
                Some(place) => {
                    let stored = stored_value(&*self.file.input, place)?;
                    values.append_value(&stored);
                }
            }
        }
        Ok(Arc::new(values.finish()))
    }
}

impl GroupRows for Values {
    fn next(&mut self, most: usize) -> Result<(usize, Vec<ArrayRef>)> {
        let count = self.count(most);
        if count == 0 {
            return Err(Error::corrupt(self.file.input.path(), 0, "more rows", "the last value"));
        }
        let mut columns = Vec::with_capacity(self.columns.len());
        let mut values = None;
        for column in &self.columns {
            columns.push(match column.data_type.kind {
                TypeKind::Blob => match &values {
                    Some(values) => Arc::clone(values),
                    None => Arc::clone(values.insert(self.values(count)?)),
                },
                _ => nulls(&column.data_type, count)?,
            });
        }
        self.at += count;
        Ok((count, columns))
    }

    fn skip(&mut self, rows: usize) -> Result<()> {
        self.at = self.at.saturating_add(rows);
        Ok(())
    }
}

/// The bytes of a value, whose checksum fits.
fn stored_value(input: &dyn InputFile, place: &Place) -> Result<bytes::Bytes> {
    let (path, start) = (input.path(), place.start);
    let length = usize::try_from(place.length).ok().filter(|length| i32::try_from(*length).is_ok());
    let length = length.ok_or_else(|| {
        let error = Error::unsupported("a BLOB of 2 GiB or more as a value").with("file", path);
        error.hint("read where it lies: open the table with 'blob-as-descriptor' = 'true'")
    })?;
    limits::ask(length, "a BLOB")?;
    let stored = input.read_range(start, place.length)?;
    let end = length.saturating_sub(12);
    let head = stored.get(..4).unwrap_or_default();
    let mut tail = ByteReader::new("a BLOB", stored.get(end..).unwrap_or_default());
    if head != MAGIC_BYTES {
        return Err(Error::corrupt(path, start, "the magic number of a BLOB", format!("{head:02x?}")));
    }
    let (said, checksum) = (tail.i64_le()?, tail.i32_le()?);
    if u64::try_from(said).ok() != Some(place.length) {
        return Err(Error::corrupt(path, start, format!("a BLOB of {} bytes", place.length), said));
    }
    let mut crc = crc32fast::Hasher::new();
    crc.update(stored.get(..length.saturating_sub(4)).unwrap_or_default());
    let computed = crc.finalize();
    if computed.to_le_bytes() != checksum.to_le_bytes() {
        return Err(Error::corrupt(path, start, format!("the checksum {checksum}"), computed));
    }
    Ok(stored.slice(4..end))
}

/// Where a value lies, in Java's bytes.
fn descriptor(path: &str, place: &Place) -> Result<Vec<u8>> {
    let number = |value: u64| {
        i64::try_from(value).map_err(|e| Error::corrupt(path, place.start, "a place in a file", value).caused_by(e))
    };
    let name = i32::try_from(path.len()).map_err(|e| Error::corrupt(path, 0, "a path", path.len()).caused_by(e))?;
    let mut bytes = vec![2];
    bytes.extend(DESCRIPTOR_MAGIC.to_le_bytes());
    bytes.extend(name.to_le_bytes());
    bytes.extend(path.as_bytes());
    bytes.extend(number(place.start + BEFORE)?.to_le_bytes());
    bytes.extend(number(place.length.saturating_sub(AROUND))?.to_le_bytes());
    Ok(bytes)
}
