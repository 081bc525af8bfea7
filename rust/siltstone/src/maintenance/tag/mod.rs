//! Tags: creating, replacing, renaming, deleting with the files only they kept, expiring, and making them automatically.
//!
//! Creating a tag is one small write. It and an expiry or a deletion of another tag may run at the same time: a tag is
//! published first, and then its maker looks whether its source is still kept; whoever deletes announces it first (a
//! removal record, the removal of the tag's file) and then lists the tags. One of the two sees the other. Replacing and
//! deleting takes the upkeep lock, and so does what is made of a tag whose snapshot is no version any more.
//!
//! Source: semantics g.4 and g.5; `TagManager`, `TagDeletion`, `TagAutoCreation`, `TagBatchCreation`, `TagTimeExpire`.

mod automatic;
mod create;
mod delete;

pub use automatic::create_automatic;
pub use create::{CreateTag, create_tag, neighbour, rename_tag, replace_tag};
pub(crate) use create::{check_kept, create_fork_tag};
pub(in crate::maintenance) use delete::expire_over;
pub use delete::{delete_tag, expire_tags};
pub(crate) use delete::{delete_tag_locked, planned_deletion};
