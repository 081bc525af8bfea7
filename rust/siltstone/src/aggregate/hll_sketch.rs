//! `hll_sketch`: the union of HLL sketches of Apache DataSketches, as HLL_4 (semantics b.7; `FieldHllSketchAgg`).
//!
//! ```text
//!  0 [ u8 ints of the preamble ][ u8 version 1 ][ u8 family 7 ][ u8 lg k ][ u8 lg of the list, set or exceptions ]
//!  5 [ u8 flags ][ u8 count of the list, or minimum of the registers ][ u8 mode | type << 2 ]
//!    list   count x [ u32 coupon ]
//!    set    [ i32 count ] count x [ u32 coupon ]
//!    array  [ f64 ][ f64 ][ f64 ][ i32 ][ i32 exceptions ] registers, exceptions x [ u32 coupon ]
//! ```
//! Little-endian, compact form. Modes: 0 list, 1 set, 2 array; types: 0 HLL_4, 1 HLL_6, 2 HLL_8. As in Java the union
//! has the size of the newer sketch, to which the older one is added. Sets and exceptions are written in the order of
//! hash tables, which depends on how these grew: Java fills the set of a sketch that it reads one coupon at a time, and
//! the table of exceptions by register.

use std::sync::Arc;

use datasketches::hll::{HllSketch, HllType, HllUnion};

use super::{AggregateFunction, FieldOptions, fold::Fold, set_union::SetUnion};
use crate::{
    Error, ErrorKind, Result,
    codec::ByteReader,
    types::{DataField, DataType, TypeKind},
};

const WHAT: &str = "hll sketch";
const COMPACT: u8 = 8;
const SET: u8 = 1;
const ARRAY: u8 = 2;
/// Where the count of exceptions is.
const EXCEPTIONS_AT: usize = 36;
/// Where registers begin.
const REGISTERS_AT: usize = 40;
/// A list of more coupons is a set.
const LIST_COUPONS: usize = 7;
/// No register is larger.
const MAX_REGISTER: u8 = 63;
/// A register of HLL_4 whose value is an exception.
const EXCEPTION: u8 = 15;

const WANTS: &str = "a serialized HLL sketch of Apache DataSketches";

/// VARBINARY.
pub(super) fn accepts(data_type: &DataType) -> bool {
    matches!(data_type.kind, TypeKind::VarBinary(_))
}

pub(super) fn new(field: &DataField, _: &FieldOptions) -> Result<Arc<dyn AggregateFunction>> {
    Ok(Arc::new(Fold::new(SetUnion { name: "hll_sketch", wants: WANTS, check, union }, &field.data_type)))
}

/// The union, in Java's bytes.
fn union(a: &[u8], b: &[u8]) -> Result<Vec<u8>> {
    let (a, b) = (read(a)?, read(b)?);
    let mut union = HllUnion::new(b.lg_config_k()).map_err(not_a_sketch)?;
    union.update(&b);
    union.update(&a);
    in_order_of_registers(union.to_sketch(HllType::Hll4).serialize())
}

fn check(bytes: &[u8]) -> Result<()> {
    checked(bytes).map(drop)
}

fn read(bytes: &[u8]) -> Result<HllSketch> {
    let sketch = checked(bytes)?;
    let mut reader = ByteReader::new(WHAT, bytes);
    let [_, _, _, lg_k, _, flags, _, mode]: [u8; 8] = reader.array()?;
    if mode & 3 == SET && flags & COMPACT != 0 {
        let count = usize::try_from(reader.i32_le()?).unwrap_or(0);
        return filled(lg_k, reader.take(count.saturating_mul(4))?);
    }
    Ok(sketch)
}

/// The sketch as the library has it.
fn checked(bytes: &[u8]) -> Result<HllSketch> {
    let sketch = HllSketch::deserialize(bytes).map_err(not_a_sketch)?;
    let mut reader = ByteReader::new(WHAT, bytes);
    let [_, _, _, lg_k, _, _, minimum, mode]: [u8; 8] = reader.array()?;
    if mode & 3 == ARRAY {
        reader.take(REGISTERS_AT - reader.position())?;
        check_registers(&reader, bytes, lg_k, minimum, mode >> 2 & 3)?;
    }
    Ok(sketch)
}

