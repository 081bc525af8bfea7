//! Which bucket a row belongs to (format chapter 6).

mod bucket;

pub use bucket::{BucketFunction, assign_buckets, bucket_of};
