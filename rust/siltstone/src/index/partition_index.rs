//! Which bucket the keys of one partition are in, and which bucket a new key goes to (format chapter 6.4).
//!
//! ```text
//! the hash is known            its bucket
//! a bucket has room            the first of those: as Java's hash map gives them, then those made since
//! a bucket may be made         the smallest number that no bucket has
//! all are full                 one of them (Java: any; here the hash says which, so that writers agree)
//! ```
//!
//! One of several assigners knows the keys that come to it, and fills and makes the buckets of its share.
//!
//! Source: `PartitionIndex`; `SimpleHashBucketAssigner` gives the same from nothing.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::{
    assigners::Share,
    hash_index::{HashIndexFiles, LAST_BUCKET, MEND_INDEX, version_of},
    key_hashes::{KeyHashes, Slot},
};
use crate::{
    error::{Error, ErrorKind, Result},
    limits,
    manifest::{BucketId, EntryKind, IndexManifestEntry, ManifestEntry},
    options::CoreOptions,
    row::BinaryRow,
    schema::TableSchema,
    types::{DataField, TypeKind},
};

/// Hashes whose slots are read before the first of them is looked for.
const AT_ONCE: usize = 64;

/// How buckets are filled.
#[derive(Clone, Copy, Debug)]
pub struct BucketRules {
    /// `dynamic-bucket.target-row-num`: so many hashes are enough for a bucket.
    target: u64,
    /// `dynamic-bucket.max-buckets`: buckets below this number are made.
    limit: u16,
    /// Keys go on into full buckets when no more are made.
    overfill: bool,
    /// The buckets that are filled and made; `None`: all.
    share: Option<Share>,
}

impl BucketRules {
    /// From the table's options.
    pub fn of(options: &CoreOptions) -> Self {
        let limit = options.dynamic_bucket_max_buckets;
        Self {
            target: options.dynamic_bucket_target_row_num,
            limit: limit.unwrap_or(LAST_BUCKET + 1),
            overfill: limit.is_some(),
            share: None,
        }
    }

    /// The same, of one of several assigners.
    pub fn of_share(self, share: Share) -> Self {
        Self { share: Some(share), ..self }
    }

    fn owns(&self, bucket: u16) -> bool {
        self.share.is_none_or(|share| share.owns(bucket))
    }
}

/// The keys of a partition.
#[derive(Debug, Default)]
pub struct PartitionIndex {
    hashes: KeyHashes,
    /// Buckets that may have room, and how many hashes they have.
    open: VecDeque<(u16, u64)>,
    buckets: Vec<u16>,
    used: BTreeSet<u16>,
    /// All numbers below are used.
    next: u16,
    /// Buckets that have got hashes since their index file was written.
    changed: BTreeSet<u16>,
    /// The one of them that got the last hash.
    filled: Option<u16>,
    /// The index files that say what is here but for that.
    files: BTreeMap<u16, Vec<IndexManifestEntry>>,
}

impl PartitionIndex {
    /// What the index files of a partition say; others are passed over.
    ///
    /// # Errors
    /// `CorruptFile` when a hash is in two buckets: two jobs have written to the partition at the same time.
    pub fn load(files: &HashIndexFiles, entries: Vec<IndexManifestEntry>) -> Result<Self> {
        Self::load_if(files, entries, None)
    }

    /// The same of one of several assigners: the keys that come to it, and the buckets that it fills.
    pub fn load_share(
        files: &HashIndexFiles,
        entries: Vec<IndexManifestEntry>,
        partition: i32,
        share: Share,
    ) -> Result<Self> {
        Self::load_if(files, entries, Some((share, partition)))
    }

    fn load_if(files: &HashIndexFiles, entries: Vec<IndexManifestEntry>, share: Option<(Share, i32)>) -> Result<Self> {
        let described = entries.iter().map(|entry| files.described(entry)).collect::<Result<Vec<_>>>()?;
        let all = described.iter().map(|(_, count)| *count).fold(0, usize::saturating_add);
        limits::ask(all.saturating_mul(8), "an index of the keys of a partition")?;
        // of a share fewer come: there is room for them as they come
        let room = if share.is_some() { 0 } else { all };
        let mut index = Self { hashes: KeyHashes::with_capacity(room)?, ..Self::default() };
        let mut counts: Vec<(u16, u64)> = Vec::new();
        for (entry, (bucket, count)) in entries.into_iter().zip(described) {
            files.read(&entry, |hash| {
                if share.is_some_and(|(share, partition)| !share.has(partition, hash)) {
                    return Ok(());
                }
                match index.hashes.insert(hash, bucket)? {
                    Some(other) if other != bucket => Err(in_two_buckets(&entry, hash, other)),
                    _ => Ok(()),
                }
            })?;
            let count = u64::try_from(count).unwrap_or(u64::MAX);
            match counts.iter_mut().find(|(known, _)| *known == bucket) {
                Some((_, sum)) => *sum = sum.saturating_add(count),
                None if count > 0 && share.is_none_or(|(share, _)| share.owns(bucket)) => counts.push((bucket, count)),
                None => {}
            }
            index.files.entry(bucket).or_default().push(entry);
        }
        java_order(&mut counts);
        index.buckets = counts.iter().map(|(bucket, _)| *bucket).collect();
        index.used = index.buckets.iter().copied().collect();
        index.open = counts.into();
        Ok(index)
    }

