//! One Avro data file being written.

use std::io::Write;

use arrow_array::RecordBatch;

use super::{
    Compression, Encoder,
    columns_out::fields_of,
    container::{BLOCK_BYTES, SYNC_LEN, file_header},
    data_file::MOST_BLOCK_BYTES,
    data_schema::record_schema,
};
use crate::{
    cancel,
    error::{Error, ErrorKind, Result},
    format::{DataFileWriter, Encoding, WrittenFile, collected::Collected},
    fs::OutputFile,
    types::DataField,
};

/// How files are written.
#[derive(Clone, Copy, Debug)]
pub(super) struct AvroEncoding {
    pub(super) compression: Compression,
}

impl Encoding for AvroEncoding {
    fn create(&self, path: &str, out: Box<dyn OutputFile>, fields: &[DataField]) -> Result<Box<dyn DataFileWriter>> {
        let sync = *uuid::Uuid::new_v4().as_bytes();
        let mut writer = AvroFileWriter {
            path: path.to_owned(),
            out,
            fields: fields.to_vec(),
            compression: self.compression,
            sync,
            block: Encoder::default(),
            records: 0,
            rows: 0,
            collected: Collected::new(fields),
        };
        writer.put(&file_header(&record_schema(fields)?, self.compression, &sync))?;
        Ok(Box::new(writer))
    }
}

struct AvroFileWriter {
    path: String,
    out: Box<dyn OutputFile>,
    fields: Vec<DataField>,
    compression: Compression,
    sync: [u8; SYNC_LEN],
    /// The records of the open block.
    block: Encoder,
    /// How many they are.
    records: usize,
    rows: i64,
    collected: Collected,
}

impl AvroFileWriter {
    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes).map_err(|e| not_written(&self.path, e))
    }

    fn close_block(&mut self) -> Result<()> {
        cancel::check()?;
        if self.records == 0 {
            return Ok(());
        }
        let packed = self.compression.compress(&self.block.out)?;
        let mut block = Encoder::default();
        block.length(self.records);
        block.bytes(&packed);
        block.out.extend_from_slice(&self.sync);
        self.put(&block.out)?;
        // a block with one large record leaves no large buffer
        self.block.out.clear();
        self.block.out.shrink_to(2 * BLOCK_BYTES);
        self.records = 0;
        Ok(())
    }
}

#[cold]
fn too_long(bytes: usize) -> Error {
    Error::new(ErrorKind::LengthExceeded, format!("a row of {bytes} bytes: Avro files have rows of at most 512 MiB"))
        .hint("use another 'file.format'")
}

fn not_written(path: &str, e: std::io::Error) -> Error {
    e.downcast::<Error>().unwrap_or_else(|other| {
        Error::new(ErrorKind::Storage, "cannot write the data file").with("file", path).caused_by(other)
    })
}

impl DataFileWriter for AvroFileWriter {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let columns = fields_of(&self.fields, batch.columns()).map_err(|e| e.with("file", &self.path))?;
        for row in 0..batch.num_rows() {
            for (field, column) in self.fields.iter().zip(&columns) {
                let written = column.write(row, &mut self.block);
                written.map_err(|e| e.with("column", &field.name).with("file", &self.path))?;
            }
            self.records += 1;
            self.rows += 1;
            if self.block.out.len() > MOST_BLOCK_BYTES {
                return Err(too_long(self.block.out.len()).with("file", &self.path));
            }
            if self.block.out.len() >= BLOCK_BYTES {
                self.close_block()?;
            }
        }
        self.collected.add(batch.columns())
    }

    fn size(&self) -> u64 {
        self.out.position()
    }

    fn rows(&self) -> i64 {
        self.rows
    }

    fn memory_used(&self) -> usize {
        self.block.out.capacity()
    }

    fn finish(mut self: Box<Self>, sync: bool) -> Result<WrittenFile> {
        self.close_block()?;
        let Self { out, rows, collected, .. } = *self;
        Ok(WrittenFile { size: out.close(sync)?, rows, bounds: collected.finish() })
    }
}
