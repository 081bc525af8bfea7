//! `bloom-filter`: whether a value may be there (format chapter 9.3).
//!
//! ```text
//! i32 number of hash functions | bits, the lowest of each byte first
//! ```
//!
//! Source: `BloomFilterFileIndex`, `BloomFilter64`, `FastHash`.

use super::{
    Candidates,
    key::Key,
    question::{Index, Question},
    xxhash::xxhash64,
};
use crate::{cancel, codec::ByteReader, error::Result, limits};

/// A filter that was read or is being filled.
#[derive(Debug)]
pub(super) struct BloomFilter {
    functions: i32,
    bits: Vec<u8>,
}

impl BloomFilter {
    pub(super) fn read(what: &str, bytes: &[u8]) -> Result<Self> {
        let mut from = ByteReader::new(what, bytes);
        let functions = from.i32_be()?;
        let given = from.take(from.remaining())?;
        let mut bits = Vec::new();
        limits::reserve(&mut bits, given.len(), "a bloom filter").map_err(|e| e.with("file", what))?;
        bits.extend_from_slice(given);
        // a function more says less; Java takes what there is
        if bits.is_empty() || !(0..=1 << 16).contains(&functions) {
            return Err(from.error("a bloom filter", format!("{functions} functions over {} bytes", bits.len())));
        }
        Ok(Self { functions, bits })
    }

    /// An empty one for so many values, of which one in `1 / fpp` others may be found, too.
    #[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "as Java rounds")]
    pub(super) fn new(items: i64, fpp: f64) -> Self {
        let bytes = Self::size_for(items, fpp);
        let functions = ((bytes as f64 * 8.0 / items as f64 * std::f64::consts::LN_2) + 0.5).floor() as i32;
        Self { functions: functions.max(1), bits: vec![0; bytes] }
    }

    /// Bytes of its bits.
    #[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "as Java rounds")]
    #[expect(clippy::cast_sign_loss, reason = "the number of bits is not negative")]
    pub(super) fn size_for(items: i64, fpp: f64) -> usize {
        let ln_2 = std::f64::consts::LN_2;
        let count = (-(items as f64) * fpp.ln() / (ln_2 * ln_2)) as i32;
        count.max(0).saturating_add(8 - count.max(0) % 8) as usize / 8
    }

    pub(super) fn add(&mut self, key: &Key) {
        let positions: Vec<usize> = self.positions(hash(key)).collect();
        for position in positions {
            if let Some(byte) = self.bits.get_mut(position / 8) {
                *byte |= 1 << (position % 8);
            }
        }
    }

    fn may_have(&self, key: &Key) -> bool {
        let is_set = |position: usize| self.bits.get(position / 8).is_some_and(|byte| byte >> (position % 8) & 1 == 1);
        self.positions(hash(key)).all(is_set)
    }

    fn may_have_any(&self, keys: &[Key]) -> Result<bool> {
        for key in keys {
            cancel::check()?;
            if self.may_have(key) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn positions(&self, hash: u64) -> impl Iterator<Item = usize> + use<> {
        let halves = (low(hash), low(hash >> 32));
        // fewer than 2^31 bits, as Java has it
        let count = i32::try_from(self.bits.len().saturating_mul(8)).unwrap_or(i32::MAX);
        (1..=self.functions).map(move |i| {
            let combined = halves.0.wrapping_add(i.wrapping_mul(halves.1));
            let combined = if combined < 0 { !combined } else { combined };
            usize::try_from(combined % count).unwrap_or(0)
        })
    }

    /// Bytes in memory.
    pub(super) fn size(&self) -> usize {
        self.bits.len()
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut out = self.functions.to_be_bytes().to_vec();
        out.extend_from_slice(&self.bits);
        out
    }
}

impl Index for BloomFilter {
    fn answer(&self, question: &Question<'_>) -> Result<Candidates> {
        Ok(match question {
            Question::In(keys) if !self.may_have_any(keys)? => Candidates::none(),
            _ => Candidates::All,
        })
    }
}

fn low(hash: u64) -> i32 {
    u32::try_from(hash & 0xffff_ffff).unwrap_or_default().cast_signed()
}

fn hash(key: &Key) -> u64 {
    match key {
        Key::Text(bytes) => xxhash64(bytes),
        Key::Integer(value) => wang(*value),
        Key::Float(value) => wang(i64::from(value.to_bits().cast_signed())),
        Key::Double(value) => wang(value.to_bits().cast_signed()),
        // columns of this form have no filter
        Key::Bool(value) => wang(i64::from(*value)),
    }
}

/// Thomas Wang's hash of an integer.
fn wang(key: i64) -> u64 {
    let key = (!key).wrapping_add(key << 21);
    let key = key ^ (key >> 24);
    let key = key.wrapping_add(key << 3).wrapping_add(key << 8);
    let key = key ^ (key >> 14);
    let key = key.wrapping_add(key << 2).wrapping_add(key << 4);
    let key = key ^ (key >> 28);
    key.wrapping_add(key << 31).cast_unsigned()
}