    /// The buckets of hashes, which are known from now on, behind those that are there.
    ///
    /// # Errors
    /// As [`PartitionIndex::assign`].
    pub fn assign_all(&mut self, hashes: &[i32], rules: BucketRules, buckets: &mut Vec<i32>) -> Result<()> {
        for some in hashes.chunks(AT_ONCE) {
            self.hashes.touch(some);
            for hash in some {
                buckets.push(i32::from(self.assign(*hash, rules)?));
            }
        }
        Ok(())
    }

    /// The bucket of a hash, which is known from now on.
    ///
    /// # Errors
    /// `InvalidOption` when a bucket would have too large a number.
    pub fn assign(&mut self, hash: i32, rules: BucketRules) -> Result<u16> {
        let place = match self.hashes.slot(hash)? {
            Slot::Taken(bucket) => return Ok(bucket),
            Slot::Free(place) => place,
        };
        let bucket = match self.with_room(rules).or_else(|| self.made(rules)) {
            Some(bucket) => bucket,
            None => self.full(hash, rules)?,
        };
        self.hashes.fill(place, hash, bucket);
        // nearly always the same one
        if self.filled != Some(bucket) {
            self.changed.insert(bucket);
            self.filled = Some(bucket);
        }
        Ok(bucket)
    }

    /// The bucket of a hash that is known.
    pub fn bucket_of(&self, hash: i32) -> Option<i32> {
        self.hashes.get(hash).map(i32::from)
    }

    /// Compares the index with the least and the greatest key of a live data file. This costs nothing, and an index file that has got
    /// into the place of another one has other keys.
    ///
    /// # Errors
    /// `CorruptFile` when the index has a key in another bucket, or nowhere.
    pub fn check_bounds(&self, schema: &TableSchema, entry: &ManifestEntry) -> Result<()> {
        let ManifestEntry { bucket, file, .. } = entry;
        // in files of another schema a key may have other bytes, and a NaN has many
        let key = schema.trimmed_primary_keys();
        let has_nan = |field: &DataField| matches!(field.data_type.kind, TypeKind::Float | TypeKind::Double);
        if file.schema_id != schema.id || schema.fields.iter().any(|f| has_nan(f) && key.contains(&f.name.as_str())) {
            return Ok(());
        }
        for key in [&file.min_key, &file.max_key] {
            let found = self.bucket_of(BinaryRow::from_serialized(key)?.hash());
            if found == Some(*bucket) {
                continue;
            }
            let indexes: Vec<&str> = self.files.values().flatten().map(|entry| entry.file_name.as_str()).collect();
            let text = if indexes.is_empty() {
                format!("bucket {bucket} has data files, but the version names no index file of its partition")
            } else {
                let place = found.map_or_else(|| "in none".to_owned(), |other| format!("in bucket {other}"));
                format!("a key of a data file in bucket {bucket} is {place} by the index: it is not of these rows")
            };
            return Err(Error::new(ErrorKind::CorruptFile, text)
                .with("file", &file.file_name)
                .with("index_files", indexes.join(", "))
                .hint(MEND_INDEX));
        }
        Ok(())
    }

    /// Says that a hash is in a bucket; the other one that it is in, if it is.
    ///
    /// # Errors
    /// `CorruptFile` for a number that no bucket with an index has.
    pub fn claim(&mut self, hash: i32, bucket: i32) -> Result<Option<u16>> {
        let number = u16::try_from(bucket).ok().filter(|bucket| *bucket <= LAST_BUCKET).ok_or_else(|| {
            let text = format!("{bucket} is not the number of a dynamic bucket");
            Error::new(ErrorKind::CorruptFile, text).with("expected", "0 to 32766").with("found", bucket)
        })?;
        if let Some(there) = self.hashes.insert(hash, number)? {
            return Ok(Some(there).filter(|there| *there != number));
        }
        self.changed.insert(number);
        Ok(None)
    }

