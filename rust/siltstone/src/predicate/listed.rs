//! Lists of values, of which a condition may have millions: what answers for them is made once, for all who share the list.

use std::{
    cmp::Ordering,
    collections::HashSet,
    fmt,
    hash::{BuildHasher, Hash},
    ops::Deref,
    sync::{Arc, Mutex, OnceLock},
};

use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, BooleanArray, cast::AsArray, types};
use arrow_buffer::BooleanBuffer;
use arrow_schema::{DataType as Arrow, TimeUnit};
use foldhash::fast::RandomState;
use hashbrown::HashTable;

use super::values::{as_integer, compare_values, plain_floats};
use crate::{
    cancel::{self, Work},
    error::Result,
    limits::Held,
    row::Datum,
};

/// Shorter lists are compared one value after another.
const SHORT: usize = 8;
/// Shorter lists have no order for bounds and single values.
const UNORDERED: usize = 32;
/// What is made of shorter lists is made sooner than it is waited for.
const WORTH_WAITING: usize = 1 << 14;
/// One element in so many asks whether to stop while they are put in order.
const SAMPLED: u32 = 1 << 10;

/// The values of a list. Copies are the same values, and share what is made of them: hashes for rows, an order for bounds.
#[derive(Clone)]
pub struct ValueList(Arc<Listed>);

struct Listed {
    values: Vec<Datum>,
    has_null: bool,
    /// For the type of the column that was asked about first.
    hashes: Once<(Arrow, Hashes)>,
    order: Once<Option<Vec<u32>>>,
}

impl From<Vec<Datum>> for ValueList {
    fn from(values: Vec<Datum>) -> Self {
        let has_null = values.iter().any(Datum::is_null);
        Self(Arc::new(Listed { values, has_null, hashes: Once::default(), order: Once::default() }))
    }
}

impl Deref for ValueList {
    type Target = [Datum];

    fn deref(&self) -> &[Datum] {
        &self.0.values
    }
}

impl PartialEq for ValueList {
    fn eq(&self, other: &Self) -> bool {
        self.0.values == other.0.values
    }
}

impl fmt::Debug for ValueList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.values.fmt(f)
    }
}

/// Made by whoever asks first.
struct Once<T> {
    made: OnceLock<T>,
    making: Mutex<()>,
}

impl<T> Default for Once<T> {
    fn default() -> Self {
        Self { made: OnceLock::new(), making: Mutex::default() }
    }
}

impl<T> Once<T> {
    /// `waits`: for another thread that makes it, where that takes longer than to look again.
    fn get(&self, waits: bool, make: impl FnOnce() -> Result<T>) -> Result<&T> {
        if let Some(made) = self.made.get() {
            return Ok(made);
        }
        let _making = if waits { cancel::lock(&self.making)? } else { None };
        if let Some(made) = self.made.get() {
            return Ok(made);
        }
        let made = make()?;
        Ok(self.made.get_or_init(|| made))
    }
}

/// What says whether a value of a column is one of the list.
enum Hashes {
    /// the type has none
    None,
    Numbers(Numbers<i64>),
    Decimals(Numbers<i128>),
    /// where texts or bytes stand in the list
    Places(RandomState, HashTable<u32>),
}

type Numbers<T> = HashSet<T, RandomState>;

impl ValueList {
    /// Whether a null is among them.
    pub(super) fn has_null(&self) -> bool {
        self.0.has_null
    }

    /// Which rows have one of the values; null for rows that are. `None`: a short list, or a type without hashes.
    pub(super) fn among(&self, array: &ArrayRef) -> Result<Option<BooleanArray>> {
        if self.len() < SHORT {
            return Ok(None);
        }
        let make = || Ok((array.data_type().clone(), self.hashes(array.data_type())?));
        let (kind, hashes) = self.0.hashes.get(self.len() >= WORTH_WAITING, make)?;
        if kind == array.data_type() {
            return Ok(self.found(array, hashes));
        }
        Ok(self.found(array, &self.hashes(array.data_type())?))
    }

    fn hashes(&self, kind: &Arrow) -> Result<Hashes> {
        let numbers = |of: &dyn Fn(&Datum) -> Option<Option<i64>>| self.numbers(of).map(|set| set.map(Hashes::Numbers));
        let made = match kind {
            Arrow::Utf8 => self.places(text)?,
            Arrow::Binary => self.places(bytes)?,
            Arrow::Decimal128(..) => self.numbers(|value| decimal(value).map(Some))?.map(Hashes::Decimals),
            // one that the column's unit cannot say is in no row
            Arrow::Timestamp(..) => {
                { numbers(&|value| matches!(value, Datum::Timestamp { .. }).then(|| as_integer(value, kind))) }?
            }
            Arrow::Float32 | Arrow::Float64 => numbers(&|value| float(value, kind).map(Some))?,
            _ => numbers(&|value| as_integer(value, kind).map(Some))?,
        };
        Ok(made.unwrap_or(Hashes::None))
    }

