//! Groups of records walked as one run: each record goes into its group's result, and a flag says where a group begins.
//! No branch depends on how many records a group has.
#![allow(clippy::indexing_slicing, reason = "places come from the merge and lie within the arrays")]

use arrow_buffer::{BooleanBuffer, NullBuffer};

use super::select::Nulls;

/// A record: source and row.
pub(super) type Record = (usize, usize);

/// Whether each record is the first of its group; `None` when a group has no record, or a record no group.
pub(super) fn firsts(rows: &[Record], ends: &[usize]) -> Option<Vec<bool>> {
    let mut firsts = vec![false; rows.len() + 1];
    *firsts.first_mut()? = true;
    let mut before = 0;
    let mut empty = false;
    for &end in ends {
        *firsts.get_mut(end)? = true;
        empty |= end <= before;
        before = end;
    }
    firsts.pop();
    (!empty && before == rows.len()).then_some(firsts)
}

/// One value for each group: the first that is not null, then `add(acc, input)` with each further one. The second
/// result of `add` says that this way cannot go on; then, and when a group is empty, there is no result.
pub(super) fn reduce<N: Copy + Default>(
    rows: &[Record],
    ends: &[usize],
    nulls: &Nulls<'_>,
    value: impl Fn(Record) -> N,
    add: impl Fn(N, N) -> (N, bool),
) -> Option<(Vec<N>, Option<NullBuffer>)> {
    let firsts = firsts(rows, ends)?;
    let mut results = vec![N::default(); ends.len()];
    let mut valid = vec![false; ends.len()];
    let (mut acc, mut has, mut stop) = (N::default(), false, false);
    let mut next = 0;
    for (&record, &first) in rows.iter().zip(&firsts) {
        let (input, present) = (value(record), nulls.is_valid(record));
        has &= !first;
        let (sum, stops) = add(acc, input);
        stop |= stops & has & present;
        let with = if has { sum } else { input };
        acc = if present { with } else { acc };
        has |= present;
        next += usize::from(first);
        results[next - 1] = acc;
        valid[next - 1] = has;
    }
    let nulls = NullBuffer::new(BooleanBuffer::from(valid.as_slice()));
    (!stop).then_some((results, Some(nulls).filter(|nulls| nulls.null_count() > 0)))
}
