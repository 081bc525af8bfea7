//! Column statistics as manifests store them (`SimpleStats`, format chapter 5.5 and 5.6).

mod column;
mod encode;
mod mode;
mod simple;

pub use column::ColumnStats;
pub use encode::{StatsReader, decode_stats, decode_stats_for, dense, encode_stats};
pub use mode::{StatsMode, StatsModeRules, stats_modes};
pub use simple::{SimpleStats, StatsFields};

#[cfg(test)]
mod tests;
