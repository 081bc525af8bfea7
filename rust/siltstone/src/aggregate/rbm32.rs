//! `rbm32`: the union of 32-bit roaring bitmaps (semantics b.7; `FieldRoaringBitmap32Agg`).
//!
//! ```text
//! [ i32 12346 ][ i32 containers ]                                           no run container
//! [ u16 12347 ][ u16 containers - 1 ][ (containers + 7) / 8 bytes: which are run containers ]
//! containers x ([ u16 high bits ][ u16 cardinality - 1 ])
//! containers x [ i32 offset from the first byte ]                           with run containers: from 4 on
//! containers x container                                                    see bitmap/container.rs
//! ```
//! Little-endian. Source: RoaringFormatSpec; `org.roaringbitmap.RoaringArray`.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    sync::Arc,
};

use super::{
    AggregateFunction, FieldOptions,
    bitmap::container::{Container, Form, MAX_ARRAY},
    fold::Fold,
    set_union::SetUnion,
};
use crate::{
    Result,
    codec::ByteReader,
    types::{DataField, DataType, TypeKind},
};

const NO_RUNS: i32 = 12346;
const RUNS: i32 = 12347;
/// Bitmaps with run containers and fewer containers have no offsets.
const OFFSETS_FROM: usize = 4;

const WANTS: &str = "a serialized 32-bit roaring bitmap";

/// VARBINARY.
pub(super) fn accepts(data_type: &DataType) -> bool {
    matches!(data_type.kind, TypeKind::VarBinary(_))
}

pub(super) fn new(field: &DataField, _: &FieldOptions) -> Result<Arc<dyn AggregateFunction>> {
    Ok(Arc::new(Fold::new(SetUnion { name: "rbm32", wants: WANTS, check, union }, &field.data_type)))
}

type Bitmap = BTreeMap<u16, Container>;

/// The numbers of both bitmaps, in Java's bytes.
fn union(a: &[u8], b: &[u8]) -> Result<Vec<u8>> {
    let mut bitmap = read(a)?;
    for (high, container) in read(b)? {
        match bitmap.entry(high) {
            Entry::Vacant(entry) => {
                entry.insert(container);
            }
            Entry::Occupied(mut entry) => {
                let merged = entry.get().union(&container);
                entry.insert(merged);
            }
        }
    }
    Ok(write(&bitmap))
}

fn check(bytes: &[u8]) -> Result<()> {
    walk(bytes, |_, reader, form, cardinality| Container::check(reader, form, cardinality))
}

fn read(bytes: &[u8]) -> Result<Bitmap> {
    let mut bitmap = Bitmap::new();
    walk(bytes, |high, reader, form, cardinality| {
        bitmap.insert(high, Container::read(reader, form, cardinality)?);
        Ok(())
    })?;
    Ok(bitmap)
}

/// Goes through the containers: high bits, a reader at the container, its form and cardinality.
fn walk(bytes: &[u8], mut each: impl FnMut(u16, &mut ByteReader<'_>, Form, usize) -> Result<()>) -> Result<()> {
    let mut reader = ByteReader::new("rbm32 bitmap", bytes);
    let cookie = reader.i32_le()?;
    let (count, has_runs) = match cookie {
        NO_RUNS => (reader.i32_le()?, false),
        c if c & 0xffff == RUNS => (((c >> 16) & 0xffff) + 1, true),
        other => return Err(reader.error(format!("{NO_RUNS} or {RUNS}"), other)),
    };
    let count = usize::try_from(count).ok().filter(|count| *count <= 1 << 16);
    let count = count.ok_or_else(|| reader.error("at most 65536 containers", cookie))?;
    let runs = reader.take(if has_runs { count.div_ceil(8) } else { 0 })?;
    let is_run = |i: usize| runs.get(i / 8).is_some_and(|byte| byte & (1 << (i % 8)) != 0);
    let heads = reader.take(count * 4)?;
    if !has_runs || count >= OFFSETS_FROM {
        reader.take(count * 4)?;
    }
    let mut before = None;
    for (i, &[h0, h1, c0, c1]) in heads.as_chunks().0.iter().enumerate() {
        let (high, cardinality) = (u16::from_le_bytes([h0, h1]), usize::from(u16::from_le_bytes([c0, c1])) + 1);
        if before.is_some_and(|before| before >= high) {
            return Err(reader.error("ascending containers", high));
        }
        let form = match cardinality {
            _ if is_run(i) => Form::Run,
            n if n > MAX_ARRAY => Form::Bitmap,
            _ => Form::Array,
        };
        each(high, &mut reader, form, cardinality)?;
        before = Some(high);
    }
    Ok(())
}

fn write(bitmap: &Bitmap) -> Vec<u8> {
    let forms: Vec<Form> = bitmap.values().map(|container| container.form(false)).collect();
    let has_runs = forms.contains(&Form::Run);
    // at most 65536 containers of at most 8 KiB
    let int = |n: usize| u32::try_from(n).unwrap_or(u32::MAX).to_le_bytes();
    let mut out = Vec::new();
    if has_runs {
        out.extend_from_slice(&12347_u16.to_le_bytes());
        out.extend_from_slice(&u16::try_from(forms.len() - 1).unwrap_or(u16::MAX).to_le_bytes());
        for forms in forms.chunks(8) {
            out.push(forms.iter().zip(0..8).map(|(form, bit)| u8::from(*form == Form::Run) << bit).sum());
        }
    } else {
        out.extend_from_slice(&int(12346));
        out.extend_from_slice(&int(forms.len()));
    }
    for (high, container) in bitmap {
        out.extend_from_slice(&high.to_le_bytes());
        out.extend_from_slice(&u16::try_from(container.cardinality() - 1).unwrap_or(u16::MAX).to_le_bytes());
    }
    let has_offsets = !has_runs || forms.len() >= OFFSETS_FROM;
    let mut body = Vec::new();
    let start = out.len() + if has_offsets { forms.len() * 4 } else { 0 };
    for (container, form) in bitmap.values().zip(forms) {
        if has_offsets {
            out.extend_from_slice(&int(start + body.len()));
        }
        container.write(form, &mut body);
    }
    out.append(&mut body);
    out
}
