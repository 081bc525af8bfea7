//! Partitions by number, so that a place is one number: that of the partition, and that of the bucket.

use std::collections::HashMap;

use super::buckets::{Buckets, Rules};
use crate::{
    error::{Error, ErrorKind, Result},
    manifest::BucketId,
};

/// The partitions that are known, with their buckets.
#[derive(Debug, Default)]
pub(super) struct Partitions {
    numbers: HashMap<Vec<u8>, u32>,
    known: Vec<(Vec<u8>, Buckets)>,
}

impl Partitions {
    /// The number of a partition, which it has from now on.
    pub(super) fn number(&mut self, partition: &[u8]) -> Result<u32> {
        if let Some(number) = self.numbers.get(partition) {
            return Ok(*number);
        }
        // the last number is not used: no place is the largest number
        let number = u32::try_from(self.known.len()).ok().filter(|number| *number < u32::MAX);
        let number = number.ok_or_else(|| Error::new(ErrorKind::Internal, "the table has too many partitions"))?;
        self.numbers.insert(partition.to_vec(), number);
        self.known.push((partition.to_vec(), Buckets::default()));
        Ok(number)
    }

    /// A bucket of a partition.
    pub(super) fn place(&mut self, partition: &[u8], bucket: i32) -> Result<u64> {
        let bucket = u32::try_from(bucket).map_err(|e| {
            let text = format!("{bucket} is not the number of a bucket");
            Error::new(ErrorKind::CorruptFile, text).with("expected", "0 or more").with("found", bucket).caused_by(e)
        })?;
        Ok(place(self.number(partition)?, bucket))
    }

    /// Keys that a place has.
    pub(super) fn add(&mut self, place: u64, keys: u64) {
        if let Some(buckets) = self.buckets(partition_of(place)) {
            buckets.add(bucket_of(place), keys);
        }
    }

    /// A key has left a place.
    pub(super) fn remove(&mut self, place: u64) {
        if let Some(buckets) = self.buckets(partition_of(place)) {
            buckets.remove(bucket_of(place));
        }
    }

    /// The place of a new key of a partition.
    pub(super) fn assign(&mut self, partition: u32, rules: Rules) -> u64 {
        place(partition, self.buckets(partition).map_or(0, |buckets| buckets.assign(rules)))
    }

    /// The bucket that a place is.
    pub(super) fn bucket(&self, place: u64) -> Result<BucketId> {
        let known = usize::try_from(partition_of(place)).ok().and_then(|number| self.known.get(number));
        match (known, i32::try_from(bucket_of(place))) {
            (Some((partition, _)), Ok(bucket)) => Ok(BucketId { partition: partition.clone(), bucket }),
            _ => Err(Error::new(ErrorKind::Internal, "a key is in no bucket")),
        }
    }

    fn buckets(&mut self, partition: u32) -> Option<&mut Buckets> {
        usize::try_from(partition).ok().and_then(|number| self.known.get_mut(number)).map(|(_, buckets)| buckets)
    }
}

fn place(partition: u32, bucket: u32) -> u64 {
    u64::from(partition) << 32 | u64::from(bucket)
}

/// The number of the partition of a place.
pub(super) fn partition_of(place: u64) -> u32 {
    u32::try_from(place >> 32).unwrap_or(u32::MAX)
}

fn bucket_of(place: u64) -> u32 {
    u32::try_from(place & u64::from(u32::MAX)).unwrap_or(u32::MAX)
}
