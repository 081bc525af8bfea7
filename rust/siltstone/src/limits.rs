//! What a number may be: memory that is asked for before it is needed, where the caller gets an error when it cannot be had
//! and the process lives; counts that files of others tell.

use std::sync::atomic::{AtomicUsize, Ordering};

use memmap2::MmapOptions;

use crate::error::{Error, ErrorKind, Result};

/// Below this there is no use in asking.
const WORTH_ASKING: usize = 64 << 20;
/// Of what is asked for in small parts, those below this are not worth it.
pub(crate) const SMALL_PART: usize = 1 << 20;

/// Metadata may become this many bytes whatever its size...
const FREE_METADATA: usize = 64 << 20;
/// ...and this many more for each of its bytes. Statistics of ten thousand columns that are all null grow half as much.
const METADATA_GROWTH: usize = 10_000;

/// The most rows of a file, or bytes, or files: no storage holds as many, and sums of them stay far from an overflow.
pub(crate) const MOST: i64 = 1 << 48;

/// The largest number that a snapshot, schema or removal record may have: readers take nothing above it for one.
pub(crate) const LAST_ID: i64 = i64::MAX - 1;

/// Whether libraries say in their errors that memory could not be had (zstd, for a block and for all that it needs besides; the
/// standard library): healthy bytes must not be called damaged for it, nor a program wrong.
pub(crate) fn is_out_of_memory(text: &str) -> bool {
    ["not enough memory", "null pointer when creating", "out of memory", "memory allocation failed"]
        .iter()
        .any(|said| text.contains(said))
}

/// The number after this one, where readers would find a file of it.
pub(crate) fn next_id(id: i64) -> Option<i64> {
    id.checked_add(1).filter(|next| *next <= LAST_ID)
}

/// Sums of counts, which come from files of others: they end at the largest number and do not start again.
pub(crate) fn sum(counts: impl IntoIterator<Item = i64>) -> i64 {
    counts.into_iter().fold(0, i64::saturating_add)
}

/// An error when this process cannot get so many bytes now; `what` needs them.
pub(crate) fn ask(bytes: usize, what: impl std::fmt::Display) -> Result<()> {
    if bytes < WORTH_ASKING {
        return Ok(());
    }
    let mut memory: Vec<u8> = Vec::new();
    memory.try_reserve_exact(bytes).map_err(|e| refused(bytes, what, e))
}

/// The same for one of many parts, each of which is taken before the next is asked for: they are small, and all together are not.
pub(crate) fn ask_for_part(bytes: usize, what: impl std::fmt::Display) -> Result<()> {
    if bytes < SMALL_PART { Ok(()) } else { ask(bytes.max(WORTH_ASKING), what) }
}

/// An error when the operating system has not so many bytes of address space left; `what` needs them. The allocator would take them from
/// what it has kept for itself, of which other libraries get nothing.
pub(crate) fn ask_system(bytes: usize, what: impl std::fmt::Display) -> Result<()> {
    MmapOptions::new().len(bytes).map_anon().map(drop).map_err(|e| refused(bytes, what, e))
}

/// Bytes that metadata of so many bytes may become when it is decompressed and decoded: what becomes more is no metadata.
pub(crate) fn most_metadata(bytes: usize) -> usize {
    bytes.saturating_mul(METADATA_GROWTH).saturating_add(FREE_METADATA)
}

/// Counts memory that is taken in small parts, so that it is asked for in large ones.
#[derive(Debug, Default)]
pub(crate) struct Taken(AtomicUsize);

impl Taken {
    /// So much so far.
    pub(crate) fn bytes(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// Counts so many bytes more; how many there are then.
    pub(crate) fn count(&self, bytes: usize) -> usize {
        // no process gets as many, and sums of them stay far from an overflow
        let bytes = bytes.min(1 << 48);
        self.0.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes)
    }

    /// Takes so many bytes more, or an error when this process cannot get them now; `what` needs them.
    pub(crate) fn more(&self, bytes: usize, what: impl std::fmt::Display) -> Result<()> {
        ask_on_the_way(self.count(bytes), bytes, what)
    }
}

/// Asks for the last bytes of all that were taken, and a part beyond them, each time when such a part was used up.
pub(crate) fn ask_on_the_way(taken: usize, last: usize, what: impl std::fmt::Display) -> Result<()> {
    let before = taken.saturating_sub(last);
    if before / WORTH_ASKING == taken / WORTH_ASKING { Ok(()) } else { ask(last.max(WORTH_ASKING), what) }
}

/// Bytes that all threads of this process are about to need.
static PROMISED: AtomicUsize = AtomicUsize::new(0);

/// Memory that is promised to somebody until this is dropped: others cannot be promised the same.
#[derive(Debug, Default)]
pub(crate) struct Held(usize);

