//! Numbers of rows, one bitmap for each bit of them.

use roaring::RoaringBitmap;

use crate::{cancel, error::Result, predicate::CompareOp};

/// The numbers that some rows have.
#[derive(Debug, Default)]
pub(super) struct BitSlices {
    /// Rows that have a number.
    pub(super) existing: RoaringBitmap,
    /// Rows whose number has the bit, from bit 0 on.
    pub(super) slices: Vec<RoaringBitmap>,
}

impl BitSlices {
    /// For numbers up to `largest`, at least so many bits.
    pub(super) fn new(largest: u64, least: usize) -> Self {
        let bits = (u64::BITS - largest.leading_zeros()) as usize;
        Self { existing: RoaringBitmap::new(), slices: vec![RoaringBitmap::new(); bits.max(least)] }
    }

    /// Gives a row, which has none yet, a number; rows come in any order.
    pub(super) fn add(&mut self, row: u32, number: u64) {
        self.existing.insert(row);
        for (bit, slice) in self.slices.iter_mut().enumerate() {
            if number >> bit & 1 == 1 {
                slice.insert(row);
            }
        }
    }

    /// Rows whose number compares like this.
    pub(super) fn compare(&self, op: CompareOp, number: u64) -> Result<RoaringBitmap> {
        let bits = self.slices.len();
        let beyond = bits < 64 && number >> bits != 0;
        if beyond {
            return Ok(match op {
                CompareOp::Lt | CompareOp::LtEq | CompareOp::NotEq => self.existing.clone(),
                _ => RoaringBitmap::new(),
            });
        }
        let (mut less, mut more) = (RoaringBitmap::new(), RoaringBitmap::new());
        let mut equal = self.existing.clone();
        for (bit, slice) in self.slices.iter().enumerate().rev() {
            cancel::check()?;
            if number >> bit & 1 == 1 {
                less |= &equal - slice;
                equal &= slice;
            } else {
                more |= &equal & slice;
                equal -= slice;
            }
        }
        Ok(match op {
            CompareOp::Eq => equal,
            CompareOp::NotEq => less | more,
            CompareOp::Lt => less,
            CompareOp::LtEq => less | equal,
            CompareOp::Gt => more,
            CompareOp::GtEq => more | equal,
        })
    }
}
