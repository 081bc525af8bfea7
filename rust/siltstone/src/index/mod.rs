//! Which bucket a row belongs to (format chapter 6).

mod bucket;
mod hive;

pub use bucket::{BucketFunction, assign_buckets, bucket_of};

#[cfg(test)]
mod tests;
