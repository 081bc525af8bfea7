//! The 16 low bits of numbers that share their high bits.
//!
//! ```text
//! array    cardinality x [ u16 value ]                          ascending
//! bitmap   1024 x [ u64 ]                                       bit v % 64 of word v / 64
//! run      [ u16 runs ] runs x ([ u16 first ][ u16 last - first ])
//! ```
//! All little-endian. Which form Java writes depends on the numbers and, at a tie in size, on whether one of the merged
//! containers was a run container. Source: `org.roaringbitmap.{Array,Bitmap,Run}Container`.

use crate::{Result, codec::ByteReader};

/// More numbers than this are no array.
pub(in super::super) const MAX_ARRAY: usize = 4096;
/// Words of a bitmap.
const WORDS: usize = 1024;
/// More runs than this take more bytes than a bitmap.
const MAX_RUNS: usize = 2047;

/// How numbers are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Form {
    Run,
    Bitmap,
    Array,
}

/// Numbers from 0 to 65535, at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Container {
    /// First and last number of each run, ascending, with gaps between.
    runs: Vec<(u16, u16)>,
    /// The form it was read in; of a union, [`Form::Run`] if one of both was a run container.
    came_as: Form,
    merged: bool,
}

impl Container {
    /// Reads `cardinality` numbers.
    pub(in super::super) fn read(reader: &mut ByteReader<'_>, form: Form, cardinality: usize) -> Result<Self> {
        let runs = match form {
            Form::Array => read_array(reader, cardinality)?,
            Form::Bitmap => read_bitmap(reader)?,
            Form::Run => {
                let mut runs = Vec::new();
                read_runs(reader, |first, last| push_run(&mut runs, first, last))?;
                runs
            }
        };
        let container = Self { runs, came_as: form, merged: false };
        same_cardinality(reader, container.cardinality(), cardinality)?;
        Ok(container)
    }

    /// Whether `cardinality` numbers can be read; leaves the reader behind them.
    pub(in super::super) fn check(reader: &mut ByteReader<'_>, form: Form, cardinality: usize) -> Result<()> {
        let found = match form {
            Form::Array => check_array(reader, cardinality)?,
            Form::Bitmap => {
                let words = reader.take(WORDS * 8)?.as_chunks().0.iter();
                words.map(|word| u64::from_le_bytes(*word).count_ones() as usize).sum()
            }
            Form::Run => read_runs(reader, |_, _| ())?,
        };
        same_cardinality(reader, found, cardinality)
    }

    /// How many numbers.
    pub(in super::super) fn cardinality(&self) -> usize {
        self.runs.iter().map(|(first, last)| usize::from(last - first) + 1).sum()
    }

    /// The numbers of both.
    pub(in super::super) fn union(&self, other: &Self) -> Self {
        let mut runs: Vec<(u16, u16)> = Vec::with_capacity(self.runs.len() + other.runs.len());
        let (mut a, mut b) = (self.runs.iter().peekable(), other.runs.iter().peekable());
        loop {
            let next = match (a.peek(), b.peek()) {
                (Some(x), Some(y)) if x.0 <= y.0 => a.next(),
                (Some(_), None) => a.next(),
                _ => b.next(),
            };
            let Some(&(first, last)) = next else { break };
            push_run(&mut runs, first, last);
        }
        let was_run = self.came_as == Form::Run || other.came_as == Form::Run;
        Self { runs, came_as: if was_run { Form::Run } else { Form::Array }, merged: true }
    }

    /// The form that Java's `runOptimize` leaves; 64-bit bitmaps keep run containers that were not merged.
    pub(in super::super) fn form(&self, keeps_runs: bool) -> Form {
        let (numbers, runs) = (self.cardinality(), self.runs.len());
        let was_run = self.came_as == Form::Run;
        let run = match numbers {
            _ if was_run && keeps_runs && !self.merged => true,
            n if n > MAX_ARRAY => runs <= MAX_RUNS,
            n if was_run => 2 * runs <= n,
            n => n > 2 * runs + 1,
        };
        match run {
            true => Form::Run,
            false if numbers > MAX_ARRAY => Form::Bitmap,
            false => Form::Array,
        }
    }

    /// Appends the numbers in `form`.
    pub(in super::super) fn write(&self, form: Form, out: &mut Vec<u8>) {
        match form {
            Form::Run => {
                // runs have gaps between, so there are at most 32768
                out.extend_from_slice(&u16::try_from(self.runs.len()).unwrap_or(u16::MAX).to_le_bytes());
                for (first, last) in &self.runs {
                    out.extend_from_slice(&first.to_le_bytes());
                    out.extend_from_slice(&(last - first).to_le_bytes());
                }
            }
            Form::Array => self.numbers().for_each(|number| out.extend_from_slice(&number.to_le_bytes())),
            Form::Bitmap => {
                let start = out.len();
                out.resize(start + WORDS * 8, 0);
                for number in self.numbers() {
                    if let Some(byte) = out.get_mut(start + usize::from(number) / 8) {
                        *byte |= 1 << (number % 8);
                    }
                }
            }
        }
    }

    fn numbers(&self) -> impl Iterator<Item = u16> {
        self.runs.iter().flat_map(|(first, last)| *first..=*last)
    }
}

