//! The table object: everything a user asks of one table, in the words of the public API.
//!
//! Thin on purpose: arguments become requests of `operation`, answers become reports.

mod catalog;
mod maintain;
mod modify;
mod name;
mod open;
mod route;
mod scan;
mod system;
mod upkeep;
mod versions;
mod write;

pub use catalog::{FilesystemCatalog, FoundTable};
pub use maintain::{CompactArgs, run_compaction_task};
pub use modify::ModifyArgs;
pub use name::TableName;
pub use open::{MAIN_BRANCH, Table, local_path};
pub use scan::{ReadableSplit, ScanArgs, explain, result_schema};
pub use system::InspectArgs;
pub use upkeep::{ExpireArgs, PartitionExpireArgs, TagArgs, VersionArgs};
pub use write::{CommitReport, TableWriter};
