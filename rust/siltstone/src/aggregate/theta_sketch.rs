//! `theta_sketch`: the union of Theta sketches of Apache DataSketches (semantics b.7; `FieldThetaSketchAgg`).
//!
//! ```text
//!  0 [ u8 longs of the preamble: 1, 2 or 3 (low 6 bits) ][ u8 version 3 ][ u8 family: 1, 2 or 3 ]
//!  3 [ u8 ][ u8 lg of table size ][ u8 flags ][ u16 hash of the seed ]
//!  8 [ i32 count ][ f32 sampling ]        from 2 longs on
//! 16 [ i64 theta ]                        with 3 longs; otherwise all hashes are there
//!    [ i64 hash ] ...                     compact: count; otherwise the hash table, 0 where it is free
//! ```
//! Little-endian. The union keeps the 4096 smallest hashes below the smallest theta, and is written compact and
//! ordered. Versions 1, 2 and 4 are decoded by the library. Source: `org.apache.datasketches.theta.UnionImpl`.

use std::sync::Arc;

use datasketches::theta::CompactThetaSketch;

use super::{AggregateFunction, FieldOptions, fold::Fold, set_union::SetUnion};
use crate::{
    Error, ErrorKind, Result,
    codec::ByteReader,
    types::{DataField, DataType, TypeKind},
};

const WHAT: &str = "theta sketch";
/// Hashes that a union keeps (Java's default).
const NOMINAL: usize = 4096;
/// Hash of the default seed 9001.
const SEED_HASH: u16 = 0x93cc;
const VERSION: u8 = 3;
const COMPACT_FAMILY: u8 = 3;

/// Fewer bytes hold no hash: Java does not look at them.
const LEAST: usize = 16;

const READ_ONLY: u8 = 2;
const EMPTY: u8 = 4;
const COMPACT: u8 = 8;
const ORDERED: u8 = 16;
const SINGLE: u8 = 32;

/// Theta when nothing was left out.
const EXACT: i64 = i64::MAX;

const WANTS: &str = "a serialized theta sketch of Apache DataSketches, of the default seed";

/// VARBINARY.
pub(super) fn accepts(data_type: &DataType) -> bool {
    matches!(data_type.kind, TypeKind::VarBinary(_))
}

pub(super) fn new(field: &DataField, _: &FieldOptions) -> Result<Arc<dyn AggregateFunction>> {
    Ok(Arc::new(Fold::new(SetUnion { name: "theta_sketch", wants: WANTS, check, union }, &field.data_type)))
}

/// What a sketch holds; empty with [`EXACT`] and no hash.
#[derive(Debug, PartialEq, Eq)]
struct Theta {
    theta: i64,
    hashes: Vec<i64>,
}

/// The union, in Java's bytes.
fn union(a: &[u8], b: &[u8]) -> Result<Vec<u8>> {
    let (a, b) = (read(a)?, read(b)?);
    let mut theta = a.theta.min(b.theta);
    let mut hashes = a.hashes;
    hashes.extend(b.hashes);
    hashes.retain(|hash| *hash < theta);
    hashes.sort_unstable();
    hashes.dedup();
    if let Some(next) = hashes.get(NOMINAL) {
        theta = *next;
        hashes.truncate(NOMINAL);
    }
    Ok(write(&Theta { theta, hashes }))
}

fn check(bytes: &[u8]) -> Result<()> {
    read(bytes).map(drop)
}

fn read(bytes: &[u8]) -> Result<Theta> {
    let nothing = Theta { theta: EXACT, hashes: Vec::new() };
    if bytes.len() < LEAST {
        return Ok(nothing);
    }
    let mut reader = ByteReader::new(WHAT, bytes);
    let [longs, version, family, _, lg_table, flags, seed0, seed1]: [u8; 8] = reader.array()?;
    if version != VERSION {
        return by_library(bytes);
    }
    if !(1..=COMPACT_FAMILY).contains(&family) {
        return Err(reader.error("a theta sketch: family 1 to 3", family));
    }
    let longs = longs & 0x3f;
    if longs == 1 {
        // like Java: old sketches of a single hash lack the flag, and what is none is empty
        let unflagged = family == COMPACT_FAMILY && flags & (SINGLE - 1) == READ_ONLY | COMPACT | ORDERED;
        let single = unflagged || flags & SINGLE != 0;
        return if single { Ok(Theta { hashes: vec![hash(&mut reader)?], ..nothing }) } else { Ok(nothing) };
    }
    let seed = u16::from_le_bytes([seed0, seed1]);
    if seed != SEED_HASH {
        return Err(reader.error(format!("a sketch of the default seed ({SEED_HASH})"), seed));
    }
    let count = reader.i32_le()?;
    let count = usize::try_from(count).map_err(|_| reader.error("a count", count))?;
    reader.take(4)?;
    let theta = match longs {
        2 => EXACT,
        3 => reader.i64_le()?,
        other => return Err(reader.error("a preamble of 1 to 3 longs", other)),
    };
    if theta <= 0 {
        return Err(reader.error("a theta above 0", theta));
    }
    if flags & (COMPACT | ORDERED) != 0 {
        return compact(&mut reader, theta, count, flags & ORDERED != 0);
    }
    let size = 1_usize.checked_shl(lg_table.into()).filter(|size| *size <= reader.remaining() / 8);
    let size = size.ok_or_else(|| reader.error("a table inside the sketch", format!("2^{lg_table} hashes")))?;
    let table = reader.take(size * 8)?.as_chunks().0.iter().map(|bytes| i64::from_le_bytes(*bytes));
    Ok(Theta { theta, hashes: table.filter(|hash| *hash > 0).collect() })
}

