//! Rows as the blocks of a container: encoded in shares by all threads, and cut where they would be if one row were written after
//! another.

use std::ops::Range;

use arrow_array::RecordBatch;
use rayon::prelude::*;

use super::{Compression, Encoder, columns_out::Field, container::BLOCK_BYTES, data_file::MOST_BLOCK_BYTES};
use crate::{
    cancel,
    error::{Error, ErrorKind, Result},
    row::batch_bytes,
    threads::in_pool,
    types::DataField,
};

/// Rows that a thread encodes at once...
const SHARE_ROWS: usize = 512;
/// ...or fewer, when they have about so many bytes.
const SHARE_BYTES: usize = 256 << 10;
/// Shares that are encoded before their blocks are written.
pub(super) const SHARES: usize = 16;

/// Records one after another.
#[derive(Default)]
pub(super) struct Block {
    plain: Vec<u8>,
    records: usize,
}

impl Block {
    /// Nobody has added a record.
    pub(super) fn is_empty(&self) -> bool {
        self.records == 0
    }

    /// Memory that it takes.
    pub(super) fn memory(&self) -> usize {
        self.plain.capacity()
    }

    /// Adds records, and gives each block that becomes full to `full`.
    pub(super) fn add(&mut self, records: &Records, full: &mut Vec<Self>) -> Result<()> {
        let (mut start, mut taken) = (0, 0);
        for (record, end) in records.ends.iter().enumerate() {
            let size = self.plain.len() + (end - start);
            let is_last = record + 1 == records.ends.len();
            if size < BLOCK_BYTES && !is_last {
                continue;
            }
            if size > MOST_BLOCK_BYTES {
                return Err(too_long(size));
            }
            self.plain.extend_from_slice(records.bytes.get(start..*end).unwrap_or_default());
            self.records += record + 1 - taken;
            (start, taken) = (*end, record + 1);
            if size >= BLOCK_BYTES {
                full.push(std::mem::take(self));
            }
        }
        Ok(())
    }

    /// What stands in a file before the marker.
    pub(super) fn packed(&self, compression: Compression) -> Result<Vec<u8>> {
        cancel::check()?;
        let packed = compression.compress_rows(&self.plain)?;
        let mut block = Encoder::default();
        block.length(self.records);
        block.bytes(&packed);
        Ok(block.out)
    }
}

/// Encoded rows.
#[derive(Default)]
pub(super) struct Records {
    bytes: Vec<u8>,
    /// Where each record ends.
    ends: Vec<usize>,
}

impl Records {
    /// Encodes some rows.
    fn new(fields: &[DataField], columns: &[Field], rows: Range<usize>) -> Result<Self> {
        cancel::check()?;
        let named = |e: Error, field: &DataField| e.with("column", &field.name);
        let mut ends = vec![0; rows.len()];
        for (field, column) in fields.iter().zip(columns) {
            column.add_lengths(rows.clone(), &mut ends).map_err(|e| named(e, field))?;
        }
        // from lengths to where each begins
        let all = ends.iter_mut().fold(0, |start, place| start + std::mem::replace(place, start));
        let mut bytes = vec![0; all];
        for column in columns {
            column.put_rows(rows.clone(), &mut bytes, &mut ends);
        }
        Ok(Self { bytes, ends })
    }
}

/// Encodes rows of columns, packs the blocks of rows before them, and beside both writes what was packed before that.
pub(super) fn encode_pack_and_write(
    (fields, columns): (&[DataField], &[Field]),
    shares: &[Range<usize>],
    full: &[Block],
    compression: Compression,
    write: impl FnOnce() -> Result<()> + Send,
) -> Result<(Vec<Records>, Vec<Vec<u8>>)> {
    let encode = cancel::carried(|rows: &Range<usize>| Records::new(fields, columns, rows.clone()));
    let pack = cancel::carried(|block: &Block| block.packed(compression));
    if shares.len() + full.len() < 2 {
        write()?;
        return Ok((shares.iter().map(encode).collect::<Result<_>>()?, full.iter().map(pack).collect::<Result<_>>()?));
    }
    let token = cancel::current();
    let work = || rayon::join(|| shares.par_iter().map(&encode).collect(), || full.par_iter().map(&pack).collect());
    let (written, (encoded, packed)): (_, (Result<_>, Result<_>)) = in_pool(|| rayon::join(|| token.run(write), work));
    written?;
    Ok((encoded?, packed?))
}

/// The rows of a batch in shares.
pub(super) fn shares(batch: &RecordBatch) -> Vec<Range<usize>> {
    let rows = batch.num_rows();
    let average = batch_bytes(batch) / rows.max(1);
    let step = (SHARE_BYTES / average.max(1)).clamp(1, SHARE_ROWS);
    (0..rows).step_by(step).map(|start| start..rows.min(start + step)).collect()
}

#[cold]
fn too_long(bytes: usize) -> Error {
    Error::new(ErrorKind::LengthExceeded, format!("a row of {bytes} bytes: Avro files have rows of at most 512 MiB"))
        .hint("use another 'file.format'")
}