    /// `None` where `number` knows none for a value of the list; it may say that a value has none in any row.
    fn numbers<T: Eq + Hash>(&self, number: impl Fn(&Datum) -> Option<Option<T>>) -> Result<Option<Numbers<T>>> {
        let _held = self.promised(size_of::<T>())?;
        let mut numbers = Numbers::with_capacity_and_hasher(self.len(), RandomState::default());
        let mut work = Work::default();
        for value in self.iter().filter(|value| !value.is_null()) {
            work.done(1)?;
            match number(value) {
                Some(number) => numbers.extend(number),
                None => return Ok(None),
            }
        }
        Ok(Some(numbers))
    }

    /// `None` where a value has no bytes of this kind.
    fn places(&self, of: fn(&Datum) -> Option<&[u8]>) -> Result<Option<Hashes>> {
        let _held = self.promised(size_of::<u32>())?;
        let hasher = RandomState::default();
        let mut places: HashTable<u32> = HashTable::with_capacity(self.len());
        let mut work = Work::default();
        for (place, value) in (0_u32..).zip(self.iter()).filter(|(_, value)| !value.is_null()) {
            let Some(value) = of(value) else { return Ok(None) };
            work.done(1 + value.len() / 64)?;
            let hash = |place: &u32| self.bytes_at(*place).map_or(0, |bytes| hasher.hash_one(bytes));
            let is_same = |other: &u32| self.bytes_at(*other) == Some(value);
            places.entry(hasher.hash_one(value), is_same, hash).or_insert(place);
        }
        Ok(Some(Hashes::Places(hasher, places)))
    }

    fn bytes_at(&self, place: u32) -> Option<&[u8]> {
        self.get(usize::try_from(place).ok()?).and_then(|value| text(value).or_else(|| bytes(value)))
    }

    /// Room for a table of so many bytes a value.
    fn promised(&self, each: usize) -> Result<Held> {
        let mut held = Held::default();
        // at most seven eighths of a table are taken, and its size is a power of two
        let slots = self.len().saturating_mul(8).div_ceil(7).next_power_of_two();
        held.more(slots.saturating_mul(each + 1), "a list of values in a condition")?;
        Ok(held)
    }

    fn found(&self, array: &ArrayRef, hashes: &Hashes) -> Option<BooleanArray> {
        match hashes {
            Hashes::None => None,
            Hashes::Decimals(set) => {
                let column = array.as_primitive_opt::<types::Decimal128Type>()?;
                Some(marked(array, |row| set.contains(&column.value(row))))
            }
            Hashes::Places(hasher, places) => {
                let has = |value: &[u8]| {
                    places.find(hasher.hash_one(value), |place| self.bytes_at(*place) == Some(value)).is_some()
                };
                if let Some(column) = array.as_string_opt::<i32>() {
                    return Some(marked(array, |row| has(column.value(row).as_bytes())));
                }
                let column = array.as_binary_opt::<i32>()?;
                Some(marked(array, |row| has(column.value(row))))
            }
            Hashes::Numbers(set) => numbered(array, set),
        }
    }

    /// Whether one of the values may lie within bounds; a bound that is not comparable, such as a null, is none.
    pub(super) fn may_be_within(&self, low: &Datum, high: &Datum) -> bool {
        let is_above = |value: &Datum| compare_values(low, value).is_none_or(Ordering::is_le);
        let is_below = |value: &Datum| compare_values(high, value).is_none_or(Ordering::is_ge);
        match self.order() {
            Some(order) => {
                let first = order.partition_point(|place| !self.at(*place).is_some_and(is_above));
                order.get(first).and_then(|place| self.at(*place)).is_some_and(is_below)
            }
            None => self.iter().any(|value| !value.is_null() && is_above(value) && is_below(value)),
        }
    }

    /// Whether the value is one of the list.
    pub(super) fn has(&self, value: &Datum) -> bool {
        match self.order() {
            Some(order) => {
                let order_of = |place: &u32| self.at(*place).and_then(|listed| compare_values(listed, value));
                // values of another type are equal to none
                order.binary_search_by(|place| order_of(place).unwrap_or(Ordering::Less)).is_ok()
            }
            None => self.iter().any(|listed| compare_values(listed, value) == Some(Ordering::Equal)),
        }
    }

    fn at(&self, place: u32) -> Option<&Datum> {
        self.get(usize::try_from(place).ok()?)
    }

