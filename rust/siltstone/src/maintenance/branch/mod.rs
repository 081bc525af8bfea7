//! Branches: versions of their own that share data, manifests and index files with the main branch.
//!
//! A branch is made from a tag, which stays in the main branch and keeps the shared files there; a branch made from a
//! snapshot gets such a tag, `fork-<branch>`. A branch is made under a hidden name and then renamed: it is there whole or
//! not at all.
//!
//! Source: semantics g.7; `FileSystemBranchManager`.

mod create;
mod delete;
mod fast_forward;
mod forward_common;
mod forward_schemas;
mod forward_tags;
mod names;
mod rename;

pub use create::{BranchSource, check_new, create_branch};
pub use delete::delete_branch;
pub(crate) use delete::half_forwarded_to;
pub use fast_forward::fast_forward;
pub use rename::rename_branch;
