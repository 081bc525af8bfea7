//! Kinds of streams, by their numbers.

pub(super) const PRESENT: u64 = 0;
pub(super) const DATA: u64 = 1;
pub(super) const LENGTH: u64 = 2;
pub(super) const DICTIONARY_DATA: u64 = 3;
pub(super) const SECONDARY: u64 = 5;
