//! Rows that wait in `bucket-postpone`, by partition, and how many buckets they are going to.
//!
//! ```text
//! the partition has buckets          as many as it has
//! the table has fixed buckets now    as many
//! postpone.default-bucket-num = n    n
//! otherwise                          one for each postpone.target-row-num-per-bucket rows, or
//!                                    each postpone.target-size-per-bucket bytes (1 GB) that wait
//! ```
//!
//! Java 1.4 takes one where nothing is said, 2.x decides by the size.
//!
//! Their rows go there in the order of the commits that brought them, as if each commit had been compacted by itself; those of one
//! commit, and those of commits that have expired, in the order of the times when files were finished. Java goes by these
//! times alone, which are local: writers in other time zones, or in the hour that a summer's end repeats, have older ones.
//!
//! Source: `PostponeUtils`, `PostponeBucketCompactSplitSource`.

use std::collections::{BTreeMap, HashMap};

use crate::{
    error::{Error, ErrorKind, Result},
    io::TableContext,
    limits::sum,
    manifest::{BucketId, DataFileMeta, ManifestEntry},
    options::{CoreOptions, POSTPONE_BUCKET},
    scan::{EntryFilter, brought_by},
    snapshot::Snapshot,
};

/// The waiting files of one partition.
pub(super) struct Waiting {
    pub(super) bucket: BucketId,
    /// Buckets that their rows go to.
    pub(super) total_buckets: i32,
    /// In the order in which their rows came.
    pub(super) files: Vec<DataFileMeta>,
}

/// Takes the waiting files out of the live ones, with the buckets of their partitions, which their compaction takes in.
pub(super) fn take_waiting(
    ctx: &TableContext,
    snapshot: &Snapshot,
    live: &mut Vec<ManifestEntry>,
) -> Result<Vec<Waiting>> {
    let (waiting, real): (Vec<_>, Vec<_>) = std::mem::take(live).into_iter().partition(|entry| entry.bucket < 0);
    let mut partitions: BTreeMap<Vec<u8>, Vec<DataFileMeta>> = BTreeMap::new();
    for ManifestEntry { partition, bucket, file, .. } in waiting {
        if bucket != POSTPONE_BUCKET {
            let message = format!("a file is in bucket {bucket}, which no table has");
            return Err(Error::new(ErrorKind::CorruptFile, message)
                .with("table", &ctx.name)
                .with("file", &file.file_name));
        }
        partitions.entry(partition).or_default().push(file);
    }
    let mut known: HashMap<&[u8], i32> = HashMap::new();
    for entry in real.iter().filter(|entry| partitions.contains_key(&entry.partition)) {
        let number = *known.entry(&entry.partition).or_insert(entry.total_buckets);
        if number != entry.total_buckets || number < 1 {
            let text = format!("a partition has files of {number} and of {} buckets", entry.total_buckets);
            return Err(Error::new(ErrorKind::CorruptFile, text)
                .with("table", &ctx.name)
                .with("partition", ctx.paths.partition_shown(&entry.partition)?));
        }
    }
    put_in_order(ctx, snapshot, &mut partitions)?;
    let mut found = Vec::with_capacity(partitions.len());
    for (partition, files) in &partitions {
        let total_buckets = match known.get(partition.as_slice()) {
            Some(number) => *number,
            None => new_number(&ctx.options, files).map_err(|e| e.with("table", &ctx.name))?,
        };
        let bucket = BucketId { partition: partition.clone(), bucket: POSTPONE_BUCKET };
        found.push(Waiting { bucket, total_buckets, files: files.clone() });
    }
    *live = real.into_iter().filter(|entry| !partitions.contains_key(&entry.partition)).collect();
    Ok(found)
}

