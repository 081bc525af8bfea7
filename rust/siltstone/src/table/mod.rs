//! The table object: everything a user asks of one table, in the words of the public API.
//!
//! Thin on purpose: arguments become requests of the rooms below, answers become reports.

mod again;
mod alter;
mod catalog;
mod changes;
mod compact_after;
mod compaction;
mod compaction_tasks;
mod consumers;
mod fallback;
mod features;
mod fsck;
mod handed_out;
mod health;
mod maintenance;
mod merge;
mod modify;
mod name;
mod open;
mod place;
mod reindex;
mod replaced;
mod rescale;
mod route;
mod scan;
mod served;
mod served_versions;
mod split;
mod system;
mod unpublished;
mod versions;
mod write;

pub use catalog::{Catalog, FoundTable, Metastore, Patience, Properties};
pub use changes::{ChangeStream, ChangesArgs, Progress, StreamPosition};
pub use compaction::{CompactArgs, CompactionSums, PlannedTask};
pub use compaction_tasks::{run_compaction_task, run_compaction_tasks};
pub use features::{Feature, Support};
pub use fsck::check;
pub use health::{
    BucketFigures, Health, HealthArgs, Kept, KeptVersion, LargePartition, LevelFigures, PartitionClass, PlanFigures,
    SizeClass, TotalFigures,
};
pub use maintenance::{ExpireArgs, PartitionExpireArgs, TagArgs, VersionArgs};
pub use merge::MergeReport;
pub use modify::ModifyArgs;
pub use name::{MAIN_BRANCH, TableName, TablePath};
pub use open::Table;
pub use place::local_path;
pub use rescale::RescaleArgs;
pub use route::RowAssigner;
pub use scan::{Planned, explain};
pub use served::{GoBack, ServedTable, TableServer};
pub use split::ReadableSplit;
pub use system::{InspectArgs, Partition, Subject};
pub use versions::FileEntry;
pub use write::{CommitReport, TableWriter};