    fn with_room(&mut self, rules: BucketRules) -> Option<u16> {
        while let Some((bucket, count)) = self.open.front_mut() {
            if *count < rules.target {
                *count += 1;
                return Some(*bucket);
            }
            self.open.pop_front();
        }
        None
    }

    fn made(&mut self, rules: BucketRules) -> Option<u16> {
        while self.next < rules.limit && (self.used.contains(&self.next) || !rules.owns(self.next)) {
            self.next += 1;
        }
        let bucket = Some(self.next).filter(|next| *next < rules.limit)?;
        self.open.push_back((bucket, 1));
        self.buckets.push(bucket);
        self.used.insert(bucket);
        Some(bucket)
    }

    fn full(&self, hash: i32, rules: BucketRules) -> Result<u16> {
        let one_of = |number: u32| hash.cast_unsigned().checked_rem(number);
        let bucket = match u32::try_from(self.buckets.len()) {
            // more assigners than buckets: this one has none of its own, and Java fails
            Ok(0) => one_of(rules.limit.into()).and_then(|at| u16::try_from(at).ok()),
            buckets => one_of(buckets.unwrap_or(u32::MAX))
                .and_then(|at| usize::try_from(at).ok())
                .and_then(|at| self.buckets.get(at))
                .copied(),
        };
        let bucket = bucket.filter(|_| rules.overfill);
        bucket.ok_or_else(|| {
            let text = format!("a partition would have more than {} buckets", rules.limit);
            Error::new(ErrorKind::InvalidOption, text)
                .with("option", "dynamic-bucket.target-row-num")
                .hint("raise 'dynamic-bucket.target-row-num', the number of keys in a bucket")
        })
    }

    /// Tells the index files that it began with, or has written since, from any others.
    pub fn version(&self) -> u128 {
        version_of(self.files.values().flatten())
    }

    /// Writes the index files of buckets that have got hashes, and says for each what it takes the place of: DELETE of the old
    /// files, ADD of the new one. After an error none of the new files is left.
    pub fn write(
        &mut self,
        files: &HashIndexFiles,
        partition: &[u8],
        wanted: impl Fn(i32) -> bool,
    ) -> Result<BTreeMap<i32, Vec<IndexManifestEntry>>> {
        let wanted: BTreeSet<u16> = self.changed.iter().copied().filter(|b| wanted(i32::from(*b))).collect();
        let mut written: BTreeMap<u16, IndexManifestEntry> = BTreeMap::new();
        if let Err(error) = self.write_new(files, partition, &wanted, &mut written) {
            for entry in written.values() {
                files.delete(entry);
            }
            return Err(error);
        }
        let mut changes = BTreeMap::new();
        self.filled = None;
        for (bucket, new) in written {
            self.changed.remove(&bucket);
            let old = self.files.insert(bucket, vec![new.clone()]).unwrap_or_default();
            let gone = old.into_iter().map(|old| IndexManifestEntry { kind: EntryKind::Delete, ..old });
            changes.insert(i32::from(bucket), gone.chain([new]).collect());
        }
        Ok(changes)
    }

    fn write_new(
        &self,
        files: &HashIndexFiles,
        partition: &[u8],
        wanted: &BTreeSet<u16>,
        written: &mut BTreeMap<u16, IndexManifestEntry>,
    ) -> Result<()> {
        for (bucket, hashes) in hashes_of(&self.hashes, wanted)? {
            let id = BucketId { partition: partition.to_vec(), bucket: i32::from(bucket) };
            written.insert(bucket, files.write(&id, &hashes)?);
        }
        Ok(())
    }
}

/// The hashes of some buckets.
pub fn hashes_of(hashes: &KeyHashes, wanted: &BTreeSet<u16>) -> Result<BTreeMap<u16, Vec<i32>>> {
    // by number: one look for each hash
    let numbers = wanted.last().map_or(0, |last| usize::from(*last) + 1);
    let mut counts = vec![0_usize; numbers];
    for (_, bucket) in hashes.iter() {
        counts.get_mut(usize::from(bucket)).into_iter().for_each(|count| *count += 1);
    }
    let mut found: Vec<Option<Vec<i32>>> = vec![None; numbers];
    for bucket in wanted.iter().copied().map(usize::from) {
        let mut list = Vec::new();
        let count = counts.get(bucket).copied().unwrap_or_default();
        limits::reserve(&mut list, count, "the index of the keys of a bucket")?;
        if let Some(place) = found.get_mut(bucket) {
            *place = Some(list);
        }
    }
    for (hash, bucket) in hashes.iter() {
        if let Some(Some(list)) = found.get_mut(usize::from(bucket)) {
            list.push(hash);
        }
    }
    Ok(wanted.iter().filter_map(|bucket| Some((*bucket, found.get_mut(usize::from(*bucket))?.take()?))).collect())
}

