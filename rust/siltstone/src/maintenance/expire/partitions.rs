//! Expiry of partitions (semantics g.9): partitions that are old enough are dropped by an OVERWRITE commit. Those that are old
//! because nobody has written to them are looked at again by each try of that commit.
//!
//! Their files stay until the snapshots that read them expire.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
    time::Duration,
};

use super::{partition_time::PartitionTimes, range::before};
use crate::{
    cleanup::{CleanupPlan, FileKind, Report, UnusedFile, data_files, with_effect},
    commit::TableCommit,
    error::{Error, ErrorKind, Result},
    io::TableContext,
    maintenance::iceberg,
    manifest::ManifestEntry,
    options::PartitionExpireStrategy,
    row::{BinaryRow, datum_to_legacy_text},
    scan::{EntryFilter, LastWrites, live_entries_with_last_writes, overtaken::at_newest},
    schema::{DATE_SAYS_NONE, day_of_age},
    types::DataType,
};

/// Which partitions are old.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionExpiry {
    /// Older than this.
    pub kept: Duration,
    /// How the age is found.
    pub strategy: PartitionExpireStrategy,
    /// `$year-$month-$day`
    pub pattern: Option<String>,
    /// `yyyyMMdd`
    pub formatter: Option<String>,
    /// At most this many at once, the smallest values first.
    pub limit: usize,
    /// So many are dropped by one commit; 0: all.
    pub batch: usize,
}

impl PartitionExpiry {
    /// What the options `partition.*` ask for; `None` without `partition.expiration-time`.
    ///
    /// # Errors
    /// `InvalidOption` on a table that is not partitioned.
    pub fn of_options(ctx: &TableContext) -> Result<Option<Self>> {
        let options = &ctx.options;
        let Some(kept) = options.partition_expiration_time else { return Ok(None) };
        if ctx.schema.partition_keys.is_empty() {
            return Err(Error::new(ErrorKind::InvalidOption, "a table without partitions has none that could expire")
                .with("table", &ctx.name)
                .with("option", "partition.expiration-time"));
        }
        Ok(Some(Self {
            kept,
            strategy: options.partition_expiration_strategy,
            pattern: options.partition_timestamp_pattern.clone(),
            formatter: options.partition_timestamp_formatter.clone(),
            limit: options.partition_expiration_max_num,
            batch: options.partition_expiration_batch_size,
        }))
    }
}

/// A partition's files and values.
struct Partition {
    entries: Vec<ManifestEntry>,
    values: Vec<(String, Option<String>)>,
}

/// Drops the partitions that are old at `now` (epoch milliseconds).
pub fn expire_partitions(ctx: &TableContext, expiry: &PartitionExpiry, now: i64, dry_run: bool) -> Result<Report> {
    let ages = Ages::of(expiry, now)?;
    let (live, writes) = at_newest(ctx, |newest| match newest {
        Some(newest) => live_entries_with_last_writes(ctx, newest, &EntryFilter::without_statistics()),
        None => Ok((Vec::new(), LastWrites::default())),
    })?;
    let mut partitions: BTreeMap<Vec<u8>, Partition> = BTreeMap::new();
    for entry in live {
        if let Some(known) = partitions.get_mut(&entry.partition) {
            known.entries.push(entry);
        } else {
            let values = values(ctx, &entry.partition)?;
            partitions.insert(entry.partition.clone(), Partition { entries: vec![entry], values });
        }
    }
    let mut plan = CleanupPlan::default();
    let (mut old, mut unknown) = (Vec::new(), Vec::new());
    for (key, partition) in partitions {
        match ages.is_old(&partition.values, writes.of_partition(&key)) {
            Some(true) => old.push((key, partition)),
            Some(false) => {}
            None => unknown.push(key),
        }
    }
    if let Some(first) = unknown.first() {
        let first = ctx.paths.partition_shown(first)?;
        let never = match unknown.len() {
            1 => format!("partition {first} never expires"),
            many => format!("{many} partitions never expire, such as {first}"),
        };
        let note = format!("{never}: {}", ages.unknown(ctx, expiry.pattern.as_deref()));
        tracing::warn!(table = ctx.name, "{note}");
        plan.notes.push(note);
    }
    let joined = |p: &Partition| {
        let texts = p.values.iter().map(|(_, v)| v.as_deref().unwrap_or(&ctx.options.partition_default_name));
        texts.collect::<Vec<_>>().join(",")
    };
    old.sort_by_key(|(_, partition)| joined(partition));
    old.truncate(expiry.limit);
    let reason: Arc<str> = Arc::from("its partition has expired; the file stays until its snapshots expire");
    let entries = old.iter().flat_map(|(_, partition)| &partition.entries);
    let gone: Vec<UnusedFile> = entries.cloned().map(UnusedFile::from).collect();
    let report = |plan| Report { plan, dry_run, ..Report::default() };
    if dry_run {
        plan.delete(data_files(ctx, &gone, &vec![reason; gone.len()], FileKind::Data)?);
        return Ok(report(plan).with("partitions", names(ctx, old.iter().map(|(key, _)| key))?));
    }
    let (mut made, mut dropped): (Vec<i64>, Vec<&Vec<u8>>) = (Vec::new(), Vec::new());
    let batch = if expiry.batch == 0 { old.len().max(1) } else { expiry.batch };
    for partitions in old.chunks(batch) {
        let keys: Vec<&Vec<u8>> = partitions.iter().map(|(key, _)| key).collect();
        let outcome = drop_them(ctx, expiry, now, keys.iter().map(|key| (*key).clone()).collect());
        let Dropped { snapshots, partitions: gone, note } = with_effect(outcome, || already(ctx, &made, &dropped))?;
        plan.notes.extend(note);
        match gone {
            Ok(gone) => dropped.extend(keys.into_iter().filter(|key| gone.contains(*key))),
            Err(error) => plan
                .notes
                .push(format!("snapshots {snapshots:?} have dropped partitions, which ones cannot be read: {error}")),
        }
        made.extend(snapshots);
    }
    Ok(report(plan).with("partitions", names(ctx, dropped.into_iter())?).with("snapshots", made))
}

