//! How many keys each bucket of each partition has: which bucket a new key goes to.
//!
//! ```text
//! a bucket has room       the one with the smallest number
//! a bucket may be made    the smallest number that no bucket has
//! all are full            the one with the fewest keys
//! ```
//!
//! Java makes more buckets than `dynamic-bucket.max-buckets` in tables of this kind; here the option is honoured.
//!
//! Source: `org.apache.paimon.crosspartition.BucketAssigner`.

use std::collections::BTreeMap;

use crate::options::CoreOptions;

/// How buckets are filled.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    target: u64,
    most: Option<u32>,
}

impl Rules {
    pub(super) fn of(options: &CoreOptions) -> Self {
        let most = options.dynamic_bucket_max_buckets.map(u32::from);
        Self { target: options.dynamic_bucket_target_row_num, most }
    }
}

/// The keys of each bucket of a partition.
#[derive(Clone, Debug, Default)]
pub(super) struct Buckets {
    keys: BTreeMap<u32, u64>,
    /// Buckets below have no room.
    full_below: u32,
}

impl Buckets {
    /// Keys that a bucket has.
    pub(super) fn add(&mut self, bucket: u32, keys: u64) {
        *self.keys.entry(bucket).or_default() += keys;
    }

    /// A key has left a bucket.
    pub(super) fn remove(&mut self, bucket: u32) {
        let keys = self.keys.entry(bucket).or_default();
        *keys = keys.saturating_sub(1);
        self.full_below = self.full_below.min(bucket);
    }

    /// The bucket of a new key.
    pub(super) fn assign(&mut self, rules: Rules) -> u32 {
        let bucket = self.chosen(rules);
        self.add(bucket, 1);
        bucket
    }

    fn chosen(&mut self, rules: Rules) -> u32 {
        if let Some((bucket, _)) = self.keys.range(self.full_below..).find(|(_, keys)| **keys < rules.target) {
            self.full_below = *bucket;
            return *bucket;
        }
        let numbers = (0_u32..).zip(self.keys.keys());
        let gap = numbers.take_while(|(number, bucket)| number == *bucket).count();
        let free = u32::try_from(gap).unwrap_or(u32::MAX);
        match rules.most {
            Some(most) if free >= most => {
                let fewest = self.keys.iter().min_by_key(|(bucket, keys)| (**keys, **bucket));
                fewest.map_or(0, |(bucket, _)| *bucket)
            }
            _ => {
                self.full_below = self.full_below.min(free);
                free
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assigned(buckets: &mut Buckets, rules: Rules, times: usize) -> Vec<u32> {
        (0..times).map(|_| buckets.assign(rules)).collect()
    }

    #[test]
    fn buckets_are_filled_in_the_order_of_their_numbers() {
        let rules = Rules { target: 2, most: None };
        let mut buckets = Buckets::default();
        assert_eq!(assigned(&mut buckets, rules, 5), [0, 0, 1, 1, 2]);
        buckets.remove(0);
        assert_eq!(assigned(&mut buckets, rules, 3), [0, 2, 3]);
        let mut gaps = Buckets::default();
        gaps.add(1, 2);
        gaps.add(4, 1);
        assert_eq!(assigned(&mut gaps, rules, 4), [4, 0, 0, 2]);
    }

    #[test]
    fn no_more_buckets_are_made_than_the_option_says() {
        let rules = Rules { target: 1, most: Some(2) };
        assert_eq!(assigned(&mut Buckets::default(), rules, 6), [0, 1, 0, 1, 0, 1]);
    }
}
