//! What a user asks for, below the table object: scan, read, write, compact, commit.

mod model;
pub mod read;
pub mod scan;

pub use model::{CommitMessage, Split};