/// Appends a run that begins behind or inside the last one.
fn push_run(runs: &mut Vec<(u16, u16)>, first: u16, last: u16) {
    match runs.last_mut() {
        Some(before) if u32::from(first) <= u32::from(before.1) + 1 => before.1 = before.1.max(last),
        _ => runs.push((first, last)),
    }
}

fn u16_le(reader: &mut ByteReader<'_>) -> Result<u16> {
    reader.array().map(u16::from_le_bytes)
}

fn read_array(reader: &mut ByteReader<'_>, cardinality: usize) -> Result<Vec<(u16, u16)>> {
    let mut runs = Vec::new();
    let mut before = None;
    let bytes = reader.take(cardinality.saturating_mul(2))?;
    for pair in bytes.as_chunks().0 {
        let number = u16::from_le_bytes(*pair);
        if before.is_some_and(|before| before >= number) {
            return Err(reader.error("ascending numbers", number));
        }
        push_run(&mut runs, number, number);
        before = Some(number);
    }
    Ok(runs)
}

fn read_bitmap(reader: &mut ByteReader<'_>) -> Result<Vec<(u16, u16)>> {
    let mut runs = Vec::new();
    let bytes = reader.take(WORDS * 8)?;
    for (byte, number) in bytes.iter().zip((0..=u16::MAX).step_by(8)) {
        for bit in (0..8).filter(|bit| byte & (1 << bit) != 0) {
            push_run(&mut runs, number + bit, number + bit);
        }
    }
    Ok(runs)
}

/// Numbers of an array container, which ascend.
fn check_array(reader: &mut ByteReader<'_>, cardinality: usize) -> Result<usize> {
    let numbers = reader.take(cardinality.saturating_mul(2))?.as_chunks().0;
    // all pairs are compared, so that the compiler makes many comparisons at once
    let pairs = numbers.iter().zip(numbers.iter().skip(1));
    let ascending = pairs.fold(true, |so_far, (a, b)| so_far & (u16::from_le_bytes(*a) < u16::from_le_bytes(*b)));
    if ascending { Ok(numbers.len()) } else { Err(reader.error("ascending numbers", "others")) }
}

fn same_cardinality(reader: &ByteReader<'_>, found: usize, expected: usize) -> Result<()> {
    if found == expected && expected > 0 {
        return Ok(());
    }
    Err(reader.error(format!("a container of {expected} numbers"), found))
}

/// Reads the runs of a container, first and last number each, and says how many numbers they hold.
fn read_runs(reader: &mut ByteReader<'_>, mut each: impl FnMut(u16, u16)) -> Result<usize> {
    let count = u16_le(reader)?;
    let (mut before, mut numbers) = (None, 0);
    for _ in 0..count {
        let (first, more) = (u16_le(reader)?, u16_le(reader)?);
        let last = first.checked_add(more).ok_or_else(|| reader.error("a run that ends at 65535 at most", first))?;
        if before.is_some_and(|before| before >= first) {
            return Err(reader.error("ascending runs", first));
        }
        each(first, last);
        before = Some(last);
        numbers += usize::from(more) + 1;
    }
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn array(numbers: &BTreeSet<u16>) -> Container {
        let mut runs = Vec::new();
        for n in numbers {
            push_run(&mut runs, *n, *n);
        }
        Container { runs, came_as: Form::Array, merged: false }
    }

    fn copy(container: &Container, form: Form) -> Container {
        let mut bytes = Vec::new();
        container.write(form, &mut bytes);
        let mut reader = ByteReader::new("container", &bytes);
        let read = Container::read(&mut reader, form, container.cardinality()).unwrap();
        reader.finish().unwrap();
        read
    }

    /// At a tie in size Java leaves what is there.
    #[test]
    fn the_form_at_a_tie_depends_on_where_numbers_came_from() {
        let pairs: BTreeSet<u16> = (0..10).flat_map(|i| [i * 10, i * 10 + 1]).collect();
        let (arrays, runs) = (array(&pairs), copy(&array(&pairs), Form::Run));
        assert_eq!((arrays.form(false), runs.form(false)), (Form::Array, Form::Run));
        assert_eq!(arrays.union(&runs).form(false), Form::Run);
        let single = copy(&array(&BTreeSet::from([1, 5, 9])), Form::Run);
        assert_eq!((single.form(false), single.form(true)), (Form::Array, Form::Run));
        assert_eq!(single.union(&single).form(true), Form::Array);
    }

    #[test]
    fn many_numbers_are_a_bitmap_unless_runs_are_smaller() {
        let even: BTreeSet<u16> = (0..5000).map(|i| i * 2).collect();
        assert_eq!(array(&even).form(false), Form::Bitmap);
        let full = array(&(0..=u16::MAX).collect());
        assert_eq!((full.form(false), full.cardinality()), (Form::Run, 65536));
        assert_eq!(copy(&full, Form::Bitmap).runs, full.runs);
    }

    proptest! {
        #[test]
        fn every_form_holds_the_same_numbers(
            a in prop::collection::btree_set(0..200_u16, 1..90),
            b in prop::collection::btree_set(any::<u16>(), 1..90),
        ) {
            let union: BTreeSet<u16> = a.union(&b).copied().collect();
            let merged = array(&a).union(&array(&b));
            prop_assert_eq!(&merged.runs, &array(&union).runs);
            for form in [Form::Array, Form::Run, Form::Bitmap] {
                prop_assert_eq!(&copy(&merged, form).runs, &merged.runs);
            }
        }
    }
}