fn compact(reader: &mut ByteReader<'_>, theta: i64, count: usize, ordered: bool) -> Result<Theta> {
    let mut hashes = Vec::with_capacity(count.min(reader.remaining() / 8));
    for _ in 0..count {
        let hash = hash(reader)?;
        if ordered && hashes.last().is_some_and(|before| *before >= hash) {
            return Err(reader.error("ascending hashes", hash));
        }
        hashes.push(hash);
    }
    Ok(Theta { theta, hashes })
}

fn hash(reader: &mut ByteReader<'_>) -> Result<i64> {
    let hash = reader.i64_le()?;
    if hash > 0 { Ok(hash) } else { Err(reader.error("a hash above 0", hash)) }
}

/// Sketches of other versions.
fn by_library(bytes: &[u8]) -> Result<Theta> {
    let sketch = CompactThetaSketch::deserialize(bytes)
        .map_err(|e| Error::new(ErrorKind::CorruptFile, "these bytes are no theta sketch").caused_by(e))?;
    let signed = |n: u64| i64::try_from(n).unwrap_or(EXACT);
    Ok(Theta { theta: signed(sketch.theta64()), hashes: sketch.iter().map(|entry| signed(entry.hash())).collect() })
}

fn write(sketch: &Theta) -> Vec<u8> {
    let longs = match (sketch.theta, sketch.hashes.len()) {
        (EXACT, 0 | 1) => 1,
        (EXACT, _) => 2,
        _ => 3,
    };
    let kind = match (longs, sketch.hashes.len()) {
        (1, 0) => EMPTY,
        (1, _) => SINGLE,
        _ => 0,
    };
    let seed = if kind == EMPTY { 0 } else { SEED_HASH };
    let mut out = vec![longs, VERSION, COMPACT_FAMILY, 0, 0, READ_ONLY | COMPACT | ORDERED | kind];
    out.extend_from_slice(&seed.to_le_bytes());
    if longs > 1 {
        // at most 4096
        out.extend_from_slice(&i32::try_from(sketch.hashes.len()).unwrap_or(i32::MAX).to_le_bytes());
        out.extend_from_slice(&1_f32.to_le_bytes());
    }
    if longs == 3 {
        out.extend_from_slice(&sketch.theta.to_le_bytes());
    }
    sketch.hashes.iter().for_each(|hash| out.extend_from_slice(&hash.to_le_bytes()));
    out
}

#[cfg(test)]
mod tests {
    use datasketches::theta::{ThetaSketch, ThetaSketchBuilder, ThetaUnionBuilder};
    use proptest::prelude::*;

    use super::*;

    fn sketch(values: std::ops::Range<u64>) -> ThetaSketch {
        let mut sketch = ThetaSketchBuilder::default().lg_k(8).build().unwrap();
        values.for_each(|value| sketch.update(value));
        sketch
    }

    #[test]
    fn an_empty_sketch_adds_nothing() {
        let (empty, one) = (sketch(0..0).compact(true).serialize(), sketch(0..1).compact(true).serialize());
        assert_eq!(union(&empty, &empty).unwrap(), [1, 3, 3, 0, 0, 0x1e, 0, 0]);
        assert_eq!(read(&union(&empty, &one).unwrap()).unwrap(), read(&one).unwrap());
    }

    /// A hash table, as `UpdateSketch.toByteArray` writes it: family 2, and no flag for compact.
    #[test]
    fn sketches_that_are_not_compact_are_read_too() {
        let compact = read(&sketch(0..20).compact(true).serialize()).unwrap();
        let mut table = vec![3, VERSION, 2, 12, 5, 0];
        table.extend_from_slice(&SEED_HASH.to_le_bytes());
        table.extend_from_slice(&20_i32.to_le_bytes());
        table.extend_from_slice(&1_f32.to_le_bytes());
        table.extend_from_slice(&EXACT.to_le_bytes());
        let free = std::iter::repeat_n(&0, 12);
        compact.hashes.iter().chain(free).for_each(|hash| table.extend_from_slice(&hash.to_le_bytes()));
        assert_eq!(read(&table).unwrap(), compact);
    }

    #[test]
    fn another_seed_is_an_error() {
        let mut bytes = sketch(0..5).compact(true).serialize();
        bytes[6] ^= 1;
        assert!(union(&bytes, &bytes).unwrap_err().to_string().contains("seed"));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

        #[test]
        fn unions_are_those_of_the_library(
            a in 0..3000_u64, b in 0..3000_u64, c in 0..9000_u64, ordered: bool, compressed: bool,
        ) {
            let (x, y) = (sketch(a..a + b), sketch(b..b + c));
            let (x, y) = (x.compact(true), y.compact(ordered));
            let mut theirs = ThetaUnionBuilder::default().lg_k(12).build().unwrap();
            theirs.update(&x).unwrap();
            theirs.update(&y).unwrap();
            let first = if compressed { x.serialize_compressed() } else { x.serialize() };
            let ours = union(&first, &y.serialize()).unwrap();
            prop_assert_eq!(read(&ours).unwrap(), read(&theirs.to_sketch(true).serialize()).unwrap());
        }
    }
}
