//! Rows of Arrow columns, a batch at a time: column by column into rows whose sizes are known beforehand.
//!
//! ```text
//! pass 1   size of each row = fixed part + what its values need behind it     -> offsets
//! pass 2   for each column, for each row: slot, and bytes at the row's cursor
//! ```
#![allow(
    clippy::indexing_slicing,
    reason = "hot kernel: every index comes from offsets that pass 1 computed over the same columns"
)]

use arrow_array::{Array, ArrayRef};

use super::{
    binary::serialize,
    column::{Column, Values, double_bytes, float_bytes, split_micros, split_nanos},
    encode::compact_decimal,
    layout::{MAX_INLINE, Slot, WIDE_DECIMAL_BYTES, minimal_big_endian, round8, row_fixed_bytes, row_null_bytes},
    write::{inline, length, slot_word},
};
use crate::{
    codec::hash_words,
    error::{Error, ErrorKind, Result},
    types::DataType,
};

/// Rows hashed at a time: their bytes stay in the processor's cache.
const HASH_CHUNK: usize = 1024;

/// The binary rows of a batch, one behind the other.
#[derive(Clone, Debug, Default)]
pub struct BinaryRows {
    arity: usize,
    bytes: Vec<u8>,
    /// where each row starts, and the end of the last one
    offsets: Vec<usize>,
}

impl BinaryRows {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of row `i`, without the arity; empty beyond the last row.
    pub fn row(&self, i: usize) -> &[u8] {
        match (self.offsets.get(i), self.offsets.get(i + 1)) {
            (Some(&from), Some(&to)) => self.bytes.get(from..to).unwrap_or_default(),
            _ => &[],
        }
    }

    /// Row `i` as metadata has it: arity, then the row.
    pub fn serialized(&self, i: usize) -> Vec<u8> {
        serialize(self.arity, self.row(i))
    }
}

/// The binary rows of these columns, which have the Arrow types of `types`. No column at all means no rows.
pub fn binary_rows(types: &[DataType], columns: &[ArrayRef]) -> Result<BinaryRows> {
    let mut encoder = Encoder::default();
    encoder.encode(types, columns)?;
    Ok(BinaryRows { arity: types.len(), bytes: encoder.bytes, offsets: encoder.offsets })
}

/// The hash of each row of these columns.
pub fn hash_rows(types: &[DataType], columns: &[ArrayRef]) -> Result<Vec<i32>> {
    let rows = columns.first().map_or(0, Array::len);
    let mut hashes = Vec::with_capacity(rows);
    let mut encoder = Encoder::default();
    for from in (0..rows).step_by(HASH_CHUNK) {
        let chunk = HASH_CHUNK.min(rows - from);
        let slices: Vec<ArrayRef> = columns
            .iter()
            .map(|c| if from + chunk <= c.len() { c.slice(from, chunk) } else { c.slice(0, 0) })
            .collect();
        encoder.encode(types, &slices)?;
        hashes.extend(encoder.offsets.windows(2).map(|w| hash_words(&encoder.bytes[w[0]..w[1]])));
    }
    Ok(hashes)
}

/// Buffers that are used again from chunk to chunk.
#[derive(Default)]
struct Encoder {
    bytes: Vec<u8>,
    offsets: Vec<usize>,
    /// next free byte of each row's variable part, counted from the row's start
    cursors: Vec<usize>,
}

/// A column with what is left to know before its rows can be filled.
struct Prepared<'a> {
    column: Column<'a>,
    /// binary forms of a nested column, and where each ends
    nested: Vec<u8>,
    nested_ends: Vec<usize>,
}

impl Encoder {
    fn encode(&mut self, types: &[DataType], columns: &[ArrayRef]) -> Result<()> {
        let rows = columns.first().map_or(0, Array::len);
        if types.len() != columns.len() || columns.iter().any(|c| c.len() != rows) {
            let message = format!("{} columns of unequal length or without type", columns.len());
            return Err(Error::new(ErrorKind::Internal, message));
        }
        let prepared: Vec<Prepared<'_>> =
            types.iter().zip(columns).map(|(t, c)| Prepared::new(t, c.as_ref())).collect::<Result<_>>()?;
        let fixed = row_fixed_bytes(types.len());
        self.layout(&prepared, rows, fixed)?;
        self.cursors.clear();
        self.cursors.resize(rows, fixed);
        let slots = row_null_bytes(types.len());
        for (i, column) in prepared.iter().enumerate() {
            self.fill(column, slots + 8 * i)?;
            self.mark_nulls(column, i, slots + 8 * i)?;
        }
        Ok(())
    }

