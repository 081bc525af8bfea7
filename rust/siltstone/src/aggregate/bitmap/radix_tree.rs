//! The radix tree of Java's `Roaring64Bitmap`: from the 48 high bits of numbers to the place of their container.
//!
//! ```text
//! node     [ u8 kind ][ i16 children ][ u8 prefix length ][ prefix ] body, then the children in key order
//!   0      4 children    [ 4 key bytes, last first ]
//!   1     16 children    [ 8 key bytes, last first ][ 8 key bytes, last first ]
//!   2     48 children    32 x [ 8 slots, last first ]      slot of each key byte, ff: no child
//!   3    256 children    4 x [ u64 bits of key bytes ]
//!   4   leaf             [ 6 key bytes ][ i64 place of the container ]
//! ```
//! Little-endian but for the key. Nodes grow when they are full and remember in which order children came, so that a
//! tree must be read and extended as Java does. Source: `org.roaringbitmap.art`.

use crate::{Result, codec::ByteReader};

/// Bytes of a key.
pub(in super::super) const KEY_BYTES: usize = 6;
/// The 48 high bits of numbers, big-endian.
pub(in super::super) type Key = [u8; KEY_BYTES];

const LEAF: u8 = 4;
const NO_CHILD: u8 = 0xff;

/// A node and what is below.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) enum Node {
    Leaf { key: Key, place: i64 },
    Branch(Box<Branch>),
}

/// A node with children.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Branch {
    prefix: Vec<u8>,
    kind: Kind,
    /// By key byte.
    children: Vec<(u8, Node)>,
}

/// What a node knows beside its children.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    /// Key bytes, also those that are not in use.
    Four([u8; 4]),
    Sixteen([u8; 16]),
    /// The slot of each key byte.
    FortyEight(Box<[u8; 256]>),
    All,
}

impl Node {
    /// Reads a tree; `path` is the part of the key that leads to this node.
    pub(in super::super) fn read(reader: &mut ByteReader<'_>, path: &mut Vec<u8>) -> Result<Self> {
        let kind = reader.u8()?;
        let count = reader.array().map(i16::from_le_bytes)?;
        let prefix_length = usize::from(reader.u8()?);
        if kind == LEAF {
            reader.take(prefix_length)?;
            let (key, place): (Key, i64) = (reader.array()?, reader.i64_le()?);
            if !key.starts_with(path) {
                return Err(reader.error("a key below its node", crate::codec::to_hex(&key)));
            }
            return Ok(Self::Leaf { key, place });
        }
        if path.len() + prefix_length >= KEY_BYTES {
            return Err(reader.error(format!("a key of {KEY_BYTES} bytes"), path.len() + prefix_length + 1));
        }
        let prefix = reader.take(prefix_length)?.to_vec();
        let (kind, keys) = Kind::read(reader, kind, count)?;
        let depth = path.len();
        path.extend_from_slice(&prefix);
        let mut children = Vec::with_capacity(keys.len());
        for key in keys {
            path.push(key);
            children.push((key, Self::read(reader, path)?));
            path.pop();
        }
        path.truncate(depth);
        Ok(Self::Branch(Box::new(Branch { prefix, kind, children })))
    }

    /// Appends the tree.
    pub(in super::super) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Leaf { key, place } => {
                out.extend_from_slice(&[LEAF, 0, 0, 0]);
                out.extend_from_slice(key);
                out.extend_from_slice(&place.to_le_bytes());
            }
            Self::Branch(branch) => branch.write(out),
        }
    }

    /// All keys with the places of their containers, in key order.
    pub(in super::super) fn leaves(&self) -> Vec<(Key, i64)> {
        match self {
            Self::Leaf { key, place } => vec![(*key, *place)],
            Self::Branch(branch) => branch.children.iter().flat_map(|(_, child)| child.leaves()).collect(),
        }
    }

    /// The tree with one more key, which must be new.
    pub(in super::super) fn insert(self, key: Key, depth: usize, place: i64) -> Self {
        let leaf = Self::Leaf { key, place };
        let rest = key.get(depth..).unwrap_or_default();
        match self {
            Self::Leaf { key: other, .. } => {
                let other_rest = other.get(depth..).unwrap_or_default();
                let common = common_prefix(rest, other_rest);
                let mut branch = Branch::new(rest.get(..common).unwrap_or_default());
                branch.add(byte(other_rest, common), self);
                branch.add(byte(rest, common), leaf);
                Self::Branch(Box::new(branch))
            }
            Self::Branch(mut branch) => {
                let common = common_prefix(&branch.prefix, rest);
                if common < branch.prefix.len() {
                    let mut parent = Branch::new(branch.prefix.get(..common).unwrap_or_default());
                    let split = byte(&branch.prefix, common);
                    branch.prefix.drain(..=common);
                    parent.add(split, Self::Branch(branch));
                    parent.add(byte(rest, common), leaf);
                    return Self::Branch(Box::new(parent));
                }
                let at = byte(rest, common);
                match branch.children.binary_search_by_key(&at, |(key, _)| *key) {
                    Err(_) => branch.add(at, leaf),
                    Ok(i) => {
                        if let Some((_, child)) = branch.children.get_mut(i) {
                            let below = std::mem::replace(child, leaf);
                            *child = below.insert(key, depth + common + 1, place);
                        }
                    }
                }
                Self::Branch(branch)
            }
        }
    }
}

fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// Keys all have one length and differ where this is asked.
fn byte(bytes: &[u8], at: usize) -> u8 {
    bytes.get(at).copied().unwrap_or_default()
}

