//! Statistics of some pages together.

use std::cmp::Ordering;

use parquet::file::statistics::{Statistics, ValueStatistics};

use super::bounds::from_statistics;
use crate::{
    row::{Datum, compare_datums},
    types::DataType,
};

/// Statistics of the form of `form`, for pages of a column of type `t`: of those that have values, and the nulls of all. `None`
/// where bounds of one are not known. Texts may be cut.
pub(super) fn joined(form: &Statistics, pages: &[&Statistics], nulls: u64, t: &DataType) -> Option<Statistics> {
    let (mut least, mut greatest): (Furthest<'_>, Furthest<'_>) = (None, None);
    for page in pages {
        let bounds = from_statistics(page, t);
        if bounds.min.is_null() || bounds.max.is_null() {
            return None;
        }
        further(&mut least, bounds.min, page, Ordering::Less);
        further(&mut greatest, bounds.max, page, Ordering::Greater);
    }
    let (least, greatest) = (least.map(|(_, page)| page), greatest.map(|(_, page)| page));
    with_bounds(form, least, greatest, nulls)
}

/// A bound, and the page that has it.
type Furthest<'a> = Option<(Datum, &'a Statistics)>;

/// Keeps the one that lies further out.
fn further<'a>(kept: &mut Furthest<'a>, bound: Datum, page: &'a Statistics, direction: Ordering) {
    if kept.as_ref().is_none_or(|(old, _)| compare_datums(&bound, old) == direction) {
        *kept = Some((bound, page));
    }
}

/// Statistics of the form of `form` with the least value of one page and the greatest of another.
fn with_bounds(
    form: &Statistics,
    least: Option<&Statistics>,
    greatest: Option<&Statistics>,
    nulls: u64,
) -> Option<Statistics> {
    macro_rules! of {
        ($form:path) => {{
            let least = least.and_then(|page| if let $form(s) = page { s.min_opt().cloned() } else { None });
            let greatest = greatest.and_then(|page| if let $form(s) = page { s.max_opt().cloned() } else { None });
            $form(ValueStatistics::new(least, greatest, None, Some(nulls), false))
        }};
    }
    Some(match form {
        Statistics::Boolean(_) => of!(Statistics::Boolean),
        Statistics::Int32(_) => of!(Statistics::Int32),
        Statistics::Int64(_) => of!(Statistics::Int64),
        Statistics::Float(_) => of!(Statistics::Float),
        Statistics::Double(_) => of!(Statistics::Double),
        Statistics::ByteArray(_) => of!(Statistics::ByteArray),
        Statistics::FixedLenByteArray(_) => of!(Statistics::FixedLenByteArray),
        Statistics::Int96(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use parquet::data_type::ByteArray;

    use super::*;
    use crate::types::TypeKind;

    fn text(least: Option<&str>, greatest: Option<&str>, nulls: u64) -> Statistics {
        let owned = |text: Option<&str>| text.map(ByteArray::from);
        Statistics::ByteArray(ValueStatistics::new(owned(least), owned(greatest), None, Some(nulls), false))
    }

    #[test]
    fn the_bounds_lie_furthest_out() {
        let t = DataType::new(TypeKind::VarChar(99));
        let pages = [text(Some("b"), Some("m"), 1), text(Some("ba"), Some("q"), 0), text(Some("a"), Some("c"), 2)];
        let all = joined(&pages[0], &pages.iter().collect::<Vec<_>>(), 3, &t).unwrap();
        assert_eq!((all.min_bytes_opt(), all.max_bytes_opt()), (Some(&b"a"[..]), Some(&b"q"[..])));
        assert_eq!(all.null_count_opt(), Some(3));
        assert!(joined(&pages[0], &[&text(Some("b"), None, 0)], 0, &t).is_none());
        let none = joined(&pages[0], &[], 7, &t).unwrap();
        assert_eq!((none.min_bytes_opt(), none.null_count_opt()), (None, Some(7)));
    }

    /// Decimals of many digits are bytes with a sign: the greatest is not that of the greatest bytes.
    #[test]
    fn values_are_compared_by_their_type() {
        let t = DataType::new(TypeKind::Decimal { precision: 30, scale: 0 });
        let page = |least: [u8; 2], greatest: [u8; 2]| {
            let bytes = |bytes: [u8; 2]| parquet::data_type::FixedLenByteArray::from(bytes.to_vec());
            let (least, greatest) = (Some(bytes(least)), Some(bytes(greatest)));
            Statistics::FixedLenByteArray(ValueStatistics::new(least, greatest, None, Some(0), false))
        };
        let (negative, positive) = (page([0xff, 0xf0], [0xff, 0xff]), page([0, 1], [0, 7]));
        let both = joined(&negative, &[&positive, &negative], 0, &t).unwrap();
        assert_eq!((both.min_bytes_opt(), both.max_bytes_opt()), (Some(&[0xff, 0xf0][..]), Some(&[0, 7][..])));
    }
}
