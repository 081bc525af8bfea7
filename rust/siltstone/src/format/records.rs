//! Files of records in any format as Avro containers, which metadata is decoded from.
//!
//! `manifest.format` (up to 1.4) could be ORC or Parquet: such a file is read as a data file is, and its records are written as the
//! blocks that a decoder of Avro takes.

use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

use bytes::Bytes;

use super::{
    FileRead, Rows,
    avro::{Compression, ContainerWriter, RecordFields, record_schema},
    data_format,
};
use crate::{
    cancel,
    error::{Error, Result},
    fs::InputFile,
    limits,
    types::DataField,
};

/// Records that are converted at once.
const BATCH_ROWS: usize = 1024;

/// The bytes of an Avro container with the records of a file of these fields; one that is Avro already, or nothing that is known,
/// as it is.
pub fn records_as_avro<'a>(file: &str, bytes: &'a [u8], fields: &[DataField]) -> Result<Cow<'a, [u8]>> {
    let format = match bytes {
        [b'P', b'A', b'R', b'1', ..] => "parquet",
        [b'O', b'R', b'C', ..] => "orc",
        _ => return Ok(Cow::Borrowed(bytes)),
    };
    let input = Arc::new(InMemory { path: file.to_owned(), bytes: Bytes::copy_from_slice(bytes) });
    let opened = data_format(format)?.open(input, bytes.len() as u64, &BTreeMap::new())?;
    let request = FileRead {
        columns: fields.to_vec(),
        prune: None,
        rows: None,
        row_test: None,
        position: false,
        batch_rows: BATCH_ROWS,
    };
    let mut container = ContainerWriter::new(&record_schema(fields)?, Compression::None);
    for rows in opened.read(request)? {
        cancel::check()?;
        let Rows { count, columns, .. } = rows?;
        let records = RecordFields::new(fields, &columns)?;
        for row in 0..count {
            let mut written = Ok(());
            container.append(|record| written = records.write(row, record))?;
            written.map_err(|e| e.with("file", file))?;
        }
        limits::ask(container.size(), "the records of a metadata file").map_err(|e| e.with("file", file))?;
    }
    container.finish().map(Cow::Owned)
}

/// A file that was read whole.
pub(super) struct InMemory {
    pub(super) path: String,
    pub(super) bytes: Bytes,
}

impl InputFile for InMemory {
    fn path(&self) -> &str {
        &self.path
    }

    fn size(&self) -> Result<u64> {
        Ok(self.bytes.len() as u64)
    }

    fn read_range(&self, start: u64, length: u64) -> Result<Bytes> {
        let range = usize::try_from(start).ok().zip(usize::try_from(length).ok());
        let range = range.and_then(|(start, length)| Some(start..start.checked_add(length)?));
        match range.filter(|range| range.end <= self.bytes.len()) {
            Some(range) => Ok(self.bytes.slice(range)),
            None => Err(Error::corrupt(&self.path, start, format!("{length} bytes"), "the end of the file")),
        }
    }
}