/// What batches before one that failed have done.
fn already(ctx: &TableContext, made: &[i64], dropped: &[&Vec<u8>]) -> Result<Option<String>> {
    if made.is_empty() {
        return Ok(None);
    }
    let dropped = names(ctx, dropped.iter().copied())?.join(", ");
    Ok(Some(format!("snapshots {made:?} have dropped partitions {dropped}")))
}

fn names<'k>(ctx: &TableContext, keys: impl Iterator<Item = &'k Vec<u8>>) -> Result<Vec<String>> {
    keys.map(|key| ctx.paths.partition_shown(key)).collect()
}

/// What one commit did.
struct Dropped {
    snapshots: Vec<i64>,
    /// An error when it cannot be read any more.
    partitions: Result<HashSet<Vec<u8>>>,
    note: Option<String>,
}

fn drop_them(ctx: &TableContext, expiry: &PartitionExpiry, now: i64, keys: HashSet<Vec<u8>>) -> Result<Dropped> {
    let commit = TableCommit::with_new_user(ctx);
    let (outcome, partitions) = match expiry.strategy {
        // values stay what they are
        PartitionExpireStrategy::ValuesTime => {
            let outcome = commit.drop_partitions(keys.clone())?;
            let dropped = if outcome.snapshots.is_empty() { HashSet::new() } else { keys };
            (outcome, Ok(dropped))
        }
        PartitionExpireStrategy::UpdateTime => commit.drop_idle_partitions(keys, limit(expiry, now))?,
    };
    let note = iceberg::after_commit(ctx, &outcome.snapshots);
    Ok(Dropped { snapshots: outcome.snapshots.iter().map(|snapshot| snapshot.id).collect(), partitions, note })
}

/// What is older is old (local wall clock, epoch milliseconds).
fn limit(expiry: &PartitionExpiry, now: i64) -> i64 {
    crate::env::local_wall_clock(before(now, expiry.kept))
}

/// Values as Java's `toString` gives them, which is what the pattern works on.
fn values(ctx: &TableContext, partition: &[u8]) -> Result<Vec<(String, Option<String>)>> {
    let types = ctx.paths.partition_types();
    let datums = BinaryRow::from_serialized(partition)?.datums(types)?;
    let texts = datums.iter().zip(types).map(|(d, t)| (!d.is_null()).then(|| datum_to_legacy_text(d, t)));
    Ok(ctx.paths.partition_names().iter().cloned().zip(texts).collect())
}

/// Names and types of the partition keys.
fn keys(ctx: &TableContext) -> impl Iterator<Item = (&str, &DataType)> {
    ctx.paths.partition_names().iter().map(String::as_str).zip(ctx.paths.partition_types())
}

/// How old partitions are found.
enum Ages {
    /// By their values: those before this time (local wall clock, epoch milliseconds) are old.
    Values(PartitionTimes, i64),
    /// By their last write.
    Writes(i64),
}

impl Ages {
    fn of(expiry: &PartitionExpiry, now: i64) -> Result<Self> {
        let limit = limit(expiry, now);
        Ok(match expiry.strategy {
            PartitionExpireStrategy::ValuesTime => {
                Self::Values(PartitionTimes::new(expiry.pattern.as_deref(), expiry.formatter.as_deref())?, limit)
            }
            PartitionExpireStrategy::UpdateTime => Self::Writes(limit),
        })
    }

    /// `None`: nobody can tell.
    fn is_old(&self, values: &[(String, Option<String>)], last_write: Option<i64>) -> Option<bool> {
        Some(match self {
            Self::Values(times, limit) => times.of(values)?.and_utc().timestamp_millis() < *limit,
            Self::Writes(limit) => last_write? < *limit,
        })
    }

    /// Why nobody can tell.
    fn unknown(&self, ctx: &TableContext, pattern: Option<&str>) -> String {
        match self {
            Self::Values(..) if day_of_age(keys(ctx), pattern).is_some() => {
                format!(
                    "{DATE_SAYS_NONE}; partition.expiration-strategy = update-time lets it expire by its last write"
                )
            }
            Self::Values(..) => {
                "its values say no date by partition.timestamp-pattern and partition.timestamp-formatter; \
                                 partition.expiration-strategy = update-time needs none"
                    .to_owned()
            }
            Self::Writes(_) => "its manifests do not say when its files were made".to_owned(),
        }
    }
}
