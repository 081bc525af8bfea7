//! Which rows of a file may match.

use std::ops::Range;

use roaring::RoaringBitmap;

/// Rows closer than this are read together with what lies between them.
const GAP: u32 = 32;

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
    pub fn ranges(&self, rows: i64) -> Option<Vec<Range<i64>>> {
        let Self::Rows(found) = self else { return None };
        let mut ranges: Vec<Range<i64>> = Vec::new();
        for row in found {
            let (row, close) = (i64::from(row), i64::from(GAP));
            match ranges.last_mut() {
                Some(last) if row - last.end < close => last.end = row + 1,
                _ => ranges.push(row..row + 1),
            }
        }
        let whole = matches!(&ranges[..], [only] if only.start == 0 && only.end >= rows);
        (!whole).then_some(ranges)
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
        assert_eq!(rows(&[0, 3, 90, 100, 400]).ranges(500), Some(vec![0..4, 90..101, 400..401]));
        assert_eq!(rows(&[0, 31, 62]).ranges(63), None);
        assert_eq!(rows(&[]).ranges(9), Some(vec![]));
        assert_eq!(Candidates::All.ranges(9), None);
    }
}