    /// Pass 1: offsets of all rows, and zeroed bytes.
    fn layout(&mut self, columns: &[Prepared<'_>], rows: usize, fixed: usize) -> Result<()> {
        self.offsets.clear();
        self.offsets.resize(rows + 1, fixed);
        self.offsets[0] = 0;
        let sizes = &mut self.offsets[1..];
        for prepared in columns {
            prepared.add_sizes(sizes);
        }
        let mut end = 0;
        for size in sizes {
            // offsets inside a row are i32
            length(*size)?;
            end += *size;
            *size = end;
        }
        self.bytes.clear();
        self.bytes.resize(end, 0);
        Ok(())
    }

    /// Pass 2 for one column.
    fn fill(&mut self, prepared: &Prepared<'_>, slot: usize) -> Result<()> {
        let column = &prepared.column;
        match &column.values {
            Values::Boolean(v) => self.fixed(slot, (0..v.len()).map(|i| [u8::from(v.value(i))])),
            Values::TinyInt(v) => self.fixed(slot, v.iter().map(|v| v.to_le_bytes())),
            Values::SmallInt(v) => self.fixed(slot, v.iter().map(|v| v.to_le_bytes())),
            Values::Int(v) | Values::Date(v) | Values::Time(v) => {
                self.fixed(slot, v.iter().map(|v| v.to_le_bytes()));
            }
            Values::BigInt(v) | Values::Millis(v) => self.fixed(slot, v.iter().map(|v| v.to_le_bytes())),
            Values::Float(v) => self.fixed(slot, v.iter().map(|v| float_bytes(*v))),
            Values::Double(v) => self.fixed(slot, v.iter().map(|v| double_bytes(*v))),
            Values::Decimal(v) if column.slot == Slot::WideDecimal => self.wide_decimals(column, v, slot)?,
            Values::Decimal(v) => {
                for (i, value) in v.iter().enumerate() {
                    if !column.is_null(i) {
                        self.set(i, slot, compact_decimal(*value)?.to_le_bytes());
                    }
                }
            }
            Values::Seconds(v) => {
                for i in 0..v.len() {
                    if !column.is_null(i) {
                        self.set(i, slot, column.timestamp(i)?.0.to_le_bytes());
                    }
                }
            }
            Values::Micros(v) => self.wide_timestamps(column, slot, v.iter().map(|v| split_micros(*v)))?,
            Values::Nanos(v) => self.wide_timestamps(column, slot, v.iter().map(|v| split_nanos(*v)))?,
            Values::Text(offsets, data) | Values::Bytes(offsets, data) => self.texts(column, offsets, data, slot)?,
            Values::List { .. } | Values::Map { .. } | Values::Row(_) => self.nested(prepared, slot)?,
        }
        Ok(())
    }

    /// Null bits, and zero where a value was written in spite of its null.
    fn mark_nulls(&mut self, prepared: &Prepared<'_>, field: usize, slot: usize) -> Result<()> {
        let Some(nulls) = prepared.column.nulls.filter(|n| n.null_count() > 0) else {
            return Ok(());
        };
        let bit = field + 8;
        for i in (0..nulls.len()).filter(|i| nulls.is_null(*i)) {
            let row = self.offsets[i];
            self.bytes[row + bit / 8] |= 1 << (bit % 8);
            let mut word = [0; 8];
            let reserved = prepared.column.slot.reserved();
            if reserved > 0 {
                word = slot_word(0, length(self.cursors[i] - reserved)?);
            }
            self.set(i, slot, word);
        }
        Ok(())
    }

    fn fixed<const N: usize>(&mut self, slot: usize, values: impl Iterator<Item = [u8; N]>) {
        for (row, value) in self.offsets.iter().zip(values) {
            let at = row + slot;
            self.bytes[at..at + N].copy_from_slice(&value);
        }
    }

    fn wide_decimals(&mut self, column: &Column<'_>, values: &[i128], slot: usize) -> Result<()> {
        for (i, value) in values.iter().enumerate() {
            let at = self.advance(i, WIDE_DECIMAL_BYTES);
            if !column.is_null(i) {
                let (bytes, from) = minimal_big_endian(*value);
                let bytes = &bytes[from..];
                self.set(i, slot, slot_word(length(bytes.len())?, length(at)?));
                self.write(i, at, bytes);
            }
        }
        Ok(())
    }

    fn wide_timestamps(
        &mut self,
        column: &Column<'_>,
        slot: usize,
        values: impl Iterator<Item = (i64, i32)>,
    ) -> Result<()> {
        for (i, (millis, nanos)) in values.enumerate() {
            let at = self.advance(i, 8);
            if !column.is_null(i) {
                self.set(i, slot, slot_word(nanos, length(at)?));
                self.write(i, at, &millis.to_le_bytes());
            }
        }
        Ok(())
    }

    fn texts(&mut self, column: &Column<'_>, offsets: &[i32], data: &[u8], slot: usize) -> Result<()> {
        for (i, bounds) in offsets.windows(2).enumerate() {
            if column.is_null(i) {
                continue;
            }
            let text = &data[bounds[0].cast_unsigned() as usize..bounds[1].cast_unsigned() as usize];
            if text.len() <= MAX_INLINE {
                self.set(i, slot, inline(text));
            } else {
                let at = self.advance(i, round8(text.len()));
                self.set(i, slot, slot_word(length(text.len())?, length(at)?));
                self.write(i, at, text);
            }
        }
        Ok(())
    }

    fn nested(&mut self, prepared: &Prepared<'_>, slot: usize) -> Result<()> {
        let mut from = 0;
        for (i, &to) in prepared.nested_ends.iter().enumerate() {
            if !prepared.column.is_null(i) {
                let value = &prepared.nested[from..to];
                let at = self.advance(i, round8(value.len()));
                self.set(i, slot, slot_word(length(value.len())?, length(at)?));
                self.write(i, at, value);
            }
            from = to;
        }
        Ok(())
    }

    /// Takes `n` bytes of the variable part of row `i`.
    fn advance(&mut self, i: usize, n: usize) -> usize {
        let at = self.cursors[i];
        self.cursors[i] += n;
        at
    }

    fn set(&mut self, i: usize, slot: usize, word: [u8; 8]) {
        let at = self.offsets[i] + slot;
        self.bytes[at..at + 8].copy_from_slice(&word);
    }

    fn write(&mut self, i: usize, at: usize, value: &[u8]) {
        let at = self.offsets[i] + at;
        self.bytes[at..at + value.len()].copy_from_slice(value);
    }
}

impl<'a> Prepared<'a> {
    fn new(data_type: &DataType, array: &'a dyn Array) -> Result<Self> {
        let column = Column::new(data_type, array)?;
        let (mut nested, mut nested_ends) = (Vec::new(), Vec::new());
        if column.slot == Slot::Nested {
            for i in 0..array.len() {
                if !column.is_null(i) {
                    column.nested(i, &mut nested)?;
                }
                nested_ends.push(nested.len());
            }
        }
        Ok(Self { column, nested, nested_ends })
    }

    /// Adds what each value needs in the variable part.
    fn add_sizes(&self, sizes: &mut [usize]) {
        let reserved = self.column.slot.reserved();
        if reserved > 0 {
            for size in sizes.iter_mut() {
                *size += reserved;
            }
        }
        if let Values::Text(offsets, _) | Values::Bytes(offsets, _) = &self.column.values {
            for (i, (size, bounds)) in sizes.iter_mut().zip(offsets.windows(2)).enumerate() {
                let bytes = (bounds[1] - bounds[0]).cast_unsigned() as usize;
                if bytes > MAX_INLINE && !self.column.is_null(i) {
                    *size += round8(bytes);
                }
            }
        }
        let mut from = 0;
        for (size, &to) in sizes.iter_mut().zip(&self.nested_ends) {
            *size += round8(to - from);
            from = to;
        }
    }
}
