//! Which bucket a row belongs to (format chapter 6).

mod assigners;
mod bucket;
mod hash_index;
mod hive;
mod key_hashes;
mod key_places;
mod partition_index;

pub use assigners::{Assigners, Share};
pub use bucket::{BucketFunction, assign_buckets, bucket_of};
pub use hash_index::{HASH, HashIndexFiles, LAST_BUCKET, MEND_INDEX, version_of};
pub use key_hashes::KeyHashes;
pub use key_places::{KeyHash, KeyPlaces};
pub use partition_index::{BucketRules, PartitionIndex, hashes_of, in_two_buckets};

#[cfg(test)]
mod tests;
