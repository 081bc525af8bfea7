//! `bsi`: a bitmap for each bit of the values (format chapter 9.5).
//!
//! ```text
//! u8 1 | i32 rows | u8 has positive | [BSI] | u8 has negative | [BSI of absolute values]
//! BSI:  u8 1 | i64 min, 0 | i64 max | existing rows | i32 slices | slices from bit 0 on
//! ```
//!
//! Source: `BitSliceIndexBitmapFileIndex`, `BitSliceIndexRoaringBitmap`.

use roaring::RoaringBitmap;

use super::{
    Candidates,
    bit_slices::BitSlices,
    key::Key,
    question::{Index, Question},
    roaring_bytes,
};
use crate::{codec::ByteReader, error::Result, limits::Taken, predicate::CompareOp};

const VERSION: u8 = 1;

/// The values of all rows.
#[derive(Debug)]
pub(super) struct BitSliced {
    rows: u32,
    positive: Side,
    negative: Side,
}

/// Values of one sign.
#[derive(Debug, Default)]
struct Side {
    min: u64,
    max: u64,
    slices: BitSlices,
}

impl BitSliced {
    pub(super) fn read(what: &str, bytes: &[u8], rows: u32) -> Result<Self> {
        let mut from = ByteReader::new(what, bytes);
        check_version(&mut from)?;
        let told = from.i32_be()?;
        if u32::try_from(told) != Ok(rows) {
            return Err(from.error(format!("{rows} rows, as the data file has"), told));
        }
        let taken = Taken::default();
        let mut side = || if from.u8()? == 0 { Ok(Side::default()) } else { Side::read(what, &mut from, rows, &taken) };
        let (positive, negative) = (side()?, side()?);
        Ok(Self { rows, positive, negative })
    }

    /// Of these values, one a row; `None`: of the smallest number there is no absolute value.
    pub(super) fn build(values: &[Option<i64>]) -> Option<Self> {
        let largest = |sign: fn(i64) -> bool| {
            values.iter().flatten().filter(|v| sign(**v)).map(|v| v.unsigned_abs()).max().unwrap_or(0)
        };
        let side = |max: u64| Side { min: 0, max, slices: BitSlices::new(max, 0) };
        let (mut positive, mut negative) = (side(largest(|v| v >= 0)), side(largest(|v| v < 0)));
        for (row, value) in (0..).zip(values) {
            match value {
                Some(i64::MIN) => return None,
                Some(value) if *value < 0 => negative.slices.add(row, value.unsigned_abs()),
                Some(value) => positive.slices.add(row, value.unsigned_abs()),
                None => {}
            }
        }
        Some(Self { rows: u32::try_from(values.len()).ok()?, positive, negative })
    }

    pub(super) fn bytes(&self) -> Result<Vec<u8>> {
        let mut out = vec![VERSION];
        out.extend_from_slice(&self.rows.to_be_bytes());
        for side in [&self.positive, &self.negative] {
            side.write(&mut out)?;
        }
        Ok(out)
    }

    fn existing(&self) -> RoaringBitmap {
        &self.positive.slices.existing | &self.negative.slices.existing
    }

    fn compare(&self, op: CompareOp, value: i64) -> Result<RoaringBitmap> {
        let number = value.unsigned_abs();
        let (all_positive, all_negative) = (&self.positive.slices.existing, &self.negative.slices.existing);
        Ok(match (op, value < 0) {
            (CompareOp::Eq, true) => self.negative.compare(op, number)?,
            (CompareOp::NotEq, _) => self.existing() - self.compare(CompareOp::Eq, value)?,
            // the larger an absolute value, the smaller is the number
            (CompareOp::Lt | CompareOp::LtEq, true) => self.negative.compare(op.flipped(), number)?,
            (CompareOp::Lt | CompareOp::LtEq, false) => self.positive.compare(op, number)? | all_negative,
            (CompareOp::Gt | CompareOp::GtEq, true) => self.negative.compare(op.flipped(), number)? | all_positive,
            (CompareOp::Eq | CompareOp::Gt | CompareOp::GtEq, false) => self.positive.compare(op, number)?,
        })
    }
}

impl Side {
    fn read(what: &str, from: &mut ByteReader<'_>, rows: u32, taken: &Taken) -> Result<Self> {
        check_version(from)?;
        let (min, max) = (from.i64_be()?, from.i64_be()?);
        let existing = roaring_bytes::read_next(what, from, rows, taken)?;
        // an empty bitmap has 8 bytes
        let count = from.count_be(8)?;
        let (Ok(min), Ok(max), ..=64) = (u64::try_from(min), u64::try_from(max), count) else {
            return Err(from.error("at most 64 slices of numbers from 0 on", format!("{count} of {min} to {max}")));
        };
        let slices = (0..count).map(|_| roaring_bytes::read_next(what, from, rows, taken)).collect::<Result<_>>()?;
        Ok(Self { min, max, slices: BitSlices { existing, slices } })
    }

    /// Slices have the numbers without `min`.
    fn compare(&self, op: CompareOp, number: u64) -> Result<RoaringBitmap> {
        match number.checked_sub(self.min) {
            Some(number) => self.slices.compare(op, number),
            None => Ok(match op {
                CompareOp::Gt | CompareOp::GtEq | CompareOp::NotEq => self.slices.existing.clone(),
                _ => RoaringBitmap::new(),
            }),
        }
    }

    fn write(&self, out: &mut Vec<u8>) -> Result<()> {
        let is_there = !self.slices.existing.is_empty();
        out.push(u8::from(is_there));
        if !is_there {
            return Ok(());
        }
        out.push(VERSION);
        out.extend_from_slice(&self.min.to_be_bytes());
        out.extend_from_slice(&self.max.to_be_bytes());
        out.extend(roaring_bytes::bytes(&self.slices.existing)?);
        super::key::put_length(out, self.slices.slices.len());
        for slice in &self.slices.slices {
            out.extend(roaring_bytes::bytes(slice)?);
        }
        Ok(())
    }
}

impl Index for BitSliced {
    fn answer(&self, question: &Question<'_>) -> Result<Candidates> {
        let number = |key: &Key| if let Key::Integer(number) = key { Some(*number) } else { None };
        Ok(match question {
            Question::IsNull => Candidates::Rows(roaring_bytes::first(self.rows) - self.existing()),
            Question::IsNotNull => Candidates::Rows(self.existing()),
            Question::In(keys) | Question::NotIn(keys) => {
                let mut numbers = keys.iter().filter_map(number);
                let found = numbers.try_fold(RoaringBitmap::new(), |all, number| {
                    self.compare(CompareOp::Eq, number).map(|one| all | one)
                })?;
                let negated = matches!(question, Question::NotIn(_));
                Candidates::Rows(if negated { self.existing() - found } else { found })
            }
            Question::Compare(op, key) => match number(key) {
                Some(number) => Candidates::Rows(self.compare(*op, number)?),
                None => Candidates::All,
            },
            Question::Prefix(_) => Candidates::All,
        })
    }
}

fn check_version(from: &mut ByteReader<'_>) -> Result<()> {
    match from.u8()? {
        VERSION => Ok(()),
        other => Err(from.error(format!("version {VERSION} of a bit-sliced index"), other)),
    }
}