/// Manifests have files in the order of their commits, but for those that a rewrite has put behind others. Where times say the same
/// it is that order; else the commits are looked up.
fn put_in_order(
    ctx: &TableContext,
    snapshot: &Snapshot,
    partitions: &mut BTreeMap<Vec<u8>, Vec<DataFileMeta>>,
) -> Result<()> {
    let doubtful: Vec<(&Vec<u8>, &mut Vec<DataFileMeta>)> =
        partitions.iter_mut().filter(|(_, files)| !files.is_sorted_by_key(|file| file.creation_time)).collect();
    if doubtful.is_empty() {
        return Ok(());
    }
    let names = doubtful.iter().flat_map(|(_, files)| files.iter().map(|file| file.file_name.clone())).collect();
    let filter = EntryFilter {
        partitions: Some(doubtful.iter().map(|(partition, _)| (*partition).clone()).collect()),
        bucket: Some(POSTPONE_BUCKET),
        ..EntryFilter::default()
    };
    let commits = brought_by(ctx, snapshot, &filter, names)?;
    for (_, files) in doubtful {
        // of equal times the one that comes first in the manifests: its writer finished it first
        files.sort_by_key(|file| (commits.get(&file.file_name).copied(), file.creation_time));
    }
    Ok(())
}

/// Buckets of a partition that has none yet.
fn new_number(options: &CoreOptions, files: &[DataFileMeta]) -> Result<i32> {
    if options.bucket > 0 {
        return Ok(options.bucket);
    }
    if let Some(number) = options.postpone_default_bucket_num {
        return Ok(number);
    }
    let by_rows = options
        .postpone_target_row_num
        .map(|target| (sum(files.iter().map(|file| file.row_count)), target, "postpone.target-row-num-per-bucket"));
    let (waiting, target, option) = by_rows.unwrap_or_else(|| {
        let target = i64::try_from(options.postpone_target_size).unwrap_or(i64::MAX);
        (sum(files.iter().map(|file| file.file_size)), target, "postpone.target-size-per-bucket")
    });
    let number = waiting.saturating_sub(1).max(0) / target.max(1) + 1;
    i32::try_from(number).map_err(|_| {
        Error::new(ErrorKind::InvalidOption, format!("the rows that wait would go into {number} buckets"))
            .with("option", option)
            .hint(format!("give '{option}' a larger value, or set 'postpone.default-bucket-num'"))
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests may stop at the first surprise")]

    use std::collections::BTreeMap;

    use super::super::tests::file;
    use super::*;
    use crate::manifest::DataFileFields;

    fn number(pairs: &[(&str, &str)], files: &[DataFileMeta]) -> Result<i32> {
        let given = [("bucket", "-2")].iter().chain(pairs).map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
        new_number(&CoreOptions::parse(&given.collect::<BTreeMap<_, _>>())?, files)
    }

    #[test]
    fn a_new_partition_gets_as_many_buckets_as_its_waiting_rows_need() {
        let waiting = |rows, size| {
            vec![
                DataFileFields { row_count: rows, file_size: size, ..DataFileFields::clone(&file("a.parquet")) }.into();
                2
            ]
        };
        assert_eq!(number(&[], &waiting(5, 10)).unwrap(), 1);
        assert_eq!(number(&[], &waiting(5, 1 << 30)).unwrap(), 2);
        assert_eq!(number(&[], &waiting(5, (1 << 30) + 1)).unwrap(), 3);
        assert_eq!(number(&[("postpone.target-size-per-bucket", "1 kb")], &waiting(5, 1024)).unwrap(), 2);
        let by_rows = [("postpone.target-row-num-per-bucket", "4"), ("postpone.target-size-per-bucket", "1 b")];
        assert_eq!(number(&by_rows, &waiting(5, 1024)).unwrap(), 3);
        assert_eq!(number(&[("postpone.default-bucket-num", "7"), by_rows[0]], &waiting(5, 1024)).unwrap(), 7);
        assert_eq!(number(&[("bucket", "3"), by_rows[0]], &waiting(5, 1024)).unwrap(), 3);
    }

    #[test]
    fn numbers_that_are_none_are_refused_by_the_option_s_name() {
        let huge = vec![DataFileFields { row_count: i64::MAX, ..DataFileFields::clone(&file("a.parquet")) }.into(); 3];
        for (option, value, files) in [
            ("postpone.target-row-num-per-bucket", "1", &*huge),
            ("postpone.target-row-num-per-bucket", "0", &[]),
            ("postpone.target-size-per-bucket", "0 b", &[]),
            ("postpone.default-bucket-num", "0", &[]),
            ("postpone.default-bucket-num", "many", &[]),
        ] {
            let error = number(&[(option, value)], files).unwrap_err();
            assert_eq!(
                (error.kind(), error.context_value("option")),
                (ErrorKind::InvalidOption, Some(option)),
                "{value}"
            );
        }
    }
}