impl Branch {
    fn new(prefix: &[u8]) -> Self {
        Self { prefix: prefix.to_vec(), kind: Kind::Four([0; 4]), children: Vec::new() }
    }

    /// Adds a child, growing the node when it is full.
    fn add(&mut self, key: u8, child: Node) {
        self.kind.grow_if_full(&self.children);
        let at = self.children.partition_point(|(other, _)| *other < key);
        self.children.insert(at, (key, child));
        let keys = self.children.iter().map(|(key, _)| *key);
        match &mut self.kind {
            Kind::Four(bytes) => bytes.iter_mut().zip(keys).for_each(|(byte, key)| *byte = key),
            Kind::Sixteen(bytes) => bytes.iter_mut().zip(keys).for_each(|(byte, key)| *byte = key),
            Kind::FortyEight(slots) => {
                let taken = |slot: u8, slots: &[u8; 256]| slots.contains(&slot);
                // the slot behind the others, or else the first that is free
                let next = u8::try_from(self.children.len() - 1).unwrap_or(0);
                let free = if taken(next, slots) { (0..48).find(|slot| !taken(*slot, slots)) } else { Some(next) };
                if let (Some(slot), Some(free)) = (slots.get_mut(usize::from(key)), free) {
                    *slot = free;
                }
            }
            Kind::All => {}
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.push(self.kind.number());
        // at most 256 children and 5 bytes of prefix
        out.extend_from_slice(&i16::try_from(self.children.len()).unwrap_or(i16::MAX).to_le_bytes());
        out.push(u8::try_from(self.prefix.len()).unwrap_or(u8::MAX));
        out.extend_from_slice(&self.prefix);
        match &self.kind {
            Kind::Four(keys) => out.extend(keys.iter().rev()),
            Kind::Sixteen(keys) => keys.chunks(8).for_each(|keys| out.extend(keys.iter().rev())),
            Kind::FortyEight(slots) => slots.chunks(8).for_each(|slots| out.extend(slots.iter().rev())),
            Kind::All => {
                let mut bits = [0_u64; 4];
                for (key, _) in &self.children {
                    if let Some(word) = bits.get_mut(usize::from(*key) / 64) {
                        *word |= 1 << (key % 64);
                    }
                }
                for word in bits {
                    out.extend_from_slice(&word.to_le_bytes());
                }
            }
        }
        self.children.iter().for_each(|(_, child)| child.write(out));
    }
}

impl Kind {
    fn number(&self) -> u8 {
        match self {
            Self::Four(_) => 0,
            Self::Sixteen(_) => 1,
            Self::FortyEight(_) => 2,
            Self::All => 3,
        }
    }

    /// Reads the body of a node: what it knows, and the key bytes of its children, ascending.
    fn read(reader: &mut ByteReader<'_>, kind: u8, count: i16) -> Result<(Self, Vec<u8>)> {
        let count = usize::try_from(count).unwrap_or(0);
        let (kind, keys) = match kind {
            0 => {
                let mut keys: [u8; 4] = reader.array()?;
                keys.reverse();
                (Self::Four(keys), keys.get(..count).map(<[u8]>::to_vec))
            }
            1 => {
                let mut keys: [u8; 16] = reader.array()?;
                keys.as_chunks_mut::<8>().0.iter_mut().for_each(|keys| keys.reverse());
                (Self::Sixteen(keys), keys.get(..count).map(<[u8]>::to_vec))
            }
            2 => {
                let mut slots: [u8; 256] = reader.array()?;
                slots.as_chunks_mut::<8>().0.iter_mut().for_each(|slots| slots.reverse());
                let mut taken: Vec<u8> = slots.iter().copied().filter(|slot| *slot != NO_CHILD).collect();
                taken.sort_unstable();
                let distinct = taken.windows(2).all(|pair| pair.first() < pair.last());
                let fits = distinct && taken.last().is_none_or(|last| *last < 48);
                let keys = fits.then(|| keys_where(|key| slots.get(usize::from(key)) != Some(&NO_CHILD)));
                (Self::FortyEight(Box::new(slots)), keys)
            }
            3 => {
                let bits: [u8; 32] = reader.array()?;
                let is_set = |key: u8| bits.get(usize::from(key) / 8).is_some_and(|byte| byte & (1 << (key % 8)) != 0);
                (Self::All, Some(keys_where(is_set)))
            }
            other => return Err(reader.error("a node of kind 0 to 4", other)),
        };
        let ascending = |keys: &Vec<u8>| keys.windows(2).all(|pair| pair.first() < pair.last());
        let keys = keys.filter(|keys| count > 0 && keys.len() == count && ascending(keys));
        let keys = keys.ok_or_else(|| reader.error("a node with ascending keys for its children", count))?;
        Ok((kind, keys))
    }

    fn grow_if_full(&mut self, children: &[(u8, Node)]) {
        match (&self, children.len()) {
            (Self::Four(keys), 4..) => {
                let mut more = [0; 16];
                more.iter_mut().zip(keys).for_each(|(more, key)| *more = *key);
                *self = Self::Sixteen(more);
            }
            (Self::Sixteen(_), 16..) => {
                let mut slots = Box::new([NO_CHILD; 256]);
                for ((key, _), place) in children.iter().zip(0..) {
                    if let Some(slot) = slots.get_mut(usize::from(*key)) {
                        *slot = place;
                    }
                }
                *self = Self::FortyEight(slots);
            }
            (Self::FortyEight(_), 48..) => *self = Self::All,
            _ => {}
        }
    }
}

fn keys_where(is_set: impl Fn(u8) -> bool) -> Vec<u8> {
    (0..=u8::MAX).filter(|key| is_set(*key)).collect()
}