/// The library computes with registers as they come.
fn check_registers(reader: &ByteReader<'_>, bytes: &[u8], lg_k: u8, minimum: u8, kind: u8) -> Result<()> {
    let size = 1_usize << lg_k;
    let registers = |size: usize| bytes.get(REGISTERS_AT..REGISTERS_AT + size).unwrap_or_default();
    let highest = match kind {
        0 => {
            let halves = registers(size / 2).iter().flat_map(|byte| [byte & 15, byte >> 4]);
            minimum.saturating_add(halves.filter(|half| *half < EXCEPTION).max().unwrap_or(0))
        }
        2 => registers(size).iter().copied().max().unwrap_or(0),
        // six bits
        _ => 0,
    };
    if highest <= MAX_REGISTER {
        return Ok(());
    }
    Err(reader.error(format!("registers of at most {MAX_REGISTER}"), highest))
}

/// A sketch that took these coupons one after another.
fn filled(lg_k: u8, coupons: &[u8]) -> Result<HllSketch> {
    let mut union = HllUnion::new(lg_k).map_err(not_a_sketch)?;
    for coupons in coupons.chunks(LIST_COUPONS * 4) {
        // a list of an HLL_8 sketch
        let count = u8::try_from(coupons.len() / 4).unwrap_or(0);
        let mut list = vec![2, 1, 7, lg_k, 3, COMPACT, count, 2 << 2];
        list.extend_from_slice(coupons);
        union.update(&HllSketch::deserialize(&list).map_err(not_a_sketch)?);
    }
    Ok(union.to_sketch(HllType::Hll8))
}

/// Writes exceptions in the order of a table that was filled by register, with the size of that table.
fn in_order_of_registers(mut sketch: Vec<u8>) -> Result<Vec<u8>> {
    let mut reader = ByteReader::new(WHAT, &sketch);
    let [_, _, _, lg_k, _, _, _, mode]: [u8; 8] = reader.array()?;
    if mode & 3 != ARRAY {
        return Ok(sketch);
    }
    reader.take(EXCEPTIONS_AT - reader.position())?;
    let count = usize::try_from(reader.i32_le()?).unwrap_or(0);
    let start = sketch.len().saturating_sub(count * 4);
    if count == 0 {
        return Ok(sketch);
    }
    let mask = (1_u32 << lg_k) - 1;
    let exceptions = sketch.get(start..).unwrap_or_default().as_chunks().0;
    let mut exceptions: Vec<u32> = exceptions.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
    exceptions.sort_unstable_by_key(|coupon| coupon & mask);
    let mut table = Exceptions { lg: lg_of_exceptions(lg_k), slots: Vec::new(), mask };
    table.slots = vec![0; 1 << table.lg];
    for (coupon, count) in exceptions.into_iter().zip(1..) {
        table.add(coupon);
        if 4 * count > 3 * table.slots.len() {
            table.grow();
        }
    }
    if let Some(lg) = sketch.get_mut(4) {
        *lg = table.lg;
    }
    sketch.truncate(start);
    let taken = table.slots.iter().filter(|coupon| **coupon != 0);
    taken.for_each(|coupon| sketch.extend_from_slice(&coupon.to_le_bytes()));
    Ok(sketch)
}

/// Size of the first table of exceptions.
fn lg_of_exceptions(lg_k: u8) -> u8 {
    match lg_k {
        ..=6 => 2,
        7..=9 => 3,
        10 | 11 => 4,
        12 | 13 => 5,
        _ => lg_k - 8,
    }
}

/// A hash table of coupons by register, 0 where it is free.
struct Exceptions {
    lg: u8,
    slots: Vec<u32>,
    mask: u32,
}

impl Exceptions {
    fn add(&mut self, coupon: u32) {
        let register = coupon & self.mask;
        let last = (1_u32 << self.lg) - 1;
        let mut probe = register & last;
        // a quarter of the slots is free, and an odd stride comes by all
        while let Some(slot) = usize::try_from(probe).ok().and_then(|at| self.slots.get_mut(at)) {
            if *slot == 0 {
                *slot = coupon;
                return;
            }
            probe = (probe + ((register >> self.lg) | 1)) & last;
        }
    }

    fn grow(&mut self) {
        self.lg += 1;
        let before = std::mem::replace(&mut self.slots, vec![0; 1 << self.lg]);
        before.into_iter().filter(|coupon| *coupon != 0).for_each(|coupon| self.add(coupon));
    }
}

fn not_a_sketch(e: datasketches::error::Error) -> Error {
    Error::new(ErrorKind::CorruptFile, "these bytes are no HLL sketch").caused_by(e)
}
