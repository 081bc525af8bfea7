//! Values one after another into a file.

use std::io::Write;

use arrow_array::{RecordBatch, cast::AsArray};

use super::{AROUND, MAGIC_BYTES};
use crate::{
    cancel,
    error::{Error, ErrorKind, Result},
    format::{DataFileWriter, Encoding, WrittenFile},
    fs::OutputFile,
    types::{DataField, TypeKind},
};

/// Files of one BLOB column.
#[derive(Debug)]
pub(super) struct BlobEncoding;

impl Encoding for BlobEncoding {
    fn create(&self, path: &str, out: Box<dyn OutputFile>, fields: &[DataField]) -> Result<Box<dyn DataFileWriter>> {
        check_columns(fields)?;
        Ok(Box::new(BlobFileWriter { path: path.to_owned(), out, lengths: Vec::new() }))
    }
}

pub(super) fn check_columns(fields: &[DataField]) -> Result<()> {
    match fields {
        [field] if field.data_type.kind == TypeKind::Blob => Ok(()),
        _ => Err(Error::unsupported("a BLOB file of other columns than one of the type BLOB")),
    }
}

struct BlobFileWriter {
    path: String,
    out: Box<dyn OutputFile>,
    /// -1 for null.
    lengths: Vec<i64>,
}

impl BlobFileWriter {
    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes).map_err(|e| {
            e.downcast::<Error>().unwrap_or_else(|other| {
                Error::new(ErrorKind::Storage, "cannot write the data file").with("file", &self.path).caused_by(other)
            })
        })
    }

    fn value(&mut self, value: &[u8]) -> Result<()> {
        let length = i64::try_from(value.len() as u64 + AROUND)
            .map_err(|e| Error::new(ErrorKind::LengthExceeded, "a BLOB is too large").caused_by(e))?;
        let mut crc = crc32fast::Hasher::new();
        crc.update(&MAGIC_BYTES);
        crc.update(value);
        crc.update(&length.to_le_bytes());
        self.put(&MAGIC_BYTES)?;
        self.put(value)?;
        self.put(&length.to_le_bytes())?;
        self.put(&crc.finalize().to_le_bytes())?;
        self.lengths.push(length);
        Ok(())
    }
}

impl DataFileWriter for BlobFileWriter {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let values = batch.columns().first().and_then(|column| column.as_binary_opt::<i32>());
        let values = values.ok_or_else(|| Error::new(ErrorKind::Internal, "a BLOB column is not binary"))?;
        for value in values {
            cancel::check()?;
            match value {
                Some(value) => self.value(value)?,
                None => self.lengths.push(-1),
            }
        }
        Ok(())
    }

    fn size(&self) -> u64 {
        self.out.position()
    }

    fn rows(&self) -> i64 {
        i64::try_from(self.lengths.len()).unwrap_or(i64::MAX)
    }

    fn memory_used(&self) -> usize {
        self.lengths.capacity() * size_of::<i64>()
    }

    fn finish(mut self: Box<Self>, sync: bool) -> Result<WrittenFile> {
        let (mut index, mut before) = (Vec::new(), 0);
        for length in &self.lengths {
            varint(&mut index, length - before);
            before = *length;
        }
        let length = i32::try_from(index.len())
            .map_err(|e| Error::new(ErrorKind::LengthExceeded, "a BLOB file has too many rows").caused_by(e))?;
        self.put(&index)?;
        self.put(&length.to_le_bytes())?;
        self.put(&[super::index::VERSION])?;
        let rows = self.rows();
        Ok(WrittenFile { size: self.out.close(sync)?, rows, bounds: vec![None] })
    }
}

/// Seven bits a byte, the lowest first; negative numbers are odd.
fn varint(to: &mut Vec<u8>, value: i64) {
    let mut rest = (value.cast_unsigned() << 1) ^ (value >> 63).cast_unsigned();
    loop {
        let [low, ..] = rest.to_le_bytes();
        rest >>= 7;
        if rest == 0 {
            to.push(low & 0x7f);
            return;
        }
        to.push(low | 0x80);
    }
}
