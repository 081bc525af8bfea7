//! `rbm64`: the union of 64-bit roaring bitmaps in the form of Java's `Roaring64Bitmap` (semantics b.7;
//! `FieldRoaringBitmap64Agg`).
//!
//! ```text
//! [ u8 0 ]                                                                  empty
//! [ u8 1 ][ i64 keys ] tree                                                 see bitmap/art.rs
//!         [ i32 1 ][ u8 fe ][ i32 places ]
//!         places x ([ u8 0 ]  or  [ u8 1 ][ u8 form ][ i32 cardinality ] container)
//!         [ i64 containers ][ i32 0 ][ i32 last place in use ]
//! ```
//! Little-endian. Forms: 0 run, 1 bitmap, 2 array (bitmap/container.rs). Places grow by half when they are full, and
//! those that are free are written too.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    AggregateFunction, FieldOptions,
    bitmap::{
        container::{Container, Form},
        radix_tree::{Key, Node},
    },
    fold::Fold,
    set_union::SetUnion,
};
use crate::{
    Result,
    codec::ByteReader,
    types::{DataField, DataType, TypeKind},
};

/// In front of the places: not trimmed.
const NOT_TRIMMED: u8 = 0xfe;

const WANTS: &str = "a serialized 64-bit roaring bitmap of Java's Roaring64Bitmap";

/// VARBINARY.
pub(super) fn accepts(data_type: &DataType) -> bool {
    matches!(data_type.kind, TypeKind::VarBinary(_))
}

pub(super) fn new(field: &DataField, _: &FieldOptions) -> Result<Arc<dyn AggregateFunction>> {
    Ok(Arc::new(Fold::new(SetUnion { name: "rbm64", wants: WANTS, check, union }, &field.data_type)))
}

