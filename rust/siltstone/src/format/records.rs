//! Files of records in any format as Avro containers, which metadata is decoded from, and back.
//!
//! `manifest.format` (up to 1.4) could be ORC or Parquet: such a file is read as a data file is, and its records are written as the
//! blocks that a decoder of Avro takes. It is written as a data file is, from the records of such blocks.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    io,
    sync::{Arc, Mutex, PoisonError},
};

use arrow_array::{RecordBatch, RecordBatchOptions};
use bytes::Bytes;

use super::{
    DataFormat, Encoding, FileRead, Rows, RowsStream,
    avro::{Compression, ContainerReader, ContainerWriter, RecordFields, record_schema},
    data_format, data_formats,
};
use crate::{
    cancel,
    error::{Error, ErrorKind, Result},
    fs::{InputFile, OutputFile},
    limits,
    types::{DataField, arrow_schema},
};

/// The format that metadata is decoded from.
const AVRO: &str = "avro";
/// Records that are converted at once.
const BATCH_ROWS: usize = 1024;

/// An Avro container with the records of a metadata file.
#[derive(Debug)]
pub struct AvroRecords<'a> {
    container: Cow<'a, [u8]>,
    /// Of the file, whatever its format: they bound what it becomes.
    file_bytes: usize,
}

impl<'a> AvroRecords<'a> {
    /// Of a file that is Avro.
    pub fn of_avro(bytes: &'a [u8]) -> Self {
        Self { container: Cow::Borrowed(bytes), file_bytes: bytes.len() }
    }

    /// The container, to be decoded; `file` is for messages. What the file has become already counts.
    pub fn open<'s>(&'s self, file: &'s str) -> Result<ContainerReader<'s>> {
        match &self.container {
            Cow::Borrowed(bytes) => ContainerReader::open(file, bytes),
            Cow::Owned(made) => ContainerReader::of_file(file, made, self.file_bytes),
        }
    }
}

/// The records of a file of these fields as an Avro container; one that is Avro already, or nothing that is known, as it is.
///
/// # Errors
/// `CorruptFile`: they are more than metadata of that size may become.
pub fn records_as_avro<'a>(file: &str, bytes: &'a [u8], fields: &[DataField]) -> Result<AvroRecords<'a>> {
    let other = |format: &&dyn DataFormat| format.name() != AVRO && bytes.starts_with(format.magic());
    let Some(format) = data_formats().find(other) else { return Ok(AvroRecords::of_avro(bytes)) };
    let container = container(format.name(), file, bytes, fields, limits::most_metadata(bytes.len()))?;
    Ok(AvroRecords { container: Cow::Owned(container), file_bytes: bytes.len() })
}

/// A container with the records of a file, of about so many bytes at most.
fn container(format: &str, file: &str, bytes: &[u8], fields: &[DataField], most: usize) -> Result<Vec<u8>> {
    let mut container = ContainerWriter::new(&record_schema(fields)?, Compression::None);
    for rows in records(format, file, bytes, fields)? {
        cancel::check()?;
        let Rows { count, columns, .. } = rows?;
        let records = RecordFields::new(fields, &columns)?;
        for row in 0..count {
            let mut written = Ok(());
            container.append(|record| written = records.write(row, record))?;
            written.map_err(|e| e.with("file", file))?;
            if container.size() > most {
                let expected = format!("a file that becomes at most {most} bytes");
                return Err(Error::corrupt(file, 0, expected, "one that becomes more"));
            }
        }
    }
    container.finish()
}

/// The bytes of a file, encoded in another way, with the records of an Avro container of these fields.
pub fn avro_as_records(file: &str, bytes: &[u8], fields: &[DataField], encoding: &dyn Encoding) -> Result<Vec<u8>> {
    let written = Written::default();
    let mut writer = encoding.create(file, Box::new(written.clone()), fields)?;
    let schema = arrow_schema(fields)?;
    for rows in records(AVRO, file, bytes, fields)? {
        let Rows { count, columns, .. } = rows?;
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&schema), columns, &options).map_err(|e| {
            Error::new(ErrorKind::Internal, "the records of a metadata file are no batch")
                .with("file", file)
                .caused_by(e)
        })?;
        writer.write(&batch)?;
    }
    writer.finish(false)?;
    Ok(written.take())
}

/// The records of a file, some at a time.
fn records(format: &str, file: &str, bytes: &[u8], fields: &[DataField]) -> Result<RowsStream> {
    limits::ask(bytes.len(), "a metadata file").map_err(|e| e.with("file", file))?;
    let input = Arc::new(InMemory { path: file.to_owned(), bytes: Bytes::copy_from_slice(bytes) });
    let opened = data_format(format)?.open(input, bytes.len() as u64, &BTreeMap::new())?;
    let columns = fields.to_vec();
    opened.read(FileRead { columns, prune: None, rows: None, row_test: None, position: false, batch_rows: BATCH_ROWS })
}

/// A file that is written into memory.
#[derive(Clone, Default)]
pub(super) struct Written(Arc<Mutex<Vec<u8>>>);

impl Written {
    pub(super) fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl io::Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl OutputFile for Written {
    fn position(&self) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len() as u64
    }

    fn close(self: Box<Self>, _: bool) -> Result<u64> {
        Ok(self.position())
    }
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

#[cfg(test)]
mod tests {
    use arrow_array::{ArrayRef, StringArray};

    use super::*;
    use crate::{
        format::WriteOptions,
        options::CoreOptions,
        types::{DataType, MAX_LENGTH, TypeKind},
    };

    /// A name that stands once in the dictionary of a Parquet file became the name of every record.
    #[test]
    fn records_of_other_formats_become_no_more_than_metadata_may() {
        let fields = [DataField::new(0, "name", DataType::new(TypeKind::VarChar(MAX_LENGTH)))];
        let names: ArrayRef = Arc::new(StringArray::from_iter_values((0..200).map(|_| "x".repeat(10_000))));
        let batch = RecordBatch::try_new(arrow_schema(&fields).unwrap(), vec![names]).unwrap();
        for name in ["parquet", "orc"] {
            let options = CoreOptions::parse(&BTreeMap::new()).unwrap();
            let options =
                WriteOptions { compression: "zstd", table: &options, memory: None, bounds: false, keyed: false };
            let written = Written::default();
            let encoding = data_format(name).unwrap().encoding(options).unwrap();
            let mut writer = encoding.create("m", Box::new(written.clone()), &fields).unwrap();
            writer.write(&batch).unwrap();
            writer.finish(false).unwrap();
            let bytes = written.take();
            assert!(bytes.len() < 50_000, "{}", bytes.len());
            let error = container(name, "m", &bytes, &fields, 1 << 20).unwrap_err();
            assert_eq!((error.kind(), error.context_value("file")), (ErrorKind::CorruptFile, Some("m")), "{error}");
            let records = records_as_avro("m", &bytes, &fields).unwrap();
            let container = records.open("m").unwrap();
            assert_eq!(container.blocks.iter().map(|block| block.count).sum::<usize>(), 200);
        }
    }
}
