//! One Avro data file being written.

use std::sync::Arc;

use arrow_array::RecordBatch;

use super::{
    Compression,
    blocks::{Block, SHARES, encode_pack_and_write, shares},
    columns_out::fields_of,
    container::{SYNC_LEN, file_header},
    data_schema::record_schema,
};
use crate::{
    error::{Error, ErrorKind, Result},
    format::{DataFileWriter, Encoding, WrittenFile, collected::Collected},
    fs::OutputFile,
    types::DataField,
};

/// How files are written.
#[derive(Clone, Copy, Debug)]
pub(super) struct AvroEncoding {
    pub(super) compression: Compression,
    /// Whether bounds of columns are asked for; the files have none.
    pub(super) bounds: bool,
}

impl Encoding for AvroEncoding {
    fn create(&self, path: &str, out: Box<dyn OutputFile>, fields: &[DataField]) -> Result<Box<dyn DataFileWriter>> {
        let sync = *uuid::Uuid::new_v4().as_bytes();
        let mut writer = AvroFileWriter {
            path: path.to_owned(),
            out,
            fields: fields.into(),
            compression: self.compression,
            sync,
            open: Block::default(),
            rows: 0,
            collected: self.bounds.then(|| Collected::new(fields)),
        };
        let header = file_header(&record_schema(fields)?, self.compression, &sync);
        put(&mut *writer.out, &header).map_err(|e| in_file(e, path))?;
        Ok(Box::new(writer))
    }
}

struct AvroFileWriter {
    path: String,
    out: Box<dyn OutputFile>,
    fields: Arc<[DataField]>,
    compression: Compression,
    sync: [u8; SYNC_LEN],
    /// The block that is not full.
    open: Block,
    rows: i64,
    /// Of those whose bounds are asked for.
    collected: Option<Collected>,
}

impl AvroFileWriter {
    fn write_rows(&mut self, batch: &RecordBatch) -> Result<()> {
        let Self { path, out, fields, compression, sync, open, .. } = self;
        let named = |e: Error| in_file(e, path);
        let columns = fields_of(fields, batch.columns()).map_err(named)?;
        let (shares, mut full, mut packed) = (shares(batch), Vec::new(), Vec::new());
        // nothing is encoded or packed beside the last blocks: after each batch the file has all that are full
        for some in shares.chunks(SHARES).chain([&[][..]; 2]) {
            let write = || put_blocks(&mut **out, sync, &packed);
            let done = encode_pack_and_write((fields, &columns), some, &full, *compression, write);
            let (encoded, then) = done.map_err(named)?;
            packed = then;
            full.clear();
            encoded.iter().try_for_each(|records| open.add(records, &mut full)).map_err(named)?;
        }
        Ok(())
    }
}

/// Writes blocks, each with the marker behind it.
fn put_blocks(out: &mut dyn OutputFile, sync: &[u8; SYNC_LEN], packed: &[Vec<u8>]) -> Result<()> {
    packed.iter().try_for_each(|block| put(out, block).and_then(|()| put(out, sync)))
}

fn put(out: &mut dyn OutputFile, bytes: &[u8]) -> Result<()> {
    out.write_all(bytes).map_err(not_written)
}

/// Names the file, unless the storage has.
fn in_file(error: Error, path: &str) -> Error {
    if error.context_value("file").is_some() { error } else { error.with("file", path) }
}

fn not_written(e: std::io::Error) -> Error {
    e.downcast::<Error>()
        .unwrap_or_else(|other| Error::new(ErrorKind::Storage, "cannot write the data file").caused_by(other))
}

