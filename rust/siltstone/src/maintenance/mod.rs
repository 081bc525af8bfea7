//! Keeping a table: snapshots, tags and branches that come and go, files that nothing needs, checks and statistics.

pub mod analyze;
pub mod automatic;
pub mod branch;
pub mod expire;
pub mod fsck;
mod iceberg;
pub mod orphan_files;
pub mod rollback;
pub mod tag;
