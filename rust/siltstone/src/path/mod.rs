//! Where files live: directories and names of one table.
//!
//! Source: format chapters 1.1 to 1.4; `FileStorePathFactory`, `DataFilePathFactory`, `PartitionPathUtils`.

mod escape;
mod factory;
mod names;

pub use escape::{escape, unescape};
pub use factory::{PathFactory, branch_root};
pub use names::{FileNames, MetaNames, file_extension, format_of};

#[cfg(test)]
mod tests;