impl DataFileWriter for AvroFileWriter {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.write_rows(batch)?;
        self.rows = self.rows.saturating_add(i64::try_from(batch.num_rows()).unwrap_or(i64::MAX));
        self.collected.as_mut().map_or(Ok(()), |collected| collected.add(batch.columns()))
    }

    fn size(&self) -> u64 {
        self.out.position()
    }

    fn rows(&self) -> i64 {
        self.rows
    }

    fn memory_used(&self) -> usize {
        self.open.memory()
    }

    fn finish(mut self: Box<Self>, sync: bool) -> Result<WrittenFile> {
        if !self.open.is_empty() {
            let packed = self.open.packed(self.compression);
            let put = packed.and_then(|packed| put_blocks(&mut *self.out, &self.sync, &[packed]));
            put.map_err(|e| in_file(e, &self.path))?;
        }
        let Self { out, rows, collected, fields, .. } = *self;
        let bounds = collected.map_or_else(|| vec![None; fields.len()], Collected::finish);
        Ok(WrittenFile { size: out.close(sync)?, rows, bounds })
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::{ArrayRef, Int64Array, ListArray, StringArray, types::Int32Type};

    use super::*;
    use crate::{
        format::records::Written,
        types::{DataType, TypeKind, arrow_schema},
    };

    fn fields() -> Vec<DataField> {
        let list = TypeKind::Array(Box::new(DataType::new(TypeKind::Int)));
        let kinds = [TypeKind::BigInt, TypeKind::VarChar(u32::MAX >> 1), list];
        (0..).zip(kinds).map(|(id, kind)| DataField::new(id, format!("c{id}"), DataType::new(kind))).collect()
    }

    /// Most rows are small, some fill a block, some are larger than one.
    fn rows(count: usize) -> RecordBatch {
        let text = |row: usize| match row % 911 {
            0 => Some("long ".repeat(30_000)),
            7 => Some("x".repeat(63_000)),
            rest if rest % 5 == 0 => None,
            rest => Some(format!("row {row}").repeat(rest % 13)),
        };
        let list = |row: usize| {
            (!row.is_multiple_of(3)).then(|| (0..row % 7).map(move |at| Some(i32::try_from(at * row).unwrap())))
        };
        let columns: Vec<ArrayRef> = vec![
            Arc::new(
                (0..count).map(|row| i64::try_from(row * row).ok().filter(|_| row % 4 > 0)).collect::<Int64Array>(),
            ),
            Arc::new((0..count).map(text).collect::<StringArray>()),
            Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>((0..count).map(list))),
        ];
        let types = arrow_schema(&fields()).unwrap();
        let columns = columns
            .iter()
            .zip(types.fields())
            .map(|(column, field)| arrow_cast::cast(column, field.data_type()).unwrap());
        RecordBatch::try_new(Arc::clone(&types), columns.collect()).unwrap()
    }

    /// A file of batches without its marker, and what it said of its size after each row that `sizes_at` names.
    fn file(batches: &[RecordBatch], compression: Compression, sizes_at: &[i64]) -> (Vec<u8>, Vec<u64>) {
        let out = Written::default();
        let mut writer =
            AvroEncoding { compression, bounds: false }.create("f.avro", Box::new(out.clone()), &fields()).unwrap();
        let mut sizes = Vec::new();
        for batch in batches {
            writer.write(batch).unwrap();
            sizes.extend(sizes_at.contains(&writer.rows()).then(|| writer.size()));
        }
        let written = writer.finish(false).unwrap();
        let mut bytes = out.take();
        assert_eq!((bytes.len() as u64, written.rows), (written.size, writer_rows(batches)));
        assert!(written.bounds.iter().all(Option::is_none));
        let marker = bytes[bytes.len() - SYNC_LEN..].to_vec();
        let places: Vec<usize> =
            bytes.windows(SYNC_LEN).enumerate().filter(|(_, w)| *w == marker).map(|(i, _)| i).collect();
        for at in places {
            bytes[at..at + SYNC_LEN].fill(0);
        }
        (bytes, sizes)
    }

    fn writer_rows(batches: &[RecordBatch]) -> i64 {
        batches.iter().map(|batch| i64::try_from(batch.num_rows()).unwrap()).sum()
    }

    fn split(rows: &RecordBatch, step: usize) -> Vec<RecordBatch> {
        let count = rows.num_rows();
        (0..count).step_by(step).map(|start| rows.slice(start, step.min(count - start))).collect()
    }

    /// Threads encode rows side by side, but what a file is depends on its rows alone.
    #[test]
    fn blocks_are_those_of_one_row_after_another() {
        let all = rows(9500);
        for codec in [Compression::None, Compression::Snappy, Compression::Deflate, Compression::Zstd(1)] {
            let one_by_one = file(&split(&all, 1), codec, &[2500, 7500]);
            assert_eq!(one_by_one.1.len(), 2, "{codec:?}");
            for step in [500, 1250, 2500] {
                assert!(file(&split(&all, step), codec, &[2500, 7500]) == one_by_one, "{codec:?} by {step}");
            }
            assert!(file(std::slice::from_ref(&all), codec, &[]).0 == one_by_one.0, "{codec:?} at once");
        }
    }

    #[test]
    fn a_value_that_a_file_cannot_hold_is_named_once() {
        let fields = [DataField::new(0, "at", DataType::new(TypeKind::Timestamp(0)))];
        let times = arrow_array::TimestampSecondArray::from_iter_values(
            (0..3000).map(|row| if row < 2999 { row } else { i64::MAX }),
        );
        let batch = RecordBatch::try_new(arrow_schema(&fields).unwrap(), vec![Arc::new(times)]);
        let encoding = AvroEncoding { compression: Compression::None, bounds: true };
        let mut writer = encoding.create("f.avro", Box::new(Written::default()), &fields).unwrap();
        let error = writer.write(&batch.unwrap()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnsupportedType);
        assert_eq!((error.context_value("column"), error.context_value("file")), (Some("at"), Some("f.avro")));
    }
}
