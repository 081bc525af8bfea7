//! What a user asks for, below the table object: scan, read, write, compact, commit.

mod model;

pub use model::{CommitMessage, Split};