    /// The places of the values that are not null, in ascending order. `None`: the list is short, its values have no order, or
    /// there is no room, or no time any more, to put them in order.
    fn order(&self) -> Option<&[u32]> {
        if self.len() < UNORDERED {
            return None;
        }
        self.0.order.get(self.len() >= WORTH_WAITING, || self.ordered()).ok()?.as_deref()
    }

    fn ordered(&self) -> Result<Option<Vec<u32>>> {
        let _held = self.promised(size_of::<u32>())?;
        let Some(first) = self.iter().find(|value| !value.is_null()) else { return Ok(None) };
        let mut places = Vec::with_capacity(self.len());
        let mut work = Work::default();
        for (place, value) in (0_u32..).zip(self.iter()).filter(|(_, value)| !value.is_null()) {
            work.done(1)?;
            if compare_values(first, value).is_none() {
                return Ok(None);
            }
            places.push(place);
        }
        let compare = |a: u32, b: u32| {
            self.at(a).zip(self.at(b)).and_then(|(a, b)| compare_values(a, b)).unwrap_or(Ordering::Equal)
        };
        let sort = |ask: &(dyn Fn(&u32) + Sync)| {
            places.sort_unstable_by(|a, b| {
                ask(a);
                compare(*a, *b)
            });
        };
        cancel::stoppable(sort, |place| place % SAMPLED == 0)?;
        Ok(Some(places))
    }
}

fn text(value: &Datum) -> Option<&[u8]> {
    if let Datum::String(text) = value { Some(text.as_bytes()) } else { None }
}

fn bytes(value: &Datum) -> Option<&[u8]> {
    if let Datum::Bytes(bytes) = value { Some(bytes) } else { None }
}

fn decimal(value: &Datum) -> Option<i128> {
    if let Datum::Decimal(number) = value { Some(*number) } else { None }
}

/// The bits of a float, with one zero and one NaN as [`plain_floats`] has them.
fn float(value: &Datum, kind: &Arrow) -> Option<i64> {
    match (value, kind) {
        (Datum::Float(v), Arrow::Float32) => Some(if v.is_nan() { f32::NAN } else { v + 0.0 }.to_bits().into()),
        (Datum::Double(v), Arrow::Float64) => Some(if v.is_nan() { f64::NAN } else { v + 0.0 }.to_bits().cast_signed()),
        _ => None,
    }
}

fn numbered(array: &ArrayRef, set: &Numbers<i64>) -> Option<BooleanArray> {
    match array.data_type() {
        Arrow::Int8 => integers::<types::Int8Type>(array, set),
        Arrow::Int16 => integers::<types::Int16Type>(array, set),
        Arrow::Int32 => integers::<types::Int32Type>(array, set),
        Arrow::Int64 => integers::<types::Int64Type>(array, set),
        Arrow::Date32 => integers::<types::Date32Type>(array, set),
        Arrow::Time32(TimeUnit::Second) => integers::<types::Time32SecondType>(array, set),
        Arrow::Time32(TimeUnit::Millisecond) => integers::<types::Time32MillisecondType>(array, set),
        Arrow::Timestamp(TimeUnit::Second, _) => integers::<types::TimestampSecondType>(array, set),
        Arrow::Timestamp(TimeUnit::Millisecond, _) => integers::<types::TimestampMillisecondType>(array, set),
        Arrow::Timestamp(TimeUnit::Microsecond, _) => integers::<types::TimestampMicrosecondType>(array, set),
        Arrow::Timestamp(TimeUnit::Nanosecond, _) => integers::<types::TimestampNanosecondType>(array, set),
        Arrow::Float32 => {
            let plain = plain_floats(array);
            let column = plain.as_primitive_opt::<types::Float32Type>()?;
            Some(marked(array, |row| set.contains(&column.value(row).to_bits().into())))
        }
        Arrow::Float64 => {
            let plain = plain_floats(array);
            let column = plain.as_primitive_opt::<types::Float64Type>()?;
            Some(marked(array, |row| set.contains(&column.value(row).to_bits().cast_signed())))
        }
        _ => None,
    }
}

fn integers<T: ArrowPrimitiveType>(array: &ArrayRef, set: &Numbers<i64>) -> Option<BooleanArray>
where
    T::Native: Into<i64>,
{
    let column = array.as_primitive_opt::<T>()?;
    Some(marked(array, |row| set.contains(&column.value(row).into())))
}

/// `is_found` is asked of null rows, too.
fn marked(array: &ArrayRef, is_found: impl FnMut(usize) -> bool) -> BooleanArray {
    BooleanArray::new(BooleanBuffer::collect_bool(array.len(), is_found), array.logical_nulls())
}

#[cfg(test)]
mod tests;
