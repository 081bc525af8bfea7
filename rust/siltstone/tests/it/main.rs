//! The one integration test binary of the core crate.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs,
    reason = "tests may stop at the first surprise"
)]

mod beside;
mod bounded;
mod commit_calls;
mod crash;
mod data_files;
mod deletion_vectors;
mod explore;
mod failed_commits;
mod file_indexes;
mod fixtures;
mod folder;
mod fsck;
mod global_index;
mod health;
mod interleavings;
mod layers;
mod metadata;
mod mutated_bytes;
mod options;
mod overtaken;
mod reads;
mod replaced;
mod rows;
mod schemas;
mod sizes;
mod steps;
mod table_rows;
mod two_branches;
mod upkeep;
mod vector_files;
mod vectors;
mod watched_memory;