/// Reads so many numbers in a form.
type ReadContainer<C> = fn(&mut ByteReader<'_>, Form, usize) -> Result<C>;

/// A bitmap that holds something.
#[derive(Debug)]
struct Bitmap<C = Container> {
    tree: Node,
    places: Vec<Option<C>>,
    /// The last place that was given away.
    last: usize,
}

/// The numbers of both bitmaps, in Java's bytes.
fn union(a: &[u8], b: &[u8]) -> Result<Vec<u8>> {
    let mut bitmap = read(a)?;
    let Some(other) = read(b)? else { return Ok(write(bitmap.as_ref())) };
    let mut known: BTreeMap<Key, usize> = bitmap.iter().flat_map(Bitmap::keys).collect();
    for (key, place) in other.keys() {
        let Some(container) = other.places.get(place).and_then(Option::as_ref) else { continue };
        if let Some(place) = known.get(&key) {
            let mine = bitmap.as_mut().and_then(|bitmap| bitmap.places.get_mut(*place));
            if let Some(Some(mine)) = mine {
                *mine = mine.union(container);
            }
        } else {
            let place = put(&mut bitmap, key, container.clone());
            known.insert(key, place);
        }
    }
    Ok(write(bitmap.as_ref()))
}

/// Adds a container under a new key and says where.
fn put(bitmap: &mut Option<Bitmap>, key: Key, container: Container) -> usize {
    let Some(Bitmap { tree, mut places, last }) = bitmap.take() else {
        *bitmap = Some(Bitmap { tree: Node::Leaf { key, place: 0 }, places: vec![Some(container)], last: 0 });
        return 0;
    };
    let place = last + 1;
    if place >= places.len() {
        places.resize((places.len() + places.len() / 2).max(place + 1), None);
    }
    if let Some(slot) = places.get_mut(place) {
        *slot = Some(container);
    }
    // a bitmap of 2^63 containers does not fit into memory
    let tree = tree.insert(key, 0, i64::try_from(place).unwrap_or(i64::MAX));
    *bitmap = Some(Bitmap { tree, places, last: place });
    place
}

impl<C> Bitmap<C> {
    /// Keys in order, with the places of their containers.
    fn keys(&self) -> impl Iterator<Item = (Key, usize)> {
        self.tree.leaves().into_iter().map(|(key, place)| (key, usize::try_from(place).unwrap_or(usize::MAX)))
    }
}

fn check(bytes: &[u8]) -> Result<()> {
    read_with(bytes, Container::check).map(drop)
}

fn read(bytes: &[u8]) -> Result<Option<Bitmap>> {
    read_with(bytes, Container::read)
}

/// Reads a bitmap; `container` makes something of the bytes of each container.
fn read_with<C>(bytes: &[u8], container: ReadContainer<C>) -> Result<Option<Bitmap<C>>> {
    let mut reader = ByteReader::new("rbm64 bitmap", bytes);
    match reader.u8()? {
        0 => return Ok(None),
        1 => {}
        other => return Err(reader.error("0 or 1", other)),
    }
    let keys = reader.i64_le()?;
    let tree = Node::read(&mut reader, &mut Vec::new())?;
    let levels = reader.i32_le()?;
    if levels != 1 {
        return Err(reader.error("one list of containers", levels));
    }
    reader.u8()?;
    let count = reader.i32_le()?;
    let count = usize::try_from(count).ok().filter(|count| *count <= reader.remaining());
    let count = count.ok_or_else(|| reader.error("as many places as there are bytes at most", reader.remaining()))?;
    let mut places = Vec::with_capacity(count);
    for _ in 0..count {
        places.push(read_place(&mut reader, container)?);
    }
    let (containers, level, last) = (reader.i64_le()?, reader.i32_le()?, reader.i32_le()?);
    let bitmap = Bitmap { tree, places, last: usize::try_from(last).unwrap_or(usize::MAX) };
    let mut used: Vec<usize> = bitmap.keys().map(|(_, place)| place).collect();
    used.sort_unstable();
    used.dedup();
    let held = |place: &usize| bitmap.places.get(*place).is_some_and(Option::is_some);
    let there = bitmap.places.iter().flatten().count();
    let agrees = |n: i64| usize::try_from(n).is_ok_and(|n| n == used.len() && n == there);
    if !(agrees(keys) && agrees(containers) && used.iter().all(held) && level == 0 && bitmap.last < count) {
        let found = format!("{there} containers, the last at place {last} of {count}");
        return Err(reader.error(format!("a container for each of {keys} keys"), found));
    }
    if bitmap.places.iter().skip(bitmap.last + 1).any(Option::is_some) {
        return Err(reader.error(format!("no container behind place {last}"), "one"));
    }
    Ok(Some(bitmap))
}

fn read_place<C>(reader: &mut ByteReader<'_>, container: ReadContainer<C>) -> Result<Option<C>> {
    match reader.u8()? {
        0 => return Ok(None),
        1 => {}
        other => return Err(reader.error("0 or 1", other)),
    }
    let form = match reader.u8()? {
        0 => Form::Run,
        1 => Form::Bitmap,
        2 => Form::Array,
        other => return Err(reader.error("a container of form 0 to 2", other)),
    };
    let cardinality = reader.i32_le()?;
    let cardinality = usize::try_from(cardinality).map_err(|_| reader.error("a cardinality", cardinality))?;
    container(reader, form, cardinality).map(Some)
}

fn write(bitmap: Option<&Bitmap>) -> Vec<u8> {
    let Some(bitmap) = bitmap else { return vec![0] };
    // everything here came out of a byte array, whose length is an i32 in Java
    let int = |n: usize| i32::try_from(n).unwrap_or(i32::MAX).to_le_bytes();
    let long = |n: usize| i64::try_from(n).unwrap_or(i64::MAX).to_le_bytes();
    let containers = bitmap.places.iter().flatten().count();
    let mut out = vec![1];
    out.extend_from_slice(&long(containers));
    bitmap.tree.write(&mut out);
    out.extend_from_slice(&int(1));
    out.push(NOT_TRIMMED);
    out.extend_from_slice(&int(bitmap.places.len()));
    for place in &bitmap.places {
        let Some(container) = place else {
            out.push(0);
            continue;
        };
        let form = container.form(true);
        out.extend_from_slice(&[
            1,
            match form {
                Form::Run => 0,
                Form::Bitmap => 1,
                Form::Array => 2,
            },
        ]);
        out.extend_from_slice(&int(container.cardinality()));
        container.write(form, &mut out);
    }
    out.extend_from_slice(&long(containers));
    out.extend_from_slice(&int(0));
    out.extend_from_slice(&int(bitmap.last));
    out
}
