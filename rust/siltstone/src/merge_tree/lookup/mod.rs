//! Finding keys in higher levels without a lookup store.
//!
//! Keys of a compaction come sorted, so looking them up is a merge join: a run is narrowed to the files whose key range
//! has some of the keys, a file to the blocks (pages of its first key column) whose bounds have some, and of those
//! only the key columns are decoded. What is found is a file and a position; values are fetched only then, in one
//! more read of just those rows, or of the stretch they lie in when they are dense. A handful of keys therefore
//! reads a handful of pages, and a large batch reads each page once, in order. [`LookupCache`] keeps files open and
//! decoded key pages at hand for the next small batch.
//!
//! Source: semantics c.3; it does the work of `LookupLevels`.

mod cache;
mod file;
mod keys;
mod probe;
#[cfg(test)]
mod tests;

pub use cache::LookupCache;
pub(crate) use probe::{LevelProbe, SharedProbe};
