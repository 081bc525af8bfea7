//! Which rows of a file may match.

use std::ops::Range;

use roaring::RoaringBitmap;

use crate::{cancel, error::Result, limits};

/// Rows closer than this are read together with what lies between them.
const GAP: u32 = 32;
/// After so many rows that follow each other there is a look at whether to stop.
const ASK_RUNS: usize = 4096;

/// Rows of a file that may satisfy a condition.
#[derive(Clone, Debug, PartialEq)]
pub enum Candidates {
    /// Nothing is known.
    All,
    /// These, by their numbers in the file.
    Rows(RoaringBitmap),
}

impl Candidates {
    /// No row.
    pub fn none() -> Self {
        Self::Rows(RoaringBitmap::new())
    }

    /// Whether no row can match.
    pub fn is_none(&self) -> bool {
        matches!(self, Self::Rows(rows) if rows.is_empty())
    }

    /// Those that may satisfy both conditions.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::All, other) | (other, Self::All) => other,
            (Self::Rows(a), Self::Rows(b)) => Self::Rows(a & b),
        }
    }

    /// Those that may satisfy one of two conditions.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Rows(a), Self::Rows(b)) => Self::Rows(a | b),
            _ => Self::All,
        }
    }

    /// Ranges to read that have them all, ascending and apart; `None`: the whole file of so many rows.
    pub fn ranges(&self, rows: i64) -> Result<Option<Vec<Range<i64>>>> {
        let Self::Rows(found) = self else { return Ok(None) };
        let mut ranges: Vec<Range<i64>> = Vec::new();
        let (mut found, mut runs) = (found.iter(), 0_usize);
        while let Some(run) = found.next_range() {
            if runs.is_multiple_of(ASK_RUNS) {
                cancel::check()?;
            }
            runs = runs.wrapping_add(1);
            let (start, end) = (i64::from(*run.start()), i64::from(*run.end()) + 1);
            match ranges.last_mut() {
                Some(last) if start - last.end < i64::from(GAP) => last.end = end,
                _ => {
                    limits::grow(&mut ranges, 1, "the rows that a file index names")?;
                    ranges.push(start..end);
                }
            }
        }
        let whole = matches!(&ranges[..], [only] if only.start == 0 && only.end >= rows);
        Ok((!whole).then_some(ranges))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(rows: &[u32]) -> Candidates {
        Candidates::Rows(rows.iter().copied().collect())
    }

    #[test]
    fn what_is_not_known_narrows_nothing() {
        assert_eq!(Candidates::All.and(rows(&[1])), rows(&[1]));
        assert_eq!(rows(&[1]).or(Candidates::All), Candidates::All);
        assert_eq!(rows(&[1, 2]).and(rows(&[2, 3])), rows(&[2]));
        assert!(rows(&[1]).and(rows(&[2])).is_none());
        assert_eq!(rows(&[1]).or(rows(&[2])), rows(&[1, 2]));
    }

    #[test]
    fn rows_that_are_close_are_read_together() {
        let ranges = |found: &Candidates, of| found.ranges(of).unwrap();
        assert_eq!(ranges(&rows(&[0, 3, 90, 100, 400]), 500), Some(vec![0..4, 90..101, 400..401]));
        assert_eq!(ranges(&rows(&[0, 31, 62]), 63), None);
        assert_eq!(ranges(&rows(&[]), 9), Some(vec![]));
        assert_eq!(ranges(&Candidates::All, 9), None);
    }

    /// Billions of rows, which a few bytes can name, were gone through one after another without a look at whether to stop.
    #[test]
    fn going_through_rows_can_be_stopped_and_rows_that_follow_each_other_are_one_step() {
        let mut all = RoaringBitmap::new();
        all.insert_range(1..1 << 24);
        let ranges = Candidates::Rows(all).ranges(1 << 24).unwrap().unwrap();
        assert_eq!((ranges.len(), &ranges[0]), (1, &(1..1 << 24)));
        let token = cancel::Cancellation::default();
        token.cancel();
        token.run(|| assert!(rows(&[0, 90]).ranges(500).is_err()));
    }
}
