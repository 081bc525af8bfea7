//! Rows of a table without keys, counted while its manifests are read: no entry is held.

use std::{
    hash::{BuildHasher, Hash, Hasher},
    sync::{Mutex, PoisonError},
};

use foldhash::fast::RandomState;

use super::{
    Resolved, ScanRequest, entries::entries_if, feature_check::check_options, overtaken::expired_meanwhile,
    prepared::Prepared,
};
use crate::{
    error::Result,
    io::TableContext,
    limits,
    manifest::{EntryKind, ManifestEntry},
};

/// What is kept of an entry.
struct Line {
    /// A number that is equal for equal files.
    file: u128,
    adds: bool,
    rows: i64,
}

/// The number of rows of a version, where the entries of its manifests tell it one by one: without a key, vectors and a condition.
/// `None`: a plan must tell.
///
/// # Errors
/// As [`super::plan_at`].
pub fn counted_rows(ctx: &TableContext, request: &ScanRequest, at: &Resolved) -> Result<Option<u64>> {
    let ctx = if request.todays_schema { ctx } else { &at.ctx };
    let plain = at.between.is_none()
        && at.files_since.or(request.created_since).is_none()
        && request.min_level.is_none()
        && !request.options.keep_deletes
        && ctx.schema.primary_keys.is_empty()
        && !ctx.options.data_evolution_enabled;
    let Some(snapshot) = at.snapshot.as_ref().filter(|snapshot| plain && snapshot.index_manifest.is_none()) else {
        return Ok(None);
    };
    check_options(ctx)?;
    let prepared = Prepared::new(ctx, request)?;
    if prepared.nothing || !prepared.residual.is_always_true() {
        return Ok(None);
    }
    let mut wanted = prepared.entry_filter(ctx);
    wanted.no_statistics = true;
    let seeds = [RandomState::default(), RandomState::default()];
    let lines: Mutex<Vec<Line>> = Mutex::default();
    let note = |entry: &ManifestEntry| {
        if entry.bucket >= 0 {
            let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
            limits::grow(&mut lines, 1, "the count of so many files")?;
            lines.push(Line {
                file: number(&seeds, entry),
                adds: entry.kind == EntryKind::Add,
                rows: entry.file.row_count,
            });
        }
        Ok(false)
    };
    entries_if(ctx, snapshot, &wanted, &note, None).map_err(|e| expired_meanwhile(ctx, snapshot, e))?;
    Ok(sum(lines.into_inner().unwrap_or_else(PoisonError::into_inner)))
}

fn number(seeds: &[RandomState; 2], entry: &ManifestEntry) -> u128 {
    let half = |seed: &RandomState| {
        let mut hasher = seed.build_hasher();
        let file = &entry.file;
        (&entry.partition, entry.bucket, file.level, &file.file_name).hash(&mut hasher);
        (&file.extra_files, &file.embedded_file_index, &file.external_path).hash(&mut hasher);
        u128::from(hasher.finish())
    };
    let [high, low] = seeds;
    half(high) << 64 | half(low)
}

/// `None`: a file is added twice, or deleted without having been added, and a plan says which.
fn sum(mut lines: Vec<Line>) -> Option<u64> {
    lines.sort_unstable_by_key(|line| line.file);
    let mut all = 0_u64;
    for same in lines.chunk_by(|a, b| a.file == b.file) {
        let rows = same.first()?.rows;
        let added = same.iter().filter(|line| line.adds).count();
        let left = added.checked_sub(same.len() - added).filter(|left| *left <= 1)?;
        if same.iter().any(|line| line.rows != rows) {
            return None;
        }
        if left == 1 {
            all = all.saturating_add(u64::try_from(rows).ok()?);
        }
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::{Line, sum};

    fn line(file: u128, adds: bool, rows: i64) -> Line {
        Line { file, adds, rows }
    }

    #[test]
    fn files_that_are_deleted_or_added_again_count_once() {
        assert_eq!(sum(Vec::new()), Some(0));
        assert_eq!(sum(vec![line(1, true, 5), line(2, true, 7), line(1, false, 5)]), Some(7));
        assert_eq!(sum(vec![line(1, true, 5), line(1, false, 5), line(1, true, 5)]), Some(5));
    }

    #[test]
    fn what_cannot_be_is_not_counted() {
        for wrong in [
            vec![line(1, true, 5), line(1, true, 5)],
            vec![line(1, false, 5)],
            vec![line(1, true, 5), line(1, false, 6)],
            vec![line(1, true, -1)],
        ] {
            assert_eq!(sum(wrong), None);
        }
    }
}