impl Held {
    /// Promises so many bytes more, or an error when this process cannot get them beside all that is promised; `what` needs them.
    pub(crate) fn more(&mut self, bytes: usize, what: impl std::fmt::Display) -> Result<()> {
        // no process gets as many, and sums of them stay far from an overflow
        let bytes = bytes.min(1 << 48);
        let before = PROMISED.fetch_add(bytes, Ordering::Relaxed);
        self.0 = self.0.saturating_add(bytes);
        ask(before.saturating_add(bytes), what)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        PROMISED.fetch_sub(self.0, Ordering::Relaxed);
    }
}

/// Room for so many more elements, or an error; `what` needs it.
pub(crate) fn reserve<T>(list: &mut Vec<T>, more: usize, what: impl std::fmt::Display) -> Result<()> {
    list.try_reserve_exact(more).map_err(|e| refused(more.saturating_mul(size_of::<T>()), what, e))
}

/// Room for so many more elements that are there to be added, with what is made of them; the list at least doubles. Or an error;
/// `what` needs it.
pub(crate) fn grow<T>(list: &mut Vec<T>, more: usize, what: impl std::fmt::Display) -> Result<()> {
    if list.capacity() - list.len() >= more {
        return Ok(());
    }
    let bytes = list.len().saturating_add(more).saturating_mul(size_of::<T>());
    ask(bytes.saturating_mul(2), &what)?;
    list.try_reserve(more).map_err(|e| refused(bytes, what, e))
}

/// Room for so many more bytes of a text, which at least doubles, or an error; `what` needs it.
pub(crate) fn grow_text(text: &mut String, more: usize, what: impl std::fmt::Display) -> Result<()> {
    if text.capacity() - text.len() >= more {
        return Ok(());
    }
    let bytes = text.len().saturating_add(more);
    text.try_reserve(more).map_err(|e| refused(bytes, what, e))
}

/// All elements of some lists, one list after another, or an error; `what` needs them.
pub(crate) fn joined<T>(parts: Vec<Vec<T>>, what: impl std::fmt::Display) -> Result<Vec<T>> {
    let mut all = Vec::new();
    reserve(&mut all, parts.iter().map(Vec::len).fold(0, usize::saturating_add), what)?;
    for part in parts {
        all.extend(part);
    }
    Ok(all)
}

fn refused(bytes: usize, what: impl std::fmt::Display, e: impl std::error::Error + Send + Sync + 'static) -> Error {
    let text = format!("{what} needs about {} MB of memory", bytes.div_ceil(1 << 20));
    Error::new(ErrorKind::MemoryLimitExceeded, text).caused_by(e)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_counts_end_at_the_largest_number() {
        assert_eq!(sum([i64::MAX, 1, 1]), i64::MAX);
        assert_eq!(sum([3, -1]), 2);
    }

    #[test]
    fn numbers_end_where_readers_stop_looking() {
        assert_eq!((next_id(0), next_id(LAST_ID - 1)), (Some(1), Some(LAST_ID)));
        assert_eq!((next_id(LAST_ID), next_id(i64::MAX)), (None, None));
    }

    #[test]
    fn what_no_machine_has_is_an_error_and_what_is_small_is_not_asked_for() {
        let error = ask(usize::MAX / 4, "a test").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::MemoryLimitExceeded);
        assert!(error.message().starts_with("a test needs about"), "{error}");
        ask(1 << 20, "a test").unwrap();
        let error = reserve(&mut vec![0_u64], usize::MAX / 16, "a list").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::MemoryLimitExceeded);
        let error = grow(&mut vec![0_u64], usize::MAX / 16, "a list").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::MemoryLimitExceeded);
        grow(&mut vec![0_u64], 100, "a list").unwrap();
        let error = grow_text(&mut "x".to_owned(), usize::MAX / 4, "a text").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::MemoryLimitExceeded);
        grow_text(&mut "x".to_owned(), 100, "a text").unwrap();
        assert_eq!(joined(vec![vec![1], vec![], vec![2, 3]], "a test").unwrap(), [1, 2, 3]);
    }

    #[test]
    fn small_parts_are_asked_for_together() {
        let taken = Taken::default();
        taken.more(WORTH_ASKING - 1, "a test").unwrap();
        taken.more(1, "a test").unwrap();
        assert_eq!(taken.bytes(), WORTH_ASKING);
        let error = taken.more(usize::MAX / 4, "a test").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::MemoryLimitExceeded);
        assert_eq!(ask_for_part(usize::MAX / 4, "a test").unwrap_err().kind(), ErrorKind::MemoryLimitExceeded);
        ask_for_part(SMALL_PART, "a test").unwrap();
    }

    /// Two who asked at the same time each got the last of it, and the process ended.
    #[test]
    fn what_is_promised_to_one_is_not_promised_to_another() {
        let mut first = Held::default();
        let error = first.more(1 << 48, "the first").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::MemoryLimitExceeded);
        let error = Held::default().more(1, "the second").unwrap_err();
        assert!(error.message().starts_with("the second needs about"), "{error}");
        drop(first);
        let mut held = Held::default();
        held.more(1 << 20, "a test").unwrap();
        held.more(1 << 20, "a test").unwrap();
        assert_eq!(held.0, 2 << 20);
    }
}