/// The error of a hash that index files have in two buckets.
pub fn in_two_buckets(entry: &IndexManifestEntry, hash: i32, other: u16) -> Error {
    Error::new(ErrorKind::CorruptFile, format!("the hash {hash} of a key is in the index files of two buckets"))
        .with("file", &entry.file_name)
        .with("bucket", entry.bucket)
        .with("other", other)
        .hint("two jobs have written to the partition at the same time: overwrite it with its own rows, each key once")
}

/// The order in which a `java.util.HashMap` that they were put into one after another gives them: which of several buckets with
/// room is filled first.
fn java_order(counts: &mut [(u16, u64)]) {
    let mut slots = 16_usize;
    while counts.len() > slots / 4 * 3 {
        slots *= 2;
    }
    counts.sort_by_key(|(bucket, _)| usize::from(*bucket) & (slots - 1));
}

#[cfg(test)]
mod tests {
    use super::{super::assigners::Assigners, *};

    fn rules(target: u64, limit: Option<u16>) -> BucketRules {
        BucketRules { target, limit: limit.unwrap_or(LAST_BUCKET + 1), overfill: limit.is_some(), share: None }
    }

    #[test]
    fn buckets_are_filled_one_after_another_and_known_hashes_stay() {
        let mut index = PartitionIndex::default();
        let rules = rules(3, None);
        let buckets: Vec<u16> = (0..10).map(|hash| index.assign(hash, rules).unwrap()).collect();
        assert_eq!(buckets, [0, 0, 0, 1, 1, 1, 2, 2, 2, 3]);
        let again: Vec<u16> = (0..10).map(|hash| index.assign(hash, rules).unwrap()).collect();
        assert_eq!(again, buckets);
    }

    #[test]
    fn a_number_that_is_free_is_used_first() {
        let mut index = PartitionIndex {
            open: [(1, 5), (3, 2)].into(),
            buckets: vec![1, 3],
            used: BTreeSet::from([1, 3]),
            ..PartitionIndex::default()
        };
        let buckets: Vec<u16> = (0..5).map(|hash| index.assign(hash, rules(3, None)).unwrap()).collect();
        assert_eq!(buckets, [3, 0, 0, 0, 2]);
    }

    #[test]
    fn at_the_limit_full_buckets_take_more_and_without_one_it_is_an_error() {
        let mut index = PartitionIndex::default();
        let buckets: BTreeSet<u16> = (0..100).map(|hash| index.assign(hash, rules(2, Some(3))).unwrap()).collect();
        assert_eq!(buckets, BTreeSet::from([0, 1, 2]));
        let mut index = PartitionIndex::default();
        let hashes = (0..40_000_i32).map(|at| at.wrapping_mul(-1_640_531_527));
        let last = hashes.map(|hash| index.assign(hash, rules(1, None))).find_map(Result::err).unwrap();
        assert_eq!((last.kind(), index.buckets.len()), (ErrorKind::InvalidOption, 32_767));
    }

    #[test]
    fn one_of_several_makes_buckets_of_its_share_and_without_any_takes_those_of_others() {
        let all = Assigners::new(3, 3).unwrap();
        let of = |channel, limit| {
            let (mut index, rules) = (PartitionIndex::default(), rules(2, limit).of_share(all.share(channel)));
            (0..5).map(|hash| index.assign(hash, rules).unwrap()).collect::<Vec<_>>()
        };
        assert_eq!((of(0, None), of(1, None)), (vec![0, 0, 3, 3, 6], vec![1, 1, 4, 4, 7]));
        assert_eq!(of(2, Some(2)), [0, 1, 0, 1, 0]);
    }

    #[test]
    fn restored_buckets_are_filled_in_the_order_of_a_hash_map() {
        let mut few = [(17, 1), (2, 1), (1, 1)];
        java_order(&mut few);
        assert_eq!(few.map(|b| b.0), [17, 1, 2]);
        let mut many: Vec<(u16, u64)> = (0..20).rev().map(|bucket| (bucket, 1)).collect();
        java_order(&mut many);
        assert!(many.is_sorted());
    }
}
