//! The table object: everything a user asks of one table, in the words of the public API.
//!
//! Thin on purpose: arguments become requests of the rooms below, answers become reports.

mod again;
mod catalog;
mod changes;
mod fallback;
mod fsck;
mod maintain;
mod modify;
mod name;
mod open;
mod replaced;
mod route;
mod scan;
mod split;
mod system;
mod unpublished;
mod upkeep;
mod versions;
mod write;

pub use catalog::{FilesystemCatalog, FoundTable};
pub use changes::{ChangeStream, ChangesArgs, Progress, StreamPosition};
pub use fsck::check;
pub use maintain::{CompactArgs, run_compaction_task};
pub use modify::ModifyArgs;
pub use name::TableName;
pub use open::{MAIN_BRANCH, Table, local_path};
pub use scan::{Planned, ScanArgs, explain};
pub use split::ReadableSplit;
pub use system::InspectArgs;
pub use upkeep::{ExpireArgs, PartitionExpireArgs, TagArgs, VersionArgs};
pub use write::{CommitReport, TableWriter};
