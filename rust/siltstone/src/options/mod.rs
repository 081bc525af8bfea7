//! Table options: their typed form, their text grammar, and the list of every option Paimon knows.
//!
//! Source: format chapter 12; `CoreOptions`, `MemorySize`, `TimeUtils`. No option is silent: each key of
//! [`catalogue`] says whether siltstone honours it, whether ignoring it is harmless, whether it cannot be set here
//! (`audit`), or whether a table that sets it is refused (`schema::features`).

pub mod argument;
mod audit;
pub mod catalogue;
mod core_options;
mod known;
mod merge_engine;
mod merging;
mod reader;
mod secrets;
pub mod spelling;
mod starting;
mod values;
mod zone;

/// Option `bucket` of tables whose rows wait for a compaction that gives them buckets, and the bucket that they wait in.
pub const POSTPONE_BUCKET: i32 = -2;

pub use self::audit::{check_known, check_known_here, check_value, unknown_option};
pub use self::core_options::CoreOptions;
pub use self::merge_engine::KeyElsewhere;
pub use self::merging::{SequenceGroup, sequence_groups};
pub use self::secrets::{is_secret, without_secrets};
pub use self::spelling::{effective, overlay};
pub use self::starting::{NamedChanges, NamedVersion};
pub use self::values::{
    BucketFunctionType, ChangelogProducer, ExpireMode, IncrementalMode, LookupCompact, MergeEngine,
    PartitionExpireStrategy, ScanMode, SortOrder, TagCreation, TagFormatter, TagPeriod, VariantForm, check_list,
    parse_bool, parse_duration, parse_level_map, parse_list, parse_size,
};
pub use self::zone::Zone;
