//! Which snapshots expire (semantics g.1).

use std::time::Duration;

use crate::{
    cancel,
    error::{Error, ErrorKind, Result},
    io::TableContext,
    options::CoreOptions,
    snapshot::SnapshotManager,
};

/// How much is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retention {
    /// At most this many snapshots; more go whatever their age.
    pub max: i64,
    /// At least this many.
    pub min: i64,
    /// Snapshots go only when their successor is older than this time (epoch milliseconds); `None`: whatever the age.
    pub older_than: Option<i64>,
    /// At most this many go at once.
    pub limit: i64,
}

impl Retention {
    /// What the options `snapshot.*` ask for.
    pub fn of_options(options: &CoreOptions, now: i64) -> Self {
        Self {
            max: i64::from(options.snapshot_num_retained_max),
            min: i64::from(options.snapshot_num_retained_min),
            older_than: Some(before(now, options.snapshot_time_retained)),
            limit: i64::from(options.snapshot_expire_limit),
        }
    }

    /// What the options `changelog.*` ask for; they default to those of snapshots.
    pub fn of_changelogs(options: &CoreOptions, now: i64) -> Self {
        let of = Self::of_options(options, now);
        Self {
            max: options.changelog_num_retained_max.map_or(of.max, i64::from),
            min: options.changelog_num_retained_min.map_or(of.min, i64::from),
            older_than: options.changelog_time_retained.map_or(of.older_than, |kept| Some(before(now, kept))),
            limit: of.limit,
        }
    }

    /// Whether changelogs outlive their snapshots.
    pub fn changelogs_outlive(options: &CoreOptions) -> bool {
        options.changelog_num_retained_max.is_some_and(|max| max > options.snapshot_num_retained_max)
            || options.changelog_num_retained_min.is_some_and(|min| min > options.snapshot_num_retained_min)
            || options.changelog_time_retained.is_some_and(|kept| kept > options.snapshot_time_retained)
    }

    /// Whether the numbers make sense.
    pub fn check(&self) -> Result<()> {
        let message = if self.min < 1 {
            format!("at least 1 snapshot must be retained, not {}", self.min)
        } else if self.max < self.min {
            format!("retain_max ({}) must not be less than retain_min ({})", self.max, self.min)
        } else if self.limit < 1 {
            format!("at least 1 snapshot must be allowed to expire at a time, not {}", self.limit)
        } else {
            return Ok(());
        };
        Err(Error::new(ErrorKind::InvalidArgument, message))
    }
}

/// The time this long before now.
pub(in crate::maintenance) fn before(now: i64, kept: Duration) -> i64 {
    now.saturating_sub(i64::try_from(kept.as_millis()).unwrap_or(i64::MAX))
}

/// Snapshots before `end` expire; `end` stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::maintenance) struct Range {
    pub(in crate::maintenance) end: i64,
}

/// What expires of the snapshots from `earliest` to `latest`; `None`: nothing. Consumers are asked for only when the oldest
/// snapshot has had its time.
pub(in crate::maintenance) fn expiring(
    ctx: &TableContext,
    snapshots: &SnapshotManager,
    ids: (i64, i64),
    keep: &Retention,
) -> Result<Option<Range>> {
    expiring_or_followed(ctx, snapshots, ids, keep).map(|(range, _)| range)
}

/// The same; and when the snapshot after the oldest one was committed, where that was asked ([`stays`]).
pub(in crate::maintenance) fn expiring_or_followed(
    ctx: &TableContext,
    snapshots: &SnapshotManager,
    (earliest, latest): (i64, i64),
    keep: &Retention,
) -> Result<(Option<Range>, Option<i64>)> {
    keep.check()?;
    let mut end = latest.saturating_sub(keep.min).saturating_add(1).min(earliest.saturating_add(keep.limit));
    let by_number = latest.saturating_sub(keep.max).saturating_add(1).max(earliest);
    if end <= earliest {
        return Ok((None, None));
    }
    let (is_due, followed) = is_due(snapshots, earliest, by_number, keep)?;
    if !is_due {
        return Ok((None, followed));
    }
    if !ctx.options.consumer_changelog_only {
        let consumers = ctx.consumers();
        end = consumers.min_next_snapshot()?.map_or(end, |next| end.min(next));
    }
    if let Some(limit) = keep.older_than {
        end = first_followed_since(snapshots, by_number, end, limit)?;
    }
    Ok(((end > earliest).then_some(Range { end }), followed))
}

/// Whether the oldest snapshot stays whatever consumers say, as far as it was looked at before: `followed` is when the one after it
/// was committed.
pub(in crate::maintenance) fn stays((earliest, latest): (i64, i64), followed: Option<i64>, keep: &Retention) -> bool {
    if keep.check().is_err() || latest < earliest {
        return false;
    }
    let too_few = latest.saturating_sub(keep.min) < earliest;
    let too_young = keep.older_than.zip(followed).is_some_and(|(limit, followed)| followed >= limit);
    too_few || (too_young && latest.saturating_sub(keep.max) < earliest)
}

/// Whether the oldest snapshot goes, as far as numbers and times say; and when the next one was committed, where that was asked.
fn is_due(snapshots: &SnapshotManager, earliest: i64, by_number: i64, keep: &Retention) -> Result<(bool, Option<i64>)> {
    let Some(limit) = keep.older_than.filter(|_| by_number <= earliest) else { return Ok((true, None)) };
    let next = earliest.saturating_add(1);
    match snapshots.time_of(next)? {
        Some(followed) => Ok((followed < limit, Some(followed))),
        None => Ok((first_followed_since(snapshots, earliest, next, limit)? > earliest, None)),
    }
}

/// The first id from `from` on whose successor is as young as `limit`; `end` when there is none before it. Where the next id
/// has no snapshot the listing says what follows: nobody knows how far that is.
fn first_followed_since(snapshots: &SnapshotManager, from: i64, end: i64, limit: i64) -> Result<i64> {
    let mut listed: Option<Vec<i64>> = None;
    let mut id = from;
    while id < end {
        cancel::check()?;
        let mut next = id.saturating_add(1);
        let mut time = snapshots.time_of(next)?;
        if time.is_none() {
            let ids = listed.map_or_else(|| snapshots.ids(), Ok)?;
            let follows = ids.get(ids.partition_point(|other| *other <= next)).copied();
            listed = Some(ids);
            let Some(follows) = follows else { return Ok(end) };
            (next, time) = (follows, snapshots.time_of(follows)?);
        }
        if time.is_some_and(|time| time >= limit) {
            return Ok(id);
        }
        id = next;
    }
    Ok(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Taken for what stays whatever was asked before, snapshots would never expire.
    #[test]
    fn the_oldest_one_stays_only_as_long_as_numbers_and_times_say_so() {
        let keep = Retention { max: 10, min: 3, older_than: Some(1_000), limit: 50 };
        for (ids, followed, expected) in [
            ((1, 3), None, true),
            ((1, 4), None, false),
            ((1, 4), Some(1_000), true),
            ((1, 4), Some(999), false),
            ((1, 10), Some(1_000), true),
            ((1, 11), Some(1_000), false),
            // a rollback to a tag has made an older one the oldest
            ((7, 5), Some(1_000), false),
        ] {
            assert_eq!(stays(ids, followed, &keep), expected, "{ids:?} {followed:?}");
        }
        assert!(!stays((1, 4), Some(1_000), &Retention { older_than: None, ..keep }));
    }
}
